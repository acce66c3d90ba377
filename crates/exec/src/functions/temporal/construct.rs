//! Values of time out of maps of components, some of which may be taken from other values of time.

use model::temporal::calendar::{
    YEAR_MAX, YEAR_MIN, civil_of, days_of, first_monday, month_length, quarter_length, week_of, weekday_of,
    year_length, year_weeks,
};
use model::temporal::{Date, DateTime, DurationParts, LocalDateTime, LocalTime, NANOS_OF_SECOND, Time, Zone};
use model::value::MapValue;
use model::{Result, Value, error};

use super::super::mismatch;
use super::{Kind, outside_years, zone_of};
use crate::temporal::operators::too_long;

const DATE_FIELDS: &[&str] =
    &["year", "month", "day", "week", "dayOfWeek", "quarter", "dayOfQuarter", "ordinalDay", "date"];
const TIME_FIELDS: &[&str] = &["hour", "minute", "second", "millisecond", "microsecond", "nanosecond", "time"];

/// The map of a call.
pub(super) struct Fields<'a> {
    kind: Kind,
    map: &'a MapValue,
}

/// Parts that a value takes where none are given.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Base {
    pub(super) date: Option<Date>,
    pub(super) time: Option<LocalTime>,
    /// The zone of the time, and its offset then.
    pub(super) zone: Option<(Zone, i32)>,
    /// Unit in nanoseconds: fractions of a second from it upwards are kept when finer ones are given.
    pub(super) kept_nanos: Option<i64>,
}

impl Base {
    /// The parts of a value of time; nothing of any other value.
    pub(super) fn of(value: &Value) -> Base {
        let local =
            |local: LocalDateTime| Base { date: Some(local.date()), time: Some(local.time()), ..Base::default() };
        match value {
            Value::Date(date) => Base { date: Some(*date), ..Base::default() },
            Value::LocalTime(time) => Base { time: Some(*time), ..Base::default() },
            Value::Time(Time { local, offset }) => Base {
                time: Some(*local),
                zone: Zone::of_offset(*offset).map(|zone| (zone, *offset)),
                ..Base::default()
            },
            Value::LocalDateTime(moment) => local(*moment),
            Value::DateTime(moment) => Base { zone: Some((moment.zone, moment.offset())), ..local(moment.local()) },
            _ => Base::default(),
        }
    }
}

/// The value of a kind that has the parts of another value of time.
pub(super) fn of_temporal(kind: Kind, value: &Value) -> Result<Value> {
    let base = Base::of(value);
    let has_all = (!kind.has_date() || base.date.is_some()) && (kind.has_date() || base.time.is_some());
    if !has_all {
        let expected = match kind {
            Kind::Date => "a string, map, date or date-time",
            Kind::LocalTime | Kind::Time => "a string, map, time or date-time",
            Kind::LocalDateTime | Kind::DateTime => "a string, map, date or date-time",
        };
        return Err(mismatch(kind.function(), expected, value));
    }
    let zone = base.zone.map_or(Zone::UTC, |(zone, _)| zone);
    finish(kind, base, zone)
}

/// The value of a kind that a map describes. A map with nothing but a zone is the present there.
pub(super) fn of_map(kind: Kind, map: &MapValue, now: DateTime) -> Result<Value> {
    let fields = Fields::new(kind, map, true)?;
    if map.len() == 1 && map.contains_key("timezone") {
        return Ok(kind.of_moment(now.with_zone(zone_of(&map["timezone"])?)));
    }
    if kind == Kind::DateTime && (map.contains_key("epochSeconds") || map.contains_key("epochMillis")) {
        return fields.of_epoch();
    }
    let base = fields.base()?;
    let made = fields.apply(base)?;
    let Some(zone) = map.get("timezone") else {
        return finish(kind, made, made.zone.map_or(Zone::UTC, |(zone, _)| zone));
    };
    let mut zone = zone_of(zone)?;
    if kind == Kind::Time {
        // A time of day has no date to look up the offset of; today's is taken.
        zone = Zone::of_offset(zone.offset_at(now.seconds)).unwrap_or(Zone::UTC);
    }
    match (kind, made.zone) {
        // The clock of the value that the time is taken from shows another time in the new zone.
        (Kind::DateTime, Some((old, _))) => match finish(kind, made, old)? {
            Value::DateTime(moment) => in_zone(moment, zone),
            other => Ok(other),
        },
        (Kind::Time, Some(_)) => match finish(kind, made, zone)? {
            Value::Time(time) => Ok(time.with_offset(zone.offset_at(0)).into()),
            other => Ok(other),
        },
        _ => finish(kind, made, zone),
    }
}

/// The moment in another zone, whose calendar must have it.
fn in_zone(moment: DateTime, zone: Zone) -> Result<Value> {
    let moment = moment.with_zone(zone);
    if moment.is_valid() { Ok(moment.into()) } else { Err(outside_years("the date-time")) }
}

/// The value of a kind out of parts. Only `Time` prefers the offset of its parts to the zone.
pub(super) fn finish(kind: Kind, parts: Base, zone: Zone) -> Result<Value> {
    let (date, time) = (parts.date.unwrap_or_default(), parts.time.unwrap_or_default());
    Ok(match kind {
        Kind::Date => date.into(),
        Kind::LocalTime => time.into(),
        Kind::Time => {
            let offset = parts.zone.map_or_else(|| zone.offset_at(0), |(_, offset)| offset);
            Time { local: time, offset }.into()
        }
        Kind::LocalDateTime => LocalDateTime::of(date, time).into(),
        Kind::DateTime => {
            let local = LocalDateTime::of(date, time);
            let preferred = parts.zone.map(|(_, offset)| offset);
            DateTime::of_local(local, zone, preferred).ok_or_else(|| outside_years("the date-time"))?.into()
        }
    })
}

impl<'a> Fields<'a> {
    /// Checks the names of the fields; `may_select` if other values may stand among them.
    pub(super) fn new(kind: Kind, map: &'a MapValue, may_select: bool) -> Result<Fields<'a>> {
        let is_known = |name: &str| {
            let selects = matches!(name, "date" | "time" | "datetime");
            (kind.has_date() && DATE_FIELDS.contains(&name) || kind.has_time() && TIME_FIELDS.contains(&name))
                && (may_select || !selects)
                || (kind.has_zone() || may_select && map.len() == 1) && name == "timezone"
                || may_select && kind.has_date() && kind.has_time() && name == "datetime"
                || may_select && kind == Kind::DateTime && matches!(name, "epochSeconds" | "epochMillis")
        };
        match map.keys().find(|name| !is_known(name)) {
            None => Ok(Fields { kind, map }),
            Some(name) => {
                let mut known = Vec::new();
                if kind.has_date() {
                    known.extend(DATE_FIELDS);
                }
                if kind.has_time() {
                    known.extend(TIME_FIELDS);
                }
                known.extend(kind.has_zone().then_some("timezone"));
                let function = kind.function();
                Err(error!(Argument, "{function}() of a map with '{name}': expected {}", known.join(", ")))
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// A whole number within a range; `None` if it is not given.
    fn field(&self, name: &str, first: i64, last: i64) -> Result<Option<i64>> {
        match self.map.get(name) {
            None => Ok(None),
            Some(Value::Int(x)) if (first..=last).contains(x) => Ok(Some(*x)),
            Some(Value::Int(x)) => Err(error!(Argument, "{name} is {x}: expected {first} to {last}")),
            Some(other) => Err(error!(Type, "{name} is {}: expected INTEGER", other.type_name())),
        }
    }

    /// The parts of the values under `date`, `time` and `datetime`.
    fn base(&self) -> Result<Base> {
        let part = |name: &str, expected: &str, fits: fn(&Base) -> bool| -> Result<Base> {
            match self.map.get(name) {
                None => Ok(Base::default()),
                Some(value) => Some(Base::of(value))
                    .filter(fits)
                    .ok_or_else(|| error!(Type, "{name} is {}: expected {expected}", value.type_name())),
            }
        };
        if self.has("datetime") && (self.has("date") || self.has("time")) {
            return Err(error!(Argument, "'datetime' stands beside 'date' or 'time': expected either"));
        }
        if self.has("datetime") {
            return part("datetime", "a date-time", |base| base.date.is_some() && base.time.is_some());
        }
        let date = part("date", "a date or date-time", |base| base.date.is_some())?;
        let time = part("time", "a time or date-time", |base| base.time.is_some())?;
        Ok(Base { date: date.date, ..time })
    }

    /// The parts with those that the map names in their place.
    pub(super) fn apply(&self, mut base: Base) -> Result<Base> {
        if self.kind.has_date() {
            let date = self.date(base.date)?;
            base.date = Some(if date.is_valid() { date } else { return Err(outside_years("the date")) });
        }
        if self.kind.has_time() {
            base.time = Some(self.time(&base)?);
        }
        Ok(base)
    }

    fn of_epoch(&self) -> Result<Value> {
        let zone = self.map.get("timezone").map_or(Ok(Zone::UTC), zone_of)?;
        if let Some(name) =
            self.map.keys().find(|name| !matches!(&***name, "epochSeconds" | "epochMillis" | "nanosecond" | "timezone"))
        {
            return Err(error!(Argument, "'{name}' stands beside an epoch: expected nanosecond or timezone"));
        }
        let seconds = self.field("epochSeconds", i64::MIN, i64::MAX)?;
        let millis = self.field("epochMillis", i64::MIN, i64::MAX)?;
        let nanos = match (seconds, millis) {
            (Some(_), Some(_)) => return Err(error!(Argument, "'epochSeconds' stands beside 'epochMillis'")),
            (Some(seconds), _) => {
                let nanos = self.field("nanosecond", 0, NANOS_OF_SECOND - 1)?.unwrap_or(0);
                i128::from(seconds) * i128::from(NANOS_OF_SECOND) + i128::from(nanos)
            }
            (_, millis) => {
                let nanos = self.field("nanosecond", 0, 999_999)?.unwrap_or(0);
                i128::from(millis.unwrap_or(0)) * 1_000_000 + i128::from(nanos)
            }
        };
        let utc = LocalDateTime::of_nanos(nanos).ok_or_else(|| outside_years("the moment"))?;
        in_zone(DateTime { seconds: utc.seconds, nanosecond: utc.nanosecond, zone: Zone::UTC }, zone)
    }

    fn date(&self, base: Option<Date>) -> Result<Date> {
        let groups: [(&str, &str, &[&str]); 4] = [
            ("month", "day", &["month", "day"]),
            ("week", "dayOfWeek", &["week", "dayOfWeek"]),
            ("quarter", "dayOfQuarter", &["quarter", "dayOfQuarter"]),
            ("ordinalDay", "", &["ordinalDay"]),
        ];
        let mut used = groups.iter().filter(|(_, _, names)| names.iter().any(|name| self.has(name)));
        let group = used.next();
        if let (Some(one), Some(other)) = (group, used.next()) {
            let name = |names: &[&'static str]| names.iter().copied().find(|name| self.has(name)).unwrap_or_default();
            return Err(error!(Argument, "a date has no place for both '{}' and '{}'", name(one.2), name(other.2)));
        }
        let (unit, day, _) = group.unwrap_or(&groups[0]);
        if base.is_none() {
            if !self.has("year") {
                return Err(error!(Argument, "{}() of a map without 'year'", self.kind.function()));
            }
            if self.has(day) && !self.has(unit) {
                return Err(error!(Argument, "'{day}' stands without '{unit}'"));
            }
        }
        let days = match *unit {
            "week" => self.week_date(base),
            "quarter" => self.quarter_date(base),
            "ordinalDay" => self.ordinal_date(base),
            _ => self.calendar_date(base),
        };
        days.map(Date)
    }

    fn year(&self) -> Result<Option<i64>> {
        self.field("year", YEAR_MIN, YEAR_MAX)
    }

    fn calendar_date(&self, base: Option<Date>) -> Result<i64> {
        let (year, month, day) = base.map_or((0, 1, 1), Date::year_month_day);
        let year = self.year()?.unwrap_or(year);
        let month = self.field("month", 1, 12)?.unwrap_or(month);
        let length = month_length(year, month);
        // A day that is taken over gives way to the end of the month.
        let day = self.field("day", 1, 31)?.unwrap_or(day.min(length));
        if day > length {
            return Err(error!(Argument, "there is no day {day} in month {month} of {year}"));
        }
        Ok(days_of(year, month, day))
    }

    fn week_date(&self, base: Option<Date>) -> Result<i64> {
        let ((year, week), day) = base.map_or(((0, 1), 1), |date| (week_of(date.0), weekday_of(date.0)));
        let year = self.year()?.unwrap_or(year);
        let week = self.field("week", 1, 53)?.unwrap_or(week);
        if week > year_weeks(year) {
            return Err(error!(Argument, "there is no week {week} in {year}"));
        }
        Ok(first_monday(year) + (week - 1) * 7 + self.field("dayOfWeek", 1, 7)?.unwrap_or(day) - 1)
    }

    fn quarter_date(&self, base: Option<Date>) -> Result<i64> {
        let (year, quarter, day) = base.map_or((0, 1, 1), |date| {
            let (year, month, _) = civil_of(date.0);
            let quarter = (month + 2) / 3;
            (year, quarter, date.0 - days_of(year, 3 * quarter - 2, 1) + 1)
        });
        let year = self.year()?.unwrap_or(year);
        let quarter = self.field("quarter", 1, 4)?.unwrap_or(quarter);
        let length = quarter_length(year, quarter);
        let day = self.field("dayOfQuarter", 1, 92)?.unwrap_or(day.min(length));
        if day > length {
            return Err(error!(Argument, "there is no day {day} in quarter {quarter} of {year}"));
        }
        Ok(days_of(year, 3 * quarter - 2, 1) + day - 1)
    }

    fn ordinal_date(&self, base: Option<Date>) -> Result<i64> {
        let year = self.year()?.unwrap_or(base.map_or(0, |date| civil_of(date.0).0));
        let day = self.field("ordinalDay", 1, 366)?.unwrap_or(1);
        if day > year_length(year) {
            return Err(error!(Argument, "there is no day {day} in {year}"));
        }
        Ok(days_of(year, 1, 1) + day - 1)
    }

    fn time(&self, base: &Base) -> Result<LocalTime> {
        const UNITS: [(&str, i64); 3] = [("hour", 23), ("minute", 59), ("second", 59)];
        let local = base.time.unwrap_or_default();
        let seconds = local.0 / NANOS_OF_SECOND;
        let own = [seconds / 3_600, seconds / 60 % 60, seconds % 60];
        let mut parts = [0; 3];
        for (index, (name, last)) in UNITS.iter().enumerate() {
            parts[index] = self.field(name, 0, *last)?.unwrap_or(own[index]);
        }
        if base.time.is_none() {
            self.check_no_gap()?;
        }
        let nanos = self.subsecond(base, local.0 % NANOS_OF_SECOND)?;
        Ok(LocalTime::new(parts[0], parts[1], parts[2], nanos))
    }

    /// Fails if a unit is given, but not the next larger one.
    fn check_no_gap(&self) -> Result<()> {
        if !self.kind.has_date() && !self.has("hour") {
            return Err(error!(Argument, "{}() of a map without 'hour'", self.kind.function()));
        }
        let fraction = ["millisecond", "microsecond", "nanosecond"].into_iter().find(|name| self.has(name));
        let units = [Some("hour"), Some("minute"), Some("second"), fraction];
        for (larger, unit) in units.iter().zip(&units[1..]) {
            if let (Some(larger), Some(unit)) = (larger, unit)
                && self.has(unit)
                && !self.has(larger)
            {
                return Err(error!(Argument, "'{unit}' stands without '{larger}'"));
            }
        }
        Ok(())
    }

    /// Nanoseconds of the second: those of the base if the map gives none.
    fn subsecond(&self, base: &Base, own: i64) -> Result<i64> {
        let kept = base.kept_nanos.unwrap_or(NANOS_OF_SECOND);
        let millis = self.field("millisecond", 0, 999)?;
        let millis = millis.or_else(|| (kept <= 1_000_000).then_some(own / 1_000_000));
        let micros = self.field("microsecond", 0, if millis.is_some() { 999 } else { 999_999 })?;
        let micros = micros.or_else(|| (kept <= 1_000).then_some(own / 1_000 % 1_000));
        let nanos_last = match (millis, micros) {
            (_, Some(_)) => 999,
            (Some(_), None) => 999_999,
            (None, None) => NANOS_OF_SECOND - 1,
        };
        let nanos = self.field("nanosecond", 0, nanos_last)?;
        if millis.is_none() && micros.is_none() && nanos.is_none() {
            return Ok(own);
        }
        Ok(millis.unwrap_or(0) * 1_000_000 + micros.unwrap_or(0) * 1_000 + nanos.unwrap_or(0))
    }
}

/// The duration of a map with numbers of units, whole or not.
pub(super) fn duration_of_map(map: &MapValue) -> Result<Value> {
    const UNITS: [&str; 11] = [
        "years", "quarters", "months", "weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds",
        "nanoseconds",
    ];
    let mut parts = DurationParts::default();
    for (name, value) in map {
        let (whole, billionths) = number(name, value)?;
        let nanos = |unit: i128| (whole * 1_000_000_000 + billionths) * unit / 1_000_000_000;
        let months =
            |count: i128| (whole * count + billionths * count / 1_000_000_000, billionths * count % 1_000_000_000);
        match &**name {
            "years" => parts.add_months(months(12).0, months(12).1),
            "quarters" => parts.add_months(months(3).0, months(3).1),
            "months" => parts.add_months(whole, billionths),
            "weeks" => parts.add_days(months(7).0, months(7).1),
            "days" => parts.add_days(whole, billionths),
            "hours" => parts.add_nanos(nanos(3_600_000_000_000)),
            "minutes" => parts.add_nanos(nanos(60_000_000_000)),
            "seconds" => parts.add_nanos(nanos(1_000_000_000)),
            "milliseconds" => parts.add_nanos(nanos(1_000_000)),
            "microseconds" => parts.add_nanos(nanos(1_000)),
            "nanoseconds" => parts.add_nanos(nanos(1)),
            other => {
                return Err(error!(Argument, "duration() of a map with '{other}': expected {}", UNITS.join(", ")));
            }
        }
    }
    parts.finish().map(Value::Duration).ok_or_else(too_long)
}

/// A number as its whole part and billionths.
fn number(name: &str, value: &Value) -> Result<(i128, i128)> {
    match value {
        Value::Int(x) => Ok((i128::from(*x), 0)),
        Value::Float(x) if x.abs() < 9.3e18 => Ok((x.trunc() as i128, (x.fract() * 1e9).round() as i128)),
        Value::Float(_) => Err(too_long()),
        other => Err(error!(Type, "{name} is {}: expected INTEGER or FLOAT", other.type_name())),
    }
}
