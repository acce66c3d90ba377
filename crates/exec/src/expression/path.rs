//! Paths made of a node and edges in walking order.

use std::sync::Arc;

use model::value::PathValue;
use model::{EdgeValue, Result, Value, error};

use super::frame::Frame;
use super::node::Step;
use crate::vector::Vector;

/// The path of each row; null if any part is.
pub(crate) fn evaluate(start: usize, steps: &[Step], frame: &Frame<'_>) -> Result<Vector> {
    let starts = frame.read(start)?;
    let parts = steps.iter().map(|step| match step {
        Step::Edge(position) | Step::Edges(position) => frame.read(*position),
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let paths: Vec<Value> = (0..frame.rows())
        .map(|row| path(starts.value(row), parts.iter().map(|part| part.value(row))))
        .collect::<Result<_>>()?;
    Ok(Vector::from_values(&paths))
}

fn path(start: Value, parts: impl Iterator<Item = Value>) -> Result<Value> {
    let mut path = match start {
        Value::Null => return Ok(Value::Null),
        Value::Node(node) => PathValue { nodes: vec![node], edges: Vec::new() },
        other => return Err(error!(Type, "a path starts at {}: expected a node", other.type_name())),
    };
    for part in parts {
        match part {
            Value::Null => return Ok(Value::Null),
            Value::Edge(edge) => walk(&mut path, edge)?,
            Value::List(edges) => {
                for edge in edges.iter() {
                    match edge {
                        Value::Null => return Ok(Value::Null),
                        Value::Edge(edge) => walk(&mut path, *edge)?,
                        other => return Err(not_an_edge(other)),
                    }
                }
            }
            other => return Err(not_an_edge(&other)),
        }
    }
    Ok(Value::Path(Arc::new(path)))
}

/// Walks an edge from the end of the path to its other end.
fn walk(path: &mut PathValue, edge: EdgeValue) -> Result<()> {
    let here = *path.nodes.last().expect("a path has a first node");
    let next = if edge.source == here {
        edge.target
    } else if edge.target == here {
        edge.source
    } else {
        return Err(error!(Internal, "edge {} does not go on from node {} of its path", edge.id.0, here.0));
    };
    path.nodes.push(next);
    path.edges.push(edge);
    Ok(())
}

fn not_an_edge(value: &Value) -> model::Error {
    error!(Type, "a path goes over {}: expected a relationship", value.type_name())
}
