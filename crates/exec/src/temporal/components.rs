//! The components of values of time and of points: `.year`, `.epochMillis`, `.offset`, `.minutesOfHour`, `.x` and the others.

use model::point::Point;
use model::temporal::calendar::{civil_of, days_of, week_of, weekday_of};
use model::temporal::{Date, Duration, LocalDateTime, LocalTime, NANOS_OF_SECOND, Time, Zone};
use model::{Result, Value, error};

/// A component of a value of time or of a point; `None` if it has no such, or the value is of another kind. An error if the component
/// does not fit an integer.
pub(crate) fn component(value: &Value, name: &str) -> Option<Result<Value>> {
    let integer = |component: i128| {
        let fits = i64::try_from(component).map(Value::Int);
        fits.map_err(|_| error!(Arithmetic, "the component '{name}' is {component}: no 64-bit integer"))
    };
    match value {
        Value::Date(date) => of_date(*date, name).map(Value::Int).map(Ok),
        Value::LocalTime(time) => of_local_time(*time, name).map(Value::Int).map(Ok),
        Value::Time(time) => of_time(*time, name).map(Ok),
        Value::LocalDateTime(moment) => of_local_date_time(*moment, name).map(integer),
        Value::DateTime(moment) if matches!(name, "epochSeconds" | "epochMillis") => {
            of_local_date_time(moment.utc(), name).map(integer)
        }
        Value::DateTime(moment) => {
            let local = of_local_date_time(moment.local(), name).map(integer);
            local.or_else(|| of_offset(moment.zone, moment.offset(), name).map(Ok))
        }
        Value::Duration(duration) => of_duration(*duration, name).map(integer),
        Value::Point(point) => of_point(*point, name).map(Ok),
        _ => None,
    }
}

/// Some components that a kind of value has, for messages.
pub(crate) fn examples(value: &Value) -> &'static str {
    match value {
        Value::Date(_) => "year, month or dayOfWeek",
        Value::LocalTime(_) => "hour, minute or nanosecond",
        Value::Time(_) => "hour, minute or offset",
        Value::LocalDateTime(_) => "year, month or hour",
        Value::DateTime(_) => "year, hour, timezone or epochSeconds",
        Value::Point(point) if point.crs().is_geographic() => "longitude, latitude, srid or crs",
        Value::Point(_) => "x, y, srid or crs",
        _ => "months, days, seconds or nanosecondsOfSecond",
    }
}

fn of_point(point: Point, name: &str) -> Option<Value> {
    match name {
        "crs" => Some(Value::string(point.crs().name())),
        "srid" => Some(Value::from(point.srid())),
        _ => point.coordinate(name).map(Value::Float),
    }
}

fn of_date(date: Date, name: &str) -> Option<i64> {
    let (year, month, day) = civil_of(date.0);
    Some(match name {
        "year" => year,
        "quarter" => (month + 2) / 3,
        "month" => month,
        "week" => week_of(date.0).1,
        "weekYear" => week_of(date.0).0,
        "day" => day,
        "dayOfQuarter" => date.0 - days_of(year, (month + 2) / 3 * 3 - 2, 1) + 1,
        "ordinalDay" | "dayOfYear" => date.0 - days_of(year, 1, 1) + 1,
        "dayOfWeek" | "weekDay" => weekday_of(date.0),
        "epochDays" => date.0,
        _ => return None,
    })
}

fn of_local_time(time: LocalTime, name: &str) -> Option<i64> {
    let (seconds, nanos) = (time.0 / NANOS_OF_SECOND, time.0 % NANOS_OF_SECOND);
    Some(match name {
        "hour" => seconds / 3_600,
        "minute" => seconds / 60 % 60,
        "second" => seconds % 60,
        "millisecond" => nanos / 1_000_000,
        "microsecond" => nanos / 1_000,
        "nanosecond" => nanos,
        _ => return None,
    })
}

fn of_offset(zone: Zone, offset: i32, name: &str) -> Option<Value> {
    let text = |zone: Zone| Value::string(&zone.to_string());
    Some(match name {
        "timezone" => text(zone),
        "offset" => text(Zone::of_offset(offset)?),
        "offsetMinutes" => Value::Int(i64::from(offset / 60)),
        "offsetSeconds" => Value::Int(i64::from(offset)),
        _ => return None,
    })
}

fn of_time(time: Time, name: &str) -> Option<Value> {
    of_local_time(time.local, name)
        .map(Value::Int)
        .or_else(|| of_offset(Zone::of_offset(time.offset)?, time.offset, name))
}

fn of_local_date_time(moment: LocalDateTime, name: &str) -> Option<i128> {
    match name {
        "epochSeconds" => Some(moment.seconds.into()),
        "epochMillis" => Some(i128::from(moment.seconds) * 1_000 + i128::from(moment.nanosecond) / 1_000_000),
        _ => of_date(moment.date(), name).or_else(|| of_local_time(moment.time(), name)).map(i128::from),
    }
}

fn of_duration(x: Duration, name: &str) -> Option<i128> {
    match name {
        "milliseconds" => return Some(x.time_nanos().div_euclid(1_000_000)),
        "microseconds" => return Some(x.time_nanos().div_euclid(1_000)),
        "nanoseconds" => return Some(x.time_nanos()),
        _ => {}
    }
    let nanos = i64::from(x.nanosecond);
    let component = match name {
        "years" => x.months / 12,
        "quarters" => x.months / 3,
        "months" => x.months,
        "weeks" => x.days / 7,
        "days" => x.days,
        "hours" => x.seconds / 3_600,
        "minutes" => x.seconds / 60,
        "seconds" => x.seconds,
        "quartersOfYear" => x.months / 3 % 4,
        "monthsOfYear" => x.months % 12,
        "monthsOfQuarter" => x.months % 3,
        "daysOfWeek" => x.days % 7,
        "minutesOfHour" => x.seconds / 60 % 60,
        "secondsOfMinute" => x.seconds % 60,
        "millisecondsOfSecond" => nanos / 1_000_000,
        "microsecondsOfSecond" => nanos / 1_000,
        "nanosecondsOfSecond" => nanos,
        _ => return None,
    };
    Some(component.into())
}
