//! Tables of Python as columns: what pandas, polars, pyarrow and others give through Arrow's capsules.
//!
//! The unsafe code takes streams and arrays over from the capsules that Python gives.
#![allow(unsafe_code, reason = "what a capsule points to is known by its name only")]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ArrayReader;
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::ArrayStreamReader;
use arrow_array::types::{
    Date32Type, DurationNanosecondType, Float64Type, Int64Type, IntervalMonthDayNanoType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use database::{Error, Value};
use model::temporal::{self, Date, DateTime, LocalDateTime, LocalTime, NANOS_OF_SECOND, Zone};
use model::{Bitmap, Column, ColumnData, StringColumn, error};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use super::stream::STREAM;
use crate::error::raised;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// A table, or one column, in chunks.
pub(crate) struct Table {
    /// What the columns are; of a single column, that of its items.
    pub(crate) field: Field,
    pub(crate) chunks: Vec<ArrayRef>,
}

/// Takes over what an object gives through `__arrow_c_stream__` or `__arrow_c_array__`.
pub(crate) fn table(object: &Bound<'_, PyAny>) -> PyResult<Table> {
    let py = object.py();
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(STREAM))?;
        // SAFETY: a capsule of that name holds a stream of Arrow's C interface; reading takes it over and leaves an empty one.
        let reader = unsafe { ArrayStreamReader::from_raw(pointer.as_ptr().cast()) }.map_err(unreadable)?;
        let field = reader.field().as_ref().clone();
        // Whoever makes the stream may need Python's lock; those that do take it themselves.
        let chunks = py.detach(|| reader.collect::<Result<Vec<_>, _>>()).map_err(unreadable)?;
        return Ok(Table { field, chunks });
    }
    let pair = object.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names hold a schema and an array of Arrow's C interface. The array is moved out, and what is
    // left is marked as released; the schema is only read while its capsule lives.
    let (data, field) = unsafe {
        let taken = FFI_ArrowArray::from_raw(array.as_ptr());
        let schema = schema.as_ref();
        (from_ffi(taken, schema).map_err(unreadable)?, Field::try_from(schema).map_err(unreadable)?)
    };
    Ok(Table { field, chunks: vec![make_array(data)] })
}

fn unreadable(cause: arrow_schema::ArrowError) -> PyErr {
    raised(error!(Argument, "the Arrow data cannot be read: {cause}"))
}

impl Table {
    /// The columns of a table with their names, each in the chunks of the table. An index that pandas adds is left out.
    pub(crate) fn columns(&self) -> Result<Vec<(String, Vec<ArrayRef>)>, Error> {
        let DataType::Struct(fields) = self.field.data_type() else {
            return Err(error!(Type, "expected a table, found a column of type {}", self.field.data_type()));
        };
        let column = |(index, field): (usize, &Arc<Field>)| {
            let chunks = self.chunks.iter().map(|chunk| chunk.as_struct().column(index).clone()).collect();
            (field.name().clone(), chunks)
        };
        let is_index = |name: &str| name.starts_with("__index_level_") && name.ends_with("__");
        Ok(fields.iter().enumerate().map(column).filter(|(name, _)| !is_index(name)).collect())
    }
}

/// Rows of a table as maps, or the items of a column, as one list.
pub(crate) fn list(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let table = table(object)?;
    let items = object.py().detach(|| {
        if !matches!(table.field.data_type(), DataType::Struct(_)) {
            let columns = table.chunks.iter().map(column).collect::<Result<Vec<_>, _>>()?;
            return Ok(columns.iter().flat_map(|column| column.values().collect::<Vec<_>>()).collect());
        }
        let names: Vec<(Arc<str>, Vec<ArrayRef>)> =
            table.columns()?.into_iter().map(|(name, chunks)| (Arc::from(name), chunks)).collect();
        let mut rows = Vec::new();
        for (index, chunk) in table.chunks.iter().enumerate() {
            let columns = names.iter().map(|(name, chunks)| Ok((name, column(&chunks[index])?)));
            let columns = columns.collect::<Result<Vec<_>, Error>>()?;
            let row = |row| Value::map(columns.iter().map(|(name, column)| ((*name).clone(), column.value(row))));
            rows.extend((0..chunk.len()).map(row));
        }
        Ok::<_, Error>(rows)
    });
    items.map(Value::list).map_err(raised)
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, Error> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options)
        .map_err(|cause| error!(Type, "values of Arrow type {} cannot be taken: {cause}", array.data_type()))
}

/// An array as a column.
pub(crate) fn column(array: &ArrayRef) -> Result<Column, Error> {
    let data = match array.data_type() {
        DataType::Null => return Ok(Column::nulls(array.len())),
        DataType::Boolean => ColumnData::Bool(array.as_boolean().values().iter().collect()),
        kind if kind.is_integer() => {
            let array = cast(array, &DataType::Int64)?;
            ColumnData::Int(array.as_primitive::<Int64Type>().values().to_vec())
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let array = cast(array, &DataType::Float64)?;
            ColumnData::Float(array.as_primitive::<Float64Type>().values().to_vec())
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnData::String(texts(array)?),
        DataType::Dictionary(_, values) => return column(&cast(array, values)?),
        DataType::Date32 | DataType::Date64 => {
            let array = cast(array, &DataType::Date32)?;
            ColumnData::Date(array.as_primitive::<Date32Type>().values().iter().map(|x| Date(i64::from(*x))).collect())
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let array = cast(array, &DataType::Time64(TimeUnit::Nanosecond))?;
            ColumnData::LocalTime(
                array.as_primitive::<Time64NanosecondType>().values().iter().map(|x| LocalTime(*x)).collect(),
            )
        }
        DataType::Timestamp(unit, zone) => moments(array, *unit, zone.as_deref())?,
        DataType::Duration(_) => {
            let array = cast(array, &DataType::Duration(TimeUnit::Nanosecond))?;
            let of = |nanos: &i64| {
                let (days, rest) = (nanos.div_euclid(temporal::NANOS_OF_DAY), nanos.rem_euclid(temporal::NANOS_OF_DAY));
                duration(0, days, rest)
            };
            ColumnData::Duration(array.as_primitive::<DurationNanosecondType>().values().iter().map(of).collect())
        }
        DataType::Interval(_) => {
            let array = cast(array, &DataType::Interval(IntervalUnit::MonthDayNano))?;
            let rows = array.as_primitive::<IntervalMonthDayNanoType>().values().iter();
            ColumnData::Duration(
                rows.map(|x| duration(i64::from(x.months), i64::from(x.days), x.nanoseconds)).collect(),
            )
        }
        _ => return nested(array),
    };
    Ok(with_nulls(data, array))
}

fn duration(months: i64, days: i64, nanos: i64) -> temporal::Duration {
    let (seconds, rest) = (nanos.div_euclid(NANOS_OF_SECOND), nanos.rem_euclid(NANOS_OF_SECOND));
    temporal::Duration { months, days, seconds, nanosecond: rest as u32 }
}

fn with_nulls(data: ColumnData, array: &ArrayRef) -> Column {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => Column::with_validity(data, nulls.iter().collect::<Bitmap>()),
        None => Column::new(data),
    }
}

fn texts(array: &ArrayRef) -> Result<StringColumn, Error> {
    let array = cast(array, &DataType::LargeUtf8)?;
    let array = array.as_string::<i64>();
    let offsets = array.value_offsets();
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let bytes = array.value_data()[first as usize..last as usize].to_vec();
    let unsound = || error!(Argument, "a column of texts is not sound");
    let text = String::from_utf8(bytes).map_err(|_| unsound())?;
    StringColumn::from_parts(offsets.iter().map(|at| (at - first) as u64).collect(), text).ok_or_else(unsound)
}

fn moments(array: &ArrayRef, unit: TimeUnit, zone: Option<&str>) -> Result<ColumnData, Error> {
    let (counts, nanos): (&[i64], i128) = match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().values(), 1_000_000_000),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().values(), 1_000_000),
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().values(), 1_000),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().values(), 1),
    };
    let zone = match zone {
        None => None,
        Some(name) => {
            Some(Zone::parse(name).ok_or_else(|| error!(Argument, "there is no time zone with the name {name}"))?)
        }
    };
    let of = |row: usize| {
        if array.is_null(row) {
            return Ok(LocalDateTime::default());
        }
        let moment = LocalDateTime::of_nanos(i128::from(counts[row]) * nanos);
        moment.ok_or_else(|| error!(Argument, "the moment {} {unit:?} after 1970 is out of range", counts[row]))
    };
    let moments = (0..counts.len()).map(of).collect::<Result<Vec<_>, _>>()?;
    Ok(match zone {
        None => ColumnData::LocalDateTime(moments),
        Some(zone) => {
            let zoned = |at: LocalDateTime| DateTime { seconds: at.seconds, nanosecond: at.nanosecond, zone };
            ColumnData::DateTime(moments.into_iter().map(zoned).collect())
        }
    })
}

/// Lists, maps and bytes: value by value.
fn nested(array: &ArrayRef) -> Result<Column, Error> {
    let values: Vec<Value> = match array.data_type() {
        DataType::List(_) | DataType::FixedSizeList(..) | DataType::ListView(_) | DataType::LargeListView(_) => {
            let (DataType::List(item)
            | DataType::FixedSizeList(item, _)
            | DataType::ListView(item)
            | DataType::LargeListView(item)) = array.data_type()
            else {
                return Err(error!(Internal, "a list without items"));
            };
            return nested(&cast(array, &DataType::LargeList(item.clone()))?);
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            let items = column(lists.values())?;
            let offsets = lists.value_offsets();
            let list = |row: usize| {
                if lists.is_null(row) {
                    return Value::Null;
                }
                Value::list((offsets[row] as usize..offsets[row + 1] as usize).map(|at| items.value(at)).collect())
            };
            (0..lists.len()).map(list).collect()
        }
        DataType::Struct(fields) => {
            let rows = array.as_struct();
            let columns = rows.columns().iter().map(column).collect::<Result<Vec<_>, _>>()?;
            let names: Vec<Arc<str>> = fields.iter().map(|field| Arc::from(field.name().as_str())).collect();
            let map = |row: usize| {
                if rows.is_null(row) {
                    return Value::Null;
                }
                Value::map(names.iter().cloned().zip(columns.iter().map(|column| column.value(row))))
            };
            (0..rows.len()).map(map).collect()
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            let bytes = cast(array, &DataType::LargeBinary)?;
            let rows = bytes.as_binary::<i64>().iter();
            rows.map(|row| row.map_or(Value::Null, |row| Value::Bytes(Arc::from(row)))).collect()
        }
        other => {
            return Err(error!(Type, "Cypher has no value for the Arrow type {other}")
                .with_remedy("cast the column to int64, float64 or string first"));
        }
    };
    Ok(Column::from_values(&values))
}
