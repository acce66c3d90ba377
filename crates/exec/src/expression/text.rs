//! `STARTS WITH`, `ENDS WITH`, `CONTAINS` and `=~`. What is not a text gives null.

use std::sync::{Arc, Mutex};

use cypher::plan::BinaryOperator;
use model::{ColumnData, Result, Value, error};
use regex::Regex;

use super::evaluate::truths;
use super::vector::{TruthBuilder, Vector, View, common_validity};

/// The pattern last used, compiled.
#[derive(Debug, Default)]
pub(crate) struct PatternCache(Mutex<Option<(Arc<str>, Regex)>>);

/// `left STARTS WITH right` and its kin for each row.
pub(crate) fn evaluate(operator: BinaryOperator, left: &Vector, right: &Vector, rows: usize) -> Vector {
    let test: fn(&str, &str) -> bool = match operator {
        BinaryOperator::StartsWith => |text, part| text.starts_with(part),
        BinaryOperator::EndsWith => |text, part| text.ends_with(part),
        _ => |text, part| text.contains(part),
    };
    if let (Some(left), Some(right)) = (left.constant(), right.constant()) {
        return Vector::Constant(super::comparison::truth(test_values(test, left, right)));
    }
    match (left.view(), right.view()) {
        (View::String(a), View::String(b)) => {
            let results = (0..rows).map(|row| test(a.get(row), b.get(row))).collect();
            Vector::of(ColumnData::Bool(results), common_validity(left, right))
        }
        (View::Value, _) | (_, View::Value) => {
            let mut results = TruthBuilder::new(rows);
            (0..rows).for_each(|row| results.push(test_values(test, &left.value(row), &right.value(row))));
            results.finish()
        }
        _ => Vector::NULL,
    }
}

fn test_values(test: fn(&str, &str) -> bool, left: &Value, right: &Value) -> Option<bool> {
    match (left, right) {
        (Value::String(text), Value::String(part)) => Some(test(text, part)),
        _ => None,
    }
}

/// `text =~ pattern` for each row: true if the whole text matches.
pub(crate) fn matches(text: &Vector, pattern: &Vector, rows: usize, cache: &PatternCache) -> Result<Vector> {
    if let Some(Value::String(pattern)) = pattern.constant() {
        let pattern = cache.get(pattern)?;
        return match text.view() {
            View::String(texts) => {
                let results = (0..rows).map(|row| pattern.is_match(texts.get(row))).collect();
                Ok(Vector::of(ColumnData::Bool(results), common_validity(text, text)))
            }
            View::Value => truths(rows, |row| Ok(match_value(&pattern, &text.value(row)))),
            _ => Ok(Vector::NULL),
        };
    }
    truths(rows, |row| match pattern.value(row) {
        Value::String(pattern) => Ok(match_value(&cache.get(&pattern)?, &text.value(row))),
        _ => Ok(None),
    })
}

fn match_value(pattern: &Regex, text: &Value) -> Option<bool> {
    match text {
        Value::String(text) => Some(pattern.is_match(text)),
        _ => None,
    }
}

impl PatternCache {
    fn get(&self, pattern: &Arc<str>) -> Result<Regex> {
        let mut held = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((text, compiled)) = held.as_ref()
            && text == pattern
        {
            return Ok(compiled.clone());
        }
        let compiled = Regex::new(&format!(r"\A(?:{pattern})\z"))
            .map_err(|error| error!(Argument, "'{pattern}' is no regular expression: {error}"))?;
        *held = Some((pattern.clone(), compiled.clone()));
        Ok(compiled)
    }
}
