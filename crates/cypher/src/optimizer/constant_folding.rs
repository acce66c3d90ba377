//! Computes operations on constants once, and drops conditions that are always true.
//!
//! Before: any plan. After: no operator on constants alone whose result cannot be an error; anything that would fail
//! at run time is left to fail there.

use std::cmp::Ordering;

use model::Value;

use super::take_input;
use crate::plan::{BinaryOperator, Expression, ExpressionKind, Operator, OperatorKind};

/// Folds the expressions of one operator.
pub(super) fn fold(operator: &mut Operator) {
    operator.expressions_mut().into_iter().for_each(fold_expression);
    if let OperatorKind::Filter { input, predicate } = &mut operator.kind
        && matches!(predicate.kind, ExpressionKind::Literal(Value::Bool(true)))
    {
        *operator = take_input(input);
    }
}

fn fold_expression(expression: &mut Expression) {
    expression.operands_mut().into_iter().for_each(fold_expression);
    let folded = match &mut expression.kind {
        ExpressionKind::Not(inner) => match literal(inner) {
            Some(Value::Bool(value)) => Some(Value::Bool(!value)),
            Some(Value::Null) => Some(Value::Null),
            _ => None,
        },
        ExpressionKind::Negate(inner) => match literal(inner) {
            Some(Value::Int(value)) => value.checked_neg().map(Value::Int),
            Some(Value::Float(value)) => Some(Value::Float(-value)),
            _ => None,
        },
        ExpressionKind::IsNull(inner) => literal(inner).map(|value| Value::Bool(value.is_null())),
        ExpressionKind::IsNotNull(inner) => literal(inner).map(|value| Value::Bool(!value.is_null())),
        ExpressionKind::And(items) => junction(items, true),
        ExpressionKind::Or(items) => junction(items, false),
        ExpressionKind::List(items) => {
            let values: Option<Vec<Value>> = items.iter().map(|item| literal(item).cloned()).collect();
            values.map(Value::list)
        }
        ExpressionKind::Binary { operator, left, right } => match (literal(left), literal(right)) {
            (Some(left), Some(right)) => binary(*operator, left, right),
            _ => None,
        },
        _ => None,
    };
    if let Some(value) = folded {
        expression.kind = ExpressionKind::Literal(value);
    } else if let ExpressionKind::And(items) | ExpressionKind::Or(items) = &mut expression.kind
        && items.len() == 1
        && is_boolean(&items[0])
    {
        *expression = items.swap_remove(0);
    }
}

fn literal(expression: &Expression) -> Option<&Value> {
    if let ExpressionKind::Literal(value) = &expression.kind { Some(value) } else { None }
}

/// Drops what does not change the answer (`true` of a conjunction), and finds what settles it (`false`).
/// The rest must be known to be conditions: `true AND 1` is an error that must stay one.
fn junction(items: &mut Vec<Expression>, neutral: bool) -> Option<Value> {
    if !items.iter().all(is_boolean) {
        return None;
    }
    if items.iter().any(|item| matches!(literal(item), Some(Value::Bool(value)) if *value != neutral)) {
        let others_cannot_fail = items.iter().all(|item| literal(item).is_some());
        return others_cannot_fail.then_some(Value::Bool(!neutral));
    }
    items.retain(|item| !matches!(literal(item), Some(Value::Bool(_))));
    items.is_empty().then_some(Value::Bool(neutral))
}

/// True if it gives a boolean or null, or fails by itself.
fn is_boolean(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Literal(value) => matches!(value, Value::Bool(_) | Value::Null),
        ExpressionKind::Not(_) | ExpressionKind::And(_) | ExpressionKind::Or(_) | ExpressionKind::Xor(..) => true,
        ExpressionKind::IsNull(_) | ExpressionKind::IsNotNull(_) | ExpressionKind::HasLabels { .. } => true,
        ExpressionKind::Quantifier { .. } => true,
        ExpressionKind::Binary { operator, .. } => !matches!(
            operator,
            BinaryOperator::Add
                | BinaryOperator::Subtract
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo
                | BinaryOperator::Power
                | BinaryOperator::Concatenate
        ),
        _ => false,
    }
}

fn binary(operator: BinaryOperator, left: &Value, right: &Value) -> Option<Value> {
    let ordered = |test: fn(Ordering) -> bool| match (left, right) {
        (Value::Int(_), Value::Int(_)) | (Value::String(_), Value::String(_)) => {
            left.compare(right).map(|order| Value::Bool(test(order)))
        }
        _ => None,
    };
    match operator {
        BinaryOperator::Equal => Some(left.equals(right).map_or(Value::Null, Value::Bool)),
        BinaryOperator::NotEqual => Some(left.equals(right).map_or(Value::Null, |equal| Value::Bool(!equal))),
        BinaryOperator::Less => ordered(Ordering::is_lt),
        BinaryOperator::LessOrEqual => ordered(Ordering::is_le),
        BinaryOperator::Greater => ordered(Ordering::is_gt),
        BinaryOperator::GreaterOrEqual => ordered(Ordering::is_ge),
        _ => arithmetic(operator, left, right),
    }
}

fn arithmetic(operator: BinaryOperator, left: &Value, right: &Value) -> Option<Value> {
    match (operator, left, right) {
        (BinaryOperator::Add, Value::Int(a), Value::Int(b)) => a.checked_add(*b).map(Value::Int),
        (BinaryOperator::Subtract, Value::Int(a), Value::Int(b)) => a.checked_sub(*b).map(Value::Int),
        (BinaryOperator::Multiply, Value::Int(a), Value::Int(b)) => a.checked_mul(*b).map(Value::Int),
        (BinaryOperator::Add, Value::Float(a), Value::Float(b)) => Some(Value::Float(a + b)),
        (BinaryOperator::Subtract, Value::Float(a), Value::Float(b)) => Some(Value::Float(a - b)),
        (BinaryOperator::Multiply, Value::Float(a), Value::Float(b)) => Some(Value::Float(a * b)),
        (BinaryOperator::Add, Value::String(a), Value::String(b)) => Some(Value::from(format!("{a}{b}"))),
        _ => None,
    }
}
