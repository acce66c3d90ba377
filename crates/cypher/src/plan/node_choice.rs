//! Conditions on the nodes of a scan that a store may test itself, and the first nodes that are enough.

use std::ops::Bound;
use std::sync::Arc;

use model::condition::{Condition, Test};
use model::{KeyOrder, Result, Value, error};

use super::{BinaryOperator, Expression, ExpressionKind, SlotId};

/// Choice of nodes that a scan gives.
#[derive(Clone, Debug, Default)]
pub struct NodeChoice {
    /// Conditions that all must be true, each of the form that [`node_test`] takes apart.
    pub conditions: Vec<Expression>,
    /// The nodes that are enough. The scan may give more, and in any order.
    pub first: Option<NodesFirst>,
}

/// The first nodes in an order.
#[derive(Clone, Debug)]
pub struct NodesFirst {
    /// Properties that they are ordered by, and the direction of each; none for any nodes.
    pub order: Vec<(Arc<str>, KeyOrder)>,
    /// Number of nodes: without slots.
    pub limit: Expression,
}

/// A condition on properties of one node with values that are the same for all nodes.
#[derive(Clone, Debug)]
pub enum NodeTest<'a> {
    /// A property compared with a value.
    Compare {
        /// The property.
        key: &'a Arc<str>,
        /// The comparison, with the property on its left.
        operator: BinaryOperator,
        /// True if it must be false.
        is_negated: bool,
        /// The value, without slots.
        value: &'a Expression,
    },
    /// A property that is null, or is not.
    Null {
        /// The property.
        key: &'a Arc<str>,
        /// True for `IS NULL`.
        is_null: bool,
    },
    /// One of these must be true.
    Any(Vec<NodeTest<'a>>),
    /// All of these must be true.
    All(Vec<NodeTest<'a>>),
}

/// Takes a condition on the node of a slot apart; nothing if it is of another form.
pub fn node_test(condition: &Expression, slot: SlotId) -> Option<NodeTest<'_>> {
    test_of(condition, slot, false)
}

/// The test that a condition is true or, if it is negated, false.
fn test_of(condition: &Expression, slot: SlotId, is_negated: bool) -> Option<NodeTest<'_>> {
    match &condition.kind {
        // By De Morgan's laws, which hold of null too.
        ExpressionKind::And(items) if is_negated => tests_of(items, slot, is_negated).map(NodeTest::Any),
        ExpressionKind::Or(items) if is_negated => tests_of(items, slot, is_negated).map(NodeTest::All),
        ExpressionKind::And(items) => tests_of(items, slot, is_negated).map(NodeTest::All),
        ExpressionKind::Or(items) => tests_of(items, slot, is_negated).map(NodeTest::Any),
        ExpressionKind::IsNull(of) => Some(NodeTest::Null { key: key_of(of, slot)?, is_null: !is_negated }),
        ExpressionKind::IsNotNull(of) => Some(NodeTest::Null { key: key_of(of, slot)?, is_null: is_negated }),
        ExpressionKind::Binary { .. } => comparison(condition, slot, is_negated),
        ExpressionKind::Not(inner) => test_of(inner, slot, !is_negated),
        _ => None,
    }
}

fn tests_of(items: &[Expression], slot: SlotId, is_negated: bool) -> Option<Vec<NodeTest<'_>>> {
    items.iter().map(|item| test_of(item, slot, is_negated)).collect()
}

fn comparison(condition: &Expression, slot: SlotId, is_negated: bool) -> Option<NodeTest<'_>> {
    let ExpressionKind::Binary { operator, left, right } = &condition.kind else { return None };
    let (key, operator, value) = match (key_of(left, slot), key_of(right, slot)) {
        (Some(key), None) => (key, *operator, &**right),
        (None, Some(key)) => (key, mirrored(*operator)?, &**left),
        _ => return None,
    };
    let is_known = matches!(
        operator,
        BinaryOperator::Equal
            | BinaryOperator::NotEqual
            | BinaryOperator::Less
            | BinaryOperator::LessOrEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterOrEqual
            | BinaryOperator::In
            | BinaryOperator::StartsWith
            | BinaryOperator::EndsWith
            | BinaryOperator::Contains
    );
    (is_known && is_constant(value)).then_some(NodeTest::Compare { key, operator, is_negated, value })
}

/// The comparison with its sides exchanged.
pub(crate) fn mirrored(operator: BinaryOperator) -> Option<BinaryOperator> {
    Some(match operator {
        BinaryOperator::Equal => BinaryOperator::Equal,
        BinaryOperator::NotEqual => BinaryOperator::NotEqual,
        BinaryOperator::Less => BinaryOperator::Greater,
        BinaryOperator::LessOrEqual => BinaryOperator::GreaterOrEqual,
        BinaryOperator::Greater => BinaryOperator::Less,
        BinaryOperator::GreaterOrEqual => BinaryOperator::LessOrEqual,
        _ => return None,
    })
}

/// The property of a slot that an expression reads.
fn key_of(expression: &Expression, slot: SlotId) -> Option<&Arc<str>> {
    match &expression.kind {
        ExpressionKind::Property { object, key } => {
            matches!(object.kind, ExpressionKind::Slot(of) if of == slot).then_some(key)
        }
        _ => None,
    }
}

/// True for an expression that has one value throughout a statement.
pub(crate) fn is_constant(expression: &Expression) -> bool {
    const OF_TIME: [&str; 6] = ["date", "datetime", "localdatetime", "time", "localtime", "duration"];
    match &expression.kind {
        ExpressionKind::Literal(_) | ExpressionKind::Parameter(_) => true,
        ExpressionKind::List(items) => items.iter().all(is_constant),
        ExpressionKind::Negate(inner) => is_constant(inner),
        ExpressionKind::Map(entries) => entries.iter().all(|(_, value)| is_constant(value)),
        ExpressionKind::Function { name, arguments } => {
            OF_TIME.iter().any(|known| name.eq_ignore_ascii_case(known)) && arguments.iter().all(is_constant)
        }
        _ => false,
    }
}

impl<'a> NodeTest<'a> {
    /// Visits the values, in order.
    pub fn for_each_value(&self, visit: &mut dyn FnMut(&'a Expression)) {
        match self {
            NodeTest::Compare { value, .. } => visit(value),
            NodeTest::Null { .. } => {}
            NodeTest::Any(parts) | NodeTest::All(parts) => parts.iter().for_each(|part| part.for_each_value(visit)),
        }
    }

    /// True if a test holds of all properties.
    pub fn is_about(&self, known: &dyn Fn(&str) -> bool) -> bool {
        match self {
            NodeTest::Compare { key, .. } | NodeTest::Null { key, .. } => known(key),
            NodeTest::Any(parts) | NodeTest::All(parts) => parts.iter().all(|part| part.is_about(known)),
        }
    }

    /// The condition with values in it, which `value` tells in order.
    pub fn condition(&self, value: &mut dyn FnMut(&'a Expression) -> Result<Value>) -> Result<Condition<Arc<str>>> {
        let mut each = |parts: &[NodeTest<'a>]| parts.iter().map(|part| part.condition(value)).collect::<Result<_>>();
        Ok(match self {
            NodeTest::Any(parts) => Condition::Any(each(parts)?),
            NodeTest::All(parts) => Condition::All(each(parts)?),
            NodeTest::Null { key, is_null: true } => Condition::is((*key).clone(), Test::Absent),
            NodeTest::Null { key, is_null: false } => Condition::is((*key).clone(), Test::Present),
            NodeTest::Compare { key, operator, is_negated, value: of } => {
                compared(key, *operator, *is_negated, value(of)?)?
            }
        })
    }
}

/// The condition of a comparison with a value; one that is null for all nodes never holds.
fn compared(key: &Arc<str>, operator: BinaryOperator, is_negated: bool, value: Value) -> Result<Condition<Arc<str>>> {
    use BinaryOperator as Operator;
    if value.is_null() {
        return Ok(Condition::never());
    }
    let range = if is_negated { Test::NotBetween } else { Test::Between };
    let of_strings = |test| if is_negated { Test::NoMatch(Box::new(test)) } else { test };
    let test = match (operator, value) {
        (Operator::In, Value::List(items)) => {
            let is_empty = items.is_empty();
            let known: Vec<Value> = items.iter().filter(|item| !item.is_null()).cloned().collect();
            match is_negated {
                false => Test::OneOf(known),
                // Nothing is in an empty list, null neither.
                true if is_empty => return Ok(Condition::All(Vec::new())),
                true if known.len() < items.len() => return Ok(Condition::never()),
                true => Test::NoneOf(known),
            }
        }
        (Operator::In, other) => {
            return Err(error!(Type, "the right side of IN is {}: expected a list", other.type_name()));
        }
        (Operator::Equal, value) if !is_negated => Test::OneOf(vec![value]),
        (Operator::NotEqual, value) if is_negated => Test::OneOf(vec![value]),
        (Operator::Equal | Operator::NotEqual, value) => Test::NoneOf(vec![value]),
        (Operator::Less, value) => range(Bound::Unbounded, Bound::Excluded(value)),
        (Operator::LessOrEqual, value) => range(Bound::Unbounded, Bound::Included(value)),
        (Operator::Greater, value) => range(Bound::Excluded(value), Bound::Unbounded),
        (Operator::GreaterOrEqual, value) => range(Bound::Included(value), Bound::Unbounded),
        (Operator::StartsWith, Value::String(text)) => of_strings(Test::StartsWith(text.to_string())),
        (Operator::EndsWith, Value::String(text)) => of_strings(Test::EndsWith(text.to_string())),
        (Operator::Contains, Value::String(text)) => of_strings(Test::Contains(text.to_string())),
        // Other values than strings give null.
        _ => return Ok(Condition::never()),
    };
    Ok(Condition::is(key.clone(), test))
}
