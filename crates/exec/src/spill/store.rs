//! Rows in the order in which they came: in memory as far as that goes, behind it in a temporary file.

use model::Result;

use super::{block_bytes, decode, encode};
use crate::chunk::Chunk;
use crate::memory::{Charge, Extent, SpillFile};
use crate::rows::RowBuffer;
use crate::runtime::Flow;
use crate::size::Sizer;

/// See the module.
pub(crate) struct RowStore<'m> {
    charge: Charge<'m>,
    sizer: Sizer,
    /// The latest rows.
    kept: RowBuffer,
    /// All rows before those kept.
    spilled: Option<Spilled>,
}

struct Spilled {
    file: SpillFile,
    blocks: Vec<Extent>,
}

impl<'m> RowStore<'m> {
    /// No rows.
    pub(crate) fn new(charge: Charge<'m>) -> RowStore<'m> {
        RowStore { charge, sizer: Sizer::default(), kept: RowBuffer::default(), spilled: None }
    }

    /// Adds the rows of a chunk.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<()> {
        let bytes = self.sizer.chunk(&chunk);
        if self.charge.try_grow(bytes).is_err() {
            self.spill()?;
            self.sizer = Sizer::default();
            self.charge.count(self.sizer.chunk(&chunk));
            self.kept.push(chunk);
            // Rows that did not fit beside others stay in the file once there is one.
            return if self.charge.bytes() > block_bytes(self.charge.memory().limit()) { self.spill() } else { Ok(()) };
        }
        self.kept.push(chunk);
        Ok(())
    }

    /// All rows, to be read; `width` columns even without rows.
    pub(crate) fn finish(self, width: usize) -> StoredRows<'m> {
        StoredRows { tail: self.kept.finish(width), spilled: self.spilled, charge: self.charge }
    }

    fn spill(&mut self) -> Result<()> {
        if self.kept.len() == 0 {
            return Ok(());
        }
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => self.spilled.insert(Spilled { file: self.charge.spill_file()?, blocks: Vec::new() }),
        };
        let kept = std::mem::take(&mut self.kept).finish(0);
        let rows = rows_of_block(&kept, self.charge.bytes(), self.charge.memory().limit());
        let mut bytes = Vec::new();
        let mut start = 0;
        while start < kept.rows {
            let end = kept.rows.min(start + rows);
            bytes.clear();
            encode(&kept.slice(start, end), &mut bytes);
            spilled.blocks.push(self.charge.spill(&mut spilled.file, &bytes)?);
            start = end;
        }
        self.charge.count(0);
        Ok(())
    }
}

/// Rows that are all there.
pub(crate) struct StoredRows<'m> {
    /// The latest rows.
    tail: Chunk,
    spilled: Option<Spilled>,
    charge: Charge<'m>,
}

impl<'m> StoredRows<'m> {
    /// All rows as one chunk, with the charge for them, or the rows again if some are on disk.
    pub(crate) fn into_chunk(self) -> Result<(Chunk, Charge<'m>), Box<StoredRows<'m>>> {
        if self.spilled.is_some() { Err(Box::new(self)) } else { Ok((self.tail, self.charge)) }
    }

    /// Gives all rows in order, block by block; may be called again.
    pub(crate) fn for_each(&self, each: &mut dyn FnMut(Chunk) -> Result<Flow>) -> Result<Flow> {
        if let Some(spilled) = &self.spilled {
            let mut bytes = Vec::new();
            for &block in &spilled.blocks {
                spilled.file.read(block, &mut bytes)?;
                if each(decode(&bytes)?)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
        }
        if self.tail.rows == 0 { Ok(Flow::Continue) } else { each(self.tail.clone()) }
    }
}

/// Number of rows that make a block, for a chunk that takes `bytes`.
pub(super) fn rows_of_block(chunk: &Chunk, bytes: usize, limit: usize) -> usize {
    let row_bytes = (bytes / chunk.rows.max(1)).max(1);
    (block_bytes(limit) / row_bytes).clamp(1, model::limits::BATCH_ROWS * 4)
}
