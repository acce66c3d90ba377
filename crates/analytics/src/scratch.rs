//! Files of a computation: written at their end, read anywhere, gone when dropped; on disk, or in memory for runs that
//! may hold all of it.
//!
//! - [`plain`]: values of a fixed size, as bytes.
//! - [`lanes`]: files that several threads write at a time.
//!
//! Invariant: bytes held in memory are taken from the workspace before they are allocated, and given back when dropped.

mod lanes;
pub mod plain;

use std::io;
use std::ops::Range;

use model::error::{Error, Result};
use model::platform::TemporaryFile;
use model::procedure::Workspace;

use crate::held::Held;
use plain::{Plain, push};

pub(crate) use lanes::{Lanes, Spot};

/// Bytes by which a file in memory grows at least.
const GROWTH_BYTES_MIN: usize = 4 << 10;
/// The purpose for which memory is taken.
pub(crate) const WHAT: &str = "a program over the graph";

/// The place of the files of a run.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// In memory.
    Memory(&'a dyn Workspace),
    /// In temporary files.
    Disk(&'a dyn Workspace),
}

impl<'a> Place<'a> {
    /// A new, empty file.
    pub(crate) fn file(self) -> Result<Scratch<'a>> {
        let bytes = match self {
            Place::Memory(workspace) => Bytes::Memory(Vec::new(), Held::nothing(workspace, WHAT)),
            Place::Disk(workspace) => Bytes::Disk(workspace.temporary()?),
        };
        Ok(Scratch { bytes, length: 0 })
    }
}

enum Bytes<'a> {
    Memory(Vec<u8>, Held<'a>),
    Disk(Box<dyn TemporaryFile>),
}

/// A file of a run.
pub(crate) struct Scratch<'a> {
    bytes: Bytes<'a>,
    length: u64,
}

impl Scratch<'_> {
    /// Number of bytes that were written.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Adds bytes at the end.
    pub(crate) fn append(&mut self, more: &[u8]) -> Result<()> {
        match &mut self.bytes {
            Bytes::Memory(bytes, held) => {
                if bytes.capacity() - bytes.len() < more.len() {
                    let growth = more.len().max(bytes.len() / 2).max(GROWTH_BYTES_MIN);
                    held.grow(bytes.len() + growth - bytes.capacity())?;
                    bytes.reserve_exact(growth);
                }
                bytes.extend_from_slice(more);
            }
            Bytes::Disk(file) => file.append(more).map_err(|cause| failure("write", &cause))?,
        }
        self.length += more.len() as u64;
        Ok(())
    }

    /// Fills `out` with the bytes from `start` on.
    pub(crate) fn read_at(&self, start: u64, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        match &self.bytes {
            Bytes::Memory(bytes, _) => {
                let found = bytes.get(start as usize..).and_then(|bytes| bytes.get(..out.len()));
                let found = found.ok_or_else(|| failure("read", &io::ErrorKind::UnexpectedEof.into()))?;
                out.copy_from_slice(found);
                Ok(())
            }
            Bytes::Disk(file) => file.read_at(start, out).map_err(|cause| failure("read", &cause)),
        }
    }

    /// Plain values, `first` and those after it, as many as `out` is to hold.
    pub(crate) fn read_values<T: Plain>(&self, first: u64, count: usize, out: &mut Vec<T>) -> Result<()> {
        let mut bytes = vec![0; count * T::BYTES];
        self.read_at(first * T::BYTES as u64, &mut bytes)?;
        out.clear();
        match T::BYTES {
            0 => out.resize(count, T::default()),
            size => out.extend(bytes.chunks_exact(size).map(T::read_from)),
        }
        Ok(())
    }
}

/// The error for the caller when a temporary file fails.
fn failure(verb: &str, cause: &io::Error) -> Error {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            model::error!(DiskFull, "a computation keeps its state in temporary files, and the disk is full")
                .with_remedy(
                    "free space there, or raise the memory limit so that less goes to disk; the store is unharmed",
                )
        }
        _ => model::error!(Io, "cannot {verb} a temporary file of a computation: {cause}"),
    }
}

/// Appends small values to a file through a buffer.
pub(crate) struct Writer<'s, 'a> {
    file: &'s mut Scratch<'a>,
    buffer: Vec<u8>,
    limit: usize,
}

impl<'s, 'a> Writer<'s, 'a> {
    pub(crate) fn new(file: &'s mut Scratch<'a>, buffer_bytes: usize) -> Writer<'s, 'a> {
        Writer { file, buffer: Vec::new(), limit: buffer_bytes }
    }

    /// Adds a value.
    #[inline]
    pub(crate) fn put<T: Plain>(&mut self, value: T) -> Result<()> {
        push(value, &mut self.buffer);
        if self.buffer.len() >= self.limit { self.flush() } else { Ok(()) }
    }

    /// Writes what is in the buffer; must be called at the end.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.file.append(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Reads a range of a file in order, through a buffer.
pub(crate) struct Stream<'f, 'a> {
    file: &'f Scratch<'a>,
    /// The range that was not yet read into the buffer.
    range: Range<u64>,
    buffer: Vec<u8>,
    used: usize,
    buffer_bytes: usize,
}

impl<'f, 'a> Stream<'f, 'a> {
    pub(crate) fn new(file: &'f Scratch<'a>, range: Range<u64>, buffer_bytes: usize) -> Stream<'f, 'a> {
        Stream { file, range, buffer: Vec::new(), used: 0, buffer_bytes }
    }

    /// The values of a file from one number to another.
    pub(crate) fn of<T: Plain>(file: &'f Scratch<'a>, values: Range<u64>, buffer_bytes: usize) -> Stream<'f, 'a> {
        let size = T::BYTES as u64;
        Stream::new(file, values.start * size..values.end * size, buffer_bytes)
    }

    /// The next bytes: up to `count` items of `size` bytes each, at least one. The range must not be used up, and hold
    /// whole items.
    #[inline]
    pub(crate) fn items(&mut self, size: usize, count: usize) -> Result<&[u8]> {
        if self.used == self.buffer.len() {
            self.refill(size)?;
        }
        let start = self.used;
        self.used = self.buffer.len().min(start.saturating_add(size.saturating_mul(count)));
        Ok(&self.buffer[start..self.used])
    }

    /// The next value; `None` at the end.
    #[inline]
    pub(crate) fn next<T: Plain>(&mut self) -> Result<Option<T>> {
        if self.used == self.buffer.len() && self.range.is_empty() {
            return Ok(None);
        }
        self.items(T::BYTES, 1).map(|bytes| Some(T::read_from(bytes)))
    }

    #[cold]
    fn refill(&mut self, size: usize) -> Result<()> {
        let left = self.range.end - self.range.start;
        if left < size as u64 {
            return Err(model::error!(Internal, "a stream of a computation ends {left} bytes before it should"));
        }
        let whole = (self.buffer_bytes / size).max(1) * size;
        let count = left.min(whole as u64) as usize;
        self.buffer.resize(count, 0);
        self.used = 0;
        self.file.read_at(self.range.start, &mut self.buffer)?;
        self.range.start += count as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::procedure::Unaccounted;

    use super::{Place, Stream, Writer};

    #[test]
    fn values_come_back_in_any_buffer() {
        for buffer_bytes in [1, 7, 8, 20, 1000] {
            let mut file = Place::Memory(&Unaccounted).file().unwrap();
            let mut writer = Writer::new(&mut file, buffer_bytes);
            (0..100_u64).for_each(|number| writer.put(number * number).unwrap());
            writer.flush().unwrap();
            assert_eq!(file.length(), 800);
            let mut stream = Stream::of::<u64>(&file, 10..90, buffer_bytes);
            for number in 10..90_u64 {
                assert_eq!(stream.next().unwrap(), Some(number * number));
            }
            assert_eq!(stream.next::<u64>().unwrap(), None);
            assert!(stream.items(8, 1).is_err());
        }
    }
}
