//! Numbers, values and columns as bytes, in sections with checksums.

use std::sync::Arc;

use model::temporal::{Date, LocalDateTime};
use model::{Bitmap, Column, ColumnData, StringColumn, Value};

/// Length and checksum before each section.
const HEAD_BYTES: usize = 12;

/// A section being written.
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer { bytes: vec![0; HEAD_BYTES] }
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

/// The sections of a file up to the first that is not whole.
pub(super) fn sections(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        let length = u64::from_le_bytes(head[..8].try_into().ok()?);
        let sum = u32::from_le_bytes(head[8..].try_into().ok()?);
        let (section, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        bytes = rest;
        (checksum(section) == sum).then_some(section)
    })
}

impl Writer {
    pub(super) fn finish(mut self) -> Vec<u8> {
        let (length, sum) = ((self.bytes.len() - HEAD_BYTES) as u64, checksum(&self.bytes[HEAD_BYTES..]));
        self.bytes[..8].copy_from_slice(&length.to_le_bytes());
        self.bytes[8..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
        self.bytes
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.raw(&number.to_le_bytes());
    }

    pub(super) fn u64s(&mut self, numbers: impl Iterator<Item = u64>) {
        let at = self.bytes.len();
        self.u64(0);
        let mut count = 0_u64;
        numbers.for_each(|number| {
            self.u64(number);
            count += 1;
        });
        self.bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.u64(text.len() as u64);
        self.raw(text.as_bytes());
    }

    /// Adds a column; false if it holds what has no form here.
    pub(super) fn column(&mut self, column: &Column) -> bool {
        match &column.data {
            ColumnData::Null(count) => {
                self.u64(0);
                self.u64(*count as u64);
            }
            ColumnData::Bool(rows) => {
                self.u64(1);
                self.u64s(rows.iter().map(|&row| u64::from(row)));
            }
            ColumnData::Int(rows) => {
                self.u64(2);
                self.u64s(rows.iter().map(|&row| row as u64));
            }
            ColumnData::Float(rows) => {
                self.u64(3);
                self.u64s(rows.iter().map(|row| row.to_bits()));
            }
            ColumnData::String(rows) => {
                self.u64(4);
                self.u64(rows.len() as u64);
                rows.iter().for_each(|text| self.text(text));
            }
            ColumnData::Date(rows) => {
                self.u64(5);
                self.u64s(rows.iter().map(|row| row.0 as u64));
            }
            _ => {
                self.u64(6);
                self.u64(column.len() as u64);
                return column.values().all(|value| self.value(&value));
            }
        }
        match &column.validity {
            None => self.u64(0),
            Some(bits) => {
                self.u64(1);
                self.u64s(bits.words().iter().copied());
            }
        }
        true
    }

    fn value(&mut self, value: &Value) -> bool {
        match value {
            Value::Null => self.u64(0),
            Value::Bool(x) => {
                self.u64(1);
                self.u64(u64::from(*x));
            }
            Value::Int(x) => {
                self.u64(2);
                self.u64(*x as u64);
            }
            Value::Float(x) => {
                self.u64(3);
                self.u64(x.to_bits());
            }
            Value::String(x) => {
                self.u64(4);
                self.text(x);
            }
            Value::Date(x) => {
                self.u64(5);
                self.u64(x.0 as u64);
            }
            Value::LocalDateTime(x) => {
                self.u64(6);
                self.u64(x.seconds as u64);
                self.u64(u64::from(x.nanosecond));
            }
            Value::Bytes(x) => {
                self.u64(7);
                self.u64(x.len() as u64);
                self.raw(x);
            }
            Value::List(items) => {
                self.u64(8);
                self.u64(items.len() as u64);
                return items.iter().all(|item| self.value(item));
            }
            _ => return false,
        }
        true
    }
}

/// A section being read; what is not there is `None`.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    pub(super) fn raw(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.raw(8)?.try_into().ok()?))
    }

    pub(super) fn u64s(&mut self) -> Option<Vec<u64>> {
        let count = usize::try_from(self.u64()?).ok()?;
        let bytes = self.raw(count.checked_mul(8)?)?;
        Some(bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect())
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.u64()?).ok()?;
        std::str::from_utf8(self.raw(length)?).ok()
    }

    pub(super) fn column(&mut self) -> Option<Column> {
        let data = match self.u64()? {
            0 => ColumnData::Null(usize::try_from(self.u64()?).ok()?),
            1 => ColumnData::Bool(self.u64s()?.into_iter().map(|row| row != 0).collect()),
            2 => ColumnData::Int(self.u64s()?.into_iter().map(|row| row as i64).collect()),
            3 => ColumnData::Float(self.u64s()?.into_iter().map(f64::from_bits).collect()),
            4 => {
                let mut rows = StringColumn::default();
                for _ in 0..self.u64()? {
                    rows.push(self.text()?);
                }
                ColumnData::String(rows)
            }
            5 => ColumnData::Date(self.u64s()?.into_iter().map(|row| Date(row as i64)).collect()),
            6 => {
                let mut rows = Vec::new();
                for _ in 0..self.u64()? {
                    rows.push(self.value()?);
                }
                return Some(Column::from_values(&rows));
            }
            _ => return None,
        };
        let column = Column::new(data);
        if self.u64()? == 0 {
            return Some(column);
        }
        let (words, rows) = (self.u64s()?, column.len());
        (words.len() == rows.div_ceil(64)).then(|| Column::with_validity(column.data, Bitmap::from_words(words, rows)))
    }

    fn value(&mut self) -> Option<Value> {
        Some(match self.u64()? {
            0 => Value::Null,
            1 => Value::Bool(self.u64()? != 0),
            2 => Value::Int(self.u64()? as i64),
            3 => Value::Float(f64::from_bits(self.u64()?)),
            4 => Value::string(self.text()?),
            5 => Value::Date(Date(self.u64()? as i64)),
            6 => {
                let (seconds, nanosecond) = (self.u64()? as i64, u32::try_from(self.u64()?).ok()?);
                Value::LocalDateTime(LocalDateTime { seconds, nanosecond })
            }
            7 => {
                let length = usize::try_from(self.u64()?).ok()?;
                Value::Bytes(Arc::from(self.raw(length)?))
            }
            8 => {
                let mut items = Vec::new();
                for _ in 0..self.u64()? {
                    items.push(self.value()?);
                }
                Value::list(items)
            }
            _ => return None,
        })
    }
}
