//! Edges made since the files were written: those that were committed, which all snapshots share, and those of one
//! transaction, which come behind them until it commits.
//!
//! Ordinals run through both. What is deleted stays in the lists and is marked in a map of the snapshot's own.

use super::SharedMap;
use super::links::{Layer, NONE, Side};
use super::properties::Properties;

use model::{EdgeTypeId, NodeId};

pub(crate) use super::links::Link;

/// A set of edges.
#[derive(Clone, Debug)]
pub(crate) struct Adjacency {
    /// Committed edges.
    base: Layer,
    /// Edges that a transaction added.
    tail: Option<Layer>,
    deleted: SharedMap<u32, ()>,
}

impl Default for Adjacency {
    fn default() -> Adjacency {
        Adjacency { base: Layer::new(0), tail: None, deleted: SharedMap::default() }
    }
}

impl Adjacency {
    /// Number of edges that were ever added.
    pub(crate) fn len(&self) -> usize {
        self.end() as usize
    }

    fn end(&self) -> u32 {
        self.tail.as_ref().map_or_else(|| self.base.end(), Layer::end)
    }

    /// True if none was ever added.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn layer_of(&self, ordinal: u32) -> &Layer {
        match &self.tail {
            Some(tail) if ordinal >= tail.first() => tail,
            _ => &self.base,
        }
    }

    /// The edge of that ordinal.
    #[inline]
    pub(crate) fn get(&self, ordinal: u32) -> Option<Link> {
        let mut link = self.layer_of(ordinal).get(ordinal)?;
        link.is_deleted = !self.deleted.is_empty() && self.deleted.contains_key(&ordinal);
        Some(link)
    }

    /// The properties that the edge of that ordinal was added with.
    #[inline]
    pub(crate) fn properties(&self, ordinal: u32) -> Option<&Properties> {
        self.layer_of(ordinal).properties(ordinal)
    }

    /// The number of the edge of that ordinal.
    #[inline]
    pub(crate) fn number(&self, ordinal: u32) -> Option<u64> {
        self.layer_of(ordinal).number(ordinal)
    }

    /// Marks an edge as deleted.
    pub(crate) fn delete(&mut self, ordinal: u32) {
        self.deleted.insert(ordinal, ());
    }

    /// All edges in the order they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Link> {
        (0..self.end()).filter_map(|ordinal| self.get(ordinal))
    }

    /// True if a transaction added edges that are not yet put to those that were committed.
    pub(crate) fn has_own(&self) -> bool {
        self.tail.is_some()
    }

    /// The edges of such a transaction.
    pub(crate) fn own(&self) -> impl Iterator<Item = Link> {
        let first = self.base.end();
        (first..self.end()).filter_map(|ordinal| self.get(ordinal))
    }

    /// Adds an edge; gives its ordinal.
    pub(crate) fn push(
        &mut self,
        source: NodeId,
        target: NodeId,
        edge_type: EdgeTypeId,
        number: u64,
        properties: Properties,
    ) -> u32 {
        let end = self.base.end();
        let tail = self.tail.get_or_insert_with(|| Layer::new(end));
        let ordinal = tail.end();
        assert!(ordinal < NONE, "the caller compares the count with EDGES_MAX");
        let link = Link { source, target, edge_type, is_deleted: false };
        tail.extend(1, std::iter::once((link, number, properties)));
        ordinal
    }

    /// Puts what a transaction added to what was committed.
    pub(crate) fn settle(&mut self) {
        if let Some(tail) = self.tail.take() {
            // Other snapshots of no edges have the layer that this one leaves.
            if self.base.end() == tail.first() && self.base.first() == tail.first() {
                self.base = tail;
                return;
            }
            self.base.extend((tail.end() - tail.first()) as usize, tail.iter());
        }
    }

    /// The edges that start at a node, newest first.
    #[inline]
    pub(crate) fn out_edges(&self, node: NodeId) -> Links<'_> {
        self.links(node, Side::Out)
    }

    /// The edges that end at a node, newest first.
    #[inline]
    pub(crate) fn in_edges(&self, node: NodeId) -> Links<'_> {
        self.links(node, Side::In)
    }

    #[inline]
    fn links(&self, node: NodeId, side: Side) -> Links<'_> {
        let next = match &self.tail {
            Some(tail) => tail.newest(node, side),
            None => NONE,
        };
        let next = if next == NONE { self.base.newest(node, side) } else { next };
        Links { edges: self, node, next, side }
    }

    /// Calls `each` with the edges from a source to a target, for pairs of both that ascend: with the place of the pair, and
    /// the edges of a pair newest first. Cost: a walk along the shorter of a pair's two lists, or one along that of a source
    /// for all its pairs, if it is shorter than their walks together.
    pub(crate) fn for_each_between(&self, pairs: &[(NodeId, NodeId)], mut each: impl FnMut(usize, u32, &Link)) {
        let mut first = 0;
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            let (source, out) = (group[0].0, self.out_count(group[0].0));
            let shorter = |target: NodeId| out.min(self.in_count(target));
            if group.iter().map(|pair| shorter(pair.1)).sum::<u64>() < out {
                for (at, &(_, target)) in group.iter().enumerate() {
                    let is_between = |link: &Link| link.source == source && link.target == target;
                    let links = if shorter(target) == out { self.out_edges(source) } else { self.in_edges(target) };
                    links.filter(|(_, link)| is_between(link)).for_each(|(edge, link)| each(first + at, edge, &link));
                }
            } else {
                for (edge, link) in self.out_edges(source) {
                    if let Ok(at) = group.binary_search_by_key(&link.target, |pair| pair.1) {
                        each(first + at, edge, &link);
                    }
                }
            }
            first += group.len();
        }
    }

    /// Number of edges that start at a node, deleted ones included.
    pub(crate) fn out_count(&self, node: NodeId) -> u64 {
        self.count(node, Side::Out)
    }

    /// Number of edges that end at a node, deleted ones included.
    pub(crate) fn in_count(&self, node: NodeId) -> u64 {
        self.count(node, Side::In)
    }

    fn count(&self, node: NodeId, side: Side) -> u64 {
        self.base.count(node, side) + self.tail.as_ref().map_or(0, |tail| tail.count(node, side))
    }
}

/// The edges of one node in one direction, with their ordinals.
#[derive(Clone, Debug)]
pub(crate) struct Links<'a> {
    edges: &'a Adjacency,
    node: NodeId,
    next: u32,
    side: Side,
}

impl Links<'_> {
    /// True if no edge follows.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.next == NONE
    }
}

impl Iterator for Links<'_> {
    type Item = (u32, Link);

    #[inline]
    fn next(&mut self) -> Option<(u32, Link)> {
        if self.next == NONE {
            return None;
        }
        let ordinal = self.next;
        let link = self.edges.get(ordinal)?;
        let layer = self.edges.layer_of(ordinal);
        self.next = layer.before(ordinal, self.side);
        if self.next == NONE && ordinal >= self.edges.base.end() {
            self.next = self.edges.base.newest(self.node, self.side);
        }
        Some((ordinal, link))
    }
}

#[cfg(test)]
mod tests {
    use model::{EdgeTypeId, NodeId};
    use testing::random::SeededRandom;

    use super::{Adjacency, Properties};

    fn push(edges: &mut Adjacency, ordinal: u64) {
        edges.push(NodeId(ordinal % 3), NodeId(ordinal % 5), EdgeTypeId(0), ordinal, Properties::default());
    }

    fn check(edges: &Adjacency) {
        for node in 0..5 {
            let of = |modulus: u64| (0..edges.len() as u64).rev().filter(move |edge| edge % modulus == node);
            let found: Vec<u64> = edges.out_edges(NodeId(node)).map(|(edge, _)| u64::from(edge)).collect();
            assert_eq!(found, of(3).collect::<Vec<_>>());
            assert_eq!(edges.out_count(NodeId(node)), found.len() as u64);
            assert!(found.iter().all(|&edge| edges.number(edge as u32) == Some(edge)));
            let found: Vec<u64> = edges.in_edges(NodeId(node)).map(|(edge, _)| u64::from(edge)).collect();
            assert_eq!(found, of(5).collect::<Vec<_>>());
            assert_eq!(edges.in_count(NodeId(node)), found.len() as u64);
        }
    }

    #[test]
    fn snapshots_keep_what_they_saw() {
        let mut edges = Adjacency::default();
        let mut snapshots = vec![edges.clone()];
        for ordinal in 0..1_000_u64 {
            push(&mut edges, ordinal);
            if ordinal % 7 == 0 {
                snapshots.push(edges.clone());
            }
            if ordinal % 11 == 0 {
                edges.settle();
                snapshots.push(edges.clone());
            }
        }
        snapshots.push(edges);
        snapshots.iter().for_each(check);
    }

    #[test]
    fn an_older_snapshot_that_is_added_to_goes_its_own_way() {
        let mut edges = Adjacency::default();
        (0..20).for_each(|ordinal| push(&mut edges, ordinal));
        edges.settle();
        let mut other = edges.clone();
        (20..40).for_each(|ordinal| push(&mut edges, ordinal));
        edges.settle();
        (20..50).for_each(|ordinal| push(&mut other, ordinal));
        let root = other.clone();
        (50..60).for_each(|ordinal| push(&mut other, ordinal));
        other.settle();
        let mut again = root.clone();
        (50..55).for_each(|ordinal| push(&mut again, ordinal));
        [&edges, &other, &root, &again].into_iter().for_each(check);
    }

    #[test]
    fn edges_between_pairs_are_those_that_a_walk_over_all_finds() {
        let seed = testing::random::seed_or(20);
        let mut random = SeededRandom::new(seed);
        for case in 0..200 {
            // Few nodes give long lists with pairs that share them; a hub's list is longer than those of all its pairs.
            let nodes = 1 + random.below(12);
            let mut edges = Adjacency::default();
            let is_hub = random.below(2) == 0;
            for number in 0..random.below(300) {
                let source = if is_hub && number % 2 == 0 { 0 } else { random.below(nodes) };
                let (source, target) = (NodeId(source), NodeId(random.below(nodes)));
                edges.push(source, target, EdgeTypeId(0), number, Properties::default());
                if random.below(50) == 0 {
                    edges.settle();
                }
            }
            let mut pairs: Vec<(NodeId, NodeId)> =
                (0..1 + random.below(20)).map(|_| (NodeId(random.below(nodes)), NodeId(random.below(nodes)))).collect();
            pairs.sort_unstable();
            pairs.dedup();
            let mut found = vec![Vec::new(); pairs.len()];
            edges.for_each_between(&pairs, |pair, ordinal, _| found[pair].push(ordinal));
            for (&(source, target), found) in pairs.iter().zip(found) {
                let all = (0..edges.len() as u32).rev().filter(|&ordinal| {
                    edges.get(ordinal).is_some_and(|link| link.source == source && link.target == target)
                });
                assert_eq!(found, all.collect::<Vec<_>>(), "seed {seed}, case {case}");
            }
        }
    }
}
