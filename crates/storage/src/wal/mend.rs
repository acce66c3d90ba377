//! Logs that were not closed, which opening for writing replaces by one new log of all their sound records.
//!
//! Of a log that was not closed nobody knows what the disk has. The process may have been killed before it was synced, and
//! then the operating system shows bytes that a power cut takes. Or a sync failed: the operating system may have dropped
//! what it could not write, and a later sync says nothing of that. Bytes that were read are the only ones that can be
//! relied on, so they are written once more, into a new log, and made durable, before anything is committed behind them.
//!
//! A log that was closed and has a second name, as in a copy of the store made of hard links, is copied as well: what is
//! appended to it would be in the other store too.
//!
//! Invariant: the manifest names the new log only once it is durable whole; until then the old ones are as they were.
//! Cost: the logs are read, and what is sound of them is written and synced once. A store that was closed costs nothing.

use std::path::Path;

use model::platform::{Disk, Platform};
use model::{ErrorCode, Interrupt, Result};

use super::replay::{Record, RecordRoom, Replayed, each_record, last_log, remove_other_logs};
use super::torn::{self, TornLog};
use super::writer::WalWriter;
use super::{EMPTY_LOG_BYTES, GROUP_MARK_BYTES, LINKED_VERSION, LogName};
use crate::error::StorageError;
use crate::file::{check_header, version_of};
use crate::format::{FileKind, HEADER_BYTES};
use crate::manifest::Manifest;

/// Bytes of records that are written at once.
const GROUP_BYTES: usize = 1 << 20;

/// Makes the logs of a store one log that was closed, if they are not that; gives what was cut off. The caller holds the
/// lock, and nobody has opened the store's files yet.
pub(crate) fn mend(
    platform: &Platform,
    directory: &Path,
    room: RecordRoom,
    interrupt: &Interrupt,
) -> Result<Vec<TornLog>> {
    let mut manifest = Manifest::read(&platform.disk, directory)?;
    remove_empty_ends(&*platform.disk, directory, &manifest)?;
    if is_closed(platform, directory, &manifest)? {
        return Ok(Vec::new());
    }
    let disk = &*platform.disk;
    let (first, identity) = (manifest.wal_number, manifest.store_identity);
    let last = last_log(disk, directory, first, identity)?;
    remove_other_logs(disk, directory, first..=last)?;
    // No log has the number between: what is left if this is cut short is not taken for a log that goes on.
    let number = last + 2;
    let names = (LogName::new(identity, first), LogName::new(identity, number));
    let torn = match copy_logs(disk, directory, names, room, interrupt) {
        Ok(Replayed { mut torn, .. }) => {
            for torn in &mut torn {
                torn::keep_if_there_is_room(disk, directory, torn)?;
            }
            torn
        }
        Err(error) if error.code() == ErrorCode::DiskFull => {
            // A part that is not sound takes the room that the copy needs.
            let torn = each_record(disk, directory, (first, identity), room, |_| Ok(()))?.torn;
            let shared = torn.iter().map(|torn| is_shared(disk, &torn.log)).collect::<Result<Vec<bool>>>()?;
            // To cut a log that has a second name makes no room here, and takes from the store of that name.
            if torn.is_empty() || shared.contains(&true) {
                return Err(error);
            }
            torn.iter().try_for_each(|torn| torn::cut_off(disk, torn))?;
            copy_logs(disk, directory, names, room, interrupt)?;
            torn
        }
        Err(error) => return Err(error),
    };
    manifest.wal_number = number;
    manifest.generation += 1;
    manifest.write(&platform.disk, directory)?;
    Ok(torn)
}

/// Copies what is sound in the logs from the first name on to a log of the second name, durable and closed. If it fails, that
/// log is not there.
fn copy_logs(
    disk: &dyn Disk,
    directory: &Path,
    (from, to): (LogName, LogName),
    room: RecordRoom,
    interrupt: &Interrupt,
) -> Result<Replayed> {
    let copy = || {
        let writer = WalWriter::create(disk, directory, to)?;
        let mut copy = Copy { writer, group: Vec::new(), is_empty: true };
        let replayed = each_record(disk, directory, (from.number, from.identity), room, |record| {
            interrupt.check()?;
            copy.add(record)
        })?;
        copy.finish().map(|()| replayed)
    };
    let copied = copy();
    if copied.is_err() {
        torn::remove_if_there(disk, &directory.join(FileKind::Wal.file_name(to.number)))?;
    }
    copied
}

/// Removes logs behind the first that hold nothing, as a flush leaves them that found no room: if the log before them was closed, it
/// is gone on with, which takes no room either.
fn remove_empty_ends(disk: &dyn Disk, directory: &Path, manifest: &Manifest) -> Result<()> {
    let first = manifest.wal_number;
    let last = last_log(disk, directory, first, manifest.store_identity)?;
    // Behind the last there may be one that was only being made.
    for number in (first + 1..=last + 1).rev() {
        let path = directory.join(FileKind::Wal.file_name(number));
        if !disk.exists(&path) {
            continue;
        }
        let length = disk.length(&path).map_err(|error| StorageError::io("read", &path, error))?;
        if length > EMPTY_LOG_BYTES {
            return Ok(());
        }
        disk.remove(&path).map_err(|error| StorageError::io("remove", &path, error))?;
        disk.sync_directory(directory).map_err(|error| StorageError::io("sync", directory, error))?;
    }
    Ok(())
}

/// True if a log has a second name.
fn is_shared(disk: &dyn Disk, path: &Path) -> Result<bool> {
    disk.has_other_names(path).map_err(|error| StorageError::io("read", path, error))
}

/// True if there is one log, which no other store has too, and it ends with a seal.
fn is_closed(platform: &Platform, directory: &Path, manifest: &Manifest) -> Result<bool> {
    let disk = &*platform.disk;
    let number = manifest.wal_number;
    let path = directory.join(FileKind::Wal.file_name(number));
    if disk.exists(&directory.join(FileKind::Wal.file_name(number + 1))) {
        return Ok(false);
    }
    let length = disk.length(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => StorageError::corrupt(&path, 0, "the manifest names a log that is gone"),
        _ => StorageError::io("read", &path, error),
    })?;
    if length < EMPTY_LOG_BYTES || is_shared(disk, &path)? {
        return Ok(false);
    }
    let read = |start: u64, bytes: usize| {
        disk.read_range(&path, start, bytes).map_err(|error| StorageError::io("read", &path, error))
    };
    let header = read(0, HEADER_BYTES)?;
    check_header(&header, &path, FileKind::Wal)?;
    let place = length - GROUP_MARK_BYTES as u64;
    let seal = LogName::new(manifest.store_identity, number).read_mark(&read(place, GROUP_MARK_BYTES)?, place);
    Ok(version_of(&header) >= LINKED_VERSION && seal == Some(place))
}

/// The new log.
struct Copy {
    writer: WalWriter,
    /// Records that are not written yet, behind room for their mark.
    group: Vec<u8>,
    is_empty: bool,
}

impl Copy {
    fn add(&mut self, record: &Record<'_>) -> Result<()> {
        if std::mem::take(&mut self.is_empty) {
            self.writer.begin_after(record.sequence.saturating_sub(1));
        }
        if self.group.is_empty() {
            self.group.resize(GROUP_MARK_BYTES, 0);
        }
        self.writer.name().frame(record.sequence, record.payload, &mut self.group);
        if self.group.len() < GROUP_BYTES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<()> {
        self.writer.append(&mut self.group)?;
        self.group.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if !self.group.is_empty() {
            self.write()?;
        }
        self.writer.seal()
    }
}
