//! Values of JSON that have their types beside them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Result, Value, error};

use super::{Taking, of_text};

impl Taking {
    /// The value of an object of a type and a value.
    pub(super) fn typed(&mut self, value: bolt::Value) -> Result<Value> {
        let (kind, value) = parts(value)?;
        let text = match value {
            bolt::Value::Null if kind == "Null" => return Ok(Value::Null),
            bolt::Value::Bool(value) if kind == "Boolean" => return Ok(Value::Bool(value)),
            bolt::Value::List(items) if kind == "List" => return self.list(items),
            bolt::Value::Map(entries) if kind == "Map" => return self.map(entries),
            bolt::Value::String(text) => Some(text),
            _ => None,
        };
        let read = match (kind.as_str(), text.as_deref()) {
            ("String", Some(text)) => Some(Value::String(self.text(text)?)),
            ("Base64", Some(text)) => match STANDARD.decode(text) {
                Ok(bytes) => Some(self.bytes(bytes)?),
                Err(_) => None,
            },
            ("Integer", Some(text)) => text.parse().ok().map(Value::Int),
            ("Float", Some(text)) => text.parse().ok().map(Value::Float),
            ("Node" | "Relationship" | "Path" | "Vector" | "Unsupported", _) => {
                return Err(error!(Type, "a value of the type {kind} cannot be passed")
                    .with_remedy("pass its parts, or a list of numbers for a vector"));
            }
            (kind, Some(text)) => of_text(kind, text),
            _ => None,
        };
        read.ok_or_else(|| {
            error!(Type, "this is no value of the type {kind}")
                .with_remedy(r#"pass objects such as {"$type": "Integer", "_value": "1"}, or send application/json"#)
        })
    }
}

/// The type and the value of an object.
fn parts(value: bolt::Value) -> Result<(String, bolt::Value)> {
    let bolt::Value::Map(entries) = value else { return Err(untyped()) };
    let (mut kind, mut held) = (None, None);
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("$type", bolt::Value::String(name)) => kind = Some(name),
            ("_value", value) => held = Some(value),
            _ => return Err(untyped()),
        }
    }
    kind.zip(held).ok_or_else(untyped)
}

fn untyped() -> model::Error {
    error!(Type, "a value has no type beside it").with_remedy(
        r#"pass objects such as {"$type": "Integer", "_value": "1"}, or send the body as application/json"#,
    )
}

#[cfg(test)]
mod tests {
    use bolt::Value;
    use bolt::structures::Moments;

    use crate::convert::{Form, typed_parameters};

    fn text(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    fn of(kind: &str, value: Value) -> Value {
        Value::Map(vec![("$type".to_owned(), text(kind)), ("_value".to_owned(), value)])
    }

    fn read(value: Value) -> Result<String, String> {
        let form = Form { version: bolt::Version::ALL[0], moments: Moments::Utc, is_own: false };
        let read = typed_parameters(vec![("x".to_owned(), value)], form, 1 << 20);
        read.map(|(parameters, _)| format!("{:?}", parameters["x"])).map_err(|error| error.to_string())
    }

    #[test]
    fn every_type_is_read_and_nothing_else() {
        for (kind, value) in [
            ("Integer", "-9223372036854775808"),
            ("Float", "1.5"),
            ("Float", "1e300"),
            ("Float", "-Infinity"),
            ("Float", "NaN"),
            ("String", "x"),
            ("Base64", "A2+/"),
            ("Date", "2015-03-26"),
            ("Time", "12:50:35.556+01:00"),
            ("LocalTime", "12:50:35.556"),
            ("OffsetDateTime", "2015-11-21T21:40:32.142+02:00"),
            ("ZonedDateTime", "2015-11-21T21:40:32.142+01:00[Europe/Paris]"),
            ("LocalDateTime", "2015-07-04T19:32:24"),
            ("Duration", "P14DT16H12M"),
            ("Point", "SRID=7203;POINT (1 2)"),
        ] {
            assert!(read(of(kind, text(value))).is_ok(), "{kind} {value}");
            if kind != "String" {
                let error = read(of(kind, text("?"))).unwrap_err();
                assert!(error.contains("$x") && error.contains(kind), "{error}");
            }
        }
        let list = Value::List(vec![of("Null", Value::Null), of("Boolean", Value::Bool(true))]);
        assert!(read(of("List", list.clone())).is_ok());
        assert!(read(of("Map", Value::Map(vec![("a".to_owned(), of("List", list))]))).is_ok());
        for wrong in [
            Value::Int(1),
            text("x"),
            Value::Map(vec![]),
            of("Integer", Value::Int(1)),
            of("Integer", text("9223372036854775808")),
            of("Nothing", text("x")),
            of("Point", text("SRID=7204;POINT (1 2)")),
            of("Node", Value::Map(vec![])),
            of("List", Value::List(vec![Value::Int(1)])),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong:?}");
        }
    }
}
