//! Completion of keywords, labels, edge types, properties and procedures, and the end of a statement over several lines.

use client::Session;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

const KEYWORDS: &[&str] = &[
    "ALL", "AND", "AS", "ASC", "ATTACH", "BEGIN", "CALL", "CASE", "COMMIT", "CONSTRAINT", "CONTAINS", "CREATE",
    "DELETE", "DESC", "DETACH", "DISTINCT", "DROP", "ELSE", "END", "ENDS WITH", "EXISTS", "EXPLAIN", "FALSE", "FOR",
    "IN", "IS NULL", "IS NOT NULL", "IS UNIQUE", "LIMIT", "MATCH", "MERGE", "NOT", "NULL", "ON CREATE SET",
    "ON MATCH SET", "OPTIONAL MATCH", "OR", "ORDER BY", "PRELOAD", "PROFILE", "REMOVE", "REQUIRE", "RETURN",
    "ROLLBACK", "SET", "SHOW CONSTRAINTS", "SHOW SOURCES", "SHOW STATEMENTS", "SKIP", "STARTS WITH", "THEN", "TRUE",
    "UNION", "UNWIND", "WHEN", "WHERE", "WITH", "XOR", "YIELD",
];

const COMMANDS: &[&str] =
    &[":begin", ":commit", ":format", ":help", ":param", ":params", ":quit", ":rollback", ":schema"];

/// Names of the store that completion knows.
pub(super) struct ShellHelper {
    /// Labels and edge types, which stand after a colon.
    names: Vec<String>,
    /// Property keys, which stand after a dot or in braces.
    keys: Vec<String>,
    /// Functions and procedures.
    callables: Vec<String>,
}

impl ShellHelper {
    pub(super) fn new(session: &mut Session) -> ShellHelper {
        let callables = session.callable_names().unwrap_or_default();
        let mut helper = ShellHelper { names: Vec::new(), keys: Vec::new(), callables };
        helper.refresh(session);
        helper
    }

    /// Learns names that were added since, but not within a transaction, which would read them.
    pub(super) fn refresh(&mut self, session: &mut Session) {
        if session.in_transaction() && session.graph().database().is_none() {
            return;
        }
        // Without the store's names completion knows keywords only; the next statement will say what is wrong.
        if let Ok(names) = session.names() {
            self.names = names.labels_and_types;
            self.keys = names.property_keys;
        }
    }

    /// Words that may stand at the end of `before`, and the position where the word starts.
    fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = before
            .rfind(|c: char| !is_word(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let word = &before[start..];
        let previous = before[..start].chars().next_back();
        if before.starts_with(':') {
            return (0, matching(before, COMMANDS.iter().copied()));
        }
        let found = match previous {
            Some(':' | '|' | '&') => matching(word, self.names.iter().map(String::as_str)),
            Some('.') => {
                let dotted = before[..start - 1].rfind(|c: char| !is_word(c) && c != '.').map_or(0, |at| at + 1);
                let whole = matching(&before[dotted..], self.callables.iter().map(String::as_str));
                if !whole.is_empty() {
                    return (dotted, whole);
                }
                matching(word, self.keys.iter().map(String::as_str))
            }
            _ if word.is_empty() => Vec::new(),
            Some('{' | ',') => matching(word, self.keys.iter().map(String::as_str)),
            _ => {
                let words = KEYWORDS.iter().copied().chain(self.callables.iter().map(String::as_str));
                matching(word, words)
            }
        };
        (start, found)
    }
}

/// The words that begin so, in any case; keywords follow the case of what was typed.
fn matching<'a>(prefix: &str, words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower = prefix.to_lowercase();
    let is_lower = !prefix.is_empty() && prefix.chars().all(|c| !c.is_uppercase());
    let fitting = words.filter(|word| word.to_lowercase().starts_with(&lower));
    let mut found: Vec<String> = fitting
        .map(|word| if is_lower && KEYWORDS.contains(&word) { word.to_lowercase() } else { word.to_string() })
        .collect();
    found.sort();
    found.dedup();
    found
}

impl Completer for ShellHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, found) = self.candidates(&line[..position]);
        Ok((start, found.into_iter().map(|word| Pair { display: word.clone(), replacement: word }).collect()))
    }
}

impl Validator for ShellHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        let ended = input.trim_start().starts_with(':') || input.ends_with('\n') || !database::is_unfinished(input);
        Ok(if ended { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for ShellHelper {
    type Hint = String;
}

impl Highlighter for ShellHelper {}

impl Helper for ShellHelper {}

#[cfg(test)]
mod tests {
    use super::ShellHelper;

    fn check(before: &str, expected: &[&str]) {
        let helper = ShellHelper {
            names: vec!["Person".into(), "KNOWS".into()],
            keys: vec!["name".into(), "age".into()],
            callables: vec!["algo.pagerank".into(), "toUpper".into()],
        };
        assert_eq!(helper.candidates(before).1, expected, "{before}");
    }

    #[test]
    fn candidates_fit_their_place() {
        check("MA", &["MATCH"]);
        check("mat", &["match"]);
        check("MATCH (p:Pe", &["Person"]);
        check("MATCH (p)-[:", &["KNOWS", "Person"]);
        check("RETURN p.na", &["name"]);
        check("CALL algo.pa", &["algo.pagerank"]);
        check("RETURN toU", &["toUpper"]);
        check(":sch", &[":schema"]);
        check("RETURN ", &[]);
    }
}
