//! An immutable run of an ordered index: blocks of entries, each entry told by what it shares with the one before.

use std::path::Path;
use std::sync::Arc;

use model::id::PropertyKeyId;
use model::platform::Disk;
use model::schema::{Index, Subject};
use model::{KeyOrder, Result};

use crate::codec::bytes::Get;
use crate::file::{FileEntry, StoreFile};
use crate::format::FileKind;

/// A run as the manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedEntry {
    /// The subject of its index.
    pub subject: Subject,
    /// The properties by which its index is ordered.
    pub keys: Vec<PropertyKeyId>,
    /// Of two runs of an index the one of the larger age is newer.
    pub age: u64,
    /// Its file.
    pub file: FileEntry,
}

impl OrderedEntry {
    /// True if the run belongs to the index.
    pub fn is_of(&self, index: &Index) -> bool {
        self.subject == index.subject && self.keys == index.keys
    }
}

/// A run, opened: the first key of each block is in memory.
#[derive(Debug)]
pub struct OrderedRun {
    file: Arc<StoreFile>,
    entry: OrderedEntry,
    count: u64,
    removed: u64,
    blocks: Vec<BlockPlace>,
}

#[derive(Debug)]
struct BlockPlace {
    /// Not above the first key of the block, and above the last of the block before.
    first: Box<[u8]>,
    start: u64,
}

impl OrderedRun {
    /// Opens a run; reads header and directory only.
    pub fn open(disk: &Arc<dyn Disk>, directory: &Path, entry: &OrderedEntry) -> Result<OrderedRun> {
        let file = StoreFile::open(disk, directory, FileKind::OrderedKeys, entry.file)?;
        let mut get = file.directory()?;
        let (count, removed, end) = (get.u64()?, get.u64()?, get.u64()?);
        let mut blocks: Vec<BlockPlace> = Vec::new();
        for _ in 0..get.count(12)? {
            let start = get.u64()?;
            let first: Box<[u8]> = get.bytes()?.into();
            if blocks.last().is_some_and(|before| before.start >= start || before.first >= first) {
                return Err(get.damage("the blocks of an ordered index are out of order"));
            }
            blocks.push(BlockPlace { first, start });
        }
        let start = blocks.first().map_or(end, |block| block.start);
        if end < start || blocks.last().is_some_and(|last| last.start >= end) {
            return Err(get.damage("the directory of an ordered index contradicts itself"));
        }
        file.check_range(start, end - start, "the blocks of an ordered index")?;
        blocks.push(BlockPlace { first: Box::default(), start: end });
        Ok(OrderedRun { file, entry: entry.clone(), count, removed, blocks })
    }

    /// Entry in the manifest.
    pub fn entry(&self) -> &OrderedEntry {
        &self.entry
    }

    /// Its file.
    pub fn file(&self) -> &Arc<StoreFile> {
        &self.file
    }

    /// Entries in all, removals included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Entries that say that something went.
    pub fn removed(&self) -> u64 {
        self.removed
    }

    fn block_count(&self) -> usize {
        self.blocks.len() - 1
    }

    /// The block in which a key would be.
    fn block_of(&self, key: &[u8]) -> usize {
        self.blocks[..self.block_count()].partition_point(|block| &*block.first <= key).saturating_sub(1)
    }

    /// About how many entries lie in a range of keys.
    pub fn estimate(&self, start: &[u8], end: &[u8]) -> u64 {
        let blocks = self.block_count() as u64;
        if blocks == 0 || start >= end {
            return 0;
        }
        let (first, last) = (self.block_of(start) as u64, self.block_of(end) as u64);
        // If both ends are in one block, the share is a part of that block.
        let share = (last - first).max(1) as f64 / if last == first { 4.0 } else { 1.0 };
        (self.count as f64 * share / blocks as f64).ceil() as u64
    }

    fn read(&self, at: usize, block: &mut Block) -> Result<()> {
        let (start, end) = (self.blocks[at].start as usize, self.blocks[at + 1].start as usize);
        block.decode(&mut Get::new(self.file.read(start, end - start)?, self.file.path(), start as u64))
    }
}

/// The entries of one block.
#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    /// End of each entry in `bytes`, and whether it was removed.
    ends: Vec<(u32, bool)>,
}

impl Block {
    fn decode(&mut self, get: &mut Get<'_>) -> Result<()> {
        self.bytes.clear();
        self.ends.clear();
        let mut before = 0..0;
        while get.left() > 0 {
            let (shared, rest) = (get.varint()? as usize, get.varint()?);
            if shared > before.len() {
                return Err(get.damage("an entry of an ordered index shares more than there is"));
            }
            let start = self.bytes.len();
            self.bytes.extend_from_within(before.start..before.start + shared);
            self.bytes.extend_from_slice(get.take((rest >> 1) as usize)?);
            before = start..self.bytes.len();
            self.ends.push((self.bytes.len() as u32, rest & 1 == 1));
        }
        if self.ends.is_empty() {
            return Err(get.damage("a block of an ordered index is empty"));
        }
        Ok(())
    }

    fn key(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1].0 as usize };
        &self.bytes[start..self.ends[at].0 as usize]
    }

    /// Number of keys below a key.
    fn below(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.key(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Goes through the entries of a run in a range of keys. Keeps the block it read last from one range to the next.
#[derive(Debug)]
pub struct RunCursor<'a> {
    run: &'a OrderedRun,
    order: KeyOrder,
    block: Block,
    /// Number of the block in `block`.
    block_at: Option<usize>,
    /// The present entry in the block.
    at: usize,
    /// The key behind the last one wanted: the end, or for the descending order the start.
    limit: Vec<u8>,
    is_done: bool,
}

impl<'a> RunCursor<'a> {
    /// A cursor that stands nowhere yet.
    pub fn new(run: &'a OrderedRun, order: KeyOrder) -> RunCursor<'a> {
        RunCursor { run, order, block: Block::default(), block_at: None, at: 0, limit: Vec::new(), is_done: true }
    }

    /// Goes to the first entry in the range of keys, as its order has it.
    pub fn seek(&mut self, start: &[u8], end: &[u8]) -> Result<()> {
        self.is_done = self.run.block_count() == 0 || start >= end;
        if self.is_done {
            return Ok(());
        }
        self.limit.clear();
        match self.order {
            KeyOrder::Ascending => {
                self.limit.extend_from_slice(end);
                self.load(self.run.block_of(start))?;
                self.at = self.block.below(start);
                self.settle_forward()
            }
            KeyOrder::Descending => {
                self.limit.extend_from_slice(start);
                self.load(self.run.block_of(end))?;
                let below = self.block.below(end);
                self.step_back(below)
            }
        }
    }

    fn load(&mut self, at: usize) -> Result<()> {
        if self.block_at != Some(at) {
            self.block_at = None;
            self.run.read(at, &mut self.block)?;
            self.block_at = Some(at);
        }
        Ok(())
    }

    /// Past the end of a block, goes on with the next; ends behind the limit.
    fn settle_forward(&mut self) -> Result<()> {
        if self.at == self.block.ends.len() {
            let next = self.block_at.map_or(0, |at| at + 1);
            if next == self.run.block_count() {
                self.is_done = true;
                return Ok(());
            }
            self.load(next)?;
            self.at = 0;
        }
        self.is_done = self.block.key(self.at) >= self.limit.as_slice();
        Ok(())
    }

    /// Goes to the entry before the one at that place of the block.
    fn step_back(&mut self, at: usize) -> Result<()> {
        if at == 0 {
            let Some(before) = self.block_at.and_then(|at| at.checked_sub(1)) else {
                self.is_done = true;
                return Ok(());
            };
            self.load(before)?;
            self.at = self.block.ends.len() - 1;
        } else {
            self.at = at - 1;
        }
        self.is_done = self.block.key(self.at) < self.limit.as_slice();
        Ok(())
    }

    /// The present entry, and whether it was removed; `None` at the end.
    #[inline]
    pub fn entry(&self) -> Option<(&[u8], bool)> {
        if self.is_done {
            return None;
        }
        Some((self.block.key(self.at), self.block.ends[self.at].1))
    }

    /// Goes to the next entry.
    pub fn advance(&mut self) -> Result<()> {
        match self.order {
            _ if self.is_done => Ok(()),
            KeyOrder::Ascending => {
                self.at += 1;
                self.settle_forward()
            }
            KeyOrder::Descending => self.step_back(self.at),
        }
    }
}
