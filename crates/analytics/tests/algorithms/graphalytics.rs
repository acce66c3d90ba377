//! Published inputs and results of LDBC Graphalytics, where `../shared/data` beside the repository holds them, or the
//! folder that the environment variable `KNOTWORK_DATA` names.

use std::path::PathBuf;
use std::process::Command;

use model::store::Direction;
use model::{Column, ColumnData, Map, NodeId, Value};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, NodeGroup};

use crate::call::{by_number, call, number};

/// The folder that a packed file unpacks into, in a place of this test's own; `None` if the data is not there.
fn unpack(folder: &str, file: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("KNOTWORK_DATA").map_or_else(beside, PathBuf::from).join(folder).join(file);
    if !root.exists() {
        eprintln!("not run: {} is not there", root.display());
        return None;
    }
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&target).expect("the folder for temporary files can be written");
    let status = Command::new("tar").arg("--zstd").arg("-xf").arg(&root).arg("-C").arg(&target).status();
    match status {
        Ok(status) if status.success() => Some(target),
        other => {
            eprintln!("not run: tar cannot unpack {}: {other:?}", root.display());
            None
        }
    }
}

/// A graph with the names of its nodes; edges have a `weight` if the file has three fields a line.
struct Named {
    store: ReferenceStore,
    ids: Vec<NodeId>,
    names: Vec<u64>,
}

fn lines(path: &PathBuf) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn name(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text} is not the name of a node"))
}

fn load(names: Vec<u64>, edges: &[(u64, u64, Option<f64>)]) -> Named {
    let numbers: Map<u64, u64> = names.iter().copied().zip(0..).collect();
    let weights: Vec<f64> = edges.iter().filter_map(|edge| edge.2).collect();
    let properties =
        if weights.is_empty() { vec![] } else { vec![("weight".to_owned(), Column::new(ColumnData::Float(weights)))] };
    let graph = GraphData {
        nodes: vec![NodeGroup { count: names.len(), labels: vec!["Node".to_owned()], properties: Vec::new() }],
        edges: vec![EdgeGroup {
            edge_type: "LINK".to_owned(),
            sources: edges.iter().map(|edge| numbers[&edge.0]).collect(),
            targets: edges.iter().map(|edge| numbers[&edge.1]).collect(),
            properties,
        }],
    };
    let store = ReferenceStore::new();
    let ids = graph.load_into(&store).expect("a store in memory takes a graph");
    Named { store, ids, names }
}

/// A list of nodes and a list of edges.
fn load_lists(nodes: &PathBuf, edges: &PathBuf) -> Named {
    // In the order of their names, which is that of their ids: the smallest label wins.
    let mut names: Vec<u64> = lines(nodes).iter().map(|fields| name(&fields[0])).collect();
    names.sort_unstable();
    let weight = |text: &String| text.parse().unwrap_or_else(|_| panic!("{text} is not a weight"));
    let edges: Vec<_> =
        lines(edges).iter().map(|line| (name(&line[0]), name(&line[1]), line.get(2).map(weight))).collect();
    load(names, &edges)
}

/// Adjacency lists: a node, then its neighbors. In an undirected graph each edge comes twice; one is kept.
fn load_adjacency(path: &PathBuf, direction: Direction) -> Named {
    let lines = lines(path);
    let mut names: Vec<u64> = lines.iter().flatten().map(|field| name(field)).collect();
    names.sort_unstable();
    names.dedup();
    let pairs = lines.iter().flat_map(|fields| fields[1..].iter().map(|to| (name(&fields[0]), name(to), None)));
    let edges: Vec<_> = pairs.filter(|edge| direction == Direction::Out || edge.0 < edge.1).collect();
    load(names, &edges)
}

/// The expected value of each node, infinite for unreached.
fn expected(path: &PathBuf, graph: &Named) -> Vec<f64> {
    let value = |text: &str| match text {
        "9223372036854775807" | "infinity" | "Infinity" => f64::INFINITY,
        text => text.parse().unwrap_or_else(|_| panic!("{text} is not a number")),
    };
    let values: Map<u64, f64> = lines(path).iter().map(|fields| (name(&fields[0]), value(&fields[1]))).collect();
    graph.names.iter().map(|name| values[name]).collect()
}

/// The ways in which each kernel runs.
const EXECUTIONS: [&str; 3] = ["memory", "streaming", "windows"];

/// The result of a procedure, the same in every way of running.
fn found(graph: &Named, procedure: &str, settings: &[(&str, Value)]) -> Vec<f64> {
    let in_way = |execution: &str| -> Vec<f64> {
        let settings = [settings, &[("execution", Value::string(execution))]].concat();
        let rows = call(&graph.store, procedure, &settings, 2)
            .unwrap_or_else(|error| panic!("{procedure}, {execution}: {error}"));
        by_number(&rows, &graph.ids).iter().map(number).collect()
    };
    let [memory, streaming, windows] = EXECUTIONS.map(in_way);
    assert_same(&streaming, &memory, 1e-6, &format!("{procedure}, streaming"));
    assert_same(&windows, &memory, 1e-6, &format!("{procedure}, windows"));
    memory
}

/// Labels that are node ids as the names of those nodes.
fn as_names(graph: &Named, labels: &[f64]) -> Vec<f64> {
    let names: Map<u64, u64> = graph.ids.iter().map(|id| id.0).zip(graph.names.iter().copied()).collect();
    labels.iter().map(|label| names[&(*label as u64)] as f64).collect()
}

/// The tolerance of Graphalytics for floats is a ten-thousandth; ours is finer.
fn assert_same(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    let mismatches = found.iter().zip(expected).filter(|(a, b)| !(a == b || (*a - *b).abs() <= tolerance * b.abs()));
    assert_eq!(mismatches.count(), 0, "{what}");
    assert_eq!(found.len(), expected.len(), "{what}");
}

/// Components are the same if their names map one to one.
fn assert_same_components(found: &[f64], expected: &[f64], what: &str) {
    let (mut there, mut back): (Map<u64, u64>, Map<u64, u64>) = (Map::default(), Map::default());
    for (a, b) in found.iter().map(|x| x.to_bits()).zip(expected.iter().map(|x| x.to_bits())) {
        assert_eq!((*there.entry(a).or_insert(b), *back.entry(b).or_insert(a)), (b, a), "{what}");
    }
}

fn source(graph: &Named, name: u64, word: &str) -> [(&'static str, Value); 2] {
    let at = graph.names.iter().position(|&other| other == name).expect("the source is a node");
    [("sourceNode", Value::Node(graph.ids[at])), ("direction", Value::string(word))]
}

fn pagerank_settings(word: &str, iterations: i64) -> [(&'static str, Value); 3] {
    [("direction", Value::string(word)), ("maxIterations", Value::Int(iterations)), ("tolerance", Value::Int(0))]
}

fn label_settings(word: &str, iterations: i64) -> [(&'static str, Value); 2] {
    [("direction", Value::string(word)), ("maxIterations", Value::Int(iterations))]
}

fn in_direction(word: &str) -> [(&'static str, Value); 1] {
    [("direction", Value::string(word))]
}

const WEIGHT: (&str, Value) = ("weightProperty", Value::Null);

fn with_weight(settings: [(&'static str, Value); 2]) -> Vec<(&'static str, Value)> {
    [&settings[..], &[(WEIGHT.0, Value::string("weight"))]].concat()
}

#[test]
fn validation_graphs_give_the_published_results() {
    let Some(folder) = unpack("graphalytics-validation", "graphalytics-validation.tar.zst") else { return };
    for (kind, word, direction) in [("dir", "OUT", Direction::Out), ("undir", "BOTH", Direction::Both)] {
        let adjacency = |task: &str| load_adjacency(&folder.join(format!("{task}/{kind}-input")), direction);
        let output = |task: &str, graph: &Named| expected(&folder.join(format!("{task}/{kind}-output")), graph);
        let graph = adjacency("bfs");
        assert_same(&found(&graph, "algo.bfs", &source(&graph, 1, word)), &output("bfs", &graph), 0.0, "bfs");
        let graph = adjacency("pr");
        assert_same(&found(&graph, "algo.pagerank", &pagerank_settings(word, 100)), &output("pr", &graph), 1e-4, "pr");
        let graph = adjacency("cdlp");
        let labels = as_names(&graph, &found(&graph, "algo.cdlp", &label_settings(word, 5)));
        assert_same(&labels, &output("cdlp", &graph), 0.0, "cdlp");
        let graph = adjacency("lcc");
        assert_same(&found(&graph, "algo.lcc", &in_direction(word)), &output("lcc", &graph), 1e-6, "lcc");
        let graph = adjacency("wcc");
        assert_same_components(&found(&graph, "algo.wcc", &[]), &output("wcc", &graph), "wcc");
        let (nodes, edges) = (folder.join(format!("sssp/{kind}-input.v")), folder.join(format!("sssp/{kind}-input.e")));
        let graph = load_lists(&nodes, &edges);
        let settings = with_weight(source(&graph, 1, word));
        assert_same(&found(&graph, "algo.sssp", &settings), &output("sssp", &graph), 1e-12, "sssp");

        let long = if kind == "dir" { "directed" } else { "undirected" };
        let file = |suffix: &str| folder.join(format!("example/example-{long}{suffix}"));
        let graph = load_lists(&file(".v"), &file(".e"));
        let start = if kind == "dir" { 1 } else { 2 };
        assert_same(
            &found(&graph, "algo.bfs", &source(&graph, start, word)),
            &expected(&file("-BFS"), &graph),
            0.0,
            long,
        );
        let ranks = found(&graph, "algo.pagerank", &pagerank_settings(word, 2));
        assert_same(&ranks, &expected(&file("-PR"), &graph), 1e-4, long);
        assert_same_components(&found(&graph, "algo.wcc", &[]), &expected(&file("-WCC"), &graph), long);
        let labels = as_names(&graph, &found(&graph, "algo.cdlp", &label_settings(word, 2)));
        assert_same(&labels, &expected(&file("-CDLP"), &graph), 0.0, long);
        let coefficients = found(&graph, "algo.lcc", &in_direction(word));
        assert_same(&coefficients, &expected(&file("-LCC"), &graph), 1e-6, long);
        let settings = with_weight(source(&graph, start, word));
        assert_same(&found(&graph, "algo.sssp", &settings), &expected(&file("-SSSP"), &graph), 1e-12, long);
    }
}

#[test]
fn gnutella_gives_the_published_results() {
    let Some(folder) = unpack("p2p-gnutella31", "p2p-31-with-expected.tar.zst") else { return };
    let file = |name: &str| folder.join("dataset").join(name);
    let graph = load_lists(&file("p2p-31.v"), &file("p2p-31.e"));
    assert_same_components(&found(&graph, "algo.wcc", &[]), &expected(&file("p2p-31-WCC"), &graph), "wcc");
    let labels = as_names(&graph, &found(&graph, "algo.cdlp", &label_settings("BOTH", 10)));
    assert_same(&labels, &expected(&file("p2p-31-CDLP"), &graph), 0.0, "cdlp");
    let coefficients = found(&graph, "algo.lcc", &in_direction("BOTH"));
    assert_same(&coefficients, &expected(&file("p2p-31-LCC"), &graph), 1e-6, "lcc");
    for (word, suffix) in [("OUT", "-directed"), ("BOTH", "")] {
        let results = |task: &str| expected(&file(&format!("p2p-31-{task}{suffix}")), &graph);
        let start = source(&graph, 6, word);
        assert_same(&found(&graph, "algo.bfs", &start), &results("BFS"), 0.0, "bfs");
        assert_same(&found(&graph, "algo.sssp", &with_weight(start)), &results("SSSP"), 1e-12, "sssp");
        // The published scores of the directed graph sum to 0.46: they are not PageRank as Graphalytics defines it.
        if word == "BOTH" {
            let ranks = found(&graph, "algo.pagerank", &pagerank_settings(word, 10));
            assert_same(&ranks, &results("PR"), 1e-6, "pr");
        }
    }
}
