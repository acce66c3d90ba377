//! Triangles, clustering, labels and cores, in every way of running, against naive references.

use std::sync::Arc;

use analytics::algorithms::{cdlp, kcore, lcc, triangles};
use analytics::{Graph, Sides};
use model::store::Direction;
use model::{Interrupt, NodeId, Value};
use testing::ReferenceStore;
use testing::graphs::{Kronecker, erdos_renyi, kronecker};

use crate::call::{by_number, call};
use crate::generated::{DIRECTIONS, assert_close, numbers, on_all_graphs, turned, view_of};

/// Runs an algorithm in every way, with one thread and two.
fn in_every_way(
    store: &ReferenceStore,
    ids: &[NodeId],
    procedure: &str,
    settings: &[(&str, Value)],
    check: impl Fn(Vec<Value>, &str),
) {
    for (way, threads) in [("memory", 1), ("memory", 2), ("streaming", 1), ("streaming", 2)] {
        let settings = [settings, &[("execution", Value::string(way))]].concat();
        let rows =
            call(store, procedure, &settings, threads).unwrap_or_else(|error| panic!("{procedure}, {way}: {error}"));
        check(by_number(&rows, ids), way);
    }
}

fn integers(values: &[usize]) -> Vec<Value> {
    values.iter().map(|&value| Value::Int(value as i64)).collect()
}

#[test]
fn triangles_are_pairs_of_neighbors_that_are_neighbors() {
    on_all_graphs(|name, graph, store, ids, _| {
        let expected = graph.triangles();
        in_every_way(store, ids, "gds.triangleCount.stream", &[], |found, way| {
            assert_eq!(found, integers(&expected), "{name}, {way}");
        });
        let total: usize = expected.iter().sum::<usize>() / 3;
        let stats = call(store, "algo.triangleCount.stats", &[], 2).unwrap();
        assert_eq!(stats[0][..2], [Value::Int(total as i64), Value::Int(ids.len() as i64)], "{name}");
        for direction in [Direction::Out, Direction::Both] {
            let view = view_of(store, direction, false, Sides::ForwardAndBackward);
            let triads = triangles::run(&view, 2, &Interrupt::new()).unwrap();
            triangles::verify(&view, &triads).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

#[test]
fn clustering_is_that_of_graphalytics() {
    on_all_graphs(|name, graph, store, ids, _| {
        for (word, direction) in DIRECTIONS {
            let expected = turned(graph, direction).clustering();
            let settings = [("direction", Value::string(word))];
            in_every_way(store, ids, "algo.lcc", &settings, |found, way| {
                assert_close(&numbers(&found), &expected, 1e-12, &format!("{name}, {word}, {way}"));
            });
            let view = view_of(store, direction, false, Sides::ForwardAndBackward);
            let found = lcc::run(&view, 2, &Interrupt::new()).unwrap();
            lcc::verify(&view, &found, 2, &Interrupt::new()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

#[test]
fn labels_are_those_of_graphalytics() {
    on_all_graphs(|name, graph, store, ids, _| {
        // Labels are ids: numbers of nodes in order of their ids, for stores that name nodes in another order.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&node| ids[node].0);
        let mut places = vec![0; ids.len()];
        order.iter().enumerate().for_each(|(place, &node)| places[node] = place);
        for (word, direction) in DIRECTIONS {
            let mut turned = turned(graph, direction);
            turned.edges.iter_mut().for_each(|edge| (edge.0, edge.1) = (places[edge.0], places[edge.1]));
            for iterations in [1, 2, 3, 10] {
                let labels = turned.labels(iterations, direction != Direction::Both);
                let label = |node: usize| Value::Int(ids[order[labels[places[node]]]].0.cast_signed());
                let expected: Vec<Value> = (0..ids.len()).map(label).collect();
                let settings = [("direction", Value::string(word)), ("maxIterations", Value::Int(iterations as i64))];
                in_every_way(store, ids, "gds.labelPropagation.stream", &settings, |found, way| {
                    assert_eq!(found, expected, "{name}, {word}, {way}, {iterations} iterations");
                });
            }
            let view = Arc::new(view_of(store, direction, false, Sides::ForwardAndBackward));
            let graph = Graph::in_memory(view.clone());
            let config = cdlp::Config { max_iterations: 40 };
            let found = cdlp::run(&graph, &config, 2, &Interrupt::new()).unwrap();
            cdlp::verify(&view, &found).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

#[test]
fn cores_are_what_is_left_when_others_are_taken_away() {
    on_all_graphs(|name, graph, store, ids, _| {
        let expected = graph.cores();
        in_every_way(store, ids, "gds.kcore.stream", &[], |found, way| {
            assert_eq!(found, integers(&expected), "{name}, {way}");
        });
        let stats = call(store, "algo.kcore.stats", &[], 2).unwrap();
        assert_eq!(stats[0][0], Value::Int(expected.iter().copied().max().unwrap_or(0) as i64), "{name}");
        for direction in [Direction::Out, Direction::Both] {
            let view = Arc::new(view_of(store, direction, false, Sides::ForwardAndBackward));
            let cores = kcore::run(&Graph::in_memory(view.clone()), 2, &Interrupt::new()).unwrap();
            kcore::verify(&view, &cores).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

/// Graphs large enough for matrices of hubs, tables of labels and several threads at the levels of cores.
#[test]
fn larger_graphs_pass_the_verifiers_and_agree_both_ways() {
    let large = [
        ("dense", erdos_renyi(200, 12_000, 5)),
        ("sparse", erdos_renyi(4_000, 12_000, 5)),
        ("kronecker", kronecker(&Kronecker { scale: 11, seed: 9, ..Kronecker::default() })),
    ];
    for (name, data) in large {
        let store = ReferenceStore::new();
        let ids = data.load_into(&store).unwrap();
        let interrupt = Interrupt::new();
        for direction in [Direction::Out, Direction::Both] {
            let view = Arc::new(view_of(&store, direction, false, Sides::ForwardAndBackward));
            let graph = Graph::in_memory(view.clone());
            let triads = triangles::run(&view, 2, &interrupt).unwrap();
            triangles::verify(&view, &triads).unwrap_or_else(|error| panic!("{name}: {error}"));
            let cores = kcore::run(&graph, 3, &interrupt).unwrap();
            kcore::verify(&view, &cores).unwrap_or_else(|error| panic!("{name}: {error}"));
            let labels = cdlp::run(&graph, &cdlp::Config { max_iterations: 60 }, 2, &interrupt).unwrap();
            cdlp::verify(&view, &labels).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        for procedure in ["algo.lcc", "algo.kcore", "algo.cdlp"] {
            let of = |way: &str| {
                let rows = call(&store, procedure, &[("execution", Value::string(way))], 2).unwrap();
                by_number(&rows, &ids)
            };
            assert!(of("memory") == of("streaming"), "{name}, {procedure}");
        }
    }
}
