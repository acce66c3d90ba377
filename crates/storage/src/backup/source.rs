//! The files of one moment of a store that may be in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::platform::{MappedFile, Platform};
use model::{ErrorCode, Result};

use super::{Current, STEP_BYTES, io};
use crate::error::StorageError;
use crate::file::{FileEntry, StoreFile};
use crate::format::FileKind;
use crate::manifest::Manifest;
use crate::version::Version;
use crate::wal::EMPTY_LOG_BYTES;
use crate::wal::replay::end_of;

/// Number of times that the files are looked up anew because merges took away the log that was about to be read.
const ATTEMPTS: u32 = 100;
/// Time to wait for an open store to turn to the version whose manifest it has written.
const NAP: Duration = Duration::from_millis(1);

/// A version and the logs behind it. The version keeps its files on the disk, or at least open.
pub(super) struct Source {
    platform: Platform,
    directory: PathBuf,
    pub(super) version: Arc<Version>,
    /// Oldest first.
    pub(super) logs: Vec<LogPart>,
}

/// The sound part of a log.
pub(super) struct LogPart {
    pub(super) number: u64,
    /// Bytes of header and sound records.
    pub(super) length: u64,
    /// The last transaction in it; 0 without any.
    pub(super) sequence: u64,
    /// CRC-32 of those bytes.
    pub(super) checksum: u32,
    map: Arc<dyn MappedFile>,
}

impl LogPart {
    /// Reads header and sound records, piece by piece, and keeps none of them in memory. A log only grows, and only behind them
    /// is it ever cut.
    pub(super) fn read(&self, directory: &Path, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let path = directory.join(FileKind::Wal.file_name(self.number));
        let end = self.length as usize;
        for start in (0..end).step_by(STEP_BYTES) {
            let piece = start..(start + STEP_BYTES).min(end);
            let unreadable = |error| StorageError::unreadable(&path, start as u64, error);
            self.map.populate(piece.start, piece.len()).map_err(unreadable)?;
            each(&self.map.bytes()[piece.clone()])?;
            self.map.evict(&[piece]);
        }
        Ok(())
    }

    /// Fails if some of the bytes could not be read.
    pub(super) fn check_lost(&self, directory: &Path) -> Result<()> {
        let Some((offset, error)) = self.map.lost() else { return Ok(()) };
        Err(StorageError::unreadable(&directory.join(FileKind::Wal.file_name(self.number)), offset as u64, error))
    }
}

impl Source {
    /// The store as it is now.
    pub(super) fn take(platform: &Platform, directory: &Path, current: Current<'_>) -> Result<Source> {
        let mut last: Option<Arc<Version>> = None;
        for attempt in 1.. {
            let before = Manifest::read(&platform.disk, directory)?.generation;
            let version = current(last.as_deref());
            // An open store writes its manifest before it turns to the new version itself.
            let is_behind = version.as_ref().is_ok_and(|version| version.manifest().generation < before);
            if let Ok(version) = &version {
                last = Some(version.clone());
            }
            match version.and_then(|version| Source::with_logs(platform, directory, version)) {
                // A missing file has been merged away if there is a new manifest; otherwise it is lost.
                Err(error) if error.code() == ErrorCode::Corrupt && attempt < ATTEMPTS => {
                    if is_behind {
                        std::thread::sleep(NAP);
                    } else if Manifest::read(&platform.disk, directory)?.generation == before {
                        return Err(error);
                    }
                }
                outcome => return outcome,
            }
        }
        unreachable!("the last attempt returns its outcome")
    }

    fn with_logs(platform: &Platform, directory: &Path, version: Arc<Version>) -> Result<Source> {
        let first = version.manifest().wal_number;
        let mut numbers: Vec<u64> = platform
            .disk
            .list(directory)
            .map_err(io("list", directory))?
            .iter()
            .filter_map(|name| match FileKind::parse(name) {
                Some((FileKind::Wal, number)) if number > first => Some(number),
                _ => None,
            })
            .collect();
        numbers.push(first);
        numbers.sort_unstable();
        // One behind a gap is being made from the others, or is what is left of that.
        let following = numbers.iter().zip(first..).take_while(|(number, place)| **number == *place).count();
        numbers.truncate(following);
        numbers.reverse();
        let mut source =
            Source { platform: platform.clone(), directory: directory.to_owned(), version, logs: Vec::new() };
        for number in numbers {
            // The newest log may be just being made; until it has a record it means nothing.
            let path = directory.join(FileKind::Wal.file_name(number));
            let is_empty = || platform.disk.length(&path).is_ok_and(|bytes| bytes <= EMPTY_LOG_BYTES);
            if number != first && source.logs.is_empty() && is_empty() {
                continue;
            }
            let log = source.measure(number)?;
            source.logs.push(log);
        }
        source.logs.reverse();
        Ok(source)
    }

    /// Finds the end of the sound part of a log.
    fn measure(&self, number: u64) -> Result<LogPart> {
        let identity = self.version.manifest().store_identity;
        let end = end_of(&*self.platform.disk, &self.directory, number, identity)?;
        let path = self.directory.join(FileKind::Wal.file_name(number));
        // From here on the log may be merged and removed: the map keeps its bytes.
        let map = self.platform.disk.map(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StorageError::corrupt(&path, 0, "the manifest names a log that is gone"),
            _ => StorageError::io("map", &path, error),
        })?;
        let mut log = LogPart { number, length: end.length, sequence: end.sequence, checksum: 0, map };
        let mut hasher = crc32fast::Hasher::new();
        log.read(&self.directory, |bytes| {
            hasher.update(bytes);
            Ok(())
        })?;
        log.checksum = hasher.finalize();
        Ok(log)
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        let files: u64 = self.version.manifest().files().map(|(_, file)| file.length).sum();
        files + self.logs.iter().map(|log| log.length).sum::<u64>()
    }

    /// The last transaction.
    pub(super) fn sequence(&self) -> u64 {
        self.logs.iter().map(|log| log.sequence).max().unwrap_or(0)
    }

    /// The open file of an entry of the manifest.
    pub(super) fn file(&self, kind: FileKind, entry: FileEntry) -> Result<&StoreFile> {
        let name = kind.file_name(entry.number);
        let file = self.version.files().find(|file| file.entry() == entry && file.path().ends_with(&name));
        file.map(|file| &**file).ok_or_else(|| model::error!(Internal, "the version has not opened {name}"))
    }
}
