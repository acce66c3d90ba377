//! Lets the sort key of an edge type find the edges that a filter keeps.
//!
//! Before: filters right above an expansion along one type that has a sort key, with conditions on properties of the key.
//! After: the expansion knows those conditions. The filters keep all but comparisons with plain constants, which the
//! expansion answers exactly as they do: other values may be compared by `=` in ways that no range tells.

use std::sync::Arc;

use model::{PropertyKeyId, Schema, Value};

use super::take_input;
use crate::plan::conditions::add_conjuncts;
use crate::plan::{BinaryOperator, EdgeCondition, Expression, ExpressionKind, Operator, OperatorKind, SlotId};

/// Tells an expansion the conditions of one filter above it.
pub(super) fn push_down(operator: &mut Operator, schema: &Schema) {
    let OperatorKind::Filter { input, predicate } = &mut operator.kind else { return };
    let OperatorKind::Expand { types, edge: Some(edge), into, choice, .. } = &mut below_filters(input).kind else {
        return;
    };
    let keys = sort_key(types, schema);
    let mut conjuncts = Vec::new();
    add_conjuncts(predicate.clone(), &mut conjuncts);
    let is_in_key =
        |condition: &EdgeCondition| schema.property_key(&condition.key).is_some_and(|key| keys.contains(&key));
    let is_answered_by_expansion = !*into;
    let mut conditions = Vec::new();
    conjuncts.retain(|conjunct| {
        let Some(found) = condition(conjunct, *edge).filter(is_in_key) else { return true };
        let is_plain = is_answered_by_expansion && is_plain(&found.value);
        conditions.push(found);
        !is_plain
    });
    if conditions.is_empty() {
        return;
    }
    choice.get_or_insert_default().conditions.extend(conditions);
    keep_conjuncts(operator, conjuncts);
}

/// Leaves a filter with these conditions; its input in its place, if there is none.
pub(super) fn keep_conjuncts(operator: &mut Operator, mut conjuncts: Vec<Expression>) {
    let OperatorKind::Filter { input, predicate } = &mut operator.kind else { return };
    match conjuncts.len() {
        0 => *operator = take_input(input),
        1 => *predicate = conjuncts.swap_remove(0),
        _ => predicate.kind = ExpressionKind::And(conjuncts),
    }
}

/// True for a constant of a kind whose values can all be compared with each other.
pub(super) fn is_plain(value: &Expression) -> bool {
    matches!(&value.kind, ExpressionKind::Literal(Value::Int(_) | Value::String(_) | Value::Bool(_)))
}

pub(super) fn below_filters(operator: &mut Operator) -> &mut Operator {
    if !matches!(operator.kind, OperatorKind::Filter { .. }) {
        return operator;
    }
    let input = operator.inputs_mut().swap_remove(0);
    below_filters(input)
}

/// The sort key of the only type; nothing otherwise.
pub(super) fn sort_key<'a>(types: &[Arc<str>], schema: &'a Schema) -> &'a [PropertyKeyId] {
    match types {
        [only] => schema.edge_type(only).map_or(&[], |edge_type| schema.sort_key(edge_type)),
        _ => &[],
    }
}

/// A comparison of a property of the edge with a constant or a parameter.
pub(super) fn condition(conjunct: &Expression, edge: SlotId) -> Option<EdgeCondition> {
    let ExpressionKind::Binary { operator, left, right } = &conjunct.kind else { return None };
    let (key, operator, value) = match (property_of(left, edge), property_of(right, edge)) {
        (Some(key), None) => (key, *operator, right),
        (None, Some(key)) => (key, turned(*operator)?, left),
        _ => return None,
    };
    let is_comparison = turned(operator).is_some();
    (is_comparison && is_fixed(value)).then(|| EdgeCondition { key, operator, value: (**value).clone() })
}

/// The property of the edge that an expression reads.
pub(super) fn property_of(expression: &Expression, edge: SlotId) -> Option<Arc<str>> {
    match &expression.kind {
        ExpressionKind::Property { object, key } if matches!(object.kind, ExpressionKind::Slot(slot) if slot == edge) => {
            Some(key.clone())
        }
        _ => None,
    }
}

/// True for what is the same for every row.
pub(super) fn is_fixed(expression: &Expression) -> bool {
    matches!(expression.kind, ExpressionKind::Literal(_) | ExpressionKind::Parameter(_))
}

/// The comparison with its sides exchanged.
fn turned(operator: BinaryOperator) -> Option<BinaryOperator> {
    Some(match operator {
        BinaryOperator::Equal => BinaryOperator::Equal,
        BinaryOperator::Less => BinaryOperator::Greater,
        BinaryOperator::LessOrEqual => BinaryOperator::GreaterOrEqual,
        BinaryOperator::Greater => BinaryOperator::Less,
        BinaryOperator::GreaterOrEqual => BinaryOperator::LessOrEqual,
        _ => return None,
    })
}
