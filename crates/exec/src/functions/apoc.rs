//! Functions that programs for Neo4j call by their names in APOC.

use model::interrupt::work;
use model::limits::{BATCH_ROWS, LIST_ELEMENTS_MAX};
use model::{Result, Set, Value, error};

use super::{Body, Function, items, mismatch};
use crate::allocations::list_bytes;
use crate::context::EvaluationContext;

pub(super) const FUNCTIONS: &[&Function] = &[&FLATTEN, &TO_SET];

const FLATTEN: Function = Function {
    name: "apoc.coll.flatten",
    arguments_min: 1,
    arguments_max: Some(2),
    usage: "apoc.coll.flatten(list, recursive)",
    description: "The elements of a list, with those of lists in their places; also of lists within these if the second \
                  argument is true.",
    examples: &[
        ("apoc.coll.flatten([1, [2, [3]], []])", "[1, 2, [3]]"),
        ("apoc.coll.flatten([1, [2, [3]]], true)", "[1, 2, 3]"),
    ],
    body: Body::Batch(|arguments, rows, context| {
        super::by_rows(arguments, rows, |values| super::unless_null(values, |values| flattened(values, context)))
    }),
};

fn flattened(values: &[Value], context: &EvaluationContext<'_>) -> Result<Value> {
    let is_deep = match values.get(1) {
        None => false,
        Some(Value::Bool(is_deep)) => *is_deep,
        Some(other) => return Err(mismatch("apoc.coll.flatten", "a boolean as the second argument", other)),
    };
    let mut flat = Vec::new();
    let depth = if is_deep { usize::MAX } else { 1 };
    flatten(items("apoc.coll.flatten", &values[0])?, depth, &mut flat, context)?;
    Ok(Value::list(flat))
}

/// Adds elements; those of lists in place of these, down to a depth. Few lists that share their elements may make very many.
fn flatten(list: &[Value], depth: usize, flat: &mut Vec<Value>, context: &EvaluationContext<'_>) -> Result<()> {
    for some in list.chunks(BATCH_ROWS) {
        work(some.len())?;
        context.made(FLATTEN.usage, list_bytes(some.len()))?;
        for item in some {
            match item {
                Value::List(inner) if depth > 0 => flatten(inner, depth - 1, flat, context)?,
                other => flat.push(other.clone()),
            }
        }
        if flat.len() > LIST_ELEMENTS_MAX {
            return Err(error!(Limit, "a list holds at most {LIST_ELEMENTS_MAX} elements")
                .with_remedy("UNWIND the lists one after the other"));
        }
    }
    Ok(())
}

const TO_SET: Function = Function {
    name: "apoc.coll.toSet",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "apoc.coll.toSet(list)",
    description: "The different elements of a list, each where it came first.",
    examples: &[("apoc.coll.toSet([1, 2, 1.0, [3], [3], null, null])", "[1, 2, [3], null]")],
    body: Body::Strict(|values| {
        let mut met = Set::default();
        let mut different = Vec::new();
        for item in items("apoc.coll.toSet", &values[0])? {
            work(1)?;
            if met.insert(item) {
                different.push(item.clone());
            }
        }
        Ok(Value::list(different))
    }),
};
