//! Runs over streamed rows give the same results as runs in memory.

use model::{NodeId, Value};
use testing::ReferenceStore;
use testing::random::SeededRandom;

use crate::call::{by_number, call, number};
use crate::generated::{DIRECTIONS, on_all_graphs};

/// The values that an algorithm gives each node, run one way.
fn run(
    store: &ReferenceStore,
    ids: &[NodeId],
    name: &str,
    settings: &[(&str, Value)],
    way: &str,
    threads: usize,
) -> Vec<Value> {
    let settings = [settings, &[("execution", Value::string(way))]].concat();
    by_number(&call(store, name, &settings, threads).unwrap_or_else(|error| panic!("{name}: {error}")), ids)
}

/// Compares the ways; numbers may differ by a share of themselves.
fn check(store: &ReferenceStore, ids: &[NodeId], name: &str, settings: &[(&str, Value)], tolerance: f64, graph: &str) {
    let expected = run(store, ids, name, settings, "memory", 2);
    for threads in [1, 2] {
        let found = run(store, ids, name, settings, "streaming", threads);
        for (node, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let is_close = || (number(found) - number(expected)).abs() <= tolerance * number(expected).abs();
            assert!(found == expected || is_close(), "{graph}, {name} of {node}: {found}, expected {expected}");
        }
    }
}

#[test]
fn streaming_gives_what_memory_gives() {
    on_all_graphs(|graph, _, store, ids, random: &mut SeededRandom| {
        check(store, ids, "algo.wcc", &[], 0.0, graph);
        if ids.is_empty() {
            return;
        }
        for (word, _) in DIRECTIONS {
            let source = ids[random.index(ids.len())];
            let from = [("direction", Value::string(word)), ("sourceNode", Value::Node(source))];
            check(store, ids, "algo.pagerank", &from[..1], 1e-6, graph);
            check(store, ids, "algo.bfs", &from, 0.0, graph);
            let near = [&from[..], &[("maxDepth", Value::Int(2))]].concat();
            check(store, ids, "algo.bfs", &near, 0.0, graph);
            check(store, ids, "algo.sssp", &from, 0.0, graph);
            let defaulted = [("weightProperty", Value::string("cost")), ("defaultWeight", Value::Float(1.5))];
            check(store, ids, "algo.sssp", &[&from[..], &defaulted].concat(), 0.0, graph);
            if model::GraphStore::read(store).unwrap().schema().property_key("weight").is_some() {
                let weighted = [&from[..], &[("weightProperty", Value::string("weight"))]].concat();
                check(store, ids, "algo.sssp", &weighted, 1e-12, graph);
            }
        }
    });
}
