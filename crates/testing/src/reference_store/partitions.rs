//! The edges of a view as a few partitions by target, so that streaming can be tested without a storage engine.

use std::ops::Range;

use model::batch::EdgeBlock;
use model::store::{EdgeBlockCursor, EdgeIds, EdgePartitions, EdgeStream};
use model::{EdgeId, EdgeTypeId, NodeId, Result};

use super::view::ReferenceView;

/// Enough for intervals that differ, few enough to read.
const PARTITIONS: u64 = 3;

impl ReferenceView {
    fn edges_of(
        &self,
        partition: usize,
        types: Option<&[EdgeTypeId]>,
    ) -> impl Iterator<Item = (EdgeTypeId, NodeId, NodeId, EdgeId)> {
        let interval = self.interval(partition);
        let rows = self.state.edges.iter().map(|(id, edge)| (edge.edge_type, edge.source, edge.target, *id));
        rows.filter(move |(edge_type, _, target, _)| {
            interval.contains(&target.0) && types.is_none_or(|types| types.contains(edge_type))
        })
    }
}

impl EdgePartitions for ReferenceView {
    fn count(&self) -> usize {
        PARTITIONS as usize
    }

    fn interval(&self, partition: usize) -> Range<u64> {
        let bound = self.state.nodes_created;
        let width = bound / PARTITIONS + 1;
        let start = partition as u64 * width;
        start.min(bound)..(start + width).min(bound)
    }

    fn edge_count(&self, partition: usize, types: Option<&[EdgeTypeId]>) -> u64 {
        self.edges_of(partition, types).count() as u64
    }

    fn stream(&self, partition: usize, stream: &EdgeStream) -> Result<Box<dyn EdgeBlockCursor + '_>> {
        let sources = stream.sources.clone().unwrap_or(0..u64::MAX);
        let edges = self.edges_of(partition, stream.types.as_deref());
        let mut rows: Vec<_> = edges.filter(|(_, source, _, _)| sources.contains(&source.0)).collect();
        rows.sort_unstable();
        Ok(Box::new(BlockCursor { view: self, stream: stream.clone(), rows, position: 0 }))
    }
}

struct BlockCursor<'a> {
    view: &'a ReferenceView,
    stream: EdgeStream,
    rows: Vec<(EdgeTypeId, NodeId, NodeId, EdgeId)>,
    position: usize,
}

impl EdgeBlockCursor for BlockCursor<'_> {
    fn next(&mut self, out: &mut EdgeBlock) -> Result<bool> {
        out.clear();
        let rest = &self.rows[self.position..];
        let Some(&(edge_type, ..)) = rest.first() else { return Ok(false) };
        let of_type = rest.iter().take_while(|row| row.0 == edge_type).take(self.view.options.batch_rows);
        let mut edges = Vec::new();
        for &(_, source, target, edge) in of_type {
            out.sources.push(source);
            out.targets.push(target);
            edges.push(edge);
        }
        self.position += edges.len();
        out.edge_type = edge_type;
        out.properties = self.view.edge_columns(&edges, &self.stream.keys);
        if self.stream.edge_ids == EdgeIds::Include {
            out.edges = edges;
        }
        Ok(true)
    }
}
