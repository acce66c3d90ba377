//! Load that a ring of many machines carries, by the model of [`machines`]: where the log becomes the limit, and how evenly
//! machines work.
//!
//! `CAPACITY=1` prints the tables of `docs/cluster.md`; without it a short run asserts counts.

mod machines;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cluster::tables::Table;
use cluster::{ClusterStore, Settings};
use model::{ErrorCode, GraphStore, NodeId, Result, Value};
use testing::random::{SeededRandom, seed_or};

use crate::graph::{add_edge, add_node, set, value};
use crate::ring::{Faults, Ring};
use machines::{Costs, Machines, Waiting};

const GRAPH: i64 = 1;
/// Times of a data centre: half a millisecond there and back, machines of eight processors, requests of 0.1 ms.
const COSTS: Costs =
    Costs { trip_ns: 500_000, request_ns: 100_000, row_ns: 5_000, processors: 8, append_trips: 4, slower: 1 };

/// Transactions of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// A property of one of many nodes is set.
    Sets,
    /// An edge is added from one of many nodes to one and the same.
    AddsToHub,
    /// A property of one of many nodes is read in a snapshot of its own.
    Reads,
}

/// A run: clients of some processes do transactions one after the other.
#[derive(Clone, Copy, Debug)]
struct Run {
    machines: usize,
    processes: usize,
    /// Clients of each process, and transactions of each client.
    clients: usize,
    transactions: usize,
    doing: Doing,
    costs: Costs,
    nodes: usize,
}

/// Counts and times of a run.
#[derive(Debug)]
struct Outcome {
    committed: u64,
    conflicts: u64,
    records: u64,
    appends: u64,
    seconds: f64,
    /// Nanoseconds of transactions, in order.
    times_ns: Vec<u64>,
    /// Part of the time in which a processor of the busiest machine and of all machines worked.
    busiest: f64,
    mean: f64,
}

impl Outcome {
    fn quantile_ms(&self, part: f64) -> f64 {
        let at = ((self.times_ns.len() as f64 * part) as usize).min(self.times_ns.len().saturating_sub(1));
        self.times_ns.get(at).map_or(0.0, |ns| *ns as f64 / 1e6)
    }

    fn row(&self, run: &Run) -> String {
        format!(
            "| {} | {} | {} | {:.0} | {:.0} | {:.1} | {:.2} | {:.1} | {:.1} | {:.0} % | {:.1} % |",
            run.processes,
            run.processes * run.clients,
            run.costs.append_trips,
            self.committed as f64 / self.seconds,
            self.records as f64 / self.seconds,
            self.committed as f64 / self.records.max(1) as f64,
            self.appends as f64 / self.records.max(1) as f64,
            self.quantile_ms(0.5),
            self.quantile_ms(0.99),
            100.0 * self.busiest,
            100.0 * self.mean,
        )
    }
}

/// One transaction; true if it committed, false if another came first.
fn transact(store: &ClusterStore, doing: Doing, nodes: &[NodeId], random: &mut SeededRandom) -> Result<bool> {
    let node = *random.pick(&nodes[1..]);
    if doing == Doing::Reads {
        return value(&*store.read()?, node, "name").map(|_| true);
    }
    let mut transaction = store.write()?;
    match doing {
        Doing::AddsToHub => drop(add_edge(&mut *transaction, node, nodes[0], 1)?),
        _ => set(&mut *transaction, node, "x", Value::Int(random.below(1_000) as i64))?,
    }
    match transaction.commit() {
        Ok(_) => Ok(true),
        Err(failure) if failure.code() == ErrorCode::Conflict => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Adds the nodes, without waiting for machines.
fn nodes(ring: &Arc<Ring>, seed: u64, count: usize) -> Vec<NodeId> {
    let client = ring.client(0);
    let store = ClusterStore::open(client.clone(), client.settings(GRAPH, seed)).expect("opening a graph");
    let mut transaction = store.write().expect("beginning a transaction");
    let add = |number| add_node(&mut *transaction, &[("name", Value::Int(number)), ("x", Value::Int(0))]);
    let nodes: Vec<NodeId> = (0..count as i64).map(add).collect::<Result<_>>().expect("adding nodes");
    add_edge(&mut *transaction, nodes[1], nodes[0], 0).expect("adding an edge");
    transaction.commit().expect("committing");
    store.checkpoint().expect("writing a checkpoint");
    nodes
}

fn measure(run: Run, seed: u64) -> Outcome {
    let ring = Ring::new(seed, run.machines, Faults::NONE);
    let nodes = nodes(&ring, seed, run.nodes);
    let machines = Machines::new(ring.clone(), run.machines, run.costs, seed);
    let stores: Vec<ClusterStore> = (1..=run.processes)
        .map(|number| {
            let client = ring.client(number);
            let mut settings = Settings { clock: machines.clone(), ..client.settings(GRAPH, seed) };
            settings.patience_ns = 20_000_000_000;
            let tables = Arc::new(Waiting { machines: machines.clone(), client });
            ClusterStore::open(tables, settings).expect("opening a graph")
        })
        .collect();
    let before = (ring.rows(GRAPH, Table::Log), ring.counts().appends, machines.work(), machines.now_ns());
    let (committed, conflicts) = (AtomicU64::new(0), AtomicU64::new(0));
    let times_ns = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (process, store) in stores.iter().enumerate() {
            for client in 0..run.clients {
                let (nodes, machines, times_ns) = (&nodes, &machines, &times_ns);
                let (committed, conflicts) = (&committed, &conflicts);
                let mut random = SeededRandom::new(seed ^ ((process * run.clients + client) as u64) << 20);
                let work = move || {
                    for _ in 0..run.transactions {
                        let start = machines.now_ns();
                        let is_done = transact(store, run.doing, nodes, &mut random).expect("a transaction");
                        if is_done { committed } else { conflicts }.fetch_add(1, Ordering::Relaxed);
                        times_ns.lock().expect("no panic").push(machines.now_ns() - start);
                    }
                };
                std::thread::Builder::new().stack_size(512 << 10).spawn_scoped(scope, work).expect("a thread");
            }
        }
    });
    let seconds = (machines.now_ns() - before.3) as f64 / 1e9;
    let busy: Vec<f64> = machines
        .work()
        .iter()
        .zip(&before.2)
        .map(|(now, then)| (now.busy_ns - then.busy_ns) as f64 / 1e9 / seconds / run.costs.processors as f64)
        .collect();
    let mut times_ns = times_ns.into_inner().expect("no panic");
    times_ns.sort_unstable();
    Outcome {
        committed: committed.into_inner(),
        conflicts: conflicts.into_inner(),
        records: (ring.rows(GRAPH, Table::Log) - before.0) as u64,
        appends: ring.counts().appends - before.1,
        seconds,
        times_ns,
        busiest: busy.iter().copied().fold(0.0, f64::max),
        mean: busy.iter().sum::<f64>() / busy.len() as f64,
    }
}

/// Each transaction of a thousand clients commits or conflicts, and is in one record.
#[test]
fn a_thousand_clients_on_a_hundred_machines() {
    let seed = seed_or(100);
    println!("FUZZ_SEED={seed}");
    let run = Run {
        machines: 100,
        processes: 10,
        clients: 100,
        transactions: 3,
        doing: Doing::Sets,
        costs: COSTS,
        nodes: 50_000,
    };
    let outcome = measure(run, seed);
    println!("{}", outcome.row(&run));
    assert_eq!(outcome.committed + outcome.conflicts, 3_000, "each transaction ends");
    // One that meets all transactions of the others twice has a chance of 4 % to find its node changed.
    assert!(outcome.conflicts < 600, "most of 3,000 among 50,000 nodes do not meet: {}", outcome.conflicts);
    assert!(outcome.records <= outcome.committed, "a record has a transaction at least");
    assert!(outcome.appends >= outcome.records, "a record is appended once at least");
}

/// The tables of the documentation.
#[test]
fn tables_of_capacity() {
    if std::env::var_os("CAPACITY").is_none() {
        println!("skipped: CAPACITY=1 prints the tables, and takes some minutes");
        return;
    }
    let seed = seed_or(100);
    let base = Run {
        machines: 100,
        processes: 1,
        clients: 1,
        transactions: 0,
        doing: Doing::Sets,
        costs: Costs { slower: 4, ..COSTS },
        nodes: 50_000,
    };
    println!(
        "| processes | clients | trips | transactions/s | records/s | in a record | appends a record | median ms | 99 % ms | busiest | mean |"
    );
    for (doing, append_trips) in [(Doing::Sets, 4), (Doing::Sets, 2), (Doing::AddsToHub, 4), (Doing::Reads, 4)] {
        println!("{doing:?}");
        for (processes, clients, transactions) in
            [(1, 1, 100), (1, 100, 50), (1, 1_000, 10), (10, 100, 10), (100, 10, 2), (1_000, 1, 1)]
        {
            let costs = Costs { append_trips, ..base.costs };
            let run = Run { processes, clients, transactions, doing, costs, ..base };
            println!("{}", measure(run, seed).row(&run));
        }
    }
}
