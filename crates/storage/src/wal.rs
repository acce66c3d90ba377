//! The write-ahead log: what was committed since the store's files were last written, in one file.
//!
//! - [`record`]: the contents of a payload.
//! - [`replay`]: reading logs back.
//! - [`seen`]: logs as they are at one moment, while another process writes them.
//! - [`writer`]: the end that is written.
//! - [`mend`]: mending of logs that were not closed, when the store is opened.
//! - [`torn`]: the bytes that were cut off.
//!
//! The file is the header that every file of a store has and then groups, each written at once: a group mark, and
//! records, one for each committed transaction. Integers are little-endian. A record: marker `KREC`, CRC-32 `u32` of
//! all that follows, payload length `u64`, sequence number `u64`, payload. Sequence numbers rise by one. A payload is a
//! row of operations, see [`record`]. A group mark: marker `KGRP`, CRC-32 `u32` of what follows and of the mark's own
//! place in the file, then how many bytes of the file were durable when the group was written, `u64`. Before the first
//! record stands a link: marker `KLNK`, CRC-32 `u32` of what follows and of its own place, then number, length and last
//! sequence number of the log before, `u64` each. Every checksum also covers the store's identity and the number of the
//! log, so that what an older file left on the same blocks is never taken for a part of this one.
//!
//! Of a group that was being written when the power went, any sectors may be there: a sound record behind a damaged one
//! says nothing. A sound group mark that calls the damaged place durable says that what stood there had been
//! acknowledged. A store that is closed ends its log with a mark for all of it (a *seal*).
//!
//! Invariant: the file is only ever appended to, by one process; a record is acknowledged only once it is durable, and
//! all logs before it are.

mod column;
pub(crate) mod mend;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod seen;
pub(crate) mod torn;
pub(crate) mod writer;

use crate::format::HEADER_BYTES;

/// The first bytes of a record, by which replay finds records behind damage.
const RECORD_MARKER: [u8; 4] = *b"KREC";
/// Bytes of a record before its payload.
pub(crate) const RECORD_HEADER_BYTES: usize = 24;

/// The first bytes of a group mark.
const GROUP_MARKER: [u8; 4] = *b"KGRP";
/// Bytes of a group mark.
pub(crate) const GROUP_MARK_BYTES: usize = 16;

/// The first bytes of a link.
const LINK_MARKER: [u8; 4] = *b"KLNK";
/// Bytes of a link.
pub(crate) const LINK_BYTES: usize = 32;

/// Bytes of a log without records: header and seal.
pub(crate) const EMPTY_LOG_BYTES: u64 = (HEADER_BYTES + GROUP_MARK_BYTES) as u64;

/// The first format version whose logs have links, and checksums that cover the number of the log.
const LINKED_VERSION: u16 = 3;

/// Name of a log, which tells it from all others: its checksums cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogName {
    /// The identity of the store.
    pub(crate) identity: u64,
    /// The number of the log.
    pub(crate) number: u64,
    /// False for logs of version 2, which have no links and whose records have plain checksums.
    pub(crate) is_linked: bool,
}

/// Mark at the end of a log that calls all before it durable.
pub(crate) type Seal = [u8; GROUP_MARK_BYTES];

/// End of the log before, at the time when this one took its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The number of the log before; of this one itself if none is before it.
    pub(crate) number: u64,
    /// Its bytes, all of them durable; 0 if there is none.
    pub(crate) length: u64,
    /// The last transaction before the first of this log.
    pub(crate) sequence: u64,
}

impl LogName {
    /// A log as this program writes them.
    pub(crate) fn new(identity: u64, number: u64) -> LogName {
        LogName { identity, number, is_linked: true }
    }

    /// The link of a log that none is before.
    fn first_link(self, sequence: u64) -> Link {
        Link { number: self.number, length: 0, sequence }
    }

    /// CRC-32 of words that stand at byte `place`.
    fn checksum(self, words: &[u64], place: u64) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        let number = self.is_linked.then_some(self.number);
        let name = [place, self.identity].into_iter().chain(number);
        words.iter().copied().chain(name).for_each(|word| crc.update(&word.to_le_bytes()));
        crc.finalize()
    }

    /// CRC-32 of a record, of whose bytes those from the ninth on are still to come.
    fn begin_checksum(self) -> crc32fast::Hasher {
        let mut crc = crc32fast::Hasher::new();
        if self.is_linked {
            crc.update(&self.identity.to_le_bytes());
            crc.update(&self.number.to_le_bytes());
        }
        crc
    }

    /// CRC-32 of a record from its ninth byte on.
    fn record_checksum(self, bytes: &[u8]) -> u32 {
        let mut crc = self.begin_checksum();
        crc.update(bytes);
        crc.finalize()
    }

    /// A mark that stands at byte `place` of the log.
    fn mark(self, place: u64, durable: u64) -> [u8; GROUP_MARK_BYTES] {
        let mut mark = [0; GROUP_MARK_BYTES];
        mark[..4].copy_from_slice(&GROUP_MARKER);
        mark[4..8].copy_from_slice(&self.checksum(&[durable], place).to_le_bytes());
        mark[8..].copy_from_slice(&durable.to_le_bytes());
        mark
    }

    /// The seal of a log with that end; none if it has no seal.
    pub(crate) fn seal_of(self, end: &replay::WalEnd) -> Option<Seal> {
        // Logs of version 2 begin without a mark.
        let place = end.length.checked_sub(GROUP_MARK_BYTES as u64).filter(|&place| place >= HEADER_BYTES as u64)?;
        end.is_sealed.then(|| self.mark(place, place))
    }

    /// Number of bytes that the mark at byte `place` calls durable, if a sound one stands at the start of `bytes`.
    fn read_mark(self, bytes: &[u8], place: u64) -> Option<u64> {
        let mark: &[u8; GROUP_MARK_BYTES] = bytes.first_chunk()?;
        let durable = u64::from_le_bytes(*mark.last_chunk().expect("a mark is longer than a word"));
        (*mark == self.mark(place, durable) && durable <= place).then_some(durable)
    }

    /// A link that stands at byte `place` of the log.
    fn link(self, place: u64, link: Link) -> [u8; LINK_BYTES] {
        let words = [link.number, link.length, link.sequence];
        let mut bytes = [0; LINK_BYTES];
        bytes[..4].copy_from_slice(&LINK_MARKER);
        bytes[4..8].copy_from_slice(&self.checksum(&words, place).to_le_bytes());
        for (to, word) in bytes[8..].chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The link at byte `place`, if a sound one stands at the start of `bytes`.
    fn read_link(self, bytes: &[u8], place: u64) -> Option<Link> {
        let bytes: &[u8; LINK_BYTES] = bytes.first_chunk()?;
        let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("a link has three words"));
        let link = Link { number: word(8), length: word(16), sequence: word(24) };
        (*bytes == self.link(place, link)).then_some(link)
    }

    /// Adds the record of one transaction to `out`.
    pub(crate) fn frame(self, sequence: u64, payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.reserve(RECORD_HEADER_BYTES + payload.len());
        out.extend_from_slice(&RECORD_MARKER);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        out.extend_from_slice(&sequence.to_le_bytes());
        out.extend_from_slice(payload);
        let crc = self.record_checksum(&out[start + 8..]);
        out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    }

    /// The sequence number and payload of the record at the start of `bytes`, if it is sound.
    fn read_record(self, bytes: &[u8]) -> Option<(u64, &[u8])> {
        let (header, rest) = bytes.split_at_checked(RECORD_HEADER_BYTES)?;
        if header[..4] != RECORD_MARKER {
            return None;
        }
        let word = |start: usize| u64::from_le_bytes(*header[start..].first_chunk().expect("a record has two words"));
        let payload = rest.get(..usize::try_from(word(8)).ok()?)?;
        let crc = u32::from_le_bytes(*header[4..].first_chunk().expect("a header is longer than a checksum"));
        let sound = self.record_checksum(&bytes[8..RECORD_HEADER_BYTES + payload.len()]) == crc;
        sound.then(|| (word(16), payload))
    }
}

#[cfg(test)]
mod tests;
