//! Measures writing through the waist and through Cypher: write_speed FOLDER [SECONDS] [DURABILITY].
//!
//! Each line is a way of adding edges to a store of 100,000 nodes with a unique key, and edges per second made durable.

use std::error::Error;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use database::{Config, Database, Durability, Parameters, Value};
use model::platform::Platform;
use model::store::NewEdges;
use model::{Column, ColumnData, EdgeTypeId, GraphStore, NodeId, PropertyKeyId};

type Outcome<T> = Result<T, Box<dyn Error>>;

const NODES: u64 = 100_000;
const ADD: &str = "MATCH (a:P {id: $a}), (b:P {id: $b}) CREATE (a)-[:KNOWS {since: $s}]->(b)";
const ADD_MANY: &str =
    "UNWIND $rows AS row MATCH (a:P {id: row[0]}), (b:P {id: row[1]}) CREATE (a)-[:KNOWS {since: row[2]}]->(b)";

fn platform() -> &'static Platform {
    static PLATFORM: OnceLock<Platform> = OnceLock::new();
    PLATFORM.get_or_init(storage::os::platform)
}

/// Seconds since some fixed moment.
fn now() -> f64 {
    platform().clock.now_ns() as f64 / 1e9
}

/// A cheap sequence of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn node(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % NODES
    }
}

#[allow(clippy::print_stdout, reason = "an example shows its figures")]
fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("usage: write_speed FOLDER [SECONDS] [full|relaxed|off] [PART OF A NAME]")?;
    let seconds: f64 = arguments.get(1).map_or(Ok(3.0), |text| text.parse())?;
    let durability = match arguments.get(2).map(String::as_str) {
        Some("off") => Durability::Off,
        Some("relaxed") => Durability::Relaxed { interval: Duration::from_millis(100) },
        _ => Durability::Full,
    };
    let filter = arguments.get(3).cloned().unwrap_or_default();
    let path = Path::new(folder).join("write_speed.knot");
    let database = Database::open(&path, Config { durability, ..Config::default() })?;
    fill(&database)?;
    let show = |name: &str, run: &dyn Fn() -> Outcome<u64>| -> Outcome<()> {
        if !name.contains(&filter) {
            return Ok(());
        }
        let (start, before) = (now(), database.stats());
        let edges = run()?;
        let (time, after) = (now() - start, database.stats());
        let groups = (after.groups - before.groups).max(1);
        println!(
            "{name:42} {:>10.0} edges/s   {:.1} commits a group, {} syncs, {} moves, {} stalls of {} ms, {} flushes",
            edges as f64 / time,
            (after.commits - before.commits) as f64 / groups as f64,
            after.syncs - before.syncs,
            after.moves - before.moves,
            after.stalls - before.stalls,
            (after.stall_ns - before.stall_ns) / 1_000_000,
            after.flushes - before.flushes,
        );
        Ok(())
    };
    show("api, 1 client, 1 edge", &|| clients(&database, 1, 1, seconds))?;
    show("api, 64 clients, 1 edge each", &|| clients(&database, 64, 1, seconds))?;
    show("api, batches of 1,000", &|| clients(&database, 1, 1_000, seconds))?;
    show("api, batches of 10,000", &|| clients(&database, 1, 10_000, seconds))?;
    show("cypher, 1 client", &|| statements(&database, 1, 1, seconds))?;
    show("cypher, 64 clients", &|| statements(&database, 64, 1, seconds))?;
    show("cypher, 1,000 statements a transaction", &|| statements(&database, 1, 1_000, seconds))?;
    show("cypher, unwind of 1,000 rows", &|| unwind(&database, seconds))?;
    Ok(())
}

fn fill(database: &Database) -> Outcome<()> {
    let mut session = database.session();
    session.query("CREATE CONSTRAINT p FOR (p:P) REQUIRE p.id IS UNIQUE", &Parameters::default())?;
    let parameters = Parameters::from_iter([("n".into(), Value::Int(NODES as i64 - 1))]);
    session.query("UNWIND range(0, $n) AS i CREATE (:P {id: i})", &parameters)?;
    session.query("MATCH (a:P {id: 0}) CREATE (a)-[:KNOWS {since: 1}]->(a)", &Parameters::default())?;
    database.checkpoint()?;
    Ok(())
}

/// Runs clients for some time; each makes transactions of `batch` edges.
fn clients(database: &Database, clients: u64, batch: u64, seconds: f64) -> Outcome<u64> {
    let edges = AtomicU64::new(0);
    let store = database.store();
    let store = &*store;
    let schema = store.read()?.schema().clone();
    let edge_type = schema.edge_type("KNOWS").ok_or("the type is there")?;
    let key = schema.property_key("since").ok_or("the key is there")?;
    let end = now() + seconds;
    std::thread::scope(|scope| {
        for client in 0..clients {
            let edges = &edges;
            scope.spawn(move || {
                let mut numbers = Numbers(client + 1);
                while now() < end {
                    match add(store, edge_type, key, batch, &mut numbers) {
                        Ok(()) => edges.fetch_add(batch, Ordering::Relaxed),
                        Err(_) => return,
                    };
                }
            });
        }
    });
    Ok(edges.into_inner())
}

fn add(
    store: &dyn GraphStore,
    edge_type: EdgeTypeId,
    key: PropertyKeyId,
    batch: u64,
    numbers: &mut Numbers,
) -> model::Result<()> {
    let mut transaction = store.write()?;
    let sources: Vec<NodeId> = (0..batch).map(|_| NodeId(numbers.node())).collect();
    let targets: Vec<NodeId> = (0..batch).map(|_| NodeId(numbers.node())).collect();
    let since = Column::new(ColumnData::Int((0..batch as i64).collect()));
    let properties = [since];
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[key], properties: &properties };
    transaction.create_edges(&new)?;
    transaction.commit()
}

/// Like [`clients`], by statements.
fn statements(database: &Database, clients: u64, batch: u64, seconds: f64) -> Outcome<u64> {
    let edges = AtomicU64::new(0);
    let end = now() + seconds;
    std::thread::scope(|scope| {
        for client in 0..clients {
            let edges = &edges;
            scope.spawn(move || {
                let mut numbers = Numbers(client + 1);
                let mut session = database.session();
                while now() < end {
                    if batch > 1 && session.begin().is_err() {
                        return;
                    }
                    for step in 0..batch {
                        let parameters = Parameters::from_iter([
                            ("a".into(), Value::Int(numbers.node() as i64)),
                            ("b".into(), Value::Int(numbers.node() as i64)),
                            ("s".into(), Value::Int(step as i64)),
                        ]);
                        if session.query(ADD, &parameters).is_err() {
                            return;
                        }
                    }
                    if batch > 1 && session.commit().is_err() {
                        return;
                    }
                    edges.fetch_add(batch, Ordering::Relaxed);
                }
            });
        }
    });
    Ok(edges.into_inner())
}

fn unwind(database: &Database, seconds: f64) -> Outcome<u64> {
    let mut session = database.session();
    let mut numbers = Numbers(1);
    let (mut edges, end) = (0, now() + seconds);
    while now() < end {
        let mut row = |step: i64| {
            let (a, b) = (numbers.node() as i64, numbers.node() as i64);
            Value::list(vec![Value::Int(a), Value::Int(b), Value::Int(step)])
        };
        let rows = Value::list((0..1_000).map(&mut row).collect());
        session.query(ADD_MANY, &Parameters::from_iter([("rows".into(), rows)]))?;
        edges += 1_000;
    }
    Ok(edges)
}
