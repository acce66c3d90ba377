//! Lets the sort key of an edge type find the first edges of a node, where only the first rows are wanted.
//!
//! Before: a `Top` by properties of an edge, above projections and filters that leave nothing out but by conditions on the
//! sort key and on labels of the node at the far end, above the expansion that binds the edge; equalities on the first
//! properties of the key, then the properties of the `Top`, are properties of the key in its order. After: the expansion
//! knows that of each node only the first edges are wanted, and which labels must not be missing at their ends. The first
//! rows of all are among the first of each node, and the `Top` stays: so the rule cannot change an answer, but which of
//! equal rows are given.

use std::sync::Arc;

use model::{PropertyKeyId, Schema, Set};

use super::edge_range::{condition, is_fixed, property_of, sort_key};
use crate::plan::conditions::add_conjuncts;
use crate::plan::{
    BinaryOperator, EdgeCondition, EdgeFirst, Expression, ExpressionKind, Operator, OperatorKind, SlotId, SortKey,
};

/// Tells an expansion how many edges the `Top` above it wants.
pub(super) fn push_down(operator: &mut Operator, schema: &Schema) {
    let OperatorKind::Top { input, keys, limit } = &mut operator.kind else { return };
    let descending = keys.first().is_some_and(|key| key.descending);
    if !is_fixed(limit) || keys.iter().any(|key| key.descending != descending) {
        return;
    }
    let mut wanted: Vec<Expression> = keys.iter().map(|SortKey { expression, .. }| expression.clone()).collect();
    let mut conjuncts = Vec::new();
    let below = descend(input, &mut wanted, &mut conjuncts);
    let OperatorKind::Expand { types, edge: Some(edge), to, into: false, distinct_from, choice, .. } = &mut below.kind
    else {
        return;
    };
    let mut labels = Vec::new();
    conjuncts.retain(|conjunct| !add_labels(conjunct, *to, &mut labels));
    let sorted = sort_key(types, schema);
    let properties: Option<Vec<Arc<str>>> = wanted.iter().map(|expression| property_of(expression, *edge)).collect();
    let conditions: Option<Vec<EdgeCondition>> = conjuncts.iter().map(|conjunct| condition(conjunct, *edge)).collect();
    let (Some(properties), Some(mut conditions)) = (properties, conditions) else { return };
    conditions.extend(choice.iter().flat_map(|choice| choice.conditions.iter().cloned()));
    if !sorted.is_empty() && distinct_from.is_empty() && is_covered(sorted, &conditions, &properties, schema) {
        let first = EdgeFirst { keys: properties, descending, limit: limit.clone(), labels };
        choice.get_or_insert_default().first = Some(first);
    }
}

/// Notes the labels that a condition asks of the node; false if it is another condition.
fn add_labels(conjunct: &Expression, node: SlotId, labels: &mut Vec<Arc<str>>) -> bool {
    let ExpressionKind::HasLabels { object, labels: asked } = &conjunct.kind else { return false };
    let is_of_node = matches!(object.kind, ExpressionKind::Slot(slot) if slot == node);
    if is_of_node {
        labels.extend(asked.iter().cloned());
    }
    is_of_node
}

/// The operator below projections and filters: what they compute is put into the expressions, their conditions noted.
pub(super) fn descend<'a>(
    operator: &'a mut Operator,
    wanted: &mut [Expression],
    conjuncts: &mut Vec<Expression>,
) -> &'a mut Operator {
    match &operator.kind {
        OperatorKind::Project { items, .. } | OperatorKind::Extend { items, .. } => {
            wanted.iter_mut().for_each(|expression| resolve(expression, items));
        }
        OperatorKind::Filter { predicate, .. } => add_conjuncts(predicate.clone(), conjuncts),
        _ => return operator,
    }
    let input = operator.inputs_mut().swap_remove(0);
    descend(input, wanted, conjuncts)
}

/// Puts what a projection computes in place of the slot that takes it.
fn resolve(expression: &mut Expression, items: &[(SlotId, Expression)]) {
    let computed = |slot: SlotId| items.iter().find(|(taken, _)| *taken == slot).map(|(_, computed)| computed);
    match &mut expression.kind {
        ExpressionKind::Slot(slot) => {
            if let Some(computed) = computed(*slot) {
                *expression = computed.clone();
            }
        }
        ExpressionKind::Property { object, .. } => resolve(object, items),
        _ => {}
    }
}

/// True if the conditions are equalities on the first properties of the key and others on the next, and the wanted
/// properties go on from that one.
fn is_covered(sorted: &[PropertyKeyId], conditions: &[EdgeCondition], wanted: &[Arc<str>], schema: &Schema) -> bool {
    let id = |name: &Arc<str>| schema.property_key(name);
    let equal: Set<PropertyKeyId> = conditions
        .iter()
        .filter(|condition| condition.operator == BinaryOperator::Equal)
        .filter_map(|condition| id(&condition.key))
        .collect();
    let pinned = sorted.iter().take_while(|key| equal.contains(key)).count();
    let reach = (pinned + 1).min(sorted.len());
    let is_near = |condition: &EdgeCondition| id(&condition.key).is_some_and(|key| sorted[..reach].contains(&key));
    let rest = wanted.iter().map(id).zip(sorted[pinned..].iter());
    conditions.iter().all(is_near) && wanted.len() <= sorted.len() - pinned && !wanted.is_empty() && { rest }
        .all(|(found, key)| found == Some(*key))
}
