//! Immutable files: a header, data, a table of checksums and a trailer. Written once in order, then mapped.
//!
//! Invariant: a block of `CHECKSUM_BLOCK_BYTES` is compared with its checksum before the first of its bytes is used.
//! Cost: opening reads header, trailer, checksums and the file's own directory; a block is verified on first touch.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::Result;
use model::platform::{Disk, MappedFile, WriteFile};

use crate::codec::bytes::{Get, Put};
use crate::error::StorageError;
use crate::format::{
    CHECKSUM_BLOCK_BYTES, FORMAT_VERSION, FORMAT_VERSION_MIN, FileKind, HEADER_BYTES, MAGIC, MAGIC_END,
    READER_VERSION_MIN, TRAILER_BYTES,
};

const BUFFER_BYTES: usize = 1 << 20;

/// What the manifest says about a file: which it is, and how it can be told from any other.
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

/// Writes one immutable file. Dropped before `finish`, the file is removed.
pub struct FileWriter {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    out: Option<Box<dyn WriteFile>>,
    buffer: Vec<u8>,
    written: u64,
    checksums: Vec<u32>,
    hasher: crc32fast::Hasher,
    block_bytes: usize,
    entry: FileEntry,
    is_kept: bool,
}

impl FileWriter {
    /// Makes the file and writes its header.
    pub fn create(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        kind: FileKind,
        number: u64,
        identity: u64,
    ) -> Result<FileWriter> {
        let path = directory.join(kind.file_name(number));
        let out = disk.create(&path).map_err(|error| StorageError::io("create", &path, error))?;
        let mut writer = FileWriter {
            disk: disk.clone(),
            path,
            out: Some(out),
            buffer: Vec::with_capacity(BUFFER_BYTES + CHECKSUM_BLOCK_BYTES),
            written: 0,
            checksums: Vec::new(),
            hasher: crc32fast::Hasher::new(),
            block_bytes: 0,
            entry: FileEntry { number, length: 0, identity },
            is_kept: false,
        };
        writer.write(&header(kind, number, identity))?;
        Ok(writer)
    }

    /// Where the next byte goes.
    pub fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds bytes.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let count = bytes.len().min(BUFFER_BYTES - self.buffer.len());
            self.buffer.extend_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if self.buffer.len() == BUFFER_BYTES {
                self.drain()?;
            }
        }
        Ok(())
    }

    /// Adds zeros up to a multiple of eight bytes.
    pub fn align(&mut self) -> Result<()> {
        let gap = self.position().next_multiple_of(8) - self.position();
        self.write(&[0; 8][..gap as usize])
    }

    /// Hands the buffered data to the disk.
    fn drain(&mut self) -> Result<()> {
        let mut at = 0;
        while at < self.buffer.len() {
            let count = (self.buffer.len() - at).min(CHECKSUM_BLOCK_BYTES - self.block_bytes);
            self.hasher.update(&self.buffer[at..at + count]);
            self.block_bytes += count;
            at += count;
            if self.block_bytes == CHECKSUM_BLOCK_BYTES {
                self.end_block();
            }
        }
        self.put()
    }

    fn end_block(&mut self) {
        self.checksums.push(std::mem::take(&mut self.hasher).finalize());
        self.block_bytes = 0;
    }

    fn put(&mut self) -> Result<()> {
        let out = self.out.as_mut().expect("the file is open until it is finished");
        out.write_all(&self.buffer).map_err(|error| StorageError::io("write", &self.path, error))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Hands everything to the disk, so that what was written so far can be read by path.
    pub fn flush(&mut self) -> Result<()> {
        self.drain()?;
        let out = self.out.as_mut().expect("the file is open until it is finished");
        out.flush().map_err(|error| StorageError::io("write", &self.path, error))
    }

    /// Ends a file that never becomes part of the store: it can be read as long as the result lives.
    pub fn into_temporary(mut self) -> Result<TemporaryFile> {
        self.flush()?;
        self.is_kept = true;
        Ok(TemporaryFile { disk: self.disk.clone(), path: self.path.clone() })
    }

    /// Writes directory, checksums and trailer, and makes the bytes durable.
    pub fn finish(mut self, directory: &[u8]) -> Result<FileEntry> {
        self.align()?;
        let directory_start = self.position();
        self.write(directory)?;
        self.align()?;
        let data_end = self.position();
        self.drain()?;
        if self.block_bytes > 0 {
            self.end_block();
        }
        let table: Vec<u8> = self.checksums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        let mut trailer = Vec::with_capacity(TRAILER_BYTES);
        trailer.put_u64(directory_start);
        trailer.put_u64(directory.len() as u64);
        trailer.put_u64(data_end);
        trailer.put_u64(self.entry.identity);
        trailer.put_u32(crc32fast::hash(&table));
        trailer.resize(TRAILER_BYTES - 12, 0);
        trailer.put_u32(crc32fast::hash(&trailer));
        trailer.extend_from_slice(&MAGIC_END);
        self.buffer.extend_from_slice(&table);
        self.buffer.extend_from_slice(&trailer);
        self.put()?;
        let out = self.out.as_mut().expect("the file is open until it is finished");
        out.flush().and_then(|()| out.sync()).map_err(|error| StorageError::io("sync", &self.path, error))?;
        self.entry.length = self.written;
        self.is_kept = true;
        Ok(self.entry)
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if !self.is_kept {
            self.out = None;
            // A file that cannot be removed now is removed when the store is next opened.
            let _ = self.disk.remove(&self.path);
        }
    }
}

/// A file without a trailer, for the use of one build. Dropped, it is removed.
pub struct TemporaryFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl TemporaryFile {
    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All its bytes, from the header on.
    pub fn map(&self) -> Result<Arc<dyn MappedFile>> {
        self.disk.map(&self.path).map_err(|error| StorageError::io("map", &self.path, error))
    }

    /// Some of its bytes, read into memory.
    pub fn read_range(&self, start: u64, length: usize) -> Result<Vec<u8>> {
        self.disk.read_range(&self.path, start, length).map_err(|error| StorageError::io("read", &self.path, error))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A file that cannot be removed now is removed when the store is next opened.
        let _ = self.disk.remove(&self.path);
    }
}

/// An immutable file, mapped. Removed from the disk with the last reference, once it is obsolete.
pub struct StoreFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    entry: FileEntry,
    map: Arc<dyn MappedFile>,
    data_end: usize,
    directory: Range<usize>,
    verified: Box<[AtomicU64]>,
    is_obsolete: AtomicBool,
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
        let bytes = map.bytes();
        let (number, identity) = check_header(bytes, &path, kind)?;
        if (number, identity) != (entry.number, entry.identity) {
            return Err(StorageError::corrupt(&path, 16, "the file is not the one that the manifest names"));
        }
        let (data_end, directory) = check_trailer(bytes, &path, identity)?;
        let blocks = data_end.div_ceil(CHECKSUM_BLOCK_BYTES);
        let verified = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let disk = disk.clone();
        let is_obsolete = AtomicBool::new(false);
        Ok(Arc::new(StoreFile { disk, path, entry, map, data_end, directory, verified, is_obsolete }))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the manifest says about it.
    pub fn entry(&self) -> FileEntry {
        self.entry
    }

    /// All bytes, verified or not; call [`StoreFile::ensure`] for what is used.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.map.bytes()
    }

    /// The file's own directory, verified.
    pub fn directory(&self) -> Result<Get<'_>> {
        self.ensure(self.directory.start, self.directory.len())?;
        Ok(Get::new(&self.bytes()[self.directory.clone()], &self.path, self.directory.start as u64))
    }

    /// Verifies the blocks that hold a range, unless that was done before.
    #[inline]
    pub fn ensure(&self, start: usize, length: usize) -> Result<()> {
        let first = start / CHECKSUM_BLOCK_BYTES;
        let last = (start + length.max(1) - 1) / CHECKSUM_BLOCK_BYTES;
        for block in first..=last {
            let word = self.verified.get(block / 64).map_or(0, |word| word.load(Ordering::Relaxed));
            if word >> (block % 64) & 1 == 0 {
                self.verify_block(block)?;
            }
        }
        Ok(())
    }

    /// Compares one block with its checksum.
    #[cold]
    pub fn verify_block(&self, block: usize) -> Result<()> {
        let start = block * CHECKSUM_BLOCK_BYTES;
        if start >= self.data_end {
            let problem = format!("something points behind the end of the data at {}", self.data_end);
            return Err(StorageError::corrupt(&self.path, start as u64, problem));
        }
        let bytes = self.bytes();
        let end = (start + CHECKSUM_BLOCK_BYTES).min(self.data_end);
        let mut table = Get::new(&bytes[self.data_end + 4 * block..], &self.path, (self.data_end + 4 * block) as u64);
        let (expected, found) = (table.u32()?, crc32fast::hash(&bytes[start..end]));
        if expected != found {
            let problem = format!("the checksum of {} bytes is {found:08x}, expected {expected:08x}", end - start);
            return Err(StorageError::corrupt(&self.path, start as u64, problem));
        }
        self.verified[block / 64].fetch_or(1 << (block % 64), Ordering::Relaxed);
        Ok(())
    }

    /// How many checksum blocks there are.
    pub fn block_count(&self) -> usize {
        self.data_end.div_ceil(CHECKSUM_BLOCK_BYTES)
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

    /// Advice that a range will be needed soon.
    pub fn will_need(&self, start: usize, length: usize) {
        self.map.will_need(start, length);
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

/// Checks trailer and checksum table; gives the end of the data and the place of the directory.
fn check_trailer(bytes: &[u8], path: &Path, identity: u64) -> Result<(usize, Range<usize>)> {
    let Some(at) = bytes.len().checked_sub(TRAILER_BYTES).filter(|&at| at >= HEADER_BYTES) else {
        return Err(StorageError::corrupt(path, bytes.len() as u64, "the file ends before its trailer"));
    };
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
    if crc32fast::hash(&bytes[data_end..at]) != table_sum {
        return Err(StorageError::corrupt(path, data_end as u64, "the checksum of the checksum table does not match"));
    }
    Ok((data_end, start as usize..(start + length) as usize))
}
