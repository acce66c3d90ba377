//! Counters of this thread's requests to the store, which a profile reads before and after an operator works.
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
    /// Approximate bytes of property values decoded from blocks.
    pub bytes_decoded: u64,
    /// Round trips to databases that are attached, for which somebody waited.
    pub round_trips: u64,
    /// Rows that attached databases sent: nodes and edges, asked for or fetched ahead.
    pub rows_fetched: u64,
    /// Nodes and edges of attached databases that were given out, from the cache or not.
    pub rows_used: u64,
    /// Nodes that were asked for by id and found in the cache of an attached database.
    pub source_hits: u64,
}

thread_local! {
    static METER: Cell<Meter> = const { Cell::new(Meter::NOTHING) };
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
    const NOTHING: Meter = Meter {
        block_uses: 0,
        block_misses: 0,
        bytes_read: 0,
        bytes_decoded: 0,
        round_trips: 0,
        rows_fetched: 0,
        rows_used: 0,
        source_hits: 0,
    };

    /// Counts since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Meter) -> Meter {
        Meter {
            block_uses: self.block_uses - earlier.block_uses,
            block_misses: self.block_misses - earlier.block_misses,
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_decoded: self.bytes_decoded - earlier.bytes_decoded,
            round_trips: self.round_trips - earlier.round_trips,
            rows_fetched: self.rows_fetched - earlier.rows_fetched,
            rows_used: self.rows_used - earlier.rows_used,
            source_hits: self.source_hits - earlier.source_hits,
        }
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Meter) {
        self.block_uses += other.block_uses;
        self.block_misses += other.block_misses;
        self.bytes_read += other.bytes_read;
        self.bytes_decoded += other.bytes_decoded;
        self.round_trips += other.round_trips;
        self.rows_fetched += other.rows_fetched;
        self.rows_used += other.rows_used;
        self.source_hits += other.source_hits;
    }
}
