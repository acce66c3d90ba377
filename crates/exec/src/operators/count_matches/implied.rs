//! Whether the edges of some types lead only to nodes with certain labels, so that these need not be tested.
//!
//! Every edge has one source and one target. So all of them lead to labelled nodes if none leads to any other; or, where
//! the counts of the store are exact, if the labelled nodes have as many as there are. The fewer nodes are asked.

use model::store::EdgeIds;
use model::{Direction, EdgeTypeId, LabelId, NodeBatch, NodeId, NodeScan, ReadView, Result};

use super::tree::Node;
use crate::adjacency::expansion;
use crate::operators::node_scan::label_ids;
use crate::runtime::Runtime;

/// Ids that are looked at together.
const STEP: u64 = 4_096;

/// See the module. False also where it would cost more to find out than to follow the edges.
pub(super) fn is_implied(runtime: &Runtime<'_>, node: &Node) -> Result<bool> {
    let guard = runtime.view();
    let view = guard.view();
    if !view.capabilities().dense_node_ids {
        return Ok(false);
    }
    let Some((direction, types)) = &node.reached else { return Ok(false) };
    let (Some(labels), Some(expand)) =
        (label_ids(view, &node.labels), expansion(view, *direction, types, EdgeIds::Omit))
    else {
        return Ok(false);
    };
    // Counts may be rested on where the store has them exactly, and where no transaction would then depend on them.
    let is_exact = !runtime.writes();
    let statistics = if is_exact { view.statistics() } else { view.estimates() };
    let types = expand.types.as_deref();
    let edges = match types {
        None => statistics.edges,
        Some(types) => types.iter().map(|&edge_type| statistics.edge_type(edge_type)).sum(),
    };
    for label in labels {
        let carry = statistics.label(label);
        let others = statistics.nodes.saturating_sub(carry);
        if carry.min(others) > edges {
            return Ok(false);
        }
        let ways: &[Direction] = match direction.reverse() {
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
            Direction::Both => &[Direction::Out, Direction::In],
        };
        let is_held = if is_exact && carry < others {
            held_by_labelled(runtime, view, label, ways, types, edges)?
        } else {
            held_by_no_other(runtime, view, label, ways, types)?
        };
        if !is_held {
            return Ok(false);
        }
    }
    Ok(true)
}

fn held_by_labelled(
    runtime: &Runtime<'_>,
    view: &dyn ReadView,
    label: LabelId,
    ways: &[Direction],
    types: Option<&[EdgeTypeId]>,
    edges: u64,
) -> Result<bool> {
    let mut held = vec![0; ways.len()];
    let scan = NodeScan { labels: vec![label], ..NodeScan::default() };
    let mut cursor = view.scan(&scan)?;
    let mut batch = NodeBatch::default();
    while cursor.next(&mut batch)? {
        runtime.environment.interrupt.check()?;
        for (held, &way) in held.iter_mut().zip(ways) {
            *held += view.degrees(&batch.nodes, way, types)?.iter().sum::<u64>();
        }
    }
    Ok(held.iter().all(|&held| held == edges))
}

fn held_by_no_other(
    runtime: &Runtime<'_>,
    view: &dyn ReadView,
    label: LabelId,
    ways: &[Direction],
    types: Option<&[EdgeTypeId]>,
) -> Result<bool> {
    let bound = view.node_id_bound();
    for start in (0..bound).step_by(STEP as usize) {
        runtime.environment.interrupt.check()?;
        let ids: Vec<NodeId> = (start..(start + STEP).min(bound)).map(NodeId).collect();
        let carry = view.has_label(&ids, label)?;
        let others: Vec<NodeId> = (0..ids.len()).filter(|&row| !carry.get(row)).map(|row| ids[row]).collect();
        for &way in ways {
            if view.degrees(&others, way, types)?.iter().any(|&degree| degree > 0) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
