//! Counts of optional matches.
//!
//! Before: an aggregation over one `Optional` or several, each of which starts from the rows below all of them, that reads nothing of
//! their matches but how many there are, as `count(b)` of a node or edge that they bind. After: the rows below, each with the number of
//! its matches of each, which the aggregation adds up. A row comes as often as the product of the numbers says, none being one.
//! Needs: the aggregation groups by nothing that the matches bind. Leaves: matches that can only be made one by one, and few of them.

use std::sync::Arc;

use model::{Set, Span};

use super::chain::{Chain, LinkKind};
use super::subplans::are_many;
use super::{Asked, rooted_in_rows, weigh};
use crate::catalog::CompileContext;
use crate::optimizer::terms::{binary, case, integer, is_same, slot};
use crate::optimizer::{Use, take_input};
use crate::plan::conditions::at;
use crate::plan::{
    Aggregate, BinaryOperator, Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SlotId, SlotKind,
    SubqueryKind,
};
use crate::slots::Slots;

/// An `Optional` whose matches are counted.
struct CountedMatches {
    chain: Chain,
    plan: Operator,
}

/// Rewrites an operator, if it is such an aggregation; true if it was.
pub(in crate::optimizer) fn rewrite(
    operator: &mut Operator,
    slots: &mut Slots,
    context: &CompileContext<'_>,
    of_rule: Use,
) -> bool {
    let OperatorKind::Aggregate { input, keys, aggregates } = &mut operator.kind else { return false };
    let counted = counted_below(input, keys, aggregates, (context, of_rule));
    if !aggregates.iter().any(|aggregate| counted.iter().any(|of| is_count_of_match(aggregate, &of.chain))) {
        return false;
    }
    let mut items = Vec::new();
    let mut weights: Vec<(SlotId, SlotId)> = Vec::new();
    for CountedMatches { plan, .. } in &counted {
        let (count, weight) = (slots.unnamed(SlotKind::Any), slots.unnamed(SlotKind::Any));
        let kind = ExpressionKind::Subquery { kind: SubqueryKind::Count, plan: Arc::new(plan.clone()) };
        items.push((count, at(Span::default(), kind)));
        items.push((weight, at_least_one(count)));
        weights.push((count, weight));
    }
    for aggregate in aggregates.iter_mut() {
        let of = counted.iter().position(|of| is_count_of_match(aggregate, &of.chain));
        let number = |(at, &(count, weight)): (usize, &(SlotId, SlotId))| if of == Some(at) { count } else { weight };
        let product = slots.unnamed(SlotKind::Any);
        items.extend(product_of(weights.iter().enumerate().map(number)).map(|value| (product, value)));
        if of.is_some() {
            aggregate.function = Arc::from("sum");
            aggregate.arguments = vec![at(aggregate.span, ExpressionKind::Slot(product))];
        } else {
            weigh(aggregate, product);
        }
    }
    let mut rows = take_input(input);
    for _ in &counted {
        let OperatorKind::Optional { input, .. } = &mut rows.kind else { break };
        rows = take_input(input);
    }
    let estimated_rows = rows.estimated_rows;
    **input =
        Operator { id: OperatorId(0), estimated_rows, kind: OperatorKind::Extend { input: Box::new(rows), items } };
    true
}

/// The `Optional`s below an aggregation of which it reads only numbers, from the top on; none if it takes no numbers.
fn counted_below(
    input: &Operator,
    keys: &[(SlotId, Expression)],
    aggregates: &[Aggregate],
    (context, of_rule): (&CompileContext<'_>, Use),
) -> Vec<CountedMatches> {
    let values = keys.iter().map(|(_, key)| key).chain(aggregates.iter().flat_map(|it| &it.arguments));
    let takes_numbers = aggregates.iter().all(|it| it.takes_weights() || it.ignores_repeats());
    let mut counted: Vec<CountedMatches> = Vec::new();
    if !takes_numbers || values.clone().any(Expression::is_random) {
        return counted;
    }
    let mut below = input;
    while let OperatorKind::Optional { input, subplan, slots } = &below.kind {
        let Some(chain) =
            Chain::of(subplan).filter(|chain| is_counted(subplan, chain, input.estimated_rows, context, of_rule))
        else {
            break;
        };
        let mut read = Set::default();
        keys.iter().for_each(|(_, key)| key.free_slots(&mut read));
        let others = aggregates.iter().filter(|aggregate| !is_count_of_match(aggregate, &chain));
        others.flat_map(|it| &it.arguments).for_each(|argument| argument.free_slots(&mut read));
        // Those above must start from the rows below this one.
        counted.iter().for_each(|above| above.plan.arguments(&mut |taken| read.extend(taken.iter().copied())));
        if slots.iter().any(|slot| read.contains(slot)) {
            break;
        }
        counted.push(CountedMatches { chain, plan: (**subplan).clone() });
        below = input;
    }
    counted
}

/// True of `count(x)` of a node or edge that each match binds.
fn is_count_of_match(aggregate: &Aggregate, chain: &Chain) -> bool {
    let [Expression { kind: ExpressionKind::Slot(counted), .. }] = aggregate.arguments.as_slice() else { return false };
    let binds = |kind: &LinkKind| match kind {
        LinkKind::Expand { edge, to, .. } => to == counted || *edge == Some(*counted),
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

/// The product of numbers; nothing if there are none.
fn product_of(numbers: impl Iterator<Item = SlotId>) -> Option<Expression> {
    numbers.map(slot).reduce(|product, number| binary(BinaryOperator::Multiply, product, number))
}

/// A number, but one for none: a row without a match is there once.
fn at_least_one(count: SlotId) -> Expression {
    case(is_same(slot(count), integer(0)), integer(1), slot(count))
}
