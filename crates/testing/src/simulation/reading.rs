//! A disk that refuses whatever changes it, and counts that as a fault of the caller: a medium mounted for reading
//! only.

use std::any::Any;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::platform::{Disk, MappedFile, TemporaryFile, WriteFile};

/// The disk. Clones are the same disk. Files without a name can be had in the directory for temporary files alone.
#[derive(Clone, Debug)]
pub struct ReadOnlyDisk {
    inner: Arc<dyn Disk>,
    refused: Arc<AtomicU64>,
}

impl ReadOnlyDisk {
    /// Shows the content of another disk.
    pub fn new(inner: Arc<dyn Disk>) -> ReadOnlyDisk {
        ReadOnlyDisk { inner, refused: Arc::default() }
    }

    /// Number of attempts to change it.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn refuse<T>(&self) -> io::Result<T> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

impl Disk for ReadOnlyDisk {
    fn create(&self, _path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.refuse()
    }

    fn append(&self, _path: &Path, _length: u64) -> io::Result<Box<dyn WriteFile>> {
        self.refuse()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.inner.read(path)
    }

    fn read_range(&self, path: &Path, start: u64, length: usize) -> io::Result<Vec<u8>> {
        self.inner.read_range(path, start, length)
    }

    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        self.inner.map(path)
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        self.inner.length(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.inner.list(path)
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        self.refuse()
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        self.refuse()
    }

    fn create_directory(&self, _path: &Path) -> io::Result<()> {
        self.refuse()
    }

    fn remove_directory(&self, _path: &Path) -> io::Result<()> {
        self.refuse()
    }

    fn sync_directory(&self, _path: &Path) -> io::Result<()> {
        self.refuse()
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn lock(&self, _path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.refuse()
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.inner.lock_shared(path)
    }

    fn temporary(&self, directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        if directory == std::env::temp_dir() { self.inner.temporary(directory) } else { self.refuse() }
    }
}
