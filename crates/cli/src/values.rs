//! Parameters as the command line gives them.

use database::{Error, ErrorCode, Parameters, Value};
use serde_json::Value as Json;

/// Parameters from `name=value` arguments.
pub(crate) fn parameters(arguments: &[String]) -> Result<Parameters, Error> {
    arguments.iter().map(|argument| parameter(argument)).collect()
}

/// One parameter from `name=value`: the value as JSON, or else as text.
pub(crate) fn parameter(argument: &str) -> Result<(std::sync::Arc<str>, Value), Error> {
    let Some((name, text)) = argument.split_once('=') else {
        return Err(Error::new(ErrorCode::Argument, format!("expected name=value, found '{argument}'"))
            .with_remedy("write --param name=value"));
    };
    let name = name.trim().trim_start_matches('$');
    let Ok(json) = serde_json::from_str(text.trim()) else { return Ok((name.into(), Value::string(text))) };
    if let Some(number) = database::wide_integer(text) {
        let message = format!("the parameter {name} holds {number}, which is larger than a 64-bit integer");
        return Err(Error::new(ErrorCode::Argument, message).with_remedy(format!("write it as text: {name}='\"…\"'")));
    }
    Ok((name.into(), of_json(&json)))
}

fn of_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(x) => Value::Bool(*x),
        Json::Number(x) => x.as_i64().map_or_else(|| Value::Float(x.as_f64().unwrap_or(f64::NAN)), Value::Int),
        Json::String(x) => Value::string(x),
        Json::Array(items) => Value::list(items.iter().map(of_json).collect()),
        Json::Object(entries) => Value::map(entries.iter().map(|(key, value)| (key.as_str().into(), of_json(value)))),
    }
}
