//! Expressions and aggregates that rules put into plans.

use std::sync::Arc;

use model::{Set, Span, Value};

use crate::plan::conditions::at;
use crate::plan::{Aggregate, BinaryOperator, Expression, ExpressionKind, SlotId};

/// The number of rows, less another or one where a condition holds.
pub(super) fn less(weight: SlotId, amount: Option<SlotId>, condition: Expression) -> Expression {
    let amount = amount.map_or_else(|| integer(1), slot);
    case(condition, binary(BinaryOperator::Subtract, slot(weight), amount), slot(weight))
}

/// The number of rows of a group, each of which stands for the number in a slot, or for one.
pub(super) fn number_of_rows(count: SlotId, weight: Option<SlotId>) -> Aggregate {
    let arguments = weight.map(slot).into_iter().collect();
    aggregate(count, if weight.is_some() { "sum" } else { "count" }, arguments)
}

/// The sum of a value over the rows of a group.
pub(super) fn sum(of: SlotId, value: Expression) -> Aggregate {
    aggregate(of, "sum", vec![value])
}

fn aggregate(slot: SlotId, function: &str, arguments: Vec<Expression>) -> Aggregate {
    Aggregate {
        slot,
        function: Arc::from(function),
        distinct: false,
        arguments,
        is_weighable: true,
        span: Span::default(),
    }
}

/// The condition that a number of rows is not zero.
pub(super) fn is_left(weight: SlotId) -> Expression {
    binary(BinaryOperator::Greater, slot(weight), integer(0))
}

pub(super) fn reads(expression: &Expression, slot: SlotId) -> bool {
    let mut read = Set::default();
    expression.free_slots(&mut read);
    read.contains(&slot)
}

pub(super) fn slot(slot: SlotId) -> Expression {
    at(Span::default(), ExpressionKind::Slot(slot))
}

pub(super) fn integer(number: i64) -> Expression {
    at(Span::default(), ExpressionKind::Literal(Value::Int(number)))
}

pub(super) fn binary(operator: BinaryOperator, left: Expression, right: Expression) -> Expression {
    at(Span::default(), ExpressionKind::Binary { operator, left: Box::new(left), right: Box::new(right) })
}

pub(super) fn is_same(left: Expression, right: Expression) -> Expression {
    binary(BinaryOperator::Equal, left, right)
}

pub(super) fn equal(left: SlotId, right: SlotId) -> Expression {
    is_same(slot(left), slot(right))
}

pub(super) fn function(name: &str, of: SlotId) -> Expression {
    at(Span::default(), ExpressionKind::Function { name: Arc::from(name), arguments: vec![slot(of)] })
}

pub(super) fn case(condition: Expression, then: Expression, otherwise: Expression) -> Expression {
    let (whens, otherwise) = (vec![(condition, then)], Some(Box::new(otherwise)));
    at(Span::default(), ExpressionKind::Case { operand: None, whens, otherwise })
}

pub(super) fn different(left: SlotId, right: SlotId) -> Expression {
    binary(BinaryOperator::NotEqual, slot(left), slot(right))
}

/// The condition that an edge, which has one of the types `of_edge`, has one of others; `None` if it must have. No types are any.
pub(super) fn has_type(edge: SlotId, of_edge: &[Arc<str>], types: &[Arc<str>]) -> Option<Expression> {
    if types.is_empty() || (!of_edge.is_empty() && of_edge.iter().all(|name| types.contains(name))) {
        return None;
    }
    let names = types.iter().map(|name| Value::from(&**name)).collect::<Vec<Value>>();
    let names = at(Span::default(), ExpressionKind::Literal(Value::from(names)));
    Some(binary(BinaryOperator::In, function("type", edge), names))
}
