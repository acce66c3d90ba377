//! Centralities by iteration, and degrees, against naive references.

use std::sync::Arc;

use analytics::algorithms::pagerank::{self, general};
use analytics::algorithms::{article_rank, degree, eigenvector, hits};
use analytics::{Graph, Sides};
use model::store::Direction;
use model::{GraphStore, Interrupt, NodeId, Value};
use testing::ReferenceStore;
use testing::graphs::{Kronecker, kronecker};

use crate::call::{by_number, call, number};
use crate::generated::{DIRECTIONS, assert_close, numbers, on_all_graphs, turned, view_of};
use crate::naive::NaiveGraph;

/// Ways to call: with how many threads, in which way, and whether with weights.
const WAYS: [(usize, &str, bool); 4] =
    [(1, "memory", false), (2, "streaming", false), (2, "memory", true), (1, "streaming", true)];

/// Runs a check for every graph, store, direction and way: on its name, the graph as it is to be followed (weights 1 if
/// they do not count), the store, its nodes, settings and threads.
fn in_all_ways(check: impl Fn(&str, &NaiveGraph, &ReferenceStore, &[NodeId], &[(&str, Value)], usize)) {
    on_all_graphs(|name, graph, store, ids, _| {
        let has_weights =
            store.read().expect("a store in memory can be read").schema().property_key("weight").is_some();
        for (word, direction) in DIRECTIONS {
            for (threads, way, is_weighted) in WAYS {
                if is_weighted && !has_weights {
                    continue;
                }
                let mut settings = vec![("direction", Value::string(word)), ("execution", Value::string(way))];
                if is_weighted {
                    settings.push(("relationshipWeightProperty", Value::string("weight")));
                }
                let graph = turned(graph, direction);
                let graph = if is_weighted { graph } else { graph.unweighted() };
                let name = format!("{name}, {word}, {way}, weighted: {is_weighted}");
                check(&name, &graph, store, ids, &settings, threads);
            }
        }
    });
}

fn with<'a>(settings: &[(&'a str, Value)], more: &[(&'a str, Value)]) -> Vec<(&'a str, Value)> {
    [settings, more].concat()
}

fn assert_near(found: &[f64], expected: &[f64], name: &str) {
    assert_eq!(found.len(), expected.len(), "{name}");
    let far = (0..found.len()).find(|&node| (found[node] - expected[node]).abs() > 1e-11 * (1.0 + expected[node]));
    if let Some(node) = far {
        panic!("{name}: node {node} has {}, expected {}", found[node], expected[node]);
    }
}

fn scores(store: &ReferenceStore, name: &str, settings: &[(&str, Value)], threads: usize, ids: &[NodeId]) -> Vec<f64> {
    numbers(&by_number(&call(store, name, settings, threads).expect(name), ids))
}

/// Every third node, as a list of nodes.
fn some_of(ids: &[NodeId]) -> (Vec<usize>, Value) {
    let chosen: Vec<usize> = (0..ids.len()).step_by(3).collect();
    let list = chosen.iter().map(|&node| Value::Node(ids[node])).collect();
    (chosen, Value::list(list))
}

#[test]
fn degrees_are_counted_and_weighed() {
    in_all_ways(|name, graph, store, ids, settings, threads| {
        assert_close(&scores(store, "gds.degree.stream", settings, threads, ids), &graph.strengths(), 1e-12, name);
    });
    on_all_graphs(|name, _, store, ids, _| {
        for is_weighted in [
            false,
            !ids.is_empty()
                && store.read().expect("a store in memory can be read").schema().property_key("weight").is_some(),
        ] {
            let view = view_of(store, Direction::Out, is_weighted, Sides::ForwardAndBackward);
            let scores = degree::run(&Graph::in_memory(Arc::new(view.clone())), 2, &Interrupt::new()).unwrap();
            degree::verify(&view, &scores).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

#[test]
fn walks_rank_with_weights_and_chosen_nodes() {
    in_all_ways(|name, graph, store, ids, settings, threads| {
        let settings = with(settings, &[("tolerance", Value::Float(0.0))]);
        let (chosen, list) = some_of(ids);
        let personal = with(&settings, &[("sourceNodes", list)]);
        if settings.len() == 4 {
            let expected = graph.personalized_pagerank(0.85, 20, &[]);
            assert_near(&scores(store, "algo.pagerank", &settings, threads, ids), &expected, name);
        }
        let expected = graph.article_rank(0.85, 20, &[]);
        assert_near(&scores(store, "gds.articleRank.stream", &settings, threads, ids), &expected, name);
        if !ids.is_empty() {
            let expected = graph.personalized_pagerank(0.85, 20, &chosen);
            assert_near(&scores(store, "gds.pageRank.stream", &personal, threads, ids), &expected, name);
            let expected = graph.article_rank(0.85, 20, &chosen);
            assert_near(&scores(store, "algo.articleRank", &personal, threads, ids), &expected, name);
        }
    });
}

#[test]
fn ranks_of_walks_verify() {
    on_all_graphs(|name, _, store, ids, _| {
        for (direction, is_weighted) in [(Direction::Out, false), (Direction::Both, false), (Direction::In, true)] {
            if ids.is_empty()
                || is_weighted
                    && store.read().expect("a store in memory can be read").schema().property_key("weight").is_none()
            {
                continue;
            }
            let view = view_of(store, direction, is_weighted, Sides::ForwardAndBackward);
            let graph = Graph::in_memory(Arc::new(view.clone()));
            for formula in [general::Formula::PageRank, general::Formula::ArticleRank] {
                let last = ids.len() as u32 - 1;
                for sources in [&[][..], &[(0, 1.0)], &[(0, 1.0), (last, 3.0)][..ids.len().min(2)]] {
                    let config = pagerank::Config::default();
                    let result = general::run(&graph, formula, &config, sources, 2, &Interrupt::new()).unwrap();
                    let verified = match formula {
                        general::Formula::PageRank => general::verify(&view, formula, &config, sources, &result),
                        general::Formula::ArticleRank => article_rank::verify(&view, &config, sources, &result),
                    };
                    verified.unwrap_or_else(|error| panic!("{name}, {formula:?}: {error}"));
                }
            }
            let config = eigenvector::Config::default();
            let result = eigenvector::run(&graph, &config, 2, &Interrupt::new()).unwrap();
            eigenvector::verify(&view, &config, &result).unwrap_or_else(|error| panic!("{name}: {error}"));
            let result = hits::run(&graph, &hits::Config::default(), 2, &Interrupt::new()).unwrap();
            hits::verify(&view, &result).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

#[test]
fn eigenvectors_follow_the_iteration() {
    in_all_ways(|name, graph, store, ids, settings, threads| {
        let settings = with(settings, &[("tolerance", Value::Float(0.0)), ("maxIterations", Value::Int(25))]);
        let expected = graph.eigenvector(25, &[]);
        assert_near(&scores(store, "gds.eigenvector.stream", &settings, threads, ids), &expected, name);
        if !ids.is_empty() {
            let (chosen, list) = some_of(ids);
            let settings = with(&settings, &[("sourceNodes", list)]);
            let expected = graph.eigenvector(25, &chosen);
            assert_near(&scores(store, "algo.eigenvector", &settings, threads, ids), &expected, name);
        }
    });
}

#[test]
fn hubs_and_authorities_follow_the_iteration() {
    in_all_ways(|name, graph, store, ids, settings, threads| {
        let settings = with(settings, &[("tolerance", Value::Float(0.0)), ("hitsIterations", Value::Int(15))]);
        let rows = call(store, "gds.hits.stream", &settings, threads).unwrap();
        let (authorities, hubs) = graph.hits(15);
        assert_near(&numbers(&by_number(&rows, ids)), &authorities, name);
        let rows: Vec<Vec<Value>> = rows.into_iter().map(|row| vec![row[0].clone(), row[2].clone()]).collect();
        assert_near(&numbers(&by_number(&rows, ids)), &hubs, name);
    });
}

#[test]
fn threads_do_not_change_a_bit() {
    let store = ReferenceStore::new();
    let graph = kronecker(&Kronecker { scale: 12, edge_factor: 40, seed: 5, ..Kronecker::default() });
    let ids = graph.load_into(&store).unwrap();
    let weight = ("weightProperty", Value::string("weight"));
    let source = ("sourceNodes", Value::Node(ids[3]));
    for (name, settings) in [
        ("algo.degree", vec![weight.clone()]),
        ("algo.pagerank", vec![weight.clone()]),
        ("algo.pagerank", vec![source]),
        ("algo.articleRank", vec![]),
        ("algo.eigenvector", vec![weight]),
        ("algo.hits", vec![]),
    ] {
        let settings = with(&settings, &[("execution", Value::string("memory"))]);
        let one = call(&store, name, &settings, 1).unwrap();
        assert!(one == call(&store, name, &settings, 3).unwrap(), "{name} differs with the number of threads");
    }
}

/// Results by hand, and what networkx 3.6 gives: a triangle with a tail.
#[test]
fn a_small_graph_has_known_scores() {
    let store = ReferenceStore::new();
    let graph = crate::generated::weighted(5, &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (2, 3, 1.0), (3, 4, 1.0)]);
    let ids = graph.load_into(&store).unwrap();
    let both = ("direction", Value::string("BOTH"));
    let exact = ("tolerance", Value::Float(1e-14));
    let long = ("maxIterations", Value::Int(1_000));
    let check = |name: &str, settings: &[(&str, Value)], expected: [f64; 5]| {
        let found = scores(&store, name, settings, 2, &ids);
        let is_close = found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 5e-7);
        assert!(is_close, "{name} gives {found:?}, expected {expected:?}");
    };
    check("algo.degree", std::slice::from_ref(&both), [2.0, 2.0, 3.0, 2.0, 1.0]);
    check("algo.degree", &[], [1.0, 1.0, 2.0, 1.0, 0.0]);
    let eigenvector = [0.4971537, 0.4971537, 0.6037035, 0.3424853, 0.1546684];
    check("algo.eigenvector", &[both.clone(), exact.clone(), long.clone()], eigenvector);
    let sources = ("sourceNodes", Value::list(vec![Value::Node(ids[0]), Value::Int(ids[3].0.cast_signed())]));
    let personal = [0.2261164, 0.1921990, 0.1633691, 0.2261164, 0.1921990];
    check("algo.pagerank", &[sources, exact, long], personal);
    let stats = call(&store, "algo.degree.stats", &[both], 1).unwrap();
    let Value::Map(map) = &stats[0][0] else { panic!("expected a map, found {:?}", stats[0][0]) };
    assert_eq!(["min", "mean", "max"].map(|key| number(&map[key])), [1.0, 2.0, 3.0]);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let store = ReferenceStore::new();
    let ids = crate::generated::weighted(2, &[(0, 1, 1.0)]).load_into(&store).unwrap();
    let check = |name: &str, setting: (&str, Value), expected: &str| match call(&store, name, &[setting], 1) {
        Ok(rows) => panic!("{name} gives {rows:?}, expected: {expected}"),
        Err(error) => assert_eq!(error.message(), expected),
    };
    let list = |items: &[Value]| Value::list(items.to_vec());
    check(
        "algo.pagerank",
        ("sourceNodes", list(&[])),
        "algo.pagerank: setting 'sourceNodes' is an empty list, leave it out for all nodes",
    );
    check(
        "gds.eigenvector.stream",
        ("sourceNodes", list(&[Value::Node(ids[0]), Value::Int(7)])),
        "algo.eigenvector: node #7 of setting 'sourceNodes' is not in the graph",
    );
    check(
        "algo.articleRank",
        ("sourceNodes", list(&[Value::string("a")])),
        "algo.articleRank: setting 'sourceNodes' is STRING, expected NODE, INTEGER (a node id) or LIST of these",
    );
    check(
        "algo.closeness",
        ("useWassermanFaust", Value::Int(1)),
        "algo.closeness: setting 'useWassermanFaust' is INTEGER, expected BOOLEAN",
    );
    check(
        "algo.betweenness",
        ("samplingSize", Value::Int(0)),
        "algo.betweenness: setting 'samplingSize' is 0, expected an integer of at least 1",
    );
    check(
        "algo.betweenness",
        ("execution", Value::string("streaming")),
        "algo.betweenness: setting 'execution' is 'streaming', expected 'auto' or one of: memory",
    );
    check(
        "algo.nodeSimilarity",
        ("similarityMetric", Value::string("euclid")),
        "algo.nodeSimilarity: setting 'similarityMetric' is 'euclid', expected 'JACCARD', 'OVERLAP' or 'COSINE'",
    );
    check(
        "algo.nodeSimilarity",
        ("similarityCutoff", Value::Float(1.5)),
        "algo.nodeSimilarity: setting 'similarityCutoff' is 1.5, expected a number from 0 to 1",
    );
    check(
        "algo.randomWalk",
        ("returnFactor", Value::Int(0)),
        "algo.randomWalk: setting 'returnFactor' is 0, expected a number greater than 0",
    );
    check(
        "algo.randomWalk",
        ("walkLength", Value::Int(1_000_000_000)),
        "algo.randomWalk: setting 'walkLength' is 1000000000, expected at most 100000000, the longest that a list may be",
    );
    let both = [("topK", Value::Int(1)), ("bottomK", Value::Int(1))];
    let error = call(&store, "algo.nodeSimilarity", &both, 1).expect_err("only one limit is for each node");
    assert_eq!(error.message(), "algo.nodeSimilarity: 'topK' and 'bottomK' exclude each other, give one of them");
}

#[test]
fn runs_that_were_cancelled_end() {
    let store = ReferenceStore::new();
    crate::generated::weighted(2, &[(0, 1, 1.0)]).load_into(&store).unwrap();
    let interrupt = Interrupt::new();
    interrupt.cancel();
    for name in [
        "degree", "articleRank", "eigenvector", "hits", "closeness", "harmonic", "betweenness", "nodeSimilarity",
        "randomWalk",
    ] {
        let name = format!("algo.{name}");
        let error = crate::call::call_interrupted(&store, &name, &[], 2, &interrupt).expect_err("it was cancelled");
        assert_eq!(error.code(), model::ErrorCode::Cancelled, "{name}");
    }
}

#[test]
fn write_modes_set_a_property_for_each_value() {
    let store = ReferenceStore::new();
    let ids = crate::generated::weighted(3, &[(0, 1, 1.0), (1, 2, 1.0)]).load_into(&store).unwrap();
    let written = |name: &str| call(&store, name, &[("writeProperty", Value::string("x"))], 1).unwrap()[0][0].clone();
    assert_eq!(written("gds.hits.write"), Value::Int(6));
    assert_eq!(written("gds.degree.write"), Value::Int(3));
    let values = |name: &str| numbers(&crate::call::property(&store, &ids, name));
    assert_eq!(values("x"), [1.0, 1.0, 0.0]);
    let half = 0.5_f64.sqrt();
    assert_close(&values("x_hub"), &[half, half, 0.0], 1e-12, "hubs");
    assert_close(&values("x_auth"), &[0.0, half, half], 1e-12, "authorities");
}
