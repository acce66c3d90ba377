//! Merges rows before an expansion that are equal in all that the rest of a plan reads of them.
//!
//! Before: an aggregation that asks only how many rows of a kind there are, or a `Distinct` or an aggregation that asks only which,
//! over steps that work on one row at a time. After: a `PartialAggregate` below each step that makes many rows of one, where what is
//! read of the rows before it are nodes; the aggregation takes each row as often as the number says that comes with it. So the flights
//! from a hub are not followed one by one to where each leads next, but once for each airport. (Yan, Larson, "Eager aggregation and
//! lazy aggregation", 1995.)
//!
//! An edge that later edges must differ from is not kept for that. Rows with the edges from `a` to `b` are merged; a later edge that is one
//! of them takes one away from their number, and it can be told from its ends whether it is. That number must be of all edges from
//! `a` to `b`, which come one after the other, since `a` comes once.

mod ends;
mod steps;
mod taken;
mod trails;
mod turned;

use model::Set;

use super::Use;
use super::count_matches::written::written_out;
use super::count_matches::{Read, Reader, for_each_reader};
use super::take_input;
use super::terms;
use crate::catalog::CompileContext;
use crate::plan::conditions::at;
use crate::plan::{Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SlotId, SlotKind};
use crate::slots::Slots;
use ends::Ends;
use steps::{defines, different_nodes, multiplies, read_above, steps_of, uses};
use taken::Taken;
use trails::{Below, Trails};

/// Rows that a step makes of one, from which on it pays to merge rows before it.
const FAN_OUT_MIN: f64 = 2.0;
/// Rows that such a step is expected to give from which on merging costs little beside it.
const ROWS_MIN: f64 = 2_000.0;
/// Nodes that are few to start from.
const STARTS_MAX: f64 = 16.0;
/// The same where the rule is always used, as by tests with small graphs.
const STARTS_MAX_ALWAYS: f64 = 2.0;
/// Share of all nodes that the edges of a node lead to, at the most, where nothing is known of them.
const CROWDED_SHARE: f64 = 0.05;
/// Factor by which fewer rows are expected to be left where parallel edges make a merge worth it.
const PARALLEL_MIN: f64 = 1.5;
/// Factor by which less work must be expected of a pattern that is followed from its other end.
const TURNED_GAIN_MIN: f64 = 2.0;
/// The most slots that are compared.
const KEYS_MAX: usize = 4;

/// Rewrites all such operators of a plan; true if there was one.
pub(super) fn rewrite_all(root: &mut Operator, slots: &mut Slots, of_rule: Use, context: &CompileContext<'_>) -> bool {
    let mut rewritten = false;
    for_each_reader(root, Read::Whole, &mut |operator, read| {
        rewritten |= rewrite(operator, read, slots, of_rule, context);
    });
    rewritten
}

fn rewrite(operator: &mut Operator, read: Read, slots: &mut Slots, of_rule: Use, context: &CompileContext<'_>) -> bool {
    let Some(mut reader) = Reader::of(operator, read) else { return false };
    let plan = take_input(reader.input);
    // A path of a fixed length is as many steps.
    let written = written_out(&plan, slots).map(|(written, _)| written);
    let facts = Facts { nodes: context.statistics.nodes as f64, of_rule, is_term: false, context };
    let mut merge = |plan: Operator| facts.merged(plan, &reader, slots);
    let Rows { plan, weight, has_merged } = match written.map(&mut merge).filter(|rows| rows.has_merged) {
        Some(merged) => merged,
        None => merge(plan),
    };
    **reader.input = plan;
    if let Some(weight) = weight.filter(|_| reader.counts()) {
        reader.weigh(weight);
    }
    has_merged
}

/// An operator that has no number yet.
fn operator(estimated_rows: f64, kind: OperatorKind) -> Operator {
    Operator { id: OperatorId(0), estimated_rows, kind }
}

/// Facts about the graph, and the use that is to be made of the rule.
struct Facts<'c> {
    nodes: f64,
    context: &'c CompileContext<'c>,
    of_rule: Use,
    /// True if the rows are a term of what counts trails: such rows may lead back to where they come from.
    is_term: bool,
}

/// Rows of steps, merged.
struct Rows {
    plan: Operator,
    /// The slot with the number of rows that each row stands for, unless that is one.
    weight: Option<SlotId>,
    has_merged: bool,
}

impl Facts<'_> {
    fn is_always(&self) -> bool {
        self.of_rule == Use::Always
    }

    /// The rows of a plan, merged on the way from whichever end takes less work.
    fn merged(&self, plan: Operator, reader: &Reader<'_>, slots: &mut Slots) -> Rows {
        let turned = turned::turned(&plan, &reader.needed, slots, self.context);
        let mut merge = |plan: Operator| {
            let (steps, bottom) = steps_of(plan);
            self.rows_for(reader.counts(), steps, bottom, reader.needed.clone(), slots)
        };
        let rows = merge(plan);
        let gain_min = if self.is_always() { 1.0 } else { TURNED_GAIN_MIN };
        let is_better =
            |turned: &Rows| turned.has_merged && turned::work(&turned.plan) * gain_min <= turned::work(&rows.plan);
        turned.map(merge).filter(is_better).unwrap_or(rows)
    }

    /// True if these are few nodes to start from.
    fn are_few(&self, nodes: f64) -> bool {
        nodes <= if self.is_always() { STARTS_MAX_ALWAYS } else { STARTS_MAX }
    }

    /// Expected number of different nodes that a step leads to from one, by that many edges.
    fn different_ends(&self, step: &Operator, fan_out: f64) -> f64 {
        match Ends::of(step, self.context) {
            Some(ends) => ends.different(fan_out),
            None => fan_out.min((self.nodes * CROWDED_SHARE).max(1.0)),
        }
    }

    /// Rows that are expected of steps on what is at the bottom, once those with the same nodes are merged.
    fn expected_merged(&self, steps: &[Operator], bottom: &Bottom, nodes: &Set<SlotId>) -> f64 {
        let bottom_rows = bottom.rows.max(1.0);
        let others = nodes.iter().filter(|node| !bottom.slots.contains(node)).count() as i32;
        let starts = if others < nodes.len() as i32 { bottom_rows } else { 1.0 };
        // Parallel edges make many rows of the same nodes.
        let before = steps.iter().skip(1).map(|step| step.estimated_rows.max(1.0)).chain([bottom_rows]);
        let ends = |(step, before): (&Operator, f64)| self.different_ends(step, step.estimated_rows / before);
        let paths = steps.iter().zip(before).map(ends).product::<f64>();
        (starts * self.nodes.max(1.0).powi(others)).min(bottom_rows * paths)
    }

    /// Rows of which matters how often they come.
    fn rows(&self, steps: Vec<Operator>, bottom: Operator, needed: Set<SlotId>, slots: &mut Slots) -> Rows {
        self.rows_for(true, steps, bottom, needed, slots)
    }

    /// Puts steps on the operator at the bottom, and merges in between; `needed` are the slots that are read above, `counts` is
    /// true if it matters how often a row comes, rather than only that it does.
    fn rows_for(
        &self,
        counts: bool,
        mut steps: Vec<Operator>,
        mut bottom: Operator,
        needed: Set<SlotId>,
        slots: &mut Slots,
    ) -> Rows {
        let (mut weight, mut start) = (None, different_nodes(&bottom));
        let trails = Trails::of(&steps, &bottom, &needed, slots, self, counts);
        let has_counted = trails.is_some();
        if let Some(trails) = trails {
            let mut below = steps.split_off(trails.step);
            let step = below.remove(0);
            start = trails.only_node();
            let (rows, number) = trails.counted(step, &Below { steps: &below, bottom: &bottom }, slots, self);
            (bottom, weight) = (rows, counts.then_some(number));
        }
        let start = (start, steps.len());
        let mut merging = Merging {
            steps,
            start,
            needed,
            slots,
            counts,
            facts: self,
            bottom: Bottom::of(&bottom),
            weight,
            has_merged: has_counted,
            corrections: Vec::new(),
        };
        let plan = merging.build(bottom);
        Rows { plan, weight: merging.weight, has_merged: merging.has_merged }
    }
}

/// Rows that steps start from.
struct Bottom {
    rows: f64,
    slots: Vec<SlotId>,
}

impl Bottom {
    fn of(plan: &Operator) -> Bottom {
        Bottom { rows: plan.estimated_rows, slots: plan.defined_slots() }
    }
}

struct Merging<'a> {
    /// From the top down.
    steps: Vec<Operator>,
    /// The slot of the nodes that the steps start from, if these are different nodes, and the number of those steps.
    start: (Option<SlotId>, usize),
    /// Slots that are read above all steps.
    needed: Set<SlotId>,
    slots: &'a mut Slots,
    /// The number of times that a row comes matters, rather than only whether it does.
    counts: bool,
    facts: &'a Facts<'a>,
    bottom: Bottom,
    /// The slot with the number of rows that each row stands for.
    weight: Option<SlotId>,
    has_merged: bool,
    /// Taken off the number of rows above steps.
    corrections: Vec<Correction>,
}

/// A number that is taken off that of the rows above a step, on a condition.
#[derive(Clone)]
struct Correction {
    step: usize,
    condition: Expression,
    /// The slot with it; `None` for one.
    amount: Option<SlotId>,
}

impl Correction {
    /// The number of rows that is left of one.
    fn left_of(&self, weight: SlotId) -> Expression {
        terms::less(weight, self.amount, self.condition.clone())
    }
}

/// A merge of the rows before a step.
struct Merge {
    keys: Vec<SlotId>,
    taken: Option<Taken>,
}

impl Merging<'_> {
    /// Puts the steps on the operator at the bottom, and merges in between.
    fn build(&mut self, bottom: Operator) -> Operator {
        let mut plan = bottom;
        let (mut share, mut multiplied) = (1.0, false);
        // A subplan that runs for many rows at once must know which of them each of its rows belongs to.
        let is_correlated = plan.is_correlated();
        for at in (0..self.steps.len()).rev() {
            let may_repeat = !is_correlated && (multiplied || self.start.0.is_none());
            if may_repeat && let Some(node) = self.starts_from_same(at) {
                plan = self.made_different(plan, at, node);
                multiplied = false;
            } else if multiplied && let Some(merge) = self.merge_below(at) {
                plan = self.merged(plan, merge, &mut share);
                multiplied = false;
            }
            multiplied |= multiplies(&self.steps[at]);
            plan = self.put(at, plan, share);
        }
        plan
    }

    /// Puts one step on a plan, and takes off what it takes off the number of rows.
    fn put(&mut self, number: usize, below: Operator, share: f64) -> Operator {
        let mut step = self.steps[number].clone();
        step.estimated_rows *= share;
        let rows = step.estimated_rows;
        if let (OperatorKind::Project { items, .. }, Some(weight)) = (&mut step.kind, self.weight) {
            let span = items.first().map(|(_, value)| value.span).unwrap_or_default();
            items.push((weight, at(span, ExpressionKind::Slot(weight))));
        }
        *step.inputs_mut().swap_remove(0) = below;
        let own: Vec<Correction> = self.corrections.iter().filter(|of| of.step == number).cloned().collect();
        for correction in own {
            let Some(weight) = self.weight else { continue };
            let less = self.slots.unnamed(SlotKind::Any);
            let items = vec![(less, correction.left_of(weight))];
            let kind = OperatorKind::Extend { input: Box::new(step), items };
            let extended = operator(rows, kind);
            let kind = OperatorKind::Filter { input: Box::new(extended), predicate: terms::is_left(less) };
            step = operator(rows, kind);
            self.weight = Some(less);
        }
        if !self.counts && !self.corrections.iter().any(|of| of.step < number) {
            self.weight = None;
        }
        step
    }

    /// The merge below a step, if there is one that can be made and may pay.
    fn merge_below(&self, number: usize) -> Option<Merge> {
        let step = &self.steps[number];
        let read = self.read_above(number);
        let is_read = |slot: &SlotId| read.contains(slot);
        let leads_back = matches!(step.kind, OperatorKind::Expand { into: true, .. })
            && (self.facts.is_term || self.facts.is_always());
        let makes_rows = match &step.kind {
            // An end that nobody reads is counted.
            // Unless it must differ from others, which makes each a row.
            OperatorKind::Expand { to, edge, into: false, distinct_from, .. } => {
                let differs = self.facts.is_term && !distinct_from.is_empty();
                is_read(to) || edge.as_ref().is_some_and(is_read) || differs
            }
            OperatorKind::VariableExpand { to, edges, into: false, .. } => {
                is_read(to) || edges.as_ref().is_some_and(is_read)
            }
            OperatorKind::Optional { .. } | OperatorKind::Apply { .. } => defines(step).iter().any(is_read),
            // It compares lists for each row, and takes off edges of earlier steps by their ends alone where nobody reads edges.
            OperatorKind::Intersect { .. } => true,
            _ => leads_back,
        };
        let makes_many = match &step.kind {
            // A subplan may take long for its one row.
            OperatorKind::Optional { .. } | OperatorKind::Apply { .. } => true,
            _ => step.estimated_rows >= self.rows_before(number) * FAN_OUT_MIN,
        };
        let pays = self.facts.is_always() || leads_back || (makes_many && step.estimated_rows >= ROWS_MIN);
        // A step above would take off one for several rows.
        let is_pending = self.corrections.iter().any(|of| of.step <= number);
        if !makes_rows || !pays || is_pending {
            return None;
        }
        let (mut keys, mut edges) = (Vec::new(), Vec::new());
        for slot in self.read_above(number + 1).into_iter().filter(|slot| Some(*slot) != self.weight) {
            match self.slots.kind(slot) {
                SlotKind::Node => keys.push(slot),
                SlotKind::Edge => edges.push(slot),
                _ => return None,
            }
        }
        let taken = match edges.as_slice() {
            [] => None,
            [edge] => {
                let taken = Taken::of(&self.steps, number, *edge, &self.needed)?;
                // Each such edge must have come once from each node.
                let (start, steps) = self.start;
                let is_lone = self.steps[number + 1..steps].iter().filter(|step| multiplies(step)).count() == 1;
                let is_free = is_lone && start == Some(taken.ends[0]) && self.merges_pairs(&taken);
                is_free.then_some(taken)?.into()
            }
            _ => return None,
        };
        let ends = taken.iter().flat_map(|taken| taken.keys(&keys)).collect::<Vec<SlotId>>();
        keys.extend(ends);
        keys.sort_unstable();
        let is_intersection = matches!(step.kind, OperatorKind::Intersect { .. });
        let is_worth = !is_intersection || self.facts.is_always() || self.merges_many(number, &keys);
        (!keys.is_empty() && keys.len() <= KEYS_MAX && is_worth).then_some(Merge { keys, taken })
    }

    /// Rows that are expected before a step, of which nothing is merged; at least one.
    fn rows_before(&self, number: usize) -> f64 {
        self.steps.get(number + 1).map_or(self.bottom.rows, |step| step.estimated_rows).max(1.0)
    }

    /// True if parallel edges make several rows of the same nodes before a step.
    fn merges_many(&self, number: usize, keys: &[SlotId]) -> bool {
        let keys = keys.iter().copied().collect();
        let merged = self.facts.expected_merged(&self.steps[number + 1..], &self.bottom, &keys);
        self.rows_before(number) >= PARALLEL_MIN * merged
    }

    /// True if it may pay to merge the edges between each two nodes, where these are told apart: from few nodes, and where there are so
    /// many edges that several must lead to the same node.
    fn merges_pairs(&self, taken: &Taken) -> bool {
        let before = self.rows_before(taken.own);
        let fan_out = self.steps[taken.own].estimated_rows / before;
        let is_crowded = || fan_out >= PARALLEL_MIN * self.facts.different_ends(&self.steps[taken.own], fan_out);
        taken.only_loops || self.facts.is_always() || self.facts.are_few(before) || is_crowded()
    }

    /// The node that a step starts from, if it may come again, and the step's edge is one that a step above must differ from.
    fn starts_from_same(&self, number: usize) -> Option<SlotId> {
        let OperatorKind::Expand { from, edge: Some(edge), choice: None, .. } = &self.steps[number].kind else {
            return None;
        };
        let above = (0..number).rev().find(|&at| uses(&self.steps[at]).contains(edge))?;
        let pays = self.facts.is_always() || self.steps[above].estimated_rows >= ROWS_MIN;
        let is_pending = self.corrections.iter().any(|of| of.step <= number);
        let mut read = self.read_above(number + 1);
        self.weight.iter().for_each(|weight| {
            read.remove(weight);
        });
        let is_alone = read.len() == 1 && read.contains(from) && self.slots.kind(*from) == SlotKind::Node;
        let is_free = pays && is_alone && !is_pending && self.start.0 != Some(*from);
        (is_free && Taken::of(&self.steps, above, *edge, &self.needed).is_some()).then_some(*from)
    }

    /// Merges all rows of a plan before a step that have the same node, and nothing else that is read.
    fn made_different(&mut self, below: Operator, number: usize, node: SlotId) -> Operator {
        let estimated_rows = below.estimated_rows.min(self.facts.nodes.max(1.0));
        let input = Box::new(below);
        let kind = if self.counts {
            let count = self.slots.unnamed(SlotKind::Any);
            let keys = vec![(node, terms::slot(node))];
            let aggregates = vec![terms::number_of_rows(count, self.weight)];
            self.weight = Some(count);
            OperatorKind::Aggregate { input, keys, aggregates }
        } else {
            OperatorKind::Distinct { input, slots: vec![node] }
        };
        (self.start, self.has_merged) = ((Some(node), number + 1), true);
        operator(estimated_rows, kind)
    }

    /// Slots of the rows after that many steps from the top that those or what is above them read.
    fn read_above(&self, number: usize) -> Set<SlotId> {
        read_above(&self.steps[..number], &self.needed)
    }

    /// Merges the rows of a plan before a step.
    fn merged(&mut self, below: Operator, merge: Merge, share: &mut f64) -> Operator {
        let Merge { mut keys, taken } = merge;
        let rows = below.estimated_rows;
        let mut input = below;
        if let Some(taken) = &taken {
            let loops = taken.loops(self.slots, self.weight);
            let slot = loops.as_ref().map(|(slot, _)| *slot);
            if loops.is_none() {
                keys.extend(self.weight);
            }
            if let Some(loops) = loops {
                keys.push(loops.0);
                let kind = OperatorKind::Extend { input: Box::new(input), items: vec![loops] };
                input = operator(rows, kind);
            }
            let amount = self.weight.map(|weight| slot.unwrap_or(weight));
            let conditions = taken.allow(&mut self.steps, slot, self.slots);
            let correction = |(step, condition)| Correction { step, condition, amount };
            self.corrections.extend(conditions.into_iter().map(correction));
        }
        let count = (self.counts || taken.is_some()).then(|| self.slots.unnamed(SlotKind::Any));
        let estimated_rows = if keys.len() == 1 { rows.min(self.facts.nodes.max(1.0)) } else { rows };
        *share *= estimated_rows / rows.max(f64::MIN_POSITIVE);
        // A number that something is taken off must be that of all such edges.
        let whole_for = taken.map(|taken| taken.ends[0]);
        let (input, weight) = (Box::new(input), self.weight);
        let kind = OperatorKind::PartialAggregate { input, slots: keys, weight, count, whole_for };
        (self.weight, self.has_merged) = (count, true);
        operator(estimated_rows, kind)
    }
}
