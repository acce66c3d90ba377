//! A disk that fails at a chosen operation, and forgets at a crash what was not made durable.
//!
//! Counted operations are those that change the disk: `create`, `append`, `reserve`, `write`, `sync`, `rename`, `remove`,
//! `create_directory`, `remove_directory` and `sync_directory`. Reads fail after a crash, and of bytes that the disk was told
//! not to be able to read ([`FaultyDisk::fail_reads`]). They are counted for themselves, each piece that is read and each map,
//! and fail at a chosen one ([`FaultyDisk::fail_read_at`]): so do also those of files that have no name, or none yet.
//!
//! Invariant: what [`FaultyDisk::lose_unsynced`] leaves is a state that the contract of `Disk` allows after a power
//! cut: synced bytes and the names of synced directories are there; of the rest, the latest is lost first.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::platform::{Disk, MappedFile, TemporaryFile, WriteFile};

use super::{JournalDisk, PAGE_BYTES};
use crate::random::SeededRandom;

/// A disk around another that fails when told. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct FaultyDisk {
    inner: Arc<dyn Disk>,
    state: Arc<Mutex<State>>,
    /// Told of syncs that fail.
    journal: Option<JournalDisk>,
}

#[derive(Debug, Default)]
struct State {
    operations: u64,
    fault: Option<Fault>,
    is_down: bool,
    /// Files that are not wholly durable.
    files: BTreeMap<PathBuf, FileLength>,
    /// Changes of names since their directory was synced, oldest first.
    names: Vec<NameChange>,
    /// Up to where room was taken for files, which is there also on a full disk.
    reserved: BTreeMap<PathBuf, u64>,
    /// Bytes for which there is room on a full disk.
    free: u64,
    /// Room cannot be taken beforehand.
    reserves_nothing: bool,
    /// Files that this user may not read, and directories in which it may make none.
    forbidden: Vec<PathBuf>,
    /// Bytes of files that cannot be read.
    unreadable: Vec<(PathBuf, Range<u64>)>,
    reads: u64,
    /// The read that fails.
    failing_read: Option<u64>,
    /// If it is a map, the map is there.
    loses_map: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct FileLength {
    synced: u64,
    written: u64,
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    at_operation: u64,
    effect: Effect,
}

#[derive(Clone, Copy, Debug)]
enum Effect {
    /// That operation alone fails.
    FailOnce(ErrorKind),
    /// That operation and all later ones that need space fail.
    Full,
    /// That operation and everything after it fails: the machine is off.
    Crash,
}

/// A change of a name that can be undone, with the directory that makes it durable.
#[derive(Debug)]
enum NameChange {
    Created(PathBuf),
    Renamed { from: PathBuf, to: PathBuf, replaced: Option<Vec<u8>> },
    Removed(PathBuf, Vec<u8>),
}

impl NameChange {
    fn directory(&self) -> Option<&Path> {
        match self {
            NameChange::Created(path) | NameChange::Removed(path, _) => path.parent(),
            NameChange::Renamed { to, .. } => to.parent(),
        }
    }
}

impl FaultyDisk {
    /// A disk that does not fail yet.
    pub fn new(inner: Arc<dyn Disk>) -> FaultyDisk {
        FaultyDisk { inner, state: Arc::default(), journal: None }
    }

    /// A disk around one with a journal, in which a sync that fails has made the operating system forget what it had to
    /// write.
    pub fn over(journal: &JournalDisk) -> FaultyDisk {
        FaultyDisk { journal: Some(journal.clone()), ..FaultyDisk::new(Arc::new(journal.clone())) }
    }

    /// The same disk, but one that cannot take room beforehand, like some file systems.
    #[must_use]
    pub fn without_reserve(self) -> FaultyDisk {
        self.state().reserves_nothing = true;
        self
    }

    /// Operations counted so far, failed ones too.
    pub fn operation_count(&self) -> u64 {
        self.state().operations
    }

    /// The operation of that number fails once with an error of that kind; later ones work. The next operation has the
    /// number [`FaultyDisk::operation_count`].
    pub fn fail_at(&self, operation: u64, kind: ErrorKind) {
        self.state().fault = Some(Fault { at_operation: operation, effect: Effect::FailOnce(kind) });
    }

    /// From that operation on the disk is full: what needs space fails with `StorageFull`.
    pub fn fill_at(&self, operation: u64) {
        self.state().fault = Some(Fault { at_operation: operation, effect: Effect::Full });
    }

    /// From the next operation on the disk is full, but for room for that many bytes, in files that are there.
    pub fn fill_but_for(&self, free: u64) {
        let mut state = self.state();
        state.free = free;
        state.fault = Some(Fault { at_operation: state.operations, effect: Effect::Full });
    }

    /// From that operation on the machine is off: everything fails. A write that is cut off may have written a part.
    pub fn crash_at(&self, operation: u64) {
        self.state().fault = Some(Fault { at_operation: operation, effect: Effect::Crash });
    }

    /// From now on these bytes of a file, and those of the pages around them, cannot be read.
    pub fn fail_reads(&self, path: &Path, bytes: Range<u64>) {
        let pages = bytes.start / PAGE_BYTES * PAGE_BYTES..bytes.end.next_multiple_of(PAGE_BYTES);
        self.state().unreadable.push((path.to_owned(), pages));
    }

    /// Takes the right from this user to read a file, or to make one in a directory.
    pub fn forbid(&self, path: &Path) {
        self.state().forbidden.push(path.to_owned());
    }

    /// Gives all rights back that [`FaultyDisk::forbid`] took.
    pub fn allow(&self) {
        self.state().forbidden.clear();
    }

    /// Reads counted so far, failed ones too.
    pub fn read_count(&self) -> u64 {
        self.state().reads
    }

    /// The read of that number fails; later ones work. The next read has the number [`FaultyDisk::read_count`].
    pub fn fail_read_at(&self, read: u64) {
        let mut state = self.state();
        (state.failing_read, state.loses_map) = (Some(read), false);
    }

    /// The same, but a map that fails is there, and says that nothing of it could be read; it stays so.
    pub fn fail_read_or_lose_map_at(&self, read: u64) {
        let mut state = self.state();
        (state.failing_read, state.loses_map) = (Some(read), true);
    }

    /// All files can be read again.
    pub fn mend_reads(&self) {
        let mut state = self.state();
        state.unreadable.clear();
        state.failing_read = None;
    }

    /// True once a crash has come.
    pub fn is_down(&self) -> bool {
        self.state().is_down
    }

    /// Takes faults back; a full disk has space again. A crash stays.
    pub fn mend(&self) {
        self.state().fault = None;
    }

    /// Turns the machine off and takes from the inner disk what was not durable, some of it or all, as the seed
    /// decides; `None` takes all. What uses this disk is then dropped, and the inner disk opened anew.
    ///
    /// # Errors
    /// If the inner disk fails.
    pub fn lose_unsynced(&self, seed: Option<u64>) -> io::Result<()> {
        let mut state = self.state();
        state.is_down = true;
        let mut random = seed.map(SeededRandom::new);
        let mut kept = |count: u64| random.as_mut().map_or(0, |random| random.below(count + 1));
        for (path, length) in std::mem::take(&mut state.files) {
            if self.inner.exists(&path) {
                let on_disk = self.inner.length(&path)?;
                let end = length.synced + kept(length.written.max(length.synced) - length.synced);
                self.inner.append(&path, end.min(on_disk))?.sync()?;
            }
        }
        let mut names = std::mem::take(&mut state.names);
        let survivors = kept(names.len() as u64) as usize;
        for change in names.drain(survivors..).rev() {
            self.undo(change)?;
        }
        Ok(())
    }

    fn undo(&self, change: NameChange) -> io::Result<()> {
        match change {
            NameChange::Created(path) if self.inner.exists(&path) => self.inner.remove(&path),
            NameChange::Created(_) => Ok(()),
            NameChange::Renamed { from, to, replaced } => {
                self.inner.rename(&to, &from)?;
                replaced.map_or(Ok(()), |bytes| self.restore(&to, &bytes))
            }
            NameChange::Removed(path, bytes) => self.restore(&path, &bytes),
        }
    }

    fn restore(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.inner.create(path)?;
        file.write_all(bytes)?;
        file.sync()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resource that an operation needs; one that needs space fails on a full disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Space,
    Nothing,
}

impl State {
    /// Counts an operation, and fails if its time has come.
    fn step(&mut self, needs: Needs) -> io::Result<()> {
        self.check_up()?;
        let operation = self.operations;
        self.operations += 1;
        let Some(Fault { at_operation, effect }) = self.fault else { return Ok(()) };
        let error = |kind| Err(io::Error::new(kind, format!("simulated failure of disk operation {operation}")));
        match effect {
            Effect::FailOnce(kind) if operation == at_operation => error(kind),
            Effect::Full if operation >= at_operation && needs == Needs::Space => error(ErrorKind::StorageFull),
            Effect::Crash if operation >= at_operation => {
                self.is_down = true;
                error(ErrorKind::BrokenPipe)
            }
            _ => Ok(()),
        }
    }

    /// Gives back the room that was taken for a file behind its end.
    fn give_back(&mut self, path: &Path, length: u64) {
        if let Some(end) = self.reserved.remove(path)
            && matches!(self.fault, Some(Fault { effect: Effect::Full, .. }))
        {
            self.free += end.saturating_sub(length);
        }
    }

    /// Counts a write at the end of a file.
    fn step_of_write(&mut self, path: &Path, bytes: usize) -> io::Result<()> {
        let written = self.files.get(path).map_or(0, |file| file.written);
        let reserved = self.reserved.get(path).copied().unwrap_or(0);
        let growth = (written + bytes as u64).saturating_sub(reserved.max(written));
        let has_room = growth <= self.free;
        self.step(if has_room { Needs::Nothing } else { Needs::Space })?;
        self.free -= if has_room { growth } else { 0 };
        Ok(())
    }

    /// Counts a read, and fails if its time has come.
    fn step_of_read(&mut self) -> io::Result<()> {
        self.check_up()?;
        let read = self.reads;
        self.reads += 1;
        if self.failing_read == Some(read) {
            return Err(io::Error::other(format!("simulated failure of read {read}")));
        }
        Ok(())
    }

    /// Counts a read, and fails if some of the bytes cannot be read.
    fn check_read(&mut self, path: &Path, bytes: Range<u64>) -> io::Result<()> {
        self.step_of_read()?;
        self.check_right(path)?;
        let is_hit = |bad: &Range<u64>| bad.start < bytes.end && bytes.start < bad.end;
        if self.unreadable_parts(path).any(is_hit) {
            return Err(io::Error::other("a simulated sector that cannot be read"));
        }
        Ok(())
    }

    /// The parts of a file that cannot be read.
    fn unreadable_parts(&self, path: &Path) -> impl Iterator<Item = &Range<u64>> {
        self.unreadable.iter().filter(move |(of, _)| of == path).map(|(_, bad)| bad)
    }

    fn check_right(&self, path: &Path) -> io::Result<()> {
        if self.forbidden.iter().any(|forbidden| forbidden == path) {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "simulated: Permission denied"));
        }
        Ok(())
    }

    fn check_up(&self) -> io::Result<()> {
        if self.is_down {
            return Err(io::Error::new(ErrorKind::BrokenPipe, "the simulated machine is off"));
        }
        Ok(())
    }
}

struct FaultyFile {
    disk: FaultyDisk,
    inner: Box<dyn WriteFile>,
    /// Path of the file when it was opened; writers do not rename files that they write.
    path: PathBuf,
}

impl FaultyFile {
    fn add_written(&self, bytes: usize) {
        self.disk.state().files.entry(self.path.clone()).or_default().written += bytes as u64;
    }
}

impl io::Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let was_down = self.disk.is_down();
        if let Err(error) = { self.disk.state().step_of_write(&self.path, bytes.len()) } {
            if !was_down {
                // The operation that fails may have got half way: readers must cope with torn writes.
                let torn = &bytes[..bytes.len() / 2];
                self.inner.write_all(torn)?;
                self.inner.flush()?;
                self.add_written(torn.len());
            }
            return Err(error);
        }
        let count = self.inner.write(bytes)?;
        self.add_written(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.disk.state().check_up()?;
        self.inner.flush()
    }
}

impl WriteFile for FaultyFile {
    fn sync(&mut self) -> io::Result<()> {
        if let Err(error) = { self.disk.state().step(Needs::Nothing) } {
            if let Some(journal) = &self.disk.journal {
                journal.sync_failed(&self.path);
            }
            return Err(error);
        }
        self.inner.sync()?;
        let mut state = self.disk.state();
        if let Some(length) = state.files.get_mut(&self.path) {
            length.synced = length.written;
        }
        Ok(())
    }
}

/// Bytes that stand where a disk cannot read.
const UNREAD: u8 = 0xEE;

/// A map of such a disk.
struct FaultyMap {
    disk: FaultyDisk,
    path: PathBuf,
    bytes: Vec<u8>,
    /// The bytes of a map that was made while part of the file could not be read. Unreadable bytes must not be taken for the
    /// real content: a reader that does not check gets these, until the disk reads again, as a kernel reads a page anew.
    unread: Option<Vec<u8>>,
    /// True if nothing of it could be read.
    is_lost: bool,
}

fn lost_map() -> io::Error {
    io::Error::other("a simulated map of which nothing can be read")
}

impl MappedFile for FaultyMap {
    fn bytes(&self) -> &[u8] {
        match &self.unread {
            Some(unread) if self.disk.state().unreadable_parts(&self.path).next().is_some() => unread,
            _ => &self.bytes,
        }
    }

    fn lost(&self) -> Option<(usize, io::Error)> {
        self.is_lost.then(|| (0, lost_map()))
    }

    fn populate(&self, start: usize, length: usize) -> io::Result<()> {
        if self.is_lost {
            return Err(lost_map());
        }
        let page = start as u64 / PAGE_BYTES * PAGE_BYTES;
        self.disk.state().check_read(&self.path, page..(start + length) as u64)
    }
}

/// A file without a name on such a disk: a crash leaves nothing of it in any case.
struct FaultyTemporaryFile {
    disk: FaultyDisk,
    inner: Box<dyn TemporaryFile>,
}

impl TemporaryFile for FaultyTemporaryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.disk.state().step(Needs::Space)?;
        self.inner.append(bytes)
    }

    fn write_at(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.state().step(Needs::Space)?;
        self.inner.write_at(start, bytes)
    }

    fn read_at(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.state().step_of_read()?;
        self.inner.read_at(start, out)
    }
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.state();
        state.step(Needs::Space)?;
        path.parent().map_or(Ok(()), |directory| state.check_right(directory))?;
        let inner = self.inner.create(path)?;
        state.files.insert(path.to_owned(), FileLength::default());
        state.names.push(NameChange::Created(path.to_owned()));
        Ok(Box::new(FaultyFile { disk: self.clone(), inner, path: path.to_owned() }))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.state();
        state.step(Needs::Nothing)?;
        let on_disk = self.inner.length(path)?;
        let inner = self.inner.append(path, length)?;
        let known = state.files.entry(path.to_owned()).or_insert(FileLength { synced: on_disk, written: on_disk });
        known.synced = known.synced.min(length);
        known.written = length;
        // Cutting a file gives back the room behind its end.
        state.give_back(path, length);
        Ok(Box::new(FaultyFile { disk: self.clone(), inner, path: path.to_owned() }))
    }

    fn reserve(&self, path: &Path, end: u64) -> io::Result<()> {
        let mut state = self.state();
        if state.reserves_nothing {
            return Ok(());
        }
        let before = state.reserved.get(path).copied().map_or_else(|| self.inner.length(path), Ok)?;
        let growth = end.saturating_sub(before);
        match state.step(Needs::Space) {
            Err(error) if error.kind() == ErrorKind::StorageFull && growth <= state.free => state.free -= growth,
            outcome => outcome?,
        }
        state.reserved.insert(path.to_owned(), end);
        Ok(())
    }

    fn release(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.check_up()?;
        let length = self.inner.length(path).unwrap_or(u64::MAX);
        state.give_back(path, length);
        Ok(())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.state().check_read(path, 0..u64::MAX)?;
        self.inner.read(path)
    }

    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        let mut bytes = self.inner.map(path)?.bytes().to_vec();
        let is_lost = {
            let mut state = self.state();
            state.check_up()?;
            state.check_right(path)?;
            let read = state.step_of_read();
            if state.loses_map { read.is_err() } else { read.map(|()| false)? }
        };
        if is_lost {
            bytes.fill(UNREAD);
        }
        let mut unread = None;
        for bad in self.state().unreadable_parts(path) {
            let unread = unread.get_or_insert_with(|| bytes.clone());
            let end = (bad.end as usize).min(unread.len());
            unread[(bad.start as usize).min(end)..end].fill(UNREAD);
        }
        Ok(Arc::new(FaultyMap { disk: self.clone(), path: path.to_owned(), bytes, unread, is_lost }))
    }

    fn read_range(&self, path: &Path, start: u64, length: usize) -> io::Result<Vec<u8>> {
        self.state().check_read(path, start..start + length as u64)?;
        self.inner.read_range(path, start, length)
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        self.state().check_up()?;
        self.inner.length(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.state().check_up()?;
        self.inner.list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step(Needs::Nothing)?;
        let replaced = if self.inner.exists(to) { Some(self.inner.read(to)?) } else { None };
        self.inner.rename(from, to)?;
        if let Some(length) = state.files.remove(from) {
            state.files.insert(to.to_owned(), length);
        }
        state.names.push(NameChange::Renamed { from: from.to_owned(), to: to.to_owned(), replaced });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step(Needs::Nothing)?;
        let bytes = self.inner.read(path)?;
        self.inner.remove(path)?;
        state.files.remove(path);
        state.reserved.remove(path);
        state.names.push(NameChange::Removed(path.to_owned(), bytes));
        Ok(())
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.state().step(Needs::Space)?;
        self.inner.create_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.state().step(Needs::Nothing)?;
        self.inner.remove_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step(Needs::Nothing)?;
        self.inner.sync_directory(path)?;
        state.names.retain(|change| change.directory() != Some(path));
        Ok(())
    }

    fn temporary(&self, directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        self.state().step(Needs::Space)?;
        let inner = self.inner.temporary(directory)?;
        Ok(Box::new(FaultyTemporaryFile { disk: self.clone(), inner }))
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.state().check_up()?;
        self.inner.lock_shared(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.state().check_up()?;
        self.inner.lock(path)
    }
}

#[cfg(test)]
mod tests;
