//! Several paths between two nodes, and one from both ends, on all generated graphs.

use analytics::algorithms::{all_shortest_paths, bidirectional_dijkstra, dijkstra, shortest_path, yens};
use analytics::{Projection, SearchContext, Sides, Weight};
use model::store::Direction;
use model::{Column, ColumnData, GraphStore, Interrupt, NodeId, Value};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, NodeGroup};

use crate::call::{call, number};
use crate::generated::{DIRECTIONS, check_path, on_all_graphs, turned, view_of, weighted};

/// Parameters of a search between two nodes, with or without weights.
fn config(store: &ReferenceStore, ends: [NodeId; 2], is_weighted: bool) -> dijkstra::Config {
    let key = store.read().expect("a store in memory can be read").schema().property_key("weight");
    let weight = is_weighted.then(|| Weight { key, name: "weight".into(), default: None });
    dijkstra::Config { source: ends[0], target: ends[1], weight, expanded_max: u64::MAX }
}

fn has_weights(store: &ReferenceStore) -> bool {
    store.read().expect("a store in memory can be read").schema().property_key("weight").is_some()
}

#[test]
fn a_path_from_both_ends_is_as_cheap_as_from_one() {
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
            let rows = call(store, "algo.bidirectionalDijkstra", &settings, 1).unwrap();
            check_path(&rows, ids[source], ids[target], graph.hops(source)[target], direction, &name);
            if !has_weights(store) {
                continue;
            }
            let weighted = [&settings[..], &[("weightProperty", Value::string("weight"))]].concat();
            let rows = call(store, "algo.bidirectional_dijkstra.stream", &weighted, 1).unwrap();
            check_path(&rows, ids[source], ids[target], graph.distances(source)[target], direction, &name);
            let view = store.read().unwrap();
            let config = config(store, [ids[source], ids[target]], true);
            let projection = Projection::all(direction);
            let found = bidirectional_dijkstra::run(
                &*view,
                &projection,
                &config,
                SearchContext::unaccounted(&Interrupt::new()),
            )
            .unwrap();
            let rows = view_of(store, direction, true, Sides::Forward);
            bidirectional_dijkstra::verify(&rows, &config, &found, &Interrupt::new())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

#[test]
fn paths_of_fewest_edges_pass_their_verifier() {
    on_all_graphs(|name, _, store, ids, random| {
        for round in 0..9 {
            if ids.is_empty() {
                return;
            }
            let (source, target) = (random.index(ids.len()), random.index(ids.len()));
            let (word, direction) = DIRECTIONS[round % 3];
            let config = shortest_path::Config { source: ids[source], target: ids[target], depth_max: u64::MAX };
            let (view, projection) = (store.read().unwrap(), Projection::all(direction));
            let found = shortest_path::run(&*view, &projection, &config, SearchContext::unaccounted(&Interrupt::new()))
                .unwrap();
            let rows = view_of(store, direction, false, Sides::Forward);
            shortest_path::verify(&rows, &config, &found, &Interrupt::new())
                .unwrap_or_else(|error| panic!("{name}, {source} to {target}, {word}: {error}"));
        }
    });
}

#[test]
fn several_paths_are_the_cheapest_and_different() {
    on_all_graphs(|name, graph, store, ids, random| {
        for round in 0..6 {
            // The check follows every path without a circle: on large graphs there are too many.
            if ids.is_empty() || graph.edges.len() > 320 {
                return;
            }
            let (source, target) = (random.index(ids.len()), random.index(ids.len()));
            let (word, direction) = DIRECTIONS[round % 3];
            let is_small = graph.edges.len() <= 60 && (ids.len() > 20 || direction != Direction::Both);
            for (is_weighted, k) in [(true, 1), (false, 3), (true, 5), (true, if is_small { 1000 } else { 7 })] {
                if is_weighted && !has_weights(store) {
                    continue;
                }
                let config = yens::Config { ends: config(store, [ids[source], ids[target]], is_weighted), k };
                let (view, projection) = (store.read().unwrap(), Projection::all(direction));
                let found =
                    yens::run(&*view, &projection, &config, SearchContext::unaccounted(&Interrupt::new())).unwrap();
                let rows = view_of(store, direction, is_weighted, Sides::Forward);
                yens::verify(&rows, &config, &found)
                    .unwrap_or_else(|error| panic!("{name}, {source} to {target}, {word}, {k}: {error}"));
            }
        }
    });
}

#[test]
fn all_cheapest_paths_are_found() {
    on_all_graphs(|name, graph, store, ids, random| {
        for round in 0..9 {
            if ids.is_empty() {
                return;
            }
            let (source, target) = (random.index(ids.len()), random.index(ids.len()));
            let (word, direction) = DIRECTIONS[round % 3];
            for is_weighted in [false, has_weights(store)] {
                let config = config(store, [ids[source], ids[target]], is_weighted);
                let (view, projection) = (store.read().unwrap(), Projection::all(direction));
                let mut found = Vec::new();
                let mut sink = |nodes: Vec<NodeId>, cost: f64| {
                    found.push((nodes, cost));
                    Ok(true)
                };
                all_shortest_paths::run(
                    &*view,
                    &projection,
                    &config,
                    SearchContext::unaccounted(&Interrupt::new()),
                    &mut sink,
                )
                .unwrap();
                let rows = view_of(store, direction, is_weighted, Sides::Forward);
                all_shortest_paths::verify(&rows, &config, &found, &Interrupt::new())
                    .unwrap_or_else(|error| panic!("{name}, {source} to {target}, {word}: {error}"));
            }
            let settings = [("sourceNode", Value::Node(ids[source])), ("direction", Value::string(word))];
            let rows = call(store, "gds.allShortestPaths.dijkstra.stream", &settings, 1).unwrap();
            let hops = turned(graph, direction).hops(source);
            assert_eq!(rows.len(), hops.iter().filter(|hops| hops.is_finite()).count(), "{name}, {word}");
            assert!(rows.is_sorted_by_key(|row| row[1].clone()), "{name}: the nearest first");
            for (index, row) in rows.iter().enumerate() {
                let Value::Path(path) = &row[0] else { panic!("{name}: expected a path, found {:?}", row[0]) };
                let last = ids.iter().position(|id| path.nodes.last() == Some(id)).unwrap();
                check_path(&[row[..2].to_vec()], ids[source], ids[last], hops[last], direction, name);
                assert_eq!(row[2], Value::Int(index as i64), "{name}");
            }
        }
    });
}

#[test]
fn a_small_graph_has_known_paths() {
    let edges =
        [(0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0), (0, 3, 3.0), (0, 3, 2.5), (3, 0, 0.0), (3, 4, 1.0)];
    for store in [ReferenceStore::new(), ReferenceStore::foreign(3)] {
        let ids = weighted(5, &edges).load_into(&store).unwrap();
        let settings = [
            ("sourceNode", Value::Node(ids[0])),
            ("targetNode", Value::Node(ids[3])),
            ("weightProperty", Value::string("weight")),
            ("k", Value::Int(10)),
        ];
        let costs = |rows: &[Vec<Value>]| rows.iter().map(|row| number(&row[1])).collect::<Vec<f64>>();
        let rows = call(&store, "gds.shortestPath.yens.stream", &settings, 1).unwrap();
        assert_eq!(costs(&rows), [2.0, 2.0, 2.5, 3.0], "each of the parallel relationships makes a path");
        assert_eq!(rows[2][2], Value::Int(2));
        let rows = call(&store, "algo.allShortestPaths", &settings[..3], 1).unwrap();
        assert_eq!(costs(&rows), [2.0, 2.0]);
        let same = [("sourceNode", Value::Node(ids[1])), ("targetNode", Value::Node(ids[1]))];
        for procedure in ["algo.yens", "algo.allShortestPaths", "algo.bidirectionalDijkstra"] {
            let rows = call(&store, procedure, &same, 1).unwrap();
            assert_eq!(costs(&rows), [0.0], "{procedure}: a node is at itself");
            let none = [("sourceNode", Value::Node(ids[4])), ("targetNode", Value::Node(ids[0]))];
            assert!(call(&store, procedure, &none, 1).unwrap().is_empty(), "{procedure}: there is no way back");
        }
    }
}

#[test]
fn parallel_edges_make_different_paths() {
    let store = ReferenceStore::new();
    let group = |sources: Vec<u64>, targets: Vec<u64>, weights: Vec<f64>| EdgeGroup {
        edge_type: "R".to_owned(),
        sources,
        targets,
        properties: vec![("weight".to_owned(), Column::new(ColumnData::Float(weights)))],
    };
    // Two ways over node 1 with two edges and three, and one edge past it.
    let graph = GraphData {
        nodes: vec![NodeGroup { count: 3, labels: vec!["N".to_owned()], properties: Vec::new() }],
        edges: vec![group(vec![0, 0, 1, 1, 1, 0], vec![1, 1, 2, 2, 2, 2], vec![1.0, 4.0, 1.0, 2.0, 8.0, 3.5])],
    };
    let ids = graph.load_into(&store).unwrap();
    for (k, expected) in [
        (1, &[(2.0, 3)][..]),
        (4, &[(2.0, 3), (3.0, 3), (3.5, 2), (5.0, 3)]),
        (9, &[(2.0, 3), (3.0, 3), (3.5, 2), (5.0, 3), (6.0, 3), (9.0, 3), (12.0, 3)]),
    ] {
        let config = yens::Config { ends: config(&store, [ids[0], ids[2]], true), k };
        let view = store.read().unwrap();
        let found =
            yens::run(&*view, &Projection::all(Direction::Out), &config, SearchContext::unaccounted(&Interrupt::new()))
                .unwrap();
        let costs: Vec<(f64, usize)> = found.iter().map(|(path, cost)| (*cost, path.nodes.len())).collect();
        assert_eq!(costs, expected, "k {k}");
        yens::verify(&view_of(&store, Direction::Out, true, Sides::Forward), &config, &found).unwrap();
    }
}
