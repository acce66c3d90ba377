//! Durations of Cypher as a class: months, days and seconds are kept apart, since none of them has a fixed length.

use database::Value;
use model::temporal::{self, NANOS_OF_SECOND, SECONDS_OF_DAY};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDeltaAccess, PyTuple};

/// A duration: months, days, seconds and nanoseconds, kept apart.
///
/// >>> import datetime, knotwork
/// >>> knotwork.Duration(months=14, days=3, seconds=90)
/// Duration('P1Y2M3DT1M30S')
/// >>> knotwork.Duration.of(datetime.timedelta(hours=36)).timedelta()
/// datetime.timedelta(days=1, seconds=43200)
/// >>> knotwork.Duration.parse("P1DT2H").days
/// 1
#[pyclass(frozen, module = "knotwork", name = "Duration")]
pub(crate) struct Duration(pub(crate) temporal::Duration);

fn too_large() -> PyErr {
    PyOverflowError::new_err("the duration is beyond 64 bits")
}

/// Reads a `timedelta`: whole days stay days.
pub(crate) fn of_timedelta(delta: &Bound<'_, PyDelta>) -> temporal::Duration {
    temporal::Duration {
        months: 0,
        days: i64::from(delta.get_days()),
        seconds: i64::from(delta.get_seconds()),
        nanosecond: delta.get_microseconds() as u32 * 1_000,
    }
}

#[pymethods]
impl Duration {
    #[new]
    #[pyo3(signature = (*, years=0, months=0, weeks=0, days=0, hours=0, minutes=0, seconds=0, nanoseconds=0))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords of Python")]
    fn new(
        years: i64,
        months: i64,
        weeks: i64,
        days: i64,
        hours: i64,
        minutes: i64,
        seconds: i64,
        nanoseconds: i64,
    ) -> PyResult<Duration> {
        let mut parts = temporal::DurationParts::default();
        let wide = i128::from;
        parts.add_months(wide(years) * 12 + wide(months), 0);
        parts.add_days(wide(weeks) * 7 + wide(days), 0);
        let whole = wide(hours) * 3_600 + wide(minutes) * 60 + wide(seconds);
        parts.add_nanos(whole * i128::from(NANOS_OF_SECOND) + wide(nanoseconds));
        parts.finish().map(Duration).ok_or_else(too_large)
    }

    /// Reads a duration from a string such as ``P1Y2M3DT4H5M6.7S``.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Duration> {
        let unreadable = || PyValueError::new_err(format!("expected a duration such as P1DT2H, found {text:?}"));
        temporal::Duration::parse(text).map(Duration).ok_or_else(unreadable)
    }

    /// The duration that a ``datetime.timedelta`` tells.
    #[staticmethod]
    fn of(delta: &Bound<'_, PyDelta>) -> Duration {
        Duration(of_timedelta(delta))
    }

    /// The number of months.
    #[getter]
    fn months(&self) -> i64 {
        self.0.months
    }

    /// The number of days.
    #[getter]
    fn days(&self) -> i64 {
        self.0.days
    }

    /// The number of whole seconds.
    #[getter]
    fn seconds(&self) -> i64 {
        self.0.seconds
    }

    /// The nanoseconds after the whole seconds.
    #[getter]
    fn nanoseconds(&self) -> u32 {
        self.0.nanosecond
    }

    /// The duration as a ``datetime.timedelta``, with days of 24 hours, to the microsecond below. Raises ``ValueError`` if it
    /// has months, which have no length of their own.
    fn timedelta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDelta>> {
        if self.0.months != 0 {
            return Err(PyValueError::new_err("a duration with months has no fixed length"));
        }
        let days = self.0.days.checked_add(self.0.seconds.div_euclid(SECONDS_OF_DAY)).ok_or_else(too_large)?;
        let days = i32::try_from(days).map_err(|_| too_large())?;
        let seconds = self.0.seconds.rem_euclid(SECONDS_OF_DAY) as i32;
        PyDelta::new(py, days, seconds, (self.0.nanosecond / 1_000) as i32, false)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Duration('{}')", self.0)
    }

    /// As that of the ``timedelta`` that is equal to it, if there is one.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        if let Ok(delta) = self.timedelta(py)
            && of_timedelta(&delta) == self.0
        {
            return delta.hash();
        }
        (self.0.months, self.0.days, self.0.seconds, self.0.nanosecond).into_pyobject(py)?.hash()
    }

    /// Equal are durations of the same parts. They have no order, since a month has no fixed length: Python raises its
    /// ``TypeError`` where nothing answers.
    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, operation: CompareOp) -> PyResult<Py<PyAny>> {
        let is_equal = operand(other).ok().map(|other| self.0 == other);
        match (is_equal, operation) {
            (Some(is_equal), CompareOp::Eq) => Ok(PyBool::new(py, is_equal).to_owned().into_any().unbind()),
            (Some(is_equal), CompareOp::Ne) => Ok(PyBool::new(py, !is_equal).to_owned().into_any().unbind()),
            _ => Ok(py.NotImplemented()),
        }
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Duration> {
        self.__add__(other)
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Duration> {
        operand(other)?.checked_sub(self.0).map(Duration).ok_or_else(too_large)
    }

    fn __rmul__(&self, factor: f64) -> PyResult<Duration> {
        self.__mul__(factor)
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Duration> {
        let other = operand(other)?;
        self.0.checked_add(other).map(Duration).ok_or_else(too_large)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Duration> {
        let other = operand(other)?;
        self.0.checked_sub(other).map(Duration).ok_or_else(too_large)
    }

    fn __neg__(&self) -> PyResult<Duration> {
        self.0.checked_neg().map(Duration).ok_or_else(too_large)
    }

    fn __mul__(&self, factor: f64) -> PyResult<Duration> {
        self.0.scaled(factor).map(Duration).ok_or_else(too_large)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        Ok((slf.get_type().getattr("parse")?, PyTuple::new(py, [slf.get().__str__()])?))
    }
}

fn operand(other: &Bound<'_, PyAny>) -> PyResult<temporal::Duration> {
    match other.cast::<Duration>() {
        Ok(other) => Ok(other.get().0),
        Err(_) => Ok(of_timedelta(other.cast::<PyDelta>()?)),
    }
}

impl From<&Duration> for Value {
    fn from(duration: &Duration) -> Value {
        Value::Duration(duration.0)
    }
}
