//! Paths of a fixed length written out as steps of one edge each, which can be counted.
//!
//! Before: a `VariableExpand` of one length up to [`LENGTH_MAX`], whose edges nobody reads, to a node that is not bound.
//! After: as many `Expand`s, each edge different from those before, which is what a path of a variable length says too.

use crate::plan::{Operator, OperatorId, OperatorKind, SlotId, SlotKind};
use crate::slots::Slots;

/// Most edges of a path that is written out: of long paths only the last edges can be counted, the others are walked.
const LENGTH_MAX: u32 = 6;

/// A plan whose paths of a fixed length are written out, and the nodes between their edges and at their ends; `None` if it
/// has no such path.
pub(in crate::optimizer) fn written_out(plan: &Operator, slots: &mut Slots) -> Option<(Operator, Vec<SlotId>)> {
    if !chain(plan).any(|operator| fixed_length(&operator.kind).is_some()) {
        return None;
    }
    let mut written = plan.clone();
    let mut nodes = Vec::new();
    let mut place = &mut written;
    loop {
        if let Some(length) = fixed_length(&place.kind) {
            write_out(place, length, slots, &mut nodes);
        }
        let Some(below) = place.inputs_mut().into_iter().next() else { break };
        place = below;
    }
    Some((written, nodes))
}

/// True if a plan still walks to each of these nodes.
pub(super) fn walks_to_all(plan: &Operator, nodes: &[SlotId]) -> bool {
    let is_walked_to = |node: &SlotId| {
        chain(plan).any(|operator| matches!(&operator.kind, OperatorKind::Expand { to, .. } if to == node))
    };
    nodes.iter().all(is_walked_to)
}

/// The operators from the top down, by the first input of each.
fn chain(plan: &Operator) -> impl Iterator<Item = &Operator> {
    std::iter::successors(Some(plan), |operator| operator.inputs().into_iter().next())
}

/// The number of edges of a path that can be written out.
fn fixed_length(kind: &OperatorKind) -> Option<u32> {
    match kind {
        OperatorKind::VariableExpand {
            min,
            max: Some(max),
            edges: None,
            into: false,
            filter: None,
            repeats: false,
            running: None,
            ..
        } => (min == max && (1..=LENGTH_MAX).contains(min)).then_some(*min),
        _ => None,
    }
}

fn write_out(path: &mut Operator, length: u32, slots: &mut Slots, nodes: &mut Vec<SlotId>) {
    let rows = path.estimated_rows;
    let OperatorKind::VariableExpand { input, from, direction, types, to, distinct_from, .. } = &mut path.kind else {
        return;
    };
    let (direction, types, end) = (*direction, std::mem::take(types), *to);
    let (mut from, mut distinct_from) = (*from, std::mem::take(distinct_from));
    let mut plan = super::super::take_input(input);
    let factor = (rows / plan.estimated_rows.max(1.0)).max(0.0).powf(1.0 / f64::from(length));
    for step in 1..=length {
        let to = if step == length { end } else { slots.unnamed(SlotKind::Node) };
        let edge = slots.unnamed(SlotKind::Edge);
        let estimated_rows = if step == length { rows } else { plan.estimated_rows * factor };
        let kind = OperatorKind::Expand {
            input: Box::new(plan),
            from,
            direction,
            types: types.clone(),
            edge: Some(edge),
            to,
            into: false,
            distinct_from: distinct_from.clone(),
            choice: None,
        };
        plan = Operator { id: OperatorId(0), estimated_rows, kind };
        distinct_from.push(edge);
        nodes.push(to);
        from = to;
    }
    *path = plan;
}
