//! Failures that the server reports, as errors: never a password, always source, statement and the subject of the
//! question.

use std::io;

use model::{Error, ErrorCode, error};

use super::Shared;
use super::decode::{Field, Unreadable};
use super::session::Trouble;
use super::url::Settings;
use crate::relational::answers::CHANGE_ITS_SOURCES;

/// Letters of a statement that a message shows.
const STATEMENT_LETTERS: usize = 300;

/// An error as the server sends it.
#[derive(Clone, Debug, Default)]
pub(super) struct Failure {
    /// Five letters (SQLSTATE).
    pub(super) code: String,
    message: String,
    detail: String,
    hint: String,
    is_fatal: bool,
}

impl Failure {
    /// Reads the body of an error message.
    pub(super) fn parse(body: &[u8]) -> Failure {
        let mut failure = Failure::default();
        for field in body.split(|&byte| byte == 0) {
            let Some((&kind, text)) = field.split_first() else { continue };
            let text = String::from_utf8_lossy(text).into_owned();
            match kind {
                b'C' => failure.code = text,
                b'M' => failure.message = text,
                b'D' => failure.detail = text,
                b'H' => failure.hint = text,
                b'V' => failure.is_fatal = text != "ERROR",
                _ => {}
            }
        }
        failure
    }

    /// True if the server ends the connection with it: it is stopping, or was killed.
    pub(super) fn ends_connection(&self) -> bool {
        self.is_fatal
    }

    /// True if the same statement, parsed anew, may succeed: a prepared one no longer fits, or is not there.
    pub(super) fn is_outdated(&self) -> bool {
        self.code == "26000" || self.code == "0A000" && self.message.contains("cached plan")
    }

    /// The error, with the source and the statement. `what` says what was asked for.
    pub(super) fn error(&self, settings: &Settings, what: &str, statement: &str) -> Error {
        let code = match self.code.get(..2).unwrap_or_default() {
            "23" => ErrorCode::Constraint,
            "40" => ErrorCode::Conflict,
            // The table is as the definition says, but is another's.
            "42" if self.code == NO_RIGHT => ErrorCode::Source,
            // The server computes the column.
            "42" if self.code == GENERATED => ErrorCode::ReadOnly,
            "42" | "3F" => ErrorCode::Definition,
            "25" if self.code == "25006" => ErrorCode::ReadOnly,
            _ => ErrorCode::Source,
        };
        let mut message = format!("{}: {what}: {}", settings.name, self.message);
        if !self.detail.is_empty() {
            message.push_str(&format!(" ({})", self.detail));
        }
        if !self.code.is_empty() {
            message.push_str(&format!(" [SQLSTATE {}]", self.code));
        }
        message.push_str(&shown(statement));
        let error = Error::new(code, message);
        match (&*self.code, self.hint.is_empty()) {
            ("57014", _) => {
                error.with_remedy("ask for less, or raise statement_timeout (milliseconds) in the source's URL")
            }
            ("42P01" | "42703" | "42883" | "42P18" | "42804", _) => error.with_remedy(
                "the table differs from the definition; knot source check says where, then attach the source again",
            ),
            (GENERATED, _) => error.with_remedy(CHANGE_ITS_SOURCES),
            (NO_RIGHT, _) => error.with_remedy("grant the right to the user, or attach as another"),
            (_, false) => error.with_remedy(self.hint.clone()),
            (_, true) => error,
        }
    }
}

/// The user may not do that (an SQLSTATE).
const NO_RIGHT: &str = "42501";
/// A column is written that the server computes.
const GENERATED: &str = "428C9";

/// A refusal to log in.
pub(super) fn of_login(settings: &Settings, failure: &Failure) -> Error {
    let error = error!(Source, "{}: cannot log in: {} [SQLSTATE {}]", settings.name, failure.message, failure.code);
    match failure.code.get(..2) {
        Some("28") => error.with_remedy("check user and password: in the URL, PGPASSWORD or ~/.pgpass, and sslmode"),
        Some("3D") => error.with_remedy("check the name of the database in the URL"),
        Some("53") => {
            error.with_remedy("let fewer connections be open (pool_size in the URL), or raise max_connections")
        }
        _ => error,
    }
}

/// A connection that broke while a statement was running.
pub(super) fn broken(settings: &Settings, what: &str, statement: &str, error: &io::Error) -> Error {
    let shown = shown(statement);
    if super::wire::is_wait(error) {
        let limit = settings.statement_timeout.unwrap_or_default();
        return error!(Source, "{}: {what}: no answer within {limit:?}{shown}", settings.name).with_remedy(
            "see whether the server is busy, or raise statement_timeout (milliseconds) in the source's URL",
        );
    }
    error!(Source, "{}: {what}: the connection was lost: {error}{shown}", settings.name).with_remedy(
        "see that the server runs, then ask again: what was read so far was of one snapshot, which is gone",
    )
}

fn shown(statement: &str) -> String {
    if statement.is_empty() {
        return String::new();
    }
    let words: Vec<&str> = statement.split_whitespace().collect();
    let text = words.join(" ");
    let short: String = text.chars().take(STATEMENT_LETTERS).collect();
    let more = if short.len() < text.len() { " ..." } else { "" };
    format!("; statement: {short}{more}")
}

impl Shared {
    /// A trouble as an error that names the source, what was asked and the statement.
    pub(super) fn error(&self, trouble: Trouble, what: &str, text: &str) -> Error {
        let settings = &self.settings;
        match trouble {
            Trouble::Broken(error) => broken(settings, what, text, &error),
            Trouble::Refused(failure) => {
                let failed = failure.error(settings, what, text);
                if failed.code() == ErrorCode::Definition {
                    self.forget();
                }
                failed
            }
            Trouble::Misfit(misfit) => error!(Type, "{}: {what}: {}", settings.name, misfit.0),
            Trouble::Unreadable(reason, fields) => unreadable(settings, what, &reason, &fields),
            Trouble::Stopped(error) => error,
        }
    }
}

fn unreadable(settings: &Settings, what: &str, reason: &Unreadable, fields: &[Field]) -> Error {
    let name = |at: &usize| fields.get(*at).map_or("", |field| &field.name);
    match reason {
        Unreadable::Garbled => error!(Source, "{}: {what}: the server's rows are garbled", settings.name),
        Unreadable::Value(at, value) => error!(
            Definition,
            "{}: {what}: the column {} holds {value}, which has no counterpart",
            settings.name,
            name(at)
        )
        .with_remedy("read the column through a query that replaces such values, or leave the property out"),
        Unreadable::Type(at, oid) => error!(
            Definition,
            "{}: {what}: the column {} is of the type {oid}, which is not read",
            settings.name,
            name(at)
        )
        .with_remedy("cast it to text in a query of the definition"),
    }
}
