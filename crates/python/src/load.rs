//! Tables of Python into a store.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Array, ArrayRef};
use arrow_schema::FieldRef;
use database::Value;
use database::import::OnDuplicate;
use database::load::{EdgeTable, EndKey, LoadSummary, NodeTable, OnMissing, TableSource};
use database::registry::Tables;
use database::{Error, Interrupt};
use model::{Column, ColumnBuilder, Map, error};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrow::import;
use crate::convert::from_python;
use crate::error::raised;
use crate::shared::Shared;
use crate::statement::SIGNAL_STEP;
use crate::worker;

/// Rows of a piece: as many as a loader takes at once.
const PIECE_ROWS: usize = 1 << 16;

/// A table of Arrow, in pieces that are made columns when they are asked for.
struct ArrowTable {
    names: Vec<String>,
    /// For each column what it is, and its chunks.
    columns: Vec<(FieldRef, Vec<ArrayRef>)>,
    /// Each piece: its chunk, its first row there, how many it has, and its first row of the table.
    pieces: Vec<(usize, usize, usize, usize)>,
    rows: usize,
}

impl ArrowTable {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<ArrowTable> {
        let table = import::table(object)?;
        let columns = table.columns().map_err(raised)?;
        let names = columns.iter().map(|(field, _)| field.name().clone()).collect();
        let (mut pieces, mut rows) = (Vec::new(), 0);
        for (index, chunk) in table.chunks.iter().enumerate() {
            for start in (0..chunk.len()).step_by(PIECE_ROWS) {
                let count = (chunk.len() - start).min(PIECE_ROWS);
                pieces.push((index, start, count, rows));
                rows += count;
            }
        }
        Ok(ArrowTable { names, columns, pieces, rows })
    }
}

/// A table of rows, each a dictionary.
struct RowTable {
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
}

impl RowTable {
    fn of(list: &Bound<'_, PyList>) -> PyResult<RowTable> {
        let mut names: Vec<String> = Vec::new();
        let mut places: Map<String, usize> = Map::default();
        let mut builders: Vec<ColumnBuilder> = Vec::new();
        for (row, item) in list.iter().enumerate() {
            let dict = item.cast::<PyDict>().map_err(|_| {
                let found = from_python::type_name(&item);
                raised(error!(Type, "row {row}: expected a dictionary, found {found}"))
            })?;
            for (name, object) in dict.iter() {
                let Ok(name) = name.extract::<String>() else {
                    let found = from_python::type_name(&name);
                    return Err(raised(error!(Type, "row {row}: the names of columns are texts, found {found}")));
                };
                let value =
                    from_python::value(&object, 0).map_err(|fault| fault.of(|| format!("row {row}: {name}")))?;
                let place = *places.entry(name).or_insert_with_key(|name| {
                    names.push(name.clone());
                    builders.push(ColumnBuilder::default());
                    names.len() - 1
                });
                // Nulls for the earlier rows, which did not have it.
                (builders[place].len()..row).for_each(|_| builders[place].push(&Value::Null));
                builders[place].push(&value);
            }
        }
        let rows = list.len();
        builders.iter_mut().for_each(|builder| (builder.len()..rows).for_each(|_| builder.push(&Value::Null)));
        Ok(RowTable { names, columns: builders.into_iter().map(ColumnBuilder::finish).collect(), rows })
    }
}

impl TableSource for RowTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn row_count(&self) -> usize {
        self.rows
    }

    fn pieces(&self) -> usize {
        self.rows.div_ceil(PIECE_ROWS)
    }

    fn piece_rows(&self, index: usize) -> usize {
        PIECE_ROWS.min(self.rows - index * PIECE_ROWS)
    }

    fn piece(&self, index: usize) -> Result<(usize, Vec<Column>), Error> {
        let start = index * PIECE_ROWS;
        let end = start + self.piece_rows(index);
        Ok((start, self.columns.iter().map(|column| column.slice(start, end)).collect()))
    }
}

/// Some columns of a table, under other names.
struct Chosen {
    table: Box<dyn TableSource + Send>,
    names: Vec<String>,
    places: Vec<usize>,
}

impl TableSource for Chosen {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn row_count(&self) -> usize {
        self.table.row_count()
    }

    fn pieces(&self) -> usize {
        self.table.pieces()
    }

    fn piece_rows(&self, index: usize) -> usize {
        self.table.piece_rows(index)
    }

    fn piece(&self, index: usize) -> Result<(usize, Vec<Column>), Error> {
        let (origin, columns) = self.table.piece(index)?;
        Ok((origin, self.places.iter().map(|place| columns[*place].clone()).collect()))
    }
}

/// The table that an object gives; with `names` only these columns, under their new names.
fn table_of(object: &Bound<'_, PyAny>, names: Names) -> PyResult<Box<dyn TableSource + Send>> {
    let table: Box<dyn TableSource + Send> = match object.cast::<PyList>() {
        Ok(list) => Box::new(RowTable::of(list)?),
        Err(_) => Box::new(ArrowTable::of(object)?),
    };
    let Some(names) = names else { return Ok(table) };
    let place = |from: &String| {
        let found = table.names().iter().position(|name| name == from);
        let held = table.names().join(", ");
        found.ok_or_else(|| raised(error!(Argument, "the table has no column {from}, only {held}")))
    };
    let places = names.iter().map(|(from, _)| place(from)).collect::<PyResult<_>>()?;
    Ok(Box::new(Chosen { table, names: names.into_iter().map(|(_, to)| to).collect(), places }))
}

impl TableSource for ArrowTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn row_count(&self) -> usize {
        self.rows
    }

    fn pieces(&self) -> usize {
        self.pieces.len()
    }

    fn piece_rows(&self, index: usize) -> usize {
        self.pieces[index].2
    }

    fn piece(&self, index: usize) -> Result<(usize, Vec<Column>), Error> {
        let (chunk, start, count, origin) = self.pieces[index];
        let column =
            |(field, chunks): &(FieldRef, Vec<ArrayRef>)| import::column(field, &chunks[chunk].slice(start, count));
        let columns = self.columns.iter().map(column).collect::<Result<_, _>>()?;
        Ok((origin, columns))
    }
}

fn on_duplicate_of(name: &str) -> PyResult<OnDuplicate> {
    match name {
        "error" => Ok(OnDuplicate::Error),
        "skip" => Ok(OnDuplicate::Skip),
        "update" => Ok(OnDuplicate::Update),
        other => Err(raised(error!(Argument, "expected error, skip or update for on_duplicate, found {other}"))),
    }
}

fn on_missing_of(name: &str) -> PyResult<OnMissing> {
    match name {
        "error" => Ok(OnMissing::Error),
        "skip" => Ok(OnMissing::Skip),
        "create" => Ok(OnMissing::Create),
        other => Err(raised(error!(Argument, "expected error, skip or create for on_missing, found {other}"))),
    }
}

/// Old and new names of columns.
type Names = Option<Vec<(String, String)>>;

/// Makes nodes of a table; gives what was made.
#[allow(clippy::too_many_arguments, reason = "they are keywords of Python")]
pub(crate) fn nodes<'py>(
    py: Python<'py>,
    shared: &Arc<Shared>,
    table: &Bound<'py, PyAny>,
    labels: Vec<String>,
    key: Option<String>,
    names: Names,
    on_duplicate: &str,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = table_of(table, names)?;
    let table = NodeTable { labels, key, on_duplicate: on_duplicate_of(on_duplicate)? };
    run(py, shared, progress, move |database, interrupt| database.load_nodes(&table, &*rows, interrupt))
}

/// Label, property and column of an end of edges.
pub(crate) type End = (String, String, String);

/// Makes edges of a table; gives what was made.
#[allow(clippy::too_many_arguments, reason = "they are keywords of Python")]
pub(crate) fn edges<'py>(
    py: Python<'py>,
    shared: &Arc<Shared>,
    table: &Bound<'py, PyAny>,
    edge_type: String,
    source: End,
    target: End,
    names: Names,
    on_missing: &str,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = table_of(table, names)?;
    let end = |(label, property, column): End| EndKey { label, property, column };
    let on_missing = on_missing_of(on_missing)?;
    let table = EdgeTable { edge_type, source: end(source), target: end(target), on_missing };
    run(py, shared, progress, move |database, interrupt| database.load_edges(&table, &*rows, interrupt))
}

/// Has a load done by another thread, while this one listens to signals.
fn run<'py>(
    py: Python<'py>,
    shared: &Arc<Shared>,
    progress: Option<&Py<PyAny>>,
    load: impl FnOnce(&database::Database, &Interrupt) -> Result<LoadSummary, Error> + Send + 'static,
) -> PyResult<Bound<'py, PyDict>> {
    let database = shared.database_to("loading a table").map_err(raised)?;
    let interrupt = Interrupt::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let flag = interrupt.clone();
    worker::run(Box::new(move || {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| load(&database, &flag)));
        // Before the end is told: its listener may close the database.
        drop(database);
        let outcome = outcome.unwrap_or_else(|_| Err(error!(Internal, "the engine panicked; nothing was loaded")));
        // Nobody listens any more if a signal has ended the call.
        let _ = sender.send(outcome);
    }))
    .map_err(raised)?;
    let receiver = std::sync::Mutex::new(receiver);
    let wait = |patience: Duration| {
        let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        receiver.recv_timeout(patience).ok()
    };
    let summary = loop {
        if let Some(outcome) = py.detach(|| wait(SIGNAL_STEP)) {
            break outcome.map_err(raised)?;
        }
        let mut heard = py.check_signals();
        if let (Ok(()), Some(progress)) = (&heard, progress) {
            heard = progress.call1(py, interrupt.progress()).map(|_| ());
        }
        if let Err(exception) = heard {
            interrupt.cancel();
            py.detach(|| while wait(SIGNAL_STEP).is_none() {});
            return Err(exception);
        }
    };
    let dict = PyDict::new(py);
    dict.set_item("nodes_created", summary.nodes_created)?;
    dict.set_item("nodes_merged", summary.nodes_merged)?;
    dict.set_item("edges_created", summary.edges_created)?;
    dict.set_item("rows_skipped", summary.rows_skipped)?;
    Ok(dict)
}

/// A table of Python by name, for `LOAD FROM`.
pub(crate) fn named(py: Python<'_>, found: &Bound<'_, PyDict>) -> PyResult<Arc<Tables>> {
    let as_table = py.import("knotwork._frames")?.getattr("as_table")?;
    let mut tables = Tables::default();
    for (name, object) in found.iter() {
        let name: String = name.extract()?;
        let table: Arc<dyn TableSource + Send> = Arc::from(table_of(&as_table.call1((object,))?, None)?);
        tables.insert(Arc::from(name), table);
    }
    Ok(Arc::new(tables))
}
