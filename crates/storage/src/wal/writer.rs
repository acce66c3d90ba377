//! The end of the log that is written: whole records, and the wait until they are durable.

use std::path::{Path, PathBuf};

use model::Result;
use model::platform::{Disk, WriteFile};

use crate::error::StorageError;
use crate::file::header;
use crate::format::{FileKind, HEADER_BYTES};
use crate::wal::replay::WalEnd;
use crate::wal::{GROUP_MARK_BYTES, group_mark};

/// The open log of a store.
pub(crate) struct WalWriter {
    file: Box<dyn WriteFile>,
    path: PathBuf,
    identity: u64,
    /// Bytes that were appended.
    length: u64,
    /// Bytes that are known to be durable.
    durable: u64,
    is_sealed: bool,
}

impl WalWriter {
    /// Makes the empty log of that number and makes it durable, except for its name in the directory.
    pub(crate) fn create(disk: &dyn Disk, directory: &Path, number: u64, identity: u64) -> Result<WalWriter> {
        let path = &directory.join(FileKind::Wal.file_name(number));
        let mut file = disk.create(path).map_err(|error| StorageError::io("create", path, error))?;
        file.write_all(&header(FileKind::Wal, number, identity))
            .map_err(|error| StorageError::io("write", path, error))?;
        file.sync().map_err(|error| StorageError::io("sync", path, error))?;
        let length = HEADER_BYTES as u64;
        Ok(WalWriter { file, path: path.to_path_buf(), identity, length, durable: length, is_sealed: true })
    }

    /// Goes on behind the sound part of a log; the rest is cut off.
    pub(crate) fn resume(disk: &dyn Disk, path: &Path, identity: u64, end: &WalEnd) -> Result<WalWriter> {
        let length = end.length;
        let mut file = disk.append(path, length).map_err(|error| StorageError::io("open", path, error))?;
        file.sync().map_err(|error| StorageError::io("sync", path, error))?;
        let is_sealed = end.is_sealed;
        Ok(WalWriter { file, path: path.to_path_buf(), identity, length, durable: length, is_sealed })
    }

    /// Appends a group: room for its mark, and records as [`super::frame`] makes them.
    pub(crate) fn append(&mut self, group: &mut [u8]) -> Result<()> {
        let mark = group_mark(self.identity, self.length, self.durable);
        group[..GROUP_MARK_BYTES].copy_from_slice(&mark);
        self.is_sealed = false;
        self.length += group.len() as u64;
        self.file.write_all(group).map_err(|error| StorageError::io("write", &self.path, error))
    }

    /// Waits until all that was appended is durable.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.file.sync().map_err(|error| StorageError::io("sync", &self.path, error))?;
        self.durable = self.length;
        Ok(())
    }

    /// Makes all durable, and says so at the end of the log: damage to its last records can be told from a torn write.
    pub(crate) fn seal(&mut self) -> Result<()> {
        if self.is_sealed {
            return Ok(());
        }
        self.sync()?;
        self.append(&mut [0; GROUP_MARK_BYTES])?;
        self.sync()?;
        self.is_sealed = true;
        Ok(())
    }
}
