//! Power cuts at every operation of seeded runs, and the canary: broken stores, each of which must be found out.
//!
//! `FUZZ_SECONDS=600 cargo test --release -p knotwork-storage power_cuts` goes on with further seeds for so long.

use std::path::Path;

use model::platform::Platform;
use model::{Column, EdgeId, Interrupt, Result, Value};
use storage::build::BuildConfig;
use storage::bulk::{BulkLoad, EdgeRows, KeyRows, NodeRows};
use storage::{Durability, NativeStore, OpenOptions};
use testing::crashes::broken::{BROKEN, Life};
use testing::crashes::faults::{Fault, verify_damage, verify_faults};
use testing::crashes::intervals::acknowledged_by_syncs;
use testing::crashes::read_errors::verify_read_errors;
use testing::crashes::verify::verify;
use testing::crashes::workload::{LOADED_EDGES, record};
use testing::crashes::{Maintenance, Recording, Subject, Tally, Verification, Workload};
use testing::differential::{Operation, RandomTransaction, picked_edges, words_of_each_kind};
use testing::random::seed_or;
use testing::simulation::{Event, Survival};

const PATH: &str = "/stores/test.knot";

/// The native store with a memtable of that size.
struct Native {
    memtable_bytes_max: usize,
    transaction_bytes_max: Option<usize>,
    durability: Durability,
    /// In the background, runs of one seed differ; what holds of them is the same.
    maintenance: storage::Maintenance,
}

impl Default for Native {
    fn default() -> Native {
        Native {
            memtable_bytes_max: 3_000,
            transaction_bytes_max: None,
            durability: Durability::Full,
            maintenance: storage::Maintenance::Inline,
        }
    }
}

impl Subject for Native {
    type Store = NativeStore;

    fn open(&self, platform: &Platform) -> Result<NativeStore> {
        let Native { memtable_bytes_max, transaction_bytes_max, durability, maintenance } = *self;
        let options =
            OpenOptions { memtable_bytes_max, transaction_bytes_max, durability, maintenance, ..OpenOptions::create() };
        NativeStore::open(Path::new(PATH), options, platform.clone())
    }

    fn open_reading(&self, platform: &Platform) -> Result<NativeStore> {
        NativeStore::open(Path::new(PATH), OpenOptions::read_only(), platform.clone())
    }

    fn maintain(&self, store: &NativeStore, maintenance: &Maintenance) -> Result<()> {
        match maintenance {
            Maintenance::Checkpoint => store.checkpoint(&Interrupt::new()),
            Maintenance::Compact => store.compact(&Interrupt::new()),
            Maintenance::Backup(number) => {
                let path = format!("/stores/backup-{number}");
                store.backup(Path::new(&path), None, &Interrupt::new()).map(drop)
            }
            Maintenance::BulkLoad(transaction) => load(store, transaction),
        }
    }

    fn open_backup(&self, platform: &Platform, number: u64) -> Result<NativeStore> {
        let path = format!("/stores/backup-{number}");
        NativeStore::open(Path::new(&path), OpenOptions::read_only(), platform.clone())
    }

    fn problems(&self, platform: &Platform) -> Result<Vec<String>> {
        let problems = storage::check::check(platform, Path::new(PATH), &Interrupt::new())?;
        Ok(problems.iter().map(|problem| format!("{problem:?}")).collect())
    }
}

/// Loads the new nodes and edges of a transaction in bulk.
fn load(store: &NativeStore, transaction: &RandomTransaction) -> Result<()> {
    let interrupt = Interrupt::new();
    let config = BuildConfig { memory_bytes: 64 << 20, threads: 1, ..BuildConfig::default() };
    store.rebuild(&interrupt, |base| {
        let mut load = BulkLoad::new(base, config, &interrupt)?;
        for operation in &transaction.operations {
            match operation {
                Operation::CreateNodes { labels, keys, rows } => {
                    let uids: Vec<Value> = rows.iter().map(|(uid, _)| Value::Int(*uid)).collect();
                    let values = Column::from_values(&uids);
                    let key = Some(KeyRows { group: "uid", property: None, values: &values });
                    let names: Vec<&str> = keys.iter().copied().chain(["uid"]).collect();
                    let mut columns = columns(keys.len(), rows.iter().map(|(_, values)| values));
                    columns.push(values.clone());
                    let rows = NodeRows { count: rows.len(), labels, key, names: &names, columns: &columns, origin: 0 };
                    assert_eq!(load.push_nodes(&rows)?.errors, []);
                }
                Operation::CreateEdges { edge_type, keys, rows } => {
                    let end = |pick: fn(&(i64, i64, Vec<Value>)) -> i64| {
                        Column::from_values(&rows.iter().map(|row| Value::Int(pick(row))).collect::<Vec<_>>())
                    };
                    let (sources, targets) = (end(|row| row.0), end(|row| row.1));
                    let columns = columns(keys.len(), rows.iter().map(|(_, _, values)| values));
                    let rows = EdgeRows {
                        edge_type,
                        source_group: "uid",
                        sources: &sources,
                        target_group: "uid",
                        targets: &targets,
                        names: keys,
                        columns: &columns,
                        origin: 0,
                    };
                    let mut loader = load.edge_loader()?;
                    loader.push(&rows)?;
                    loader.finish()?;
                }
                Operation::SetEdgeProperties { key, rows } => {
                    let edges = picked_edges(&*load.before(), rows.iter().map(|(pick, _)| pick));
                    let edges: Vec<EdgeId> = edges.into_iter().map(|edge| edge.expect("it was loaded")).collect();
                    let values = [Column::from_values(rows.iter().map(|(_, value)| value))];
                    let mut loader = load.edge_loader()?;
                    loader.update(LOADED_EDGES, &edges, &[key], &values)?;
                    loader.finish()?;
                }
                other => panic!("a bulk load makes nodes and edges, and changes edges; found {other:?}"),
            }
        }
        Ok((load.finish()?, ()))
    })
}

fn columns<'a>(count: usize, rows: impl Iterator<Item = &'a Vec<Value>> + Clone) -> Vec<Column> {
    (0..count).map(|at| Column::from_values(rows.clone().map(move |row| &row[at]))).collect()
}

/// The least power cuts of each test, with all tests of this file more than ten thousand: each on another state of the disk,
/// or in another second life, and each followed by an opening.
mod least {
    pub(super) const FLUSHES: u64 = 5_000;
    pub(super) const LOG: u64 = 1_500;
    pub(super) const NOT_DURABLE: u64 = 2_500;
    pub(super) const BACKGROUND: u64 = 1_000;
    pub(super) const AFTER_KILLS: u64 = 500;
    pub(super) const LARGE: u64 = 1_000;
    const _: () = assert!(FLUSHES + LOG + NOT_DURABLE + BACKGROUND + AFTER_KILLS > 10_000);
}

/// A test and the seeds that it goes through: that many, or for as many seconds as `FUZZ_SECONDS` says.
struct Seeds {
    name: &'static str,
    first: u64,
    count: u64,
    /// The least power cuts that there must be, as long as it is not seconds that are counted.
    least: u64,
}

fn check(seeds: &Seeds, subject: &Native, workload: &Workload, verification: &Verification) -> Tally {
    let Seeds { name, first, count, least } = *seeds;
    let clock = storage::os::platform().clock;
    let seconds = std::env::var("FUZZ_SECONDS").ok().map(|text| text.parse::<u64>().expect("FUZZ_SECONDS is a number"));
    let (start, mut tally) = (clock.now_ns(), Tally::default());
    let mut seed = seed_or(first);
    let end = seed + count;
    while seconds.map_or(seed < end, |seconds| clock.now_ns() - start < seconds * 1_000_000_000) {
        let recording = record(subject, workload, seed);
        tally += verify(subject, &recording, verification).unwrap_or_else(|violation| panic!("{name}: {violation}"));
        seed += 1;
    }
    eprintln!("{name}: {tally:?}, {} power cuts", tally.power_cuts());
    assert!(seconds.is_some() || tally.power_cuts() >= least, "{name}: expected {least} power cuts or more, {tally:?}");
    tally
}

#[test]
fn power_cuts_between_commits_and_flushes() {
    let subject = Native::default();
    let seeds = Seeds { name: "flushes", first: 1_000, count: 9, least: least::FLUSHES };
    let tally = check(&seeds, &subject, &Workload::default(), &Verification::default());
    let is_enough = tally.backups > 100 && tally.updating_loads > 5;
    assert!(std::env::var_os("FUZZ_SECONDS").is_some() || is_enough, "{tally:?}");
}

#[test]
fn power_cuts_of_transactions_larger_than_memory() {
    let subject = Native { transaction_bytes_max: Some(500), ..Native::default() };
    let workload = Workload { transactions: 16, ..Workload::default() };
    let seeds = Seeds { name: "larger than memory", first: 9_000, count: 3, least: least::LARGE };
    check(&seeds, &subject, &workload, &Verification::default());
    let workload = Workload { transactions: 8, ..Workload::default() };
    let seeds = Seeds { name: "larger than memory, kill then cut", first: 9_100, count: 1, least: 1 };
    check(&seeds, &subject, &workload, &after_kills());
}

#[test]
fn power_cuts_of_a_log_alone() {
    let subject = Native { memtable_bytes_max: usize::MAX, ..Native::default() };
    let workload = Workload { checkpoint_percent: 0, compact_percent: 0, bulk_percent: 0, ..Workload::default() };
    let verification = Verification { survivals_per_operation: 5, ..Verification::default() };
    check(&Seeds { name: "log", first: 2_000, count: 8, least: least::LOG }, &subject, &workload, &verification);
}

#[test]
fn power_cuts_without_durability_leave_an_earlier_moment() {
    let subject = Native { durability: Durability::Off, ..Native::default() };
    let workload = Workload { is_durable: false, ..Workload::default() };
    let seeds = Seeds { name: "not durable", first: 3_000, count: 5, least: least::NOT_DURABLE };
    check(&seeds, &subject, &workload, &Verification::default());
}

#[test]
fn power_cuts_between_syncs_take_the_newest_commits_and_leave_no_hole() {
    let interval = std::time::Duration::from_millis(1);
    let workload = Workload { is_durable: false, bulk_percent: 0, backup_percent: 0, ..Workload::default() };
    for memtable_bytes_max in [3_000, usize::MAX] {
        let durability = Durability::Relaxed { interval };
        let subject = Native { durability, memtable_bytes_max, ..Native::default() };
        let (mut tally, mut synced) = (Tally::default(), 0);
        for seed in (8_000..8_003).map(seed_or) {
            let recording = acknowledged_by_syncs(record(&subject, &workload, seed));
            synced +=
                recording.journal.events.iter().filter(|event| matches!(event, Event::Acknowledged { .. })).count();
            let verification = Verification { survivals_per_operation: 3, ..Verification::default() };
            tally += verify(&subject, &recording, &verification).unwrap_or_else(|violation| panic!("{violation}"));
        }
        eprintln!("relaxed: {tally:?}, {synced} steps were synced");
        assert!(synced > 0, "the log is synced at intervals");
    }
}

#[test]
fn power_cuts_while_files_are_written_in_the_background() {
    let subject = Native { maintenance: storage::Maintenance::Background, ..Native::default() };
    let seeds = Seeds { name: "background", first: 7_000, count: 3, least: least::BACKGROUND };
    check(&seeds, &subject, &Workload::default(), &Verification::default());
}

/// A kill at every moment, and then a power cut at every moment of the process that comes next.
fn after_kills() -> Verification {
    Verification { survivals: &[Survival::Everything], kill_then_cut_every: 5, ..Verification::default() }
}

#[test]
fn kills_then_power_cuts_lose_nothing_acknowledged() {
    let workload = Workload { transactions: 12, ..Workload::default() };
    let least = least::AFTER_KILLS;
    let seeds = Seeds { name: "kill then cut", first: 10_000, count: 2, least };
    let tally = check(&seeds, &Native::default(), &workload, &after_kills());
    assert!(tally.backups_of_second_lives > 20, "processes that came after a kill made backups: {tally:?}");
    let subject = Native { memtable_bytes_max: usize::MAX, ..Native::default() };
    check(&Seeds { name: "kill then cut of a log", first: 10_100, ..seeds }, &subject, &workload, &after_kills());
}

#[test]
fn nor_do_they_without_durability_what_a_checkpoint_made_durable() {
    let workload = Workload { transactions: 12, is_durable: false, ..Workload::default() };
    let subject = Native { durability: Durability::Off, ..Native::default() };
    let seeds = Seeds { name: "kill then cut, not durable", first: 10_200, count: 2, least: least::AFTER_KILLS };
    check(&seeds, &subject, &workload, &after_kills());
}

#[test]
fn what_a_power_cut_leaves_is_read_twice_at_once_on_a_disk_that_refuses_writes() {
    let verification = Verification {
        read_only_every: 1,
        survivals_per_operation: 2,
        kill_then_cut_every: 50,
        ..Verification::default()
    };
    let workload = Workload { transactions: 15, ..Workload::default() };
    let seeds = Seeds { name: "read only", first: 11_000, count: 4, least: 500 };
    let tally = check(&seeds, &Native::default(), &workload, &verification);
    assert!(tally.read_only > 500, "{tally:?}");
}

fn check_faults(first_seed: u64, subject: &Native) {
    let workload = Workload { transactions: 14, backup_percent: 0, ..Workload::default() };
    for fault in [Fault::Once, Fault::Full] {
        let seed = seed_or(first_seed);
        let recording = record(subject, &workload, seed);
        let failures = verify_faults(subject, &recording, fault).unwrap_or_else(|violation| panic!("{violation}"));
        eprintln!("{fault:?}: {failures} failures");
        assert!(failures > 50);
    }
}

#[test]
fn a_disk_that_fails_at_any_operation_loses_nothing_acknowledged() {
    [5_000, 5_001].iter().for_each(|&seed| check_faults(seed, &Native::default()));
}

#[test]
fn nor_does_one_that_fails_in_the_background() {
    check_faults(5_002, &Native { maintenance: storage::Maintenance::Background, ..Native::default() });
}

/// Recordings of seeds, with constraints of each kind: some are dropped again, but not all of any.
fn with_rules(first: u64) -> Vec<Recording> {
    let workload = Workload { transactions: 20, backup_percent: 0, has_rules: true, ..Workload::default() };
    let start = seed_or(first);
    let mut missing: Vec<&str> = words_of_each_kind().collect();
    let mut recordings = Vec::new();
    for seed in start..start + 60 {
        if recordings.len() >= 4 && missing.is_empty() {
            break;
        }
        let recording = record(&Native::default(), &workload, seed);
        let last = &recording.contents[recording.contents.len() - 2];
        let before = missing.len();
        missing.retain(|words| !last.constraints.iter().any(|statement| statement.contains(words)));
        if recordings.len() < 4 || missing.len() < before {
            recordings.push(recording);
        }
    }
    assert!(missing.is_empty(), "rules with the words {missing:?} are in no store of the seeds from {start}");
    recordings
}

#[test]
fn damage_gives_an_error_or_the_right_answer() {
    for recording in with_rules(6_000) {
        let noticed = verify_damage(&Native::default(), &recording, 2_000);
        let noticed = noticed.unwrap_or_else(|violation| panic!("{violation}"));
        assert!(noticed > 1_000, "most damage is noticed, found {noticed}");
    }
}

#[test]
fn a_page_that_cannot_be_read_gives_an_error_or_the_right_answer_and_comes_back() {
    for recording in with_rules(7_000) {
        let noticed = verify_read_errors(&Native::default(), &recording, 400);
        let noticed = noticed.unwrap_or_else(|violation| panic!("{violation}"));
        assert!(noticed > 100, "many pages are needed, found {noticed}");
    }
}

#[test]
fn broken_stores_are_found_out() {
    let subject = Native::default();
    let verification = Verification { survivals_per_operation: 2, ..Verification::default() };
    for broken in BROKEN {
        let is_found = (4_000..4_005).any(|seed| {
            let recording = record(&subject, &Workload { transactions: 15, ..Workload::default() }, seed);
            if broken.life == Life::Second {
                let second_life = broken.change;
                // Of opening: a backup would tell of it, too.
                let backs_up_again = false;
                let verification =
                    Verification { second_life, backs_up_again, kill_then_cut_every: 1, ..after_kills() };
                return verify(&subject, &recording, &verification).is_err();
            }
            let events = (broken.change)(&recording.journal);
            let journal = testing::simulation::Journal { events, paths: recording.journal.paths.clone() };
            verify(&subject, &Recording { journal, ..recording }, &verification).is_err()
        });
        assert!(is_found, "the canary lives: {}", broken.name);
    }
}
