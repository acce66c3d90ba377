//! Rows that hold lists or paths: handed on by their size, since a thousand of them may take more than all memory.

use model::column::Column;
use model::error::Result;
use model::limits::BATCH_ROWS;
use model::procedure::{RowSink, Workspace};
use model::value::Value;

use crate::held::Held;

/// Bytes of rows that are handed on together, unless a row is longer.
const BYTES: usize = 1 << 20;

/// Rows that are gathered until they are as many, or as long, as are handed on together.
pub(crate) struct LongRows<'a, 's> {
    columns: Vec<Vec<Value>>,
    held: Held<'a>,
    bytes: usize,
    sink: &'s mut RowSink<'s>,
}

impl<'a, 's> LongRows<'a, 's> {
    /// An empty buffer of rows with that number of columns.
    pub(crate) fn new(columns: usize, workspace: &'a dyn Workspace, sink: &'s mut RowSink<'s>) -> LongRows<'a, 's> {
        LongRows {
            columns: vec![Vec::new(); columns],
            held: Held::nothing(workspace, "rows with lists"),
            bytes: 0,
            sink,
        }
    }

    /// Adds a row whose lists have `elements` elements together; it is made once the memory for it is taken. False if no
    /// more rows are wanted.
    pub(crate) fn push(&mut self, elements: usize, make: impl FnOnce() -> Result<Vec<Value>>) -> Result<bool> {
        let bytes = (elements + self.columns.len()) * size_of::<Value>();
        if self.bytes > 0 && self.bytes + bytes > BYTES && !self.flush()? {
            return Ok(false);
        }
        self.held.grow(bytes)?;
        self.bytes += bytes;
        self.columns.iter_mut().zip(make()?).for_each(|(column, value)| column.push(value));
        if self.bytes >= BYTES || self.columns[0].len() >= BATCH_ROWS { self.flush() } else { Ok(true) }
    }

    /// Hands on what is left. False if no more rows are wanted.
    pub(crate) fn flush(&mut self) -> Result<bool> {
        if self.columns[0].is_empty() {
            return Ok(true);
        }
        let columns = self.columns.iter_mut().map(|values| Column::from_values(&std::mem::take(values))).collect();
        let goes_on = (self.sink)(columns)?;
        self.held.resize(0)?;
        self.bytes = 0;
        Ok(goes_on)
    }
}
