//! A disk that writes down everything done to it, so that the state after a power cut at any moment can be made later.
//!
//! One run gives as many crashes as it has operations, and none of them repeats the run. A journal is data: taking
//! events out of it, or changing their order, gives what a broken store or a lying disk would have left.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::platform::{Disk, MappedFile, TemporaryFile, WriteFile};

use super::MemoryDisk;

/// One change of the disk, or a note of its user.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are what their names say")]
pub enum Event {
    /// A directory and its parents were made.
    CreateDirectory { path: PathBuf },
    /// An empty directory was removed.
    RemoveDirectory { path: PathBuf },
    /// A new file, with the number that names its bytes whatever its path becomes.
    Create { path: PathBuf, file: u64 },
    /// Bytes were written at an offset.
    Write { file: u64, offset: u64, bytes: Arc<[u8]> },
    /// A file was cut or stretched.
    SetLength { file: u64, length: u64 },
    /// The bytes of a file were made durable.
    Sync { file: u64 },
    /// The operating system failed to make the bytes of a file durable, and forgot what it had to write.
    SyncFailed { file: u64 },
    /// A name was changed, replacing the target.
    Rename { from: PathBuf, to: PathBuf },
    /// A name was removed.
    Remove { path: PathBuf },
    /// The names in a directory were made durable.
    SyncDirectory { path: PathBuf },
    /// The user of the disk begins the step of that number.
    Begun { step: u64 },
    /// The user of the disk was told that the step of that number is done.
    Acknowledged { step: u64 },
}

impl Event {
    /// True for what changes the disk: not for notes.
    pub fn is_operation(&self) -> bool {
        !matches!(self, Event::Begun { .. } | Event::Acknowledged { .. })
    }
}

/// Record of what was done to a disk, in order, and the paths at which files were made.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// All events.
    pub events: Vec<Event>,
    /// Path at which each file was made.
    pub paths: BTreeMap<u64, PathBuf>,
}

/// A disk in memory that keeps a journal. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct JournalDisk {
    inner: MemoryDisk,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    journal: Journal,
    names: BTreeMap<PathBuf, u64>,
    next_file: u64,
}

impl State {
    fn add(&mut self, event: Event) {
        self.journal.events.push(event);
    }

    fn new_file(&mut self, path: &Path) -> u64 {
        let file = self.next_file;
        self.next_file += 1;
        self.names.insert(path.to_owned(), file);
        self.journal.paths.insert(file, path.to_owned());
        file
    }
}

impl JournalDisk {
    /// An empty disk.
    pub fn new() -> JournalDisk {
        JournalDisk::default()
    }

    /// A disk that holds what another one does; the journal begins now.
    pub fn over(inner: MemoryDisk) -> JournalDisk {
        let mut state = State::default();
        inner.files().iter().for_each(|path| {
            state.new_file(path);
        });
        JournalDisk { inner, state: Arc::new(Mutex::new(state)) }
    }

    /// Notes that a step begins.
    pub fn begin(&self, step: u64) {
        self.state().add(Event::Begun { step });
    }

    /// Notes that a step was acknowledged.
    pub fn acknowledge(&self, step: u64) {
        self.state().add(Event::Acknowledged { step });
    }

    /// Notes that a sync of the file at that path failed.
    pub fn sync_failed(&self, path: &Path) {
        let mut state = self.state();
        if let Some(&file) = state.names.get(path) {
            state.add(Event::SyncFailed { file });
        }
    }

    /// A copy of the journal so far.
    pub fn journal(&self) -> Journal {
        self.state().journal.clone()
    }

    /// Number of events in the journal.
    pub fn position(&self) -> usize {
        self.state().journal.events.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct JournalFile {
    disk: JournalDisk,
    inner: Box<dyn WriteFile>,
    file: u64,
    end: u64,
}

impl io::Write for JournalFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        let count = self.inner.write(bytes)?;
        state.add(Event::Write { file: self.file, offset: self.end, bytes: Arc::from(&bytes[..count]) });
        self.end += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl WriteFile for JournalFile {
    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()?;
        self.disk.state().add(Event::Sync { file: self.file });
        Ok(())
    }
}

impl Disk for JournalDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.state();
        let inner = self.inner.create(path)?;
        let file = state.new_file(path);
        state.add(Event::Create { path: path.to_owned(), file });
        Ok(Box::new(JournalFile { disk: self.clone(), inner, file, end: 0 }))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.state();
        let before = self.inner.length(path)?;
        let inner = self.inner.append(path, length)?;
        let file = state.names[path];
        if before != length {
            state.add(Event::SetLength { file, length });
        }
        Ok(Box::new(JournalFile { disk: self.clone(), inner, file, end: length }))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.inner.read(path)
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

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        self.inner.rename(from, to)?;
        if let Some(file) = state.names.remove(from) {
            state.names.insert(to.to_owned(), file);
        }
        state.add(Event::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        self.inner.remove(path)?;
        state.names.remove(path);
        state.add(Event::Remove { path: path.to_owned() });
        Ok(())
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        self.inner.create_directory(path)?;
        state.add(Event::CreateDirectory { path: path.to_owned() });
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        self.inner.remove_directory(path)?;
        state.add(Event::RemoveDirectory { path: path.to_owned() });
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        self.inner.sync_directory(path)?;
        state.add(Event::SyncDirectory { path: path.to_owned() });
        Ok(())
    }

    fn temporary(&self, directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        self.inner.temporary(directory)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.inner.lock_shared(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        let mut state = self.state();
        let existed = self.inner.exists(path);
        let guard = self.inner.lock(path)?;
        if !existed {
            let file = state.new_file(path);
            state.add(Event::Create { path: path.to_owned(), file });
        }
        Ok(guard)
    }
}
