//! Rows that this process has read, kept as long as the log does not change them: nodes, edges, neighbours, labels, and
//! entries of indexes, those that are not there among them.
//!
//! Invariants:
//! - What is kept of a unit are all its rows as of [`Cache::sequence`], the last record that views see: [`Cache::include`]
//!   drops what a record touches before a view can see the record. Rows tell when they were born and died, and are purged only
//!   where views that would miss them end (`Log::confirm`), so that older views may use them too.
//! - Rows that were read before a record and come in after it are not kept if the record touched them: [`Cache::put`]
//!   compares the record at which reading began with the last that touched a unit of the same stamp.
//! - No more bytes are held than the settings say.
//!
//! Cost: a lock and a look into a map for each unit; some 200 bytes a unit beside its rows, and 512 KiB of stamps.

mod shelf;
#[cfg(test)]
mod tests;
mod touched;
mod unit;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use model::memory::Relief;
use model::{Consumer, MemoryBudget};

use self::shelf::{Shelf, cost};
use self::touched::Touch;
use crate::packed::Packed;
use crate::settings::{CacheFault, Settings};

pub(crate) use self::touched::Touched;
use self::unit::RANGES;
pub(crate) use self::unit::{BLOCK_BITS, Bounds, Unit, place_of};

/// Parts with locks of their own.
const SHELVES: usize = 16;
/// Numbers of records by hashes of units.
const STAMPS: usize = 1 << 16;
/// A unit takes at most this part of all bytes.
const UNIT_SHARE: usize = 4;
/// Bytes of an entry of an index up to which look-ups are kept.
pub(crate) const EQUAL_BYTES_MAX: usize = 256;

/// The last record that reading includes, noted before it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Began(u64);

/// The cache of one graph.
#[derive(Debug)]
pub(crate) struct Cache {
    shelves: Vec<Mutex<Shelf>>,
    /// The last record that touched a unit, by hash of the unit's home.
    stamps: Box<[AtomicU64]>,
    /// The last record that may have touched anything.
    all: AtomicU64,
    /// The last record that was included.
    sequence: AtomicU64,
    /// Indexes with lengths of the entries that were looked up.
    lengths: Mutex<BTreeSet<(u32, u16)>>,
    bytes: AtomicUsize,
    bytes_max: usize,
    next_shelf: AtomicUsize,
    memory: Arc<MemoryBudget>,
    fault: Option<CacheFault>,
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cache {
    /// An empty cache.
    pub(crate) fn new(settings: &Settings) -> Arc<Cache> {
        let is_on = settings.cache_bytes_max > 0;
        let cache = Arc::new(Cache {
            shelves: (0..SHELVES).map(|_| Mutex::default()).collect(),
            stamps: (0..if is_on { STAMPS } else { 0 }).map(|_| AtomicU64::new(0)).collect(),
            all: AtomicU64::new(0),
            sequence: AtomicU64::new(0),
            lengths: Mutex::default(),
            bytes: AtomicUsize::new(0),
            bytes_max: settings.cache_bytes_max,
            next_shelf: AtomicUsize::new(0),
            memory: settings.memory.clone(),
            fault: settings.cache_fault,
        });
        if is_on {
            let relief: Weak<dyn Relief> = Arc::downgrade(&cache) as Weak<dyn Relief>;
            settings.memory.on_pressure(relief);
        }
        cache
    }

    /// True if rows are kept.
    pub(crate) fn is_on(&self) -> bool {
        self.bytes_max > 0
    }

    /// Bytes that are held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Begins a reading of rows, to be given to [`Cache::put`].
    pub(crate) fn begin(&self) -> Began {
        Began(self.sequence.load(Ordering::Acquire))
    }

    /// The moment at which a view reads rows: its own.
    pub(crate) fn moment(&self, at: u64) -> u64 {
        if self.fault == Some(CacheFault::SeesLaterRows) { u64::MAX } else { at }
    }

    fn shelf(&self, unit: &Unit) -> MutexGuard<'_, Shelf> {
        lock(&self.shelves[(unit.hash() >> 32) as usize % SHELVES])
    }

    fn stamp(&self, home: u64) -> &AtomicU64 {
        &self.stamps[home as usize % STAMPS]
    }

    /// The rows of a unit, within these bounds, if they are kept.
    pub(crate) fn get(&self, unit: &Unit, bounds: Option<&Bounds>) -> Option<Packed> {
        if self.bytes() == 0 {
            return None;
        }
        self.shelf(unit).get(unit, bounds)
    }

    /// Keeps rows of which the reading began then, unless they were touched since, or there is no room.
    pub(crate) fn put(&self, unit: Unit, bounds: Option<Bounds>, rows: Packed, began: Began) {
        let bytes = cost(&unit, bounds.as_ref(), &rows);
        if !self.is_on() || bytes > self.bytes_max / UNIT_SHARE || !self.take(bytes) {
            return;
        }
        if let Unit::Equal { index, start, .. } = &unit {
            // Noted before the stamp is looked at, so that a record that touches the entry sees the length or is seen.
            lock(&self.lengths).insert((*index, start.len() as u16));
        }
        let mut shelf = self.shelf(&unit);
        // Touching a unit sets the stamp first and comes to this shelf afterwards.
        let touched = self.stamp(unit.home()).load(Ordering::Acquire).max(self.all.load(Ordering::Acquire));
        let freed = if touched <= began.0 || self.fault == Some(CacheFault::KeepsLateRows) {
            shelf.put(unit, bounds, rows)
        } else {
            bytes
        };
        drop(shelf);
        self.release(freed);
    }

    /// Takes bytes, others going for them; false if there are too few.
    fn take(&self, bytes: usize) -> bool {
        for _ in 0..4 * SHELVES {
            let is_free = self.memory.used().saturating_add(bytes) <= self.memory.limit() / 16 * 15;
            let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.bytes_max);
            if is_free && self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok() {
                self.memory.hold(Consumer::SourceCache, bytes);
                return true;
            }
            if self.bytes() == 0 {
                return false;
            }
            self.evict(bytes);
        }
        false
    }

    fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.release(Consumer::SourceCache, bytes);
    }

    /// Drops units that were not used lately from one shelf, up to that many bytes: the number of bytes.
    fn evict(&self, bytes: usize) -> usize {
        let next = self.next_shelf.fetch_add(1, Ordering::Relaxed);
        let mut shelf = lock(&self.shelves[next % SHELVES]);
        let mut freed = 0;
        while freed < bytes {
            match shelf.evict() {
                0 => break,
                more => freed += more,
            }
        }
        drop(shelf);
        self.release(freed);
        freed
    }

    /// Drops what a record touches. To be called for each record in turn, before any view sees it.
    pub(crate) fn include(&self, sequence: u64, touched: &Touched) {
        if self.is_on() && self.fault != Some(CacheFault::KeepsTouched) {
            match touched {
                Touched::All => self.drop_all(sequence),
                Touched::Units(touches) => {
                    let stamp = |touch: &Touch| self.stamp(touch.home()).store(sequence, Ordering::Release);
                    touches.iter().for_each(stamp);
                    // Done also where nothing is held: rows may be about to come in, and the lock of their shelf shows them the stamp.
                    touches.iter().for_each(|touch| self.drop_touched(touch));
                }
            }
        }
        self.sequence.store(sequence, Ordering::Release);
    }

    /// Drops everything where records up to that one were passed over. To be called before any view sees it.
    pub(crate) fn pass_over(&self, sequence: u64) {
        if self.is_on() && self.fault != Some(CacheFault::KeepsPassedOver) {
            self.drop_all(sequence);
        }
        self.sequence.store(sequence, Ordering::Release);
    }

    fn drop_all(&self, sequence: u64) {
        self.all.store(sequence, Ordering::Release);
        for shelf in &self.shelves {
            let freed = lock(shelf).clear();
            self.release(freed);
        }
    }

    fn drop_unit(&self, unit: &Unit) {
        let freed = self.shelf(unit).remove(unit);
        self.release(freed);
    }

    fn drop_touched(&self, touch: &Touch) {
        match touch {
            Touch::Unit(unit) => self.drop_unit(unit),
            &Touch::Neighbors { is_reversed, node, edge_type } => {
                for edge_type in [None, Some(edge_type)] {
                    self.drop_unit(&Unit::Neighbors { is_reversed, node, edge_type });
                }
                for place in 0..RANGES {
                    self.drop_unit(&Unit::NeighborRange { is_reversed, node, edge_type, place });
                }
            }
            Touch::Entry { index, shard, entry } => {
                let (index, shard) = (*index, *shard);
                for place in 0..RANGES {
                    self.drop_unit(&Unit::EntryRange { index, shard, place });
                }
                let ends = entry.len().min(EQUAL_BYTES_MAX) as u16;
                let lengths: Vec<(u32, u16)> = lock(&self.lengths).range((index, 0)..=(index, ends)).copied().collect();
                for (_, length) in lengths {
                    let start = Arc::from(&entry[..usize::from(length)]);
                    self.drop_unit(&Unit::Equal { index, shard, start });
                }
            }
        }
    }
}

impl Relief for Cache {
    fn give_back(&self, bytes: usize) -> usize {
        let mut freed = 0;
        for _ in 0..SHELVES {
            if freed < bytes {
                freed += self.evict(bytes - freed);
            }
        }
        freed
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.memory.release(Consumer::SourceCache, *self.bytes.get_mut());
    }
}
