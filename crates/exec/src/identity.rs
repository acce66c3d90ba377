//! Edges as they leave a view and enter another: inside they have the ids of the view, outside their numbers, which stay what
//! they are from view to view.

use std::borrow::Cow;
use std::sync::Arc;

use model::store::ElementId;
use model::{Column, ColumnData, EdgeId, EdgeValue, Map, PathValue, ReadView, Result, Value};

/// Edges by the ids that they had.
pub type Renamed = Map<EdgeId, EdgeValue>;

/// Edges of a view with their numbers as ids.
///
/// # Errors
/// Fails if the view cannot be read.
pub fn numbered(edges: &[EdgeValue], view: &dyn ReadView) -> Result<Renamed> {
    if edges.is_empty() {
        return Ok(Renamed::default());
    }
    let ids: Vec<EdgeId> = edges.iter().map(|edge| edge.id).collect();
    let numbers = view.edge_numbers(&ids)?.into_iter().map(EdgeId);
    Ok(edges.iter().zip(numbers).map(|(edge, id)| (edge.id, EdgeValue { id, ..*edge })).collect())
}

/// Edges that have their numbers as ids as a view knows them. One that is gone is none of the view's.
///
/// # Errors
/// Fails if the view cannot be read.
pub fn located(edges: &[EdgeValue], view: &dyn ReadView) -> Result<Renamed> {
    if edges.is_empty() {
        return Ok(Renamed::default());
    }
    let texts: Vec<String> = edges.iter().map(|edge| ElementId::of(edge, edge.id.0).to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = view.find_edges(&texts)?.into_iter();
    let here = |(edge, found): (&EdgeValue, Option<EdgeValue>)| {
        (edge.id, found.unwrap_or(EdgeValue { id: EdgeId(u64::MAX), ..*edge }))
    };
    Ok(edges.iter().zip(found).map(here).collect())
}

/// Gives the edges in columns other ids; those that are not named keep theirs.
pub fn rename(columns: &mut [Arc<Column>], edges: &Renamed) {
    if edges.is_empty() {
        return;
    }
    for column in columns {
        let data = match &column.data {
            ColumnData::Edge(rows) => ColumnData::Edge(rows.iter().map(|edge| renamed_edge(*edge, edges)).collect()),
            ColumnData::Value(rows) if rows.iter().any(holds_edges) => {
                ColumnData::Value(rows.iter().map(|value| renamed(value, edges)).collect())
            }
            _ => continue,
        };
        *column = Arc::new(Column { data, validity: column.validity.clone() });
    }
}

/// Parameters with other ids of the edges in them.
pub fn rename_parameters<'p>(parameters: &'p Map<Arc<str>, Value>, edges: &Renamed) -> Cow<'p, Map<Arc<str>, Value>> {
    if edges.is_empty() {
        return Cow::Borrowed(parameters);
    }
    Cow::Owned(parameters.iter().map(|(name, value)| (name.clone(), renamed(value, edges))).collect())
}

/// The edges that stand in parameters.
pub fn edges_of_parameters(parameters: &Map<Arc<str>, Value>) -> Vec<EdgeValue> {
    let mut edges = Vec::new();
    parameters.values().for_each(|value| collect(value, &mut edges));
    edges
}

/// The edges that stand in columns, each once.
pub fn edges_of(columns: &[Arc<Column>]) -> Vec<EdgeValue> {
    let mut edges = Vec::new();
    for column in columns {
        match &column.data {
            ColumnData::Edge(rows) => {
                edges.extend((0..rows.len()).filter(|&row| !column.is_null(row)).map(|row| rows[row]));
            }
            ColumnData::Value(rows) => rows.iter().for_each(|value| collect(value, &mut edges)),
            _ => {}
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Adds the edges that stand in a value.
fn collect(value: &Value, edges: &mut Vec<EdgeValue>) {
    match value {
        Value::Edge(edge) => edges.push(*edge),
        Value::Path(path) => edges.extend_from_slice(&path.edges),
        Value::List(items) => items.iter().for_each(|item| collect(item, edges)),
        Value::Map(map) => map.values().for_each(|item| collect(item, edges)),
        _ => {}
    }
}

/// A value with other ids of the edges in it.
fn renamed(value: &Value, edges: &Renamed) -> Value {
    match value {
        Value::Edge(of) => Value::Edge(renamed_edge(*of, edges)),
        Value::Path(path) => {
            let edges = path.edges.iter().map(|edge| renamed_edge(*edge, edges)).collect();
            Value::Path(Arc::new(PathValue { nodes: path.nodes.clone(), edges }))
        }
        Value::List(items) if holds_edges(value) => {
            Value::list(items.iter().map(|item| renamed(item, edges)).collect())
        }
        Value::Map(map) if holds_edges(value) => {
            Value::map(map.iter().map(|(key, item)| (key.clone(), renamed(item, edges))))
        }
        other => other.clone(),
    }
}

fn renamed_edge(edge: EdgeValue, edges: &Renamed) -> EdgeValue {
    edges.get(&edge.id).copied().unwrap_or(edge)
}

fn holds_edges(value: &Value) -> bool {
    match value {
        Value::Edge(_) | Value::Path(_) => true,
        Value::List(items) => items.iter().any(holds_edges),
        Value::Map(map) => map.values().any(holds_edges),
        _ => false,
    }
}
