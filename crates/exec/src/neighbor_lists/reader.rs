//! Lists to be read in a loop.

use std::ops::Range;

use model::{EdgeValue, Map, NodeId};

use super::entries::{Entries, ListPlace, Repeat};
use super::whole::Whole;
use crate::prefetch::prefetch;

/// Entries in a line of a cache of the processor, and how many lines of a list are loaded ahead: the processor itself loads
/// what follows.
const ENTRIES_A_LINE: usize = 16;
const LINES_AHEAD: usize = 4;

/// A list of nodes in order, the same as bits where it is long, and which of them come more than once.
#[derive(Clone, Copy, Default)]
pub(crate) struct List<'a> {
    pub(crate) nodes: &'a [u32],
    pub(crate) bits: Option<&'a [u64]>,
    pub(crate) repeats: &'a [Repeat],
}

/// Borrowed lists.
#[derive(Clone, Copy)]
pub(crate) struct ListReader<'a> {
    entries: &'a Entries,
    source: Source<'a>,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    /// Of all nodes.
    Whole(&'a Whole),
    /// Of some.
    Places(&'a Map<u32, ListPlace>),
}

impl<'a> ListReader<'a> {
    pub(super) fn of_whole(whole: &'a Whole) -> ListReader<'a> {
        ListReader { entries: &whole.entries, source: Source::Whole(whole) }
    }

    pub(super) fn of_some(places: &'a Map<u32, ListPlace>, entries: &'a Entries) -> ListReader<'a> {
        ListReader { entries, source: Source::Places(places) }
    }

    /// The range of a node's list, among those asked for.
    #[inline]
    fn place(&self, node: u32) -> Range<usize> {
        match self.source {
            Source::Whole(whole) => whole.place(node),
            Source::Places(places) => places.get(&node).map_or(0..0, |place| place.neighbors()),
        }
    }

    /// Begins to load where the list of a node is into the caches of the processor.
    #[inline]
    pub(crate) fn fetch_place(&self, node: u32) {
        if let Source::Whole(whole) = self.source
            && let Some(start) = whole.starts.get(node as usize)
        {
            prefetch(start);
        }
    }

    /// Begins to load the list of a node into the caches of the processor.
    #[inline]
    pub(crate) fn fetch(&self, node: u32) {
        let nodes = self.nodes(node);
        nodes.iter().step_by(ENTRIES_A_LINE).take(LINES_AHEAD).for_each(prefetch);
    }

    /// The neighbors of a node.
    #[inline]
    pub(crate) fn nodes(&self, node: u32) -> &'a [u32] {
        &self.entries.neighbors[self.place(node)]
    }

    /// The list of a node.
    #[inline]
    pub(crate) fn list(&self, node: u32) -> List<'a> {
        let nodes = self.nodes(node);
        let bits = match self.source {
            Source::Whole(whole) => whole.hubs.bits(node, nodes.len()),
            Source::Places(_) => None,
        };
        List { nodes, bits, repeats: self.repeats(node) }
    }

    /// The neighbors of a node to which several edges lead; none if the edges are in the list.
    #[inline]
    fn repeats(&self, node: u32) -> &'a [Repeat] {
        if self.entries.repeats.is_empty() {
            return &[];
        }
        let place = match self.source {
            Source::Whole(whole) => whole.repeats_place(node),
            Source::Places(places) => places.get(&node).map_or(0..0, |place| place.repeats()),
        };
        &self.entries.repeats[place]
    }

    /// The places of the edges from a node to another, if those are in the list.
    pub(crate) fn places(&self, from: u32, to: u32) -> Range<usize> {
        let place = self.place(from);
        let list = &self.entries.neighbors[place.clone()];
        let first = list.partition_point(|&other| other < to);
        let count = list[first..].partition_point(|&other| other == to);
        place.start + first..place.start + first + count
    }

    /// The number of edges from a node to another.
    pub(crate) fn edge_count(&self, from: u32, to: u32) -> usize {
        let found = self.places(from, to).len();
        if found == 0 {
            return 0;
        }
        let repeats = self.repeats(from);
        let more = repeats.binary_search_by_key(&to, |repeat| repeat.neighbor);
        found + more.map_or(0, |at| repeats[at].more as usize)
    }

    /// The edge at a place, which is in the list of `from` and leads to `to`.
    pub(crate) fn edge(&self, place: usize, from: NodeId, to: NodeId) -> EdgeValue {
        let (id, edge_type, is_against) = self.entries.edges[place];
        let (source, target) = if is_against { (to, from) } else { (from, to) };
        EdgeValue { id, source, target, edge_type }
    }
}
