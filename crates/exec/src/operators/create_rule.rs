//! `CreateConstraint` and `CreateIndex`: adds a rule to the schema. No rows.

use cypher::plan::NewRule;
use model::{Constraint, Index, PropertyKeyId, Result, Schema, Subject};

use crate::chunk::Layout;
use crate::lowering::Lowered;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct CreateRule {
    rule: NewRule,
    if_not_exists: bool,
}

/// Lowers `CreateConstraint` and `CreateIndex`.
pub(crate) fn lower(rule: &NewRule, if_not_exists: bool) -> Lowered {
    (Box::new(CreateRule { rule: rule.clone(), if_not_exists }), Layout::default())
}

impl Physical for CreateRule {
    fn run(&self, scope: Scope<'_, '_>, _sink: &mut Sink<'_>) -> Result<Flow> {
        let new = &self.rule;
        let interrupt = scope.runtime.environment.interrupt;
        scope.runtime.write(|writer| {
            let transaction = &mut writer.transaction;
            let subject = if new.on_edges {
                Subject::EdgeType(transaction.edge_type(&new.subject)?)
            } else {
                Subject::Label(transaction.label(&new.subject)?)
            };
            let keys: Vec<PropertyKeyId> =
                new.keys.iter().map(|key| transaction.property_key(key)).collect::<Result<_>>()?;
            let name = new.name.clone();
            let schema = transaction.view().schema();
            if let Some(rule) = new.rule {
                let constraint = Constraint { name, subject, keys, rule };
                if self.if_not_exists && is_there(schema, &constraint) {
                    return Ok(());
                }
                transaction.create_constraint(constraint, interrupt)?;
                writer.counters.constraints_added += 1;
            } else {
                let is_same = |held: &Index| (held.subject, &held.keys) == (subject, &keys);
                if self.if_not_exists && (schema.is_rule_name(&name) || schema.indexes.iter().any(is_same)) {
                    return Ok(());
                }
                transaction.create_index(Index { name, subject, keys }, interrupt)?;
                writer.counters.indexes_added += 1;
            }
            Ok(())
        })?;
        Ok(Flow::Continue)
    }
}

/// True if the schema has the name, or a constraint that says the same.
fn is_there(schema: &Schema, new: &Constraint) -> bool {
    let is_same = |held: &Constraint| {
        (held.subject, &held.keys) == (new.subject, &new.keys)
            && (held.rule == new.rule || held.is_unique() && new.is_unique())
    };
    schema.is_rule_name(&new.name) || schema.constraints.iter().any(is_same)
}
