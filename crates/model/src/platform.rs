//! The operating system as traits, so that tests can stand in for it: disk, clock, randomness.

use std::io;
use std::path::Path;
use std::sync::Arc;

/// Files and directories. Paths are as the operating system knows them.
///
/// Contract: `rename` replaces its target atomically; a name is durable after `sync_directory`, bytes after `sync`.
pub trait Disk: Send + Sync + std::fmt::Debug {
    /// Makes a new, empty file for writing; fails if it exists.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>>;
    /// Opens an existing file for appending, cut to `length` bytes first.
    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>>;
    /// Takes room for the bytes of a file up to `end`, so that writing them does not fail for want of it. The file's length
    /// stays. Fails with `StorageFull` if there is none; does nothing on disks that cannot promise it.
    fn reserve(&self, _path: &Path, _end: u64) -> io::Result<()> {
        Ok(())
    }
    /// Gives back the room that was taken behind the end of a file.
    fn release(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Reads a whole file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Reads `length` bytes of a file from `start` on; fails if they are not all there.
    fn read_range(&self, path: &Path, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let map = self.map(path)?;
        let bytes = usize::try_from(start).ok().and_then(|start| map.bytes().get(start..)?.get(..length));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
    /// The bytes of an immutable file, mapped or read.
    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>>;
    /// Number of times that bytes of maps could not be read so far; while the number stays the same, no
    /// [`MappedFile::lost`] changes.
    fn lost_reads(&self) -> u64 {
        0
    }
    /// The length of a file in bytes.
    fn length(&self, path: &Path) -> io::Result<u64>;
    /// The names in a directory.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Renames a file, replacing the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a directory and its parents.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// True if something is there.
    fn exists(&self, path: &Path) -> bool;
    /// The counter of the blocks of this disk's maps, for the engine that put it there; none by default.
    fn block_cache(&self) -> Option<Arc<dyn std::any::Any + Send + Sync>> {
        None
    }
    /// Takes the exclusive lock of a file, made if need be, and of its directory, for as long as the result lives;
    /// `WouldBlock` if held.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn std::any::Any + Send + Sync>>;
    /// Takes the lock of a file together with others who only read: `WouldBlock` if somebody has it alone. Makes and writes
    /// nothing. A disk that does not tell the two apart takes it alone.
    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn std::any::Any + Send + Sync>> {
        self.lock(path)
    }
    /// The holder of the exclusive lock of a file, in words: process and program; `None` where that cannot be told.
    fn lock_holder(&self, _path: &Path) -> Option<String> {
        None
    }
    /// Makes a file without a name in a directory, for what does not fit into memory: it is gone when it is dropped, or
    /// with the process. Fails with `Unsupported` on disks that have none.
    fn temporary(&self, _directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// True if a file has a second name, under which others may change it. False on disks that cannot tell.
    fn has_other_names(&self, _path: &Path) -> io::Result<bool> {
        Ok(false)
    }
    /// Gives an immutable file a second name on the same file system; fails where that is not possible.
    fn link(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A file being written, in order.
pub trait WriteFile: io::Write + Send {
    /// Makes what was written durable (data and length).
    fn sync(&mut self) -> io::Result<()>;
    /// Advice, after a sync, that the bytes need not stay in the memory of the operating system; may be ignored.
    fn forget(&mut self) {}
}

/// A file without a name: written and read anywhere, gone when dropped.
pub trait TemporaryFile: Send + Sync {
    /// Adds bytes at the end.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Writes bytes from `start` on, over what stands there. The file becomes longer where it has to; bytes before
    /// `start` that were never written read as zeros then.
    fn write_at(&mut self, start: u64, bytes: &[u8]) -> io::Result<()>;
    /// Fills `out` with the bytes from `start` on; fails if they are not all there.
    fn read_at(&self, start: u64, out: &mut [u8]) -> io::Result<()>;
    /// All bytes, mapped; nothing is written to the file afterwards. `None` where the disk cannot do that.
    fn map(&self) -> io::Result<Option<Arc<dyn MappedFile>>> {
        Ok(None)
    }
    /// Advice that these bytes will not be read soon and need not stay in the memory of the operating system: what was not
    /// written to the disk yet begins to be, what was leaves. May be ignored.
    fn forget(&self, _bytes: std::ops::Range<u64>) {}
}

/// The bytes of an immutable file.
pub trait MappedFile: Send + Sync {
    /// All bytes of the file.
    fn bytes(&self) -> &[u8];
    /// Begins to read a range, without waiting; may be ignored.
    fn will_need(&self, _start: usize, _length: usize) {}
    /// Advice that reads will be at random places, and sequential ones announced by `will_need`; may be ignored.
    fn advise_random(&self) {}
    /// Waits until a range is in memory; fails where the disk cannot read it. May be ignored: then a read waits.
    fn populate(&self, _start: usize, _length: usize) -> io::Result<()> {
        Ok(())
    }
    /// Position of bytes that could not be read although they were asked for, since the map was made: zeros stand
    /// there. `None` if all bytes that were ever read are those of the file.
    fn lost(&self) -> Option<(usize, io::Error)> {
        None
    }
    /// Gives the memory of these ranges back. Addresses stay, and bytes that are touched again are read again; so this
    /// may be called while others read. May be ignored.
    fn evict(&self, _ranges: &[std::ops::Range<usize>]) {}
}

/// Time that only moves forward.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Nanoseconds since some fixed moment of this process.
    fn now_ns(&self) -> u64;
    /// Microseconds since the Unix epoch, for names and logs.
    fn unix_us(&self) -> i64;
}

/// Seeds for what should differ from run to run.
pub trait Random: Send + Sync + std::fmt::Debug {
    /// Sixty-four random bits.
    fn next_u64(&self) -> u64;
}

/// The three together.
#[derive(Clone, Debug)]
pub struct Platform {
    /// Files.
    pub disk: Arc<dyn Disk>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Seeds.
    pub random: Arc<dyn Random>,
}

/// A clock for the tests of this crate, which stands still until it is set.
#[cfg(test)]
pub(crate) mod set_clock {
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Debug, Default)]
    pub(crate) struct SetClock(AtomicU64);

    impl SetClock {
        pub(crate) fn set(&self, nanoseconds: u64) {
            self.0.store(nanoseconds, Ordering::Relaxed);
        }

        pub(crate) fn pass(&self, nanoseconds: u64) {
            self.0.fetch_add(nanoseconds, Ordering::Relaxed);
        }
    }

    impl super::Clock for SetClock {
        fn now_ns(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        fn unix_us(&self) -> i64 {
            0
        }
    }
}
