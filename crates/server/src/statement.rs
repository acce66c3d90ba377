//! One statement, whose rows go to the client as it asks for them; transactions.
//!
//! The statement runs on the thread that read it. Rows that are wanted are sent at once. Rows that are not wanted yet, or that
//! the client does not read, are kept in the buffer of their stream; when that is full the statement waits, for as long as
//! `Settings::patience` says and without a turn among the statements at work, and then goes on into a temporary file. So no
//! client holds a thread for long. A second statement of a transaction has the first run to its end in the same way.
//!
//! While a statement computes its next rows, the front sends those that are there as the client asks for them: the client does not
//! wait for what it has not asked for.

mod sink;

use std::time::Duration;

use bolt::message::{Map, Scope};
use bolt::{Failure, Request, answer};
use database::tools::SYSTEM_NAME;
use database::{Error, ErrorCode, METADATA_BYTES_MAX, Parameters, Session, Value, used_database};
use model::Consumer;
use model::memory::Reservation;

use crate::connection::{Connection, HeldLink, Link};
use crate::convert::Form;
use crate::counts::Protocol;
use crate::databases::Found;
use crate::limits::{SMALL_VALUES_BYTES, STREAMS_MAX};
use crate::transactions::Transaction;
use crate::{convert, failure};
use sink::Sink;

/// Fails unless a client acts for itself.
pub(crate) fn check_impersonation(impersonated: Option<&str>) -> Result<(), Failure> {
    let Some(name) = impersonated else { return Ok(()) };
    let message = format!("nobody can act in the place of '{name}': Knotwork has no impersonation");
    let description = "syntax error or access rule violation - permission denied";
    Err(failure::plain("Neo.ClientError.Security.Forbidden", "42NFF", description, message))
}

pub(crate) fn is_system(database: Option<&str>) -> bool {
    database.is_some_and(|name| name.eq_ignore_ascii_case(SYSTEM_NAME))
}

/// Goes to the database that a client means, if it may.
fn enter(connection: &mut Connection, scope: &Scope) -> Result<(), Failure> {
    check_impersonation(scope.impersonated.as_deref())?;
    connection.enter(scope.database.as_deref())?;
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
    if let Err(failure) = open(connection, scope) {
        return connection.fail(failure);
    }
    let names_database = connection.link.form.version.tells_database() && scope.database.is_none();
    let database = connection.link.database.clone();
    answer::success(&mut connection.link.out, |out| {
        out.map(usize::from(names_database));
        if names_database {
            out.entry("db", &database);
        }
    });
    connection.link.machine.succeed(&request);
}

/// Begins a transaction in the session of a connection.
pub(crate) fn open(connection: &mut Connection, scope: &Scope) -> Result<(), Failure> {
    enter(connection, scope)?;
    let Some(session) = &mut connection.session else { return Ok(()) };
    session.begin().map_err(|error| failure::of_error(&error, ""))?;
    note_metadata(session, scope, connection.link.form);
    let now = connection.link.server.now_ns();
    let limit = connection.time_limit(scope);
    let deadline_ns = limit.map(|limit| now.saturating_add(limit.as_nanos() as u64));
    // Remarks are the session's now, and need not be kept twice.
    let scope = Scope { metadata: Vec::new(), ..scope.clone() };
    connection.transaction = Some(Transaction { scope, deadline_ns, touched_ns: now });
    Ok(())
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
    let committed = close(connection);
    connection.link.streams.clear();
    match committed {
        Ok(bookmark) => {
            answer::success(&mut connection.link.out, |out| {
                out.map(1);
                out.entry("bookmark", &bookmark);
            });
            connection.link.machine.succeed(&Request::Commit);
        }
        Err(failure) => connection.fail(failure),
    }
}

/// Commits the transaction of a connection, and gives the bookmark of that moment. The transaction is over, whatever comes of it.
/// A request to commit that has arrived whole is carried out, also if its client has left since.
pub(crate) fn close(connection: &mut Connection) -> Result<String, Failure> {
    let wire = connection.link.wire.clone();
    let now = connection.link.server.now_ns();
    connection.transaction = None;
    let Some(session) = &mut connection.session else { return Ok(connection.link.bookmark()) };
    let committed = wire.while_committing(now, || {
        if wire.is_cut() || wire.is_reset() {
            return Err(Error::new(ErrorCode::Cancelled, "the transaction was cancelled"));
        }
        session.commit()
    });
    committed.map(|()| connection.link.bookmark()).map_err(|error| {
        connection.roll_back();
        let is_cut = error.code() == ErrorCode::Cancelled && wire.is_cut();
        if is_cut { failure::cut() } else { failure::of_error(&error, "") }
    })
}

/// `RUN`.
pub(crate) fn run(connection: &mut Connection, request: Request) {
    let Request::Run(text, parameters, scope) = request else { return };
    let (text, scope) = match in_used_database(connection, text, scope) {
        Ok(chosen) => chosen,
        Err(failure) => return connection.fail(failure),
    };
    // In a transaction the scope is that of its beginning; our own client says the limit of each statement.
    let asked = connection.link.own.as_ref().map(|_| Scope { timeout_ms: scope.timeout_ms, ..Scope::default() });
    let scope = connection.transaction.as_ref().map_or(scope, |transaction| transaction.scope.clone());
    let checked = match &connection.transaction {
        Some(_) if connection.link.streams.len() >= STREAMS_MAX => {
            Err(failure::of_protocol(format!("the transaction has {STREAMS_MAX} results open")))
        }
        Some(_) => Ok(()),
        None => enter(connection, &scope),
    };
    let form = connection.link.form;
    let ready = checked
        .and_then(|()| take_parameters(connection, parameters, form).map_err(|error| failure::of_error(&error, "")));
    let (parameters, _held) = match ready {
        Ok(ready) => ready,
        Err(failure) => return connection.fail(failure),
    };
    let limit = connection.time_limit(asked.as_ref().unwrap_or(&scope));
    if limit == Some(Duration::ZERO) {
        return connection.fail(failure::timed_out());
    }
    let is_in_transaction = connection.transaction.is_some();
    let Some(session) = &mut connection.session else { return };
    session.set_timeout(limit);
    if !is_in_transaction {
        note_metadata(session, &scope, form);
    }
    let (server, wire) = (connection.link.server.clone(), connection.link.wire.clone());
    let desk = HeldLink::mutex(&connection.link).clone();
    let started_ns = server.now_ns();
    let mut sink = Sink::new(&desk, server.settings.patience, session, &scope, is_in_transaction, started_ns);
    let compute = || wire.while_running(started_ns, || session.run(&text, &parameters, &mut sink));
    connection.link.is_streaming = false;
    let outcome = HeldLink::unlocked(&mut connection.link, compute);
    let is_own = connection.link.own.is_some();
    let outcome = match sink.refusal.take() {
        Some(failure) => Err(failure),
        None if wire.is_cut() && (!is_own || outcome.is_err()) => Err(failure::cut()),
        // Our own client is told that it came to its end: a commit is not taken back.
        None if wire.is_interrupted() && (!is_own || outcome.is_err()) => Err(cancelled()),
        None => outcome.map_err(|error| failure::of_error(&error, &text)),
    };
    let protocol = if connection.link.reply.is_some() { Protocol::Http } else { Protocol::Bolt };
    let time_ns = server.now_ns().saturating_sub(started_ns);
    server.counts.statement(protocol, outcome.is_ok(), time_ns);
    match outcome {
        Ok(summary) => sink.finish(&mut connection.link, &summary, &text),
        Err(failure) => fail_run(connection, failure),
    }
}

/// A statement without `USE`, and the scope of the database that it names. A transaction stays in its own.
fn in_used_database(connection: &Connection, text: String, scope: Scope) -> Result<(String, Scope), Failure> {
    let Some(used) = used_database(&text) else { return Ok((text, scope)) };
    let present = &connection.link.database;
    if connection.transaction.is_some() && !present.eq_ignore_ascii_case(&used.name) {
        let error = Error::new(
            ErrorCode::TransactionState,
            format!("USE {}: the transaction that is open is one of the database {present}", used.name),
        );
        return Err(failure::of_error(&error.with_remedy("end it first"), &text));
    }
    Ok((used.statement, Scope { database: Some(used.name), ..scope }))
}

/// The parameters of a statement, and the account of their memory, which they have as long as it runs.
fn take_parameters(connection: &Connection, parameters: Map, form: Form) -> model::Result<(Parameters, Reservation)> {
    let mut held = connection.link.server.database.memory().empty(Consumer::Query);
    let arrived = connection.request_bytes;
    let left = connection.values_bytes_max().saturating_sub(arrived);
    let (parameters, bytes) = match connection.takes_types {
        true => convert::typed_parameters(parameters, form, left)?,
        false => convert::parameters(parameters, form, left)?,
    };
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
    // `RUN` was answered once the columns were known. Other streams of the transaction may be open before.
    let is_answered = link.is_streaming && link.answering.is_none();
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
    /// The bookmark of the last commit in the database of the session.
    pub(crate) fn bookmark(&self) -> String {
        let place = self.server.databases.find(Some(&self.database));
        let commits = if let Found::Here(place) = place { place.database.stats().commits } else { 0 };
        self.server.bookmarks.of(&self.database, commits, self.server.database.clock().unix_us())
    }
}
