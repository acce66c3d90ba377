//! Measures the speed of rows from PostgreSQL: `postgres_speed URL` on tables `junctions(id, lon, lat)` and `roads(id,
//! j_from, j_to, distance)`. Prints milliseconds, best and median of some runs.

use std::time::SystemTime;

use model::{Column, ColumnData, Direction, Result};
use sources::connector::{Connector, Question, Reading, Which};
use sources::definition::{EdgeKind, End, EndNode, GraphDefinition, NodeKind, Property, Rows};
use sources::postgres::PostgresConnector;

fn definition() -> GraphDefinition {
    let table = |name: &str| Rows::Table { schema: None, name: name.to_owned() };
    let property = |name: &str| Property { name: name.into(), column: name.to_owned(), kind: None };
    let end = |column: &str| End { node: EndNode::Kind(0), columns: vec![column.to_owned()], is_array: false };
    GraphDefinition {
        nodes: vec![NodeKind {
            name: "junction".into(),
            labels: vec!["Junction".into()],
            rows: table("junctions"),
            key: vec!["id".to_owned()],
            properties: vec![property("lat"), property("lon")],
        }],
        edges: vec![EdgeKind {
            name: "road".into(),
            edge_type: "ROAD".into(),
            rows: table("roads"),
            source: end("j_from"),
            target: end("j_to"),
            key: Vec::new(),
            properties: vec![property("distance")],
        }],
        ..GraphDefinition::default()
    }
}

/// Runs a question some times; prints rows and times.
fn measure(title: &str, runs: usize, mut run: impl FnMut() -> Result<usize>) -> Result<()> {
    let (mut times, mut rows) = (Vec::new(), 0);
    for _ in 0..runs {
        let start = SystemTime::now();
        rows = run()?;
        times.push(start.elapsed().unwrap_or_default().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let (best, median) = (times[0], times[runs / 2]);
    let speed = rows as f64 / median / 1e3;
    let line = format!("{title:40} {rows:8} rows {best:9.3} best {median:9.3} median ms {speed:7.2} M rows/s");
    std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{line}\n")).map_err(|_| model::error!(Io, "stderr"))
}

fn ask(reading: &mut dyn Reading, questions: &[Question<'_>]) -> Result<usize> {
    let mut rows = 0;
    reading.ask(questions, &mut |_, columns| {
        rows += columns[0].len();
        Ok(true)
    })?;
    Ok(rows)
}

fn nodes(which: Which<'_>) -> Question<'_> {
    Question::Nodes { kind: 0, which, properties: &[0, 1], order: &[], limit: None }
}

fn edges(of: Which<'_>) -> Question<'_> {
    Question::Edges { kind: 0, direction: Direction::Out, of, properties: &[0] }
}

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "postgres://localhost/postgres".to_owned());
    let start = SystemTime::now();
    let source = PostgresConnector::open(&url, &definition())?;
    let facts = source.facts()?;
    let first = start.elapsed().unwrap_or_default().as_secs_f64() * 1e3;
    std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("connect and facts {first:.3} ms, {facts:?}\n"))
        .map_err(|_| model::error!(Io, "stderr"))?;
    let mut all = Vec::new();
    source.read()?.ask(&[nodes(Which::All)], &mut |_, columns| {
        if let ColumnData::Int(rows) = &columns[0].data {
            all.extend_from_slice(rows);
        }
        Ok(true)
    })?;
    // Keys that lie far from each other.
    let some = |count: usize| -> Column {
        let keys = (0..count).map(|at| all[(at * 7_919 + count) % all.len()]).collect();
        Column::new(ColumnData::Int(keys))
    };
    let one = some(1);
    measure("a session and one key", 200, || ask(&mut *source.read()?, &[nodes(Which::Keys(&one))]))?;
    let mut reading = source.read()?;
    measure("one key", 500, || ask(&mut *reading, &[nodes(Which::Keys(&one))]))?;
    for count in [10, 100, 1_000, 10_000] {
        let keys = some(count);
        measure(&format!("{count} nodes by key"), 20, || ask(&mut *reading, &[nodes(Which::Keys(&keys))]))?;
        measure(&format!("edges of {count} nodes"), 20, || ask(&mut *reading, &[edges(Which::Keys(&keys))]))?;
        measure(&format!("nodes and edges of {count}"), 20, || {
            ask(&mut *reading, &[nodes(Which::Keys(&keys)), edges(Which::Keys(&keys))])
        })?;
    }
    for side in [0.005, 0.01, 0.02, 0.05, 0.1] {
        let (lat, lon) = (41.89, 12.49);
        let boxes = [vec![(lat - side / 2.0, lat + side / 2.0), (lon - side / 2.0, lon + side / 2.0)]];
        let inside = || Which::Boxes { properties: &[0, 1], boxes: &boxes };
        measure(&format!("nodes in a box of {side}"), 20, || ask(&mut *reading, &[nodes(inside())]))?;
        measure(&format!("edges in a box of {side}"), 20, || ask(&mut *reading, &[edges(inside())]))?;
        measure(&format!("both in a box of {side}"), 20, || ask(&mut *reading, &[nodes(inside()), edges(inside())]))?;
    }
    for depth in [1, 3, 5, 10, 20] {
        let starts = [(0, some(1))];
        let near = || Which::Within { starts: &starts, along: &[(0, Direction::Out)], depth, limit: 100_000 };
        measure(&format!("both within {depth}"), 20, || ask(&mut *reading, &[nodes(near()), edges(near())]))?;
    }
    measure("all nodes", 5, || ask(&mut *reading, &[nodes(Which::All)]))?;
    measure("all edges", 5, || ask(&mut *reading, &[edges(Which::All)]))?;
    measure("all edges, streamed", 5, || {
        let stream = reading.start(&edges(Which::All))?;
        let mut rows = 0;
        while let Some(columns) = reading.more(stream, 16_384)? {
            rows += columns[0].len();
        }
        Ok(rows)
    })
}
