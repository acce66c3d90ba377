//! A block whose values are too large to wait in memory for its last row: they wait in a file, and are copied behind
//! their offsets once the block is whole.
//!
//! Invariant: the bytes are those that [`super::encode`] gives a block of strings without a dictionary, or of tagged
//! values.
//! Cost: such values are written twice and read once more, a piece at a time.

use model::{Bitmap, Column, ColumnData, Result, Value};

use super::block::{BlockHeader, Encoding, put_presence};
use super::write::BlockSink;
use crate::codec::bits::{pack, width_of};
use crate::codec::value;
use crate::file::FileWriter;

/// Rows so far of a block of large values.
pub(super) struct LargeBlock {
    presence: Bitmap,
    /// End of each value that is there, from the start of the first.
    ends: Vec<u64>,
    /// True if the values are tagged; otherwise they are strings.
    is_tagged: bool,
    values: FileWriter,
    /// Start of the first value in the file.
    start: u64,
}

impl std::fmt::Debug for LargeBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LargeBlock({} rows)", self.rows())
    }
}

impl LargeBlock {
    /// A block without rows, whose values wait in a file.
    pub(super) fn new(values: FileWriter) -> LargeBlock {
        let start = values.position();
        LargeBlock { presence: Bitmap::default(), ends: Vec::new(), is_tagged: false, values, start }
    }

    /// Rows so far.
    pub(super) fn rows(&self) -> usize {
        self.presence.len()
    }

    /// Adds all rows of a column.
    pub(super) fn push(&mut self, column: &Column, sink: &mut dyn BlockSink) -> Result<()> {
        let mut bytes = Vec::new();
        for row in 0..column.len() {
            let is_there = !column.is_null(row);
            self.presence.push(is_there);
            if !is_there {
                continue;
            }
            match &column.data {
                ColumnData::String(texts) if !self.is_tagged => self.values.write(texts.get(row).as_bytes())?,
                _ => self.push_value(&column.value(row), &mut bytes, sink)?,
            }
            self.ends.push(self.values.position() - self.start);
        }
        Ok(())
    }

    fn push_value(&mut self, value: &Value, bytes: &mut Vec<u8>, sink: &mut dyn BlockSink) -> Result<()> {
        if let (Value::String(text), false) = (value, self.is_tagged) {
            return self.values.write(text.as_bytes());
        }
        self.tag(sink)?;
        bytes.clear();
        value::encode(value, bytes);
        self.values.write(bytes)
    }

    /// Makes tagged values of the strings so far.
    fn tag(&mut self, sink: &mut dyn BlockSink) -> Result<()> {
        if self.is_tagged {
            return Ok(());
        }
        self.is_tagged = true;
        if self.ends.is_empty() {
            return Ok(());
        }
        let new = sink.spill()?.ok_or_else(|| model::error!(Internal, "a block of large values lost its file"))?;
        let first = self.start;
        self.start = new.position();
        let texts = std::mem::replace(&mut self.values, new).into_temporary()?;
        let (mut before, mut bytes) = (0, Vec::new());
        for end in &mut self.ends {
            let text = String::from_utf8(texts.read_range(first + before, (*end - before) as usize)?)
                .map_err(|_| model::error!(Internal, "a text that was just written is none"))?;
            before = *end;
            bytes.clear();
            value::encode(&Value::from(text), &mut bytes);
            self.values.write(&bytes)?;
            *end = self.values.position() - self.start;
        }
        Ok(())
    }

    /// Writes the block.
    pub(super) fn finish(self, sink: &mut dyn BlockSink) -> Result<BlockHeader> {
        let rows = self.rows();
        let mut header = BlockHeader::absent(rows);
        let Some(&total) = self.ends.last() else { return Ok(header) };
        let present = self.ends.len();
        header.encoding = if self.is_tagged { Encoding::Mixed } else { Encoding::StringPlain };
        header.present = present as u32;
        header.width = width_of(total);
        let mut fixed = Vec::new();
        if present < rows {
            header.has_nulls = true;
            put_presence(self.presence.words(), rows, &mut fixed);
        }
        let offsets: Vec<u64> = std::iter::once(0).chain(self.ends).collect();
        pack(offsets.into_iter(), header.width, &mut fixed);
        let values = self.values.into_temporary()?;
        let range = self.start..self.start + total;
        header.length = (fixed.len() as u64 + total).next_multiple_of(8);
        header.offset = sink.put_with(&fixed, &values, range)?;
        Ok(header)
    }
}
