//! Power cuts under load: several writers, flushes and merges in the background, on a journalling disk; then every moment
//! of that run is opened.
//!
//! The writers are those of `kills`. The run differs each time, as threads do; the journal of a failing one is told by
//! the event, and what was acknowledged is known at each event exactly.

use std::path::Path;
use std::sync::Arc;

use model::platform::Platform;
use model::{GraphStore, Interrupt, Set};
use storage::{NativeStore, OpenOptions};
use testing::random::seed_or;
use testing::simulation::{Event, Journal, JournalDisk, MemoryDisk, SURVIVALS, Wreck, platform};

use crate::kills::{self, WRITERS};
use crate::numbered;

const PATH: &str = "/stores/test.knot";
const COMMITS: i64 = 70;

/// Steps carry the writer in their upper bits.
fn step(writer: usize, number: i64) -> u64 {
    (writer as u64) << 32 | number as u64
}

/// Runs the writers; the journal, and where in it the graph they need was durable.
fn record(seed: u64) -> (Journal, usize) {
    let disk = JournalDisk::new();
    let options = OpenOptions { memtable_bytes_max: 12_000, ..kills::options() };
    let store = NativeStore::open(Path::new(PATH), options, platform(Arc::new(disk.clone()), seed)).unwrap();
    kills::make(&store);
    let start = disk.position();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, disk) = (&store, &disk);
            scope.spawn(move || {
                for number in 1..=COMMITS {
                    disk.begin(step(writer, number));
                    kills::commit(store, writer, number);
                    disk.acknowledge(step(writer, number));
                }
            });
        }
        scope.spawn(|| (0..12).for_each(|_| kills::change_schema(&store)));
        scope.spawn(|| {
            for _ in 0..5 {
                std::thread::sleep(std::time::Duration::from_millis(5));
                store.checkpoint(&Interrupt::new()).unwrap();
            }
        });
    });
    assert_eq!(kills::check(&*store.read().unwrap()), [COMMITS; WRITERS]);
    drop(store);
    (disk.journal(), start)
}

/// Says on a panic where it happened.
struct Place(String);

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

/// Opens a store, and checks that each writer's commits are there: all that were acknowledged, and none that was not begun.
fn open(platform: &Platform, acknowledged: &[i64; WRITERS], begun: &[i64; WRITERS]) -> (NativeStore, Vec<i64>) {
    let store = NativeStore::open(Path::new(PATH), kills::options(), platform.clone()).unwrap();
    let found = kills::check(&*store.read().unwrap());
    for writer in 0..WRITERS {
        let is_right = (acknowledged[writer]..=begun[writer]).contains(&found[writer]);
        assert!(is_right, "writer {writer}: found {found:?}");
    }
    (store, found.to_vec())
}

/// A process that comes after a kill commits, and makes or drops indexes; then the power is cut: what it saw and did is there.
fn second_life(
    (disk, mut wreck): (MemoryDisk, Wreck),
    seed: u64,
    acknowledged: &[i64; WRITERS],
    begun: &[i64; WRITERS],
) {
    let journal_disk = JournalDisk::over(disk);
    let (store, mut found) = open(&platform(Arc::new(journal_disk.clone()), seed + 2), acknowledged, begun);
    kills::commit(&store, 0, found[0] + 1);
    found[0] += 1;
    kills::change_schema(&store);
    let indexes = store.read().unwrap().schema().indexes.clone();
    let end = journal_disk.position();
    drop(store);
    journal_disk.journal().events[..end].iter().for_each(|event| wreck.advance(event));
    let left = wreck.after_power_cut(SURVIVALS[seed as usize % SURVIVALS.len()], seed);
    let platform = platform(Arc::new(left), seed + 3);
    let store = NativeStore::open(Path::new(PATH), kills::options(), platform.clone()).unwrap();
    assert_eq!(kills::check(&*store.read().unwrap()).to_vec(), found, "after a kill and a power cut");
    assert_eq!(store.read().unwrap().schema().indexes, indexes, "after a kill and a power cut");
    drop(store);
    numbered::check_files(&platform, Path::new(PATH));
}

/// Counts of the attempts.
#[derive(Debug, Default)]
struct Tally {
    points: u64,
    states: usize,
    second_lives: u64,
}

fn verify(seed: u64, journal: &Journal, start: usize) -> Tally {
    /// Number of states for each one that is followed by a second life.
    const SECOND_LIFE_EVERY: usize = 12;
    let mut wreck = Wreck::default();
    let (mut begun, mut acknowledged) = ([0_i64; WRITERS], [0_i64; WRITERS]);
    let (mut tally, mut seen) = (Tally::default(), Set::default());
    for (position, event) in journal.events.iter().enumerate() {
        let writer_of = |step: u64| ((step >> 32) as usize, (step & u64::from(u32::MAX)) as i64);
        match *event {
            Event::Begun { step } => begun[writer_of(step).0] = writer_of(step).1,
            Event::Acknowledged { step } => acknowledged[writer_of(step).0] = writer_of(step).1,
            _ if position < start => {}
            _ => {
                let survival = SURVIVALS[position % SURVIVALS.len()];
                let disk = wreck.after_power_cut(survival, seed * 7_919 + position as u64);
                tally.points += 1;
                // The acknowledged step counts, too: the same files may be enough at one moment and not at the next.
                if seen.insert((disk.fingerprint(), acknowledged, begun)) {
                    let place = Place(format!(
                        "FUZZ_SEED={seed}: power cut before event {position} ({event:?}), {survival:?} survives, \
                         acknowledged {acknowledged:?}, begun {begun:?}"
                    ));
                    let platform = platform(Arc::new(disk), seed + 1);
                    drop(open(&platform, &acknowledged, &begun));
                    if seen.len().is_multiple_of(SECOND_LIFE_EVERY) {
                        second_life(wreck.after_kill(), seed + position as u64, &acknowledged, &begun);
                        tally.second_lives += 1;
                    }
                    if seen.len().is_multiple_of(20) {
                        numbered::check_files(&platform, Path::new(PATH));
                    }
                    drop(place);
                }
            }
        }
        wreck.advance(event);
    }
    tally.states = seen.len();
    tally
}

#[test]
fn power_cuts_under_load_lose_nothing_acknowledged() {
    let clock = storage::os::platform().clock;
    let seconds = std::env::var("FUZZ_SECONDS").map_or(0, |text| text.parse().expect("FUZZ_SECONDS is a number"));
    let start = clock.now_ns();
    for seed in seed_or(9_000).. {
        let (journal, first) = record(seed);
        let tally = verify(seed, &journal, first);
        eprintln!("seed {seed}: {tally:?}");
        assert!(tally.points > 200 && tally.second_lives > 15, "the run has too few operations: {tally:?}");
        if clock.now_ns() - start >= seconds * 1_000_000_000 {
            break;
        }
    }
}
