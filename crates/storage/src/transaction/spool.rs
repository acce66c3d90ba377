//! Bytes that a large transaction needs again some time: in a file without a name, or in memory where the disk has none.
//!
//! Nothing is ever taken out; all of it goes with the transaction.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use model::Result;
use model::platform::{Disk, TemporaryFile};

use crate::error::StorageError;

/// Bytes that are read at a time.
const PAGE_BYTES: u64 = 4096;

/// Bytes that grow at the end and are read anywhere.
pub(crate) struct Spool {
    directory: PathBuf,
    bytes: Bytes,
    length: u64,
}

enum Bytes {
    File(Box<dyn TemporaryFile>),
    Memory(Vec<u8>),
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Spool({} bytes)", self.length)
    }
}

impl Spool {
    /// Nothing yet; the file is made in that directory.
    pub(crate) fn new(disk: &Arc<dyn Disk>, directory: PathBuf) -> Result<Spool> {
        let bytes = match disk.temporary(&directory) {
            Ok(file) => Bytes::File(file),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Bytes::Memory(Vec::new()),
            Err(error) => return Err(StorageError::io("create a temporary file in", &directory, error)),
        };
        Ok(Spool { directory, bytes, length: 0 })
    }

    /// Adds bytes; gives where they begin.
    pub(crate) fn append(&mut self, added: &[u8]) -> Result<u64> {
        let start = self.length;
        match &mut self.bytes {
            // Bytes that a failed write left behind the end are written over.
            Bytes::File(file) => file
                .write_at(start, added)
                .map_err(|error| StorageError::io("write a temporary file in", &self.directory, error))?,
            Bytes::Memory(bytes) => bytes.extend_from_slice(added),
        }
        self.length += added.len() as u64;
        Ok(start)
    }

    /// The bytes from `start` on.
    pub(crate) fn read(&self, start: u64, length: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; length];
        match &self.bytes {
            Bytes::File(file) => file
                .read_at(start, &mut out)
                .map_err(|error| StorageError::io("read a temporary file in", &self.directory, error))?,
            Bytes::Memory(bytes) => out.copy_from_slice(&bytes[start as usize..start as usize + length]),
        }
        Ok(out)
    }

    /// Numbers of eight bytes, read one by one.
    pub(crate) fn numbers(&self) -> Numbers<'_> {
        Numbers { spool: self, page: Vec::new(), start: 0 }
    }
}

/// Reads numbers, those that lie near each other at once.
pub(crate) struct Numbers<'a> {
    spool: &'a Spool,
    page: Vec<u8>,
    start: u64,
}

impl Numbers<'_> {
    /// The number with that index among those from byte `first` on.
    pub(crate) fn get(&mut self, first: u64, index: u64) -> Result<u64> {
        let at = first + index * 8;
        if at < self.start || at + 8 > self.start + self.page.len() as u64 {
            let length = PAGE_BYTES.min(self.spool.length - at);
            self.page = self.spool.read(at, length as usize)?;
            self.start = at;
        }
        let at = (at - self.start) as usize;
        Ok(u64::from_le_bytes(self.page[at..at + 8].try_into().expect("eight bytes are eight")))
    }
}
