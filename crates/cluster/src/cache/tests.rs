//! Threads that read, keep and look up beside one that follows a log: nobody finds rows from before a record that it may see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::MemoryBudget;
use model::platform::Random;
use testing::simulation::{CountingClock, PlatformRandom};

use super::touched::Touch;
use super::{Cache, Touched, Unit};
use crate::packed::Packed;
use crate::settings::{CacheFault, Settings};
use crate::tables::{Field, Row, Table};

const UNITS: u64 = 40;
const RECORDS: u64 = 30_000;
/// The number of rows found at which the log ends, on a machine that lets readers wait for long.
const HITS_MIN: u64 = 200;
const RECORDS_MAX: u64 = 100 * RECORDS;
const READERS: u64 = 3;

/// Rows that say which record touched a unit last.
fn rows(last: u64) -> Packed {
    let row = Row { clustering: vec![Field::Int(last as i64)], cells: vec![None] };
    Packed::new(Table::Applied, &[row]).expect("it is a row of the table")
}

fn last_of(rows: &Packed) -> u64 {
    rows.rows().next().expect("there is a row").key(0).expect("it has a key")
}

fn unit(number: u64) -> Unit {
    match number % 4 {
        0 => Unit::Node(number),
        1 => Unit::Neighbors { is_reversed: false, node: number, edge_type: None },
        2 => Unit::Equal { index: 1, shard: 0, start: Arc::from(number.to_be_bytes()) },
        _ => Unit::Labelled { label: 1, block: number },
    }
}

fn touch(number: u64) -> Touch {
    match unit(number) {
        Unit::Neighbors { is_reversed, node, .. } => Touch::Neighbors { is_reversed, node, edge_type: 5 },
        Unit::Equal { index, shard, start } => Touch::Entry { index, shard, entry: start },
        unit => Touch::Unit(unit),
    }
}

/// The wide-column store and the log, as far as the cache knows of them.
struct Ring {
    /// For each unit, the last record whose rows are written.
    written: Vec<AtomicU64>,
    /// The same, of records that views see.
    seen: Vec<AtomicU64>,
    /// Rows that readers have found.
    hits: AtomicU64,
    is_over: AtomicBool,
}

/// Follows records that touch units at random, sometimes all.
fn follow(ring: &Ring, cache: &Cache, random: &dyn Random) {
    for sequence in 1..=RECORDS_MAX {
        if sequence > RECORDS && ring.hits.load(Ordering::Relaxed) >= HITS_MIN {
            break;
        }
        let number = random.next_u64() % UNITS;
        ring.written[number as usize].store(sequence, Ordering::SeqCst);
        match random.next_u64() % 1_000 {
            0 => cache.include(sequence, &Touched::All),
            1 => cache.pass_over(sequence),
            _ => cache.include(sequence, &Touched::Units([touch(number)].into())),
        }
        ring.seen[number as usize].store(sequence, Ordering::SeqCst);
    }
    ring.is_over.store(true, Ordering::SeqCst);
}

/// Reads until the log is over: number of rows that were found, and of those that were too old.
fn read(ring: &Ring, cache: &Cache, random: &dyn Random) -> (u64, u64) {
    let (mut hits, mut old) = (0, 0);
    while !ring.is_over.load(Ordering::SeqCst) {
        let number = random.next_u64() % UNITS;
        let at_least = ring.seen[number as usize].load(Ordering::SeqCst);
        if let Some(rows) = cache.get(&unit(number), None) {
            hits += 1;
            ring.hits.fetch_add(1, Ordering::Relaxed);
            old += u64::from(last_of(&rows) < at_least);
            continue;
        }
        let began = cache.begin();
        let rows = rows(ring.written[number as usize].load(Ordering::SeqCst));
        if random.next_u64().is_multiple_of(4) {
            std::thread::yield_now();
        }
        cache.put(unit(number), None, rows, began);
    }
    (hits, old)
}

/// Rows that were found, and those that were too old.
fn race(bytes: usize, fault: Option<CacheFault>) -> (u64, u64) {
    let settings = Settings {
        cache_bytes_max: bytes,
        cache_fault: fault,
        memory: MemoryBudget::new(1 << 20),
        ..Settings::new(1, Arc::new(CountingClock::default()), Arc::new(PlatformRandom::new(1)))
    };
    let nothing = || (0..UNITS).map(|_| AtomicU64::new(0)).collect();
    let (hits, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let ring = Ring { written: nothing(), seen: nothing(), hits, is_over };
    let cache = Cache::new(&settings);
    let counts = std::thread::scope(|scope| {
        let reader = |number| {
            let (ring, cache) = (&ring, &cache);
            scope.spawn(move || read(ring, cache, &PlatformRandom::new(number)))
        };
        let readers: Vec<_> = (2..2 + READERS).map(reader).collect();
        follow(&ring, &cache, &PlatformRandom::new(1));
        let counts = readers.into_iter().map(|reader| reader.join().expect("a reader does not panic"));
        counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    });
    assert!(cache.bytes() <= bytes && cache.bytes() == settings.memory.used(), "{} bytes", cache.bytes());
    counts
}

#[test]
fn no_reader_finds_rows_from_before_a_record_that_it_may_see() {
    for bytes in [1_500, 1 << 20] {
        let (hits, old) = race(bytes, None);
        eprintln!("{bytes} bytes: {hits} hits");
        assert!(hits >= HITS_MIN && old == 0, "{hits} hits, {old} of them too old");
    }
    for fault in [CacheFault::KeepsLateRows, CacheFault::KeepsTouched] {
        let found = (0..20).any(|_| race(1 << 20, Some(fault)).1 > 0);
        assert!(found, "{fault:?} is not found");
    }
}
