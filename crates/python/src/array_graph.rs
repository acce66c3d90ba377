//! Graphs in arrays, for callers who have edges and no database: the NetworkX backend.
//!
//! Numbers come as bytes, in the order of this machine, which need no library on the other side. Answers are given as lists,
//! dictionaries and sets of what the caller calls its nodes, made here at once.

mod groups;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use database::{ArrayGraph as Graph, Interrupt};
use model::column::{Column, ColumnData};
use model::error;
use model::value::Value;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySet};

use crate::convert::from_python;
use crate::error::raised;
use crate::worker::while_it_runs;

/// Time that a call on a small graph may take in the thread of the caller.
const HERE_TIME_MAX: Duration = Duration::from_millis(50);
/// Nodes and edges of a graph that is small.
const HERE_SIZE_MAX: usize = 1 << 16;

/// A graph in arrays: nodes are numbered from 0, edges have one type and, if wanted, the property `weight`.
#[pyclass(frozen, module = "knotwork")]
pub(crate) struct ArrayGraph {
    graph: Arc<Graph>,
    /// Name that the caller has for each node.
    nodes: Py<PyList>,
    is_small: bool,
    /// The least and the largest weight, NaN if a weight is no number; `None` without weights.
    #[pyo3(get)]
    weight_range: Option<(f64, f64)>,
}

#[pymethods]
impl ArrayGraph {
    /// `sources` and `targets` hold 32-bit numbers of nodes, `weights` 64-bit floats.
    #[new]
    #[pyo3(signature = (nodes, sources, targets, weights=None))]
    fn new(
        py: Python<'_>,
        nodes: Bound<'_, PyList>,
        sources: &Bound<'_, PyBytes>,
        targets: &Bound<'_, PyBytes>,
        weights: Option<&Bound<'_, PyBytes>>,
    ) -> PyResult<ArrayGraph> {
        let (sources, targets) = (words(sources.as_bytes()), words(targets.as_bytes()));
        let weights: Option<Vec<f64>> = weights.map(|bytes| floats(bytes.as_bytes()));
        let count = nodes.len();
        let made = py.detach(|| Graph::new(count, &sources, &targets, weights.as_deref()));
        let weight_range = weights.as_deref().filter(|weights| !weights.is_empty()).map(range_of);
        let is_small = count + sources.len() <= HERE_SIZE_MAX;
        Ok(ArrayGraph { graph: Arc::new(made.map_err(raised)?), nodes: nodes.unbind(), is_small, weight_range })
    }

    /// Calls an algorithm: a list of its columns, each a list.
    fn call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        settings: &Bound<'py, PyDict>,
    ) -> PyResult<Vec<Bound<'py, PyList>>> {
        let columns = self.compute(py, name, settings)?;
        columns.iter().map(|(_, column)| self.given(py, column)).collect()
    }

    /// Calls an algorithm: a dictionary of what it yields for each node, by its first column besides the node; numbers times
    /// `factor`, if that is given.
    #[pyo3(signature = (name, settings, factor=None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        settings: &Bound<'py, PyDict>,
        factor: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let columns = self.compute(py, name, settings)?;
        let (places, values) = node_values(&columns, name)?;
        let (nodes, found) = (self.nodes.bind(py), PyDict::new(py));
        match (&values.data, &values.validity) {
            (ColumnData::Float(values), None) => {
                let factor = factor.unwrap_or(1.0);
                for (place, value) in places.iter().zip(values) {
                    found.set_item(nodes.get_item(place.index())?, value * factor)?;
                }
            }
            (ColumnData::Int(values), None) if factor.is_none() => {
                for (place, value) in places.iter().zip(values) {
                    found.set_item(nodes.get_item(place.index())?, *value)?;
                }
            }
            _ => {
                for (place, value) in places.iter().zip(values.values()) {
                    let value = self.plain(py, &value)?;
                    let value = if let Some(factor) = factor { value.mul(factor)? } else { value };
                    found.set_item(nodes.get_item(place.index())?, value)?;
                }
            }
        }
        Ok(found)
    }

    /// Calls an algorithm that numbers groups of nodes: a list of sets, in the order of the first node of each; or, where the
    /// sources and targets of edges are given, in the order in which a search along these ends them.
    #[pyo3(signature = (name, settings, edges=None))]
    fn groups<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        settings: &Bound<'py, PyDict>,
        edges: Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>,
    ) -> PyResult<Bound<'py, PyList>> {
        let columns = self.compute(py, name, settings)?;
        let (places, values) = node_values(&columns, name)?;
        let nodes = self.nodes.bind(py);
        let mut groups = groups::of(places, values, nodes.len())?;
        if let Some((sources, targets)) = edges {
            let (sources, targets) = (words(sources.as_bytes()), words(targets.as_bytes()));
            groups.order_last_first(&sources, &targets);
        }
        let mut found = Vec::with_capacity(groups.len());
        for group in groups.iter() {
            let set = PySet::empty(py)?;
            for &place in group {
                set.add(nodes.get_item(place as usize)?)?;
            }
            found.push(set);
        }
        PyList::new(py, found)
    }

    /// The nodes of a path of fewest edges between two numbers of nodes; `None` if there is none.
    fn path<'py>(
        &self,
        py: Python<'py>,
        source: u32,
        target: u32,
        is_directed: bool,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let found = py.detach(|| self.graph.shortest_path(source, target, is_directed)).map_err(raised)?;
        found.map(|path| self.named(py, path.into_iter().map(|node| node as usize))).transpose()
    }
}

impl ArrayGraph {
    /// Runs an algorithm without Python's lock: here if the graph is small and it does not take long, else by another thread,
    /// while this one listens to signals.
    fn compute(
        &self,
        py: Python<'_>,
        name: &str,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<Vec<(&'static str, Column)>> {
        let settings = from_python::value(settings, 0).map_err(|fault| fault.of(|| "the settings".to_owned()))?;
        if self.is_small {
            let interrupt = Interrupt::new();
            interrupt.set_trial(Some((self.graph.clock(), HERE_TIME_MAX)));
            let run = AssertUnwindSafe(|| self.graph.call(name, &settings, threads(), &interrupt));
            match py.detach(|| catch_unwind(run)) {
                Ok(Err(_)) if interrupt.is_trial_over() => {}
                Ok(outcome) => return outcome.map_err(raised),
                Err(_) => return Err(raised(error!(Internal, "the engine panicked in {name}"))),
            }
        }
        let (graph, name, interrupt) = (self.graph.clone(), name.to_owned(), Interrupt::new());
        let flag = interrupt.clone();
        while_it_runs(py, &flag, move || graph.call(&name, &settings, threads(), &interrupt))
    }

    /// Nodes by their numbers, as the caller calls them.
    fn named<'py>(&self, py: Python<'py>, places: impl Iterator<Item = usize>) -> PyResult<Bound<'py, PyList>> {
        let nodes = self.nodes.bind(py);
        PyList::new(py, places.map(|place| nodes.get_item(place)).collect::<PyResult<Vec<_>>>()?)
    }

    /// A column as a list.
    fn given<'py>(&self, py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyList>> {
        match (&column.data, &column.validity) {
            (ColumnData::Node(nodes), None) => self.named(py, nodes.iter().map(|node| node.index())),
            (ColumnData::Int(values), None) => PyList::new(py, values),
            (ColumnData::Float(values), None) => PyList::new(py, values),
            _ => PyList::new(py, column.values().map(|value| self.plain(py, &value)).collect::<PyResult<Vec<_>>>()?),
        }
    }

    /// A value, nodes in it as the caller calls them; a path as the list of its nodes.
    fn plain<'py>(&self, py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        Ok(match value {
            Value::Bool(x) => x.into_pyobject(py)?.to_owned().into_any(),
            Value::Int(x) => x.into_pyobject(py)?.into_any(),
            Value::Float(x) => x.into_pyobject(py)?.into_any(),
            Value::String(x) => x.into_pyobject(py)?.into_any(),
            Value::Node(node) => self.nodes.bind(py).get_item(node.index())?,
            Value::Path(path) => self.named(py, path.nodes.iter().map(|node| node.index()))?.into_any(),
            Value::List(items) => {
                PyList::new(py, items.iter().map(|item| self.plain(py, item)).collect::<PyResult<Vec<_>>>()?)?
                    .into_any()
            }
            Value::Map(entries) => {
                let dict = PyDict::new(py);
                for (key, value) in entries.iter() {
                    dict.set_item(&**key, self.plain(py, value)?)?;
                }
                dict.into_any()
            }
            _ => py.None().into_bound(py),
        })
    }
}

/// Threads that a call may use: asked of the system once, which takes longer than a short call.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The nodes and the first values of what an algorithm yields for each node.
fn node_values<'a>(columns: &'a [(&'static str, Column)], name: &str) -> PyResult<(&'a [model::NodeId], &'a Column)> {
    match columns {
        [(_, Column { data: ColumnData::Node(nodes), validity: None }), (_, values), ..] => Ok((nodes, values)),
        // No row at all.
        [(_, first), (_, values), ..] if first.is_empty() => Ok((&[], values)),
        _ => Err(raised(error!(Internal, "{name} does not give values of nodes"))),
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    let number = |eight: &[u8]| f64::from_ne_bytes(eight.try_into().unwrap_or_default());
    bytes.chunks_exact(8).map(number).collect()
}

/// The least and the largest of some numbers; NaN if one of them is.
fn range_of(numbers: &[f64]) -> (f64, f64) {
    let nan = numbers.iter().any(|number| number.is_nan()).then_some(f64::NAN);
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    nan.map_or((least, most), |nan| (nan, nan))
}
