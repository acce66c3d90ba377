//! The native store: opens a directory, hands out snapshots, lets one transaction write at a time, and writes files.
//!
//! Commit is in two steps, so that commits share the wait for the disk: under the writer's turn a transaction leaves its
//! record in a queue and its root for the next transaction; then, the turn given on, whoever comes first writes and syncs
//! all that is queued, and publishes.
//!
//! Invariant: what is published is durable (at `Durability::Full`), in the order of the log.
//! Invariant: after a failed write or sync nothing more is written until the store is opened anew.

mod commit;
pub(crate) mod gate;
mod open;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::limits::MEMTABLE_BYTES_MAX;
use model::platform::Platform;
use model::{Capabilities, ErrorCode, GraphStore, Interrupt, MemoryBudget, ReadView, Result, WriteTransaction, error};

use crate::backup::{self, CopySummary};
use crate::engine::commit::CommitLog;
use crate::engine::gate::{Gate, Turn};
use crate::error::StorageError;
use crate::file::cache::{BlockCache, CacheStatistics};
use crate::flush;
use crate::format::FileKind;
use crate::manifest::Manifest;
use crate::snapshot::{Snapshot, capabilities};
use crate::transaction::NativeTransaction;
use crate::version::Version;
use crate::wal::writer::WalWriter;

/// What to do about a directory that holds no store, and whether to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenMode {
    /// Open an existing store for reading and writing.
    #[default]
    Existing,
    /// Open for reading and writing; make the store if nothing is there.
    CreateIfMissing,
    /// Open an existing store for reading only.
    ReadOnly,
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Until the disk has the transaction.
    #[default]
    Full,
    /// Nothing: a crash of the machine may lose what was committed last. For bulk work.
    Off,
}

/// How to open a store.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// What to do about a directory that holds no store, and whether to write.
    pub mode: OpenMode,
    /// What a commit waits for.
    pub durability: Durability,
    /// Bytes of writes held in memory before they are merged into files; the memory limit may allow less.
    pub memtable_bytes_max: usize,
    /// The memory limit of the store and of all that reads it, in bytes; `None` for a share of the machine's memory.
    pub memory_bytes_max: Option<usize>,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            mode: OpenMode::Existing,
            durability: Durability::Full,
            memtable_bytes_max: MEMTABLE_BYTES_MAX,
            memory_bytes_max: None,
        }
    }
}

impl OpenOptions {
    /// Options that make the store if nothing is there.
    pub fn create() -> OpenOptions {
        OpenOptions { mode: OpenMode::CreateIfMissing, ..OpenOptions::default() }
    }

    /// Options that only read.
    pub fn read_only() -> OpenOptions {
        OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() }
    }
}

/// A store in a directory, open in this process.
#[derive(Debug)]
pub struct NativeStore(Arc<Engine>);

/// What a store shares with its transactions.
#[derive(Debug)]
pub(crate) struct Engine {
    path: PathBuf,
    platform: Platform,
    options: OpenOptions,
    memory: Arc<MemoryBudget>,
    cache: Arc<BlockCache>,
    gate: Arc<Gate>,
    /// What the next transaction begins with; changed only by who has the turn.
    head: Mutex<Head>,
    /// What readers see.
    published: Mutex<Arc<Snapshot>>,
    log: CommitLog,
    _lock: Box<dyn std::any::Any + Send + Sync>,
}

/// The state after the last transaction that is in the queue of the log or behind.
#[derive(Clone, Debug)]
struct Head {
    snapshot: Arc<Snapshot>,
    sequence: u64,
}

impl NativeStore {
    /// Opens the store in a directory. The directory is this process's until the store and its transactions are dropped.
    pub fn open(path: &Path, options: OpenOptions, platform: Platform) -> Result<NativeStore> {
        open::open(path, options, platform)
    }

    /// The store's directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// How it was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.0.options
    }

    /// The platform it was opened with.
    pub fn platform(&self) -> &Platform {
        &self.0.platform
    }

    /// The budget of all that the store, and whoever reads it, holds in memory.
    pub fn memory(&self) -> &Arc<MemoryBudget> {
        &self.0.memory
    }

    /// What the cache of file blocks has done.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.0.cache.statistics()
    }

    /// The files under what readers see now.
    pub fn version(&self) -> Arc<Version> {
        self.0.published().version.clone()
    }

    /// Copies the store as it is now into a new directory, while it is read and written; see [`crate::backup`].
    pub fn backup(&self, destination: &Path, base: Option<&Path>, interrupt: &Interrupt) -> Result<CopySummary> {
        let current = || Ok(self.version());
        backup::backup_of(self.platform(), self.path(), destination, base, interrupt, &current)
    }

    /// Bytes of writes held in memory, roughly.
    pub fn memtable_bytes(&self) -> usize {
        self.0.published().memtable.bytes
    }

    /// Merges all writes into files. Waits for the transaction that writes now.
    pub fn checkpoint(&self, interrupt: &Interrupt) -> Result<()> {
        let turn = self.0.turn()?;
        self.0.flush(&turn, interrupt)
    }

    /// Runs a build of new files, such as a bulk load, on the current version, and publishes its result. All writes are
    /// merged into files first; no transaction can begin meanwhile. If it fails, the store is as it was;
    /// only if it failed in the moment of replacing the manifest does the store refuse writes until it is opened anew.
    pub fn rebuild<T>(
        &self,
        interrupt: &Interrupt,
        build: impl FnOnce(&Arc<Version>) -> Result<(Arc<Version>, T)>,
    ) -> Result<T> {
        let engine = &self.0;
        let turn = engine.turn()?;
        engine.flush(&turn, interrupt)?;
        let head = lock(&engine.head).clone();
        match build(&head.snapshot.version) {
            Ok((version, result)) => {
                engine.publish_version(&turn, version);
                Ok(result)
            }
            Err(error) => {
                if !engine.is_current(&head.snapshot.version) {
                    engine.log.fail(&error);
                }
                Err(error)
            }
        }
    }
}

impl Engine {
    /// True if the manifest on the disk is that of the version. A build that failed at its very end may have replaced it.
    fn is_current(&self, version: &Version) -> bool {
        let generation = version.manifest().generation;
        Manifest::read(&self.platform.disk, &self.path).is_ok_and(|manifest| manifest.generation == generation)
    }

    fn published(&self) -> MutexGuard<'_, Arc<Snapshot>> {
        lock(&self.published)
    }

    /// Waits for the turn to write.
    fn turn(self: &Arc<Self>) -> Result<Turn> {
        if self.options.mode == OpenMode::ReadOnly {
            return Err(error!(ReadOnly, "{} was opened for reading only", self.path.display()));
        }
        let turn = Gate::enter(&self.gate);
        self.check_open()?;
        Ok(turn)
    }

    /// Fails with `CLOSED` after a failed write.
    fn check_open(&self) -> Result<()> {
        match self.log.failure() {
            None => Ok(()),
            Some(cause) => Err(StorageError::Closed { path: self.path.clone(), cause }.into()),
        }
    }

    /// Makes a transaction durable, then visible.
    pub(crate) fn commit(self: &Arc<Self>, turn: Turn, snapshot: Snapshot, log: &[u8]) -> Result<()> {
        if log.is_empty() {
            return Ok(());
        }
        self.check_open()?;
        let snapshot = Arc::new(snapshot);
        let is_full = snapshot.memtable.bytes > self.options.memtable_bytes_max;
        let sequence = {
            let mut head = lock(&self.head);
            head.sequence += 1;
            head.snapshot = snapshot.clone();
            self.log.enqueue(head.sequence, log, snapshot);
            head.sequence
        };
        drop(turn);
        self.finish_commits(sequence)?;
        if is_full {
            self.flush_if_full();
        }
        Ok(())
    }

    /// Waits until the transaction with that sequence number is durable and visible.
    fn finish_commits(&self, sequence: u64) -> Result<()> {
        let publish = |snapshot: Arc<Snapshot>| *self.published() = snapshot;
        self.log.finish(sequence, self.options.durability, &self.path, publish)
    }

    /// Merges the memtable into files and begins a new log.
    fn flush(&self, turn: &Turn, interrupt: &Interrupt) -> Result<()> {
        let head = lock(&self.head).clone();
        self.finish_commits(head.sequence)?;
        if head.snapshot.memtable.is_empty() {
            return Ok(());
        }
        match self.write_files(&head.snapshot, interrupt) {
            Ok((version, writer)) => {
                let old = head.snapshot.version.manifest().wal_number;
                self.log.replace(writer);
                self.publish_version(turn, version);
                // A log that cannot be removed now is removed when the store is next opened.
                let _ = self.platform.disk.remove(&self.path.join(FileKind::Wal.file_name(old)));
                Ok(())
            }
            Err(error) => {
                if error.code() != ErrorCode::Cancelled {
                    self.log.fail(&error);
                }
                Err(error)
            }
        }
    }

    fn write_files(&self, snapshot: &Snapshot, interrupt: &Interrupt) -> Result<(Arc<Version>, WalWriter)> {
        let manifest = snapshot.version.manifest();
        let (number, disk) = (manifest.wal_number + 1, &*self.platform.disk);
        let path = self.path.join(FileKind::Wal.file_name(number));
        if disk.exists(&path) {
            disk.remove(&path).map_err(|error| StorageError::io("remove", &path, error))?;
        }
        let writer = WalWriter::create(disk, &self.path, number, manifest.store_identity)?;
        let version = flush::merge(&snapshot.version, &snapshot.memtable, number, interrupt)?;
        Ok((version, writer))
    }

    /// Goes on with new files and nothing written since.
    fn publish_version(&self, _turn: &Turn, version: Arc<Version>) {
        let snapshot = Arc::new(Snapshot::new(version));
        lock(&self.head).snapshot = snapshot.clone();
        *self.published() = snapshot;
    }

    /// Flushes after a commit. The commit stands whatever happens here; a failure closes the store for writing.
    fn flush_if_full(self: &Arc<Self>) {
        let Ok(turn) = self.turn() else { return };
        if lock(&self.head).snapshot.memtable.bytes > self.options.memtable_bytes_max {
            // The failure is kept and told to the next writer.
            let _ = self.flush(&turn, &Interrupt::new());
        }
    }
}

impl GraphStore for NativeStore {
    fn capabilities(&self) -> Capabilities {
        capabilities(self.0.options.mode != OpenMode::ReadOnly)
    }

    fn read(&self) -> Result<Arc<dyn ReadView>> {
        Ok(self.0.published().clone())
    }

    fn write(&self) -> Result<Box<dyn WriteTransaction>> {
        let turn = self.0.turn()?;
        let snapshot = Snapshot::clone(&lock(&self.0.head).snapshot);
        Ok(Box::new(NativeTransaction::new(self.0.clone(), turn, snapshot)))
    }
}

/// Locks a mutex whose data is whole at every moment, so that a panic elsewhere while it was held does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
