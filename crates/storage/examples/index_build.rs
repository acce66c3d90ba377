//! Measures durable commits beside the build of indexes: `index_build DIRECTORY [MILLION_EDGES] [SECONDS]`.
//!
//! Makes nodes and edges with a number each, then commits one node and one edge after the other, each commit durable, for some
//! seconds with nothing beside, and then while an index of the edges, one of the nodes, and a uniqueness constraint of
//! the nodes are made. Prints for each what a commit took and how much longer that is. The directory must not exist.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use model::platform::Platform;
use model::store::{NewEdges, NewNodes};
use model::{Column, ColumnData, Constraint, GraphStore, Index, Interrupt, NodeId, Result, Subject, WriteTransaction};
use storage::codec::hash::mix;
use storage::{NativeStore, OpenOptions};

/// Edges that one node has on average, and edges of one transaction.
const FANOUT: u64 = 10;
const BATCH: u64 = 100_000;

fn make(transaction: &mut dyn WriteTransaction, first: u64, nodes: u64, edges: u64) -> Result<()> {
    let (label, edge_type) = (transaction.label("P")?, transaction.edge_type("E")?);
    let key = [transaction.property_key("number")?];
    let numbers = [Column::new(ColumnData::Int((first..first + nodes).map(|at| at as i64).collect()))];
    let new = NewNodes { count: nodes as usize, labels: &[label], keys: &key, properties: &numbers };
    let made = transaction.create_nodes(&new)?;
    let sources: Vec<NodeId> = (0..edges as usize).map(|at| made[at % made.len()]).collect();
    let bound = made[made.len() - 1].0 + 1;
    let targets: Vec<NodeId> = (0..edges).map(|at| NodeId(mix(first * FANOUT + at) % bound)).collect();
    let values = [Column::new(ColumnData::Int((0..edges).map(|at| (mix(first + at) >> 40) as i64).collect()))];
    let (sources, targets) = (&sources[..], &targets[..]);
    transaction.create_edges(&NewEdges { edge_type, sources, targets, keys: &key, properties: &values })?;
    Ok(())
}

/// Commits until somebody says that it is enough; the nanoseconds of each commit.
fn commits(
    store: &NativeStore,
    platform: &Platform,
    next: &mut u64,
    is_over: impl Fn(u64) -> bool,
) -> Result<Vec<u64>> {
    let (begin, mut times) = (platform.clock.now_ns(), Vec::new());
    while !is_over(platform.clock.now_ns() - begin) {
        let start = platform.clock.now_ns();
        let mut transaction = store.write()?;
        make(&mut *transaction, *next, 1, 1)?;
        transaction.commit()?;
        *next += 1;
        times.push(platform.clock.now_ns() - start);
    }
    times.sort_unstable();
    Ok(times)
}

/// The median and the 99th percentile, and the longest, in milliseconds.
fn percentiles(times: &[u64]) -> [f64; 3] {
    let at = |part: usize| times.get(times.len() * part / 100).or(times.last()).map_or(0.0, |&ns| ns as f64 / 1e6);
    [at(50), at(99), at(100)]
}

fn create(store: &NativeStore, what: &str) -> Result<()> {
    loop {
        let mut transaction = store.write()?;
        let (label, edge_type) = (transaction.label("P")?, transaction.edge_type("E")?);
        let (keys, interrupt) = (vec![transaction.property_key("number")?], Interrupt::new());
        let index = |subject| Index { name: what.into(), subject, keys: keys.clone() };
        match what {
            "index of edges" => transaction.create_index(index(Subject::EdgeType(edge_type)), &interrupt)?,
            "index of nodes" => transaction.create_index(index(Subject::Label(label)), &interrupt)?,
            _ => transaction.create_constraint(Constraint::unique(what, label, keys[0]), &interrupt)?,
        }
        match transaction.commit() {
            Err(error) if error.code() == model::ErrorCode::Conflict => {}
            result => return result,
        }
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, default: f64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let directory = Path::new(arguments.get(1).map_or("index_build.knot", |text| text));
    let (edges, seconds) = ((number(2, 5.0) * 1e6) as u64, number(3, 10.0));
    let platform = storage::os::platform();
    let store = NativeStore::open(directory, OpenOptions::create(), platform.clone())?;
    let mut next = 0;
    for _ in (0..edges).step_by(BATCH as usize) {
        let mut transaction = store.write()?;
        make(&mut *transaction, next, BATCH / FANOUT, BATCH)?;
        transaction.commit()?;
        next += BATCH / FANOUT;
    }
    store.compact(&Interrupt::new())?;
    let idle = commits(&store, &platform, &mut next, |ns| ns as f64 > seconds * 1e9)?;
    let [median, most, longest] = percentiles(&idle);
    eprintln!("{edges} edges; milliseconds of a durable commit");
    eprintln!("idle: p50 {median:.2}, p99 {most:.2}, longest {longest:.2} of {}", idle.len());
    for what in ["index of edges", "index of nodes", "unique numbers of nodes"] {
        let is_made = AtomicBool::new(false);
        let (store, platform, next, is_made) = (&store, &platform, &mut next, &is_made);
        let start = platform.clock.now_ns();
        let beside = std::thread::scope(|scope| {
            let writer = scope.spawn(move || commits(store, platform, next, |_| is_made.load(Ordering::Relaxed)));
            let created = create(store, what);
            is_made.store(true, Ordering::Relaxed);
            created.and(writer.join().expect("the writer does not panic"))
        })?;
        let taken = (platform.clock.now_ns() - start) as f64 / 1e9;
        let [p50, p99, longest] = percentiles(&beside);
        eprintln!(
            "beside {what}, {taken:.1} s: p50 {p50:.2} ({:.1} × idle), p99 {p99:.2} ({:.1} × idle), longest {longest:.2} of {}",
            p50 / median,
            p99 / most,
            beside.len()
        );
    }
    Ok(())
}
