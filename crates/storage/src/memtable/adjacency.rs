//! Edges that are linked into two lists each, that of their source and that of their target.
//!
//! Cost: adding an edge copies, after a snapshot, two leaves of small plain entries and the end of a vector, whatever the
//! degree of its ends. Following a list costs a look into a vector for each edge.

use imbl::Vector;
use model::{EdgeTypeId, NodeId};

use super::SharedMap;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// An edge and its two lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) source: NodeId,
    pub(crate) target: NodeId,
    pub(crate) edge_type: EdgeTypeId,
    /// The edge added before with the same source.
    next_out: u32,
    /// The edge added before with the same target.
    next_in: u32,
    pub(crate) is_deleted: bool,
}

/// The list of one node.
#[derive(Clone, Copy, Debug)]
struct List {
    newest: u32,
    count: u32,
}

/// A set of edges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adjacency {
    links: Vector<Link>,
    out_lists: SharedMap<u64, List>,
    in_lists: SharedMap<u64, List>,
}

impl Adjacency {
    /// How many edges were ever added.
    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// True if none was ever added.
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The edge of that ordinal.
    #[inline]
    pub(crate) fn get(&self, ordinal: u32) -> Option<&Link> {
        self.links.get(ordinal as usize)
    }

    /// The edge of that ordinal, for change.
    pub(crate) fn get_mut(&mut self, ordinal: u32) -> Option<&mut Link> {
        self.links.get_mut(ordinal as usize)
    }

    /// All edges in the order they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    /// Adds an edge; gives its ordinal.
    pub(crate) fn push(&mut self, source: NodeId, target: NodeId, edge_type: EdgeTypeId) -> u32 {
        let ordinal = u32::try_from(self.links.len()).expect("the caller compares the count with EDGES_MAX");
        let next_out = put_first(&mut self.out_lists, source, ordinal);
        let next_in = put_first(&mut self.in_lists, target, ordinal);
        self.links.push_back(Link { source, target, edge_type, next_out, next_in, is_deleted: false });
        ordinal
    }

    /// The edges that start at a node, newest first.
    #[inline]
    pub(crate) fn out_edges(&self, node: NodeId) -> Links<'_> {
        Links { links: &self.links, next: newest(&self.out_lists, node), is_in: false }
    }

    /// The edges that end at a node, newest first.
    #[inline]
    pub(crate) fn in_edges(&self, node: NodeId) -> Links<'_> {
        Links { links: &self.links, next: newest(&self.in_lists, node), is_in: true }
    }

    /// Calls `each` with the edges from one node to another, newest first. Cost: a walk along the shorter list.
    pub(crate) fn for_each_between(&self, source: NodeId, target: NodeId, mut each: impl FnMut(u32, &Link)) {
        let (out, into) = (self.out_count(source), self.in_count(target));
        let links = if out <= into { self.out_edges(source) } else { self.in_edges(target) };
        links.filter(|(_, link)| link.source == source && link.target == target).for_each(|(at, link)| each(at, link));
    }

    /// How many edges start at a node, deleted ones included.
    pub(crate) fn out_count(&self, node: NodeId) -> u64 {
        self.out_lists.get(&node.0).map_or(0, |list| u64::from(list.count))
    }

    /// How many edges end at a node, deleted ones included.
    pub(crate) fn in_count(&self, node: NodeId) -> u64 {
        self.in_lists.get(&node.0).map_or(0, |list| u64::from(list.count))
    }
}

#[inline]
fn newest(lists: &SharedMap<u64, List>, node: NodeId) -> u32 {
    if lists.is_empty() { NONE } else { lists.get(&node.0).map_or(NONE, |list| list.newest) }
}

fn put_first(lists: &mut SharedMap<u64, List>, node: NodeId, ordinal: u32) -> u32 {
    match lists.get_mut(&node.0) {
        Some(list) => {
            list.count += 1;
            std::mem::replace(&mut list.newest, ordinal)
        }
        None => {
            lists.insert(node.0, List { newest: ordinal, count: 1 });
            NONE
        }
    }
}

/// The edges of one node in one direction, with their ordinals.
#[derive(Clone, Debug)]
pub(crate) struct Links<'a> {
    links: &'a Vector<Link>,
    next: u32,
    is_in: bool,
}

impl Links<'_> {
    /// True if no edge follows.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.next == NONE
    }
}

impl<'a> Iterator for Links<'a> {
    type Item = (u32, &'a Link);

    #[inline]
    fn next(&mut self) -> Option<(u32, &'a Link)> {
        if self.next == NONE {
            return None;
        }
        let ordinal = self.next;
        let link = self.links.get(ordinal as usize)?;
        self.next = if self.is_in { link.next_in } else { link.next_out };
        Some((ordinal, link))
    }
}

#[cfg(test)]
mod tests {
    use model::{EdgeTypeId, NodeId};

    use super::Adjacency;

    #[test]
    fn snapshots_keep_what_they_saw() {
        let mut edges = Adjacency::default();
        let mut snapshots = vec![edges.clone()];
        for ordinal in 0..1_000_u64 {
            edges.push(NodeId(ordinal % 3), NodeId(ordinal % 5), EdgeTypeId(0));
            if ordinal % 7 == 0 {
                snapshots.push(edges.clone());
            }
        }
        snapshots.push(edges);
        for snapshot in &snapshots {
            for node in 0..5 {
                let of = |modulus: u64| (0..snapshot.len() as u64).rev().filter(move |edge| edge % modulus == node);
                let found: Vec<u64> = snapshot.out_edges(NodeId(node)).map(|(edge, _)| u64::from(edge)).collect();
                assert_eq!(found, of(3).collect::<Vec<_>>());
                assert_eq!(snapshot.out_count(NodeId(node)), found.len() as u64);
                let found: Vec<u64> = snapshot.in_edges(NodeId(node)).map(|(edge, _)| u64::from(edge)).collect();
                assert_eq!(found, of(5).collect::<Vec<_>>());
                assert_eq!(snapshot.in_count(NodeId(node)), found.len() as u64);
            }
        }
    }
}
