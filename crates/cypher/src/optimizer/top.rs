//! Makes `Sort` and `Limit` one `Top`, which keeps only the rows that will be wanted.
//!
//! Before: a limit above a sort, maybe with a skip of known length between them. After: a `Top` in place of the two.

use model::Value;

use super::edge_range::is_fixed;
use super::take_input;
use crate::plan::{Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SortKey};

/// Merges one limit with the sort below it.
pub(super) fn merge(operator: &mut Operator) {
    let rows = operator.estimated_rows;
    let OperatorKind::Limit { input, count } = &mut operator.kind else { return };
    match &mut input.kind {
        OperatorKind::Sort { input: sorted, keys } => {
            let (keys, limit) = (std::mem::take(keys), count.clone());
            let below = Box::new(take_input(sorted));
            operator.kind = OperatorKind::Top { input: below, keys, limit };
        }
        OperatorKind::Skip { input: skipped, count: skip } => {
            let OperatorKind::Sort { input: sorted, keys } = &mut skipped.kind else { return };
            // Only of known numbers is it certain that the sum does not overflow.
            let Some(both) = sum(skip, count) else { return };
            let (keys, skip) = (std::mem::take(keys), skip.clone());
            let below = Box::new(take_input(sorted));
            let skipped_rows =
                if let ExpressionKind::Literal(Value::Int(count)) = skip.kind { count as f64 } else { 0.0 };
            let kind = OperatorKind::Top { input: below, keys, limit: both };
            let top = Operator { id: OperatorId(0), estimated_rows: rows + skipped_rows, kind };
            operator.kind = OperatorKind::Skip { input: Box::new(top), count: skip };
        }
        _ => {}
    }
}

/// The input of which an operator wants the first rows alone, their order, and their number, which is the same for all rows.
pub(super) fn wanted(operator: &mut Operator) -> Option<(&mut Operator, &[SortKey], Expression)> {
    let (input, keys, limit): (&mut Operator, &[SortKey], _) = match &mut operator.kind {
        OperatorKind::Top { input, keys, limit } => (input, keys, limit.clone()),
        OperatorKind::Limit { input, count } => {
            let limit = match &input.kind {
                OperatorKind::Skip { count: skipped, .. } => sum(skipped, count)?,
                _ => count.clone(),
            };
            (below_skip(input), &[], limit)
        }
        _ => return None,
    };
    is_fixed(&limit).then_some((input, keys, limit))
}

fn below_skip(operator: &mut Operator) -> &mut Operator {
    if !matches!(operator.kind, OperatorKind::Skip { .. }) {
        return operator;
    }
    operator.inputs_mut().swap_remove(0)
}

/// The sum of two numbers of rows, where both are known.
fn sum(skip: &Expression, limit: &Expression) -> Option<Expression> {
    match (&skip.kind, &limit.kind) {
        (ExpressionKind::Literal(Value::Int(skip)), ExpressionKind::Literal(Value::Int(count))) => {
            let both = skip.checked_add(*count)?;
            Some(Expression { kind: ExpressionKind::Literal(Value::Int(both)), span: limit.span })
        }
        _ => None,
    }
}
