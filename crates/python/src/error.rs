//! Errors of the engine as exceptions of Python, by class, with the place in the query.
//!
//! The classes are Python's own, in `knotwork/errors.py`: this file only fills them.

use database::Error;
use model::error;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The error of rows that were given already.
pub(crate) fn consumed() -> Error {
    error!(Closed, "the rows of this result have been read already").with_remedy("run the query again")
}

/// The error of rows behind a read that failed or was interrupted.
pub(crate) fn broken() -> Error {
    error!(Closed, "an exception ended an earlier read of this result, whose rows are lost")
        .with_remedy("run the query again")
}

/// The error of all that a fork has taken over.
pub(crate) fn forked() -> Error {
    error!(Closed, "the database was opened by another process, of which this one is a fork").with_remedy(
        "connect in the process that uses it, after the fork; with multiprocessing use the start method \"spawn\"",
    )
}

/// An error, and the text of the query it is about.
pub(crate) struct Failure {
    error: Error,
    query: Option<String>,
}

impl Failure {
    /// An error that is not about the text of a query.
    pub(crate) fn plain(error: Error) -> Failure {
        Failure { error, query: None }
    }

    /// An error of a query.
    pub(crate) fn of(error: Error, query: &str) -> Failure {
        Failure { error, query: Some(query.to_owned()) }
    }

    /// Line and column of the place in the query, both from one.
    fn place(&self) -> Option<(usize, usize)> {
        let (query, span) = (self.query.as_deref()?, self.error.span()?);
        let before = query.get(..(span.start as usize).min(query.len()))?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }

    fn raise(&self, py: Python<'_>) -> PyResult<PyErr> {
        let text = match &self.query {
            Some(query) => self.error.render(query),
            None => self.error.render(""),
        };
        let fields = PyDict::new(py);
        let (line, column) = self.place().unzip();
        fields.set_item("code", self.error.code().name())?;
        fields.set_item("description", self.error.message())?;
        fields.set_item("remedy", self.error.remedy())?;
        fields.set_item("line", line)?;
        fields.set_item("column", column)?;
        fields.set_item("query", self.query.as_deref().map(model::secrets::masked))?;
        fields.set_item("detail", self.error.detail().map(|detail| detail.name()))?;
        let made = py.import("knotwork.errors")?.getattr("_make")?.call((text,), Some(&fields))?;
        Ok(PyErr::from_value(made))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        // Also called where the interpreter is attached already, which costs nothing then.
        Python::attach(|py| failure.raise(py).unwrap_or_else(|error| error))
    }
}

/// An error of the engine that is not about the text of a query, as an exception.
pub(crate) fn raised(error: Error) -> PyErr {
    Failure::plain(error).into()
}
