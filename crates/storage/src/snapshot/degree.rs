//! Degrees of nodes, from the lengths of runs and lists.
//!
//! Cost: a search in each section, for many nodes close together a few nanoseconds; the edges themselves are looked at
//! only where the memtable deleted some. Self-loops are counted once when both directions are asked for: a section is
//! searched for those of a node once, and remembers.

use std::ops::Range;

use model::{Direction, EdgeTypeId, NodeId, Result};

use super::Snapshot;
use crate::error::StorageError;
use crate::memtable::{Adjacency, Link};
use crate::partition::{LiveSection, Section};

impl Snapshot {
    /// Number of edges of each node that an expansion would find.
    pub(super) fn degrees_of(
        &self,
        nodes: &[NodeId],
        direction: Direction,
        types: Option<&[EdgeTypeId]>,
    ) -> Result<Vec<u64>> {
        if nodes.len() < MANY {
            return nodes.iter().map(|&node| self.degree(node, direction, types)).collect();
        }
        // Section by section, so that each is looked for once.
        let mut degrees = vec![0; nodes.len()];
        let is_span = is_span(nodes);
        for place in self.version.wanted_places(types) {
            let (partition, section) = self.version.at(place);
            let interval = &partition.entry().interval;
            if is_span && section.patches.is_none() {
                for is_in in [false, true] {
                    if direction != if is_in { Direction::Out } else { Direction::In } {
                        add_runs(section.section, nodes, is_in, &mut degrees)?;
                    }
                }
            } else {
                for (degree, &node) in degrees.iter_mut().zip(nodes) {
                    if direction != Direction::In {
                        *degree += section.out_degree(node)?;
                    }
                    if direction != Direction::Out && interval.contains(&node.0) {
                        *degree += section.in_degree(node)?;
                    }
                }
            }
            if direction == Direction::Both {
                take_loops(section, interval, nodes, |at, loops| {
                    degrees[at] = less(section, degrees[at], loops)?;
                    Ok(())
                })?;
            }
        }
        if self.has_new_edges() {
            for (degree, &node) in degrees.iter_mut().zip(nodes) {
                let (new, lost) = self.changed_degree(node, direction, types);
                *degree = self.changed(*degree, new, lost)?;
            }
        }
        Ok(degrees)
    }

    /// Number of edges of each node that lead back to it.
    pub(super) fn loops_of(&self, nodes: &[NodeId], types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        let mut loops = vec![0; nodes.len()];
        for place in self.version.wanted_places(types) {
            let (partition, section) = self.version.at(place);
            take_loops(section, &partition.entry().interval, nodes, |at, found| {
                loops[at] += found;
                Ok(())
            })?;
        }
        if self.has_new_edges() {
            for (loops, &node) in loops.iter_mut().zip(nodes) {
                let (new, lost) = self.changed_loops(node, types);
                *loops = self.changed(*loops, new, lost)?;
            }
        }
        Ok(loops)
    }

    /// Number of edges of a node that an expansion would find.
    pub(super) fn degree(&self, node: NodeId, direction: Direction, types: Option<&[EdgeTypeId]>) -> Result<u64> {
        let mut degree = 0;
        for place in self.version.wanted_places(types) {
            let (partition, section) = self.version.at(place);
            let interval = &partition.entry().interval;
            if direction != Direction::In {
                degree += section.out_degree(node)?;
            }
            if direction != Direction::Out && interval.contains(&node.0) {
                degree += section.in_degree(node)?;
            }
            if direction == Direction::Both {
                take_loops(section, interval, &[node], |_, loops| {
                    degree = less(section, degree, loops)?;
                    Ok(())
                })?;
            }
        }
        let (new, lost) = self.changed_degree(node, direction, types);
        self.changed(degree, new, lost)
    }

    /// A count of the files, with what the memtable made and deleted.
    fn changed(&self, count: u64, new: u64, lost: u64) -> Result<u64> {
        let left = (count + new).checked_sub(lost);
        let damage = || StorageError::corrupt(self.version.directory(), 0, "more edges are deleted than there were");
        left.ok_or_else(damage)
    }

    /// True if edges were made or deleted since the files were written.
    fn has_new_edges(&self) -> bool {
        !self.memtable.edges.is_empty() || !self.memtable.base_edges_deleted.is_empty()
    }

    /// Number of edges of a node that the memtable has, and number of those in the files that it deleted.
    fn changed_degree(&self, node: NodeId, direction: Direction, types: Option<&[EdgeTypeId]>) -> (u64, u64) {
        let (edges, deleted) = (&self.memtable.edges, &self.memtable.base_edges_deleted);
        let is_whole = self.memtable.edges_deleted == 0;
        let (mut new, mut lost) = (0, 0);
        for is_in in [false, true] {
            if direction != if is_in { Direction::Out } else { Direction::In } {
                new += count(edges, node, is_whole, is_in, types);
                lost += count(deleted, node, true, is_in, types);
            }
        }
        if direction == Direction::Both && new + lost > 1 {
            let (new_loops, lost_loops) = self.changed_loops(node, types);
            (new, lost) = (new - new_loops, lost - lost_loops);
        }
        (new, lost)
    }

    /// The same of those that lead back to it.
    fn changed_loops(&self, node: NodeId, types: Option<&[EdgeTypeId]>) -> (u64, u64) {
        let is_wanted = |edge_type: EdgeTypeId| types.is_none_or(|types| types.contains(&edge_type));
        let count = |edges: &Adjacency| {
            let is_loop = |link: &Link| link.target == node && !link.is_deleted && is_wanted(link.edge_type);
            edges.out_edges(node).filter(|(_, link)| is_loop(link)).count() as u64
        };
        (count(&self.memtable.edges), count(&self.memtable.base_edges_deleted))
    }
}

/// Number of nodes from which on sections are gone through one by one.
const MANY: usize = 8;

/// Calls `take` with the place of each node that has self-loops in a section, and how many.
fn take_loops(
    section: LiveSection<'_>,
    interval: &Range<u64>,
    nodes: &[NodeId],
    mut take: impl FnMut(usize, u64) -> Result<()>,
) -> Result<()> {
    for (at, &node) in nodes.iter().enumerate() {
        if interval.contains(&node.0) && section.section.has_loop(node)? {
            let mut positions = Vec::new();
            section.between(node, node, &mut positions)?;
            if !positions.is_empty() {
                take(at, positions.len() as u64)?;
            }
        }
    }
    Ok(())
}

/// A degree without the self-loops, which both directions have.
fn less(section: LiveSection<'_>, degree: u64, loops: u64) -> Result<u64> {
    let damage = || section.section.file().damage(0, "a node has more self-loops than edges");
    degree.checked_sub(loops).ok_or_else(damage)
}

/// Nodes of a span for each of those asked for, so that it is worth to read the runs of all.
const SPAN_SHARE: u64 = 4;

/// Runs that are read together.
const RUNS_AT_ONCE: usize = 4_096;

/// True if the nodes ascend and leave few out.
fn is_span(nodes: &[NodeId]) -> bool {
    let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return false };
    last.0.saturating_sub(first.0) < nodes.len() as u64 * SPAN_SHARE && nodes.is_sorted_by(|a, b| a < b)
}

/// Adds the lengths of the runs of ascending nodes, read one after the other.
fn add_runs(section: &Section, nodes: &[NodeId], is_in: bool, degrees: &mut [u64]) -> Result<()> {
    let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return Ok(()) };
    let (index, file) = (if is_in { section.in_index() } else { section.out_index() }, section.file());
    let slots = index.slots(file, first.0..last.0 + 1)?;
    let (mut ids, mut ends, mut at, mut slot) = (Vec::new(), Vec::new(), 0, slots.start);
    while slot < slots.end {
        let next = slots.end.min(slot + RUNS_AT_ONCE);
        let mut start = index.runs(file, slot..next, &mut ids, &mut ends)?;
        for (&id, &end) in ids.iter().zip(&ends) {
            while at < nodes.len() && nodes[at].0 < id {
                at += 1;
            }
            if at < nodes.len() && nodes[at].0 == id {
                let length = end.checked_sub(start);
                degrees[at] += length.ok_or_else(|| file.damage(0, format!("the run {start}..{end} of node {id}")))?;
            }
            start = end;
        }
        slot = next;
    }
    Ok(())
}

/// Number of edges of the memtable that a node has in one direction; the list tells if none is deleted and any type
/// will do.
fn count(edges: &Adjacency, node: NodeId, is_whole: bool, is_in: bool, types: Option<&[EdgeTypeId]>) -> u64 {
    match types {
        None if is_whole && is_in => edges.in_count(node),
        None if is_whole => edges.out_count(node),
        _ => {
            let links = if is_in { edges.in_edges(node) } else { edges.out_edges(node) };
            let is_wanted = |link: &Link| types.is_none_or(|types| types.contains(&link.edge_type));
            links.filter(|(_, link)| !link.is_deleted && is_wanted(link)).count() as u64
        }
    }
}
