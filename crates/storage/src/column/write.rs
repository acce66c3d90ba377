//! Cutting a stream of rows into blocks, into a file or into memory.

use std::ops::Range;
use std::path::Path;

use model::{Column, ColumnData, Result};

use super::access::Block;
use super::block::BlockHeader;
use super::encode::encode_block;
use super::large::LargeBlock;
use super::pending::Pending;
use super::read::BlockSource;
use crate::codec::bytes::Put;
use crate::file::{FileWriter, TemporaryFile};
use crate::format::COLUMN_BLOCK_ROWS;
use crate::memtable::value_bytes;

/// Approximate bytes of strings and tagged values that wait in memory for their block to be whole.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// Bytes copied at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// Destination of encoded blocks.
pub trait BlockSink {
    /// Takes the bytes of a block; gives its offset.
    fn put(&mut self, bytes: &[u8]) -> Result<u64>;

    /// A file for values that are too large to wait in memory; none where blocks stay in memory anyway.
    fn spill(&mut self) -> Result<Option<FileWriter>> {
        Ok(None)
    }

    /// Takes a block that begins with some bytes and goes on with a part of a file, padded to eight bytes; gives its offset.
    fn put_with(&mut self, first: &[u8], rest: &TemporaryFile, range: Range<u64>) -> Result<u64> {
        let mut bytes = first.to_vec();
        bytes.extend(rest.read_range(range.start, (range.end - range.start) as usize)?);
        bytes.align();
        self.put(&bytes)
    }
}

impl BlockSink for FileWriter {
    fn put(&mut self, bytes: &[u8]) -> Result<u64> {
        self.align()?;
        let offset = self.position();
        self.write(bytes)?;
        Ok(offset)
    }

    fn spill(&mut self) -> Result<Option<FileWriter>> {
        self.temporary()
    }

    fn put_with(&mut self, first: &[u8], rest: &TemporaryFile, range: Range<u64>) -> Result<u64> {
        let offset = self.put(first)?;
        for start in range.clone().step_by(PIECE_BYTES as usize) {
            let end = range.end.min(start + PIECE_BYTES);
            self.write(&rest.read_range(start, (end - start) as usize)?)?;
        }
        self.align()?;
        Ok(offset)
    }
}

/// Cuts rows into blocks.
#[derive(Debug, Default)]
pub struct ColumnWriter {
    pending: Pending,
    rows: u64,
    present: u64,
    blocks: Vec<BlockHeader>,
    scratch: Vec<u8>,
    /// Approximate bytes of `pending` outside of strings.
    value_bytes: usize,
    /// The rows before `pending`, if they are too large to wait in memory.
    large: Option<LargeBlock>,
}

impl ColumnWriter {
    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Approximate bytes of the rows that wait for their block to be whole.
    pub fn waiting_bytes(&self) -> usize {
        self.pending.memory_bytes() + self.value_bytes
    }

    /// Rows of the block that is not whole yet.
    fn rows_waiting(&self) -> usize {
        self.pending.rows() + self.large.as_ref().map_or(0, LargeBlock::rows)
    }

    /// Adds rows `start..end` of a column.
    pub fn push(&mut self, column: &Column, mut start: usize, end: usize, sink: &mut dyn BlockSink) -> Result<()> {
        self.rows += (end - start) as u64;
        while start < end {
            let count = (end - start).min(COLUMN_BLOCK_ROWS - self.rows_waiting());
            if count == COLUMN_BLOCK_ROWS {
                self.put_block(column, start, start + count, sink)?;
            } else {
                self.pending.push(column, start, start + count);
                self.added(column, start, start + count, sink)?;
            }
            start += count;
        }
        Ok(())
    }

    /// Adds `count` rows: null, but for those at `places`, which ascend and have the rows of a column without nulls.
    pub fn push_at(&mut self, places: &[u32], column: &Column, count: usize, sink: &mut dyn BlockSink) -> Result<()> {
        if places.len() == count {
            return self.push(column, 0, count, sink);
        }
        let (mut first, mut at) = (0, 0);
        while first < count {
            let end = count.min(first + COLUMN_BLOCK_ROWS - self.rows_waiting());
            let after = at + places[at..].partition_point(|&place| (place as usize) < end);
            let within: Vec<u32> = places[at..after].iter().map(|&place| place - first as u32).collect();
            self.rows += (end - first) as u64;
            self.pending.push_at(&within, column, at, end - first);
            self.added(column, at, after, sink)?;
            (first, at) = (end, after);
        }
        Ok(())
    }

    /// Goes on after rows `start..end` of a column were added to those that wait.
    fn added(&mut self, column: &Column, start: usize, end: usize, sink: &mut dyn BlockSink) -> Result<()> {
        if let ColumnData::Value(values) = &column.data {
            self.value_bytes += values[start..end].iter().map(value_bytes).sum::<usize>();
        }
        match self.rows_waiting() == COLUMN_BLOCK_ROWS {
            true => self.flush(sink),
            false => self.spill_if_large(sink),
        }
    }

    /// Puts what waits into a file if it takes much memory.
    fn spill_if_large(&mut self, sink: &mut dyn BlockSink) -> Result<()> {
        if self.pending.text_bytes() + self.value_bytes < WAITING_BYTES_MAX {
            return Ok(());
        }
        if self.large.is_none() {
            let Some(file) = sink.spill()? else { return Ok(()) };
            self.large = Some(LargeBlock::new(file));
        }
        if let Some(large) = &mut self.large {
            large.push(&self.pending.take(), sink)?;
            self.value_bytes = 0;
        }
        Ok(())
    }

    /// Adds nulls until there are `rows` rows in all.
    pub fn pad(&mut self, rows: u64, sink: &mut dyn BlockSink) -> Result<()> {
        let waiting = self.rows_waiting();
        if waiting > 0 && self.rows < rows {
            let count = ((rows - self.rows) as usize).min(COLUMN_BLOCK_ROWS - waiting);
            self.push(&Column::nulls(count), 0, count, sink)?;
        }
        while self.rows + COLUMN_BLOCK_ROWS as u64 <= rows {
            self.blocks.push(BlockHeader::absent(COLUMN_BLOCK_ROWS));
            self.rows += COLUMN_BLOCK_ROWS as u64;
        }
        let rest = rows.saturating_sub(self.rows) as usize;
        self.push(&Column::nulls(rest), 0, rest, sink)
    }

    fn flush(&mut self, sink: &mut dyn BlockSink) -> Result<()> {
        let pending = self.pending.take();
        self.value_bytes = 0;
        let Some(mut large) = self.large.take() else { return self.put_block(&pending, 0, pending.len(), sink) };
        large.push(&pending, sink)?;
        let header = large.finish(sink)?;
        self.present += u64::from(header.present);
        self.blocks.push(header);
        Ok(())
    }

    fn put_block(&mut self, column: &Column, start: usize, end: usize, sink: &mut dyn BlockSink) -> Result<()> {
        self.scratch.clear();
        let mut header = encode_block(column, start, end, &mut self.scratch);
        header.offset = if self.scratch.is_empty() { 0 } else { sink.put(&self.scratch)? };
        self.present += u64::from(header.present);
        self.blocks.push(header);
        Ok(())
    }

    /// Writes the last block; gives the headers, or `None` if no row had a value.
    pub fn finish(mut self, sink: &mut dyn BlockSink) -> Result<Option<Vec<BlockHeader>>> {
        if self.rows_waiting() > 0 {
            self.flush(sink)?;
        }
        Ok((self.present > 0).then_some(self.blocks))
    }
}

/// Adds the headers of a column to a directory.
pub fn put_blocks(blocks: &[BlockHeader], out: &mut Vec<u8>) {
    out.put_u32(blocks.len() as u32);
    blocks.iter().for_each(|block| block.put(out));
}

/// A column in memory, in encoded blocks: what a bulk build holds before it sorts.
#[derive(Debug, Default)]
pub struct MemoryColumn {
    blocks: Vec<BlockHeader>,
    bytes: Vec<Box<[u8]>>,
}

/// Takes one block after another, each into its own allocation.
struct MemorySink<'a>(&'a mut Vec<Box<[u8]>>);

impl BlockSink for MemorySink<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<u64> {
        self.0.push(bytes.into());
        Ok(self.0.len() as u64 - 1)
    }
}

impl MemoryColumn {
    /// Encodes all rows of a writer's stream: call for each piece, then [`MemoryColumn::seal`].
    pub fn push(&mut self, writer: &mut ColumnWriter, column: &Column) -> Result<()> {
        writer.push(column, 0, column.len(), &mut MemorySink(&mut self.bytes))
    }

    /// Adds rows as [`ColumnWriter::push_at`] does.
    #[cfg(test)]
    pub(super) fn push_at(
        &mut self,
        writer: &mut ColumnWriter,
        places: &[u32],
        column: &Column,
        count: usize,
    ) -> Result<()> {
        writer.push_at(places, column, count, &mut MemorySink(&mut self.bytes))
    }

    /// Adds nulls until the writer has `rows` rows.
    pub fn pad(&mut self, writer: &mut ColumnWriter, rows: u64) -> Result<()> {
        writer.pad(rows, &mut MemorySink(&mut self.bytes))
    }

    /// Takes over the headers of the writer, which is done.
    pub fn seal(&mut self, writer: ColumnWriter) -> Result<()> {
        self.blocks = writer.finish(&mut MemorySink(&mut self.bytes))?.unwrap_or_default();
        Ok(())
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.iter().map(|bytes| bytes.len()).sum::<usize>() + self.blocks.len() * BlockHeader::BYTES
    }
}

impl BlockSource for MemoryColumn {
    const IS_IN_MEMORY: bool = true;

    fn headers(&self) -> &[BlockHeader] {
        &self.blocks
    }

    fn block(&self, index: usize) -> Result<Block<'_>> {
        let header = &self.blocks[index];
        let bytes = self.bytes.get(header.offset as usize).filter(|_| header.length > 0);
        Ok(Block::held(header, bytes.map_or(&[][..], |bytes| bytes), Path::new("memory")))
    }
}
