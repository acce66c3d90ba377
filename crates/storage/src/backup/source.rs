//! The files of one moment of a store that may be in use.

use std::path::Path;
use std::sync::Arc;

use model::Result;
use model::platform::{MappedFile, Platform};

use super::STEP_BYTES;
use crate::beside::{Current, Seen, see};
use crate::error::StorageError;
use crate::file::{FileEntry, StoreFile};
use crate::format::FileKind;
use crate::version::Version;
use crate::wal::Seal;
use crate::wal::seen::SeenLog;

/// A version and the logs behind it. The version keeps its files on the disk, or at least open.
pub(super) struct Source {
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
    /// The last of those bytes, if it ends with a seal.
    seal: Option<Seal>,
    map: Arc<dyn MappedFile>,
}

impl LogPart {
    /// Reads header and sound records, piece by piece, and keeps none of them in memory. A log only grows, and only behind them
    /// is it ever cut, but for a seal: a store that is opened cuts it off and writes it again.
    pub(super) fn read(&self, directory: &Path, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let path = directory.join(FileKind::Wal.file_name(self.number));
        let seal = self.seal.as_ref().map_or(&[][..], |seal| seal);
        let end = self.length as usize - seal.len();
        for start in (0..end).step_by(STEP_BYTES) {
            let piece = start..(start + STEP_BYTES).min(end);
            let unreadable = |error| StorageError::unreadable(&path, start as u64, error);
            self.map.populate(piece.start, piece.len()).map_err(unreadable)?;
            each(&self.map.bytes()[piece.clone()])?;
            self.map.evict(&[piece]);
        }
        each(seal)
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
        let Seen { version, logs } = see(platform, directory, current)?;
        let manifest = version.manifest();
        let parts = logs.iter().map(|log| measure(log, directory, manifest.store_identity)).collect::<Result<_>>()?;
        Ok(Source { version, logs: parts })
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

/// Finds the end of the sound part of a log.
fn measure(log: &SeenLog, directory: &Path, identity: u64) -> Result<LogPart> {
    let (end, seal) = log.end(directory, identity)?;
    let (number, map) = (log.number, log.map.clone());
    let mut part = LogPart { number, length: end.length, sequence: end.sequence, checksum: 0, seal, map };
    let mut hasher = crc32fast::Hasher::new();
    part.read(directory, |bytes| {
        hasher.update(bytes);
        Ok(())
    })?;
    part.checksum = hasher.finalize();
    Ok(part)
}

#[cfg(test)]
mod tests {
    use model::GraphStore;
    use model::store::NewNodes;
    use testing::Folder;

    use super::Source;
    use crate::beside::open_current;
    use crate::format::FileKind;
    use crate::{NativeStore, OpenOptions, os};

    #[test]
    fn a_seal_that_is_just_written_again_is_in_the_copy() {
        let (folder, platform) = (Folder::new(), os::platform());
        let path = &folder.join("store");
        for commits in 0..3 {
            let store = NativeStore::open(path, OpenOptions::create(), platform.clone()).unwrap();
            if commits > 0 {
                let mut transaction = store.write().unwrap();
                transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[], properties: &[] }).unwrap();
                transaction.commit().unwrap();
            }
            drop(store);
            let source = Source::take(&platform, path, &|last| open_current(&platform, path, last)).unwrap();
            let log = source.logs.last().unwrap();
            let name = path.join(FileKind::Wal.file_name(log.number));
            let whole = platform.disk.read(&name).unwrap();
            assert_eq!(log.length, whole.len() as u64, "{commits}");
            // The state for a moment when a store that was opened writes first.
            let mut cut = platform.disk.append(&name, log.length - 16).unwrap();
            let mut copied = Vec::new();
            log.read(path, |bytes| {
                copied.extend_from_slice(bytes);
                Ok(())
            })
            .unwrap();
            log.check_lost(path).unwrap();
            assert_eq!((crc32fast::hash(&copied), copied), (log.checksum, whole.clone()), "{commits}");
            cut.write_all(&whole[whole.len() - 16..]).unwrap();
        }
    }
}
