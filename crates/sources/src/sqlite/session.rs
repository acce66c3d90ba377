//! A connection: statements that are open cannot leave it, nor it its thread while they are.

use model::{Column, ErrorCode, Map, Result, error};
use rusqlite::{Connection, OpenFlags, Rows, Statement};
use self_cell::{MutBorrow, self_cell};

use super::File;
use super::cells::{Decoder, Row, to_sql};
use super::inspect::Inspector;
use crate::catalog::Inspect;
use crate::relational::answers::{CHANGE_ITS_SOURCES, failed};
use crate::relational::embedded::worker::{BATCH, Prepared, Session};
use crate::sql::ParameterValue;

/// Statements that are kept prepared.
const STATEMENTS_MAX: usize = 64;

type RowsOf<'a> = Rows<'a>;

self_cell!(
    struct OpenRows<'c> {
        owner: MutBorrow<Statement<'c>>,
        #[covariant]
        dependent: RowsOf,
    }
);

/// A statement whose rows are read piece by piece.
struct Stream<'c> {
    rows: OpenRows<'c>,
    decoder: Decoder,
    text: String,
}

/// A connection with what is open of it.
pub(super) struct SqliteSession<'c> {
    pub(super) connection: &'c Connection,
    pub(super) name: &'c str,
    streams: Map<u64, Stream<'c>>,
    last_stream: u64,
}

pub(super) fn open(name: &str, file: &File) -> Result<Connection> {
    let access = if file.is_read_only { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |cause: rusqlite::Error| failure(name, "", &cause);
    let connection = Connection::open_with_flags(&file.path, flags).map_err(failed)?;
    connection.busy_timeout(file.wait).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    Ok(connection)
}

impl<'c> SqliteSession<'c> {
    pub(super) fn new(connection: &'c Connection, name: &'c str) -> SqliteSession<'c> {
        SqliteSession { connection, name, streams: Map::default(), last_stream: 0 }
    }
}

impl Session for SqliteSession<'_> {
    fn command(&mut self, text: &str) -> Result<()> {
        self.connection.execute_batch(text).map_err(|cause| failure(self.name, text, &cause))
    }

    fn query(&mut self, statement: &Prepared, sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>) -> Result<()> {
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

    fn execute(&mut self, statement: &Prepared) -> Result<usize> {
        let failed = |cause: rusqlite::Error| failure(self.name, &statement.text, &cause);
        let mut prepared = self.connection.prepare_cached(&statement.text).map_err(failed)?;
        bind(&mut prepared, &statement.parameters).map_err(failed)?;
        prepared.raw_execute().map_err(failed)
    }

    fn start(&mut self, statement: &Prepared) -> Result<u64> {
        let failed = |cause: rusqlite::Error| failure(self.name, &statement.text, &cause);
        let mut prepared = self.connection.prepare(&statement.text).map_err(failed)?;
        bind(&mut prepared, &statement.parameters).map_err(failed)?;
        let decoder = Decoder::of(&prepared, &statement.forms);
        let rows = OpenRows::new(MutBorrow::new(prepared), |statement| statement.borrow_mut().raw_query());
        self.last_stream += 1;
        self.streams.insert(self.last_stream, Stream { rows, decoder, text: statement.text.clone() });
        Ok(self.last_stream)
    }

    fn more(&mut self, stream: u64, most: usize) -> Result<(Vec<Column>, usize)> {
        let Some(open) = self.streams.get_mut(&stream) else {
            return Err(error!(Internal, "{}: a stream is read that is not open", self.name));
        };
        let Stream { rows, decoder, text } = open;
        let read = rows.with_dependent_mut(|_, rows| decoder.read(rows, most));
        read.map_err(|cause| failure(self.name, text, &cause))
    }

    fn stop(&mut self, stream: u64) {
        self.streams.remove(&stream);
    }

    fn close_streams(&mut self) {
        self.streams.clear();
    }

    fn reset(&mut self) -> Result<()> {
        self.streams.clear();
        if self.connection.is_autocommit() { Ok(()) } else { self.command("ROLLBACK") }
    }

    fn inspector(&mut self) -> Box<dyn Inspect + '_> {
        Box::new(Inspector { session: self })
    }
}

fn bind(statement: &mut Statement<'_>, parameters: &[ParameterValue<'_>]) -> rusqlite::Result<()> {
    statement.clear_bindings();
    // A condition that can be decided without its values leaves their numbers unused.
    let used = statement.parameter_count();
    parameters.iter().take(used).enumerate().try_for_each(|(at, parameter)| match parameter {
        ParameterValue::One(value) => statement.raw_bind_parameter(at + 1, to_sql(value)),
        ParameterValue::Array(_) => Err(rusqlite::Error::ToSqlConversionFailure("SQLite has no arrays".into())),
    })
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
