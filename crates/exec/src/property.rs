//! Properties of nodes and edges, entries of maps, components of dates and local date-times.
//!
//! Cost: one call to the store for all nodes of a batch and all keys wanted, one more for edges.

use std::sync::Arc;

use model::{
    Bitmap, Column, ColumnData, EdgeId, Error, NodeId, PropertyKeyId, ReadView, Result, StringColumn, Value, error,
};

use crate::context::EvaluationContext;
use crate::repeats::Repeats;
use crate::temporal::components;
use crate::vector::{Operand, Vector, View, validity_of};

/// Fails if the statement has deleted a node or edge of some row: it has nothing left that could be read.
pub(crate) fn check_alive(object: &Vector, rows: usize, context: &EvaluationContext<'_>) -> Result<()> {
    if !context.has_deleted {
        return Ok(());
    }
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for value in (0..rows).map(|row| object.value(row)) {
        match value {
            Value::Node(node) => nodes.push(node),
            Value::Edge(edge) => edges.push(edge.id),
            _ => {}
        }
    }
    let is_gone = |alive: Bitmap| alive.count_ones() < alive.len();
    if !nodes.is_empty() && is_gone(context.view.nodes_exist(&nodes)?) {
        return Err(deleted("node"));
    }
    if !edges.is_empty() && is_gone(context.view.edges_exist(&edges)?) {
        return Err(deleted("relationship"));
    }
    Ok(())
}

fn deleted(what: &str) -> Error {
    error!(NotFound, "the {what} was deleted before its properties or labels are read")
        .with_remedy("read them in a WITH before the DELETE")
}

/// One property of each row; null of null.
pub(crate) fn read_one(object: &Vector, key: &Arc<str>, rows: usize, view: &dyn ReadView) -> Result<Vector> {
    let mut found = read(object, std::slice::from_ref(key), rows, view)?;
    Ok(found.pop().expect("one vector for each key"))
}

/// Several properties of each row: one vector for each key.
pub(crate) fn read(object: &Vector, keys: &[Arc<str>], rows: usize, view: &dyn ReadView) -> Result<Vec<Vector>> {
    match object.view() {
        View::Null => Ok(vec![Vector::NULL; keys.len()]),
        View::Node(Operand::One(node)) => Ok(constants(of_nodes(&[node], keys, view)?)),
        View::Edge(Operand::One(edge)) => Ok(constants(of_edges(&[edge.id], keys, view)?)),
        View::Node(Operand::Many(nodes)) => match validity_of(object) {
            None => Ok(of_nodes_in_runs(nodes, keys, view)?.into_iter().map(Vector::new).collect()),
            Some(validity) => of_some(&validity, nodes, keys, |nodes| of_nodes(nodes, keys, view)),
        },
        View::Edge(Operand::Many(edges)) => {
            let ids: Vec<EdgeId> = edges.iter().map(|edge| edge.id).collect();
            match validity_of(object) {
                None => Ok(of_edges(&ids, keys, view)?.into_iter().map(Vector::new).collect()),
                Some(validity) => of_some(&validity, &ids, keys, |ids| of_edges(ids, keys, view)),
            }
        }
        _ => of_mixture(object, keys, rows, view),
    }
}

fn constants(columns: Vec<Column>) -> Vec<Vector> {
    columns.into_iter().map(|column| Vector::Constant(column.value(0))).collect()
}

fn of_nodes(nodes: &[NodeId], keys: &[Arc<str>], view: &dyn ReadView) -> Result<Vec<Column>> {
    with_known_keys(nodes.len(), keys, view, |ids| view.node_properties(nodes, ids))
}

/// Average rows of a run of one node from which the node is read once for each run.
const RUN_ROWS_MIN: usize = 8;

/// The same for nodes that may come many times: in succession, as an expansion gives the node it starts from, or scattered,
/// as where it leads.
fn of_nodes_in_runs(nodes: &[NodeId], keys: &[Arc<str>], view: &dyn ReadView) -> Result<Vec<Column>> {
    let changes = nodes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if (changes + 1) * RUN_ROWS_MIN > nodes.len() {
        let Some(repeats) = Repeats::of(nodes) else { return of_nodes(nodes, keys, view) };
        let columns = of_nodes(&repeats.nodes, keys, view)?;
        return Ok(columns.iter().map(|column| repeated(column, &repeats.places)).collect());
    }
    let (mut firsts, mut runs): (Vec<NodeId>, Vec<u32>) = (Vec::with_capacity(changes + 1), Vec::new());
    runs.reserve(nodes.len());
    for &node in nodes {
        if firsts.last() != Some(&node) {
            firsts.push(node);
        }
        runs.push(firsts.len() as u32 - 1);
    }
    Ok(of_nodes(&firsts, keys, view)?.iter().map(|column| repeated(column, &runs)).collect())
}

/// The rows of a column at these places, most of which come again: strings are not copied, but become a dictionary.
fn repeated(column: &Column, places: &[u32]) -> Column {
    let ColumnData::String(strings) = &column.data else { return column.gather(places) };
    if strings.codes().is_some() {
        return column.gather(places);
    }
    let data = ColumnData::String(StringColumn::coded(Arc::new(strings.clone()), places.to_vec()));
    let Some(validity) = &column.validity else { return Column::new(data) };
    let mut of_rows = Bitmap::default();
    places.iter().for_each(|&place| of_rows.push(validity.get(place as usize)));
    Column::with_validity(data, of_rows)
}

fn of_edges(edges: &[EdgeId], keys: &[Arc<str>], view: &dyn ReadView) -> Result<Vec<Column>> {
    with_known_keys(edges.len(), keys, view, |ids| view.edge_properties(edges, ids))
}

/// Asks for the keys that the store knows; a key that it does not know is null everywhere.
fn with_known_keys(
    rows: usize,
    keys: &[Arc<str>],
    view: &dyn ReadView,
    ask: impl FnOnce(&[PropertyKeyId]) -> Result<Vec<Column>>,
) -> Result<Vec<Column>> {
    if let [key] = keys {
        // Most often; nothing is allocated then but the answer.
        return match view.schema().property_key(key) {
            Some(id) => ask(&[id]),
            None => Ok(vec![Column::nulls(rows)]),
        };
    }
    let ids: Vec<Option<PropertyKeyId>> = keys.iter().map(|key| view.schema().property_key(key)).collect();
    let known: Vec<PropertyKeyId> = ids.iter().copied().flatten().collect();
    let mut found = if known.is_empty() { Vec::new() } else { ask(&known)? }.into_iter();
    let columns = ids.iter().map(|id| match id {
        Some(_) => found.next().ok_or_else(|| error!(Internal, "the store gave too few property columns")),
        None => Ok(Column::nulls(rows)),
    });
    columns.collect()
}

/// Asks for the rows that are not null, and puts nulls between the answers.
fn of_some<I: Copy>(
    validity: &Bitmap,
    ids: &[I],
    keys: &[Arc<str>],
    ask: impl FnOnce(&[I]) -> Result<Vec<Column>>,
) -> Result<Vec<Vector>> {
    // Null rows ask for the first id that is there, and their answer is dropped: no scattering afterwards.
    let Some(stand_in) = (0..ids.len()).find(|&row| validity.get(row)).map(|row| ids[row]) else {
        return Ok(vec![Vector::NULL; keys.len()]);
    };
    let padded: Vec<I> =
        ids.iter().enumerate().map(|(row, &id)| if validity.get(row) { id } else { stand_in }).collect();
    Ok(ask(&padded)?.into_iter().map(|column| Vector::new(masked(column, validity))).collect())
}

/// A column with the rows outside `validity` made null.
fn masked(column: Column, validity: &Bitmap) -> Column {
    match (column.data, column.validity) {
        (ColumnData::Value(mut values), own) => {
            for (row, value) in values.iter_mut().enumerate() {
                if !validity.get(row) || own.as_ref().is_some_and(|own| !own.get(row)) {
                    *value = Value::Null;
                }
            }
            Column::new(ColumnData::Value(values))
        }
        (data, None) => Column::with_validity(data, validity.clone()),
        (data, Some(own)) => {
            let words = own.words().iter().zip(validity.words()).map(|(a, b)| a & b).collect();
            let length = own.len();
            Column::with_validity(data, Bitmap::from_words(words, length))
        }
    }
}

/// Rows of any kinds: nodes and edges are asked for together, the others answer by themselves.
fn of_mixture(object: &Vector, keys: &[Arc<str>], rows: usize, view: &dyn ReadView) -> Result<Vec<Vector>> {
    if let Some(value) = object.constant() {
        return keys.iter().map(|key| Ok(Vector::Constant(component(value, key)?))).collect();
    }
    let values: Vec<Value> = (0..rows).map(|row| object.value(row)).collect();
    let (nodes, edges) = elements(&values);
    let of_nodes = of_nodes(&nodes.1, keys, view)?;
    let of_edges = of_edges(&edges.1, keys, view)?;
    let mut results = Vec::with_capacity(keys.len());
    for (member, key) in keys.iter().enumerate() {
        let mut column = vec![Value::Null; rows];
        nodes.0.iter().enumerate().for_each(|(index, &row)| column[row] = of_nodes[member].value(index));
        edges.0.iter().enumerate().for_each(|(index, &row)| column[row] = of_edges[member].value(index));
        for (row, value) in values.iter().enumerate() {
            if !matches!(value, Value::Node(_) | Value::Edge(_)) {
                column[row] = component(value, key)?;
            }
        }
        results.push(Vector::from_values(&column));
    }
    Ok(results)
}

/// Rows, and the id that each of them holds.
type RowsAndIds<Id> = (Vec<usize>, Vec<Id>);

/// The rows that hold nodes, with these, and the rows that hold edges.
fn elements(values: &[Value]) -> (RowsAndIds<NodeId>, RowsAndIds<EdgeId>) {
    let (mut nodes, mut edges) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (row, value) in values.iter().enumerate() {
        match value {
            Value::Node(node) => {
                nodes.0.push(row);
                nodes.1.push(*node);
            }
            Value::Edge(edge) => {
                edges.0.push(row);
                edges.1.push(edge.id);
            }
            _ => {}
        }
    }
    (nodes, edges)
}

/// An entry of a map, or a component of a value of time or of a point.
fn component(value: &Value, key: &str) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Map(map) => Ok(map.get(key).cloned().unwrap_or_default()),
        Value::Date(_)
        | Value::LocalTime(_)
        | Value::Time(_)
        | Value::LocalDateTime(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::Point(_) => components::component(value, key).unwrap_or_else(|| Err(no_component(value, key))),
        other => Err(error!(
            Type,
            "{} has no properties: expected NODE, RELATIONSHIP, MAP, POINT or a value of time to read '{key}' from",
            other.type_name()
        )),
    }
}

fn no_component(value: &Value, key: &str) -> Error {
    let kind = value.type_name();
    error!(Argument, "{kind} has no component '{key}': expected one such as {}", components::examples(value))
}

/// All properties of each row as a map; a map is itself, null is null.
pub(crate) fn all(object: &Vector, rows: usize, view: &dyn ReadView) -> Result<Vec<Value>> {
    let mut results: Vec<Value> = (0..rows).map(|row| object.value(row)).collect();
    let has_properties = |value: &Value| matches!(value, Value::Node(_) | Value::Edge(_) | Value::Map(_) | Value::Null);
    if let Some(other) = results.iter().find(|value| !has_properties(value)) {
        let found = other.type_name();
        return Err(error!(Type, "{found} has no properties: expected NODE, RELATIONSHIP or MAP"));
    }
    let (nodes, edges) = elements(&results);
    if !nodes.1.is_empty() {
        place(&mut results, &nodes.0, view.all_node_properties(&nodes.1)?, view);
    }
    if !edges.1.is_empty() {
        place(&mut results, &edges.0, view.all_edge_properties(&edges.1)?, view);
    }
    Ok(results)
}

fn place(results: &mut [Value], rows: &[usize], properties: Vec<Vec<(PropertyKeyId, Value)>>, view: &dyn ReadView) {
    for (&row, properties) in rows.iter().zip(properties) {
        let named = properties.into_iter().filter_map(|(key, value)| {
            let name = view.schema().property_keys.name(key.0)?;
            Some((name.clone(), value))
        });
        results[row] = Value::map(named);
    }
}
