//! Reads a log back: every sound record in order, up to the place where a crash cut the last write short.
//!
//! Invariant: only a tail is ever given up. Damage with a sound record behind it is `CORRUPT`, since what stood there had
//! been acknowledged.

use std::path::Path;

use model::Result;
use model::platform::Disk;

use super::{RECORD_HEADER_BYTES, RECORD_MARKER};
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
}

/// Calls `apply` with the payload of each record of the log with that number.
pub(crate) fn replay(
    disk: &dyn Disk,
    directory: &Path,
    number: u64,
    identity: u64,
    mut apply: impl FnMut(&mut Get<'_>) -> Result<()>,
) -> Result<WalEnd> {
    let path = &directory.join(FileKind::Wal.file_name(number));
    let bytes = disk.read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => StorageError::corrupt(path, 0, "the manifest names a log that is gone"),
        _ => StorageError::io("read", path, error),
    })?;
    if check_header(&bytes, path, FileKind::Wal)? != (number, identity) {
        return Err(StorageError::corrupt(path, 16, "the log is not the one that the manifest names"));
    }
    let mut end = WalEnd { length: HEADER_BYTES as u64, torn_bytes: 0, sequence: 0 };
    let mut rest = &bytes[HEADER_BYTES..];
    while let Some((found, payload)) = record(rest) {
        if found != end.sequence + 1 && end.length > HEADER_BYTES as u64 {
            let problem = format!("record {found} stands where {} was expected", end.sequence + 1);
            return Err(StorageError::corrupt(path, end.length, problem));
        }
        apply(&mut Get::new(payload, path, end.length + RECORD_HEADER_BYTES as u64))?;
        let record_bytes = RECORD_HEADER_BYTES + payload.len();
        end.sequence = found;
        end.length += record_bytes as u64;
        rest = &rest[record_bytes..];
    }
    if let Some(offset) = find_record(rest, end.sequence) {
        let problem = format!("the record is damaged, and a sound one follows at byte {}", end.length + offset as u64);
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

/// Where in damaged bytes a sound record later than `sequence` begins.
fn find_record(bytes: &[u8], sequence: u64) -> Option<usize> {
    let is_record = |&at: &usize| record(&bytes[at..]).is_some_and(|(found, _)| found > sequence);
    (1..bytes.len()).filter(|&at| bytes[at..].starts_with(&RECORD_MARKER)).find(is_record)
}
