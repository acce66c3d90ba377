//! Parts of a pattern that are one path: where it does not matter how often a match comes and nobody asks for the node between two
//! paths along the same relationships, `(a)-[:R*1..3]->()-[:R]->(b)` is `(a)-[:R*2..4]->(b)`.
//!
//! All lengths from the sum of the least ones to that of the greatest are lengths of both paths together, and relationships differ within
//! a path as they do between paths of a clause. Without this the first path would be made in all ways, for the second one to differ from it.

use model::{Direction, Set};

use crate::binder::tree::{EdgeLength, GraphEdge, QueryGraph};
use crate::plan::SlotId;

/// Joins paths of a pattern, of which all that is read is known, as are the slots that are bound before.
pub(super) fn join(graph: &mut QueryGraph, read: &Set<SlotId>, bound: &Set<SlotId>) {
    let mut asked: Set<SlotId> = read.union(bound).copied().collect();
    graph.predicates.iter().for_each(|predicate| predicate.free_slots(&mut asked));
    graph.paths.iter().for_each(|(_, path)| path.free_slots(&mut asked));
    graph
        .edges
        .iter()
        .filter_map(|edge| edge.filter.as_ref())
        .for_each(|filter| filter.predicate.free_slots(&mut asked));
    asked.extend(graph.hints.iter().map(|hint| hint.slot));
    while let Some((middle, first, second, joined)) = next(graph, &asked) {
        graph.nodes.retain(|node| node.slot != middle);
        graph.edges[first] = joined;
        graph.edges.remove(second);
    }
}

/// The next two edges that can be joined, with the node between them and the edge that they become.
fn next(graph: &QueryGraph, asked: &Set<SlotId>) -> Option<(SlotId, usize, usize, GraphEdge)> {
    let middles = graph.nodes.iter().filter(|node| node.labels.is_empty() && !asked.contains(&node.slot));
    middles.map(|node| node.slot).find_map(|middle| {
        let touches = |edge: &GraphEdge| edge.left == middle || edge.right == middle;
        let edges: Vec<usize> = (0..graph.edges.len()).filter(|&edge| touches(&graph.edges[edge])).collect();
        let &[first, second] = edges.as_slice() else { return None };
        let joined = joined(&graph.edges[first], &graph.edges[second], middle, asked)?;
        Some((middle, first, second, joined))
    })
}

/// Two edges that meet in a node, as one.
fn joined(first: &GraphEdge, second: &GraphEdge, middle: SlotId, asked: &Set<SlotId>) -> Option<GraphEdge> {
    let is_plain = |edge: &GraphEdge| {
        let has_more = edge.filter.is_some() || edge.repeats || edge.search.is_some() || edge.is_selected;
        !has_more && edge.left != edge.right && !asked.contains(&edge.slot)
    };
    let types = |edge: &GraphEdge| edge.types.iter().cloned().collect::<Set<_>>();
    let is_same = first.clause == second.clause && types(first) == types(second);
    let (left, in_direction) = walked(first, middle, true);
    let (right, out_direction) = walked(second, middle, false);
    if !is_same || !is_plain(first) || !is_plain(second) || in_direction != out_direction {
        return None;
    }
    // A list of edges takes the place of a list.
    let listed = if first.length == EdgeLength::One { second } else { first };
    if listed.length == EdgeLength::One {
        return None;
    }
    let ((min, max), (further_min, further_max)) = (bounds(first)?, bounds(second)?);
    let max = match (max, further_max) {
        (Some(max), Some(further)) => Some(max.checked_add(further)?),
        _ => None,
    };
    let length = EdgeLength::Variable { min: min.checked_add(further_min)?, max };
    Some(GraphEdge {
        slot: listed.slot,
        left,
        right,
        direction: in_direction,
        types: first.types.clone(),
        length,
        filter: None,
        clause: first.clause,
        repeats: false,
        search: None,
        is_selected: false,
        span: first.span,
    })
}

/// The other node of an edge, and its direction when it is walked towards a node or away from it.
fn walked(edge: &GraphEdge, node: SlotId, is_towards: bool) -> (SlotId, Direction) {
    let other = if edge.left == node { edge.right } else { edge.left };
    let is_from_left = (edge.right == node) == is_towards;
    (other, if is_from_left { edge.direction } else { edge.direction.reverse() })
}

/// The least and the greatest number of edges.
fn bounds(edge: &GraphEdge) -> Option<(u32, Option<u32>)> {
    match edge.length {
        EdgeLength::One => Some((1, Some(1))),
        EdgeLength::Variable { min, max } => Some((min, max)),
        EdgeLength::Shortest { .. } => None,
    }
}
