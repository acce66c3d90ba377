//! The types that `IS ::` tests.

use model::{PropertyKind, Result};

use super::super::Parser;
use crate::token::TokenKind;

/// Spellings of types, longer forms before those they begin with, and their canonical words. Those of properties are also
/// spelled as they are called.
#[rustfmt::skip]
const TYPES: &[(&[&str], &str)] = &[
    (&["TIMESTAMP", "WITHOUT", "TIME", "ZONE"], "LOCAL DATETIME"), (&["TIMESTAMP", "WITH", "TIME", "ZONE"], "ZONED DATETIME"),
    (&["TIME", "WITHOUT", "TIME", "ZONE"], "LOCAL TIME"), (&["TIME", "WITH", "TIME", "ZONE"], "ZONED TIME"),
    (&["TIMESTAMP", "WITHOUT", "TIMEZONE"], "LOCAL DATETIME"), (&["TIMESTAMP", "WITH", "TIMEZONE"], "ZONED DATETIME"),
    (&["TIME", "WITHOUT", "TIMEZONE"], "LOCAL TIME"), (&["TIME", "WITH", "TIMEZONE"], "ZONED TIME"),
    (&["SIGNED", "INTEGER"], "INTEGER"), (&["INT"], "INTEGER"), (&["BOOL"], "BOOLEAN"), (&["VARCHAR"], "STRING"),
    (&["BYTES"], "BYTES"), (&["PATH"], "PATH"), (&["NULL"], "NULL"), (&["NOTHING"], "NOTHING"),
    (&["ANY", "NODE"], "NODE"), (&["NODE"], "NODE"), (&["ANY", "VERTEX"], "NODE"), (&["VERTEX"], "NODE"),
    (&["ANY", "RELATIONSHIP"], "RELATIONSHIP"), (&["RELATIONSHIP"], "RELATIONSHIP"),
    (&["ANY", "EDGE"], "RELATIONSHIP"), (&["EDGE"], "RELATIONSHIP"),
    (&["ANY", "MAP"], "MAP"), (&["MAP"], "MAP"),
    (&["ANY", "PROPERTY", "VALUE"], "PROPERTY VALUE"), (&["PROPERTY", "VALUE"], "PROPERTY VALUE"),
    (&["ANY", "VALUE"], "ANY"), (&["ANY"], "ANY"),
];

impl Parser<'_> {
    /// A type, or several joined by bars, in canonical words.
    pub(super) fn value_type(&mut self, bar_ends: bool) -> Result<String> {
        let mut text = self.one_type()?;
        while !bar_ends && self.take(TokenKind::Bar) {
            text.push_str(" | ");
            text.push_str(&self.one_type()?);
        }
        Ok(text)
    }

    fn one_type(&mut self) -> Result<String> {
        let mut text = if self.is_word(0, "LIST") || self.is_word(0, "ARRAY") {
            self.advance();
            self.expect(TokenKind::Less)?;
            let inner = self.nested(|parser| parser.value_type(false))?;
            self.expect(TokenKind::Greater)?;
            format!("LIST<{inner}>")
        } else {
            let Some((name, words)) = self.type_here() else {
                return Err(self.expected("a type such as INTEGER or LIST<STRING>"));
            };
            self.skip(words);
            name.to_owned()
        };
        if self.is_word(0, "NOT") && self.is_word(1, "NULL") {
            self.advance();
            self.advance();
            text.push_str(" NOT NULL");
        }
        Ok(text)
    }

    /// The canonical words of a type without elements, if one stands here, and the number of words that it is spelled in.
    pub(in crate::parser) fn type_here(&self) -> Option<(&'static str, usize)> {
        let is_here = |words: &[&str]| words.iter().enumerate().all(|(ahead, word)| self.is_word(ahead, word));
        if let Some((words, name)) = TYPES.iter().find(|(words, _)| is_here(words)) {
            return Some((*name, words.len()));
        }
        PropertyKind::ALL.into_iter().map(PropertyKind::name).find_map(|name| {
            let words: Vec<&str> = name.split(' ').collect();
            is_here(&words).then_some((name, words.len()))
        })
    }

    /// Takes a number of words.
    pub(in crate::parser) fn skip(&mut self, words: usize) {
        for _ in 0..words {
            self.advance();
        }
    }
}
