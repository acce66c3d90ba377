//! A workspace with limits that counts what is held.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::platform::TemporaryFile;
use model::procedure::Workspace;
use model::{Interrupt, Result};

/// A workspace with limited bytes of memory and of disk.
pub struct Limited {
    memory: usize,
    disk: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
    files: Arc<Files>,
    cancel: Option<(usize, Interrupt)>,
    /// Bytes that are told to be free, and are not when they are taken.
    promised: usize,
}

#[derive(Default)]
struct Files {
    made: AtomicUsize,
    open: AtomicUsize,
    bytes: AtomicUsize,
    peak: AtomicUsize,
}

impl Limited {
    /// With bytes of memory, and bytes of files that may lie on disk at a time.
    pub fn new(memory: usize, disk: usize) -> Limited {
        Limited { memory, disk, used: 0.into(), peak: 0.into(), files: Arc::default(), cancel: None, promised: 0 }
    }

    /// Reports `bytes` bytes more than there are.
    pub fn promising(mut self, bytes: usize) -> Limited {
        self.promised = bytes;
        self
    }

    fn left(&self) -> usize {
        self.memory - self.used.load(Ordering::Relaxed)
    }

    /// Cancels when the file of that number is asked for.
    pub fn cancelling_at(mut self, file: usize, interrupt: &Interrupt) -> Limited {
        self.cancel = Some((file, interrupt.clone()));
        self
    }

    /// The most memory that was held at a time.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Files that were made.
    pub fn files_made(&self) -> usize {
        self.files.made.load(Ordering::Relaxed)
    }

    /// The most bytes that lay in files at a time.
    pub fn peak_on_disk(&self) -> usize {
        self.files.peak.load(Ordering::Relaxed)
    }

    /// Fails if anything is still held.
    pub fn assert_all_given_back(&self, name: &str) {
        assert_eq!(self.used.load(Ordering::Relaxed), 0, "{name}: memory is given back");
        assert_eq!(self.files.open.load(Ordering::Relaxed), 0, "{name}: files are closed");
        assert_eq!(self.files.bytes.load(Ordering::Relaxed), 0, "{name}: files are empty");
    }
}

impl Workspace for Limited {
    fn bytes_free(&self) -> usize {
        self.left() + self.promised
    }

    fn take(&self, what: &'static str, bytes: usize) -> Result<()> {
        if bytes > self.left() {
            return Err(model::error!(Limit, "{what} needs {bytes} bytes, {} are free", self.left()));
        }
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(used, Ordering::Relaxed);
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn temporary(&self) -> Result<Box<dyn TemporaryFile>> {
        let number = self.files.made.fetch_add(1, Ordering::Relaxed);
        if let Some((_, interrupt)) = self.cancel.as_ref().filter(|(at, _)| *at == number) {
            interrupt.cancel();
        }
        self.files.open.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(File { bytes: Vec::new(), disk: self.disk, files: self.files.clone() }))
    }
}

struct File {
    bytes: Vec<u8>,
    disk: usize,
    files: Arc<Files>,
}

impl TemporaryFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let all = self.files.bytes.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
        self.files.peak.fetch_max(all, Ordering::Relaxed);
        self.bytes.extend_from_slice(bytes);
        if all > self.disk { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn write_at(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        let (start, end) = (start as usize, start as usize + bytes.len());
        self.append(&vec![0; end.saturating_sub(self.bytes.len())])?;
        self.bytes[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes.get(start as usize..start as usize + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.files.open.fetch_sub(1, Ordering::Relaxed);
        self.files.bytes.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}
