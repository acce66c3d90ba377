//! Labels and types that are computed: a string or a list of strings in each row.

use std::sync::Arc;

use model::{Column, Error, Map, Result, Value};

/// Names, and the rows that have them, in order.
pub(crate) type Group = (Vec<Arc<str>>, Vec<u32>);

/// The rows of a column of names by what they name, in order of first appearance.
pub(crate) fn by_names(column: &Column) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: Map<Value, usize> = Map::default();
    for (row, value) in column.values().enumerate() {
        let group = match known.get(&value) {
            Some(&group) => group,
            None => {
                groups.push((names(&value)?, Vec::new()));
                known.insert(value, groups.len() - 1);
                groups.len() - 1
            }
        };
        groups[group].1.push(row as u32);
    }
    Ok(groups)
}

/// The names that a value gives.
pub(crate) fn names(value: &Value) -> Result<Vec<Arc<str>>> {
    match value {
        Value::String(name) => Ok(vec![checked(name)?]),
        Value::List(items) => items.iter().map(name).collect(),
        other => Err(wrong(other)),
    }
}

fn name(value: &Value) -> Result<Arc<str>> {
    match value {
        Value::String(name) => checked(name),
        other => Err(wrong(other)),
    }
}

fn checked(name: &Arc<str>) -> Result<Arc<str>> {
    if name.is_empty() {
        return Err(model::error!(Argument, "a label or type needs a name, found the empty string"));
    }
    Ok(name.clone())
}

fn wrong(value: &Value) -> Error {
    let found = value.type_name();
    model::error!(Type, "a label or type is named by a string or a list of strings, found {value} ({found})")
}
