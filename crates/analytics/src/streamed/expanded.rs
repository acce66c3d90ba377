//! Rows found by following the edges of batches of nodes: for stores that have no partitions
//! and do not give all their edges.
//!
//! Cost: a pass over all rows is an expansion of all nodes, a batch at a time.

use std::ops::Range;

use model::batch::EdgeBatch;
use model::column::{Bitmap, Column};
use model::error::Result;
use model::id::NodeId;
use model::limits::BATCH_ROWS;
use model::store::EdgeIds;
use model::value::Value;

use super::{Source, has_any};
use crate::numbering::ABSENT;
use crate::parallel::even_ranges;
use crate::projection::{Weight, edge_text, is_cost};
use crate::rows::{RowBlock, RowSink, Rows, Side};

/// A selection whose rows are expansions.
pub(super) struct ExpandedRows<'a> {
    source: Source<'a>,
    batch_nodes: usize,
}

/// Rows that were read, as a block has them.
#[derive(Default)]
struct Buffer {
    first: u32,
    offsets: Vec<u64>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
}

impl Buffer {
    fn block(&self) -> RowBlock<'_> {
        RowBlock { first: self.first, offsets: &self.offsets, neighbors: &self.neighbors, weights: &self.weights }
    }
}

impl<'a> ExpandedRows<'a> {
    pub(super) fn new(source: Source<'a>) -> ExpandedRows<'a> {
        let is_remote = source.selection.view.capabilities().is_remote;
        ExpandedRows { source, batch_nodes: if is_remote { 8 * BATCH_ROWS } else { BATCH_ROWS } }
    }

    /// Follows the edges of a range of nodes, except those not `among`, into a buffer.
    fn expand(&self, side: Side, range: Range<usize>, among: Option<&Bitmap>, out: &mut Buffer) -> Result<()> {
        let Source { selection, numbering, interrupt, .. } = &self.source;
        let keys = selection.weight.map_or_else(Vec::new, Weight::keys);
        let expand = selection.projection.expand(self.source.direction(side), keys, EdgeIds::Omit);
        let wanted: Vec<u32> = (range.start as u32..range.end as u32)
            .filter(|&number| among.is_none_or(|among| among.get(number as usize)))
            .collect();
        let nodes: Vec<NodeId> = wanted.iter().map(|&number| numbering.node(number)).collect();
        out.first = range.start as u32;
        out.neighbors.clear();
        out.weights.clear();
        let mut counts = vec![0_u64; range.len()];
        if !nodes.is_empty() {
            let mut cursor = selection.view.expand(&nodes, &expand)?;
            let (mut input, mut numbers) = (EdgeBatch::default(), Vec::new());
            while cursor.next(&mut input)? {
                interrupt.check()?;
                numbering.indices(&input.neighbors, &mut numbers);
                self.append_weights(&input, &nodes, &numbers, out)?;
                for (at, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != ABSENT) {
                    counts[wanted[input.inputs[at] as usize] as usize - range.start] += 1;
                    out.neighbors.push(number);
                }
            }
        }
        out.offsets.clear();
        out.offsets.push(0);
        let mut end = 0;
        out.offsets.extend(counts.into_iter().map(|count| {
            end += count;
            end
        }));
        Ok(())
    }

    /// Adds the weights of the edges whose other end takes part.
    fn append_weights(&self, input: &EdgeBatch, nodes: &[NodeId], numbers: &[u32], out: &mut Buffer) -> Result<()> {
        let selection = &self.source.selection;
        let Some(weight) = selection.weight else { return Ok(()) };
        let mut costs = Vec::with_capacity(input.len());
        weight.append(&input.properties, input.len(), &mut costs);
        for (at, &cost) in costs.iter().enumerate().filter(|(at, _)| numbers[*at] != ABSENT) {
            if !is_cost(cost) {
                let value = input.properties.first().map_or(Value::Null, |column: &Column| column.value(at));
                let edge_type = selection.view.schema().edge_type_name(input.types[at]);
                let edge = edge_text(edge_type, nodes[input.inputs[at] as usize], input.neighbors[at]);
                return Err(weight.fault(&value, &edge));
            }
            out.weights.push(cost);
        }
        Ok(())
    }
}

impl Rows for ExpandedRows<'_> {
    fn node_count(&self) -> usize {
        self.source.numbering.len()
    }

    fn edge_count(&self) -> u64 {
        let statistics = self.source.selection.view.statistics();
        let stored: u64 = match &self.source.selection.projection.types {
            None => statistics.edges,
            Some(types) => types.iter().map(|&edge_type| statistics.edge_type(edge_type)).sum(),
        };
        self.source.entries(stored)
    }

    fn pieces(&self, _side: Side, count: usize) -> Vec<Range<usize>> {
        even_ranges(self.node_count(), count, 1)
    }

    fn scan(&self, side: Side, nodes: Range<usize>, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        let mut buffer = Buffer::default();
        for start in nodes.clone().step_by(self.batch_nodes) {
            let batch = start..(start + self.batch_nodes).min(nodes.end);
            if among.is_some_and(|among| !has_any(among, batch.clone())) {
                continue;
            }
            self.expand(side, batch, among, &mut buffer)?;
            sink(buffer.block())?;
        }
        Ok(())
    }

    fn part_count(&self, _side: Side) -> usize {
        self.source.node_parts().len()
    }

    fn part_neighbors(&self, _side: Side, _part: usize) -> Range<usize> {
        0..self.node_count()
    }

    fn scan_part(&self, side: Side, part: usize, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        let nodes = self.source.node_parts().into_iter().nth(part);
        nodes.map_or(Ok(()), |nodes| self.scan(side, nodes, among, sink))
    }
}
