//! `size` of a list that a subplan collects: the number of its rows.
//!
//! Before: any expression. After: `size([(a)-->(b) | b.x])` and `size(COLLECT { … })` are `COUNT { … }`, if nothing that is
//! collected can fail.

use std::sync::Arc;

use crate::plan::{Expression, ExpressionKind, Operator, OperatorKind, SlotKind, SubqueryKind};
use crate::slots::Slots;

/// Simplifies the expressions of an operator.
pub(super) fn simplify_all(operator: &mut Operator, slots: &Slots) {
    operator.expressions_mut().into_iter().for_each(|expression| simplify(expression, slots));
}

/// Simplifies an expression and what it consists of.
pub(crate) fn simplify(expression: &mut Expression, slots: &Slots) {
    expression.operands_mut().into_iter().for_each(|operand| simplify(operand, slots));
    if let ExpressionKind::Function { name, arguments } = &expression.kind
        && &**name == "size"
        && let [list] = arguments.as_slice()
        && let ExpressionKind::Subquery { kind: SubqueryKind::Collect(_), plan } = &list.kind
        && let OperatorKind::Project { input, items } = &plan.kind
        && items.iter().all(|(_, item)| cannot_fail(item, slots))
    {
        let plan = Arc::new((**input).clone());
        expression.kind = ExpressionKind::Subquery { kind: SubqueryKind::Count, plan };
    }
}

fn cannot_fail(item: &Expression, slots: &Slots) -> bool {
    match &item.kind {
        ExpressionKind::Literal(_) | ExpressionKind::Slot(_) => true,
        ExpressionKind::Property { object, .. } => match object.kind {
            ExpressionKind::Slot(slot) => matches!(slots.kind(slot), SlotKind::Node | SlotKind::Edge),
            _ => false,
        },
        _ => false,
    }
}
