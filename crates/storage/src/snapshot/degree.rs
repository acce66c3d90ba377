//! How many edges a node has, from the lengths of runs and lists.
//!
//! Cost: a search in each section; the edges themselves are looked at only where the memtable deleted some, or for
//! self-loops, which are counted once when both directions are asked for.

use model::{Direction, EdgeTypeId, NodeId, Result};

use super::Snapshot;
use crate::memtable::Adjacency;
use crate::partition::Section;

impl Snapshot {
    /// True if the node has an edge.
    pub(crate) fn has_edges(&self, node: NodeId) -> Result<bool> {
        Ok(self.degree(node, Direction::Out, None)? > 0 || self.degree(node, Direction::In, None)? > 0)
    }

    /// How many edges of a node an expansion would find.
    pub(super) fn degree(&self, node: NodeId, direction: Direction, types: Option<&[EdgeTypeId]>) -> Result<u64> {
        let is_wanted = |edge_type: EdgeTypeId| types.is_none_or(|types| types.contains(&edge_type));
        let mut degree = 0;
        if direction != Direction::In {
            degree += self.base_out_degree(node, is_wanted)?
                + self.new_degree(self.memtable.out_edges.get(&node.0), is_wanted);
            degree -= self.deleted_degree(self.memtable.deleted_out.get(&node.0), is_wanted);
        }
        if direction != Direction::Out {
            degree +=
                self.base_in_degree(node, is_wanted)? + self.new_degree(self.memtable.in_edges.get(&node.0), is_wanted);
            degree -= self.deleted_degree(self.memtable.deleted_in.get(&node.0), is_wanted);
        }
        if direction == Direction::Both {
            degree -= self.loops(node, is_wanted)?;
        }
        Ok(degree)
    }

    fn base_out_degree(&self, node: NodeId, is_wanted: impl Fn(EdgeTypeId) -> bool) -> Result<u64> {
        let mut degree = 0;
        for section in self.version.partitions().iter().flat_map(|partition| partition.sections()) {
            if is_wanted(section.edge_type()) {
                let run = section.out_run(node)?;
                degree += run.end - run.start;
            }
        }
        Ok(degree)
    }

    fn base_in_degree(&self, node: NodeId, is_wanted: impl Fn(EdgeTypeId) -> bool) -> Result<u64> {
        let mut degree = 0;
        for section in self.version.partition_of(node).iter().flat_map(|(_, partition)| partition.sections()) {
            if is_wanted(section.edge_type()) {
                let run = section.in_run(node)?;
                degree += run.end - run.start;
            }
        }
        Ok(degree)
    }

    fn new_degree(&self, list: Option<&Adjacency>, is_wanted: impl Fn(EdgeTypeId) -> bool) -> u64 {
        let Some(list) = list else { return 0 };
        let is_there = |ordinal: u32| {
            self.memtable.edges_deleted == 0
                || self.memtable.edges.get(ordinal as usize).is_some_and(|record| !record.is_deleted)
        };
        list.iter().filter(|edge| is_wanted(edge.edge_type) && is_there(edge.ordinal)).count() as u64
    }

    fn deleted_degree(&self, list: Option<&Adjacency>, is_wanted: impl Fn(EdgeTypeId) -> bool) -> u64 {
        list.map_or(0, |list| list.iter().filter(|edge| is_wanted(edge.edge_type)).count() as u64)
    }

    /// How many of a node's edges lead back to it.
    fn loops(&self, node: NodeId, is_wanted: impl Fn(EdgeTypeId) -> bool) -> Result<u64> {
        let mut loops = 0;
        for section in self.version.partition_of(node).iter().flat_map(|(_, partition)| partition.sections()) {
            if is_wanted(section.edge_type()) {
                loops += base_loops(section, node)?;
            }
        }
        let of_list = |list: Option<&Adjacency>| {
            let edges = list.into_iter().flat_map(Adjacency::iter);
            edges.filter(|edge| edge.node == node && is_wanted(edge.edge_type)).copied().collect::<Vec<_>>()
        };
        loops -= of_list(self.memtable.deleted_out.get(&node.0)).len() as u64;
        let new = of_list(self.memtable.out_edges.get(&node.0));
        let is_there = |ordinal: u32| self.memtable.edges.get(ordinal as usize).is_some_and(|edge| !edge.is_deleted);
        loops += new.iter().filter(|edge| is_there(edge.ordinal)).count() as u64;
        Ok(loops)
    }
}

/// Edges of a section from a node to itself: targets ascend within a run, so two searches find them.
fn base_loops(section: &Section, node: NodeId) -> Result<u64> {
    let run = section.out_run(node)?;
    let first_from = |is_before: &dyn Fn(NodeId) -> bool| -> Result<u64> {
        let (mut low, mut high) = (run.start, run.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(section.target_at(middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    };
    Ok(first_from(&|target| target <= node)? - first_from(&|target| target < node)?)
}
