//! Node similarity, against a comparison of all pairs of sets.

use std::collections::BTreeMap;

use analytics::Sides;
use analytics::algorithms::node_similarity::{self, Limit, Metric};
use model::store::Direction;
use model::{GraphStore, Interrupt, NodeId, Value};
use testing::ReferenceStore;
use testing::graphs::{Kronecker, kronecker};

use crate::call::{call, number};
use crate::generated::{DIRECTIONS, on_all_graphs, turned, view_of, weighted};
use crate::naive::NaiveGraph;

impl NaiveGraph {
    /// For each node its neighbors, each once, with 1 for each.
    fn sets(&self) -> Vec<BTreeMap<usize, f64>> {
        let mut sets = self.weighted_sets();
        sets.iter_mut().flat_map(BTreeMap::values_mut).for_each(|weight| *weight = 1.0);
        sets
    }

    /// For each node its neighbors with the weights of all edges to them.
    fn weighted_sets(&self) -> Vec<BTreeMap<usize, f64>> {
        let mut sets = vec![BTreeMap::new(); self.node_count];
        self.edges.iter().for_each(|&(source, target, cost)| *sets[source].entry(target).or_insert(0.0) += cost);
        sets
    }
}

fn similarity(metric: &str, a: &BTreeMap<usize, f64>, b: &BTreeMap<usize, f64>) -> f64 {
    let keys: std::collections::BTreeSet<usize> = a.keys().chain(b.keys()).copied().collect();
    let pairs: Vec<(f64, f64)> = keys
        .into_iter()
        .map(|key| (a.get(&key).copied().unwrap_or(0.0), b.get(&key).copied().unwrap_or(0.0)))
        .collect();
    let sum = |of: fn(f64, f64) -> f64| pairs.iter().map(|&(a, b)| of(a, b)).sum::<f64>();
    match metric {
        "jaccard" => sum(f64::min) / sum(f64::max),
        "overlap" => sum(f64::min) / sum(|a, _| a).min(sum(|_, b| b)),
        _ => sum(|a, b| a * b) / (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt(),
    }
}

/// The rows that each node may have: other nodes with their similarity.
fn candidates(
    sets: &[BTreeMap<usize, f64>],
    metric: &str,
    cutoff: f64,
    degrees: std::ops::RangeInclusive<usize>,
) -> Vec<BTreeMap<usize, f64>> {
    let is_compared = |node: usize| degrees.contains(&sets[node].len());
    let of = |node: usize| {
        let others = (0..sets.len()).filter(|&other| other != node && is_compared(node) && is_compared(other));
        let scored = others.map(|other| (other, similarity(metric, &sets[node], &sets[other])));
        scored.filter(|&(_, similarity)| similarity > 0.0 && similarity >= cutoff).collect()
    };
    (0..sets.len()).map(of).collect()
}

/// Checks that the rows of each node are the best of the candidates, in order.
fn check_rows(rows: &[Vec<Value>], ids: &[NodeId], expected: &[BTreeMap<usize, f64>], limit: Limit, name: &str) {
    let number_of = |value: &Value| ids.iter().position(|&id| Value::Node(id) == *value).expect("a node of the graph");
    let mut found = vec![Vec::new(); ids.len()];
    for row in rows {
        let (node, other, similarity) = (number_of(&row[0]), number_of(&row[1]), number(&row[2]));
        let expected = expected[node].get(&other).copied().unwrap_or(0.0);
        assert!((similarity - expected).abs() < 1e-9, "{name}: {node} and {other}: {similarity} for {expected}");
        found[node].push(similarity);
    }
    for (node, (found, expected)) in found.iter().zip(expected).enumerate() {
        let mut best: Vec<f64> = expected.values().copied().collect();
        best.sort_by(f64::total_cmp);
        let count = match limit {
            Limit::Top(count) => {
                best.reverse();
                count
            }
            Limit::Bottom(count) => count,
        };
        best.truncate(count);
        let is_close = found.len() == best.len() && found.iter().zip(&best).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(is_close, "{name}: node {node} has {found:?}, expected {best:?}");
    }
}

#[test]
fn rows_are_the_most_alike_of_all_pairs() {
    on_all_graphs(|name, graph, store, ids, random| {
        if ids.len() > 320 {
            return;
        }
        let has_weights = store.read().unwrap().schema().property_key("weight").is_some();
        let is_free = graph.edges.iter().any(|edge| edge.2 == 0.0);
        for (word, direction) in DIRECTIONS {
            for (metric, limit, is_weighted) in [
                ("jaccard", Limit::Top(10), false),
                ("overlap", Limit::Bottom(3), false),
                ("cosine", Limit::Top(2), false),
                ("Jaccard", Limit::Bottom(5), true),
                ("OVERLAP", Limit::Top(1), true),
                ("cosine", Limit::Top(1_000_000_000), true),
            ] {
                if is_weighted && (!has_weights || is_free) {
                    continue;
                }
                let turned = turned(graph, direction);
                let sets = if is_weighted { turned.weighted_sets() } else { turned.sets() };
                let cutoff = if random.chance(50) { 0.0 } else { 0.3 };
                let degrees = if random.chance(50) { 1..=usize::MAX } else { 2..=5 };
                let (key, count) = match limit {
                    Limit::Top(count) => ("topK", count),
                    Limit::Bottom(count) => ("bottomK", count),
                };
                let mut settings = vec![
                    ("direction", Value::string(word)),
                    ("similarityMetric", Value::string(metric)),
                    (key, Value::Int(count as i64)),
                    ("similarityCutoff", Value::Float(cutoff)),
                    ("degreeCutoff", Value::Int(*degrees.start() as i64)),
                    ("upperDegreeCutoff", Value::Int(i64::try_from(*degrees.end()).unwrap_or(i64::MAX))),
                ];
                settings.extend(is_weighted.then(|| ("weightProperty", Value::string("weight"))));
                let expected = candidates(&sets, &metric.to_lowercase(), cutoff, degrees);
                let rows = call(store, "gds.nodeSimilarity.stream", &settings, 2).unwrap();
                assert!(rows == call(store, "algo.nodeSimilarity", &settings, 1).unwrap(), "{name}");
                check_rows(&rows, ids, &expected, limit, &format!("{name}, {word}, {metric}, weighted: {is_weighted}"));
            }
        }
    });
}

#[test]
fn rows_of_all_nodes_may_be_limited() {
    let store = ReferenceStore::new();
    kronecker(&Kronecker { scale: 7, seed: 6, ..Kronecker::default() }).load_into(&store).unwrap();
    let all = call(&store, "algo.nodeSimilarity", &[("topK", Value::Int(5))], 2).unwrap();
    for (key, sign) in [("topN", -1.0), ("bottomN", 1.0)] {
        let settings = [("topK", Value::Int(5)), (key, Value::Int(20))];
        let rows = call(&store, "algo.nodeSimilarity", &settings, 2).unwrap();
        let order = |row: &Vec<Value>| (sign * number(&row[2]), row[0].clone(), row[1].clone());
        let mut sorted = all.clone();
        sorted.sort_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.total_cmp(&b.0).then_with(|| a.1.order(&b.1)).then_with(|| a.2.order(&b.2))
        });
        assert_eq!(rows, sorted[..20]);
    }
}

#[test]
fn results_verify() {
    on_all_graphs(|name, _, store, ids, _| {
        if ids.is_empty() || store.read().unwrap().schema().property_key("weight").is_none() {
            return;
        }
        for (metric, is_weighted) in [(Metric::Jaccard, false), (Metric::Overlap, false), (Metric::Cosine, true)] {
            let view = view_of(store, Direction::Out, is_weighted, Sides::Forward);
            let config = node_similarity::Config { metric, ..node_similarity::Config::default() };
            let result = node_similarity::run(&view, &config, 2, &Interrupt::new()).unwrap();
            node_similarity::verify(&view, &config, &result).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

/// People and what they play, as in the manual of Neo4j's library: Alice and Dave play the same, Bob part of it.
#[test]
fn a_small_graph_has_known_similarities() {
    let store = ReferenceStore::new();
    let edges = [(0, 5), (0, 6), (0, 7), (1, 5), (1, 6), (2, 7), (3, 5), (3, 6), (3, 7)];
    let edges: Vec<(u64, u64, f64)> = edges.into_iter().map(|(a, b)| (a, b, 1.0)).collect();
    let ids = weighted(8, &edges).load_into(&store).unwrap();
    let third = 1.0 / 3.0;
    let expected = [
        (0, 3, 1.0),
        (0, 1, 2.0 * third),
        (0, 2, third),
        (1, 0, 2.0 * third),
        (1, 3, 2.0 * third),
        (2, 0, third),
        (2, 3, third),
        (3, 0, 1.0),
        (3, 1, 2.0 * third),
        (3, 2, third),
    ];
    let expected: Vec<Vec<Value>> = expected
        .into_iter()
        .map(|(a, b, similarity)| vec![Value::Node(ids[a]), Value::Node(ids[b]), Value::Float(similarity)])
        .collect();
    assert_eq!(call(&store, "gds.nodeSimilarity.stream", &[], 2).unwrap(), expected);
    let stats = call(&store, "gds.nodeSimilarity.stats", &[], 1).unwrap();
    assert_eq!(stats[0][..2], [Value::Int(4), Value::Int(10)]);
    let write = [("writeRelationshipType", Value::string("LIKE")), ("writeProperty", Value::string("score"))];
    assert_eq!(call(&store, "gds.nodeSimilarity.write", &write, 2).unwrap()[0][0], Value::Int(10));
    let weights = [("types", Value::string("LIKE")), ("weightProperty", Value::string("score"))];
    let degrees = call(&store, "algo.degree", &weights, 1).unwrap();
    assert!((number(&degrees[0][1]) - 2.0).abs() < 1e-12, "the edges written carry the similarities: {degrees:?}");
}
