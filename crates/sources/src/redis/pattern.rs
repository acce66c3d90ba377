//! Key patterns: the key of an id, and the id of a key.

use model::{Result, error};

/// A key pattern with one placeholder: the key is `before`, the id, `after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) before: String,
    pub(super) after: String,
}

impl Pattern {
    /// Cuts a pattern at its one `{id}`; the error names the pattern.
    pub(super) fn parse(pattern: &str) -> Result<Pattern> {
        match pattern.split_once("{id}") {
            Some((before, after)) if !after.contains("{id}") => {
                Ok(Pattern { before: before.to_owned(), after: after.to_owned() })
            }
            _ => Err(error!(Definition, "the key pattern '{pattern}' must have {{id}} once")),
        }
    }

    /// The key of an id.
    pub(super) fn key(&self, id: &str) -> String {
        [&self.before, id, &self.after].concat()
    }

    /// The id in a key, if the key has this pattern.
    pub(super) fn id<'a>(&self, key: &'a str) -> Option<&'a str> {
        let id = key.strip_prefix(&self.before)?.strip_suffix(&self.after)?;
        (!id.is_empty()).then_some(id)
    }

    /// The pattern as `SCAN ... MATCH` has it.
    pub(super) fn glob(&self) -> String {
        escaped(&self.before) + "*" + &escaped(&self.after)
    }

    /// Length of the fixed part of a key: a key that has several patterns belongs to the one that fixes most.
    pub(super) fn weight(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

/// The key of an edge: with `{source}` and `{target}`, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EdgePattern {
    pieces: [String; 3],
    is_reversed: bool,
}

impl EdgePattern {
    /// Cuts a pattern; the error names it.
    pub(super) fn parse(pattern: &str) -> Result<EdgePattern> {
        let find = |name: &str| pattern.find(name).filter(|at| !pattern[at + 1..].contains(name));
        let (Some(source), Some(target)) = (find("{source}"), find("{target}")) else {
            return Err(error!(Definition, "the key pattern '{pattern}' must have {{source}} and {{target}} once"));
        };
        let is_reversed = target < source;
        let (first, second) = if is_reversed { ("{target}", "{source}") } else { ("{source}", "{target}") };
        let (before, rest) = pattern.split_once(first).unwrap_or_default();
        let (between, after) = rest.split_once(second).unwrap_or_default();
        Ok(EdgePattern { pieces: [before.into(), between.into(), after.into()], is_reversed })
    }

    /// The key of the edge between two ids.
    pub(super) fn key(&self, source: &str, target: &str) -> String {
        let (first, second) = if self.is_reversed { (target, source) } else { (source, target) };
        [&self.pieces[0], first, &self.pieces[1], second, &self.pieces[2]].concat()
    }

    /// True if a key can be of this pattern.
    pub(super) fn has(&self, key: &str) -> bool {
        let inner = key.strip_prefix(&self.pieces[0]).and_then(|rest| rest.strip_suffix(&self.pieces[2]));
        inner.is_some_and(|inner| inner.len() > self.pieces[1].len() + 1 && inner.contains(&self.pieces[1]))
    }

    /// Length of the fixed part of a key.
    pub(super) fn weight(&self) -> usize {
        self.pieces.iter().map(String::len).sum()
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\' | '^') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{EdgePattern, Pattern};

    #[test]
    fn keys_and_ids() {
        let check = |pattern: &str, key: &str, id: Option<&str>| {
            let pattern = Pattern::parse(pattern).unwrap();
            assert_eq!(pattern.id(key), id, "{key}");
            if let Some(id) = id {
                assert_eq!(pattern.key(id), key);
            }
        };
        check("person:{id}", "person:5", Some("5"));
        check("person:{id}", "person:", None);
        check("person:{id}:knows", "person:5:knows", Some("5"));
        check("person:{id}:knows", "person:knows", None);
        check("{id}", "x", Some("x"));
        check("a{id}a", "a", None);
        assert_eq!(Pattern::parse("a*[{id}?").unwrap().glob(), "a\\*\\[*\\?");
        assert!(Pattern::parse("person").is_err() && Pattern::parse("{id}:{id}").is_err());
        let edge = EdgePattern::parse("knows:{target}:{source}").unwrap();
        assert_eq!(edge.key("1", "2"), "knows:2:1");
        assert!(edge.has("knows:2:1") && !edge.has("knows:2") && !edge.has("likes:2:1"));
        assert!(EdgePattern::parse("knows:{source}").is_err());
    }
}
