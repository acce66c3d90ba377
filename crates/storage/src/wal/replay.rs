//! Reads a log back: every sound record in order, up to the place where a crash cut the last write short.
//!
//! Invariant: only a tail is ever given up that no later mark calls durable. Other damage is `CORRUPT`, since what stood
//! there had been acknowledged.

use std::path::Path;

use model::Result;
use model::platform::Disk;

use super::{GROUP_MARK_BYTES, GROUP_MARKER, RECORD_HEADER_BYTES, RECORD_MARKER, read_group_mark};
use crate::codec::bytes::Get;
use crate::error::StorageError;
use crate::file::check_header;
use crate::format::{FileKind, HEADER_BYTES};

/// Where a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalEnd {
    /// Bytes of the sound part.
    pub(crate) length: u64,
    /// Bytes behind the sound part, left by a crash.
    pub(crate) torn_bytes: u64,
    /// The sequence number of the last record; 0 without records.
    pub(crate) sequence: u64,
    /// Whether it ends with a mark that calls all before it durable, or has no records.
    pub(crate) is_sealed: bool,
}

/// Calls `apply` with the payload of each record of all logs from that number on: a flush that did not come to its end
/// leaves several. Gives the number of the last and where it ends.
pub(crate) fn replay_all(
    disk: &dyn Disk,
    directory: &Path,
    first: u64,
    identity: u64,
    mut apply: impl FnMut(&mut Get<'_>) -> Result<()>,
) -> Result<(u64, WalEnd)> {
    let mut number = first;
    let mut end = replay_after(disk, directory, first, identity, None, &mut apply)?;
    while is_begun(disk, &directory.join(FileKind::Wal.file_name(number + 1)))? {
        number += 1;
        end = replay_after(disk, directory, number, identity, Some(end.sequence), &mut apply)?;
    }
    Ok((number, end))
}

/// True if a log is there. One without records whose header is not whole was being made when the process ended: as nothing
/// was acknowledged from it, it counts as nothing.
pub(crate) fn is_begun(disk: &dyn Disk, path: &Path) -> Result<bool> {
    let begun = disk.length(path).and_then(|length| {
        Ok(length > HEADER_BYTES as u64 || check_header(&disk.read(path)?, path, FileKind::Wal).is_ok())
    });
    match begun {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        begun => begun.map_err(|error| StorageError::io("read", path, error)),
    }
}

/// Calls `apply` with the payload of each record of the log with that number.
pub(crate) fn replay(
    disk: &dyn Disk,
    directory: &Path,
    number: u64,
    identity: u64,
    mut apply: impl FnMut(&mut Get<'_>) -> Result<()>,
) -> Result<WalEnd> {
    replay_after(disk, directory, number, identity, None, &mut apply)
}

/// Like [`replay`]. In a log that continues another the records follow the last of that one; in any other the first may have
/// any number.
fn replay_after(
    disk: &dyn Disk,
    directory: &Path,
    number: u64,
    identity: u64,
    after: Option<u64>,
    apply: &mut impl FnMut(&mut Get<'_>) -> Result<()>,
) -> Result<WalEnd> {
    let path = &directory.join(FileKind::Wal.file_name(number));
    let bytes = disk.read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => StorageError::corrupt(path, 0, "the manifest names a log that is gone"),
        _ => StorageError::io("read", path, error),
    })?;
    if check_header(&bytes, path, FileKind::Wal)? != (number, identity) {
        return Err(StorageError::corrupt(path, 16, "the log is not the one that the manifest names"));
    }
    let mut end = WalEnd { length: HEADER_BYTES as u64, torn_bytes: 0, sequence: after.unwrap_or(0), is_sealed: true };
    let mut rest = &bytes[HEADER_BYTES..];
    loop {
        if let Some(durable) = read_group_mark(rest, identity, end.length) {
            end.is_sealed = durable == end.length;
            end.length += GROUP_MARK_BYTES as u64;
            rest = &rest[GROUP_MARK_BYTES..];
            continue;
        }
        let Some((found, payload)) = record(rest) else { break };
        if found != end.sequence + 1 && end.sequence > 0 {
            let problem = format!("record {found} stands where {} was expected", end.sequence + 1);
            return Err(StorageError::corrupt(path, end.length, problem));
        }
        apply(&mut Get::new(payload, path, end.length + RECORD_HEADER_BYTES as u64))?;
        let record_bytes = RECORD_HEADER_BYTES + payload.len();
        end.sequence = found;
        end.is_sealed = false;
        end.length += record_bytes as u64;
        rest = &rest[record_bytes..];
    }
    if let Some(place) = find_mark_beyond(rest, identity, end.length) {
        let problem = format!("the record is damaged, and the mark at byte {place} says that it was durable");
        return Err(StorageError::corrupt(path, end.length, problem));
    }
    end.torn_bytes = rest.len() as u64;
    Ok(end)
}

/// The sequence number and payload of the record at the start of `bytes`, if it is sound.
fn record(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (header, rest) = bytes.split_at_checked(RECORD_HEADER_BYTES)?;
    if header[..4] != RECORD_MARKER {
        return None;
    }
    let word = |start: usize| u64::from_le_bytes(header[start..start + 8].try_into().expect("eight bytes are eight"));
    let payload = rest.get(..usize::try_from(word(8)).ok()?)?;
    let crc = u32::from_le_bytes(header[4..8].try_into().expect("four bytes are four"));
    let sound = crc32fast::hash(&bytes[8..RECORD_HEADER_BYTES + payload.len()]) == crc;
    sound.then(|| (word(16), payload))
}

/// Where behind damage at byte `start` a sound mark stands that calls the damaged place durable.
fn find_mark_beyond(damaged: &[u8], identity: u64, start: u64) -> Option<u64> {
    let places = (0..damaged.len()).filter(|&at| damaged[at..].starts_with(&GROUP_MARKER));
    let mut marks = places.map(|at| (start + at as u64, read_group_mark(&damaged[at..], identity, start + at as u64)));
    marks.find(|(_, durable)| durable.is_some_and(|durable| durable > start)).map(|(place, _)| place)
}
