//! The part of the graph that takes part: nodes of some labels, edges of some types, followed in one direction, with
//! weights.

use std::sync::Arc;

use model::batch::EdgeBatch;
use model::column::{Column, ColumnData};
use model::error::{Error, Result};
use model::id::{EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use model::limits::WEIGHT_MAX;
use model::schema::{Names, Schema};
use model::store::{Direction, EdgeIds, Expand, ReadView};
use model::suggestion::nearest;
use model::value::Value;

use crate::rows::Sides;
use crate::settings::Settings;
use crate::settings::shared::{DEFAULT_WEIGHT, LABELS, TYPES, WEIGHT_PROPERTY};

/// The nodes and edges that take part, and the direction in which edges are followed.
#[derive(Clone, Debug)]
pub struct Projection {
    /// Nodes must carry one of these labels; `None` for all nodes.
    pub labels: Option<Vec<LabelId>>,
    /// Edges must be of one of these types; `None` for all.
    pub types: Option<Vec<EdgeTypeId>>,
    /// The direction in which edges are followed.
    pub direction: Direction,
}

impl Projection {
    /// The whole graph.
    #[must_use]
    pub fn all(direction: Direction) -> Projection {
        Projection { labels: None, types: None, direction }
    }

    /// Reads `labels`, `types` and their other names. A name that the graph does not have is an error.
    pub(crate) fn read(settings: &Settings<'_>, schema: &Schema, direction: Direction) -> Result<Projection> {
        let (labels, types) = (settings.get(&LABELS)?.flatten(), settings.get(&TYPES)?.flatten());
        Projection::of_names(labels.as_deref(), types.as_deref(), direction, schema)
    }

    /// The projection of these labels and types, all without. A name that the graph does not have is an error.
    pub(crate) fn of_names(
        labels: Option<&[Arc<str>]>,
        types: Option<&[Arc<str>]>,
        direction: Direction,
        schema: &Schema,
    ) -> Result<Projection> {
        Ok(Projection {
            labels: resolve(labels, "label", &schema.labels)?.map(|ids| ids.into_iter().map(LabelId).collect()),
            types: resolve(types, "relationship type", &schema.edge_types)?
                .map(|ids| ids.into_iter().map(EdgeTypeId).collect()),
            direction,
        })
    }

    /// The expansion that follows this projection's edges.
    pub(crate) fn expand(&self, direction: Direction, keys: Vec<PropertyKeyId>, edge_ids: EdgeIds) -> Expand {
        Expand { direction, types: self.types.clone(), edge_ids, keys, ..Expand::default() }
    }

    /// For each node, whether it takes part. Only to be asked when there are labels.
    pub(crate) fn admits(&self, view: &dyn ReadView, nodes: &[NodeId]) -> Result<Vec<bool>> {
        let Some(labels) = &self.labels else { return Ok(vec![true; nodes.len()]) };
        let mut admitted = vec![false; nodes.len()];
        for &label in labels {
            let bits = view.has_label(nodes, label)?;
            admitted.iter_mut().enumerate().for_each(|(row, admit)| *admit |= bits.get(row));
        }
        Ok(admitted)
    }

    /// Fails if the node that a search starts or ends at does not take part.
    pub(crate) fn require(&self, view: &dyn ReadView, node: NodeId, setting: &str) -> Result<()> {
        if self.labels.is_some() && !self.admits(view, &[node])?[0] {
            let wanted: Vec<&str> =
                self.labels.iter().flatten().map(|&label| view.schema().label_name(label)).collect();
            let message = format!("node #{} of setting '{setting}' carries none of the labels asked for", node.0);
            return Err(model::error!(Argument, "{message}: {}", wanted.join(", ")));
        }
        Ok(())
    }
}

fn resolve(names: Option<&[Arc<str>]>, what: &str, known: &Names) -> Result<Option<Vec<u32>>> {
    let Some(names) = names else { return Ok(None) };
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let id = known.find(name).ok_or_else(|| unknown(what, name, known))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(Some(ids))
}

fn unknown(what: &str, name: &str, known: &Names) -> Error {
    let error = model::error!(Argument, "the graph has no {what} '{name}'");
    match nearest(name, known.iter().map(|name| &**name)) {
        Some(near) => error.with_remedy(format!("did you mean '{near}'?")),
        None => error.with_remedy("check the spelling"),
    }
}

/// The id of a property that must be known to the graph.
pub(crate) fn property_key(schema: &Schema, name: &str) -> Result<PropertyKeyId> {
    schema.property_key(name).ok_or_else(|| unknown("property", name, &schema.property_keys))
}

/// The property that says what an edge costs.
#[derive(Clone, Debug)]
pub struct Weight {
    /// The property; `None` if no edge of the graph has it and the default serves all.
    pub key: Option<PropertyKeyId>,
    /// Its name, for messages.
    pub name: Arc<str>,
    /// The cost of an edge without the property; `None` makes that an error.
    pub default: Option<f64>,
}

impl Weight {
    /// Reads `weightProperty` and `defaultWeight`.
    pub(crate) fn read(settings: &Settings<'_>, schema: &Schema) -> Result<Option<Weight>> {
        let default = settings.get(&DEFAULT_WEIGHT)?;
        let name = match settings.get(&WEIGHT_PROPERTY)? {
            Some(name) => name,
            None if default.is_some() => {
                return Err(model::error!(Argument, "setting 'defaultWeight' is given without 'weightProperty'"));
            }
            None => return Ok(None),
        };
        let key = match default {
            Some(_) => schema.property_key(&name),
            None => Some(property_key(schema, &name)?),
        };
        Ok(Some(Weight { key, name, default }))
    }

    /// The property to ask the store for.
    pub(crate) fn keys(&self) -> Vec<PropertyKeyId> {
        self.key.into_iter().collect()
    }

    /// Appends the cost of `rows` edges to `costs`; NaN where there is none, or not a number.
    pub(crate) fn append(&self, columns: &[Column], rows: usize, costs: &mut Vec<f64>) {
        let missing = self.default.unwrap_or(f64::NAN);
        match columns.first() {
            None => costs.resize(costs.len() + rows, missing),
            Some(column) => append_numbers(column, missing, costs),
        }
    }

    /// The error for an edge whose weight is missing, out of bounds or no number.
    pub(crate) fn fault(&self, value: &Value, edge: &str) -> Error {
        let name = &self.name;
        match value {
            Value::Null => model::error!(Argument, "{edge} has no property '{name}' to take its weight from")
                .with_remedy("set it, or give 'defaultWeight'"),
            Value::Int(_) | Value::Float(_) => {
                model::error!(
                    Argument,
                    "{edge} has weight {value} in property '{name}', expected a number from 0 to {WEIGHT_MAX:e}"
                )
            }
            other => {
                let found = other.type_name();
                model::error!(Type, "{edge} has {found} in property '{name}', expected a number for its weight")
            }
        }
    }

    /// Finds the edge of a node that has no usable weight, and says so.
    pub(crate) fn fault_at(&self, view: &dyn ReadView, projection: &Projection, node: NodeId) -> Error {
        let expand = projection.expand(projection.direction, self.keys(), EdgeIds::Omit);
        let find = || -> Result<Option<Error>> {
            let nodes = [node];
            let mut cursor = view.expand(&nodes, &expand)?;
            let mut batch = EdgeBatch::default();
            while cursor.next(&mut batch)? {
                let mut costs = Vec::new();
                self.append(&batch.properties, batch.len(), &mut costs);
                if let Some(row) = costs.iter().position(|cost| !is_cost(*cost)) {
                    let value = batch.properties.first().map_or(Value::Null, |column| column.value(row));
                    let edge_type = view.schema().edge_type_name(batch.types[row]);
                    let edge = edge_text(edge_type, node, batch.neighbors[row]);
                    return Ok(Some(self.fault(&value, &edge)));
                }
            }
            Ok(None)
        };
        match find() {
            Ok(Some(error)) | Err(error) => error,
            Ok(None) => model::error!(Internal, "an edge of node #{} changed its weight while it was read", node.0),
        }
    }
}

/// The selection to be read of a store.
#[derive(Clone, Copy)]
pub struct Selection<'a> {
    /// The moment.
    pub view: &'a dyn ReadView,
    /// Nodes, edges and direction.
    pub projection: &'a Projection,
    /// The weights of edges, if they matter.
    pub weight: Option<&'a Weight>,
    /// The rows that will be asked for.
    pub sides: Sides,
}

/// An edge as messages name it.
pub(crate) fn edge_text(edge_type: &str, from: NodeId, to: NodeId) -> String {
    format!("the edge [:{edge_type}] between node #{} and node #{}", from.0, to.0)
}

/// Decides if a number may be the weight of an edge: the one place, for every reader of weights.
#[inline]
pub(crate) fn is_cost(number: f64) -> bool {
    (0.0..=WEIGHT_MAX).contains(&number)
}

/// Appends the rows of a column as numbers: `missing` for nulls, NaN for what is no number.
pub(crate) fn append_numbers(column: &Column, missing: f64, numbers: &mut Vec<f64>) {
    let start = numbers.len();
    match &column.data {
        ColumnData::Float(rows) => numbers.extend_from_slice(rows),
        ColumnData::Int(rows) => numbers.extend(rows.iter().map(|&x| x as f64)),
        ColumnData::Null(rows) => numbers.resize(start + rows, missing),
        _ => numbers.extend(column.values().map(|value| match value {
            Value::Null => missing,
            Value::Int(x) => x as f64,
            Value::Float(x) => x,
            _ => f64::NAN,
        })),
    }
    if let Some(validity) = &column.validity {
        for (row, number) in numbers[start..].iter_mut().enumerate() {
            if !validity.get(row) {
                *number = missing;
            }
        }
    }
}
