//! The end of the log that is written: whole records, and the wait until they are durable.

use std::path::{Path, PathBuf};

use model::Result;
use model::platform::{Disk, WriteFile};

use crate::error::StorageError;
use crate::file::header;
use crate::format::FileKind;

/// The open log of a store.
pub(crate) struct WalWriter {
    file: Box<dyn WriteFile>,
    path: PathBuf,
}

impl WalWriter {
    /// Makes the empty log of that number and makes it durable, except for its name in the directory.
    pub(crate) fn create(disk: &dyn Disk, directory: &Path, number: u64, identity: u64) -> Result<WalWriter> {
        let path = &directory.join(FileKind::Wal.file_name(number));
        let mut file = disk.create(path).map_err(|error| StorageError::io("create", path, error))?;
        file.write_all(&header(FileKind::Wal, number, identity))
            .map_err(|error| StorageError::io("write", path, error))?;
        file.sync().map_err(|error| StorageError::io("sync", path, error))?;
        Ok(WalWriter { file, path: path.to_path_buf() })
    }

    /// Goes on with a log whose sound part is `length` bytes long; the rest is cut off.
    pub(crate) fn resume(disk: &dyn Disk, path: &Path, length: u64) -> Result<WalWriter> {
        let mut file = disk.append(path, length).map_err(|error| StorageError::io("open", path, error))?;
        file.sync().map_err(|error| StorageError::io("sync", path, error))?;
        Ok(WalWriter { file, path: path.to_path_buf() })
    }

    /// Appends records as [`super::frame`] makes them.
    pub(crate) fn append(&mut self, records: &[u8]) -> Result<()> {
        self.file.write_all(records).map_err(|error| StorageError::io("write", &self.path, error))
    }

    /// Waits until all that was appended is durable.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.file.sync().map_err(|error| StorageError::io("sync", &self.path, error))
    }
}
