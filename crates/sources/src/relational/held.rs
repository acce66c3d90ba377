//! Rows of a question that is read piece by piece over a connection that answers one statement at a time: those that came
//! before they were wanted, since something else was asked.

use std::collections::VecDeque;

use model::{Column, ColumnData, Result, error};

/// Rows that are read at once to be held.
pub(crate) const HELD_ROWS: usize = 8192;
/// Bytes of rows, about, that one question may hold.
const HELD_BYTES_MAX: usize = 256 << 20;

/// Rows in batches, in their order.
#[derive(Default)]
pub(crate) struct Held {
    batches: VecDeque<Vec<Column>>,
    bytes: usize,
}

impl Held {
    /// Adds rows at the end.
    pub(crate) fn push(&mut self, batch: Vec<Column>) {
        if batch.first().is_some_and(|column| !column.is_empty()) {
            self.bytes += size_of(&batch);
            self.batches.push_back(batch);
        }
    }

    /// Fails if more rows are held than may be.
    pub(crate) fn check(&self, source: &str) -> Result<()> {
        if self.bytes <= HELD_BYTES_MAX {
            return Ok(());
        }
        Err(error!(
            Limit,
            "{source}: something else was asked while a scan was read, of which more than {} MiB of rows are left, to be held here",
            HELD_BYTES_MAX >> 20
        )
        .with_remedy("ask for fewer rows or properties, or PRELOAD a part of the source"))
    }

    /// The first rows, `most` at most; `None` if there are none.
    pub(crate) fn take(&mut self, most: usize) -> Option<Vec<Column>> {
        let batch = self.batches.pop_front()?;
        let count = batch.first().map_or(0, Column::len);
        self.bytes = self.bytes.saturating_sub(size_of(&batch));
        if count <= most {
            return Some(batch);
        }
        let rest: Vec<Column> = batch.iter().map(|column| column.slice(most, count)).collect();
        self.bytes += size_of(&rest);
        self.batches.push_front(rest);
        Some(batch.iter().map(|column| column.slice(0, most)).collect())
    }
}

/// Approximate bytes of rows.
fn size_of(batch: &[Column]) -> usize {
    batch.iter().map(bytes_of).sum()
}

fn bytes_of(column: &Column) -> usize {
    match &column.data {
        ColumnData::Null(_) => 0,
        ColumnData::String(texts) => texts.iter().map(|text| text.len() + 8).sum(),
        ColumnData::Value(values) => values.len() * 48,
        _ => column.len() * 16,
    }
}
