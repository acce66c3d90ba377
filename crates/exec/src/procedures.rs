//! Procedures that tell of the schema: names, constraints, indexes, sort keys; and of the functions.

use std::sync::Arc;

use cypher::catalog::FunctionKind;
use model::procedure::{Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec};
use model::{Column, Constraint, Index, PropertyKeyId, Result, Rule, Schema, Subject, Value};

use crate::{aggregates, functions};

/// A procedure that lists rows made of the schema.
struct List {
    signature: ProcedureSignature,
    rows: fn(&Schema) -> Vec<Vec<Value>>,
}

const fn text(name: &'static str) -> YieldSpec {
    YieldSpec { name, type_name: "STRING" }
}

const fn texts(name: &'static str) -> YieldSpec {
    YieldSpec { name, type_name: "LIST<STRING>" }
}

/// All procedures of this file.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    vec![
        list("db.labels", "The labels of the store.", LABEL, |schema| one_each(&schema.labels)),
        list("db.relationshipTypes", "The edge types of the store.", EDGE_TYPE, |schema| one_each(&schema.edge_types)),
        list("db.propertyKeys", "The property keys of the store.", PROPERTY_KEY, |schema| {
            one_each(&schema.property_keys)
        }),
        list("db.constraints", "The constraints of the store.", CONSTRAINT, |schema| {
            schema.constraints.iter().map(|held| constraint(schema, held)).collect()
        }),
        list("db.indexes", "The indexes of the store, those of constraints included.", INDEX, indexes),
        list("db.sortKeys", "The sort keys of edge types.", SORT_KEY, sort_keys),
        list("dbms.functions", "The functions that queries can call.", FUNCTION, |_| function_rows()),
    ]
}

const LABEL: &[YieldSpec] = &[text("label")];
const EDGE_TYPE: &[YieldSpec] = &[text("relationshipType")];
const PROPERTY_KEY: &[YieldSpec] = &[text("propertyKey")];
const SORT_KEY: &[YieldSpec] = &[text("type"), texts("properties")];
const CONSTRAINT: &[YieldSpec] = &[
    text("name"),
    text("type"),
    text("entityType"),
    texts("labelsOrTypes"),
    texts("properties"),
    text("propertyType"),
];
const INDEX: &[YieldSpec] = &[
    text("name"),
    text("type"),
    text("entityType"),
    texts("labelsOrTypes"),
    texts("properties"),
    text("owningConstraint"),
];
const FUNCTION: &[YieldSpec] =
    &[text("name"), text("signature"), text("description"), YieldSpec { name: "aggregating", type_name: "BOOLEAN" }];

fn list(
    name: &'static str,
    description: &'static str,
    yields: &'static [YieldSpec],
    rows: fn(&Schema) -> Vec<Vec<Value>>,
) -> Arc<dyn Procedure> {
    let signature =
        ProcedureSignature { name, aliases: &[], description, mode: ProcedureMode::Read, arguments: &[], yields };
    Arc::new(List { signature, rows })
}

impl Procedure for List {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, context: &mut ProcedureContext<'_>, _: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let rows = (self.rows)(context.graph.view().schema());
        sink(columns_of(&rows, self.signature.yields.len()))?;
        Ok(())
    }
}

/// Rows of values as columns.
pub fn columns_of(rows: &[Vec<Value>], width: usize) -> Vec<Column> {
    (0..width).map(|at| Column::from_values(rows.iter().map(|row| &row[at]))).collect()
}

fn one_each(names: &model::schema::Names) -> Vec<Vec<Value>> {
    names.iter().map(|name| vec![Value::String(name.clone())]).collect()
}

fn sort_keys(schema: &Schema) -> Vec<Vec<Value>> {
    let name = |key: &PropertyKeyId| Value::string(schema.property_key_name(*key));
    let row = |held: &model::SortKey| {
        vec![Value::string(schema.edge_type_name(held.edge_type)), Value::list(held.keys.iter().map(name).collect())]
    };
    schema.sort_keys.iter().map(row).collect()
}

fn function_rows() -> Vec<Vec<Value>> {
    let row = |name: &str, usage: &str, description: &str, kind| {
        let is_aggregate = Value::Bool(kind == FunctionKind::Aggregate);
        vec![Value::string(name), Value::string(usage), Value::string(description), is_aggregate]
    };
    let scalars = functions::scalar_functions();
    let mut rows: Vec<_> =
        scalars.map(|held| row(held.name, held.usage, held.description, FunctionKind::Scalar)).collect();
    rows.extend(aggregates::described().map(|(name, usage, text)| row(name, usage, text, FunctionKind::Aggregate)));
    rows
}

fn constraint(schema: &Schema, held: &Constraint) -> Vec<Value> {
    let is_node = matches!(held.subject, Subject::Label(_));
    let (kind, of) = match (held.rule, is_node) {
        (Rule::Ends { from, to }, _) => {
            let ends = format!("FROM {} TO {}", schema.label_name(from), schema.label_name(to));
            ("RELATIONSHIP_ENDS", Value::string(&ends))
        }
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
