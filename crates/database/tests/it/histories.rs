//! Sessions side by side that also run `COPY`, `IN TRANSACTIONS` and algorithms in write mode, while files are written and
//! indexes come and go: what they saw is recorded and checked for snapshot isolation.
//!
//! `FUZZ_SECONDS=600 cargo test --release -p knotwork-database histories` goes on for ten minutes.

#[path = "histories/keepers.rs"]
mod keepers;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use database::{Config, Database, Durability, Error, ErrorCode, Interrupt, IsolationLevel, Parameters, Session};
use testing::Folder;
use testing::histories::{Findings, Key, Operation, Outcome, Planted, Transaction, find_anomalies};
use testing::random::{SeededRandom, seed_or};

use keepers::{BATCH, KEEPERS, Keeper, LISTS, Way};

const WRITERS: u64 = 3;
/// Transactions of one history.
const TRANSACTIONS: u64 = 1_200;
/// Transactions of a history with a fault.
const TRANSACTIONS_WITH_FAULT: u64 = 120;
/// Commits of each statement in a history that the session tries again; half of that where it does not.
const COMMITS_MIN: u64 = 5;

fn keys_of(keepers: Range<usize>) -> Vec<Key> {
    let lists = keepers.flat_map(|at| (0..LISTS).map(move |list| (at, at as u32 * LISTS + list)));
    lists.map(|(at, number)| if KEEPERS[at].is_ordered { Key::Ordered(number) } else { Key::Set(number) }).collect()
}

/// The keeper of a list, and the number of the list there.
fn keeper(key: Key) -> (&'static Keeper, u32) {
    (&KEEPERS[(key.number() / LISTS) as usize], key.number() % LISTS)
}

/// True if a statement was refused since another came first.
fn is_conflict(error: &Error) -> bool {
    error.code() == ErrorCode::Conflict
}

/// State shared by the threads.
struct Run<'a> {
    database: &'a Database,
    folder: &'a Folder,
    keys: Vec<Key>,
    transactions: u64,
    fault: Option<Planted>,
    next_value: AtomicU64,
    /// Transactions that committed, by the keeper that they appended to last.
    commits: Vec<AtomicU64>,
    is_done: AtomicBool,
    history: Mutex<Vec<Transaction>>,
}

impl<'a> Run<'a> {
    fn new(database: &'a Database, folder: &'a Folder, keepers: Range<usize>, transactions: u64) -> Run<'a> {
        let mut session = database.session();
        for key in keys_of(keepers.clone()) {
            let (keeper, list) = keeper(key);
            keeper.prepare(&mut session, list).unwrap_or_else(|error| panic!("{}: {error}", keeper.name));
        }
        Run {
            database,
            folder,
            keys: keys_of(keepers),
            transactions,
            fault: None,
            next_value: AtomicU64::new(1),
            commits: KEEPERS.iter().map(|_| AtomicU64::new(0)).collect(),
            is_done: AtomicBool::new(false),
            history: Mutex::default(),
        }
    }

    fn now_ns(&self) -> u64 {
        self.database.clock().now_ns()
    }

    fn is_over(&self) -> bool {
        self.history.lock().expect("no thread panics").len() as u64 >= self.transactions
    }

    fn has_fault(&self, fault: Planted, random: &mut SeededRandom) -> bool {
        self.fault == Some(fault) && random.chance(20)
    }

    fn new_values(&self, count: u64) -> Vec<u64> {
        let first = self.next_value.fetch_add(count, Ordering::Relaxed);
        (first..first + count).collect()
    }

    fn add(&self, operations: Vec<Operation>, outcome: Outcome, begin_ns: u64) {
        let appended = operations.iter().rev().find_map(|operation| match operation {
            Operation::Append { key, .. } => Some(key.number() / LISTS),
            Operation::Read { .. } => None,
        });
        if let (Some(keeper), Outcome::Committed) = (appended, outcome) {
            self.commits[keeper as usize].fetch_add(1, Ordering::Relaxed);
        }
        let end_ns = self.now_ns();
        self.history.lock().expect("no thread panics").push(Transaction { operations, outcome, begin_ns, end_ns });
    }

    /// Adds numbers to a list, or to another, or nowhere, as the fault wants it.
    fn append(&self, session: &mut Session, key: Key, values: &[u64], random: &mut SeededRandom) -> Result<(), Error> {
        if self.has_fault(Planted::Lost, random) {
            return Ok(());
        }
        let key = if self.has_fault(Planted::Misplaced, random) { key.neighbor() } else { key };
        let (keeper, list) = keeper(key);
        if values.len() > 1 && self.has_fault(Planted::Torn, random) {
            keeper.append(session, self.folder, list, &values[..1])?;
            self.read(&mut self.database.session());
            return keeper.append(session, self.folder, list, &values[1..]);
        }
        keeper.append(session, self.folder, list, values)
    }

    /// The end of a transaction, as its client is told.
    fn outcome(&self, end: Result<(), Error>, random: &mut SeededRandom) -> Outcome {
        match end {
            Ok(()) if self.has_fault(Planted::Undone, random) => Outcome::Aborted,
            Ok(()) => Outcome::Committed,
            Err(error) if is_conflict(&error) => Outcome::Aborted,
            Err(error) => panic!("a statement failed: {error:?}"),
        }
    }

    /// A statement that commits by itself, or a transaction of several.
    fn write(&self, session: &mut Session, random: &mut SeededRandom) {
        let key = *random.pick(&self.keys);
        let begin_ns = self.now_ns();
        let way = keeper(key).0.way;
        // A single statement may also run as a transaction of its own, which the session retries.
        let is_alone = keeper(key).0.is_one_statement() && random.chance(40);
        if way == Way::Within && !is_alone {
            let mut operations = Vec::new();
            let end = self.try_write(session, random, &mut operations);
            if session.in_transaction() {
                session.rollback().expect("a transaction is open");
            }
            let outcome = self.outcome(end, random);
            return self.add(operations, outcome, begin_ns);
        }
        let values = self.new_values(if way == Way::Within { 1 } else { 4 });
        let end = self.append(session, key, &values, random);
        // Of batches some may be committed before one fails.
        let is_open = way == Way::Batches && end.is_err();
        let outcome = self.outcome(end, random);
        let outcome = if is_open { Outcome::Unknown } else { outcome };
        for values in values.chunks(if way == Way::Batches { BATCH } else { values.len() }) {
            let append = |&value: &u64| Operation::Append { key, value };
            self.add(values.iter().map(append).collect(), outcome, begin_ns);
        }
    }

    /// A transaction that reads anything, and appends by what takes part in transactions.
    fn try_write(
        &self,
        session: &mut Session,
        random: &mut SeededRandom,
        operations: &mut Vec<Operation>,
    ) -> Result<(), Error> {
        let within: Vec<Key> = self.keys.iter().copied().filter(|&key| keeper(key).0.way == Way::Within).collect();
        session.begin()?;
        for _ in 0..1 + random.index(4) {
            if random.chance(40) {
                let key = *random.pick(&self.keys);
                let (keeper, list) = keeper(key);
                operations.push(Operation::Read { key, values: keeper.read(session, list)? });
                continue;
            }
            let (key, values) = (*random.pick(&within), self.new_values(1));
            operations.push(Operation::Append { key, value: values[0] });
            self.append(session, key, &values, random)?;
            if self.has_fault(Planted::Torn, random) {
                session.commit()?;
                self.read(&mut self.database.session());
                session.begin()?;
            }
        }
        session.commit()
    }

    /// A transaction that reads every list.
    fn read(&self, session: &mut Session) {
        let begin_ns = self.now_ns();
        if !session.in_transaction() {
            session.begin().expect("no transaction is open");
        }
        let mut values = |key: Key| {
            let (keeper, list) = keeper(key);
            keeper.read(session, list).unwrap_or_else(|error| panic!("{}: {error}", keeper.name))
        };
        let operations = self.keys.iter().map(|&key| Operation::Read { key, values: values(key) }).collect();
        // With the planted stale reads, the first transaction stays open and serves all later ones.
        if self.fault != Some(Planted::Stale) {
            session.commit().expect("who only reads can commit");
        }
        self.add(operations, Outcome::Committed, begin_ns);
    }

    /// Writes files, and makes and drops indexes and sort keys of what is written.
    fn disturb(&self, seed: u64) {
        let (mut random, mut session) = (SeededRandom::new(seed), self.database.session());
        let mut run = |text: &str| match session.query(text, &Parameters::default()) {
            Err(error) if !is_conflict(&error) => panic!("{text}: {error:?}"),
            _ => {}
        };
        while !self.is_done.load(Ordering::Relaxed) {
            match random.below(6) {
                0 => self.database.checkpoint().expect("files can be written"),
                1 => self.database.compact(&Interrupt::new()).expect("files can be merged"),
                2 => run("CREATE INDEX batched IF NOT EXISTS FOR (n:Batched0) ON (n.value)"),
                3 => run("DROP INDEX batched IF EXISTS"),
                4 => run("CREATE INDEX kept IF NOT EXISTS FOR ()-[r:KEPT0]-() ON (r.k)"),
                _ => run("DROP INDEX kept IF EXISTS"),
            }
            std::thread::sleep(std::time::Duration::from_millis(random.below(20)));
        }
    }

    /// Runs all threads until there are enough transactions, and then reads everything.
    fn run(&self, seed: u64, isolation: IsolationLevel) {
        // Its first state is that before all writes.
        let mut reader = self.database.session();
        self.read(&mut reader);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for number in 0..WRITERS {
                threads.push(scope.spawn(move || {
                    let (mut random, mut session) = (SeededRandom::new(seed * 100 + number), self.database.session());
                    session.set_isolation(isolation);
                    while !self.is_over() {
                        self.write(&mut session, &mut random);
                    }
                }));
            }
            threads.push(scope.spawn(move || {
                while !self.is_over() {
                    self.read(&mut reader);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                self.read(&mut reader);
            }));
            let disturber = scope.spawn(|| self.disturb(seed));
            let ends: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            self.is_done.store(true, Ordering::Relaxed);
            let disturbed = disturber.join();
            ends.into_iter().chain([disturbed]).for_each(|end| end.expect("a thread ends well"));
        });
        self.read(&mut self.database.session());
    }
}

fn open(folder: &Folder) -> Database {
    let config = Config { durability: Durability::Off, threads: 2, ..Config::default() };
    Database::open(&folder.join("store.knot"), config).expect("a store can be opened")
}

fn check_history(seed: u64, isolation: IsolationLevel) -> Findings {
    let folder = Folder::new();
    let database = open(&folder);
    let run = Run::new(&database, &folder, 0..KEEPERS.len(), TRANSACTIONS);
    run.run(seed, isolation);
    let commits: Vec<u64> = run.commits.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let history = run.history.into_inner().expect("no thread panics");
    drop(database);
    let findings = find_anomalies(&history);
    eprintln!("seed {seed}: {commits:?} committed, {} dependencies", findings.dependencies);
    if let Some(anomaly) = findings.anomalies.first() {
        let count = findings.anomalies.len();
        panic!("seed {seed}: {count} anomalies, the first: {:?}: {}", anomaly.kind, anomaly.message);
    }
    for (count, keeper) in commits.iter().zip(KEEPERS) {
        let least = match (keeper.is_one_statement(), isolation) {
            (true, _) => COMMITS_MIN,
            (false, IsolationLevel::Snapshot) => COMMITS_MIN / 2,
            (false, IsolationLevel::Serializable) => 0,
        };
        assert!(*count >= least, "seed {seed}: {} was committed {count} times", keeper.name);
    }
    // The store that is opened again holds what was read last.
    let (database, last) = (open(&folder), history.last().expect("everything was read"));
    let mut session = database.session();
    for operation in &last.operations {
        let Operation::Read { key, values } = operation else { continue };
        let sorted = |mut values: Vec<u64>| {
            values.sort_unstable();
            values
        };
        let (keeper, list) = keeper(*key);
        let found = keeper.read(&mut session, list).expect("it can be read");
        assert_eq!(sorted(found), sorted(values.clone()), "seed {seed}: {}, opened again", keeper.name);
    }
    findings
}

fn check(first_seed: u64, isolation: IsolationLevel) {
    let clock = storage::os::platform().clock;
    let seconds = std::env::var("FUZZ_SECONDS").map_or(0, |text| text.parse().expect("FUZZ_SECONDS is a number"));
    let start = clock.now_ns();
    for seed in seed_or(first_seed).. {
        let findings = check_history(seed, isolation);
        assert!(isolation == IsolationLevel::Snapshot || !findings.has_write_skew, "seed {seed}: write skew");
        if clock.now_ns() - start >= seconds * 1_000_000_000 {
            break;
        }
    }
}

#[test]
fn statements_side_by_side_are_snapshot_isolated() {
    check(1, IsolationLevel::Snapshot);
}

#[test]
fn serializable_transactions_beside_them_have_no_cycles() {
    check(2, IsolationLevel::Serializable);
}

/// Histories in which a fault must show at least once: on a busy machine few transactions of one meet each other.
const ATTEMPTS: u64 = 6;

/// Each fault is found through each keeper: none of them is deaf.
#[test]
fn planted_faults_of_statements_are_found() {
    let seed = seed_or(3);
    for (at, keeper) in KEEPERS.iter().enumerate() {
        for fault in Planted::ALL {
            let mut found = Vec::new();
            let is_found = (0..ATTEMPTS).any(|attempt| {
                let folder = Folder::new();
                let database = open(&folder);
                let mut run = Run::new(&database, &folder, at..at + 1, TRANSACTIONS_WITH_FAULT);
                run.fault = Some(fault);
                run.run(seed + attempt, IsolationLevel::Snapshot);
                found.extend(find_anomalies(&run.history.into_inner().expect("no thread panics")).anomalies);
                found.iter().any(|anomaly| fault.anomalies().contains(&anomaly.kind))
            });
            assert!(is_found, "FUZZ_SEED={seed}: {}: {fault:?} is not found among {found:?}", keeper.name);
        }
    }
}
