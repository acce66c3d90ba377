//! Any storable value as tagged bytes: in blocks of mixed kinds, and in the write-ahead log.

use std::sync::Arc;

use super::bytes::{Get, Put};
use super::stored::{Stored, kind_of_value_tag};
use crate::error::Result;
use crate::value::Value;
use crate::value::fixed::FixedKind;
use crate::{each_fixed, with_stored};

// Kinds of a fixed size have theirs in `stored`.
const NULL: u8 = 0;
const TRUE: u8 = 2;
const STRING: u8 = 5;
const BYTES: u8 = 6;
const LIST: u8 = 9;
/// Lists within lists, at most.
const DEPTH_MAX: usize = 256;

/// Adds a value to `out`. What cannot be stored becomes null; the engine refuses it long before.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    fn put<T: Stored>(x: T, out: &mut Vec<u8>) {
        out.put_u8(T::VALUE_TAG);
        x.put(out);
    }
    each_fixed!(value, {
        Value::Bool(x) => out.put_u8(if *x { TRUE } else { bool::VALUE_TAG }),
        Value::String(x) => {
            out.put_u8(STRING);
            out.put_text(x);
        }
        Value::Bytes(x) => {
            out.put_u8(BYTES);
            out.put_u32(x.len() as u32);
            out.extend_from_slice(x);
        }
        Value::List(items) => {
            out.put_u8(LIST);
            out.put_u32(items.len() as u32);
            items.iter().for_each(|item| encode(item, out));
        }
    }, x => put(*x, out), _ => out.put_u8(NULL));
}

/// Reads a value.
pub fn decode(bytes: &mut Get<'_>) -> Result<Value> {
    decode_nested(bytes, 0)
}

fn decode_nested(bytes: &mut Get<'_>, depth: usize) -> Result<Value> {
    Ok(match bytes.u8()? {
        NULL => Value::Null,
        bool::VALUE_TAG => Value::Bool(false),
        TRUE => Value::Bool(true),
        STRING => Value::string(bytes.text()?),
        BYTES => {
            let length = bytes.count(1)?;
            Value::Bytes(Arc::from(bytes.take(length)?))
        }
        LIST if depth < DEPTH_MAX => {
            let count = bytes.count(1)?;
            let items: Result<Vec<Value>> = (0..count).map(|_| decode_nested(bytes, depth + 1)).collect();
            Value::list(items?)
        }
        tag => match kind_of_value_tag(tag) {
            Some(kind) => with_stored!(kind, {
                FixedKind::Node | FixedKind::Edge => Value::Null,
            }, T => T::take(bytes)?.into()),
            None => return Err(bytes.damage(format!("no value has the tag {tag}"))),
        },
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
