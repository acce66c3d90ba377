//! Times A* on a road graph: `roads STORE GRAPH.gr PLACES.co QUERIES.json [RUNS [SERIES]]`.
//!
//! The store is made of the two DIMACS files if it is not there yet. QUERIES is `{"queries": [{"s", "g", "cost_m"}, …]}`, the
//! keys of two places and the length of the shortest way between them in metres, which every answer is compared with.
//! Prints a line of JSON a query: nodes expanded, batches asked of the store, milliseconds of the first search (cold) and the
//! median of the others (hot); once for the search itself and once as a statement. With 0 runs only what is found is told, and
//! nothing is compared. With SERIES, the queries are run one after the other so often, and a line has the seconds of each.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use analytics::algorithms::astar;
use analytics::{Projection, SearchContext, ViewCache, Weight};
use database::import::{EdgeFile, ImportPlan, ImportProgress, NodeFile};
use database::{Config, Database, Interrupt, Parameters, Value};
use model::store::{Direction, ReadView};
use model::{Column, NodeId};
use serde_json::{Value as Json, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Lengths of edges are decimetres.
const UNITS_PER_KM: f64 = 10_000.0;
const STATEMENT: &str = "MATCH (s:Place {id: $s}), (g:Place {id: $g}) CALL algo.astar({sourceNode: s, targetNode: g, \
     weightProperty: 'length', heuristicScale: 10000}) YIELD path, cost, nodesExpanded RETURN cost, nodesExpanded, length(path)";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, graph, places, queries, rest @ ..] = arguments.as_slice() else {
        return Err("usage: roads STORE GRAPH.gr PLACES.co QUERIES.json [RUNS [SERIES]]".into());
    };
    let number = |at: usize, default: usize| rest.get(at).map_or(Ok(default), |text| text.parse::<usize>());
    let (runs, series) = (number(0, 9)?, number(1, 0)?);
    let is_new = !Path::new(store).exists();
    let queries: Json = serde_json::from_str(&std::fs::read_to_string(queries)?)?;
    let queries = queries["queries"].as_array().ok_or("no queries")?;
    if is_new {
        import(&Database::open(Path::new(store), Config::default())?, graph, places)?;
    }
    if series > 0 {
        return print(&in_series(Path::new(store), queries, series)?);
    }
    if runs == 0 {
        let database = Database::open(Path::new(store), Config::default())?;
        let kept = ViewCache::new(database.memory().clone());
        return queries.iter().try_for_each(|query| {
            let found = search(&database, query, &kept)?;
            let (expanded, cost_m) = (found.expanded, found.cost_m);
            print(&json!({"s": query["s"], "g": query["g"], "expanded": expanded, "cost_m": cost_m}))
        });
    }
    queries.iter().try_for_each(|query| print(&measure(Path::new(store), query, runs)?))
}

fn print(line: &Json) -> Outcome<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Work and result of a search.
struct Found {
    expanded: u64,
    batches: u64,
    cost_m: Option<f64>,
}

fn search(database: &Database, query: &Json, kept: &ViewCache) -> Outcome<Found> {
    let view = database.store().read()?;
    let config = config(&*view, query)?;
    let projection = Projection::all(Direction::Out);
    let result =
        astar::run_keeping(&*view, &projection, &config, Some(kept), SearchContext::unaccounted(&Interrupt::new()))?;
    let cost_m = result.path.map(|(_, cost)| cost / 10.0);
    Ok(Found { expanded: result.expanded, batches: result.batches, cost_m })
}

/// Seconds of all queries, so often.
fn in_series(store: &Path, queries: &[Json], series: usize) -> Outcome<Json> {
    let database = Database::open(store, Config::default())?;
    let kept = ViewCache::new(database.memory().clone());
    let mut seconds = Vec::with_capacity(series);
    for _ in 0..series {
        let mut all = || queries.iter().try_for_each(|query| check(query, search(&database, query, &kept)?.cost_m));
        seconds.push(timed(1, &mut all)?.0 / 1e3);
    }
    Ok(json!({ "seconds": seconds }))
}

fn measure(store: &Path, query: &Json, runs: usize) -> Outcome<Json> {
    let mut cold = Vec::with_capacity(runs);
    let mut found = Found { expanded: 0, batches: 0, cost_m: None };
    let (mut hot, mut statement) = (0.0, (0.0, 0.0));
    for run in 0..runs {
        // Opened anew, so that nothing is there from the search before.
        let database = Database::open(store, Config::default())?;
        let kept = ViewCache::new(database.memory().clone());
        let first = timed(1, &mut || {
            found = search(&database, query, &kept)?;
            check(query, found.cost_m)
        })?;
        cold.push(first.0);
        if run > 0 {
            continue;
        }
        hot = timed(2 * runs, &mut || check(query, search(&database, query, &kept)?.cost_m))?.1;
        let mut session = database.session();
        let key = |name: &str| Value::Int(query[name].as_i64().unwrap_or(0));
        let parameters: Parameters = ["s", "g"].map(|name| (name.into(), key(name))).into_iter().collect();
        statement = timed(2 * runs, &mut || {
            let rows: Vec<Vec<Value>> = session.query(STATEMENT, &parameters)?.rows().collect();
            let [row] = &rows[..] else { return Err("expected one row".into()) };
            let Value::Float(cost) = row[0] else { return Err("no cost".into()) };
            check(query, Some(cost / 10.0))
        })?;
    }
    cold.sort_by(f64::total_cmp);
    Ok(json!({
        "s": query["s"], "g": query["g"], "expanded": found.expanded, "batches": found.batches, "cost_m": found.cost_m,
        "cold_ms": cold[cold.len() / 2], "hot_ms": hot, "statement_ms": statement.1,
    }))
}

fn import(database: &Database, graph: &str, places: &str) -> Outcome<()> {
    let plan = ImportPlan {
        nodes: vec![NodeFile { path: PathBuf::from(places), labels: vec!["Place".into()], ..NodeFile::default() }],
        edges: vec![EdgeFile { path: PathBuf::from(graph), edge_type: Some("ROAD".into()), ..EdgeFile::default() }],
        threads: 2,
        ..ImportPlan::default()
    };
    database.import(&plan, &ImportProgress::default(), &Interrupt::new())?;
    Ok(())
}

/// The configuration of the search for a query.
fn config(view: &dyn ReadView, query: &Json) -> Outcome<astar::Config> {
    let schema = view.schema();
    let (Some(label), Some(key)) = (schema.label("Place"), schema.property_key("id")) else {
        return Err("the store holds no places".into());
    };
    let node = |name: &str| -> Outcome<NodeId> {
        let values = Column::constant(&Value::Int(query[name].as_i64().ok_or("no key")?), 1);
        match view.lookup(label, key, &values)?.value(0) {
            Value::Node(node) => Ok(node),
            _ => Err(format!("there is no place {}", query[name]).into()),
        }
    };
    Ok(astar::Config {
        source: node("s")?,
        target: node("g")?,
        weight: Some(Weight { key: schema.property_key("length"), name: "length".into(), default: None }),
        heuristic_scale: UNITS_PER_KM,
        latitude: "latitude".into(),
        longitude: "longitude".into(),
        expanded_max: u64::MAX,
    })
}

fn check(query: &Json, cost_m: Option<f64>) -> Outcome<()> {
    let (cost_m, expected) = (cost_m.ok_or("no path")?, query["cost_m"].as_f64().ok_or("no length")?);
    if (cost_m - expected).abs() > 0.05 {
        return Err(format!("{} to {} costs {cost_m} m, expected {expected}", query["s"], query["g"]).into());
    }
    Ok(())
}

/// Milliseconds of the first run and the median of the others.
#[allow(clippy::disallowed_methods, reason = "an example measures with the real clock")]
fn timed(runs: usize, run: &mut dyn FnMut() -> Outcome<()>) -> Outcome<(f64, f64)> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = std::time::Instant::now();
        run()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let first = times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok((first, times.get(times.len() / 2).copied().unwrap_or(first)))
}
