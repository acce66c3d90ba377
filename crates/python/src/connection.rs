//! A connection: a session that is kept, with its settings, its transaction and the statement it runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client::Session;
use database::{Error, IsolationLevel, Priority};
use model::error;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::from_python;
use crate::error::raised;
use crate::load;
use crate::result::QueryResult;
use crate::shared::{Seat, Shared, closed};
use crate::statement::{self, Request, Settings};

/// Options of a call beside the query and its parameters.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) timeout: Option<f64>,
    pub(crate) memory_limit: Option<usize>,
    pub(crate) progress: Option<Py<PyAny>>,
}

impl Options {
    /// Takes the options out of the keywords of a call; the others are parameters of the query.
    fn take(named: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
        let mut options = Options::default();
        let Some(named) = named else { return Ok(options) };
        let take = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            let found = named.get_item(name)?;
            if found.is_some() {
                named.del_item(name)?;
            }
            Ok(found.filter(|value| !value.is_none()))
        };
        options.timeout = take("timeout")?.map(|value| value.extract()).transpose()?;
        options.memory_limit = take("memory_limit")?.map(|value| bytes("memory_limit", &value)).transpose()?.flatten();
        options.progress = take("progress")?.map(Bound::unbind);
        Ok(options)
    }
}

/// A limit of memory: a number of bytes, or a string with a unit.
pub(crate) fn bytes(name: &str, limit: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    limit.py().import("knotwork._limits")?.getattr("bytes_of")?.call1((name, limit))?.extract()
}

/// A time limit in seconds as Python gives it.
pub(crate) fn seconds(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(timeout) = timeout else { return Ok(None) };
    let limit = Duration::try_from_secs_f64(timeout);
    limit.map(Some).map_err(|_| raised(error!(Argument, "expected a timeout in seconds, found {timeout}")))
}

impl Settings {
    pub(crate) fn of(shared: &Shared) -> Settings {
        let config = &shared.config;
        let (timeout, query_memory) = (config.timeout, config.query_memory_max);
        Settings { timeout, query_memory, isolation: config.isolation, priority: config.priority }
    }

    /// The settings of one statement.
    pub(crate) fn with(mut self, options: &Options) -> PyResult<Settings> {
        if let Some(timeout) = seconds(options.timeout)? {
            self.timeout = Some(timeout);
        }
        if let Some(bytes) = options.memory_limit {
            self.query_memory = Some(bytes);
        }
        Ok(self)
    }
}

/// A statement as a call of Python asks for it. Tables that `LOAD FROM` names are looked for in the parameters, and then
/// among the variables of the caller.
pub(crate) fn request(
    py: Python<'_>,
    settings: Settings,
    query: &str,
    parameters: Option<&Bound<'_, PyAny>>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<Request> {
    let options = Options::take(named)?;
    let settings = settings.with(&options)?;
    let (text, progress) = (Arc::from(query), options.progress);
    if !names_a_table(query) {
        let parameters = from_python::parameters(parameters, named)?;
        return Ok(Request { text, parameters, settings, tables: None, progress });
    }
    let find = py.import("knotwork._scan")?.getattr("tables")?;
    type Found<'py> = (String, Bound<'py, PyDict>, Bound<'py, PyAny>);
    let (query, found, rest): Found<'_> = find.call1((query, parameters, named))?.extract()?;
    let text = Arc::from(query);
    let tables = if found.is_empty() { None } else { Some(load::named(py, &found)?) };
    let parameters = from_python::parameters(Some(&rest), None)?;
    Ok(Request { text, parameters, settings, tables, progress })
}

/// True if a query has the words `LOAD FROM`, or begins with `COPY`.
fn names_a_table(query: &str) -> bool {
    let mut before = "";
    for word in query.split_ascii_whitespace() {
        if before.is_empty() && word.eq_ignore_ascii_case("COPY") {
            return true;
        }
        if before.eq_ignore_ascii_case("LOAD") && word.eq_ignore_ascii_case("FROM") {
            return true;
        }
        before = word;
    }
    false
}

/// A connection to a database: statements one after the other, and transactions.
///
/// Threads may share one, and then wait for each other; better is one for each.
#[pyclass(frozen, subclass, module = "knotwork._knotwork", name = "Connection", weakref)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    seat: Arc<Seat>,
    settings: Mutex<Settings>,
}

impl Connection {
    pub(crate) fn open(shared: &Arc<Shared>) -> PyResult<Connection> {
        let seat = shared.seat().map_err(raised)?;
        Ok(Connection { shared: shared.clone(), seat, settings: Mutex::new(Settings::of(shared)) })
    }

    fn settings(&self) -> Settings {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        action: impl FnOnce(&mut Session) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut guard = self.seat.lock()?;
            action(guard.as_mut().ok_or_else(closed)?)
        });
        done.map_err(raised)
    }
}

#[pymethods]
impl Connection {
    #[new]
    fn new(database: &Bound<'_, crate::database::Database>) -> PyResult<Connection> {
        Connection::open(&database.get().shared)
    }

    /// Runs one statement. Parameters are given as a mapping, by keyword, or both.
    /// The keywords ``timeout`` (seconds), ``memory_limit`` (bytes, or a string such as ``"512MB"``) and ``progress``
    /// (a callable that is given the steps done and in all) are none of the query's.
    #[pyo3(signature = (query, parameters=None, **named))]
    fn execute(
        &self,
        py: Python<'_>,
        query: &str,
        parameters: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<QueryResult> {
        let request = request(py, self.settings(), query, parameters, named)?;
        let text = request.text.clone();
        let started = statement::run_kept(py, &self.shared, &self.seat, request)?;
        QueryResult::new(py, text, started)
    }

    /// Begins a transaction.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        let settings = self.settings();
        statement::control(py, &self.seat, move |session| {
            session.set_isolation(settings.isolation);
            session.begin()
        })
    }

    /// Makes what the transaction wrote durable and visible.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        statement::control(py, &self.seat, Session::commit)
    }

    /// Undoes what the transaction wrote.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Session::rollback)
    }

    /// True if a transaction is open.
    #[getter]
    fn in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |session| Ok(session.in_transaction()))
    }

    /// Cancels the statement that runs now, from another thread; it raises ``InterruptedError``.
    fn interrupt(&self) {
        match self.seat.pipe() {
            Some(pipe) => pipe.cancel(),
            None => self.seat.interrupt.cancel(),
        }
    }

    /// Steps done and steps in all of the statement that runs now; 0 steps in all are unknown.
    #[getter]
    fn progress(&self) -> (u64, u64) {
        self.seat.pipe().map_or_else(|| self.seat.interrupt.progress(), |pipe| pipe.progress())
    }

    /// Seconds that a statement may take; ``None`` for as long as it takes.
    #[setter]
    fn set_timeout(&self, timeout: Option<f64>) -> PyResult<()> {
        let timeout = seconds(timeout)?;
        self.change(|settings| settings.timeout = timeout);
        Ok(())
    }

    #[getter]
    fn get_timeout(&self) -> Option<f64> {
        self.settings().timeout.map(|timeout| timeout.as_secs_f64())
    }

    /// Bytes of memory that a statement may hold; ``None`` for half of the database's limit.
    #[setter]
    fn set_memory_limit(&self, limit: &Bound<'_, PyAny>) -> PyResult<()> {
        let limit = bytes("memory_limit", limit)?;
        self.change(|settings| settings.query_memory = limit);
        Ok(())
    }

    #[getter]
    fn get_memory_limit(&self) -> Option<usize> {
        self.settings().query_memory
    }

    /// Isolation of transactions: ``"snapshot"`` or ``"serializable"``.
    #[setter]
    fn set_isolation(&self, name: &str) -> PyResult<()> {
        let isolation = isolation_of(name)?;
        self.change(|settings| settings.isolation = isolation);
        Ok(())
    }

    #[getter]
    fn get_isolation(&self) -> &'static str {
        match self.settings().isolation {
            IsolationLevel::Snapshot => "snapshot",
            IsolationLevel::Serializable => "serializable",
        }
    }

    /// Priority of statements beside those of others: ``"low"``, ``"normal"`` or ``"high"``.
    #[setter]
    fn set_priority(&self, name: &str) -> PyResult<()> {
        let unknown = || raised(error!(Argument, "expected the priority low, normal or high, found {name}"));
        let priority = Priority::of_name(name).ok_or_else(unknown)?;
        self.change(|settings| settings.priority = priority);
        Ok(())
    }

    #[getter]
    fn get_priority(&self) -> &'static str {
        self.settings().priority.name()
    }

    /// Rolls an open transaction back, and ends the connection.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.seat.leave());
    }
}

/// The isolation of a name.
pub(crate) fn isolation_of(name: &str) -> PyResult<IsolationLevel> {
    match name {
        "snapshot" => Ok(IsolationLevel::Snapshot),
        "serializable" => Ok(IsolationLevel::Serializable),
        other => Err(raised(error!(Argument, "expected the isolation snapshot or serializable, found {other}"))),
    }
}
