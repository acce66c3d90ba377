//! Graphs of NetworkX as arrays: the dictionaries that it keeps them in, read where they lie.
//!
//! The unsafe code reads dictionaries and integers without taking a reference to each, which would write to every object
//! of the graph.
//!
//! Cost: where nodes are the integers from 0 on, a few nanoseconds an entry; other nodes are looked up, each entry once.
//! An undirected edge, which NetworkX lists at both ends, is taken at the end that comes first.
#![allow(unsafe_code, reason = "millions of small objects are read")]

use pyo3::exceptions::{PyNotImplementedError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList};

/// Entries that are read before signals are listened to.
const SIGNAL_ENTRIES: usize = 1 << 20;

/// An edge attribute that is asked for: its name, what an edge without it has, and whether that is a whole number.
type Wanted<'py> = (Bound<'py, PyAny>, f64, bool);
/// Values read of an attribute: 64-bit floats, unless no edge has it; and true if all are whole numbers.
type Found<'py> = (Option<Bound<'py, PyBytes>>, bool);
/// Numbers of nodes that are no numbers themselves, sources, targets, how many edges are loops, attributes.
type Arrays<'py> = (Option<Bound<'py, PyDict>>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, usize, Vec<Found<'py>>);

/// The edges of a graph by its adjacency, as 32-bit numbers of nodes in the order of `nodes`. `None` if one of its parts is
/// not a plain dictionary.
#[pyfunction]
pub(crate) fn read_adjacency<'py>(
    py: Python<'py>,
    adjacency: &Bound<'py, PyDict>,
    nodes: &Bound<'py, PyList>,
    is_directed: bool,
    is_multigraph: bool,
    wanted: Vec<Wanted<'py>>,
) -> PyResult<Option<Arrays<'py>>> {
    // The rows are held, so that none is freed by Python code that runs meanwhile.
    let rows = adjacency.values();
    let shape = Shape { is_directed, is_multigraph };
    if are_numbers(nodes) {
        let mut edges = Edges::new(&wanted);
        match shape.read(py, &rows, nodes.len(), &Naming::Numbered, &mut edges)? {
            Outcome::Read => return edges.given(py, None).map(Some),
            Outcome::NotPlain => return Ok(None),
            // A target is equal to a node and written otherwise, as 1.0.
            Outcome::Otherwise => {}
        }
    }
    let numbers = PyDict::new(py);
    for (number, node) in nodes.iter().enumerate() {
        numbers.set_item(node, number)?;
    }
    let mut edges = Edges::new(&wanted);
    match shape.read(py, &rows, nodes.len(), &Naming::Named(&numbers), &mut edges)? {
        Outcome::Read => edges.given(py, Some(numbers)).map(Some),
        Outcome::NotPlain | Outcome::Otherwise => Ok(None),
    }
}

/// True if an edge of a graph has an attribute; the first one that has it ends the search. `None` if a part of the
/// graph is not a plain dictionary.
#[pyfunction]
pub(crate) fn has_attribute(
    py: Python<'_>,
    adjacency: &Bound<'_, PyDict>,
    is_multigraph: bool,
    key: &Bound<'_, PyAny>,
) -> PyResult<Option<bool>> {
    let (mut unheard, mut held) = (0, Vec::new());
    for row in adjacency.values().iter() {
        let Some(row) = plain(&row) else { return Ok(None) };
        unheard += row.len();
        if unheard > SIGNAL_ENTRIES {
            unheard = 0;
            py.check_signals()?;
        }
        held.clear();
        filled_values(row, &mut held);
        for data in &held {
            let Some(data) = plain(data.bind(py)) else { return Ok(None) };
            let is_found = if is_multigraph {
                let has = |data: Bound<'_, PyAny>| data.contains(key);
                data.values().iter().map(has).find(|found| !matches!(found, Ok(false))).unwrap_or(Ok(false))?
            } else {
                data.contains(key)?
            };
            if is_found {
                return Ok(Some(true));
            }
        }
    }
    Ok(Some(false))
}

/// The values of a dictionary except those that are empty dictionaries, of which a reference is not taken.
fn filled_values(row: &Bound<'_, PyDict>, out: &mut Vec<Py<PyAny>>) {
    let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the caller holds the row and Python's lock; no code of Python runs during the walk.
    while unsafe { ffi::PyDict_Next(row.as_ptr(), &raw mut position, &raw mut key, &raw mut value) } != 0 {
        // SAFETY: the row holds its values.
        let is_empty = unsafe { ffi::PyDict_CheckExact(value) != 0 && ffi::PyDict_Size(value) == 0 };
        if !is_empty {
            // SAFETY: as above; the reference that is taken keeps the value.
            out.push(unsafe { Bound::from_borrowed_ptr(row.py(), value) }.unbind());
        }
    }
}

/// True if nodes are the integers from 0 on, in order.
fn are_numbers(nodes: &Bound<'_, PyList>) -> bool {
    nodes.iter().enumerate().all(|(number, node)| {
        node.is_exact_instance_of::<PyInt>() && node.extract::<usize>().is_ok_and(|found| found == number)
    })
}

/// Kind of a graph.
#[derive(Clone, Copy)]
struct Shape {
    is_directed: bool,
    is_multigraph: bool,
}

/// Source of the number of a node.
enum Naming<'a, 'py> {
    /// It is the node.
    Numbered,
    /// It stands in a dictionary.
    Named(&'a Bound<'py, PyDict>),
}

enum Outcome {
    Read,
    /// A part is not a plain dictionary.
    NotPlain,
    /// A node is not named as the naming has it.
    Otherwise,
}

impl Shape {
    fn read<'py>(
        self,
        py: Python<'py>,
        rows: &Bound<'py, PyList>,
        nodes: usize,
        naming: &Naming<'_, 'py>,
        edges: &mut Edges<'_, 'py>,
    ) -> PyResult<Outcome> {
        let mut row_entries = Entries::default();
        let mut unheard = 0;
        for (source, row) in rows.iter().enumerate() {
            let Some(row) = plain(&row) else { return Ok(Outcome::NotPlain) };
            let first = if self.is_directed { 0 } else { source };
            let is_known = match naming {
                Naming::Numbered => row_entries.numbered(row, first..nodes, self.is_multigraph || edges.wants_data()),
                Naming::Named(numbers) => row_entries.named(row, first..nodes, numbers)?,
            };
            if !is_known {
                return Ok(Outcome::Otherwise);
            }
            if self.is_multigraph {
                for (&target, keys) in row_entries.targets.iter().zip(&row_entries.data) {
                    let Some(keys) = plain(keys.bind(py)) else { return Ok(Outcome::NotPlain) };
                    for data in keys.values().iter() {
                        if !edges.push(source as u32, target, Some(&data))? {
                            return Ok(Outcome::NotPlain);
                        }
                    }
                }
            } else if edges.wants_data() {
                for (&target, data) in row_entries.targets.iter().zip(&row_entries.data) {
                    if !edges.push(source as u32, target, Some(data.bind(py)))? {
                        return Ok(Outcome::NotPlain);
                    }
                }
            } else {
                edges.push_all(source as u32, &row_entries.targets);
            }
            unheard += row_entries.targets.len();
            if unheard > SIGNAL_ENTRIES {
                unheard = 0;
                py.check_signals()?;
            }
        }
        Ok(Outcome::Read)
    }
}

/// A dictionary that reads as it is written, which a kind of its own may not.
fn plain<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyDict>> {
    object.cast_exact::<PyDict>().ok()
}

/// The entries of one row that are taken: the numbers of its nodes, and what stands at them, if that is asked for.
#[derive(Default)]
struct Entries {
    targets: Vec<u32>,
    data: Vec<Py<PyAny>>,
    /// Keys and values, before they are looked at.
    seen: Vec<(*mut ffi::PyObject, *mut ffi::PyObject)>,
}

impl Entries {
    /// Reads a row whose nodes are their own numbers, of those in a range; false if one is not.
    fn numbered(&mut self, row: &Bound<'_, PyDict>, taken: std::ops::Range<usize>, with_data: bool) -> bool {
        self.targets.clear();
        self.data.clear();
        self.seen.clear();
        let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the caller holds the row and Python's lock.
        while unsafe { ffi::PyDict_Next(row.as_ptr(), &raw mut position, &raw mut key, &raw mut value) } != 0 {
            self.seen.push((key, value));
        }
        // Apart from the walk over the row, so that the processor fetches many of these objects at once.
        for &(key, value) in &self.seen {
            // SAFETY: no code of Python has run since the walk (to read an integer runs none, nor does taking a reference),
            // so the row still holds its keys and values.
            let number = unsafe {
                if ffi::PyLong_CheckExact(key) == 0 {
                    return false;
                }
                let number = ffi::PyLong_AsLong(key);
                if number == -1 {
                    // It may not have fitted, which is an error that is not wanted.
                    ffi::PyErr_Clear();
                }
                number
            };
            let Ok(number) = usize::try_from(number) else { return false };
            if number >= taken.end {
                return false;
            }
            if number < taken.start {
                continue;
            }
            self.targets.push(number as u32);
            if with_data {
                // SAFETY: as above; the reference that is taken keeps the value.
                self.data.push(unsafe { Bound::from_borrowed_ptr(row.py(), value) }.unbind());
            }
        }
        true
    }

    /// Reads a row whose nodes have numbers in a dictionary, of those in a range; false if one has none.
    fn named(
        &mut self,
        row: &Bound<'_, PyDict>,
        taken: std::ops::Range<usize>,
        numbers: &Bound<'_, PyDict>,
    ) -> PyResult<bool> {
        self.targets.clear();
        self.data.clear();
        // To look a node up may run code of Python, which may change the row: it is copied first.
        let entries: Vec<_> = row.iter().collect();
        for (node, value) in entries {
            let Some(number) = numbers.get_item(node)? else { return Ok(false) };
            let number: usize = number.extract()?;
            if taken.contains(&number) {
                self.targets.push(number as u32);
                self.data.push(value.unbind());
            }
        }
        Ok(true)
    }
}

/// The values of an attribute, from the first edge on that has it.
struct Attribute<'a, 'py> {
    key: &'a Bound<'py, PyAny>,
    default: f64,
    is_default_whole: bool,
    values: Vec<f64>,
    is_found: bool,
    is_whole: bool,
}

impl Attribute<'_, '_> {
    /// Error that tells NetworkX to compute by itself, where a value is no number.
    fn refusal(&self, py: Python<'_>, error: PyErr) -> PyErr {
        if !error.is_instance_of::<PyTypeError>(py) {
            return error;
        }
        let key = self.key.repr().map_or_else(|_| String::new(), |text| text.to_string());
        PyNotImplementedError::new_err(format!("edge attribute {key} has values that are no numbers: {error}"))
    }

    fn push(&mut self, data: &Bound<'_, PyDict>, edges_before: usize) -> PyResult<()> {
        let value = if data.is_empty() { None } else { data.get_item(self.key)? };
        match value {
            Some(value) => {
                if !self.is_found {
                    self.is_found = true;
                    self.values.resize(edges_before, self.default);
                    self.is_whole = edges_before == 0 || self.is_default_whole;
                }
                self.is_whole &= value.is_instance_of::<PyInt>();
                self.values.push(value.extract().map_err(|error: PyErr| self.refusal(value.py(), error))?);
            }
            None if self.is_found => {
                self.is_whole &= self.is_default_whole;
                self.values.push(self.default);
            }
            None => {}
        }
        Ok(())
    }
}

/// The edges read so far.
struct Edges<'a, 'py> {
    sources: Vec<u32>,
    targets: Vec<u32>,
    loops: usize,
    attributes: Vec<Attribute<'a, 'py>>,
}

impl<'a, 'py> Edges<'a, 'py> {
    fn new(wanted: &'a [Wanted<'py>]) -> Edges<'a, 'py> {
        let attribute = |(key, default, is_default_whole): &'a Wanted<'py>| Attribute {
            key,
            default: *default,
            is_default_whole: *is_default_whole,
            values: Vec::new(),
            is_found: false,
            is_whole: true,
        };
        Edges { sources: Vec::new(), targets: Vec::new(), loops: 0, attributes: wanted.iter().map(attribute).collect() }
    }

    fn wants_data(&self) -> bool {
        !self.attributes.is_empty()
    }

    /// An edge with its attributes; false if these are no dictionary.
    fn push(&mut self, source: u32, target: u32, data: Option<&Bound<'py, PyAny>>) -> PyResult<bool> {
        if let Some(data) = data
            && self.wants_data()
        {
            let Some(data) = plain(data) else { return Ok(false) };
            for attribute in &mut self.attributes {
                attribute.push(data, self.sources.len())?;
            }
        }
        self.sources.push(source);
        self.targets.push(target);
        self.loops += usize::from(source == target);
        Ok(true)
    }

    fn push_all(&mut self, source: u32, targets: &[u32]) {
        self.sources.resize(self.sources.len() + targets.len(), source);
        self.targets.extend_from_slice(targets);
        self.loops += targets.iter().filter(|&&target| target == source).count();
    }

    fn given(self, py: Python<'py>, numbers: Option<Bound<'py, PyDict>>) -> PyResult<Arrays<'py>> {
        let words = |words: &[u32]| bytes(py, words, |word| word.to_ne_bytes());
        let attribute = |attribute: &Attribute<'_, '_>| {
            let values = attribute.is_found.then(|| bytes(py, &attribute.values, |value| value.to_ne_bytes()));
            Ok((values.transpose()?, attribute.is_whole))
        };
        let attributes = self.attributes.iter().map(attribute).collect::<PyResult<_>>()?;
        Ok((numbers, words(&self.sources)?, words(&self.targets)?, self.loops, attributes))
    }
}

/// Numbers one behind the other, in the order of this machine.
fn bytes<'py, T, const N: usize>(
    py: Python<'py>,
    numbers: &[T],
    parts: impl Fn(&T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, numbers.len() * N, |out| {
        out.chunks_exact_mut(N).zip(numbers).for_each(|(out, number)| out.copy_from_slice(&parts(number)));
        Ok(())
    })
}
