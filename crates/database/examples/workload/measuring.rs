//! Arguments, random numbers, percentiles, and a graph whose degrees follow a power law.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use database::{Config, Database, Durability, IsolationLevel};
use model::mix::next_random;
use model::platform::Platform;
use model::store::{NewEdges, NewNodes};
use model::{Column, ColumnData, Constraint, NodeId};
use serde_json::{Value as Json, json};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Edges and nodes written by one transaction while a graph is loaded.
const LOAD_ROWS: u64 = 20_000;

/// The words of the command line.
pub(crate) struct Arguments {
    pub(crate) name: String,
    values: BTreeMap<String, String>,
}

impl Arguments {
    pub(crate) fn read() -> Outcome<Arguments> {
        let mut words = std::env::args().skip(1);
        let name = words.next().ok_or("usage: workload NAME store=PATH [name=value…]")?;
        let pair = |word: String| {
            let (name, value) = word.split_once('=').ok_or(format!("expected name=value, found {word}"))?;
            Ok((name.to_owned(), value.to_owned()))
        };
        Ok(Arguments { name, values: words.map(pair).collect::<Outcome<_>>()? })
    }

    pub(crate) fn text(&self, name: &str, default: &str) -> String {
        self.values.get(name).cloned().unwrap_or_else(|| default.to_owned())
    }

    pub(crate) fn number(&self, name: &str, default: u64) -> Outcome<u64> {
        Ok(self.values.get(name).map_or(Ok(default), |value| value.parse())?)
    }

    pub(crate) fn store(&self) -> Outcome<PathBuf> {
        Ok(PathBuf::from(self.values.get("store").ok_or("expected store=PATH")?))
    }

    /// Opens the store as `durability`, `isolation` and `memory` (MiB) say.
    pub(crate) fn open(&self) -> Outcome<Database> {
        let durability = match self.text("durability", "full").as_str() {
            "full" => Durability::Full,
            "relaxed" => Durability::Relaxed { interval: Duration::from_millis(100) },
            "off" => Durability::Off,
            other => return Err(format!("no durability has the name {other}").into()),
        };
        let isolation = match self.text("isolation", "snapshot").as_str() {
            "snapshot" => IsolationLevel::Snapshot,
            "serializable" => IsolationLevel::Serializable,
            other => return Err(format!("no isolation has the name {other}").into()),
        };
        let memory = self.number("memory", 0)? as usize;
        let memory_bytes_max = (memory > 0).then_some(memory << 20);
        Ok(Database::open(&self.store()?, Config { durability, isolation, memory_bytes_max, ..Config::default() })?)
    }
}

/// Seconds since some fixed moment.
pub(crate) fn now() -> f64 {
    static PLATFORM: OnceLock<Platform> = OnceLock::new();
    PLATFORM.get_or_init(storage::os::platform).clock.now_ns() as f64 / 1e9
}

/// Prints one result.
pub(crate) fn print(result: &Json) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{result}")?;
    Ok(out.flush()?)
}

/// Random numbers, the same for the same seed.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    pub(crate) fn next(&mut self) -> u64 {
        next_random(&mut self.0)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number below `bound`, small ones often: the rank of a node in a graph whose degrees follow a power law.
    pub(crate) fn skewed(&mut self, bound: u64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((bound as f64 * unit * unit * unit) as u64).min(bound - 1)
    }
}

/// Spreads ranks over ids, so that large nodes do not lie side by side. A permutation of `0..bound`.
pub(crate) fn scatter(rank: u64, bound: u64) -> u64 {
    let bits = 64 - (bound - 1).leading_zeros().min(63);
    let mask = (1u64 << bits) - 1;
    let mut x = rank;
    loop {
        x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
        x ^= x >> (bits / 2 + 1);
        if x < bound {
            return x;
        }
    }
}

/// The 50th, 75th, 95th and 99th percentile, the mean and the most, in microseconds.
pub(crate) fn percentiles(seconds: &mut [f64]) -> Json {
    if seconds.is_empty() {
        return json!({"count": 0});
    }
    seconds.sort_by(f64::total_cmp);
    let at = |percent: usize| (seconds[(seconds.len() - 1) * percent / 100] * 1e7).round() / 10.0;
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    json!({
        "count": seconds.len(), "p50_us": at(50), "p75_us": at(75), "p95_us": at(95), "p99_us": at(99),
        "max_us": at(100), "mean_us": (mean * 1e7).round() / 10.0,
    })
}

/// Adds nodes `:V {id}` with a unique id each, which is also their place.
pub(crate) fn load_nodes(database: &Database, label: &str, count: u64) -> Outcome<()> {
    for start in (0..count).step_by(LOAD_ROWS as usize) {
        let end = (start + LOAD_ROWS).min(count);
        let mut transaction = database.store().write()?;
        let (label, key) = (transaction.label(label)?, transaction.property_key("id")?);
        if start == 0 {
            transaction.create_constraint(Constraint::unique("ids", label, key), &model::Interrupt::new())?;
        }
        let ids = Column::new(ColumnData::Int((start as i64..end as i64).collect()));
        let new = NewNodes { count: (end - start) as usize, labels: &[label], keys: &[key], properties: &[ids] };
        transaction.create_nodes(&new)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Some edges whose sources and targets both follow a power law.
pub(crate) fn random_edges(random: &mut Random, nodes: u64, count: usize) -> (Vec<NodeId>, Vec<NodeId>) {
    let mut end = |_| NodeId(scatter(random.skewed(nodes), nodes));
    let sources = (0..count).map(&mut end).collect();
    let targets = (0..count).map(&mut end).collect();
    (sources, targets)
}

/// Adds random edges `:E {t}`.
pub(crate) fn load_edges(database: &Database, nodes: u64, count: u64) -> Outcome<()> {
    let mut random = Random::new(7);
    for start in (0..count).step_by(LOAD_ROWS as usize) {
        let rows = LOAD_ROWS.min(count - start) as usize;
        let (sources, targets) = random_edges(&mut random, nodes, rows);
        insert(database, &sources, &targets, start)?;
    }
    Ok(())
}

/// Commits edges `:E {t}`, where `t` counts from `first`.
pub(crate) fn insert(database: &Database, sources: &[NodeId], targets: &[NodeId], first: u64) -> Outcome<()> {
    let mut transaction = database.store().write()?;
    let (edge_type, key) = (transaction.edge_type("E")?, transaction.property_key("t")?);
    let times = Column::new(ColumnData::Int((first as i64..first as i64 + sources.len() as i64).collect()));
    transaction.create_edges(&NewEdges { edge_type, sources, targets, keys: &[key], properties: &[times] })?;
    Ok(transaction.commit()?)
}

/// Bytes of the store's files and logs, and for each edge.
pub(crate) fn sizes(database: &Database) -> Outcome<Json> {
    let info = database.info()?;
    let bytes: u64 = info.files.iter().map(|(_, length)| length).sum();
    Ok(json!({
        "nodes": info.nodes, "edges": info.edges, "bytes": bytes, "file_bytes": info.layout.file_bytes,
        "bytes_per_edge": info.layout.file_bytes as f64 / info.edges.max(1) as f64,
        "edges_stored": info.layout.edges_stored, "flushes": info.stats.flushes,
        "compactions": info.stats.compactions, "stalls": info.stats.stalls,
        "stall_ms": info.stats.stall_ns as f64 / 1e6, "syncs": info.stats.syncs, "commits": info.stats.commits,
        "cache_hit_rate": info.cache.hit_rate(),
    }))
}
