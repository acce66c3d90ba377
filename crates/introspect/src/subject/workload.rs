//! Statements that are measured, a layer of their own above algorithms: built in for known graphs, of a file, or of a recorded trace.
//!
//! - `built_in`: statements of benchmarks, for graphs that have their labels and types.
//! - `reading`: statements of a file and of a trace.
//!
//! Invariant: none of them writes.

mod built_in;
mod reading;

use std::sync::Arc;

use database::{Effect, Parameters};
use model::{Result, Value, error};

use super::Start;
use crate::operations::{Operation, StatementName};

pub(crate) use built_in::{Schema, built_in, names};
pub use reading::{of_text, of_trace};

/// Statements that are measured, at most.
pub const STATEMENTS_MAX: usize = 100;
/// Characters of a name, at most.
const NAME_CHARS: usize = 60;

/// A statement with the parameters of its calls.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its name in tables and files.
    pub name: StatementName,
    calls: Calls,
}

#[derive(Clone, Debug)]
enum Calls {
    /// The same text, with parameters from the start: `$key`, `$node` and `$target`.
    FromStarts(Arc<str>),
    /// Texts and parameters that were recorded, one after the other.
    Recorded(Vec<(Arc<str>, Parameters)>),
}

/// Words that are no part of a statement that reads, and those with which such a statement does not begin.
const WRITING: [&str; 7] = ["CREATE", "MERGE", "SET", "REMOVE", "DELETE", "FOREACH", "INSERT"];
const BEGINNING: [&str; 28] = [
    "ALTER", "ATTACH", "BACKUP", "BEGIN", "CHECKPOINT", "COMMIT", "COMPACT", "COPY", "DENY", "DETACH", "DISABLE",
    "DROP", "DRYRUN", "ENABLE", "EXPLAIN", "GRANT", "IMPORT", "INSTALL", "PRELOAD", "PROFILE", "REALLOCATE", "RENAME",
    "REVOKE", "ROLLBACK", "START", "STOP", "TERMINATE", "EXPORT",
];

impl Statement {
    /// A statement whose parameters are from starts.
    ///
    /// # Errors
    /// `ARGUMENT` if it does not only read.
    pub fn new(name: &str, text: &str) -> Result<Statement> {
        if let Some(word) = forbidden(text) {
            let message = format!("statement '{name}' has the word {word}, and only statements that read are measured");
            return Err(error!(Argument, "{message}")
                .with_remedy("leave the statement out, or put a name that is such a word in backticks"));
        }
        Ok(Statement { name: StatementName::of(name), calls: Calls::FromStarts(text.into()) })
    }

    fn recorded(name: &str, calls: Vec<(Arc<str>, Parameters)>) -> Statement {
        Statement { name: StatementName::of(name), calls: Calls::Recorded(calls) }
    }

    /// The text and the parameters of a call.
    pub(crate) fn call(&self, start: &Start) -> (Arc<str>, Parameters) {
        match &self.calls {
            Calls::Recorded(calls) => calls[start.turn % calls.len()].clone(),
            Calls::FromStarts(text) => (text.clone(), parameters(start)),
        }
    }

    /// The texts of its calls.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Arc<str>> {
        let (one, several) = match &self.calls {
            Calls::FromStarts(text) => (Some(text), &[][..]),
            Calls::Recorded(calls) => (None, &calls[..1.min(calls.len())]),
        };
        one.into_iter().chain(several.iter().map(|(text, _)| text))
    }

    /// The starts of its calls, of those that were chosen: one if all calls are the same.
    ///
    /// # Errors
    /// `ARGUMENT` if it needs a key and no start has one.
    pub(crate) fn starts(&self, chosen: &[Start]) -> Result<Vec<Start>> {
        let turns = |count: usize| (0..count).map(|turn| Start { turn, ..Start::default() }).collect();
        let text = match &self.calls {
            Calls::Recorded(calls) => return Ok(turns(calls.len())),
            Calls::FromStarts(text) => text,
        };
        if !["key", "node", "target"].iter().any(|name| uses(text, name)) {
            return Ok(turns(1));
        }
        let needs_key = uses(text, "key");
        let starts: Vec<Start> = chosen.iter().filter(|start| !needs_key || start.key.is_some()).cloned().collect();
        if starts.is_empty() {
            let failed = error!(Argument, "the statement has $key, and no node that was chosen has a unique key");
            return Err(failed.with_remedy("use $node, the id of the start, or make a constraint of a unique property"));
        }
        Ok(starts)
    }

    /// True if it calls a procedure, of which its text does not say whether it writes.
    pub(crate) fn calls_procedure(&self) -> bool {
        let calls = |text: &str| match Effect::of(text) {
            Effect::Reads { calls_procedure } => calls_procedure,
            _ => words(text).any(|(word, _, next)| word == "CALL" && !matches!(next, Some('{' | '('))),
        };
        match &self.calls {
            Calls::FromStarts(text) => calls(text),
            Calls::Recorded(recorded) => recorded.first().is_some_and(|(text, _)| calls(text)),
        }
    }
}

/// The statements as operations.
pub(crate) fn operations(workload: &[Statement]) -> Vec<Operation> {
    workload.iter().map(|statement| Operation::Statement(statement.name)).collect()
}

/// The statement of that name.
pub(crate) fn find(workload: &[Statement], name: StatementName) -> Result<&Statement> {
    let found = workload.iter().find(|statement| statement.name == name);
    found.ok_or_else(|| error!(Internal, "a statement '{}' is asked for that is not there", name.text()))
}

/// The starts of an operation by statements, of those that were chosen.
pub(crate) fn starts(workload: &[Statement], operation: Operation, chosen: &[Start]) -> Result<Vec<Start>> {
    match operation {
        Operation::Statement(name) => find(workload, name)?.starts(chosen),
        _ => Ok(super::starts_of(operation, chosen)),
    }
}

/// The parameters of a statement from a start.
fn parameters(start: &Start) -> Parameters {
    Parameters::from_iter([
        ("key".into(), start.key.clone().unwrap_or(Value::Null)),
        ("node".into(), Value::Int(start.node.cast_signed())),
        ("target".into(), Value::Int(start.target.cast_signed())),
    ])
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// True if a text has a parameter of that name.
fn uses(text: &str, name: &str) -> bool {
    let text = database::trace::shape_of(text);
    let mut after = text.split('$').skip(1);
    after.any(|rest| rest.trim_start().split(|sign| !is_of_name(sign)).next() == Some(name))
}

/// The words of a text outside of literals, comments and quoted names, in capitals, with the sign before each and the one
/// after it.
fn words(text: &str) -> impl Iterator<Item = (String, Option<char>, Option<char>)> {
    let shape = database::trace::shape_of(text);
    let plain: String = shape.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "?" }).collect();
    let signs: Vec<char> = plain.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < signs.len() {
        let start = at;
        while at < signs.len() && is_of_name(signs[at]) {
            at += 1;
        }
        if at > start {
            let before = signs[..start].iter().rev().find(|sign| !sign.is_whitespace()).copied();
            let next = signs[at..].iter().find(|sign| !sign.is_whitespace()).copied();
            found.push((signs[start..at].iter().collect::<String>().to_uppercase(), before, next));
        }
        at += 1;
    }
    found.into_iter()
}

/// The first word of a text by which it does not only read. A text that is not of our Cypher, which another server may
/// understand, is judged by its words.
fn forbidden(text: &str) -> Option<String> {
    match Effect::of(text) {
        Effect::Reads { .. } => return None,
        Effect::Other(word) => return Some(word),
        Effect::Unknown => {}
    }
    // A name of a property, a label or a parameter is no clause.
    let is_name = |before: Option<char>| matches!(before, Some('.' | ':' | '$' | '|' | '&' | '!'));
    words(text).enumerate().find_map(|(at, (word, before, _))| {
        let is_forbidden = WRITING.contains(&&*word) || (at == 0 && BEGINNING.contains(&&*word));
        (is_forbidden && !is_name(before)).then_some(word)
    })
}

#[cfg(test)]
mod tests;
