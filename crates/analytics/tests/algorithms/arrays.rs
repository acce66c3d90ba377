//! Algorithms on a graph in arrays give what they give on the same graph in a store.

use std::sync::Arc;

use analytics::ArrayGraph;
use model::store::{Direction, EdgeIds};
use model::{Capabilities, EdgeBatch, Expand, GraphStore, NodeId, ReadView, Result, Value, WriteTransaction};
use testing::ReferenceStore;
use testing::random::{SeededRandom, seed_or};

use crate::call::{by_number, call, number};
use crate::generated::{DIRECTIONS, assert_close, graphs, naive, numbers, turned};
use crate::naive::NaiveGraph;

/// A store that serves an array graph to the calls of these tests.
struct Arrays(Arc<ArrayGraph>);

impl GraphStore for Arrays {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn read(&self) -> Result<Arc<dyn ReadView>> {
        Ok(self.0.clone())
    }

    fn write(&self) -> Result<Box<dyn WriteTransaction>> {
        Err(model::error!(ReadOnly, "arrays are only read"))
    }
}

fn arrays(graph: &NaiveGraph) -> Arrays {
    let end = |end: usize| u32::try_from(end).expect("graphs of tests are small");
    let sources: Vec<u32> = graph.edges.iter().map(|edge| end(edge.0)).collect();
    let targets: Vec<u32> = graph.edges.iter().map(|edge| end(edge.1)).collect();
    let weights: Vec<f64> = graph.edges.iter().map(|edge| edge.2).collect();
    Arrays(Arc::new(
        ArrayGraph::new(graph.node_count, &sources, &targets, Some(&weights)).expect("the arrays fit together"),
    ))
}

#[test]
fn whole_graph_algorithms_agree_with_a_store() {
    let seed = seed_or(17);
    let weighted = [("weightProperty", Value::from("weight"))];
    for (name, graph) in graphs(seed) {
        let naive = naive(&graph);
        let store = ReferenceStore::new();
        let ids = graph.load_into(&store).expect("a store in memory takes a graph");
        let numbered: Vec<NodeId> = (0..naive.node_count as u64).map(NodeId).collect();
        for (word, _) in DIRECTIONS {
            for (procedure, settings) in [
                ("algo.pagerank", &[][..]),
                ("algo.degree", &weighted[..]),
                ("algo.lcc", &[]),
                ("algo.harmonic", &weighted),
            ] {
                let settings: Vec<(&str, Value)> =
                    settings.iter().cloned().chain([("direction", Value::from(word))]).collect();
                if procedure == "algo.harmonic" && naive.edges.iter().any(|edge| edge.2 <= 0.0) {
                    continue;
                }
                let found = call(&arrays(&naive), procedure, &settings, 2).expect("arrays can be computed on");
                let expected = call(&store, procedure, &settings, 2).expect("stores can be computed on");
                let (found, expected) = (by_number(&found, &numbered), by_number(&expected, &ids));
                let place = format!("{name}, {procedure}, {word}, FUZZ_SEED={seed}");
                assert_close(&numbers(&found), &numbers(&expected), 1e-6, &place);
            }
        }
    }
}

#[test]
fn searches_agree_with_a_naive_one() {
    let seed = seed_or(18);
    for (name, graph) in graphs(seed) {
        let naive = naive(&graph);
        let mut random = SeededRandom::new(seed);
        let store = arrays(&naive);
        for _ in 0..if naive.node_count > 0 { 5 } else { 0 } {
            let source = random.below(naive.node_count as u64);
            let settings = [("sourceNode", Value::Node(NodeId(source))), ("weightProperty", Value::from("weight"))];
            let rows = call(&store, "algo.sssp", &settings, 1).expect("arrays can be searched");
            let numbered: Vec<NodeId> = (0..naive.node_count as u64).map(NodeId).collect();
            let expected = naive.distances(source as usize);
            let place = format!("{name} from {source}, FUZZ_SEED={seed}");
            assert_close(&by_number(&rows, &numbered).iter().map(number).collect::<Vec<_>>(), &expected, 1e-9, &place);
        }
    }
}

#[test]
fn paths_between_two_nodes_are_shortest() {
    let seed = seed_or(20);
    for (name, graph) in graphs(seed) {
        let naive = naive(&graph);
        let mut random = SeededRandom::new(seed);
        let view = arrays(&naive).0;
        let count = naive.node_count as u64;
        for (word, direction) in DIRECTIONS {
            let turned = turned(&naive, direction);
            for _ in 0..if count > 0 { 8 } else { 0 } {
                let (source, target) = (random.below(count) as u32, random.below(count) as u32);
                let place = format!("{name}, {source} to {target}, {word}, FUZZ_SEED={seed}");
                let hops = turned.hops(source as usize)[target as usize];
                let Some(path) = view.shortest_path(source, target, direction).expect("both nodes are there") else {
                    assert!(hops.is_infinite(), "{place}: no path, expected one of {hops} edges");
                    continue;
                };
                assert_eq!((path.len() - 1) as f64, hops, "{place}");
                assert_eq!((path[0], path[path.len() - 1]), (source, target), "{place}");
                for step in path.windows(2) {
                    let is_step = |edge: &(usize, usize, f64)| (edge.0, edge.1) == (step[0] as usize, step[1] as usize);
                    assert!(turned.edges.iter().any(is_step), "{place}: no edge {step:?}");
                }
            }
            assert!(view.shortest_path(0, count as u32, direction).is_err(), "{name}");
        }
    }
}

#[test]
fn degrees_count_what_expansions_give() {
    let seed = seed_or(21);
    for (name, graph) in graphs(seed) {
        let naive = naive(&graph);
        let view = arrays(&naive).0;
        let nodes: Vec<NodeId> = (0..naive.node_count as u64 + 1).map(NodeId).collect();
        for (_, direction) in DIRECTIONS {
            let expand = Expand { direction, ..Expand::default() };
            let (mut batch, mut expected) = (EdgeBatch::default(), vec![0; nodes.len()]);
            let mut cursor = view.expand(&nodes, &expand).expect("arrays can be expanded");
            while cursor.next(&mut batch).expect("arrays can be expanded") {
                batch.inputs.iter().for_each(|&input| expected[input as usize] += 1);
            }
            let degrees = view.degrees(&nodes, direction, None).expect("arrays can be counted");
            assert_eq!(degrees, expected, "{name}, {direction:?}, FUZZ_SEED={seed}");
        }
    }
}

#[test]
fn expansions_give_every_edge_with_its_id_and_weight() {
    let seed = seed_or(19);
    for (name, graph) in graphs(seed) {
        let naive = naive(&graph);
        let view = arrays(&naive).0;
        let nodes: Vec<NodeId> = (0..naive.node_count as u64 + 1).map(NodeId).collect();
        let keys: Vec<_> = view.schema().property_key("weight").into_iter().collect();
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let expand = Expand { direction, edge_ids: EdgeIds::Include, keys: keys.clone(), ..Expand::default() };
            let (mut batch, mut found) = (EdgeBatch::default(), Vec::new());
            let mut cursor = view.expand(&nodes, &expand).expect("arrays can be expanded");
            while cursor.next(&mut batch).expect("arrays can be expanded") {
                let again = view.edge_properties(&batch.edges, &keys).expect("edges have properties");
                for (again, before) in again.iter().zip(&batch.properties) {
                    assert!(again.values().eq(before.values()), "{name}, FUZZ_SEED={seed}");
                }
                for row in 0..batch.len() {
                    let is_in = direction == Direction::In || batch.reversed.get(row).copied().unwrap_or(false);
                    let (here, there) = (u64::from(batch.inputs[row]), batch.neighbors[row].0);
                    let (source, target) = if is_in { (there, here) } else { (here, there) };
                    let weight = batch.properties.first().map_or(0.0, |column| number(&column.value(row)));
                    found.push((source, target, weight.to_bits(), batch.edges[row].0));
                }
            }
            found.sort_unstable();
            if direction == Direction::Both {
                found.dedup();
            }
            let ids: std::collections::BTreeSet<u64> = found.iter().map(|edge| edge.3).collect();
            assert_eq!(ids.len(), naive.edges.len(), "{name}, {direction:?}: an id for each edge, FUZZ_SEED={seed}");
            let mut ends: Vec<_> = found.iter().map(|edge| (edge.0, edge.1, edge.2)).collect();
            let mut expected: Vec<_> =
                naive.edges.iter().map(|edge| (edge.0 as u64, edge.1 as u64, edge.2.to_bits())).collect();
            ends.sort_unstable();
            expected.sort_unstable();
            assert_eq!(ends, expected, "{name}, {direction:?}, FUZZ_SEED={seed}");
        }
    }
}

#[test]
fn arrays_that_do_not_fit_together_are_refused() {
    let error = |nodes, sources: &[u32], targets: &[u32], weights: Option<&[f64]>| {
        ArrayGraph::new(nodes, sources, targets, weights).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(error(3, &[0], &[1, 2], None).contains("1 sources, 2 targets and 1 weights"));
    assert!(error(3, &[0], &[1], Some(&[1.0, 2.0])).contains("2 weights"));
    assert!(error(3, &[0], &[3], None).contains("node 3, of 3 nodes"));
}
