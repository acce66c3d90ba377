//! Bytes that stood behind the sound part of a log, left by a crash or damaged since: their number, and the file that
//! keeps them.
//!
//! Opening for writing goes on in a new log and keeps such bytes beside it, in `<number>.wal.torn`. Nothing ever reads
//! them; they are there for people who want to know what was lost. The newest [`TORN_FILES_MAX`] stay.

use std::path::{Path, PathBuf};

use model::platform::{Disk, Platform};
use model::{ErrorCode, Result};

use super::replay::{PIECE_BYTES, RecordRoom, each_record};
use crate::error::StorageError;
use crate::format::FileKind;
use crate::lock::is_written;
use crate::manifest::Manifest;

/// Files with torn ends that a store keeps; older ones are removed when a new one is made.
pub const TORN_FILES_MAX: usize = 8;

/// Suffix of the names of such files, behind the name of the log.
const TORN_SUFFIX: &str = ".torn";

/// Bytes behind the sound part of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornLog {
    /// The log.
    pub log: PathBuf,
    /// Bytes of its sound part.
    pub offset: u64,
    /// Bytes behind it.
    pub bytes: u64,
    /// Whole transactions that can be told among those bytes. They stand behind a place that cannot be read, and so are
    /// not a part of the store. None of them was called durable.
    pub transactions: u64,
    /// The file that the bytes were copied to; `None` if they stand in the log still.
    pub kept: Option<PathBuf>,
}

impl std::fmt::Display for TornLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TornLog { log, offset, bytes, transactions, kept } = self;
        write!(f, "{}: {bytes} bytes behind byte {offset} are not sound", log.display())?;
        match transactions {
            0 => {}
            1 => write!(f, ", 1 whole transaction among them")?,
            _ => write!(f, ", {transactions} whole transactions among them")?,
        }
        match kept {
            Some(path) => write!(f, "; they are no part of the store and were kept in {}", path.display()),
            None => write!(f, "; they are no part of the store"),
        }
    }
}

/// Bytes that stand behind the sound parts of the logs of a store now, unless a process writes it: then the last are those
/// of a record that is just being written. Changes nothing.
///
/// # Errors
/// `CORRUPT` if a log is damaged where it was durable.
pub fn torn_logs(platform: &Platform, directory: &Path) -> Result<Vec<TornLog>> {
    let disk = &*platform.disk;
    if is_written(disk, directory) {
        return Ok(Vec::new());
    }
    let manifest = Manifest::read(&platform.disk, directory)?;
    let (first, identity) = (manifest.wal_number, manifest.store_identity);
    Ok(each_record(disk, directory, (first, identity), RecordRoom::UNLIMITED, |_| Ok(()))?.torn)
}

/// The files with torn ends of logs that were kept when the store was opened, and their lengths, oldest first.
///
/// # Errors
/// If the directory cannot be read.
pub fn kept_files(disk: &dyn Disk, directory: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut kept = Vec::new();
    for (_, name) in names(disk, directory)? {
        let path = directory.join(name);
        let length = disk.length(&path).map_err(|error| StorageError::io("read", &path, error))?;
        kept.push((path, length));
    }
    Ok(kept)
}

/// Names of files with torn ends, by the numbers of their logs.
fn names(disk: &dyn Disk, directory: &Path) -> Result<Vec<(u64, String)>> {
    let names = disk.list(directory).map_err(|error| StorageError::io("list", directory, error))?;
    let mut found: Vec<(u64, String)> = names
        .into_iter()
        .filter_map(|name| match FileKind::parse(name.strip_suffix(TORN_SUFFIX)?) {
            Some((FileKind::Wal, number)) => Some((number, name)),
            _ => None,
        })
        .collect();
    found.sort_unstable();
    Ok(found)
}

/// Copies the bytes to a file of their own, as [`keep`] does, if the disk has room for it: a full disk must not keep a store
/// from opening.
pub(super) fn keep_if_there_is_room(disk: &dyn Disk, directory: &Path, torn: &mut TornLog) -> Result<()> {
    match keep(disk, directory, torn) {
        Err(error) if error.code() == ErrorCode::DiskFull => {
            torn.kept = None;
            remove_if_there(disk, &kept_path(torn))
        }
        other => other,
    }
}

/// Removes the bytes from the log, durably.
pub(super) fn cut_off(disk: &dyn Disk, torn: &TornLog) -> Result<()> {
    let cut = disk.append(&torn.log, torn.offset).and_then(|mut file| file.sync());
    cut.map_err(|error| StorageError::io("cut", &torn.log, error))
}

/// The file for the bytes.
fn kept_path(torn: &TornLog) -> PathBuf {
    let mut path = torn.log.clone().into_os_string();
    path.push(TORN_SUFFIX);
    PathBuf::from(path)
}

/// Copies the bytes to a file of their own, durable but for its name, and removes the oldest such files if there are too
/// many.
fn keep(disk: &dyn Disk, directory: &Path, torn: &mut TornLog) -> Result<()> {
    let path = kept_path(torn);
    remove_if_there(disk, &path)?;
    let mut file = disk.create(&path).map_err(|error| StorageError::io("create", &path, error))?;
    for start in (0..torn.bytes).step_by(PIECE_BYTES) {
        let bytes = (torn.bytes - start).min(PIECE_BYTES as u64) as usize;
        let read = disk.read_range(&torn.log, torn.offset + start, bytes);
        let read = read.map_err(|error| StorageError::io("read", &torn.log, error))?;
        file.write_all(&read).map_err(|error| StorageError::io("write", &path, error))?;
    }
    file.sync().map_err(|error| StorageError::io("sync", &path, error))?;
    torn.kept = Some(path);
    let names = names(disk, directory)?;
    for (_, name) in &names[..names.len().saturating_sub(TORN_FILES_MAX)] {
        remove_if_there(disk, &directory.join(name))?;
    }
    Ok(())
}

/// Removes a file that may not be there.
pub(super) fn remove_if_there(disk: &dyn Disk, path: &Path) -> Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StorageError::io("remove", path, error)),
        _ => Ok(()),
    }
}
