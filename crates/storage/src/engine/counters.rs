//! Counters of a store since it was opened.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that many threads raise.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(super) fn at_least(&self, amount: u64) {
        self.0.fetch_max(amount, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: Counter,
    pub(super) large_commits: Counter,
    pub(super) conflicts: Counter,
    pub(super) moves: Counter,
    pub(super) groups: Counter,
    pub(super) largest_group: Counter,
    pub(super) syncs: Counter,
    pub(super) log_bytes: Counter,
    pub(super) stalls: Counter,
    pub(super) stall_ns: Counter,
    pub(super) flushes: Counter,
    pub(super) flush_ns: Counter,
    pub(super) compactions: Counter,
    pub(super) compaction_ns: Counter,
    pub(super) flushed_bytes: Counter,
    pub(super) patch_bytes: Counter,
    /// By level that they were merged into; what is higher than the last counts there.
    pub(super) level_bytes: [Counter; LEVELS],
    pub(super) merge_stalls: Counter,
    pub(super) merge_stall_ns: Counter,
}

/// Levels that are counted each by itself.
pub const LEVELS: usize = 16;

/// Statistics of a store since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Transactions committed that wrote something.
    pub commits: u64,
    /// Those among them that were larger than memory.
    pub large_commits: u64,
    /// Commits refused because another came first.
    pub conflicts: u64,
    /// Number of times that the writes of a transaction were moved onto a newer state than the one it began with.
    pub moves: u64,
    /// Writes to the log, each for one or many commits.
    pub groups: u64,
    /// Most commits in one such write.
    pub largest_group: u64,
    /// Waits for the disk on behalf of the log.
    pub syncs: u64,
    /// Bytes written to the log.
    pub log_bytes: u64,
    /// Commits that waited because the writes held in memory were too many.
    pub stalls: u64,
    /// Nanoseconds that they waited, all together.
    pub stall_ns: u64,
    /// Merges of writes into files.
    pub flushes: u64,
    /// Nanoseconds that those took.
    pub flush_ns: u64,
    /// Merges of files.
    pub compactions: u64,
    /// Nanoseconds that those took.
    pub compaction_ns: u64,
    /// Bytes of edge files written by flushes.
    pub flushed_bytes: u64,
    /// Bytes of patches written by merging patches.
    pub patch_bytes: u64,
    /// Bytes of edge files written by merges, by the level of the result; the last counts all higher ones too.
    pub level_bytes: [u64; LEVELS],
    /// Commits that waited because the partitions of level 0 were too many.
    pub merge_stalls: u64,
    /// Nanoseconds that they waited, all together.
    pub merge_stall_ns: u64,
}

impl StoreStats {
    /// Bytes of edge files written for each byte that flushes wrote, since the store was opened.
    pub fn write_amplification(&self) -> f64 {
        let merged = self.level_bytes.iter().sum::<u64>() + self.patch_bytes;
        if self.flushed_bytes == 0 { 1.0 } else { 1.0 + merged as f64 / self.flushed_bytes as f64 }
    }
}

impl Counters {
    /// Counts what a merge wrote.
    pub(super) fn add_level_bytes(&self, level: u8, bytes: u64) {
        self.level_bytes[usize::from(level).min(LEVELS - 1)].add(bytes);
    }

    pub(super) fn stats(&self) -> StoreStats {
        StoreStats {
            commits: self.commits.get(),
            large_commits: self.large_commits.get(),
            conflicts: self.conflicts.get(),
            moves: self.moves.get(),
            groups: self.groups.get(),
            largest_group: self.largest_group.get(),
            syncs: self.syncs.get(),
            log_bytes: self.log_bytes.get(),
            stalls: self.stalls.get(),
            stall_ns: self.stall_ns.get(),
            flushes: self.flushes.get(),
            flush_ns: self.flush_ns.get(),
            compactions: self.compactions.get(),
            compaction_ns: self.compaction_ns.get(),
            flushed_bytes: self.flushed_bytes.get(),
            patch_bytes: self.patch_bytes.get(),
            level_bytes: std::array::from_fn(|level| self.level_bytes[level].get()),
            merge_stalls: self.merge_stalls.get(),
            merge_stall_ns: self.merge_stall_ns.get(),
        }
    }
}
