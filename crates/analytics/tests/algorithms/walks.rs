//! Random walks: that they follow edges, that the seed alone decides, and that steps are as likely as they should be.

use std::collections::BTreeMap;

use analytics::algorithms::random_walk;
use analytics::{SearchContext, Sides};
use model::{GraphStore, Interrupt, NodeId, Value};
use testing::ReferenceStore;

use crate::call::{call, number};
use crate::generated::{DIRECTIONS, on_all_graphs, turned, view_of, weighted};
use crate::naive::NaiveGraph;

/// The nodes of rows, by their place among `ids`.
fn walks_of(rows: &[Vec<Value>], ids: &[NodeId]) -> Vec<Vec<usize>> {
    let places: model::Map<NodeId, usize> = ids.iter().copied().zip(0..).collect();
    let place = |value: &Value| match value {
        Value::Node(node) => places[node],
        other => panic!("{other} is not a node"),
    };
    rows.iter()
        .map(|row| match &row[0] {
            Value::List(nodes) => nodes.iter().map(place).collect(),
            other => panic!("{other} is not a list"),
        })
        .collect()
}

fn check_walk(graph: &NaiveGraph, walk: &[usize], length: usize, name: &str) {
    let can_step = |from: usize, to: Option<usize>| {
        graph.edges.iter().any(|edge| edge.0 == from && to.is_none_or(|to| edge.1 == to) && edge.2 > 0.0)
    };
    assert!(walk.windows(2).all(|step| can_step(step[0], Some(step[1]))), "{name}: {walk:?} leaves the edges");
    let is_stuck = !can_step(walk[walk.len() - 1], None);
    assert!(walk.len() == length || walk.len() < length && is_stuck, "{name}: {walk:?} ends early");
}

#[test]
fn walks_follow_edges_and_their_seed() {
    on_all_graphs(|name, graph, store, ids, random| {
        let has_weights = store.read().unwrap().schema().property_key("weight").is_some();
        for (word, direction) in DIRECTIONS {
            for (factors, is_weighted) in
                [([1.0, 1.0], false), ([0.5, 2.0], false), ([1.0, 1.0], true), ([4.0, 0.1], true)]
            {
                if is_weighted && !has_weights {
                    continue;
                }
                let turned = turned(graph, direction);
                let turned = if is_weighted { turned } else { turned.unweighted() };
                let mut settings = vec![
                    ("direction", Value::string(word)),
                    ("walkLength", Value::Int(9)),
                    ("walksPerNode", Value::Int(2)),
                    ("returnFactor", Value::Float(factors[0])),
                    ("inOutFactor", Value::Float(factors[1])),
                    ("randomSeed", Value::Int(-5)),
                ];
                settings.extend(is_weighted.then(|| ("weightProperty", Value::string("weight"))));
                let rows = call(store, "gds.randomWalk.stream", &settings, 2).unwrap();
                assert!(rows == call(store, "algo.randomWalk", &settings, 1).unwrap(), "{name}: one seed, one answer");
                let walks = walks_of(&rows, ids);
                assert_eq!(walks.len(), 2 * ids.len(), "{name}");
                walks.iter().for_each(|walk| check_walk(&turned, walk, 9, name));
                if ids.is_empty() {
                    continue;
                }
                let source = random.index(ids.len());
                settings.push(("sourceNodes", Value::list(vec![Value::Node(ids[source])])));
                let from_one = walks_of(&call(store, "algo.randomWalk", &settings, 2).unwrap(), ids);
                let expected: Vec<_> = walks.into_iter().filter(|walk| walk[0] == source).collect();
                assert_eq!(from_one, expected, "{name}: walks do not depend on other sources");
            }
        }
    });
}

/// Frequency of each walk of three nodes from a source.
fn frequencies(
    store: &ReferenceStore,
    ids: &[NodeId],
    settings: &[(&str, Value)],
    walks: i64,
) -> BTreeMap<Vec<usize>, f64> {
    let more =
        [("sourceNodes", Value::Node(ids[0])), ("walkLength", Value::Int(3)), ("walksPerNode", Value::Int(walks))];
    let rows = call(store, "algo.randomWalk", &[settings, &more].concat(), 2).expect("walks can be made");
    let mut found = BTreeMap::new();
    walks_of(&rows, ids).into_iter().for_each(|walk| *found.entry(walk).or_insert(0.0) += 1.0 / walks as f64);
    found
}

#[test]
fn steps_are_as_likely_as_weights_and_factors_say() {
    // From 0 to 1 or 2; from 1 back to 0, to 2, which is near 0, or to 3, which is not; twice to 3 by parallel edges.
    let edges =
        [(0, 1, 3.0), (0, 2, 1.0), (1, 0, 1.0), (1, 2, 2.0), (1, 3, 1.0), (1, 3, 0.5), (2, 0, 1.0), (2, 2, 0.0)];
    let store = ReferenceStore::new();
    let ids = weighted(4, &edges.map(|(a, b, weight)| (a as u64, b as u64, weight))).load_into(&store).unwrap();
    for is_weighted in [false, true] {
        for (to_return, to_leave) in [(1.0, 1.0), (0.25, 4.0), (4.0, 0.25), (1e-4, 1.0), (1.0, 1e4)] {
            let mut settings = vec![("returnFactor", Value::Float(to_return)), ("inOutFactor", Value::Float(to_leave))];
            settings.extend(is_weighted.then(|| ("weightProperty", Value::string("weight"))));
            let walks = 40_000;
            let found = frequencies(&store, &ids, &settings, walks);
            let weight = |edge: &(usize, usize, f64)| if is_weighted { edge.2 } else { 1.0 };
            let near = |node: usize| edges.iter().any(|edge| (edge.0, edge.1) == (0, node));
            let factor = |node: usize| {
                if node == 0 {
                    1.0 / to_return
                } else if near(node) {
                    1.0
                } else {
                    1.0 / to_leave
                }
            };
            let from = |node: usize| edges.iter().filter(move |edge| edge.0 == node);
            let mut expected: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
            let first_total: f64 = from(0).map(weight).sum();
            for first in from(0) {
                let total: f64 = from(first.1).map(|edge| weight(edge) * factor(edge.1)).sum();
                for second in from(first.1) {
                    let share = weight(first) / first_total * weight(second) * factor(second.1) / total;
                    *expected.entry(vec![0, first.1, second.1]).or_insert(0.0) += share;
                }
            }
            for (walk, &share) in &expected {
                let found = found.get(walk).copied().unwrap_or(0.0);
                let allowed = 5.0 * (share * (1.0 - share) / walks as f64).sqrt() + 1e-9;
                assert!((found - share).abs() <= allowed, "{walk:?}: {found} for {share}, {settings:?}");
            }
        }
    }
}

#[test]
fn paths_have_the_relationships_that_were_followed() {
    on_all_graphs(|name, _, store, ids, _| {
        let settings =
            [("withPaths", Value::Bool(true)), ("walkLength", Value::Int(4)), ("walksPerNode", Value::Int(1))];
        for direction in ["OUT", "BOTH"] {
            let settings = [&settings[..], &[("direction", Value::string(direction))]].concat();
            let rows = call(store, "algo.randomWalk", &settings, 2).unwrap();
            assert_eq!(rows.len(), ids.len(), "{name}");
            for row in &rows {
                let (Value::List(nodes), Value::Path(path)) = (&row[0], &row[1]) else {
                    panic!("{name}: found {row:?}")
                };
                assert!(path.nodes.iter().map(|&node| Value::Node(node)).eq(nodes.iter().cloned()), "{name}");
                for (step, edge) in path.nodes.windows(2).zip(&path.edges) {
                    let ends = (edge.source, edge.target);
                    let fits = ends == (step[0], step[1]) || direction == "BOTH" && ends == (step[1], step[0]);
                    assert!(fits, "{name}: {edge:?} does not join {step:?}");
                }
            }
        }
    });
}

#[test]
fn walks_verify_and_are_counted() {
    on_all_graphs(|name, _, store, ids, _| {
        let has_weights = store.read().unwrap().schema().property_key("weight").is_some();
        for is_weighted in [false, has_weights && !ids.is_empty()] {
            let view = view_of(store, model::Direction::Both, is_weighted, Sides::Forward);
            let config = random_walk::Config { in_out_factor: 3.0, walk_length: 20, ..random_walk::Config::default() };
            let sources: Vec<u32> = (0..ids.len() as u32).collect();
            let mut steps = 0;
            random_walk::run(&view, &config, &sources, 2, SearchContext::unaccounted(&Interrupt::new()), |walks| {
                for walk in &walks {
                    steps += walk.len() - 1;
                    random_walk::verify(&view, &config, walk).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
                Ok(true)
            })
            .unwrap();
            if !is_weighted {
                let settings = [
                    ("direction", Value::string("BOTH")),
                    ("walkLength", Value::Int(20)),
                    ("inOutFactor", Value::Int(3)),
                ];
                let stats = call(store, "algo.randomWalk.stats", &settings, 1).unwrap();
                let counted = [number(&stats[0][0]), number(&stats[0][1])];
                assert_eq!(counted, [10.0 * ids.len() as f64, steps as f64], "{name}");
            }
        }
    });
}
