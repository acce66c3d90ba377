//! Immutable files: a header, data, a table of checksums and a trailer. Written once in order, then mapped.
//!
//! - [`write`]: writing them.
//! - [`blocks`]: which blocks of one file are in memory.
//! - [`cache`]: which blocks of all files stay there.
//! - [`scan`]: passes through parts of a file from start to end.
//! - [`together`]: what passes that read together keep for each other.
//! - [`passing`]: temporary files whose bytes leave the memory of the operating system.
//!
//! Invariant: a block of `CHECKSUM_BLOCK_BYTES` is compared with its checksum before the first of its bytes is used,
//! and again whenever it comes back from the disk: bytes are had from [`StoreFile::read`] and its like, which see to that.
//! Cost: opening reads header, trailer, checksums and the file's own directory. A block in memory costs one relaxed load.
//!
//! Readers hold slices of the map while blocks are evicted, and that is safe: to evict is to tell the operating system
//! that the pages may go; the addresses stay mapped, and a reader that touches such a page again gets the same bytes
//! from the immutable file. What it loses is the count and the second verification of that page, until the block is
//! next asked for by [`StoreFile::read`]. So slices are held for one batch at most.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::platform::{Disk, MappedFile};
use model::{Consumer, Result};

use crate::codec::bits::{Packed, bytes_of};
use crate::codec::bytes::{Get, Put};
use crate::error::StorageError;
use crate::file::blocks::{Blocks, Seen};
use crate::file::cache::BlockCache;
pub(crate) use crate::file::cache::Held;
use crate::format::{
    CHECKSUM_BLOCK_BYTES, FORMAT_VERSION, FORMAT_VERSION_MIN, FileKind, HEADER_BYTES, MAGIC, MAGIC_END,
    READER_VERSION_MIN, TRAILER_BYTES,
};

pub mod blocks;
pub mod cache;
pub(crate) mod directory;
mod passing;
pub mod scan;
mod together;
pub mod write;

pub use scan::FileScan;
pub use write::{FileWriter, TemporaryFile};

/// Nodes whose blocks are asked for before the first of them is read, at most.
const NODES_AHEAD: usize = 1_024;

/// Entry of a file in the manifest: it names the file and tells it from any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// The number in its name; never used twice in a store.
    pub number: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Random bits that also stand in the file.
    pub identity: u64,
}

/// The 64 bytes that open every file.
pub fn header(kind: FileKind, number: u64, identity: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&READER_VERSION_MIN.to_le_bytes());
    bytes.extend_from_slice(&(kind as u16).to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    bytes.put_u64(number);
    bytes.put_u64(identity);
    bytes.resize(HEADER_BYTES - 4, 0);
    bytes.put_u32(crc32fast::hash(&bytes));
    bytes
}

/// Checks the header of a file; gives its number and identity.
pub fn check_header(bytes: &[u8], path: &Path, kind: FileKind) -> Result<(u64, u64)> {
    if bytes.len() < HEADER_BYTES {
        return Err(StorageError::corrupt(path, bytes.len() as u64, "the file ends inside its header"));
    }
    if bytes[..8] != MAGIC {
        return Err(StorageError::corrupt(path, 0, "the file does not start with the magic number of a store's file"));
    }
    let field = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    // The version comes before the checksum: a newer format may lay out the rest in another way.
    if field(10) > FORMAT_VERSION {
        let version = StorageError::Version { path: path.to_owned(), needed: field(10), supported: FORMAT_VERSION };
        return Err(version.into());
    }
    if field(8) < FORMAT_VERSION_MIN {
        let version = StorageError::OldVersion { path: path.to_owned(), found: field(8), oldest: FORMAT_VERSION_MIN };
        return Err(version.into());
    }
    let mut get = Get::new(&bytes[HEADER_BYTES - 4..], path, HEADER_BYTES as u64 - 4);
    if get.u32()? != crc32fast::hash(&bytes[..HEADER_BYTES - 4]) {
        return Err(StorageError::corrupt(path, 0, "the checksum of the header does not match"));
    }
    if field(12) != kind as u16 {
        let problem = format!("the file is of kind {}, expected {} ({})", field(12), kind as u16, kind.extension());
        return Err(StorageError::corrupt(path, 12, problem));
    }
    let mut get = Get::new(&bytes[16..32], path, 16);
    Ok((get.u64()?, get.u64()?))
}

/// The format version that wrote a file whose header was checked.
pub(crate) fn version_of(header: &[u8]) -> u16 {
    u16::from_le_bytes([header[8], header[9]])
}

/// An immutable file, mapped. Removed from the disk with the last reference, once it is obsolete.
pub struct StoreFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    entry: FileEntry,
    blocks: Arc<Blocks>,
    data_end: usize,
    directory: Range<usize>,
    is_obsolete: AtomicBool,
    _held: Option<Held>,
}

impl std::fmt::Debug for StoreFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoreFile({})", self.path.display())
    }
}

impl StoreFile {
    /// Opens a file that the manifest names, and checks that it is the one.
    pub fn open(disk: &Arc<dyn Disk>, directory: &Path, kind: FileKind, entry: FileEntry) -> Result<Arc<StoreFile>> {
        let path = directory.join(kind.file_name(entry.number));
        let length = disk.length(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StorageError::corrupt(&path, 0, "the manifest names a file that is gone"),
            _ => StorageError::io("open", &path, error),
        })?;
        if length != entry.length {
            let problem = format!("the file has {length} bytes, the manifest says {}", entry.length);
            return Err(StorageError::corrupt(&path, length.min(entry.length), problem));
        }
        let map = disk.map(&path).map_err(|error| StorageError::io("map", &path, error))?;
        map.advise_random();
        let bytes = map.bytes();
        bring(&*map, &path, 0, HEADER_BYTES)?;
        let (number, identity) = check_header(bytes, &path, kind)?;
        if (number, identity) != (entry.number, entry.identity) {
            return Err(StorageError::corrupt(&path, 16, "the file is not the one that the manifest names"));
        }
        let (data_end, directory) = check_trailer(&*map, &path, identity)?;
        let cache = BlockCache::of(&**disk);
        // The table of checksums stays in memory, with a state of one byte for each block and the objects made of the
        // directory, which are about as large as the directory itself.
        let fixed_bytes = bytes.len() - data_end + directory.len() + data_end / CHECKSUM_BLOCK_BYTES;
        let held = cache.as_ref().map(|cache| cache.hold(Consumer::OpenFiles, fixed_bytes));
        let blocks = Blocks::new(map, data_end, cache);
        let is_obsolete = AtomicBool::new(false);
        let disk = disk.clone();
        Ok(Arc::new(StoreFile { disk, path, entry, blocks, data_end, directory, is_obsolete, _held: held }))
    }

    /// Counts memory that is held beside the file to answer faster; `None` if there is no room for it.
    pub(crate) fn try_hold(&self, bytes: usize) -> Option<Held> {
        BlockCache::of(&*self.disk)?.try_hold(Consumer::OpenFiles, bytes)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Entry in the manifest.
    pub fn entry(&self) -> FileEntry {
        self.entry
    }

    /// The file's own directory.
    pub fn directory(&self) -> Result<Get<'_>> {
        let bytes = self.read(self.directory.start, self.directory.len())?;
        Ok(Get::new(bytes, &self.path, self.directory.start as u64))
    }

    /// Bytes of the data, in memory and compared with their checksums: there is no other way to them. Ranges larger than a
    /// small part of the memory budget should be asked for piece by piece as they are read.
    #[inline]
    pub fn read(&self, start: usize, length: usize) -> Result<&[u8]> {
        let end = start.saturating_add(length);
        if end > self.data_end {
            return Err(self.outside(start, length));
        }
        if length > 0 {
            let (first, last) = (start / CHECKSUM_BLOCK_BYTES, (end - 1) / CHECKSUM_BLOCK_BYTES);
            self.blocks.count_use();
            if !self.blocks.are_active(first, last) {
                self.touch(first, last)?;
            }
        }
        Ok(&self.blocks.bytes()[start..end])
    }

    /// The same for some entries of the packed array at `start`.
    #[inline]
    pub fn packed(&self, start: usize, width: u8, entries: &Range<usize>) -> Result<Packed<'_>> {
        let bytes = bytes_of(width, entries);
        let first = start.saturating_add(bytes.start);
        Ok(Packed::part(self.read(first, bytes.end.saturating_sub(bytes.start))?, bytes.start, width))
    }

    /// The same if the bytes are in memory and were used recently.
    #[inline]
    pub fn active(&self, start: usize, length: usize) -> Option<&[u8]> {
        let end = start.checked_add(length).filter(|&end| end <= self.data_end)?;
        let last = end.max(start + 1) - 1;
        let is_active = self.blocks.are_active(start / CHECKSUM_BLOCK_BYTES, last / CHECKSUM_BLOCK_BYTES);
        is_active.then(|| &self.blocks.bytes()[start..end])
    }

    /// The checksum table and the trailer, which were verified when the file was opened.
    pub fn end_bytes(&self) -> &[u8] {
        &self.blocks.bytes()[self.data_end..]
    }

    #[cold]
    fn outside(&self, start: usize, length: usize) -> model::Error {
        let problem = format!("{length} bytes are wanted there, the data ends at {}", self.data_end);
        StorageError::corrupt(&self.path, start as u64, problem)
    }

    #[cold]
    fn touch(&self, first: usize, last: usize) -> Result<()> {
        let failed = |offset: usize, error| StorageError::unreadable(&self.path, offset as u64, error);
        self.blocks.touch(first, last, |block| self.compare(block), failed)
    }

    /// Bytes that a pass brought in by [`StoreFile::pass`].
    fn passed(&self, bytes: &Range<usize>) -> Result<&[u8]> {
        let is_data = bytes.start <= bytes.end && bytes.end <= self.data_end;
        if is_data { Ok(&self.blocks.bytes()[bytes.clone()]) } else { Err(self.outside(bytes.start, bytes.len())) }
    }

    /// Brings blocks, which exist, into memory for a pass, and keeps what it brings for some others; `seen` says which.
    fn pass(&self, first: usize, last: usize, others: u8, seen: &mut Seen) -> Result<()> {
        self.blocks.count_use();
        let failed = |offset: usize, error| StorageError::unreadable(&self.path, offset as u64, error);
        self.blocks.pass((first, last), (others, seen), |block| self.compare(block), failed)
    }

    /// Compares one block with its checksum, in memory or not.
    pub fn verify_block(&self, block: usize) -> Result<()> {
        self.touch(block, block)?;
        self.compare(block)
    }

    fn compare(&self, block: usize) -> Result<()> {
        let bytes = self.blocks.bytes();
        let start = block * CHECKSUM_BLOCK_BYTES;
        let end = (start + CHECKSUM_BLOCK_BYTES).min(self.data_end);
        let mut table = Get::new(&bytes[self.data_end + 4 * block..], &self.path, (self.data_end + 4 * block) as u64);
        let (expected, found) = (table.u32()?, crc32fast::hash(&bytes[start..end]));
        if expected != found {
            self.check_lost()?;
            let problem = format!("the checksum of {} bytes is {found:08x}, expected {expected:08x}", end - start);
            return Err(StorageError::corrupt(&self.path, start as u64, problem));
        }
        Ok(())
    }

    /// Fails if bytes could not be read although they had been brought in: what was made of them is wrong.
    pub fn check_lost(&self) -> Result<()> {
        match self.blocks.lost() {
            Some((offset, error)) => Err(StorageError::unreadable(&self.path, offset as u64, error)),
            None => Ok(()),
        }
    }

    /// Number of checksum blocks.
    pub fn block_count(&self) -> usize {
        self.data_end.div_ceil(CHECKSUM_BLOCK_BYTES)
    }

    /// Bytes of its data that are in memory and counted.
    pub fn resident_bytes(&self) -> usize {
        self.blocks.resident_bytes()
    }

    /// True if some of its blocks are not in memory, so that it pays to say beforehand what will be read.
    #[inline]
    pub fn is_cold(&self) -> bool {
        self.blocks.is_cold()
    }

    /// Fails unless `length` bytes at `start` lie in the data.
    pub fn check_range(&self, start: u64, length: u64, what: &str) -> Result<()> {
        match start.checked_add(length) {
            Some(end) if end <= self.data_end as u64 && start >= HEADER_BYTES as u64 => Ok(()),
            _ => {
                let problem = format!("{what} lies at {start} with {length} bytes, outside the data");
                Err(StorageError::corrupt(&self.path, self.directory.start as u64, problem))
            }
        }
    }

    /// Damage at an offset of this file.
    pub fn damage(&self, offset: usize, problem: impl Into<String>) -> model::Error {
        StorageError::corrupt(&self.path, offset as u64, problem)
    }

    /// Begins to read the blocks of a range that are not in memory, without waiting for them. Many such calls, then the
    /// reads: that keeps the disk busy with many requests at once. Useless where [`StoreFile::is_cold`] is false.
    #[inline]
    pub fn will_need(&self, start: usize, length: usize) {
        let first = start / CHECKSUM_BLOCK_BYTES;
        let last = (start + length.max(1) - 1) / CHECKSUM_BLOCK_BYTES;
        if self.is_cold() && last < self.block_count() {
            self.blocks.will_need(first, last);
        }
    }

    /// Largest number of blocks that may usefully be asked for by [`StoreFile::will_need`] before the first of them is
    /// read: more would push each other out again.
    pub fn ahead_blocks_max(&self) -> usize {
        self.blocks.ahead_blocks_max()
    }

    /// Number of nodes for which two blocks of each of the files are usefully asked for before the first is read: one of
    /// pointers, one of edges.
    pub fn nodes_ahead<'f>(files: impl Iterator<Item = &'f Arc<StoreFile>> + Clone) -> usize {
        let cold = files.clone().filter(|file| file.is_cold()).map(|file| file.ahead_blocks_max());
        let blocks_max = cold.min().unwrap_or(usize::MAX);
        (blocks_max / 2 / files.count().max(1)).clamp(1, NODES_AHEAD)
    }

    /// Takes back [`StoreFile::retire`]: a manifest names the file now.
    pub fn keep(&self) {
        self.is_obsolete.store(false, Ordering::Relaxed);
    }

    /// Says that no manifest names the file any more: the last reference removes it.
    pub fn retire(&self) {
        self.is_obsolete.store(true, Ordering::Relaxed);
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        if self.is_obsolete.load(Ordering::Relaxed) {
            // A file that cannot be removed now is removed when the store is next opened.
            let _ = self.disk.remove(&self.path);
        }
    }
}

/// Waits until bytes of a map can be read.
fn bring(map: &dyn MappedFile, path: &Path, start: usize, length: usize) -> Result<()> {
    let page = start / CHECKSUM_BLOCK_BYTES * CHECKSUM_BLOCK_BYTES;
    let read = map.populate(page, start + length - page);
    read.map_err(|error| StorageError::unreadable(path, start as u64, error))
}

/// Checks trailer and checksum table; gives the end of the data and the place of the directory.
fn check_trailer(map: &dyn MappedFile, path: &Path, identity: u64) -> Result<(usize, Range<usize>)> {
    let bytes = map.bytes();
    let Some(at) = bytes.len().checked_sub(TRAILER_BYTES).filter(|&at| at >= HEADER_BYTES) else {
        return Err(StorageError::corrupt(path, bytes.len() as u64, "the file ends before its trailer"));
    };
    bring(map, path, at, TRAILER_BYTES)?;
    let trailer = &bytes[at..];
    let mut get = Get::new(trailer, path, at as u64);
    let (start, length, data_end) = (get.u64()?, get.u64()?, get.u64()?);
    let (found_identity, table_sum) = (get.u64()?, get.u32()?);
    let mut sum = Get::new(&trailer[TRAILER_BYTES - 12..], path, at as u64);
    if trailer[TRAILER_BYTES - 8..] != MAGIC_END || sum.u32()? != crc32fast::hash(&trailer[..TRAILER_BYTES - 12]) {
        return Err(StorageError::corrupt(path, at as u64, "the checksum of the trailer does not match"));
    }
    let blocks = data_end.div_ceil(CHECKSUM_BLOCK_BYTES as u64);
    let is_whole = data_end.checked_add(blocks * 4) == Some(at as u64)
        && start.checked_add(length).is_some_and(|end| end <= data_end)
        && found_identity == identity;
    if !is_whole {
        return Err(StorageError::corrupt(path, at as u64, "the trailer does not fit the file"));
    }
    let data_end = data_end as usize;
    // One read for the whole table, instead of one for each of its pages.
    map.will_need(data_end, at - data_end);
    bring(map, path, data_end, at - data_end)?;
    if crc32fast::hash(&bytes[data_end..at]) != table_sum {
        return Err(StorageError::corrupt(path, data_end as u64, "the checksum of the checksum table does not match"));
    }
    Ok((data_end, start as usize..(start + length) as usize))
}
