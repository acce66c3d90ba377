//! Sustained inserts of edges between random nodes: throughput over time, alone or under PageRank.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use database::{Database, Parameters};
use serde_json::json;

use crate::measuring::{Arguments, Outcome, Random, insert, load_nodes, now, percentiles, print, random_edges, sizes};

/// State shared by the threads.
struct Run<'a> {
    database: &'a Database,
    nodes: u64,
    edges: u64,
    batch: u64,
    until: f64,
    taken: AtomicU64,
    inserted: AtomicU64,
    is_over: AtomicBool,
    latencies: Mutex<Vec<f64>>,
    ranks: Mutex<Vec<f64>>,
}

/// Latencies kept by one client.
const LATENCIES_MAX: usize = 200_000;

pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    let database = arguments.open()?;
    let edges = arguments.number("edges", 1_000_000)?;
    let nodes = arguments.number("nodes", (edges / 16).max(1_000))?;
    let (batch, clients) = (arguments.number("batch", 1)?, arguments.number("clients", 1)?);
    load_nodes(&database, "V", nodes)?;
    let start = now();
    let run = Run {
        database: &database,
        nodes,
        edges,
        batch,
        until: start + arguments.number("seconds", 3_600)? as f64,
        taken: AtomicU64::new(0),
        inserted: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        latencies: Mutex::default(),
        ranks: Mutex::default(),
    };
    let with_rank = arguments.number("pagerank", 0)? > 0;
    let seconds = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients)
            .map(|client| {
                scope.spawn({
                    let run = &run;
                    move || run.client(client)
                })
            })
            .collect();
        let watcher = scope.spawn(|| run.watch(start));
        let ranker = with_rank.then(|| scope.spawn(|| run.rank()));
        let outcome: Outcome<()> = clients.into_iter().try_for_each(|client| client.join().expect("no client panics"));
        let seconds = now() - start;
        run.is_over.store(true, Ordering::Relaxed);
        watcher.join().expect("the watcher does not panic")?;
        ranker.map_or(Ok(()), |ranker| ranker.join().expect("the ranker does not panic"))?;
        outcome.map(|()| seconds)
    })?;
    let inserted = run.inserted.load(Ordering::Relaxed);
    let mut latencies = run.latencies.into_inner()?;
    let mut ranks = run.ranks.into_inner()?;
    print(&json!({
        "result": "inserts", "durability": arguments.text("durability", "full"), "batch": batch, "clients": clients,
        "pagerank": with_rank, "edges": inserted, "seconds": seconds, "edges_per_second": inserted as f64 / seconds,
        "commits": percentiles(&mut latencies), "pagerank_runs": percentiles(&mut ranks), "store": sizes(&database)?,
    }))
}

impl Run<'_> {
    /// Takes batches until there are enough edges, or the time is over.
    fn client(&self, client: u64) -> Outcome<()> {
        let mut random = Random::new(client + 1);
        let mut latencies = Vec::new();
        while now() < self.until {
            let first = self.taken.fetch_add(self.batch, Ordering::Relaxed);
            if first >= self.edges {
                break;
            }
            let (sources, targets) = random_edges(&mut random, self.nodes, self.batch as usize);
            let before = now();
            insert(self.database, &sources, &targets, first)?;
            if latencies.len() < LATENCIES_MAX {
                latencies.push(now() - before);
            }
            self.inserted.fetch_add(self.batch, Ordering::Relaxed);
        }
        self.latencies.lock().expect("no holder panics").extend(latencies);
        Ok(())
    }

    /// Prints how many edges there are, every second.
    fn watch(&self, start: f64) -> Outcome<()> {
        let (mut last, mut last_time) = (0, start);
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            let time = now();
            if time - last_time >= 1.0 {
                let inserted = self.inserted.load(Ordering::Relaxed);
                let rate = (inserted - last) as f64 / (time - last_time);
                print(
                    &json!({"result": "progress", "seconds": time - start, "edges": inserted, "edges_per_second": rate}),
                )?;
                (last, last_time) = (inserted, time);
            }
        }
        Ok(())
    }

    /// Ranks the growing graph until the inserts are over.
    fn rank(&self) -> Outcome<()> {
        let mut session = self.database.session();
        let query = "CALL algo.pagerank({maxIterations: 5, tolerance: 0.0}) YIELD score RETURN max(score)";
        while !self.is_over.load(Ordering::Relaxed) {
            let before = now();
            session.query(query, &Parameters::default())?;
            self.ranks.lock().expect("no holder panics").push(now() - before);
        }
        Ok(())
    }
}
