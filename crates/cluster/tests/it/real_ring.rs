//! The store on a real ring, whose address is in `KNOTWORK_CQL`; `scripts/ring.sh test` starts one. Skipped aloud otherwise.
//!
//! `KNOTWORK_CQL_NODES` is the number of its nodes, and of the copies of each row: 1 or 3.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use cluster::cql::{CqlConfig, CqlTables};
use cluster::{ClusterStore, Settings};
use model::platform::Clock;
use model::{ErrorCode, GraphStore, Value};
use testing::differential::{Content, check_random};
use testing::random::seed_or;
use testing::simulation::PlatformRandom;
use testing::store_contract::check_store;

use crate::graph::{add_node, named, prepare, set, value};

/// Time since the start of the test.
#[derive(Debug)]
struct RealClock(std::time::SystemTime);

impl Clock for RealClock {
    fn now_ns(&self) -> u64 {
        self.0.elapsed().map_or(0, |passed| passed.as_nanos() as u64)
    }

    fn unix_us(&self) -> i64 {
        self.0.duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_micros() as i64)
    }
}

fn clock() -> RealClock {
    RealClock(std::time::SystemTime::now())
}

/// The tables of the ring, in a keyspace of this run; `None` where there is no ring.
fn tables() -> Option<Arc<CqlTables>> {
    let Ok(address) = std::env::var("KNOTWORK_CQL") else {
        testing::servers::skip("a real ring: KNOTWORK_CQL names none; scripts/ring.sh test starts one");
        return None;
    };
    let nodes = std::env::var("KNOTWORK_CQL_NODES").map_or(1, |text| text.parse().expect("a number of nodes"));
    let keyspace = format!("knot_test_{}", std::process::id());
    let config = CqlConfig { copies: nodes, ..CqlConfig::new(vec![address], keyspace) };
    Some(Arc::new(CqlTables::connect(&config).expect("connecting to the ring")))
}

fn open(tables: &Arc<CqlTables>, graph: i64) -> ClusterStore {
    // Names of transactions must differ from those of any other run.
    let seed = clock().unix_us() as u64 ^ std::process::id() as u64;
    let settings = Settings::new(graph, Arc::new(clock()), Arc::new(PlatformRandom::new(seed)));
    ClusterStore::open(tables.clone(), settings).expect("opening a graph")
}

#[test]
fn the_contract_holds_on_a_real_ring() {
    let Some(tables) = tables() else { return };
    let graphs = AtomicI64::new(1_000);
    check_store(&|| Box::new(open(&tables, graphs.fetch_add(1, Ordering::Relaxed))));
    let checks = graphs.into_inner() - 1_000;
    eprintln!("{checks} graphs were checked");
    assert!(checks > 60);
}

#[test]
fn random_transactions_agree_with_the_reference_on_a_real_ring() {
    let Some(tables) = tables() else { return };
    let seed = seed_or(1);
    eprintln!("FUZZ_SEED={seed}");
    let mut reopened = 0;
    check_random(seed, 12, Box::new(open(&tables, 1)), &mut |store, number| {
        if number % 3 != 1 {
            return store;
        }
        reopened += 1;
        drop(store);
        Box::new(open(&tables, 1))
    });
    assert_eq!(reopened, 4);
}

#[test]
fn processes_race_on_a_real_ring() {
    const CLIENTS: usize = 4;
    const ROUNDS: i64 = 12;
    let Some(tables) = tables() else { return };
    let first = open(&tables, 2);
    let nodes = prepare(&first).expect("preparing a graph");
    let conflicts = AtomicI64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let store = open(&tables, 2);
                for round in 0..ROUNDS {
                    loop {
                        let outcome = increment(&store, nodes[0]).and_then(|()| make_once(&store, 100 + round));
                        match outcome {
                            Ok(()) => break,
                            Err(error) => assert_eq!(error.code(), ErrorCode::Conflict, "{error:?}"),
                        }
                        conflicts.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let view = first.read().expect("taking a snapshot");
    let names: Vec<Value> = named(&*view).expect("reading").into_iter().map(|(name, _)| name).collect();
    let expected: Vec<Value> = (0..4).chain(100..100 + ROUNDS).map(Value::Int).collect();
    assert_eq!(names, expected, "each name was made once");
    let Value::Int(count) = value(&*view, nodes[0], "count").expect("reading") else { panic!("a number") };
    assert!(count >= CLIENTS as i64 * ROUNDS, "{count} increments");
    eprintln!("{} conflicts, {count} increments", conflicts.into_inner());
    Content::of(&*view);
}

fn increment(store: &ClusterStore, node: model::NodeId) -> model::Result<()> {
    let mut transaction = store.write()?;
    let count = if let Value::Int(count) = value(transaction.view(), node, "count")? { count } else { 0 };
    set(&mut *transaction, node, "count", Value::Int(count + 1))?;
    transaction.commit()
}

fn make_once(store: &ClusterStore, name: i64) -> model::Result<()> {
    let mut transaction = store.write()?;
    if named(transaction.view())?.iter().any(|(other, _)| *other == Value::Int(name)) {
        return Ok(());
    }
    match add_node(&mut *transaction, &[("name", Value::Int(name))]) {
        Err(error) if error.code() == ErrorCode::Constraint => Ok(()),
        Err(error) => Err(error),
        Ok(_) => transaction.commit(),
    }
}

#[test]
fn epochs_are_dropped_and_sleepers_are_told_on_a_real_ring() {
    let Some(tables) = tables() else { return };
    let open = |graph| {
        let seed = clock().unix_us() as u64;
        let mut settings = Settings::new(graph, Arc::new(clock()), Arc::new(PlatformRandom::new(seed)));
        (settings.epoch_records, settings.checkpoint_records) = (8, 16);
        ClusterStore::open(tables.clone(), settings).expect("opening a graph")
    };
    let (a, b) = (open(3), open(3));
    let nodes = prepare(&a).expect("preparing a graph");
    let mut asleep = b.write().expect("beginning a transaction");
    set(&mut *asleep, nodes[0], "name", Value::Int(-1)).expect("writing");
    for number in 0..40 {
        let mut transaction = a.write().expect("beginning a transaction");
        set(&mut *transaction, nodes[1], "x", Value::Int(number)).expect("writing");
        transaction.commit().expect("committing");
    }
    assert!(a.trim().expect("dropping epochs") >= 3);
    assert_eq!(a.trim().expect("dropping none"), 0);
    assert_eq!(asleep.commit().map_err(|error| error.code()), Err(ErrorCode::Conflict));
    let view = b.read().expect("taking a snapshot");
    assert_eq!(value(&*view, nodes[1], "x").expect("reading"), Value::Int(39));
    assert_eq!(open(3).sequence().expect("following"), a.sequence().expect("following"));
}

/// Dead rows go by the log and, where it was dropped, by a sweep; older views say so; rows of dropped indexes go.
#[test]
fn dead_rows_are_purged_on_a_real_ring() {
    const CHANGES: i64 = 150;
    let Some(tables) = tables() else { return };
    let open = || {
        let mut settings = Settings::new(6, Arc::new(clock()), Arc::new(PlatformRandom::new(clock().unix_us() as u64)));
        (settings.epoch_records, settings.checkpoint_records) = (16, 32);
        (settings.lease_ns, settings.cache_bytes_max) = (500_000_000, 0);
        ClusterStore::open(tables.clone(), settings).expect("opening a graph")
    };
    let (store, other) = (open(), open());
    let nodes = prepare(&store).expect("preparing a graph");
    let change = |from: i64| {
        for number in from..from + CHANGES {
            let mut transaction = store.write().expect("beginning a transaction");
            set(&mut *transaction, nodes[0], "name", Value::Int(1_000 + number)).expect("writing");
            let label = [transaction.label("Odd").expect("a label")];
            let changed = match number % 2 {
                1 => transaction.add_labels(&nodes[1..2], &label),
                _ => transaction.remove_labels(&nodes[1..2], &label),
            };
            changed.expect("writing");
            transaction.commit().expect("committing");
        }
    };
    let fetched = || {
        let view = store.read().expect("a snapshot");
        let before = model::meter::read().rows_fetched;
        value(&*view, nodes[0], "name").expect("reading");
        model::meter::read().rows_fetched - before
    };
    change(0);
    let older = other.read().expect("a snapshot");
    let before = (fetched(), store.dead_rows());
    change(CHANGES);
    let content = Content::of(&*store.read().expect("a snapshot"));
    let dead = store.dead_rows();
    let purged = store.purge().expect("purging");
    assert_eq!((purged.rows, purged.swept, store.dead_rows()), (dead, 0, 0));
    assert_eq!(fetched(), 1, "one version is read after a purge, {before:?} before");
    let late = value(&*older, nodes[0], "name").map_err(|error| error.code());
    assert_eq!(late, Err(ErrorCode::Conflict), "a view from before the horizon");
    let view = other.read().expect("a snapshot");
    testing::differential::assert_same_content(&Content::of(&*view), &content);
    // Without the log.
    change(2 * CHANGES);
    let dead = store.dead_rows();
    assert!(store.trim().expect("dropping epochs") > 10);
    let mut transaction = store.write().expect("beginning a transaction");
    transaction.drop_index("values").expect("dropping an index");
    transaction.commit().expect("committing");
    let content = Content::of(&*store.read().expect("a snapshot"));
    let purged = store.purge().expect("purging");
    assert_eq!((purged.rows, purged.indexes, store.dead_rows()), (dead, 1, 0));
    assert!(purged.swept > 40, "{purged:?}");
    assert_eq!(fetched(), 1);
    let view = other.read().expect("a snapshot");
    testing::differential::assert_same_content(&Content::of(&*view), &content);
    eprintln!("{dead} rows were found by reading {} partitions", purged.swept);
}

/// Kills a node in the midst of commits: those and all reads go on, and nothing that was acknowledged is lost. The processes of
/// the nodes are in `KNOTWORK_CQL_PIDS`; the last one is killed, so that this test is the last of a run.
#[test]
fn zz_a_node_that_is_halted_and_killed_stops_nobody_and_loses_nothing() {
    const COMMITS: i64 = 240;
    let Some(tables) = tables() else { return };
    let pids = std::env::var("KNOTWORK_CQL_PIDS").unwrap_or_default();
    let pids: Vec<&str> = pids.split_whitespace().collect();
    let [_, _, last] = pids[..] else {
        testing::servers::skip("a real ring of three nodes: scripts/ring.sh test 3 starts one");
        return;
    };
    let signal = |name: &str| {
        let status = std::process::Command::new("kill").args([name, last]).status();
        assert!(status.expect("running kill").success(), "kill {name} {last}");
    };
    let store = open(&tables, 5);
    let nodes = prepare(&store).expect("preparing a graph");
    let mut longest = std::time::Duration::ZERO;
    for number in 0..COMMITS {
        match number {
            60 => signal("-STOP"),
            120 => signal("-CONT"),
            180 => signal("-KILL"),
            _ => {}
        }
        let start = std::time::SystemTime::now();
        let mut transaction = store.write().expect("beginning a transaction");
        add_node(&mut *transaction, &[("name", Value::Int(1_000 + number))]).expect("adding a node");
        set(&mut *transaction, nodes[0], "count", Value::Int(number)).expect("setting a property");
        transaction.commit().expect("committing");
        longest = longest.max(start.elapsed().unwrap_or_default());
    }
    eprintln!("{COMMITS} commits, the longest took {longest:?}");
    let other = open(&tables, 5);
    let view = other.read().expect("taking a snapshot");
    assert_eq!(named(&*view).expect("reading").len(), 4 + COMMITS as usize);
    assert_eq!(value(&*view, nodes[0], "count").expect("reading"), Value::Int(COMMITS - 1));
    Content::of(&*view);
}

/// Prints times, which no test rests on.
#[test]
fn times_on_a_real_ring() {
    let Some(tables) = tables() else { return };
    let store = open(&tables, 4);
    let nodes = prepare(&store).expect("preparing a graph");
    let time = |what: &str, count: u32, call: &mut dyn FnMut()| {
        let start = std::time::SystemTime::now();
        (0..count).for_each(|_| call());
        let each = start.elapsed().unwrap_or_default() / count;
        eprintln!("{what}: {:.2} ms", each.as_secs_f64() * 1e3);
    };
    let commit = &mut || {
        let mut transaction = store.write().expect("beginning a transaction");
        set(&mut *transaction, nodes[0], "x", Value::Int(1)).expect("writing");
        transaction.commit().expect("committing");
    };
    time("a transaction of one property (first ones)", 50, commit);
    time("a transaction of one property", 200, commit);
    time("a snapshot", 200, &mut || drop(store.read().expect("a snapshot")));
    let view = store.read().expect("a snapshot");
    time("properties of 4 nodes", 200, &mut || drop(view.all_node_properties(&nodes).expect("reading")));
}
