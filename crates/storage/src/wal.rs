//! The write-ahead log: what was committed since the store's files were last written, in one file.
//!
//! The file is the header that every file of a store has and then records, one for each committed transaction. Integers
//! are little-endian. A record: marker `KREC`, CRC-32 `u32` of all that follows, payload length `u64`, sequence number
//! `u64`, payload. Sequence numbers rise by one. A payload is a row of operations, see [`record`].
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
