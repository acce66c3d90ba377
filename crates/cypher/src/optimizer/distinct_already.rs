//! Compares no rows that differ anyway.
//!
//! Before: a `Distinct`, or an aggregate of distinct values, over rows of which it is known from the plan that no two are equal in
//! these. After: the slots alone, or the aggregate of all values. A unique property does not tell its nodes apart: several may have NaN.
//! Needs: all other rules that ask whether rows may repeat have run.

use model::{Set, Span};

use super::take_input;
use crate::plan::conditions::at;
use crate::plan::{Expression, ExpressionKind, LookupValue, Operator, OperatorKind, SlotId};

/// Rewrites one operator.
pub(super) fn simplify(operator: &mut Operator) {
    match &mut operator.kind {
        OperatorKind::Distinct { input, slots: compared }
            if apart(input).is_some_and(|by| by.iter().all(|slot| compared.contains(slot))) =>
        {
            let itself = |slot: &SlotId| (*slot, at(Span::default(), ExpressionKind::Slot(*slot)));
            let items = compared.iter().map(itself).collect();
            operator.kind = OperatorKind::Project { input: Box::new(take_input(input)), items };
        }
        OperatorKind::Aggregate { input, keys, aggregates } if aggregates.iter().any(|it| it.distinct) => {
            let Some(by) = apart(input) else { return };
            let keys: Set<SlotId> = keys.iter().filter_map(|(_, key)| key.as_slot()).collect();
            for aggregate in aggregates.iter_mut().filter(|it| it.distinct) {
                let [argument] = aggregate.arguments.as_slice() else { continue };
                let is_told = |slot: &SlotId| keys.contains(slot) || argument.as_slot() == Some(*slot);
                aggregate.distinct = !by.iter().all(is_told);
            }
        }
        _ => {}
    }
}

/// The slots that tell the rows of an operator apart: no two are equal in all of them. `None` if some may be.
fn apart(operator: &Operator) -> Option<Set<SlotId>> {
    match &operator.kind {
        OperatorKind::Unit | OperatorKind::Argument { .. } => Some(Set::default()),
        OperatorKind::NodeScan { input, slot, .. } | OperatorKind::NodeUnionScan { input, slot, .. } => {
            Some(with(apart(input)?, [*slot]))
        }
        OperatorKind::NodeLookup { input, value: LookupValue::One(_), .. }
        | OperatorKind::NodeById { input, value: LookupValue::One(_), .. }
        | OperatorKind::Filter { input, .. }
        | OperatorKind::Extend { input, .. }
        | OperatorKind::Sort { input, .. }
        | OperatorKind::Top { input, .. }
        | OperatorKind::Skip { input, .. }
        | OperatorKind::Limit { input, .. }
        | OperatorKind::SemiApply { input, .. }
        | OperatorKind::CountMatches { input, .. } => apart(input),
        OperatorKind::Expand { input, edge: Some(edge), .. } => Some(with(apart(input)?, [*edge])),
        OperatorKind::CrossProduct { left, right } | OperatorKind::HashJoin { left, right, .. } => {
            Some(with(apart(left)?, apart(right)?))
        }
        OperatorKind::Apply { input, subplan } => Some(with(apart(input)?, apart(subplan)?)),
        OperatorKind::Distinct { slots, .. } => Some(slots.iter().copied().collect()),
        OperatorKind::Aggregate { keys, .. } => Some(keys.iter().map(|(slot, _)| *slot).collect()),
        OperatorKind::Project { input, items } => passed_on(&apart(input)?, items),
        _ => None,
    }
}

fn with(mut slots: Set<SlotId>, others: impl IntoIterator<Item = SlotId>) -> Set<SlotId> {
    slots.extend(others);
    slots
}

/// The slots that a projection passes the values of others on to; `None` if it drops one of them.
fn passed_on(slots: &Set<SlotId>, items: &[(SlotId, Expression)]) -> Option<Set<SlotId>> {
    let passed_on = |slot: &SlotId| {
        let is_slot = |(_, value): &&(SlotId, Expression)| value.as_slot() == Some(*slot);
        items.iter().find(is_slot).map(|(output, _)| *output)
    };
    slots.iter().map(passed_on).collect()
}
