//! The structure that holds a graph together, on all generated graphs: components, cut points, orders and trees.

use std::sync::Arc;

use analytics::algorithms::{articulation_points, bridges, longest_path, scc, spanning_tree, topological_sort};
use analytics::{Graph, Sides};
use model::store::Direction;
use model::{GraphStore, Interrupt, NodeId, Value};
use testing::ReferenceStore;
use testing::graphs::erdos_renyi;
use testing::random::{SeededRandom, seed_or};

use crate::call::{by_number, call, number};
use crate::generated::{DIRECTIONS, naive, on_all_graphs, view_of, weighted};

/// Every way to run with one thread and with two.
const WAYS: [(&str, usize); 4] = [("memory", 1), ("memory", 2), ("streaming", 1), ("streaming", 2)];

/// Names of groups as the procedures give them: the smallest id among the nodes of a group.
pub(crate) fn names_of(groups: &[usize], ids: &[NodeId]) -> Vec<Value> {
    let mut smallest = vec![u64::MAX; groups.len()];
    groups.iter().zip(ids).for_each(|(&group, id)| smallest[group] = smallest[group].min(id.0));
    groups.iter().map(|&group| Value::Int(smallest[group].cast_signed())).collect()
}

#[test]
fn strong_components_are_named_by_their_smallest_node() {
    on_all_graphs(|name, graph, store, ids, _| {
        let expected = names_of(&graph.strong_components(), ids);
        for (way, threads) in WAYS {
            let rows = call(store, "gds.scc.stream", &[("execution", Value::string(way))], threads).unwrap();
            assert_eq!(by_number(&rows, ids), expected, "{name}, {way}, {threads} threads");
        }
        let view = view_of(store, Direction::Out, false, Sides::ForwardAndBackward);
        let components = scc::run(&Graph::in_memory(Arc::new(view.clone())), 2, &Interrupt::new()).unwrap();
        scc::verify(&view, &components).unwrap_or_else(|error| panic!("{name}: {error}"));
        let stats = call(store, "algo.scc.stats", &[], 2).unwrap();
        let mut names = expected.clone();
        names.sort();
        names.dedup();
        assert_eq!(stats[0][0], Value::Int(names.len() as i64), "{name}");
    });
}

#[test]
fn articulation_points_are_those_without_which_a_component_falls_apart() {
    on_all_graphs(|name, _, store, ids, _| {
        let view = view_of(store, Direction::Out, false, Sides::ForwardAndBackward);
        let pieces = articulation_points::run(&Graph::in_memory(Arc::new(view.clone())), &Interrupt::new()).unwrap();
        articulation_points::verify(&view, &pieces).unwrap_or_else(|error| panic!("{name}: {error}"));
        let value = |id: &NodeId| match pieces[view.index(*id).unwrap() as usize] {
            0 => Value::Null,
            pieces => Value::Int(i64::from(pieces)),
        };
        let expected: Vec<Value> = ids.iter().map(value).collect();
        for (way, threads) in WAYS {
            let settings = [("execution", Value::string(way))];
            let rows = call(store, "gds.articulationPoints.stream", &settings, threads).unwrap();
            assert_eq!(by_number(&rows, ids), expected, "{name}, {way}");
        }
    });
}

#[test]
fn bridges_are_those_without_which_a_component_falls_apart() {
    on_all_graphs(|name, _, store, _, _| {
        let view = view_of(store, Direction::Out, false, Sides::ForwardAndBackward);
        let found = bridges::run(&Graph::in_memory(Arc::new(view.clone())), &Interrupt::new()).unwrap();
        bridges::verify(&view, &found).unwrap_or_else(|error| panic!("{name}: {error}"));
        let row = |bridge: &bridges::Bridge| {
            let mut row: Vec<Value> = bridge.ends.iter().map(|&end| Value::Node(view.node(end))).collect();
            row.push(Value::list(bridge.sizes.iter().map(|&size| Value::Int(i64::from(size))).collect()));
            row
        };
        let expected: Vec<Vec<Value>> = found.iter().map(row).collect();
        for (way, threads) in WAYS {
            let rows = call(store, "gds.bridges.stream", &[("execution", Value::string(way))], threads).unwrap();
            assert_eq!(rows, expected, "{name}, {way}");
        }
    });
}

#[test]
fn spanning_trees_weigh_least_and_most() {
    on_all_graphs(|name, graph, store, ids, random| {
        let has_weights = store.read().unwrap().schema().property_key("weight").is_some();
        for (is_weighted, objective) in [(false, "minimum"), (true, "minimum"), (true, "maximum")] {
            if is_weighted && !has_weights {
                continue;
            }
            let sign = if objective == "maximum" { -1.0 } else { 1.0 };
            let mut signed = graph.clone();
            signed.edges.iter_mut().for_each(|edge| edge.2 = if is_weighted { sign * edge.2 } else { 1.0 });
            let expected = sign * signed.spanning_weight();
            let mut settings = vec![("objective", Value::string(objective))];
            settings.extend(is_weighted.then(|| ("weightProperty", Value::string("weight"))));
            let mut first = None;
            for (way, threads) in WAYS {
                let settings = [&settings[..], &[("execution", Value::string(way))]].concat();
                let rows = call(store, "algo.spanningTree", &settings, threads).unwrap();
                let total: f64 = rows.iter().map(|row| number(&row[2])).sum();
                assert!((total - expected).abs() <= 1e-6 * expected.abs(), "{name}: {total}, expected {expected}");
                assert_eq!(first.get_or_insert_with(|| rows.clone()), &rows, "{name}, {way}");
            }
            let view = view_of(store, Direction::Out, is_weighted, Sides::Forward);
            let one = Graph::in_memory(Arc::new(view.clone()));
            let is_maximum = objective == "maximum";
            let forest = spanning_tree::run(&one, None, is_maximum, &Interrupt::new()).unwrap();
            spanning_tree::verify(&view, is_maximum, &forest).unwrap_or_else(|error| panic!("{name}: {error}"));
            if ids.is_empty() {
                continue;
            }
            let source = random.index(ids.len());
            settings.push(("sourceNode", Value::Node(ids[source])));
            let stats = call(store, "gds.spanningTree.stats", &settings, 1).unwrap();
            let components = graph.components();
            let size = components.iter().filter(|&&component| component == components[source]).count() as i64;
            assert_eq!(stats[0][1..3], [Value::Int(size), Value::Int(size - 1)], "{name}");
            let rows = call(store, "gds.spanningTree.stream", &settings, 1).unwrap();
            assert!(rows.first().is_none_or(|row| row[0] == Value::Node(ids[source])), "{name}: away from its source");
        }
    });
}

#[test]
fn a_spanning_tree_is_written_as_edges() {
    let store = ReferenceStore::new();
    let ids = weighted(4, &[(0, 1, 1.0), (2, 1, 2.0), (0, 2, 9.0), (3, 3, 1.0)]).load_into(&store).unwrap();
    let settings = [
        ("weightProperty", Value::string("weight")),
        ("writeRelationshipType", Value::string("TREE")),
        ("writeProperty", Value::string("cost")),
    ];
    let written = call(&store, "gds.spanningTree.write", &settings, 1).unwrap();
    assert_eq!(written[0][..4], [Value::Int(2), Value::Float(3.0), Value::Int(4), Value::Int(2)]);
    let of_tree = [("types", Value::string("TREE")), ("sourceNode", Value::Node(ids[0]))];
    let distances = call(&store, "algo.bfs", &of_tree, 1).unwrap();
    let distances = by_number(&distances, &ids);
    assert_eq!(distances, [Value::Int(0), Value::Int(1), Value::Int(2), Value::Null]);
}

#[test]
fn orders_lead_onwards_and_leave_cycles_out() {
    on_all_graphs(|name, _, store, _, _| {
        for (word, direction) in DIRECTIONS {
            let mut first = None;
            for (way, threads) in WAYS {
                let settings = [("execution", Value::string(way)), ("direction", Value::string(word))];
                let rows = call(store, "gds.dag.topologicalSort.stream", &settings, threads).unwrap();
                assert_eq!(first.get_or_insert_with(|| rows.clone()), &rows, "{name}, {way}, {word}");
            }
            let view = view_of(store, direction, false, Sides::ForwardAndBackward);
            let order = topological_sort::run(&Graph::in_memory(Arc::new(view.clone())), &Interrupt::new()).unwrap();
            topological_sort::verify(&view, &order).unwrap_or_else(|error| panic!("{name}, {word}: {error}"));
        }
    });
}

#[test]
fn longest_paths_weigh_most() {
    let seed = seed_or(51);
    let mut random = SeededRandom::new(seed);
    for (nodes, edges) in [(1, 0), (2, 3), (30, 40), (60, 400)] {
        let pairs: Vec<(u64, u64, f64)> = erdos_renyi(nodes, edges, seed)
            .edge_pairs()
            .filter(|(a, b)| a != b)
            .map(|(a, b)| (a.min(b), a.max(b), random.below(5) as f64))
            .collect();
        let graph = weighted(nodes, &pairs);
        for store in [ReferenceStore::with_batch_rows(3), ReferenceStore::foreign(7)] {
            let ids = graph.load_into(&store).unwrap();
            if store.read().unwrap().schema().property_key("weight").is_none() {
                continue;
            }
            let expected = naive(&graph).longest();
            for (way, threads) in WAYS {
                let settings = [("execution", Value::string(way)), ("weightProperty", Value::string("weight"))];
                let rows = call(&store, "gds.dag.longestPath.stream", &settings, threads).unwrap();
                assert_eq!(rows.len(), ids.len(), "every node has a longest path, FUZZ_SEED={seed}");
                for row in &rows {
                    let target = ids.iter().position(|id| row[1] == Value::Node(*id)).unwrap();
                    assert_eq!(number(&row[2]), expected[target], "{way}, FUZZ_SEED={seed}");
                    let (Value::List(path), Value::List(costs)) = (&row[3], &row[4]) else { panic!("expected lists") };
                    assert_eq!((path.first(), path.last()), (Some(&row[0]), Some(&row[1])));
                    assert!(
                        costs.len() == path.len() && costs.last() == Some(&row[2]) && costs.is_sorted_by_key(number)
                    );
                }
                let stats = call(&store, "algo.longestPath.stats", &settings, threads).unwrap();
                let most = expected.iter().copied().fold(0.0, f64::max);
                assert_eq!(stats[0][..3], [Value::Float(most), Value::Int(ids.len() as i64), Value::Int(0)]);
            }
            let view = view_of(&store, Direction::Out, true, Sides::ForwardAndBackward);
            let found = longest_path::run(&Graph::in_memory(Arc::new(view.clone())), &Interrupt::new()).unwrap();
            longest_path::verify(&view, &found).unwrap_or_else(|error| panic!("FUZZ_SEED={seed}: {error}"));
        }
    }
}
