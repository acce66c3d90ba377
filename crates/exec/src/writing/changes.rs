//! Setting and removing properties and labels, for many rows at once where that equals row by row.

mod maps;

use std::sync::Arc;

use cypher::plan::{Expression, SetItem};
use model::{Column, EdgeId, LabelId, NodeId, PropertyKeyId, Result, Set, Span, Value};

use super::hazards::{Batching, Hazards};
use super::{check_storable, computed};
use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::lowering::Lowering;
use crate::runtime::{Runtime, Scope, Writer};

/// The changes of a `SET`, `REMOVE`, `ON CREATE` or `ON MATCH`.
pub(crate) struct Changes {
    items: Vec<Change>,
    hazards: Hazards,
}

struct Change {
    object: CompiledExpression,
    span: Span,
    what: What,
}

enum What {
    Property(Arc<str>, CompiledExpression, Span),
    /// Also removes what the map lacks, if so told.
    Map {
        value: CompiledExpression,
        span: Span,
        replaces: bool,
    },
    AddLabels(Vec<Arc<str>>),
    RemoveLabels(Vec<Arc<str>>),
    /// Labels that each row names; added or else removed.
    ComputedLabels {
        labels: CompiledExpression,
        span: Span,
        adds: bool,
    },
}

/// The nodes and edges of a column, and the rows they stand in.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) nodes: Vec<NodeId>,
    pub(super) node_rows: Vec<u32>,
    pub(super) edges: Vec<EdgeId>,
    pub(super) edge_rows: Vec<u32>,
}

impl Objects {
    fn of(column: &Column, span: Span) -> Result<Objects> {
        let mut objects = Objects::default();
        for (row, value) in column.values().enumerate() {
            match value {
                Value::Node(node) => {
                    objects.nodes.push(node);
                    objects.node_rows.push(row as u32);
                }
                Value::Edge(edge) => {
                    objects.edges.push(edge.id);
                    objects.edge_rows.push(row as u32);
                }
                Value::Null => {}
                other => {
                    let kind = other.type_name();
                    return Err(
                        model::error!(Type, "only a node or relationship can be changed, found {kind}").at(span)
                    );
                }
            }
        }
        Ok(objects)
    }

    /// Those in these rows.
    fn at(&self, rows: &[u32]) -> Objects {
        let mut objects = Objects::default();
        for &row in rows {
            if let Ok(place) = self.node_rows.binary_search(&row) {
                objects.nodes.push(self.nodes[place]);
                objects.node_rows.push(row);
            }
            if let Ok(place) = self.edge_rows.binary_search(&row) {
                objects.edges.push(self.edges[place]);
                objects.edge_rows.push(row);
            }
        }
        objects
    }

    /// Sets one property of all objects; the values have a row for each row of the chunk.
    fn set(&self, writer: &mut Writer<'_>, key: PropertyKeyId, values: &Column) -> Result<()> {
        if !self.nodes.is_empty() {
            writer.transaction.set_node_properties(&self.nodes, key, &values.gather(&self.node_rows))?;
        }
        if !self.edges.is_empty() {
            writer.transaction.set_edge_properties(&self.edges, key, &values.gather(&self.edge_rows))?;
        }
        writer.counters.properties_set += (self.nodes.len() + self.edges.len()) as u64;
        Ok(())
    }
}

impl Changes {
    /// Compiles changes over rows of that layout.
    pub(crate) fn compile(lowering: &mut Lowering, items: &[SetItem], layout: &Layout) -> Result<Changes> {
        let mut compiled = Vec::with_capacity(items.len());
        for item in items {
            let mut compile = |expression: &Expression| lowering.compile(expression, layout);
            let (object, what) = match item {
                SetItem::Property { object, key, value } => {
                    (object, What::Property(key.clone(), compile(value)?, value.span))
                }
                SetItem::Replace { object, value } => {
                    (object, What::Map { value: compile(value)?, span: value.span, replaces: true })
                }
                SetItem::Merge { object, value } => {
                    (object, What::Map { value: compile(value)?, span: value.span, replaces: false })
                }
                SetItem::AddLabels { node, labels } => (node, What::AddLabels(labels.clone())),
                SetItem::RemoveLabels { node, labels } => (node, What::RemoveLabels(labels.clone())),
                SetItem::AddComputedLabels { node, labels } => {
                    (node, What::ComputedLabels { labels: compile(labels)?, span: labels.span, adds: true })
                }
                SetItem::RemoveComputedLabels { node, labels } => {
                    (node, What::ComputedLabels { labels: compile(labels)?, span: labels.span, adds: false })
                }
            };
            compiled.push(Change { object: compile(object)?, span: object.span, what });
        }
        Ok(Changes { items: compiled, hazards: Hazards::of(items, layout) })
    }

    /// True without changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The columns and keys that the changes read and write.
    pub(crate) fn hazards(&self) -> &Hazards {
        &self.hazards
    }

    /// Makes the changes for all rows of a chunk, as if row by row.
    pub(crate) fn run(&self, scope: Scope<'_, '_>, chunk: &Chunk) -> Result<()> {
        match self.hazards.batching(chunk) {
            Batching::Always => self.apply(scope.runtime, chunk),
            Batching::WhileDistinct(column) => {
                let values = &chunk.columns[column];
                let mut seen: Set<Value> = Set::default();
                let mut start = 0;
                for row in 0..chunk.rows {
                    let value = values.value(row);
                    if !value.is_null() && !seen.insert(value.clone()) {
                        self.apply(scope.runtime, &chunk.slice(start, row))?;
                        seen.clear();
                        seen.insert(value);
                        start = row;
                    }
                }
                self.apply(scope.runtime, &chunk.slice(start, chunk.rows))
            }
            Batching::Never => {
                (0..chunk.rows).try_for_each(|row| self.apply(scope.runtime, &chunk.slice(row, row + 1)))
            }
        }
    }

    /// Item by item for all rows.
    fn apply(&self, runtime: &Runtime<'_>, chunk: &Chunk) -> Result<()> {
        if chunk.rows == 0 {
            return Ok(());
        }
        runtime.environment.interrupt.check()?;
        self.items.iter().try_for_each(|item| item.apply(runtime, chunk))
    }
}

impl Change {
    fn apply(&self, runtime: &Runtime<'_>, chunk: &Chunk) -> Result<()> {
        let evaluate = |expression: &CompiledExpression| {
            let view = runtime.view();
            expression.evaluate(chunk, &runtime.evaluation(&view))
        };
        let objects = Objects::of(&*evaluate(&self.object)?, self.span)?;
        match &self.what {
            What::Property(key, value, span) => {
                let values = evaluate(value)?;
                check_storable(key, &values).map_err(|error| error.at(*span))?;
                if objects.nodes.is_empty() && objects.edges.is_empty() {
                    return Ok(());
                }
                runtime.write(|writer| {
                    let key = writer.transaction.property_key(key)?;
                    objects.set(writer, key, &values)
                })
            }
            What::Map { value, span, replaces } => {
                let values = evaluate(value)?;
                maps::apply(runtime, &objects, &values, *replaces).map_err(|error| error.at(*span))
            }
            What::AddLabels(labels) => self.change_labels(runtime, &objects, labels, true),
            What::RemoveLabels(labels) => self.change_labels(runtime, &objects, labels, false),
            What::ComputedLabels { labels, span, adds } => {
                let names = evaluate(labels)?;
                for (labels, rows) in computed::by_names(&names).map_err(|error| error.at(*span))? {
                    self.change_labels(runtime, &objects.at(&rows), &labels, *adds)?;
                }
                Ok(())
            }
        }
    }

    fn change_labels(&self, runtime: &Runtime<'_>, objects: &Objects, labels: &[Arc<str>], adds: bool) -> Result<()> {
        if !objects.edges.is_empty() {
            return Err(model::error!(Type, "labels belong to nodes, found RELATIONSHIP").at(self.span));
        }
        let mut nodes = objects.nodes.clone();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() {
            return Ok(());
        }
        runtime.write(|writer| {
            let mut ids: Vec<LabelId> = Vec::with_capacity(labels.len());
            for name in labels {
                let id = match writer.transaction.view().schema().label(name) {
                    Some(id) => id,
                    None if adds => writer.transaction.label(name)?,
                    None => continue,
                };
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            for &id in &ids {
                let carried = writer.transaction.view().has_label(&nodes, id)?.count_ones() as u64;
                if adds {
                    writer.counters.labels_added += nodes.len() as u64 - carried;
                } else {
                    writer.counters.labels_removed += carried;
                }
            }
            if adds {
                writer.transaction.add_labels(&nodes, &ids)
            } else {
                writer.transaction.remove_labels(&nodes, &ids)
            }
        })
    }
}
