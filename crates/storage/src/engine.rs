//! The native store: opens a directory, hands out snapshots and transactions, and writes files.
//!
//! - [`head`]: where transactions begin and commit, and how they are compared.
//! - [`indexes`]: how a transaction that has built indexes commits, without stopping others meanwhile.
//! - [`log`]: how commits wait for the disk together.
//! - [`flush`]: how writes are merged into files while transactions go on.
//! - [`turn`]: how a transaction that is larger than memory commits by files of its own.
//! - [`replay`]: how logs are repeated when a store is opened.
//! - [`reader`]: how a store that is only read is opened, and moves on.
//! - [`merges`]: how files are merged while transactions go on.
//! - [`background`]: the threads that do so.
//!
//! Locks are taken in this order: `files` or `compacting`, `current`, `head`, then those of the log, then `published`.
//!
//! Invariant: what is published is durable (at `Durability::Full`), in the order of the log.
//! Invariant: after a failed write or sync of the log nothing more is written until the store is opened anew.

mod background;
mod conflicts;
mod counters;
mod flush;
pub(crate) mod head;
mod indexes;
mod log;
mod merges;
mod open;
mod reader;
mod replay;
mod room;
pub(crate) mod turn;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use model::limits::MEMTABLE_BYTES_MAX;
use model::meter::{self, Wait};
use model::platform::Platform;
use model::{
    Capabilities, GraphStore, Interrupt, IsolationLevel, MemoryBudget, ReadView, Result, WriteTransaction, error,
};

pub use counters::{LEVELS, StoreStats};
pub(crate) use replay::Overflow;

use crate::backup::{self, CopySummary};
use crate::compact::throttle::Throttle;
use crate::compact::{self, PartitionInfo};
use crate::engine::background::Background;
use crate::engine::counters::Counters;
use crate::engine::flush::Files;
use crate::engine::head::Head;
use crate::engine::log::CommitLog;
use crate::engine::merges::Extent;
use crate::file::cache::{BlockCache, CacheStatistics};
use crate::levels::Policy;
use crate::snapshot::{Snapshot, capabilities};
use crate::transaction::NativeTransaction;
use crate::version::Version;
use crate::wal::torn::TornLog;

/// Action for a directory that holds no store, and permission to write.
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

/// Durability of commits: the event that a commit waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Until the disk has the transaction.
    #[default]
    Full,
    /// Nothing, but the disk has it after the interval at most: a crash of the machine may lose the commits of that
    /// time. The end of the process alone loses nothing.
    Relaxed {
        /// The time.
        interval: Duration,
    },
    /// Nothing: a crash of the machine may lose what was committed since the last merge into files. For bulk work.
    Off,
}

/// Threads that merge writes into files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Maintenance {
    /// Threads of the store, while transactions go on.
    #[default]
    Background,
    /// The thread that commits, so that runs can be repeated exactly.
    Inline,
}

/// Options for opening a store.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Action for a directory that holds no store, and permission to write.
    pub mode: OpenMode,
    /// Durability of commits.
    pub durability: Durability,
    /// Bytes of writes held in memory before they are merged into files; the memory limit may allow less.
    pub memtable_bytes_max: usize,
    /// Bytes of writes that one transaction holds in memory before it goes on in files of its own; a share of the memory
    /// limit unless given.
    pub transaction_bytes_max: Option<usize>,
    /// The memory limit of the store and of all that reads it, in bytes; `None` for a share of the machine's memory.
    pub memory_bytes_max: Option<usize>,
    /// Threads that merge writes into files.
    pub maintenance: Maintenance,
    /// When and how files of edges are merged.
    pub compaction: Policy,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            mode: OpenMode::Existing,
            durability: Durability::Full,
            memtable_bytes_max: MEMTABLE_BYTES_MAX,
            transaction_bytes_max: None,
            memory_bytes_max: None,
            maintenance: Maintenance::Background,
            compaction: Policy::default(),
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

/// State that a store shares with its transactions and threads.
#[derive(Debug)]
pub(crate) struct Engine {
    path: PathBuf,
    platform: Platform,
    /// The same with a disk that can be written, also in a store that is only read: for what lies outside of its directory.
    outside: Platform,
    options: OpenOptions,
    memory: Arc<MemoryBudget>,
    cache: Arc<BlockCache>,
    /// State that the next transaction begins with; the thread that holds the lock has the turn to commit.
    head: Mutex<Head>,
    /// Told when `Head::is_held` ends.
    head_released: Condvar,
    /// State that readers see.
    published: Mutex<Arc<Snapshot>>,
    /// Held by the thread that merges writes into files, or builds them anew.
    files: Mutex<Files>,
    /// Version that the manifest on the disk names; a thread that changes it holds this lock until the head stands on
    /// it.
    current: Mutex<Arc<Version>>,
    /// Held by the thread that merges files.
    compacting: Mutex<()>,
    throttle: Throttle,
    /// Commits that wait for the disk.
    waiting: Arc<AtomicUsize>,
    log: CommitLog,
    background: Background,
    counters: Arc<Counters>,
    /// The id of the next node that is made.
    next_node: AtomicU64,
    /// Approximate bytes of the head's memtable.
    memtable_bytes: AtomicUsize,
    /// Edge partitions of level 0.
    level0: AtomicUsize,
    /// Bytes that stood behind the sound parts of its logs when it was opened.
    torn: Vec<TornLog>,
    /// The platform without the counter of blocks.
    beneath: Platform,
    /// State at which a store stands that is only read.
    reader: Option<Mutex<reader::Place>>,
    _lock: Option<Box<dyn std::any::Any + Send + Sync>>,
}

impl NativeStore {
    /// Opens the store in a directory: to write, which one process at a time can, until the store and its transactions are
    /// dropped; or to read, which any number can beside it. The run on this thread can stop it, which leaves the store as a crash
    /// would.
    pub fn open(path: &Path, options: OpenOptions, platform: Platform) -> Result<NativeStore> {
        open::open(path, options, platform)
    }

    /// The store's directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Options with which it was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.0.options
    }

    /// The platform it was opened with.
    pub fn platform(&self) -> &Platform {
        &self.0.platform
    }

    /// The budget of all that the store and its readers hold in memory.
    pub fn memory(&self) -> &Arc<MemoryBudget> {
        &self.0.memory
    }

    /// Bytes that stood behind the sound parts of its logs when it was opened: left by a crash, or damaged since. They
    /// are no part of the store; opened for writing, the store keeps them in files beside its logs.
    pub fn torn_logs(&self) -> &[TornLog] {
        &self.0.torn
    }

    /// Statistics of the cache of file blocks.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.0.cache.statistics()
    }

    /// The files under what readers see now.
    pub fn version(&self) -> Arc<Version> {
        lock(&self.0.published).version.clone()
    }

    /// Copies the store as it is now into a new directory, while it is read and written; see [`crate::backup`].
    pub fn backup(&self, destination: &Path, base: Option<&Path>, interrupt: &Interrupt) -> Result<CopySummary> {
        let current = |_: Option<&Arc<Version>>| Ok(self.version());
        backup::backup_of(&self.0.outside, self.path(), destination, base, interrupt, &current)
    }

    /// Approximate bytes of writes held in memory.
    pub fn memtable_bytes(&self) -> usize {
        lock(&self.0.published).memtable.bytes
    }

    /// Statistics of the store since it was opened.
    pub fn stats(&self) -> StoreStats {
        self.0.counters.stats()
    }

    /// Merges all that was committed so far into files; transactions go on meanwhile.
    pub fn checkpoint(&self, interrupt: &Interrupt) -> Result<()> {
        let engine = &self.0;
        engine.check_writable()?;
        let mut files = engine.files_to_write(interrupt)?;
        engine.check_open()?;
        engine.flush(&mut files, interrupt)?;
        drop(files);
        engine.compact_if_due();
        Ok(())
    }

    /// Merges all writes and all files of edges: what is left has one partition for each interval.
    pub fn compact(&self, interrupt: &Interrupt) -> Result<()> {
        self.checkpoint(interrupt)?;
        self.0.compact(Extent::All, interrupt)
    }

    /// The edge partitions, oldest first where they overlap.
    pub fn levels(&self) -> Vec<PartitionInfo> {
        compact::levels(&self.version())
    }

    /// Runs a build of new files, such as a bulk load, on the current version, and publishes its result. All writes are
    /// merged into files first; no transaction begins or commits meanwhile, and those that are open cannot commit after.
    /// If it fails, the store is as it was; only if it failed in the moment of replacing the manifest does the store refuse
    /// writes until it is opened anew.
    pub fn rebuild<T>(
        &self,
        interrupt: &Interrupt,
        build: impl FnOnce(&Arc<Version>) -> Result<(Arc<Version>, T)>,
    ) -> Result<T> {
        let engine = &self.0;
        engine.check_writable()?;
        let _hold = Hold::new(engine)?;
        let mut files = lock(&engine.files);
        engine.flush(&mut files, interrupt)?;
        let mut current = lock(&engine.current);
        let base = current.clone();
        match build(&base) {
            Ok((version, result)) => {
                engine.make_current(&mut current, &version);
                engine.publish_version(version);
                drop(current);
                engine.compact_if_due();
                Ok(result)
            }
            Err(error) => {
                engine.fail_if_replaced(&base, &error);
                Err(error)
            }
        }
    }
}

impl Drop for NativeStore {
    fn drop(&mut self) {
        self.0.stop_threads();
    }
}

/// Keeps everybody from beginning and committing until it is dropped.
struct Hold<'a>(&'a Engine);

impl Hold<'_> {
    fn new(engine: &Engine) -> Result<Hold<'_>> {
        engine.head_to_write(false)?.is_held = true;
        Ok(Hold(engine))
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        lock(&self.0.head).is_held = false;
        self.0.head_released.notify_all();
    }
}

impl Engine {
    fn check_writable(&self) -> Result<()> {
        match self.options.mode {
            OpenMode::ReadOnly => Err(error!(ReadOnly, "{} was opened for reading only", self.path.display())),
            OpenMode::Existing | OpenMode::CreateIfMissing => Ok(()),
        }
    }

    /// Closes the store for writing if an error may have come after another version was made the store's.
    fn fail_if_replaced(&self, version: &Version, error: &model::Error) {
        if !version.is_current() {
            self.log.fail(error);
        }
    }
}

impl GraphStore for NativeStore {
    fn capabilities(&self) -> Capabilities {
        capabilities(self.0.options.mode != OpenMode::ReadOnly)
    }

    fn read(&self) -> Result<Arc<dyn ReadView>> {
        Ok(lock(&self.0.published).clone())
    }

    fn write(&self) -> Result<Box<dyn WriteTransaction>> {
        self.write_isolated(IsolationLevel::Snapshot)
    }

    fn write_isolated(&self, isolation: IsolationLevel) -> Result<Box<dyn WriteTransaction>> {
        self.0.check_writable()?;
        Ok(Box::new(NativeTransaction::new(self.0.begin(isolation)?)))
    }

    fn write_alone(&self, isolation: IsolationLevel) -> Result<Box<dyn WriteTransaction>> {
        self.0.check_writable()?;
        Ok(Box::new(NativeTransaction::new(self.0.begin_alone(isolation)?)))
    }
}

/// Locks a mutex whose data is whole at every moment, so that a panic elsewhere while it was held does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same; the time is counted if somebody else holds the lock.
fn lock_waiting<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(held) => held,
        Err(TryLockError::Poisoned(held)) => PoisonError::into_inner(held),
        Err(TryLockError::WouldBlock) => {
            let _waiting = meter::waiting(Wait::Lock);
            lock(mutex)
        }
    }
}
