//! Objects of Python as values: what is passed as a parameter.

use std::sync::Arc;

use database::{Error, Parameters, Value};
use model::error;
use model::temporal;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDelta, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple, PyType,
};

use super::moments;
use crate::arrow::import;
use crate::duration::{Duration, of_timedelta};
use crate::entity;
use crate::error::raised;
use crate::point::{self, Point};
use crate::signals;

/// Deepest nesting of lists and maps.
const DEPTH_MAX: usize = 128;

/// Parameters of a dictionary and of keyword arguments; the latter win.
pub(crate) fn parameters(given: Option<&Bound<'_, PyAny>>, named: Option<&Bound<'_, PyDict>>) -> PyResult<Parameters> {
    let mut parameters = Parameters::default();
    match given {
        None => {}
        Some(given) if given.is_none() => {}
        Some(given) => match given.cast::<PyDict>() {
            Ok(dict) => insert(dict, &mut parameters)?,
            Err(_) => {
                let mapping = given.cast::<PyMapping>().map_err(|_| {
                    let found = type_name(given);
                    raised(error!(Type, "parameters are a mapping of names to values, found {found}"))
                })?;
                let dict = PyDict::new(given.py());
                dict.update(mapping)?;
                insert(&dict, &mut parameters)?;
            }
        },
    }
    if let Some(named) = named {
        insert(named, &mut parameters)?;
    }
    Ok(parameters)
}

fn insert(dict: &Bound<'_, PyDict>, parameters: &mut Parameters) -> PyResult<()> {
    for (name, object) in dict.iter() {
        let name = name
            .cast::<PyString>()
            .map_err(|_| raised(error!(Type, "the name of a parameter is a text, found {}", type_name(&name))))?;
        let name = name.to_cow()?;
        let name = name.strip_prefix('$').unwrap_or(&name);
        let value = value(&object, 0).map_err(|fault| fault.of(|| format!("parameter ${name}")))?;
        parameters.insert(Arc::from(name), value);
    }
    Ok(())
}

/// Why an object is no value.
pub(crate) enum Fault {
    /// Cypher has no such value.
    Value(Error),
    /// Python raised it on the way.
    Raised(PyErr),
}

impl Fault {
    /// The exception, with the place of the object.
    pub(crate) fn of(self, place: impl Fn() -> String) -> PyErr {
        match self {
            Fault::Value(error) => raised(error.within(&place())),
            Fault::Raised(exception) => exception,
        }
    }
}

impl From<PyErr> for Fault {
    fn from(exception: PyErr) -> Fault {
        Fault::Raised(exception)
    }
}

impl From<pyo3::CastError<'_, '_>> for Fault {
    fn from(failed: pyo3::CastError<'_, '_>) -> Fault {
        Fault::Raised(failed.into())
    }
}

/// The name of an object's type. Copies the string: printing it would call `str()`, which runs handlers of signals, and
/// an exception that a handler raises there is lost.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name().and_then(|name| Ok(name.to_cow()?.into_owned()));
    name.unwrap_or_else(|_| "an object".to_owned())
}

/// An object as a value. Listens to signals, since lists may be long.
pub(crate) fn value(object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Fault> {
    signals::converted(object.py())?;
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::string(&text.to_cow()?));
    }
    // Before integers, of which Python's booleans are a kind.
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if let Ok(integer) = object.cast::<PyInt>() {
        return integer.extract::<i64>().map(Value::Int).map_err(|_| {
            let found = object.str().map_or_else(|_| "one".to_owned(), |text| text.to_string());
            Fault::Value(error!(Argument, "the integer {found} does not fit into 64 bits"))
        });
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(Value::Float(float.value()));
    }
    if depth >= DEPTH_MAX {
        return Err(Fault::Value(error!(Argument, "lists and maps are nested more than {DEPTH_MAX} deep")));
    }
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().map(|item| value(&item, depth + 1)).collect::<Result<_, _>>().map(Value::list);
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        return map(dict, depth);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        // Points of the driver of Neo4j are tuples with the number of their system.
        if !tuple.is_exact_instance_of::<PyTuple>()
            && let Some(srid) = tuple.getattr_opt(intern!(object.py(), "srid"))?
            && let (Ok(srid), Ok(coordinates)) = (srid.extract(), tuple.extract::<Vec<f64>>())
        {
            return point::of_coordinates(srid, &coordinates).map_err(Fault::Value);
        }
        return tuple.iter().map(|item| value(&item, depth + 1)).collect::<Result<_, _>>().map(Value::list);
    }
    rarer(object, depth)
}

fn map(dict: &Bound<'_, PyDict>, depth: usize) -> Result<Value, Fault> {
    let mut entries = Vec::with_capacity(dict.len());
    for (key, item) in dict.iter() {
        let Ok(key) = key.cast::<PyString>() else {
            return Err(Fault::Value(error!(Type, "the keys of a map are texts, found {}", type_name(&key))));
        };
        entries.push((Arc::from(key.to_cow()?), value(&item, depth + 1)?));
    }
    Ok(Value::map(entries))
}

/// Objects of classes that are not Python's most common ones.
fn rarer(object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Fault> {
    let py = object.py();
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Value::Bytes(Arc::from(bytes.as_bytes())));
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(Value::Bytes(Arc::from(bytes.to_vec())));
    }
    if object.cast::<PyType>().is_ok() {
        let name = object.repr()?;
        return Err(Fault::Value(
            error!(Type, "Cypher has no value for {name}").with_remedy("pass an object of the class"),
        ));
    }
    if let Some(found) = of_own_class(object)? {
        return found.map_err(Fault::Value);
    }
    match type_name(object).as_str() {
        // Missing values of pandas.
        "NAType" | "NaTType" => return Ok(Value::Null),
        "Timedelta" => return nanos(&object.getattr("value")?),
        "UUID" => return Ok(Value::Uuid(object.extract()?)),
        // A query of polars that has not run; importing it runs it.
        "LazyFrame" => return import::list(object).map_err(Fault::Raised),
        // Memory of bytes; of other numbers it is a list.
        "memoryview" if object.getattr("itemsize")?.eq(1)? && !object.getattr("format")?.eq("b")? => {
            let bytes = object.call_method0("tobytes")?;
            return value(&bytes, depth);
        }
        _ => {}
    }
    if let Ok(delta) = object.cast::<PyDelta>() {
        return Ok(Value::Duration(of_timedelta(delta)));
    }
    if object.hasattr(intern!(py, "__arrow_c_stream__"))? || object.hasattr(intern!(py, "__arrow_c_array__"))? {
        return import::list(object).map_err(Fault::Raised);
    }
    if object.hasattr(intern!(py, "dtype"))? {
        return numpy(object, depth);
    }
    if object.hasattr(intern!(py, "to_dict"))? && object.hasattr(intern!(py, "columns"))? {
        let rows = object.call_method1("to_dict", ("records",))?;
        return value(&rows, depth);
    }
    if let Ok(mapping) = object.cast::<PyMapping>() {
        let dict = PyDict::new(py);
        dict.update(mapping)?;
        return map(&dict, depth);
    }
    if let Some(number) = as_number(object)? {
        return Ok(number);
    }
    if let Ok(items) = object.try_iter() {
        return items.map(|item| value(&item?, depth + 1)).collect::<Result<_, _>>().map(Value::list);
    }
    let found = type_name(object);
    Err(Fault::Value(
        error!(Type, "Cypher has no value for a Python object of the class {found}")
            .with_remedy("pass None, bool, int, float, str, bytes, a date or time, a list, or a dict"),
    ))
}

/// Objects of the classes of this package, and moments of Python.
fn of_own_class(object: &Bound<'_, PyAny>) -> Result<Option<Result<Value, Error>>, Fault> {
    if let Ok(duration) = object.cast::<Duration>() {
        return Ok(Some(Ok(Value::from(duration.get()))));
    }
    if let Ok(point) = object.cast::<Point>() {
        return Ok(Some(Ok(Value::Point(point.get().0))));
    }
    Ok(match entity::value_of(object) {
        Some(found) => Some(found),
        None => moments::value_of(object)?,
    })
}

/// Arrays and scalars of NumPy.
fn numpy(object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Fault> {
    let dtype = object.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let is_scalar = object.getattr_opt("shape")?.is_none_or(|shape| shape.len().is_ok_and(|axes| axes == 0));
    let names = dtype.getattr_opt("names")?.filter(|names| !names.is_none());
    match (kind.as_str(), is_scalar) {
        ("M", true) => moment(object, &unit_of(&dtype)?.0),
        ("m", true) => span(object, &unit_of(&dtype)?),
        // Those that Python has no float for: only what a float has exactly.
        ("f", true) if dtype.getattr("itemsize")?.gt(8)? => {
            let number: f64 = object.call_method0("__float__")?.extract()?;
            let is_exact = number.is_nan() || object.eq(number)?;
            let refused = || Fault::Value(error!(Argument, "the number {object} does not fit into 64 bits"));
            is_exact.then_some(Value::Float(number)).ok_or_else(refused)
        }
        // Rows with names.
        ("V", true) if names.is_some() => {
            let mut entries = Vec::new();
            for name in names.iter().flat_map(|names| names.try_iter()).flatten() {
                let name = name?;
                let key = name.extract::<String>()?;
                entries.push((Arc::from(key), value(&object.get_item(name)?, depth + 1)?));
            }
            Ok(Value::map(entries))
        }
        ("M" | "m" | "V" | "f", false) if kind != "f" || dtype.getattr("itemsize")?.gt(8)? => {
            let items = object.try_iter()?;
            items.map(|item| value(&item?, depth + 1)).collect::<Result<_, _>>().map(Value::list)
        }
        (_, true) => value(&object.call_method0("item")?, depth + 1),
        (_, false) => value(&object.call_method0("tolist")?, depth + 1),
    }
}

/// The unit of a type of moments or spans of NumPy, and how many of it one count is: `25s` of `<m8[25s]`.
fn unit_of(dtype: &Bound<'_, PyAny>) -> PyResult<(String, i64)> {
    let text: String = dtype.getattr("str")?.extract()?;
    let unit = text.split_once('[').map_or("", |(_, unit)| unit.trim_end_matches(']'));
    let digits = unit.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(unit.len());
    Ok((unit[digits..].to_owned(), unit[..digits].parse().unwrap_or(1)))
}

/// A moment of NumPy: read as a string of ISO 8601, which loses nothing. Units of days or more are dates.
fn moment(object: &Bound<'_, PyAny>, unit: &str) -> Result<Value, Fault> {
    let is_date = matches!(unit, "Y" | "M" | "W" | "D");
    let object = if is_date { object.call_method1("astype", ("datetime64[D]",))? } else { object.clone() };
    let text: String = object.str()?.extract()?;
    if text == "NaT" {
        return Ok(Value::Null);
    }
    let found = if is_date {
        temporal::Date::parse(&text).map(Value::Date)
    } else {
        temporal::LocalDateTime::parse(&text).map(Value::LocalDateTime)
    };
    found.ok_or_else(|| Fault::Value(error!(Argument, "the date {text} is out of range")))
}

/// A span of NumPy: years and months are months, weeks and days are days, and what is shorter counts nanoseconds.
fn span(object: &Bound<'_, PyAny>, (unit, step): &(String, i64)) -> Result<Value, Fault> {
    if object.str()? == "NaT" {
        return Ok(Value::Null);
    }
    let count: i64 = object.call_method1("astype", ("int64",))?.call_method0("item")?.extract()?;
    let count = i128::from(count) * i128::from(*step);
    let mut parts = temporal::DurationParts::default();
    match unit.as_str() {
        "Y" => parts.add_months(count * 12, 0),
        "M" => parts.add_months(count, 0),
        "W" => parts.add_days(count * 7, 0),
        "D" => parts.add_days(count, 0),
        "h" | "m" | "s" | "ms" | "us" | "ns" => {
            let nanos = match unit.as_str() {
                "h" => 3_600_000_000_000,
                "m" => 60_000_000_000,
                "s" => 1_000_000_000,
                "ms" => 1_000_000,
                "us" => 1_000,
                _ => 1,
            };
            let day = i128::from(temporal::NANOS_OF_DAY);
            parts.add_days((count * nanos).div_euclid(day), 0);
            parts.add_nanos((count * nanos).rem_euclid(day));
        }
        _ => {
            let found = if unit.is_empty() { "no unit" } else { unit };
            return Err(Fault::Value(error!(Argument, "a timedelta64 counts nanoseconds or more, found {found}")));
        }
    }
    let found = parts.finish().map(Value::Duration);
    found.ok_or_else(|| Fault::Value(error!(Argument, "the duration is beyond 64 bits")))
}

fn nanos(count: &Bound<'_, PyAny>) -> Result<Value, Fault> {
    let count: i64 = count.call_method0("__int__")?.extract()?;
    let day = temporal::NANOS_OF_DAY;
    let (days, rest) = (count.div_euclid(day), count.rem_euclid(day));
    let duration = temporal::Duration {
        months: 0,
        days,
        seconds: rest / temporal::NANOS_OF_SECOND,
        nanosecond: (rest % temporal::NANOS_OF_SECOND) as u32,
    };
    Ok(Value::Duration(duration))
}

/// Converts an object that says of itself that it is a whole number. Decimals and fractions do not: they would be
/// rounded in silence.
fn as_number(object: &Bound<'_, PyAny>) -> Result<Option<Value>, Fault> {
    match object.getattr_opt("__index__")? {
        Some(index) => Ok(Some(value(&index.call0()?, DEPTH_MAX - 1)?)),
        None => Ok(None),
    }
}
