//! Rows parted by the hash of their keys into files, so that each part fits into memory or can be parted again.
//!
//! The parts of one operator share a temporary file; each knows its blocks. A block has a tag, for operators that put
//! rows of several kinds away.

use model::{Interrupt, Result};

use super::{block_bytes, decode, encode};
use crate::chunk::Chunk;
use crate::memory::{Charge, Extent, SpillFile};
use crate::rows::RowBuffer;
use crate::runtime::Flow;
use crate::size::Sizer;

/// Bits of a hash that say which part a row belongs to.
const BITS: u32 = 4;
/// Parts.
const PARTS: usize = 1 << BITS;
/// Number of times that a part may be partitioned again.
pub(crate) const LEVELS_MAX: u32 = 6;

/// The part of a row with that hash, at that level. Each level uses bits of its own.
#[inline]
pub(crate) fn part_of(hash: u64, level: u32) -> usize {
    // Hash tables use the low bits, and what comes here of one part has these in common: the bits are mixed anew.
    let mixed = (hash ^ hash >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (mixed >> (u64::BITS - BITS * (level + 1))) as usize % PARTS
}

/// Parts that are being written.
pub(crate) struct Partitions<'m> {
    charge: Charge<'m>,
    file: SpillFile,
    level: u32,
    blocks: Vec<Vec<(u32, Extent)>>,
    /// Rows of each part that do not fill a block yet, of one tag.
    pending: Vec<(RowBuffer, usize)>,
    block_bytes: usize,
    bytes: Vec<u8>,
}

/// One part, to be read.
pub(crate) struct Partition<'p> {
    file: &'p SpillFile,
    blocks: &'p [(u32, Extent)],
}

impl<'m> Partitions<'m> {
    /// Empty parts of that level.
    pub(crate) fn new(charge: Charge<'m>, level: u32) -> Result<Partitions<'m>> {
        let file = charge.spill_file()?;
        // A part has a block pending, which is written when it is full.
        let block_bytes = block_bytes(charge.memory().limit()).min(64 << 10);
        let pending = (0..PARTS).map(|_| (RowBuffer::default(), 0)).collect();
        Ok(Partitions { charge, file, level, blocks: vec![Vec::new(); PARTS], pending, block_bytes, bytes: Vec::new() })
    }

    /// The level of these parts.
    pub(crate) fn level(&self) -> u32 {
        self.level
    }

    /// For each part, which of the rows with these hashes belong to it.
    pub(crate) fn split(&self, hashes: &[u64]) -> Vec<Vec<u32>> {
        let mut rows = vec![Vec::new(); PARTS];
        for (row, &hash) in hashes.iter().enumerate() {
            rows[part_of(hash, self.level)].push(row as u32);
        }
        rows
    }

    /// Adds rows with their hashes.
    pub(crate) fn push(&mut self, chunk: &Chunk, hashes: &[u64]) -> Result<()> {
        for (part, rows) in self.split(hashes).into_iter().enumerate() {
            if !rows.is_empty() {
                self.push_to(part, 0, chunk.gather(&rows))?;
            }
        }
        Ok(())
    }

    /// Adds rows of a tag to a part. Between tags comes [`Partitions::flush`].
    pub(crate) fn push_to(&mut self, part: usize, tag: u32, chunk: Chunk) -> Result<()> {
        let bytes = Sizer::default().chunk(&chunk);
        let (rows, held) = &mut self.pending[part];
        rows.push(chunk);
        *held += bytes;
        let is_full = *held >= self.block_bytes;
        self.charge.count(self.charge.bytes() + bytes);
        if is_full { self.write(part, tag) } else { Ok(()) }
    }

    /// Writes what is pending, as rows of that tag.
    pub(crate) fn flush(&mut self, tag: u32) -> Result<()> {
        (0..PARTS).try_for_each(|part| self.write(part, tag))
    }

    fn write(&mut self, part: usize, tag: u32) -> Result<()> {
        let (rows, held) = std::mem::take(&mut self.pending[part]);
        if rows.len() == 0 {
            return Ok(());
        }
        self.bytes.clear();
        encode(&rows.finish(0), &mut self.bytes);
        self.blocks[part].push((tag, self.charge.spill(&mut self.file, &self.bytes)?));
        self.charge.count(self.charge.bytes() - held);
        Ok(())
    }

    /// The parts that hold anything; what was pending must have been flushed.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Partition<'_>> {
        let parts = self.blocks.iter().filter(|blocks| !blocks.is_empty());
        parts.map(|blocks| Partition { file: &self.file, blocks })
    }

    /// One part, even if it is empty.
    pub(crate) fn part(&self, part: usize) -> Partition<'_> {
        Partition { file: &self.file, blocks: &self.blocks[part] }
    }

    /// Number of parts.
    pub(crate) fn count(&self) -> usize {
        PARTS
    }
}

impl Partition<'_> {
    /// True if it holds no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Gives all rows in the order in which they were added, with their tags.
    pub(crate) fn for_each(
        &self,
        interrupt: &Interrupt,
        each: &mut dyn FnMut(u32, Chunk) -> Result<Flow>,
    ) -> Result<Flow> {
        let mut bytes = Vec::new();
        for &(tag, block) in self.blocks {
            interrupt.check()?;
            self.file.read(block, &mut bytes)?;
            if each(tag, decode(&bytes)?)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}
