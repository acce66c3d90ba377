//! Times A* over a road graph in a database: `road_search DEFINITION.json URL PREFETCH QUERIES.json [RUNS [SERIES]]`.
//!
//! PREFETCH is `adaptive`, `none`, `lookahead:DEPTH` or `block:SIZE`. QUERIES is `{"queries": [{"s", "g", "cost_m"}, …]}`: the
//! keys of two places and the length of the shortest way between them in metres, which every answer is compared with.
//! Prints a line of JSON a query: nodes expanded, milliseconds cold (a source just attached, nothing cached; median),
//! cached (the source's cache filled, everything else anew) and hot (asked again); round trips and rows of the cold run.
//! With SERIES, the queries are run one after the other so often on one source, and a line has the seconds of each series.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use analytics::algorithms::astar;
use analytics::{Projection, SearchContext, ViewCache, Weight};
use model::platform::Clock;
use model::store::Direction;
use model::{Column, GraphStore, Interrupt, MemoryBudget, NodeId, ReadView, Value};
use serde_json::{Value as Json, json};
use sources::connect::connect;
use sources::definition::{GraphDefinition, Prefetch};
use sources::store::{Environment, SourceStats, SourceStore};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Lengths of edges are decimetres.
const UNITS_PER_KM: f64 = 10_000.0;
/// Memory that a run may use.
const MEMORY_BYTES: usize = 4 << 30;
/// Seconds after which a query is not repeated any more.
const SECONDS_MAX: u64 = 20;

#[derive(Debug)]
struct RealClock(Instant);

#[allow(clippy::disallowed_methods, reason = "an example measures with the real clock")]
fn now() -> Instant {
    Instant::now()
}

fn ms_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

impl Clock for RealClock {
    fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

/// A source that is measured.
struct Measured {
    definition: Arc<GraphDefinition>,
    url: String,
}

/// Time, work and result of one search.
#[derive(Clone, Copy, Default)]
struct Found {
    ms: f64,
    expanded: u64,
    batches: u64,
    cost_m: f64,
}

#[allow(clippy::disallowed_methods, reason = "an example reads files that it is given")]
fn read(path: &str) -> Outcome<String> {
    Ok(std::fs::read_to_string(Path::new(path))?)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [definition, url, prefetch, queries, rest @ ..] = arguments.as_slice() else {
        return Err("usage: road_search DEFINITION.json URL PREFETCH QUERIES.json [RUNS [SERIES]]".into());
    };
    let mut definition = GraphDefinition::from_json(&read(definition)?).map_err(|error| format!("{error:?}"))?;
    definition.prefetch = prefetcher(prefetch)?;
    let measured = Measured { definition: Arc::new(definition), url: url.clone() };
    let number = |at: usize, default: usize| rest.get(at).map_or(Ok(default), |text| text.parse::<usize>());
    let (runs, series) = (number(0, 5)?, number(1, 0)?);
    let queries: Json = serde_json::from_str(&read(queries)?)?;
    let queries = queries["queries"].as_array().ok_or("no queries")?;
    if series > 0 {
        return print(&measured.series(queries, series)?);
    }
    queries.iter().try_for_each(|query| print(&measured.measure(query, runs)?))
}

fn print(line: &Json) -> Outcome<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

fn prefetcher(text: &str) -> Outcome<Prefetch> {
    let (name, number) = text.split_once(':').unwrap_or((text, ""));
    Ok(match name {
        "adaptive" => Prefetch::Adaptive,
        "none" => Prefetch::None,
        "lookahead" => Prefetch::Lookahead(number.parse()?),
        "block" => Prefetch::Block { properties: vec!["lat".into(), "lon".into()], size: number.parse()? },
        _ => return Err(format!("expected adaptive, none, lookahead:DEPTH or block:SIZE, found {text}").into()),
    })
}

impl Measured {
    /// The source with nothing of it in memory.
    fn attach(&self) -> Outcome<SourceStore> {
        let environment = Environment { memory: MemoryBudget::new(MEMORY_BYTES), clock: Arc::new(RealClock(now())) };
        let connector = connect(&self.url, &self.definition)?;
        Ok(SourceStore::new(self.definition.clone(), connector, 1, environment)?)
    }

    fn measure(&self, query: &Json, runs: usize) -> Outcome<Json> {
        let (mut cold, mut attach) = (Vec::new(), Vec::new());
        let (mut stats, mut first) = (SourceStats::default(), Found::default());
        let start = now();
        for _ in 0..runs {
            let start_attach = now();
            let store = self.attach()?;
            attach.push(ms_since(start_attach));
            first = search(&store, query, None)?;
            cold.push(first.ms);
            stats = store.stats();
            if start.elapsed().as_secs() > SECONDS_MAX {
                break;
            }
        }
        let store = self.attach()?;
        let kept = ViewCache::new(MemoryBudget::new(MEMORY_BYTES));
        search(&store, query, Some(&kept))?;
        let repeat = |kept: Option<&ViewCache>| -> Outcome<f64> {
            let times = (0..2 * runs + 1).map(|_| Ok(search(&store, query, kept)?.ms));
            Ok(median(times.collect::<Outcome<Vec<f64>>>()?))
        };
        let (cached, hot) = (repeat(None)?, repeat(Some(&kept))?);
        Ok(json!({
            "s": query["s"], "g": query["g"], "expanded": first.expanded, "batches": first.batches,
            "cost_m": first.cost_m, "attach_ms": median(attach), "cold_ms": median(cold), "cached_ms": cached,
            "hot_ms": hot, "round_trips": stats.round_trips, "rows_fetched": stats.rows_fetched,
            "rows_used": stats.rows_used, "prefetch": stats.prefetch,
        }))
    }

    /// All queries, again and again.
    fn series(&self, queries: &[Json], series: usize) -> Outcome<Json> {
        let store = self.attach()?;
        let kept = ViewCache::new(MemoryBudget::new(MEMORY_BYTES));
        let mut seconds = Vec::with_capacity(series);
        for _ in 0..series {
            let mut ms = 0.0;
            for query in queries {
                ms += search(&store, query, Some(&kept))?.ms;
            }
            seconds.push(ms / 1e3);
        }
        Ok(json!({ "seconds": seconds, "round_trips": store.stats().round_trips }))
    }
}

/// Searches once, from a view just made to the answer.
fn search(store: &SourceStore, query: &Json, kept: Option<&ViewCache>) -> Outcome<Found> {
    let start = now();
    let view = store.read()?;
    let config = config(&*view, query)?;
    let projection = Projection::all(Direction::Out);
    let result = astar::run_keeping(&*view, &projection, &config, kept, SearchContext::unaccounted(&Interrupt::new()))?;
    let ms = ms_since(start);
    let (_, cost) = result.path.ok_or("no path")?;
    let (cost_m, expected) = (cost / 10.0, query["cost_m"].as_f64().ok_or("no length")?);
    if (cost_m - expected).abs() > 0.05 {
        return Err(format!("{} to {} costs {cost_m} m, expected {expected}", query["s"], query["g"]).into());
    }
    Ok(Found { ms, expanded: result.expanded, batches: result.batches, cost_m })
}

/// The configuration of the search for a query.
fn config(view: &dyn ReadView, query: &Json) -> Outcome<astar::Config> {
    let schema = view.schema();
    let (Some(label), Some(key)) = (schema.label("Place"), schema.property_key("id")) else {
        return Err("the source holds no places".into());
    };
    let ends: Vec<Value> = ["s", "g"].iter().map(|end| Value::Int(query[end].as_i64().unwrap_or(0))).collect();
    let found = view.lookup(label, key, &Column::from_values(&ends))?;
    let node = |row: usize| -> Outcome<NodeId> {
        match found.value(row) {
            Value::Node(node) => Ok(node),
            _ => Err(format!("there is no place {}", ends[row]).into()),
        }
    };
    Ok(astar::Config {
        source: node(0)?,
        target: node(1)?,
        weight: Some(Weight { key: schema.property_key("length"), name: "length".into(), default: None }),
        heuristic_scale: UNITS_PER_KM,
        latitude: "lat".into(),
        longitude: "lon".into(),
        expanded_max: u64::MAX,
    })
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
