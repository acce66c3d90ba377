//! Lists to be read in a loop.

use std::ops::Range;

use model::{EdgeId, EdgeTypeId, EdgeValue, Map, NodeId};

use super::entries::{Entries, ListPlace, Repeat};
use super::hubs::Hubs;
use super::whole::{Whole, range_of};
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

/// Borrowed lists: slices, so that a loop has them at hand.
#[derive(Clone, Copy)]
pub(crate) struct ListReader<'a> {
    neighbors: &'a [u32],
    repeats: &'a [Repeat],
    edges: &'a [(EdgeId, EdgeTypeId, bool)],
    /// Of the lists of all nodes, if they are there.
    starts: &'a [u32],
    repeat_starts: &'a [u32],
    hubs: Option<&'a Hubs>,
    /// Of the lists of some nodes.
    places: Option<&'a Map<u32, ListPlace>>,
}

impl<'a> ListReader<'a> {
    pub(super) fn of_whole(whole: &'a Whole) -> ListReader<'a> {
        let Whole { starts, repeat_starts, entries, hubs } = whole;
        ListReader { starts, repeat_starts, hubs: Some(hubs), places: None, ..ListReader::of(entries) }
    }

    pub(super) fn of_some(places: &'a Map<u32, ListPlace>, entries: &'a Entries) -> ListReader<'a> {
        ListReader { places: Some(places), ..ListReader::of(entries) }
    }

    fn of(entries: &'a Entries) -> ListReader<'a> {
        let Entries { neighbors, repeats, edges, .. } = entries;
        ListReader { neighbors, repeats, edges, starts: &[], repeat_starts: &[], hubs: None, places: None }
    }

    /// The range of a node's list, among those asked for.
    #[inline(always)]
    fn place(&self, node: u32) -> Range<usize> {
        match self.places {
            None => range_of(self.starts, node),
            Some(places) => places.get(&node).map_or(0..0, |place| place.neighbors()),
        }
    }

    /// Begins to load where the list of a node is into the caches of the processor.
    #[inline]
    pub(crate) fn fetch_place(&self, node: u32) {
        for starts in [self.starts, self.repeat_starts] {
            starts.get(node as usize).into_iter().for_each(prefetch);
        }
    }

    /// Begins to load the list of a node into the caches of the processor.
    #[inline]
    pub(crate) fn fetch(&self, node: u32) {
        let nodes = self.nodes(node);
        nodes.iter().step_by(ENTRIES_A_LINE).take(LINES_AHEAD).for_each(prefetch);
    }

    /// The neighbors of a node.
    #[inline(always)]
    pub(crate) fn nodes(&self, node: u32) -> &'a [u32] {
        &self.neighbors[self.place(node)]
    }

    /// The list of a node.
    #[inline(always)]
    pub(crate) fn list(&self, node: u32) -> List<'a> {
        let nodes = self.nodes(node);
        let bits = self.hubs.and_then(|hubs| hubs.bits(node, nodes.len()));
        List { nodes, bits, repeats: if self.repeats.is_empty() { &[] } else { self.repeats(node) } }
    }

    /// The neighbors of a node to which several edges lead; none if the edges are in the list.
    #[inline]
    fn repeats(&self, node: u32) -> &'a [Repeat] {
        let place = match self.places {
            None => range_of(self.repeat_starts, node),
            Some(places) => places.get(&node).map_or(0..0, |place| place.repeats()),
        };
        &self.repeats[place]
    }

    /// The places of the edges from a node to another, if those are in the list.
    pub(crate) fn places(&self, from: u32, to: u32) -> Range<usize> {
        let place = self.place(from);
        let list = &self.neighbors[place.clone()];
        let first = list.partition_point(|&other| other < to);
        let count = list[first..].partition_point(|&other| other == to);
        place.start + first..place.start + first + count
    }

    /// True if some edge leads from a node to another.
    #[inline]
    pub(crate) fn leads_to(&self, from: u32, to: u32) -> bool {
        self.nodes(from).binary_search(&to).is_ok()
    }

    /// The number of edges from a node to another.
    pub(crate) fn edge_count(&self, from: u32, to: u32) -> usize {
        match self.places(from, to).len() {
            0 => 0,
            found => found - 1 + Repeat::edges_to(self.repeats(from), to) as usize,
        }
    }

    /// The edge at a place, which is in the list of `from` and leads to `to`.
    pub(crate) fn edge(&self, place: usize, from: NodeId, to: NodeId) -> EdgeValue {
        let (id, edge_type, is_against) = self.edges[place];
        let (source, target) = if is_against { (to, from) } else { (from, to) };
        EdgeValue { id, source, target, edge_type }
    }
}
