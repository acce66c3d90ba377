//! Parameters as the binary format has them.

use std::fmt::Write;

use model::temporal::{Date, DateTime, LocalDateTime};
use model::{Column, ColumnData, PropertyKind, Value};

use super::decode::oid;
use crate::sql::convert::converted;
use crate::sql::{Parameter, ParameterValue};

/// Microseconds from 1970 to 2000, when PostgreSQL's time begins.
pub(super) const EPOCH_MICROS: i64 = 946_684_800_000_000;
/// Days from 1970 to 2000.
pub(super) const EPOCH_DAYS: i64 = 10_957;

/// A value that cannot be a parameter of its type.
#[derive(Debug)]
pub(super) struct Misfit(pub(super) String);

/// Adds `Bind` of a statement to a portal, with all results in binary. With `is_change`, values that are not of their
/// parameter's type are refused; without, they stand for nothing, since nothing equals them.
pub(super) fn bind(
    out: &mut super::wire::Output,
    portal: &str,
    statement: &str,
    parameters: &[Parameter<'_>],
    is_change: bool,
) -> Result<(), Misfit> {
    let mut result = Ok(());
    out.message(Some(b'B'), |out| {
        super::wire::put_text(out, portal);
        super::wire::put_text(out, statement);
        let types: Vec<Option<u32>> = parameters.iter().map(|parameter| oid_of(&parameter.sql_type)).collect();
        out.extend((types.len() as u16).to_be_bytes());
        types.iter().for_each(|oid| out.extend(u16::from(oid.is_some()).to_be_bytes()));
        out.extend((types.len() as u16).to_be_bytes());
        for (parameter, oid) in parameters.iter().zip(&types) {
            let written = match (&parameter.value, oid) {
                (ParameterValue::One(value), Some(oid)) => one(out, value, *oid),
                (ParameterValue::Array(values), Some(oid)) => array(out, values, *oid, is_change),
                (ParameterValue::One(value), None) => {
                    text(out, value);
                    true
                }
                (ParameterValue::Array(values), None) => {
                    let literal = array_literal(values.values());
                    sized(out, |out| out.extend(literal.as_bytes()));
                    true
                }
            };
            if !written && result.is_ok() {
                result = Err(Misfit(format!("a value is not of the type {}", parameter.sql_type)));
            }
        }
        out.extend([0, 1, 0, 1]);
    });
    result
}

/// The number of a type that is passed in binary.
fn oid_of(sql_type: &str) -> Option<u32> {
    Some(match sql_type {
        "bool" => oid::BOOL,
        "int2" => oid::INT2,
        "int4" => oid::INT4,
        "int8" => oid::INT8,
        "oid" => oid::OID,
        "float4" => oid::FLOAT4,
        "float8" => oid::FLOAT8,
        "text" => oid::TEXT,
        "varchar" => oid::VARCHAR,
        "bpchar" => oid::BPCHAR,
        "name" => oid::NAME,
        "date" => oid::DATE,
        "time" => oid::TIME,
        "timestamp" => oid::TIMESTAMP,
        "timestamptz" => oid::TIMESTAMPTZ,
        "uuid" => oid::UUID,
        "bytea" => oid::BYTEA,
        _ => return None,
    })
}

/// Writes what `body` writes with its length before it.
fn sized(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; 4]);
    body(out);
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn null(out: &mut Vec<u8>) {
    out.extend((-1_i32).to_be_bytes());
}

/// Writes a value with its length; false if it is not of the type, and null is written.
fn one(out: &mut Vec<u8>, value: &Value, oid: u32) -> bool {
    let at = out.len();
    let mut is_written = true;
    match (value, oid) {
        (Value::Null, _) => {
            null(out);
            return true;
        }
        (Value::Int(x), oid::INT2 | oid::INT4 | oid::INT8 | oid::OID) => is_written = integer(out, *x, oid),
        (value, oid::FLOAT4 | oid::FLOAT8) => match (value, oid) {
            (Value::Float(x), oid::FLOAT8) => sized(out, |out| out.extend(x.to_be_bytes())),
            (Value::Int(x), oid::FLOAT8) => sized(out, |out| out.extend((*x as f64).to_be_bytes())),
            (Value::Float(x), _) => sized(out, |out| out.extend((*x as f32).to_be_bytes())),
            (Value::Int(x), _) => sized(out, |out| out.extend((*x as f32).to_be_bytes())),
            _ => is_written = false,
        },
        (Value::Bool(x), oid::BOOL) => sized(out, |out| out.push(u8::from(*x))),
        (Value::String(x), oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME) if !x.contains('\0') => {
            sized(out, |out| out.extend(x.as_bytes()));
        }
        (Value::String(x), oid::UUID) => match uuid(x) {
            Some(bytes) => sized(out, |out| out.extend(bytes)),
            None => is_written = false,
        },
        (Value::Bytes(x), oid::BYTEA) => sized(out, |out| out.extend(&**x)),
        (Value::Date(Date(days)), oid::DATE) => match i32::try_from(days - EPOCH_DAYS) {
            Ok(days) => sized(out, |out| out.extend(days.to_be_bytes())),
            Err(_) => is_written = false,
        },
        (Value::LocalTime(x), oid::TIME) => sized(out, |out| out.extend((x.0 / 1_000).to_be_bytes())),
        (Value::LocalDateTime(x), oid::TIMESTAMP) => is_written = moment(out, *x),
        (Value::DateTime(x), oid::TIMESTAMPTZ) => is_written = moment(out, DateTime::utc(*x)),
        _ => is_written = false,
    }
    if !is_written {
        out.truncate(at);
        null(out);
    }
    is_written
}

fn integer(out: &mut Vec<u8>, x: i64, oid: u32) -> bool {
    match oid {
        oid::INT2 => i16::try_from(x).map(|x| sized(out, |out| out.extend(x.to_be_bytes()))).is_ok(),
        oid::INT4 => i32::try_from(x).map(|x| sized(out, |out| out.extend(x.to_be_bytes()))).is_ok(),
        oid::OID => u32::try_from(x).map(|x| sized(out, |out| out.extend(x.to_be_bytes()))).is_ok(),
        _ => {
            sized(out, |out| out.extend(x.to_be_bytes()));
            true
        }
    }
}

fn moment(out: &mut Vec<u8>, at: LocalDateTime) -> bool {
    let micros =
        at.seconds.checked_mul(1_000_000).and_then(|micros| micros.checked_add(i64::from(at.nanosecond / 1_000)));
    match micros.and_then(|micros| micros.checked_sub(EPOCH_MICROS)) {
        Some(micros) => {
            sized(out, |out| out.extend(micros.to_be_bytes()));
            true
        }
        None => false,
    }
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'-').collect();
    let mut bytes = [0; 16];
    if digits.len() != 32 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Writes a column as an array; false if `is_strict` and a value is not of the type.
fn array(out: &mut Vec<u8>, values: &Column, oid: u32, is_strict: bool) -> bool {
    let mut is_right = true;
    sized(out, |out| {
        let dimensions = u32::from(!values.is_empty());
        out.extend(dimensions.to_be_bytes());
        // The server does not rely on the flag for nulls.
        out.extend(1_u32.to_be_bytes());
        out.extend(oid.to_be_bytes());
        if dimensions == 1 {
            out.extend((values.len() as u32).to_be_bytes());
            out.extend(1_u32.to_be_bytes());
        }
        match (&values.data, &values.validity, oid) {
            (ColumnData::Int(rows), None, oid::INT8) => rows.iter().for_each(|x| {
                out.extend(8_u32.to_be_bytes());
                out.extend(x.to_be_bytes());
            }),
            (ColumnData::Int(rows), None, _) if matches!(oid, oid::INT2 | oid::INT4 | oid::OID) => {
                for &x in rows {
                    if !integer(out, x, oid) {
                        null(out);
                        is_right = false;
                    }
                }
            }
            (ColumnData::String(rows), None, oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME) => {
                for text in rows.iter() {
                    if text.contains('\0') {
                        null(out);
                        is_right = false;
                    } else {
                        sized(out, |out| out.extend(text.as_bytes()));
                    }
                }
            }
            _ => {
                for value in values.values() {
                    let value = if is_strict { as_type(value, oid) } else { value };
                    is_right &= one(out, &value, oid);
                }
            }
        }
    });
    is_right || !is_strict
}

/// A value to be written, in the kind of the column that it is written to, where it has a meaning there.
fn as_type(value: Value, oid: u32) -> Value {
    let kind = match oid {
        oid::TEXT | oid::VARCHAR | oid::BPCHAR => PropertyKind::String,
        oid::INT2 | oid::INT4 | oid::INT8 => PropertyKind::Integer,
        oid::FLOAT4 | oid::FLOAT8 => PropertyKind::Float,
        oid::DATE => PropertyKind::Date,
        oid::TIMESTAMP => PropertyKind::LocalDateTime,
        oid::TIMESTAMPTZ => PropertyKind::DateTime,
        oid::TIME => PropertyKind::LocalTime,
        _ => return value,
    };
    converted(&value, kind).unwrap_or(value)
}

/// Writes a value as text, for types that are not passed in binary.
fn text(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => null(out),
        value => {
            let text = plain(value);
            sized(out, |out| out.extend(text.as_bytes()));
        }
    }
}

/// A value as PostgreSQL reads it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::List(items) => array_literal(items.iter().cloned()),
        Value::Bytes(bytes) => bytes.iter().fold("\\x".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
        other => other.to_string(),
    }
}

/// `{"a","b",NULL}`.
fn array_literal(values: impl Iterator<Item = Value>) -> String {
    let quoted = |value: Value| match value {
        Value::Null => "NULL".to_owned(),
        Value::List(items) => array_literal(items.iter().cloned()),
        value => format!("\"{}\"", plain(&value).replace('\\', "\\\\").replace('"', "\\\"")),
    };
    format!("{{{}}}", values.map(quoted).collect::<Vec<_>>().join(","))
}
