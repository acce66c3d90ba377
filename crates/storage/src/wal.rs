//! The write-ahead log: what was committed since the store's files were last written, in one file.
//!
//! The file is the header that every file of a store has and then groups, each written at once: a group mark, and records,
//! one for each committed transaction. Integers are little-endian. A record: marker `KREC`, CRC-32 `u32` of all that
//! follows, payload length `u64`, sequence number `u64`, payload. Sequence numbers rise by one. A payload is a row of
//! operations, see [`record`]. A group mark: marker `KGRP`, CRC-32 `u32` of what follows, of the mark's own place in the
//! file and of the store's identity, then how many bytes of the file were durable when the group was written, `u64`.
//!
//! Of a group that was being written when the power went, any sectors may be there: a sound record behind a damaged one
//! says nothing. A sound group mark that calls the damaged place durable says that what stood there had been acknowledged.
//! A store that is closed ends its log with a mark for all of it (a *seal*).
//!
//! Invariant: the file is only ever appended to, by one process; a record is acknowledged only once it is durable.

mod column;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod writer;

/// The first bytes of a record, by which replay finds records behind damage.
const RECORD_MARKER: [u8; 4] = *b"KREC";
/// Bytes of a record before its payload.
const RECORD_HEADER_BYTES: usize = 24;

/// The first bytes of a group mark.
const GROUP_MARKER: [u8; 4] = *b"KGRP";
/// Bytes of a group mark.
pub(crate) const GROUP_MARK_BYTES: usize = 16;

/// A mark that stands at byte `place` of the log.
fn group_mark(identity: u64, place: u64, durable: u64) -> [u8; GROUP_MARK_BYTES] {
    let mut crc = crc32fast::Hasher::new();
    [durable, place, identity].iter().for_each(|word| crc.update(&word.to_le_bytes()));
    let mut mark = [0; GROUP_MARK_BYTES];
    mark[..4].copy_from_slice(&GROUP_MARKER);
    mark[4..8].copy_from_slice(&crc.finalize().to_le_bytes());
    mark[8..].copy_from_slice(&durable.to_le_bytes());
    mark
}

/// How many bytes the mark at byte `place` calls durable, if a sound one stands at the start of `bytes`.
fn read_group_mark(bytes: &[u8], identity: u64, place: u64) -> Option<u64> {
    let mark: &[u8; GROUP_MARK_BYTES] = bytes.first_chunk()?;
    let durable = u64::from_le_bytes(*mark.last_chunk().expect("a mark is longer than a word"));
    (*mark == group_mark(identity, place, durable) && durable <= place).then_some(durable)
}

/// Adds the record of one transaction to `out`.
pub(crate) fn frame(sequence: u64, payload: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.reserve(RECORD_HEADER_BYTES + payload.len());
    out.extend_from_slice(&RECORD_MARKER);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(payload);
    let crc = crc32fast::hash(&out[start + 8..]);
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
}
