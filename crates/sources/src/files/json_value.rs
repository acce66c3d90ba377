//! Property values as JSON, exactly: what JSON lacks is an object of one entry, as `{"$date": "2024-02-29"}`.
//!
//! Invariant: `to_value(of_value(x))` is `x`, for all that a store can keep.

use std::sync::Arc;

use model::{FixedKind, Result, Value, error};
use serde_json::Value as Json;

/// Lists within lists that are written at most: the reader of JSON takes no more than 127.
const DEPTH_MAX: usize = 100;

/// A property value as JSON; an error for what JSON cannot carry.
pub fn of_value(value: &Value) -> Result<Json> {
    at_depth(value, 0)
}

fn at_depth(value: &Value, depth: usize) -> Result<Json> {
    let tagged = |tag: &str, text: String| {
        let mut object = serde_json::Map::new();
        object.insert(tag.to_owned(), Json::String(text));
        Ok(Json::Object(object))
    };
    match value {
        Value::Null => Ok(Json::Null),
        Value::Bool(x) => Ok((*x).into()),
        Value::Int(x) => Ok((*x).into()),
        Value::Float(x) if x.is_finite() => Ok((*x).into()),
        Value::String(x) => Ok((&**x).into()),
        Value::List(_) if depth == DEPTH_MAX => {
            Err(error!(Unsupported, "lists are nested more than {DEPTH_MAX} deep, which no file format carries")
                .with_remedy("copy the store with knot backup"))
        }
        Value::List(items) => items.iter().map(|item| at_depth(item, depth + 1)).collect(),
        Value::Bytes(bytes) => tagged("$bytes", bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        other => match FixedKind::of_value(other).and_then(FixedKind::field) {
            Some(field) => tagged(&format!("${field}"), other.to_string()),
            None => Err(error!(Type, "a value of type {} is no property", value.type_name())),
        },
    }
}

/// The property value that JSON stands for; the reason if it cannot be a property.
pub fn to_value(json: Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(x) => Value::Bool(x),
        Json::Number(x) => match x.as_i64() {
            Some(whole) => Value::Int(whole),
            None if x.is_u64() => return Err(format!("{x} is larger than a 64-bit integer")),
            None => Value::Float(x.as_f64().ok_or_else(|| format!("{x} is not a number that can be kept"))?),
        },
        Json::String(x) => Value::String(Arc::from(x)),
        Json::Array(items) => {
            let items = items.into_iter().map(to_value).collect::<Result<Vec<_>, _>>()?;
            if items.iter().any(|item| !item.is_storable() || item.is_null()) {
                return Err("a list with nulls cannot be a property".into());
            }
            Value::list(items)
        }
        Json::Object(object) => tagged_value(&object).ok_or("an object cannot be a property")?,
    })
}

fn tagged_value(object: &serde_json::Map<String, Json>) -> Option<Value> {
    let (tag, Json::String(text)) = object.iter().next().filter(|_| object.len() == 1)? else { return None };
    match tag.as_str() {
        "$bytes" => bytes_of(text).map(|bytes| Value::Bytes(bytes.into())),
        other => match FixedKind::of_field(other.strip_prefix('$')?)? {
            // They have forms of their own.
            FixedKind::Bool | FixedKind::Int => None,
            kind => kind.parse(text),
        },
    }
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? * 16 + digit(*low)?) as u8);
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

/// The first whole number in a text of JSON that 64 bits cannot hold: the parser would round it to a float in silence.
pub fn wide_integer(text: &[u8]) -> Option<&str> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at = end_of_string(text, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = text[at..].iter().take_while(|byte| is_part(byte)).count();
                let number = std::str::from_utf8(&text[at..at + length]).ok()?;
                if length > 18 && !number.contains(['.', 'e', 'E']) && number.parse::<i64>().is_err() {
                    return Some(number);
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    None
}

/// The place behind a string that begins there.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::wide_integer;

    #[test]
    fn integers_beyond_64_bits_are_seen_and_nothing_else_is() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(wide_integer(text.as_bytes()), expected, "{text}");
        check(r#"{"a": 9223372036854775807, "b": -9223372036854775808}"#, None);
        check(r#"{"a": 9223372036854775808}"#, Some("9223372036854775808"));
        check(r#"[-123456789012345678901234]"#, Some("-123456789012345678901234"));
        check(r#"{"12345678901234567890": "x\"12345678901234567890", "f": 12345678901234567890.5, "g": 1e30}"#, None);
        check(r#"{"open": "12345678901234567890"#, None);
    }
}
