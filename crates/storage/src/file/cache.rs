//! The cache of file blocks: which blocks of all open files stay in memory, within what the budget leaves.
//!
//! The blocks lie in the files' maps; to evict is to give their pages back to the operating system, out of this process
//! and out of its page cache, so that what is counted here is what is held. Replacement is by a clock over the states of
//! all blocks: a block that was used since the hand passed stays for another round.
//!
//! Invariant: blocks held, plus what others hold, exceed the limit at most by one call's worth (some hundred KiB a thread).
//! Cost: a miss adds two atomic additions to its read; the hand moves under a lock, some tens of blocks at a time.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use model::memory::Relief;
use model::meter;
use model::platform::{Disk, MappedFile, Platform, TemporaryFile, WriteFile};
use model::{Consumer, MemoryBudget};

use super::blocks::Blocks;
use super::passing::{Outside, PassingFile};
use super::together::Together;
use crate::format::CHECKSUM_BLOCK_BYTES;

/// Blocks that are given back at a time, at most.
const SLACK_BLOCKS: usize = 64;
/// Uses of blocks that one thread counts before it adds them to the sum.
const USES_STEP: u32 = 1 << 12;

/// Statistics of the cache of blocks since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// Bytes of blocks held now.
    pub bytes: u64,
    /// Bytes it may hold now.
    pub bytes_max: u64,
    /// Uses of blocks, each of one or more neighbours; about, as threads add theirs in steps of some thousands.
    pub uses: u64,
    /// Blocks that were not there when they were wanted, or were asked for just before: exact.
    pub misses: u64,
    /// Bytes asked of the disk, read ahead or not: exact.
    pub bytes_read: u64,
    /// Blocks given back: exact.
    pub evictions: u64,
}

impl CacheStatistics {
    /// The part of uses that found their blocks in memory; 1 before there are any.
    pub fn hit_rate(&self) -> f64 {
        let uses = self.uses.max(self.misses);
        if uses == 0 { 1.0 } else { (uses - self.misses) as f64 / uses as f64 }
    }
}

/// Keeps the blocks of the files of one store.
pub struct BlockCache {
    budget: Arc<MemoryBudget>,
    clock: Mutex<Clock>,
    together: Mutex<Together>,
    outside: Arc<Outside>,
    /// Bytes of data of all open files.
    files_bytes: AtomicUsize,
    uses: AtomicU64,
    misses: AtomicU64,
    blocks_read: AtomicU64,
    evictions: AtomicU64,
}

#[derive(Default)]
struct Clock {
    files: Vec<Weak<Blocks>>,
    /// The file and the block at which the hand stands.
    file: usize,
    block: usize,
}

thread_local! {
    /// Uses of blocks by this thread that no cache has counted yet.
    static USES: Cell<u32> = const { Cell::new(0) };
}

impl std::fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlockCache({:?})", self.statistics())
    }
}

impl BlockCache {
    /// A cache that holds what the budget leaves to it.
    pub fn new(budget: Arc<MemoryBudget>) -> Arc<BlockCache> {
        let outside = Arc::new(Outside::new(budget.limit(), crate::os::memory()));
        let cache = Arc::new(BlockCache {
            budget,
            outside,
            clock: Mutex::default(),
            together: Mutex::default(),
            files_bytes: AtomicUsize::new(0),
            uses: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            blocks_read: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        });
        let relief: Arc<dyn Relief> = cache.clone();
        cache.budget.on_pressure(Arc::downgrade(&relief));
        cache
    }

    /// The same platform, the files of whose disk are kept by this cache when they are opened as files of a store.
    pub fn wrap(self: &Arc<Self>, platform: Platform) -> Platform {
        let disk = CachedDisk { disk: platform.disk, cache: self.clone() };
        Platform { disk: Arc::new(disk), ..platform }
    }

    /// The cache that keeps the files of a disk, if any does.
    pub fn of(disk: &dyn Disk) -> Option<Arc<BlockCache>> {
        disk.block_cache()?.downcast().ok()
    }

    /// The budget it works within.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// Statistics so far.
    pub fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            bytes: self.budget.used_by(Consumer::BlockCache) as u64,
            bytes_max: self.capacity() as u64,
            uses: self.uses.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bytes_read: self.blocks_read.load(Ordering::Relaxed) * CHECKSUM_BLOCK_BYTES as u64,
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }

    /// Counts bytes that are held for as long as the result lives.
    pub(crate) fn hold(self: &Arc<Self>, consumer: Consumer, bytes: usize) -> Held {
        self.budget.hold(consumer, bytes);
        Held { cache: self.clone(), consumer, bytes }
    }

    /// The same if a consumer has then no more than its share; for what only makes things faster.
    pub(crate) fn try_hold(self: &Arc<Self>, consumer: Consumer, bytes: usize) -> Option<Held> {
        let fits = self.budget.used_by(consumer).saturating_add(bytes) <= self.budget.share(consumer);
        fits.then(|| self.hold(consumer, bytes))
    }

    /// Bytes that blocks may take now.
    pub(super) fn capacity(&self) -> usize {
        self.budget.cache_bytes_max()
    }

    pub(super) fn register(&self, blocks: &Arc<Blocks>, bytes: usize) {
        self.files_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.clock().files.push(Arc::downgrade(blocks));
    }

    /// Notes that a file of `bytes` bytes was closed.
    pub(super) fn closed(&self, bytes: usize) {
        self.files_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// True if the blocks of all open files fit into memory together.
    pub(super) fn holds_everything(&self) -> bool {
        self.files_bytes.load(Ordering::Relaxed) <= self.capacity()
    }

    /// Counts a use of blocks, now and then.
    #[inline]
    pub(super) fn used(&self) {
        meter::count(|meter| meter.block_uses += 1);
        USES.with(|uses| {
            let count = uses.get() + 1;
            uses.set(count);
            if count >= USES_STEP {
                uses.set(0);
                self.uses.fetch_add(u64::from(count), Ordering::Relaxed);
            }
        });
    }

    /// Notes that `blocks` blocks were asked for.
    pub(super) fn came(&self, blocks: usize) {
        self.budget.hold(Consumer::BlockCache, blocks * CHECKSUM_BLOCK_BYTES);
        self.blocks_read.fetch_add(blocks as u64, Ordering::Relaxed);
        meter::count(|meter| meter.bytes_read += (blocks * CHECKSUM_BLOCK_BYTES) as u64);
    }

    /// Notes that `blocks` blocks are held no longer.
    pub(super) fn left(&self, blocks: usize) {
        self.budget.release(Consumer::BlockCache, blocks * CHECKSUM_BLOCK_BYTES);
    }

    pub(super) fn missed(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        meter::count(|meter| meter.block_misses += 1);
    }

    /// Gives blocks back if more are held than the budget leaves.
    pub(super) fn make_room(&self) {
        let (held, allowed) = (self.budget.used_by(Consumer::BlockCache), self.capacity());
        if held > allowed {
            let slack = (allowed / CHECKSUM_BLOCK_BYTES / 16).min(SLACK_BLOCKS);
            self.evict((held - allowed).div_ceil(CHECKSUM_BLOCK_BYTES) + slack);
        }
    }

    /// Notes that `blocks` blocks were given back.
    pub(super) fn went(&self, blocks: usize) {
        self.evictions.fetch_add(blocks as u64, Ordering::Relaxed);
    }

    /// Blocks that are held now.
    pub(super) fn held_blocks(&self) -> usize {
        self.budget.used_by(Consumer::BlockCache) / CHECKSUM_BLOCK_BYTES
    }

    /// Number of blocks held over the capacity once `more` have come.
    pub(super) fn blocks_over(&self, more: usize) -> usize {
        (self.held_blocks() + more).saturating_sub(self.capacity() / CHECKSUM_BLOCK_BYTES)
    }

    /// Moves the hand until `wanted` blocks are given back or it has passed everything twice; returns how many were.
    pub(super) fn evict(&self, wanted: usize) -> usize {
        self.step(usize::MAX, wanted)
    }

    /// Moves the hand over at most `steps` blocks that are held, until `wanted` are given back or it has passed
    /// everything twice; returns how many were.
    pub(super) fn step(&self, mut steps: usize, wanted: usize) -> usize {
        let mut clock = self.clock();
        let mut gone = 0;
        let mut passes_left = 2 * clock.files.len() + 1;
        while gone < wanted && steps > 0 && passes_left > 0 && !clock.files.is_empty() {
            let at = clock.file % clock.files.len();
            // A file that is opened anew begins at its start; one that is gone gives its place to the last.
            let Some(blocks) = clock.files[at].upgrade() else {
                clock.files.swap_remove(at);
                clock.block = 0;
                continue;
            };
            let (here, hand) = blocks.sweep(clock.block, wanted - gone, &mut steps);
            self.left(here);
            gone += here;
            if gone < wanted && steps > 0 {
                (clock.file, clock.block) = (at + 1, 0);
                passes_left -= 1;
            } else {
                (clock.file, clock.block) = (at, hand);
            }
        }
        self.went(gone);
        gone
    }

    /// State that passes that read together keep for each other.
    pub(super) fn together(&self) -> std::sync::MutexGuard<'_, Together> {
        self.together.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clock(&self) -> std::sync::MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relief for BlockCache {
    fn give_back(&self, bytes: usize) -> usize {
        let held = self.budget.used_by(Consumer::BlockCache);
        let spare = held.saturating_sub(self.budget.limit() / 16);
        self.evict(bytes.min(spare).div_ceil(CHECKSUM_BLOCK_BYTES)) * CHECKSUM_BLOCK_BYTES
    }
}

/// Bytes that are counted for as long as this lives.
pub(crate) struct Held {
    cache: Arc<BlockCache>,
    consumer: Consumer,
    bytes: usize,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Held({} bytes)", self.bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.cache.budget.release(self.consumer, self.bytes);
    }
}

/// A disk whose store files are kept by a cache. It hands every call on, those with defaults too.
#[derive(Debug)]
struct CachedDisk {
    disk: Arc<dyn Disk>,
    cache: Arc<BlockCache>,
}

/// A file whose bytes leave the memory of the operating system once written, if there is none to spare.
struct CachedWrite {
    file: Box<dyn WriteFile>,
    written: usize,
    cache: Arc<BlockCache>,
}

impl io::Write for CachedWrite {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.written += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl WriteFile for CachedWrite {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn forget(&mut self) {
        let budget = &self.cache.budget;
        if budget.limit().saturating_sub(budget.used()) < self.written {
            self.file.forget();
        }
    }
}

impl Disk for CachedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let file = self.disk.create(path)?;
        Ok(Box::new(CachedWrite { file, written: 0, cache: self.cache.clone() }))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>> {
        self.disk.append(path, length)
    }

    fn reserve(&self, path: &Path, end: u64) -> io::Result<()> {
        self.disk.reserve(path, end)
    }

    fn release(&self, path: &Path) -> io::Result<()> {
        self.disk.release(path)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.disk.read(path)
    }

    fn read_range(&self, path: &Path, start: u64, length: usize) -> io::Result<Vec<u8>> {
        self.disk.read_range(path, start, length)
    }

    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        self.disk.map(path)
    }

    fn lost_reads(&self) -> u64 {
        self.disk.lost_reads()
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        self.disk.length(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.disk.list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.create_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_directory(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }

    fn lock_holder(&self, path: &Path) -> Option<String> {
        self.disk.lock_holder(path)
    }

    fn temporary(&self, directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        let file = self.disk.temporary(directory)?;
        Ok(Box::new(PassingFile::new(file, self.cache.outside.clone())))
    }

    fn has_other_names(&self, path: &Path) -> io::Result<bool> {
        self.disk.has_other_names(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.link(from, to)
    }

    fn block_cache(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.cache.clone())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.disk.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.disk.lock_shared(path)
    }
}
