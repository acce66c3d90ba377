//! Rows that wait for their client, as they are sent: first in memory, then in a temporary file.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;

use database::Database;
use model::memory::Reservation;
use model::platform::TemporaryFile;
use model::{Consumer, Result, error};

use crate::limits::{READ_AHEAD_BYTES, SPILLED_BYTES_MAX};

/// Bytes that are written to the file, or read from it, at once.
const PIECE_BYTES: usize = 256 << 10;
/// Bytes up to which memory is taken without being accounted for.
const SMALL_BYTES: usize = 64 << 10;

/// Records in order.
pub(crate) struct Buffer {
    database: Database,
    memory: Vec<u8>,
    /// Bytes of the memory that were taken.
    taken: usize,
    /// Lengths of the records in memory that were not.
    lengths: VecDeque<u32>,
    spilled: Option<Spilled>,
    held: Option<Reservation>,
}

/// Records behind those in memory: each after its length in four bytes.
struct Spilled {
    file: Box<dyn TemporaryFile>,
    written: u64,
    read: u64,
    /// Bytes that are not yet in the file.
    tail: Vec<u8>,
}

impl Buffer {
    /// No records.
    pub(crate) fn new(database: &Database) -> Buffer {
        let database = database.clone();
        Buffer { database, memory: Vec::new(), taken: 0, lengths: VecDeque::new(), spilled: None, held: None }
    }

    /// True without records.
    pub(crate) fn is_empty(&self) -> bool {
        self.lengths.is_empty() && self.spilled.as_ref().is_none_or(|spilled| !spilled.has_more())
    }

    /// True if the memory for records is used up.
    pub(crate) fn is_full(&self) -> bool {
        self.memory.len() - self.taken > READ_AHEAD_BYTES || self.spilled.is_some()
    }

    /// Forgets all records.
    pub(crate) fn clear(&mut self) {
        *self = Buffer::new(&self.database);
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<()> {
        if self.spilled.as_ref().is_some_and(|spilled| !spilled.has_more()) {
            self.spilled = None;
        }
        let is_spilled = self.spilled.is_some() || self.memory.len() - self.taken > READ_AHEAD_BYTES;
        if !is_spilled && self.covers(record.len()) {
            self.memory.extend_from_slice(record);
            self.lengths.push_back(record.len() as u32);
            return Ok(());
        }
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => {
                let file = self.database.spill_space().temporary()?;
                none.insert(Spilled { file, written: 0, read: 0, tail: Vec::new() })
            }
        };
        spilled.push(record)
    }

    /// True if there is memory for this number of bytes more.
    fn covers(&mut self, more: usize) -> bool {
        if self.taken > 0 && self.taken * 2 >= self.memory.len() {
            self.memory.drain(..self.taken);
            self.taken = 0;
        }
        let bytes = self.memory.len() + more;
        if bytes <= SMALL_BYTES {
            return true;
        }
        let budget: &Arc<_> = self.database.memory();
        let held = self.held.get_or_insert_with(|| budget.empty(Consumer::Query));
        held.bytes() >= bytes || held.cover(bytes.next_multiple_of(SMALL_BYTES)).is_ok()
    }

    /// Appends the next record to `out`; false if there is none.
    pub(crate) fn pop(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if self.lengths.is_empty() {
            self.refill()?;
        }
        let Some(length) = self.lengths.pop_front() else { return Ok(false) };
        let end = self.taken + length as usize;
        out.extend_from_slice(&self.memory[self.taken..end]);
        self.taken = end;
        Ok(true)
    }

    fn refill(&mut self) -> Result<()> {
        let Some(spilled) = &mut self.spilled else { return Ok(()) };
        self.memory.clear();
        self.taken = 0;
        let piece = spilled.next_piece()?;
        let mut rest = piece.as_slice();
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let (record, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
            self.memory.extend_from_slice(record);
            self.lengths.push_back(record.len() as u32);
            rest = behind;
        }
        Ok(())
    }
}

impl Spilled {
    fn has_more(&self) -> bool {
        self.read < self.written || !self.tail.is_empty()
    }

    fn push(&mut self, record: &[u8]) -> Result<()> {
        let bytes = self.written + (self.tail.len() + record.len()) as u64;
        if bytes > SPILLED_BYTES_MAX {
            return Err(error!(Limit, "the client has left more than {SPILLED_BYTES_MAX} bytes of the result unread")
                .with_remedy("ask for fewer rows, or take them as they come"));
        }
        self.tail.extend_from_slice(&(record.len() as u32).to_be_bytes());
        self.tail.extend_from_slice(record);
        if self.tail.len() >= PIECE_BYTES {
            self.file.append(&self.tail).map_err(|cause| failed(&cause))?;
            self.written += self.tail.len() as u64;
            self.tail.clear();
        }
        Ok(())
    }

    /// Whole records from where reading has stopped.
    fn next_piece(&mut self) -> Result<Vec<u8>> {
        let left = self.written - self.read;
        if left == 0 {
            return Ok(std::mem::take(&mut self.tail));
        }
        let mut piece = vec![0; left.min(PIECE_BYTES as u64) as usize];
        self.file.read_at(self.read, &mut piece).map_err(|cause| failed(&cause))?;
        let mut whole = 0;
        while let Some(length) = piece[whole..].first_chunk::<4>() {
            let end = whole + 4 + u32::from_be_bytes(*length) as usize;
            if end > piece.len() {
                if whole > 0 {
                    break;
                }
                // One record is longer than a piece.
                piece.resize(end, 0);
                self.file.read_at(self.read, &mut piece).map_err(|cause| failed(&cause))?;
            }
            whole = end;
        }
        piece.truncate(whole);
        self.read += whole as u64;
        Ok(piece)
    }
}

fn failed(cause: &std::io::Error) -> model::Error {
    if matches!(cause.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        return error!(DiskFull, "rows that wait for the client go to a temporary file, and the disk is full")
            .with_remedy("free space there, fetch the rows faster, or ask for less; the store is unharmed");
    }
    error!(Io, "rows that wait for the client cannot be kept on the disk: {cause}")
}

/// Rows that a client wants of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Rows; `None` for all.
    pub(crate) rows: Option<u64>,
    /// True if they are to be passed over.
    pub(crate) is_discarded: bool,
}

/// The rows of one statement.
pub(crate) struct Stream {
    /// Those that were not asked for yet.
    pub(crate) buffer: Buffer,
    /// The request that is being answered.
    pub(crate) wanted: Option<Wanted>,
    /// The last answer, once the statement has ended.
    pub(crate) end: Option<Vec<u8>>,
}

impl Stream {
    /// True if no further rows are wanted, ever.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.wanted.is_some_and(|wanted| wanted.is_discarded && wanted.rows.is_none())
    }
}

#[cfg(test)]
mod tests {
    use database::{Config, Database};

    use model::ErrorCode;

    use super::{Buffer, failed};

    #[test]
    fn rows_that_find_no_room_say_that_the_disk_is_full() {
        use std::io::ErrorKind;
        let outcomes = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::BrokenPipe].map(|kind| {
            let error = failed(&kind.into());
            assert!(!error.remedy().is_empty(), "{error:?}");
            error.code()
        });
        assert_eq!(outcomes, [ErrorCode::DiskFull, ErrorCode::DiskFull, ErrorCode::Io]);
    }

    #[test]
    fn rows_come_back_in_order_from_memory_and_the_disk() {
        let folder = std::env::temp_dir().join(format!("knotwork-rows-{}.knot", std::process::id()));
        let database = Database::open(&folder, Config::default()).unwrap();
        for (records, bytes) in [(10, 5), (3_000, 1_000), (5, 900_000), (20_000, 300)] {
            let record = |number: usize| {
                let mut record = vec![(number % 251) as u8; bytes + number % 7];
                record[..4].copy_from_slice(&(number as u32).to_be_bytes());
                record
            };
            let mut buffer = Buffer::new(&database);
            let mut next = 0;
            for number in 0..records {
                buffer.push(&record(number)).unwrap();
                // Some are taken meanwhile.
                if number % 5 == 0 {
                    let mut out = Vec::new();
                    assert!(buffer.pop(&mut out).unwrap());
                    assert_eq!(out, record(next));
                    next += 1;
                }
            }
            assert_eq!(buffer.is_full(), records * bytes > 2 << 20, "{records} of {bytes}");
            while next < records {
                let mut out = Vec::new();
                assert!(!buffer.is_empty() && buffer.pop(&mut out).unwrap());
                assert_eq!(out, record(next));
                next += 1;
            }
            assert!(buffer.is_empty() && !buffer.pop(&mut Vec::new()).unwrap());
        }
        assert_eq!(database.spill_space().open_files(), 0);
        drop(database);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
