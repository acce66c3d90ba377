//! Options of an attached source, which override its graph definition.

use std::sync::Arc;
use std::time::Duration;

use cypher::plan::CopyValue;
use model::memory::parse_bytes;
use model::{Result, Span, Value, error};
use sources::definition::{GraphDefinition, Prefetch};

use crate::Parameters;
use crate::copy::value_of;

/// Options for attaching a source. Options that are not set are as its graph definition says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttachOptions {
    /// The graph definition: JSON, or the path of a file.
    pub definition: Option<String>,
    /// Data to fetch ahead.
    pub prefetch: Option<Prefetch>,
    /// Bytes that may be cached.
    pub cache_bytes: Option<usize>,
    /// Maximum age of cached data.
    pub age_max: Option<Duration>,
    /// Stands before each of its labels and edge types.
    pub prefix: Option<String>,
    /// Nothing may be written to it.
    pub read_only: bool,
    /// Kind of database that a connection string is for, as Kùzu names it.
    pub dbtype: Option<String>,
}

/// The options of `ATTACH`, for messages.
const KNOWN: &str = "DEFINITION, PREFETCH, CACHE, MAX_AGE, PREFIX, READ_ONLY, DBTYPE";

impl AttachOptions {
    /// The options of a statement.
    pub(super) fn of(given: &[(Arc<str>, CopyValue, Span)], parameters: &Parameters) -> Result<AttachOptions> {
        let mut options = AttachOptions::default();
        for (name, value, span) in given {
            let value = value_of(value, parameters)?;
            options.set(name, &value).map_err(|failure| failure.at(*span))?;
        }
        Ok(options)
    }

    /// Sets one option, as it is written in a statement.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        match name.to_lowercase().as_str() {
            "definition" => self.definition = Some(text(name, value)?),
            "prefetch" => self.prefetch = Some(prefetch(&text(name, value)?)?),
            "cache" => self.cache_bytes = Some(bytes(name, value)?),
            "max_age" | "maxage" => self.age_max = Some(duration(name, value)?),
            "prefix" => self.prefix = Some(text(name, value)?),
            "dbtype" => self.dbtype = Some(text(name, value)?),
            "read_only" | "readonly" => match value {
                Value::Bool(read_only) => self.read_only = *read_only,
                other => return Err(wrong(name, "true or false", other)),
            },
            other => {
                return Err(error!(Argument, "ATTACH has no option {other}").with_remedy(format!("it has {KNOWN}")));
            }
        }
        Ok(())
    }

    /// Changes a definition as the options say.
    pub(super) fn change(&self, definition: &mut GraphDefinition) {
        if let Some(prefetch) = &self.prefetch {
            definition.prefetch = prefetch.clone();
        }
        if let Some(bytes) = self.cache_bytes {
            definition.cache.bytes_max = bytes;
        }
        if let Some(age) = self.age_max {
            definition.cache.age_max = age;
        }
        if let Some(prefix) = self.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
            let prefixed = |name: &mut Arc<str>| *name = format!("{prefix}{name}").into();
            definition.nodes.iter_mut().flat_map(|kind| &mut kind.labels).for_each(prefixed);
            definition.edges.iter_mut().map(|kind| &mut kind.edge_type).for_each(prefixed);
        }
    }
}

fn wrong(name: &str, expected: &str, found: &Value) -> model::Error {
    error!(Argument, "the option {name} takes {expected}, found {found}")
        .with_remedy("correct it, or leave the option out")
}

fn text(name: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.to_string()),
        other => Err(wrong(name, "a text", other)),
    }
}

/// `adaptive`, `none`, `lookahead 3`, `block 0.01` or `block 0.01 on lat, lon`.
fn prefetch(text: &str) -> Result<Prefetch> {
    let lower = text.trim().to_lowercase();
    let (word, rest) = lower.split_once(|c: char| c.is_whitespace() || c == '(').unwrap_or((&lower, ""));
    let rest = rest.trim().trim_end_matches(')').trim();
    let found = match word {
        "adaptive" if rest.is_empty() => Some(Prefetch::Adaptive),
        "none" if rest.is_empty() => Some(Prefetch::None),
        "lookahead" => rest.parse().ok().filter(|depth| *depth > 0).map(Prefetch::Lookahead),
        "block" => {
            let (size, names) = rest.split_once(" on ").unwrap_or((rest, ""));
            // Names keep their case.
            let names = text.trim().len().checked_sub(names.len()).map_or("", |at| &text.trim()[at..]);
            let names = names.trim_end_matches(')').split(',').map(str::trim).filter(|name| !name.is_empty());
            let size = size.trim().parse::<f64>().ok().filter(|size| *size > 0.0 && size.is_finite());
            size.map(|size| Prefetch::Block { properties: names.map(Arc::from).collect(), size })
        }
        _ => None,
    };
    found.ok_or_else(|| {
        error!(Argument, "expected adaptive, none, lookahead 3 or block 0.01 as PREFETCH, found {text}")
            .with_remedy("leave it out: adaptive learns what pays")
    })
}

/// A number of bytes, or a size as `64 MiB`.
fn bytes(name: &str, value: &Value) -> Result<usize> {
    let failed = || wrong(name, "a size such as '64 MiB'", value);
    match value {
        Value::Int(bytes) => usize::try_from(*bytes).map_err(|_| failed()),
        Value::String(text) => parse_bytes(text).ok_or_else(failed),
        _ => Err(failed()),
    }
}

/// A number of seconds, or a time as `500ms`, `60s`, `5min` or `1h`.
fn duration(name: &str, value: &Value) -> Result<Duration> {
    let failed = || wrong(name, "a time such as '60s', '5min' or '0s'", value);
    let text = match value {
        Value::Int(seconds) => return u64::try_from(*seconds).map(Duration::from_secs).map_err(|_| failed()),
        Value::String(text) => text.trim(),
        _ => return Err(failed()),
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim();
    let milliseconds = match text[digits.len()..].trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "min" | "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(failed()),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(milliseconds));
    number.map(Duration::from_millis).ok_or_else(failed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::Value;
    use sources::definition::Prefetch;

    use super::AttachOptions;

    fn set(name: &str, value: impl Into<Value>) -> Result<AttachOptions, String> {
        let mut options = AttachOptions::default();
        options.set(name, &value.into()).map(|()| options).map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn options_are_read_as_people_write_them() {
        let block = |properties: &[&str], size| Prefetch::Block {
            properties: properties.iter().map(|name| (*name).into()).collect(),
            size,
        };
        for (text, expected) in [
            ("adaptive", Prefetch::Adaptive),
            ("None", Prefetch::None),
            ("lookahead 3", Prefetch::Lookahead(3)),
            ("lookahead(10)", Prefetch::Lookahead(10)),
            ("block 0.01", block(&[], 0.01)),
            ("block 0.5 ON Lat, lon", block(&["Lat", "lon"], 0.5)),
        ] {
            assert_eq!(set("PREFETCH", text).unwrap().prefetch, Some(expected));
        }
        assert!(set("prefetch", "lookahead 0").unwrap_err().contains("found lookahead 0"));
        assert_eq!(set("cache", "64 MiB").unwrap().cache_bytes, Some(64 << 20));
        assert_eq!(set("max_age", "5min").unwrap().age_max, Some(Duration::from_secs(300)));
        assert_eq!(set("max_age", 0).unwrap().age_max, Some(Duration::ZERO));
        assert_eq!(set("read_only", "yes").unwrap_err(), "the option read_only takes true or false, found 'yes'");
        assert_eq!(set("speed", 1).unwrap_err(), "ATTACH has no option speed");
    }
}
