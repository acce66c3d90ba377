//! Closeness, harmonic centrality and betweenness, against naive references.

use std::sync::Arc;

use analytics::algorithms::{betweenness, closeness, harmonic};
use analytics::{Graph, Sides};
use model::store::Direction;
use model::{GraphStore, Interrupt, NodeId, Value};
use testing::ReferenceStore;
use testing::graphs::{Kronecker, erdos_renyi, kronecker};

use crate::call::{by_number, call};
use crate::generated::{DIRECTIONS, assert_close, numbers, on_all_graphs, turned, view_of, weighted};
use crate::naive::NaiveGraph;

/// Graphs of more nodes are too large for the references that look at all triples of nodes.
const NODES_MAX: usize = 220;

/// Runs a check for every graph, store and direction, with weights and without: on its name, the graph as it is to be
/// followed, the store, its nodes and settings.
fn in_all_ways(check: impl Fn(&str, &NaiveGraph, &ReferenceStore, &[NodeId], &[(&str, Value)])) {
    on_all_graphs(|name, graph, store, ids, _| {
        if ids.len() > NODES_MAX {
            return;
        }
        let has_weights =
            store.read().expect("a store in memory can be read").schema().property_key("weight").is_some();
        for (word, direction) in DIRECTIONS {
            for is_weighted in [false, true].into_iter().filter(|is_weighted| has_weights || !is_weighted) {
                let graph = turned(graph, direction);
                let graph = if is_weighted { graph } else { graph.unweighted() };
                let mut settings = vec![("direction", Value::string(word))];
                settings.extend(is_weighted.then(|| ("weightProperty", Value::string("weight"))));
                check(&format!("{name}, {word}, weighted: {is_weighted}"), &graph, store, ids, &settings);
            }
        }
    });
}

fn scores(store: &ReferenceStore, name: &str, settings: &[(&str, Value)], threads: usize, ids: &[NodeId]) -> Vec<f64> {
    numbers(&by_number(&call(store, name, settings, threads).expect(name), ids))
}

#[test]
fn closeness_adds_up_distances() {
    in_all_ways(|name, graph, store, ids, settings| {
        let [plain, improved, harmonic] = graph.closeness();
        for threads in [1, 2] {
            assert_close(&scores(store, "gds.closeness.stream", settings, threads, ids), &plain, 1e-9, name);
            let faust = [settings, &[("useWassermanFaust", Value::Bool(true))]].concat();
            assert_close(&scores(store, "algo.closeness", &faust, threads, ids), &improved, 1e-9, name);
            assert_close(
                &scores(store, "gds.closeness.harmonic.stream", settings, threads, ids),
                &harmonic,
                1e-9,
                name,
            );
        }
    });
}

#[test]
fn betweenness_shares_shortest_paths() {
    in_all_ways(|name, graph, store, ids, settings| {
        let is_weighted = settings.len() == 2;
        if is_weighted && graph.edges.iter().any(|edge| edge.2 == 0.0) {
            let error = call(store, "algo.betweenness", settings, 1).expect_err("weights of 0 are refused");
            assert!(error.message().contains("has weight 0, betweenness needs weights greater than 0"), "{error}");
            return;
        }
        let dependencies = graph.dependencies();
        let ends = if name.contains("BOTH") { 2.0 } else { 1.0 };
        let expected: Vec<f64> =
            (0..ids.len()).map(|node| dependencies.iter().map(|row| row[node]).sum::<f64>() / ends).collect();
        for threads in [1, 2] {
            let found = scores(store, "gds.betweenness.stream", settings, threads, ids);
            assert_eq!(found.len(), expected.len(), "{name}");
            for (node, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!((found - expected).abs() < 1e-9 * (1.0 + expected), "{name}: {node}: {found} for {expected}");
            }
        }
        let all = [settings, &[("samplingSize", Value::Int(1_000_000))]].concat();
        let whole = scores(store, "algo.betweenness", &all, 2, ids);
        assert_eq!(whole, scores(store, "algo.betweenness", settings, 1, ids), "{name}: a sample of all is exact");
        if let Some(&first) = ids.first() {
            let from_one = [settings, &[("sourceNodes", Value::Node(first))]].concat();
            let found = scores(store, "algo.betweenness", &from_one, 2, ids);
            for (node, found) in found.iter().enumerate() {
                let expected = dependencies[0][node] * ids.len() as f64 / ends;
                assert!((found - expected).abs() < 1e-9 * (1.0 + expected), "{name}: {node}: {found} for {expected}");
            }
        }
    });
}

#[test]
fn results_verify() {
    on_all_graphs(|name, _, store, ids, _| {
        for (direction, is_weighted) in [(Direction::Out, false), (Direction::Both, false), (Direction::In, true)] {
            if ids.is_empty()
                || is_weighted
                    && store.read().expect("a store in memory can be read").schema().property_key("weight").is_none()
            {
                continue;
            }
            let view = view_of(store, direction, is_weighted, Sides::ForwardAndBackward);
            let check = |done: model::Result<()>| done.unwrap_or_else(|error| panic!("{name}: {error}"));
            for formula in [closeness::Formula::Plain, closeness::Formula::WassermanFaust] {
                check(closeness::verify(
                    &view,
                    formula,
                    &closeness::run(&view, formula, 2, &Interrupt::new()).unwrap(),
                ));
            }
            check(harmonic::verify(&view, &harmonic::run(&view, 2, &Interrupt::new()).unwrap()));
            if !is_weighted {
                let config = betweenness::Config::default();
                check(betweenness::verify(&view, &betweenness::run(&view, &config, 2, &Interrupt::new()).unwrap()));
            }
        }
    });
}

/// More nodes than one search has sources, of few levels and of many, with in-edges at hand and without.
#[test]
fn searches_from_many_nodes_agree_with_searches_from_one() {
    let chain: Vec<(u64, u64, f64)> = (0..899).map(|node| (node, node + 1, 1.0)).collect();
    for graph in [
        kronecker(&Kronecker { scale: 10, seed: 2, ..Kronecker::default() }),
        erdos_renyi(1_500, 4_000, 3),
        weighted(900, &chain),
    ] {
        let store = ReferenceStore::new();
        graph.load_into(&store).unwrap();
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let both = view_of(&store, direction, false, Sides::ForwardAndBackward);
            let forward = view_of(&store, direction, false, Sides::Forward);
            let scores = closeness::run(&both, closeness::Formula::Plain, 1, &Interrupt::new()).unwrap();
            closeness::verify(&both, closeness::Formula::Plain, &scores).unwrap();
            let again = closeness::run(&forward, closeness::Formula::Plain, 2, &Interrupt::new()).unwrap();
            assert!(scores == again, "in-edges and threads change nothing");
            let graph = Graph::in_memory(Arc::new(forward));
            let view = graph.view().unwrap();
            let config = betweenness::Config { sampling_size: Some(40), seed: 9, sources: None };
            let run = |threads| betweenness::run(view, &config, threads, &Interrupt::new()).unwrap();
            assert!(run(1) == run(3), "threads change nothing");
        }
    }
}

#[test]
fn samples_estimate_the_exact_scores() {
    let store = ReferenceStore::new();
    let graph = kronecker(&Kronecker { scale: 8, seed: 4, ..Kronecker::default() });
    let ids = graph.load_into(&store).unwrap();
    let exact = scores(&store, "algo.betweenness", &[], 2, &ids);
    let mut mean = vec![0.0; ids.len()];
    const SAMPLES: i64 = 200;
    for seed in 0..SAMPLES {
        let settings = [("samplingSize", Value::Int(32)), ("samplingSeed", Value::Int(seed))];
        let sample = scores(&store, "gds.betweenness.stream", &settings, 1, &ids);
        mean.iter_mut().zip(sample).for_each(|(mean, score)| *mean += score / SAMPLES as f64);
    }
    let (total, off): (f64, f64) = exact
        .iter()
        .zip(&mean)
        .fold((0.0, 0.0), |(total, off), (exact, mean)| (total + exact, off + (exact - mean).abs()));
    assert!(off < 0.1 * total, "estimates are off by {off} of {total}");
}

#[test]
fn paths_that_are_too_many_are_refused() {
    let diamonds = 1_100;
    let edges: Vec<(u64, u64, f64)> = (0..diamonds)
        .flat_map(|at| {
            let from = 3 * at;
            [(from, from + 1, 1.0), (from, from + 2, 1.0), (from + 1, from + 3, 1.0), (from + 2, from + 3, 1.0)]
        })
        .collect();
    let store = ReferenceStore::new();
    weighted(3 * diamonds as usize + 1, &edges).load_into(&store).unwrap();
    for weights in [vec![], vec![("weightProperty", Value::string("weight"))]] {
        let error = call(&store, "algo.betweenness", &weights, 1).expect_err("2^1100 paths cannot be counted");
        let expected = "more shortest paths begin at node #0 than betweenness can count, which is about 1e308";
        assert_eq!(error.message(), expected);
    }
}

/// Scores that networkx 3.6 gives: a triangle with a tail.
#[test]
fn a_small_graph_has_known_scores() {
    let store = ReferenceStore::new();
    let graph = weighted(5, &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (2, 3, 1.0), (3, 4, 1.0)]);
    let ids = graph.load_into(&store).unwrap();
    let check = |name: &str, settings: &[(&str, Value)], expected: [f64; 5]| {
        assert_close(&scores(&store, name, settings, 1, &ids), &expected, 1e-12, name);
    };
    let both = ("direction", Value::string("BOTH"));
    let third = 2.0 / 3.0;
    check("algo.closeness", &[], [third, third, third, 0.5, 0.4]);
    check(
        "algo.closeness",
        &[("useWassermanFaust", Value::Bool(true))],
        [third / 2.0, third / 2.0, third / 2.0, 0.375, 0.4],
    );
    check("algo.closeness", std::slice::from_ref(&both), [4.0 / 7.0, 4.0 / 7.0, 0.8, third, 4.0 / 9.0]);
    check("algo.harmonic", &[], [1.5, 1.5, 1.5, 11.0 / 6.0, 25.0 / 12.0].map(|sum| sum / 4.0));
    check("algo.betweenness", &[], [1.0, 3.0, 5.0, 3.0, 0.0]);
    check("algo.betweenness", &[both], [0.0, 0.0, 4.0, 3.0, 0.0]);
}
