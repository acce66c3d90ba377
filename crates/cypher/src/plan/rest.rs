//! The rest of a plan beyond a horizon, for rows that are there already.

use std::sync::Arc;

use model::Set;

use super::{Expression, ExpressionKind, Operator, OperatorId, OperatorKind, Plan, SlotId};

impl Plan {
    /// The operator whose rows are those of a horizon of this plan, and of another plan of the same statement, if both get them in the
    /// same way: then the rows of one are rows of the other.
    pub fn same_horizon(&self, at: OperatorId, other: &Plan) -> Option<OperatorId> {
        let (horizon, _) = self.horizons.iter().find(|(_, operator)| *operator == at)?;
        let (_, there) = other.horizons.iter().find(|(seen, _)| seen == horizon)?;
        let (ours, theirs) = (operator_at(&self.root, at)?, operator_at(&other.root, *there)?);
        is_same_work(ours, theirs).then_some(*there)
    }

    /// True if another plan does the same work in the same order.
    pub fn is_same_work(&self, other: &Plan) -> bool {
        is_same_work(&self.root, &other.root)
    }

    /// The plan from a horizon on, over rows with these slots; `None` if it needs other slots of them.
    pub fn rest(&self, horizon: OperatorId, slots: &[SlotId]) -> Option<Plan> {
        let mut rest = self.clone();
        let place = operator_at_mut(&mut rest.root, horizon)?;
        let held = OperatorKind::Held { slots: slots.to_vec() };
        let before = std::mem::replace(&mut place.kind, held);
        let mut given = Set::default();
        add_defined(&Operator { id: horizon, estimated_rows: 0.0, kind: before }, &mut given);
        let mut needed: Set<SlotId> = self.columns.iter().map(|(_, slot)| *slot).collect();
        rest.root.used_slots(&mut needed);
        let is_there = |slot: &SlotId| !given.contains(slot) || slots.contains(slot);
        needed.iter().all(is_there).then_some(rest)
    }
}

/// The operator of that number.
pub fn operator_at(plan: &Operator, id: OperatorId) -> Option<&Operator> {
    if plan.id == id {
        return Some(plan);
    }
    plan.inputs().into_iter().find_map(|input| operator_at(input, id))
}

fn operator_at_mut(plan: &mut Operator, id: OperatorId) -> Option<&mut Operator> {
    if plan.id == id {
        return Some(plan);
    }
    plan.inputs_mut().into_iter().find_map(|input| operator_at_mut(input, id))
}

/// Adds all slots that an operator or those below it define.
fn add_defined(plan: &Operator, slots: &mut Set<SlotId>) {
    slots.extend(plan.defined_slots());
    plan.inputs().into_iter().for_each(|input| add_defined(input, slots));
}

/// True if two plans differ in nothing but numbers of operators and estimates.
fn is_same_work(a: &Operator, b: &Operator) -> bool {
    let plain = |plan: &Operator| {
        let mut plan = plan.clone();
        forget_numbers(&mut plan);
        format!("{plan:?}")
    };
    plain(a) == plain(b)
}

fn forget_numbers(plan: &mut Operator) {
    (plan.id, plan.estimated_rows) = (OperatorId(0), 0.0);
    plan.inputs_mut().into_iter().for_each(forget_numbers);
    plan.expressions_mut().into_iter().for_each(forget_numbers_of_subplans);
}

fn forget_numbers_of_subplans(expression: &mut Expression) {
    if let ExpressionKind::Subquery { plan, .. } = &mut expression.kind {
        forget_numbers(Arc::make_mut(plan));
    }
    expression.operands_mut().into_iter().for_each(forget_numbers_of_subplans);
}
