//! Steps of a plan, each of which works on one row at a time, and the slots that they read and define.

use model::Set;

use super::super::take_input;
use crate::plan::{Operator, OperatorKind, SlotId};

/// Takes a plan apart into steps that work on one row at a time, from the top down, each without its input, and what is below.
pub(super) fn steps_of(mut plan: Operator) -> (Vec<Operator>, Operator) {
    let mut steps = Vec::new();
    while is_step(&plan) {
        let below = take_input(plan.inputs_mut().swap_remove(0));
        steps.push(std::mem::replace(&mut plan, below));
    }
    (steps, plan)
}

fn is_step(operator: &Operator) -> bool {
    use OperatorKind as Kind;
    let is_kind = matches!(
        operator.kind,
        Kind::NodeScan { .. }
            | Kind::NodeLookup { .. }
            | Kind::IndexSeek { .. }
            | Kind::NodeById { .. }
            | Kind::Expand { .. }
            | Kind::VariableExpand { .. }
            | Kind::Intersect { .. }
            | Kind::Filter { .. }
            | Kind::Project { .. }
            | Kind::Extend { .. }
            | Kind::Unwind { .. }
            | Kind::Apply { .. }
            | Kind::Optional { .. }
            | Kind::SemiApply { .. }
            | Kind::CrossProduct { .. }
            | Kind::HashJoin { .. }
            | Kind::CountMatches { .. }
    );
    let starts = operator.inputs().first().is_some_and(|input| matches!(input.kind, Kind::Unit));
    is_kind && !starts && !operator.is_random_step()
}

/// Slots of the rows before it that a step reads.
pub(super) fn uses(step: &Operator) -> Set<SlotId> {
    let mut used: Set<SlotId> = step.plain_uses().into_iter().collect();
    match &step.kind {
        // The other side of a join starts from rows around the plan, or from none.
        OperatorKind::HashJoin { on, .. } => on.iter().for_each(|(own, _)| own.free_slots(&mut used)),
        OperatorKind::CrossProduct { .. } => {}
        _ => {
            step.expressions().into_iter().for_each(|expression| expression.free_slots(&mut used));
            for subplan in step.inputs().into_iter().skip(1) {
                subplan.arguments(&mut |taken| used.extend(taken.iter().copied()));
            }
        }
    }
    // The filter of a path has a slot of its own for each edge.
    if let OperatorKind::VariableExpand { filter: Some(filter), .. } = &step.kind {
        used.remove(&filter.slot);
    }
    used
}

/// Slots that a step adds to those of the rows before it.
pub(super) fn defines(step: &Operator) -> Set<SlotId> {
    let mut defined: Set<SlotId> = step.defined_slots().into_iter().collect();
    if let OperatorKind::Optional { slots, .. } = &step.kind {
        defined.extend(slots.iter().copied());
    }
    for subplan in step.inputs().into_iter().skip(1) {
        subplan.each(&mut |operator| defined.extend(operator.defined_slots()));
    }
    defined
}

/// Slots of the rows below steps, from the top down, that those or what is above them read.
pub(super) fn read_above(steps: &[Operator], needed: &Set<SlotId>) -> Set<SlotId> {
    let mut read = needed.clone();
    for step in steps {
        defines(step).iter().for_each(|slot| {
            read.remove(slot);
        });
        read.extend(uses(step));
    }
    read
}

/// True if a step may make several rows of one.
pub(super) fn multiplies(step: &Operator) -> bool {
    use OperatorKind as Kind;
    !matches!(
        step.kind,
        Kind::Filter { .. }
            | Kind::Project { .. }
            | Kind::Extend { .. }
            | Kind::SemiApply { .. }
            | Kind::CountMatches { .. }
    )
}

/// The slot of an operator that gives different nodes and nothing else.
pub(super) fn different_nodes(operator: &Operator) -> Option<SlotId> {
    use OperatorKind as Kind;
    match &operator.kind {
        Kind::NodeScan { input, slot, .. }
        | Kind::NodeLookup { input, slot, .. }
        | Kind::IndexSeek { input, slot, on_edges: false, .. }
        | Kind::NodeById { input, slot, .. } => matches!(input.kind, Kind::Unit).then_some(*slot),
        _ => None,
    }
}
