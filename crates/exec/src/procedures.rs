//! Procedures that tell of the schema: names, constraints, indexes, sort keys; and of the functions.

use std::sync::Arc;

use cypher::catalog::FunctionKind;
use model::procedure::{
    ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec,
};
use model::{Column, Constraint, Index, PropertyKeyId, Result, Rule, Schema, Subject, Value};

use crate::{aggregates, functions};

/// A procedure that lists rows made of the schema.
struct List {
    signature: ProcedureSignature,
    rows: fn(&Schema, &[Value]) -> Vec<Vec<Value>>,
}

/// A column of the result of a procedure.
pub const fn of(name: &'static str, type_name: &'static str) -> YieldSpec {
    YieldSpec { name, type_name }
}

/// A column of strings.
pub const fn text(name: &'static str) -> YieldSpec {
    of(name, "STRING")
}

/// A column of lists of strings.
pub const fn texts(name: &'static str) -> YieldSpec {
    of(name, "LIST<STRING>")
}

/// All procedures of this file.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    [
        list("db.labels", "The labels of the store.", LABEL, |schema, _| one_each(&schema.labels)),
        list("db.relationshipTypes", "The edge types of the store.", EDGE_TYPE, |schema, _| {
            one_each(&schema.edge_types)
        }),
        list("db.propertyKeys", "The property keys of the store.", PROPERTY_KEY, |schema, _| {
            one_each(&schema.property_keys)
        }),
        list("db.constraints", "The constraints of the store.", CONSTRAINT, |schema, _| {
            schema.constraints.iter().map(|held| constraint(schema, held)).collect()
        }),
        with(KIND, list("db.indexes", "The indexes of the store, those of constraints included.", INDEX, indexes)),
        list("db.sortKeys", "The sort keys of edge types.", SORT_KEY, |schema, _| sort_keys(schema)),
        list("dbms.functions", "The functions that queries can call.", FUNCTION, |_, _| function_rows()),
    ]
    .into_iter()
    .map(|list| Arc::new(list) as Arc<dyn Procedure>)
    .collect()
}

const KIND: &[ArgumentSpec] = &[ArgumentSpec {
    name: "type",
    type_name: "STRING",
    description: "The type of the indexes, as RANGE; ALL, if left out.",
    default: Some(|| Value::string("ALL")),
}];

const LABEL: &[YieldSpec] = &[text("label")];
const EDGE_TYPE: &[YieldSpec] = &[text("relationshipType")];
const PROPERTY_KEY: &[YieldSpec] = &[text("propertyKey")];
const SORT_KEY: &[YieldSpec] = &[text("type"), texts("properties")];
const CONSTRAINT: &[YieldSpec] = &[
    of("id", "INTEGER"),
    text("name"),
    text("type"),
    text("entityType"),
    texts("labelsOrTypes"),
    texts("properties"),
    text("ownedIndex"),
    text("propertyType"),
    of("options", "MAP"),
    text("createStatement"),
];
const INDEX: &[YieldSpec] = &[
    of("id", "INTEGER"),
    text("name"),
    text("state"),
    of("populationPercent", "FLOAT"),
    text("type"),
    text("entityType"),
    texts("labelsOrTypes"),
    texts("properties"),
    text("indexProvider"),
    text("owningConstraint"),
    of("lastRead", "DATETIME"),
    of("readCount", "INTEGER"),
    of("options", "MAP"),
    text("failureMessage"),
    text("createStatement"),
];
const FUNCTION: &[YieldSpec] = &[
    text("name"),
    text("category"),
    text("description"),
    text("signature"),
    of("isBuiltIn", "BOOLEAN"),
    of("argumentDescription", "LIST<MAP>"),
    text("returnDescription"),
    of("aggregating", "BOOLEAN"),
    texts("rolesExecution"),
    texts("rolesBoostedExecution"),
    of("isDeprecated", "BOOLEAN"),
    text("deprecatedBy"),
];

fn list(
    name: &'static str,
    description: &'static str,
    yields: &'static [YieldSpec],
    rows: fn(&Schema, &[Value]) -> Vec<Vec<Value>>,
) -> List {
    let signature =
        ProcedureSignature { name, aliases: &[], description, mode: ProcedureMode::Read, arguments: &[], yields };
    List { signature, rows }
}

fn with(arguments: &'static [ArgumentSpec], list: List) -> List {
    List { signature: ProcedureSignature { arguments, ..list.signature }, ..list }
}

impl Procedure for List {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, context: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let rows = (self.rows)(context.graph.view().schema(), arguments);
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
        let is_aggregate = kind == FunctionKind::Aggregate;
        vec![
            Value::string(name),
            Value::string(if is_aggregate { "Aggregating" } else { "Scalar" }),
            Value::string(description),
            Value::string(usage),
            Value::Bool(true),
            arguments_of(usage),
            Value::string("ANY"),
            Value::Bool(is_aggregate),
            Value::Null,
            Value::Null,
            Value::Bool(false),
            Value::Null,
        ]
    };
    let scalars = functions::scalar_functions();
    let mut rows: Vec<_> =
        scalars.map(|held| row(held.name, held.usage, held.description, FunctionKind::Scalar)).collect();
    rows.extend(aggregates::described().map(|(name, usage, text)| row(name, usage, text, FunctionKind::Aggregate)));
    rows
}

/// The arguments that a usage such as `substring(text, start, length)` names.
fn arguments_of(usage: &str) -> Value {
    let inside = usage.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map_or("", |(inside, _)| inside);
    let names = inside.split(',').map(str::trim).filter(|name| !name.is_empty());
    Value::list(names.map(|name| described_argument(name, "ANY", name)).collect())
}

/// The description of an argument or a column, with the fields that Neo4j gives it.
pub fn described_argument(name: &str, type_name: &str, description: &str) -> Value {
    Value::map([
        (Arc::from("name"), Value::string(name)),
        (Arc::from("type"), Value::string(type_name)),
        (Arc::from("description"), Value::string(description)),
        (Arc::from("isDeprecated"), Value::Bool(false)),
    ])
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
    let has_index = held.lookup_key().is_some() || held.index().is_some();
    let mut row = vec![number_of(&held.name), Value::String(held.name.clone()), Value::string(kind)];
    row.extend(subject_and_keys(schema, held.subject, &held.keys));
    row.push(if has_index { Value::String(held.name.clone()) } else { Value::Null });
    row.push(of);
    row.push(if has_index { options(provider(held.lookup_key().is_some())) } else { Value::map([]) });
    row.push(Value::string(&schema.constraint_statement(held)));
    row
}

/// A number of a constraint or index that stays what it is, made of its name.
fn number_of(name: &str) -> Value {
    // FNV-1a.
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    Value::Int(i64::from(hash))
}

fn provider(is_hashed: bool) -> &'static str {
    if is_hashed { "hash-1.0" } else { "range-1.0" }
}

fn options(provider: &str) -> Value {
    let entries = [("indexProvider", Value::string(provider)), ("indexConfig", Value::map([]))];
    Value::map(entries.map(|(name, value)| (Arc::from(name), value)))
}

/// The ordered indexes, and the hash indexes of constraints by which nodes are looked up. All are filled by the transaction
/// that makes them, and nobody counts their uses.
fn indexes(schema: &Schema, arguments: &[Value]) -> Vec<Vec<Value>> {
    let wanted = match arguments {
        [Value::String(kind)] if !kind.eq_ignore_ascii_case("ALL") => Some(kind.clone()),
        _ => None,
    };
    let row = |index: &Index, is_hashed: bool| {
        let owner = schema.owner(index);
        let kind = if is_hashed { "HASH" } else { "RANGE" };
        let mut row = vec![
            number_of(&index.name),
            Value::String(index.name.clone()),
            Value::string("ONLINE"),
            Value::Float(100.0),
            Value::string(kind),
        ];
        row.extend(subject_and_keys(schema, index.subject, &index.keys));
        let statement = match owner {
            Some(owner) => schema.constraint_statement(owner),
            None => schema.index_statement(index),
        };
        row.extend([
            Value::string(provider(is_hashed)),
            owner.map_or(Value::Null, |owner| Value::String(owner.name.clone())),
            Value::Null,
            Value::Null,
            options(provider(is_hashed)),
            Value::string(""),
            Value::string(&statement),
        ]);
        (wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(kind))).then_some(row)
    };
    let hashed = schema.constraints.iter().filter(|held| held.lookup_key().is_some());
    let hashed = hashed.map(|held| Index { name: held.name.clone(), subject: held.subject, keys: held.keys.clone() });
    let ordered = schema.indexes.iter().filter_map(|index| row(index, false));
    hashed.filter_map(|index| row(&index, true)).chain(ordered).collect()
}

fn subject_and_keys(schema: &Schema, subject: Subject, keys: &[PropertyKeyId]) -> [Value; 3] {
    let entity = if matches!(subject, Subject::Label(_)) { "NODE" } else { "RELATIONSHIP" };
    let keys = keys.iter().map(|&key| Value::string(schema.property_key_name(key))).collect();
    [Value::string(entity), Value::list(vec![Value::string(schema.subject_name(subject))]), Value::list(keys)]
}
