//! Functions that give true or false of anything.

use model::{PropertyKind, Result, Value, error};

use super::{Body, Function, mismatch};

pub(super) const FUNCTIONS: &[&Function] = &[&EXISTS, &IS_OF_TYPE];

const EXISTS: Function = Function {
    name: "exists",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "exists(node.property)",
    description: "True if a value is not null.",
    examples: &[("exists(n.name)", "true"), ("exists({a: 1}.b)", "false")],
    body: Body::Lenient(|values| Ok(Value::Bool(!values[0].is_null()))),
};

const IS_OF_TYPE: Function = Function {
    name: "isOfType",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "isOfType(value, type)",
    description: "True if a value has a type; also written `value IS :: TYPE`.",
    examples: &[
        ("isOfType(1, 'INTEGER')", "true"),
        ("isOfType([1, null], 'LIST<INTEGER NOT NULL>')", "false"),
        ("isOfType(null, 'STRING')", "true"),
    ],
    body: Body::Lenient(|values| match &values[1] {
        Value::String(of) => Ok(Value::Bool(is_of_type(&values[0], of)?)),
        other => Err(mismatch("isOfType", "the name of a type", other)),
    }),
};

/// Types joined by bars, of which one is enough.
fn is_of_type(value: &Value, types: &str) -> Result<bool> {
    let mut depth = 0_usize;
    let alternatives = types.split(|letter: char| {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '|' && depth == 0
    });
    for one in alternatives {
        if is_of_one(value, one.trim())? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_of_one(value: &Value, of: &str) -> Result<bool> {
    let (name, takes_null) = match of.strip_suffix(" NOT NULL") {
        Some(name) => (name.trim_end(), false),
        None => (of, true),
    };
    if let Some(inner) = name.strip_prefix("LIST<").and_then(|inner| inner.strip_suffix('>')) {
        return match value {
            Value::Null => Ok(takes_null),
            Value::List(items) => {
                for item in items.iter() {
                    if !is_of_type(item, inner)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        };
    }
    const OTHERS: &[&str] = &["BYTES", "LIST", "MAP", "NODE", "RELATIONSHIP", "PATH"];
    let is_known = OTHERS.contains(&name) || PropertyKind::ALL.iter().any(|kind| kind.name() == name);
    match name {
        "NOTHING" => Ok(false),
        "NULL" => Ok(value.is_null() && takes_null),
        _ if value.is_null() => Ok(takes_null),
        "ANY" => Ok(true),
        "PROPERTY VALUE" => Ok(value.is_storable()),
        _ if is_known => Ok(value.type_name() == name),
        _ => Err(error!(Argument, "isOfType() does not know the type {name}")),
    }
}
