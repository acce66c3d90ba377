//! Values of rows and parameters.

use std::sync::Arc;

use bolt::entity::{Entity, Node, Path, Relationship};
use bolt::structures::{Moments, Structure};
use bolt::{Encoder, Version};
use database::result::{EdgeRecord, NodeRecord};
use database::{Entities, Parameters, ResultBatch};
use model::store::ElementId;
use model::{Column, EdgeId, EdgeTypeId, EdgeValue, NodeId, PathValue, Result, Value, error};
use server::convert::{self, Form};

/// The form of values since version 5. Other servers are told of no kind that Bolt lacks.
fn form(version: Version, is_own: bool) -> Form {
    Form { version, moments: Moments::Utc, is_own }
}

/// Writes parameters as a map.
///
/// # Errors
/// Fails if one holds a node, an edge or a path.
pub(crate) fn check_parameters(parameters: &Parameters) -> Result<()> {
    for (name, value) in parameters {
        value.check_extent()?;
        if let Some(kind) = entity_in(value) {
            return Err(error!(Type, "parameter ${name}: a {kind} cannot be passed to another process")
                .with_remedy("pass its elementId()"));
        }
    }
    Ok(())
}

fn entity_in(value: &Value) -> Option<&'static str> {
    match value {
        Value::Node(_) => Some("node"),
        Value::Edge(_) => Some("relationship"),
        Value::Path(_) => Some("path"),
        Value::List(items) => items.iter().find_map(entity_in),
        Value::Map(map) => map.values().find_map(entity_in),
        _ => None,
    }
}

/// Writes parameters that were checked, as a map in order.
pub(crate) fn write_parameters(out: &mut Encoder<'_>, parameters: &Parameters, version: Version, is_own: bool) {
    let mut entries: Vec<_> = parameters.iter().collect();
    entries.sort_by_key(|(name, _)| *name);
    let none = Entities::default();
    out.map(entries.len());
    for (name, value) in entries {
        out.string(name);
        convert::value_out(out, value, &none, form(version, is_own));
    }
}

/// Rows that have arrived and were not given on.
pub(crate) struct Rows {
    version: Version,
    columns: Vec<Vec<Value>>,
    pub(crate) count: usize,
    entities: Entities,
}

impl Rows {
    /// No rows of this number of columns.
    pub(crate) fn new(columns: usize, version: Version) -> Rows {
        Rows { version, columns: vec![Vec::new(); columns], count: 0, entities: Entities::default() }
    }

    /// Adds a row. `None` if it is none of this result.
    pub(crate) fn push(&mut self, row: Vec<bolt::Value>) -> Result<Option<()>> {
        if row.len() != self.columns.len() {
            return Ok(None);
        }
        for (place, value) in row.into_iter().enumerate() {
            let value = self.value(value)?;
            self.columns[place].push(value);
        }
        self.count += 1;
        Ok(Some(()))
    }

    /// The rows, which are forgotten.
    pub(crate) fn take(&mut self) -> ResultBatch {
        let columns = self.columns.iter_mut().map(|values| Arc::new(Column::from_values(&std::mem::take(values))));
        let columns = columns.collect();
        let (rows, entities) = (std::mem::take(&mut self.count), std::mem::take(&mut self.entities));
        ResultBatch { columns, rows, entities }
    }

    fn value(&mut self, value: bolt::Value) -> Result<Value> {
        Ok(match value {
            bolt::Value::Null => Value::Null,
            bolt::Value::Bool(value) => Value::Bool(value),
            bolt::Value::Int(value) => Value::Int(value),
            bolt::Value::Float(value) => Value::Float(value),
            bolt::Value::Bytes(bytes) => Value::Bytes(Arc::from(bytes)),
            bolt::Value::String(text) => Value::string(&text),
            bolt::Value::List(items) => {
                Value::list(items.into_iter().map(|item| self.value(item)).collect::<Result<_>>()?)
            }
            bolt::Value::Map(entries) => Value::map(self.entries(entries)?),
            bolt::Value::Structure(tag, fields) if Entity::is_tag(tag) => match Entity::read(tag, fields) {
                Some(Entity::Node(node)) => Value::Node(self.node(node)?),
                Some(Entity::Relationship(edge)) => {
                    let ends = edge.ends.as_ref().map(|ends| [0, 1].map(|at| id_of(ends[at].0, &ends[at].1)));
                    Value::Edge(self.edge(edge, ends.unwrap_or_default())?)
                }
                Some(Entity::Path(path)) => Value::Path(Arc::new(self.path(path)?)),
                None => {
                    return Err(error!(Connection, "the server sent a structure {tag:#04X} that is not of its form"));
                }
            },
            bolt::Value::Structure(tag, fields) => {
                let form = form(self.version, true);
                match Structure::read(tag, fields, form.version, form.moments) {
                    Ok(Structure::Vector(numbers)) => {
                        Value::list(numbers.iter().map(|number| self.value(number)).collect::<Result<_>>()?)
                    }
                    Ok(other) => convert::of_structure(&other, form.moments)?,
                    Err(refusal) => return Err(error!(Connection, "the server sent a value that is none: {refusal}")),
                }
            }
        })
    }

    fn entries(&mut self, entries: Vec<(String, bolt::Value)>) -> Result<Vec<(Arc<str>, Value)>> {
        entries.into_iter().map(|(key, value)| Ok((Arc::from(key), self.value(value)?))).collect()
    }

    fn node(&mut self, node: Node) -> Result<NodeId> {
        let id = NodeId(id_of(node.number, &node.element));
        let labels = node.labels.into_iter().map(Arc::from).collect();
        let properties = self.entries(node.properties)?;
        self.entities.nodes.insert(id, NodeRecord { labels, properties });
        Ok(id)
    }

    fn edge(&mut self, edge: Relationship, [source, target]: [u64; 2]) -> Result<EdgeValue> {
        let held = match ElementId::parse(&edge.element) {
            Some(ElementId { edge_type, source, target, number }) => {
                EdgeValue { id: EdgeId(number), source, target, edge_type }
            }
            // Another database's: its types have no numbers.
            None => EdgeValue {
                id: EdgeId(edge.number as u64),
                source: NodeId(source),
                target: NodeId(target),
                edge_type: EdgeTypeId(0),
            },
        };
        let properties = self.entries(edge.properties)?;
        self.entities.edges.insert(held.id, EdgeRecord { edge_type: Arc::from(edge.kind), properties });
        Ok(held)
    }

    fn path(&mut self, path: Path) -> Result<PathValue> {
        let own: Vec<u64> = path.nodes.iter().map(|node| id_of(node.number, &node.element)).collect();
        let mut ends = vec![[0; 2]; path.relationships.len()];
        let mut before = own[0];
        for &(edge, is_forward, node) in &path.steps {
            ends[edge] = if is_forward { [before, own[node]] } else { [own[node], before] };
            before = own[node];
        }
        for node in path.nodes {
            self.node(node)?;
        }
        let edges: Vec<EdgeValue> = path
            .relationships
            .into_iter()
            .zip(ends)
            .map(|(edge, ends)| self.edge(edge, ends))
            .collect::<Result<_>>()?;
        let nodes = std::iter::once(own[0]).chain(path.steps.iter().map(|step| own[step.2])).map(NodeId).collect();
        Ok(PathValue { nodes, edges: path.steps.iter().map(|step| edges[step.0]).collect() })
    }
}

/// The id of a node: what its element id says in full, where that is a number.
fn id_of(number: i64, element: &str) -> u64 {
    element.parse().unwrap_or(number as u64)
}
