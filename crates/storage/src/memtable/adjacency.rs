//! The new edges of one node in one direction: a list that grows at its end and is shared by snapshots.
//!
//! Cost: a single edge takes no memory of its own; a list is a chain of chunks, so that a change after a snapshot
//! copies at most one chunk.

use std::sync::Arc;

use model::{EdgeTypeId, NodeId};

/// Most edges in one chunk.
const CHUNK_EDGES_MAX: usize = 64;

/// An edge as seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbor {
    /// The other end.
    pub(crate) node: NodeId,
    /// The edge's type.
    pub(crate) edge_type: EdgeTypeId,
    /// The edge's place among the memtable's edges.
    pub(crate) ordinal: u32,
}

/// The edges of one node, oldest last.
#[derive(Clone, Debug)]
pub(crate) enum Adjacency {
    /// The only edge.
    One(Neighbor),
    /// The newest chunk of a chain.
    Many(Arc<Chunk>),
}

/// A few edges in the order they came, and those before.
#[derive(Debug)]
pub(crate) struct Chunk {
    edges: Vec<Neighbor>,
    before: Option<Arc<Chunk>>,
    /// Edges in the whole chain.
    count: usize,
}

impl Adjacency {
    /// How many edges there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Adjacency::One(_) => 1,
            Adjacency::Many(chunk) => chunk.count,
        }
    }

    /// Adds an edge.
    pub(crate) fn push(&mut self, neighbor: Neighbor) {
        match self {
            Adjacency::One(first) => {
                let edges = vec![*first, neighbor];
                *self = Adjacency::Many(Arc::new(Chunk { edges, before: None, count: 2 }));
            }
            Adjacency::Many(chunk) if chunk.edges.len() < CHUNK_EDGES_MAX => {
                if let Some(chunk) = Arc::get_mut(chunk) {
                    chunk.edges.push(neighbor);
                    chunk.count += 1;
                    return;
                }
                let mut edges = Vec::with_capacity((chunk.edges.len() + 1).next_power_of_two());
                edges.extend_from_slice(&chunk.edges);
                edges.push(neighbor);
                *chunk = Arc::new(Chunk { edges, before: chunk.before.clone(), count: chunk.count + 1 });
            }
            Adjacency::Many(chunk) => {
                let before = Some(chunk.clone());
                let mut edges = Vec::with_capacity(CHUNK_EDGES_MAX);
                edges.push(neighbor);
                *chunk = Arc::new(Chunk { edges, before, count: chunk.count + 1 });
            }
        }
    }

    /// The edges in pieces; `None` starts, then each piece leads to the next.
    pub(crate) fn slices(&self) -> Slices<'_> {
        match self {
            Adjacency::One(neighbor) => Slices { current: Some(std::slice::from_ref(neighbor)), before: None },
            Adjacency::Many(chunk) => Slices { current: Some(&chunk.edges), before: chunk.before.as_deref() },
        }
    }

    /// All edges.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Neighbor> {
        self.slices().flatten()
    }
}

/// The pieces of an [`Adjacency`].
#[derive(Clone, Debug)]
pub(crate) struct Slices<'a> {
    current: Option<&'a [Neighbor]>,
    before: Option<&'a Chunk>,
}

impl<'a> Iterator for Slices<'a> {
    type Item = &'a [Neighbor];

    fn next(&mut self) -> Option<&'a [Neighbor]> {
        let slice = self.current.take()?;
        if let Some(chunk) = self.before {
            self.current = Some(&chunk.edges);
            self.before = chunk.before.as_deref();
        }
        Some(slice)
    }
}

/// A long chain is taken apart link by link, since nested drops would need a stack as deep as the chain is long.
impl Drop for Chunk {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(chunk) = next {
            next = Arc::into_inner(chunk).and_then(|mut chunk| chunk.before.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{EdgeTypeId, NodeId};

    use super::{Adjacency, Neighbor};

    fn neighbor(ordinal: u32) -> Neighbor {
        Neighbor { node: NodeId(u64::from(ordinal) * 3), edge_type: EdgeTypeId(ordinal % 2), ordinal }
    }

    #[test]
    fn snapshots_keep_what_they_saw() {
        let mut list = Adjacency::One(neighbor(0));
        let mut snapshots = vec![list.clone()];
        for ordinal in 1..1_000 {
            list.push(neighbor(ordinal));
            if ordinal % 7 == 0 {
                snapshots.push(list.clone());
            }
        }
        snapshots.push(list);
        for snapshot in &snapshots {
            let mut found: Vec<u32> = snapshot.iter().map(|edge| edge.ordinal).collect();
            found.sort_unstable();
            assert_eq!(found, (0..snapshot.len() as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_chain_of_millions_is_dropped_without_recursion() {
        let mut list = Adjacency::One(neighbor(0));
        (1..4_000_000).for_each(|ordinal| list.push(neighbor(ordinal)));
        assert_eq!(list.len(), 4_000_000);
    }
}
