//! `knot demo`: a real graph imported, queried, ranked, a route found and drawn, with the time that each step takes.
//!
//! US airports and flights of the first half of 2001: three million single flights if they are given, else the counted
//! routes that are built in. Data: npm package vega-datasets, BSD-3-Clause; US Bureau of Transportation Statistics.

mod map;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use database::import::{EdgeFile, ImportPlan, ImportProgress, NodeFile};
use database::{Access, Config, Database, Error, ErrorCode, Interrupt, Parameters, QueryResult, Session, Value};

use crate::arguments::{DemoArguments, Format};
use crate::failure::{Failure, Outcome};
use crate::format::{Printer, counted};
use crate::{progress, signals};

use map::{Airport, draw};

const AIRPORTS: &[u8] = include_bytes!("../../data/airports.csv");
const ROUTES: &[u8] = include_bytes!("../../data/flights-airport.csv");

/// Start and end of the route; no flight joins the two.
const ROUTE: (&str, &str) = ("PSP", "BGR");

const SCORES: &str = "\
CALL algo.pagerank({labels: 'Airport', types: 'FLIGHT'}) YIELD node, score
WHERE (node)-[:FLIGHT]-()
RETURN node.iata AS airport, node.city AS city, node.latitude AS latitude, node.longitude AS longitude, score
ORDER BY score DESC";

const RANK: &str = "\
CALL algo.pagerank({labels: 'Airport', types: 'FLIGHT'}) YIELD node, score
RETURN node.iata AS airport, node.city AS city, round(score * 10000) / 10000 AS score
ORDER BY score DESC LIMIT 10";

const PATH: &str = "\
MATCH (a:Airport {iata: $from}), (b:Airport {iata: $to})
CALL algo.astar({sourceNode: a, targetNode: b, types: 'FLIGHT',
                 latitudeProperty: 'latitude', longitudeProperty: 'longitude'})
YIELD path, cost, nodesExpanded
RETURN [n IN nodes(path) | n.iata] AS route, round(cost) AS km, nodesExpanded AS expanded";

/// The queries for the three million single flights.
const FLIGHT_QUERIES: [(&str, &str); 3] = [
    (
        "The busiest routes, and how late they run",
        "MATCH (a:Airport)-[f:FLIGHT]->(b:Airport)
RETURN a.iata AS origin, b.iata AS destination, count(*) AS flights, round(avg(f.delay) * 10) / 10 AS `delay in minutes`
ORDER BY flights DESC, origin LIMIT 5",
    ),
    (
        "Large airports whose flights leave with the longest delays",
        "MATCH (a:Airport)-[f:FLIGHT]->()
WITH a, count(*) AS flights, avg(f.delay) AS delay
WHERE flights > 20000
RETURN a.iata AS airport, a.city AS city, flights, round(delay * 10) / 10 AS `delay in minutes`
ORDER BY delay DESC LIMIT 5",
    ),
    (
        "Within one change from Bangor, Maine, but not without: the busiest such airports",
        "MATCH (start:Airport {iata: 'BGR'})-[:FLIGHT]->(hub:Airport)
WITH DISTINCT start, hub
MATCH (hub)-[:FLIGHT]->(there:Airport)
WHERE there <> start AND NOT (start)-[:FLIGHT]->(there)
RETURN there.iata AS airport, there.city AS city, count(DISTINCT hub) AS hubs, count(*) AS flights
ORDER BY flights DESC LIMIT 5",
    ),
];

/// The queries for the counted routes.
const ROUTE_QUERIES: [(&str, &str); 3] = [
    (
        "The busiest routes",
        "MATCH (a:Airport)-[f:FLIGHT]->(b:Airport)
RETURN a.iata AS origin, b.iata AS destination, f.count AS flights
ORDER BY flights DESC, origin LIMIT 5",
    ),
    (
        "States by departing flights",
        "MATCH (a:Airport)-[f:FLIGHT]->()
RETURN a.state AS state, count(DISTINCT a) AS airports, sum(f.count) AS flights
ORDER BY flights DESC LIMIT 5",
    ),
    (
        "Within one change from Bangor, Maine, but not without: by number of hubs",
        "MATCH (start:Airport {iata: 'BGR'})-[:FLIGHT]->(hub:Airport)-[:FLIGHT]->(there:Airport)
WHERE there <> start AND NOT (start)-[:FLIGHT]->(there)
RETURN there.iata AS airport, there.city AS city, count(DISTINCT hub) AS hubs
ORDER BY hubs DESC, airport LIMIT 5",
    ),
];

pub(super) fn run(arguments: &DemoArguments) -> Outcome<()> {
    let folder = arguments.output.clone().unwrap_or_else(|| std::env::temp_dir().join("knotwork-demo"));
    std::fs::create_dir_all(&folder).map_err(|cause| file_error(&folder, &cause))?;
    let store = folder.join("flights.knot");
    if store.exists() {
        // The demo's own store of an earlier run.
        std::fs::remove_dir_all(&store).map_err(|cause| file_error(&store, &cause))?;
    }
    let database = super::open_with(&store, Config { access: Access::ReadWrite, ..Config::default() })?;
    import(&database, arguments, &folder)?;
    let queries = if arguments.flights.is_some() { FLIGHT_QUERIES } else { ROUTE_QUERIES };
    let mut session = database.session();
    for (title, query) in queries {
        show(&mut session, title, query, &Parameters::default())?;
    }
    show(&mut session, "PageRank: the ten airports that flights lead to", RANK, &Parameters::default())?;
    let (from, to) = ROUTE;
    let ends = Parameters::from_iter([("from".into(), Value::string(from)), ("to".into(), Value::string(to))]);
    let title = format!("A*: the shortest way by air from {from} to {to}, with the great circle as heuristic");
    let route = show(&mut session, &title, PATH, &ends)?;
    let picture = folder.join("flights.svg");
    std::fs::write(&picture, picture_of(&mut session, &route)?).map_err(|cause| file_error(&picture, &cause))?;
    say(&format!("The map: {}", picture.display()))?;
    say(&format!("The store: {}   (knot {})", store.display(), store.display()))
}

fn import(database: &Database, arguments: &DemoArguments, folder: &Path) -> Outcome<()> {
    let built_in = |given: &Option<PathBuf>, name: &str, bytes: &[u8]| -> Outcome<PathBuf> {
        if let Some(path) = given {
            return Ok(path.clone());
        }
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|cause| file_error(&path, &cause))?;
        Ok(path)
    };
    let airports = built_in(&arguments.airports, "airports.csv", AIRPORTS)?;
    let flights = built_in(&arguments.flights, "flights-airport.csv", ROUTES)?;
    let nodes = NodeFile { path: airports, labels: vec!["Airport".into()], key: Some("iata".into()), read: None };
    let edges = EdgeFile {
        path: flights,
        edge_type: Some("FLIGHT".into()),
        source: Some("origin".into()),
        target: Some("destination".into()),
        ..EdgeFile::default()
    };
    let threads = database.config().threads;
    let plan = ImportPlan { nodes: vec![nodes], edges: vec![edges], threads, ..ImportPlan::default() };
    let (state, interrupt) = (ImportProgress::default(), Interrupt::new());
    let start = database.clock().now_ns();
    let cancelling = signals::cancel_with(interrupt.clone());
    let summary = progress::watch_import(&state, false, || database.import(&plan, &state, &interrupt))?;
    drop(cancelling);
    let seconds = (database.clock().now_ns() - start) as f64 / 1e9;
    let bytes: u64 = database.info()?.files.iter().map(|(_, length)| length).sum();
    say(&format!(
        "Imported {} airports and {} flights in {seconds:.2} s: {:.2} million edges/s, {:.1} bytes/edge on disk.\n",
        summary.nodes_created,
        summary.edges_created,
        summary.edges_created as f64 / seconds / 1e6,
        bytes as f64 / summary.edges_created.max(1) as f64
    ))
}

/// Runs a query, prints it and its rows, and gives them.
fn show(session: &mut Session, title: &str, query: &str, parameters: &Parameters) -> Outcome<QueryResult> {
    let cancelling = signals::cancel_with(session.interrupt());
    let result = session.query(query, parameters).map_err(|error| Failure::Error(error, Some(query.to_string())))?;
    drop(cancelling);
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{title}\n")?;
    query.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    let mut printer = Printer::new(Format::Table, None, &mut out);
    database::session::ResultSink::columns(&mut printer, &result.columns)?;
    for batch in &result.batches {
        database::session::ResultSink::rows(&mut printer, batch.clone())?;
    }
    printer.finish()?;
    let rows = counted(result.row_count() as u64, "row");
    writeln!(out, "{rows} in {:.1} ms\n", result.summary.time_ns as f64 / 1e6)?;
    out.flush()?;
    Ok(result)
}

/// The map of all airports that flights lead to, with the route.
fn picture_of(session: &mut Session, route: &QueryResult) -> Outcome<String> {
    let scored = session.query(SCORES, &Parameters::default())?;
    let airports: Vec<Airport> = scored.rows().filter_map(|row| airport(&row)).collect();
    let Some(Value::List(stops)) = route.rows().next().map(|row| row[0].clone()) else {
        return Err(Error::new(ErrorCode::Internal, "the route was not found").into());
    };
    let stops: Vec<String> = stops
        .iter()
        .map(|stop| if let Value::String(code) = stop { code.to_string() } else { String::new() })
        .collect();
    Ok(draw(&airports, &stops))
}

fn airport(row: &[Value]) -> Option<Airport> {
    match row {
        [Value::String(code), city, Value::Float(latitude), Value::Float(longitude), Value::Float(score)] => {
            let city = if let Value::String(city) = city { city.to_string() } else { String::new() };
            Some(Airport { code: code.to_string(), city, latitude: *latitude, longitude: *longitude, score: *score })
        }
        _ => None,
    }
}

fn say(text: &str) -> Outcome<()> {
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}

fn file_error(path: &Path, cause: &std::io::Error) -> Failure {
    Error::new(ErrorCode::File, format!("{}: {cause}", path.display())).into()
}
