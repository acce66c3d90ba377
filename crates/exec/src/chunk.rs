//! Rows in flight between operators, and which column holds which slot.

use std::sync::Arc;

use cypher::plan::SlotId;
use model::Column;

/// A batch of rows. Columns are shared: passing one on costs nothing.
///
/// A chunk without columns still has rows, and then may have more of them than a batch.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// Number of rows.
    pub rows: usize,
    /// The columns, in the order of the [`Layout`], `rows` values each.
    pub columns: Vec<Arc<Column>>,
}

impl Chunk {
    /// One row without columns.
    pub fn unit() -> Chunk {
        Chunk { rows: 1, columns: Vec::new() }
    }

    /// The rows at `rows`, in that order; a row may come often or never.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Chunk {
        let columns = self.columns.iter().map(|column| Arc::new(column.gather(rows))).collect();
        Chunk { rows: rows.len(), columns }
    }

    /// Rows `start..end`.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Chunk {
        if start == 0 && end == self.rows {
            return self.clone();
        }
        let columns = self.columns.iter().map(|column| Arc::new(column.slice(start, end))).collect();
        Chunk { rows: end - start, columns }
    }
}

/// The column of a chunk that holds each slot: known when a plan is lowered, the same for all chunks of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    slots: Vec<SlotId>,
}

impl Layout {
    /// The layout whose columns hold these slots, in order.
    pub fn new(slots: Vec<SlotId>) -> Layout {
        Layout { slots }
    }

    /// The column that holds the slot.
    pub fn column(&self, slot: SlotId) -> Option<usize> {
        self.slots.iter().position(|&held| held == slot)
    }

    /// Adds a column at the end and says which it is.
    pub fn push(&mut self, slot: SlotId) -> usize {
        self.slots.push(slot);
        self.slots.len() - 1
    }

    /// The slots, in the order of the columns.
    pub fn slots(&self) -> &[SlotId] {
        &self.slots
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True without columns.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}
