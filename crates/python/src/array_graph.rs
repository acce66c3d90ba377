//! Graphs in arrays, for callers who have edges and no database: the NetworkX backend.
//!
//! Numbers cross the border as bytes, in the order of this machine, which need no library on the other side.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use database::{ArrayGraph as Graph, Interrupt};
use model::column::{Column, ColumnData};
use model::value::Value;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::convert::from_python;
use crate::error::raised;
use crate::worker;

/// A graph in arrays: nodes are numbered from 0, edges have one type and, if wanted, the property `weight`.
#[pyclass(frozen, module = "knotwork")]
pub(crate) struct ArrayGraph {
    graph: Arc<Graph>,
}

/// A column as Python takes it: `node`, `path`, a code of the module `array`, or `object`; and bytes or a list.
type Given<'py> = (&'static str, Bound<'py, PyAny>);

#[pymethods]
impl ArrayGraph {
    /// `sources` and `targets` hold 32-bit numbers of nodes, `weights` 64-bit floats.
    #[new]
    #[pyo3(signature = (nodes, sources, targets, weights=None))]
    fn new(
        py: Python<'_>,
        nodes: usize,
        sources: &Bound<'_, PyBytes>,
        targets: &Bound<'_, PyBytes>,
        weights: Option<&Bound<'_, PyBytes>>,
    ) -> PyResult<ArrayGraph> {
        let (sources, targets) = (words(sources.as_bytes()), words(targets.as_bytes()));
        let weights: Option<Vec<f64>> = weights.map(|bytes| floats(bytes.as_bytes()));
        let made = py.detach(|| Graph::new(nodes, &sources, &targets, weights.as_deref()));
        Ok(ArrayGraph { graph: Arc::new(made.map_err(raised)?) })
    }

    /// Calls an algorithm: a list of its columns, each as (kind, values).
    fn call<'py>(&self, py: Python<'py>, name: &str, settings: &Bound<'py, PyDict>) -> PyResult<Vec<Given<'py>>> {
        let settings = from_python::value(settings, 0).map_err(|fault| fault.of(|| "the settings".to_owned()))?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (graph, name, interrupt) = (self.graph.clone(), name.to_owned(), Interrupt::new());
        let flag = interrupt.clone();
        let columns = while_it_runs(py, &flag, move || graph.call(&name, &settings, threads, &interrupt))?;
        columns.iter().map(|(_, column)| given(py, column)).collect()
    }
}

/// How long a call goes on before signals are listened to.
const SIGNAL_STEP: Duration = Duration::from_millis(50);

/// Has something done by another thread, without Python's lock, and listens to signals meanwhile: one that raises an
/// exception ends the work first.
fn while_it_runs<T: Send + 'static>(
    py: Python<'_>,
    flag: &Interrupt,
    work: impl FnOnce() -> database::Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    worker::run(Box::new(move || drop(sender.send(work())))).map_err(raised)?;
    let mut heard = Ok(());
    loop {
        // Only one thread waits at a time.
        let waiting = &mut receiver;
        match py.detach(move || waiting.recv_timeout(SIGNAL_STEP)) {
            Ok(done) => return heard.and_then(|()| done.map_err(raised)),
            Err(RecvTimeoutError::Timeout) if heard.is_ok() => {
                heard = py.check_signals();
                if heard.is_err() {
                    flag.cancel();
                }
            }
            Err(RecvTimeoutError::Timeout) => flag.cancel(),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(raised(model::error!(Internal, "the thread that computed has ended")));
            }
        }
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    let number = |eight: &[u8]| f64::from_ne_bytes(eight.try_into().unwrap_or_default());
    bytes.chunks_exact(8).map(number).collect()
}

fn given<'py>(py: Python<'py>, column: &Column) -> PyResult<Given<'py>> {
    let bytes = |numbers: Vec<[u8; 8]>| PyBytes::new(py, numbers.as_flattened()).into_any();
    let has_nulls = (0..column.len()).any(|row| column.is_null(row));
    Ok(match &column.data {
        ColumnData::Node(nodes) if !has_nulls => {
            ("node", bytes(nodes.iter().map(|node| node.0.to_ne_bytes()).collect()))
        }
        ColumnData::Int(values) if !has_nulls => ("q", bytes(values.iter().map(|value| value.to_ne_bytes()).collect())),
        ColumnData::Float(values) if !has_nulls => {
            ("d", bytes(values.iter().map(|value| value.to_ne_bytes()).collect()))
        }
        _ => {
            let values = PyList::empty(py);
            let mut kind = "object";
            for value in column.values() {
                if matches!(value, Value::Path(_)) {
                    kind = "path";
                }
                values.append(plain(py, &value)?)?;
            }
            (kind, values.into_any())
        }
    })
}

/// A value that names nodes by their numbers.
fn plain<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bool(x) => x.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(x) => x.into_pyobject(py)?.into_any(),
        Value::Float(x) => x.into_pyobject(py)?.into_any(),
        Value::String(x) => x.into_pyobject(py)?.into_any(),
        Value::Node(node) => node.0.into_pyobject(py)?.into_any(),
        Value::Path(path) => path.nodes.iter().map(|node| node.0).collect::<Vec<u64>>().into_pyobject(py)?,
        Value::List(items) => {
            let list = PyList::empty(py);
            for item in items.iter() {
                list.append(plain(py, item)?)?;
            }
            list.into_any()
        }
        Value::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries.iter() {
                dict.set_item(&**key, plain(py, value)?)?;
            }
            dict.into_any()
        }
        _ => py.None().into_bound(py),
    })
}
