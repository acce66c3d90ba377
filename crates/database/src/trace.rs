//! Traces: the statements of sessions, with their parameters, times and a hash of their rows, as lines of JSON.
//!
//! A trace is written while a database is used ([`Recording`], in [`Config`](crate::Config)), read by [`Trace`], and run again by
//! `knot replay`. docs/introspect.md describes the lines. Texts of commands about users, and of those that attach databases, are
//! written without their literals, since passwords stand in them.
//!
//! - [`parameters`]: values of parameters as JSON, exactly.
//! - [`row_hash`]: the hash of rows.
//!
//! Cost: each value that a statement gives is hashed, and its text and parameters are written; nothing without a recording.

mod parameters;
mod row_hash;

use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Error, ErrorCode, Result, error, secrets};
use serde_json::{Map, Value as Json};

use crate::Parameters;
use crate::line_log::LineLog;
use crate::outlook::Action;
use crate::result::ResultBatch;
use crate::statements::without_literals;
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
    /// `FILE` if it cannot be written.
    pub fn open(path: &Path) -> Result<Recording> {
        let lines = LineLog::open(path)?;
        lines.write(Map::from_iter([("form".to_owned(), FORM.into())]));
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let moment_us = storage::os::platform().clock.unix_us();
        Ok(Recording { lines, writer: format!("{}.{number}@{moment_us}", std::process::id()) })
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

/// The sign that some editors put at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reader of a trace: its events, in the order in which they ended.
pub struct Trace {
    name: String,
    lines: std::io::Lines<BufReader<std::fs::File>>,
    line: usize,
    is_begun: bool,
    /// Numbers of sessions, by their writer and their number there.
    sessions: model::Map<(String, u64), u64>,
}

impl Trace {
    /// Opens a trace.
    ///
    /// # Errors
    /// `FILE` if it cannot be read.
    pub fn open(path: &Path) -> Result<Trace> {
        let file = std::fs::OpenOptions::new().read(true).open(path);
        let file = file.map_err(|cause| Error::of_file(path, &cause))?;
        let (name, lines) = (path.display().to_string(), BufReader::new(file).lines());
        Ok(Trace { name, lines, line: 0, is_begun: false, sessions: model::Map::default() })
    }

    fn failure(&self, reason: &str) -> Error {
        error!(Argument, "{}, line {}: {reason}", self.name, self.line)
            .with_remedy("give a file that --record of this version wrote")
    }

    fn event(&mut self, text: &str) -> Result<Option<TraceEvent>> {
        let line: Json = serde_json::from_str(text).map_err(|cause| self.failure(&format!("no JSON: {cause}")))?;
        if let Some(form) = line.get("form") {
            self.is_begun = form.as_str() == Some(FORM);
            let reason = format!("expected the form '{FORM}', found {form}");
            return if self.is_begun { Ok(None) } else { Err(self.failure(&reason)) };
        }
        if !self.is_begun {
            return Err(self.failure(&format!("expected a first line with the form '{FORM}'")));
        }
        let number = |key: &str| line.get(key).and_then(Json::as_u64);
        let text = |key: &str| line.get(key).and_then(Json::as_str).unwrap_or_default();
        let missing = |key: &str| self.failure(&format!("'{key}' is missing or of another type"));
        let kind = TraceKind::of_name(text("kind"));
        let read = line.get("parameters").map(parameters::of_json).transpose();
        let parameters = read.map_err(|reason| self.failure(&reason))?.unwrap_or_default();
        let hash = u64::from_str_radix(text("hash"), 16).unwrap_or_default();
        let session = (text("writer").to_owned(), number("session").ok_or_else(|| missing("session"))?);
        let ns = number("ns").ok_or_else(|| missing("ns"))?;
        let at_us = line.get("atUs").and_then(Json::as_i64).ok_or_else(|| missing("atUs"))?;
        let next = self.sessions.len() as u64 + 1;
        Ok(Some(TraceEvent {
            at_us,
            session: *self.sessions.entry(session).or_insert(next),
            kind,
            text: text("statement").to_owned(),
            parameters,
            ns,
            rows: number("rows").unwrap_or_default(),
            hash,
            error: line.get("error").and_then(Json::as_str).map(str::to_owned),
        }))
    }
}

impl Iterator for Trace {
    type Item = Result<TraceEvent>;

    fn next(&mut self) -> Option<Result<TraceEvent>> {
        loop {
            let line = self.lines.next()?;
            self.line += 1;
            let read = line.map_err(|cause| Error::new(ErrorCode::File, format!("{}: {cause}", self.name)));
            // The last line may be torn where its writer was killed.
            let event = read.and_then(|text| match text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text) {
                "" => Ok(None),
                text => self.event(text),
            });
            if let Some(event) = event.transpose() {
                return Some(event);
            }
        }
    }
}
