//! Room for the log on the disk, taken before a transaction is put behind the head.
//!
//! The state behind the head is what the next transactions begin with: if its record could not be written then, nothing
//! after it could be either, and the store would have to close. So the record's bytes are had first, and a transaction for
//! which there is no room fails alone, with `DISK_FULL`.
//!
//! The last bytes are kept for transactions that only delete, so that a full disk does not keep anyone from that.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Result;
use model::platform::Disk;

use crate::codec::bytes::Get;
use crate::error::StorageError;
use crate::wal::record::{Operation, operation};
use crate::wal::{EMPTY_LOG_BYTES, GROUP_MARK_BYTES, LINK_BYTES, RECORD_HEADER_BYTES};

/// Bytes that are kept for transactions that only delete.
const KEPT_BYTES: u64 = 256 << 10;
/// Least size of a step in bytes in which room is taken; a step is also a part of the log.
const STEP_BYTES_MIN: u64 = 256 << 10;
const STEP_PART: u64 = 4;
/// Bytes of a log besides its groups: the link before the first record, and the seal.
const FRAME_BYTES: u64 = (LINK_BYTES + 2 * GROUP_MARK_BYTES) as u64;

/// The room of one log.
#[derive(Debug)]
pub(super) struct LogRoom {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Largest end of the log once all is written that was let in.
    end: u64,
    /// Up to where there is room.
    taken: u64,
    is_taken: bool,
}

impl LogRoom {
    /// The room of a log that has no records yet: what is kept for transactions that delete.
    pub(super) fn of_new(disk: &Arc<dyn Disk>, path: &Path) -> Result<LogRoom> {
        let mut room = LogRoom::of_empty(disk, path);
        room.take_kept()?;
        Ok(room)
    }

    /// The same, none of it taken yet.
    pub(super) fn of_empty(disk: &Arc<dyn Disk>, path: &Path) -> LogRoom {
        LogRoom::of(disk, path, EMPTY_LOG_BYTES)
    }

    /// Takes what is kept for transactions that delete.
    pub(super) fn take_kept(&mut self) -> Result<()> {
        self.take(self.end + FRAME_BYTES + KEPT_BYTES)
    }

    /// The room of a log of that length, none of it taken yet.
    pub(super) fn of(disk: &Arc<dyn Disk>, path: &Path, length: u64) -> LogRoom {
        LogRoom { disk: disk.clone(), path: path.to_owned(), end: length, taken: length, is_taken: false }
    }

    /// False before any room was taken, when nothing was let in either.
    pub(super) fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Lets the record of a transaction in, or fails with `DISK_FULL`, after which all is as before.
    pub(super) fn let_in(&mut self, payload: &[u8]) -> Result<()> {
        let end = self.end + (GROUP_MARK_BYTES + RECORD_HEADER_BYTES + payload.len()) as u64;
        let least = end + FRAME_BYTES;
        if let Err(error) = self.take(least + KEPT_BYTES) {
            // A log that was opened on a full disk has taken no room yet: what is left may be less than what is kept.
            let is_there = only_deletes(payload)? && self.take(least).is_ok();
            if !is_there {
                return Err(error);
            }
        }
        self.end = end;
        Ok(())
    }

    /// Corrects the bound once everything let in is written.
    pub(super) fn is_written_up_to(&mut self, length: u64) {
        self.end = length;
    }

    fn take(&mut self, end: u64) -> Result<()> {
        if end <= self.taken {
            return Ok(());
        }
        let step = STEP_BYTES_MIN.max(self.taken / STEP_PART);
        let far = end.next_multiple_of(step);
        let (taken, result) = match self.disk.reserve(&self.path, far) {
            Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                (end, self.disk.reserve(&self.path, end))
            }
            result => (far, result),
        };
        result.map_err(|error| StorageError::io("take room for", &self.path, error))?;
        self.taken = taken;
        self.is_taken = true;
        Ok(())
    }
}

impl Drop for LogRoom {
    fn drop(&mut self) {
        // Room that cannot be given back now is given back when the log is next opened, or removed.
        let _ = self.disk.release(&self.path);
    }
}

/// True of the record of a transaction that makes nothing larger.
pub(super) fn only_deletes(payload: &[u8]) -> Result<bool> {
    let mut get = Get::new(payload, Path::new("transaction"), 0);
    while get.left() > 0 {
        match operation(&mut get)? {
            Operation::DeleteNodes(_)
            | Operation::DeleteEdges(_)
            | Operation::RemoveLabels(..)
            | Operation::DropIndex(_)
            | Operation::DropConstraint(_)
            | Operation::DropSortKey(_) => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}
