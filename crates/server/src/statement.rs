//! One statement, whose rows go to the client as it asks for them; transactions.
//!
//! The statement runs on the thread that read it. Rows that are wanted are sent at once. Rows that are not wanted yet, or that
//! the client does not read, are kept in the buffer of their stream; when that is full the statement waits, for as long as
//! `Settings::patience` says and without a turn among the statements at work, and then goes on into a temporary file. So no
//! client holds a thread for long. A second statement of a transaction has the first run to its end in the same way.

use std::sync::Arc;
use std::time::Duration;

use bolt::message::{Mode, Scope};
use bolt::{Failure, Limits, Request, Step, answer, own};
use database::tools::SYSTEM_NAME;
use database::{
    Action, Error, ErrorCode, Interrupt, Outlook, Parameters, ResultBatch, ResultSink, Session, StatementSummary, Value,
};
use model::memory::Reservation;
use model::{Consumer, PropertyType};

use crate::connection::{Connection, Link, Transaction};
use crate::convert::Form;
use crate::limits::{METADATA_BYTES_MAX, SEND_BYTES, SMALL_VALUES_BYTES, STREAMS_MAX, UNSENT_BYTES_MAX, WAIT_TIME};
use crate::rows::{Buffer, Stream};
use crate::settings::DATABASE;
use crate::summary::{self, Ending};
use crate::{convert, failure};

/// Fails unless a client means the one database, and acts for itself.
pub(crate) fn check_place(database: Option<&str>, impersonated: Option<&str>) -> Result<(), Failure> {
    if let Some(name) = impersonated {
        let message = format!("nobody can act in the place of '{name}': Knotwork has no impersonation");
        let description = "syntax error or access rule violation - permission denied";
        return Err(failure::plain("Neo.ClientError.Security.Forbidden", "42NFF", description, message));
    }
    match database {
        Some(name) if !name.eq_ignore_ascii_case(DATABASE) && !is_system(database) => Err(failure::no_database(name)),
        _ => Ok(()),
    }
}

fn is_system(database: Option<&str>) -> bool {
    database.is_some_and(|name| name.eq_ignore_ascii_case(SYSTEM_NAME))
}

fn check_scope(connection: &Connection, scope: &Scope) -> Result<(), Failure> {
    check_place(scope.database.as_deref(), scope.impersonated.as_deref())?;
    let server = &connection.link.server;
    if server.is_ending() {
        return Err(failure::ending());
    }
    let now_us = server.database.clock().unix_us();
    match scope.bookmarks.iter().find(|bookmark| !server.bookmarks.is_ours(bookmark, now_us)) {
        Some(strange) => Err(failure::plain(
            "Neo.ClientError.Transaction.InvalidBookmark",
            "08N12",
            "connection exception - invalid bookmark",
            format!("this store never gave out the bookmark '{strange}'"),
        )),
        None => Ok(()),
    }
}

/// `BEGIN`.
pub(crate) fn begin(connection: &mut Connection, request: Request) {
    let Request::Begin(scope) = &request else { return };
    let checked = check_scope(connection, scope);
    let Some(session) = &mut connection.session else { return };
    let begun = checked.and_then(|()| session.begin().map_err(|error| failure::of_error(&error, "")));
    if let Err(failure) = begun {
        return connection.fail(failure);
    }
    note_metadata(session, scope, connection.link.form);
    let now = connection.link.server.now_ns();
    let limit = connection.time_limit(scope);
    let deadline_ns = limit.map(|limit| now.saturating_add(limit.as_nanos() as u64));
    // Remarks are the session's now, and need not be kept twice.
    let scope = Scope { metadata: Vec::new(), ..scope.clone() };
    let names_database = connection.link.form.version.tells_database() && scope.database.is_none();
    connection.transaction = Some(Transaction { scope, deadline_ns, touched_ns: now });
    answer::success(&mut connection.link.out, |out| {
        out.map(usize::from(names_database));
        if names_database {
            out.entry("db", DATABASE);
        }
    });
    connection.link.machine.succeed(&request);
}

/// Keeps what the client says of its transaction. It is shown only, so that what is no value of ours, or large, is left out.
fn note_metadata(session: &mut Session, scope: &Scope, form: Form) {
    if !scope.metadata.is_empty() {
        let metadata = convert::parameters(scope.metadata.clone(), form, METADATA_BYTES_MAX).ok();
        session.set_metadata(metadata.map(|(metadata, _)| Value::map(metadata)));
    }
}

/// `COMMIT`.
pub(crate) fn commit(connection: &mut Connection) {
    let Some(session) = &mut connection.session else { return };
    let wire = connection.link.wire.clone();
    let committed = wire.while_running(connection.link.server.now_ns(), || {
        if wire.is_interrupted() {
            return Err(Error::new(ErrorCode::Cancelled, "the transaction was cancelled"));
        }
        session.commit()
    });
    connection.transaction = None;
    connection.link.streams.clear();
    match committed {
        Ok(()) => {
            let bookmark = connection.link.bookmark();
            answer::success(&mut connection.link.out, |out| {
                out.map(1);
                out.entry("bookmark", &bookmark);
            });
            connection.link.machine.succeed(&Request::Commit);
        }
        Err(error) => {
            // The transaction is over, whatever the reason.
            connection.roll_back();
            let is_cut = error.code() == ErrorCode::Cancelled && wire.is_cut();
            connection.fail(if is_cut { failure::cut() } else { failure::of_error(&error, "") });
        }
    }
}

/// `RUN`.
pub(crate) fn run(connection: &mut Connection, request: Request) {
    let Request::Run(text, parameters, scope) = request else { return };
    // In a transaction the scope is that of its beginning; our own client says the limit of each statement.
    let asked = connection.link.own.map(|_| Scope { timeout_ms: scope.timeout_ms, ..Scope::default() });
    let scope = connection.transaction.as_ref().map_or(scope, |transaction| transaction.scope.clone());
    let checked = match &connection.transaction {
        Some(_) if connection.link.streams.len() >= STREAMS_MAX => {
            Err(failure::of_protocol(format!("the transaction has {STREAMS_MAX} results open")))
        }
        Some(_) => Ok(()),
        None => check_scope(connection, &scope),
    };
    let form = connection.link.form;
    let ready = checked
        .and_then(|()| take_parameters(connection, parameters, form).map_err(|error| failure::of_error(&error, "")));
    let (parameters, _held) = match ready {
        Ok(ready) => ready,
        Err(failure) => return connection.fail(failure),
    };
    let limit = connection.time_limit(asked.as_ref().unwrap_or(&scope));
    let is_in_transaction = connection.transaction.is_some();
    let (link, session) = (&mut connection.link, &mut connection.session);
    let Some(session) = session else { return };
    session.set_timeout(limit);
    if !is_in_transaction {
        note_metadata(session, &scope, form);
    }
    let started_ns = link.server.now_ns();
    let mut sink = Sink {
        interrupt: session.interrupt(),
        patience: link.server.settings.patience,
        link,
        scope: &scope,
        is_in_transaction,
        stream: None,
        outlook: None,
        refusal: None,
        has_rows: false,
        is_draining: false,
        scratch: Vec::new(),
        columns: 0,
        types: Arc::default(),
        started_ns,
    };
    let wire = sink.link.wire.clone();
    let outcome = wire.while_running(started_ns, || session.run(&text, &parameters, &mut sink));
    let outcome = match sink.refusal.take() {
        Some(failure) => Err(failure),
        None if wire.is_cut() && (sink.link.own.is_none() || outcome.is_err()) => Err(failure::cut()),
        // Our own client is told that it came to its end: a commit is not taken back.
        None if sink.link.wire.is_interrupted() && (sink.link.own.is_none() || outcome.is_err()) => Err(cancelled()),
        None => outcome.map_err(|error| failure::of_error(&error, &text)),
    };
    match outcome {
        Ok(summary) => sink.finish(&summary, &text),
        Err(failure) => fail_run(connection, failure),
    }
}

/// The parameters of a statement, and the account of their memory, which they have as long as it runs.
fn take_parameters(
    connection: &Connection,
    parameters: bolt::message::Map,
    form: Form,
) -> model::Result<(Parameters, Reservation)> {
    let mut held = connection.link.server.database.memory().empty(Consumer::Query);
    let arrived = connection.request_bytes;
    let (parameters, bytes) =
        convert::parameters(parameters, form, connection.values_bytes_max().saturating_sub(arrived))?;
    if arrived + bytes > SMALL_VALUES_BYTES {
        held.cover(bytes)?;
    }
    Ok((parameters, held))
}

fn cancelled() -> Failure {
    failure::of_error(&Error::new(ErrorCode::Cancelled, "the query was cancelled"), "")
}

/// A statement has failed: its client learns it now if it waits for an answer, otherwise at its next request.
fn fail_run(connection: &mut Connection, failure: Failure) {
    connection.leave_transaction();
    let link = &mut connection.link;
    // `RUN` was answered once the columns were known.
    let is_answered = !link.streams.is_empty() && link.answering.is_none();
    link.streams.clear();
    if link.wire.is_reset() && !link.wire.is_gone() {
        link.answering = None;
        if !is_answered {
            answer::ignored(&mut link.out);
        }
        link.machine.fail();
    } else if is_answered {
        link.deferred = Some(failure);
    } else {
        link.fail(failure);
    }
}

impl Link {
    /// The bookmark of this moment.
    pub(crate) fn bookmark(&self) -> String {
        self.server.bookmarks.at(self.server.database.clock().unix_us())
    }

    /// Answers the requests about streams that have arrived while a statement runs. False if the next one is something else.
    fn answer_about_streams(&mut self) -> bool {
        self.receive();
        loop {
            self.pump();
            if self.answering.is_some() || self.wire.is_interrupted() || self.out.len() >= UNSENT_BYTES_MAX {
                return true;
            }
            if !self.wire.next_is(is_about_streams) {
                return !self.wire.has_message();
            }
            let Some(message) = self.wire.next() else { return true };
            let Ok(request) = Request::read(&message, self.form.version, PORTION_LIMITS) else {
                self.wire.give_up();
                return true;
            };
            match (self.machine.take(&request), &request) {
                (Step::Act, Request::Pull(portion)) => self.ask(*portion, false),
                (Step::Act, Request::Discard(portion)) => self.ask(*portion, true),
                _ => self.wire.give_up(),
            }
        }
    }
}

/// Bounds of a request about a stream: a map of two integers, and what a driver may add.
const PORTION_LIMITS: Limits = Limits { depth: 8, memory: 64 << 10 };

fn is_about_streams(message: &[u8]) -> bool {
    matches!(message, [_, 0x2F | 0x3F, ..])
}

/// Takes the rows of the statement that runs.
struct Sink<'c> {
    link: &'c mut Link,
    scope: &'c Scope,
    interrupt: Interrupt,
    patience: Duration,
    is_in_transaction: bool,
    /// The stream, once the columns are known.
    stream: Option<i64>,
    outlook: Option<Outlook>,
    /// Reason for which the statement was not run.
    refusal: Option<Failure>,
    has_rows: bool,
    /// True once rows go to the buffer without end.
    is_draining: bool,
    scratch: Vec<u8>,
    columns: usize,
    /// The types of the columns, as far as they are known.
    types: Arc<[Option<PropertyType>]>,
    started_ns: u64,
}

impl Sink<'_> {
    fn open(&mut self, names: &[Arc<str>]) -> i64 {
        let number = self.link.machine.open();
        let buffer = Buffer::new(&self.link.server.database);
        self.link.streams.insert(number, Stream { buffer, wanted: None, end: None });
        self.stream = Some(number);
        self.columns = names.len();
        let names_database =
            self.link.form.version.tells_database() && !self.is_in_transaction && self.scope.database.is_none();
        let first_ms = self.link.server.now_ns().saturating_sub(self.started_ns) / 1_000_000;
        let is_in_transaction = self.is_in_transaction;
        let is_committed = self.is_committed();
        let types = self.types.clone();
        answer::success(&mut self.link.out, |out| {
            let entries = 2 + usize::from(is_in_transaction) + usize::from(names_database);
            out.map(entries + 2 * usize::from(is_committed.is_some()));
            if let Some(is_committed) = is_committed {
                out.string(own::IS_COMMITTED);
                out.bool(is_committed);
                out.string(own::TYPES);
                out.list(types.len());
                types.iter().for_each(|held| match held {
                    Some(held) => out.string(&held.to_string()),
                    None => out.null(),
                });
            }
            out.string("fields");
            out.list(names.len());
            names.iter().for_each(|name| out.string(name));
            out.string("t_first");
            out.int(first_ms as i64);
            if is_in_transaction {
                out.string("qid");
                out.int(number);
            }
            if names_database {
                out.entry("db", DATABASE);
            }
        });
        number
    }

    /// For our own client, whether the statement has committed what it writes: the rows of one that writes come after that.
    fn is_committed(&self) -> Option<bool> {
        let writes = self.outlook.is_some_and(|outlook| outlook.plan_writes && outlook.action != Action::Control);
        self.link.own.map(|_| writes && !self.is_in_transaction)
    }

    /// The statement has come to its end.
    fn finish(mut self, summary: &StatementSummary, text: &str) {
        let number = match self.stream {
            Some(number) => number,
            None => self.open(&[]),
        };
        let ending = Ending {
            version: self.link.form.version,
            is_own: self.link.own.is_some(),
            text,
            summary,
            outlook: self.outlook,
            columns: self.columns,
            has_rows: self.has_rows,
            bookmark: (!self.is_in_transaction).then(|| self.link.bookmark()),
            wants_hints: self.scope.severity.as_deref() != Some("OFF"),
            last_ms: self.link.server.now_ns().saturating_sub(self.started_ns) / 1_000_000,
        };
        let end = summary::message(&ending);
        if let Some(stream) = self.link.streams.get_mut(&number) {
            stream.end = Some(end);
        }
        self.link.pump();
    }

    /// Lets the client take rows until there is room in the buffer. False if no more are wanted.
    fn wait_for_client(&mut self, number: i64) -> bool {
        let until = self.link.server.now_ns().saturating_add(self.patience.as_nanos() as u64);
        let (interrupt, wire) = (self.interrupt.clone(), self.link.wire.clone());
        interrupt.while_aside(|| {
            wire.while_waiting(|| {
                loop {
                    self.is_draining |= !self.link.answer_about_streams();
                    self.link.flush();
                    let Some(stream) = self.link.streams.get(&number) else { return false };
                    if stream.is_unwanted() || self.link.wire.is_interrupted() {
                        return false;
                    }
                    let now = self.link.server.now_ns();
                    self.is_draining |= now >= until;
                    if self.is_draining || !stream.buffer.is_full() {
                        return true;
                    }
                    // The front may have taken the bytes a moment before it knew of the wait.
                    let left = Duration::from_nanos(until - now).min(WAIT_TIME);
                    let wants_to_write = self.link.has_unsent();
                    self.link.wire.wait(wants_to_write, left);
                }
            })
        })
    }
}

impl ResultSink for Sink<'_> {
    fn admits(&mut self, outlook: &Outlook) -> bool {
        self.outlook = Some(*outlook);
        // The session has just lowered its interrupt.
        if self.link.wire.is_interrupted() {
            return false;
        }
        let is_reading = self.scope.mode == Mode::Read;
        self.refusal = match outlook.action {
            Action::Copy if self.link.wire.peer().is_none() => Some(failure::not_from_another_process()),
            Action::Copy => Some(failure::plain(
                "Neo.ClientError.Security.Forbidden",
                "42NFF",
                "syntax error or access rule violation - permission denied",
                "COPY, ATTACH, DETACH and PRELOAD reach files and other databases, which this server does not let clients do",
            )),
            Action::Transaction => Some(failure::plain(
                "Neo.ClientError.Statement.UnsupportedOperationError",
                "42001",
                "syntax error or access rule violation - invalid syntax",
                "BEGIN, COMMIT and ROLLBACK are no statements here: begin and end transactions by the driver",
            )),
            Action::Write | Action::Batches | Action::Checkpoint if is_reading => {
                let error =
                    Error::new(ErrorCode::ReadOnly, "the transaction was begun for reading, and the statement writes");
                Some(failure::of_error(&error.with_remedy("begin it for writing"), ""))
            }
            _ if is_system(self.scope.database.as_deref()) && !outlook.is_apart => Some(failure::system_has_no_graph()),
            _ => None,
        };
        self.refusal.is_none()
    }

    fn column_types(&mut self, types: &Arc<[Option<PropertyType>]>) {
        self.types = types.clone();
    }

    fn columns(&mut self, names: &[Arc<str>]) -> model::Result<()> {
        self.open(names);
        // A client that asks for rows only then is told now; most have asked already, and get both at once.
        // Our own client learns from it what is committed, should this process end.
        if self.link.own.is_some() || !self.link.wire.has_message() {
            self.link.flush();
        }
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> model::Result<bool> {
        let Some(number) = self.stream else { return Ok(true) };
        self.is_draining |= !self.link.answer_about_streams();
        self.has_rows |= batch.rows > 0;
        let form = self.link.form;
        for row in 0..batch.rows {
            self.scratch.clear();
            answer::record(&mut self.scratch, batch.columns.len(), |out| {
                batch.columns.iter().for_each(|column| convert::cell(out, column, row, &batch.entities, form));
            });
            let link = &mut *self.link;
            let Some(stream) = link.streams.get_mut(&number) else { return Ok(false) };
            if stream.is_unwanted() {
                return Ok(false);
            }
            match &mut stream.wanted {
                // The common way: what is wanted is sent, and never stands in the buffer.
                Some(wanted)
                    if stream.buffer.is_empty() && wanted.rows != Some(0) && link.out.len() < UNSENT_BYTES_MAX =>
                {
                    wanted.rows = wanted.rows.map(|rows| rows - 1);
                    if !wanted.is_discarded {
                        link.out.extend_from_slice(&self.scratch);
                    }
                }
                _ => {
                    stream.buffer.push(&self.scratch)?;
                    let is_full = stream.buffer.is_full();
                    link.pump();
                    if is_full && !self.is_draining && !self.wait_for_client(number) {
                        return Ok(false);
                    }
                }
            }
            if self.link.out.len() >= SEND_BYTES {
                self.link.flush();
            }
        }
        // Rows that are slow to come are sent as they come.
        self.link.flush();
        Ok(!self.link.wire.is_gone())
    }
}

#[cfg(test)]
mod tests {
    use bolt::message;

    #[test]
    fn requests_about_streams_are_known_by_their_bytes() {
        assert!(super::is_about_streams(&[0xB1, 0x3F, 0xA0]) && super::is_about_streams(&[0xB1, 0x2F, 0xA0]));
        assert!(!super::is_about_streams(&[0xB0, 0x0F]) && message::is_reset(&[0xB0, 0x0F]));
    }
}
