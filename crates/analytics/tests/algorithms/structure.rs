//! What holds a graph together, on all generated graphs: components, cut points, orders and trees.

use analytics::algorithms::scc;
use analytics::{Graph, Sides};
use model::store::Direction;
use model::{Interrupt, NodeId, Value};
use std::sync::Arc;

use crate::call::{by_number, call};
use crate::generated::{on_all_graphs, view_of};

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
