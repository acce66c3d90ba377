//! The rules that hold for every definition, however it was made.

use model::{Result, Set};

use super::fields::at;
use super::{
    EdgeKind, End, EndNode, GraphDefinition, KeyPattern, NodeKind, Property, Rows, Structure, around_parameters,
};

/// Kinds of nodes that ids have room for.
const KINDS_MAX: usize = 256;

pub(super) fn definition(of: &GraphDefinition) -> Result<()> {
    if of.nodes.is_empty() {
        return Err(at("nodes", "expected at least one kind of nodes, found none"));
    }
    if of.nodes.len() > KINDS_MAX {
        return Err(at("nodes", format_args!("expected at most {KINDS_MAX} kinds, found {}", of.nodes.len())));
    }
    let place = |nodes: &str, name: &str| format!("{nodes}.{name}");
    let mut names = Set::default();
    for kind in &of.nodes {
        let place = place("nodes", &kind.name);
        if !names.insert(&kind.name) {
            return Err(at(&place, "the name stands twice"));
        }
        node(&place, kind)?;
    }
    let mut names = Set::default();
    for kind in &of.edges {
        let place = place("edges", &kind.name);
        if !names.insert(&kind.name) {
            return Err(at(&place, "the name stands twice"));
        }
        edge(of, &place, kind)?;
    }
    one_engine(of)
}

fn node(place: &str, kind: &NodeKind) -> Result<()> {
    columns(&format!("{place}.key"), &kind.key)?;
    if kind.key.is_empty() {
        return Err(at(&format!("{place}.key"), "expected at least one column"));
    }
    properties(place, &kind.properties)?;
    match &kind.rows {
        Rows::Table { .. } | Rows::Query(_) | Rows::File { .. } => Ok(()),
        Rows::ByKey { .. } => by_key(place, &kind.rows, kind.key.len()),
        Rows::Keys(pattern) => {
            if kind.key.len() != 1 {
                return Err(at(&format!("{place}.key"), "nodes under keys have a key of one part"));
            }
            holds_once(place, "keys", &pattern.pattern, "{id}")?;
            match (pattern.structure, pattern.pattern.matches("{property}").count()) {
                (Structure::Flat, 1) | (Structure::Hash, 0) => Ok(()),
                (Structure::Flat, _) => Err(at(&format!("{place}.keys"), "flat keys hold `{property}` once")),
                (Structure::Hash, _) => Err(at(&format!("{place}.keys"), "only flat keys hold `{property}`")),
                _ => Err(at(&format!("{place}.structure"), "the properties of nodes are a `hash` or `flat`")),
            }
        }
    }
}

fn edge(definition: &GraphDefinition, place: &str, kind: &EdgeKind) -> Result<()> {
    columns(&format!("{place}.key"), &kind.key)?;
    properties(place, &kind.properties)?;
    let ends = [("source", &kind.source), ("target", &kind.target)];
    for (which, found) in ends {
        end(definition, &format!("{place}.{which}"), found)?;
    }
    if kind.source.is_array && kind.target.is_array {
        return Err(at(place, "only one end can be an array"));
    }
    match &kind.rows {
        Rows::Table { .. } | Rows::Query(_) | Rows::File { .. } => Ok(()),
        Rows::ByKey { .. } => {
            let parts = ends.iter().map(|(_, end)| end.columns.len()).max().unwrap_or(1);
            by_key(place, &kind.rows, parts)
        }
        Rows::Keys(pattern) => adjacency(place, pattern),
    }
}

fn end(definition: &GraphDefinition, place: &str, end: &End) -> Result<()> {
    columns(place, &end.columns)?;
    let expected = match &end.node {
        EndNode::Foreign { .. } => 1,
        EndNode::Kind(number) => match definition.nodes.get(*number) {
            Some(kind) => kind.key.len(),
            None => return Err(at(place, format_args!("there are no nodes of number {number}"))),
        },
    };
    if end.columns.len() != expected {
        let found = end.columns.len();
        return Err(at(
            place,
            format_args!("expected {expected} columns, as many as the node's key has, found {found}"),
        ));
    }
    if end.is_array && expected != 1 {
        return Err(at(place, "an array holds keys of one column"));
    }
    Ok(())
}

fn by_key(place: &str, rows: &Rows, key_parts: usize) -> Result<()> {
    let Rows::ByKey { sql, reverse, scan } = rows else { return Ok(()) };
    if key_parts != 1 {
        return Err(at(&format!("{place}.sql"), "a query by key has one parameter, but the key has several columns"));
    }
    let parameters = |sql: &String| around_parameters(sql).len() - 1;
    for (which, sql) in [("sql", Some(sql)), ("reverse", reverse.as_ref())] {
        if sql.is_some_and(|sql| parameters(sql) == 0) {
            return Err(at(&format!("{place}.{which}"), "expected a parameter `?`, the node's key, found none"));
        }
    }
    match scan.as_ref().map_or(0, parameters) {
        0 => Ok(()),
        found => Err(at(&format!("{place}.scan"), format_args!("expected no parameter `?`, found {found}"))),
    }
}

fn adjacency(place: &str, pattern: &KeyPattern) -> Result<()> {
    holds_once(place, "keys", &pattern.pattern, "{id}")?;
    if let Some(reverse) = &pattern.reverse {
        holds_once(place, "reverse-keys", reverse, "{id}")?;
    }
    if let Some(edge_hash) = &pattern.edge_hash {
        holds_once(place, "edge-hash", edge_hash, "{source}")?;
        holds_once(place, "edge-hash", edge_hash, "{target}")?;
    }
    match (pattern.structure, &pattern.score) {
        (Structure::Flat, _) => Err(at(&format!("{place}.structure"), "edges are no flat keys")),
        (Structure::Set | Structure::List, Some(_)) => {
            Err(at(&format!("{place}.score"), "only a sorted set or a hash has a score"))
        }
        _ => Ok(()),
    }
}

fn holds_once(place: &str, key: &str, pattern: &str, part: &str) -> Result<()> {
    match pattern.matches(part).count() {
        1 => Ok(()),
        found => Err(at(
            &format!("{place}.{key}"),
            format_args!("expected `{part}` once in {pattern:?}, found it {found} times"),
        )),
    }
}

fn columns(place: &str, columns: &[String]) -> Result<()> {
    match columns.iter().enumerate().find(|(at, column)| columns[..*at].contains(column)) {
        Some((_, column)) => Err(at(place, format_args!("the column `{column}` stands twice"))),
        None => Ok(()),
    }
}

fn properties(place: &str, properties: &[Property]) -> Result<()> {
    let twice = |(at, property): &(usize, &Property)| properties[..*at].iter().any(|held| held.name == property.name);
    match properties.iter().enumerate().find(twice) {
        Some((_, property)) => {
            Err(at(&format!("{place}.properties"), format_args!("the property `{}` stands twice", property.name)))
        }
        None => Ok(()),
    }
}

/// All rows of a definition come from one source.
fn one_engine(definition: &GraphDefinition) -> Result<()> {
    let engine = |rows: &Rows| match rows {
        Rows::Table { .. } | Rows::Query(_) | Rows::ByKey { .. } => "tables",
        Rows::Keys(_) => "keys",
        Rows::File { .. } => "files",
    };
    let nodes = definition.nodes.iter().map(|kind| ("nodes", &kind.name, engine(&kind.rows)));
    let mut kinds = nodes.chain(definition.edges.iter().map(|kind| ("edges", &kind.name, engine(&kind.rows))));
    let Some((_, _, first)) = kinds.next() else { return Ok(()) };
    match kinds.find(|(_, _, engine)| *engine != first) {
        Some((what, name, other)) => {
            let message = format!("rows come from {other}, others of this definition from {first}");
            Err(at(&format!("{what}.{name}"), message)
                .with_remedy("write a definition for each source and attach them all; edges may cross between them"))
        }
        None => Ok(()),
    }
}
