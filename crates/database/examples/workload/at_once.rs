//! Queries while the whole graph is computed on: latencies alone, beside PageRank in a loop, and with a priority.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use database::{Database, Parameters, Priority, Value};
use serde_json::json;

use crate::measuring::{Arguments, Outcome, Random, load_edges, load_nodes, now, percentiles, print};
use crate::reads::{FRIENDS, POINT};

const RANK: &str = "CALL algo.pagerank.stats({maxIterations: 20, tolerance: 0.0}) YIELD ranIterations";
const COUNT: &str = "MATCH (a:V)-[:E]->(b:V) WHERE a.id % 7 = b.id % 11 RETURN count(*)";

pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    let database = arguments.open()?;
    let edges = arguments.number("edges", 2_000_000)?;
    let nodes = arguments.number("nodes", (edges / 16).max(1_000))?;
    let queries = arguments.number("queries", 2_000)? as usize;
    if database.info()?.nodes == 0 {
        load_nodes(&database, "V", nodes)?;
        load_edges(&database, nodes, edges)?;
        database.checkpoint()?;
    }
    for computations in [0, 1, 2] {
        let is_over = AtomicBool::new(false);
        let ranks = Mutex::new(Vec::new());
        std::thread::scope(|scope| -> Outcome<()> {
            let rankers: Vec<_> =
                (0..computations).map(|_| scope.spawn(|| rank(&database, &is_over, &ranks))).collect();
            for (name, query, count) in [("point", POINT, queries), ("friends", FRIENDS, queries), ("count", COUNT, 20)]
            {
                for priority in [Priority::Normal, Priority::High] {
                    if computations > 0 || priority == Priority::Normal {
                        let mut latencies = ask(&database, query, priority, nodes, count)?;
                        print(&json!({
                            "result": "at_once", "query": name, "computations": computations,
                            "priority": priority.name(), "latency": percentiles(&mut latencies),
                        }))?;
                    }
                }
            }
            is_over.store(true, Ordering::Relaxed);
            rankers.into_iter().try_for_each(|ranker| ranker.join().expect("no ranker panics"))
        })?;
        let mut ranks = ranks.into_inner()?;
        print(&json!({"result": "ranks", "computations": computations, "latency": percentiles(&mut ranks)}))?;
    }
    Ok(())
}

/// Seconds of each run of a query from random nodes, with a breath in between as a client takes.
fn ask(database: &Database, query: &str, priority: Priority, nodes: u64, count: usize) -> Outcome<Vec<f64>> {
    let mut session = database.session();
    session.set_priority(priority);
    let mut random = Random::new(29);
    let mut latencies = Vec::with_capacity(count);
    for _ in 0..count {
        let parameters = Parameters::from_iter([("i".into(), Value::Int(random.below(nodes) as i64))]);
        std::thread::sleep(std::time::Duration::from_micros(200));
        let before = now();
        session.query(query, &parameters)?;
        latencies.push(now() - before);
    }
    Ok(latencies)
}

/// Ranks the graph until the queries are over.
fn rank(database: &Database, is_over: &AtomicBool, ranks: &Mutex<Vec<f64>>) -> Outcome<()> {
    let mut session = database.session();
    while !is_over.load(Ordering::Relaxed) {
        let before = now();
        session.query(RANK, &Parameters::default())?;
        ranks.lock().expect("no holder panics").push(now() - before);
    }
    Ok(())
}
