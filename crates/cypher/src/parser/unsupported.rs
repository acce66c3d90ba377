//! Constructs of Cypher's later versions, recognised so that they are named rather than called a syntax error.

use model::{Error, Span, error};

use super::Parser;
use crate::token::TokenKind;

/// Words that start a clause or command which is not there, what it is, and what to do instead.
const CLAUSES: &[(&[&str], &str, &str)] = &[
    (
        &["USE"],
        "USE",
        "name the database in the session, as in session(database='name') or bolt://HOST/name, or open its store",
    ),
    (&["USING", "PERIODIC"], "USING PERIODIC COMMIT", "import large files with knot import"),
    (&["CREATE", "UNIQUE"], "CREATE UNIQUE", "use MERGE"),
    (&["CYPHER"], "the CYPHER prefix", "leave it out"),
    (&["START"], "START", "use MATCH"),
    (&["ALTER"], "ALTER", "leave it out"),
    (&["GRANT"], "GRANT of anything but roles", "give a role: GRANT ROLE reader TO user"),
    (&["DENY"], "DENY", "leave it out"),
    (&["REVOKE"], "REVOKE of anything but roles", "take a role: REVOKE ROLE reader FROM user"),
    (&["RENAME"], "RENAME", "leave it out"),
];

/// Objects besides constraints and indexes that `CREATE` and `DROP` do not know, and `SHOW` only in part.
const SCHEMA_OBJECTS: &[&str] = &[
    "TEXT", "POINT", "LOOKUP", "FULLTEXT", "VECTOR", "BTREE", "DATABASE", "DATABASES", "USER", "USERS", "ROLE",
    "ROLES", "ALIAS", "ALIASES", "FUNCTION", "PROCEDURE", "TRANSACTION", "TRANSACTIONS", "SERVER", "SERVERS",
    "PRIVILEGES", "COMPOSITE", "HOME", "DEFAULT",
];

/// Remedy for a statement that creates, drops or shows an object that is not there.
fn instead_of(object: &str, is_index: bool) -> &'static str {
    match object {
        "TEXT" if is_index => "CREATE INDEX makes an ordered index; CONTAINS and ENDS WITH look at every value",
        "FULLTEXT" => "filter by CONTAINS, or by =~ with a regular expression",
        "POINT" => "keep two numbers, CREATE INDEX on both, and filter by their ranges",
        "VECTOR" => "keep lists of floats, and compute their distance by reduce()",
        "LOOKUP" => "leave it out: labels and relationship types have an index by themselves",
        _ if is_index => "CREATE INDEX makes an ordered index; labels have one by themselves",
        "DATABASE" | "DATABASES" | "ALIAS" | "ALIASES" | "SERVER" | "SERVERS" | "COMPOSITE" | "HOME" | "DEFAULT" => {
            "databases of a server are made by CREATE DATABASE name; ATTACH joins others to this one"
        }
        "TRANSACTION" | "TRANSACTIONS" => "leave it out: a statement is cancelled where it runs, or by a timeout",
        "USER" | "USERS" | "ROLE" | "ROLES" | "PRIVILEGES" => {
            "the roles are reader, writer and admin, given by GRANT ROLE name TO user"
        }
        _ => "leave it out",
    }
}

impl Parser<'_> {
    /// An error that names a construct which is not there, and what to do instead.
    pub(super) fn unsupported(&self, what: &str, span: Span, remedy: &str) -> Error {
        error!(Unsupported, "{what} is not supported").at(span).with_remedy(remedy)
    }

    fn words_span(&self, count: usize) -> Span {
        self.here().to(self.token(count - 1).span)
    }

    /// At the start of a clause.
    pub(super) fn unsupported_clause(&self) -> Option<Error> {
        let is_all = |words: &[&str]| words.iter().enumerate().all(|(ahead, word)| self.is_word(ahead, word));
        if let Some((words, what, remedy)) = CLAUSES.iter().find(|(words, ..)| is_all(words)) {
            return Some(self.unsupported(what, self.words_span(words.len()), remedy));
        }
        if is_all(&["CREATE", "OR", "REPLACE"]) {
            return Some(self.unsupported("CREATE OR REPLACE", self.words_span(3), "drop it first"));
        }
        let verb = ["CREATE", "DROP"].into_iter().find(|verb| self.is_word(0, verb))?;
        let object = SCHEMA_OBJECTS.iter().find(|object| self.is_word(1, object))?;
        let of_index = if self.is_word(2, "INDEX") { " INDEX" } else { "" };
        let what = format!("{verb} {object}{of_index}");
        Some(self.unsupported(&what, self.words_span(2), instead_of(object, self.is_word(2, "INDEX"))))
    }

    /// Behind `SHOW`.
    pub(super) fn unsupported_shown(&self) -> Option<Error> {
        let object = SCHEMA_OBJECTS.iter().find(|object| self.is_word(0, object))?;
        let is_index = ["INDEX", "INDEXES"].iter().any(|word| self.is_word(1, word));
        let of_index = if is_index { " INDEXES" } else { "" };
        let span = self.words_span(1 + usize::from(is_index));
        Some(self.unsupported(&format!("SHOW {object}{of_index}"), span, instead_of(object, is_index)))
    }

    /// At a function's name, before its parenthesis.
    pub(super) fn unsupported_call(&self) -> Option<Error> {
        if self.kind(1) != TokenKind::LeftParen {
            return None;
        }
        let over_list = self.is_name(2) && self.is_word(3, "IN");
        if over_list && (self.is_word(0, "filter") || self.is_word(0, "extract")) {
            let what = format!("the function {}", self.word(0));
            return Some(self.unsupported(&what, self.here(), "use [x IN list WHERE predicate | value]"));
        }
        None
    }
}
