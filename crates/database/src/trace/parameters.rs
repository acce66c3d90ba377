//! Values of parameters as JSON, exactly, as exported properties are; and maps, and lists with nulls.

use std::sync::Arc;

use model::Value;
use serde_json::{Map, Value as Json};
use sources::files::json_value;

use crate::Parameters;

/// The tag of a map that would be taken for a tagged value.
const MAP: &str = "$map";
/// The tag of a value that cannot be written: a node, a relationship, a path.
const LOST: &str = "$lost";

/// Parameters as an object.
pub(super) fn to_json(parameters: &Parameters) -> Json {
    let mut entries: Vec<_> = parameters.iter().collect();
    entries.sort_by(|one, other| one.0.cmp(other.0));
    Json::Object(entries.into_iter().map(|(name, value)| (name.to_string(), value_to_json(value))).collect())
}

fn value_to_json(value: &Value) -> Json {
    let tagged = |tag: &str, value: Json| Json::Object(Map::from_iter([(tag.to_owned(), value)]));
    match value {
        Value::List(items) => items.iter().map(value_to_json).collect(),
        Value::Map(map) => {
            let object = map.iter().map(|(key, value)| (key.to_string(), value_to_json(value))).collect::<Map<_, _>>();
            let is_like_a_tag = object.len() == 1 && object.keys().all(|key| key.starts_with('$'));
            if is_like_a_tag { tagged(MAP, object.into()) } else { object.into() }
        }
        other => json_value::of_value(other).unwrap_or_else(|_| tagged(LOST, other.type_name().into())),
    }
}

/// The parameters of an object; the reason if it has none.
pub(super) fn of_json(json: &Json) -> Result<Parameters, String> {
    let object = json.as_object().ok_or("parameters are no object")?;
    object.iter().map(|(name, value)| Ok((Arc::from(name.as_str()), value_of_json(value)?))).collect()
}

fn value_of_json(json: &Json) -> Result<Value, String> {
    let map_of = |object: &Map<String, Json>| {
        let entries = object.iter().map(|(key, value)| Ok((Arc::from(key.as_str()), value_of_json(value)?)));
        Ok(Value::map(entries.collect::<Result<Vec<_>, String>>()?))
    };
    match json {
        Json::Array(items) => Ok(Value::list(items.iter().map(value_of_json).collect::<Result<_, _>>()?)),
        Json::Object(object) => match object.iter().next().filter(|(key, _)| object.len() == 1 && key.starts_with('$'))
        {
            Some((tag, Json::Object(inner))) if tag == MAP => map_of(inner),
            Some((tag, kind)) if tag == LOST => Err(format!("a parameter was a {kind}, which no trace holds")),
            Some(_) => json_value::to_value(json.clone()),
            None => map_of(object),
        },
        other => json_value::to_value(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use model::Value;
    use model::temporal::Date;

    use super::{of_json, to_json};

    #[test]
    fn parameters_come_back_as_they_were() {
        let map =
            |entries: &[(&str, Value)]| Value::map(entries.iter().map(|(key, value)| ((*key).into(), value.clone())));
        let values = [
            Value::Null,
            Value::Int(i64::MIN),
            Value::Float(f64::INFINITY),
            Value::Float(-0.0),
            Value::string("$lost"),
            Value::Bytes(vec![0, 255].into()),
            Value::Date(Date::parse("2024-02-29").unwrap()),
            Value::list(vec![Value::Null, Value::list(vec![]), map(&[("$date", Value::Int(1))])]),
            map(&[]),
            map(&[("$map", map(&[("$map", Value::Int(3))]))]),
            map(&[("a", Value::Null), ("$b", Value::string("x"))]),
        ];
        let parameters =
            values.iter().enumerate().map(|(at, value)| (format!("p{at}").into(), value.clone())).collect();
        let read = of_json(&to_json(&parameters)).unwrap();
        for (name, value) in &parameters {
            assert_eq!(format!("{:?}", read[name]), format!("{value:?}"));
        }
        assert!(of_json(&serde_json::json!({"p": {"$lost": "NODE"}})).unwrap_err().contains("NODE"));
        assert!(of_json(&serde_json::json!({"p": {"$date": "no date"}})).is_err());
    }
}
