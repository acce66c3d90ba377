//! The end of the log that is written: whole records, and the wait until they are durable.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Result;
use model::platform::{Disk, WriteFile};

use crate::error::StorageError;
use crate::file::header;
use crate::format::{FileKind, HEADER_BYTES};
use crate::wal::replay::WalEnd;
use crate::wal::{EMPTY_LOG_BYTES, GROUP_MARK_BYTES, Link, LogName};

/// The open log of a store.
pub(crate) struct WalWriter {
    file: Box<dyn WriteFile>,
    path: PathBuf,
    name: LogName,
    /// Bytes that were appended.
    length: u64,
    /// Bytes that are known to be durable.
    durable: u64,
    is_sealed: bool,
    /// Link that must stand before the first record.
    owed: Option<Link>,
    /// The disk, as long as the seal that the log was found with is to be written again.
    seal_anew: Option<Arc<dyn Disk>>,
}

impl WalWriter {
    /// Makes the empty log of that name and makes it durable, except for its name in the directory.
    pub(crate) fn create(disk: &dyn Disk, directory: &Path, name: LogName) -> Result<WalWriter> {
        let path = directory.join(FileKind::Wal.file_name(name.number));
        let io = |action: &'static str, error| StorageError::io(action, &path, error);
        let mut file = disk.create(&path).map_err(|error| io("create", error))?;
        let mut bytes = header(FileKind::Wal, name.number, name.identity);
        bytes.extend_from_slice(&name.mark(HEADER_BYTES as u64, HEADER_BYTES as u64));
        file.write_all(&bytes).map_err(|error| io("write", error))?;
        file.sync().map_err(|error| io("sync", error))?;
        let (length, owed) = (EMPTY_LOG_BYTES, Some(name.first_link(0)));
        Ok(WalWriter { file, path, name, length, durable: length, is_sealed: true, owed, seal_anew: None })
    }

    /// Goes on behind the seal of a log. All before a seal was durable when it was written, but of the seal itself that is
    /// not known: it is written again before anything follows it, so that a page that the operating system failed to write,
    /// and then forgot, is written now.
    pub(crate) fn resume(disk: &Arc<dyn Disk>, directory: &Path, name: LogName, end: &WalEnd) -> Result<WalWriter> {
        let path = directory.join(FileKind::Wal.file_name(name.number));
        let length = end.length;
        let file = disk.append(&path, length).map_err(|error| StorageError::io("open", &path, error))?;
        let owed = (!end.has_link).then(|| name.first_link(end.sequence));
        let seal_anew = Some(disk.clone());
        Ok(WalWriter { file, path, name, length, durable: length, is_sealed: true, owed, seal_anew })
    }

    /// Name of the log, which the checksums of its records cover.
    pub(crate) fn name(&self) -> LogName {
        self.name
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that were appended, with the header.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Says where the log before ends, which is durable. Comes before the first record.
    pub(crate) fn follow(&mut self, before: &WalWriter, sequence: u64) {
        self.owed = Some(Link { number: before.name.number, length: before.length, sequence });
    }

    /// Says what the last transaction before the first record of a log is that none is before.
    pub(crate) fn begin_after(&mut self, sequence: u64) {
        self.owed = Some(self.name.first_link(sequence));
    }

    /// Writes the seal again that the log was found with, before anything else is done to the file: cutting it loses room that
    /// was taken behind its end. Can be tried again if it fails; the store is as durable as before.
    pub(crate) fn seal_anew(&mut self) -> Result<()> {
        let Some(disk) = &self.seal_anew else { return Ok(()) };
        let place = self.length - GROUP_MARK_BYTES as u64;
        self.file = disk.append(&self.path, place).map_err(|error| StorageError::io("open", &self.path, error))?;
        // Until the next sync the seal is neither the one that was durable nor a durable one.
        self.durable = place;
        self.write(&self.name.mark(place, place))?;
        self.seal_anew = None;
        Ok(())
    }

    /// Appends a group: room for its mark, and records as [`LogName::frame`] makes them.
    pub(crate) fn append(&mut self, group: &mut [u8]) -> Result<()> {
        self.seal_anew()?;
        if group.len() > GROUP_MARK_BYTES
            && let Some(link) = self.owed.take()
        {
            let link = self.name.link(self.length, link);
            self.length += link.len() as u64;
            self.write(&link)?;
        }
        group[..GROUP_MARK_BYTES].copy_from_slice(&self.name.mark(self.length, self.durable));
        self.is_sealed = false;
        self.length += group.len() as u64;
        self.write(group)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| StorageError::io("write", &self.path, error))
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
