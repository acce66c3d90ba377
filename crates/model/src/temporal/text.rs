//! Texts of dates, times and offsets: all the forms of ISO 8601 that Cypher reads, and the one that it prints.

use std::fmt::{self, Formatter};

use super::calendar::{
    YEAR_MAX, YEAR_MIN, civil_of, days_of, first_monday, month_length, quarter_length, year_length, year_weeks,
};
use super::zone::Zone;
use super::{Date, DateTime, LocalDateTime, LocalTime, NANOS_OF_SECOND, SECONDS_OF_DAY, Time};

/// The rest of a string that is read from its start.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a byte, if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    /// Number of digits that come next.
    fn digits(&self) -> usize {
        self.0.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// The number of exactly `digits` digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        if digits == 0 || digits > 18 || self.digits() < digits {
            return None;
        }
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        Some(number.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    /// `1` for a plus, `-1` for a minus, if either comes next.
    fn sign(&mut self) -> Option<i64> {
        if self.take(b'+') {
            Some(1)
        } else if self.take(b'-') {
            Some(-1)
        } else {
            None
        }
    }

    /// The digits behind a decimal point or comma, at most nine, as billionths; zero if there is none.
    fn billionths(&mut self) -> Option<i64> {
        if !self.take(b'.') && !self.take(b',') {
            return Some(0);
        }
        let digits = self.digits();
        if digits > 9 {
            return None;
        }
        Some(self.number(digits)? * 10_i64.pow(9 - digits as u32))
    }
}

fn within(x: i64, first: i64, last: i64) -> Option<i64> {
    (first..=last).contains(&x).then_some(x)
}

/// Reads a date: `2015-07-21`, `2015-W30-2`, `2015-202`, `2015-Q3-21`, their parts from the left, and all of them without
/// dashes. A year of other than four digits has a sign.
pub(super) fn date(text: &str) -> Option<Date> {
    let mut rest = Rest(text.as_bytes());
    let sign = rest.sign();
    let digits = rest.digits();
    let days = if sign.is_none() && digits > 4 {
        let year = rest.number(4)?;
        match digits {
            6 => month_day(year, rest.number(2)?, 1)?,
            7 => ordinal(year, rest.number(3)?)?,
            8 => month_day(year, rest.number(2)?, rest.number(2)?)?,
            _ => return None,
        }
    } else {
        if sign.is_none() && digits != 4 {
            return None;
        }
        let year = within(sign.unwrap_or(1) * rest.number(digits)?, YEAR_MIN, YEAR_MAX)?;
        behind_year(year, &mut rest)?
    };
    rest.is_empty().then_some(Date(days))
}

fn behind_year(year: i64, rest: &mut Rest<'_>) -> Option<i64> {
    if rest.is_empty() {
        return Some(days_of(year, 1, 1));
    }
    let is_extended = rest.take(b'-');
    if rest.take(b'W') || rest.take(b'w') {
        let week = within(rest.number(2)?, 1, year_weeks(year))?;
        let day = if rest.is_empty() { 1 } else { part(rest, is_extended, 1)? };
        return in_range(first_monday(year) + (week - 1) * 7 + within(day, 1, 7)? - 1);
    }
    if rest.take(b'Q') || rest.take(b'q') {
        let quarter = within(rest.number(1)?, 1, 4)?;
        let day = if rest.is_empty() { 1 } else { part(rest, is_extended, 2)? };
        let day = within(day, 1, quarter_length(year, quarter))?;
        return Some(days_of(year, 3 * quarter - 2, 1) + day - 1);
    }
    if !is_extended {
        return None;
    }
    match rest.digits() {
        3 => ordinal(year, rest.number(3)?),
        _ => {
            let month = rest.number(2)?;
            let day = if rest.is_empty() { 1 } else { part(rest, true, 2)? };
            month_day(year, month, day)
        }
    }
}

/// The next part of a date, which follows a dash in the form with dashes.
fn part(rest: &mut Rest<'_>, is_extended: bool, digits: usize) -> Option<i64> {
    if is_extended && !rest.take(b'-') { None } else { rest.number(digits) }
}

fn month_day(year: i64, month: i64, day: i64) -> Option<i64> {
    let month = within(month, 1, 12)?;
    Some(days_of(year, month, within(day, 1, month_length(year, month))?))
}

fn ordinal(year: i64, day: i64) -> Option<i64> {
    Some(days_of(year, 1, 1) + within(day, 1, year_length(year))? - 1)
}

fn in_range(days: i64) -> Option<i64> {
    Date(days).is_valid().then_some(days)
}

/// Reads a time of day: `21:40:32.142`, `214032.142`, and their parts from the left.
pub(super) fn local_time(text: &str) -> Option<LocalTime> {
    let mut rest = Rest(text.as_bytes());
    let hour = within(rest.number(2)?, 0, 23)?;
    let (mut minute, mut second, mut nanosecond) = (0, 0, 0);
    if !rest.is_empty() {
        let is_extended = rest.take(b':');
        minute = within(rest.number(2)?, 0, 59)?;
        if !rest.is_empty() {
            if rest.take(b':') != is_extended {
                return None;
            }
            second = within(rest.number(2)?, 0, 59)?;
            nanosecond = rest.billionths()?;
        }
    }
    rest.is_empty().then(|| LocalTime::new(hour, minute, second, nanosecond))
}

/// Reads an offset from UTC in seconds: `Z`, `+01`, `+0130`, `-01:30`, `+02:05:59`.
pub(super) fn offset(text: &str) -> Option<i32> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let mut rest = Rest(text.as_bytes());
    let sign = rest.sign()?;
    let mut seconds = within(rest.number(2)?, 0, 18)? * 3_600;
    if !rest.is_empty() {
        let is_extended = rest.take(b':');
        seconds += within(rest.number(2)?, 0, 59)? * 60;
        if !rest.is_empty() {
            if rest.take(b':') != is_extended {
                return None;
            }
            seconds += within(rest.number(2)?, 0, 59)?;
        }
    }
    rest.is_empty().then_some((sign * seconds) as i32)
}

/// Position where the time of day ends and offset or zone begin.
fn zone_start(text: &str) -> usize {
    text.find(['Z', 'z', '+', '-', '[']).unwrap_or(text.len())
}

/// Reads a time of day and an offset, UTC if there is none.
pub(super) fn time(text: &str) -> Option<Time> {
    let (local, zone) = text.split_at(zone_start(text));
    let offset = if zone.is_empty() { 0 } else { offset(zone)? };
    Some(Time { local: local_time(local)?, offset: Zone::of_offset(offset)?.fixed_offset()? })
}

/// Reads a date and a time of day behind a `T` or a space; without these it is midnight.
pub(super) fn local_date_time(text: &str) -> Option<LocalDateTime> {
    match text.split_once(['T', 't', ' ']) {
        None => Some(LocalDateTime::of(date(text)?, LocalTime(0))),
        Some((day, time)) => Some(LocalDateTime::of(date(day)?, local_time(time)?)),
    }
}

/// Reads a date, a time of day, an offset and the name of a zone in brackets. Without a zone it is UTC; an offset that
/// the zone does not have then is an error.
pub(super) fn date_time(text: &str) -> Option<DateTime> {
    let time_start = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let (day, behind) = text.split_at(time_start);
    let split = if behind.is_empty() { 0 } else { zone_start(behind) };
    let (time, zone) = behind.split_at(split);
    let time = if time.is_empty() { LocalTime(0) } else { local_time(&time[1..])? };
    let local = LocalDateTime::of(date(day)?, time);
    let (given_offset, name) = match zone.split_once('[') {
        None => (zone, None),
        Some((given_offset, name)) => (given_offset, Some(name.strip_suffix(']')?)),
    };
    let given_offset = if given_offset.is_empty() { None } else { Some(offset(given_offset)?) };
    match (given_offset, name) {
        (None, None) => DateTime::of_local(local, Zone::UTC, None),
        (Some(seconds), None) => DateTime::of_local(local, Zone::of_offset(seconds)?, None),
        (None, Some(name)) => DateTime::of_local(local, Zone::parse(name)?, None),
        (Some(seconds), Some(name)) => {
            let found = DateTime::of_local(local, Zone::parse(name)?, Some(seconds))?;
            (found.offset() == seconds).then_some(found)
        }
    }
}

/// Writes an offset: `Z`, `+01:00`, or `+02:05:59`.
pub(super) fn write_offset(f: &mut Formatter<'_>, offset: i32) -> fmt::Result {
    if offset == 0 {
        return f.write_str("Z");
    }
    let (sign, seconds) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
    write!(f, "{sign}{:02}:{:02}", seconds / 3_600, seconds / 60 % 60)?;
    if seconds.is_multiple_of(60) { Ok(()) } else { write!(f, ":{:02}", seconds % 60) }
}

/// Years beyond four digits have a sign.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_of(self.0);
        match year {
            0..=9_999 => write!(f, "{year:04}")?,
            10_000.. => write!(f, "+{year}")?,
            _ => write!(f, "-{:04}", -year)?,
        }
        write!(f, "-{month:02}-{day:02}")
    }
}

/// Seconds are left out if they are zero; their fraction has three, six or nine digits.
impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / NANOS_OF_SECOND, self.0 % NANOS_OF_SECOND);
        write!(f, "{:02}:{:02}", seconds / 3_600, seconds / 60 % 60)?;
        if self.0 % (60 * NANOS_OF_SECOND) == 0 {
            return Ok(());
        }
        write!(f, ":{:02}", seconds % 60)?;
        if nanos == 0 {
            Ok(())
        } else if nanos % 1_000_000 == 0 {
            write!(f, ".{:03}", nanos / 1_000_000)
        } else if nanos % 1_000 == 0 {
            write!(f, ".{:06}", nanos / 1_000)
        } else {
            write!(f, ".{nanos:09}")
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.local)?;
        write_offset(f, self.offset)
    }
}

impl fmt::Display for LocalDateTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date(), self.time())
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.local())?;
        write_offset(f, self.offset())?;
        match self.zone.name() {
            Some(name) => write!(f, "[{name}]"),
            None => Ok(()),
        }
    }
}

impl LocalTime {
    /// A time of day of its parts, which are in range.
    pub fn new(hour: i64, minute: i64, second: i64, nanosecond: i64) -> LocalTime {
        let seconds = (hour * 60 + minute) * 60 + second;
        debug_assert!((0..SECONDS_OF_DAY).contains(&seconds) && (0..NANOS_OF_SECOND).contains(&nanosecond));
        LocalTime(seconds * NANOS_OF_SECOND + nanosecond)
    }
}

#[cfg(test)]
mod tests;
