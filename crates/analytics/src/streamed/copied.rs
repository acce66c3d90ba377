//! Rows copied to temporary files: for stores that give all their edges in an order of their own, and no partitions.
//!
//! The edges are read from the store once, however many passes a computation makes. Rows of the other side are made from the
//! copy when they are asked for.
//!
//! - [`table`]: the copy of one side.
//! - [`buckets`]: entries put into files by intervals of nodes, to be sorted within memory.
//!
//! Cost: one reading of the store; each entry is written twice, 8 bytes (16 with weights) in its bucket and 4 (12) in its
//! row. A pass reads the rows, and 8 bytes for each node. Held are the buffers of each thread.
//! Source: the sorting of shards in Kyrola, Blelloch, Guestrin, "GraphChi", 2012, section 4.1.

mod buckets;
mod table;

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use model::column::Bitmap;
use model::error::Result;
use model::store::Direction;

use super::Source;
use crate::edges::EdgeSource;
use crate::parallel::even_ranges;
use crate::rows::{RowSink, Rows, Side, Sides};
use crate::scratch::Place;
use table::{Key, Means, Table};

/// A selection whose rows were copied.
pub(super) struct CopiedRows<'a> {
    source: Source<'a>,
    means: Means<'a>,
    side: Side,
    table: Table<'a>,
    /// The rows of the other side.
    other: OnceLock<Table<'a>>,
    other_is_made: Mutex<()>,
}

impl<'a> CopiedRows<'a> {
    /// Copies the edges of a selection.
    pub(super) fn new(source: Source<'a>, edges: &dyn EdgeSource, place: Place<'a>) -> Result<CopiedRows<'a>> {
        let Source { threads, buffer_entries, interrupt, .. } = source;
        let means = Means { place, node_count: source.numbering.len() as u32, threads, buffer_entries, interrupt };
        let side = if source.selection.sides == Sides::Backward { Side::Backward } else { Side::Forward };
        let key = match source.direction(side) {
            Direction::Out => Key::Source,
            Direction::In => Key::Target,
            Direction::Both => Key::Both,
        };
        let table = Table::of(edges, key, &means)?;
        Ok(CopiedRows { source, means, side, table, other: OnceLock::new(), other_is_made: Mutex::new(()) })
    }

    fn table(&self, side: Side) -> Result<&Table<'a>> {
        if side == self.side || self.source.selection.projection.direction == Direction::Both {
            return Ok(&self.table);
        }
        let _making = self.other_is_made.lock().unwrap_or_else(PoisonError::into_inner);
        if self.other.get().is_none() {
            let made = Table::of(&self.table.turned(), Key::Source, &self.means)?;
            // Nobody else makes it: the lock is held.
            let _ = self.other.set(made);
        }
        self.other.get().ok_or_else(|| model::error!(Internal, "rows that were just made are not there"))
    }
}

impl Rows for CopiedRows<'_> {
    fn node_count(&self) -> usize {
        self.source.numbering.len()
    }

    fn edge_count(&self) -> u64 {
        self.table.entries()
    }

    fn pieces(&self, _side: Side, count: usize) -> Vec<Range<usize>> {
        even_ranges(self.node_count(), count, 1)
    }

    fn scan(&self, side: Side, nodes: Range<usize>, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        self.table(side)?.scan(nodes.start as u32..nodes.end as u32, among, self.source.interrupt, sink)
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
