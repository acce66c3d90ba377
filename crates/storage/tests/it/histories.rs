//! Transactions of many threads, recorded and checked, while flushes, compactions, backups and index builds go on.
//!
//! `FUZZ_SECONDS=600 cargo test --release -p knotwork-storage histories` goes on for ten minutes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::platform::Clock;
use model::schema::{Index, Subject};
use model::store::{EdgeIds, Expand, NewEdges, NewNodes};
use model::{
    Column, Constraint, Direction, EdgeBatch, Error, ErrorCode, GraphStore, Interrupt, IsolationLevel, NodeId,
    ReadView, Result, Value, WriteTransaction,
};
use storage::{Durability, NativeStore, OpenOptions};
use testing::histories::{Findings, Key, Operation, Outcome, Transaction, find_anomalies};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;
use crate::numbered;

const PROPERTIES: u32 = 6;
const EDGES: u32 = 4;
const WRITERS: u64 = 4;
const READERS: u64 = 2;

/// Transactions of one history.
const TRANSACTIONS: u64 = 6_000;

/// The node of a list; that of edges is followed by the node where its edges end.
fn node_of(key: Key) -> NodeId {
    match key {
        Key::Property(number) => NodeId(u64::from(number)),
        Key::Edges(number) => NodeId(u64::from(PROPERTIES + 2 * number)),
    }
}

fn all_keys() -> Vec<Key> {
    (0..PROPERTIES).map(Key::Property).chain((0..EDGES).map(Key::Edges)).collect()
}

/// Makes the nodes of all lists.
fn make_lists(store: &NativeStore) {
    let mut transaction = store.write().unwrap();
    let label = transaction.label("List").unwrap();
    for key in ["list", "number", "other"] {
        transaction.property_key(key).unwrap();
    }
    transaction.edge_type("ITEM").unwrap();
    let count = (PROPERTIES + 2 * EDGES) as usize;
    let nodes = transaction.create_nodes(&NewNodes { count, labels: &[label], keys: &[], properties: &[] }).unwrap();
    assert_eq!(nodes[0], NodeId(0), "the first node of a store has the first id");
    transaction.commit().unwrap();
}

fn read(view: &dyn ReadView, key: Key) -> Result<Vec<u64>> {
    let int = |value: Value| match value {
        Value::Int(number) => number as u64,
        other => panic!("an item is a number, found {other:?}"),
    };
    let schema = view.schema();
    match key {
        Key::Property(_) => {
            let list = schema.property_key("list").expect("it was made");
            match view.node_properties(&[node_of(key)], &[list])?[0].value(0) {
                Value::Null => Ok(Vec::new()),
                Value::List(values) => Ok(values.iter().cloned().map(int).collect()),
                other => panic!("a list is a list, found {other:?}"),
            }
        }
        Key::Edges(_) => {
            let number = schema.property_key("number").expect("it was made");
            let expand = Expand {
                direction: Direction::Out,
                types: schema.edge_type("ITEM").map(|item| vec![item]),
                edge_ids: EdgeIds::Omit,
                keys: vec![number],
                ranges: Vec::new(),
                top: None,
            };
            let (from, mut batch, mut values) = ([node_of(key)], EdgeBatch::default(), Vec::new());
            let mut cursor = view.expand(&from, &expand)?;
            while cursor.next(&mut batch)? {
                values.extend(batch.properties[0].values().map(int));
            }
            Ok(values)
        }
    }
}

fn append(transaction: &mut dyn WriteTransaction, key: Key, value: u64) -> Result<()> {
    let node = node_of(key);
    match key {
        Key::Property(_) => {
            let mut values: Vec<Value> =
                read(transaction.view(), key)?.into_iter().map(|value| Value::Int(value as i64)).collect();
            values.push(Value::Int(value as i64));
            let list = transaction.property_key("list")?;
            transaction.set_node_properties(&[node], list, &Column::from_values(&[Value::list(values)]))
        }
        Key::Edges(_) => {
            let (edge_type, number) = (transaction.edge_type("ITEM")?, transaction.property_key("number")?);
            let properties = [Column::from_values(&[Value::Int(value as i64)])];
            let targets = [NodeId(node.0 + 1)];
            let new =
                NewEdges { edge_type, sources: &[node], targets: &targets, keys: &[number], properties: &properties };
            transaction.create_edges(&new).map(drop)
        }
    }
}

/// What the threads share.
struct Run<'a> {
    store: &'a NativeStore,
    isolation: IsolationLevel,
    clock: &'a dyn Clock,
    next_value: AtomicU64,
    finished: AtomicU64,
    is_done: AtomicBool,
    history: Mutex<Vec<Transaction>>,
}

impl Run<'_> {
    fn is_over(&self) -> bool {
        self.finished.load(Ordering::Relaxed) >= TRANSACTIONS
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
        let mut transaction = self.store.write_isolated(self.isolation)?;
        for _ in 0..1 + random.index(5) {
            let key = *random.pick(keys);
            if random.chance(50) {
                let values = read(transaction.view(), key)?;
                operations.push(Operation::Read { key, values });
            } else {
                let value = self.next_value.fetch_add(1, Ordering::Relaxed);
                operations.push(Operation::Append { key, value });
                append(&mut *transaction, key, value)?;
            }
            if random.chance(20) {
                std::thread::yield_now();
            }
        }
        if random.chance(5) {
            return Ok(false);
        }
        transaction.commit().map(|()| true)
    }

    /// One transaction that only reads.
    fn read(&self, keys: &[Key]) {
        let begin_ns = self.clock.now_ns();
        let view = self.store.read().unwrap();
        let operations: Vec<Operation> =
            keys.iter().map(|&key| Operation::Read { key, values: read(&*view, key).unwrap() }).collect();
        self.add(operations, Outcome::Committed, begin_ns);
    }
}

/// Flushes, backups, and constraints and indexes that come and go.
fn disturb(run: &Run<'_>, directory: &TestDirectory, seed: u64) {
    let mut random = SeededRandom::new(seed);
    let accept = |result: Result<()>| match result {
        Err(error) if error.code() != ErrorCode::Conflict => panic!("a disturbance failed: {error:?}"),
        _ => {}
    };
    let mut backups = 0;
    while !run.is_done.load(Ordering::Relaxed) {
        match random.below(5) {
            0 | 1 => accept(run.store.checkpoint(&Interrupt::new())),
            2 => accept(toggle_constraint(run.store)),
            3 => accept(toggle_index(run.store)),
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
fn check_backup(directory: &TestDirectory, path: &std::path::Path) {
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

fn toggle_constraint(store: &NativeStore) -> Result<()> {
    let mut transaction = store.write()?;
    if transaction.view().schema().constraints.is_empty() {
        let (label, key) = (transaction.label("List")?, transaction.property_key("other")?);
        transaction.create_constraint(Constraint::unique("others", label, key), &model::Interrupt::new())?;
    } else {
        transaction.drop_constraint("others")?;
    }
    transaction.commit()
}

/// Indexes of the lists and of the edges, built while both are written.
fn toggle_index(store: &NativeStore) -> Result<()> {
    let mut transaction = store.write()?;
    let has_index = transaction.view().schema().indexes.iter().any(|index| &*index.name == "lists");
    let (label, list) = (transaction.label("List")?, transaction.property_key("list")?);
    let (edge_type, number) = (transaction.edge_type("ITEM")?, transaction.property_key("number")?);
    let subjects = [("lists", Subject::Label(label), list), ("items", Subject::EdgeType(edge_type), number)];
    for (name, subject, key) in subjects {
        if has_index {
            transaction.drop_index(name)?;
        } else {
            let index = Index { name: name.into(), subject, keys: vec![key] };
            transaction.create_index(index, &Interrupt::new())?;
        }
    }
    transaction.commit()
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
    let run = Run {
        store: &store,
        isolation,
        clock: &*platform.clock,
        next_value: AtomicU64::new(1),
        finished: AtomicU64::new(0),
        is_done: AtomicBool::new(false),
        history: Mutex::default(),
    };
    let keys = all_keys();
    std::thread::scope(|scope| {
        let (run, keys) = (&run, &keys);
        let mut threads = Vec::new();
        for number in 0..WRITERS {
            threads.push(scope.spawn(move || {
                let mut random = SeededRandom::new(seed * 100 + number);
                while !run.is_over() {
                    run.write(&mut random, keys);
                }
            }));
        }
        for _ in 0..READERS {
            threads.push(scope.spawn(move || {
                while !run.is_over() {
                    run.read(keys);
                    std::thread::sleep(std::time::Duration::from_micros(500));
                }
            }));
        }
        let disturber = scope.spawn(|| disturb(run, &directory, seed));
        let ends: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        run.is_done.store(true, Ordering::Relaxed);
        let disturbed = disturber.join();
        ends.into_iter().chain([disturbed]).for_each(|end| end.unwrap());
    });
    run.read(&keys);
    let history = run.history.into_inner().unwrap();
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

/// An error is an error of the store, not of the test: the code that a refused transaction has.
#[test]
fn a_rolled_back_transaction_leaves_nothing() {
    let directory = TestDirectory::new();
    let store = directory.open();
    make_lists(&store);
    let attempt = |commits: bool| -> std::result::Result<(), Error> {
        let mut transaction = store.write()?;
        append(&mut *transaction, Key::Edges(0), 1)?;
        append(&mut *transaction, Key::Property(0), 2)?;
        if commits { transaction.commit() } else { Ok(()) }
    };
    attempt(false).unwrap();
    let view = store.read().unwrap();
    assert_eq!((read(&*view, Key::Edges(0)).unwrap(), read(&*view, Key::Property(0)).unwrap()), (vec![], vec![]));
    attempt(true).unwrap();
    let view = store.read().unwrap();
    assert_eq!((read(&*view, Key::Edges(0)).unwrap(), read(&*view, Key::Property(0)).unwrap()), (vec![1], vec![2]));
}
