//! Slots that are never null: those that a pattern has bound.

use model::Set;

use crate::plan::{ExpressionKind, Operator, OperatorKind, SlotId};

/// Slots of an operator's output that are never null. Slots that are not among them may be.
pub(crate) fn never_null(operator: &Operator) -> Set<SlotId> {
    let Some(input) = operator.inputs().first().copied() else { return Set::default() };
    match &operator.kind {
        OperatorKind::Project { items, .. } => {
            let below = never_null(input);
            let kept = items.iter().filter(|(_, value)| match &value.kind {
                ExpressionKind::Slot(slot) => below.contains(slot),
                ExpressionKind::Literal(value) => !value.is_null(),
                _ => false,
            });
            kept.map(|(slot, _)| *slot).collect()
        }
        OperatorKind::Aggregate { keys, .. } => {
            let below = never_null(input);
            let kept = keys.iter().filter(|(_, value)| match &value.kind {
                ExpressionKind::Slot(slot) => below.contains(slot),
                _ => false,
            });
            kept.map(|(slot, _)| *slot).collect()
        }
        OperatorKind::Union { branches, slots } => {
            let of_branches: Vec<Set<SlotId>> = branches.iter().map(|(branch, _)| never_null(branch)).collect();
            let is_kept = |place: usize| {
                let mut own = branches.iter().zip(&of_branches);
                own.all(|((_, own), known)| own.get(place).is_some_and(|slot| known.contains(slot)))
            };
            slots.iter().enumerate().filter(|(place, _)| is_kept(*place)).map(|(_, slot)| *slot).collect()
        }
        OperatorKind::Apply { input, subplan } => {
            let mut slots = never_null(input);
            slots.extend(never_null(subplan));
            slots
        }
        OperatorKind::NodeScan { slot, .. }
        | OperatorKind::NodeLookup { slot, .. }
        | OperatorKind::IndexSeek { slot, .. }
        | OperatorKind::NodeUnionScan { slot, .. }
        | OperatorKind::NodeById { slot, .. }
        | OperatorKind::EdgeById { slot, .. } => with(input, [*slot]),
        OperatorKind::Expand { from, edge, to, .. } | OperatorKind::VariableExpand { from, edges: edge, to, .. } => {
            with(input, edge.iter().copied().chain([*from, *to]))
        }
        OperatorKind::ShortestPath { from, to, edges, .. } => with(input, [*from, *to, *edges]),
        OperatorKind::PathSearch { from, to, edges, counts, .. } => with(input, [*from, *to, *edges, *counts]),
        OperatorKind::Intersect { legs, .. } => {
            with(input, legs.iter().map(|leg| leg.from).chain(operator.defined_slots()))
        }
        // A null node has no edges, but what is optional is matched without.
        OperatorKind::CountMatches { count, .. } => with(input, [*count]),
        OperatorKind::PartialAggregate { count, .. } => with(input, *count),
        OperatorKind::Create { .. } => with(input, operator.defined_slots()),
        OperatorKind::CrossProduct { left, right } | OperatorKind::HashJoin { left, right, .. } => {
            let mut slots = never_null(left);
            slots.extend(never_null(right));
            slots
        }
        _ => never_null(input),
    }
}

fn with(input: &Operator, added: impl IntoIterator<Item = SlotId>) -> Set<SlotId> {
    let mut slots = never_null(input);
    slots.extend(added);
    slots
}
