//! Edge partitions: all edges whose target lies in an interval of node ids, in both directions.

use std::ops::Range;

use model::id::{EdgeTypeId, NodeId, PropertyKeyId};
use model::{Column, Result};

/// One immutable edge partition.
#[derive(Debug)]
pub struct Partition {
    interval: Range<u64>,
    sections: Vec<Section>,
}

impl Partition {
    /// The target ids of its edges.
    pub fn interval(&self) -> Range<u64> {
        self.interval.clone()
    }

    /// Its sections, in order of their edge types.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section of a type, with its index.
    pub fn section_of(&self, edge_type: EdgeTypeId) -> Option<(usize, &Section)> {
        let index = self.sections.binary_search_by_key(&edge_type, |section| section.edge_type).ok()?;
        Some((index, &self.sections[index]))
    }
}

/// The edges of one type in a partition: sorted by source, then target; a position counts from 0 in that order.
#[derive(Debug)]
pub struct Section {
    edge_type: EdgeTypeId,
    edge_count: u64,
}

impl Section {
    /// The type of its edges.
    pub fn edge_type(&self) -> EdgeTypeId {
        self.edge_type
    }

    /// How many edges it holds.
    pub fn edge_count(&self) -> u64 {
        self.edge_count
    }

    /// The positions of the edges that start at a node; empty if there are none.
    pub fn out_run(&self, _source: NodeId) -> Result<Range<u64>> {
        Ok(0..0)
    }

    /// The places, in the in-direction, of the edges that end at a node; empty if there are none.
    pub fn in_run(&self, _target: NodeId) -> Result<Range<u64>> {
        Ok(0..0)
    }

    /// Adds the targets of a run of positions to `out`; within one source they ascend.
    pub fn targets(&self, _run: Range<u64>, _out: &mut Vec<NodeId>) -> Result<()> {
        Ok(())
    }

    /// Adds the sources of a run of places of the in-direction to `out`; within one target they ascend.
    pub fn sources(&self, _in_run: Range<u64>, _out: &mut Vec<NodeId>) -> Result<()> {
        Ok(())
    }

    /// Adds the positions of the edges at a part of the in-run of `target` to `out`.
    /// Cost: a search for each edge.
    pub fn in_positions(&self, _target: NodeId, _in_run: Range<u64>, _out: &mut Vec<u64>) -> Result<()> {
        Ok(())
    }

    /// The source of the edge at a position. Cost: a search in the pointer index.
    pub fn source_at(&self, _position: u64) -> Result<NodeId> {
        Ok(NodeId(0))
    }

    /// The target of the edge at a position.
    pub fn target_at(&self, _position: u64) -> Result<NodeId> {
        Ok(NodeId(0))
    }

    /// The property keys that some edge here has.
    pub fn keys(&self) -> impl Iterator<Item = PropertyKeyId> + '_ {
        [].into_iter()
    }

    /// One property of the edges at these positions, in any order.
    pub fn property(&self, _key: PropertyKeyId, positions: &[u64]) -> Result<Column> {
        Ok(Column::nulls(positions.len()))
    }

    /// One property of a run of positions.
    pub fn property_range(&self, _key: PropertyKeyId, run: Range<u64>) -> Result<Column> {
        Ok(Column::nulls((run.end - run.start) as usize))
    }
}
