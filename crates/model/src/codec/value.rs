//! Any storable value as tagged bytes: in blocks of mixed kinds, and in the write-ahead log.

use std::sync::Arc;

use crate::error::Result;
use crate::value::Value;

use super::bytes::{Get, Put};
use super::temporal;

const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const FLOAT: u8 = 4;
const STRING: u8 = 5;
const BYTES: u8 = 6;
const DATE: u8 = 7;
const LOCAL_DATE_TIME: u8 = 8;
const LIST: u8 = 9;
const LOCAL_TIME: u8 = 10;
const TIME: u8 = 11;
const DATE_TIME: u8 = 12;
const DURATION: u8 = 13;
const NULL: u8 = 0;
/// Lists within lists, at most.
const DEPTH_MAX: usize = 256;

/// Adds a value to `out`. What cannot be stored becomes null; the engine refuses it long before.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Bool(x) => out.put_u8(if *x { TRUE } else { FALSE }),
        Value::Int(x) => {
            out.put_u8(INT);
            out.put_u64(*x as u64);
        }
        Value::Float(x) => {
            out.put_u8(FLOAT);
            out.put_u64(x.to_bits());
        }
        Value::String(x) => {
            out.put_u8(STRING);
            out.put_text(x);
        }
        Value::Bytes(x) => {
            out.put_u8(BYTES);
            out.put_u32(x.len() as u32);
            out.extend_from_slice(x);
        }
        Value::Date(x) => {
            out.put_u8(DATE);
            out.put_u64(x.0 as u64);
        }
        Value::LocalDateTime(x) => {
            out.put_u8(LOCAL_DATE_TIME);
            temporal::put_local_date_time(*x, out);
        }
        Value::LocalTime(x) => {
            out.put_u8(LOCAL_TIME);
            out.put_u64(x.0 as u64);
        }
        Value::Time(x) => {
            out.put_u8(TIME);
            temporal::put_time(*x, out);
        }
        Value::DateTime(x) => {
            out.put_u8(DATE_TIME);
            temporal::put_date_time(*x, out);
        }
        Value::Duration(x) => {
            out.put_u8(DURATION);
            temporal::put_duration(*x, out);
        }
        Value::List(items) => {
            out.put_u8(LIST);
            out.put_u32(items.len() as u32);
            items.iter().for_each(|item| encode(item, out));
        }
        _ => out.put_u8(NULL),
    }
}

/// Reads a value.
pub fn decode(bytes: &mut Get<'_>) -> Result<Value> {
    decode_nested(bytes, 0)
}

fn decode_nested(bytes: &mut Get<'_>, depth: usize) -> Result<Value> {
    Ok(match bytes.u8()? {
        NULL => Value::Null,
        FALSE => Value::Bool(false),
        TRUE => Value::Bool(true),
        INT => Value::Int(bytes.u64()? as i64),
        FLOAT => Value::Float(f64::from_bits(bytes.u64()?)),
        STRING => Value::string(bytes.text()?),
        BYTES => {
            let length = bytes.count(1)?;
            Value::Bytes(Arc::from(bytes.take(length)?))
        }
        DATE => Value::Date(temporal::date(bytes)?),
        LOCAL_DATE_TIME => Value::LocalDateTime(temporal::local_date_time(bytes)?),
        LOCAL_TIME => Value::LocalTime(temporal::local_time(bytes)?),
        TIME => Value::Time(temporal::time(bytes)?),
        DATE_TIME => Value::DateTime(temporal::date_time(bytes)?),
        DURATION => Value::Duration(temporal::duration(bytes)?),
        LIST if depth < DEPTH_MAX => {
            let count = bytes.count(1)?;
            let items: Result<Vec<Value>> = (0..count).map(|_| decode_nested(bytes, depth + 1)).collect();
            Value::list(items?)
        }
        tag => return Err(bytes.damage(format!("no value has the tag {tag}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::{Get, decode, encode};
    use crate::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time};
    use crate::value::Value;
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn every_kind_reads_back() {
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Float(-0.5),
            Value::string("grüße"),
            Value::Bytes(Arc::from(&[0u8, 255][..])),
            Value::Date(Date(-7)),
            Value::LocalDateTime(LocalDateTime::of_micros(-1)),
            Value::LocalTime(LocalTime::MAX),
            Value::Time(Time { local: LocalTime(1), offset: -3_600 }),
            Value::DateTime(DateTime::parse("2015-07-21T21:40:32.142-18:00").unwrap()),
            Value::DateTime(DateTime::parse("2015-07-21T21:40:32.142[Europe/Stockholm]").unwrap()),
            Value::Duration(Duration { months: i64::MIN, days: 1, seconds: -1, nanosecond: 999_999_999 }),
            Value::list(vec![Value::Int(1), Value::list(vec![Value::string("")])]),
        ];
        let mut bytes = Vec::new();
        values.iter().for_each(|value| encode(value, &mut bytes));
        let mut get = Get::new(&bytes, Path::new("test"), 0);
        for value in &values {
            assert_eq!(&decode(&mut get).unwrap(), value);
        }
        assert!(decode(&mut get).is_err());
    }
}
