//! The scalar functions, one file for each category, and the catalog of all functions.
//!
//! A function is one constant (name, usage, sentence, examples) and one `fn`, entered in the list of its file. Its
//! examples run as tests and become `docs/functions.md`.

use crate::allocations::{BYTES_OF_WORK, weight};
use std::sync::LazyLock;

use cypher::catalog::{FunctionKind, FunctionSignature};
use model::interrupt::work;
use model::{ColumnData, Error, Map, Result, StringColumn, Value, error};

use crate::aggregates;
use crate::context::EvaluationContext;
use crate::size::own_bytes;
use crate::vector::{TextOperand, Vector, View, map, validity_of};

mod apoc;
pub(crate) mod conversion;
mod graph;
mod list;
mod math;
mod normal_form;
mod path;
mod predicate;
mod results;
mod spatial;
mod string;
mod temporal;

pub(crate) use list::Integers;
pub use results::result_of;

/// A scalar function.
#[derive(Debug)]
pub struct Function {
    /// Its name as documented; found in any case.
    pub name: &'static str,
    /// Fewest arguments.
    pub arguments_min: usize,
    /// Most arguments; `None` for any number.
    pub arguments_max: Option<usize>,
    /// Form of a call, as `toUpper(text)`.
    pub usage: &'static str,
    /// One sentence.
    pub description: &'static str,
    /// Expressions and the literal form of what they give.
    pub examples: &'static [(&'static str, &'static str)],
    pub(crate) body: Body,
}

/// The computation of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// A row at a time; null if an argument is null, without being asked.
    Strict(fn(&[Value]) -> Result<Value>),
    /// A row at a time, nulls included.
    Lenient(fn(&[Value]) -> Result<Value>),
    /// One float of one number.
    Float(fn(f64) -> f64),
    /// One text of one text: appends its result.
    Text(fn(&str, &mut String) -> Result<()>),
    /// A batch at a time.
    Batch(fn(&[Vector], usize, &EvaluationContext<'_>) -> Result<Vector>),
}

/// A category of functions, for the documentation.
struct Category {
    title: &'static str,
    functions: &'static [&'static Function],
}

const CATEGORIES: &[Category] = &[
    Category { title: "Nodes and relationships", functions: graph::FUNCTIONS },
    Category { title: "Paths", functions: path::FUNCTIONS },
    Category { title: "Lists and maps", functions: list::FUNCTIONS },
    Category { title: "Lists, by names of APOC", functions: apoc::FUNCTIONS },
    Category { title: "Strings", functions: string::FUNCTIONS },
    Category { title: "Numbers", functions: math::FUNCTIONS },
    Category { title: "Dates and times", functions: temporal::FUNCTIONS },
    Category { title: "Points", functions: spatial::FUNCTIONS },
    Category { title: "Conversion", functions: conversion::FUNCTIONS },
    Category { title: "Predicates", functions: predicate::FUNCTIONS },
];

static BY_NAME: LazyLock<Map<String, &'static Function>> =
    LazyLock::new(|| scalar_functions().map(|function| (function.name.to_lowercase(), function)).collect());

/// All scalar functions, category by category.
pub fn scalar_functions() -> impl Iterator<Item = &'static Function> {
    CATEGORIES.iter().flat_map(|category| category.functions.iter().copied())
}

/// The scalar function of that name, in any case.
pub fn find(name: &str) -> Option<&'static Function> {
    BY_NAME.get(&name.to_lowercase()).copied()
}

/// The signatures of scalar and aggregate functions, as binding asks for them.
#[derive(Debug)]
pub struct FunctionCatalog {
    signatures: Map<String, FunctionSignature>,
    names: Vec<&'static str>,
}

impl FunctionCatalog {
    /// The catalog of all functions.
    pub fn new() -> FunctionCatalog {
        let scalars = scalar_functions().map(|function| FunctionSignature {
            name: function.name,
            kind: FunctionKind::Scalar,
            arguments_min: function.arguments_min,
            arguments_max: function.arguments_max,
            takes_weights: false,
        });
        let all: Vec<FunctionSignature> = scalars.chain(aggregates::signatures()).collect();
        let names = all.iter().map(|signature| signature.name).collect();
        let signatures = all.into_iter().map(|signature| (signature.name.to_lowercase(), signature)).collect();
        FunctionCatalog { signatures, names }
    }

    /// The function of that name, in any case.
    pub fn function(&self, name: &str) -> Option<&FunctionSignature> {
        self.signatures.get(&name.to_lowercase())
    }

    /// The names of all functions, for suggestions.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }
}

impl Default for FunctionCatalog {
    fn default() -> FunctionCatalog {
        FunctionCatalog::new()
    }
}

/// Calls a function for a batch of rows.
pub(crate) fn call(
    function: &Function,
    arguments: &[Vector],
    rows: usize,
    context: &EvaluationContext<'_>,
) -> Result<Vector> {
    let noted = |value: Value| context.made(function.usage, own_bytes(&value)).map(|()| value);
    match function.body {
        Body::Batch(body) => {
            let before = context.made.bytes();
            let vector = body(arguments, rows, context)?;
            // Functions whose results can be much larger than their arguments have noted them.
            context.made(function.usage, vector.own_bytes().saturating_sub(context.made.bytes() - before))?;
            Ok(vector)
        }
        Body::Strict(body) => by_rows(arguments, rows, |values| unless_null(values, body).and_then(noted)),
        Body::Lenient(body) => by_rows(arguments, rows, |values| body(values).and_then(noted)),
        Body::Float(body) => floats(function, body, &arguments[0], rows),
        Body::Text(body) => {
            let vector = texts(function, body, &arguments[0], rows)?;
            context.made(function.usage, vector.own_bytes())?;
            Ok(vector)
        }
    }
}

/// Null if an argument is, else what `body` makes of them.
fn unless_null(values: &[Value], body: impl Fn(&[Value]) -> Result<Value>) -> Result<Value> {
    if values.iter().any(Value::is_null) { Ok(Value::Null) } else { body(values) }
}

fn by_rows(arguments: &[Vector], rows: usize, body: impl Fn(&[Value]) -> Result<Value>) -> Result<Vector> {
    let mut values: Vec<Value> = arguments.iter().map(|argument| argument.value(0)).collect();
    if arguments.iter().all(|argument| argument.constant().is_some()) {
        let result = body(&values)?;
        work(1 + weight(&result))?;
        return Ok(Vector::Constant(result));
    }
    let varying: Vec<usize> = (0..arguments.len()).filter(|&index| arguments[index].constant().is_none()).collect();
    // Texts of a dictionary are looked at once for each entry that is met.
    let codes = match varying.as_slice() {
        [index] => codes_of(&arguments[*index], rows),
        _ => None,
    };
    let mut known: Vec<Option<Value>> = vec![None; codes.map_or(0, |(_, entries)| entries)];
    let mut results = Vec::with_capacity(rows);
    for row in 0..rows {
        let code = codes.map(|(codes, _)| codes[row] as usize).filter(|_| !arguments[varying[0]].is_null(row));
        if let Some(result) = code.and_then(|code| known[code].as_ref()) {
            work(1)?;
            results.push(result.clone());
            continue;
        }
        varying.iter().for_each(|&index| values[index] = arguments[index].value(row));
        work(1 + varying.iter().map(|&index| weight(&values[index])).sum::<usize>())?;
        let result = body(&values)?;
        work(weight(&result))?;
        if let Some(code) = code {
            known[code] = Some(result.clone());
        }
        results.push(result);
    }
    Ok(Vector::from_values(&results))
}

/// The numbers of the texts of a dictionary, and how many texts it has, if these are fewer than the rows.
fn codes_of(argument: &Vector, rows: usize) -> Option<(&[u32], usize)> {
    let View::String(TextOperand::Many(texts)) = argument.view() else { return None };
    let (codes, texts) = texts.codes()?;
    (texts.len() < rows).then_some((codes, texts.len()))
}

fn floats(function: &Function, body: fn(f64) -> f64, argument: &Vector, rows: usize) -> Result<Vector> {
    if argument.constant().is_none() {
        let data = match argument.view() {
            View::Float(values) => Some(map(rows, values, body)),
            View::Int(values) => Some(map(rows, values, |x| body(x as f64))),
            _ => None,
        };
        if let Some(data) = data {
            return Ok(Vector::of(ColumnData::Float(data), validity_of(argument)));
        }
    }
    by_rows(std::slice::from_ref(argument), rows, |values| match &values[0] {
        Value::Null => Ok(Value::Null),
        value => Ok(Value::Float(body(number(function.name, value)?))),
    })
}

fn texts(
    function: &Function,
    body: fn(&str, &mut String) -> Result<()>,
    argument: &Vector,
    rows: usize,
) -> Result<Vector> {
    let mut buffer = String::new();
    if argument.constant().is_none()
        && let View::String(values) = argument.view()
    {
        let mut results = StringColumn::default();
        for row in 0..rows {
            buffer.clear();
            body(values.get(row), &mut buffer)?;
            work(1 + buffer.len() / BYTES_OF_WORK)?;
            results.push(&buffer);
        }
        return Ok(Vector::of(ColumnData::String(results), validity_of(argument)));
    }
    by_rows(std::slice::from_ref(argument), rows, |values| match &values[0] {
        Value::Null => Ok(Value::Null),
        value => {
            let mut result = String::new();
            body(text(function.name, value)?, &mut result)?;
            Ok(Value::from(result))
        }
    })
}

/// An error about an argument of the wrong kind.
fn mismatch(function: &str, expected: &str, found: &Value) -> Error {
    error!(Type::InvalidArgumentValue, "{function}() takes {expected}, found {}", found.type_name())
}

fn number(function: &str, value: &Value) -> Result<f64> {
    match value {
        Value::Int(x) => Ok(*x as f64),
        Value::Float(x) => Ok(*x),
        other => Err(mismatch(function, "a number", other)),
    }
}

fn integer(function: &str, value: &Value) -> Result<i64> {
    match value {
        Value::Int(x) => Ok(*x),
        other => Err(mismatch(function, "an integer", other)),
    }
}

fn text<'v>(function: &str, value: &'v Value) -> Result<&'v str> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(mismatch(function, "a string", other)),
    }
}

fn items<'v>(function: &str, value: &'v Value) -> Result<&'v [Value]> {
    match value {
        Value::List(items) => Ok(items),
        other => Err(mismatch(function, "a list", other)),
    }
}

/// The manual page of all functions, as `docs/functions.md` has it.
pub fn manual() -> String {
    let mut page = String::from(
        "# Functions\n\nGenerated from the registry of functions: every example here runs as a test.\nUnless its description says otherwise, a scalar function of null is null.\n\nIn the examples `n` is `(:Person:Admin {name: 'Bob'})`, `r` \
         is the relationship from\n`(:Person {name: 'Ann'})` to it, `[:KNOWS {since: 2001}]`, and `p` the path over \
         `r`.\n",
    );
    for category in CATEGORIES {
        page.push_str(&format!("\n## {}\n", category.title));
        for function in category.functions {
            page.push_str(&format!("\n### {}\n\n`{}`: {}\n", function.name, function.usage, function.description));
            let examples = function.examples.iter();
            let lines: Vec<String> = examples.map(|(text, result)| format!("- `{text}` gives `{result}`\n")).collect();
            if !lines.is_empty() {
                page.push_str(&format!("\n{}", lines.concat()));
            }
        }
    }
    page.push_str(
        "\n## Aggregates\n\nNulls are passed over; `DISTINCT` before the argument counts equal values once.\n",
    );
    for entry in aggregates::LIST {
        page.push_str(&format!("\n### {}\n\n`{}`: {}\n", entry.name, entry.usage, entry.description));
    }
    page
}

#[cfg(test)]
mod tests;
