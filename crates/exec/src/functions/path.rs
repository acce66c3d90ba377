//! Functions of paths.

use model::{NodeId, PathValue, Result, Set, Value};

use super::{Body, Function, mismatch};

pub(super) const FUNCTIONS: &[&Function] = &[&NODES, &RELATIONSHIPS, &ELEMENTS, &LENGTH, &IS_ACYCLIC, &IS_SIMPLE];

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

const ELEMENTS: Function = Function {
    name: "elements",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "elements(path)",
    description: "The nodes and relationships of a path alternately, in walking order.",
    examples: &[("size(elements(p))", "3"), ("elements(p)[1] = r", "true")],
    body: Body::Strict(|values| match &values[0] {
        Value::Path(path) => {
            let mut elements: Vec<Value> = path.nodes.iter().take(1).map(|&node| Value::Node(node)).collect();
            for (&edge, &node) in path.edges.iter().zip(path.nodes.iter().skip(1)) {
                elements.extend([Value::Edge(edge), Value::Node(node)]);
            }
            Ok(Value::list(elements))
        }
        other => Err(mismatch("elements", "a path", other)),
    }),
};

const IS_ACYCLIC: Function = Function {
    name: "isAcyclic",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "isAcyclic(path)",
    description: "True if a path visits no node twice.",
    examples: &[("isAcyclic(p)", "true"), ("isAcyclic(null)", "null")],
    body: Body::Strict(|values| Ok(Value::Bool(are_distinct(&path_of("isAcyclic", &values[0])?.nodes)))),
};

const IS_SIMPLE: Function = Function {
    name: "isSimple",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "isSimple(path)",
    description: "True if a path visits no node twice, except that it may end where it starts.",
    examples: &[("isSimple(p)", "true"), ("isSimple(null)", "null")],
    body: Body::Strict(|values| {
        let nodes = &path_of("isSimple", &values[0])?.nodes;
        let is_round = nodes.len() > 1 && nodes.first() == nodes.last();
        Ok(Value::Bool(are_distinct(if is_round { &nodes[1..] } else { nodes })))
    }),
};

fn path_of<'v>(function: &'static str, value: &'v Value) -> Result<&'v PathValue> {
    match value {
        Value::Path(path) => Ok(path),
        other => Err(mismatch(function, "a path", other)),
    }
}

fn are_distinct(nodes: &[NodeId]) -> bool {
    match nodes.len() {
        0..=16 => nodes.iter().enumerate().all(|(index, node)| !nodes[..index].contains(node)),
        _ => {
            let mut seen = Set::default();
            nodes.iter().all(|node| seen.insert(*node))
        }
    }
}

const LENGTH: Function = Function {
    name: "length",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "length(path)",
    description: "The number of relationships of a path; for strings and lists there is `size`.",
    examples: &[("length(p)", "1"), ("length(null)", "null")],
    body: Body::Strict(|values| match &values[0] {
        Value::Path(path) => Ok(Value::Int(path.edges.len() as i64)),
        other => Err(mismatch("length", "a path", other).with_remedy("use size() for strings and lists")),
    }),
};
