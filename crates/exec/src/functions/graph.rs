//! Functions of nodes and relationships.

use std::sync::Arc;

use model::{ColumnData, EdgeId, EdgeValue, NodeId, Result, StringColumn, Value};

use super::{Body, Function, mismatch};
use crate::context::EvaluationContext;
use crate::property;
use crate::vector::{Operand, Vector, View, map, validity_of};
use crate::writing::computed::names;

pub(super) const FUNCTIONS: &[&Function] =
    &[&ID, &ELEMENT_ID, &LABELS, &TYPE, &START_NODE, &END_NODE, &PROPERTIES, &KEYS, &HAS_LABELS, &HAS_ANY_LABEL];

const ID: Function = Function {
    name: "id",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "id(node)",
    description: "The number of a node or relationship: an integer that is never negative and never reused.",
    examples: &[("id(n)", "1"), ("id(null)", "null")],
    body: Body::Batch(id),
};

fn id(arguments: &[Vector], rows: usize, context: &EvaluationContext<'_>) -> Result<Vector> {
    if let View::Node(nodes @ Operand::Many(_)) = arguments[0].view() {
        let numbers = map(rows, nodes, |node| node.0 as i64);
        return Ok(Vector::of(ColumnData::Int(numbers), validity_of(&arguments[0])));
    }
    identify(
        "id",
        &arguments[0],
        rows,
        |node| Value::Int(node.0 as i64),
        |edges| {
            let ids: Vec<EdgeId> = edges.iter().map(|edge| edge.id).collect();
            Ok(context.view.edge_numbers(&ids)?.into_iter().map(|number| Value::Int(number as i64)).collect())
        },
    )
}

/// Names each node or edge of a column; edges are asked for together.
fn identify(
    function: &str,
    things: &Vector,
    rows: usize,
    of_node: impl Fn(NodeId) -> Value,
    of_edges: impl FnOnce(&[EdgeValue]) -> Result<Vec<Value>>,
) -> Result<Vector> {
    let mut names = vec![Value::Null; rows];
    let (mut asked, mut edges) = (Vec::new(), Vec::new());
    for (row, name) in names.iter_mut().enumerate() {
        match things.value(row) {
            Value::Null => {}
            Value::Node(node) => *name = of_node(node),
            Value::Edge(edge) => {
                asked.push(row);
                edges.push(edge);
            }
            other => return Err(mismatch(function, "a node or relationship", &other)),
        }
    }
    if !edges.is_empty() {
        asked.into_iter().zip(of_edges(&edges)?).for_each(|(row, name)| names[row] = name);
    }
    Ok(Vector::from_values(&names))
}

const ELEMENT_ID: Function = Function {
    name: "elementId",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "elementId(node)",
    description: "A string that identifies a node or relationship permanently; it is never reused after a deletion.",
    examples: &[("elementId(n)", "'1'"), ("elementId(null)", "null")],
    body: Body::Batch(|arguments, rows, context| {
        identify(
            "elementId",
            &arguments[0],
            rows,
            |node| Value::from(node.0.to_string()),
            |edges| Ok(context.view.element_ids(edges)?.into_iter().map(Value::String).collect()),
        )
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
    description: "All properties of a node or relationship as a map; of a map, the map itself.",
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
        Value::Map(map) => Value::list(map.keys().cloned().map(Value::String).collect()),
        _ => Value::Null,
    });
    Ok(Vector::from_values(&keys.collect::<Vec<_>>()))
}

const HAS_LABELS: Function = Function {
    name: "hasLabels",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "hasLabels(node, names)",
    description: "True if a node carries all of these labels, or a relationship is of this type; also written `n:$(names)`.",
    examples: &[("hasLabels(n, ['Person', 'Admin'])", "true"), ("hasLabels(r, 'Person')", "false")],
    body: Body::Batch(|arguments, rows, context| {
        labelled(arguments, rows, context, |found, names| names.iter().all(|name| found.contains(name)))
    }),
};

const HAS_ANY_LABEL: Function = Function {
    name: "hasAnyLabel",
    arguments_min: 1,
    arguments_max: Some(2),
    usage: "hasAnyLabel(node, names)",
    description: "True if a node carries at least one of these labels, or any label at all; also written `n:$any(names)` and `n:%`.",
    examples: &[("hasAnyLabel(n, ['Admin', 'Other'])", "true"), ("hasAnyLabel(n)", "true")],
    body: Body::Batch(|arguments, rows, context| {
        let is_open = arguments.len() == 1;
        labelled(arguments, rows, context, |found, names| match is_open {
            true => !found.is_empty(),
            false => names.iter().any(|name| found.contains(name)),
        })
    }),
};

/// Compares the labels of nodes, or the types of edges, with the names in each row.
fn labelled(
    arguments: &[Vector],
    rows: usize,
    context: &EvaluationContext<'_>,
    test: impl Fn(&[Arc<str>], &[Arc<str>]) -> bool,
) -> Result<Vector> {
    property::check_alive(&arguments[0], rows, context)?;
    let schema = context.view.schema();
    let (mut asked, mut nodes): (Vec<usize>, Vec<NodeId>) = Default::default();
    let mut results = vec![Value::Null; rows];
    let names = |row: usize| match arguments.get(1).map(|names| names.value(row)) {
        None => Ok(Some(Vec::new())),
        Some(Value::Null) => Ok(None),
        Some(value) => names(&value).map(Some),
    };
    for (row, result) in results.iter_mut().enumerate() {
        match arguments[0].value(row) {
            Value::Null => {}
            Value::Node(node) => {
                asked.push(row);
                nodes.push(node);
            }
            Value::Edge(edge) => {
                let found = [Arc::from(schema.edge_type_name(edge.edge_type))];
                *result = names(row)?.map_or(Value::Null, |names| Value::Bool(test(&found, &names)));
            }
            other => return Err(mismatch("hasLabels", "a node or relationship", &other)),
        }
    }
    for (row, labels) in asked.into_iter().zip(context.view.node_labels(&nodes)?) {
        let found: Vec<Arc<str>> =
            labels.into_iter().filter_map(|label| schema.labels.name(label.0).cloned()).collect();
        results[row] = names(row)?.map_or(Value::Null, |names| Value::Bool(test(&found, &names)));
    }
    Ok(Vector::from_values(&results))
}
