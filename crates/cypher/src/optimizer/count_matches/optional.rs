//! Counts of optional matches.
//!
//! Before: an aggregation over an `Optional` that reads nothing of its matches but how many there are, as `count(b)` of a node or edge
//! that they bind. After: the rows around the `Optional`, each with the number of its matches, which the aggregation adds up.
//! Needs: the aggregation groups by nothing that the matches bind. Leaves: matches that can only be made one by one, and few of them.

use std::sync::Arc;

use model::{Set, Span, Value};

use super::chain::{Chain, LinkKind};
use super::subplans::are_many;
use super::{Asked, rooted_in_rows, weigh};
use crate::catalog::CompileContext;
use crate::optimizer::{Use, take_input};
use crate::plan::conditions::at;
use crate::plan::{
    Aggregate, BinaryOperator, Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SlotId, SlotKind,
    SubqueryKind,
};
use crate::slots::Slots;

/// Rewrites an operator, if it is such an aggregation; true if it was.
pub(in crate::optimizer) fn rewrite(
    operator: &mut Operator,
    slots: &mut Slots,
    context: &CompileContext<'_>,
    of_rule: Use,
) -> bool {
    let OperatorKind::Aggregate { input, keys, aggregates } = &mut operator.kind else { return false };
    let OperatorKind::Optional { input: rows, subplan, slots: bound } = &input.kind else { return false };
    let Some(chain) = Chain::of(subplan) else { return false };
    let mut read = Set::default();
    keys.iter().for_each(|(_, key)| key.free_slots(&mut read));
    let others = aggregates.iter().filter(|aggregate| !is_count_of_match(aggregate, &chain));
    let others: Vec<&Aggregate> = others.collect();
    others.iter().flat_map(|it| &it.arguments).for_each(|argument| argument.free_slots(&mut read));
    let takes_rows_together = others.iter().all(|it| it.takes_weights() || it.ignores_repeats());
    let is_random = keys.iter().map(|(_, key)| key).any(Expression::is_random)
        || aggregates.iter().flat_map(|it| &it.arguments).any(Expression::is_random);
    if others.len() == aggregates.len() || !takes_rows_together || is_random || bound.iter().any(|it| read.contains(it))
    {
        return false;
    }
    if !is_counted(subplan, &chain, rows.estimated_rows, context, of_rule) {
        return false;
    }
    let (count, weight) = (slots.unnamed(SlotKind::Any), slots.unnamed(SlotKind::Any));
    let plan = Arc::new((**subplan).clone());
    let number = at(Span::default(), ExpressionKind::Subquery { kind: SubqueryKind::Count, plan });
    let mut items = vec![(count, number)];
    if others.iter().any(|it| it.takes_weights()) {
        items.push((weight, at_least_one(count)));
    }
    for aggregate in aggregates.iter_mut() {
        if is_count_of_match(aggregate, &chain) {
            aggregate.function = Arc::from("sum");
            aggregate.arguments = vec![at(aggregate.span, ExpressionKind::Slot(count))];
        } else {
            weigh(aggregate, weight);
        }
    }
    let OperatorKind::Optional { input: rows, .. } = &mut input.kind else { return false };
    let rows = take_input(rows);
    let estimated_rows = rows.estimated_rows;
    **input =
        Operator { id: OperatorId(0), estimated_rows, kind: OperatorKind::Extend { input: Box::new(rows), items } };
    true
}

/// True of `count(x)` of a node or edge that each match binds.
fn is_count_of_match(aggregate: &Aggregate, chain: &Chain) -> bool {
    let [Expression { kind: ExpressionKind::Slot(slot), .. }] = aggregate.arguments.as_slice() else { return false };
    let binds = |kind: &LinkKind| match kind {
        LinkKind::Expand { edge, to, .. } => to == slot || *edge == Some(*slot),
        _ => false,
    };
    &*aggregate.function == "count" && !aggregate.distinct && chain.links.iter().any(|link| binds(&link.kind))
}

/// True if `COUNT { }` does not make the matches of that many rows one by one.
fn is_counted(subplan: &Operator, chain: &Chain, rows: f64, context: &CompileContext<'_>, of_rule: Use) -> bool {
    // The executor takes the degrees of the last nodes, whatever the number of rows.
    if matches!(subplan.kind, OperatorKind::Expand { into: false, choice: None, .. }) {
        return true;
    }
    let asked = Asked { needed: &Set::default(), number: true };
    are_many(chain, rows, of_rule) && rooted_in_rows(chain, &asked, context).is_some()
}

/// A number, but one for none: a row without a match is there once.
fn at_least_one(count: SlotId) -> Expression {
    let node = |kind| at(Span::default(), kind);
    let (zero, one) = (Value::Int(0), Value::Int(1));
    let operand = |kind| Box::new(node(kind));
    let is_none = node(ExpressionKind::Binary {
        operator: BinaryOperator::Equal,
        left: operand(ExpressionKind::Slot(count)),
        right: operand(ExpressionKind::Literal(zero)),
    });
    let whens = vec![(is_none, node(ExpressionKind::Literal(one)))];
    node(ExpressionKind::Case { operand: None, whens, otherwise: Some(operand(ExpressionKind::Slot(count))) })
}
