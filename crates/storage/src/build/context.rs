//! State shared by all parts of one build: the directory and numbers of its files, the budget, and the interrupt.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use model::memory::Reservation;
use model::platform::Platform;
use model::{Consumer, Interrupt, MemoryBudget, Result};

use super::BuildConfig;
use crate::file::cache::BlockCache;
use crate::file::{FileWriter, StoreFile};
use crate::format::{FileKind, PARTITION_SLOTS};
use crate::numbers::{EdgeNumbers, FileNumbers};

/// Bytes of a buffer below which spilling it would cost more than it spares.
const BUFFER_BYTES_MIN: usize = 256 << 10;

/// Share of a build's memory that counting edges by target may take, as a divisor.
const TARGET_SHARE: usize = 4;
/// No partition is cut to fewer targets, however little memory there is: the many partitions would cost more.
const TARGETS_MIN: usize = 1 << 16;
/// Partitions beside each other at most, as far as the number of targets says where they are cut: most slots are left to levels,
/// merges and old snapshots.
const INTERVALS_MAX: u64 = PARTITION_SLOTS as u64 / 8;

/// One build of files. It removes every file it made when it is dropped, unless a manifest that names them was published
/// ([`crate::version::Version::publish`]).
#[derive(Debug)]
pub struct BuildContext {
    /// The operating system.
    pub platform: Platform,
    /// The store's directory.
    pub directory: PathBuf,
    /// Limits and options of the build.
    pub config: BuildConfig,
    /// Interrupt that can stop it.
    pub interrupt: Interrupt,
    numbers: Arc<FileNumbers>,
    edge_numbers: Arc<EdgeNumbers>,
    created: Mutex<Vec<PathBuf>>,
    /// Files that a transaction made, and that its manifest names as well.
    adopted: Mutex<Vec<Arc<StoreFile>>>,
    is_kept: AtomicBool,
}

/// A function to call in a loop: every 4,096th call checks the interrupt.
pub(crate) fn heard(interrupt: &Interrupt) -> impl FnMut() -> Result<()> + '_ {
    const CALLS: u32 = 4_096;
    let mut calls: u32 = 0;
    move || {
        calls = calls.wrapping_add(1);
        if calls.is_multiple_of(CALLS) { interrupt.check() } else { Ok(()) }
    }
}

impl BuildContext {
    /// Checks the build's interrupt from within a loop, as [`heard`] does.
    pub fn heard(&self) -> impl FnMut() -> Result<()> + '_ {
        heard(&self.interrupt)
    }

    /// A build in a store's directory, whose files and new edges take these numbers.
    pub fn new(
        platform: &Platform,
        directory: &Path,
        numbers: (&Arc<FileNumbers>, &Arc<EdgeNumbers>),
        config: &BuildConfig,
        interrupt: &Interrupt,
    ) -> BuildContext {
        BuildContext {
            platform: platform.clone(),
            directory: directory.to_owned(),
            config: config.clone(),
            interrupt: interrupt.clone(),
            numbers: numbers.0.clone(),
            edge_numbers: numbers.1.clone(),
            created: Mutex::default(),
            adopted: Mutex::default(),
            is_kept: AtomicBool::new(false),
        }
    }

    /// A new file of the build.
    pub fn create(&self, kind: FileKind) -> Result<FileWriter> {
        let number = self.numbers.take();
        let identity = self.platform.random.next_u64();
        let writer = FileWriter::create(&self.platform.disk, &self.directory, kind, number, identity)?;
        self.created.lock().expect("no holder of this lock panics").push(writer.path().to_owned());
        Ok(writer.with_numbers(self.numbers.clone()))
    }

    /// Reserves numbers for `count` new edges; returns the first of them.
    pub fn edge_numbers(&self, count: u64) -> Result<u64> {
        self.edge_numbers.take(count)
    }

    /// The memory budget that the build draws on; one that only counts where the disk has no cache of blocks.
    pub fn budget(&self) -> Arc<MemoryBudget> {
        BlockCache::of(&*self.platform.disk).map_or_else(MemoryBudget::unlimited, |cache| cache.budget().clone())
    }

    /// Largest number of targets of one partition of a store with `node_id_bound` ids: few enough that counting their edges
    /// takes a quarter of the memory that the build plans with, and enough that partitions beside each other leave slots free.
    pub fn targets_max(&self, node_id_bound: u64) -> u64 {
        let budget = self.budget();
        let planned = self.config.memory_bytes.max(budget.share(self.config.consumer) / 2);
        let within_memory = (planned / TARGET_SHARE / size_of::<u32>()).max(TARGETS_MIN) as u64;
        within_memory.max(node_id_bound.div_ceil(INTERVALS_MAX))
    }

    /// Memory for a buffer that spills to the disk: an eighth of what the build may use, or what the budget has.
    pub fn memory_for(&self, consumer: Consumer) -> Reservation {
        let budget = self.budget();
        let most = (self.config.memory_bytes / 8).min(budget.share(consumer) / 2);
        budget.reserve_between(consumer, BUFFER_BYTES_MIN.min(most), most)
    }

    /// Removes a file of the build that is not needed any more.
    pub fn discard(&self, path: &Path) {
        self.created.lock().expect("no holder of this lock panics").retain(|made| made != path);
        // A file that cannot be removed now is removed when the store is next opened.
        let _ = self.platform.disk.remove(path);
    }

    /// Takes in a file that goes with its last reader: it stays if those of the build do.
    pub fn adopt(&self, file: &Arc<StoreFile>) {
        self.adopted.lock().expect("no holder of this lock panics").push(file.clone());
    }

    /// Lets the files stay: a manifest names them from now on, or may do so, or the last that reads them removes them.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
        self.adopted.lock().expect("no holder of this lock panics").drain(..).for_each(|file| file.keep());
    }
}

impl Drop for BuildContext {
    fn drop(&mut self) {
        if !self.is_kept.load(Ordering::Relaxed) {
            let created = self.created.get_mut().map(std::mem::take).unwrap_or_default();
            for path in created {
                // As above: the next opening removes what stays.
                let _ = self.platform.disk.remove(&path);
            }
        }
    }
}
