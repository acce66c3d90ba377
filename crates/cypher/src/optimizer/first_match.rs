//! Stops at the first match of what nobody reads.
//!
//! Before: a `Distinct`, or an aggregation for which it does not matter how often a row comes, over steps that give nothing that it
//! reads. After: these steps are the subplan of a `SemiApply` over the rows that it reads, under a `Limit` of one row, so
//! that each of these rows is passed on at its first match. Optional patterns of which nothing is read are dropped.
//! Leaves: steps that are expected to give few rows for each of those, which cost less all at once than one by one; steps whose rows
//! are counted. Conditions are not asked of further matches, as in `EXISTS`.

use model::{Set, Span, Value};

use super::count_matches::{Read, Reader, for_each_reader};
use super::{Use, take_input};
use crate::plan::conditions::at;
use crate::plan::{ExpressionKind, Operator, OperatorId, OperatorKind, SlotId};

/// Rows that steps give in the time that it takes to start a subplan for one row.
pub(crate) const FIRST_MATCH_ROWS: f64 = 400.0;
/// Divisor of the cost of all matches, a part of which is added to that of the first ones: there may be none.
pub(crate) const DOUBT: f64 = 10.0;
/// Times by which the rows that are not made must be more than that.
const ADVANTAGE: f64 = 2.0;

/// Rewrites all such operators of a plan; true if there was one.
pub(super) fn rewrite_all(root: &mut Operator, of_rule: Use) -> bool {
    let mut rewritten = false;
    for_each_reader(root, Read::Whole, &mut |operator, _| rewritten |= rewrite(operator, of_rule));
    rewritten
}

fn rewrite(operator: &mut Operator, of_rule: Use) -> bool {
    // Of a `Distinct` that is read in part the same is asked.
    let Some(reader) = Reader::of(operator, Read::Whole).filter(|reader| !reader.counts()) else { return false };
    let mut dropped = false;
    while let OperatorKind::Optional { input, slots, .. } = &mut reader.input.kind
        && !slots.iter().any(|slot| reader.needed.contains(slot))
    {
        **reader.input = take_input(input);
        dropped = true;
    }
    let steps = unread_steps(reader.input, &reader.needed);
    if steps == 0 || of_rule == Use::Cheaper && !pays(reader.input, steps) {
        return dropped;
    }
    let mut walked = take_input(reader.input);
    let mut slots: Vec<SlotId> = used_by(&walked, steps).into_iter().collect();
    slots.sort_unstable();
    let bottom = lowest(&mut walked, steps);
    let estimated_rows = bottom.estimated_rows;
    let input = Box::new(std::mem::replace(bottom, made(1.0, OperatorKind::Argument { slots })));
    let count = at(Span::default(), ExpressionKind::Literal(Value::Int(1)));
    let subplan = Box::new(made(1.0, OperatorKind::Limit { input: Box::new(walked), count }));
    **reader.input = made(estimated_rows, OperatorKind::SemiApply { input, subplan, anti: false });
    true
}

fn made(estimated_rows: f64, kind: OperatorKind) -> Operator {
    Operator { id: OperatorId(0), estimated_rows, kind }
}

/// Number of steps from the top that give nothing that is read; the lowest of them makes rows.
fn unread_steps(top: &Operator, needed: &Set<SlotId>) -> usize {
    let (mut plan, mut steps, mut counted) = (top, 0, 0);
    loop {
        let (input, makes_rows) = match &plan.kind {
            OperatorKind::Expand { input, .. }
            | OperatorKind::VariableExpand { input, .. }
            | OperatorKind::Intersect { input, .. } => (input, true),
            // Rows that are merged keep what is read, so that none of different rows below are merged with each other.
            OperatorKind::Filter { input, .. }
            | OperatorKind::Extend { input, .. }
            | OperatorKind::Distinct { input, .. }
            | OperatorKind::PartialAggregate { input, .. } => (input, false),
            _ => return counted,
        };
        if plan.is_random() || plan.defined_slots().iter().any(|slot| needed.contains(slot)) {
            return counted;
        }
        steps += 1;
        if makes_rows {
            counted = steps;
        }
        plan = input;
    }
}

/// True if matches that are not made are expected to save more than it takes to start as many subplans.
fn pays(top: &Operator, steps: usize) -> bool {
    let mut plans = std::iter::successors(Some(top), |plan| plan.inputs().first().copied());
    let made: f64 = plans.by_ref().take(steps).map(|plan| plan.estimated_rows).sum();
    let rows = plans.next().map_or(1.0, |plan| plan.estimated_rows.max(1.0));
    made >= ADVANTAGE * FIRST_MATCH_ROWS * rows
}

/// The operator that many steps below. None of the steps is the horizon of a plan any more.
fn lowest(top: &mut Operator, steps: usize) -> &mut Operator {
    if steps == 0 {
        return top;
    }
    top.id = OperatorId(0);
    lowest(top.inputs_mut().swap_remove(0), steps - 1)
}

/// The slots that steps use of the rows below them.
fn used_by(top: &Operator, steps: usize) -> Set<SlotId> {
    let (mut used, mut defined) = (Set::default(), Set::default());
    let plans = std::iter::successors(Some(top), |plan| plan.inputs().first().copied());
    for plan in plans.take(steps) {
        used.extend(plan.plain_uses());
        plan.expressions().into_iter().for_each(|expression| expression.free_slots(&mut used));
        defined.extend(plan.defined_slots());
        if let OperatorKind::VariableExpand { filter: Some(filter), .. } = &plan.kind {
            defined.extend(filter.own_slots());
        }
    }
    used.retain(|slot| !defined.contains(slot));
    used
}
