//! The Python package: the engine as classes of Python, values and columns across the border.
//!
//! Modules in reading order:
//! - [`shared`]: a database that is open, and its sessions.
//! - [`statement`]: running a statement here or by another thread.
//! - [`pipe`] and [`worker`]: rows on their way from that thread, and the thread.
//! - [`database`](mod@database), [`connection`], [`result`](mod@result), [`record`], [`entity`], [`duration`], [`point`]: the classes.
//! - [`convert`]: values across the border.
//! - [`arrow`]: columns across the border.
//! - [`load`]: tables into a store.
//! - [`array_graph`] and [`adjacency`]: algorithms on edges in arrays, and how they are read, for the NetworkX backend.
//! - [`edge_reader`] and [`numbers`]: edges in arrays, pass after pass, for edge programs in Python.
//! - [`signals`]: Ctrl-C in long conversions.
//! - [`error`](mod@error): errors as exceptions.
//!
//! Code that needs no speed is written in Python, in `python/knotwork`.
//!
//! Invariant: the engine works without Python's lock; it is taken again only to make objects and to hear signals.

mod adjacency;
mod array_graph;
mod arrow;
mod connection;
mod convert;
mod database;
mod duration;
mod edge_reader;
mod entity;
mod error;
mod load;
mod numbers;
mod pipe;
mod point;
mod record;
mod result;
mod shared;
mod signals;
mod statement;
mod worker;

use pyo3::prelude::*;

/// The part of the package that is not written in Python.
#[pymodule]
mod _knotwork {
    #[pymodule_export]
    use super::adjacency::{has_attribute, read_adjacency};
    #[pymodule_export]
    use super::array_graph::ArrayGraph;
    #[pymodule_export]
    use super::connection::Connection;
    #[pymodule_export]
    use super::database::Database;
    #[pymodule_export]
    use super::duration::Duration;
    #[pymodule_export]
    use super::edge_reader::EdgeReader;
    #[pymodule_export]
    use super::entity::{Edge, Node, Path};
    #[pymodule_export]
    use super::numbers::Numbers;
    #[pymodule_export]
    use super::point::Point;
    #[pymodule_export]
    use super::record::Record;
    #[pymodule_export]
    use super::result::QueryResult;
    use pyo3::prelude::*;

    /// Names a file that has the library of DuckDB in it, where this package can attach such files.
    #[pyfunction]
    fn set_duckdb_library(file: std::path::PathBuf) {
        #[cfg(feature = "all-sources")]
        ::database::set_duckdb_library(&file);
        let _ = file;
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
