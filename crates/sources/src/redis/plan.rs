//! A definition as commands need it: patterns cut, properties told apart by where their values stand.

use std::sync::{Arc, OnceLock};

use model::schema::PropertyKind;
use model::{Error, Result, error};

use super::pattern::{EdgePattern, Pattern};
use super::text::Reading;
use crate::definition::{EdgeKind, End, EndNode, GraphDefinition, KeyPattern, NodeKind, Rows, Structure};

/// A definition whose rows are all keys of Redis.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) nodes: Vec<NodePlan>,
    pub(super) edges: Vec<EdgePlan>,
    /// Keys that belong to edges, with how much of a key each pattern fixes.
    others: Vec<Claim>,
}

#[derive(Debug)]
enum Claim {
    Nodes(Pattern),
    Adjacency(Pattern),
    EdgeHash(EdgePattern),
}

/// A kind of nodes.
#[derive(Debug)]
pub(super) struct NodePlan {
    pub(super) name: Arc<str>,
    pub(super) key_kind: Option<PropertyKind>,
    pub(super) properties: Vec<NodeProperty>,
    pub(super) place: NodePlace,
}

/// The keys that hold a kind's nodes.
#[derive(Debug)]
pub(super) enum NodePlace {
    /// A hash for each.
    Hash(Pattern),
    /// A key for each property, in the order of [`NodePlan::properties`]; those that show the key have none.
    Flat(Vec<Option<Pattern>>),
}

/// A property of nodes.
#[derive(Debug)]
pub(super) struct NodeProperty {
    /// The field, or the name in the key.
    pub(super) field: String,
    pub(super) reading: Reading,
    /// True if its value is the node's key.
    pub(super) is_key: bool,
}

/// A kind of edges.
#[derive(Debug)]
pub(super) struct EdgePlan {
    pub(super) name: Arc<str>,
    pub(super) forward: Adjacency,
    pub(super) reverse: Option<Adjacency>,
    pub(super) source: EndPlan,
    pub(super) target: EndPlan,
    pub(super) properties: Vec<EdgeProperty>,
    pub(super) edge_hash: Option<EdgePattern>,
}

/// An end of edges: the kind of nodes if they are of this definition, and how keys are read.
#[derive(Debug)]
pub(super) struct EndPlan {
    pub(super) kind: Option<usize>,
    pub(super) key_kind: Option<PropertyKind>,
}

impl EndPlan {
    pub(super) fn reading(&self) -> Reading {
        key_reading(self.key_kind)
    }
}

/// Keys with the far ends of the edges of a node.
#[derive(Debug)]
pub(super) struct Adjacency {
    pub(super) pattern: Pattern,
    declared: Structure,
    found: OnceLock<Structure>,
}

impl Adjacency {
    /// The structure under its keys, as far as it is known.
    pub(super) fn structure(&self) -> Option<Structure> {
        if self.declared == Structure::Any { self.found.get().copied() } else { Some(self.declared) }
    }

    /// Keeps what a first look found.
    pub(super) fn find(&self, structure: Structure) {
        let _ = self.found.set(structure);
    }
}

/// A property of edges.
#[derive(Debug)]
pub(super) struct EdgeProperty {
    pub(super) name: Arc<str>,
    pub(super) kind: Option<PropertyKind>,
    pub(super) place: EdgePlace,
}

/// The place of a property of edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EdgePlace {
    /// It is the key of the source.
    Source,
    /// It is the key of the target.
    Target,
    /// The score in a sorted set, the value in a hash.
    Score,
    /// A field of the edge's own hash.
    Field(String),
}

impl Plan {
    /// Compiles a definition; the error names the kind at fault.
    pub(super) fn of(definition: &GraphDefinition) -> Result<Plan> {
        let nodes = definition.nodes.iter().map(node_plan).collect::<Result<Vec<_>>>()?;
        let edges = definition.edges.iter().map(|edge| edge_plan(edge, &nodes)).collect::<Result<Vec<_>>>()?;
        let mut others = Vec::new();
        for node in &nodes {
            others.extend(node.patterns().cloned().map(Claim::Nodes));
        }
        for edge in &edges {
            others.push(Claim::Adjacency(edge.forward.pattern.clone()));
            others.extend(edge.reverse.iter().map(|reverse| Claim::Adjacency(reverse.pattern.clone())));
            others.extend(edge.edge_hash.clone().map(Claim::EdgeHash));
        }
        Ok(Plan { nodes, edges, others })
    }

    /// The id in a key that belongs to a pattern: that is of it, and of no other that fixes more of the key.
    pub(super) fn id_of<'a>(&self, pattern: &Pattern, key: &'a str) -> Option<&'a str> {
        let id = pattern.id(key)?;
        let weight = pattern.weight();
        let is_claimed = self.others.iter().any(|claim| match claim {
            Claim::Nodes(other) | Claim::Adjacency(other) => {
                other.weight() > weight && other != pattern && other.id(key).is_some()
            }
            Claim::EdgeHash(other) => other.weight() > weight && other.has(key),
        });
        (!is_claimed).then_some(id)
    }

    /// True if another pattern may claim keys of this one, so that ids must be looked at.
    pub(super) fn is_contested(&self, pattern: &Pattern) -> bool {
        self.others.iter().any(|claim| match claim {
            Claim::Nodes(other) | Claim::Adjacency(other) => other.weight() > pattern.weight() && other != pattern,
            Claim::EdgeHash(other) => other.weight() > pattern.weight(),
        })
    }
}

impl NodePlan {
    /// The patterns of its keys.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        let (hash, flat) = match &self.place {
            NodePlace::Hash(pattern) => (Some(pattern), [].as_slice()),
            NodePlace::Flat(patterns) => (None, patterns.as_slice()),
        };
        hash.into_iter().chain(flat.iter().flatten())
    }

    /// The way in which its keys are read.
    pub(super) fn reading(&self) -> Reading {
        key_reading(self.key_kind)
    }
}

fn key_reading(kind: Option<PropertyKind>) -> Reading {
    match kind {
        None => Reading::Key,
        Some(PropertyKind::Integer) => Reading::IntegerKey,
        Some(kind) => Reading::As(kind),
    }
}

fn wrong(name: &str, reason: &dyn std::fmt::Display) -> Error {
    error!(Definition, "{name}: {reason}")
}

fn keys_of<'a>(name: &str, rows: &'a Rows) -> Result<&'a KeyPattern> {
    match rows {
        Rows::Keys(pattern) => Ok(pattern),
        _ => Err(wrong(name, &"Redis has keys only, the definition names a table, a query or a file")
            .with_remedy("give a key pattern (keys), as person:{id}")),
    }
}

fn node_plan(node: &NodeKind) -> Result<NodePlan> {
    let place = keys_of(&node.name, &node.rows)?;
    let [key] = node.key.as_slice() else {
        return Err(wrong(&node.name, &format_args!("the key has {} parts, in Redis it has one", node.key.len())));
    };
    let mut key_kind = None;
    let mut properties = Vec::new();
    for property in &node.properties {
        let is_key = property.column == *key;
        if is_key {
            key_kind = property.kind;
        }
        let reading = if is_key { key_reading(property.kind) } else { reading_of(property.kind) };
        properties.push(NodeProperty { field: property.column.clone(), reading, is_key });
    }
    if let Some(kind) = key_kind.filter(|kind| !matches!(kind, PropertyKind::Integer | PropertyKind::String)) {
        return Err(wrong(&node.name, &format_args!("the key is {}, in Redis it is INTEGER or STRING", kind.name())));
    }
    let within = |failure: Error| failure.within(&node.name);
    let place = match place.structure {
        Structure::Hash | Structure::Any => NodePlace::Hash(Pattern::parse(&place.pattern).map_err(within)?),
        Structure::Flat => {
            let flat = |property: &NodeProperty| {
                (!property.is_key).then(|| Pattern::parse(&place.pattern.replace("{property}", &property.field)))
            };
            if !place.pattern.contains("{property}") {
                return Err(wrong(&node.name, &"a pattern of flat keys must have {property}"));
            }
            NodePlace::Flat(properties.iter().map(|p| flat(p).transpose()).collect::<Result<_>>().map_err(within)?)
        }
        other => return Err(wrong(&node.name, &format_args!("nodes can not lie in a {}", structure_name(other)))),
    };
    let plan = NodePlan { name: node.name.clone(), key_kind, properties, place };
    if plan.patterns().next().is_none() {
        return Err(wrong(
            &node.name,
            &"flat keys need a property beside the key, or there is no key to find a node by",
        ));
    }
    Ok(plan)
}

fn reading_of(kind: Option<PropertyKind>) -> Reading {
    kind.map_or(Reading::Recognised, Reading::As)
}

fn edge_plan(edge: &EdgeKind, nodes: &[NodePlan]) -> Result<EdgePlan> {
    let keys = keys_of(&edge.name, &edge.rows)?;
    if keys.structure == Structure::Flat {
        return Err(wrong(&edge.name, &"the targets of edges can not lie in flat keys"));
    }
    let within = |failure: Error| failure.within(&edge.name);
    let adjacency = |pattern: &String| -> Result<Adjacency> {
        let pattern = Pattern::parse(pattern).map_err(within)?;
        Ok(Adjacency { pattern, declared: keys.structure, found: OnceLock::new() })
    };
    let end = |end: &End| match end.node {
        EndNode::Kind(kind) => {
            let node = nodes.get(kind).ok_or_else(|| wrong(&edge.name, &"an end is no kind of nodes"))?;
            Ok(EndPlan { kind: Some(kind), key_kind: node.key_kind })
        }
        EndNode::Foreign { .. } => {
            let shown = edge.properties.iter().find(|property| end.columns.contains(&property.column));
            Ok(EndPlan { kind: None, key_kind: shown.and_then(|property| property.kind) })
        }
    };
    let edge_hash = keys.edge_hash.as_deref().map(EdgePattern::parse).transpose().map_err(within)?;
    let mut properties = Vec::new();
    for property in &edge.properties {
        let is_score = |name: &String| *name == property.column || **name == *property.name;
        let place = if keys.score.as_ref().is_some_and(is_score) {
            EdgePlace::Score
        } else if edge.source.columns.contains(&property.column) && edge_hash.is_none() {
            EdgePlace::Source
        } else if edge.target.columns.contains(&property.column) && edge_hash.is_none() {
            EdgePlace::Target
        } else if edge_hash.is_some() {
            EdgePlace::Field(property.column.clone())
        } else {
            let reason = format!("there is no place for the property {}", property.name);
            return Err(
                wrong(&edge.name, &reason).with_remedy("name it as the score, or give a pattern of edge hashes")
            );
        };
        properties.push(EdgeProperty { name: property.name.clone(), kind: property.kind, place });
    }
    let has_score = properties.iter().any(|property| property.place == EdgePlace::Score);
    if has_score && matches!(keys.structure, Structure::Set | Structure::List) {
        return Err(wrong(&edge.name, &format_args!("a {} has no scores", structure_name(keys.structure))));
    }
    Ok(EdgePlan {
        name: edge.name.clone(),
        forward: adjacency(&keys.pattern)?,
        reverse: keys.reverse.as_ref().map(adjacency).transpose()?,
        source: end(&edge.source)?,
        target: end(&edge.target)?,
        properties,
        edge_hash,
    })
}

/// The name of a structure in Redis, as `TYPE` states it.
pub(super) fn structure_name(structure: Structure) -> &'static str {
    match structure {
        Structure::Hash => "hash",
        Structure::Flat => "string",
        Structure::Set => "set",
        Structure::List => "list",
        Structure::SortedSet => "zset",
        Structure::Any => "hash, set, list or zset",
    }
}

/// The structure of adjacency that `TYPE` names.
pub(super) fn adjacency_structure(name: &str) -> Option<Structure> {
    Some(match name {
        "hash" => Structure::Hash,
        "set" => Structure::Set,
        "list" => Structure::List,
        "zset" => Structure::SortedSet,
        _ => return None,
    })
}
