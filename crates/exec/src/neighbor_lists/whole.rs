//! The lists of all nodes in one array, from the partitions of a store or by expanding node after node.

use std::ops::Range;

use model::batch::EdgeBlock;
use model::store::{EdgeIds, EdgePartitions, EdgeStream};
use model::{Direction, EdgeId, EdgeTypeId, Expand, NodeId, ReadView, Result};

use super::entries::{Entries, ListPlace};
use super::hubs::Hubs;
use super::{LabelFilter, Numbers, read_lists};
use crate::runtime::Runtime;

/// Nodes whose edges are asked for at once.
const NODES_AT_ONCE: u64 = 1_024;

/// The lists of all nodes.
pub(super) struct Whole {
    /// The start of each node's list, and the end of the last one.
    pub(super) starts: Vec<u32>,
    /// The start of the repeats of each node's list, and the end of the last ones. Empty if there are none.
    pub(super) repeat_starts: Vec<u32>,
    pub(super) entries: Entries,
    /// Bits of the long ones.
    pub(super) hubs: Hubs,
}

/// An entry of a list: whose it is, the neighbor, and the edge.
struct Entry {
    node: usize,
    neighbor: NodeId,
    edge: (EdgeId, EdgeTypeId, bool),
}

impl Whole {
    fn new(starts: Vec<u32>, mut repeat_starts: Vec<u32>, entries: Entries) -> Whole {
        if entries.repeats.is_empty() {
            repeat_starts = Vec::new();
        }
        Whole { starts, repeat_starts, entries, hubs: Hubs::default() }
    }

    /// Bytes, without those of hubs.
    pub(super) fn bytes(&self) -> usize {
        self.entries.bytes() + (self.starts.capacity() + self.repeat_starts.capacity()) * size_of::<u32>()
    }

    /// The list of a node.
    pub(super) fn list(&self, node: u32) -> &[u32] {
        &self.entries.neighbors[range_of(&self.starts, node)]
    }

    /// From partitions, which are read twice: to count, then to fill. Nothing if there are too many entries.
    pub(super) fn stream(
        partitions: &dyn EdgePartitions,
        runtime: &Runtime<'_>,
        expand: &Expand,
        filter: &LabelFilter<'_>,
        bound: usize,
    ) -> Result<Option<Whole>> {
        let mut counts: Vec<u32> = vec![0; bound + 1];
        let mut total = 0u64;
        let counting = Expand { edge_ids: EdgeIds::Omit, ..expand.clone() };
        for_each_entry(partitions, runtime, &counting, filter, &mut |entry| {
            counts[entry.node] += 1;
            total += 1;
        })?;
        if total >= u64::from(u32::MAX) {
            return Ok(None);
        }
        // From counts to where each list starts; then, while it is filled, where its next entry goes.
        let mut start = 0;
        for count in &mut counts {
            start += std::mem::replace(count, start);
        }
        let mut next = counts;
        let with_edges = expand.edge_ids == EdgeIds::Include;
        let mut entries = Entries::new(with_edges);
        entries.neighbors = vec![0; total as usize];
        if with_edges {
            entries.edges = vec![Default::default(); total as usize];
        }
        for_each_entry(partitions, runtime, expand, filter, &mut |entry| {
            let at = next[entry.node] as usize;
            next[entry.node] += 1;
            entries.neighbors[at] = entry.neighbor.0 as u32;
            if with_edges {
                entries.edges[at] = entry.edge;
            }
        })?;
        // The end of each list, until it is finished; then its start, which is further ahead if others had repeats.
        let mut starts = next;
        let mut repeat_starts = Vec::with_capacity(bound + 1);
        let (mut start, mut to) = (0, 0);
        for end in &mut starts[..bound] {
            repeat_starts.push(entries.repeats.len() as u32);
            let list = start..*end as usize;
            start = list.end;
            *end = to as u32;
            to = entries.finish_at(list, to).0;
        }
        starts[bound] = to as u32;
        repeat_starts.push(entries.repeats.len() as u32);
        entries.neighbors.truncate(to);
        Ok(Some(Whole::new(starts, repeat_starts, entries)))
    }

    /// By expanding all nodes. Nothing if there are too many entries.
    pub(super) fn expand(
        view: &dyn ReadView,
        runtime: &Runtime<'_>,
        expand: &Expand,
        filter: &LabelFilter<'_>,
        numbers: &mut Numbers,
    ) -> Result<Option<Whole>> {
        let mut entries = Entries::new(expand.edge_ids == EdgeIds::Include);
        let (mut starts, mut repeat_starts) = (vec![0], vec![0]);
        let mut first = 0;
        while first < numbers.bound {
            let end = (first + NODES_AT_ONCE).min(numbers.bound);
            let nodes: Vec<NodeId> = (first..end).map(NodeId).collect();
            let mut place = |_: usize, place: ListPlace| {
                starts.push(place.neighbors().end as u32);
                repeat_starts.push(place.repeats().end as u32);
            };
            read_lists(view, runtime, expand, filter, numbers, &nodes, &mut entries, &mut place)?;
            if entries.neighbors.len() >= u32::MAX as usize {
                return Ok(None);
            }
            first = end;
        }
        Ok(Some(Whole::new(starts, repeat_starts, entries)))
    }
}

/// The range of a node; empty if it has none.
#[inline]
pub(super) fn range_of(starts: &[u32], node: u32) -> Range<usize> {
    match starts.get(node as usize..node as usize + 2) {
        Some(&[start, end]) => start as usize..end as usize,
        _ => 0..0,
    }
}

/// Calls `take` with each entry of the lists that an expansion of all nodes would make; a loop comes once.
fn for_each_entry(
    partitions: &dyn EdgePartitions,
    runtime: &Runtime<'_>,
    expand: &Expand,
    filter: &LabelFilter<'_>,
    take: &mut impl FnMut(Entry),
) -> Result<()> {
    let stream = EdgeStream { types: expand.types.clone(), edge_ids: expand.edge_ids, ..EdgeStream::default() };
    let mut block = EdgeBlock::default();
    for partition in 0..partitions.count() {
        let mut cursor = partitions.stream(partition, &stream)?;
        while cursor.next(&mut block)? {
            runtime.environment.interrupt.check()?;
            for (index, (&source, &target)) in block.sources.iter().zip(&block.targets).enumerate() {
                let id = block.edges.get(index).copied().unwrap_or_default();
                let is_loop = source == target;
                if expand.direction != Direction::In && filter.has(target) {
                    let edge = (id, block.edge_type, false);
                    take(Entry { node: source.index(), neighbor: target, edge });
                }
                let is_against = expand.direction == Direction::In || (expand.direction == Direction::Both && !is_loop);
                if is_against && filter.has(source) {
                    let edge = (id, block.edge_type, true);
                    take(Entry { node: target.index(), neighbor: source, edge });
                }
            }
        }
    }
    Ok(())
}
