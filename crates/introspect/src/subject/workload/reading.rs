//! Statements of a file, with names in comments, and those of a recorded trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use database::Parameters;
use database::trace::{TraceEvent, TraceKind, shape_of};
use model::{Result, error};

use super::{NAME_CHARS, STATEMENTS_MAX, Statement, forbidden};
use crate::operations::Operation;

/// The sign that some editors put at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// The comment with the name of the statement that follows.
const NAME: &str = "// name:";

/// The statements of a text, separated by semicolons. The line `// name: …` before one gives its name; others are called by
/// their number.
///
/// # Errors
/// `ARGUMENT` if there are none, or too many, if two have one name, or one does not only read.
pub fn of_text(text: &str) -> Result<Vec<Statement>> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let texts = database::split_statements(text);
    if texts.is_empty() {
        return Err(error!(Argument, "there is no statement").with_remedy("write statements, separated by ;"));
    }
    if texts.len() > STATEMENTS_MAX {
        let failed =
            error!(Argument, "there are {} statements, and at most {STATEMENTS_MAX} are measured", texts.len());
        return Err(failed.with_remedy("measure them in several files"));
    }
    let mut found: Vec<Statement> = Vec::new();
    let mut end = 0;
    for (at, statement) in texts.into_iter().enumerate() {
        let start = statement.as_ptr() as usize - text.as_ptr() as usize;
        let name = name_in(&text[end..start]).unwrap_or_else(|| format!("statement {}", at + 1));
        end = start + statement.len();
        let line = 1 + text[..start].matches('\n').count();
        found.push(checked(&name, statement, &found).map_err(|failure| failure.within(&format!("line {line}")))?);
    }
    Ok(found)
}

/// The name that the comments before a statement give it.
fn name_in(comments: &str) -> Option<String> {
    let named = comments.lines().filter_map(|line| line.trim().strip_prefix(NAME)).next_back()?.trim();
    (!named.is_empty()).then(|| named.to_owned())
}

fn checked(name: &str, text: &str, others: &[Statement]) -> Result<Statement> {
    if name.chars().count() > NAME_CHARS {
        let failed = error!(Argument, "the name '{name}' is longer than {NAME_CHARS} characters");
        return Err(failed.with_remedy("give a shorter one"));
    }
    let is_taken = others.iter().any(|other| other.name.text() == name)
        || Operation::all().iter().any(|operation| operation.to_string() == name);
    if is_taken {
        let failed = error!(Argument, "the name '{name}' is that of another statement or operation");
        return Err(failed.with_remedy("give each statement a name of its own"));
    }
    Statement::new(name, text)
}

/// Calls of a statement in a trace: texts and parameters.
type Recorded = Vec<(Arc<str>, Parameters)>;

/// The statements of a trace that read, and the number of events that are left out: those that write or failed, and what is no
/// statement. Calls that differ in literals are calls of one statement. If there are too many statements, those that took the
/// most time are taken.
///
/// # Errors
/// Those of reading the trace; `ARGUMENT` if no statement reads.
pub fn of_trace(events: impl Iterator<Item = Result<TraceEvent>>) -> Result<(Vec<Statement>, usize)> {
    let mut shapes: BTreeMap<String, (u64, Recorded)> = BTreeMap::new();
    let mut left_out = 0;
    for event in events {
        let event = event?;
        if event.kind != TraceKind::Read || event.error.is_some() || forbidden(&event.text).is_some() {
            left_out += 1;
            continue;
        }
        let (ns, calls) = shapes.entry(shape_of(&event.text)).or_default();
        *ns += event.ns;
        calls.push((event.text.into(), event.parameters));
    }
    if shapes.is_empty() {
        let failed = error!(Argument, "no statement of the trace reads");
        return Err(failed.with_remedy("record statements that read, as with knot serve STORE --record FILE"));
    }
    let mut held: Vec<(String, (u64, Recorded))> = shapes.into_iter().collect();
    held.sort_by_key(|(_, (ns, _))| std::cmp::Reverse(*ns));
    left_out += held.iter().skip(STATEMENTS_MAX).map(|(_, (_, calls))| calls.len()).sum::<usize>();
    held.truncate(STATEMENTS_MAX);
    let mut found: Vec<Statement> = Vec::new();
    for (shape, (_, calls)) in held {
        let short: String = shape.chars().take(NAME_CHARS).collect();
        let alike = found.iter().filter(|other| other.name.text().starts_with(&short)).count();
        let name = if alike == 0 { short } else { format!("{short} ({})", alike + 1) };
        found.push(Statement::recorded(&name, calls));
    }
    Ok((found, left_out))
}
