//! The logs of a store as they are at one moment, seen beside a process that may write them.
//!
//! Each is mapped, the newest first: one that is older is whole by then. So what comes later is not seen, a log that is removed
//! stays to be read, and neither looks like damage.
//!
//! Invariant: the records seen are those up to some transaction, and all that were acknowledged before are among them.

use std::path::Path;
use std::sync::Arc;

use model::Result;
use model::platform::{Disk, MappedFile};

use super::EMPTY_LOG_BYTES;
use super::Seal;
use super::replay::{OneLog, Record, RecordRoom, Replayed, WalEnd};
use crate::codec::bytes::Get;
use crate::error::StorageError;
use crate::format::FileKind;

/// Logs that follow each other, oldest first.
pub(crate) struct SeenLogs {
    identity: u64,
    logs: Vec<SeenLog>,
}

/// A log as it was.
#[derive(Clone)]
pub(crate) struct SeenLog {
    pub(crate) number: u64,
    pub(crate) map: Arc<dyn MappedFile>,
}

/// Place in the logs up to which they were replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPlace {
    number: u64,
    end: WalEnd,
}

impl LogPlace {
    /// True if both are behind the same record of the same log.
    pub(crate) fn is_at(&self, other: &LogPlace) -> bool {
        (self.number, self.end.length) == (other.number, other.end.length)
    }
}

impl SeenLogs {
    /// The logs that are there now, from that number on.
    pub(crate) fn look(disk: &dyn Disk, directory: &Path, (first, identity): (u64, u64)) -> Result<SeenLogs> {
        let names = disk.list(directory).map_err(|error| StorageError::io("list", directory, error))?;
        let mut numbers: Vec<u64> = names
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
        let mut logs: Vec<SeenLog> = Vec::new();
        for &number in numbers[..following].iter().rev() {
            let path = directory.join(FileKind::Wal.file_name(number));
            let may_be_left_out = number != first && logs.is_empty();
            match disk.map(&path) {
                // The newest may be just being made: until it has a record, the one before is written.
                Ok(map) if may_be_left_out && map.bytes().len() as u64 <= EMPTY_LOG_BYTES => {}
                Ok(map) => logs.push(SeenLog { number, map }),
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StorageError::io("read", &path, error));
                }
                Err(_) if may_be_left_out => {}
                Err(_) => return Err(StorageError::corrupt(&path, 0, "the manifest names a log that is gone")),
            }
        }
        logs.reverse();
        Ok(SeenLogs { identity, logs })
    }

    /// The logs, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &SeenLog> {
        self.logs.iter()
    }

    /// True if a place is one in these logs.
    pub(crate) fn hold(&self, place: &LogPlace) -> bool {
        let found = self.logs.iter().find(|log| log.number == place.number);
        found.is_some_and(|log| log.map.bytes().len() as u64 >= place.end.length)
    }

    /// Calls `apply` with the payload of each record behind a place that they [`SeenLogs::hold`], or of all.
    pub(crate) fn replay(
        &self,
        directory: &Path,
        from: Option<LogPlace>,
        room: RecordRoom,
        mut apply: impl FnMut(&mut Get<'_>) -> Result<()>,
    ) -> Result<Replayed> {
        let mut apply = |record: &Record<'_>| apply(&mut record.get());
        let mut replayed: Option<Replayed> = None;
        let mut before = None;
        for log in self.logs.iter().skip_while(|log| from.is_some_and(|from| log.number < from.number)) {
            let mut one = OneLog::mapped(&*log.map, directory, log.number, self.identity)?.within(room);
            let before_it = before.as_ref().map(|(path, end): &(std::path::PathBuf, WalEnd)| (&**path, *end));
            let end = match from.filter(|from| from.number == log.number) {
                Some(from) => one.replay_on(before_it, from.end, &mut apply)?,
                None => one.replay(before_it, &mut apply)?,
            };
            let mut torn = replayed.take().map_or_else(Vec::new, |replayed| replayed.torn);
            torn.extend(one.torn(&end)?);
            replayed = Some(Replayed { name: one.name, end, torn });
            before = Some((one.path, end));
        }
        replayed.ok_or_else(|| StorageError::corrupt(directory, 0, "the store has no log"))
    }
}

impl SeenLog {
    /// End of its sound part, and the seal with which it ends, if there is one.
    pub(crate) fn end(&self, directory: &Path, identity: u64) -> Result<(WalEnd, Option<Seal>)> {
        let mut log = OneLog::mapped(&*self.map, directory, self.number, identity)?;
        let end = log.replay(None, &mut |_| Ok(()))?;
        Ok((end, log.name.seal_of(&end)))
    }
}

impl Replayed {
    /// Place behind the last record.
    pub(crate) fn place(&self) -> LogPlace {
        LogPlace { number: self.name.number, end: self.end }
    }
}
