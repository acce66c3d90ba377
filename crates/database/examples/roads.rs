//! Times A* on a road graph: `roads STORE GRAPH.gr PLACES.co QUERIES.json [RUNS]`.
//!
//! The store is made of the two DIMACS files if it is not there yet. QUERIES is `{"queries": [{"s", "g", "cost_m"}, …]}`, the
//! keys of two places and the length of the shortest way between them in metres, which every answer is compared with.
//! Prints a line of JSON a query: nodes expanded, batches asked of the store, milliseconds of the first search and the
//! median of the others; once for the search itself and once as a statement.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use analytics::algorithms::astar;
use analytics::{Projection, ViewCache, Weight};
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
        return Err("usage: roads STORE GRAPH.gr PLACES.co QUERIES.json [RUNS]".into());
    };
    let runs = rest.first().map_or(Ok(9), |text| text.parse::<usize>())?;
    let is_new = !Path::new(store).exists();
    let queries: Json = serde_json::from_str(&std::fs::read_to_string(queries)?)?;
    let queries = queries["queries"].as_array().ok_or("no queries")?;
    if is_new {
        import(&Database::open(Path::new(store), Config::default())?, graph, places)?;
    }
    for query in queries {
        // Opened anew, so that nothing is there from the search before.
        let database = Database::open(Path::new(store), Config::default())?;
        let view = database.store().read()?;
        let config = config(&*view, query)?;
        let projection = Projection::all(Direction::Out);
        let mut found = (0, 0, 0.0);
        let mut batches = Vec::new();
        let kept = ViewCache::new(database.memory().clone());
        let search = timed(runs, || {
            let result = astar::run_keeping(&*view, &projection, &config, Some(&kept), &Interrupt::new())?;
            let (_, cost) = result.path.ok_or("no path")?;
            found = (result.expanded, result.batches, cost / 10.0);
            batches.push(result.batches);
            Ok(())
        })?;
        check(query, found.2)?;
        let mut session = database.session();
        let parameters: Parameters = [("s", &query["s"]), ("g", &query["g"])]
            .map(|(name, key)| (name.into(), Value::Int(key.as_i64().unwrap_or(0))))
            .into_iter()
            .collect();
        let statement = timed(runs, || {
            let rows: Vec<Vec<Value>> = session.query(STATEMENT, &parameters)?.rows().collect();
            let [row] = &rows[..] else { return Err("expected one row".into()) };
            let Value::Float(cost) = row[0] else { return Err("no cost".into()) };
            check(query, cost / 10.0)
        })?;
        let line = json!({"s": query["s"], "g": query["g"], "expanded": found.0, "batches": batches[0], "batches_repeated": found.1, "cost_m": found.2,
            "search_ms": search, "statement_ms": statement});
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
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

/// What a query asks of the search.
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

fn check(query: &Json, cost_m: f64) -> Outcome<()> {
    let expected = query["cost_m"].as_f64().ok_or("no length")?;
    if (cost_m - expected).abs() > 0.05 {
        return Err(format!("{} to {} costs {cost_m} m, expected {expected}", query["s"], query["g"]).into());
    }
    Ok(())
}

/// Milliseconds of the first run and the median of the others.
#[allow(clippy::disallowed_methods, reason = "an example measures with the real clock")]
fn timed(runs: usize, mut run: impl FnMut() -> Outcome<()>) -> Outcome<(f64, f64)> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs.max(2) {
        let start = std::time::Instant::now();
        run()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let first = times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok((first, times[times.len() / 2]))
}
