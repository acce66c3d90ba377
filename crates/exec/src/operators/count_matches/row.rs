//! Three edges in a row, counted from the node that the first leads away from: the first is not the third.
//!
//! For a first edge from `a` to `b`, what `b` stands for counts every second and third edge. Taken off are the walks whose second
//! edge is the first, where that must not be, and those whose third edge is. The third leads from an end of the first to the other:
//! from `a` to `b`, so that the second joins `b` with `a`; or from `b` to `a`, so that the second joins `b` with itself.
//!
//! Cost: the edges of the first branch, and those of the second from the same nodes, against its direction. Which edge an edge is
//! need not be read: its ends, its type and its direction tell. The edges of a node to itself are counted with what it stands for.

use model::store::EdgeIds;
use model::{NodeId, Result};

use super::evaluation::{Evaluation, SameEdge};
use super::lists::Edges;
use super::tables::Message;
use super::tree::Branch;

/// The second and the third branch, and whether the first edge must differ from the second too.
#[derive(Clone, Copy)]
pub(super) struct Row<'b> {
    pub(super) second: &'b Branch,
    pub(super) third: &'b Branch,
    pub(super) first_second: bool,
}

/// Numbers of the nodes at both ends of first edges, as further nodes of a walk.
struct Ends {
    /// By the place of a node: what it stands for as the node between the second edge and the third, and as the last.
    start_as_middle: Vec<u64>,
    start_as_middle_rest: Vec<u64>,
    start_as_last: Vec<u64>,
    /// By the edge: what the node that it leads to stands for.
    end_as_middle_rest: Vec<u64>,
    end_as_last: Vec<u64>,
}

/// For each first edge from a batch of nodes, in how many ways the tree goes on from there; `messages` has what the nodes stand for to
/// which they lead.
pub(super) fn contributions(
    evaluation: &mut Evaluation<'_, '_>,
    first: &Branch,
    row: Row<'_>,
    (nodes, edges, messages): (&[NodeId], &Edges, &[Message]),
) -> Result<Vec<u64>> {
    let runtime = evaluation.runtime;
    let second_as_first = SameEdge::of(runtime, first, row.second);
    let third_from_start = SameEdge::from_start(runtime, first, row.third);
    let third_from_end = SameEdge::of(runtime, first, row.third);
    let ends = Ends::of(evaluation, row, nodes, edges, first.node.counts_loops)?;
    let backwards = (row.second.direction.reverse(), &row.second.types);
    let joining = match backwards == (first.direction, &first.types) {
        true => None,
        false => Some(Edges::of(runtime, nodes, backwards.0, backwards.1, EdgeIds::Omit)?),
    };
    let joining = joining.as_ref().unwrap_or(edges);
    let is_told = row.first_second || row.second.chained.is_some();
    let mut marks = std::mem::take(&mut evaluation.marks);
    marks.prepare(&joining.neighbors, &mut evaluation.charge);
    let mut each = Vec::with_capacity(messages.len());
    for (at, &node) in nodes.iter().enumerate() {
        joining.neighbors[joining.range(at)].iter().for_each(|&end| marks.add(end, 1));
        for edge in edges.range(at) {
            let (end, Message { value, rest, loops }) = (edges.neighbors[edge], messages[edge]);
            if value == 0 || value == u64::MAX || rest == 0 {
                each.push(value);
                continue;
            }
            let is_loop = end == node;
            let is_second = second_as_first.can_be(edges, edge, is_loop);
            let is_third = third_from_start.can_be(edges, edge, is_loop);
            let again = if is_third { product(ends.start_as_middle_rest[at], ends.end_as_last[edge]) } else { 0 };
            let mut lost = 0_u128;
            if row.first_second && is_second {
                let less = if row.second.chained.is_some() { again } else { 0 };
                lost += u128::from(ends.start_as_middle[at]).saturating_sub(less);
            }
            if is_third {
                let seconds = u128::from(marks.get(end)) - u128::from(is_told && is_second);
                lost = lost.saturating_add(again.saturating_mul(seconds));
            }
            if !is_loop && loops != 0 && third_from_end.can_be(edges, edge, false) {
                let turned = product(ends.end_as_middle_rest[edge], ends.start_as_last[at]);
                lost = lost.saturating_add(turned.saturating_mul(u128::from(loops)));
            }
            let lost = u64::try_from(lost.saturating_mul(u128::from(rest))).unwrap_or(u64::MAX);
            each.push(value.saturating_sub(lost));
        }
        marks.clear(&joining.neighbors[joining.range(at)]);
    }
    evaluation.marks = marks;
    Ok(each)
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

impl Ends {
    fn of(
        evaluation: &mut Evaluation<'_, '_>,
        row: Row<'_>,
        nodes: &[NodeId],
        edges: &Edges,
        may_turn: bool,
    ) -> Result<Ends> {
        let (middle, last) = (&row.second.node, &row.third.node);
        let known = evaluation.know(middle, nodes)?;
        let (start_as_middle, start_as_middle_rest) =
            evaluation.messages(&known, nodes).map(|message| (message.value, message.rest)).unzip();
        let end_as_last = evaluation.values(last, &edges.neighbors)?;
        let (mut end_as_middle_rest, mut start_as_last) = (Vec::new(), Vec::new());
        if may_turn {
            end_as_middle_rest = evaluation.rests(middle, &edges.neighbors)?;
            start_as_last = evaluation.values(last, nodes)?;
        }
        Ok(Ends { start_as_middle, start_as_middle_rest, start_as_last, end_as_middle_rest, end_as_last })
    }
}
