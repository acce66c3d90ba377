//! Dates, times and date-times across the border. Python's have microseconds: what Cypher has below is cut off, and
//! what lies beyond Python's years 1 to 9999 is given as a string.

use model::temporal::calendar::days_of;
use model::temporal::{Date, DateTime, LocalDateTime, LocalTime, NANOS_OF_SECOND, SECONDS_OF_DAY, Time, Zone};
use model::{Error, Value, error};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyString, PyTime, PyTimeAccess, PyTzInfo, PyTzInfoAccess,
};

/// The years that Python's dates have.
const YEARS: std::ops::RangeInclusive<i64> = 1..=9999;

/// Hour, minute, second and microsecond of a time of day.
fn clock(time: LocalTime) -> (u8, u8, u8, u32) {
    let seconds = time.0 / NANOS_OF_SECOND;
    let micros = time.0 % NANOS_OF_SECOND / 1_000;
    ((seconds / 3_600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8, micros as u32)
}

fn text<'py>(py: Python<'py>, value: &dyn std::fmt::Display) -> Bound<'py, PyAny> {
    PyString::new(py, &value.to_string()).into_any()
}

pub(crate) fn date(py: Python<'_>, date: Date) -> PyResult<Bound<'_, PyAny>> {
    let (year, month, day) = date.year_month_day();
    if !YEARS.contains(&year) {
        return Ok(text(py, &date));
    }
    Ok(PyDate::new(py, year as i32, month as u8, day as u8)?.into_any())
}

pub(crate) fn local_time(py: Python<'_>, time: LocalTime) -> PyResult<Bound<'_, PyAny>> {
    let (hour, minute, second, micro) = clock(time);
    Ok(PyTime::new(py, hour, minute, second, micro, None)?.into_any())
}

pub(crate) fn time(py: Python<'_>, time: Time) -> PyResult<Bound<'_, PyAny>> {
    let (hour, minute, second, micro) = clock(time.local);
    let zone = offset(py, time.offset)?;
    Ok(PyTime::new(py, hour, minute, second, micro, Some(&zone))?.into_any())
}

pub(crate) fn local_date_time(py: Python<'_>, moment: LocalDateTime) -> PyResult<Bound<'_, PyAny>> {
    match shown(py, moment, None)? {
        Some(found) => Ok(found),
        None => Ok(text(py, &moment)),
    }
}

pub(crate) fn date_time(py: Python<'_>, moment: DateTime) -> PyResult<Bound<'_, PyAny>> {
    let zone = match moment.zone.name() {
        // A zone that this Python has no data of is shown by its offset.
        Some(name) => PyTzInfo::timezone(py, name).or_else(|_| offset(py, moment.offset()))?,
        None => offset(py, moment.offset())?,
    };
    let found = shown(py, moment.local(), Some(&zone))?;
    let Some(found) = found else { return Ok(text(py, &moment)) };
    // Of the two moments that a clock shows alike when it is put back, `fold` names the second.
    let earlier = DateTime::of_local(moment.local(), moment.zone, None);
    if moment.zone.name().is_some() && earlier.is_some_and(|earlier| earlier.seconds < moment.seconds) {
        let changed = pyo3::types::PyDict::new(py);
        changed.set_item("fold", 1)?;
        return found.call_method("replace", (), Some(&changed));
    }
    Ok(found)
}

fn shown<'py>(
    py: Python<'py>,
    moment: LocalDateTime,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (year, month, day) = moment.date().year_month_day();
    if !YEARS.contains(&year) {
        return Ok(None);
    }
    let (hour, minute, second, micro) = clock(moment.time());
    let shown = PyDateTime::new(py, year as i32, month as u8, day as u8, hour, minute, second, micro, zone)?;
    Ok(Some(shown.into_any()))
}

fn offset(py: Python<'_>, seconds: i32) -> PyResult<Bound<'_, PyTzInfo>> {
    if seconds == 0 {
        return Ok(PyTzInfo::utc(py)?.to_owned());
    }
    PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, seconds, 0, true)?)
}

/// The value of a date, time or date-time of Python; `None` if it is none of them, or NaT.
pub(crate) fn value_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Result<Value, Error>>> {
    if let Ok(moment) = object.cast::<PyDateTime>() {
        return moment_of(moment).map(Some);
    }
    if let Ok(date) = object.cast::<PyDate>() {
        return Ok(Some(Ok(Value::Date(date_of(date)))));
    }
    if let Ok(time) = object.cast::<PyTime>() {
        return time_of(time).map(Some);
    }
    Ok(None)
}

fn date_of(date: &impl PyDateAccess) -> Date {
    Date(days_of(i64::from(date.get_year()), i64::from(date.get_month()), i64::from(date.get_day())))
}

fn clock_of(time: &impl PyTimeAccess) -> i64 {
    let seconds = i64::from(time.get_hour()) * 3_600 + i64::from(time.get_minute()) * 60 + i64::from(time.get_second());
    seconds * NANOS_OF_SECOND + i64::from(time.get_microsecond()) * 1_000
}

fn moment_of(moment: &Bound<'_, PyDateTime>) -> PyResult<Result<Value, Error>> {
    let py = moment.py();
    if moment.get_type().name()? == "NaTType" {
        return Ok(Ok(Value::Null));
    }
    // The nanoseconds that pandas keeps below a microsecond.
    let nanos: i64 = match moment.getattr_opt(intern!(py, "nanosecond"))? {
        Some(nanos) => nanos.extract()?,
        None => 0,
    };
    let local = LocalDateTime::of(date_of(moment), LocalTime(clock_of(moment) + nanos));
    let Some(zone) = moment.get_tzinfo() else { return Ok(Ok(Value::LocalDateTime(local))) };
    let seconds = offset_seconds(&moment.call_method0(intern!(py, "utcoffset"))?)?;
    let named = zone_name(&zone)?.and_then(|name| Zone::of_name(&name));
    let zone = named.or_else(|| seconds.and_then(Zone::of_offset));
    let found = zone.and_then(|zone| DateTime::of_local(local, zone, seconds));
    Ok(found.map(Value::DateTime).ok_or_else(|| error!(Argument, "the time zone of {moment} cannot be read")))
}

/// The name that zones of `zoneinfo`, `pytz` and `dateutil` have.
fn zone_name(zone: &Bound<'_, PyTzInfo>) -> PyResult<Option<String>> {
    for attribute in ["key", "zone"] {
        if let Some(name) = zone.getattr_opt(attribute)?
            && let Ok(name) = name.extract::<String>()
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn offset_seconds(offset: &Bound<'_, PyAny>) -> PyResult<Option<i32>> {
    if offset.is_none() {
        return Ok(None);
    }
    let offset = offset.cast::<PyDelta>()?;
    Ok(Some(offset.get_days() * SECONDS_OF_DAY as i32 + offset.get_seconds()))
}

fn time_of(time: &Bound<'_, PyTime>) -> PyResult<Result<Value, Error>> {
    let local = LocalTime(clock_of(time));
    if time.get_tzinfo().is_none() {
        return Ok(Ok(Value::LocalTime(local)));
    }
    Ok(match offset_seconds(&time.call_method0(intern!(time.py(), "utcoffset"))?)? {
        Some(offset) => Ok(Value::Time(Time { local, offset })),
        None => Err(error!(Argument, "the offset of {time} depends on the date").with_remedy("pass a datetime")),
    })
}
