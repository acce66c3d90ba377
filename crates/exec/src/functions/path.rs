//! Functions of paths.

use model::{Result, Value};

use super::{Body, Function, mismatch};

pub(super) const FUNCTIONS: &[&Function] = &[&NODES, &RELATIONSHIPS, &LENGTH];

const NODES: Function = Function {
    name: "nodes",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "nodes(path)",
    description: "The nodes of a path, in walking order.",
    examples: &[("[x IN nodes(p) | x.name]", "['Ann', 'Bob']")],
    body: Body::Strict(|values| match &values[0] {
        Value::Path(path) => Ok(Value::list(path.nodes.iter().map(|&node| Value::Node(node)).collect())),
        other => Err(mismatch("nodes", "a path", other)),
    }),
};

const RELATIONSHIPS: Function = Function {
    name: "relationships",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "relationships(path)",
    description: "The relationships of a path, in walking order.",
    examples: &[("relationships(p) = [r]", "true")],
    body: Body::Strict(relationships),
};

fn relationships(values: &[Value]) -> Result<Value> {
    match &values[0] {
        Value::Path(path) => Ok(Value::list(path.edges.iter().map(|&edge| Value::Edge(edge)).collect())),
        other => Err(mismatch("relationships", "a path", other)),
    }
}

const LENGTH: Function = Function {
    name: "length",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "length(path)",
    description: "How many relationships a path has; for strings and lists there is `size`.",
    examples: &[("length(p)", "1"), ("length(null)", "null")],
    body: Body::Strict(|values| match &values[0] {
        Value::Path(path) => Ok(Value::Int(path.edges.len() as i64)),
        other => Err(mismatch("length", "a path", other).with_remedy("use size() for strings and lists")),
    }),
};
