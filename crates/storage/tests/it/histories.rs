//! Transactions of many threads, recorded and checked, while flushes, compactions, backups and index builds go on.
//!
//! `FUZZ_SECONDS=600 cargo test --release -p knotwork-storage histories` goes on for ten minutes.

mod keepers;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use model::platform::Clock;
use model::{Column, ErrorCode, GraphStore, Interrupt, IsolationLevel, ReadView, Result, Value, WriteTransaction};
use storage::build::BuildConfig;
use storage::bulk::{BulkLoad, NodeRows};
use storage::{Durability, NativeStore, OpenOptions};
use testing::histories::{Anomaly, Findings, Key, Operation, Outcome, Planted, Transaction, find_anomalies};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;
use crate::numbered;
use keepers::{KEEPERS, Keeper, LISTS, label_of_list};

const WRITERS: u64 = 4;
const READERS: u64 = 2;
/// Bytes of writes that a transaction holds in memory, where some are to be larger: those of one append and more.
const LARGE_BYTES: usize = 300;

/// Transactions of one history.
const TRANSACTIONS: u64 = 5_000;
/// Transactions larger than memory, and bulk loads, that a history has at least.
const LARGE_COMMITS: u64 = 50;
const LOADS: u64 = 1;
/// Times as many transactions at most, if those are long in coming: readers never wait, and make most of them on a busy machine.
const TIMES_MAX: u64 = 10;

/// The lists of some keepers.
fn keys_of(keepers: std::ops::Range<usize>) -> Vec<Key> {
    let lists = keepers.flat_map(|at| (0..LISTS).map(move |list| (at, at as u32 * LISTS + list)));
    lists.map(|(at, number)| if KEEPERS[at].is_ordered() { Key::Ordered(number) } else { Key::Set(number) }).collect()
}

fn all_keys() -> Vec<Key> {
    keys_of(0..KEEPERS.len())
}

/// The keeper of a list, and the number of the list there.
fn keeper(key: Key) -> (&'static dyn Keeper, u32) {
    (KEEPERS[(key.number() / LISTS) as usize], key.number() % LISTS)
}

/// Makes all lists.
fn make_lists(store: &NativeStore) {
    let mut transaction = store.write().unwrap();
    for key in ["list", "values"] {
        transaction.property_key(key).unwrap();
    }
    for key in all_keys() {
        let (keeper, list) = keeper(key);
        keeper.prepare(&mut *transaction, list).unwrap();
    }
    transaction.commit().unwrap();
}

fn read(view: &dyn ReadView, key: Key) -> Result<Vec<u64>> {
    let (keeper, list) = keeper(key);
    keeper.read(view, list)
}

fn append(transaction: &mut dyn WriteTransaction, key: Key, value: u64, random: &mut SeededRandom) -> Result<()> {
    let (keeper, list) = keeper(key);
    keeper.append(transaction, list, value, random)
}

/// State shared by the threads.
struct Run<'a> {
    store: &'a NativeStore,
    isolation: IsolationLevel,
    transactions: u64,
    /// Transactions larger than memory, and bulk loads, without which it is not over.
    least: (u64, u64),
    /// Some transactions are larger than memory.
    has_large: bool,
    fault: Option<Planted>,
    /// A state that stale reads go on to see.
    old: Mutex<Option<Arc<dyn ReadView>>>,
    clock: &'a dyn Clock,
    next_value: AtomicU64,
    finished: AtomicU64,
    loaded: AtomicU64,
    is_done: AtomicBool,
    history: Mutex<Vec<Transaction>>,
}

impl<'a> Run<'a> {
    fn new(store: &'a NativeStore, clock: &'a dyn Clock, isolation: IsolationLevel, transactions: u64) -> Run<'a> {
        Run {
            store,
            isolation,
            transactions,
            least: (0, 0),
            has_large: false,
            fault: None,
            old: Mutex::default(),
            clock,
            next_value: AtomicU64::new(1),
            finished: AtomicU64::new(0),
            loaded: AtomicU64::new(0),
            is_done: AtomicBool::new(false),
            history: Mutex::default(),
        }
    }

    fn is_over(&self) -> bool {
        let finished = self.finished.load(Ordering::Relaxed);
        let (large, loads) = self.least;
        let has_least = || self.store.stats().large_commits >= large && self.loaded.load(Ordering::Relaxed) >= loads;
        finished >= self.transactions && (finished >= self.transactions * TIMES_MAX || has_least())
    }

    fn has_fault(&self, fault: Planted, random: &mut SeededRandom) -> bool {
        self.fault == Some(fault) && random.chance(10)
    }

    fn add(&self, operations: Vec<Operation>, outcome: Outcome, begin_ns: u64) {
        let end_ns = self.clock.now_ns();
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.history.lock().unwrap().push(Transaction { operations, outcome, begin_ns, end_ns });
    }

    /// One transaction of a writer.
    fn write(&self, random: &mut SeededRandom, keys: &[Key]) {
        let (begin_ns, mut operations) = (self.clock.now_ns(), Vec::new());
        let end = self.try_write(random, keys, &mut operations);
        let outcome = match end {
            Ok(true) => Outcome::Committed,
            Ok(false) => Outcome::Aborted,
            Err(error) if error.code() == ErrorCode::Conflict => Outcome::Aborted,
            Err(error) => panic!("a transaction failed: {error:?}"),
        };
        self.add(operations, outcome, begin_ns);
    }

    /// True if it was committed.
    fn try_write(&self, random: &mut SeededRandom, keys: &[Key], operations: &mut Vec<Operation>) -> Result<bool> {
        // One that outgrows memory gets through only if nobody commits before.
        let is_alone = self.has_large && random.chance(50);
        let begin = || match is_alone {
            true => self.store.write_alone(self.isolation),
            false => self.store.write_isolated(self.isolation),
        };
        let mut transaction = begin()?;
        let most = if is_alone { 10 } else { 5 };
        for _ in 0..1 + random.index(most) {
            let key = *random.pick(keys);
            if random.chance(50) {
                let values = read(transaction.view(), key)?;
                operations.push(Operation::Read { key, values });
            } else {
                let value = self.next_value.fetch_add(1, Ordering::Relaxed);
                operations.push(Operation::Append { key, value });
                self.append(&mut *transaction, key, value, random)?;
                if self.has_fault(Planted::Torn, random) {
                    transaction.commit()?;
                    self.read(keys);
                    transaction = begin()?;
                }
            }
            if random.chance(20) {
                std::thread::yield_now();
            }
        }
        if random.chance(5) {
            return Ok(false);
        }
        transaction.commit()?;
        Ok(!self.has_fault(Planted::Undone, random))
    }

    fn append(&self, to: &mut dyn WriteTransaction, key: Key, value: u64, random: &mut SeededRandom) -> Result<()> {
        if self.has_fault(Planted::Lost, random) {
            return Ok(());
        }
        let is_misplaced = self.has_fault(Planted::Misplaced, random);
        append(to, if is_misplaced { key.neighbor() } else { key }, value, random)
    }

    /// One transaction that only reads.
    fn read(&self, keys: &[Key]) {
        let begin_ns = self.clock.now_ns();
        let mut view = self.store.read().unwrap();
        if self.fault == Some(Planted::Stale) {
            view = self.old.lock().unwrap().get_or_insert(view).clone();
        }
        let operations: Vec<Operation> =
            keys.iter().map(|&key| Operation::Read { key, values: read(&*view, key).unwrap() }).collect();
        self.add(operations, Outcome::Committed, begin_ns);
    }

    /// A bulk load of nodes that belong to a list.
    fn load(&self, random: &mut SeededRandom) {
        let keys = keys_of(0..KEEPERS.len());
        let key = *keys.iter().find(|&&key| keeper(key).0.name() == "Labelled").expect("there is such a keeper");
        let key = Key::Set(key.number() + random.below(u64::from(LISTS)) as u32);
        let values: Vec<u64> = (0..3).map(|_| self.next_value.fetch_add(1, Ordering::Relaxed)).collect();
        let begin_ns = self.clock.now_ns();
        let (interrupt, label) = (Interrupt::new(), label_of_list(keeper(key).1));
        let config = BuildConfig { memory_bytes: 64 << 20, threads: 1, ..BuildConfig::default() };
        let column = Column::from_values(&values.iter().map(|&value| Value::Int(value as i64)).collect::<Vec<_>>());
        let loading = self.store.rebuild(&interrupt, |base| {
            let mut load = BulkLoad::new(base, config, &interrupt)?;
            let (labels, columns) = ([label.as_str()], [column]);
            let rows =
                NodeRows { count: 3, labels: &labels, key: None, names: &["value"], columns: &columns, origin: 0 };
            assert_eq!(load.push_nodes(&rows)?.errors, []);
            Ok((load.finish()?, ()))
        });
        loading.unwrap();
        self.loaded.fetch_add(1, Ordering::Relaxed);
        let operations = values.into_iter().map(|value| Operation::Append { key, value }).collect();
        self.add(operations, Outcome::Committed, begin_ns);
    }

    /// Runs all threads until there are enough transactions, and then reads everything.
    fn run(&self, seed: u64, keys: &[Key], disturb: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for number in 0..WRITERS {
                threads.push(scope.spawn(move || {
                    let mut random = SeededRandom::new(seed * 100 + number);
                    while !self.is_over() {
                        self.write(&mut random, keys);
                    }
                }));
            }
            for _ in 0..READERS {
                threads.push(scope.spawn(move || {
                    while !self.is_over() {
                        self.read(keys);
                        std::thread::sleep(std::time::Duration::from_micros(500));
                    }
                }));
            }
            let disturber = scope.spawn(disturb);
            let ends: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            self.is_done.store(true, Ordering::Relaxed);
            let disturbed = disturber.join();
            ends.into_iter().chain([disturbed]).for_each(|end| end.unwrap());
        });
        self.read(keys);
    }
}

/// A disturbance may meet a conflict, and nothing else.
fn accept(result: Result<()>) {
    match result {
        Err(error) if error.code() != ErrorCode::Conflict => panic!("a disturbance failed: {error:?}"),
        _ => {}
    }
}

/// Flushes, merges, bulk loads, backups, and constraints, indexes and sort keys that come and go.
fn disturb(run: &Run<'_>, directory: &TestDirectory, seed: u64) {
    let mut random = SeededRandom::new(seed);
    let mut backups = 0;
    while !run.is_done.load(Ordering::Relaxed) {
        match random.below(7) {
            0 | 1 => accept(run.store.checkpoint(&Interrupt::new())),
            2 | 3 => accept(random.pick(KEEPERS).disturb(run.store)),
            4 => run.load(&mut random),
            5 => accept(run.store.compact(&Interrupt::new())),
            _ if backups < 3 => {
                backups += 1;
                let path = directory.path().with_extension(format!("backup{backups}"));
                accept(run.store.backup(&path, None, &Interrupt::new()).map(drop));
                check_backup(directory, &path);
            }
            _ => {}
        }
        std::thread::sleep(std::time::Duration::from_millis(random.below(30)));
    }
}

/// A backup holds whole transactions: restored, each list is there without a gap.
fn check_backup(directory: &TestDirectory, path: &Path) {
    let restored = path.with_extension("restored");
    let platform = directory.platform();
    storage::backup::restore(&platform, path, &restored, &Interrupt::new()).unwrap();
    let store = NativeStore::open(&restored, OpenOptions::default(), platform.clone()).unwrap();
    let view = store.read().unwrap();
    all_keys().into_iter().for_each(|key| drop(read(&*view, key).unwrap()));
    drop((store, view));
    numbered::check_files(&platform, &restored);
    for path in [path, &restored] {
        std::fs::remove_dir_all(path).unwrap();
    }
}

/// Makes and checks one history, or as many as `FUZZ_SECONDS` leaves time for, each on a store of its own.
fn check(first_seed: u64, options: OpenOptions, isolation: IsolationLevel) {
    let clock = storage::os::platform().clock;
    let seconds = std::env::var("FUZZ_SECONDS").map_or(0, |text| text.parse().expect("FUZZ_SECONDS is a number"));
    let start = clock.now_ns();
    for seed in seed_or(first_seed).. {
        let findings = check_history(seed, options, isolation);
        eprintln!("seed {seed}: {} committed, {} dependencies", findings.committed, findings.dependencies);
        assert!(findings.committed > 100);
        if clock.now_ns() - start >= seconds * 1_000_000_000 {
            break;
        }
    }
}

fn check_history(seed: u64, options: OpenOptions, isolation: IsolationLevel) -> Findings {
    let directory = TestDirectory::new();
    let platform = directory.platform();
    let store = directory.open_with(options);
    make_lists(&store);
    let has_large = options.transaction_bytes_max.is_some();
    let mut run = Run::new(&store, &*platform.clock, isolation, TRANSACTIONS);
    (run.has_large, run.least) = (has_large, (if has_large { LARGE_COMMITS } else { 0 }, LOADS));
    run.run(seed, &all_keys(), || disturb(&run, &directory, seed));
    let loaded = run.loaded.load(Ordering::Relaxed);
    let history = run.history.into_inner().unwrap();
    let large = store.stats().large_commits;
    assert!(!has_large || large >= LARGE_COMMITS, "seed {seed}: {large} were larger than memory");
    drop(store);
    let findings = find_anomalies(&history);
    if let Some(anomaly) = findings.anomalies.first() {
        panic!(
            "seed {seed}: {} anomalies, the first: {:?}: {}",
            findings.anomalies.len(),
            anomaly.kind,
            anomaly.message
        );
    }
    if isolation == IsolationLevel::Serializable {
        assert!(!findings.has_write_skew, "seed {seed}: some cycle is left, as of write skew");
    }
    assert!(loaded >= LOADS, "seed {seed}: a bulk load ran beside the writers");
    // The store that is opened again holds what was read last.
    let view = directory.open().read().unwrap();
    for operation in &history.last().expect("it was read").operations {
        let Operation::Read { key, values } = operation else { continue };
        let sorted = |mut values: Vec<u64>| {
            values.sort_unstable();
            values
        };
        let found = read(&*view, *key).unwrap();
        assert_eq!(sorted(found), sorted(values.clone()), "seed {seed}: {key:?} after opening again");
    }
    drop(view);
    numbered::check_files(&platform, directory.path());
    findings
}

#[test]
fn concurrent_transactions_are_snapshot_isolated() {
    let options = OpenOptions { memtable_bytes_max: 60_000, durability: Durability::Off, ..OpenOptions::create() };
    check(1, options, IsolationLevel::Snapshot);
}

#[test]
fn durable_ones_too() {
    let options = OpenOptions { memtable_bytes_max: 20_000, ..OpenOptions::create() };
    check(2, options, IsolationLevel::Snapshot);
}

#[test]
fn serializable_ones_have_no_cycles() {
    let options = OpenOptions { memtable_bytes_max: 60_000, durability: Durability::Off, ..OpenOptions::create() };
    check(3, options, IsolationLevel::Serializable);
}

#[test]
fn those_larger_than_memory_are_isolated_too() {
    for (seed, isolation) in [(7, IsolationLevel::Snapshot), (8, IsolationLevel::Serializable)] {
        let options = OpenOptions {
            memtable_bytes_max: 60_000,
            transaction_bytes_max: Some(LARGE_BYTES),
            durability: Durability::Off,
            ..OpenOptions::create()
        };
        check(seed, options, isolation);
    }
}

/// Each fault is found through each keeper: none of them is deaf.
#[test]
fn planted_faults_are_found() {
    KEEPERS.iter().enumerate().for_each(|(at, keeper)| plant_faults(at, *keeper, None));
}

/// Faults in transactions larger than memory are found too.
#[test]
fn planted_faults_of_large_transactions_are_found() {
    plant_faults(0, KEEPERS[0], Some(1));
}

/// Histories in which a fault must show at least once: on a busy machine few transactions of one meet each other.
const ATTEMPTS: u64 = 6;

fn plant_faults(at: usize, keeper: &dyn Keeper, transaction_bytes_max: Option<usize>) {
    let mut large_commits = 0;
    for fault in Planted::ALL {
        let mut found = Vec::new();
        let is_found = (0..ATTEMPTS).any(|attempt| {
            let (anomalies, large) = anomalies_of(fault, seed_or(4) + attempt, at, keeper, transaction_bytes_max);
            found.extend(anomalies);
            large_commits += large;
            found.iter().any(|anomaly: &Anomaly| fault.anomalies().contains(&anomaly.kind))
        });
        assert!(is_found, "{}: {fault:?} is not found among {found:?}", keeper.name());
    }
    assert!(transaction_bytes_max.is_none() || large_commits > 20, "{large_commits} were larger than memory");
}

/// Anomalies in a history of a keeper on a store with that fault, and the number of commits larger than memory.
fn anomalies_of(
    fault: Planted,
    seed: u64,
    at: usize,
    keeper: &dyn Keeper,
    transaction_bytes_max: Option<usize>,
) -> (Vec<Anomaly>, u64) {
    let directory = TestDirectory::new();
    let platform = directory.platform();
    let options = OpenOptions { durability: Durability::Off, transaction_bytes_max, ..OpenOptions::create() };
    let store = directory.open_with(options);
    make_lists(&store);
    let mut run = Run::new(&store, &*platform.clock, IsolationLevel::Snapshot, 200);
    (run.fault, run.has_large) = (Some(fault), transaction_bytes_max.is_some());
    if run.has_large {
        // Readers, which never wait, make most of them.
        run.transactions = 1_000;
    }
    // Beside indexes and constraints of the keeper that are built and dropped, as well.
    let disturb = || {
        while !run.is_done.load(Ordering::Relaxed) {
            accept(keeper.disturb(&store));
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    };
    run.run(seed, &keys_of(at..at + 1), disturb);
    (find_anomalies(&run.history.into_inner().unwrap()).anomalies, store.stats().large_commits)
}

/// Ids that a transaction had reserved before a bulk load, and gives back after it, belong to nodes that were loaded.
#[test]
fn a_transaction_rolled_back_after_a_bulk_load_frees_no_id_of_it() {
    let directory = TestDirectory::new();
    let platform = directory.platform();
    let store = directory.open();
    make_lists(&store);
    let run = Run::new(&store, &*platform.clock, IsolationLevel::Snapshot, 0);
    let mut random = SeededRandom::new(seed_or(6));
    let keys: Vec<Key> = all_keys().into_iter().filter(|&key| keeper(key).0.name() == "Labelled").collect();
    let mut append_to_all = |values: std::ops::Range<u64>| {
        let mut transaction = store.write().unwrap();
        values.for_each(|value| append(&mut *transaction, keys[0], value, &mut random).unwrap());
        transaction
    };
    let open = append_to_all(100..103);
    run.load(&mut SeededRandom::new(6));
    drop(open);
    append_to_all(200..203).commit().unwrap();
    let view = store.read().unwrap();
    let mut found: Vec<u64> = keys.iter().flat_map(|&key| read(&*view, key).unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3, 200, 201, 202]);
}

#[test]
fn a_rolled_back_transaction_leaves_nothing() {
    let directory = TestDirectory::new();
    let store = directory.open();
    make_lists(&store);
    let attempt = |commits: bool| {
        let (mut transaction, mut random) = (store.write().unwrap(), SeededRandom::new(seed_or(5)));
        for key in all_keys() {
            append(&mut *transaction, key, 1, &mut random).unwrap();
        }
        if commits {
            transaction.commit().unwrap();
        }
    };
    let all = || {
        let view = store.read().unwrap();
        all_keys().into_iter().map(|key| read(&*view, key).unwrap()).collect::<Vec<_>>()
    };
    attempt(false);
    assert!(all().iter().all(Vec::is_empty));
    attempt(true);
    assert!(all().iter().all(|values| *values == [1]));
}
