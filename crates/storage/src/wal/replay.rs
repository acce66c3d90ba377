//! Reads logs back: every sound record in order, up to the place where a crash cut the last write short.
//!
//! Invariant: only a tail is ever given up that no later mark calls durable, and that no later log calls a part of what was
//! before it. Other damage is `CORRUPT`, since what stood there had been acknowledged.
//! Cost: one piece of a log is in memory at a time, or one record if that is longer. One that is longer than the reader has
//! room for is `LIMIT`.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use model::platform::{Disk, MappedFile};
use model::{Error, Result};

use super::torn::TornLog;
use super::{
    EMPTY_LOG_BYTES, GROUP_MARK_BYTES, GROUP_MARKER, LINK_BYTES, LINKED_VERSION, Link, LogName, RECORD_HEADER_BYTES,
    RECORD_MARKER,
};
use crate::codec::bytes::Get;
use crate::error::StorageError;
use crate::file::{check_header, version_of};
use crate::format::{FileKind, HEADER_BYTES};

/// End of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalEnd {
    /// Bytes of the sound part.
    pub(crate) length: u64,
    /// Bytes behind the sound part, left by a crash.
    pub(crate) torn_bytes: u64,
    /// The sequence number of the last record; without records that of the last before it, 0 if that is not known.
    pub(crate) sequence: u64,
    /// True if it ends with a mark that calls all before it durable.
    pub(crate) is_sealed: bool,
    /// True if it says where the log before it ended.
    pub(crate) has_link: bool,
}

/// Result of replaying all logs of a store.
#[derive(Debug)]
pub(crate) struct Replayed {
    /// The name of the last log.
    pub(crate) name: LogName,
    /// End of the last log.
    pub(crate) end: WalEnd,
    /// Bytes that stand behind the sound parts.
    pub(crate) torn: Vec<TornLog>,
}

/// A record of a log.
pub(crate) struct Record<'a> {
    pub(crate) sequence: u64,
    pub(crate) payload: &'a [u8],
    path: &'a Path,
    /// Position of the payload in the file.
    offset: u64,
}

impl<'a> Record<'a> {
    /// The payload, to be read.
    pub(crate) fn get(&self) -> Get<'a> {
        Get::new(self.payload, self.path, self.offset)
    }
}

/// The memory limit of a reader of logs, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordRoom(Option<usize>);

/// Part of the memory limit that one record may take.
const RECORD_SHARE: usize = 4;
/// Bytes that a record may take within any limit.
const RECORD_BYTES_MIN: usize = 1 << 20;

impl RecordRoom {
    /// For callers that read each record regardless of its memory.
    pub(crate) const UNLIMITED: RecordRoom = RecordRoom(None);

    /// For who holds that memory limit.
    pub(crate) fn within(limit: usize) -> RecordRoom {
        RecordRoom(Some(limit))
    }

    /// True if a record with a payload of `bytes` bytes has room.
    pub(crate) fn has(self, bytes: u64) -> bool {
        self.0.is_none_or(|limit| bytes <= (limit / RECORD_SHARE).max(RECORD_BYTES_MIN) as u64)
    }

    /// The error of a record that is too long.
    fn refuse(self, path: &Path, place: u64, bytes: u64) -> Error {
        let (limit, least) = (self.0.unwrap_or(usize::MAX) >> 10, (bytes * RECORD_SHARE as u64).div_ceil(1 << 20));
        let path = path.display();
        let problem =
            format!("{path} at byte {place}: a transaction of {bytes} bytes, the memory limit is {limit} KiB");
        StorageError::limit(problem).with_remedy(format!("open the store with a memory limit of {least} MiB or more"))
    }
}

/// Calls `apply` with the payload of each record of all logs from that number on: a flush that did not come to its end
/// leaves several.
pub(crate) fn replay_all(
    disk: &dyn Disk,
    directory: &Path,
    (first, identity): (u64, u64),
    room: RecordRoom,
    mut apply: impl FnMut(&mut Get<'_>) -> Result<()>,
) -> Result<Replayed> {
    each_record(disk, directory, (first, identity), room, |record| apply(&mut record.get()))
}

/// Calls `apply` with each record of all logs from that number on.
pub(crate) fn each_record(
    disk: &dyn Disk,
    directory: &Path,
    (first, identity): (u64, u64),
    room: RecordRoom,
    mut apply: impl FnMut(&Record<'_>) -> Result<()>,
) -> Result<Replayed> {
    let mut log = OneLog::open(disk, directory, first, identity)?.within(room);
    let mut end = log.replay(None, &mut apply)?;
    let mut replayed = Replayed { name: log.name, end, torn: Vec::new() };
    loop {
        replayed.torn.extend(log.torn(&end)?);
        let number = log.name.number + 1;
        if !is_begun(disk, directory, number, identity)? {
            return Ok(Replayed { name: log.name, end, ..replayed });
        }
        let mut next = OneLog::open(disk, directory, number, identity)?.within(room);
        end = next.replay(Some((&log.path, end)), &mut apply)?;
        log = next;
    }
}

/// The number of the last log of those that follow each other from the first on.
pub(crate) fn last_log(disk: &dyn Disk, directory: &Path, first: u64, identity: u64) -> Result<u64> {
    let mut last = first;
    while is_begun(disk, directory, last + 1, identity)? {
        last += 1;
    }
    Ok(last)
}

/// True if a log is there. One without records whose header is not whole, or is that of an older file, was being made when
/// the process ended: as nothing was acknowledged from it, it counts as nothing.
fn is_begun(disk: &dyn Disk, directory: &Path, number: u64, identity: u64) -> Result<bool> {
    let path = &directory.join(FileKind::Wal.file_name(number));
    let begun = disk.length(path).and_then(|length| {
        let header = || disk.read(path).map(|bytes| check_header(&bytes, path, FileKind::Wal));
        Ok(length > EMPTY_LOG_BYTES || header()?.is_ok_and(|found| found == (number, identity)))
    });
    match begun {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        begun => begun.map_err(|error| StorageError::io("read", path, error)),
    }
}

/// Removes logs that are not needed: those that a flush could not remove, and the rest of one that was being made.
pub(crate) fn remove_other_logs(disk: &dyn Disk, directory: &Path, needed: RangeInclusive<u64>) -> Result<()> {
    let names = disk.list(directory).map_err(|error| StorageError::io("list", directory, error))?;
    for name in names {
        if let Some((FileKind::Wal, other)) = FileKind::parse(&name)
            && !needed.contains(&other)
        {
            let path = directory.join(&name);
            disk.remove(&path).map_err(|error| StorageError::io("remove", &path, error))?;
        }
    }
    Ok(())
}

/// Bytes of a log that are read at once, if a record does not need more.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// Bytes of a log.
enum Bytes<'d> {
    /// Those under its name.
    Named(&'d dyn Disk),
    /// Those that it had when it was mapped, whatever became of it since.
    Mapped(&'d dyn MappedFile),
}

impl Bytes<'_> {
    fn read(&self, path: &Path, start: u64, length: usize) -> std::io::Result<Vec<u8>> {
        let map = match self {
            Bytes::Named(disk) => return disk.read_range(path, start, length),
            Bytes::Mapped(map) => map,
        };
        let range = start as usize..start as usize + length;
        map.populate(range.start, length)?;
        let bytes = map.bytes()[range.clone()].to_vec();
        map.evict(&[range]);
        map.lost().map_or(Ok(bytes), |(_, error)| Err(error))
    }
}

/// The bytes of a log, read piece by piece: no more than a piece or a record of them is in memory.
struct Pieces<'d> {
    bytes: Bytes<'d>,
    path: PathBuf,
    length: u64,
    /// Start of the piece that is there.
    start: u64,
    piece: Vec<u8>,
}

impl Pieces<'_> {
    /// The bytes from a place on that are there: at least `least`, unless the log ends before.
    fn at(&mut self, place: u64, least: usize) -> Result<&[u8]> {
        let left = self.length - place;
        let is_there = place >= self.start && place + left.min(least as u64) <= self.start + self.piece.len() as u64;
        if !is_there {
            // Not both pieces at once.
            self.piece = Vec::new();
            let bytes = left.min(least.max(PIECE_BYTES) as u64) as usize;
            let piece = self.bytes.read(&self.path, place, bytes);
            self.piece = piece.map_err(|error| StorageError::io("read", &self.path, error))?;
            self.start = place;
        }
        Ok(&self.piece[(place - self.start) as usize..])
    }

    /// True if a sound record of `bytes` bytes stands at a place, read piece by piece.
    fn hold_record(&mut self, name: LogName, place: u64, bytes: u64) -> Result<bool> {
        let header = self.at(place, RECORD_HEADER_BYTES)?;
        let Some(expected) = header.get(4..8).and_then(|crc| crc.first_chunk()).copied() else { return Ok(false) };
        let (mut crc, end) = (name.begin_checksum(), place + bytes);
        let mut next = place + 8;
        while next < end {
            let piece = self.at(next, (end - next).min(PIECE_BYTES as u64) as usize)?;
            let here = piece.len().min((end - next) as usize);
            crc.update(&piece[..here]);
            next += here as u64;
        }
        Ok(crc.finalize().to_le_bytes() == expected)
    }
}

/// A log that is read.
pub(super) struct OneLog<'d> {
    pub(super) path: PathBuf,
    pub(super) name: LogName,
    pieces: Pieces<'d>,
    room: RecordRoom,
}

impl<'d> OneLog<'d> {
    fn open(disk: &'d dyn Disk, directory: &Path, number: u64, identity: u64) -> Result<OneLog<'d>> {
        let path = directory.join(FileKind::Wal.file_name(number));
        let length = disk.length(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StorageError::corrupt(&path, 0, "the manifest names a log that is gone"),
            _ => StorageError::io("read", &path, error),
        })?;
        OneLog::read_from(Bytes::Named(disk), path, length, (number, identity))
    }

    /// The log of that number as a map shows it.
    pub(super) fn mapped(map: &'d dyn MappedFile, directory: &Path, number: u64, identity: u64) -> Result<OneLog<'d>> {
        let path = directory.join(FileKind::Wal.file_name(number));
        OneLog::read_from(Bytes::Mapped(map), path, map.bytes().len() as u64, (number, identity))
    }

    fn read_from(bytes: Bytes<'d>, path: PathBuf, length: u64, (number, identity): (u64, u64)) -> Result<OneLog<'d>> {
        let mut pieces = Pieces { bytes, path: path.clone(), length, start: 0, piece: Vec::new() };
        let header = pieces.at(0, HEADER_BYTES)?;
        if check_header(header, &path, FileKind::Wal)? != (number, identity) {
            return Err(StorageError::corrupt(&path, 16, "the log is not the one that the manifest names"));
        }
        let is_linked = version_of(header) >= LINKED_VERSION;
        Ok(OneLog { path, name: LogName { identity, number, is_linked }, pieces, room: RecordRoom::UNLIMITED })
    }

    /// The log as read with that room for a record.
    pub(super) fn within(self, room: RecordRoom) -> OneLog<'d> {
        OneLog { room, ..self }
    }

    /// Calls `apply` with each record. `before` is the log that this one continues, and its end; without one the first record
    /// may have any number.
    pub(super) fn replay(
        &mut self,
        before: Option<(&Path, WalEnd)>,
        apply: &mut impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<WalEnd> {
        let sequence = before.map_or(0, |(_, end)| end.sequence);
        let length = HEADER_BYTES as u64;
        // Logs of version 2 begin without a mark: an empty one is as good as closed.
        let is_sealed = !self.name.is_linked;
        self.replay_on(before, WalEnd { length, torn_bytes: 0, sequence, is_sealed, has_link: false }, apply)
    }

    /// The same behind a place up to which the log was replayed before.
    pub(super) fn replay_on(
        &mut self,
        before: Option<(&Path, WalEnd)>,
        mut end: WalEnd,
        apply: &mut impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<WalEnd> {
        let (path, name, pieces, room) = (&*self.path, self.name, &mut self.pieces, self.room);
        loop {
            let head = pieces.at(end.length, HEAD_BYTES)?;
            let step = if let Some(durable) = name.read_mark(head, end.length) {
                end.is_sealed = durable == end.length;
                GROUP_MARK_BYTES
            } else if name.is_linked && !end.has_link {
                let Some(link) = name.read_link(head, end.length) else { break };
                if let Some((before, end)) = before {
                    check_link(link, name.number, before, end)?;
                }
                (end.sequence, end.has_link, end.is_sealed) = (link.sequence, true, false);
                LINK_BYTES
            } else {
                let bytes = claimed_bytes(head).filter(|&bytes| bytes <= pieces.length - end.length);
                let Some(bytes) = bytes else { break };
                if !room.has(bytes - RECORD_HEADER_BYTES as u64) {
                    match pieces.hold_record(name, end.length, bytes)? {
                        true => return Err(room.refuse(path, end.length, bytes)),
                        false => break,
                    }
                }
                let record = pieces.at(end.length, bytes as usize)?;
                let Some((found, payload)) = name.read_record(record) else { break };
                if found != end.sequence + 1 && (end.sequence > 0 || end.has_link) {
                    let problem = format!("record {found} stands where {} was expected", end.sequence + 1);
                    return Err(StorageError::corrupt(path, end.length, problem));
                }
                let offset = end.length + RECORD_HEADER_BYTES as u64;
                apply(&Record { sequence: found, payload, path, offset })?;
                (end.sequence, end.is_sealed) = (found, false);
                RECORD_HEADER_BYTES + payload.len()
            };
            end.length += step as u64;
        }
        end.torn_bytes = pieces.length - end.length;
        if let Some(place) = self.mark_beyond(end.length)? {
            let problem = format!("the record is damaged, and the mark at byte {place} says that it was durable");
            return Err(StorageError::corrupt(&self.path, end.length, problem));
        }
        Ok(end)
    }

    /// Position behind damage at byte `start` of a sound mark that calls the damaged place durable.
    fn mark_beyond(&mut self, start: u64) -> Result<Option<u64>> {
        let mut place = start;
        loop {
            let bytes = self.pieces.at(place, GROUP_MARK_BYTES)?;
            let Some(last) = bytes.len().checked_sub(GROUP_MARK_BYTES) else { return Ok(None) };
            for at in (0..=last).filter(|&at| bytes[at..].starts_with(&GROUP_MARKER)) {
                let place = place + at as u64;
                if self.name.read_mark(&bytes[at..], place).is_some_and(|durable| durable > start) {
                    return Ok(Some(place));
                }
            }
            place += last as u64 + 1;
        }
    }

    /// Bytes that stand behind the sound part, if there are any.
    pub(super) fn torn(&mut self, end: &WalEnd) -> Result<Option<TornLog>> {
        if end.torn_bytes == 0 {
            return Ok(None);
        }
        let transactions = self.sound_records(end.length)?;
        let (log, offset, bytes) = (self.path.clone(), end.length, end.torn_bytes);
        Ok(Some(TornLog { log, offset, bytes, transactions, kept: None }))
    }

    /// Sound records behind a place, each counted once. Bytes that claim to be many long records are not all looked at, so
    /// that the time is bounded by their number.
    fn sound_records(&mut self, mut place: u64) -> Result<u64> {
        let (mut count, mut work) = (0, 4 * (self.pieces.length - place));
        loop {
            let bytes = self.pieces.at(place, RECORD_MARKER.len())?;
            let Some(last) = bytes.len().checked_sub(RECORD_MARKER.len()) else { return Ok(count) };
            let Some(at) = bytes.windows(RECORD_MARKER.len()).position(|window| window == RECORD_MARKER) else {
                place += last as u64 + 1;
                continue;
            };
            place += at as u64;
            let left = self.pieces.length - place;
            let claimed = claimed_bytes(self.pieces.at(place, RECORD_HEADER_BYTES)?).filter(|&bytes| bytes <= left);
            let record = match claimed {
                Some(bytes) => self.name.read_record(self.pieces.at(place, bytes as usize)?),
                None => None,
            };
            match record {
                Some((_, payload)) => {
                    count += 1;
                    place += (RECORD_HEADER_BYTES + payload.len()) as u64;
                }
                None => {
                    let Some(rest) = work.checked_sub(claimed.unwrap_or(0)) else { return Ok(count) };
                    work = rest;
                    place += 1;
                }
            }
        }
    }
}

/// Bytes by which a mark, a link or the header of a record are known.
const HEAD_BYTES: usize = if LINK_BYTES > RECORD_HEADER_BYTES { LINK_BYTES } else { RECORD_HEADER_BYTES };

/// Length that the record with that header claims to have, if it begins as one.
fn claimed_bytes(header: &[u8]) -> Option<u64> {
    let header = header.get(..RECORD_HEADER_BYTES).filter(|header| header.starts_with(&RECORD_MARKER))?;
    let payload = u64::from_le_bytes(*header[8..].first_chunk()?);
    payload.checked_add(RECORD_HEADER_BYTES as u64)
}

/// Fails unless the log before is what a log with this link was written behind. It may have a seal more.
fn check_link(link: Link, number: u64, before: &Path, end: WalEnd) -> Result<()> {
    if link.number + 1 == number && link.length <= end.length && link.sequence == end.sequence {
        return Ok(());
    }
    let (length, sequence) = (link.length, link.sequence);
    let problem = format!(
        "the log ends with transaction {}, and log {number} goes on behind byte {length} and transaction {sequence} of \
         log {}, which were durable",
        end.sequence, link.number
    );
    Err(StorageError::corrupt(before, end.length, problem))
}
