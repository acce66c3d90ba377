//! Values and cells of columns as objects of Python.

use std::ops::Range;

use database::Value;
use database::result::Entities;
use model::{Column, ColumnData};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use super::moments;
use crate::duration::Duration;
use crate::entity;
use crate::point::Point;

/// A value as an object; what nodes and edges are is looked up in `entities`.
pub(crate) fn value<'py>(py: Python<'py>, value: &Value, entities: &Entities) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(x) => PyBool::new(py, *x).to_owned().into_any(),
        Value::Int(x) => PyInt::new(py, *x).into_any(),
        Value::Float(x) => PyFloat::new(py, *x).into_any(),
        Value::String(x) => PyString::new(py, x).into_any(),
        Value::Bytes(x) => PyBytes::new(py, x).into_any(),
        Value::List(items) => list(py, items, entities)?.into_any(),
        Value::Map(map) => {
            let dict = PyDict::new(py);
            for (key, item) in map.iter() {
                dict.set_item(&**key, self::value(py, item, entities)?)?;
            }
            dict.into_any()
        }
        Value::Date(x) => moments::date(py, *x)?,
        Value::LocalDateTime(x) => moments::local_date_time(py, *x)?,
        Value::LocalTime(x) => moments::local_time(py, *x)?,
        Value::Time(x) => moments::time(py, *x)?,
        Value::DateTime(x) => moments::date_time(py, *x)?,
        Value::Duration(x) => Bound::new(py, Duration(*x))?.into_any(),
        Value::Uuid(x) => x.into_pyobject(py)?,
        Value::Point(x) => Bound::new(py, Point(*x))?.into_any(),
        Value::Node(x) => entity::node(py, *x, entities)?,
        Value::Edge(x) => entity::edge(py, *x, entities)?,
        Value::Path(x) => entity::path(py, x, entities)?,
    })
}

fn list<'py>(py: Python<'py>, items: &[Value], entities: &Entities) -> PyResult<Bound<'py, PyList>> {
    let objects = items.iter().map(|item| value(py, item, entities)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, objects)
}

/// One cell of a column as an object.
pub(crate) fn cell<'py>(
    py: Python<'py>,
    column: &Column,
    row: usize,
    entities: &Entities,
) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match &column.data {
        ColumnData::Null(_) => py.None().into_bound(py),
        ColumnData::Bool(rows) => PyBool::new(py, rows[row]).to_owned().into_any(),
        ColumnData::Int(rows) => PyInt::new(py, rows[row]).into_any(),
        ColumnData::Float(rows) => PyFloat::new(py, rows[row]).into_any(),
        ColumnData::String(rows) => PyString::new(py, rows.get(row)).into_any(),
        ColumnData::Value(rows) => value(py, &rows[row], entities)?,
        _ => value(py, &column.value(row), entities)?,
    })
}

/// Cells of a column as objects: those of these rows.
pub(crate) fn cells(
    py: Python<'_>,
    column: &Column,
    rows: Range<usize>,
    entities: &Entities,
) -> PyResult<Vec<Py<PyAny>>> {
    let all = column.validity.is_none();
    Ok(match &column.data {
        ColumnData::Int(values) if all => {
            values[rows].iter().map(|&value| PyInt::new(py, value).into_any().unbind()).collect()
        }
        ColumnData::Float(values) if all => {
            values[rows].iter().map(|&value| PyFloat::new(py, value).into_any().unbind()).collect()
        }
        ColumnData::String(texts) if all => {
            rows.map(|row| PyString::new(py, texts.get(row)).into_any().unbind()).collect()
        }
        _ => return rows.map(|row| cell(py, column, row, entities).map(Bound::unbind)).collect(),
    })
}
