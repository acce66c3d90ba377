//! Lists, maps and map projections made of expressions; all properties of a node or edge as a map.

use std::sync::Arc;

use model::value::MapValue;
use model::{Result, Value};

use super::evaluate::evaluate;
use super::frame::Frame;
use super::node::Node;
use crate::property;
use crate::vector::Vector;

/// `[a, b]` for each row.
pub(crate) fn list(items: &[Node], frame: &Frame<'_>) -> Result<Vector> {
    let vectors = items.iter().map(|item| evaluate(item, frame)).collect::<Result<Vec<_>>>()?;
    let one = |row: usize| Value::list(vectors.iter().map(|vector| vector.value(row)).collect());
    if vectors.iter().all(|vector| vector.constant().is_some()) {
        return Ok(Vector::Constant(one(0)));
    }
    Ok(rows_of(frame.rows(), one))
}

/// `{key: value}` for each row.
pub(crate) fn map(entries: &[(Arc<str>, Node)], frame: &Frame<'_>) -> Result<Vector> {
    let vectors = entry_vectors(entries, frame)?;
    if vectors.iter().all(|(_, vector)| vector.constant().is_some()) {
        return Ok(Vector::Constant(map_of_row(&vectors, 0, MapValue::new())));
    }
    Ok(rows_of(frame.rows(), |row| map_of_row(&vectors, row, MapValue::new())))
}

/// `object{.key, name: value}` for each row; null where the object is.
pub(crate) fn only(object: &Vector, entries: &[(Arc<str>, Node)], frame: &Frame<'_>) -> Result<Vector> {
    let vectors = entry_vectors(entries, frame)?;
    Ok(rows_of(frame.rows(), |row| {
        if object.is_null(row) { Value::Null } else { map_of_row(&vectors, row, MapValue::new()) }
    }))
}

/// `object{.*, name: value}` for each row; null where the object is.
pub(crate) fn all_and(object: &Vector, entries: &[(Arc<str>, Node)], frame: &Frame<'_>) -> Result<Vector> {
    property::check_alive(object, frame.rows(), frame.context())?;
    let properties = property::all(object, frame.rows(), frame.context().view)?;
    let vectors = entry_vectors(entries, frame)?;
    let merged = properties.into_iter().enumerate().map(|(row, properties)| match properties {
        Value::Map(map) => map_of_row(&vectors, row, map.into_members()),
        other => other,
    });
    Ok(Vector::from_values(&merged.collect::<Vec<_>>()))
}

fn entry_vectors<'n>(entries: &'n [(Arc<str>, Node)], frame: &Frame<'_>) -> Result<Vec<(&'n Arc<str>, Vector)>> {
    entries.iter().map(|(key, node)| Ok((key, evaluate(node, frame)?))).collect()
}

fn map_of_row(vectors: &[(&Arc<str>, Vector)], row: usize, mut map: MapValue) -> Value {
    map.extend(vectors.iter().map(|(key, vector)| ((*key).clone(), vector.value(row))));
    Value::Map(map.into())
}

fn rows_of(rows: usize, one: impl Fn(usize) -> Value) -> Vector {
    Vector::from_values(&(0..rows).map(one).collect::<Vec<_>>())
}
