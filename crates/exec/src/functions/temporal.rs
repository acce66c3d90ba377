//! Functions of dates, times of day, date-times and durations.
//!
//! - `construct`: values out of maps, with the parts of other values.
//! - `truncate`: values cut down to a unit.
//! - `components`: what stands behind a dot.
//! - `operators`: `+`, `-`, `*` and `/`.
//!
//! All that ask for the present within one statement get the same moment, except for `realtime`.

use model::temporal::arithmetic::{self, Moment};
use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time, Zone};
use model::{Error, Result, Value, error};

use super::{Body, Function, integer, mismatch};
use crate::context::EvaluationContext;
use crate::vector::Vector;

mod construct;
mod truncate;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[&Function] = &[
    &TIMESTAMP,
    &DATE, &DATE_STATEMENT, &DATE_TRANSACTION, &DATE_REALTIME, &DATE_TRUNCATE,
    &LOCAL_TIME, &LOCAL_TIME_STATEMENT, &LOCAL_TIME_TRANSACTION, &LOCAL_TIME_REALTIME, &LOCAL_TIME_TRUNCATE,
    &TIME, &TIME_STATEMENT, &TIME_TRANSACTION, &TIME_REALTIME, &TIME_TRUNCATE,
    &LOCAL_DATE_TIME, &LOCAL_DATE_TIME_STATEMENT, &LOCAL_DATE_TIME_TRANSACTION, &LOCAL_DATE_TIME_REALTIME,
    &LOCAL_DATE_TIME_TRUNCATE,
    &DATE_TIME, &DATE_TIME_STATEMENT, &DATE_TIME_TRANSACTION, &DATE_TIME_REALTIME, &DATE_TIME_TRUNCATE,
    &DATE_TIME_FROM_EPOCH, &DATE_TIME_FROM_EPOCH_MILLIS,
    &DURATION, &DURATION_BETWEEN, &DURATION_IN_MONTHS, &DURATION_IN_DAYS, &DURATION_IN_SECONDS,
];

/// The five kinds of points in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
}

impl Kind {
    /// The function that makes values of the kind.
    fn function(self) -> &'static str {
        match self {
            Kind::Date => "date",
            Kind::LocalTime => "localtime",
            Kind::Time => "time",
            Kind::LocalDateTime => "localdatetime",
            Kind::DateTime => "datetime",
        }
    }

    fn has_date(self) -> bool {
        matches!(self, Kind::Date | Kind::LocalDateTime | Kind::DateTime)
    }

    fn has_time(self) -> bool {
        self != Kind::Date
    }

    fn has_zone(self) -> bool {
        matches!(self, Kind::Time | Kind::DateTime)
    }

    /// The value of this kind that a moment is.
    fn of_moment(self, moment: DateTime) -> Value {
        let local = moment.local();
        match self {
            Kind::Date => local.date().into(),
            Kind::LocalTime => local.time().into(),
            Kind::Time => Time { local: local.time(), offset: moment.offset() }.into(),
            Kind::LocalDateTime => local.into(),
            Kind::DateTime => moment.into(),
        }
    }

    /// The value that a text stands for.
    fn of_text(self, text: &str) -> Result<Value> {
        let (found, example) = match self {
            Kind::Date => (Date::parse(text).map(Value::Date), "2015-07-21"),
            Kind::LocalTime => (LocalTime::parse(text).map(Value::LocalTime), "21:40:32.142"),
            Kind::Time => (Time::parse(text).map(Value::Time), "21:40:32+01:00"),
            Kind::LocalDateTime => (LocalDateTime::parse(text).map(Value::LocalDateTime), "2015-07-21T21:40:32"),
            Kind::DateTime => {
                (DateTime::parse(text).map(Value::DateTime), "2015-07-21T21:40:32+02:00[Europe/Stockholm]")
            }
        };
        found.ok_or_else(|| {
            let cause = if self == Kind::DateTime { cause_of_zone(text) } else { None };
            let cause = cause.unwrap_or_else(|| format!("expected a text like '{example}'"));
            error!(Argument, "{}('{text}') has no value: {cause}", self.function())
        })
    }

    /// The value that another value stands for: a text, a map of components, or a value of time that has all it takes.
    fn of_value(self, value: &Value, context: &EvaluationContext<'_>) -> Result<Value> {
        match value {
            Value::Null => Ok(Value::Null),
            Value::String(text) => self.of_text(text),
            Value::Map(map) => construct::of_map(self, map, statement_start(context)),
            other => construct::of_temporal(self, other),
        }
    }
}

/// The reason why a text is no moment of a zone that it names, though it is one without the name.
fn cause_of_zone(text: &str) -> Option<String> {
    let (moment, zone) = text.strip_suffix(']')?.rsplit_once('[')?;
    let local = DateTime::parse(moment)?.local();
    Some(match DateTime::parse(&format!("{local}[{zone}]")) {
        Some(there) => format!("its offset is not that of {zone}, where it is {there}"),
        None => format!("there is no time zone {zone}"),
    })
}

/// The moment at which the statement began, in UTC.
fn statement_start(context: &EvaluationContext<'_>) -> DateTime {
    moment_of_micros(context.now_us)
}

fn moment_of_micros(micros: i64) -> DateTime {
    let LocalDateTime { seconds, nanosecond } = LocalDateTime::of_micros(micros);
    DateTime { seconds, nanosecond, zone: Zone::UTC }
}

fn zone_of(value: &Value) -> Result<Zone> {
    match value {
        Value::String(text) => Zone::parse(text).ok_or_else(|| {
            error!(
                Argument,
                "there is no time zone '{text}': expected an offset like '+01:00' or a name like 'Europe/Paris'"
            )
        }),
        other => Err(error!(Type, "the time zone is {}: expected STRING", other.type_name())),
    }
}

/// A moment as a value of that kind, in the zone of the argument if there is one.
fn present(kind: Kind, moment: DateTime, arguments: &[Vector], rows: usize) -> Result<Vector> {
    match arguments {
        [] => Ok(Vector::Constant(kind.of_moment(moment))),
        _ => super::by_rows(arguments, rows, |values| match &values[0] {
            Value::Null => Ok(Value::Null),
            zone => Ok(kind.of_moment(moment.with_zone(zone_of(zone)?))),
        }),
    }
}

/// The functions of one kind: the values, three clocks, and cutting down.
macro_rules! functions_of {
    (
        $kind:expr, $name:literal, $what:literal, ($make:ident, $statement:ident, $transaction:ident, $realtime:ident,
        $truncate:ident), make: $make_examples:expr, truncate: $truncate_examples:expr
    ) => {
        const $make: Function = Function {
            name: $name,
            arguments_min: 0,
            arguments_max: Some(1),
            usage: concat!($name, "(value)"),
            description: concat!(
                $what,
                " of a text in a form of ISO 8601, of a map of components (among them other values), or of a value that \
                 has its parts; without argument the present, in UTC."
            ),
            examples: $make_examples,
            body: Body::Batch(|arguments, rows, context| match arguments {
                [] => Ok(Vector::Constant($kind.of_moment(statement_start(context)))),
                _ => super::by_rows(arguments, rows, |values| $kind.of_value(&values[0], context)),
            }),
        };
        const $statement: Function = Function {
            name: concat!($name, ".statement"),
            arguments_min: 0,
            arguments_max: Some(1),
            usage: concat!($name, ".statement(zone)"),
            description: "The present when the statement began, in a zone or in UTC.",
            examples: &[(concat!($name, ".statement() = ", $name, "()"), "true")],
            body: Body::Batch(|arguments, rows, context| present($kind, statement_start(context), arguments, rows)),
        };
        const $transaction: Function = Function {
            name: concat!($name, ".transaction"),
            arguments_min: 0,
            arguments_max: Some(1),
            usage: concat!($name, ".transaction(zone)"),
            description: "The present when the transaction began, in a zone or in UTC.",
            examples: &[(concat!($name, ".transaction() <= ", $name, ".statement()"), "true")],
            body: Body::Batch(|arguments, rows, context| {
                present($kind, moment_of_micros(context.transaction_us), arguments, rows)
            }),
        };
        const $realtime: Function = Function {
            name: concat!($name, ".realtime"),
            arguments_min: 0,
            arguments_max: Some(1),
            usage: concat!($name, ".realtime(zone)"),
            description: "The present when a batch of rows is computed, in a zone or in UTC.",
            examples: &[(concat!($name, ".realtime() IS NULL"), "false")],
            body: Body::Batch(|arguments, rows, context| {
                present($kind, moment_of_micros(context.clock.unix_us()), arguments, rows)
            }),
        };
        const $truncate: Function = Function {
            name: concat!($name, ".truncate"),
            arguments_min: 1,
            arguments_max: Some(3),
            usage: concat!($name, ".truncate(unit, value, components)"),
            description: concat!(
                $what,
                " at which the unit of the value (by default the present) begins, such as 'month' or 'hour', with \
                 components of a map in place of its own."
            ),
            examples: $truncate_examples,
            body: Body::Batch(|arguments, rows, context| {
                let start = statement_start(context);
                super::by_rows(arguments, rows, |values| truncate::truncate($kind, values, start))
            }),
        };
    };
}

functions_of!(
    Kind::Date, "date", "The date", (DATE, DATE_STATEMENT, DATE_TRANSACTION, DATE_REALTIME, DATE_TRUNCATE),
    make: &[
        ("date('2001-02-28')", "2001-02-28"),
        ("date('2015-W30-2')", "2015-07-21"),
        ("date({year: 2001, month: 2})", "2001-02-01"),
        ("date({date: date('2001-02-28'), year: 1984})", "1984-02-28"),
        ("date('2001-02-28').dayOfWeek", "3"),
        ("date() = date()", "true"),
    ],
    truncate: &[("date.truncate('month', date('2001-02-28'))", "2001-02-01")]
);
functions_of!(
    Kind::LocalTime, "localtime", "The time of day without a zone",
    (LOCAL_TIME, LOCAL_TIME_STATEMENT, LOCAL_TIME_TRANSACTION, LOCAL_TIME_REALTIME, LOCAL_TIME_TRUNCATE),
    make: &[
        ("localtime('21:40:32.142')", "21:40:32.142"),
        ("localtime({hour: 12, minute: 31})", "12:31"),
        ("localtime('214032').minute", "40"),
    ],
    truncate: &[("localtime.truncate('hour', localtime('21:40:32'), {minute: 5})", "21:05")]
);
functions_of!(
    Kind::Time, "time", "The time of day with an offset from UTC",
    (TIME, TIME_STATEMENT, TIME_TRANSACTION, TIME_REALTIME, TIME_TRUNCATE),
    make: &[
        ("time('21:40:32+01:00')", "21:40:32+01:00"),
        ("time({hour: 12, timezone: '-02:00'})", "12:00-02:00"),
        ("time({time: time('12:00+01:00'), timezone: '+05:00'})", "16:00+05:00"),
    ],
    truncate: &[("time.truncate('minute', time('21:40:32Z'))", "21:40Z")]
);
functions_of!(
    Kind::LocalDateTime, "localdatetime", "The date and time of day without a zone",
    (
        LOCAL_DATE_TIME, LOCAL_DATE_TIME_STATEMENT, LOCAL_DATE_TIME_TRANSACTION, LOCAL_DATE_TIME_REALTIME,
        LOCAL_DATE_TIME_TRUNCATE
    ),
    make: &[
        ("localdatetime('2001-02-28T13:05:00')", "2001-02-28T13:05"),
        ("localdatetime({year: 2001, month: 2, day: 28, hour: 7}).hour", "7"),
        ("localdatetime({date: date('2001-02-28'), time: localtime('07:30')})", "2001-02-28T07:30"),
    ],
    truncate: &[("localdatetime.truncate('day', localdatetime('2001-02-28T13:05'))", "2001-02-28T00:00")]
);
functions_of!(
    Kind::DateTime, "datetime", "The date and time of day with a zone",
    (DATE_TIME, DATE_TIME_STATEMENT, DATE_TIME_TRANSACTION, DATE_TIME_REALTIME, DATE_TIME_TRUNCATE),
    make: &[
        ("datetime('2015-07-21T21:40:32[Europe/Stockholm]')", "2015-07-21T21:40:32+02:00[Europe/Stockholm]"),
        ("datetime({year: 2001, hour: 7, month: 1, day: 1})", "2001-01-01T07:00Z"),
        ("datetime({datetime: datetime('2001-02-28T12:00Z'), timezone: '+05:00'})", "2001-02-28T17:00+05:00"),
        ("datetime({epochSeconds: 1, timezone: 'Europe/Berlin'})", "1970-01-01T01:00:01+01:00[Europe/Berlin]"),
    ],
    truncate: &[("datetime.truncate('year', datetime('2001-02-28T13:05+01:00'))", "2001-01-01T00:00+01:00")]
);

const TIMESTAMP: Function = Function {
    name: "timestamp",
    arguments_min: 0,
    arguments_max: Some(0),
    usage: "timestamp()",
    description: "Milliseconds since the Unix epoch when the statement began.",
    examples: &[("timestamp() = timestamp()", "true")],
    body: Body::Batch(|_, _, context| Ok(Vector::Constant(Value::Int(context.now_us.div_euclid(1_000))))),
};

const DATE_TIME_FROM_EPOCH: Function = Function {
    name: "datetime.fromEpoch",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "datetime.fromEpoch(seconds, nanoseconds)",
    description: "The moment at that time after 1970-01-01T00:00Z, in UTC.",
    examples: &[("datetime.fromEpoch(416779, 999999999)", "1970-01-05T19:46:19.999999999Z")],
    body: Body::Strict(|values| {
        let seconds = integer("datetime.fromEpoch", &values[0])?;
        of_epoch(i128::from(seconds) * 1_000_000_000 + i128::from(integer("datetime.fromEpoch", &values[1])?))
    }),
};

const DATE_TIME_FROM_EPOCH_MILLIS: Function = Function {
    name: "datetime.fromEpochMillis",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "datetime.fromEpochMillis(milliseconds)",
    description: "The moment at that time after 1970-01-01T00:00Z, in UTC.",
    examples: &[("datetime.fromEpochMillis(237821673987)", "1977-07-15T13:34:33.987Z")],
    body: Body::Strict(|values| of_epoch(i128::from(integer("datetime.fromEpochMillis", &values[0])?) * 1_000_000)),
};

fn of_epoch(nanos: i128) -> Result<Value> {
    let found = LocalDateTime::of_nanos(nanos).ok_or_else(|| outside_years("the moment"))?;
    Ok(DateTime { seconds: found.seconds, nanosecond: found.nanosecond, zone: Zone::UTC }.into())
}

/// The error of a result that lies beyond the calendar.
fn outside_years(what: &str) -> Error {
    error!(Argument, "{what} is outside the years -999999999 to 999999999")
}

const DURATION: Function = Function {
    name: "duration",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "duration(value)",
    description: "The duration of a text such as 'P1Y2M3DT4H5M6.5S', or of a map with years, quarters, months, weeks, \
                  days, hours, minutes, seconds, milliseconds, microseconds and nanoseconds, which need not be whole.",
    examples: &[
        ("duration('P14DT16H12M')", "P14DT16H12M"),
        ("duration({days: 1.5})", "P1DT12H"),
        ("duration({months: 0.75})", "P22DT19H51M49.5S"),
        ("duration('PT90M').hours", "1"),
        ("date('2024-01-31') + duration('P1M')", "2024-02-29"),
        ("duration('P1D') * 2", "P2D"),
    ],
    body: Body::Strict(|values| match &values[0] {
        Value::Duration(duration) => Ok(Value::Duration(*duration)),
        Value::String(text) => Duration::parse(text).map(Value::Duration).ok_or_else(|| {
            error!(Argument, "duration('{text}') has no value: expected a text like 'P1Y2M3DT4H5M6.5S'")
        }),
        Value::Map(map) => construct::duration_of_map(map),
        other => Err(mismatch("duration", "a string, map or duration", other)),
    }),
};

const DURATION_BETWEEN: Function = Function {
    name: "duration.between",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "duration.between(from, to)",
    description: "Months, then days, then exact time from one temporal value to another; parts that one lacks are taken \
                  from the other.",
    examples: &[("duration.between(date('1984-10-11'), date('2015-06-24'))", "P30Y8M13D")],
    body: Body::Strict(|values| between("duration.between", values, arithmetic::between)),
};

const DURATION_IN_MONTHS: Function = Function {
    name: "duration.inMonths",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "duration.inMonths(from, to)",
    description: "Whole months from one temporal value to another.",
    examples: &[("duration.inMonths(date('1984-10-11'), date('2015-06-24'))", "P30Y8M")],
    body: Body::Strict(|values| between("duration.inMonths", values, arithmetic::months)),
};

const DURATION_IN_DAYS: Function = Function {
    name: "duration.inDays",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "duration.inDays(from, to)",
    description: "Whole days from one temporal value to another.",
    examples: &[("duration.inDays(date('1984-10-11'), date('2015-06-24'))", "P11213D")],
    body: Body::Strict(|values| between("duration.inDays", values, arithmetic::days)),
};

const DURATION_IN_SECONDS: Function = Function {
    name: "duration.inSeconds",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "duration.inSeconds(from, to)",
    description: "Exact time from one temporal value to another.",
    examples: &[("duration.inSeconds(localtime('14:30'), time('16:30+01:00'))", "PT2H")],
    body: Body::Strict(|values| between("duration.inSeconds", values, arithmetic::exact_between)),
};

fn between(function: &str, values: &[Value], measure: fn(Moment, Moment) -> Option<Duration>) -> Result<Value> {
    let moment = |value: &Value| match value {
        Value::Date(x) => Ok(Moment::from(*x)),
        Value::LocalTime(x) => Ok(Moment::from(*x)),
        Value::Time(x) => Ok(Moment::from(*x)),
        Value::LocalDateTime(x) => Ok(Moment::from(*x)),
        Value::DateTime(x) => Ok(Moment::from(*x)),
        other => Err(mismatch(function, "dates, times or date-times", other)),
    };
    match measure(moment(&values[0])?, moment(&values[1])?) {
        Some(duration) => Ok(Value::Duration(duration)),
        None => Err(error!(Arithmetic, "the duration from {} to {} has no value", values[0], values[1])),
    }
}
