//! The conversions that a definition asks for, a whole column at a time.

use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, NANOS_OF_DAY, Time, Zone};
#[cfg(feature = "sql")]
use model::value::MapValue;
use model::{Column, ColumnData, PropertyKind, Result, Scalar, Value, each_stored_vector, error};

/// Converts a column to a kind. `name` is `table.column`; `keys` are the keys of the rows, for messages.
///
/// Fails with `DEFINITION` if a value does not convert, naming table, column, key and value.
pub fn convert(column: Column, kind: PropertyKind, name: &str, keys: Option<&Column>) -> Result<Column> {
    if is_of_kind(&column, kind) {
        return Ok(column);
    }
    // The two conversions of numbers that are common and cannot fail.
    if let (PropertyKind::Float, ColumnData::Int(rows)) = (kind, &column.data) {
        let rows = rows.iter().map(|&x| x as f64).collect();
        return Ok(Column { data: ColumnData::Float(rows), validity: column.validity });
    }
    if let (PropertyKind::DateTime, ColumnData::LocalDateTime(rows)) = (kind, &column.data) {
        let rows = rows.iter().map(|at| DateTime { seconds: at.seconds, nanosecond: at.nanosecond, zone: Zone::UTC });
        return Ok(Column { data: ColumnData::DateTime(rows.collect()), validity: column.validity });
    }
    let mut values = Vec::with_capacity(column.len());
    for (row, value) in column.values().enumerate() {
        match converted(&value, kind) {
            Some(value) => values.push(value),
            None => return Err(not_converted(&value, kind, name, keys.map(|keys| keys.value(row)))),
        }
    }
    Ok(Column::from_values(&values))
}

fn not_converted(value: &Value, kind: PropertyKind, name: &str, key: Option<Value>) -> model::Error {
    let at = key.map_or(String::new(), |key| format!(" of the row with key {key}"));
    let found = value.to_string();
    let short: String = found.chars().take(80).collect();
    let more = if short.len() < found.len() { "..." } else { "" };
    error!(
        Definition,
        "{name}: the value {short}{more}{at} is {}, which does not convert to {}",
        value.type_name(),
        kind.name()
    )
    .with_remedy("give the property another kind in the definition, or mend the row")
}

fn is_of_kind(column: &Column, kind: PropertyKind) -> bool {
    fn is_of<T: Scalar>(_: &[T], kind: PropertyKind) -> bool {
        kind.fixed() == Some(T::KIND)
    }
    each_stored_vector!(&column.data, {
        ColumnData::Null(_) => true,
        ColumnData::String(_) => kind == PropertyKind::String,
        ColumnData::Node(_) | ColumnData::Edge(_) | ColumnData::Value(_) => false,
    }, rows => is_of(rows, kind))
}

/// One value as another kind, if it has a meaning there; null is null.
pub fn converted(value: &Value, kind: PropertyKind) -> Option<Value> {
    if value.is_null() || kind.holds(value) {
        return Some(value.clone());
    }
    match kind {
        PropertyKind::Boolean => boolean(value).map(Value::Bool),
        PropertyKind::Integer => integer(value).map(Value::Int),
        PropertyKind::Float => match value {
            Value::Int(x) => Some(Value::Float(*x as f64)),
            Value::String(text) => text.trim().parse().ok().map(Value::Float),
            _ => None,
        },
        PropertyKind::String => match value {
            Value::List(_) | Value::Map(_) | Value::Bytes(_) => None,
            other => Some(Value::String(other.to_string().into())),
        },
        PropertyKind::Date => match value {
            Value::String(text) => {
                Date::parse(text.trim()).or(LocalDateTime::parse(text.trim()).map(LocalDateTime::date))
            }
            Value::LocalDateTime(x) => Some(x.date()),
            Value::DateTime(x) => Some(x.local().date()),
            _ => None,
        }
        .map(Value::Date),
        PropertyKind::LocalDateTime => match value {
            Value::String(text) => LocalDateTime::parse(text.trim()),
            Value::Date(x) => Some(LocalDateTime::of(*x, LocalTime(0))),
            Value::DateTime(x) => Some(x.local()),
            _ => None,
        }
        .map(Value::LocalDateTime),
        PropertyKind::DateTime => match value {
            Value::String(text) => DateTime::parse(text.trim()),
            Value::Date(x) => DateTime::of_local(LocalDateTime::of(*x, LocalTime(0)), Zone::UTC, None),
            Value::LocalDateTime(x) => DateTime::of_local(*x, Zone::UTC, None),
            _ => None,
        }
        .map(Value::DateTime),
        PropertyKind::LocalTime => match value {
            Value::String(text) => LocalTime::parse(text.trim()),
            Value::LocalDateTime(x) => Some(x.time()),
            Value::Duration(x) => time_of(*x),
            _ => None,
        }
        .map(Value::LocalTime),
        PropertyKind::Time => match value {
            Value::String(text) => Time::parse(text.trim()),
            Value::LocalTime(local) => Some(Time { local: *local, offset: 0 }),
            _ => None,
        }
        .map(Value::Time),
        other => match value {
            Value::String(text) => other.fixed()?.parse(text.trim()),
            _ => None,
        },
    }
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Int(0) => Some(false),
        Value::Int(1) => Some(true),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
        // A bit column.
        Value::Bytes(bytes) if bytes.len() == 1 && bytes[0] < 2 => Some(bytes[0] == 1),
        _ => None,
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(x) => Some(i64::from(*x)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Float(x) => {
            let whole = *x as i64;
            (x.fract() == 0.0 && whole as f64 == *x && whole != i64::MAX).then_some(whole)
        }
        _ => None,
    }
}

/// A time of day as databases without such keep it: as the duration since midnight.
fn time_of(duration: Duration) -> Option<LocalTime> {
    let nanos = duration.seconds.checked_mul(1_000_000_000)?.checked_add(i64::from(duration.nanosecond))?;
    (duration.months == 0 && duration.days == 0 && (0..NANOS_OF_DAY).contains(&nanos)).then_some(LocalTime(nanos))
}

/// Columns of a statement that are one key, as lists of their values; null where one of them is.
pub fn lists(columns: &[Column]) -> Column {
    let rows = columns.first().map_or(0, Column::len);
    let values: Vec<Value> = (0..rows)
        .map(|row| {
            let items: Vec<Value> = columns.iter().map(|column| column.value(row)).collect();
            if items.iter().any(Value::is_null) { Value::Null } else { Value::list(items) }
        })
        .collect();
    Column::new(ColumnData::Value(values))
}

/// A document of JSON as a value: its objects are maps. `None` if it is none.
#[cfg(feature = "sql")]
pub(crate) fn document(json: &[u8]) -> Option<Value> {
    fn of(json: serde_json::Value) -> Value {
        use serde_json::Value as Json;
        match json {
            Json::Null => Value::Null,
            Json::Bool(x) => Value::Bool(x),
            Json::Number(x) => x.as_i64().map_or_else(|| Value::Float(x.as_f64().unwrap_or(f64::NAN)), Value::Int),
            Json::String(x) => Value::String(x.into()),
            Json::Array(items) => Value::list(items.into_iter().map(of).collect()),
            Json::Object(fields) => {
                let fields: MapValue = fields.into_iter().map(|(name, value)| (name.into(), of(value))).collect();
                Value::Map(fields.into())
            }
        }
    }
    serde_json::from_slice(json).ok().map(of)
}

#[cfg(test)]
mod tests {
    use model::{Column, PropertyKind, Value};

    use super::{convert, converted};

    #[test]
    fn values_convert_where_they_mean_the_same() {
        let check = |value: Value, kind, expected: Option<&str>| {
            let found = converted(&value, kind).map(|found| format!("{found}"));
            assert_eq!(found.as_deref(), expected, "{value} to {kind:?}");
        };
        check(Value::string(" 12 "), PropertyKind::Integer, Some("12"));
        check(Value::string("1.5"), PropertyKind::Integer, None);
        check(Value::Float(3.0), PropertyKind::Integer, Some("3"));
        check(Value::Float(3.5), PropertyKind::Integer, None);
        check(Value::Float(9.3e18), PropertyKind::Integer, None);
        check(Value::Int(1), PropertyKind::Boolean, Some("true"));
        check(Value::Int(2), PropertyKind::Boolean, None);
        check(Value::string("No"), PropertyKind::Boolean, Some("false"));
        check(Value::Int(7), PropertyKind::Float, Some("7.0"));
        check(Value::string("2024-02-30"), PropertyKind::Date, None);
        check(Value::string("2024-02-28"), PropertyKind::Date, Some("2024-02-28"));
        check(Value::Null, PropertyKind::Date, Some("null"));
    }

    #[test]
    fn an_error_says_where() {
        let column = Column::from_values(&[Value::string("1"), Value::string("x")]);
        let keys = Column::from_values(&[Value::Int(10), Value::Int(11)]);
        let error = convert(column, PropertyKind::Integer, "people.age", Some(&keys)).unwrap_err();
        let expected = "people.age: the value 'x' of the row with key 11 is STRING, which does not convert to INTEGER";
        assert_eq!(error.message(), expected);
    }
}
