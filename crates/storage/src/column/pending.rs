//! Rows of a block that is not whole yet.
//!
//! Of a block with few values these alone are held, with their places: of thousands of columns most have a value in one
//! row of many, and take some bytes each instead of a row's width for every row.

use model::{Column, ColumnData};

use crate::format::COLUMN_BLOCK_ROWS;

/// Values up to which only they are held.
const FEW: usize = 256;

const _: () = assert!(COLUMN_BLOCK_ROWS <= 1 << 16, "the place of a value fits 16 bits");

/// Rows of a block that is not whole yet.
#[derive(Debug)]
pub(super) struct Pending {
    /// All rows, or only those with a value.
    column: Column,
    /// The rows of the values, where `column` has only these.
    places: Option<Vec<u16>>,
    rows: usize,
}

impl Default for Pending {
    fn default() -> Pending {
        Pending { column: Column::nulls(0), places: Some(Vec::new()), rows: 0 }
    }
}

impl Pending {
    /// Rows held.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of the strings held.
    pub(super) fn text_bytes(&self) -> usize {
        if let ColumnData::String(texts) = &self.column.data { texts.byte_count() } else { 0 }
    }

    /// Approximate bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        let places = self.places.as_ref().map_or(0, |places| places.capacity() * size_of::<u16>());
        places + self.column.len() * size_of::<u64>() + self.text_bytes()
    }

    /// Adds rows `start..end` of a column.
    pub(super) fn push(&mut self, column: &Column, start: usize, end: usize) {
        match self.places.as_mut().filter(|places| places.len() + present(column, start, end) <= FEW) {
            Some(places) => {
                for row in (start..end).filter(|&row| !column.is_null(row)) {
                    places.push((self.rows + row - start) as u16);
                    self.column.append_range(column, row, row + 1);
                }
            }
            None => self.whole().append_range(column, start, end),
        }
        self.rows += end - start;
    }

    /// Adds `count` rows: null, but for those at `places`, which ascend and have rows `start..` of a column without nulls.
    pub(super) fn push_at(&mut self, places: &[u32], column: &Column, start: usize, count: usize) {
        match self.places.as_mut().filter(|held| held.len() + places.len() <= FEW) {
            Some(held) => {
                held.extend(places.iter().map(|&place| (self.rows + place as usize) as u16));
                self.column.append_range(column, start, start + places.len());
            }
            None => append_at(self.whole(), places.iter().map(|&place| place as usize), column, start, count),
        }
        self.rows += count;
    }

    /// The rows held, of which there are none from then on.
    pub(super) fn take(&mut self) -> Column {
        self.whole();
        std::mem::take(self).column
    }

    /// The rows held, all of them from then on.
    fn whole(&mut self) -> &mut Column {
        if let Some(places) = self.places.take() {
            let values = std::mem::replace(&mut self.column, Column::nulls(0));
            append_at(&mut self.column, places.into_iter().map(usize::from), &values, 0, self.rows);
        }
        &mut self.column
    }
}

/// Rows of a range that have a value, or more than [`FEW`].
fn present(column: &Column, start: usize, end: usize) -> usize {
    match (&column.data, &column.validity) {
        (ColumnData::Null(_), _) => 0,
        (ColumnData::Value(_), _) | (_, Some(_)) => {
            (start..end).filter(|&row| !column.is_null(row)).take(FEW + 1).count()
        }
        (_, None) => end - start,
    }
}

/// Adds `count` rows to a column: null, but for those at `places`, which have rows `start..` of `from`.
fn append_at(to: &mut Column, places: impl Iterator<Item = usize>, from: &Column, start: usize, count: usize) {
    let mut rows = 0;
    for (at, place) in (start..).zip(places) {
        append_nulls(to, place - rows);
        to.append_range(from, at, at + 1);
        rows = place + 1;
    }
    append_nulls(to, count - rows);
}

fn append_nulls(to: &mut Column, count: usize) {
    to.append_range(&Column::nulls(count), 0, count);
}
