//! Three edges in a row, counted from the node between the first and the second: the first is not the third.
//!
//! For a middle edge from `b` to `c`, all pairs of a first and a third edge are a product of two sums. Taken off are the
//! pairs in which an edge is the middle one, where that must not be, and those in which both are the same edge. An edge
//! that can be both joins `b` and `c` too, so it leads the first branch to `c` and the third to `b`; and if `b` is `c`, it
//! leads both to the same node.
//!
//! Cost: the edges of the first and of the second branch, each once. Which edge an edge is need not be read: its ends, its
//! type and its direction tell.

use model::store::EdgeIds;
use model::{NodeId, Result};

use super::evaluation::{Evaluation, SameEdge};
use super::groups::with_both;
use super::lists::Edges;
use super::tables::Message;
use super::tree::{Branch, EdgesAcross, Node};

/// The edges at some nodes, what they come to, and how they can coincide.
struct Row<'n> {
    rule: &'n EdgesAcross,
    nodes: &'n [NodeId],
    near: Edges,
    /// For each of these, in how many ways the tree goes on.
    near_each: Vec<u64>,
    over: Edges,
    /// For each of these, what the node it leads to stands for.
    middle: Vec<Message>,
    /// For each of these, what that node stands for as the end of the first branch.
    to_near: Vec<u64>,
    /// For each node, what it stands for as the end of the third branch.
    to_far: Vec<u64>,
    /// For each node with a loop among the middle edges, the sum over the edges that can be first and third.
    at_loops: Vec<u128>,
    /// The first edge as the third, the second as the first, and the second as the third.
    near_as_far: SameEdge,
    over_as_near: SameEdge,
    over_as_far: SameEdge,
}

/// For each node, in how many ways the three branches can be matched.
pub(super) fn count(
    evaluation: &mut Evaluation<'_, '_>,
    node: &Node,
    rule: &EdgesAcross,
    nodes: &[NodeId],
) -> Result<Vec<u64>> {
    let (near, over) = (&node.branches[rule.near], &node.branches[rule.over]);
    let far = &over.node.branches[rule.far];
    let kept = with_both(evaluation, near, over, nodes)?;
    let row = Row::of(evaluation, rule, (near, over, far), &kept.nodes)?;
    let mut marks = std::mem::take(&mut evaluation.marks);
    marks.prepare(&row.near.neighbors, &mut evaluation.charge);
    let mut factors = Vec::with_capacity(kept.nodes.len());
    for (at, &node) in kept.nodes.iter().enumerate() {
        for edge in row.near.range(at) {
            let end = row.near.neighbors[edge];
            if end != node && row.near_as_far.can_be(&row.near, edge, false) {
                marks.add(end, 1);
            }
        }
        factors.push(row.total(at, |end| marks.get(end)).unwrap_or(u64::MAX));
        marks.clear(&row.near.neighbors[row.near.range(at)]);
    }
    evaluation.marks = marks;
    evaluation.runtime.environment.interrupt.check()?;
    Ok(kept.spread(factors))
}

impl<'n> Row<'n> {
    fn of(
        evaluation: &mut Evaluation<'_, '_>,
        rule: &'n EdgesAcross,
        (near, over, far): (&Branch, &Branch, &Branch),
        nodes: &'n [NodeId],
    ) -> Result<Row<'n>> {
        let runtime = evaluation.runtime;
        let edges = |branch: &Branch| Edges::of(runtime, nodes, branch.direction, &branch.types, EdgeIds::Omit);
        let (near_edges, over_edges) = (edges(near)?, edges(over)?);
        let near_each = evaluation.contributions(near, nodes, &near_edges)?;
        let ends = &over_edges.neighbors;
        let known = evaluation.know(&over.node, ends)?;
        let middle = evaluation.messages(&known, ends).collect();
        let to_near = evaluation.values(&near.node, ends)?;
        let to_far = evaluation.values(&far.node, nodes)?;
        let as_far_here = SameEdge::from_start(runtime, near, far);
        let mut at_loops = vec![0; nodes.len()];
        for (at, &node) in nodes.iter().enumerate() {
            if over_edges.neighbors[over_edges.range(at)].contains(&node) {
                let range = near_edges.range(at);
                let each = evaluation.values(&far.node, &near_edges.neighbors[range.clone()])?;
                let both = range
                    .zip(each)
                    .filter(|&(edge, _)| as_far_here.can_be(&near_edges, edge, near_edges.neighbors[edge] == node));
                let products = both.map(|(edge, each)| u128::from(near_each[edge]) * u128::from(each));
                at_loops[at] = products.fold(0, u128::saturating_add);
            }
        }
        Ok(Row {
            rule,
            nodes,
            near_as_far: SameEdge::of(runtime, near, far),
            over_as_near: SameEdge::from_start(runtime, over, near),
            over_as_far: SameEdge::of(runtime, over, far),
            near: near_edges,
            near_each,
            over: over_edges,
            middle,
            to_near,
            to_far,
            at_loops,
        })
    }

    /// The number of one node, given how many first edges that can be third ones lead to a node; `None` if it is larger
    /// than 64 bits hold.
    fn total(&self, at: usize, joining: impl Fn(NodeId) -> u64) -> Option<u64> {
        let EdgesAcross { near_over, over_far, .. } = *self.rule;
        let first = self.near_each[self.near.range(at)].iter().fold(0_u64, |sum, &it| sum.saturating_add(it));
        let mut total = 0_u128;
        for edge in self.over.range(at).filter(|_| first != 0) {
            let (end, Message { value, rest, .. }) = (self.over.neighbors[edge], self.middle[edge]);
            if value == 0 {
                continue;
            }
            let is_loop = end == self.nodes[at];
            let is_near = self.over_as_near.can_be(&self.over, edge, is_loop);
            let is_far = self.over_as_far.can_be(&self.over, edge, is_loop);
            let (near, far, rest) = (u128::from(self.to_near[edge]), u128::from(self.to_far[at]), u128::from(rest));
            let firsts = u128::from(first) - if near_over && is_near { near } else { 0 };
            if firsts == 0 {
                continue;
            }
            let lost = if over_far && is_far { rest.checked_mul(far)? } else { 0 };
            let thirds = u128::from(value).checked_sub(lost)?;
            if value == u64::MAX || (first == u64::MAX && thirds != 0) {
                return None;
            }
            let itself = u128::from((near_over || over_far) && is_near && is_far);
            let same = match is_loop {
                true => self.at_loops[at].checked_sub(itself * near * far)?,
                false => (u128::from(joining(end)) - itself).checked_mul(near)?.checked_mul(far)?,
            };
            total = total.checked_add(firsts.checked_mul(thirds)?.checked_sub(same.checked_mul(rest)?)?)?;
        }
        u64::try_from(total).ok()
    }
}
