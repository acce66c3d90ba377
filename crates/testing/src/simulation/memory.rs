//! A disk in memory: as quick as a map, and gone with the test.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::platform::{Disk, MappedFile, TemporaryFile, WriteFile};

use super::PAGE_BYTES;

type Bytes = Arc<Mutex<Vec<u8>>>;

/// Files and directories in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, Bytes>,
    directories: BTreeSet<PathBuf>,
    /// Number of holders that share each lock that is held; 0 where one has it alone.
    locked: BTreeMap<PathBuf, usize>,
}

impl MemoryDisk {
    /// An empty disk, which has its root and the empty path as directories.
    pub fn new() -> MemoryDisk {
        MemoryDisk::default()
    }

    /// All files, in order of their paths.
    pub fn files(&self) -> Vec<PathBuf> {
        self.state().files.keys().cloned().collect()
    }

    /// The first byte of every page of every file.
    pub fn pages(&self) -> Vec<(PathBuf, u64)> {
        let state = self.state();
        let starts = |bytes: &Bytes| (0..lock(bytes).len() as u64).step_by(PAGE_BYTES as usize);
        let pages = state.files.iter().map(|(path, bytes)| starts(bytes).map(|start| (path.clone(), start)));
        pages.flatten().collect()
    }

    /// All directories, in order of their paths.
    pub fn directories(&self) -> Vec<PathBuf> {
        self.state().directories.iter().cloned().collect()
    }

    /// A copy of the bytes of a file.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(lock(&*self.bytes_of(path)?).clone())
    }

    /// Changes the bytes of a file in place, as a failing disk may.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn corrupt(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let bytes = self.bytes_of(path)?;
        change(&mut lock(&bytes));
        Ok(())
    }

    /// Puts a file there, whatever was there before, as if it had always been there.
    pub fn put(&self, path: &Path, bytes: Vec<u8>) {
        self.state().files.insert(path.to_owned(), Arc::new(Mutex::new(bytes)));
    }

    /// Puts a directory there.
    pub fn put_directory(&self, path: &Path) {
        self.state().directories.insert(path.to_owned());
    }

    /// A disk with the same files, which goes its own way from here on. Locks are not taken along.
    #[must_use]
    pub fn copy(&self) -> MemoryDisk {
        let state = self.state();
        let copy = MemoryDisk::new();
        state.directories.iter().for_each(|path| copy.put_directory(path));
        state.files.iter().for_each(|(path, bytes)| copy.put(path, lock(bytes).clone()));
        copy
    }

    /// A number that two disks with the same files and directories share, and others hardly ever.
    pub fn fingerprint(&self) -> u64 {
        let state = self.state();
        let mut hasher = std::hash::DefaultHasher::new();
        state.directories.hash(&mut hasher);
        for (path, bytes) in &state.files {
            path.hash(&mut hasher);
            lock(bytes).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn bytes_of(&self, path: &Path) -> io::Result<Bytes> {
        self.state().files.get(path).cloned().ok_or_else(|| not_found(path))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{} is not there", path.display()))
}

impl State {
    fn is_directory(&self, path: &Path) -> bool {
        path.parent().is_none() || path.as_os_str().is_empty() || self.directories.contains(path)
    }

    fn check_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if !self.is_directory(parent) => Err(not_found(parent)),
            _ => Ok(()),
        }
    }

    /// Names of the files and directories in a directory. Compares texts: taking each path apart took most of the time of
    /// tests with thousands of files.
    fn children(&self, path: &Path) -> Vec<String> {
        let directory = path.to_string_lossy();
        let directory = directory.trim_end_matches('/');
        let all = self.files.keys().chain(&self.directories);
        all.filter_map(|child| {
            let inside = child.to_str()?.strip_prefix(directory)?;
            let name = if path.as_os_str().is_empty() { inside } else { inside.strip_prefix('/')? };
            (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
        })
        .collect()
    }
}

struct MemoryFile(Bytes);

impl io::Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that no directory knows.
#[derive(Default)]
struct UnnamedFile(Vec<u8>);

impl TemporaryFile for UnnamedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn write_at(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        let (start, end) = (start as usize, start as usize + bytes.len());
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        self.0[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        let start = start as usize;
        let found = self.0.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }
}

struct Snapshot(Vec<u8>);

impl MappedFile for Snapshot {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

struct LockGuard {
    disk: MemoryDisk,
    path: PathBuf,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        match state.locked.get_mut(&self.path) {
            Some(readers) if *readers > 1 => *readers -= 1,
            _ => drop(state.locked.remove(&self.path)),
        }
    }
}

/// In the count of those who share a lock: one has it alone.
const ALONE: usize = 0;

impl Disk for MemoryDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.state();
        state.check_parent(path)?;
        if state.files.contains_key(path) || state.is_directory(path) {
            let message = format!("{} exists", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        let bytes = Bytes::default();
        state.files.insert(path.to_owned(), bytes.clone());
        Ok(Box::new(MemoryFile(bytes)))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>> {
        let bytes = self.bytes_of(path)?;
        lock(&bytes).resize(length as usize, 0);
        Ok(Box::new(MemoryFile(bytes)))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(lock(&*self.bytes_of(path)?).clone())
    }

    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        Ok(Arc::new(Snapshot(self.read(path)?)))
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        Ok(lock(&*self.bytes_of(path)?).len() as u64)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        if state.is_directory(path) { Ok(state.children(path)) } else { Err(not_found(path)) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.check_parent(to)?;
        let bytes = state.files.remove(from).ok_or_else(|| not_found(from))?;
        state.files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state().files.remove(path).map(|_| ()).ok_or_else(|| not_found(path))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.directories.extend(path.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !state.children(path).is_empty() {
            let message = format!("{} is not empty", path.display());
            return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, message));
        }
        if state.directories.remove(path) { Ok(()) } else { Err(not_found(path)) }
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        if self.state().is_directory(path) { Ok(()) } else { Err(not_found(path)) }
    }

    fn exists(&self, path: &Path) -> bool {
        let state = self.state();
        state.files.contains_key(path) || state.is_directory(path)
    }

    fn temporary(&self, directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        if directory != std::env::temp_dir() {
            self.state().check_parent(&directory.join("unnamed"))?;
        }
        Ok(Box::<UnnamedFile>::default())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        let mut state = self.state();
        state.check_parent(path)?;
        if state.locked.contains_key(path) {
            return Err(is_locked(path));
        }
        state.locked.insert(path.to_owned(), ALONE);
        state.files.entry(path.to_owned()).or_default();
        Ok(Box::new(LockGuard { disk: self.clone(), path: path.to_owned() }))
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        let mut state = self.state();
        state.check_parent(path)?;
        if state.locked.get(path) == Some(&ALONE) {
            return Err(is_locked(path));
        }
        *state.locked.entry(path.to_owned()).or_default() += 1;
        Ok(Box::new(LockGuard { disk: self.clone(), path: path.to_owned() }))
    }
}

fn is_locked(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, format!("{} is locked", path.display()))
}
