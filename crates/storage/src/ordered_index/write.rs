//! Writing runs of ordered indexes.

use model::Result;
use model::schema::Index;

use super::run::OrderedEntry;
use crate::build::BuildContext;
use crate::codec::bytes::{Put, put_varint};
use crate::file::FileWriter;
use crate::format::{FileKind, HEADER_BYTES};

/// Approximate bytes of a block: a lookup decodes one for each run.
const BLOCK_BYTES: usize = 4 << 10;

/// Writes one run; entries come in order, each key once.
pub struct RunWriter {
    file: FileWriter,
    index: Index,
    age: u64,
    block: Vec<u8>,
    last: Vec<u8>,
    /// Blocks so far: where each starts, and a key between its first and the last of the one before.
    blocks: Vec<(u64, Vec<u8>)>,
    count: u64,
    removed: u64,
}

impl RunWriter {
    /// Begins a run of an index.
    pub fn new(context: &BuildContext, index: &Index, age: u64) -> Result<RunWriter> {
        let file = context.create(FileKind::OrderedKeys)?;
        debug_assert_eq!(file.position(), HEADER_BYTES as u64, "data starts behind the header");
        let (block, last, blocks) = (Vec::new(), Vec::new(), Vec::new());
        Ok(RunWriter { file, index: index.clone(), age, block, last, blocks, count: 0, removed: 0 })
    }

    /// Adds an entry, or that it was removed.
    pub fn push(&mut self, key: &[u8], is_removed: bool) -> Result<()> {
        debug_assert!(self.count == 0 || self.last.as_slice() < key, "entries come in order");
        let mut shared = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        if self.block.len() >= BLOCK_BYTES {
            self.end_block()?;
        }
        if self.block.is_empty() {
            // The prefix that tells this key from the last one of the block before is enough to find the block.
            let length = if self.count == 0 { 0 } else { (shared + 1).min(key.len()) };
            self.blocks.push((self.file.position(), key[..length].to_vec()));
            shared = 0;
        }
        put_varint(shared as u64, &mut self.block);
        put_varint(((key.len() - shared) as u64) << 1 | u64::from(is_removed), &mut self.block);
        self.block.extend_from_slice(&key[shared..]);
        self.last.truncate(shared);
        self.last.extend_from_slice(&key[shared..]);
        self.count += 1;
        self.removed += u64::from(is_removed);
        Ok(())
    }

    fn end_block(&mut self) -> Result<()> {
        self.file.write(&self.block)?;
        self.block.clear();
        Ok(())
    }

    /// Ends the run; `None`, and no file, if it has no entries.
    pub fn finish(mut self, context: &BuildContext) -> Result<Option<OrderedEntry>> {
        if self.count == 0 {
            context.discard(self.file.path());
            return Ok(None);
        }
        self.end_block()?;
        let mut directory = Vec::new();
        directory.put_u64(self.count);
        directory.put_u64(self.removed);
        directory.put_u64(self.file.position());
        directory.put_u32(self.blocks.len() as u32);
        for (start, first) in &self.blocks {
            directory.put_u64(*start);
            directory.put_u32(first.len() as u32);
            directory.extend_from_slice(first);
        }
        let file = self.file.finish(&directory)?;
        let Index { subject, keys, .. } = self.index;
        Ok(Some(OrderedEntry { subject, keys, age: self.age, file }))
    }
}
