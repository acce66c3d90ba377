//! Subscripts, slices and label tests.

use std::sync::Arc;

use model::interrupt::collected;
use model::{Bitmap, ColumnData, ErrorDetail, Map, NodeId, ReadView, Result, Value, error};

use super::evaluate::truths;
use crate::context::EvaluationContext;
use crate::property;
use crate::repeats::Repeats;
use crate::size::own_bytes;
use crate::vector::{Operand, Vector, View, map, validity_of};

/// `object[index]` for each row.
pub(crate) fn subscript(object: &Vector, index: &Vector, rows: usize, view: &dyn ReadView) -> Result<Vector> {
    match (object.constant(), index.constant()) {
        (_, Some(Value::String(key))) if !has_lists(object, rows) => property::read_one(object, key, rows, view),
        (Some(Value::List(items)), Some(index)) => Ok(Vector::Constant(element(items, index)?)),
        _ => by_rows(object, index, rows, view),
    }
}

fn has_lists(vector: &Vector, rows: usize) -> bool {
    matches!(vector.view(), View::Value) && (0..rows).any(|row| matches!(vector.value(row), Value::List(_)))
}

/// Lists give their element at once; keys of anything else are collected and read together, key by key.
fn by_rows(object: &Vector, index: &Vector, rows: usize, view: &dyn ReadView) -> Result<Vector> {
    let mut results = vec![Value::Null; rows];
    let mut keyed: Map<Arc<str>, Vec<u32>> = Map::default();
    for (row, result) in results.iter_mut().enumerate() {
        match (object.value(row), index.value(row)) {
            (Value::Null, _) | (_, Value::Null) => {}
            (Value::List(items), index) => *result = element(&items, &index)?,
            (_, Value::String(key)) => keyed.entry(key).or_default().push(row as u32),
            (object, index) => {
                let error = error!(
                    Type,
                    "cannot take element {} of {}: expected a list with an integer, or a map, node or relationship \
                     with a string",
                    index.type_name(),
                    object.type_name()
                );
                let is_map = matches!(object, Value::Map(_));
                return Err(if is_map { error.with_detail(ErrorDetail::MapElementAccessByNonString) } else { error });
            }
        }
    }
    for (key, asked) in keyed {
        let found = property::read_one(&object.gather(&asked), &key, asked.len(), view)?;
        asked.iter().enumerate().for_each(|(index, &row)| results[row as usize] = found.value(index));
    }
    Ok(Vector::from_values(&results))
}

/// An element of a list; null outside it. Negative indices count from the end.
fn element(items: &[Value], index: &Value) -> Result<Value> {
    match index {
        Value::Null => Ok(Value::Null),
        Value::Int(index) => {
            let at = if *index < 0 { index + items.len() as i64 } else { *index };
            Ok(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned().unwrap_or_default())
        }
        other => Err(error!(Type, "a list is subscripted by {}: expected INTEGER", other.type_name())),
    }
}

/// `list[from..to]` for each row; null if a bound is.
pub(crate) fn slice(
    list: &Vector,
    from: Option<&Vector>,
    to: Option<&Vector>,
    rows: usize,
    context: &EvaluationContext<'_>,
) -> Result<Vector> {
    let one = |row: usize| {
        let bound = |vector: Option<&Vector>| vector.map(|vector| vector.value(row));
        let value = slice_value(&list.value(row), bound(from), bound(to))?;
        context.made("a slice of a list", own_bytes(&value))?;
        Ok(value)
    };
    let is_constant = |vector: Option<&Vector>| vector.is_none_or(|vector| vector.constant().is_some());
    if list.constant().is_some() && is_constant(from) && is_constant(to) {
        return Ok(Vector::Constant(one(0)?));
    }
    let values: Vec<Value> = (0..rows).map(one).collect::<Result<_>>()?;
    Ok(Vector::from_values(&values))
}

fn slice_value(list: &Value, from: Option<Value>, to: Option<Value>) -> Result<Value> {
    let items = match list {
        Value::Null => return Ok(Value::Null),
        Value::List(items) => items,
        other => return Err(error!(Type, "cannot slice {}: expected a list", other.type_name())),
    };
    let start = bound(from, 0, items.len())?;
    let end = bound(to, items.len(), items.len())?;
    Ok(match start.zip(end) {
        None => Value::Null,
        Some((start, end)) => Value::list(collected(items.get(start..end).unwrap_or_default().iter().cloned())?),
    })
}

/// A bound as an offset into the list; `None` if it is null.
fn bound(given: Option<Value>, absent: usize, length: usize) -> Result<Option<usize>> {
    match given {
        None => Ok(Some(absent)),
        Some(Value::Null) => Ok(None),
        Some(Value::Int(at)) => {
            let from_start = if at < 0 { at.saturating_add(length as i64) } else { at };
            Ok(Some(from_start.clamp(0, length as i64) as usize))
        }
        Some(other) => Err(error!(Type, "a list is sliced at {}: expected INTEGER", other.type_name())),
    }
}

/// `object:Label:Other` for each row; null of null.
pub(crate) fn has_labels(object: &Vector, labels: &[Arc<str>], rows: usize, view: &dyn ReadView) -> Result<Vector> {
    match object.view() {
        View::Null => Ok(Vector::NULL),
        View::Node(Operand::One(node)) => {
            Ok(Vector::Constant(Value::Bool(nodes_have(&[node], labels, view)?.first().copied().unwrap_or(false))))
        }
        View::Node(Operand::Many(nodes)) => {
            let have = match Repeats::of(nodes) {
                None => nodes_have(nodes, labels, view)?,
                Some(Repeats { nodes, places }) => {
                    let have = nodes_have(&nodes, labels, view)?;
                    places.into_iter().map(|place| have[place as usize]).collect()
                }
            };
            Ok(Vector::of(ColumnData::Bool(have), validity_of(object)))
        }
        View::Edge(edges) => {
            let types: Vec<_> = labels.iter().map(|name| view.schema().edge_type(name)).collect();
            let is_of_type = map(rows, edges, |edge| types.iter().all(|wanted| *wanted == Some(edge.edge_type)));
            Ok(Vector::of(ColumnData::Bool(is_of_type), validity_of(object)))
        }
        _ => truths(rows, |row| match object.value(row) {
            Value::Null => Ok(None),
            Value::Node(node) => Ok(nodes_have(&[node], labels, view)?.first().copied()),
            Value::Edge(edge) => {
                Ok(Some(labels.iter().all(|name| view.schema().edge_type(name) == Some(edge.edge_type))))
            }
            other => Err(error!(Type, "{} has no labels: expected a node or relationship", other.type_name())),
        }),
    }
}

/// For each node, whether it carries all labels.
fn nodes_have(nodes: &[NodeId], labels: &[Arc<str>], view: &dyn ReadView) -> Result<Vec<bool>> {
    let mut all: Option<Bitmap> = None;
    for name in labels {
        let Some(label) = view.schema().label(name) else { return Ok(vec![false; nodes.len()]) };
        let have = view.has_label(nodes, label)?;
        all = Some(match all {
            None => have,
            Some(before) => {
                let words = before.words().iter().zip(have.words()).map(|(a, b)| a & b).collect();
                Bitmap::from_words(words, have.len())
            }
        });
    }
    Ok(match all {
        Some(bits) => (0..nodes.len()).map(|row| bits.get(row)).collect(),
        None => vec![true; nodes.len()],
    })
}
