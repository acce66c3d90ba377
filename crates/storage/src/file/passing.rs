//! Temporary files that pass by: what was written or read of them leaves the memory of the operating system where there is
//! little besides the limit of the database, as in a control group that is hardly larger than it.
//!
//! Otherwise such a group fills up with pages that nobody reads again before they are gone, and the system takes more time
//! to make room than the disk takes to read.
//! Cost: a call of the system for each mebibyte written and for each read, and only then.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::platform::TemporaryFile;

/// Bytes after which writing begins and what was written before may leave.
const STRETCH_BYTES: u64 = 1 << 20;
/// Share of the memory besides the limit of the database that may hold temporary files, as a divisor.
const OUTSIDE_SHARE: u64 = 4;

/// Account of the bytes that all temporary files of a store may leave in the memory of the operating system.
#[derive(Debug)]
pub(super) struct Outside {
    /// Bytes that they may take.
    most: u64,
    /// Bytes that they have.
    held: AtomicU64,
}

impl Outside {
    /// For a database with this limit of memory, on a machine or in a group that has `memory` bytes.
    pub(super) fn new(limit: usize, memory: Option<usize>) -> Outside {
        let left = memory.map_or(u64::MAX, |memory| memory.saturating_sub(limit) as u64);
        Outside { most: left / OUTSIDE_SHARE, held: AtomicU64::new(0) }
    }

    fn is_full(&self) -> bool {
        self.held.load(Ordering::Relaxed) > self.most
    }
}

/// A temporary file whose bytes leave memory where there is little.
pub(super) struct PassingFile {
    file: Box<dyn TemporaryFile>,
    outside: Arc<Outside>,
    length: u64,
    /// Bytes before this one were told to be forgotten, at least once.
    passed: u64,
}

impl PassingFile {
    pub(super) fn new(file: Box<dyn TemporaryFile>, outside: Arc<Outside>) -> PassingFile {
        PassingFile { file, outside, length: 0, passed: 0 }
    }
}

impl TemporaryFile for PassingFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)?;
        self.length += bytes.len() as u64;
        self.outside.held.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if self.length - self.passed >= STRETCH_BYTES && self.outside.is_full() {
            // The stretch begins to be written; the one before is written by now, and leaves.
            self.file.forget(self.passed.saturating_sub(STRETCH_BYTES)..self.length);
            self.passed = self.length;
        }
        Ok(())
    }

    fn write_at(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(start, bytes)?;
        let end = start + bytes.len() as u64;
        let more = end.saturating_sub(self.length);
        self.length += more;
        self.outside.held.fetch_add(more, Ordering::Relaxed);
        if self.outside.is_full() {
            self.file.forget(start..end);
        }
        Ok(())
    }

    fn read_at(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_at(start, out)?;
        if self.outside.is_full() {
            self.file.forget(start..start + out.len() as u64);
        }
        Ok(())
    }

    fn forget(&self, bytes: Range<u64>) {
        self.file.forget(bytes);
    }
}

impl Drop for PassingFile {
    fn drop(&mut self) {
        self.outside.held.fetch_sub(self.length, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::ops::Range;
    use std::sync::{Arc, Mutex};

    use model::platform::TemporaryFile;

    use super::{Outside, PassingFile, STRETCH_BYTES};

    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<Vec<Range<u64>>>>);

    impl TemporaryFile for Told {
        fn append(&mut self, _bytes: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn write_at(&mut self, _start: u64, _bytes: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn read_at(&self, _start: u64, _out: &mut [u8]) -> io::Result<()> {
            Ok(())
        }

        fn forget(&self, bytes: Range<u64>) {
            self.0.lock().unwrap().push(bytes);
        }
    }

    #[test]
    fn bytes_leave_where_there_is_little_memory() {
        let half = vec![0; STRETCH_BYTES as usize / 2];
        for (memory, expected) in [
            (None, vec![]),
            (Some(1 << 30), vec![]),
            (Some(101 << 20), vec![0..1 << 20, 0..2 << 20, 1 << 20..3 << 20, 100..300]),
        ] {
            let (told, outside) = (Told::default(), Arc::new(Outside::new(100 << 20, memory)));
            let mut file = PassingFile::new(Box::new(told.clone()), outside.clone());
            (0..7).for_each(|_| file.append(&half).unwrap());
            file.read_at(100, &mut [0; 200]).unwrap();
            assert_eq!(*told.0.lock().unwrap(), expected, "{memory:?}");
            drop(file);
            assert!(!outside.is_full(), "what is gone holds nothing");
        }
    }
}
