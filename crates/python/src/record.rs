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
    /// No tuple, which would be another object for the collector of garbage to go through.
    values: Box<[Py<PyAny>]>,
}

impl Record {
    pub(crate) fn new(header: Arc<Header>, values: Vec<Py<PyAny>>) -> Record {
        Record { header, values: values.into_boxed_slice() }
    }

    fn tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.values)
    }

    fn at<'py>(&self, py: Python<'py>, place: usize) -> Bound<'py, PyAny> {
        self.values[place].bind(py).clone()
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
        if let Ok(name) = key.cast::<PyString>() {
            let place = self.place(&name.to_cow()?);
            let place = place.ok_or_else(|| PyKeyError::new_err(name.clone().unbind()))?;
            return Ok(self.at(py, place));
        }
        if key.cast::<PySlice>().is_ok() {
            return self.tuple(py)?.as_any().get_item(key);
        }
        let (place, count): (isize, usize) = (key.extract()?, self.values.len());
        let at = if place < 0 { place + count as isize } else { place };
        let at = usize::try_from(at).ok().filter(|&at| at < count);
        let at = at.ok_or_else(|| PyIndexError::new_err(format!("the record has {count} values")))?;
        Ok(self.at(py, at))
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let missing = || PyAttributeError::new_err(format!("the record has no column {name:?}"));
        Ok(self.at(py, self.place(name).ok_or_else(missing)?))
    }

    fn __len__(&self) -> usize {
        self.header.names.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.tuple(py)?.try_iter()?.into_any())
    }

    fn __contains__(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.tuple(py)?.contains(item)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let values = self.tuple(py)?;
        match other.cast::<Record>() {
            Ok(other) => Ok(self.header.names == other.get().header.names && values.eq(other.get().tuple(py)?)?),
            Err(_) => values.eq(other),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.tuple(py)?.hash()
    }

    /// Made again of its names and values: in another process, or by ``copy``.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, record) = (slf.py(), slf.get());
        let parts = (record.header.tuple.bind(py), record.tuple(py)?).into_pyobject(py)?;
        Ok((slf.get_type().getattr("_made_again")?, parts))
    }

    #[staticmethod]
    fn _made_again(py: Python<'_>, names: Vec<String>, values: &Bound<'_, PyTuple>) -> PyResult<Record> {
        let names = names.iter().map(|name| Arc::from(name.as_str())).collect();
        Ok(Record::new(Header::new(py, names)?, values.iter().map(Bound::unbind).collect()))
    }

    /// The names of the columns.
    fn keys(&self, py: Python<'_>) -> Py<PyTuple> {
        self.header.tuple.clone_ref(py)
    }

    /// The values, as a tuple.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.tuple(py)
    }

    /// Names and values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.call_method0("items")
    }

    /// The value of that name, or the default.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(&self, py: Python<'py>, key: &str, default: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        match self.place(key) {
            Some(place) => Ok(self.at(py, place)),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// The row as a dictionary.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.header.tuple.bind(py).iter().zip(&self.values) {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut entries = Vec::new();
        for (name, value) in self.header.names.iter().zip(&self.values) {
            entries.push(format!("{name}={}", value.bind(py).repr()?));
        }
        Ok(format!("<Record {}>", entries.join(" ")))
    }
}
