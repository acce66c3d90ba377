//! A view in memory as rows in blocks.

use std::ops::Range;

use model::column::Bitmap;
use model::error::Result;

use super::{Csr, GraphView};
use crate::parallel::ranges_of_equal_work;
use crate::rows::{RowSink, Rows, Side};

/// Parts of rows in memory: enough to even out the work of as many threads as there may be.
const MEMORY_PARTS: usize = 64;

impl GraphView {
    fn side(&self, side: Side) -> &Csr {
        match side {
            Side::Forward => self.forward(),
            Side::Backward => self.backward(),
        }
    }
}

impl Rows for GraphView {
    fn node_count(&self) -> usize {
        GraphView::node_count(self)
    }

    fn edge_count(&self) -> u64 {
        GraphView::edge_count(self) as u64
    }

    fn pieces(&self, side: Side, count: usize) -> Vec<Range<usize>> {
        ranges_of_equal_work(self.side(side).offsets(), count)
    }

    fn scan(&self, side: Side, nodes: Range<usize>, _among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        if nodes.is_empty() {
            return Ok(());
        }
        sink(self.side(side).block(nodes))
    }

    fn part_count(&self, side: Side) -> usize {
        self.pieces(side, MEMORY_PARTS).len()
    }

    fn part_neighbors(&self, _side: Side, _part: usize) -> Range<usize> {
        0..GraphView::node_count(self)
    }

    fn scan_part(&self, side: Side, part: usize, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        match self.pieces(side, MEMORY_PARTS).get(part) {
            Some(nodes) => self.scan(side, nodes.clone(), among, sink),
            None => Ok(()),
        }
    }
}
