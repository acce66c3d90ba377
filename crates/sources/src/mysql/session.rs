//! A connection of MySQL or MariaDB: opened, asked, and what it says is wrong.

use std::error::Error as _;
use std::time::Duration;

use ::mysql::consts::CapabilityFlags;
use ::mysql::prelude::Queryable;
use ::mysql::{Binary, Column as SqlColumn, Conn, Opts, OptsBuilder, Params, QueryResult, SslOpts, Value as SqlValue};
use model::{Column, Error, ErrorCode, Result, error};
use self_cell::{MutBorrow, self_cell};

use super::cells::{Plan, SORTED_BYTES, declared_decimal};
use super::socket::Socket;
use crate::relational::answers::{CHANGE_ITS_SOURCES, failed};
use crate::relational::cells::Cells;
use crate::sql::Form;

/// Rows that are handed on at once.
const BATCH: usize = 8192;
/// Time limit for connecting, if the URL does not state one.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// The server's error code if it admits only connections over TLS.
const NEEDS_TLS: u16 = 3159;
/// Its error codes if a column is set that it computes.
const COMPUTED_COLUMN: [u16; 3] = [1906, 3105, 3106];

/// The address of a database, and the settings for asking it.
#[derive(Clone)]
pub(super) struct Settings {
    /// The URL without a password.
    pub(super) name: String,
    options: Opts,
    tls: Tls,
    connect_wait: Duration,
    statement_timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tls {
    /// If the server asks for it.
    AsAsked,
    Never,
    /// Always, without a check of the server's identity.
    Always,
    /// If the server's certificate is right.
    Checked,
}

impl Settings {
    /// Reads `mysql://user:password@host:port/database` with `sslmode`, `connect_timeout` (seconds) and
    /// `statement_timeout` (milliseconds). The password may come from `MYSQL_PWD`.
    pub(super) fn parse(url: &str) -> Result<Settings> {
        let name = crate::urls::without_password(url);
        let bad = |what: &str| {
            error!(Argument, "{name}: {what}")
                .with_remedy("write it as mysql://user@host:3306/database?sslmode=require")
        };
        let (address, settings) = url.split_once('?').unwrap_or((url, ""));
        let address = match address.split_once("://") {
            Some((_, rest)) => format!("mysql://{rest}"),
            None => return Err(bad("expected mysql:// and a host")),
        };
        let options = Opts::from_url(&address).map_err(|cause| bad(&cause.to_string()))?;
        let (mut connect_wait, mut statement_timeout, mut tls) = (CONNECT_WAIT, None, Tls::AsAsked);
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            let number =
                |text: &str| text.parse::<u64>().map_err(|_| bad(&format!("expected a number in `{setting}`")));
            match setting.split_once('=') {
                Some(("connect_timeout", text)) => connect_wait = Duration::from_secs(number(text)?),
                Some(("statement_timeout", text)) => statement_timeout = Some(Duration::from_millis(number(text)?)),
                Some(("sslmode", "disable")) => tls = Tls::Never,
                Some(("sslmode", "prefer")) => tls = Tls::AsAsked,
                Some(("sslmode", "require")) => tls = Tls::Always,
                Some(("sslmode", "verify-ca" | "verify-full")) => tls = Tls::Checked,
                _ => {
                    let known = "sslmode, connect_timeout and statement_timeout";
                    return Err(bad(&format!("there is no setting `{setting}`, only {known}")));
                }
            }
        }
        let password = options.get_pass().map(str::to_owned).or_else(|| std::env::var("MYSQL_PWD").ok());
        let options = OptsBuilder::from_opts(options)
            .pass(password)
            .prefer_socket(false)
            .tcp_connect_timeout(Some(connect_wait))
            .read_timeout(Some(connect_wait))
            .write_timeout(Some(connect_wait))
            // A row that is set to what it was counts as changed.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
        Ok(Settings { name, options: options.into(), tls, connect_wait, statement_timeout })
    }

    pub(super) fn open(&self) -> Result<Session> {
        let with_tls = |checks: bool| {
            let tls = SslOpts::default()
                .with_danger_accept_invalid_certs(!checks)
                .with_danger_skip_domain_validation(!checks);
            Conn::new(OptsBuilder::from_opts(self.options.clone()).ssl_opts(tls))
        };
        let connected = match self.tls {
            Tls::Never => Conn::new(self.options.clone()),
            Tls::Always => with_tls(false),
            Tls::Checked => with_tls(true),
            Tls::AsAsked => match Conn::new(self.options.clone()) {
                Err(::mysql::Error::MySqlError(refused)) if refused.code == NEEDS_TLS => with_tls(false),
                connected => connected,
            },
        };
        let connection = connected.map_err(|cause| self.unreachable(&cause))?;
        let lost = |cause: std::io::Error| error!(Source, "{}: cannot connect: {cause}", self.name);
        let socket = Socket::of(&connection).map_err(lost)?;
        // The server ends statements that take too long; where it no longer answers at all, this does, later.
        let answer = self.statement_timeout.map(|limit| limit + self.connect_wait);
        let (name, waits) = (self.name.clone(), Waits { connecting: self.connect_wait, answer });
        let mut session = Session { connection, socket, name, waits, is_mariadb: false, is_used: false };
        let version = session.texts("SELECT VERSION()")?;
        session.is_mariadb = version.iter().flatten().any(|version| version.contains("MariaDB"));
        let isolation = |variable: &str| {
            format!(
                "SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO', \
                 max_sort_length = {SORTED_BYTES}, {variable} = 'REPEATABLE-READ'"
            )
        };
        // Older servers have another name for it.
        session
            .command(&isolation("transaction_isolation"))
            .or_else(|_| session.command(&isolation("tx_isolation")))?;
        if session.is_mariadb {
            // Older servers have no such setting: there what others changed since it was read is overwritten.
            let _ = session.command("SET SESSION innodb_snapshot_isolation = ON");
        }
        if let Some(limit) = self.statement_timeout {
            session.command(&match session.is_mariadb {
                true => format!("SET SESSION max_statement_time = {}", limit.as_secs_f64()),
                false => format!("SET SESSION max_execution_time = {}", limit.as_millis()),
            })?;
        }
        session.socket.set_patience(answer).map_err(lost)?;
        Ok(session)
    }

    /// Why there is no connection.
    fn unreachable(&self, cause: &::mysql::Error) -> Error {
        let is_wait = |kind| matches!(kind, std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
        if io_cause(cause).is_some_and(|error| is_wait(error.kind())) {
            let (name, wait) = (&self.name, self.connect_wait);
            return error!(Source, "{name}: cannot connect: no answer within {wait:?}").with_remedy(
                "see that the server runs, and check host and port, or raise connect_timeout (seconds) in the URL",
            );
        }
        failure(&self.name, "", cause)
    }
}

/// The times that the server is waited for.
#[derive(Clone, Copy, Debug)]
struct Waits {
    connecting: Duration,
    /// For each piece of an answer; as long as it takes with `None`.
    answer: Option<Duration>,
}

/// A connection.
pub(super) struct Session {
    connection: Conn,
    socket: Socket,
    name: String,
    waits: Waits,
    pub(super) is_mariadb: bool,
    /// True if it was used before it was taken from those that were kept.
    pub(super) is_used: bool,
}

type RowsOf<'a> = QueryResult<'a, 'a, 'a, Binary>;

self_cell!(
    struct OpenRows {
        owner: MutBorrow<Conn>,
        #[not_covariant]
        dependent: RowsOf,
    }
);

/// A statement whose rows are read piece by piece, and which has the connection to itself until its end.
pub(super) struct Streaming {
    rows: OpenRows,
    plans: Plans,
    text: String,
    name: String,
    socket: Socket,
    waits: Waits,
    is_mariadb: bool,
    is_used: bool,
    /// The number by which the server knows the connection.
    connection: u32,
}

/// A connection for the thread that is to end the wait for it.
pub(super) struct Handle<'a> {
    /// The number by which the server knows it.
    pub(super) connection: u32,
    pub(super) socket: &'a Socket,
}

impl Streaming {
    /// Further rows, `most` at most; fewer than that at their end.
    pub(super) fn more(&mut self, most: usize) -> Result<(Vec<Column>, usize)> {
        let plans = &self.plans;
        let read = self.rows.with_dependent_mut(|_, rows| read(rows, plans, most));
        read.map_err(|unread| unread.told(&self.name, &self.text))
    }

    /// The connection, once the rows that are left were read and thrown away.
    pub(super) fn end(self) -> Session {
        let Streaming { rows, name, socket, waits, is_mariadb, is_used, .. } = self;
        Session { connection: rows.into_owner().into_inner(), socket, name, waits, is_mariadb, is_used }
    }

    /// The connection for the thread that is to end the wait for it.
    pub(super) fn handle(&self) -> Handle<'_> {
        Handle { connection: self.connection, socket: &self.socket }
    }

    /// The server is not waited for long any more: nobody wants what it sends.
    pub(super) fn be_short(&self) {
        // If that cannot be set the connection is broken, as the next read will tell.
        let _ = self.socket.set_patience(Some(self.waits.connecting));
    }
}

/// For each column of a result, how its values are read.
type Plans = Vec<(Plan, Form)>;

fn plans(result: &QueryResult<'_, '_, '_, Binary>, forms: &[Form]) -> Plans {
    let forms = forms.iter().copied().chain(std::iter::repeat(Form::Shown));
    result.columns().as_ref().iter().map(Plan::of).zip(forms).collect()
}

/// Why rows cannot be read.
enum Unread {
    Failed(::mysql::Error),
    /// A column holds a value, in words, that has no counterpart.
    Value(String, String),
}

impl From<::mysql::Error> for Unread {
    fn from(cause: ::mysql::Error) -> Unread {
        Unread::Failed(cause)
    }
}

impl Unread {
    fn told(self, name: &str, statement: &str) -> Error {
        match self {
            Unread::Failed(cause) => failure(name, statement, &cause),
            Unread::Value(column, value) => error!(Definition, "{name}: the column {column} holds {value}")
                .with_remedy("give its property the type STRING or FLOAT in the definition"),
        }
    }
}

/// Rows of a result as columns, `most` at most, and their number.
fn read(
    result: &mut QueryResult<'_, '_, '_, Binary>,
    plans: &Plans,
    most: usize,
) -> std::result::Result<(Vec<Column>, usize), Unread> {
    let mut cells: Vec<Cells> = plans.iter().map(|_| Cells::default()).collect();
    let mut count = 0;
    while count < most {
        let Some(row) = result.next() else { break };
        for (at, ((value, (plan, form)), cells)) in row?.unwrap().iter().zip(plans).zip(&mut cells).enumerate() {
            if let Err(value) = plan.push(value, *form, cells) {
                let column = result.columns().as_ref().get(at).map(|column| column.name_str().into_owned());
                return Err(Unread::Value(column.unwrap_or_default(), value));
            }
        }
        count += 1;
    }
    Ok((cells.into_iter().map(Cells::finish).collect(), count))
}

impl Session {
    /// The connection for the thread that is to end the wait for it.
    pub(super) fn handle(&self) -> Handle<'_> {
        Handle { connection: self.connection.connection_id(), socket: &self.socket }
    }

    /// Ends a transaction that nobody wants, without waiting long for a server that does not answer.
    pub(super) fn roll_back(&mut self) -> bool {
        let Waits { connecting, answer } = self.waits;
        let is_done = self.socket.set_patience(Some(connecting)).is_ok() && self.command("ROLLBACK").is_ok();
        is_done && self.socket.set_patience(answer).is_ok()
    }

    /// Begins to read the rows of a statement; if it fails, the session goes on.
    pub(super) fn stream(
        self,
        text: &str,
        parameters: Vec<SqlValue>,
        forms: &[Form],
    ) -> Result<Streaming, Box<(Session, Error)>> {
        let Session { connection, socket, name, waits, is_mariadb, is_used } = self;
        let number = connection.connection_id();
        let mut read_by = Vec::new();
        let opened = OpenRows::try_new_or_recover(MutBorrow::new(connection), |connection| {
            let result = connection.borrow_mut().exec_iter(text, positional(parameters))?;
            read_by = plans(&result, forms);
            Ok(result)
        });
        match opened {
            Ok(rows) => {
                let plans = read_by;
                let text = text.to_owned();
                Ok(Streaming { rows, plans, text, name, socket, waits, is_mariadb, is_used, connection: number })
            }
            Err((connection, cause)) => {
                let failed = failure(&name, text, &cause);
                let connection = connection.into_inner();
                let session = Session { connection, socket, name, waits, is_mariadb, is_used };
                Err(Box::new((session, failed)))
            }
        }
    }

    /// Executes a command without parameters and rows.
    pub(super) fn command(&mut self, text: &str) -> Result<()> {
        self.connection.query_drop(text).map_err(|cause| failure(&self.name, text, &cause))
    }

    /// Hands the rows of a statement on in batches, as long as they are wanted.
    pub(super) fn query(
        &mut self,
        text: &str,
        parameters: Vec<SqlValue>,
        forms: &[Form],
        sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>,
    ) -> Result<()> {
        let name = &self.name;
        let wrong = |cause: ::mysql::Error| failure(name, text, &cause);
        let mut result = self.connection.exec_iter(text, positional(parameters)).map_err(wrong)?;
        let plans = plans(&result, forms);
        loop {
            let (columns, count) =
                read(&mut result, &plans, BATCH).map_err(|unread: Unread| unread.told(name, text))?;
            if !sink(columns)? || count < BATCH {
                return Ok(());
            }
        }
    }

    /// Executes a change: how many rows it changed, and the first number that the table gave to a row.
    pub(super) fn execute(&mut self, text: &str, parameters: Vec<SqlValue>) -> Result<(usize, Option<u64>)> {
        let name = &self.name;
        let wrong = |cause: ::mysql::Error| failure(name, text, &cause);
        let result = self.connection.exec_iter(text, positional(parameters)).map_err(wrong)?;
        Ok((result.affected_rows() as usize, result.last_insert_id()))
    }

    /// The rows of a query as strings; null is empty.
    pub(super) fn texts(&mut self, text: &str) -> Result<Vec<Vec<String>>> {
        let mut rows = Vec::new();
        self.query(text, Vec::new(), &[], &mut |columns| {
            let count = columns.first().map_or(0, Column::len);
            rows.extend((0..count).map(|row| {
                let text = |column: &Column| match column.value(row) {
                    model::Value::Null => String::new(),
                    model::Value::String(text) => text.to_string(),
                    model::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    other => other.to_string(),
                };
                columns.iter().map(text).collect()
            }));
            Ok(true)
        })?;
        Ok(rows)
    }

    /// The columns that a query gives: names, what they hold, and the type that they would have as decimals.
    pub(super) fn described(&mut self, sql: &str) -> Result<Vec<(String, Plan, String)>> {
        let text = format!("SELECT * FROM ({sql}\n) AS q LIMIT 0");
        let result = self.connection.exec_iter(&text, ());
        let result = result.map_err(|cause| failure(&self.name, &text, &cause))?;
        let column = |held: &SqlColumn| (held.name_str().into_owned(), Plan::of(held), declared_decimal(held));
        Ok(result.columns().as_ref().iter().map(column).collect())
    }
}

fn positional(parameters: Vec<SqlValue>) -> Params {
    if parameters.is_empty() { Params::Empty } else { Params::Positional(parameters) }
}

/// The failed system call behind an error.
fn io_cause(error: &::mysql::Error) -> Option<&std::io::Error> {
    match error {
        ::mysql::Error::IoError(cause) => Some(cause),
        ::mysql::Error::CodecError(cause) => cause.source()?.downcast_ref(),
        _ => None,
    }
}

/// The cause alone: the driver's text puts the name of a Rust type around it.
fn cause_of(error: &::mysql::Error) -> String {
    match error {
        ::mysql::Error::IoError(cause) => cause.to_string(),
        ::mysql::Error::CodecError(cause) => io_cause(error).map_or_else(|| cause.to_string(), ToString::to_string),
        ::mysql::Error::DriverError(cause) => cause.to_string(),
        ::mysql::Error::UrlError(cause) => cause.to_string(),
        other => other.to_string(),
    }
}

/// The error for a failure that the server reports, with a code that callers can react to.
fn failure(name: &str, statement: &str, cause: &::mysql::Error) -> model::Error {
    let ::mysql::Error::MySqlError(refused) = cause else {
        // A connection whose server does not hear that the run is over is closed.
        let lost =
            || failed(ErrorCode::Source, name, &format!("the connection failed: {}", cause_of(cause)), statement);
        return model::interrupt::check_this_thread().err().unwrap_or_else(lost);
    };
    let code = match refused.code {
        // Tables and columns that are not there, SQL that cannot be read.
        1051 | 1054 | 1060 | 1064 | 1109 | 1146 | 1149 | 1248 | 1305 | 1356 => ErrorCode::Definition,
        // Keys that are there already, foreign keys, nulls, checks.
        1048 | 1062 | 1216 | 1217 | 1364 | 1451 | 1452 | 3819 | 4025 => ErrorCode::Constraint,
        1264 | 1265 | 1366 | 1406 | 1292 => ErrorCode::Type,
        1020 | 1205 | 1213 => ErrorCode::Conflict,
        1036 | 1290 | 1792 => ErrorCode::ReadOnly,
        code if COMPUTED_COLUMN.contains(&code) => ErrorCode::ReadOnly,
        1317 => ErrorCode::Cancelled,
        1969 | 3024 => ErrorCode::Timeout,
        _ => ErrorCode::Source,
    };
    // The server was told to give up since the run that asked is over, for a reason.
    match model::interrupt::check_this_thread() {
        Err(unwanted) if code == ErrorCode::Cancelled => unwanted,
        _ if COMPUTED_COLUMN.contains(&refused.code) => {
            failed(code, name, &refused.message, statement).with_remedy(CHANGE_ITS_SOURCES)
        }
        _ => failed(code, name, &refused.message, statement),
    }
}
