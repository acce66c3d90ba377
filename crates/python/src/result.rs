//! The result of a statement: an iterator of records, and the same rows as dictionaries, tables and graphs.
//!
//! Invariant: rows are given once, in order. Looking ahead (`has_next`, the picture in a notebook) keeps what it finds.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use database::{Phase, ResultBatch, StatementSummary, Wait};
use model::{Column, ColumnData, error};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};

use crate::arrow::export::Layout;
use crate::arrow::kind::Kind;
use crate::arrow::stream::{ArrowStream, Reader, capsule};
use crate::convert::to_python;
use crate::error::{Failure, broken, consumed, raised};
use crate::pipe::{Found, Told, Types};
use crate::record::{Header, Record};
use crate::signals;
use crate::statement::{Rest, SIGNAL_STEP, Started, Stream};

/// Rows that are made objects before signals are listened to.
const SIGNAL_ROWS: usize = 1 << 10;
/// Batches that are looked at before the types of a stream are told.
const LOOK_AHEAD: usize = 64;

/// Warns of what is probably not meant, though it is no error. A filter of warnings may make it an exception.
fn warn(py: Python<'_>, summary: &StatementSummary) -> PyResult<()> {
    if summary.hints.is_empty() {
        return Ok(());
    }
    let hints: Vec<&str> = summary.hints.iter().map(|hint| hint.message.as_str()).collect();
    py.import("knotwork._summary")?.getattr("warn")?.call1((hints,)).map(|_| ())
}

/// The number of rows that are asked for.
fn rows_asked(count: i64) -> PyResult<usize> {
    usize::try_from(count)
        .map_err(|_| raised(error!(Argument, "expected a number of rows of at least 0, found {count}")))
}

#[derive(Default)]
struct Rows {
    ready: VecDeque<ResultBatch>,
    current: Option<(ResultBatch, usize)>,
    rest: Option<Stream>,
    has_given: bool,
    /// The number of rows given so far; unknown once another library reads them.
    given: Option<usize>,
    /// A read failed or was interrupted, and rows that it had taken are lost.
    is_broken: bool,
}

impl Rows {
    /// Gives up the rows that are left: those before them were lost with an exception.
    fn break_off(&mut self) {
        (self.ready, self.current, self.rest) = (VecDeque::new(), None, None);
        (self.has_given, self.is_broken) = (true, true);
    }
}

/// Listens to signals, and lets other threads of Python run.
fn give_way(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    py.detach(|| ());
    Ok(())
}

/// Python's collector of garbage, while it stands still. Each row is an object that it goes through, again and again as they
/// become more, and none of them is garbage: that took two thirds of the time.
struct PausedCollector<'py>(Bound<'py, PyModule>);

impl<'py> PausedCollector<'py> {
    /// Stops it, unless it is stopped already.
    fn new(py: Python<'py>) -> PyResult<Option<PausedCollector<'py>>> {
        let collector = py.import("gc")?;
        if !collector.call_method0("isenabled")?.extract::<bool>()? {
            return Ok(None);
        }
        collector.call_method0("disable")?;
        Ok(Some(PausedCollector(collector)))
    }
}

impl Drop for PausedCollector<'_> {
    fn drop(&mut self) {
        // Only a module that was tampered with lacks it.
        let _ = self.0.call_method0("enable");
    }
}

/// Cells of some rows, by columns.
struct Block {
    columns: Vec<std::vec::IntoIter<Py<PyAny>>>,
    rows: usize,
}

/// The rows of a statement, and what it did.
///
/// It is an iterator of records; ``fetchone``, ``fetchmany`` and ``fetchall`` take them too. ``to_arrow``, ``to_pandas``,
/// ``to_polars``, ``to_dicts`` and ``to_networkx`` take all that are left. Large results are made while they are read;
/// closing or dropping a result ends its query.
#[pyclass(frozen, module = "knotwork", name = "Result", weakref)]
pub(crate) struct QueryResult {
    header: Arc<Header>,
    types: Types,
    text: Arc<str>,
    rows: Mutex<Rows>,
    told: Arc<Told>,
}

impl QueryResult {
    pub(crate) fn new(py: Python<'_>, text: Arc<str>, started: Started) -> PyResult<QueryResult> {
        let told = Arc::new(Told::default());
        let rest = match started.rest {
            Rest::Nothing(summary) => {
                warn(py, &summary)?;
                told.tell(Some(*summary));
                None
            }
            Rest::Piped(stream) => Some(stream),
        };
        let rows = Mutex::new(Rows { ready: started.ready, rest, given: Some(0), ..Rows::default() });
        Ok(QueryResult { header: Header::new(py, started.columns)?, types: started.types, text, rows, told })
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Rows> {
        self.rows.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// The next batch of the query itself.
    fn pull(&self, py: Python<'_>, rows: &mut Rows) -> PyResult<Option<ResultBatch>> {
        loop {
            let Some(stream) = &rows.rest else { return Ok(None) };
            let pipe = stream.0.clone();
            let mut found = pipe.read(std::time::Duration::ZERO);
            if matches!(found, Found::Nothing) {
                found = py.detach(|| pipe.read(SIGNAL_STEP));
            }
            match found {
                Found::Rows(batch) => return Ok(Some(batch)),
                Found::Nothing => {
                    if let Err(exception) = py.check_signals() {
                        rows.break_off();
                        return Err(exception);
                    }
                }
                Found::End(outcome) => {
                    rows.rest = None;
                    let failed = |error| Failure::of(error, &self.text);
                    let summary = (*outcome).transpose().map_err(failed).inspect_err(|_| rows.break_off())?;
                    if let Some(summary) = &summary {
                        warn(py, summary)?;
                    }
                    self.told.tell(summary);
                }
            }
        }
    }

    /// Makes the row that comes next the current one; false at the end.
    fn advance(&self, py: Python<'_>, rows: &mut Rows) -> PyResult<bool> {
        if rows.is_broken {
            return Err(raised(broken()));
        }
        loop {
            if let Some((batch, row)) = &rows.current
                && *row < batch.rows
            {
                return Ok(true);
            }
            let next = match rows.ready.pop_front() {
                Some(batch) => Some(batch),
                None => self.pull(py, rows)?,
            };
            rows.current = next.map(|batch| (batch, 0));
            if rows.current.is_none() {
                return Ok(false);
            }
        }
    }

    /// Takes the next row as `make` makes it.
    fn take_row<T>(
        &self,
        py: Python<'_>,
        rows: &mut Rows,
        make: impl Fn(&ResultBatch, usize) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        if rows.given.is_some_and(|given| given > 0 && given.is_multiple_of(SIGNAL_ROWS)) {
            give_way(py)?;
        }
        if !self.advance(py, rows)? {
            return Ok(None);
        }
        let Some((batch, row)) = &mut rows.current else { return Ok(None) };
        let made = make(batch, *row)?;
        *row += 1;
        rows.has_given = true;
        rows.given = rows.given.map(|given| given + 1);
        Ok(Some(made))
    }

    fn cells(&self, py: Python<'_>, batch: &ResultBatch, row: usize) -> PyResult<Vec<Py<PyAny>>> {
        let cell = |column| to_python::cell(py, column, row, &batch.entities).map(Bound::unbind);
        batch.columns.iter().map(|column| cell(column)).collect()
    }

    fn record(&self, py: Python<'_>, batch: &ResultBatch, row: usize) -> PyResult<Record> {
        Ok(Record::new(self.header.clone(), self.cells(py, batch, row)?))
    }

    /// Takes up to `most` rows that come next, column by column; `None` at the end.
    fn take_block(&self, py: Python<'_>, rows: &mut Rows, most: usize) -> PyResult<Option<Block>> {
        if !self.advance(py, rows)? {
            return Ok(None);
        }
        let Some((batch, row)) = &mut rows.current else { return Ok(None) };
        let taken = *row..batch.rows.min(row.saturating_add(most));
        let column = |column: &Arc<Column>| to_python::cells(py, column, taken.clone(), &batch.entities);
        let columns = batch.columns.iter().map(|of| column(of).map(Vec::into_iter)).collect::<PyResult<Vec<_>>>()?;
        *row = taken.end;
        rows.has_given = true;
        rows.given = rows.given.map(|given| given + taken.len());
        Ok(Some(Block { columns, rows: taken.len() }))
    }

    /// Takes up to `count` rows, or all, as a list of what `make` makes of the cells of each. Listens to signals: turning millions of
    /// rows into objects takes a while.
    fn take_rows<'py, T: IntoPyObject<'py>>(
        &self,
        py: Python<'py>,
        count: Option<usize>,
        make: impl Fn(Vec<Py<PyAny>>) -> PyResult<T>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut rows = self.lock(py);
        let (taken, mut paused) = (PyList::empty(py), None);
        loop {
            let most = count.map_or(SIGNAL_ROWS, |count| (count - taken.len()).min(SIGNAL_ROWS));
            let block = if most == 0 { Ok(None) } else { self.take_block(py, &mut rows, most) };
            let Some(mut block) = block.inspect_err(|_| rows.break_off())? else { return Ok(taken) };
            for _ in 0..block.rows {
                let cells = block.columns.iter_mut().filter_map(Iterator::next).collect();
                taken.append(make(cells)?)?;
            }
            if paused.is_none() {
                paused = PausedCollector::new(py)?;
            }
            give_way(py).inspect_err(|_| rows.break_off())?;
        }
    }

    /// Gives all rows that are left as a stream of Arrow, after a look at the first batches, or at all.
    fn reader(&self, py: Python<'_>, look_ahead: Option<usize>) -> PyResult<Reader> {
        let mut rows = self.lock(py);
        if rows.is_broken {
            return Err(raised(broken()));
        }
        if rows.has_given && rows.current.is_none() && rows.rest.is_none() && rows.ready.is_empty() {
            return Err(raised(consumed()));
        }
        if let Some((batch, row)) = rows.current.take()
            && row < batch.rows
        {
            let columns = batch.columns.iter().map(|column| Arc::new(column.slice(row, batch.rows))).collect();
            rows.ready.push_front(ResultBatch { columns, rows: batch.rows - row, entities: batch.entities });
        }
        while look_ahead.is_none_or(|count| rows.ready.len() < count) {
            py.check_signals()?;
            match self.pull(py, &mut rows)? {
                Some(batch) => rows.ready.push_back(batch),
                None => break,
            }
        }
        rows.has_given = true;
        let lent = rows.ready.iter().map(|batch| batch.rows).sum::<usize>();
        rows.given = rows.given.filter(|_| rows.rest.is_none()).map(|given| given + lent);
        let (ready, rest) = (std::mem::take(&mut rows.ready), rows.rest.take());
        let (names, types) = (&self.header.names, &self.types);
        let layout = py.detach(|| Layout::of(names, types, ready.iter(), signals::listen_detached))?;
        Ok(Reader::new(layout, ready, rest, self.told.clone()))
    }

    /// Reads what is left into memory.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let mut rows = self.lock(py);
        while let Some(batch) = self.pull(py, &mut rows)? {
            rows.ready.push_back(batch);
            py.check_signals()?;
        }
        Ok(())
    }

    fn helper<'py>(
        slf: &Bound<'py, Self>,
        module: &str,
        name: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(module)?.getattr(name)?.call((slf,), options)
    }
}

#[pymethods]
impl QueryResult {
    /// The names of the columns.
    #[getter]
    fn columns(&self, py: Python<'_>) -> Py<PyTuple> {
        self.header.tuple.clone_ref(py)
    }

    /// The text of the query.
    #[getter]
    fn query(&self) -> &str {
        &self.text
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Record>> {
        self.take_row(py, &mut self.lock(py), |batch, row| self.record(py, batch, row))
    }

    /// The next record, or ``None`` at the end.
    fn fetchone(&self, py: Python<'_>) -> PyResult<Option<Record>> {
        self.__next__(py)
    }

    /// The next records, as many as that or fewer at the end.
    #[pyo3(signature = (size=1))]
    fn fetchmany<'py>(&self, py: Python<'py>, size: i64) -> PyResult<Bound<'py, PyList>> {
        self.take_rows(py, Some(rows_asked(size)?), |cells| Ok(Record::new(self.header.clone(), cells)))
    }

    /// All records that are left, as a list.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.take_rows(py, None, |cells| Ok(Record::new(self.header.clone(), cells)))
    }

    /// The first value of the next record, or ``None`` if there is none.
    fn scalar<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let row = self.take_row(py, &mut self.lock(py), |batch, row| self.cells(py, batch, row))?;
        let first = |row: Vec<Py<PyAny>>| PyTuple::new(py, row)?.get_item(0);
        row.map(first).transpose()
    }

    /// All records that are left, as a list of dictionaries.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names = self.header.tuple.bind(py);
        self.take_rows(py, None, |cells| {
            let dict = PyDict::new(py);
            for (name, cell) in names.iter().zip(cells) {
                dict.set_item(name, cell)?;
            }
            Ok(dict)
        })
    }

    /// All rows that are left as a ``pyarrow.Table``.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::helper(slf, "knotwork._tables", "to_arrow", None)
    }

    /// All rows that are left as a ``pandas.DataFrame``.
    #[pyo3(signature = (**options))]
    fn to_pandas<'py>(slf: &Bound<'py, Self>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        Self::helper(slf, "knotwork._tables", "to_pandas", options)
    }

    /// All rows that are left as a ``polars.DataFrame``.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::helper(slf, "knotwork._tables", "to_polars", None)
    }

    /// The nodes, edges and paths of all rows that are left as a NetworkX graph.
    #[pyo3(signature = (**options))]
    fn to_networkx<'py>(slf: &Bound<'py, Self>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        Self::helper(slf, "knotwork._graphs", "to_networkx", options)
    }

    /// The rows as a stream of Arrow: what ``pyarrow.table(result)`` and ``polars.DataFrame(result)`` ask for.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        capsule(py, self.reader(py, Some(LOOK_AHEAD))?)
    }

    /// The rows as a stream of Arrow whose types fit all rows: they are looked at first.
    ///
    /// With ``texts_for_months`` durations that have months are strings, for libraries that have no type for them.
    #[pyo3(signature = (texts_for_months=false))]
    fn _arrow_stream(&self, py: Python<'_>, texts_for_months: bool) -> PyResult<ArrowStream> {
        let reader = self.reader(py, None)?;
        Ok(ArrowStream::new(if texts_for_months { reader.with_texts_for_months() } else { reader }))
    }

    /// The first records that are left, which stay where they are.
    fn _peek(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Record>> {
        let mut rows = self.lock(py);
        let mut found = Vec::new();
        if !self.advance(py, &mut rows)? {
            return Ok(found);
        }
        if let Some((batch, row)) = &rows.current {
            for at in *row..batch.rows.min(row + count) {
                found.push(self.record(py, batch, at)?);
            }
        }
        let mut index = 0;
        while found.len() < count {
            if index == rows.ready.len() {
                match self.pull(py, &mut rows)? {
                    Some(batch) => rows.ready.push_back(batch),
                    None => break,
                }
            }
            let batch = &rows.ready[index];
            for at in 0..batch.rows.min(count - found.len()) {
                found.push(self.record(py, batch, at)?);
            }
            index += 1;
        }
        Ok(found)
    }

    /// Summary of the statement: counters, times, plan, hints. Rows that are left are read into memory first.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.finish(py)?;
        let summary = self.told.0.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
        let counters = summary.counters;
        let fields = PyDict::new(py);
        let counts = PyDict::new(py);
        for (name, count) in [
            ("nodes_created", counters.nodes_created),
            ("nodes_deleted", counters.nodes_deleted),
            ("edges_created", counters.edges_created),
            ("edges_deleted", counters.edges_deleted),
            ("properties_set", counters.properties_set),
            ("labels_added", counters.labels_added),
            ("labels_removed", counters.labels_removed),
            ("constraints_added", counters.constraints_added),
            ("constraints_removed", counters.constraints_removed),
            ("indexes_added", counters.indexes_added),
            ("indexes_removed", counters.indexes_removed),
        ] {
            counts.set_item(name, count)?;
        }
        fields.set_item("query", &*self.text)?;
        fields.set_item("counters", counts)?;
        fields.set_item("time", summary.time_ns as f64 / 1e9)?;
        let (phases, waits) = (PyDict::new(py), PyDict::new(py));
        for phase in Phase::ALL {
            phases.set_item(phase.name(), summary.phases.ns(phase) as f64 / 1e9)?;
        }
        for wait in Wait::ALL {
            waits.set_item(wait.name(), summary.counts.waits.of(wait) as f64 / 1e9)?;
        }
        fields.set_item("phases", phases)?;
        fields.set_item("waits", waits)?;
        fields.set_item("plan_cached", summary.phases.is_plan_cached)?;
        fields.set_item("memory_peak", summary.memory_peak)?;
        fields.set_item("spilled_bytes", summary.spilled_bytes)?;
        fields.set_item("plan", summary.plan.as_deref())?;
        fields.set_item("plan_json", summary.report.as_ref().map(|report| report.json()))?;
        fields.set_item("hints", summary.hints.iter().map(|hint| hint.message.as_str()).collect::<Vec<_>>())?;
        py.import("knotwork._summary")?.getattr("Summary")?.call((), Some(&fields))
    }

    /// Ends the query, if it still runs, and forgets the rows that are left.
    fn close(&self, py: Python<'_>) {
        let mut rows = self.lock(py);
        let (ready, rest) = (std::mem::take(&mut rows.ready), rows.rest.take());
        rows.current = None;
        rows.has_given = true;
        py.detach(|| drop((ready, rest)));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _class: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<knotwork.Result columns=[{}]>", self.header.names.join(", "))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::helper(slf, "knotwork._notebook", "result_html", None)
    }

    /// True if there is another row (as in Kuzu).
    fn has_next(&self, py: Python<'_>) -> PyResult<bool> {
        self.advance(py, &mut self.lock(py))
    }

    /// The next row as a list (as in Kuzu).
    fn get_next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let row = self.take_row(py, &mut self.lock(py), |batch, row| self.cells(py, batch, row))?;
        PyList::new(py, row.ok_or_else(|| raised(error!(NotFound, "the result has no more rows")))?)
    }

    /// All rows that are left as lists (as in Kuzu).
    fn get_all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.take_rows(py, None, |cells| PyList::new(py, cells))
    }

    /// The next rows as lists (as in Kuzu).
    fn get_n<'py>(&self, py: Python<'py>, count: i64) -> PyResult<Bound<'py, PyList>> {
        self.take_rows(py, Some(rows_asked(count)?), |cells| PyList::new(py, cells))
    }

    /// An iterator of rows as dictionaries (as in Kuzu).
    fn rows_as_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::helper(slf, "knotwork._tables", "rows_as_dict", None)
    }

    /// The names of the columns as a list (as in Kuzu).
    fn get_column_names(&self) -> Vec<&str> {
        self.header.names.iter().map(|name| &**name).collect()
    }

    /// The number of rows of the whole result (as in Kuzu). Rows that are left are read into memory first.
    fn get_num_tuples(&self, py: Python<'_>) -> PyResult<usize> {
        self.finish(py)?;
        let rows = self.lock(py);
        let given = rows.given.ok_or_else(|| raised(consumed()))?;
        let current = rows.current.as_ref().map_or(0, |(batch, row)| batch.rows - row);
        Ok(given + current + rows.ready.iter().map(|batch| batch.rows).sum::<usize>())
    }

    /// The types of the columns by the values of the rows that are left, which are read into memory first (as in Kuzu, by its
    /// names).
    fn get_column_data_types(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.finish(py)?;
        let rows = self.lock(py);
        let batches = || rows.current.iter().map(|(batch, _)| batch).chain(&rows.ready);
        let layout = Layout::of(&self.header.names, &self.types, batches(), || py.check_signals())?;
        let name = |(index, kind): (usize, &Kind)| {
            let entity = batches().find_map(|batch| match &batch.columns[index].data {
                ColumnData::Node(_) => Some("NODE"),
                ColumnData::Edge(_) => Some("REL"),
                _ => None,
            });
            entity.map_or_else(|| kind.kuzu_name(), str::to_owned)
        };
        Ok(layout.kinds.iter().enumerate().map(name).collect())
    }

    /// Names and types of the columns (as in Kuzu).
    fn get_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let schema = PyDict::new(py);
        for (name, kind) in self.header.names.iter().zip(self.get_column_data_types(py)?) {
            schema.set_item(&**name, kind)?;
        }
        Ok(schema)
    }

    /// ``to_pandas`` (as in Kuzu).
    fn get_as_df<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_pandas(slf, None)
    }

    /// ``to_polars`` (as in Kuzu).
    fn get_as_pl<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_polars(slf)
    }

    /// ``to_arrow`` (as in Kuzu).
    #[pyo3(signature = (chunk_size=None))]
    fn get_as_arrow<'py>(slf: &Bound<'py, Self>, chunk_size: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        let _ = chunk_size;
        Self::to_arrow(slf)
    }

    /// ``to_networkx`` (as in Kuzu).
    #[pyo3(signature = (directed=true))]
    fn get_as_networkx<'py>(slf: &Bound<'py, Self>, directed: bool) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("directed", directed)?;
        Self::to_networkx(slf, Some(&options))
    }
}
