//! Random writes compared with the reference store, with checkpoints and reopening in between.

use model::{GraphStore, Interrupt};
use storage::levels::Policy;
use storage::{Durability, Maintenance, OpenOptions};
use testing::differential::check_random;
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;

/// Checks random transactions; the percentages are of transactions at which the store is closed, and written to files.
fn check(seed: u64, transactions: usize, reopen_percent: u64, checkpoint_percent: u64, memtable_bytes_max: usize) {
    let options = OpenOptions { durability: Durability::Off, memtable_bytes_max, ..OpenOptions::create() };
    check_with(options, seed, transactions, [reopen_percent, checkpoint_percent]);
}

fn check_with(options: OpenOptions, seed: u64, transactions: usize, [reopen_percent, checkpoint_percent]: [u64; 2]) {
    let directory = TestDirectory::new();
    let mut random = SeededRandom::new(seed);
    let store = Box::new(directory.open_with(options));
    check_random(seed, transactions, store, &mut |store, _| -> Box<dyn GraphStore> {
        let wants_checkpoint = random.chance(checkpoint_percent);
        if !wants_checkpoint && !random.chance(reopen_percent) {
            return store;
        }
        drop(store);
        let store = directory.open_with(options);
        if wants_checkpoint {
            store.checkpoint(&Interrupt::new()).unwrap();
        }
        Box::new(store)
    });
}

#[test]
fn a_memtable_alone_agrees_with_the_reference() {
    for seed in [11, 12].map(seed_or) {
        check(seed, 40, 0, 0, usize::MAX);
    }
}

#[test]
fn replay_of_the_log_agrees_with_the_reference() {
    for seed in [21, 22].map(seed_or) {
        check(seed, 40, 40, 0, usize::MAX);
    }
}

#[test]
fn logs_longer_than_memory_agree_with_the_reference() {
    let options = OpenOptions { durability: Durability::Off, memtable_bytes_max: usize::MAX, ..OpenOptions::create() };
    let little = OpenOptions { memtable_bytes_max: 200, maintenance: Maintenance::Inline, ..options };
    let (seeds, mut emptied) = ([23, 24, 25].map(seed_or), 0);
    for seed in seeds {
        let (directory, mut random) = (TestDirectory::new(), SeededRandom::new(seed));
        let store = Box::new(directory.open_with(options));
        check_random(seed, 40, store, &mut |store, _| -> Box<dyn GraphStore> {
            if !random.chance(20) {
                return store;
            }
            drop(store);
            let store = directory.open_with(little);
            emptied += usize::from(store.memtable_bytes() == 0);
            drop(store);
            Box::new(directory.open_with(options))
        });
    }
    assert!(emptied > 3, "seeds {seeds:?}: {emptied} logs went into files");
}

#[test]
fn files_under_a_memtable_agree_with_the_reference() {
    for seed in [31, 32, 33].map(seed_or) {
        check(seed, 40, 20, 30, usize::MAX);
    }
}

#[test]
fn flushes_by_size_agree_with_the_reference() {
    for seed in [41, 42].map(seed_or) {
        check(seed, 40, 10, 0, 2_000);
    }
}

#[test]
fn a_memory_of_a_few_blocks_agrees_with_the_reference() {
    for seed in [51, 52].map(seed_or) {
        let options = OpenOptions {
            durability: Durability::Off,
            memtable_bytes_max: 4_000,
            memory_bytes_max: Some(64 << 10),
            ..OpenOptions::create()
        };
        check_with(options, seed, 40, [20, 30]);
    }
}

/// So small that a few edges make many levels, patches and intervals.
const SMALL: Policy =
    Policy { fanout: 2, level0_edges: 4, partition_edges_max: 12, level0_max: 6, patch_share: 2, bytes_per_second: 0 };

#[test]
fn merges_after_every_flush_agree_with_the_reference() {
    for (seed, maintenance) in [(51, Maintenance::Inline), (52, Maintenance::Inline), (53, Maintenance::Background)] {
        let options = OpenOptions {
            durability: Durability::Off,
            memtable_bytes_max: 1_500,
            maintenance,
            compaction: SMALL,
            ..OpenOptions::create()
        };
        check_with(options, seed_or(seed), 40, [10, 10]);
    }
}

#[test]
fn transactions_larger_than_memory_agree_with_the_reference() {
    for (seed, transaction_bytes_max) in [(61, 1), (62, 700), (63, 3_000)] {
        let options = OpenOptions {
            durability: Durability::Off,
            memtable_bytes_max: 4_000,
            transaction_bytes_max: Some(transaction_bytes_max),
            compaction: SMALL,
            maintenance: Maintenance::Inline,
            ..OpenOptions::create()
        };
        check_with(options, seed_or(seed), 30, [10, 10]);
    }
}
