//! Functions of dates and local date-times. All that ask for the present within one statement get the same moment.

use model::temporal::calendar::{days_of, month_length};
use model::temporal::{Date, LocalDateTime, LocalTime};
use model::value::MapValue;
use model::{Error, ErrorCode, Result, Value, error};

use super::{Body, Function, mismatch};
use crate::context::EvaluationContext;
use crate::expression::vector::Vector;

pub(crate) mod components;

pub(super) const FUNCTIONS: &[&Function] = &[&TIMESTAMP, &DATE, &LOCAL_DATE_TIME, &DATE_TIME];

const TIMESTAMP: Function = Function {
    name: "timestamp",
    arguments_min: 0,
    arguments_max: Some(0),
    usage: "timestamp()",
    description: "Milliseconds since the Unix epoch when the statement began.",
    examples: &[("timestamp() = timestamp()", "true")],
    body: Body::Batch(|_, _, context| Ok(Vector::Constant(Value::Int(context.now_us.div_euclid(1_000))))),
};

const DATE: Function = Function {
    name: "date",
    arguments_min: 0,
    arguments_max: Some(1),
    usage: "date(value)",
    description: "A date of a string, of a map with year, month and day, or of a local date-time; without argument \
                  today's in UTC.",
    examples: &[
        ("date('2001-02-28')", "2001-02-28"),
        ("date({year: 2001, month: 2})", "2001-02-01"),
        ("date('2001-02-28').dayOfWeek", "3"),
        ("date() = date()", "true"),
    ],
    body: Body::Batch(|arguments, rows, context| of_argument(arguments, rows, context, date)),
};

const LOCAL_DATE_TIME: Function = Function {
    name: "localdatetime",
    arguments_min: 0,
    arguments_max: Some(1),
    usage: "localdatetime(value)",
    description: "A date and time without a zone of a string, of a map (year to microsecond), or of a date; without \
                  argument the present in UTC.",
    examples: &[
        ("localdatetime('2001-02-28T13:05:00')", "2001-02-28T13:05:00"),
        ("localdatetime({year: 2001, hour: 7}).hour", "7"),
    ],
    body: Body::Batch(|arguments, rows, context| of_argument(arguments, rows, context, local_date_time)),
};

const DATE_TIME: Function = Function {
    name: "datetime",
    arguments_min: 0,
    arguments_max: Some(1),
    usage: "datetime(value)",
    description: "Always an error: no value holds a date and time with a zone; use `localdatetime`.",
    examples: &[],
    body: Body::Lenient(|_| {
        let message = "datetime() makes a date and time with a zone, which no value can hold";
        Err(Error::new(ErrorCode::Unsupported, message).with_remedy("use localdatetime(), or timestamp() for a number"))
    }),
};

/// The present without an argument; otherwise the argument, converted.
fn of_argument(
    arguments: &[Vector],
    rows: usize,
    context: &EvaluationContext<'_>,
    convert: fn(&Value) -> Result<Value>,
) -> Result<Vector> {
    if arguments.is_empty() {
        return Ok(Vector::Constant(convert(&Value::LocalDateTime(LocalDateTime::of_micros(context.now_us)))?));
    }
    super::by_rows(arguments, rows, |values| if values[0].is_null() { Ok(Value::Null) } else { convert(&values[0]) })
}

fn date(value: &Value) -> Result<Value> {
    match value {
        Value::Date(date) => Ok(Value::Date(*date)),
        Value::LocalDateTime(moment) => Ok(Value::Date(moment.date())),
        Value::String(text) => Date::parse(text)
            .map(Value::Date)
            .ok_or_else(|| error!(Argument, "'{text}' is no date: expected a text like '2001-02-28'")),
        Value::Map(map) => {
            check_fields(map, &["year", "month", "day"], "date")?;
            Ok(Value::Date(date_of_map(map)?))
        }
        other => Err(mismatch("date", "a string, map, date or local date-time", other)),
    }
}

fn local_date_time(value: &Value) -> Result<Value> {
    match value {
        Value::LocalDateTime(moment) => Ok(Value::LocalDateTime(*moment)),
        Value::Date(date) => Ok(Value::LocalDateTime(LocalDateTime::of(*date, LocalTime(0)))),
        Value::String(text) => LocalDateTime::parse(text).map(Value::LocalDateTime).ok_or_else(|| {
            error!(Argument, "'{text}' is no local date-time: expected a text like '2001-02-28T13:05:00'")
        }),
        Value::Map(map) => local_date_time_of_map(map),
        other => Err(mismatch("localdatetime", "a string, map, date or local date-time", other)),
    }
}

fn local_date_time_of_map(map: &MapValue) -> Result<Value> {
    const FIELDS: &[&str] = &["year", "month", "day", "hour", "minute", "second", "millisecond", "microsecond"];
    check_fields(map, FIELDS, "localdatetime")?;
    let micros = field(map, "millisecond", 0, 0..=999)? * 1_000 + field(map, "microsecond", 0, 0..=999_999)?;
    if micros > 999_999 {
        return Err(error!(Argument, "millisecond and microsecond make {micros} µs: expected less than a second"));
    }
    let time = LocalTime::new(
        field(map, "hour", 0, 0..=23)?,
        field(map, "minute", 0, 0..=59)?,
        field(map, "second", 0, 0..=59)?,
        micros * 1_000,
    );
    Ok(Value::LocalDateTime(LocalDateTime::of(date_of_map(map)?, time)))
}

fn date_of_map(map: &MapValue) -> Result<Date> {
    if !map.contains_key("year") {
        return Err(error!(Argument, "a date is made of a map without 'year'"));
    }
    let (year, month) = (field(map, "year", 0, -9_999..=9_999)?, field(map, "month", 1, 1..=12)?);
    let day = field(map, "day", 1, 1..=31)?;
    if day > month_length(year, month) {
        return Err(error!(Argument, "there is no day {day} in month {month} of {year}"));
    }
    Ok(Date(days_of(year, month, day)))
}

fn field(map: &MapValue, name: &str, absent: i64, range: std::ops::RangeInclusive<i64>) -> Result<i64> {
    match map.get(name) {
        None => Ok(absent),
        Some(Value::Int(x)) if range.contains(x) => Ok(*x),
        Some(Value::Int(x)) => Err(error!(Argument, "{name} is {x}: expected {} to {}", range.start(), range.end())),
        Some(other) => Err(error!(Type, "{name} is {}: expected INTEGER", other.type_name())),
    }
}

fn check_fields(map: &MapValue, known: &[&str], function: &str) -> Result<()> {
    match map.keys().find(|key| !known.contains(&&***key)) {
        None => Ok(()),
        Some(key) => Err(error!(Argument, "{function}() of a map with '{key}': expected {}", known.join(", "))),
    }
}
