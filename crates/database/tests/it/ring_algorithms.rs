//! Algorithms on a graph that was loaded onto a simulated ring with faults give what they give on the native store that it
//! was loaded from: every algorithm, in each way that reads edges, and on a graph that is read in several parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::{ClusterStore, LoadPlan};
use database::import::{EdgeFile, ImportPlan, ImportProgress, NodeFile};
use database::{Config, Database, Interrupt, Value};
use model::platform::{Disk, TemporaryFile};
use model::procedure::{GraphAccess, ProcedureContext, Procedures, Workspace};
use model::{Column, ErrorCode, GraphStore, ReadView};
use testing::Folder;
use testing::differential::assert_same;
use testing::random::{SeededRandom, seed_or};
use testing::simulation::CountingClock;
use testing::simulation::memory::MemoryDisk;

use crate::simulated_ring::ring::{Faults, Ring};

type Rows = Vec<Vec<Value>>;

/// Writes files of a random graph, with edges that have weights and edges without a cycle, and imports them.
fn import(folder: &Folder, nodes: u64, edges: usize, random: &mut SeededRandom) -> Database {
    use std::fmt::Write;
    let mut text = "uid:ID,latitude:float,longitude:float,community:int\n".to_owned();
    for uid in 0..nodes {
        let (latitude, longitude) = (random.index(1_000) as f64 / 1e3, random.index(1_000) as f64 / 1e3);
        writeln!(text, "{uid},{latitude},{longitude},{}", uid % 7).expect("writing text");
    }
    std::fs::write(folder.join("n.csv"), text).expect("a file can be written");
    for (name, count) in [("E", edges), ("D", nodes as usize)] {
        let mut text = "a,b,weight:float\n".to_owned();
        for edge in 0..count {
            let (a, b) = (random.below(nodes), random.below(nodes).min(random.below(nodes)));
            let (a, b) = if name == "D" && a >= b { (b, a + 1) } else { (a, b) };
            if b < nodes {
                writeln!(text, "{a},{b},{}", 200.0 + edge as f64 * 1.618 % 97.0).expect("writing text");
            }
        }
        std::fs::write(folder.join(&format!("{name}.csv")), text).expect("a file can be written");
    }
    let file = |name: &str| EdgeFile {
        path: folder.join(&format!("{name}.csv")),
        edge_type: Some(name.to_owned()),
        ..EdgeFile::default()
    };
    let plan = ImportPlan {
        nodes: vec![NodeFile { path: folder.join("n.csv"), labels: vec!["N".to_owned()], ..NodeFile::default() }],
        edges: vec![file("E"), file("D")],
        threads: 2,
        ..ImportPlan::default()
    };
    let database =
        Database::open(&folder.join("store.knot"), Config { threads: 2, ..Config::default() }).expect("opening");
    database.import(&plan, &ImportProgress::default(), &Interrupt::new()).expect("importing");
    database
}

/// The graph of a view on a simulated ring, with pages of so many rows.
fn on_ring(view: &dyn ReadView, seed: u64, scan_rows: u32, faults: Faults) -> (Arc<Ring>, ClusterStore) {
    let ring = Ring::new(seed, 4, Faults::NONE);
    let client = ring.client(0);
    let settings = cluster::Settings { attempts: 60, scan_rows, ..client.settings(1, seed) };
    let store = ClusterStore::open(client, settings).expect("opening a graph");
    store.load(view, &LoadPlan::new(1), &Interrupt::new(), &|_, _| {}).expect("loading");
    ring.trouble(faults, None);
    (ring, store)
}

fn procedures() -> Procedures {
    let mut procedures = Procedures::default();
    analytics::procedures().into_iter().for_each(|procedure| procedures.register(procedure));
    procedures
}

/// All the memory there is, and files in it.
#[derive(Default)]
struct Unlimited(MemoryDisk);

impl Workspace for Unlimited {
    fn bytes_free(&self) -> usize {
        usize::MAX / 2
    }

    fn take(&self, _what: &'static str, _bytes: usize) -> model::Result<()> {
        Ok(())
    }

    fn give_back(&self, _bytes: usize) {}

    fn temporary(&self) -> model::Result<Box<dyn TemporaryFile>> {
        Ok(self.0.temporary("".as_ref()).expect("there is a disk in memory"))
    }
}

fn try_call(
    view: &dyn ReadView,
    name: &str,
    settings: &[(&str, Value)],
    interrupt: &Interrupt,
) -> database::Result<Rows> {
    let clock = CountingClock::default();
    let (graph, workspace) = (GraphAccess::Read(view), &Unlimited::default());
    let mut context = ProcedureContext { graph, interrupt, threads: 2, clock: &clock, workspace };
    let settings = Value::map(settings.iter().map(|(name, value)| (Arc::from(*name), value.clone())));
    let mut rows = Rows::new();
    let mut sink = |columns: Vec<Column>| {
        for row in 0..columns[0].len() {
            rows.push(columns.iter().map(|column| column.value(row)).collect());
        }
        Ok(true)
    };
    let procedures = procedures();
    let procedure = procedures.find(name).unwrap_or_else(|| panic!("no procedure is called {name}"));
    procedure.call(&mut context, &[settings], &mut sink)?;
    // Edges of paths have other ids in each store.
    for value in rows.iter_mut().flatten() {
        if matches!(value, Value::Path(_) | Value::Edge(_)) {
            *value = Value::Null;
        }
    }
    rows.sort();
    Ok(rows)
}

fn call(view: &dyn ReadView, name: &str, settings: &[(&str, Value)]) -> Rows {
    try_call(view, name, settings, &Interrupt::new()).unwrap_or_else(|error| panic!("{name} {settings:?}: {error}"))
}

/// True if rows are the same, floats nearly.
fn agree(found: &Rows, expected: &Rows) -> bool {
    let is_same = |(found, expected): (&Value, &Value)| match (found, expected) {
        (Value::Float(a), Value::Float(b)) => a == b || (a - b).abs() <= 1e-9 * b.abs(),
        (a, b) => a == b,
    };
    found.len() == expected.len() && found.iter().flatten().zip(expected.iter().flatten()).all(is_same)
}

fn check(name: &str, found: &Rows, expected: &Rows) {
    assert!(agree(found, expected), "{name}: {:?}, expected {:?}", found.first(), expected.first());
}

/// Algorithms that choose by the order in which edges come where they may choose: any store has its own. Their rows are
/// about the same nodes.
const CHOOSING: [&str; 4] = ["algo.leiden", "algo.louvain", "algo.randomWalk", "algo.topologicalSort"];

/// Numbers of groups as the first row of each.
fn by_group(rows: &Rows) -> Vec<(Value, Value)> {
    let first = |group: &Value| rows.iter().find(|row| row[1] == *group).map_or(Value::Null, |row| row[0].clone());
    rows.iter().map(|row| (row[0].clone(), first(&row[1]))).collect()
}

fn agree_as_far_as_promised(name: &str, found: &Rows, expected: &Rows) -> bool {
    if name == "algo.scc" {
        return by_group(found) == by_group(expected);
    }
    let nodes = |rows: &Rows| {
        let mut nodes: Vec<Value> =
            rows.iter().flatten().filter(|value| matches!(value, Value::Node(_))).cloned().collect();
        nodes.sort();
        nodes
    };
    match CHOOSING.contains(&name) {
        true => found.len() == expected.len() && nodes(found) == nodes(expected),
        false => agree(found, expected),
    }
}

/// Settings of calls, by algorithm. Those without any are called without settings too.
fn calls(name: &str) -> Option<Vec<Vec<(&'static str, Value)>>> {
    let text = |text: &str| Value::string(text);
    let types = |name: &str| ("types", text(name));
    let ends = || {
        vec![
            ("sourceNode", Value::Int(3)),
            ("targetNode", Value::Int(40)),
            types("E"),
            ("weightProperty", text("weight")),
        ]
    };
    let from = || ("sourceNode", Value::Int(3));
    let ways = |settings: Vec<(&'static str, Value)>| -> Vec<Vec<(&'static str, Value)>> {
        let with = |way: &str| settings.iter().cloned().chain([("execution", text(way))]).collect();
        vec![settings.clone(), with("memory"), with("streaming"), with("windows")]
    };
    Some(match name {
        "pagerank" | "wcc" => ways(vec![]),
        "cdlp" | "lcc" => ways(vec![("direction", text("BOTH"))]),
        "bfs" => ways(vec![from()]),
        "sssp" => ways(vec![from(), ("weightProperty", text("weight"))]),
        "triangleCount" => ways(vec![]),
        "articleRank" | "eigenvector" | "hits" | "scc" | "kcore" | "degree" => vec![vec![], vec![types("E")]],
        "articulationPoints" | "bridges" => vec![vec![], vec![types("D")]],
        "betweenness" | "closeness" | "harmonic" | "nodeSimilarity" => vec![vec![], vec![types("D")]],
        "louvain" | "leiden" => vec![vec![], vec![("weightProperty", text("weight"))]],
        "modularity" => vec![vec![("communityProperty", text("community"))]],
        "randomWalk" => vec![vec![("randomSeed", Value::Int(5))]],
        "spanningTree" => vec![vec![("weightProperty", text("weight"))]],
        "topologicalSort" => vec![vec![types("D")]],
        "longestPath" => vec![vec![types("D"), ("weightProperty", text("weight"))]],
        "dijkstra" | "bidirectionalDijkstra" | "shortest_path" | "yens" => {
            let mut settings = ends();
            match name {
                "shortest_path" => settings.truncate(3),
                "yens" => settings.push(("k", Value::Int(3))),
                _ => {}
            }
            vec![settings]
        }
        "allShortestPaths" => vec![ends()],
        "astar" => vec![ends().into_iter().chain([("heuristicScale", Value::Float(1.0))]).collect()],
        _ => return None,
    })
}

#[test]
fn every_algorithm_gives_on_a_ring_what_it_gives_on_files() {
    let seed = seed_or(81);
    eprintln!("FUZZ_SEED={seed}");
    let (folder, mut random) = (Folder::new(), SeededRandom::new(seed));
    let database = import(&folder, 120, 700, &mut random);
    let native = database.store().read().expect("a snapshot");
    let (ring, store) = on_ring(&*native, seed, 64, Faults::MANY);
    let remote = store.read().expect("a snapshot");
    assert_same(&*remote, &*native);
    let names: BTreeSet<String> = analytics::procedures()
        .iter()
        .map(|procedure| procedure.signature().name.to_owned())
        .filter(|name| name.starts_with("algo.") && name.matches('.').count() == 1)
        // These keep the results of others.
        .filter(|name| !["algo.keep", "algo.kept"].contains(&name.as_str()))
        .collect();
    let (mut count, mut empty, mut unknown, mut differing) = (0, 0, Vec::new(), Vec::new());
    for name in &names {
        let Some(calls) = calls(&name["algo.".len()..]) else {
            unknown.push(name.clone());
            continue;
        };
        for settings in calls {
            let (found, expected) = (call(&*remote, name, &settings), call(&*native, name, &settings));
            if !agree_as_far_as_promised(name, &found, &expected) {
                differing.push(format!("{name} {settings:?}"));
            }
            (count, empty) = (count + 1, empty + usize::from(expected.is_empty()));
        }
    }
    assert!(unknown.is_empty(), "algorithms without a call in this test: {unknown:?}");
    let counts = ring.counts();
    eprintln!("{count} calls of {} algorithms: {counts:?}", names.len());
    assert!(differing.is_empty(), "algorithms that differ: {differing:#?}");
    assert!(empty <= 3, "{empty} calls give no rows");
    assert!(count > 40 && counts.lost_pages > 10, "{counts:?}");
}

#[test]
fn a_large_graph_is_read_in_parts_by_several_threads() {
    let seed = seed_or(82);
    eprintln!("FUZZ_SEED={seed}");
    let (folder, mut random) = (Folder::new(), SeededRandom::new(seed));
    let database = import(&folder, 4_000, 50_000, &mut random);
    let native = database.store().read().expect("a snapshot");
    let (ring, store) = on_ring(&*native, seed, 2_000, Faults { lost_read: 5, ..Faults::NONE });
    let remote = store.read().expect("a snapshot");
    // An edge that is written behind the view does not show.
    let mut transaction = store.write().expect("beginning a transaction");
    let edge_type = transaction.edge_type("E").expect("a type");
    let (sources, targets) = ([model::NodeId(0)], [model::NodeId(3_999)]);
    let new = model::store::NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[], properties: &[] };
    transaction.create_edges(&new).expect("adding an edge");
    transaction.commit().expect("committing");
    let weight = || ("weightProperty", Value::string("weight"));
    for (name, settings) in [
        ("algo.pagerank", vec![]),
        ("algo.wcc", vec![]),
        ("algo.degree", vec![]),
        ("algo.cdlp", vec![]),
        ("algo.lcc", vec![]),
        ("algo.bfs", vec![("sourceNode", Value::Int(1))]),
        ("algo.sssp", vec![("sourceNode", Value::Int(1)), weight()]),
    ] {
        // However many passes a computation makes, edges come from the ring once.
        for execution in ["memory", "streaming", "windows"] {
            let way = ("execution", Value::string(execution));
            let settings: Vec<_> = settings.iter().cloned().chain([way]).collect();
            let settings = if name == "algo.degree" { &settings[..0] } else { &settings[..] };
            if execution == "windows" && !["algo.pagerank", "algo.wcc", "algo.cdlp"].contains(&name) {
                continue;
            }
            let before = ring.counts();
            let (found, expected) = (call(&*remote, name, settings), call(&*native, name, settings));
            check(name, &found, &expected);
            let after = ring.counts();
            let (pages, reads) = (after.pages - before.pages, after.reads - before.reads);
            eprintln!("{name} {execution}: {pages} pages, {reads} other reads");
            assert!(pages == 0 || pages < 120, "{name} {execution}: {pages} pages for 54,000 edges");
            assert!(reads < 400, "{name} {execution}: {reads} reads besides pages");
        }
    }
    // A cancelled run ends as on files, and so does one without enough replicas.
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let code = |outcome: database::Result<Rows>| outcome.err().map(|failure| failure.code());
    for view in [&*remote, &*native] {
        assert_eq!(code(try_call(view, "algo.wcc", &[], &interrupt)), Some(ErrorCode::Cancelled));
    }
    ring.take_away(3);
    let outcome = try_call(&*remote, "algo.wcc", &[], &Interrupt::new());
    assert_eq!(code(outcome), Some(ErrorCode::Connection));
    ring.calm();
    check("algo.wcc", &call(&*remote, "algo.wcc", &[]), &call(&*native, "algo.wcc", &[]));
}
