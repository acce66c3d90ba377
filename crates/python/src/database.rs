//! A database: opened once in a process, used by all of its threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use client::address::PASSWORD_VARIABLE;
use client::{Address, Graph};
use database::advice::{PredictedTime, Recommendation, Remedy, WorkloadStatement};
use database::{Access, Config, Durability, Interrupt, Parameters, SparkSettings};
use model::{Value, error};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::connection::{Connection, isolation_of, request, seconds};
use crate::convert::from_python;
use crate::error::raised;
use crate::load;
use crate::result::QueryResult;
use crate::shared::Shared;
use crate::statement::{self, Settings};
use crate::worker::while_it_runs;

/// Interval at which relaxed commits are made durable.
const RELAXED_INTERVAL: Duration = Duration::from_millis(100);

/// A database that is open in this process.
#[pyclass(frozen, subclass, module = "knotwork._knotwork", name = "Database", weakref)]
pub(crate) struct Database {
    pub(crate) shared: Arc<Shared>,
    path: PathBuf,
}

fn durability_of(name: &str) -> PyResult<Durability> {
    match name {
        "full" => Ok(Durability::Full),
        "relaxed" => Ok(Durability::Relaxed { interval: RELAXED_INTERVAL }),
        "off" => Ok(Durability::Off),
        other => Err(raised(error!(Argument, "expected the durability full, relaxed or off, found {other}"))),
    }
}

/// A path as a parameter of a statement.
fn parameter_of(path: &Path) -> model::Result<Value> {
    let text = path.to_str().ok_or_else(|| {
        error!(Argument, "{} is not UTF-8, as the text of a statement must be", path.display())
            .with_remedy("choose another name for the directory")
    })?;
    Ok(Value::string(text))
}

/// True if a path is probably a mistyped address.
fn is_like_an_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://") || text.starts_with("bolt:") || text.starts_with("neo4j:"))
}

/// The graph of a store, which other processes may share, or of a server.
fn open(path: &Path, config: Config, is_shared: bool, interrupt: &Interrupt) -> database::Result<Graph> {
    match path.to_str().filter(|text| Address::is_one(text)) {
        Some(_) if config.access == Access::ReadOnly => {
            Err(error!(Unsupported, "a server cannot be connected read_only")
                .with_remedy("leave out read_only; what the user may do is for the server to say"))
        }
        Some(text) => Graph::connect(Address::parse(text, std::env::var(PASSWORD_VARIABLE).ok())?, config, interrupt),
        None if is_like_an_address(path) => {
            // It may hold a password, so it is not shown.
            Err(error!(Argument, "the address of the server is none, and no path either")
                .with_remedy("write bolt://user:password@host:7687/database"))
        }
        // A second database of the same store in one process is an error, not a detour through the socket.
        None if is_shared && !client::is_shared_here(path) => Graph::open(path, config, interrupt),
        None => Ok(Graph::of(database::Database::open_until(path, config, interrupt)?)),
    }
}

/// Settings of Spark: its Python, master, folder and options.
type OfSpark = (PathBuf, String, Option<PathBuf>, Vec<(String, String)>);

#[pymethods]
impl Database {
    #[new]
    #[pyo3(signature = (path, *, access="write", memory_limit=None, query_memory_limit=None, threads=None,
                        timeout=None, durability="full", isolation="snapshot", is_shared=true, spark=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords of Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        access: &str,
        memory_limit: Option<usize>,
        query_memory_limit: Option<usize>,
        threads: Option<usize>,
        timeout: Option<f64>,
        durability: &str,
        isolation: &str,
        is_shared: bool,
        spark: Option<OfSpark>,
    ) -> PyResult<Database> {
        let access = match access {
            "read" => Access::ReadOnly,
            "write" => Access::ReadWrite,
            "existing" => Access::ReadWriteExisting,
            other => {
                return Err(raised(error!(Argument, "expected the access read, write or existing, found {other}")));
            }
        };
        let mut config = Config {
            access,
            memory_bytes_max: memory_limit,
            query_memory_max: query_memory_limit,
            timeout: seconds(timeout)?,
            durability: durability_of(durability)?,
            isolation: isolation_of(isolation)?,
            ..Config::default()
        };
        if let Some(threads) = threads.filter(|threads| *threads > 0) {
            config.threads = threads;
        }
        if let Some((python, master, folder, options)) = spark {
            config.spark = Some(SparkSettings { python, master, folder, options });
        }
        let (interrupt, directory) = (Interrupt::new(), path.clone());
        let flag = interrupt.clone();
        let graph = while_it_runs(py, &flag, move || open(&directory, config, is_shared, &interrupt))?;
        for torn in graph.database().iter().flat_map(|database| database.torn_logs()) {
            let text = std::ffi::CString::new(format!("{torn}; see docs/backup-and-recovery.md").replace('\0', " "))?;
            PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyRuntimeWarning>(), &text, 1)?;
        }
        // An address may hold a password.
        let path = if path.to_str().is_some_and(Address::is_one) { graph.place().into() } else { path };
        Ok(Database { shared: Shared::new(graph), path })
    }

    /// Runs one statement as a transaction of its own. Parameters are given as a mapping, by keyword, or both.
    /// The keywords ``timeout``, ``memory_limit`` and ``progress`` are as in ``Connection.execute``.
    #[pyo3(signature = (query, parameters=None, **named))]
    fn execute(
        &self,
        py: Python<'_>,
        query: &str,
        parameters: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<QueryResult> {
        let request = request(py, Settings::of(&self.shared), query, parameters, named)?;
        let text = request.text.clone();
        let started = statement::run_once(py, &self.shared, request)?;
        QueryResult::new(py, text, started)
    }

    /// A connection: a session that is kept, for transactions that are begun by hand and for one thread's statements.
    fn cursor(&self) -> PyResult<Connection> {
        Connection::open(&self.shared)
    }

    /// The directory of the store.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// True if it is still open.
    #[getter]
    fn is_open(&self) -> bool {
        self.shared.is_open()
    }

    /// Moves a database that was connected with `read_only=True` on to what another process has committed by now. Returns True if there
    /// was anything new.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let (interrupt, shared) = (Interrupt::new(), self.shared.clone());
        let flag = interrupt.clone();
        while_it_runs(py, &flag, move || shared.database_to("refresh()")?.refresh(&interrupt))
    }

    /// Merges all writes into files.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        let checkpoint = || self.shared.graph()?.session().query("CHECKPOINT", &Parameters::default());
        py.detach(checkpoint).map(drop).map_err(raised)
    }

    /// Copies the store as it is now into a new directory, while it is used.
    #[pyo3(signature = (destination, base=None))]
    fn backup(&self, py: Python<'_>, destination: PathBuf, base: Option<PathBuf>) -> PyResult<()> {
        let mut session = self.shared.graph().map_err(raised)?.session();
        let flag = session.interrupt();
        while_it_runs(py, &flag, move || {
            let mut parameters = Parameters::from_iter([("to".into(), parameter_of(&destination)?)]);
            let mut statement = "BACKUP DATABASE TO $to".to_owned();
            if let Some(base) = &base {
                parameters.insert("base".into(), parameter_of(base)?);
                statement.push_str(" BASE $base");
            }
            session.query(&statement, &parameters).map(drop)
        })
    }

    /// Content of the store: counts of nodes, edges, labels and edge types, constraints and indexes, files and memory.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = py.detach(|| self.shared.graph()?.session().info()).map_err(raised)?;
        let dict = PyDict::new(py);
        dict.set_item("path", info.path)?;
        dict.set_item("nodes", info.nodes)?;
        dict.set_item("edges", info.edges)?;
        dict.set_item("labels", counts(py, &info.labels)?)?;
        dict.set_item("edge_types", counts(py, &info.edge_types)?)?;
        dict.set_item("property_keys", info.property_keys.iter().map(|key| &**key).collect::<Vec<_>>())?;
        dict.set_item("constraints", info.constraints)?;
        dict.set_item("indexes", info.indexes)?;
        dict.set_item("file_bytes", info.files.iter().map(|(_, bytes)| bytes).sum::<u64>())?;
        let (limit, used, peak) = info.memory;
        dict.set_item("memory_limit", limit)?;
        dict.set_item("memory_used", used)?;
        dict.set_item("memory_peak", peak)?;
        Ok(dict)
    }

    /// Indexes, constraints, sort keys and rewrites by which statements, with `;` between them, would be faster: dictionaries, those that save most first.
    /// Statements that only read are run. Nothing is changed.
    #[pyo3(signature = (query, parameters=None, **named))]
    fn advise<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        parameters: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let parameters = from_python::parameters(parameters, named)?;
        let statement =
            |text: &str| WorkloadStatement { text: text.to_owned(), parameters: parameters.clone(), calls: 1 };
        let workload: Vec<WorkloadStatement> = database::split_statements(query).into_iter().map(statement).collect();
        let (interrupt, shared) = (Interrupt::new(), self.shared.clone());
        let flag = interrupt.clone();
        let advice = while_it_runs(py, &flag, move || shared.database_to("advise()")?.advise(&workload, &interrupt))?;
        advice.recommendations.iter().map(|held| recommendation(py, held)).collect()
    }

    #[pyo3(signature = (table, labels, key, names, on_duplicate, progress))]
    #[allow(clippy::too_many_arguments, reason = "the method of Python names them")]
    fn _load_nodes<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        labels: Vec<String>,
        key: Option<String>,
        names: Option<Vec<(String, String)>>,
        on_duplicate: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        load::nodes(py, &self.shared, table, labels, key, names, on_duplicate, progress.as_ref())
    }

    #[pyo3(signature = (table, edge_type, source, target, names, on_missing, progress))]
    #[allow(clippy::too_many_arguments, reason = "the method of Python names them")]
    fn _load_edges<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        edge_type: String,
        source: load::End,
        target: load::End,
        names: Option<Vec<(String, String)>>,
        on_missing: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        load::edges(py, &self.shared, table, edge_type, source, target, names, on_missing, progress.as_ref())
    }

    /// Ends all that runs, undoes what is not committed and closes the store.
    #[pyo3(name = "_close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.shared.close()).map_err(raised)
    }
}

/// A recommendation as a dictionary, its times in seconds.
fn recommendation<'py>(py: Python<'py>, held: &Recommendation) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("kind", held.remedy.kind())?;
    dict.set_item("statement", held.remedy.statement())?;
    if let Remedy::Rewrite { statement, .. } = &held.remedy {
        dict.set_item("of", *statement)?;
    }
    dict.set_item("premise", &held.premise)?;
    let time = |time: &PredictedTime| -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("statement", time.statement)?;
        dict.set_item("before", time.before_ns / 1e9)?;
        dict.set_item("after", time.after_ns / 1e9)?;
        Ok(dict)
    };
    dict.set_item("times", held.times.iter().map(time).collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("entries", held.entries)?;
    dict.set_item("bytes", held.bytes)?;
    dict.set_item("build", held.build_ns / 1e9)?;
    dict.set_item("write", held.write_ns / 1e9)?;
    Ok(dict)
}

fn counts<'py>(py: Python<'py>, counts: &[(Arc<str>, u64)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in counts {
        dict.set_item(&**name, count)?;
    }
    Ok(dict)
}
