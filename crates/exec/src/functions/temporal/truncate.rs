//! Values of time cut down to the beginning of a unit.

use model::temporal::calendar::{civil_of, days_of, first_monday, week_of, weekday_of};
use model::temporal::{Date, DateTime, LocalTime, NANOS_OF_DAY, NANOS_OF_SECOND, Zone};
use model::{Result, Value, error};

use super::super::{mismatch, text};
use super::construct::{Base, Fields, finish};
use super::{Kind, outside_years, zone_of};

/// The units, from the largest.
const UNITS: [&str; 14] = [
    "millennium", "century", "decade", "year", "weekYear", "quarter", "month", "week", "day", "hour", "minute",
    "second", "millisecond", "microsecond",
];
/// The place of `day` among them.
const DAY: usize = 8;

/// `kind.truncate(unit, value, components)`.
pub(super) fn truncate(kind: Kind, values: &[Value], now: DateTime) -> Result<Value> {
    if values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let function = format!("{}.truncate", kind.function());
    let name = text(&function, &values[0])?;
    let first = if kind.has_date() { 0 } else { DAY };
    let last = if kind.has_time() { UNITS.len() - 1 } else { DAY };
    let unit =
        UNITS.iter().position(|unit| unit.eq_ignore_ascii_case(name)).filter(|unit| (first..=last).contains(unit));
    let Some(unit) = unit else {
        return Err(error!(
            Argument,
            "{function}() knows no unit '{name}': expected {}",
            UNITS[first..=last].join(", ")
        ));
    };
    let base = values.get(1).map_or_else(|| Base::of(&Value::DateTime(now)), Base::of);
    let fits = if kind.has_date() { base.date.is_some() } else { base.time.is_some() };
    if !fits {
        let expected = if kind.has_date() { "a date or date-time" } else { "a time or date-time" };
        return Err(mismatch(&function, expected, values.get(1).unwrap_or(&Value::Null)));
    }
    let mut base = cut(base, unit)?;
    let mut zone = base.zone.map_or(Zone::UTC, |(zone, _)| zone);
    match values.get(2) {
        None => {}
        Some(Value::Map(map)) => {
            base = Fields::new(kind, map, false)?.apply(base)?;
            // The clock goes on showing the same time, in another zone.
            if let Some(name) = map.get("timezone") {
                zone = zone_of(name)?;
                base.zone = Zone::of_offset(zone.offset_at(now.seconds)).map(|offset| (zone, offset.offset_at(0)));
            }
        }
        Some(other) => return Err(mismatch(&function, "a map of components", other)),
    }
    finish(kind, base, zone)
}

fn cut(base: Base, unit: usize) -> Result<Base> {
    let date = base.date.map(|date| if unit < DAY { cut_date(date, UNITS[unit]) } else { date });
    if date.is_some_and(|date| !date.is_valid()) {
        return Err(outside_years("the beginning of the unit"));
    }
    let nanos = match UNITS[unit] {
        "hour" => 3_600 * NANOS_OF_SECOND,
        "minute" => 60 * NANOS_OF_SECOND,
        "second" => NANOS_OF_SECOND,
        "millisecond" => 1_000_000,
        "microsecond" => 1_000,
        _ => NANOS_OF_DAY,
    };
    let local = base.time.unwrap_or_default().0;
    Ok(Base { date, time: Some(LocalTime(local - local % nanos)), kept_nanos: Some(nanos), ..base })
}

fn cut_date(date: Date, unit: &str) -> Date {
    let (year, month, _) = civil_of(date.0);
    let of_years = |count: i64| days_of(year.div_euclid(count) * count, 1, 1);
    Date(match unit {
        "millennium" => of_years(1_000),
        "century" => of_years(100),
        "decade" => of_years(10),
        "year" => of_years(1),
        "weekYear" => first_monday(week_of(date.0).0),
        "quarter" => days_of(year, (month + 2) / 3 * 3 - 2, 1),
        "month" => days_of(year, month, 1),
        _ => date.0 - weekday_of(date.0) + 1,
    })
}
