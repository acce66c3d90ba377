//! Compares no rows that differ anyway.
//!
//! Before: a `Distinct`, or an aggregate of distinct values, over rows of which it is known from the plan that no two are equal in
//! these. After: the slots alone, or the aggregate of all values. A unique property tells its nodes apart, where they have it.
//! Needs: all other rules that ask whether rows may repeat have run.

use std::sync::Arc;

use model::{Map, Schema, Set, Span};

use super::take_input;
use crate::plan::conditions::{at, property_of_slot};
use crate::plan::{Expression, ExpressionKind, LookupValue, Operator, OperatorKind, SlotId};
use crate::slots::Slots;

/// Rows of which no two are equal in all of some slots.
#[derive(Default)]
struct Apart {
    by: Set<SlotId>,
    /// Labels that the nodes of scans carry.
    labels: Map<SlotId, Vec<Arc<str>>>,
}

/// Rewrites one operator.
pub(super) fn simplify(operator: &mut Operator, slots: &Slots, schema: &Schema) {
    match &mut operator.kind {
        OperatorKind::Distinct { input, slots: compared }
            if apart(input).is_some_and(|rows| rows.by.iter().all(|slot| compared.contains(slot))) =>
        {
            let itself = |slot: &SlotId| (*slot, at(Span::default(), ExpressionKind::Slot(*slot)));
            let items = compared.iter().map(itself).collect();
            operator.kind = OperatorKind::Project { input: Box::new(take_input(input)), items };
        }
        OperatorKind::Aggregate { input, keys, aggregates } if aggregates.iter().any(|it| it.distinct) => {
            let Some(rows) = apart(input) else { return };
            let keys: Set<SlotId> = keys.iter().filter_map(|(_, key)| key.as_slot()).collect();
            for aggregate in aggregates.iter_mut().filter(|it| it.distinct) {
                let [argument] = aggregate.arguments.as_slice() else { continue };
                let told = rows.told_by(argument, slots, schema);
                let is_told = |slot: &SlotId| keys.contains(slot) || told == Some(*slot);
                aggregate.distinct = !rows.by.iter().all(is_told);
            }
        }
        _ => {}
    }
}

impl Apart {
    /// The slot whose values differ where a value differs and is not null.
    fn told_by(&self, value: &Expression, slots: &Slots, schema: &Schema) -> Option<SlotId> {
        if let Some(slot) = value.as_slot() {
            return Some(slot);
        }
        let (slot, key) = property_of_slot(value)?;
        let key = schema.property_key(key)?;
        let labels = self.labels.get(&slot)?.iter().chain(slots.covered(slot));
        let mut ids = labels.filter_map(|label| schema.label(label));
        ids.any(|label| schema.unique(label, key).is_some()).then_some(slot)
    }

    fn and(mut self, slot: SlotId) -> Apart {
        self.by.insert(slot);
        self
    }

    fn joined(mut self, other: Apart) -> Apart {
        self.by.extend(other.by);
        self.labels.extend(other.labels);
        self
    }
}

/// The slots that tell the rows of an operator apart; `None` if some may be equal.
fn apart(operator: &Operator) -> Option<Apart> {
    match &operator.kind {
        OperatorKind::Unit | OperatorKind::Argument { .. } => Some(Apart::default()),
        OperatorKind::NodeScan { input, slot, labels, .. }
        | OperatorKind::NodeUnionScan { input, slot, labels, .. } => {
            let mut rows = apart(input)?.and(*slot);
            rows.labels.insert(*slot, labels.clone());
            Some(rows)
        }
        OperatorKind::NodeLookup { input, value: LookupValue::One(_), .. }
        | OperatorKind::NodeById { input, value: LookupValue::One(_), .. }
        | OperatorKind::Filter { input, .. }
        | OperatorKind::Extend { input, .. }
        | OperatorKind::Sort { input, .. }
        | OperatorKind::Top { input, .. }
        | OperatorKind::Skip { input, .. }
        | OperatorKind::Limit { input, .. }
        | OperatorKind::SemiApply { input, .. }
        | OperatorKind::CountMatches { input, .. } => apart(input),
        OperatorKind::Expand { input, edge: Some(edge), .. } => Some(apart(input)?.and(*edge)),
        OperatorKind::CrossProduct { left, right } | OperatorKind::HashJoin { left, right, .. } => {
            Some(apart(left)?.joined(apart(right)?))
        }
        OperatorKind::Apply { input, subplan } => Some(apart(input)?.joined(apart(subplan)?)),
        OperatorKind::Distinct { slots, .. } => {
            Some(Apart { by: slots.iter().copied().collect(), labels: Map::default() })
        }
        OperatorKind::Aggregate { keys, .. } => {
            Some(Apart { by: keys.iter().map(|(slot, _)| *slot).collect(), labels: Map::default() })
        }
        OperatorKind::Project { input, items } => projected(&apart(input)?, items),
        _ => None,
    }
}

/// The same by the slots that a projection passes values on to; `None` if it drops one of them.
fn projected(rows: &Apart, items: &[(SlotId, Expression)]) -> Option<Apart> {
    let passed_on = |slot: &SlotId| {
        let is_slot = |(_, value): &&(SlotId, Expression)| value.as_slot() == Some(*slot);
        items.iter().find(is_slot).map(|(output, _)| *output)
    };
    let by = rows.by.iter().map(passed_on).collect::<Option<_>>()?;
    let labels = rows.labels.iter().filter_map(|(slot, labels)| Some((passed_on(slot)?, labels.clone())));
    Some(Apart { by, labels: labels.collect() })
}
