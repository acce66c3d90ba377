//! Makes `count(x)` the count of rows where `x` is never null, so that `x` need not be there at all.
//!
//! Before: any plan. After: `count` of a slot that a pattern binds has no argument.

use super::nullability::never_null;
use crate::plan::{ExpressionKind, Operator, OperatorKind};

/// Simplifies the aggregates of one operator.
pub(super) fn simplify(operator: &mut Operator) {
    let OperatorKind::Aggregate { input, aggregates, .. } = &mut operator.kind else { return };
    let slots = never_null(input);
    for aggregate in aggregates {
        let counts = &*aggregate.function == "count" && !aggregate.distinct;
        if let [argument] = aggregate.arguments.as_slice()
            && let ExpressionKind::Slot(slot) = argument.kind
            && counts
            && slots.contains(&slot)
        {
            aggregate.arguments.clear();
        }
    }
}
