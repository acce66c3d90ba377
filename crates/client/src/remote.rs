//! A session in another process.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bolt::message::{Map, Portion, Scope, get, text};
use bolt::{Answer, Limits, Value, own, request};
use database::{IsolationLevel, Parameters, Priority, ResultSink, StatementSummary};
use model::limits::VALUE_DEPTH_MAX;
use model::{Error, ErrorCode, Interrupt, PropertyType, Result, error};

use crate::failure::{error_of, has_not_run};
use crate::summary::summary_of;
use crate::values::{Rows, check_parameters, write_parameters};
use crate::wire::{Arrival, Wire};

/// Rows that are asked for at a time, and given on together.
const PORTION_ROWS: u64 = 2_048;
/// Time for which a server that was told to stop may be silent.
const STOP_TIME: Duration = Duration::from_secs(2);
/// Time by which a server may answer later than the time limit of a statement: it may wait for a thread first.
const LATE_TIME: Duration = Duration::from_secs(11);
/// Memory of the values of one row.
const ROW_BYTES_MAX: usize = 2 << 30;
/// Name of this client for servers.
const PRODUCT: &str = concat!("Knotwork/", env!("CARGO_PKG_VERSION"));

/// A login as a server takes it.
fn credentials(login: Option<&(String, String)>) -> Vec<(&'static str, Value)> {
    let string = |text: &str| Value::String(text.to_owned());
    match login {
        Some((user, password)) => {
            vec![("scheme", string("basic")), ("principal", string(user)), ("credentials", string(password))]
        }
        None => vec![("scheme", string("none"))],
    }
}

/// The failure of a call.
pub(crate) enum Failed {
    /// The server has not done anything of it, and the connection is of no use: it may be sent elsewhere.
    NotSent(Error),
    /// It is what the caller hears.
    Told(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Told(error)
    }
}

impl Failed {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Failed::NotSent(error) | Failed::Told(error) => error,
        }
    }
}

/// Settings of a session that its server is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) isolation: IsolationLevel,
    pub(crate) priority: Priority,
    pub(crate) query_memory_max: Option<usize>,
}

/// Knowledge of a statement while its connection may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It was sent.
    Sent,
    /// It has columns, and what it writes, if anything, is not yet committed.
    Running,
    /// It has columns, and is committed.
    Committed,
}

/// A session.
pub(crate) struct Remote {
    wire: Wire,
    /// Name of the server in messages.
    place: String,
    database: Option<String>,
    settings: Settings,
    /// Requests whose answers are to come.
    pending: usize,
    /// The longest silence while the present statement is answered.
    patience: Option<Duration>,
    in_transaction: bool,
    /// The server is our own.
    is_own: bool,
    /// The name by which the server called itself.
    agent: String,
    /// True once nothing can be asked any more.
    is_broken: bool,
}

impl Drop for Remote {
    fn drop(&mut self) {
        if !self.is_broken {
            let mut out = Vec::new();
            request::goodbye(&mut out);
            // One that is gone needs no word.
            let _ = self.wire.send(&out);
        }
    }
}

impl Remote {
    /// Logs in on a connection.
    ///
    /// # Errors
    /// Fails if the server does not let the user in, or is none.
    pub(crate) fn log_in(
        wire: Wire,
        place: String,
        login: Option<&(String, String)>,
        database: Option<String>,
        settings: Settings,
        interrupt: &Interrupt,
    ) -> Result<Remote> {
        let is_within_machine = wire.is_within_machine();
        let mut remote = Remote {
            wire,
            place,
            database,
            settings,
            pending: 0,
            patience: None,
            in_transaction: false,
            is_own: false,
            agent: String::new(),
            is_broken: false,
        };
        let string = |text: &str| Value::String(text.to_owned());
        let isolation = match settings.isolation {
            IsolationLevel::Snapshot => "snapshot",
            IsolationLevel::Serializable => "serializable",
        };
        let mut told = vec![
            (own::ISOLATION.to_owned(), string(isolation)),
            (own::PRIORITY.to_owned(), string(settings.priority.name())),
        ];
        let memory = settings.query_memory_max.and_then(|bytes| i64::try_from(bytes).ok());
        told.extend(memory.map(|bytes| (own::QUERY_MEMORY.to_owned(), Value::Int(bytes))));
        if is_within_machine
            && let Some(folder) = std::env::current_dir().ok().and_then(|folder| folder.to_str().map(string))
        {
            told.push((own::FOLDER.to_owned(), folder));
        }
        let mut greeting = vec![
            ("user_agent", string(PRODUCT)),
            // Neo4j insists on it from Bolt 5.3 on.
            ("bolt_agent", Value::Map(vec![("product".to_owned(), string(PRODUCT))])),
            (own::HELLO, Value::Map(told)),
        ];
        let credentials = credentials(login);
        let mut out = Vec::new();
        if !remote.wire.version.has_logon() {
            greeting.extend(credentials.iter().cloned());
        }
        request::hello(&mut out, &greeting);
        let mut requests = 1;
        if remote.wire.version.has_logon() {
            request::logon(&mut out, &credentials);
            requests += 1;
        }
        remote.send(&out, requests).map_err(|(_, cause)| remote.lost(&cause))?;
        let hints = remote.done(interrupt)?;
        if requests > 1 {
            remote.done(interrupt)?;
        }
        remote.agent = text(&hints, "server").unwrap_or_default().to_owned();
        remote.is_own = remote.agent.contains("Knotwork");
        remote.wire.silence_max = match get(&hints, "hints") {
            Some(Value::Map(hints)) => match get(hints, "connection.recv_timeout_seconds") {
                Some(Value::Int(seconds)) if *seconds > 0 => Some(Duration::from_secs(seconds.unsigned_abs())),
                _ => None,
            },
            _ => None,
        };
        Ok(remote)
    }

    /// The name by which its server called itself.
    pub(crate) fn agent(&self) -> &str {
        &self.agent
    }

    /// The settings that its server was told.
    pub(crate) fn settings(&self) -> Settings {
        self.settings
    }

    /// True if a transaction was begun.
    pub(crate) fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// True if statements can be sent, as far as can be told.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.is_broken |= !self.wire.is_alive();
        !self.is_broken
    }

    /// Begins a transaction.
    pub(crate) fn begin(&mut self, interrupt: &Interrupt) -> Result<(), Failed> {
        let mut out = Vec::new();
        request::begin(&mut out, &self.scope(None));
        // Nothing is lost if the server goes away, whenever that is.
        if let Err((_, cause)) = self.send(&out, 1) {
            return Err(Failed::NotSent(self.lost(&cause)));
        }
        match self.done(interrupt) {
            Ok(_) => {
                self.in_transaction = true;
                Ok(())
            }
            Err(failure) if failure.code() == ErrorCode::Cancelled => Err(Failed::Told(failure)),
            Err(failure) if self.is_broken || failure.code() == ErrorCode::Connection => {
                self.is_broken = true;
                Err(Failed::NotSent(failure))
            }
            Err(failure) => Err(Failed::Told(failure)),
        }
    }

    /// Commits the transaction.
    pub(crate) fn commit(&mut self, interrupt: &Interrupt) -> Result<()> {
        let mut out = Vec::new();
        request::commit(&mut out);
        if !self.is_alive() {
            return Err(self.rolled_back(&io::ErrorKind::UnexpectedEof.into()));
        }
        self.in_transaction = false;
        let length = out.len();
        if let Err((taken, cause)) = self.send(&out, 1) {
            return Err(if taken < length { self.rolled_back(&cause) } else { self.unknown(&cause) });
        }
        loop {
            match self.receive() {
                Ok(Some(answer)) => {
                    return self.success(answer, "").map(|_| ());
                }
                Ok(None) if interrupt.check_unpaused().is_err() => {
                    // The answer to the commit comes before that to the order to stop.
                    self.ask_to_stop().map_err(|cause| self.unknown(&cause))?;
                    let answer = self.await_answer().map_err(|cause| self.unknown(&cause))?;
                    // Once the answer is there, the connection is all that can be lost.
                    let _ = self.finish_reset();
                    return match answer {
                        Answer::Success(_) => Ok(()),
                        Answer::Failure(failure) => Err(error_of(&failure, "")),
                        _ => Err(cancelled()),
                    };
                }
                Ok(None) => {}
                Err(cause) => return Err(self.unknown(&cause)),
            }
        }
    }

    /// Undoes the transaction.
    pub(crate) fn roll_back(&mut self) -> Result<()> {
        let mut out = Vec::new();
        request::rollback(&mut out);
        self.in_transaction = false;
        // A server that is gone has undone it as well.
        match self.send(&out, 1) {
            Ok(()) => {
                let answer = self.await_answer().map_err(|cause| self.lost(&cause));
                let done = answer.and_then(|answer| self.success(answer, ""));
                done.map(|_| ()).or_else(|failure| if self.is_broken { Ok(()) } else { Err(failure) })
            }
            Err(_) => Ok(()),
        }
    }

    /// Runs one statement, as a session in the same process does.
    pub(crate) fn run(
        &mut self,
        statement: &str,
        parameters: &Parameters,
        timeout: Option<Duration>,
        interrupt: &Interrupt,
        sink: &mut dyn ResultSink,
    ) -> Result<StatementSummary, Failed> {
        check_parameters(parameters)?;
        let scope = self.scope(timeout);
        let (mut out, version, is_own) = (Vec::new(), self.wire.version, self.is_own);
        request::run(&mut out, statement, |out| write_parameters(out, parameters, version, is_own), &scope);
        let length = out.len();
        let most = self.wire.message_bytes_max();
        if length > most {
            let message =
                error!(Limit, "the statement and its parameters take {length} bytes, and another process takes {most}");
            return Err(message.with_remedy("pass them in several statements").into());
        }
        self.patience = timeout.map(|timeout| timeout.saturating_add(LATE_TIME));
        request::pull(&mut out, portion());
        if let Err((taken, cause)) = self.send(&out, 2) {
            if self.in_transaction {
                return Err(self.rolled_back(&cause).into());
            }
            // A statement of which a part is missing does not run.
            return Err(if taken < length {
                Failed::NotSent(self.lost(&cause))
            } else {
                Failed::Told(self.broken(&cause, Stage::Sent))
            });
        }
        let opened = match self.next(interrupt, Stage::Sent)? {
            Answer::Success(opened) => opened,
            answer => return Err(self.refused(answer, statement)),
        };
        let Some(Value::List(names)) = get(&opened, "fields") else {
            return Err(self.strange("a statement without columns", Stage::Running).into());
        };
        let name = |value: &Value| if let Value::String(name) = value { Some(Arc::from(name.as_str())) } else { None };
        let Some(names) = names.iter().map(name).collect::<Option<Vec<Arc<str>>>>() else {
            return Err(self.strange("a column without a name", Stage::Running).into());
        };
        let is_committed = matches!(get(&opened, own::IS_COMMITTED), Some(Value::Bool(true)));
        let stage = if is_committed { Stage::Committed } else { Stage::Running };
        if let Some(Value::List(types)) = get(&opened, own::TYPES)
            && types.len() == names.len()
        {
            let held = |held: &Value| if let Value::String(name) = held { PropertyType::of_name(name) } else { None };
            sink.column_types(&types.iter().map(held).collect());
        }
        let given = sink.columns(&names);
        self.given(given)?;
        self.take_rows(statement, names.len(), stage, interrupt, sink).map_err(Failed::Told)
    }

    /// Gives the rows on as they come, until the end of the statement.
    fn take_rows(
        &mut self,
        statement: &str,
        columns: usize,
        stage: Stage,
        interrupt: &Interrupt,
        sink: &mut dyn ResultSink,
    ) -> Result<StatementSummary> {
        let mut rows = Rows::new(columns, self.wire.version);
        let mut is_wanted = true;
        loop {
            if rows.count as u64 >= PORTION_ROWS || rows.count > 0 && !self.wire.has_arrived() {
                let given = sink.rows(rows.take());
                is_wanted &= self.given(given)?;
            }
            match self.next(interrupt, stage)? {
                Answer::Record(_) if !is_wanted => {}
                Answer::Record(row) => {
                    let pushed = rows.push(row);
                    if self.given(pushed)?.is_none() {
                        return Err(self.strange("a row of another number of columns", stage));
                    }
                }
                Answer::Success(end) if matches!(get(&end, "has_more"), Some(Value::Bool(true))) => {
                    let mut out = Vec::new();
                    if is_wanted {
                        request::pull(&mut out, portion());
                    } else {
                        request::discard(&mut out, Portion { rows: None, stream: None });
                    }
                    self.send(&out, 1).map_err(|(_, cause)| self.broken(&cause, stage))?;
                }
                Answer::Success(end) => {
                    if rows.count > 0 && is_wanted {
                        let given = sink.rows(rows.take());
                        self.given(given)?;
                    }
                    return Ok(summary_of(&end));
                }
                answer => return Err(self.refused(answer, statement).into_error()),
            }
        }
    }

    /// Passes on the outcome of giving rows to the caller; if that is an error, the statement ends.
    fn given<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() && !self.is_broken && self.pending > 0 {
            self.stop();
        }
        outcome
    }

    fn scope(&self, timeout: Option<Duration>) -> Scope {
        // A limit of 0 is none.
        let milliseconds = |limit: Duration| limit.as_micros().div_ceil(1_000).clamp(1, i64::MAX as u128) as i64;
        Scope { timeout_ms: timeout.map(milliseconds), database: self.database.clone(), ..Scope::default() }
    }

    fn send(&mut self, bytes: &[u8], requests: usize) -> Result<(), (usize, io::Error)> {
        self.pending += requests;
        self.wire.send(bytes).inspect_err(|_| self.is_broken = true)
    }

    /// The next answer, if it arrives within a moment.
    fn receive(&mut self) -> io::Result<Option<Answer>> {
        let limits = Limits { depth: VALUE_DEPTH_MAX as usize, memory: ROW_BYTES_MAX };
        let read = match self.wire.receive() {
            Ok(Arrival::Nothing) => return Ok(None),
            Ok(Arrival::Message(message)) => match Answer::read(&message, limits) {
                Ok(Some(answer)) => Ok(answer),
                Ok(None) => {
                    Err(io::Error::new(io::ErrorKind::InvalidData, "the server sent a message that is no answer"))
                }
                Err(cause) => Err(io::Error::new(io::ErrorKind::InvalidData, cause.to_string())),
            },
            Err(cause) => Err(cause),
        };
        if !matches!(read, Ok(Answer::Record(_))) {
            self.pending = self.pending.saturating_sub(1);
        }
        read.map(Some).inspect_err(|_| self.is_broken = true)
    }

    /// The next answer of a server that has nothing to do but to answer.
    fn await_answer(&mut self) -> io::Result<Answer> {
        loop {
            if let Some(answer) = self.receive()? {
                return Ok(answer);
            }
            if self.wire.silent() > STOP_TIME {
                self.is_broken = true;
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not answer"));
            }
        }
    }

    /// The next answer about a statement, unless that is stopped first.
    fn next(&mut self, interrupt: &Interrupt, stage: Stage) -> Result<Answer> {
        loop {
            match self.receive() {
                Ok(Some(answer)) => {
                    if matches!(answer, Answer::Record(_)) && interrupt.check_unpaused().is_err() {
                        return Err(self.stopped(stage));
                    }
                    return Ok(answer);
                }
                Ok(None) if interrupt.check_unpaused().is_err() => return Err(self.stopped(stage)),
                Ok(None) if self.patience.is_some_and(|patience| self.wire.silent() > patience) => {
                    let cause = "the server is silent long after the time limit of the statement";
                    return Err(self.broken(&io::Error::new(io::ErrorKind::TimedOut, cause), stage));
                }
                Ok(None) => {}
                Err(cause) => return Err(self.broken(&cause, stage)),
            }
        }
    }

    /// Stops the statement, whose caller wants that.
    fn stopped(&mut self, stage: Stage) -> Error {
        let is_committed = self.stop() || stage == Stage::Committed;
        if self.is_broken && !is_committed {
            return self.broken(&io::Error::other("it ended while the statement was being cancelled"), stage);
        }
        if is_committed {
            return error!(Cancelled, "the query was cancelled while its rows were read; what it wrote was committed")
                .with_remedy("read the rows by another statement; do not write again");
        }
        cancelled()
    }

    /// Has the server stop what runs and forget what was asked. True if a statement was found to be committed meanwhile.
    fn stop(&mut self) -> bool {
        let mut is_committed = false;
        if self.ask_to_stop().is_err() {
            return false;
        }
        while self.pending > 1 {
            match self.await_answer() {
                Ok(Answer::Success(fields)) => {
                    is_committed |= matches!(get(&fields, own::IS_COMMITTED), Some(Value::Bool(true)));
                }
                Ok(_) => {}
                Err(_) => return is_committed,
            }
        }
        // If it fails, the connection is not used again.
        let _ = self.finish_reset();
        is_committed
    }

    fn ask_to_stop(&mut self) -> io::Result<()> {
        let mut out = Vec::new();
        request::reset(&mut out);
        self.send(&out, 1).map_err(|(_, cause)| cause)
    }

    /// Takes the answer to `RESET`, which tells whether the transaction is open.
    fn finish_reset(&mut self) -> Result<()> {
        match self.await_answer() {
            Ok(Answer::Success(fields)) => {
                self.in_transaction &= matches!(get(&fields, own::IN_TRANSACTION), Some(Value::Bool(true)));
                Ok(())
            }
            Ok(_) => Err(self.strange("something else than the answer to RESET", Stage::Running)),
            Err(cause) => Err(self.lost(&cause)),
        }
    }

    /// A statement was refused, or has failed.
    fn refused(&mut self, answer: Answer, statement: &str) -> Failed {
        let (error, has_not_run) = match answer {
            Answer::Failure(failure) => (error_of(&failure, statement), has_not_run(&failure)),
            _ => return self.strange("an answer that stands for nothing that was asked", Stage::Running).into(),
        };
        let was_in_transaction = self.in_transaction;
        self.stop();
        if has_not_run && !was_in_transaction {
            // The server takes nothing on any more.
            self.is_broken = true;
            return Failed::NotSent(error);
        }
        Failed::Told(error)
    }

    /// The answer to a request that has no rows.
    fn done(&mut self, interrupt: &Interrupt) -> Result<Map> {
        loop {
            match self.receive() {
                Ok(Some(answer)) => return self.success(answer, ""),
                Ok(None) if interrupt.check_unpaused().is_err() => {
                    self.is_broken = true;
                    return Err(cancelled());
                }
                Ok(None) => {}
                Err(cause) => return Err(self.lost(&cause)),
            }
        }
    }

    fn success(&mut self, answer: Answer, statement: &str) -> Result<Map> {
        match answer {
            Answer::Success(fields) => Ok(fields),
            Answer::Failure(failure) => {
                let is_login = text(&failure, "neo4j_code").or_else(|| text(&failure, "code"));
                // After a login that has failed the server closes the connection.
                if is_login.is_some_and(|status| status.contains(".Security.")) {
                    self.is_broken = true;
                } else {
                    self.stop();
                }
                Err(error_of(&failure, statement))
            }
            _ => Err(self.strange("an answer that stands for nothing that was asked", Stage::Running)),
        }
    }

    fn strange(&mut self, what: &str, stage: Stage) -> Error {
        self.broken(&io::Error::new(io::ErrorKind::InvalidData, format!("the server sent {what}")), stage)
    }

    /// The error of a connection that is lost, while nothing is at stake.
    fn lost(&mut self, cause: &io::Error) -> Error {
        self.is_broken = true;
        error!(Connection, "the connection to {} was lost: {cause}", self.place)
    }

    /// The same within a transaction.
    fn rolled_back(&mut self, cause: &io::Error) -> Error {
        self.in_transaction = false;
        let place = &self.place;
        let error =
            error!(Connection, "the connection to {place} was lost, and the transaction was rolled back: {cause}");
        error.with_remedy("run the transaction again: it connects anew, or opens the store")
    }

    /// The same while a commit was under way.
    fn unknown(&mut self, cause: &io::Error) -> Error {
        self.is_broken = true;
        error!(
            OutcomeUnknown,
            "the connection to {} was lost during a commit, which may have been made: {cause}", self.place
        )
    }

    /// The same while a statement was under way.
    fn broken(&mut self, cause: &io::Error, stage: Stage) -> Error {
        self.is_broken = true;
        let place = &self.place;
        match stage {
            _ if self.in_transaction => self.rolled_back(cause),
            Stage::Sent => error!(
                OutcomeUnknown,
                "the connection to {place} was lost before the statement was answered; if it writes, it may have been \
                 committed: {cause}"
            ),
            Stage::Running => error!(Connection, "the connection to {place} was lost while the statement ran: {cause}")
                .with_remedy("run it again: it connects anew, or opens the store"),
            Stage::Committed => error!(
                Connection,
                "the connection to {place} was lost while rows were read; what the statement wrote was committed: {cause}"
            )
            .with_remedy("read the rows by another statement; do not write again"),
        }
    }
}

fn portion() -> Portion {
    Portion { rows: Some(PORTION_ROWS), stream: None }
}

fn cancelled() -> Error {
    error!(Cancelled, "the query was cancelled")
}

#[cfg(test)]
mod tests;
