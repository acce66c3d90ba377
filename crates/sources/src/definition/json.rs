//! JSON as people write it in definitions: the order of keys is kept, a key that stands twice is refused, and a query may
//! run over several lines inside its quotes, as it does in print.

use std::fmt;
use std::fmt::Write;

use model::{Result, error};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// A JSON value whose objects keep their order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text; the error names line and column.
    pub(super) fn parse(text: &str) -> Result<Json> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mended, breaks) = escape_breaks(text);
        serde_json::from_str(&mended).map_err(|cause| {
            let (line, column) = original_place(&mended, &breaks, cause.line(), cause.column());
            let message = cause.to_string();
            let message = message.rsplit_once(" at line").map_or(&*message, |(what, _)| what);
            error!(Definition, "line {line}, column {column}: {message}").with_remedy("mend the JSON at that place")
        })
    }

    /// Name of its type, for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Json::Null => "null".into(),
            Json::Bool(yes) => yes.to_string(),
            Json::Integer(number) => number.to_string(),
            Json::Number(number) => number.to_string(),
            Json::Text(text) => format!("{text:?}"),
            Json::List(_) => "a list".into(),
            Json::Object(_) => "an object".into(),
        }
    }

    /// The text: what fits a line stands in one.
    pub(super) fn print(&self) -> String {
        let mut text = String::new();
        self.print_to(&mut text, 0, 0);
        text.push('\n');
        text
    }

    fn print_to(&self, out: &mut String, indent: usize, used: usize) {
        let line = self.line();
        let (open, close, count) = match self {
            Json::List(items) => ('[', ']', items.len()),
            Json::Object(entries) => ('{', '}', entries.len()),
            _ => return out.push_str(&line),
        };
        if count == 0 || indent > 0 && indent + used + line.len() <= WIDTH {
            return out.push_str(&line);
        }
        let inner = indent + 2;
        let begin = |out: &mut String, at: usize| {
            out.push_str(if at == 0 { "\n" } else { ",\n" });
            out.extend(std::iter::repeat_n(' ', inner));
        };
        out.push(open);
        match self {
            Json::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    begin(out, at);
                    item.print_to(out, inner, 0);
                }
            }
            Json::Object(entries) => {
                for (at, (key, value)) in entries.iter().enumerate() {
                    begin(out, at);
                    let key = quote(key);
                    out.push_str(&key);
                    out.push_str(": ");
                    value.print_to(out, inner, key.len() + 2);
                }
            }
            _ => {}
        }
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent));
        out.push(close);
    }

    fn line(&self) -> String {
        match self {
            Json::Text(text) => quote(text),
            Json::List(items) => format!("[{}]", join(items.iter().map(Json::line))),
            Json::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{}: {}", quote(key), value.line()));
                match join(entries) {
                    empty if empty.is_empty() => "{}".into(),
                    entries => format!("{{ {entries} }}"),
                }
            }
            other => other.describe(),
        }
    }
}

/// Largest length of a line when it is printed.
const WIDTH: usize = 110;

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                write!(quoted, "\\u{:04x}", c as u32).expect("a string takes all that is written")
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The text with line breaks and tabs inside strings written as JSON wants them, and where (in the new text) they stand.
fn escape_breaks(text: &str) -> (String, Vec<usize>) {
    let (mut mended, mut breaks) = (String::with_capacity(text.len()), Vec::new());
    let (mut in_string, mut after_backslash) = (false, false);
    for c in text.chars() {
        let escape = match c {
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            _ => None,
        };
        if let (true, Some(escape)) = (in_string, escape) {
            breaks.push(mended.len());
            mended.push_str(escape);
        } else {
            mended.push(c);
        }
        in_string ^= c == '"' && !after_backslash;
        after_backslash = in_string && c == '\\' && !after_backslash;
    }
    (mended, breaks)
}

/// The line and column in the text as it was written, of those in the mended text.
fn original_place(mended: &str, breaks: &[usize], line: usize, column: usize) -> (usize, usize) {
    let line_start: usize = mended.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let offset = line_start + column.saturating_sub(1);
    let before: Vec<usize> = breaks.iter().copied().filter(|&at| at < offset).collect();
    let feeds: Vec<usize> = before.iter().copied().filter(|&at| mended[at..].starts_with("\\n")).collect();
    let start = feeds.last().map_or(line_start, |&at| line_start.max(at + 2));
    let tabs = before.iter().filter(|&&at| at >= start).count();
    (line + feeds.len(), (offset + 1).saturating_sub(start + tabs).max(1))
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Json, E> {
        Ok(Json::Bool(yes))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(i64::try_from(number).map_or(Json::Number(number as f64), Json::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object: Vec<(String, Json)> = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.iter().any(|(held, _)| *held == key) {
                return Err(A::Error::custom(format!("the key `{key}` stands twice in one object")));
            }
            object.push((key, entries.next_value()?));
        }
        Ok(Json::Object(object))
    }
}
