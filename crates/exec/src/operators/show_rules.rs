//! `ShowConstraints` and `ShowIndexes`: the schema's constraints or indexes, a row each.

use std::sync::Arc;

use cypher::plan::{RuleKind, SlotId};
use model::{Column, Constraint, Index, PropertyKeyId, Result, Rule, Schema, Subject, Value};

use crate::chunk::{Chunk, Layout};
use crate::lowering::Lowered;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct ShowRules {
    kind: RuleKind,
}

/// Lowers `ShowConstraints` and `ShowIndexes`.
pub(crate) fn lower(kind: RuleKind, slots: &[SlotId]) -> Lowered {
    (Box::new(ShowRules { kind }), Layout::new(slots.to_vec()))
}

impl Physical for ShowRules {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let chunk = {
            let view = scope.runtime.view();
            let schema = view.view().schema();
            let rows: Vec<Vec<Value>> = match self.kind {
                RuleKind::Constraint => schema.constraints.iter().map(|held| constraint(schema, held)).collect(),
                RuleKind::Index => indexes(schema),
            };
            let column = |at: usize| Arc::new(Column::from_values(rows.iter().map(|row| &row[at])));
            Chunk { rows: rows.len(), columns: (0..self.kind.columns().len()).map(column).collect() }
        };
        if chunk.rows == 0 { Ok(Flow::Continue) } else { sink(chunk) }
    }
}

fn constraint(schema: &Schema, held: &Constraint) -> Vec<Value> {
    let is_node = matches!(held.subject, Subject::Label(_));
    let (kind, of) = match (held.rule, is_node) {
        (Rule::Unique, true) => ("UNIQUENESS", Value::Null),
        (Rule::Unique, false) => ("RELATIONSHIP_UNIQUENESS", Value::Null),
        (Rule::Key, true) => ("NODE_KEY", Value::Null),
        (Rule::Key, false) => ("RELATIONSHIP_KEY", Value::Null),
        (Rule::Exists, true) => ("NODE_PROPERTY_EXISTENCE", Value::Null),
        (Rule::Exists, false) => ("RELATIONSHIP_PROPERTY_EXISTENCE", Value::Null),
        (Rule::Type(of), true) => ("NODE_PROPERTY_TYPE", Value::string(&of.to_string())),
        (Rule::Type(of), false) => ("RELATIONSHIP_PROPERTY_TYPE", Value::string(&of.to_string())),
    };
    let mut row = vec![Value::String(held.name.clone()), Value::string(kind)];
    row.extend(subject_and_keys(schema, held.subject, &held.keys));
    row.push(of);
    row
}

/// The ordered indexes, and the hash indexes of constraints by which nodes are looked up.
fn indexes(schema: &Schema) -> Vec<Vec<Value>> {
    let row = |index: &Index, kind: &str| {
        let owner = schema.owner(index).map_or(Value::Null, |owner| Value::String(owner.name.clone()));
        let mut row = vec![Value::String(index.name.clone()), Value::string(kind)];
        row.extend(subject_and_keys(schema, index.subject, &index.keys));
        row.push(owner);
        row
    };
    let hashed = schema.constraints.iter().filter(|held| held.lookup_key().is_some());
    let hashed = hashed.map(|held| Index { name: held.name.clone(), subject: held.subject, keys: held.keys.clone() });
    hashed.map(|index| row(&index, "HASH")).chain(schema.indexes.iter().map(|index| row(index, "RANGE"))).collect()
}

fn subject_and_keys(schema: &Schema, subject: Subject, keys: &[PropertyKeyId]) -> [Value; 3] {
    let entity = if matches!(subject, Subject::Label(_)) { "NODE" } else { "RELATIONSHIP" };
    let keys = keys.iter().map(|&key| Value::string(schema.property_key_name(key))).collect();
    [Value::string(entity), Value::list(vec![Value::string(schema.subject_name(subject))]), Value::list(keys)]
}
