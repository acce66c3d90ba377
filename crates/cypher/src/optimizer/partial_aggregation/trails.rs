//! Trails counted as walks, less those that take an edge again (inclusion and exclusion).
//!
//! Before: a step whose edge must differ from other edges of its pattern, which are not read above. After: the rows
//! before it are merged without regard to those edges and followed to wherever they lead, and for each of those edges the rows
//! that could take it again, whose end is then known without following anything, are taken off. The edges of a row differ from each
//! other, so that a step takes at most one of them again: there are no further terms.
//!
//! The rows before the step are made once for each term, each time merged by what that term reads of them, and so on down the
//! pattern.

use model::{Direction, Set};

use super::super::count_matches::cannot_fail;
use super::steps::{defines, read_above, uses};
use super::taken::{Followed, followed, only_loops_again};
use super::{Bottom, Facts, KEYS_MAX, Rows, operator};
use crate::optimizer::terms::{binary, different, equal, function, has_type, integer, is_left, is_same, slot, sum};
use crate::plan::conditions::{conjunction, replace_slot};
use crate::plan::{BinaryOperator, Expression, ExpressionKind, Operator, OperatorKind, SlotId, SlotKind};
use crate::slots::Slots;

/// Most edges that the last edge must differ from: the terms of a pattern are the product of those of its steps.
const OTHERS_MAX: usize = 3;
/// Rows that a step is expected to give from which on it may pay to make those before it several times.
const ROWS_MIN: f64 = 50_000.0;
/// Rows that a step is expected to give up to which their number surely fits 64 bits.
const ROWS_MAX: f64 = 1e15;
/// Factor by which fewer rows must be expected.
const GAIN_MIN: f64 = 2.0;
/// The same where there are more than [`GROUPS_MAX`] combinations of nodes to add up: each is looked up in a table that is not in
/// the caches of the processor, once for each term and once for all.
const GAIN_OF_MANY_MIN: f64 = 16.0;
const GROUPS_MAX: f64 = 100_000.0;

/// A step that can be counted so.
pub(super) struct Trails {
    /// Its number, from the top down.
    pub(super) step: usize,
    /// Nodes before it that are read above.
    keys: Vec<SlotId>,
    /// Its end, if that is read above and was not known before.
    end: Option<SlotId>,
    /// Its edge, if that is read above.
    edge: Option<SlotId>,
    /// Conditions right above it on what it gives.
    conditions: Vec<Expression>,
    returns: Vec<Return>,
}

/// A way to take an edge again.
struct Return {
    edge: SlotId,
    /// The end of that edge from which the step starts then.
    from: SlotId,
    /// The end to which it leads.
    to: SlotId,
    conditions: Vec<Expression>,
}

/// The steps below the one that is counted, and what they start from.
pub(super) struct Below<'s> {
    pub(super) steps: &'s [Operator],
    pub(super) bottom: &'s Operator,
}

impl Trails {
    /// The topmost step that can be counted so, if that may pay.
    pub(super) fn of(
        steps: &[Operator],
        bottom: &Operator,
        needed: &Set<SlotId>,
        slots: &Slots,
        facts: &Facts<'_>,
        counts: bool,
    ) -> Option<Trails> {
        let are_few = facts.are_few(bottom.estimated_rows);
        let is_last = |at: &usize| match &steps[*at].kind {
            OperatorKind::Expand { distinct_from, .. } => match distinct_from[..] {
                [] => false,
                // One alone is told by its ends, see [`super::taken`], where these are few or only loops come again.
                [other] => !are_few && !only_loops_again(steps, *at, other),
                _ => true,
            },
            _ => false,
        };
        let number = (0..steps.len()).find(is_last)?;
        let trails = Trails::at(number, steps, needed, slots)?;
        let is_repeatable = !bottom.is_correlated() && steps[number..].iter().chain([bottom]).all(gives_the_same);
        // Nobody asks for the number, which may be too large.
        let fits = counts || steps[number].estimated_rows < ROWS_MAX;
        (is_repeatable && fits && trails.pays(steps, bottom, facts)).then_some(trails)
    }

    fn at(number: usize, steps: &[Operator], needed: &Set<SlotId>, slots: &Slots) -> Option<Trails> {
        let OperatorKind::Expand { into, distinct_from, .. } = &steps[number].kind else { return None };
        let last = followed(&steps[number])?;
        let read = read_above(&steps[..number], needed);
        let is_read = |edge: &SlotId| read.contains(edge);
        if distinct_from.len() > OTHERS_MAX || distinct_from.iter().any(is_read) {
            return None;
        }
        let mut returns = Vec::new();
        for &edge in distinct_from {
            let own =
                (number + 1..steps.len()).find(|&at| followed(&steps[at]).is_some_and(|it| it.edge == Some(edge)))?;
            let is_dropped = |step: &Operator| matches!(step.kind, OperatorKind::Project { .. });
            if steps[number + 1..own].iter().any(is_dropped) {
                return None;
            }
            returns.extend(ways_again(&last, &followed(&steps[own])?, edge));
        }
        let end = (!into && read.contains(&last.to)).then_some(last.to);
        let edge = last.edge.filter(is_read);
        let is_new = |slot: &SlotId| Some(*slot) == end || Some(*slot) == edge;
        let mut keys: Vec<SlotId> = read.iter().copied().filter(|slot| !is_new(slot)).collect();
        keys.sort_unstable();
        let are_nodes = keys.iter().all(|key| slots.kind(*key) == SlotKind::Node);
        let may_fail = |condition: &Expression| !read.iter().any(|slot| cannot_fail(condition, *slot));
        let mut conditions = conditions_above(&steps[..number]);
        // Of rows that are taken off again no condition may be an error.
        conditions.retain(|condition| !may_fail(condition));
        (are_nodes && keys.len() < KEYS_MAX).then_some(Trails { step: number, keys, end, edge, conditions, returns })
    }

    /// True if fewer rows are expected to be made.
    fn pays(&self, steps: &[Operator], bottom: &Operator, facts: &Facts<'_>) -> bool {
        if facts.is_always() {
            return true;
        }
        let rows = steps[self.step].estimated_rows;
        let below = steps.get(self.step + 1).unwrap_or(bottom).estimated_rows.max(1.0);
        let into = matches!(steps[self.step].kind, OperatorKind::Expand { into: true, .. });
        // Few edges lead back to a known node, but each row before the step is a search.
        let (work, work_min) = if into { (below, super::ROWS_MIN) } else { (rows, ROWS_MIN) };
        if work < work_min {
            return false;
        }
        let (merged, terms) = (self.merged(steps, bottom, facts).min(below), (1 + self.returns.len()) as f64);
        let groups = rows.min(facts.nodes.max(1.0).powi(self.given().len() as i32));
        let gain_min = if groups > GROUPS_MAX { GAIN_OF_MANY_MIN } else { GAIN_MIN };
        let made = if into { terms * merged } else { below * terms + merged * (rows / below) };
        work >= gain_min * made
    }

    /// Rows that are expected before the step once they are merged.
    fn merged(&self, steps: &[Operator], bottom: &Operator, facts: &Facts<'_>) -> f64 {
        let from = followed(&steps[self.step]).map(|step| step.from);
        let nodes: Set<SlotId> = self.keys.iter().copied().chain(from).collect();
        facts.expected_merged(&steps[self.step + 1..], &Bottom::of(bottom), &nodes)
    }

    /// The rows above the step, merged, and the slot with the number that each stands for.
    pub(super) fn counted(
        self,
        step: Operator,
        below: &Below<'_>,
        slots: &mut Slots,
        facts: &Facts<'_>,
    ) -> (Operator, SlotId) {
        let facts = &Facts { is_term: true, ..*facts };
        let estimated_rows = step.estimated_rows.min(facts.nodes.max(1.0).powi(self.given().len() as i32));
        let mut branches = Vec::with_capacity(1 + self.returns.len());
        branches.push(self.walks(step.clone(), below, slots, facts));
        for again in &self.returns {
            branches.push(self.taken_again(again, &step, below, slots, facts));
        }
        let signed = slots.unnamed(SlotKind::Any);
        let given = |number: SlotId| self.given().into_iter().chain([number]).collect::<Vec<SlotId>>();
        let rows = branches.iter().map(|(branch, _)| branch.estimated_rows).sum();
        let branches = branches.into_iter().map(|(branch, number)| (branch, given(number))).collect();
        let union = operator(rows, OperatorKind::Union { branches, slots: given(signed) });
        let (summed, number) = self.summed(union, signed, estimated_rows, slots);
        let kind = OperatorKind::Filter { input: Box::new(summed), predicate: is_left(number) };
        (operator(estimated_rows, kind), number)
    }

    /// The node that a row above the step has and no other row, if it has but one.
    pub(super) fn only_node(&self) -> Option<SlotId> {
        let [node] = self.given()[..] else { return None };
        Some(node)
    }

    /// Nodes of the rows above the step.
    fn given(&self) -> Vec<SlotId> {
        self.keys.iter().copied().chain(self.end).chain(self.edge).collect()
    }

    /// The rows that the step gives if it may take each edge, and the slot with their number.
    fn walks(&self, mut step: Operator, below: &Below<'_>, slots: &mut Slots, facts: &Facts<'_>) -> (Operator, SlotId) {
        let rows_before = step.estimated_rows;
        let OperatorKind::Expand { input, from, edge, to, into, distinct_from, .. } = &mut step.kind else {
            return (step, slots.unnamed(SlotKind::Any));
        };
        let needed: Set<SlotId> = self.keys.iter().copied().chain([*from]).chain(into.then_some(*to)).collect();
        let Rows { plan, weight, .. } = facts.rows(below.steps.to_vec(), below.bottom.clone(), needed.clone(), slots);
        let mut keys: Vec<SlotId> = needed.into_iter().collect();
        keys.sort_unstable();
        let below_rows = below.steps.first().unwrap_or(below.bottom).estimated_rows;
        let merged_rows = plan.estimated_rows.min(facts.nodes.max(1.0).powi(keys.len() as i32));
        let count = slots.unnamed(SlotKind::Any);
        let kind = OperatorKind::PartialAggregate {
            input: Box::new(plan),
            slots: keys,
            weight,
            count: Some(count),
            whole_for: None,
        };
        **input = operator(merged_rows, kind);
        (*edge, *distinct_from) = (self.edge, Vec::new());
        let rows = rows_before * merged_rows / below_rows.max(1.0);
        step.estimated_rows = rows;
        for predicate in self.conditions.iter().cloned() {
            step = operator(rows, OperatorKind::Filter { input: Box::new(step), predicate });
        }
        self.summed(step, count, rows, slots)
    }

    /// Rows with what the step gives, and the slot with the sum of their numbers.
    fn summed(&self, rows: Operator, count: SlotId, estimated_rows: f64, slots: &mut Slots) -> (Operator, SlotId) {
        let number = slots.unnamed(SlotKind::Any);
        let keys = self.given().into_iter().map(|key| (key, slot(key))).collect();
        let kind = OperatorKind::Aggregate { input: Box::new(rows), keys, aggregates: vec![sum(number, slot(count))] };
        (operator(estimated_rows, kind), number)
    }

    /// The rows that the step gives by taking an edge again, and the slot with their number, which is negative.
    fn taken_again(
        &self,
        again: &Return,
        step: &Operator,
        below: &Below<'_>,
        slots: &mut Slots,
        facts: &Facts<'_>,
    ) -> (Operator, SlotId) {
        let mut steps = below.steps.to_vec();
        let mut conditions = again.conditions.clone();
        let Some(last) = followed(step) else { return (step.clone(), slots.unnamed(SlotKind::Any)) };
        let is_known = matches!(&step.kind, OperatorKind::Expand { into: true, .. });
        conditions.extend((is_known && last.to != again.to).then(|| equal(last.to, again.to)));
        let leads_back = last.from != again.from && leads_back_to(&mut steps, last.from, again.from, facts);
        if leads_back {
            conditions.iter_mut().for_each(|condition| replace_slot(condition, last.from, again.from));
        } else if last.from != again.from {
            conditions.push(equal(last.from, again.from));
        }
        let known = |of: SlotId| if leads_back && of == last.from { again.from } else { of };
        let mut needed: Set<SlotId> = self.keys.iter().map(|&key| known(key)).collect();
        needed.extend(self.end.map(|_| known(again.to)));
        needed.extend(self.edge.map(|_| again.edge));
        if let Some(predicate) = conjunction(conditions) {
            let rows = steps.first().unwrap_or(below.bottom).estimated_rows;
            let input = Box::new(operator(1.0, OperatorKind::Unit));
            steps.insert(0, operator(rows, OperatorKind::Filter { input, predicate }));
        }
        let Rows { plan, weight, .. } = facts.rows(steps, below.bottom.clone(), needed, slots);
        let number = slots.unnamed(SlotKind::Any);
        let each =
            weight.map_or_else(|| integer(-1), |weight| binary(BinaryOperator::Subtract, integer(0), slot(weight)));
        let keys = self.keys.iter().map(|&key| (key, slot(known(key))));
        let ends = self.end.map(|end| (end, slot(known(again.to))));
        let keys = keys.chain(ends).chain(self.edge.map(|edge| (edge, slot(again.edge)))).collect();
        let rows = plan.estimated_rows;
        let kind = OperatorKind::Aggregate { input: Box::new(plan), keys, aggregates: vec![sum(number, each)] };
        (operator(rows, kind), number)
    }
}

/// True if an operator gives the same rows, in whatever order, each time that it runs: as they are made for each term. Not so
/// the first of many rows, and lists and sums of floats by the order of their rows.
fn gives_the_same(operator: &Operator) -> bool {
    use OperatorKind as Kind;
    let mut is_same = !operator.is_random();
    operator.each(&mut |operator| {
        is_same &= matches!(
            operator.kind,
            Kind::Unit
                | Kind::Argument { .. }
                | Kind::NodeScan { .. }
                | Kind::NodeLookup { .. }
                | Kind::NodeUnionScan { .. }
                | Kind::IndexSeek { .. }
                | Kind::NodeById { .. }
                | Kind::Expand { .. }
                | Kind::VariableExpand { .. }
                | Kind::Intersect { .. }
                | Kind::Filter { .. }
                | Kind::Project { .. }
                | Kind::Extend { .. }
                | Kind::Unwind { .. }
                | Kind::Distinct { .. }
                | Kind::Optional { .. }
                | Kind::SemiApply { .. }
                | Kind::CrossProduct { .. }
                | Kind::HashJoin { .. }
        );
    });
    is_same
}

/// The ways in which a step can take an edge again that an earlier one has taken. Each is another case.
fn ways_again(last: &Followed<'_>, edge: &Followed<'_>, of: SlotId) -> Vec<Return> {
    use Direction::{Both, In, Out};
    let may_be = |name| last.types.is_empty() || last.types.contains(name);
    if !edge.types.is_empty() && !edge.types.iter().any(may_be) {
        return Vec::new();
    }
    let typed = has_type(of, edge.types, last.types);
    let way = |from: SlotId, to: SlotId, conditions: Vec<Expression>| Return {
        edge: of,
        from,
        to,
        conditions: conditions.into_iter().chain(typed.clone()).collect(),
    };
    let (along, back) = ((edge.from, edge.to), (edge.to, edge.from));
    let either = |name: Option<&str>| {
        let starts_at = |node: SlotId| name.map(|name| is_same(function(name, of), slot(node)));
        let first = way(along.0, along.1, starts_at(along.0).into_iter().collect());
        // An edge from a node to itself is taken again in one way.
        let no_loop = different(edge.from, edge.to);
        let second = || way(back.0, back.1, starts_at(back.0).into_iter().chain([no_loop]).collect());
        let is_loop = edge.from == edge.to;
        std::iter::once(first).chain((!is_loop).then(second)).collect()
    };
    match (last.direction, edge.direction) {
        (Both, _) if last.from == edge.from => vec![way(along.0, along.1, Vec::new())],
        (Both, _) if last.from == edge.to => vec![way(back.0, back.1, Vec::new())],
        (Both, _) => either(None),
        (Out, Both) => either(Some("startNode")),
        (In, Both) => either(Some("endNode")),
        (Out, Out) | (In, In) => vec![way(along.0, along.1, Vec::new())],
        (Out, In) | (In, Out) => vec![way(back.0, back.1, Vec::new())],
    }
}

/// Conditions of the filters right above a step, which is the next below those steps.
fn conditions_above(steps: &[Operator]) -> Vec<Expression> {
    let condition = |step: &Operator| match &step.kind {
        OperatorKind::Filter { predicate, .. } => Some(predicate.clone()),
        _ => None,
    };
    steps.iter().rev().map_while(condition).collect()
}

/// Makes the step that leads to a node lead to another one, which is known before: rows in which the two are the same. False if it
/// cannot.
fn leads_back_to(steps: &mut [Operator], node: SlotId, known: SlotId, facts: &Facts<'_>) -> bool {
    let leads = |step: &Operator| matches!(&step.kind, OperatorKind::Expand { to, into: false, choice: None, .. } if *to == node);
    let Some(own) = steps.iter().position(leads) else { return false };
    let is_condition = |step: &Operator| match &step.kind {
        OperatorKind::Filter { predicate, .. } => !has_subplan(predicate),
        _ => !uses(step).contains(&node),
    };
    let is_late = steps[..=own].iter().any(|step| defines(step).contains(&known));
    if is_late || !steps[..own].iter().all(is_condition) {
        return false;
    }
    for step in &mut steps[..own] {
        if let OperatorKind::Filter { predicate, .. } = &mut step.kind {
            replace_slot(predicate, node, known);
        }
    }
    if let OperatorKind::Expand { to, into, .. } = &mut steps[own].kind {
        (*to, *into) = (known, true);
    }
    let share = facts.nodes.max(1.0);
    steps[..=own].iter_mut().for_each(|step| step.estimated_rows /= share);
    true
}

fn has_subplan(expression: &Expression) -> bool {
    matches!(expression.kind, ExpressionKind::Subquery { .. } | ExpressionKind::Path { .. })
        || expression.operands().into_iter().any(has_subplan)
}
