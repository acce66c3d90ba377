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
use arrow_array::{Array, ArrayRef, MapArray, make_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use database::{Error, Value};
use model::fixed::Uuid;
use model::temporal::{self, Date, DateTime, LocalDateTime, LocalTime, NANOS_OF_SECOND, Zone};
use model::{Bitmap, Column, ColumnData, Set, StringColumn, error};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use super::stream::STREAM;
use crate::error::raised;
use crate::signals;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// A table, or one column, in chunks.
pub(crate) struct Table {
    /// Type of the columns; of a single column, that of its items.
    pub(crate) field: Field,
    pub(crate) chunks: Vec<ArrayRef>,
}

/// Takes over what an object gives through `__arrow_c_stream__` or `__arrow_c_array__`.
pub(crate) fn table(object: &Bound<'_, PyAny>) -> PyResult<Table> {
    let py = object.py();
    let is_of_polars =
        object.get_type().module().is_ok_and(|module| module.to_cow().is_ok_and(|module| module.starts_with("polars")));
    let suited = if is_of_polars {
        // Some types of polars are written as something else than they are.
        Some(py.import("knotwork._frames")?.getattr("of_polars")?.call1((object,))?)
    } else {
        None
    };
    let object = suited.as_ref().unwrap_or(object);
    refuse_cut_names(object)?;
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(STREAM))?;
        // SAFETY: a capsule of that name holds a stream of Arrow's C interface; reading takes it over and leaves an empty one.
        let reader = unsafe { ArrayStreamReader::from_raw(pointer.as_ptr().cast()) }.map_err(unreadable)?;
        let field = reader.field().as_ref().clone();
        // The maker of the stream may need Python's lock; makers that do take it themselves.
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

/// Arrow's C interface ends a name at its first NUL character: the rest would be lost.
fn refuse_cut_names(object: &Bound<'_, PyAny>) -> PyResult<()> {
    for attribute in ["column_names", "columns"] {
        let Some(names) = object.getattr_opt(attribute)? else { continue };
        let Ok(names) = names.try_iter() else { return Ok(()) };
        for name in names {
            let Ok(name) = name?.extract::<String>() else { continue };
            if name.contains('\0') {
                return Err(raised(
                    error!(Argument, "the name of the column {name:?} holds the character of number 0")
                        .with_remedy("rename the column"),
                ));
            }
        }
        return Ok(());
    }
    Ok(())
}

fn unreadable(cause: arrow_schema::ArrowError) -> PyErr {
    raised(error!(Argument, "the Arrow data cannot be read: {cause}"))
}

impl Table {
    /// The columns of a table, each in the chunks of the table. An index that pandas adds is left out.
    pub(crate) fn columns(&self) -> Result<Vec<(FieldRef, Vec<ArrayRef>)>, Error> {
        let DataType::Struct(fields) = self.field.data_type() else {
            return Err(error!(Type, "expected a table, found a column of type {}", self.field.data_type()));
        };
        let column = |(index, field): (usize, &FieldRef)| {
            let chunks = self.chunks.iter().map(|chunk| chunk.as_struct().column(index).clone()).collect();
            (field.clone(), chunks)
        };
        let is_index = |field: &FieldRef| field.name().starts_with("__index_level_") && field.name().ends_with("__");
        let columns: Vec<_> =
            fields.iter().enumerate().map(column).filter(|(field, _): &(FieldRef, _)| !is_index(field)).collect();
        require_different(columns.iter().map(|(field, _)| field.name()))?;
        Ok(columns)
    }
}

/// Columns, and the parts of a structure, are known by their names.
fn require_different<'n>(names: impl Iterator<Item = &'n String>) -> Result<(), Error> {
    let mut known = Set::default();
    match names.into_iter().find(|name| !known.insert(*name)) {
        Some(name) => {
            Err(error!(Argument, "two columns have the name {name:?}").with_remedy("rename one, or leave it out"))
        }
        None => Ok(()),
    }
}

/// Rows of a table as maps, or the items of a column, as one list. Listens to signals.
pub(crate) fn list(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let table = table(object)?;
    object.py().detach(|| items(&table)).map(Value::list)
}

fn items(table: &Table) -> PyResult<Vec<Value>> {
    let mut items = Vec::new();
    if !matches!(table.field.data_type(), DataType::Struct(_)) {
        for chunk in &table.chunks {
            let column = column(&table.field, chunk).map_err(raised)?;
            append(&mut items, column.len(), |row| column.value(row))?;
        }
        return Ok(items);
    }
    let columns = table.columns().map_err(raised)?;
    let names: Vec<Arc<str>> = columns.iter().map(|(field, _)| Arc::from(field.name().as_str())).collect();
    for (index, chunk) in table.chunks.iter().enumerate() {
        let columns = columns.iter().map(|(field, chunks)| column(field, &chunks[index]));
        let columns = columns.collect::<Result<Vec<_>, Error>>().map_err(raised)?;
        let row = |row| Value::map(names.iter().cloned().zip(columns.iter().map(|column| column.value(row))));
        append(&mut items, chunk.len(), row)?;
    }
    Ok(items)
}

/// Appends the values of a number of rows, and listens to signals on the way.
fn append(items: &mut Vec<Value>, rows: usize, value: impl Fn(usize) -> Value) -> PyResult<()> {
    for start in (0..rows).step_by(signals::STEP) {
        items.extend((start..rows.min(start + signals::STEP)).map(&value));
        signals::listen_detached()?;
    }
    Ok(())
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, Error> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options)
        .map_err(|cause| error!(Type, "values of Arrow type {} cannot be taken: {cause}", array.data_type()))
}

/// An array as a column, by what its field says of it: an extension type gives another meaning to the values of a plain one.
pub(crate) fn column(field: &Field, array: &ArrayRef) -> Result<Column, Error> {
    let found = match field.extension_type_name() {
        None | Some("arrow.json") => plain(array),
        Some("arrow.bool8") => truths(array),
        Some("arrow.uuid") => uuids(array),
        Some(other) => Err(error!(Type, "Cypher has no value for the Arrow extension type {other}")
            .with_remedy("convert the column to numbers, texts, dates or moments first")),
    };
    found.map_err(
        |error| if field.name().is_empty() { error } else { error.within(&format!("column {}", field.name())) },
    )
}

/// Booleans of a byte each.
fn truths(array: &ArrayRef) -> Result<Column, Error> {
    let array = cast(array, &DataType::Int64)?;
    let truths = array.as_primitive::<Int64Type>().values().iter().map(|byte| *byte != 0).collect();
    Ok(with_nulls(ColumnData::Bool(truths), &array))
}

/// UUIDs of 16 bytes each.
fn uuids(array: &ArrayRef) -> Result<Column, Error> {
    let bytes = cast(array, &DataType::LargeBinary)?;
    let one = |bytes: &[u8]| {
        let found = Uuid::from_slice(bytes).map(Value::Uuid);
        found.map_err(|_| error!(Argument, "a UUID has 16 bytes, found {}", bytes.len()))
    };
    let value = |row: Option<&[u8]>| row.map_or(Ok(Value::Null), one);
    let values = bytes.as_binary::<i64>().iter().map(value).collect::<Result<Vec<_>, _>>()?;
    Ok(Column::from_values(&values))
}

/// An array whose values are what its type says.
fn plain(array: &ArrayRef) -> Result<Column, Error> {
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
        DataType::Dictionary(_, values) => return plain(&cast(array, values)?),
        DataType::RunEndEncoded(_, values) => return column(values, &cast(array, values.data_type())?),
        // Whole numbers that are written as decimals; those that do not fit into 64 bits are refused.
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale)
            if *scale <= 0 =>
        {
            let array = cast(array, &DataType::Int64)?;
            ColumnData::Int(array.as_primitive::<Int64Type>().values().to_vec())
        }
        DataType::Date32 | DataType::Date64 => {
            let array = cast(array, &DataType::Date32)?;
            ColumnData::Date(array.as_primitive::<Date32Type>().values().iter().map(|x| Date(i64::from(*x))).collect())
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let array = cast(array, &DataType::Time64(TimeUnit::Nanosecond))?;
            let nanos = array.as_primitive::<Time64NanosecondType>().values();
            let is_beyond = |row: &usize| !array.is_null(*row) && !(0..temporal::NANOS_OF_DAY).contains(&nanos[*row]);
            if let Some(row) = (0..nanos.len()).find(is_beyond) {
                let found = nanos[row];
                return Err(error!(Argument, "a time of day lies between 00:00 and 24:00, found {found} nanoseconds")
                    .with_remedy("cast the column to durations first"));
            }
            ColumnData::LocalTime(nanos.iter().map(|nanos| LocalTime(*nanos)).collect())
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
        DataType::LargeList(item) => {
            let lists = array.as_list::<i64>();
            let items = column(&item.as_ref().clone().with_name(""), lists.values())?;
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
            require_different(fields.iter().map(|field| field.name()))?;
            let columns = fields.iter().zip(rows.columns()).map(|(field, array)| column(field, array));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let names: Vec<Arc<str>> = fields.iter().map(|field| Arc::from(field.name().as_str())).collect();
            let map = |row: usize| {
                if rows.is_null(row) {
                    return Value::Null;
                }
                Value::map(names.iter().cloned().zip(columns.iter().map(|column| column.value(row))))
            };
            (0..rows.len()).map(map).collect()
        }
        DataType::Map(..) => maps(array.as_map())?,
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

/// Maps of strings to values.
fn maps(maps: &MapArray) -> Result<Vec<Value>, Error> {
    let (keys, values) = (plain(maps.keys())?, plain(maps.values())?);
    let offsets = maps.value_offsets();
    let entry = |at: usize| match keys.value(at) {
        Value::String(key) => Ok((key, values.value(at))),
        other => Err(error!(Type, "the keys of a map are texts, found {}", other.type_name())),
    };
    let map = |row: usize| {
        if maps.is_null(row) {
            return Ok(Value::Null);
        }
        let entries = (offsets[row] as usize..offsets[row + 1] as usize).map(entry).collect::<Result<Vec<_>, _>>()?;
        let mut known = Set::default();
        match entries.iter().find(|(key, _)| !known.insert(key.clone())) {
            Some((key, _)) => Err(error!(Argument, "a map has the key {key:?} twice")),
            None => Ok(Value::map(entries)),
        }
    };
    (0..maps.len()).map(map).collect()
}
