//! The file `BACKUP`: of which store, of which moment, and what its logs must be.
//!
//! Every other file carries checksums of its own, but the end of a log cannot be told from a log that lost its end: the
//! note keeps the length and the checksum of each.

use std::path::{Path, PathBuf};

use model::Result;
use model::platform::{Disk, Platform};
use model::temporal::LocalDateTime;

use super::source::Source;
use crate::error::StorageError;
use crate::format::{BACKUP_NAME, FileKind};
use crate::problem::Problem;
use crate::version::Version;

/// The first line.
const TITLE: &str = "Knotwork backup";

/// Contents of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The store that was copied; for people.
    store: PathBuf,
    /// When, in microseconds since the epoch, UTC; for people.
    taken: i64,
    /// The identity of the store.
    pub(super) identity: u64,
    generation: u64,
    /// The last transaction in the logs.
    sequence: u64,
    /// Number, length and CRC-32 of each log.
    logs: Vec<(u64, u64, u32)>,
}

impl Note {
    pub(super) fn of(source: &Source, taken: i64) -> Note {
        let manifest = source.version.manifest();
        let store = source.version.directory();
        Note {
            store: std::path::absolute(store).unwrap_or_else(|_| store.to_owned()),
            taken,
            identity: manifest.store_identity,
            generation: manifest.generation,
            sequence: source.sequence(),
            logs: source.logs.iter().map(|log| (log.number, log.length, log.checksum)).collect(),
        }
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!(
            "{TITLE}\nof {:?}\ntaken {} UTC\nmoment {}\nstore {:016x}\ngeneration {}\ntransaction {}\n",
            self.store,
            LocalDateTime::of_micros(self.taken),
            self.taken,
            self.identity,
            self.generation,
            self.sequence,
        );
        for (number, length, checksum) in &self.logs {
            text += &format!("log {number} {length} {checksum:08x}\n");
        }
        text += &format!("sum {:08x}\n", crc32fast::hash(text.as_bytes()));
        text
    }

    /// The note of a directory; `None` if it is no backup.
    pub(super) fn read(disk: &dyn Disk, directory: &Path) -> Result<Option<Note>> {
        let path = directory.join(BACKUP_NAME);
        if !disk.exists(&path) {
            return Ok(None);
        }
        let bytes = disk.read(&path).map_err(|error| StorageError::io("read", &path, error))?;
        let note = std::str::from_utf8(&bytes).ok().and_then(Note::parse);
        note.map(Some).ok_or_else(|| StorageError::corrupt(&path, 0, "the note of a backup is not what was written"))
    }

    fn parse(text: &str) -> Option<Note> {
        let end = text.rfind("sum ")?;
        if text[end..] != format!("sum {:08x}\n", crc32fast::hash(&text.as_bytes()[..end])) {
            return None;
        }
        let mut lines = text[..end].lines();
        (lines.next()? == TITLE).then_some(())?;
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
        let store = PathBuf::from(field("of")?.trim_matches('"'));
        field("taken")?;
        let taken = field("moment")?.parse().ok()?;
        let identity = u64::from_str_radix(&field("store")?, 16).ok()?;
        let (generation, sequence) = (field("generation")?.parse().ok()?, field("transaction")?.parse().ok()?);
        let log = |line: &str| {
            let mut words = line.strip_prefix("log ")?.split(' ');
            let (number, length) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some((number, length, u32::from_str_radix(words.next()?, 16).ok()?))
        };
        let logs = lines.map(log).collect::<Option<_>>()?;
        Some(Note { store, taken, identity, generation, sequence, logs })
    }

    /// Fails unless the backup is the one that the note tells of.
    pub(super) fn check(&self, directory: &Path, source: &Source) -> Result<()> {
        let path = directory.join(BACKUP_NAME);
        let manifest = source.version.manifest();
        if (manifest.store_identity, manifest.generation) != (self.identity, self.generation) {
            return Err(StorageError::corrupt(&path, 0, "the note is that of another backup"));
        }
        for &(number, length, checksum) in &self.logs {
            let log = directory.join(FileKind::Wal.file_name(number));
            let found = source.logs.iter().find(|log| log.number == number);
            let Some(found) = found.filter(|found| found.length >= length) else {
                let bytes = found.map_or(0, |found| found.length);
                let problem = format!("the log has {bytes} sound bytes, the note of the backup says {length}");
                return Err(StorageError::corrupt(&log, bytes, problem));
            };
            if found.length != length || found.checksum != checksum {
                return Err(StorageError::corrupt(
                    &log,
                    0,
                    "the log is not the one that the note of the backup tells of",
                ));
            }
        }
        match source.logs.iter().find(|log| self.logs.iter().all(|noted| noted.0 != log.number)) {
            None => Ok(()),
            Some(log) => {
                let log = directory.join(FileKind::Wal.file_name(log.number));
                Err(StorageError::corrupt(&log, 0, "the note of the backup does not tell of this log"))
            }
        }
    }
}

/// Returns the problem with the note of a backup, or with its logs; nothing for a store that is no backup.
pub(crate) fn check(platform: &Platform, version: &std::sync::Arc<Version>) -> Result<Option<Problem>> {
    let directory = version.directory();
    let checked = (|| match Note::read(&*platform.disk, directory)? {
        None => Ok(()),
        Some(note) => note.check(directory, &Source::take(platform, directory, &|_| Ok(version.clone()))?),
    })();
    match checked {
        Ok(()) => Ok(None),
        Err(error) if error.code() == model::ErrorCode::Corrupt => Ok(Some(Problem::of(directory, &error))),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::Note;

    #[test]
    fn a_note_comes_back_and_a_changed_one_does_not() {
        let note = Note {
            store: "/data/my \"own\" store".into(),
            taken: 1_763_770_202_000_000,
            identity: 0xfeed_0000_0000_0001,
            generation: 7,
            sequence: 99,
            logs: vec![(3, 640, 0xabc), (4, 64, 0)],
        };
        let text = note.to_text();
        let found = Note::parse(&text).expect("it was just written");
        assert_eq!(Note { store: note.store.clone(), ..found }, note);
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= if at % 2 == 0 { 1 } else { 32 };
            let parsed = String::from_utf8(bytes).ok().and_then(|text| Note::parse(&text));
            assert_eq!(parsed, None, "byte {at}");
        }
    }
}
