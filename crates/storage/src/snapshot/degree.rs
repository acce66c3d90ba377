//! How many edges a node has, from the lengths of runs and lists.
//!
//! Cost: a search in each section; the edges themselves are looked at only where the memtable deleted some, or for
//! self-loops, which are counted once when both directions are asked for.

use model::{Direction, EdgeTypeId, NodeId, Result};

use super::Snapshot;
use crate::memtable::{Adjacency, Link};
use crate::partition::Section;

impl Snapshot {
    /// True if the node has an edge.
    pub(crate) fn has_edges(&self, node: NodeId) -> Result<bool> {
        Ok(self.degree(node, Direction::Out, None)? > 0 || self.degree(node, Direction::In, None)? > 0)
    }

    /// How many edges of each node an expansion would find.
    pub(super) fn degrees_of(
        &self,
        nodes: &[NodeId],
        direction: Direction,
        types: Option<&[EdgeTypeId]>,
    ) -> Result<Vec<u64>> {
        let is_in_files = self.memtable.edges.is_empty() && self.memtable.base_edges_deleted.is_empty();
        if !is_in_files || nodes.len() < 8 {
            return nodes.iter().map(|&node| self.degree(node, direction, types)).collect();
        }
        // Section by section, so that each is looked for once.
        let (mut degrees, mut positions) = (vec![0; nodes.len()], Vec::new());
        let is_span = is_span(nodes) && direction != Direction::Both;
        for place in self.version.wanted_places(types) {
            let (partition, section) = self.version.at(place);
            let interval = &partition.entry().interval;
            if is_span && section.patches.is_none() {
                add_runs(section.section, nodes, direction == Direction::In, &mut degrees)?;
                continue;
            }
            for (degree, &node) in degrees.iter_mut().zip(nodes) {
                let (mut out, mut back) = (0, 0);
                if direction != Direction::In {
                    out = section.out_degree(node)?;
                }
                if direction != Direction::Out && interval.contains(&node.0) {
                    back = section.in_degree(node)?;
                }
                *degree += out + back;
                if direction == Direction::Both && out > 0 && back > 0 {
                    positions.clear();
                    section.between(node, node, &mut positions)?;
                    *degree -= positions.len() as u64;
                }
            }
        }
        Ok(degrees)
    }

    /// How many edges of a node an expansion would find.
    pub(super) fn degree(&self, node: NodeId, direction: Direction, types: Option<&[EdgeTypeId]>) -> Result<u64> {
        let memtable = &self.memtable;
        let mut degree = 0;
        if direction != Direction::In {
            degree += self.base_out_degree(node, types)?;
            degree += count(&memtable.edges, node, memtable.edges_deleted == 0, false, types);
            degree -= count(&memtable.base_edges_deleted, node, true, false, types);
        }
        if direction != Direction::Out {
            degree += self.base_in_degree(node, types)?;
            degree += count(&memtable.edges, node, memtable.edges_deleted == 0, true, types);
            degree -= count(&memtable.base_edges_deleted, node, true, true, types);
        }
        if direction == Direction::Both {
            degree -= self.loops(node, types)?;
        }
        Ok(degree)
    }

    fn base_out_degree(&self, node: NodeId, types: Option<&[EdgeTypeId]>) -> Result<u64> {
        let mut degree = 0;
        for place in self.version.wanted_places(types) {
            degree += self.version.at(place).1.out_degree(node)?;
        }
        Ok(degree)
    }

    fn base_in_degree(&self, node: NodeId, types: Option<&[EdgeTypeId]>) -> Result<u64> {
        let mut degree = 0;
        for place in self.version.wanted_places(types) {
            let (partition, section) = self.version.at(place);
            if partition.entry().interval.contains(&node.0) {
                degree += section.in_degree(node)?;
            }
        }
        Ok(degree)
    }

    /// How many of a node's edges lead back to it.
    fn loops(&self, node: NodeId, types: Option<&[EdgeTypeId]>) -> Result<u64> {
        let is_wanted = |edge_type: EdgeTypeId| types.is_none_or(|types| types.contains(&edge_type));
        let (mut loops, mut positions) = (0, Vec::new());
        for place in self.version.wanted_places(types) {
            let (partition, section) = self.version.at(place);
            if partition.entry().interval.contains(&node.0) {
                positions.clear();
                section.between(node, node, &mut positions)?;
                loops += positions.len() as u64;
            }
        }
        let count = |edges: &Adjacency| {
            let is_loop = |link: &Link| link.target == node && !link.is_deleted && is_wanted(link.edge_type);
            edges.out_edges(node).filter(|(_, link)| is_loop(link)).count() as u64
        };
        loops = loops + count(&self.memtable.edges) - count(&self.memtable.base_edges_deleted);
        Ok(loops)
    }
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

/// How many edges of the memtable a node has in one direction; the list tells if none is deleted and any type will do.
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
