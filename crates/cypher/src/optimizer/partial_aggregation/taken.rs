//! An edge that later edges of a pattern must differ from, told by its ends.
//!
//! Rows with the edges from `a` to `b` are merged into one with their number. A later edge that is one of them takes one away. Later
//! edges differ from each other, so that no two of them take away the same.

use std::sync::Arc;

use model::{Direction, Set, Span, Value};

use super::super::count_matches::cannot_fail;
use super::steps::uses;
use crate::optimizer::terms::{binary, case, equal, function, has_type, integer, is_same, reads, slot};
use crate::plan::conditions::{add_conjuncts, at, conjunction, replace_slot};
use crate::plan::{BinaryOperator, Expression, ExpressionKind, Operator, OperatorKind, SlotId, SlotKind};
use crate::slots::Slots;

/// See the module.
pub(super) struct Taken {
    edge: SlotId,
    /// The ends as the edge is followed, `a` and `b`.
    pub(super) ends: [SlotId; 2],
    direction: Direction,
    types: Vec<Arc<str>>,
    /// Conditions on the edge.
    conditions: Vec<Expression>,
    /// Numbers of the steps whose edges must differ from it.
    later: Vec<usize>,
    /// Only an edge from a node to itself can come again, right after it.
    pub(super) only_loops: bool,
    /// Number of the step that follows the edge.
    pub(super) own: usize,
}

/// The edge of a step, as it is followed.
pub(super) struct Followed<'s> {
    pub(super) from: SlotId,
    pub(super) to: SlotId,
    /// `None` if nobody reads it.
    pub(super) edge: Option<SlotId>,
    pub(super) direction: Direction,
    pub(super) types: &'s [Arc<str>],
}

/// The edge of an expansion that takes any edge.
pub(super) fn followed(step: &Operator) -> Option<Followed<'_>> {
    match &step.kind {
        OperatorKind::Expand { from, to, edge, direction, types, choice: None, .. } => {
            Some(Followed { from: *from, to: *to, edge: *edge, direction: *direction, types })
        }
        _ => None,
    }
}

/// True if of the edges of an earlier step only those from a node to itself can come again in a step: both are followed in one
/// direction, one after the other.
pub(super) fn only_loops_again(steps: &[Operator], number: usize, edge: SlotId) -> bool {
    let earlier = steps[number + 1..].iter().filter_map(followed).find(|earlier| earlier.edge == Some(edge));
    earlier.zip(followed(&steps[number])).is_some_and(|(earlier, next)| {
        next.from == earlier.to && next.direction == earlier.direction && next.direction != Direction::Both
    })
}

/// The conditions on an edge among steps; `None` if they read it in another way, or one could fail for another edge.
fn conditions_on(edge: SlotId, steps: &[Operator]) -> Option<Vec<Expression>> {
    let mut conditions = Vec::new();
    for step in steps.iter().filter(|step| uses(step).contains(&edge)) {
        let OperatorKind::Filter { predicate, .. } = &step.kind else { return None };
        let mut all = Vec::new();
        add_conjuncts(predicate.clone(), &mut all);
        for condition in all.into_iter().filter(|condition| reads(condition, edge)) {
            if !cannot_fail(&condition, edge) {
                return None;
            }
            conditions.push(condition);
        }
    }
    Some(conditions)
}

impl Taken {
    /// An edge of a step below the one with that number, if it need not be kept for those above.
    pub(super) fn of(steps: &[Operator], number: usize, edge: SlotId, needed: &Set<SlotId>) -> Option<Taken> {
        let own = (number + 1..steps.len()).find(|&at| followed(&steps[at]).is_some_and(|it| it.edge == Some(edge)))?;
        let Followed { from, to, direction, types, .. } = followed(&steps[own])?;
        let later: Vec<usize> = (0..=number).filter(|&at| uses(&steps[at]).contains(&edge)).collect();
        let first = *later.first()?;
        let is_compared = |step: &Operator| {
            let in_expressions = step.expressions().into_iter().any(|expression| reads(expression, edge));
            followed(step).is_some() && !in_expressions
        };
        let is_dropped = |step: &Operator| matches!(step.kind, OperatorKind::Project { .. });
        let conditions = conditions_on(edge, &steps[number + 1..own])?;
        if needed.contains(&edge)
            || steps[first..own].iter().any(is_dropped)
            || !later.iter().all(|&at| is_compared(&steps[at]))
        {
            return None;
        }
        let only_loops = later.as_slice() == [number] && only_loops_again(steps, number, edge);
        Some(Taken { edge, ends: [from, to], direction, types: types.to_vec(), conditions, later, only_loops, own })
    }

    /// Slots that tell such edges apart, besides these.
    pub(super) fn keys(&self, keys: &[SlotId]) -> Vec<SlotId> {
        let ends = if self.only_loops { &self.ends[1..] } else { &self.ends[..] };
        ends.iter().copied().filter(|end| !keys.contains(end)).collect()
    }

    /// Another slot that does, and its value for each row: the number of rows that it stands for where the edge is a loop.
    pub(super) fn loops(&self, slots: &mut Slots, weight: Option<SlotId>) -> Option<(SlotId, Expression)> {
        let [a, b] = self.ends;
        let number = || weight.map_or_else(|| integer(1), slot);
        self.only_loops.then(|| (slots.unnamed(SlotKind::Any), case(equal(a, b), number(), integer(0))))
    }

    /// Lets the edges of later steps be such an edge. Gives the conditions for that, each with the number of its step; `loops` is
    /// the slot of [`Taken::loops`].
    pub(super) fn allow(
        &self,
        steps: &mut [Operator],
        loops: Option<SlotId>,
        slots: &mut Slots,
    ) -> Vec<(usize, Expression)> {
        let mut found = Vec::new();
        for &number in &self.later {
            let OperatorKind::Expand { edge, distinct_from, .. } = &mut steps[number].kind else { continue };
            distinct_from.retain(|other| *other != self.edge);
            let read = *edge.get_or_insert_with(|| slots.unnamed(SlotKind::Edge));
            let Some(followed) = followed(&steps[number]) else { continue };
            let is_place = match loops {
                Some(loops) => {
                    let is_loop = binary(BinaryOperator::Greater, slot(loops), integer(0));
                    vec![is_loop, equal(followed.from, followed.to)]
                }
                None => vec![self.has_place_of(&followed, read)],
            };
            let mut conditions: Vec<Expression> =
                is_place.into_iter().chain(has_type(read, followed.types, &self.types)).collect();
            for condition in &self.conditions {
                let mut of_later = condition.clone();
                replace_slot(&mut of_later, self.edge, read);
                conditions.push(of_later);
            }
            let condition = conjunction(conditions);
            found.extend(condition.map(|condition| (number, condition)));
        }
        found
    }

    /// True if an edge lies where the merged ones do: from `a` to `b`.
    fn has_place_of(&self, edge: &Followed<'_>, read: SlotId) -> Expression {
        let [a, b] = self.ends;
        let from_to = |from: SlotId, to: SlotId| {
            let differing = [(from, a), (to, b)].into_iter().filter(|(x, y)| x != y);
            conjunction(differing.map(|(x, y)| equal(x, y)).collect())
        };
        let along = from_to(edge.from, edge.to);
        let back = from_to(edge.to, edge.from);
        let always = || at(Span::default(), ExpressionKind::Literal(Value::Bool(true)));
        let ends = |first: &str, last: &str| {
            let is_end = |name: &str, end: SlotId| is_same(function(name, read), slot(end));
            conjunction(vec![is_end(first, a), is_end(last, b)])
        };
        let place = match (self.direction, edge.direction) {
            (Direction::Both, _) => match (along, back) {
                (Some(along), Some(back)) => Some(at(Span::default(), ExpressionKind::Or(vec![along, back]))),
                _ => None,
            },
            (Direction::Out, Direction::Both) => ends("startNode", "endNode"),
            (Direction::In, Direction::Both) => ends("endNode", "startNode"),
            (own, other) if own == other => along,
            _ => back,
        };
        place.unwrap_or_else(always)
    }
}
