//! Functions of nodes and relationships.

use std::sync::Arc;

use model::{ColumnData, EdgeValue, NodeId, Result, StringColumn, Value};

use super::{Body, Function, mismatch};
use crate::context::EvaluationContext;
use crate::expression::property;
use crate::expression::vector::{Operand, Vector, View, map, validity_of};

pub(super) const FUNCTIONS: &[&Function] =
    &[&ID, &ELEMENT_ID, &LABELS, &TYPE, &START_NODE, &END_NODE, &PROPERTIES, &KEYS];

const ID: Function = Function {
    name: "id",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "id(node)",
    description: "The number of a node or relationship.",
    examples: &[("id(n)", "1"), ("id(null)", "null")],
    body: Body::Batch(id),
};

fn id(arguments: &[Vector], rows: usize, _: &EvaluationContext<'_>) -> Result<Vector> {
    let numbers = match arguments[0].view() {
        View::Node(nodes @ Operand::Many(_)) => Some(map(rows, nodes, |node| node.0 as i64)),
        View::Edge(edges @ Operand::Many(_)) => Some(map(rows, edges, |edge| edge.id.0 as i64)),
        _ => None,
    };
    if let Some(numbers) = numbers {
        return Ok(Vector::of(ColumnData::Int(numbers), validity_of(&arguments[0])));
    }
    super::by_rows(arguments, rows, |values| {
        Ok(number_of("id", &values[0])?.map_or(Value::Null, |number| Value::Int(number as i64)))
    })
}

/// The number of a node or edge; `None` of null.
fn number_of(function: &str, value: &Value) -> Result<Option<u64>> {
    match value {
        Value::Null => Ok(None),
        Value::Node(node) => Ok(Some(node.0)),
        Value::Edge(edge) => Ok(Some(edge.id.0)),
        other => Err(mismatch(function, "a node or relationship", other)),
    }
}

const ELEMENT_ID: Function = Function {
    name: "elementId",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "elementId(node)",
    description: "The number of a node or relationship, as a string.",
    examples: &[("elementId(n)", "'1'"), ("elementId(null)", "null")],
    body: Body::Lenient(|values| {
        Ok(number_of("elementId", &values[0])?.map_or(Value::Null, |number| Value::from(number.to_string())))
    }),
};

const LABELS: Function = Function {
    name: "labels",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "labels(node)",
    description: "The labels of a node, as a list of strings.",
    examples: &[("labels(n)", "['Person', 'Admin']"), ("labels(null)", "null")],
    body: Body::Batch(labels),
};

fn labels(arguments: &[Vector], rows: usize, context: &EvaluationContext<'_>) -> Result<Vector> {
    property::check_alive(&arguments[0], rows, context)?;
    let (mut asked, mut nodes): (Vec<usize>, Vec<NodeId>) = Default::default();
    for row in 0..rows {
        match arguments[0].value(row) {
            Value::Null => {}
            Value::Node(node) => {
                asked.push(row);
                nodes.push(node);
            }
            other => return Err(mismatch("labels", "a node", &other)),
        }
    }
    let mut results = vec![Value::Null; rows];
    let names = &context.view.schema().labels;
    for (row, labels) in asked.into_iter().zip(context.view.node_labels(&nodes)?) {
        let named = labels.into_iter().filter_map(|label| names.name(label.0).cloned().map(Value::String));
        results[row] = Value::list(named.collect());
    }
    Ok(Vector::from_values(&results))
}

const TYPE: Function = Function {
    name: "type",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "type(relationship)",
    description: "The type of a relationship, as a string.",
    examples: &[("type(r)", "'KNOWS'"), ("type(null)", "null")],
    body: Body::Batch(edge_type),
};

fn edge_type(arguments: &[Vector], rows: usize, context: &EvaluationContext<'_>) -> Result<Vector> {
    let schema = context.view.schema();
    if let View::Edge(edges @ Operand::Many(_)) = arguments[0].view() {
        let names: StringColumn = (0..rows).map(|row| schema.edge_type_name(edges.get(row).edge_type)).collect();
        return Ok(Vector::of(ColumnData::String(names), validity_of(&arguments[0])));
    }
    super::by_rows(arguments, rows, |values| match &values[0] {
        Value::Null => Ok(Value::Null),
        Value::Edge(edge) => Ok(Value::string(schema.edge_type_name(edge.edge_type))),
        other => Err(mismatch("type", "a relationship", other)),
    })
}

const START_NODE: Function = Function {
    name: "startNode",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "startNode(relationship)",
    description: "The node at which a relationship starts.",
    examples: &[("startNode(r).name", "'Ann'"), ("startNode(null)", "null")],
    body: Body::Batch(|arguments, rows, _| end_of("startNode", &arguments[0], rows, |edge| edge.source)),
};

const END_NODE: Function = Function {
    name: "endNode",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "endNode(relationship)",
    description: "The node at which a relationship ends.",
    examples: &[("endNode(r).name", "'Bob'"), ("endNode(r) = n", "true")],
    body: Body::Batch(|arguments, rows, _| end_of("endNode", &arguments[0], rows, |edge| edge.target)),
};

fn end_of(function: &str, edges: &Vector, rows: usize, end: fn(&EdgeValue) -> NodeId) -> Result<Vector> {
    if let View::Edge(values @ Operand::Many(_)) = edges.view() {
        return Ok(Vector::of(ColumnData::Node(map(rows, values, |edge| end(&edge))), validity_of(edges)));
    }
    super::by_rows(std::slice::from_ref(edges), rows, |values| match &values[0] {
        Value::Null => Ok(Value::Null),
        Value::Edge(edge) => Ok(Value::Node(end(edge))),
        other => Err(mismatch(function, "a relationship", other)),
    })
}

const PROPERTIES: Function = Function {
    name: "properties",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "properties(node)",
    description: "All properties of a node or relationship as a map; a map is itself.",
    examples: &[("properties(r)", "{since: 2001}"), ("properties({a: 1})", "{a: 1}")],
    body: Body::Batch(|arguments, rows, context| {
        property::check_alive(&arguments[0], rows, context)?;
        Ok(Vector::from_values(&property::all(&arguments[0], rows, context.view)?))
    }),
};

const KEYS: Function = Function {
    name: "keys",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "keys(map)",
    description: "The keys of a map, or of the properties of a node or relationship, in alphabetical order.",
    examples: &[("keys(n)", "['name']"), ("keys({b: 1, a: null})", "['a', 'b']")],
    body: Body::Batch(keys),
};

fn keys(arguments: &[Vector], rows: usize, context: &EvaluationContext<'_>) -> Result<Vector> {
    property::check_alive(&arguments[0], rows, context)?;
    let properties = property::all(&arguments[0], rows, context.view)?;
    let keys = properties.into_iter().map(|properties| match properties {
        Value::Map(map) => Value::List(Arc::new(map.keys().cloned().map(Value::String).collect())),
        _ => Value::Null,
    });
    Ok(Vector::from_values(&keys.collect::<Vec<_>>()))
}
