//! `STARTS WITH`, `ENDS WITH`, `CONTAINS` and `=~`. What is not a text gives null.

use std::sync::{Arc, Mutex};

use cypher::plan::BinaryOperator;
use model::interrupt::{check_this_thread, work};
use model::{ColumnData, Map, Result, Value, error};
use regex::{Regex, RegexBuilder};

use super::evaluate::truths;
use crate::allocations::{BYTES_OF_WORK, weight};
use crate::vector::{TextOperand, Vector, View, common_validity, try_map_texts};

/// Patterns that are kept compiled: there may be another in each row. Of large ones the last is kept, since their memory is
/// counted nowhere.
const PATTERNS_MAX: usize = 16;
/// Bytes of a compiled pattern from which on it is large.
const LARGE_BYTES: usize = 256 << 10;
/// Bytes that a compiled pattern may take.
const PATTERN_BYTES_MAX: usize = 10 << 20;
/// Bytes of what a search finds out about its pattern.
const SEARCH_BYTES_MAX: usize = 1 << 20;

/// The patterns last used, compiled.
#[derive(Debug, Default)]
pub(crate) struct PatternCache(Mutex<Patterns>);

#[derive(Debug, Default)]
struct Patterns {
    small: Map<Arc<str>, Regex>,
    large: Option<(Arc<str>, Regex)>,
}

/// `left STARTS WITH right` and its kin for each row.
pub(crate) fn evaluate(operator: BinaryOperator, left: &Vector, right: &Vector, rows: usize) -> Result<Vector> {
    let test: fn(&str, &str) -> bool = match operator {
        BinaryOperator::StartsWith => |text, part| text.starts_with(part),
        BinaryOperator::EndsWith => |text, part| text.ends_with(part),
        _ => |text, part| text.contains(part),
    };
    if let (Some(left), Some(right)) = (left.constant(), right.constant()) {
        return Ok(Vector::Constant(super::comparison::truth(test_values(test, left, right))));
    }
    match (left.view(), right.view()) {
        (View::String(a), View::String(b)) => {
            let tested = |text: &str, part: &str| {
                work(1 + text.len() / BYTES_OF_WORK)?;
                Ok(test(text, part))
            };
            let results = match b {
                TextOperand::One(part) => try_map_texts(rows, a, |text| tested(text, part))?,
                TextOperand::Many(_) => {
                    let each = (0..rows).map(|row| tested(a.get(row), b.get(row)));
                    each.collect::<Result<_>>()?
                }
            };
            Ok(Vector::of(ColumnData::Bool(results), common_validity(left, right)))
        }
        (View::Value, _) | (_, View::Value) => truths(rows, |row| {
            let text = left.value(row);
            work(weight(&text))?;
            Ok(test_values(test, &text, &right.value(row)))
        }),
        _ => Ok(Vector::NULL),
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
                let results = try_map_texts(rows, texts, |text| is_match(&pattern, text))?;
                Ok(Vector::of(ColumnData::Bool(results), common_validity(text, text)))
            }
            View::Value => truths(rows, |row| match_value(&pattern, &text.value(row))),
            _ => Ok(Vector::NULL),
        };
    }
    truths(rows, |row| match pattern.value(row) {
        Value::String(pattern) => match_value(&cache.get(&pattern)?, &text.value(row)),
        _ => Ok(None),
    })
}

fn match_value(pattern: &Regex, text: &Value) -> Result<Option<bool>> {
    match text {
        Value::String(text) => is_match(pattern, text).map(Some),
        _ => Ok(None),
    }
}

fn is_match(pattern: &Regex, text: &str) -> Result<bool> {
    work(1 + text.len())?;
    Ok(pattern.is_match(text))
}

impl PatternCache {
    fn get(&self, pattern: &Arc<str>) -> Result<Regex> {
        let mut held = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let large = held.large.as_ref().filter(|(known, _)| known == pattern).map(|(_, compiled)| compiled);
        if let Some(compiled) = held.small.get(pattern).or(large) {
            return Ok(compiled.clone());
        }
        // It may take some milliseconds.
        check_this_thread()?;
        check(pattern)?;
        if let Ok(compiled) = compile(pattern, LARGE_BYTES) {
            if held.small.len() >= PATTERNS_MAX {
                held.small.clear();
            }
            held.small.insert(pattern.clone(), compiled.clone());
            return Ok(compiled);
        }
        held.large = None;
        let compiled = compile(pattern, PATTERN_BYTES_MAX).map_err(|_| {
            error!(
                Limit,
                "the regular expression {} takes more than {PATTERN_BYTES_MAX} bytes compiled",
                shown(pattern)
            )
            .with_remedy("repeat less in it: {0,1000} copies what it repeats a thousand times")
        })?;
        held.large = Some((pattern.clone(), compiled.clone()));
        Ok(compiled)
    }
}

/// Fails for what is no pattern by itself: what stands around it may make a pattern of it, and belongs in no message.
fn check(pattern: &str) -> Result<()> {
    let Err(cause) = regex_syntax::parse(pattern) else { return Ok(()) };
    let (cause, place) = match &cause {
        regex_syntax::Error::Parse(cause) => (cause.kind().to_string(), Some(cause.span().start)),
        regex_syntax::Error::Translate(cause) => (cause.kind().to_string(), Some(cause.span().start)),
        other => (other.to_string(), None),
    };
    let place = place
        .map_or_else(String::new, |place| format!(" at character {}", pattern[..place.offset].chars().count() + 1));
    Err(error!(Argument, "{} is no regular expression: {cause}{place}", shown(pattern)))
}

/// Compiles a pattern to match whole strings, within a size limit.
fn compile(pattern: &str, bytes_max: usize) -> std::result::Result<Regex, regex::Error> {
    let build =
        |whole: String| RegexBuilder::new(&whole).size_limit(bytes_max).dfa_size_limit(SEARCH_BYTES_MAX).build();
    build(format!(r"\A(?:{pattern})\z")).or_else(|cause| match cause {
        // A comment of the verbose mode would go on.
        regex::Error::Syntax(_) => build(format!("\\A(?:{pattern}\n)\\z")),
        other => Err(other),
    })
}

/// A pattern as messages show it.
fn shown(pattern: &str) -> String {
    const CHARS_MAX: usize = 80;
    match pattern.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("'{}…'", &pattern[..end]),
        None => format!("'{pattern}'"),
    }
}
