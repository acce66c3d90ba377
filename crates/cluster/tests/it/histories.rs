//! Histories of processes that use one graph through a ring with many faults, checked for snapshot isolation and real time.
//!
//! One process runs at a time, and a seed decides which: a history is repeated by `FUZZ_SEED`. `FUZZ_SECONDS` makes more.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cluster::settings::{CacheFault, PurgeFault};
use cluster::{ClusterStore, Settings};
use model::{ErrorCode, GraphStore, NodeId, ReadView, Result, Value, WriteTransaction};
use testing::histories::{Findings, Key, Operation, Outcome, Transaction, find_anomalies};
use testing::random::{SeededRandom, seed_or};

use crate::graph::{CACHES, add_edge, edges, open, prepare, set, try_open_with, value};
use crate::ring::{Canary, Counts, CrashKind, Faults, Ring, Turns};

const CLIENTS: usize = 3;
/// Transactions of each client.
const TRANSACTIONS: usize = 40;
/// Lists of either kind.
const LISTS: u32 = 3;
const GRAPH: i64 = 1;

/// Settings of each process.
#[derive(Clone, Copy, Debug)]
struct Plan {
    cache_bytes: usize,
    cache_fault: Option<CacheFault>,
    /// Chance of a purge before a transaction, in percent; with leases of so many nanoseconds.
    purge_chance: u64,
    lease_ns: u64,
    purge_fault: Option<PurgeFault>,
}

impl Plan {
    fn cached(cache_bytes: usize, cache_fault: Option<CacheFault>) -> Plan {
        Plan { cache_bytes, cache_fault, purge_chance: 0, lease_ns: 20_000_000_000, purge_fault: None }
    }

    /// Purges all the time, with a cache and leases that the seed decides.
    fn purging(seed: u64) -> Plan {
        let lease_ns = [0, 3_000_000, 200_000_000, 5_000_000_000][seed as usize % 4];
        Plan { purge_chance: 15, lease_ns, ..Plan::cached(CACHES[seed as usize % CACHES.len()], None) }
    }

    fn set(&self, settings: &mut Settings) {
        (settings.cache_bytes_max, settings.cache_fault) = (self.cache_bytes, self.cache_fault);
        (settings.lease_ns, settings.purge_fault) = (self.lease_ns, self.purge_fault);
        // Each purge has several records of progress.
        settings.purge_rows = 5;
    }
}

/// One history under way.
struct Run<'a> {
    ring: &'a Arc<Ring>,
    nodes: &'a [NodeId],
    seed: u64,
    plan: Plan,
    next_value: AtomicU64,
    history: Mutex<Vec<Transaction>>,
    crashes: AtomicU64,
    trims: AtomicU64,
    purged: AtomicU64,
}

/// Results of a history.
struct Outcomes {
    findings: Findings,
    counts: Counts,
    unknown: usize,
    crashes: u64,
    trims: u64,
    purged: u64,
}

fn all_keys() -> Vec<Key> {
    (0..LISTS).flat_map(|list| [Key::Ordered(list), Key::Set(list)]).collect()
}

/// Reads a list: an ordered one is a property of a node, a set are parallel edges.
fn read(view: &dyn ReadView, nodes: &[NodeId], key: Key) -> Result<Vec<u64>> {
    let node = nodes[key.number() as usize];
    Ok(match key {
        Key::Ordered(_) => match value(view, node, "list")? {
            Value::List(items) => {
                items.iter().map(|item| if let Value::Int(x) = item { *x as u64 } else { 0 }).collect()
            }
            _ => Vec::new(),
        },
        // Those that were there from the start have values below.
        Key::Set(_) => edges(view, node)?.into_iter().filter(|(x, _)| *x >= 100).map(|(x, _)| x as u64).collect(),
    })
}

fn append(transaction: &mut dyn WriteTransaction, nodes: &[NodeId], key: Key, new: u64) -> Result<()> {
    let at = key.number() as usize;
    match key {
        Key::Ordered(_) => {
            let mut items: Vec<Value> =
                read(transaction.view(), nodes, key)?.into_iter().map(|item| Value::Int(item as i64)).collect();
            items.push(Value::Int(new as i64));
            set(transaction, nodes[at], "list", Value::list(items))
        }
        Key::Set(_) => add_edge(transaction, nodes[at], nodes[at + 1], new as i64).map(drop),
    }
}

/// Lets others have the turns of a client that has finished or panicked.
struct Finish<'a>(&'a Ring);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        if let Some(turns) = &self.0.turns {
            turns.finish();
        }
    }
}

impl<'a> Run<'a> {
    fn new(ring: &'a Arc<Ring>, nodes: &'a [NodeId], seed: u64, plan: Plan) -> Run<'a> {
        Run {
            ring,
            nodes,
            seed,
            plan,
            next_value: AtomicU64::new(100),
            history: Mutex::default(),
            crashes: AtomicU64::new(0),
            trims: AtomicU64::new(0),
            purged: AtomicU64::new(0),
        }
    }

    /// All transactions of a client, which is another process after each crash.
    fn client(&self, number: usize) {
        let _finish = Finish(self.ring);
        let mut random = SeededRandom::new(self.seed * 100 + number as u64);
        let mut lives = 0;
        let mut left = TRANSACTIONS;
        while left > 0 {
            lives += 1;
            let process = self.ring.client(number);
            let opened = try_open_with(&process, GRAPH, self.seed * 100 + lives, &|settings| self.plan.set(settings));
            let Ok(store) = opened else { continue };
            while left > 0 && !process.has_ended() {
                left -= 1;
                if random.chance(8) {
                    process.crash_at(1 + random.below(25), *random.pick(&CrashKind::ALL));
                }
                if random.chance(5) {
                    self.trims.fetch_add(store.trim().unwrap_or_default(), Ordering::Relaxed);
                }
                if self.plan.purge_chance > 0 && random.chance(self.plan.purge_chance) {
                    // Views of the last records stay.
                    let upto = store.sequence().map(|last| last.saturating_sub(random.below(8)));
                    let purged = upto.and_then(|upto| store.purge_to(upto)).map_or(0, |purged| purged.rows);
                    self.purged.fetch_add(purged, Ordering::Relaxed);
                }
                self.transaction(&store, &mut random);
            }
            self.crashes.fetch_add(u64::from(process.has_ended()), Ordering::Relaxed);
        }
    }

    fn transaction(&self, store: &ClusterStore, random: &mut SeededRandom) {
        let (begin_ns, mut operations) = (self.ring.moment(), Vec::new());
        let outcome = match self.try_transaction(store, random, &mut operations) {
            Ok(()) => Outcome::Committed,
            Err(error) => match error.code() {
                ErrorCode::Conflict | ErrorCode::Connection => Outcome::Aborted,
                ErrorCode::OutcomeUnknown => Outcome::Unknown,
                code => panic!("a transaction failed with {code:?}: {error:?}"),
            },
        };
        let end_ns = self.ring.moment();
        let mut history = self.history.lock().expect("no client has panicked");
        history.push(Transaction { operations, outcome, begin_ns, end_ns });
    }

    fn try_transaction(
        &self,
        store: &ClusterStore,
        random: &mut SeededRandom,
        operations: &mut Vec<Operation>,
    ) -> Result<()> {
        let keys = all_keys();
        if random.chance(25) {
            let view = store.read()?;
            for _ in 0..3 {
                let key = *random.pick(&keys);
                operations.push(Operation::Read { key, values: read(&*view, self.nodes, key)? });
            }
            return Ok(());
        }
        let mut transaction = store.write()?;
        for _ in 0..1 + random.index(3) {
            let key = *random.pick(&keys);
            if random.chance(40) {
                operations.push(Operation::Read { key, values: read(transaction.view(), self.nodes, key)? });
            } else {
                let new = self.next_value.fetch_add(1, Ordering::Relaxed);
                operations.push(Operation::Append { key, value: new });
                append(&mut *transaction, self.nodes, key, new)?;
            }
        }
        transaction.commit()
    }
}

/// Makes and checks a history, with a cache of a size that the seed decides.
fn check_history(seed: u64, faults: Faults, canary: Option<Canary>) -> Outcomes {
    check_history_with(seed, faults, canary, Plan::cached(CACHES[seed as usize % CACHES.len()], None))
}

fn check_history_with(seed: u64, faults: Faults, canary: Option<Canary>, plan: Plan) -> Outcomes {
    let ring = Ring::build(seed, 4, Faults::NONE, Some(Turns::new(seed, CLIENTS)));
    // Nobody else is there yet, so that turns are not asked for.
    let nodes = prepare_alone(seed, &ring);
    ring.trouble(faults, canary);
    let run = Run::new(&ring, &nodes, seed, plan);
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || run.client(number))).collect();
        let ends: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        ends.into_iter().for_each(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
    finished(run, seed)
}

/// The history of a run, with a last transaction that reads everything, checked.
fn finished(run: Run<'_>, seed: u64) -> Outcomes {
    let (ring, nodes) = (run.ring, run.nodes);
    ring.calm();
    let begin_ns = ring.moment();
    let store = try_open_with(&ring.client(CLIENTS), GRAPH, seed, &|settings| run.plan.set(settings));
    let store = store.expect("opening the graph");
    // Records whose writer was killed show when somebody goes on.
    let mut transaction = store.write().expect("beginning a transaction");
    set(&mut *transaction, nodes[3], "last", Value::Bool(true)).expect("setting a property");
    transaction.commit().expect("committing");
    let view = store.read().expect("taking a snapshot");
    let read_all = |key| Operation::Read { key, values: read(&*view, nodes, key).expect("reading a list") };
    let operations = all_keys().into_iter().map(read_all).collect();
    let last = Transaction { operations, outcome: Outcome::Committed, begin_ns, end_ns: ring.moment() };
    let mut history = run.history.into_inner().expect("no client has panicked");
    history.push(last);
    Outcomes {
        findings: find_anomalies(&history),
        counts: ring.counts(),
        unknown: history.iter().filter(|transaction| transaction.outcome == Outcome::Unknown).count(),
        crashes: run.crashes.into_inner(),
        trims: run.trims.into_inner(),
        purged: run.purged.into_inner(),
    }
}

/// Prepares the graph before turns begin.
fn prepare_alone(seed: u64, ring: &Arc<Ring>) -> Vec<NodeId> {
    ring.alone(|| prepare(&open(&ring.client(CLIENTS), GRAPH, seed ^ 0x5151)).expect("preparing the graph"))
}

#[test]
fn concurrent_processes_on_a_faulty_ring_are_snapshot_isolated() {
    let seconds = std::env::var("FUZZ_SECONDS").map_or(0, |text| text.parse().expect("FUZZ_SECONDS is a number"));
    let (first, start) = (seed_or(1), std::time::SystemTime::now());
    let (mut committed, mut unknown, mut crashes, mut trims) = (0, 0, 0, 0);
    let mut sum = Counts::default();
    for seed in first.. {
        eprintln!("FUZZ_SEED={seed}");
        let Outcomes { findings, counts, unknown: in_doubt, crashes: killed, trims: dropped, .. } =
            check_history(seed, Faults::MANY, None);
        assert!(findings.anomalies.is_empty(), "FUZZ_SEED={seed}: {:#?}", findings.anomalies);
        committed += findings.committed;
        (unknown, crashes, trims) = (unknown + in_doubt, crashes + killed, trims + dropped);
        sum.outages += counts.outages;
        sum.pauses += counts.pauses;
        sum.decided_late += counts.decided_late;
        sum.lost_answers += counts.lost_answers;
        if seed - first >= 11 && start.elapsed().map_or(true, |passed| passed.as_secs() >= seconds) {
            break;
        }
    }
    eprintln!("{committed} committed, {unknown} in doubt, {crashes} killed, {trims} epochs dropped, {sum:?}");
    assert!(committed > 500 && crashes > 20 && unknown > 3 && trims > 3, "{committed} {crashes} {unknown} {trims}");
    assert!(sum.outages > 50 && sum.pauses > 100 && sum.decided_late > 20 && sum.lost_answers > 200, "{sum:?}");
}

/// Real threads, several of each process: their commits share records, and follow the log beside each other. Not repeatable.
#[test]
fn processes_with_several_threads_are_snapshot_isolated() {
    const THREADS: usize = 3;
    let (mut committed, first) = (0, seed_or(1));
    for seed in first..first + 12 {
        let ring = Ring::new(seed, 4, Faults::NONE);
        let nodes = prepare_alone(seed, &ring);
        let plan = Plan::cached(CACHES[seed as usize % CACHES.len()], None);
        let set = |settings: &mut Settings| plan.set(settings);
        let store = |number| try_open_with(&ring.client(number), GRAPH, seed, &set).expect("opening a graph");
        let stores: Vec<ClusterStore> = (0..2).map(store).collect();
        ring.trouble(Faults::MANY, None);
        let run = Run::new(&ring, &nodes, seed, plan);
        std::thread::scope(|scope| {
            for (number, store) in stores.iter().flat_map(|store| std::iter::repeat_n(store, THREADS)).enumerate() {
                let run = &run;
                scope.spawn(move || {
                    let mut random = SeededRandom::new(seed * 100 + number as u64);
                    (0..TRANSACTIONS).for_each(|_| run.transaction(store, &mut random));
                });
            }
        });
        let findings = finished(run, seed).findings;
        assert!(findings.anomalies.is_empty(), "seed {seed}: {:#?}", findings.anomalies);
        committed += findings.committed;
    }
    eprintln!("{committed} committed");
    assert!(committed > 1_000, "{committed}");
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let run = || {
        let Outcomes { findings, counts, unknown, crashes, .. } = check_history(5, Faults::MANY, None);
        format!("{} {} {counts:?} {unknown} {crashes}", findings.committed, findings.dependencies)
    };
    assert_eq!(run(), run());
}

/// The seed of the first history in which a canary is found: by an anomaly, or by a store that finds its tables damaged.
fn first_seed_that_finds(canary: Option<Canary>, plan: impl Fn(u64) -> Plan) -> Option<u64> {
    const SEEDS: u64 = 200;
    let faults = Faults { outage: 0, ..Faults::MANY };
    (1..=SEEDS).find(|&seed| {
        let check = || check_history_with(seed, faults, canary, plan(seed));
        catch_unwind(AssertUnwindSafe(check)).map_or(true, |outcomes| !outcomes.findings.anomalies.is_empty())
    })
}

#[test]
fn every_canary_is_found() {
    for canary in Canary::OF_HISTORIES {
        let seed = first_seed_that_finds(Some(canary), |_| Plan::cached(CACHES[0], None));
        eprintln!("{canary:?} is found with the seed {seed:?}");
        assert!(seed.is_some(), "{canary:?} is not found");
    }
}

/// The others need two threads of one process, and a process that sleeps for long: see the tests of caches.
#[test]
fn every_canary_of_the_cache_is_found() {
    for fault in [CacheFault::KeepsTouched, CacheFault::SeesLaterRows] {
        let seed = first_seed_that_finds(None, |_| Plan::cached(CACHES[2], Some(fault)));
        eprintln!("{fault:?} is found with the seed {seed:?}");
        assert!(seed.is_some(), "{fault:?} is not found");
    }
}

#[test]
fn histories_beside_purges_are_snapshot_isolated() {
    let first = seed_or(1);
    let (mut committed, mut purged, mut crashes, mut trims) = (0, 0, 0, 0);
    for seed in first..first + 12 {
        eprintln!("FUZZ_SEED={seed}");
        let outcomes = check_history_with(seed, Faults::MANY, None, Plan::purging(seed));
        assert!(outcomes.findings.anomalies.is_empty(), "FUZZ_SEED={seed}: {:#?}", outcomes.findings.anomalies);
        committed += outcomes.findings.committed;
        (purged, crashes, trims) = (purged + outcomes.purged, crashes + outcomes.crashes, trims + outcomes.trims);
    }
    eprintln!("{committed} committed, {purged} rows purged, {crashes} killed, {trims} epochs dropped");
    assert!(committed > 400 && purged > 300 && crashes > 20 && trims > 3, "{committed} {purged} {crashes} {trims}");
}

/// The others need a moment that histories do not meet, or seldom, since processes that take turns read the log before they commit: see the
/// tests of purges.
#[test]
fn every_canary_of_the_purge_is_found() {
    for fault in [PurgeFault::AboveHorizon, PurgeFault::IgnoresHorizon] {
        let seed = first_seed_that_finds(None, |seed| Plan { purge_fault: Some(fault), ..Plan::purging(seed) });
        eprintln!("{fault:?} is found with the seed {seed:?}");
        assert!(seed.is_some(), "{fault:?} is not found");
    }
}
