//! The numbers of a section's edges while it is written.

use model::{Column, ColumnData, Result, error};

use crate::column::{BlockHeader, ColumnWriter};
use crate::file::FileWriter;
use crate::partition::numbers::NumberForm;

/// Distances of numbers from positions: nothing is written while they are all the same.
#[derive(Default)]
pub(super) struct NumberWriter {
    rows: u64,
    /// The distance that all rows so far have.
    same: i64,
    writer: Option<ColumnWriter>,
}

/// Rows of equal distances that are written at a time.
const FILL_ROWS: u64 = 1 << 16;

impl NumberWriter {
    /// True if this chunk can only be written as a column.
    pub(super) fn needs_column(&self, numbers: &Column) -> Result<bool> {
        let numbers = numbers_of(numbers)?;
        let first = numbers.first().map_or(0, |&first| first - self.rows as i64);
        let is_same = |(number, row): (&i64, i64)| number - row == first;
        let continues = self.rows == 0 || self.same == first;
        Ok(self.writer.is_some() || !continues || !numbers.iter().zip(self.rows as i64..).all(is_same))
    }

    /// Adds the numbers of further edges that go on as those before.
    pub(super) fn push_same(&mut self, numbers: &Column) -> Result<()> {
        let numbers = numbers_of(numbers)?;
        if let (0, Some(&first)) = (self.rows, numbers.first()) {
            self.same = first;
        }
        self.rows += numbers.len() as u64;
        Ok(())
    }

    /// Adds the numbers of further edges to the column.
    pub(super) fn push(&mut self, numbers: &Column, sink: &mut FileWriter) -> Result<()> {
        let numbers = numbers_of(numbers)?;
        if self.writer.is_none() {
            let mut writer = ColumnWriter::default();
            let mut left = self.rows;
            while left > 0 {
                let rows = left.min(FILL_ROWS) as usize;
                writer.push(&Column::new(ColumnData::Int(vec![self.same; rows])), 0, rows, sink)?;
                left -= rows as u64;
            }
            self.writer = Some(writer);
        }
        let distances: Vec<i64> = numbers.iter().zip(self.rows as i64..).map(|(number, row)| number - row).collect();
        self.rows += distances.len() as u64;
        let rows = distances.len();
        let writer = self.writer.as_mut().expect("made above");
        writer.push(&Column::new(ColumnData::Int(distances)), 0, rows, sink)
    }

    /// Counts the edges that got a number.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The form of the numbers, and the blocks of their column if they are one; `sink` is where it went.
    pub(super) fn finish(self, sink: Option<&mut FileWriter>) -> Result<(NumberForm, Vec<BlockHeader>)> {
        match (self.writer, sink) {
            (Some(writer), Some(sink)) => Ok((NumberForm::Column, writer.finish(sink)?.unwrap_or_default())),
            _ => Ok((NumberForm::Consecutive(self.same), Vec::new())),
        }
    }
}

fn numbers_of(column: &Column) -> Result<&[i64]> {
    match &column.data {
        ColumnData::Int(numbers) if column.validity.as_ref().is_none_or(|bits| bits.count_ones() == numbers.len()) => {
            Ok(numbers)
        }
        _ => Err(error!(Internal, "edges to be written have no numbers")),
    }
}
