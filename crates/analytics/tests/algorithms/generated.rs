//! Every algorithm on generated graphs, through stores that answer in different ways, against naive references.

use std::sync::Arc;

use analytics::algorithms::{bfs, pagerank, sssp, wcc};
use analytics::{Graph, GraphView, Projection, Sides, Weight};
use model::store::Direction;
use model::{Column, ColumnData, GraphStore, Interrupt, NodeId, Value};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, Kronecker, NodeGroup, erdos_renyi, kronecker, path, star};
use testing::random::{SeededRandom, seed_or};

use crate::call::{by_number, call, number, property};
use crate::naive::NaiveGraph;

/// Named graphs whose edges all have a `weight`.
pub(crate) fn graphs(seed: u64) -> Vec<(String, GraphData)> {
    let mut list = vec![
        ("empty".to_owned(), weighted(0, &[])),
        ("one node".to_owned(), weighted(1, &[])),
        ("self-loop".to_owned(), weighted(1, &[(0, 0, 2.0)])),
        ("self-loop of no cost".to_owned(), weighted(2, &[(0, 0, 0.0), (0, 1, 0.0), (1, 0, 0.0)])),
        ("parallel edges".to_owned(), weighted(3, &[(0, 1, 3.0), (0, 1, 1.0), (0, 1, 2.0), (1, 2, 1.0), (1, 2, 1.0)])),
        ("two components".to_owned(), weighted(6, &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 3, 0.5)])),
        ("detour".to_owned(), weighted(4, &[(0, 3, 10.0), (0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)])),
        ("path".to_owned(), with_weights(path(200))),
        ("star".to_owned(), with_weights(star(300))),
        ("kronecker".to_owned(), kronecker(&Kronecker { scale: 9, seed, ..Kronecker::default() })),
    ];
    for (nodes, edges) in [(2, 3), (10, 8), (60, 60), (300, 900)] {
        list.push((format!("random {nodes} {edges}"), erdos_renyi(nodes, edges, seed)));
    }
    list
}

pub(crate) fn weighted(node_count: usize, edges: &[(u64, u64, f64)]) -> GraphData {
    let weights = edges.iter().map(|edge| edge.2).collect();
    let group = EdgeGroup {
        edge_type: "LINK".to_owned(),
        sources: edges.iter().map(|edge| edge.0).collect(),
        targets: edges.iter().map(|edge| edge.1).collect(),
        properties: vec![("weight".to_owned(), Column::new(ColumnData::Float(weights)))],
    };
    let nodes = NodeGroup { count: node_count, labels: vec!["Node".to_owned()], properties: Vec::new() };
    GraphData { nodes: vec![nodes], edges: vec![group] }
}

/// The same graph with integer weights.
pub(crate) fn with_weights(mut graph: GraphData) -> GraphData {
    for group in &mut graph.edges {
        let weights = (0..group.sources.len() as i64).map(|edge| edge % 7 + 1).collect();
        group.properties.push(("weight".to_owned(), Column::new(ColumnData::Int(weights))));
    }
    graph
}

pub(crate) fn naive(graph: &GraphData) -> NaiveGraph {
    let weights = graph.edges.iter().flat_map(|group| {
        let column = group.properties.iter().find(|(name, _)| name == "weight").map(|(_, column)| column);
        column.expect("every group has weights").values().map(|value| number(&value))
    });
    let edges = graph.edge_pairs().zip(weights).map(|((a, b), cost)| (a as usize, b as usize, cost)).collect();
    NaiveGraph { node_count: graph.node_count(), edges }
}

/// Runs a check on every graph, in every kind of store.
pub(crate) fn on_all_graphs(check: impl Fn(&str, &NaiveGraph, &ReferenceStore, &[NodeId], &mut SeededRandom)) {
    let seed = seed_or(11);
    for (name, graph) in graphs(seed) {
        let stores = [
            ("dense", ReferenceStore::new()),
            ("small batches", ReferenceStore::with_batch_rows(3)),
            ("foreign", ReferenceStore::foreign(7)),
        ];
        for (kind, store) in stores {
            let ids = graph.load_into(&store).expect("a store in memory takes a graph");
            let name = format!("{name}, {kind} store, FUZZ_SEED={seed}");
            check(&name, &naive(&graph), &store, &ids, &mut SeededRandom::new(seed));
        }
    }
}

pub(crate) fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, name: &str) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (node, (found, expected)) in found.iter().zip(expected).enumerate() {
        let is_close = found == expected || (found - expected).abs() <= tolerance * expected.abs();
        assert!(is_close, "{name}: node {node} has {found}, expected {expected}");
    }
}

pub(crate) fn numbers(values: &[Value]) -> Vec<f64> {
    values.iter().map(number).collect()
}

pub(crate) const DIRECTIONS: [(&str, Direction); 3] =
    [("OUT", Direction::Out), ("IN", Direction::In), ("BOTH", Direction::Both)];

pub(crate) fn turned(graph: &NaiveGraph, direction: Direction) -> NaiveGraph {
    match direction {
        Direction::Out => graph.clone(),
        Direction::In => graph.reversed(),
        Direction::Both => graph.undirected(),
    }
}

pub(crate) fn view_of(store: &ReferenceStore, direction: Direction, is_weighted: bool, sides: Sides) -> GraphView {
    let view = store.read().expect("a store in memory can be read");
    let key = view.schema().property_key("weight");
    let weight = is_weighted.then(|| Weight { key, name: "weight".into(), default: None });
    GraphView::build(&*view, &Projection::all(direction), weight.as_ref(), sides, 2, &Interrupt::new())
        .expect("all weights of these graphs are usable")
}

#[test]
fn pagerank_gives_the_scores_of_graphalytics() {
    on_all_graphs(|name, graph, store, ids, _| {
        for (word, direction) in DIRECTIONS {
            let expected = turned(graph, direction).pagerank(0.85, 20);
            for (threads, tolerance, way) in
                [(1, 0.0, "memory"), (2, 0.0, "streaming"), (2, 1e-300, "memory"), (1, 1e-300, "streaming")]
            {
                let settings = [
                    ("direction", Value::string(word)),
                    ("tolerance", Value::Float(tolerance)),
                    ("execution", Value::string(way)),
                ];
                let rows = call(store, "algo.pagerank", &settings, threads).unwrap();
                let rounding = if tolerance > 0.0 { 1e-12 } else { 1e-6 };
                assert_close(&numbers(&by_number(&rows, ids)), &expected, rounding, &format!("{name}, {word}, {way}"));
            }
            let view = view_of(store, direction, false, Sides::ForwardAndBackward);
            for max_iterations in [1, 20, 200] {
                let config = pagerank::Config { max_iterations, ..pagerank::Config::default() };
                let result = pagerank::run(
                    &Graph::in_memory(Arc::new(view.clone())),
                    &config,
                    pagerank::Means::threads(2),
                    &Interrupt::new(),
                )
                .unwrap();
                pagerank::verify(&view, &config, &result).unwrap_or_else(|error| panic!("{name}, {word}: {error}"));
            }
        }
    });
}

#[test]
fn wcc_names_components_by_their_smallest_node() {
    on_all_graphs(|name, graph, store, ids, _| {
        let components = graph.components();
        let smallest = |at: usize| {
            let members = (0..components.len()).filter(|&node| components[node] == components[at]);
            members.map(|node| ids[node].0.cast_signed()).min_by_key(|id| id.cast_unsigned()).map(Value::Int)
        };
        let expected: Vec<Value> = (0..ids.len()).filter_map(smallest).collect();
        for threads in [1, 2] {
            let rows = call(store, "gds.wcc.stream", &[], threads).unwrap();
            assert_eq!(by_number(&rows, ids), expected, "{name}");
        }
        let both = view_of(store, Direction::Out, false, Sides::ForwardAndBackward);
        for view in [&both, &view_of(store, Direction::Both, false, Sides::Forward)] {
            let components = wcc::run(view, 2, &Interrupt::new()).unwrap();
            wcc::verify(&both, &components).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

#[test]
fn bfs_counts_the_edges_of_shortest_paths() {
    on_all_graphs(|name, graph, store, ids, random| {
        if ids.is_empty() {
            return;
        }
        let source = random.index(ids.len());
        for (word, direction) in DIRECTIONS {
            let expected = turned(graph, direction).hops(source);
            let settings = [("sourceNode", Value::Node(ids[source])), ("direction", Value::string(word))];
            let rows = call(store, "algo.bfs", &settings, 2).unwrap();
            assert!(rows.is_sorted_by_key(|row| row[1].clone()), "{name}: rows come in order of distance");
            assert_eq!(numbers(&by_number(&rows, ids)), expected, "{name}, {word}");
            let limited = [&settings[..], &[("maxDepth", Value::Int(2))]].concat();
            let near: Vec<f64> = expected.iter().map(|&hops| if hops > 2.0 { f64::INFINITY } else { hops }).collect();
            assert_eq!(
                numbers(&by_number(&call(store, "algo.bfs", &limited, 1).unwrap(), ids)),
                near,
                "{name}, {word}"
            );
            for sides in [Sides::Forward, Sides::ForwardAndBackward] {
                let view = view_of(store, direction, false, sides);
                let number = view.index(ids[source]).unwrap();
                let distances = bfs::run(&view, number, None, 2, &Interrupt::new()).unwrap();
                bfs::verify(&view, number, &distances).unwrap_or_else(|error| panic!("{name}, {word}: {error}"));
            }
        }
    });
}

#[test]
fn distances_are_the_costs_of_cheapest_paths() {
    on_all_graphs(|name, graph, store, ids, random| {
        if ids.is_empty() || store.read().unwrap().schema().property_key("weight").is_none() {
            return;
        }
        let source = random.index(ids.len());
        for (word, direction) in DIRECTIONS {
            let expected = turned(graph, direction).distances(source);
            let settings = [
                ("source", Value::Int(ids[source].0.cast_signed())),
                ("direction", Value::string(word)),
                ("weightProperty", Value::string("weight")),
            ];
            if ids[source].0 <= i64::MAX as u64 {
                for threads in [1, 2] {
                    let rows = call(store, "algo.dijkstra.distances", &settings, threads).unwrap();
                    assert_close(&numbers(&by_number(&rows, ids)), &expected, 1e-12, &format!("{name}, {word}"));
                }
            }
            let view = view_of(store, direction, true, Sides::Forward);
            let number = view.index(ids[source]).unwrap();
            let distances = sssp::run(&view, number, 2, &Interrupt::new()).unwrap();
            sssp::verify(&view, number, &distances).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

/// Checks a row of path, cost or distance against what is expected; null in `expected` for no path.
pub(crate) fn check_path(
    rows: &[Vec<Value>],
    from: NodeId,
    to: NodeId,
    expected: f64,
    direction: Direction,
    name: &str,
) {
    if expected.is_infinite() {
        assert!(rows.is_empty(), "{name}: there is no path, found {rows:?}");
        return;
    }
    let [row] = rows else { panic!("{name}: expected one row, found {rows:?}") };
    let Value::Path(path) = &row[0] else { panic!("{name}: expected a path, found {:?}", row[0]) };
    assert_close(&[number(&row[1])], &[expected], 1e-12, name);
    assert_eq!((path.nodes.first(), path.nodes.last()), (Some(&from), Some(&to)), "{name}");
    for (step, edge) in path.nodes.windows(2).zip(&path.edges) {
        let forward = (edge.source, edge.target) == (step[0], step[1]);
        let backward = (edge.source, edge.target) == (step[1], step[0]);
        let fits = match direction {
            Direction::Out => forward,
            Direction::In => backward,
            Direction::Both => forward || backward,
        };
        assert!(fits, "{name}: {edge:?} does not join {step:?}");
    }
    assert_eq!(path.nodes.len(), path.edges.len() + 1, "{name}");
}

#[test]
fn paths_between_two_nodes_are_the_best() {
    on_all_graphs(|name, graph, store, ids, random| {
        for round in 0..12 {
            if ids.is_empty() {
                return;
            }
            let (source, target) = (random.index(ids.len()), random.index(ids.len()));
            let (word, direction) = DIRECTIONS[round % 3];
            let name = format!("{name}, {source} to {target}, {word}");
            let graph = turned(graph, direction);
            let settings = [
                ("sourceNode", Value::Node(ids[source])),
                ("targetNode", Value::Node(ids[target])),
                ("direction", Value::string(word)),
            ];
            let hops = graph.hops(source)[target];
            let rows = call(store, "algo.shortest_path", &settings, 1).unwrap();
            check_path(&rows, ids[source], ids[target], hops, direction, &name);
            let rows = call(store, "algo.dijkstra", &settings, 1).unwrap();
            check_path(&rows, ids[source], ids[target], hops, direction, &name);
            if hops.is_finite() && hops > 0.0 {
                let too_short = [&settings[..], &[("maxDepth", Value::Int(hops as i64 - 1))]].concat();
                assert!(call(store, "algo.shortestPath", &too_short, 1).unwrap().is_empty(), "{name}");
                let just = [&settings[..], &[("maxDepth", Value::Int(hops as i64))]].concat();
                assert_eq!(call(store, "algo.shortestPath", &just, 1).unwrap().len(), 1, "{name}");
            }
            if store.read().unwrap().schema().property_key("weight").is_some() {
                let weighted = [&settings[..], &[("weightProperty", Value::string("weight"))]].concat();
                let rows = call(store, "gds.shortestPath.dijkstra.stream", &weighted, 1).unwrap();
                check_path(&rows, ids[source], ids[target], graph.distances(source)[target], direction, &name);
            }
        }
    });
}

#[test]
fn write_modes_write_what_stream_modes_give() {
    for store in [ReferenceStore::new(), ReferenceStore::foreign(5)] {
        let graph = kronecker(&Kronecker { scale: 8, seed: 3, ..Kronecker::default() });
        let ids = graph.load_into(&store).unwrap();
        let source = [("sourceNode", Value::Node(ids[7])), ("weightProperty", Value::string("weight"))];
        for (write, stream, count) in [
            ("algo.pagerank.write", "algo.pagerank", 0),
            ("algo.wcc.write", "algo.wcc", 0),
            ("algo.bfs.write", "algo.bfs", 1),
            ("algo.sssp.write", "algo.sssp", 2),
        ] {
            let settings = &source[..count];
            let expected = by_number(&call(&store, stream, settings, 2).unwrap(), &ids);
            let with_property = [settings, &[("writeProperty", Value::string(write))]].concat();
            let rows = call(&store, write, &with_property, 2).unwrap();
            let written = expected.iter().filter(|value| !value.is_null()).count() as i64;
            assert_eq!(rows[0][0], Value::Int(written), "{write}");
            assert_eq!(property(&store, &ids, write), expected, "{write}");
        }
    }
}

#[test]
fn labels_and_types_choose_what_takes_part() {
    let graph = GraphData {
        nodes: [("A", 2), ("B", 2), ("C", 1)]
            .map(|(label, count)| NodeGroup { count, labels: vec![label.to_owned()], properties: Vec::new() })
            .to_vec(),
        edges: [("X", vec![0, 1, 2], vec![4, 2, 3]), ("Y", vec![4, 0], vec![3, 1])]
            .map(|(edge_type, sources, targets)| EdgeGroup {
                edge_type: edge_type.to_owned(),
                sources,
                targets,
                properties: Vec::new(),
            })
            .to_vec(),
    };
    let list = |names: &[&str]| Value::list(names.iter().map(|name| Value::string(name)).collect());
    for store in [ReferenceStore::new(), ReferenceStore::foreign(2)] {
        let ids = graph.load_into(&store).unwrap();
        let check = |labels: Value, types: Value, expected: [Option<i64>; 5]| {
            let settings = [("sourceNode", Value::Node(ids[0])), ("labels", labels), ("relationshipTypes", types)];
            let expected: Vec<Value> = expected.iter().map(|hops| hops.map_or(Value::Null, Value::Int)).collect();
            assert_eq!(by_number(&call(&store, "algo.bfs", &settings, 1).unwrap(), &ids), expected);
            for (at, hops) in expected.iter().enumerate() {
                let both = [&settings[..], &[("targetNode", Value::Node(ids[at]))]].concat();
                for name in ["algo.shortest_path", "algo.dijkstra"] {
                    match call(&store, name, &both, 1) {
                        Ok(rows) => assert_eq!(rows.first().map_or(f64::INFINITY, |row| number(&row[1])), number(hops)),
                        Err(error) => assert!(error.message().contains("carries none of the labels"), "{error}"),
                    }
                }
            }
        };
        check(Value::Null, Value::Null, [Some(0), Some(1), Some(2), Some(2), Some(1)]);
        check(list(&["A", "B"]), Value::string("*"), [Some(0), Some(1), Some(2), Some(3), None]);
        check(Value::string("A"), Value::Null, [Some(0), Some(1), None, None, None]);
        check(list(&["A", "C"]), Value::string("X"), [Some(0), None, None, None, Some(1)]);
        check(Value::Null, list(&["Y"]), [Some(0), Some(1), None, None, None]);
    }
}
