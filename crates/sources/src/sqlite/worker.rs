//! A connection on a thread of its own: statements that are open cannot leave the connection, nor the connection its thread
//! while they are.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

use model::{Column, ErrorCode, Map, Result, error};
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, InterruptHandle, OpenFlags, Rows, Statement};
use self_cell::{MutBorrow, self_cell};

use super::File;
use super::cells::{Decoder, Row};
use crate::relational::answers::{CHANGE_ITS_SOURCES, failed};
use crate::sql::Form;

/// Rows that are read before they are handed over.
pub(super) const BATCH: usize = 4096;

/// Statements that are kept prepared.
const STATEMENTS_MAX: usize = 64;

type Job = Box<dyn for<'c> FnOnce(&mut Session<'c>) + Send>;

/// Time that an answer is waited for before a look if anybody still wants it.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// A thread with a connection, until it is dropped.
pub(super) struct Worker {
    jobs: Sender<Job>,
    interrupt: InterruptHandle,
}

type RowsOf<'a> = Rows<'a>;

self_cell!(
    struct OpenRows<'c> {
        owner: MutBorrow<Statement<'c>>,
        #[covariant]
        dependent: RowsOf,
    }
);

/// A statement whose rows are read piece by piece.
pub(super) struct Stream<'c> {
    rows: OpenRows<'c>,
    decoder: Decoder,
    text: String,
}

/// The connection as jobs see it.
pub(super) struct Session<'c> {
    pub(super) connection: &'c Connection,
    pub(super) name: &'c str,
    streams: Map<u64, Stream<'c>>,
    last_stream: u64,
}

/// A statement that can be sent to another thread.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) text: String,
    pub(super) parameters: Vec<SqlValue>,
    /// The form in which each column of its rows is read.
    pub(super) forms: Vec<Form>,
}

impl Worker {
    pub(super) fn open(name: &str, file: &File) -> Result<Worker> {
        let (jobs, inbox) = channel::<Job>();
        let (opened, wait) = sync_channel(1);
        let (name, file) = (name.to_owned(), file.clone());
        let thread = std::thread::Builder::new().name("knotwork-sqlite".into());
        let spawned = thread.spawn(move || {
            let connection = match open(&name, &file) {
                Ok(connection) => connection,
                Err(failure) => return drop(opened.send(Err(failure))),
            };
            if opened.send(Ok(connection.get_interrupt_handle())).is_err() {
                return;
            }
            let mut session = Session { connection: &connection, name: &name, streams: Map::default(), last_stream: 0 };
            while let Ok(job) = inbox.recv() {
                job(&mut session);
            }
        });
        spawned.map_err(|cause| error!(Source, "cannot start a thread for a connection: {cause}"))?;
        let interrupt = wait.recv().unwrap_or_else(|_| Err(stopped()))?;
        Ok(Worker { jobs, interrupt })
    }

    /// Does something with the connection and waits until it is done.
    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl for<'c> FnOnce(&mut Session<'c>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, wait) = sync_channel(1);
        self.send(move |session| drop(done.send(job(session))))?;
        self.wait(&wait).and_then(|answer| answer)
    }

    /// Waits for an answer. If the run that wants it is over, the database is told to give up, and the reason is given.
    pub(super) fn wait<T>(&self, inbox: &Receiver<T>) -> Result<T> {
        loop {
            match inbox.recv_timeout(LOOK_AFTER) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(unwanted) = model::interrupt::check_this_thread() {
                        self.interrupt.interrupt();
                        return Err(unwanted);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(stopped()),
            }
        }
    }

    /// Does something with the connection while others wait for what it hands over.
    pub(super) fn send(&self, job: impl for<'c> FnOnce(&mut Session<'c>) + Send + 'static) -> Result<()> {
        self.jobs.send(Box::new(job)).map_err(|_| stopped())
    }
}

pub(super) fn stopped() -> model::Error {
    error!(Internal, "the thread of a connection has stopped")
}

fn open(name: &str, file: &File) -> Result<Connection> {
    let access = if file.is_read_only { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |cause: rusqlite::Error| failure(name, "", &cause);
    let connection = Connection::open_with_flags(&file.path, flags).map_err(failed)?;
    connection.busy_timeout(file.wait).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    Ok(connection)
}

impl<'c> Session<'c> {
    /// Executes commands without rows: the begin and end of transactions.
    pub(super) fn command(&self, text: &str) -> Result<()> {
        self.connection.execute_batch(text).map_err(|cause| failure(self.name, text, &cause))
    }

    /// Hands the rows of a statement over in batches, as long as they are wanted.
    pub(super) fn query(&self, statement: &Prepared, sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>) -> Result<()> {
        let failed = |cause: rusqlite::Error| failure(self.name, &statement.text, &cause);
        let mut prepared = self.connection.prepare_cached(&statement.text).map_err(failed)?;
        bind(&mut prepared, &statement.parameters).map_err(failed)?;
        let decoder = Decoder::of(&prepared, &statement.forms);
        let mut rows = prepared.raw_query();
        loop {
            let (columns, count) = decoder.read(&mut rows, BATCH).map_err(failed)?;
            if !sink(columns)? || count < BATCH {
                return Ok(());
            }
        }
    }

    /// Executes a statement without rows; the answer is how many rows it changed.
    pub(super) fn execute(&self, statement: &Prepared) -> Result<usize> {
        let failed = |cause: rusqlite::Error| failure(self.name, &statement.text, &cause);
        let mut prepared = self.connection.prepare_cached(&statement.text).map_err(failed)?;
        bind(&mut prepared, &statement.parameters).map_err(failed)?;
        prepared.raw_execute().map_err(failed)
    }

    pub(super) fn start(&mut self, statement: &Prepared) -> Result<u64> {
        let failed = |cause: rusqlite::Error| failure(self.name, &statement.text, &cause);
        let mut prepared = self.connection.prepare(&statement.text).map_err(failed)?;
        bind(&mut prepared, &statement.parameters).map_err(failed)?;
        let decoder = Decoder::of(&prepared, &statement.forms);
        let rows = OpenRows::new(MutBorrow::new(prepared), |statement| statement.borrow_mut().raw_query());
        self.last_stream += 1;
        self.streams.insert(self.last_stream, Stream { rows, decoder, text: statement.text.clone() });
        Ok(self.last_stream)
    }

    /// Further rows of a stream; fewer than wanted at its end.
    pub(super) fn more(&mut self, stream: u64, most: usize) -> Result<(Vec<Column>, usize)> {
        let Some(open) = self.streams.get_mut(&stream) else {
            return Err(error!(Internal, "{}: a stream is read that is not open", self.name));
        };
        let Stream { rows, decoder, text } = open;
        let read = rows.with_dependent_mut(|_, rows| decoder.read(rows, most));
        read.map_err(|cause| failure(self.name, text, &cause))
    }

    pub(super) fn stop(&mut self, stream: u64) {
        self.streams.remove(&stream);
    }

    pub(super) fn close_streams(&mut self) {
        self.streams.clear();
    }

    /// Closes everything and gives changes up that were not committed.
    pub(super) fn reset(&mut self) -> Result<()> {
        self.streams.clear();
        if self.connection.is_autocommit() { Ok(()) } else { self.command("ROLLBACK") }
    }
}

fn bind(statement: &mut Statement<'_>, parameters: &[SqlValue]) -> rusqlite::Result<()> {
    statement.clear_bindings();
    // A condition that can be decided without its values leaves their numbers unused.
    let used = statement.parameter_count();
    parameters.iter().take(used).enumerate().try_for_each(|(at, value)| statement.raw_bind_parameter(at + 1, value))
}

/// The error for a failure that the database reports, with a code that callers can react to.
pub(super) fn failure(name: &str, statement: &str, cause: &rusqlite::Error) -> model::Error {
    use rusqlite::ErrorCode as E;
    let found = match cause {
        rusqlite::Error::SqlInputError { error, .. } => Some(error.code),
        cause => cause.sqlite_error_code(),
    };
    let code = match found {
        Some(E::ConstraintViolation) => ErrorCode::Constraint,
        Some(E::ReadOnly) => ErrorCode::ReadOnly,
        Some(E::DatabaseBusy | E::DatabaseLocked) => ErrorCode::Source,
        Some(E::OperationInterrupted) => ErrorCode::Cancelled,
        Some(E::OutOfMemory | E::TooBig) => ErrorCode::Limit,
        Some(E::DiskFull) => ErrorCode::DiskFull,
        Some(E::Unknown) if is_generated(cause) => ErrorCode::ReadOnly,
        // SQLite's code for tables and columns that do not exist, and for SQL that it cannot parse.
        Some(E::Unknown) => ErrorCode::Definition,
        _ => ErrorCode::Source,
    };
    let error = failed(code, name, &message(cause), statement);
    match found {
        Some(E::DatabaseBusy | E::DatabaseLocked) => error.with_remedy(
            "another connection holds the file; try again, raise ?busy_timeout=ms, or put the database into WAL mode",
        ),
        Some(E::Unknown) if is_generated(cause) => error.with_remedy(CHANGE_ITS_SOURCES),
        Some(E::CannotOpen) => error.with_remedy("check the path; a database is never created"),
        _ => error,
    }
}

/// Tells whether a column is written that the database computes.
fn is_generated(cause: &rusqlite::Error) -> bool {
    let message = message(cause);
    message.contains("generated column") && (message.contains("UPDATE") || message.contains("INSERT"))
}

/// True if a statement failed since another connection holds the file.
pub(super) fn is_locked(failure: &model::Error) -> bool {
    failure.code() == ErrorCode::Source && failure.message().contains("database is locked")
}

/// The text of an error without what rusqlite puts around it.
fn message(cause: &rusqlite::Error) -> String {
    match cause {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

impl Decoder {
    /// Rows as columns, `most` at most, and their number.
    fn read(&self, rows: &mut Rows<'_>, most: usize) -> rusqlite::Result<(Vec<Column>, usize)> {
        let mut row_cells = self.begin();
        let mut count = 0;
        while count < most {
            let Some(row) = rows.next()? else { break };
            self.push(&mut row_cells, Row(row))?;
            count += 1;
        }
        Ok((self.finish(row_cells), count))
    }
}
