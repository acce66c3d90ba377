//! Drops tests for labels that every node carries.
//!
//! Before: a plan that only reads, and exact statistics of the snapshot it will read.
//! After: no test of a label that all nodes of that snapshot carry; the plan holds for that snapshot only.

use std::sync::Arc;

use super::nullability::never_null;
use super::take_input;
use crate::catalog::CompileContext;
use crate::plan::{Expression, ExpressionKind, Operator, OperatorKind, SlotId};
use crate::slots::Slots;

/// Drops them from one operator, and notes them at its slots; true if it dropped any.
pub(super) fn drop(operator: &mut Operator, slots: &mut Slots, context: &CompileContext<'_>) -> bool {
    let mut covers = |slot: SlotId, label: &Arc<str>| {
        let statistics = context.statistics;
        let count = context.schema.label(label).map_or(0, |label| statistics.label(label));
        let is_covered = statistics.nodes > 0 && count == statistics.nodes;
        if is_covered {
            slots.cover(slot, label);
        }
        is_covered
    };
    match &mut operator.kind {
        OperatorKind::NodeScan { slot, labels, .. } | OperatorKind::Intersect { to: slot, labels, .. } => {
            let before = labels.len();
            labels.retain(|label| !covers(*slot, label));
            labels.len() < before
        }
        OperatorKind::Filter { input, predicate } => {
            let known = never_null(input);
            let is_known = |slot: SlotId| known.contains(&slot);
            let conjuncts = match &mut predicate.kind {
                ExpressionKind::And(items) => items.as_mut_slice(),
                _ => std::slice::from_mut(predicate),
            };
            let mut dropped = false;
            for conjunct in conjuncts {
                dropped |= drop_from(conjunct, &mut covers, &is_known);
            }
            if let ExpressionKind::And(items) = &mut predicate.kind {
                items.retain(|item| !is_true(item));
                if items.len() == 1 {
                    *predicate = items.swap_remove(0);
                }
            }
            if is_true(predicate) || matches!(&predicate.kind, ExpressionKind::And(items) if items.is_empty()) {
                *operator = take_input(input);
            }
            dropped
        }
        _ => false,
    }
}

fn drop_from(
    conjunct: &mut Expression,
    covers: &mut dyn FnMut(SlotId, &Arc<str>) -> bool,
    is_known: &dyn Fn(SlotId) -> bool,
) -> bool {
    let ExpressionKind::HasLabels { object, labels } = &mut conjunct.kind else { return false };
    let ExpressionKind::Slot(slot) = object.kind else { return false };
    let before = labels.len();
    if is_known(slot) {
        labels.retain(|label| !covers(slot, label));
    }
    let dropped = labels.len() < before;
    if dropped && labels.is_empty() {
        conjunct.kind = ExpressionKind::Literal(model::Value::Bool(true));
    }
    dropped
}

fn is_true(expression: &Expression) -> bool {
    matches!(expression.kind, ExpressionKind::Literal(model::Value::Bool(true)))
}
