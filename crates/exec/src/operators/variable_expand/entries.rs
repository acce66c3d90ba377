//! Ends of paths from starts of which each may have used an edge, where a search that knows a few starts of each node cannot tell.
//!
//! [`reached`] finds all nodes that may be ends: those that walks lead to which do not turn back along the edge they have just come by,
//! of which the used edge of a start is the first. A node that was entered by two edges can be left by any, so two are known of each.
//! [`is_end`] tells of one node whether it is one, by a search from there against the direction of paths: the way to a start that it
//! comes to for the first time is a path, if its last edge is not the one that was used. Starts that it comes to along their used edge
//! are asked by themselves.
//!
//! Cost: each edge four times at most, and once or more for each node that is asked.

use std::ops::ControlFlow::{Break, Continue};

use model::store::EdgeIds;
use model::{EdgeId, Expand, Map, NodeId, Result, Set};

use super::level::find_edges;
use super::origins::Start;
use super::round::has_way;
use super::used::Used;
use crate::memory::Charge;
use crate::runtime::Runtime;
use crate::visited::fits;

/// Approximate bytes of a reached node, with its place among those of a level.
const NODE_BYTES: usize = 64;

/// The edges by which a node was entered.
#[derive(Default)]
struct Entries {
    first: Option<EdgeId>,
    /// The node can be left by any edge.
    is_free: bool,
}

impl Entries {
    /// Adds an edge; true if there is one more by which the node can be left.
    fn add(&mut self, edge: Option<EdgeId>) -> bool {
        if self.is_free || edge.is_some() && self.first == edge {
            return false;
        }
        self.is_free = edge.is_none() || self.first.is_some();
        self.first = self.first.or(edge);
        true
    }
}

/// The nodes that may be ends of paths of at least one edge; `None` if they do not fit into memory.
pub(super) fn reached(
    runtime: &Runtime<'_>,
    expansion: &Expand,
    max: u32,
    charge: &mut Charge<'_>,
    starts: &[Start],
) -> Result<Option<Set<NodeId>>> {
    let expansion = &Expand { edge_ids: EdgeIds::Include, ..expansion.clone() };
    let mut entries: Map<NodeId, Entries> = Map::default();
    let mut found: Set<NodeId> = Set::default();
    let mut level: Vec<(NodeId, Option<EdgeId>)> = Vec::with_capacity(starts.len());
    for start in starts {
        let edge = start.left_out().map(|edge| edge.id);
        entries.entry(start.node).or_default().add(edge);
        level.push((start.node, edge));
    }
    let mut length = 0;
    while !level.is_empty() && length < max {
        let nodes: Vec<NodeId> = level.iter().map(|(node, _)| *node).collect();
        let mut next = Vec::new();
        let unfit = find_edges(runtime, &nodes, expansion, |batch| {
            for (row, (&input, &node)) in batch.inputs.iter().zip(&batch.neighbors).enumerate() {
                let edge = Some(batch.edges[row]);
                if level[input as usize].1 == edge {
                    continue;
                }
                found.insert(node);
                if entries.entry(node).or_default().add(edge) {
                    next.push((node, edge));
                }
            }
            let bytes = (entries.len() + next.len() + level.len()) * NODE_BYTES;
            if fits(charge, bytes) { Continue(()) } else { Break(()) }
        })?;
        if unfit.is_some() {
            return Ok(None);
        }
        (level, length) = (next, length + 1);
    }
    Ok(Some(found))
}

/// True if a path of at least one edge leads to a node from a start that is another one; `None` if that does not fit into memory.
pub(super) fn is_end(
    runtime: &Runtime<'_>,
    expansion: &Expand,
    max: u32,
    charge: &mut Charge<'_>,
    (starts, end): (&Map<NodeId, Start>, NodeId),
) -> Result<Option<bool>> {
    let turned = &Expand { direction: expansion.direction.reverse(), edge_ids: EdgeIds::Include, ..expansion.clone() };
    let mut visited: Set<NodeId> = [end].into_iter().collect();
    let (mut level, mut length) = (vec![end], 0);
    let mut asked: Vec<&Start> = Vec::new();
    while !level.is_empty() && length < max {
        let mut next = Vec::new();
        let found = find_edges(runtime, &level, turned, |batch| {
            for (&node, &edge) in batch.neighbors.iter().zip(&batch.edges) {
                if !visited.insert(node) {
                    continue;
                }
                next.push(node);
                match starts.get(&node) {
                    Some(start) if start.left_out().is_none_or(|used| used.id != edge) => return Break(Some(true)),
                    Some(start) => asked.push(start),
                    None => {}
                }
            }
            let bytes = (visited.len() + next.len() + level.len()) * NODE_BYTES;
            if fits(charge, bytes) { Continue(()) } else { Break(None) }
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
        (level, length) = (next, length + 1);
    }
    for start in asked {
        let edges = (expansion, &Used::of_edges(start.left_out()));
        match has_way(runtime, edges, max, charge, (start.node, end))? {
            Some(false) => {}
            found => return Ok(found),
        }
    }
    Ok(Some(false))
}
