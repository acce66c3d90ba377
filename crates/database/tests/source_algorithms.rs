//! Algorithms on an attached source give what they give on a copy of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its file fails")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use model::procedure::{GraphAccess, ProcedureContext, Procedures, Unaccounted, Workspace};
use model::store::{EdgeIds, EdgeStream};
use model::{Column, ErrorCode, GraphStore, Interrupt, MemoryBudget, ReadView, Result, Value};
use rusqlite::Connection;
use sources::connect::connect;
use sources::definition::GraphDefinition;
use sources::store::{Environment, SourceStore};
use testing::graphs::{EdgeGroup, GraphData, NodeGroup};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::CountingClock;
use testing::workspace::Limited;
use testing::{Folder, ReferenceStore};

const DEFINITION: &str = r#"{
    "nodes": { "Place": { "table": "place", "key": "uid", "properties": ["uid", "latitude", "longitude"] } },
    "edges": {
        "ROAD": { "table": "road", "source": "Place(a)", "target": "Place(b)", "properties": ["length"] },
        "PATH": { "table": "path", "source": "Place(a)", "target": "Place(b)" }
    }
}"#;

/// Places that lie on a small map, and ways between them, some of them twice.
fn graph(random: &mut SeededRandom) -> GraphData {
    let count = 40 + random.index(80);
    let degree = |random: &mut SeededRandom| Value::Float(random.index(1_000) as f64 / 1e4);
    let columns: [Vec<Value>; 3] = [
        (0..count as i64).rev().map(|uid| Value::Int(uid + 5)).collect(),
        (0..count).map(|_| degree(random)).collect(),
        (0..count).map(|_| degree(random)).collect(),
    ];
    let named = |names: [&str; 3]| {
        names.iter().zip(&columns).map(|(name, values)| ((*name).to_owned(), Column::from_values(values))).collect()
    };
    let mut data = GraphData::default();
    let properties = named(["uid", "latitude", "longitude"]);
    data.nodes.push(NodeGroup { count, labels: vec!["Place".to_owned()], properties });
    for edge_type in ["ROAD", "PATH"] {
        let edges = count + random.index(2 * count);
        let ends = |random: &mut SeededRandom| (0..edges).map(|_| random.below(count as u64)).collect::<Vec<u64>>();
        let (sources, targets) = (ends(random), ends(random));
        let lengths: Vec<Value> = (0..edges).map(|_| Value::Float(30.0 + random.index(64) as f64)).collect();
        let properties = match edge_type {
            "ROAD" => vec![("length".to_owned(), Column::from_values(&lengths))],
            _ => Vec::new(),
        };
        data.edges.push(EdgeGroup { edge_type: edge_type.to_owned(), sources, targets, properties });
    }
    data
}

/// The graph in tables, with rows that are no edges among its own.
fn statements(data: &GraphData) -> String {
    let mut text = "CREATE TABLE place (uid INTEGER PRIMARY KEY, latitude DOUBLE, longitude DOUBLE);
        CREATE TABLE road (a INTEGER, b INTEGER, length DOUBLE); CREATE TABLE path (a INTEGER, b INTEGER);
        CREATE INDEX road_a ON road (a); CREATE INDEX road_b ON road (b);
        INSERT INTO road VALUES (5, 9999, 1.0), (9999, 5, 1.0), (NULL, 6, 1.0), (6, NULL, 1.0);
        INSERT INTO path VALUES (9999, 9998), (7, NULL);"
        .to_owned();
    let places = &data.nodes[0];
    let cell = |row: usize, at: usize| places.properties[at].1.value(row);
    for row in 0..places.count {
        write!(text, "INSERT INTO place VALUES ({}, {}, {});", cell(row, 0), cell(row, 1), cell(row, 2)).unwrap();
    }
    for edges in &data.edges {
        for (row, (&source, &target)) in edges.sources.iter().zip(&edges.targets).enumerate() {
            let length =
                edges.properties.first().map_or(String::new(), |(_, column)| format!(", {}", column.value(row)));
            let table = edges.edge_type.to_lowercase();
            let (a, b) = (cell(source as usize, 0), cell(target as usize, 0));
            write!(text, "INSERT INTO {table} VALUES ({a}, {b}{length});").unwrap();
        }
    }
    text
}

/// The rows of a procedure, with nodes by their `uid`, in order.
fn call(view: &dyn ReadView, name: &str, settings: &[(&str, Value)]) -> Vec<Vec<Value>> {
    let found = call_within(view, name, settings, &Unaccounted, &Interrupt::new());
    found.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The same with limits.
fn call_within(
    view: &dyn ReadView,
    name: &str,
    settings: &[(&str, Value)],
    workspace: &dyn Workspace,
    interrupt: &Interrupt,
) -> Result<Vec<Vec<Value>>> {
    let uid = view.schema().property_key("uid").unwrap();
    let mut procedures = Procedures::default();
    analytics::procedures().into_iter().for_each(|procedure| procedures.register(procedure));
    let clock = CountingClock::default();
    let graph = GraphAccess::Read(view);
    let mut context = ProcedureContext { graph, interrupt, threads: 2, clock: &clock, workspace };
    let settings = Value::map(settings.iter().map(|(name, value)| (Arc::from(*name), value.clone())));
    let mut rows = Vec::new();
    let mut sink = |columns: Vec<Column>| {
        for row in 0..columns[0].len() {
            rows.push(columns.iter().map(|column| column.value(row)).collect::<Vec<Value>>());
        }
        Ok(true)
    };
    let procedure = procedures.find(name).unwrap_or_else(|| panic!("no procedure is called {name}"));
    procedure.call(&mut context, &[settings], &mut sink)?;
    for value in rows.iter_mut().flatten() {
        match value {
            Value::Node(node) => *value = view.node_properties(&[*node], &[uid]).unwrap()[0].value(0),
            Value::Path(_) => *value = Value::Null,
            _ => {}
        }
    }
    rows.sort();
    Ok(rows)
}

/// Numbers of components as the least `uid` of each.
fn by_least(rows: &[Vec<Value>]) -> Vec<(Value, Value)> {
    let mut least: BTreeMap<Value, Value> = BTreeMap::new();
    for row in rows {
        let held = least.entry(row[1].clone()).or_insert_with(|| row[0].clone());
        *held = held.clone().min(row[0].clone());
    }
    rows.iter().map(|row| (row[0].clone(), least[&row[1]].clone())).collect()
}

fn check_rows(name: &str, seed: u64, found: &[Vec<Value>], expected: &[Vec<Value>]) {
    assert_eq!(found.len(), expected.len(), "{name}, seed {seed}");
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        let is_same = match (found, expected) {
            (Value::Float(a), Value::Float(b)) => a == b || (a - b).abs() <= 1e-9 * b.abs(),
            (a, b) => a == b,
        };
        assert!(is_same, "{name}, seed {seed}: {found}, expected {expected}");
    }
}

fn node(view: &dyn ReadView, uid: i64) -> Value {
    let (label, key) = (view.schema().label("Place").unwrap(), view.schema().property_key("uid").unwrap());
    view.lookup(label, key, &Column::from_values([&Value::Int(uid)])).unwrap().value(0)
}

/// The settings of a call, for the view that it is made on.
type Settings<'a> = &'a dyn Fn(&dyn ReadView) -> Vec<(&'static str, Value)>;

#[test]
fn algorithms_give_the_same_on_a_source_and_on_its_copy() {
    let definition = GraphDefinition::from_json(DEFINITION).unwrap();
    for seed in seed_or(3)..seed_or(3) + 4 {
        let mut random = SeededRandom::new(seed);
        let data = graph(&mut random);
        let folder = Folder::new();
        let file = folder.path().join("roads.db");
        Connection::open(&file).unwrap().execute_batch(&statements(&data)).unwrap();
        let connector = connect(&format!("sqlite:{}", file.display()), &definition).unwrap();
        let environment = Environment { memory: MemoryBudget::unlimited(), clock: Arc::new(CountingClock::default()) };
        let source = SourceStore::new(Arc::new(definition.clone()), connector, 3, environment).unwrap();
        let copy = ReferenceStore::new();
        data.load_into(&copy).unwrap();
        let (attached, copy) = (source.view(), copy.read().unwrap());
        let roads = || ("types", Value::string("ROAD"));
        let weight = || ("weightProperty", Value::string("length"));
        let both = |name: &str, make: Settings<'_>| {
            (call(&attached, name, &make(&attached)), call(&*copy, name, &make(&*copy)))
        };
        for (name, settings) in [
            ("algo.pagerank", vec![]),
            ("algo.pagerank", vec![roads(), weight()]),
            ("algo.degree", vec![("direction", Value::string("BOTH"))]),
            ("algo.triangleCount", vec![]),
            ("algo.kcore", vec![roads()]),
        ] {
            let (found, expected) = both(name, &|_| settings.clone());
            check_rows(name, seed, &found, &expected);
        }
        for name in ["algo.wcc", "algo.scc"] {
            let (found, expected) = both(name, &|_| vec![]);
            assert_eq!(by_least(&found), by_least(&expected), "{name}, seed {seed}");
        }
        let start = |view: &dyn ReadView| ("sourceNode", node(view, 6));
        let end = |view: &dyn ReadView| ("targetNode", node(view, 17));
        let (found, expected) = both("algo.bfs", &|view| vec![start(view)]);
        check_rows("algo.bfs", seed, &found, &expected);
        let (found, expected) = both("algo.sssp", &|view| vec![start(view), roads(), weight()]);
        check_rows("algo.sssp", seed, &found, &expected);
        for name in ["algo.dijkstra", "algo.bidirectionalDijkstra", "algo.astar"] {
            let settings = |view: &dyn ReadView| {
                let scale = (name == "algo.astar").then_some(("heuristicScale", Value::Float(1.0)));
                [start(view), end(view), roads(), weight()].into_iter().chain(scale).collect::<Vec<_>>()
            };
            let (found, expected) = both(name, &settings);
            let cost = |rows: &[Vec<Value>]| rows.iter().map(|row| vec![row[1].clone()]).collect::<Vec<_>>();
            check_rows(name, seed, &cost(&found), &cost(&expected));
        }
    }
}

/// Edges of a source are copied to temporary files for the passes of an algorithm that streams them.
#[test]
fn a_full_disk_and_a_cancel_while_rows_are_copied_leave_nothing_behind() {
    const PLENTY: usize = 1 << 30;
    let definition = GraphDefinition::from_json(DEFINITION).unwrap();
    let folder = Folder::new();
    let file = folder.path().join("roads.db");
    let data = graph(&mut SeededRandom::new(seed_or(11)));
    Connection::open(&file).unwrap().execute_batch(&statements(&data)).unwrap();
    let connector = connect(&format!("sqlite:{}", file.display()), &definition).unwrap();
    let environment = Environment { memory: MemoryBudget::unlimited(), clock: Arc::new(CountingClock::default()) };
    let source = SourceStore::new(Arc::new(definition), connector, 3, environment).unwrap();
    let view = source.view();
    for (name, way) in [("algo.wcc", "streaming"), ("algo.pagerank", "streaming"), ("algo.kcore", "streaming")] {
        let settings = [("execution", Value::string(way))];
        let run =
            |workspace: &Limited, interrupt: &Interrupt| call_within(&view, name, &settings, workspace, interrupt);
        let all = Limited::new(PLENTY, PLENTY);
        let expected = call(&view, name, &[]);
        let found = run(&all, &Interrupt::new()).unwrap();
        assert_eq!(found.len(), expected.len(), "{name}");
        assert!(all.peak_on_disk() > 0, "{name} copies rows");
        all.assert_all_given_back(name);
        for part in [0, 1, 5, 9] {
            let workspace = Limited::new(PLENTY, all.peak_on_disk() * part / 10);
            assert_eq!(run(&workspace, &Interrupt::new()).unwrap_err().code(), ErrorCode::DiskFull, "{name}, {part}");
            workspace.assert_all_given_back(name);
        }
        for file in 0..all.files_made() {
            let interrupt = Interrupt::new();
            let workspace = Limited::new(PLENTY, PLENTY).cancelling_at(file, &interrupt);
            assert_eq!(run(&workspace, &interrupt).unwrap_err().code(), ErrorCode::Cancelled, "{name}, file {file}");
            workspace.assert_all_given_back(name);
        }
    }
}

/// The whole of a table is one statement, not one for each batch of nodes.
#[test]
fn all_edges_are_read_in_few_round_trips() {
    let definition = GraphDefinition::from_json(DEFINITION).unwrap();
    let folder = Folder::new();
    let file = folder.path().join("roads.db");
    let mut random = SeededRandom::new(seed_or(9));
    let data = graph(&mut random);
    Connection::open(&file).unwrap().execute_batch(&statements(&data)).unwrap();
    let connector = connect(&format!("sqlite:{}", file.display()), &definition).unwrap();
    let environment = Environment { memory: MemoryBudget::unlimited(), clock: Arc::new(CountingClock::default()) };
    let source = SourceStore::new(Arc::new(definition), connector, 3, environment).unwrap();
    let view = source.view();
    let stream = EdgeStream { types: None, sources: None, keys: Vec::new(), edge_ids: EdgeIds::Omit };
    let before = source.stats().round_trips;
    let mut cursor = view.all_edges(&stream).unwrap().expect("tables can be read as a whole");
    let (mut block, mut edges) = (model::batch::EdgeBlock::default(), 0);
    while cursor.next(&mut block).unwrap() {
        edges += block.sources.len();
    }
    let rows: usize = data.edges.iter().map(|edges| edges.sources.len()).sum();
    assert!((rows..rows + 4).contains(&edges), "{edges} of {rows}, and those whose ends are not there");
    assert_eq!(source.stats().round_trips - before, 4, "a piece and an end for each of two tables");
}
