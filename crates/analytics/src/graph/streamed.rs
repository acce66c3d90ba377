//! Rows that are read from the store each time they are asked for.
//!
//! Cost: nothing is held but the buffers of a block; a pass over all rows follows the edges of all nodes, in batches.

use std::ops::Range;

use model::batch::EdgeBatch;
use model::column::{Bitmap, Column};
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::limits::BATCH_ROWS;
use model::store::{Direction, EdgeIds};
use model::value::Value;

use super::Selection;
use super::rows::{RowBlock, RowSink, Rows, Side};
use crate::graph_view::numbering::{ABSENT, Numbering};
use crate::parallel::even_ranges;
use crate::projection::{Weight, edge_text, is_cost};

/// Parts for each thread.
const PARTS_PER_THREAD: usize = 16;

/// A selection whose rows are read when they are asked for.
pub(crate) struct StreamedRows<'a> {
    selection: Selection<'a>,
    numbering: Numbering,
    threads: usize,
    batch_nodes: usize,
    interrupt: &'a Interrupt,
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

impl<'a> StreamedRows<'a> {
    pub(crate) fn new(selection: Selection<'a>, threads: usize, interrupt: &'a Interrupt) -> Result<StreamedRows<'a>> {
        let numbering = Numbering::build(selection.view, selection.projection.labels.as_deref(), interrupt)?;
        let batch_nodes = if selection.view.capabilities().is_remote { 8 * BATCH_ROWS } else { BATCH_ROWS };
        Ok(StreamedRows { selection, numbering, threads, batch_nodes, interrupt })
    }

    pub(crate) fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// Which way the store follows edges for rows of that side.
    fn direction(&self, side: Side) -> Direction {
        match side {
            Side::Forward => self.selection.projection.direction,
            Side::Backward => self.selection.projection.direction.reverse(),
        }
    }

    /// Follows the edges of a range of nodes, but for those not `among`, into a buffer.
    fn expand(&self, side: Side, range: Range<usize>, among: Option<&Bitmap>, out: &mut Buffer) -> Result<()> {
        let keys = self.selection.weight.map_or_else(Vec::new, Weight::keys);
        let expand = self.selection.projection.expand(self.direction(side), keys, EdgeIds::Omit);
        let wanted: Vec<u32> = (range.start as u32..range.end as u32)
            .filter(|&number| among.is_none_or(|among| among.get(number as usize)))
            .collect();
        let nodes: Vec<NodeId> = wanted.iter().map(|&number| self.numbering.node(number)).collect();
        out.first = range.start as u32;
        out.neighbors.clear();
        out.weights.clear();
        let mut counts = vec![0_u64; range.len()];
        if !nodes.is_empty() {
            let mut cursor = self.selection.view.expand(&nodes, &expand)?;
            let (mut input, mut numbers) = (EdgeBatch::default(), Vec::new());
            while cursor.next(&mut input)? {
                self.interrupt.check()?;
                self.numbering.indices(&input.neighbors, &mut numbers);
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
        let Some(weight) = self.selection.weight else { return Ok(()) };
        let mut costs = Vec::with_capacity(input.len());
        weight.append(&input.properties, input.len(), &mut costs);
        for (at, &cost) in costs.iter().enumerate().filter(|(at, _)| numbers[*at] != ABSENT) {
            if !is_cost(cost) {
                let value = input.properties.first().map_or(Value::Null, |column: &Column| column.value(at));
                let edge_type = self.selection.view.schema().edge_type_name(input.types[at]);
                let edge = edge_text(edge_type, nodes[input.inputs[at] as usize], input.neighbors[at]);
                return Err(weight.fault(&value, &edge));
            }
            out.weights.push(cost);
        }
        Ok(())
    }
}

impl Rows for StreamedRows<'_> {
    fn node_count(&self) -> usize {
        self.numbering.len()
    }

    fn edge_count(&self) -> u64 {
        let statistics = self.selection.view.statistics();
        let stored: u64 = match &self.selection.projection.types {
            None => statistics.edges,
            Some(types) => types.iter().map(|&edge_type| statistics.edge_type(edge_type)).sum(),
        };
        if self.selection.projection.direction == Direction::Both { 2 * stored } else { stored }
    }

    fn pieces(&self, _side: Side, count: usize) -> Vec<Range<usize>> {
        even_ranges(self.numbering.len(), count, 1)
    }

    fn scan(&self, side: Side, nodes: Range<usize>, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        let mut buffer = Buffer::default();
        for start in nodes.clone().step_by(self.batch_nodes) {
            let batch = start..(start + self.batch_nodes).min(nodes.end);
            if among.is_some_and(|among| !batch.clone().any(|number| among.get(number))) {
                continue;
            }
            self.expand(side, batch, among, &mut buffer)?;
            sink(buffer.block())?;
        }
        Ok(())
    }

    fn part_count(&self, side: Side) -> usize {
        self.pieces(side, PARTS_PER_THREAD * self.threads).len()
    }

    fn part_neighbors(&self, _side: Side, _part: usize) -> Range<usize> {
        0..self.numbering.len()
    }

    fn scan_part(&self, side: Side, part: usize, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        match self.pieces(side, PARTS_PER_THREAD * self.threads).get(part) {
            Some(nodes) => self.scan(side, nodes.clone(), among, sink),
            None => Ok(()),
        }
    }
}
