//! What the store was asked for by this thread: counters that a profile reads before and after an operator works.
//!
//! Cost: an addition to a variable of the thread.

use std::cell::Cell;

/// Counts of one thread, which only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Uses of blocks of files, each of one or more neighbours.
    pub block_uses: u64,
    /// Blocks that were not in the cache when they were wanted.
    pub block_misses: u64,
    /// Bytes of blocks asked of the disk, read ahead or not.
    pub bytes_read: u64,
    /// Bytes of property values decoded from blocks, about.
    pub bytes_decoded: u64,
}

thread_local! {
    static METER: Cell<Meter> = const { Cell::new(Meter { block_uses: 0, block_misses: 0, bytes_read: 0, bytes_decoded: 0 }) };
}

/// The counts of this thread.
pub fn read() -> Meter {
    METER.with(Cell::get)
}

/// Adds to the counts of this thread.
#[inline]
pub fn count(change: impl FnOnce(&mut Meter)) {
    METER.with(|meter| {
        let mut counts = meter.get();
        change(&mut counts);
        meter.set(counts);
    });
}

impl Meter {
    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Meter) -> Meter {
        Meter {
            block_uses: self.block_uses - earlier.block_uses,
            block_misses: self.block_misses - earlier.block_misses,
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_decoded: self.bytes_decoded - earlier.bytes_decoded,
        }
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Meter) {
        self.block_uses += other.block_uses;
        self.block_misses += other.block_misses;
        self.bytes_read += other.bytes_read;
        self.bytes_decoded += other.bytes_decoded;
    }
}
