//! Types of DuckDB: their numbers, the values that their columns hold, and ours as parameters.
//!
//! Uses unsafe code: values are made by functions of the library.
#![allow(unsafe_code, reason = "values are made by functions of the library")]

use model::{Column, ColumnData, PropertyKind, Value};

use super::api::Parameter;
use super::library::{Functions, Handle, Interval};
use crate::catalog::{ColumnKind, TableColumn};
use crate::sql::catalog::ColumnFacts;
use crate::sql::dialect::duckdb::WHOLE;
use crate::sql::{ParameterValue, digits};

/// Numbers of types, `duckdb_type`.
pub(super) mod id {
    pub(in crate::duckdb) const BOOLEAN: u32 = 1;
    pub(in crate::duckdb) const TINYINT: u32 = 2;
    pub(in crate::duckdb) const SMALLINT: u32 = 3;
    pub(in crate::duckdb) const INTEGER: u32 = 4;
    pub(in crate::duckdb) const BIGINT: u32 = 5;
    pub(in crate::duckdb) const UTINYINT: u32 = 6;
    pub(in crate::duckdb) const USMALLINT: u32 = 7;
    pub(in crate::duckdb) const UINTEGER: u32 = 8;
    pub(in crate::duckdb) const UBIGINT: u32 = 9;
    pub(in crate::duckdb) const FLOAT: u32 = 10;
    pub(in crate::duckdb) const DOUBLE: u32 = 11;
    pub(in crate::duckdb) const TIMESTAMP: u32 = 12;
    pub(in crate::duckdb) const DATE: u32 = 13;
    pub(in crate::duckdb) const TIME: u32 = 14;
    pub(in crate::duckdb) const INTERVAL: u32 = 15;
    pub(in crate::duckdb) const HUGEINT: u32 = 16;
    pub(in crate::duckdb) const VARCHAR: u32 = 17;
    pub(in crate::duckdb) const BLOB: u32 = 18;
    pub(in crate::duckdb) const DECIMAL: u32 = 19;
    pub(in crate::duckdb) const TIMESTAMP_S: u32 = 20;
    pub(in crate::duckdb) const TIMESTAMP_MS: u32 = 21;
    pub(in crate::duckdb) const TIMESTAMP_NS: u32 = 22;
    pub(in crate::duckdb) const ENUM: u32 = 23;
    pub(in crate::duckdb) const LIST: u32 = 24;
    pub(in crate::duckdb) const UUID: u32 = 27;
    pub(in crate::duckdb) const TIME_TZ: u32 = 30;
    pub(in crate::duckdb) const TIMESTAMP_TZ: u32 = 31;
    pub(in crate::duckdb) const ARRAY: u32 = 33;
    pub(in crate::duckdb) const SQLNULL: u32 = 36;
    pub(in crate::duckdb) const TIME_NS: u32 = 39;
}

/// The kind of values of a declared type.
pub(super) fn kind_of(declared: &str) -> ColumnKind {
    use PropertyKind as P;
    if let Some(element) = declared.strip_suffix(']').and_then(|list| list.rsplit_once('[')) {
        return match kind_of(element.0) {
            ColumnKind::One(kind) if is_read(element.0) => ColumnKind::List(kind),
            _ => ColumnKind::Any,
        };
    }
    ColumnKind::One(match declared.split('(').next().unwrap_or(declared) {
        "BOOLEAN" => P::Boolean,
        "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "UTINYINT" | "USMALLINT" | "UINTEGER" | "UBIGINT"
        | "HUGEINT" => P::Integer,
        "FLOAT" | "DOUBLE" => P::Float,
        "DECIMAL" => match digits::declared(declared) {
            Some(found) if digits::are_integers(found) => P::Integer,
            _ => return ColumnKind::Decimal,
        },
        "VARCHAR" | "UUID" | "ENUM" => P::String,
        "DATE" => P::Date,
        "TIME" | "TIME_NS" => P::LocalTime,
        "TIME WITH TIME ZONE" => P::Time,
        "TIMESTAMP" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" => P::LocalDateTime,
        "TIMESTAMP WITH TIME ZONE" => P::DateTime,
        "INTERVAL" => P::Duration,
        "BLOB" => return ColumnKind::Bytes,
        "JSON" => return ColumnKind::Json,
        _ => return ColumnKind::Other,
    })
}

/// True if values of a type are read; others are asked for as strings.
fn is_read(declared: &str) -> bool {
    match declared.strip_suffix(']').and_then(|list| list.rsplit_once('[')) {
        Some((element, _)) => is_read(element),
        None => kind_of(declared) != ColumnKind::Other,
    }
}

/// The mark behind the type of a string that is not compared byte by byte.
pub(super) const COLLATED: &str = " COLLATE";

/// The facts of a column that statements need.
pub(super) fn facts(column: &TableColumn) -> ColumnFacts {
    let (declared, has_collation) =
        column.declared.strip_suffix(COLLATED).map_or((&*column.declared, false), |declared| (declared, true));
    let (name, is_read) = (declared.split('(').next().unwrap_or(declared), is_read(declared));
    let kind = match column.kind {
        ColumnKind::One(kind) => Some(kind),
        ColumnKind::Decimal => Some(PropertyKind::Float),
        ColumnKind::Other => Some(PropertyKind::String),
        _ if !is_read => Some(PropertyKind::String),
        _ => None,
    };
    let is_decimal = column.kind == ColumnKind::Decimal;
    let is_rounded = is_decimal && digits::are_rounded(digits::declared(declared));
    let is_text = name == "VARCHAR";
    // Words are ordered by their places; to the database a month equals thirty days.
    let compares = is_read
        && kind.is_some()
        && !is_rounded
        && !(is_text && has_collation)
        && !matches!(name, "ENUM" | "INTERVAL" | "TIME WITH TIME ZONE");
    ColumnFacts {
        sql_type: sql_type(declared, name),
        kind,
        compares,
        is_binary: is_text && !has_collation,
        is_cut: false,
        collation: String::new(),
        is_nullable: column.is_nullable,
        as_text: !is_read,
        is_rounded,
        is_shown_otherwise: is_decimal,
        is_loose: name == "INTERVAL" || is_text && has_collation,
        is_wide: matches!(name, "UBIGINT" | "HUGEINT"),
        holds_any: false,
    }
}

/// The type of a column as statements differ by it.
fn sql_type(declared: &str, name: &str) -> String {
    match name {
        "TINYINT" | "SMALLINT" | "UTINYINT" => "int2",
        "INTEGER" | "USMALLINT" => "int4",
        "BIGINT" | "UINTEGER" => "int8",
        "UBIGINT" | "HUGEINT" => WHOLE,
        "FLOAT" | "DOUBLE" => "float8",
        "UUID" => "uuid",
        "JSON" => "json",
        "INTERVAL" => "interval",
        "DECIMAL" if digits::declared(declared).is_some_and(digits::are_integers) => "int8",
        "DECIMAL" => declared,
        _ if declared.ends_with("[]") => declared,
        // A parameter says by itself what it is.
        _ => "",
    }
    .to_owned()
}

/// A parameter as the library takes it.
pub(super) fn parameter(functions: &'static Functions, value: &ParameterValue<'_>) -> Parameter {
    match value {
        ParameterValue::One(value) => one(functions, value),
        ParameterValue::Array(values) => list(functions, values),
    }
}

/// The values of a column as a list, whose elements are of the type of the first that is not null.
fn list(functions: &'static Functions, values: &Column) -> Parameter {
    let of = match &values.data {
        ColumnData::Int(_) => id::BIGINT,
        _ => values.values().find(|value| !value.is_null()).map_or(id::SQLNULL, |value| id_of(&value)),
    };
    let elements: Vec<Parameter> = values.values().map(|value| one(functions, &value)).collect();
    Parameter::list(functions, of, &elements)
}

fn id_of(value: &Value) -> u32 {
    match value {
        Value::Bool(_) => id::BOOLEAN,
        Value::Int(_) => id::BIGINT,
        Value::Float(_) => id::DOUBLE,
        Value::Bytes(_) => id::BLOB,
        Value::Date(_) => id::DATE,
        Value::LocalTime(_) => id::TIME,
        Value::LocalDateTime(at) if at.nanosecond % 1_000 != 0 => id::TIMESTAMP_NS,
        Value::LocalDateTime(_) => id::TIMESTAMP,
        Value::DateTime(_) => id::TIMESTAMP_TZ,
        Value::Duration(_) => id::INTERVAL,
        _ => id::VARCHAR,
    }
}

fn one(functions: &'static Functions, value: &Value) -> Parameter {
    // SAFETY: each function is called by its signature; the library copies strings and bytes.
    let make = |of: &'static Functions| unsafe {
        match value {
            Value::Null => (of.create_null_value)(),
            Value::Bool(x) => (of.create_bool)(*x),
            Value::Int(x) => (of.create_int64)(*x),
            Value::Float(x) => (of.create_double)(*x),
            Value::String(text) => string(of, text),
            Value::Bytes(bytes) => (of.create_blob)(bytes.as_ptr(), bytes.len() as u64),
            Value::Date(date) => match i32::try_from(date.0) {
                Ok(days) => (of.create_date)(days),
                Err(_) => string(of, &value.to_string()),
            },
            Value::LocalTime(time) => (of.create_time)(time.0 / 1_000),
            Value::LocalDateTime(at) => moment(of, at.seconds, at.nanosecond, of.create_timestamp)
                .unwrap_or_else(|| string(of, &value.to_string())),
            Value::DateTime(at) => moment(of, at.seconds, at.nanosecond / 1_000 * 1_000, of.create_timestamp_tz)
                .unwrap_or_else(|| string(of, &value.to_string())),
            Value::Duration(x) => match interval(x) {
                Some(interval) => (of.create_interval)(interval),
                None => string(of, &value.to_string()),
            },
            Value::List(_) => std::ptr::null_mut(),
            other => string(of, &other.to_string()),
        }
    };
    match value {
        Value::List(items) => list(functions, &Column::from_values(items.iter())),
        _ => Parameter::new(functions, make),
    }
}

/// A string as a value.
fn string(of: &'static Functions, text: &str) -> Handle {
    // SAFETY: the library copies as many bytes as it is told.
    unsafe { (of.create_varchar_length)(text.as_ptr().cast(), text.len() as u64) }
}

/// A moment as a value: with its nanoseconds where it has some, else by a function that takes microseconds.
fn moment(
    of: &'static Functions,
    seconds: i64,
    nanosecond: u32,
    make: unsafe extern "C" fn(i64) -> Handle,
) -> Option<Handle> {
    let units = |of_second: i64, rest: u32| seconds.checked_mul(of_second)?.checked_add(rest.into());
    // SAFETY: the functions make a value of a number.
    unsafe {
        Some(match nanosecond % 1_000 {
            0 => make(units(1_000_000, nanosecond / 1_000)?),
            _ => (of.create_timestamp_ns)(units(1_000_000_000, nanosecond)?),
        })
    }
}

fn interval(x: &model::temporal::Duration) -> Option<Interval> {
    let micros = x.seconds.checked_mul(1_000_000)?.checked_add(i64::from(x.nanosecond / 1_000))?;
    Some(Interval { months: x.months.try_into().ok()?, days: x.days.try_into().ok()?, micros })
}

#[cfg(test)]
mod tests {
    use model::PropertyKind;

    use super::{facts, kind_of};
    use crate::catalog::{ColumnKind, TableColumn};

    #[test]
    fn declared_types_say_what_values_are() {
        for (declared, kind) in [
            ("INTEGER", ColumnKind::One(PropertyKind::Integer)),
            ("DECIMAL(18,0)", ColumnKind::One(PropertyKind::Integer)),
            ("DECIMAL(18,3)", ColumnKind::Decimal),
            ("VARCHAR[]", ColumnKind::List(PropertyKind::String)),
            ("INTEGER[3]", ColumnKind::List(PropertyKind::Integer)),
            ("INTEGER[][]", ColumnKind::Any),
            ("STRUCT(a INTEGER)[]", ColumnKind::Any),
            ("ENUM('a', 'b(c)')", ColumnKind::One(PropertyKind::String)),
            ("TIMESTAMP WITH TIME ZONE", ColumnKind::One(PropertyKind::DateTime)),
            ("MAP(VARCHAR, INTEGER)", ColumnKind::Other),
        ] {
            assert_eq!(kind_of(declared), kind, "{declared}");
        }
    }

    #[test]
    fn what_is_not_read_is_asked_for_as_a_string() {
        let of = |declared: &str| {
            let kind = kind_of(declared);
            facts(&TableColumn { name: "c".into(), declared: declared.into(), kind, is_nullable: true })
        };
        assert!(of("STRUCT(a INTEGER)").as_text && of("STRUCT(a INTEGER)[]").as_text && of("BIT").as_text);
        assert!(!of("INTEGER[][]").as_text && !of("VARCHAR").as_text && of("VARCHAR").is_binary);
        assert!(!of("VARCHAR COLLATE").compares && of("VARCHAR COLLATE").is_loose);
    }
}
