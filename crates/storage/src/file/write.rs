//! Writing files: an immutable file with checksums and trailer, or a temporary one for the use of one build.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Result;
use model::platform::{Disk, MappedFile, WriteFile};

use super::{FileEntry, header};
use crate::codec::bytes::Put;
use crate::error::StorageError;
use crate::format::{CHECKSUM_BLOCK_BYTES, FileKind, MAGIC_END, TRAILER_BYTES};
use crate::numbers::FileNumbers;

const BUFFER_BYTES: usize = 1 << 20;

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
    /// Source of the numbers of temporary files beside it.
    numbers: Option<Arc<FileNumbers>>,
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
            numbers: None,
        };
        writer.write(&header(kind, number, identity))?;
        Ok(writer)
    }

    /// The same file, which can have temporary ones beside it with these numbers.
    #[must_use]
    pub fn with_numbers(mut self, numbers: Arc<FileNumbers>) -> FileWriter {
        self.numbers = Some(numbers);
        self
    }

    /// A temporary file beside it, if it can have such.
    pub fn temporary(&self) -> Result<Option<FileWriter>> {
        let (Some(numbers), Some(directory)) = (&self.numbers, self.path.parent()) else { return Ok(None) };
        let number = numbers.take();
        FileWriter::create(&self.disk, directory, FileKind::Run, number, self.entry.identity).map(Some)
    }

    /// Position of the next byte.
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
        out.forget();
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
