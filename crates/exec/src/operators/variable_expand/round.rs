//! Ways back: whether a path leads from a node to itself, along the direction of edges or in any; and ways to another node.
//!
//! A breadth-first search knows of each node the neighbor of the start by way of which it came there first: its branch. A way round
//! exists where an edge joins two branches, where two edges lead to one neighbor, or where one leads to the start itself. Once all
//! nodes that are left are of one branch there is none.
//!
//! Cost: each edge twice at most, and where nodes lie on short cycles a few. Memory: some 32 bytes for each node reached.

use std::ops::ControlFlow::{Break, Continue};

use model::store::EdgeIds;
use model::{Expand, Map, NodeId, Result, Set};

use super::level::find_edges;
use super::used::Used;
use crate::memory::Charge;
use crate::runtime::Runtime;
use crate::visited::fits;

/// Approximate bytes of a reached node.
const NODE_BYTES: usize = 32;

/// The way by which a node was reached.
#[derive(Clone, Copy)]
struct Reached {
    branch: u32,
    /// Number of edges from the start.
    length: u32,
}

/// True if there is a way of at most `max` edges, which are those of an expansion in any direction without some that are used already;
/// `None` if the search does not fit into memory.
pub(super) fn has_way_round(
    runtime: &Runtime<'_>,
    (expansion, used): (&Expand, &Used),
    max: u32,
    charge: &mut Charge<'_>,
    start: NodeId,
) -> Result<Option<bool>> {
    let edge_ids = if used.is_empty() { EdgeIds::Omit } else { EdgeIds::Include };
    let expansion = &Expand { edge_ids, ..expansion.clone() };
    let mut reached: Map<NodeId, Reached> = Map::default();
    let (mut frontier, mut length) = (vec![start], 0_u32);
    while may_meet(&frontier, &reached, length, max) {
        let mut next = Vec::new();
        let found = find_edges(runtime, &frontier, expansion, |batch| {
            for (row, (&input, &node)) in batch.inputs.iter().zip(&batch.neighbors).enumerate() {
                if !used.is_empty() && used.contains(batch.edges[row]) {
                    continue;
                }
                let from = frontier[input as usize];
                if node == start {
                    if from == start {
                        return Break(Some(true));
                    }
                    continue;
                }
                // Each edge of the start is a branch.
                let branch = reached.get(&from).map_or(reached.len() as u32, |from| from.branch);
                match reached.get(&node) {
                    None => {
                        reached.insert(node, Reached { branch, length: length + 1 });
                        next.push(node);
                    }
                    Some(met) if met.branch != branch && length.saturating_add(met.length) < max => {
                        return Break(Some(true));
                    }
                    Some(_) => {}
                }
            }
            if fits(charge, (reached.len() + next.len()) * NODE_BYTES) { Continue(()) } else { Break(None) }
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
        (frontier, length) = (next, length + 1);
    }
    Ok(Some(false))
}

/// True if there is a way of at least one edge and at most `max` from a node to another, or to itself along the direction of edges,
/// without some edges that are used already; `None` if the search does not fit into memory.
pub(super) fn has_way(
    runtime: &Runtime<'_>,
    (expansion, used): (&Expand, &Used),
    max: u32,
    charge: &mut Charge<'_>,
    (start, end): (NodeId, NodeId),
) -> Result<Option<bool>> {
    let edge_ids = if used.is_empty() { EdgeIds::Omit } else { EdgeIds::Include };
    let expansion = &Expand { edge_ids, ..expansion.clone() };
    let mut reached: Set<NodeId> = Set::default();
    let (mut frontier, mut length) = (vec![start], 0);
    while !frontier.is_empty() && length < max {
        let mut next = Vec::new();
        let found = find_edges(runtime, &frontier, expansion, |batch| {
            for (row, &node) in batch.neighbors.iter().enumerate() {
                if !used.is_empty() && used.contains(batch.edges[row]) {
                    continue;
                }
                if node == end {
                    return Break(Some(true));
                }
                if reached.insert(node) {
                    next.push(node);
                }
            }
            if fits(charge, (reached.len() + next.len()) * NODE_BYTES) { Continue(()) } else { Break(None) }
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
        (frontier, length) = (next, length + 1);
    }
    Ok(Some(false))
}

/// True if branches may meet in a way that is short enough beyond nodes at that distance.
fn may_meet(frontier: &[NodeId], reached: &Map<NodeId, Reached>, length: u32, max: u32) -> bool {
    let branch = |node: &NodeId| reached.get(node).map(|reached| reached.branch);
    let Some((first, others)) = frontier.split_first() else { return false };
    let are_several = length == 0 || others.iter().any(|node| branch(node) != branch(first));
    are_several && length.saturating_mul(2) < max
}
