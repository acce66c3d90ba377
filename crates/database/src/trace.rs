//! Traces: the statements of sessions, with their parameters, times and a hash of their rows, as lines of JSON.
//!
//! A trace is written while a database is used ([`Recording`], in [`Config`](crate::Config)), read by [`Trace`], and run again by
//! `knot replay`. docs/introspect.md describes the lines. Texts of commands about users, and of those that attach databases, are
//! written without their literals, since passwords stand in them.
//!
//! - [`parameters`]: values of parameters as JSON, exactly.
//! - [`reading`]: the reader.
//! - [`row_hash`]: the hash of rows.
//!
//! Cost: each value that a statement gives is hashed, and its text and parameters are written; nothing without a recording.

mod parameters;
mod reading;
mod row_hash;

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Error, ErrorCode, Result, secrets};
use serde_json::{Map, Value as Json};

use crate::Parameters;
use crate::line_log::LineLog;
use crate::outlook::Action;
use crate::result::ResultBatch;
use crate::statements::without_literals;
pub use reading::Trace;
pub use row_hash::RowHash;

/// Name of the form, in the first line of each recording.
const FORM: &str = "knotwork-trace/1";

/// A file to which statements are written as they end.
#[derive(Debug)]
pub struct Recording {
    lines: LineLog,
    /// Process and moment, so that sessions of several that write one file are told apart.
    writer: String,
}

/// Kind of an event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// A statement that reads.
    Read,
    /// A statement that writes nodes, relationships or rules.
    Write,
    /// A transaction begins.
    Begin,
    /// A transaction is committed.
    Commit,
    /// A transaction is undone.
    Rollback,
    /// Anything else, which is not run again.
    Other,
}

const KINDS: [(TraceKind, &str); 6] = [
    (TraceKind::Read, "read"),
    (TraceKind::Write, "write"),
    (TraceKind::Begin, "begin"),
    (TraceKind::Commit, "commit"),
    (TraceKind::Rollback, "rollback"),
    (TraceKind::Other, "other"),
];

impl TraceKind {
    /// The name in files.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    fn of_name(name: &str) -> TraceKind {
        KINDS.iter().find(|(_, known)| *known == name).map_or(TraceKind::Other, |(kind, _)| *kind)
    }

    pub(crate) fn of_action(action: Action) -> TraceKind {
        match action {
            Action::Read => TraceKind::Read,
            Action::Write | Action::Batches => TraceKind::Write,
            _ => TraceKind::Other,
        }
    }
}

/// An event of a trace.
#[derive(Clone, Debug)]
pub struct TraceEvent {
    /// Microseconds since the Unix epoch at which it began.
    pub at_us: i64,
    /// Number of its session, in the order of their first lines where it is read.
    pub session: u64,
    /// Kind of the event.
    pub kind: TraceKind,
    /// The text of the statement.
    pub text: String,
    /// Its parameters.
    pub parameters: Parameters,
    /// Nanoseconds that it took.
    pub ns: u64,
    /// Rows that it gave.
    pub rows: u64,
    /// Hash of its rows, in any order.
    pub hash: u64,
    /// Code of the error with which it failed.
    pub error: Option<String>,
}

impl Recording {
    /// Opens a file, which is made if it is missing, with rights for its user alone. Lines are added at its end.
    ///
    /// # Errors
    /// `FILE` if it cannot be written, `ARGUMENT` if it is there and no trace.
    pub fn open(path: &Path) -> Result<Recording> {
        let head = Json::Object(Map::from_iter([("form".to_owned(), FORM.into())]));
        let opened = LineLog::open_headed(path, &head.to_string());
        let lines = opened.map_err(|failure| match failure.code() {
            ErrorCode::Argument => {
                failure.with_remedy("record to a new file, or to one that --record of this version wrote")
            }
            _ => failure,
        })?;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let moment_us = storage::os::platform().clock.unix_us();
        Ok(Recording { lines, writer: format!("{}.{number}@{moment_us}", std::process::id()) })
    }

    /// Says by this function, once, that statements cannot be written.
    #[must_use]
    pub fn telling(self, tell: fn(&str)) -> Recording {
        Recording { lines: self.lines.telling(tell), ..self }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.lines.path()
    }

    /// Writes an event that has ended.
    pub(crate) fn write(&self, event: &TraceEvent) {
        let mut line = line_of(event);
        line.insert("writer".to_owned(), self.writer.as_str().into());
        self.lines.write(line);
    }
}

/// The place in a trace of a statement that runs.
pub(crate) struct Recorder {
    recording: Arc<Recording>,
    session: u64,
    at_us: i64,
    kind: Cell<TraceKind>,
    hash: Cell<RowHash>,
}

impl Recorder {
    pub(crate) fn new(recording: Arc<Recording>, session: u64, at_us: i64) -> Recorder {
        Recorder { recording, session, at_us, kind: Cell::new(TraceKind::Other), hash: Cell::default() }
    }

    /// Notes the kind of the statement.
    pub(crate) fn is_a(&self, kind: TraceKind) {
        self.kind.set(kind);
    }

    /// Notes rows.
    pub(crate) fn sees(&self, batch: &ResultBatch) {
        let mut hash = self.hash.get();
        hash.add(batch);
        self.hash.set(hash);
    }

    /// Writes the statement, which has ended: its nanoseconds, its rows.
    pub(crate) fn write(&self, text: &str, parameters: &Parameters, (ns, rows): (u64, u64), error: Option<&Error>) {
        self.recording.write(&TraceEvent {
            at_us: self.at_us,
            session: self.session,
            kind: self.kind.get(),
            text: text.to_owned(),
            parameters: parameters.clone(),
            ns,
            rows,
            hash: self.hash.get().value(),
            error: error.map(|error| error.code().name().to_owned()),
        });
    }
}

impl TraceEvent {
    /// The begin or end of a transaction.
    pub(crate) fn of_transaction(
        kind: TraceKind,
        at_us: i64,
        session: u64,
        ns: u64,
        outcome: &Result<()>,
    ) -> TraceEvent {
        let error = outcome.as_ref().err().map(|error| error.code().name().to_owned());
        let (text, parameters) = (String::new(), Parameters::default());
        TraceEvent { at_us, session, kind, text, parameters, ns, rows: 0, hash: 0, error }
    }
}

fn line_of(event: &TraceEvent) -> Map<String, Json> {
    let mut line = Map::new();
    let mut add = |key: &str, value: Json| line.insert(key.to_owned(), value);
    add("atUs", event.at_us.into());
    add("session", event.session.into());
    add("kind", event.kind.name().into());
    match event.kind {
        TraceKind::Read | TraceKind::Write => {
            add("statement", secrets::masked(&event.text).into());
            if !event.parameters.is_empty() {
                add("parameters", parameters::to_json(&event.parameters));
            }
        }
        TraceKind::Other => {
            add("statement", without_literals(&event.text).unwrap_or_default().into());
        }
        TraceKind::Begin | TraceKind::Commit | TraceKind::Rollback => {}
    }
    add("ns", event.ns.into());
    if matches!(event.kind, TraceKind::Read | TraceKind::Write) && event.error.is_none() {
        add("rows", event.rows.into());
        add("hash", format!("{:016x}", event.hash).into());
    }
    if let Some(code) = &event.error {
        add("error", code.as_str().into());
    }
    line
}

/// The text of a statement without its literals: what statements have in common that differ in values only.
pub fn shape_of(text: &str) -> String {
    without_literals(text).unwrap_or_else(|| text.to_owned())
}
