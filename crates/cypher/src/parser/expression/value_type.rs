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
            match self.named_type() {
                Some(name) => name.to_owned(),
                None => return Err(self.expected("a type such as INTEGER or LIST<STRING>")),
            }
        };
        if self.is_word(0, "NOT") && self.is_word(1, "NULL") {
            self.advance();
            self.advance();
            text.push_str(" NOT NULL");
        }
        Ok(text)
    }
    /// The canonical words of a type without elements, if one stands here.
    pub(in crate::parser) fn named_type(&mut self) -> Option<&'static str> {
        let spelled =
            TYPES.iter().find(|(words, _)| words.iter().enumerate().all(|(ahead, word)| self.is_word(ahead, word)));
        let called =
            |kind: &PropertyKind| kind.name().split(' ').enumerate().all(|(ahead, word)| self.is_word(ahead, word));
        let (words, name) = match spelled {
            Some((words, name)) => (words.len(), *name),
            None => {
                let name = PropertyKind::ALL.into_iter().find(called)?.name();
                (name.split(' ').count(), name)
            }
        };
        for _ in 0..words {
            self.advance();
        }
        Some(name)
    }
}
