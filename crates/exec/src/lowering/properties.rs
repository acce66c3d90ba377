//! The properties of a node that a plan reads anywhere, so that a remote store can send them along with the node.

use std::sync::Arc;

use cypher::plan::{Expression, ExpressionKind, Operator, SlotId};
use model::{Map, PropertyKeyId, ReadView};

/// The properties that a plan reads of each slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties(Map<SlotId, Vec<Arc<str>>>);

impl Properties {
    /// Those of a whole plan.
    pub(crate) fn of(plan: &Operator) -> Properties {
        let mut properties = Properties::default();
        properties.add_operator(plan);
        properties
    }

    /// Those of one slot.
    pub(crate) fn of_slot(&self, slot: SlotId) -> Vec<Arc<str>> {
        self.0.get(&slot).cloned().unwrap_or_default()
    }

    fn add_operator(&mut self, plan: &Operator) {
        plan.expressions().into_iter().for_each(|expression| self.add_expression(expression));
        plan.inputs().into_iter().for_each(|input| self.add_operator(input));
    }

    fn add_expression(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Property { object, key } => {
                if let ExpressionKind::Slot(slot) = object.kind {
                    let keys = self.0.entry(slot).or_default();
                    if !keys.contains(key) {
                        keys.push(key.clone());
                    }
                }
            }
            ExpressionKind::Subquery { plan, .. } => self.add_operator(plan),
            _ => {}
        }
        expression.operands().into_iter().for_each(|operand| self.add_expression(operand));
    }
}

/// The ids of properties that are worth asking for ahead: none of a store that is near.
pub(crate) fn keys_ahead(view: &dyn ReadView, names: &[Arc<str>]) -> Vec<PropertyKeyId> {
    if !view.capabilities().is_remote {
        return Vec::new();
    }
    names.iter().filter_map(|name| view.schema().property_key(name)).collect()
}
