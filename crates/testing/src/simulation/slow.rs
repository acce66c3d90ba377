//! A disk on which reads, syncs and temporary files take time by a clock that nothing else moves far.

use std::any::Any;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::platform::{Clock, Disk, MappedFile, TemporaryFile, WriteFile};

/// A clock that goes on by a nanosecond whenever it is looked at, and by what is said.
#[derive(Debug, Default)]
pub struct SlowClock(AtomicU64);

impl SlowClock {
    /// Lets time pass.
    pub fn pass(&self, nanoseconds: u64) {
        self.0.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The time, without a look at the clock.
    pub fn time(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clock for SlowClock {
    fn now_ns(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

/// Nanoseconds that operations of a disk take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    /// A read of a range of a map.
    pub read: u64,
    /// A sync of a file that is written.
    pub sync: u64,
    /// A read or a write of a temporary file.
    pub temporary: u64,
}

/// The disk.
#[derive(Debug)]
pub struct SlowDisk {
    inner: Arc<dyn Disk>,
    clock: Arc<SlowClock>,
    delays: Delays,
}

impl SlowDisk {
    /// Another disk, made slow.
    pub fn new(inner: Arc<dyn Disk>, clock: Arc<SlowClock>, delays: Delays) -> SlowDisk {
        SlowDisk { inner, clock, delays }
    }

    fn written(&self, file: Box<dyn WriteFile>) -> Box<dyn WriteFile> {
        Box::new(SlowWrite { file, clock: self.clock.clone(), delay: self.delays.sync })
    }
}

struct SlowWrite {
    file: Box<dyn WriteFile>,
    clock: Arc<SlowClock>,
    delay: u64,
}

impl Write for SlowWrite {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl WriteFile for SlowWrite {
    fn sync(&mut self) -> io::Result<()> {
        self.clock.pass(self.delay);
        self.file.sync()
    }
}

struct SlowMap {
    map: Arc<dyn MappedFile>,
    clock: Arc<SlowClock>,
    delay: u64,
}

impl MappedFile for SlowMap {
    fn bytes(&self) -> &[u8] {
        self.map.bytes()
    }

    fn populate(&self, start: usize, length: usize) -> io::Result<()> {
        self.clock.pass(self.delay);
        self.map.populate(start, length)
    }

    fn lost(&self) -> Option<(usize, io::Error)> {
        self.map.lost()
    }

    fn evict(&self, ranges: &[Range<usize>]) {
        self.map.evict(ranges);
    }
}

struct SlowTemporary {
    file: Box<dyn TemporaryFile>,
    clock: Arc<SlowClock>,
    delay: u64,
}

impl TemporaryFile for SlowTemporary {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.clock.pass(self.delay);
        self.file.append(bytes)
    }

    fn write_at(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        self.clock.pass(self.delay);
        self.file.write_at(start, bytes)
    }

    fn read_at(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        self.clock.pass(self.delay);
        self.file.read_at(start, out)
    }
}

impl Disk for SlowDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.inner.create(path).map(|file| self.written(file))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>> {
        self.inner.append(path, length).map(|file| self.written(file))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.inner.read(path)
    }

    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        let map = self.inner.map(path)?;
        Ok(Arc::new(SlowMap { map, clock: self.clock.clone(), delay: self.delays.read }))
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        self.inner.length(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.inner.list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.create_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_directory(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.inner.lock(path)
    }

    fn temporary(&self, directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        let file = self.inner.temporary(directory)?;
        Ok(Box::new(SlowTemporary { file, clock: self.clock.clone(), delay: self.delays.temporary }))
    }
}
