//! Creating nodes and edges for many rows at once.

use std::hash::BuildHasher;
use std::sync::Arc;

use cypher::plan::{NewEdge, NewNode, SlotId};
use model::mix::mix64;
use model::store::{NewEdges, NewNodes};
use model::{Column, ColumnData, EdgeValue, NodeId, Result, Span};

use super::computed::by_names;
use super::{PropertySource, resolve_keys};
use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::group_table::hash_rows;
use crate::lowering::{Lowering, column_of};
use crate::rows::node_at;
use crate::runtime::Scope;

/// Nodes and edges to create for each row. Adds one column for each, nodes first.
pub(crate) struct Creation {
    nodes: Vec<NodeCreation>,
    edges: Vec<EdgeCreation>,
}

struct NodeCreation {
    labels: Vec<Arc<str>>,
    properties: PropertySource,
}

struct EdgeCreation {
    edge_type: Arc<str>,
    /// Gives the type of each row, where no name is written.
    computed_type: Option<CompiledExpression>,
    source: usize,
    target: usize,
    properties: PropertySource,
    span: Span,
}

/// The treatment of a property that is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NullProperties {
    /// Leave it out, as `CREATE` does.
    LeaveOut,
    /// Fail, as `MERGE` does: nothing would ever match it.
    Refuse,
}

impl Creation {
    /// Compiles the creation over rows of that layout, and adds to the layout the slots of what is created.
    pub(crate) fn compile(
        lowering: &mut Lowering,
        nodes: &[NewNode],
        edges: &[NewEdge],
        layout: &mut Layout,
    ) -> Result<Creation> {
        let mut compiled = Creation { nodes: Vec::new(), edges: Vec::new() };
        for node in nodes {
            let properties = PropertySource::compile(lowering, node.properties.as_ref(), layout)?;
            compiled.nodes.push(NodeCreation { labels: node.labels.clone(), properties });
            layout.push(node.slot);
        }
        for edge in edges {
            let properties = PropertySource::compile(lowering, edge.properties.as_ref(), layout)?;
            let computed = edge.computed_type.as_ref();
            compiled.edges.push(EdgeCreation {
                edge_type: edge.edge_type.clone(),
                computed_type: computed.map(|name| lowering.compile(name, layout)).transpose()?,
                source: column_of(layout, edge.source)?,
                target: column_of(layout, edge.target)?,
                properties,
                span: edge.span,
            });
            layout.push(edge.slot);
        }
        Ok(compiled)
    }

    /// Creates for each row of the chunk, and adds the columns of what was created.
    pub(crate) fn run(&self, scope: Scope<'_, '_>, chunk: &mut Chunk, nulls: NullProperties) -> Result<()> {
        if chunk.rows == 0 {
            let none = || Arc::new(Column::nulls(0));
            chunk.columns.extend((0..self.nodes.len() + self.edges.len()).map(|_| none()));
            return Ok(());
        }
        let bound = chunk.columns.len();
        let mut claims = (nulls == NullProperties::Refuse).then(|| Claims::new(chunk.rows));
        for node in &self.nodes {
            let created = node.run(scope, chunk, nulls, claims.as_mut())?;
            chunk.columns.push(Arc::new(Column::new(ColumnData::Node(created))));
        }
        for edge in &self.edges {
            let created = edge.run(scope, chunk, nulls, claims.as_mut().map(|claims| (claims, bound)))?;
            chunk.columns.push(Arc::new(Column::new(ColumnData::Edge(created))));
        }
        if let Some(claims) = claims {
            scope.runtime.write(|writer| {
                writer.transaction.claim(&claims.0);
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// For each row, a hash of what `MERGE` creates for it because it was not there: names, properties, and the nodes between
/// which edges lie. The parts are summed up, so that their order does not matter, nor the direction of an edge.
struct Claims(Vec<u64>);

impl Claims {
    fn new(rows: usize) -> Claims {
        Claims(vec![0; rows])
    }

    /// Adds a node or an edge.
    fn add<'a>(&mut self, names: impl Iterator<Item = &'a Arc<str>>, properties: &[(Arc<str>, Arc<Column>)]) {
        let names = names.fold(0, |sum: u64, name| sum.wrapping_add(hash_of(&**name)));
        self.0.iter_mut().for_each(|claim| *claim = claim.wrapping_add(mix64(names)));
        for (key, column) in properties {
            let key = hash_of(&**key);
            let hashes = hash_rows(std::slice::from_ref(column), self.0.len());
            for (claim, hash) in self.0.iter_mut().zip(hashes) {
                *claim = claim.wrapping_add(mix64(key ^ mix64(hash)));
            }
        }
    }

    /// Adds the end of an edge: the node, where it was there before; else which of the nodes created it is.
    fn add_end(&mut self, column: usize, nodes: Option<&Vec<NodeId>>) {
        for (row, claim) in self.0.iter_mut().enumerate() {
            let end = nodes.map_or(!(column as u64), |nodes| nodes[row].0);
            *claim = claim.wrapping_add(mix64(mix64(end)));
        }
    }
}

fn hash_of<T: std::hash::Hash + ?Sized>(value: &T) -> u64 {
    model::Map::<(), ()>::default().hasher().hash_one(value)
}

/// The property columns of what is created.
fn properties(
    source: &PropertySource,
    scope: Scope<'_, '_>,
    chunk: &Chunk,
    nulls: NullProperties,
) -> Result<Vec<(Arc<str>, Arc<Column>)>> {
    let columns = {
        let view = scope.runtime.view();
        source.columns(chunk, &scope.runtime.evaluation(&view))?
    };
    if nulls == NullProperties::Refuse
        && let Some((key, _)) = columns.iter().find(|(_, column)| (0..column.len()).any(|row| column.is_null(row)))
    {
        let message = format!("MERGE needs a value for property {key}, found null");
        return Err(model::Error::new(model::ErrorCode::Semantic, message)
            .of_kind(model::ErrorKind::SemanticError)
            .with_detail(model::ErrorDetail::MergeReadOwnWrites)
            .with_remedy("filter such rows out, or set the property after the MERGE"));
    }
    Ok(columns)
}

impl NodeCreation {
    fn run(
        &self,
        scope: Scope<'_, '_>,
        chunk: &Chunk,
        nulls: NullProperties,
        claims: Option<&mut Claims>,
    ) -> Result<Vec<NodeId>> {
        let properties = properties(&self.properties, scope, chunk, nulls)?;
        if let Some(claims) = claims {
            claims.add(self.labels.iter(), &properties);
        }
        scope.runtime.write(|writer| {
            let (keys, columns) = resolve_keys(writer, properties)?;
            let mut labels = Vec::with_capacity(self.labels.len());
            for name in &self.labels {
                let label = writer.transaction.label(name)?;
                if !labels.contains(&label) {
                    labels.push(label);
                }
            }
            let new = NewNodes { count: chunk.rows, labels: &labels, keys: &keys, properties: &columns };
            let created = writer.transaction.create_nodes(&new)?;
            writer.counters.nodes_created += chunk.rows as u64;
            writer.counters.labels_added += (chunk.rows * labels.len()) as u64;
            Ok(created)
        })
    }
}

impl EdgeCreation {
    fn run(
        &self,
        scope: Scope<'_, '_>,
        chunk: &Chunk,
        nulls: NullProperties,
        claims: Option<(&mut Claims, usize)>,
    ) -> Result<Vec<EdgeValue>> {
        let sources = self.ends(&chunk.columns[self.source], "start")?;
        let targets = self.ends(&chunk.columns[self.target], "end")?;
        let properties = properties(&self.properties, scope, chunk, nulls)?;
        if let Some((claims, bound)) = claims {
            claims.add([&self.edge_type].into_iter(), &properties);
            for (column, ends) in [(self.source, &sources), (self.target, &targets)] {
                claims.add_end(column, (column < bound).then_some(ends));
            }
        }
        let Some(computed) = &self.computed_type else {
            return self.create(scope, &self.edge_type, &sources, &targets, properties);
        };
        let names = {
            let view = scope.runtime.view();
            computed.evaluate(chunk, &scope.runtime.evaluation(&view))?
        };
        let mut edges: Vec<Option<EdgeValue>> = vec![None; chunk.rows];
        for (names, rows) in by_names(&names).map_err(|error| error.at(self.span))? {
            let [name] = names.as_slice() else {
                let found = names.len();
                return Err(model::error!(Type, "a relationship needs exactly one type, found {found}").at(self.span));
            };
            let pick = |nodes: &[NodeId]| rows.iter().map(|&row| nodes[row as usize]).collect::<Vec<_>>();
            let part = |(key, column): &(Arc<str>, Arc<Column>)| (key.clone(), Arc::new(column.gather(&rows)));
            let part = properties.iter().map(part).collect();
            let created = self.create(scope, name, &pick(&sources), &pick(&targets), part)?;
            rows.iter().zip(created).for_each(|(&row, edge)| edges[row as usize] = Some(edge));
        }
        Ok(edges.into_iter().flatten().collect())
    }

    /// Creates edges of one type.
    fn create(
        &self,
        scope: Scope<'_, '_>,
        edge_type: &str,
        sources: &[NodeId],
        targets: &[NodeId],
        properties: Vec<(Arc<str>, Arc<Column>)>,
    ) -> Result<Vec<EdgeValue>> {
        scope.runtime.write(|writer| {
            let (keys, columns) = resolve_keys(writer, properties)?;
            let edge_type = writer.transaction.edge_type(edge_type)?;
            let new = NewEdges { edge_type, sources, targets, keys: &keys, properties: &columns };
            let created = writer.transaction.create_edges(&new).map_err(|error| error.at(self.span))?;
            writer.counters.edges_created += created.len() as u64;
            let ends = sources.iter().zip(targets);
            let value = |(id, (&source, &target))| EdgeValue { id, source, target, edge_type };
            Ok(created.into_iter().zip(ends).map(value).collect())
        })
    }

    fn ends(&self, column: &Column, which: &str) -> Result<Vec<NodeId>> {
        let end = |row: usize| {
            node_at(column, row).ok_or_else(|| {
                let found = column.value(row);
                let message = format!(
                    "a relationship of type {} needs a node at its {which}, found {found} ({})",
                    self.edge_type,
                    found.type_name()
                );
                let code = if found.is_null() { model::ErrorCode::NotFound } else { model::ErrorCode::Type };
                model::Error::new(code, message).at(self.span)
            })
        };
        (0..column.len()).map(end).collect()
    }
}

/// The slots of what is created, nodes first.
pub(crate) fn created_slots(nodes: &[NewNode], edges: &[NewEdge]) -> Vec<SlotId> {
    nodes.iter().map(|node| node.slot).chain(edges.iter().map(|edge| edge.slot)).collect()
}
