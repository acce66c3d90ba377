//! Points of Cypher as a class.

use std::hash::{DefaultHasher, Hash, Hasher};

use database::Value;
use model::error;
use model::point::{self, Crs};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use crate::error::raised;

/// A point in a coordinate reference system: two or three coordinates, ``x``, ``y`` and ``z``, or ``longitude``,
/// ``latitude`` and ``height``.
///
/// >>> import knotwork
/// >>> knotwork.Point(x=3, y=4).distance(knotwork.Point(x=0, y=0))
/// 5.0
/// >>> knotwork.Point(longitude=12.5, latitude=55.6).srid
/// 4326
/// >>> knotwork.Point.parse("SRID=4326;POINT (12.5 55.6)")
/// Point(x=12.5, y=55.6, crs='wgs-84')
#[pyclass(frozen, module = "knotwork", name = "Point")]
pub(crate) struct Point(pub(crate) point::Point);

#[pymethods]
impl Point {
    #[new]
    #[pyo3(signature = (*, x=None, y=None, z=None, longitude=None, latitude=None, height=None, crs=None, srid=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords of Python")]
    fn new(
        x: Option<f64>,
        y: Option<f64>,
        z: Option<f64>,
        longitude: Option<f64>,
        latitude: Option<f64>,
        height: Option<f64>,
        crs: Option<&str>,
        srid: Option<i64>,
    ) -> PyResult<Point> {
        let system = match (crs, srid) {
            (Some(_), Some(_)) => Err(error!(Argument, "a point has crs and srid: expected one of them")),
            (Some(name), None) => Crs::of_name(name).map(Some),
            (None, Some(number)) => Crs::of_srid(number).map(Some),
            (None, None) => Ok(None),
        };
        let numbers = [("x", x), ("y", y), ("z", z)];
        let places = [("longitude", longitude), ("latitude", latitude), ("height", height)];
        let given = numbers.into_iter().chain(places).filter_map(|(name, number)| Some((name, number?)));
        let given: Vec<(&str, f64)> = given.collect();
        let found = system.and_then(|system| point::Point::of_named(&given, system));
        found.map(Point).map_err(raised)
    }

    /// Reads a point from its text, such as ``SRID=4326;POINT (12.5 55.6)`` or ``{longitude: 12.5, latitude: 55.6}``.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Point> {
        let unreadable =
            || PyValueError::new_err(format!("expected a point such as SRID=7203;POINT (1 2), found {text:?}"));
        point::Point::parse(text).map(Point).ok_or_else(unreadable)
    }

    /// The number of its coordinate reference system.
    #[getter]
    fn srid(&self) -> u32 {
        self.0.srid()
    }

    /// The name of its coordinate reference system.
    #[getter]
    fn crs(&self) -> &'static str {
        self.0.crs().name()
    }

    /// Its two or three coordinates.
    #[getter]
    fn coordinates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.coordinates())
    }

    /// The first coordinate.
    #[getter]
    fn x(&self) -> f64 {
        self.0.coordinates()[0]
    }

    /// The second coordinate.
    #[getter]
    fn y(&self) -> f64 {
        self.0.coordinates()[1]
    }

    /// The third coordinate, or ``None``.
    #[getter]
    fn z(&self) -> Option<f64> {
        self.0.coordinates().get(2).copied()
    }

    /// The degrees of longitude, or ``None`` if it is no place on the earth.
    #[getter]
    fn longitude(&self) -> Option<f64> {
        self.0.coordinate("longitude")
    }

    /// The degrees of latitude, or ``None`` if it is no place on the earth.
    #[getter]
    fn latitude(&self) -> Option<f64> {
        self.0.coordinate("latitude")
    }

    /// The metres of height, or ``None``.
    #[getter]
    fn height(&self) -> Option<f64> {
        self.0.coordinate("height")
    }

    /// The distance to another point, on the earth in metres; ``None`` if it is of another coordinate reference system.
    fn distance(&self, other: &Point) -> Option<f64> {
        self.0.distance(&other.0)
    }

    fn __str__(&self) -> String {
        self.0.well_known_text()
    }

    fn __repr__(&self) -> String {
        let names = ["x", "y", "z"].iter().zip(self.0.coordinates());
        let numbers: Vec<String> = names.map(|(name, number)| format!("{name}={number:?}")).collect();
        format!("Point({}, crs='{}')", numbers.join(", "), self.crs())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    /// Points have no order: Python raises its ``TypeError`` where nothing answers.
    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, operation: CompareOp) -> Py<PyAny> {
        let is_equal = other.cast::<Point>().ok().map(|other| self.0 == other.get().0);
        match (is_equal, operation) {
            (Some(is_equal), CompareOp::Eq) => PyBool::new(py, is_equal).to_owned().into_any().unbind(),
            (Some(is_equal), CompareOp::Ne) => PyBool::new(py, !is_equal).to_owned().into_any().unbind(),
            _ => py.NotImplemented(),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        Ok((slf.get_type().getattr("parse")?, PyTuple::new(py, [slf.get().__str__()])?))
    }
}

/// The point that a tuple of coordinates with the number of a system is, as the driver of Neo4j has them.
pub(crate) fn of_coordinates(srid: i64, coordinates: &[f64]) -> Result<Value, model::Error> {
    point::Point::new(Crs::of_srid(srid)?, coordinates).map(Value::Point)
}
