//! The JSON Schema that is handed out says the same as the reader: every example of the manual is valid by both.

use serde_json::Value;

use super::{FIGURE_2, FIGURE_3, KEYS, SHOP, read};
use crate::definition::GraphDefinition;

const SCHEMA: &str = include_str!("../../../../../docs/graph-definition.schema.json");
const MANUAL: &str = include_str!("../../../../../docs/sources.md");

/// Fails unless the value is valid by the part of JSON Schema that the schema uses.
fn validate(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let fail = |what: String| Err(format!("{place}: {what}"));
    for (keyword, wanted) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$ref" => {
                let pointer = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                validate(root, root.pointer(pointer).unwrap(), value, place)?;
            }
            "type" => {
                let fits = match wanted.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64(),
                    "number" => value.is_number(),
                    other => panic!("{other}"),
                };
                if !fits {
                    return fail(format!("not of type {wanted}"));
                }
            }
            "enum" if !wanted.as_array().unwrap().contains(value) => return fail(format!("none of {wanted}")),
            "enum" => {}
            "anyOf" | "oneOf" => {
                let tried = wanted.as_array().unwrap().iter().map(|schema| validate(root, schema, value, place));
                let (valid, failed): (Vec<_>, Vec<_>) = tried.partition(Result::is_ok);
                if valid.is_empty() || keyword == "oneOf" && valid.len() > 1 {
                    return fail(format!("{keyword}: {} valid, {failed:?}", valid.len()));
                }
            }
            "required" | "properties" | "additionalProperties" => members(root, schema, value, place)?,
            "items" => {
                for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(root, wanted, item, &format!("{place}[{at}]"))?;
                }
            }
            "minLength" | "minItems" | "minProperties" | "minimum" | "maximum" | "exclusiveMinimum" => {
                size(keyword, wanted, value).map_err(|what| format!("{place}: {what}"))?;
            }
            "$schema" | "$id" | "$defs" | "title" | "description" => {}
            other => panic!("the schema uses the keyword {other}, which this test does not know"),
        }
    }
    Ok(())
}

/// The keys of an object: those that must be there, and what stands under each.
fn members(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let Some(object) = value.as_object() else { return Ok(()) };
    for key in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        if value.get(key.as_str().unwrap()).is_none() {
            return Err(format!("{place}: no {key}"));
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    for (key, value) in object {
        let place = format!("{place}.{key}");
        match (known.and_then(|known| known.get(key)), schema.get("additionalProperties")) {
            (Some(schema), _) => validate(root, schema, value, &place)?,
            (None, Some(Value::Bool(false))) => return Err(format!("{place}: not known")),
            (None, Some(schema)) => validate(root, schema, value, &place)?,
            (None, None) => {}
        }
    }
    Ok(())
}

/// Checks the length or the size of a value.
fn size(keyword: &str, wanted: &Value, value: &Value) -> Result<(), String> {
    let length = match value {
        Value::String(text) => Some(text.len()),
        Value::Array(items) => Some(items.len()),
        Value::Object(entries) => Some(entries.len()),
        _ => None,
    };
    let wanted = wanted.as_f64().unwrap();
    let fits = match (keyword, length, value.as_f64()) {
        ("minLength" | "minItems" | "minProperties", Some(length), _) => length as f64 >= wanted,
        ("minimum", _, Some(number)) => number >= wanted,
        ("maximum", _, Some(number)) => number <= wanted,
        ("exclusiveMinimum", _, Some(number)) => number > wanted,
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("{value} is outside of {keyword} {wanted}")) }
}

fn check(json: &str) -> Result<(), String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    validate(&schema, &schema, &serde_json::from_str(json).map_err(|cause| cause.to_string())?, "")
}

/// The examples of the manual.
fn examples() -> Vec<&'static str> {
    MANUAL.split("```json\n").skip(1).map(|after| after.split("```").next().unwrap()).collect()
}

#[test]
fn every_example_is_valid_and_loads() {
    let examples = examples();
    assert!(examples.len() >= 8, "{} examples", examples.len());
    for json in examples.into_iter().chain([FIGURE_3, SHOP, KEYS]) {
        check(json).unwrap_or_else(|failure| panic!("{failure}\n{json}"));
        // The written definition is valid too, in full.
        let written = read(json).to_json();
        check(&written).unwrap_or_else(|failure| panic!("{failure}\n{written}"));
    }
    // As printed, with a line break inside quotes, it is no JSON; on one line it is.
    assert!(check(FIGURE_2).is_err());
    assert_eq!(read(FIGURE_2).nodes.len(), read(examples_with("chris")).nodes.len());
}

fn examples_with(text: &str) -> &'static str {
    examples().into_iter().find(|example| example.contains(text)).unwrap()
}

#[test]
fn what_the_schema_refuses_the_reader_refuses() {
    for json in [
        r#"{ "node": {}, "nodes": {} }"#,
        r#"{ "edges": {} }"#,
        r#"{ "nodes": {} }"#,
        r#"{ "node": { "tabel": "x" } }"#,
        r#"{ "node": { "table": 1 } }"#,
        r#"{ "node": { "table": "t", "key": "" } }"#,
        r#"{ "node": { "table": "t", "key": "id", "properties": [{ "typ": "INTEGER", "name": "a" }] } }"#,
        r#"{ "node": { "table": "t", "properties": [{ "type": "NUMBER", "name": "a" }] } }"#,
        r#"{ "node": { "table": "t" }, "edges": { "E": { "table": "e", "source": 1, "target": "b" } } }"#,
        r#"{ "node": { "table": "t" }, "prefetch": { "lookahead": 0 } }"#,
        r#"{ "node": { "table": "t" }, "prefetch": { "block": 0 } }"#,
        r#"{ "node": { "table": "t" }, "port": 0, "server": "a" }"#,
        r#"{ "node": { "table": "t" }, "cache": { "size": 0 } }"#,
        r#"{ "node": { "keys": "{id}", "structure": "list" } }"#,
    ] {
        assert!(check(json).is_err(), "{json}");
        assert!(GraphDefinition::from_json(json).is_err(), "{json}");
    }
}
