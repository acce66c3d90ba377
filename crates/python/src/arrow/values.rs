//! Columns of values that have no layout of their own, built row by row: lists, structures, mixtures, moments with zones.

use std::sync::Arc;

use arrow_array::types::{
    DurationMicrosecondType, DurationNanosecondType, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Date32Array, Float64Array, Int64Array, LargeBinaryArray,
    LargeListArray, LargeStringArray, NullArray, PrimitiveArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Field;
use database::result::Entities;
use database::{Error, Value, rendering};
use model::error;
use model::temporal::{LocalDateTime, SECONDS_OF_DAY};

use super::kind::{EXACT_MAX, Kind, Precision, struct_fields};

/// A value in which nodes, edges and paths are written out as maps.
pub(crate) fn plain(value: Value, entities: &Entities) -> Value {
    let name = |text: &str| Arc::<str>::from(text);
    match value {
        Value::Node(id) => {
            let record = entities.nodes.get(&id).cloned().unwrap_or_default();
            let labels = record.labels.into_iter().map(Value::String).collect();
            Value::map([
                (name("id"), Value::Int(id.0 as i64)),
                (name("labels"), Value::list(labels)),
                (name("properties"), Value::map(record.properties)),
            ])
        }
        Value::Edge(edge) => {
            let record = entities.edges.get(&edge.id).cloned().unwrap_or_default();
            Value::map([
                (name("id"), Value::Int(edge.id.0 as i64)),
                (name("type"), Value::String(record.edge_type)),
                (name("source"), Value::Int(edge.source.0 as i64)),
                (name("target"), Value::Int(edge.target.0 as i64)),
                (name("properties"), Value::map(record.properties)),
            ])
        }
        Value::Path(path) => {
            let nodes = path.nodes.iter().map(|node| plain(Value::Node(*node), entities)).collect();
            let edges = path.edges.iter().map(|edge| plain(Value::Edge(*edge), entities)).collect();
            Value::map([(name("nodes"), Value::list(nodes)), (name("edges"), Value::list(edges))])
        }
        Value::List(items) => Value::list(items.iter().map(|item| plain(item.clone(), entities)).collect()),
        Value::Map(map) => Value::map(map.iter().map(|(key, value)| (key.clone(), plain(value.clone(), entities)))),
        other => other,
    }
}

/// The error of a value that a stream met after its types had been told.
fn unfit(kind: &Kind, value: &Value) -> Error {
    error!(Type, "a value of type {} came after rows of Arrow type {}", value.type_name(), kind.data_type())
        .with_remedy("use to_arrow(), which looks at all rows first, or convert the column in the query")
}

/// Values as an array of that kind; `values` are plain.
pub(crate) fn array(kind: &Kind, values: &[Value]) -> Result<ArrayRef, Error> {
    Ok(match kind {
        Kind::Null => match values.iter().find(|value| !value.is_null()) {
            Some(value) => return Err(unfit(kind, value)),
            None => Arc::new(NullArray::new(values.len())),
        },
        Kind::Bool => Arc::new(
            read(kind, values, |value| if let Value::Bool(x) = value { Some(*x) } else { None })?
                .into_iter()
                .collect::<BooleanArray>(),
        ),
        Kind::Int { .. } => {
            Arc::new(Int64Array::from(read(
                kind,
                values,
                |value| {
                    if let Value::Int(x) = value { Some(*x) } else { None }
                },
            )?))
        }
        Kind::Float => Arc::new(Float64Array::from(read(kind, values, float)?)),
        Kind::String => Arc::new(LargeStringArray::from(read(kind, values, text)?)),
        Kind::Mixed => Arc::new(values.iter().map(json).collect::<LargeStringArray>()),
        Kind::Bytes => Arc::new(
            read(kind, values, |value| if let Value::Bytes(x) = value { Some(x.clone()) } else { None })?
                .into_iter()
                .collect::<LargeBinaryArray>(),
        ),
        Kind::Date => Arc::new(Date32Array::from(read(kind, values, |value| {
            if let Value::Date(x) = value { i32::try_from(x.0).ok() } else { None }
        })?)),
        Kind::LocalTime(precision) => match precision {
            Precision::Micros => numbers::<Time64MicrosecondType>(kind, values, 1_000, time_nanos)?,
            Precision::Nanos => numbers::<Time64NanosecondType>(kind, values, 1, time_nanos)?,
        },
        Kind::LocalDateTime(precision) => moments(kind, *precision, None, values)?,
        Kind::DateTime(precision, zone) => moments(kind, *precision, Some(zone), values)?,
        Kind::Duration(precision) => match precision {
            Precision::Micros => numbers::<DurationMicrosecondType>(kind, values, 1_000, duration_nanos)?,
            Precision::Nanos => numbers::<DurationNanosecondType>(kind, values, 1, duration_nanos)?,
        },
        Kind::Interval => {
            let intervals = read(kind, values, interval)?;
            Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::from_iter(intervals))
        }
        Kind::List(items) => lists(kind, items, values)?,
        Kind::Struct(fields) => structs(kind, fields, values)?,
    })
}

/// Reads `part` of each value that is not null.
fn read<T>(kind: &Kind, values: &[Value], part: impl Fn(&Value) -> Option<T>) -> Result<Vec<Option<T>>, Error> {
    let one = |value: &Value| match value {
        Value::Null => Ok(None),
        value => part(value).map(Some).ok_or_else(|| unfit(kind, value)),
    };
    values.iter().map(one).collect()
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(x) => Some(*x),
        Value::Int(x) if (-EXACT_MAX..=EXACT_MAX).contains(x) => Some(*x as f64),
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    if let Value::String(x) = value {
        return Some(x.to_string());
    }
    // Kinds of which Arrow has no type; durations are texts where they have months.
    matches!(Kind::of_value(value), Kind::String | Kind::Duration(_) | Kind::Interval).then(|| value.to_string())
}

fn json(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| rendering::to_json(value, &Entities::default()).to_string())
}

fn time_nanos(value: &Value) -> Option<i128> {
    if let Value::LocalTime(x) = value { Some(i128::from(x.0)) } else { None }
}

fn moment_nanos(value: &Value) -> Option<i128> {
    let of = |moment: LocalDateTime| Some(moment.nanos());
    match value {
        Value::LocalDateTime(x) => of(*x),
        Value::DateTime(x) => of(x.utc()),
        _ => None,
    }
}

fn duration_nanos(value: &Value) -> Option<i128> {
    let Value::Duration(x) = value else { return None };
    let days = i128::from(x.days) * i128::from(SECONDS_OF_DAY) * 1_000_000_000;
    (x.months == 0).then_some(days + x.time_nanos())
}

fn interval(value: &Value) -> Option<IntervalMonthDayNano> {
    let Value::Duration(x) = value else { return None };
    let nanos = i64::try_from(x.time_nanos()).ok()?;
    Some(IntervalMonthDayNano::new(i32::try_from(x.months).ok()?, i32::try_from(x.days).ok()?, nanos))
}

fn counts(
    kind: &Kind,
    values: &[Value],
    unit: i128,
    nanos: fn(&Value) -> Option<i128>,
) -> Result<Vec<Option<i64>>, Error> {
    read(kind, values, |value| i64::try_from(nanos(value)?.div_euclid(unit)).ok())
}

fn numbers<T: ArrowPrimitiveType<Native = i64>>(
    kind: &Kind,
    values: &[Value],
    unit: i128,
    nanos: fn(&Value) -> Option<i128>,
) -> Result<ArrayRef, Error> {
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(counts(kind, values, unit, nanos)?)))
}

fn moments(kind: &Kind, precision: Precision, zone: Option<&Arc<str>>, values: &[Value]) -> Result<ArrayRef, Error> {
    let zone = zone.cloned();
    Ok(match precision {
        Precision::Micros => {
            let counts = counts(kind, values, 1_000, moment_nanos)?;
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from_iter(counts).with_timezone_opt(zone))
        }
        Precision::Nanos => {
            let counts = counts(kind, values, 1, moment_nanos)?;
            Arc::new(PrimitiveArray::<TimestampNanosecondType>::from_iter(counts).with_timezone_opt(zone))
        }
    })
}

fn presence(values: &[Value]) -> NullBuffer {
    values.iter().map(|value| !value.is_null()).collect()
}

fn lists(kind: &Kind, items: &Kind, values: &[Value]) -> Result<ArrayRef, Error> {
    let mut flat = Vec::new();
    let mut lengths = Vec::with_capacity(values.len());
    for value in values {
        let before = flat.len();
        match value {
            Value::Null => {}
            Value::List(list) => flat.extend(list.iter().cloned()),
            other => return Err(unfit(kind, other)),
        }
        lengths.push(flat.len() - before);
    }
    let field = Arc::new(Field::new("item", items.data_type(), true));
    let made = LargeListArray::try_new(
        field,
        OffsetBuffer::from_lengths(lengths),
        array(items, &flat)?,
        Some(presence(values)),
    );
    Ok(Arc::new(made.map_err(broken)?))
}

fn structs(kind: &Kind, fields: &[(Arc<str>, Kind)], values: &[Value]) -> Result<ArrayRef, Error> {
    if let Some(other) = values.iter().find(|value| !matches!(value, Value::Null | Value::Map(_))) {
        return Err(unfit(kind, other));
    }
    for value in values {
        let Value::Map(map) = value else { continue };
        if let Some((_, other)) = map.iter().find(|(key, _)| fields.iter().all(|(name, _)| name != *key)) {
            return Err(unfit(kind, other));
        }
    }
    if fields.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(values.len(), Some(presence(values)))));
    }
    let of = |name: &Arc<str>| {
        let one = |value: &Value| if let Value::Map(map) = value { map.get(name).cloned() } else { None };
        values.iter().map(|value| one(value).unwrap_or_default()).collect::<Vec<_>>()
    };
    let columns = fields.iter().map(|(name, kind)| array(kind, &of(name))).collect::<Result<Vec<_>, _>>()?;
    let made = StructArray::try_new(struct_fields(fields), columns, Some(presence(values)));
    Ok(Arc::new(made.map_err(broken)?))
}

/// A failure of the Arrow library where its rules were kept.
pub(crate) fn broken(cause: arrow_schema::ArrowError) -> Error {
    error!(Internal, "columns cannot be given as Arrow: {cause}")
}
