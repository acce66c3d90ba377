//! One row of a result: read by name, by place, or as an attribute.

use std::sync::Arc;

use model::Map;
use pyo3::exceptions::{PyAttributeError, PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyString, PyTuple};

/// The columns of a result, shared by its rows.
pub(crate) struct Header {
    pub(crate) names: Vec<Arc<str>>,
    places: Map<Arc<str>, usize>,
    pub(crate) tuple: Py<PyTuple>,
}

impl Header {
    pub(crate) fn new(py: Python<'_>, names: Vec<Arc<str>>) -> PyResult<Arc<Header>> {
        let places = names.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect();
        let tuple = PyTuple::new(py, names.iter().map(|name| PyString::intern(py, name)))?.unbind();
        Ok(Arc::new(Header { names, places, tuple }))
    }
}

/// One row of a result. It is read by name, by place, or as an attribute, and unpacks like a tuple.
///
/// >>> import knotwork
/// >>> with knotwork.connect() as db:
/// ...     row = db.execute("RETURN 1 AS number, 'one' AS name").fetchone()
/// >>> row["name"], row[0], row.number
/// ('one', 1, 1)
/// >>> number, name = row
/// >>> row.to_dict()
/// {'number': 1, 'name': 'one'}
#[pyclass(frozen, sequence, module = "knotwork", name = "Record")]
pub(crate) struct Record {
    header: Arc<Header>,
    values: Py<PyTuple>,
}

impl Record {
    pub(crate) fn new(header: Arc<Header>, values: Py<PyTuple>) -> Record {
        Record { header, values }
    }

    fn place(&self, name: &str) -> Option<usize> {
        // Few columns are found faster by looking at each.
        if self.header.names.len() <= 8 {
            return self.header.names.iter().position(|held| &**held == name);
        }
        self.header.places.get(name).copied()
    }
}

#[pymethods]
impl Record {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.values.bind(py);
        if let Ok(name) = key.cast::<PyString>() {
            let place = self.place(&name.to_cow()?);
            let place = place.ok_or_else(|| PyKeyError::new_err(name.clone().unbind()))?;
            return values.get_item(place);
        }
        if key.cast::<PySlice>().is_ok() {
            return values.as_any().get_item(key);
        }
        let place: isize = key.extract()?;
        let at = if place < 0 { place + values.len() as isize } else { place };
        usize::try_from(at)
            .ok()
            .and_then(|at| values.get_item(at).ok())
            .ok_or_else(|| PyIndexError::new_err(format!("the record has {} values", values.len())))
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let missing = || PyAttributeError::new_err(format!("the record has no column {name:?}"));
        self.values.bind(py).get_item(self.place(name).ok_or_else(missing)?)
    }

    fn __len__(&self) -> usize {
        self.header.names.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.values.bind(py).try_iter()?.into_any())
    }

    fn __contains__(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.values.bind(py).contains(item)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let values = self.values.bind(py);
        match other.cast::<Record>() {
            Ok(other) => Ok(self.header.names == other.get().header.names && values.eq(other.get().values.bind(py))?),
            Err(_) => values.eq(other),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.values.bind(py).hash()
    }

    /// Made again of its names and values: in another process, or by ``copy``.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, record) = (slf.py(), slf.get());
        let parts = (record.header.tuple.bind(py), record.values.bind(py)).into_pyobject(py)?;
        Ok((slf.get_type().getattr("_made_again")?, parts))
    }

    #[staticmethod]
    fn _made_again(py: Python<'_>, names: Vec<String>, values: &Bound<'_, PyTuple>) -> PyResult<Record> {
        let names = names.iter().map(|name| Arc::from(name.as_str())).collect();
        Ok(Record::new(Header::new(py, names)?, values.clone().unbind()))
    }

    /// The names of the columns.
    fn keys(&self, py: Python<'_>) -> Py<PyTuple> {
        self.header.tuple.clone_ref(py)
    }

    /// The values, as a tuple.
    fn values(&self, py: Python<'_>) -> Py<PyTuple> {
        self.values.clone_ref(py)
    }

    /// Names and values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.call_method0("items")
    }

    /// The value of that name, or the default.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(&self, py: Python<'py>, key: &str, default: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        match self.place(key) {
            Some(place) => self.values.bind(py).get_item(place),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// The row as a dictionary.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.header.tuple.bind(py).iter().zip(self.values.bind(py).iter()) {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let values = self.values.bind(py);
        let mut entries = Vec::new();
        for (name, value) in self.header.names.iter().zip(values.iter()) {
            entries.push(format!("{name}={}", value.repr()?));
        }
        Ok(format!("<Record {}>", entries.join(" ")))
    }
}
