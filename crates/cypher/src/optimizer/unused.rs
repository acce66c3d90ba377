//! Drops what nobody uses: edges that need no slot, columns that are passed on to no one.
//!
//! Before: any plan. After: every slot that is computed is used, unless computing it decides which rows there are.

use model::Set;

use super::for_each_operator;
use crate::plan::{Expression, ExpressionKind, Operator, OperatorKind, SlotId, SubqueryKind};

/// Drops until nothing is left to drop.
pub(super) fn drop_unused(root: &mut Operator, columns: &[SlotId]) {
    loop {
        let mut used: Set<SlotId> = columns.iter().copied().collect();
        collect(root, &mut used);
        let mut dropped = false;
        for_each_operator(root, &mut |operator| dropped |= drop_from(operator, &used));
        if !dropped {
            return;
        }
    }
}

/// Every slot that is read; to pass a slot on unchanged is not to read it.
fn collect(operator: &Operator, used: &mut Set<SlotId>) {
    used.extend(operator.plain_uses());
    match &operator.kind {
        OperatorKind::Project { items, .. } => {
            for (slot, value) in items {
                if !matches!(value.kind, ExpressionKind::Slot(passed) if passed == *slot) {
                    collect_expression(value, used);
                }
            }
        }
        _ => operator.expressions().into_iter().for_each(|expression| collect_expression(expression, used)),
    }
    operator.inputs().into_iter().for_each(|input| collect(input, used));
}

fn collect_expression(expression: &Expression, used: &mut Set<SlotId>) {
    match &expression.kind {
        ExpressionKind::Subquery { kind, plan } => {
            collect(plan, used);
            if let SubqueryKind::Collect(slot) = kind {
                used.insert(*slot);
            }
        }
        ExpressionKind::Slot(_) | ExpressionKind::Path { .. } => expression.used_slots(used),
        _ => expression.operands().into_iter().for_each(|operand| collect_expression(operand, used)),
    }
}

/// Drops unused slots of one operator; true if it dropped any.
fn drop_from(operator: &mut Operator, used: &Set<SlotId>) -> bool {
    let is_used = |slot: &SlotId| used.contains(slot);
    match &mut operator.kind {
        OperatorKind::Expand { edge, .. } | OperatorKind::VariableExpand { edges: edge, .. } => {
            let is_dropped = edge.is_some_and(|slot| !is_used(&slot));
            if is_dropped {
                *edge = None;
            }
            is_dropped
        }
        OperatorKind::Intersect { legs, .. } => {
            let mut dropped = false;
            for leg in legs {
                dropped |= leg.edge.take_if(|slot| !is_used(slot)).is_some();
            }
            dropped
        }
        OperatorKind::Project { input, items } => {
            let dropped = retain(items, |(slot, _)| is_used(slot));
            if items.is_empty() || repeats(items, input) {
                *operator = super::take_input(input);
                return true;
            }
            dropped
        }
        OperatorKind::Extend { input, items } => {
            let dropped = retain(items, |(slot, _)| is_used(slot));
            if items.is_empty() {
                *operator = super::take_input(input);
                return true;
            }
            dropped
        }
        OperatorKind::Aggregate { aggregates, .. } => retain(aggregates, |aggregate| is_used(&aggregate.slot)),
        OperatorKind::Call { yields, .. } => retain(yields, |(_, slot)| is_used(slot)),
        OperatorKind::Optional { subplan, slots, .. } => {
            let mut defined = Set::default();
            defined_slots(subplan, &mut defined);
            retain(slots, |slot| defined.contains(slot))
        }
        OperatorKind::Argument { slots } => retain(slots, is_used),
        _ => false,
    }
}

/// True if a projection only passes on all that its input gives.
fn repeats(items: &[(SlotId, Expression)], input: &Operator) -> bool {
    let given = match &input.kind {
        OperatorKind::Project { .. } | OperatorKind::Aggregate { .. } | OperatorKind::Union { .. } => {
            input.defined_slots()
        }
        OperatorKind::Distinct { slots, .. } => slots.clone(),
        _ => return false,
    };
    let passes_on = |(slot, value): &(SlotId, Expression)| {
        given.contains(slot) && matches!(value.kind, ExpressionKind::Slot(passed) if passed == *slot)
    };
    items.len() == given.len() && items.iter().all(passes_on)
}

fn retain<T>(items: &mut Vec<T>, keep: impl FnMut(&T) -> bool) -> bool {
    let before = items.len();
    items.retain(keep);
    items.len() < before
}

fn defined_slots(operator: &Operator, slots: &mut Set<SlotId>) {
    slots.extend(operator.defined_slots());
    operator.inputs().into_iter().for_each(|input| defined_slots(input, slots));
}
