//! Lets the sort key of an edge type find the edges that a filter keeps.
//!
//! Before: filters right above an expansion along one type that has a sort key, with conditions on properties of the key.
//! After: the expansion knows those conditions. The filters stay as they are, so the rule cannot change an answer.

use std::sync::Arc;

use model::{PropertyKeyId, Schema};

use crate::binder::add_conjuncts;
use crate::plan::{BinaryOperator, EdgeCondition, Expression, ExpressionKind, Operator, OperatorKind, SlotId};

/// Tells an expansion the conditions of one filter above it.
pub(super) fn push_down(operator: &mut Operator, schema: &Schema) {
    let OperatorKind::Filter { input, predicate } = &mut operator.kind else { return };
    let OperatorKind::Expand { types, edge: Some(edge), choice, .. } = &mut below_filters(input).kind else { return };
    let keys = sort_key(types, schema);
    let mut conjuncts = Vec::new();
    add_conjuncts(predicate.clone(), &mut conjuncts);
    let conditions = conjuncts.iter().filter_map(|conjunct| condition(conjunct, *edge));
    let is_in_key =
        |condition: &EdgeCondition| schema.property_key(&condition.key).is_some_and(|key| keys.contains(&key));
    let conditions: Vec<EdgeCondition> = conditions.filter(is_in_key).collect();
    if !conditions.is_empty() {
        choice.get_or_insert_default().conditions.extend(conditions);
    }
}

fn below_filters(operator: &mut Operator) -> &mut Operator {
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
