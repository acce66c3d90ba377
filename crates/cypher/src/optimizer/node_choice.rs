//! Lets a store that tests conditions itself, as an attached database does, leave out nodes of a scan, and give only the
//! first ones where no more are wanted.
//!
//! Before: seeks by properties that are searchable but have no index of their own, with values that are the same for all
//! rows; filters right above scans of labels whose properties are searchable. After: scans that know these conditions,
//! filters without them. A limit, or a `Top` by properties of the node, above projections of a scan tells it how many nodes
//! are enough, and stays: so of equal rows others may be given, but no other rows.

use std::sync::Arc;

use model::{Index, KeyOrder, Schema, Span, Subject};

use super::edge_range::{below_filters, keep_conjuncts, property_of};
use super::edge_top::descend;
use super::{take_input, top};
use crate::plan::conditions::{add_conjuncts, at};
use crate::plan::node_choice::{is_constant, node_test};
use crate::plan::{
    BinaryOperator, Expression, ExpressionKind, IndexRange, NodesFirst, Operator, OperatorKind, SlotId, SortKey,
};

/// Makes a seek a scan with conditions, and gives those of a filter to the scan below it.
pub(super) fn push_conditions(operator: &mut Operator, schema: &Schema) {
    if let Some(kind) = scan_of_seek(operator, schema) {
        operator.kind = kind;
        return;
    }
    let OperatorKind::Filter { input, predicate } = &mut operator.kind else { return };
    let OperatorKind::NodeScan { slot, labels, choice, .. } = &mut below_filters(input).kind else { return };
    let mut conjuncts = Vec::new();
    add_conjuncts(predicate.clone(), &mut conjuncts);
    let is_known = |key: &str| is_searchable(schema, labels, key);
    let (taken, left): (Vec<_>, Vec<_>) = conjuncts
        .into_iter()
        .partition(|conjunct| node_test(conjunct, *slot).is_some_and(|test| test.is_about(&is_known)));
    if !taken.is_empty() {
        choice.get_or_insert_default().conditions.extend(taken);
        let rows = operator.estimated_rows;
        keep_conjuncts(operator, left);
        operator.estimated_rows = rows;
    }
}

/// Tells a scan how many nodes the operator above its projections wants.
pub(super) fn push_first(operator: &mut Operator, schema: &Schema) {
    let Some((input, keys, limit)) = top::wanted(operator) else { return };
    let way = |key: &SortKey| if key.descending { KeyOrder::Descending } else { KeyOrder::Ascending };
    let ways: Vec<KeyOrder> = keys.iter().map(way).collect();
    let mut wanted: Vec<Expression> = keys.iter().map(|SortKey { expression, .. }| expression.clone()).collect();
    let mut filters = Vec::new();
    let below = descend(input, &mut wanted, &mut filters);
    let OperatorKind::NodeScan { input, slot, labels, choice } = &mut below.kind else { return };
    let keys: Option<Vec<Arc<str>>> = wanted.iter().map(|expression| property_of(expression, *slot)).collect();
    let Some(keys) = keys.filter(|_| filters.is_empty() && matches!(input.kind, OperatorKind::Unit)) else { return };
    let is_known = match keys.as_slice() {
        [] => searchable(schema, labels).next().is_some(),
        keys => keys.iter().all(|key| is_searchable(schema, labels, key)),
    };
    if is_known {
        choice.get_or_insert_default().first = Some(NodesFirst { order: keys.into_iter().zip(ways).collect(), limit });
    }
}

/// True if the store finds nodes of one of the labels by a property, without an index of its own.
fn is_searchable(schema: &Schema, labels: &[Arc<str>], key: &str) -> bool {
    let Some(key) = schema.property_key(key) else { return false };
    searchable(schema, labels).any(|held| held.keys == [key])
}

/// The properties, of nodes that carry one of the labels, by which the store finds nodes.
fn searchable<'s>(schema: &'s Schema, labels: &[Arc<str>]) -> impl Iterator<Item = &'s Index> {
    let subjects: Vec<Subject> = labels.iter().filter_map(|label| schema.label(label)).map(Subject::Label).collect();
    schema.searchable.iter().filter(move |held| subjects.contains(&held.subject))
}

/// The scan that finds what a seek does, where the seek is by no index of the store and its values are those of all rows.
fn scan_of_seek(operator: &mut Operator, schema: &Schema) -> Option<OperatorKind> {
    let conditions = conditions_of_seek(&operator.kind, schema)?;
    let OperatorKind::IndexSeek { input, slot, subject, .. } = &mut operator.kind else { return None };
    let choice = Some(Box::new(crate::plan::NodeChoice { conditions, first: None }));
    Some(OperatorKind::NodeScan {
        input: Box::new(take_input(input)),
        slot: *slot,
        labels: vec![subject.clone()],
        choice,
    })
}

/// The conditions on nodes of its label that a seek stands for, where it is by no index of the store and its values are those
/// of all rows.
pub(super) fn conditions_of_seek(kind: &OperatorKind, schema: &Schema) -> Option<Vec<Expression>> {
    let OperatorKind::IndexSeek { slot, on_edges: false, subject, keys, equal, is_list, range, .. } = kind else {
        return None;
    };
    let [key] = keys.as_slice() else { return None };
    // A property that is searchable has no index: see `Schema::searchable`.
    if !is_searchable(schema, std::slice::from_ref(subject), key) {
        return None;
    }
    let mut conditions = Vec::new();
    let mut compare = |operator, value: &Expression| {
        let property = property_at(*slot, key, value.span);
        let kind = ExpressionKind::Binary { operator, left: Box::new(property), right: Box::new(value.clone()) };
        conditions.push(at(value.span, kind));
        is_constant(value)
    };
    let is_fixed = match (equal.as_slice(), range) {
        ([value], IndexRange::All) if *is_list => compare(BinaryOperator::In, value),
        ([value], IndexRange::All) => compare(BinaryOperator::Equal, value),
        ([], IndexRange::StartsWith(prefix)) => compare(BinaryOperator::StartsWith, prefix),
        ([], IndexRange::Between { lower, upper }) => {
            let above =
                |included: bool| if included { BinaryOperator::GreaterOrEqual } else { BinaryOperator::Greater };
            let below = |included: bool| if included { BinaryOperator::LessOrEqual } else { BinaryOperator::Less };
            let lower = lower.as_ref().is_none_or(|(value, included)| compare(above(*included), value));
            let upper = upper.as_ref().is_none_or(|(value, included)| compare(below(*included), value));
            lower && upper
        }
        _ => false,
    };
    (is_fixed && !conditions.is_empty()).then_some(conditions)
}

pub(super) fn property_at(slot: SlotId, key: &Arc<str>, span: Span) -> Expression {
    let object = Box::new(at(span, ExpressionKind::Slot(slot)));
    at(span, ExpressionKind::Property { object, key: key.clone() })
}
