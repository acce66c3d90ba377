//! Durations: their arithmetic, their order, and their texts.
//!
//! Months, days and seconds are kept apart, since no month has a known number of days and no day of a zone one of
//! seconds. Only where a part of a month or of a day is asked for, an average month (30.436875 days) and a day of 24
//! hours are taken.

use std::cmp::Ordering;
use std::fmt::{self, Formatter};

use super::{NANOS_OF_SECOND, SECONDS_OF_DAY};

/// Seconds of an average month of the Gregorian calendar: exactly 30.436875 days.
pub const SECONDS_OF_MONTH: i64 = 2_629_746;

/// A duration. `seconds` is the whole number below, so that `nanosecond` is never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Duration {
    /// Months, of any length.
    pub months: i64,
    /// Days, of any length.
    pub days: i64,
    /// Whole seconds.
    pub seconds: i64,
    /// Nanoseconds to be added to them: less than a second.
    pub nanosecond: u32,
}

/// Sums of parts of durations, exact, before they are put back into months, days and seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct DurationParts {
    months: i128,
    days: i128,
    nanos: i128,
}

const BILLION: i128 = 1_000_000_000;

impl DurationParts {
    /// Adds `whole + billionths / 10^9` months; a part of a month becomes days and seconds.
    pub fn add_months(&mut self, whole: i128, billionths: i128) {
        self.months += whole;
        self.add_part_of_month(billionths, BILLION);
    }

    /// Adds days; a part of a day becomes seconds.
    pub fn add_days(&mut self, whole: i128, billionths: i128) {
        self.days += whole;
        self.nanos += billionths * i128::from(SECONDS_OF_DAY);
    }

    /// Adds nanoseconds.
    pub fn add_nanos(&mut self, nanos: i128) {
        self.nanos += nanos;
    }

    /// Adds `part / of` months, less than one.
    fn add_part_of_month(&mut self, part: i128, of: i128) {
        let nanos = part * i128::from(SECONDS_OF_MONTH) * BILLION / of;
        let day = i128::from(SECONDS_OF_DAY) * BILLION;
        self.days += nanos / day;
        self.nanos += nanos % day;
    }

    /// The duration; `None` if a part is beyond 64 bits.
    pub fn finish(self) -> Option<Duration> {
        Some(Duration {
            months: i64::try_from(self.months).ok()?,
            days: i64::try_from(self.days).ok()?,
            seconds: i64::try_from(self.nanos.div_euclid(BILLION)).ok()?,
            nanosecond: self.nanos.rem_euclid(BILLION) as u32,
        })
    }
}

impl From<Duration> for DurationParts {
    fn from(duration: Duration) -> DurationParts {
        DurationParts {
            months: i128::from(duration.months),
            days: i128::from(duration.days),
            nanos: duration.time_nanos(),
        }
    }
}

impl Duration {
    /// A duration of months and days only.
    pub fn of_date(months: i64, days: i64) -> Duration {
        Duration { months, days, ..Duration::default() }
    }

    /// A duration of a number of nanoseconds; `None` beyond 64 bits of seconds.
    pub fn of_nanos(nanos: i128) -> Option<Duration> {
        DurationParts { nanos, ..DurationParts::default() }.finish()
    }

    /// Seconds and nanoseconds together, as nanoseconds.
    pub fn time_nanos(self) -> i128 {
        i128::from(self.seconds) * BILLION + i128::from(self.nanosecond)
    }

    /// The whole duration in nanoseconds, with average months and days of 24 hours: what durations are sorted by.
    pub fn average_nanos(self) -> i128 {
        let days = i128::from(self.days) * i128::from(SECONDS_OF_DAY);
        (i128::from(self.months) * i128::from(SECONDS_OF_MONTH) + days) * BILLION + self.time_nanos()
    }

    /// The sum; `None` beyond 64 bits.
    pub fn checked_add(self, other: Duration) -> Option<Duration> {
        let (mut sum, other) = (DurationParts::from(self), DurationParts::from(other));
        sum.months += other.months;
        sum.days += other.days;
        sum.nanos += other.nanos;
        sum.finish()
    }

    /// The difference; `None` beyond 64 bits.
    pub fn checked_sub(self, other: Duration) -> Option<Duration> {
        self.checked_add(other.checked_neg()?)
    }

    /// The same duration backwards; `None` beyond 64 bits.
    pub fn checked_neg(self) -> Option<Duration> {
        self.times(-1)
    }

    /// The duration multiplied by `factor`; `None` beyond 64 bits.
    pub fn times(self, factor: i64) -> Option<Duration> {
        let (parts, factor) = (DurationParts::from(self), i128::from(factor));
        let nanos = parts.nanos.checked_mul(factor)?;
        DurationParts { months: parts.months * factor, days: parts.days * factor, nanos }.finish()
    }

    /// The duration divided by `divisor`; `None` for zero, and beyond 64 bits.
    pub fn divided_by(self, divisor: i64) -> Option<Duration> {
        let (parts, divisor) = (DurationParts::from(self), i128::from(divisor));
        if divisor == 0 {
            return None;
        }
        let day = i128::from(SECONDS_OF_DAY) * BILLION;
        let mut quotient = DurationParts {
            months: parts.months / divisor,
            days: parts.days / divisor,
            nanos: parts.nanos / divisor + parts.days % divisor * day / divisor,
        };
        quotient.add_part_of_month(parts.months % divisor, divisor);
        quotient.finish()
    }

    /// Times a number that need not be whole; `None` beyond 64 bits and for what is no number.
    pub fn scaled(self, factor: f64) -> Option<Duration> {
        if !factor.is_finite() {
            return None;
        }
        if factor.trunc() == factor && factor.abs() < 9.0e15 {
            return self.times(factor as i64);
        }
        let split = |x: f64| (x.trunc() as i128, (x.fract() * 1e9).round() as i128);
        let mut product = DurationParts::default();
        let (months, part) = split(self.months as f64 * factor);
        product.add_months(months, part);
        let (days, part) = split(self.days as f64 * factor);
        product.add_days(days, part);
        let (seconds, part) = split(self.seconds as f64 * factor);
        product.add_nanos(seconds * BILLION + part);
        product.add_nanos((f64::from(self.nanosecond) * factor) as i128);
        product.finish()
    }

    /// Reads `P12Y5M14DT16H12M70.5S` (each number with sign and decimals, weeks too) or `P2012-02-02T14:37:21.545`.
    pub fn parse(text: &str) -> Option<Duration> {
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let rest = rest.strip_prefix(['P', 'p'])?;
        let found = by_units(rest).or_else(|| by_date(rest))?;
        if sign < 0 { found.checked_neg() } else { Some(found) }
    }
}

/// Reads numbers with the letters of their units.
fn by_units(text: &str) -> Option<Duration> {
    let (date, time) = match text.split_once(['T', 't']) {
        None => (text, None),
        Some((date, time)) => (date, Some(time)),
    };
    let mut parts = DurationParts::default();
    if (date.is_empty() && time.is_none()) || time == Some("") {
        return None;
    }
    units(date, "YMWD", |unit, whole, part| match unit {
        'Y' => parts.add_months(whole * 12 + part * 12 / BILLION, part * 12 % BILLION),
        'M' => parts.add_months(whole, part),
        'W' => parts.add_days(whole * 7 + part * 7 / BILLION, part * 7 % BILLION),
        _ => parts.add_days(whole, part),
    })?;
    units(time.unwrap_or_default(), "HMS", |unit, whole, part| {
        let seconds = match unit {
            'H' => 3_600,
            'M' => 60,
            _ => 1,
        };
        parts.add_nanos((whole * BILLION + part) * seconds);
    })?;
    parts.finish()
}

/// Calls `each` for the numbers of a text, whose units come in this order and once at most.
fn units(mut text: &str, order: &str, mut each: impl FnMut(char, i128, i128)) -> Option<()> {
    let mut order = order.chars();
    while !text.is_empty() {
        let end = text.find(|c: char| c.is_ascii_alphabetic())?;
        let unit = text.as_bytes()[end].to_ascii_uppercase() as char;
        order.find(|&other| other == unit)?;
        let (whole, part) = decimal(&text[..end])?;
        each(unit, whole, part);
        text = &text[end + 1..];
    }
    Some(())
}

/// A number as its whole part and the billionths behind it, both with its sign.
fn decimal(text: &str) -> Option<(i128, i128)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once(['.', ',']).unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || whole.len() > 19 {
        return None;
    }
    let part = &part[..part.len().min(9)];
    let billionths = part.parse::<i128>().ok()? * 10_i128.pow(9 - part.len() as u32);
    Some((sign * whole.parse::<i128>().ok()?, sign * billionths))
}

/// Reads years, months, days and a time of day as a date-time has them, though months and days may be zero.
fn by_date(text: &str) -> Option<Duration> {
    let (date, time) = match text.split_once(['T', 't']) {
        None => (text, None),
        Some((date, time)) => (date, Some(time)),
    };
    let numbers: Vec<&str> = match date.len() {
        8 => vec![date.get(..4)?, date.get(4..6)?, date.get(6..)?],
        _ => date.split('-').collect(),
    };
    let [year, month, day] = numbers[..] else { return None };
    let number = |text: &str, digits: usize| {
        (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse::<i128>().ok())?
    };
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    if month > 12 || day > 31 {
        return None;
    }
    let mut parts = DurationParts::default();
    parts.add_months(year * 12 + month, 0);
    parts.add_days(day, 0);
    if let Some(time) = time {
        parts.add_nanos(i128::from(super::text::local_time(time)?.0));
    }
    parts.finish()
}

/// By length, taking average months and days of 24 hours; of equal ones those of fewer months come first.
impl Ord for Duration {
    fn cmp(&self, other: &Duration) -> Ordering {
        let by_length = self.average_nanos().cmp(&other.average_nanos());
        by_length.then(self.months.cmp(&other.months)).then(self.days.cmp(&other.days))
    }
}

impl PartialOrd for Duration {
    fn partial_cmp(&self, other: &Duration) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `P1Y2M3DT4H5M6.789S`: only what is not zero, each part with its own sign.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if *self == Duration::default() {
            return f.write_str("PT0S");
        }
        let write = |f: &mut Formatter<'_>, number: i64, unit: char| {
            if number == 0 { Ok(()) } else { write!(f, "{number}{unit}") }
        };
        f.write_str("P")?;
        write(f, self.months / 12, 'Y')?;
        write(f, self.months % 12, 'M')?;
        write(f, self.days, 'D')?;
        if self.seconds == 0 && self.nanosecond == 0 {
            return Ok(());
        }
        f.write_str("T")?;
        // From here on both have the sign of the whole.
        let (mut seconds, mut nanos) = (self.seconds, i64::from(self.nanosecond));
        if seconds < 0 && nanos > 0 {
            seconds += 1;
            nanos -= NANOS_OF_SECOND;
        }
        write(f, seconds / 3_600, 'H')?;
        write(f, seconds / 60 % 60, 'M')?;
        if nanos == 0 {
            return write(f, seconds % 60, 'S');
        }
        let sign = if nanos < 0 { "-" } else { "" };
        let digits = format!("{:09}", nanos.abs());
        write!(f, "{sign}{}.{}S", (seconds % 60).abs(), digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::Duration;

    fn of(text: &str) -> Duration {
        Duration::parse(text).unwrap_or_else(|| panic!("'{text}' is a duration"))
    }

    #[test]
    fn texts_are_read_and_printed() {
        for (text, expected) in [
            ("P14DT16H12M", "P14DT16H12M"),
            ("P5M1.5D", "P5M1DT12H"),
            ("P0.75M", "P22DT19H51M49.5S"),
            ("PT0.75M", "PT45S"),
            ("P2.5W", "P17DT12H"),
            ("P12Y5M14DT16H12M70S", "P12Y5M14DT16H13M10S"),
            ("P2012-02-02T14:37:21.545", "P2012Y2M2DT14H37M21.545S"),
            ("P20120202T143721", "P2012Y2M2DT14H37M21S"),
            ("P0000-00-01", "P1D"),
            ("-P1Y2DT3S", "P-1Y-2DT-3S"),
            ("P-1Y", "P-1Y"),
            ("PT-1.5S", "PT-1.5S"),
            ("PT-0.4S", "PT-0.4S"),
            ("P1.5Y", "P1Y6M"),
            ("PT0S", "PT0S"),
            ("P0D", "PT0S"),
            ("PT1,5S", "PT1.5S"),
        ] {
            let found = of(text);
            assert_eq!(found.to_string(), expected, "{text}");
            assert_eq!(of(expected), found, "{text}");
        }
        for wrong in ["", "P", "PT", "P1", "1Y", "P1YT", "P1D1Y", "P1Y1Y", "P1.D", "P.5D", "P1X", "P2012-13-01", "PTS"]
        {
            assert_eq!(Duration::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn seconds_and_their_fraction_print_with_one_sign() {
        for (nanos, expected) in [
            (1_999_000_000, "PT1.999S"),
            (-1_999_000_000, "PT-1.999S"),
            (-60_001_000_000, "PT-1M-0.001S"),
            (-1, "PT-0.000000001S"),
            (59_999_000_000, "PT59.999S"),
            (-79_199_900_000_000, "PT-21H-59M-59.9S"),
        ] {
            assert_eq!(Duration::of_nanos(nanos).unwrap().to_string(), expected, "{nanos}");
        }
    }

    #[test]
    fn arithmetic() {
        let (a, b) = (of("P12Y5M14DT16H13M10.000000001S"), of("P1M-14DT15H49M10S"));
        for (found, expected) in [
            (a.checked_add(b), "P12Y6MT32H2M20.000000001S"),
            (a.checked_sub(b), "P12Y4M28DT24M0.000000001S"),
            (b.checked_sub(a), "P-12Y-4M-28DT-24M-0.000000001S"),
            (a.times(2), "P24Y10M28DT32H26M20.000000002S"),
            (a.divided_by(2), "P6Y2M22DT13H21M8S"),
            (a.scaled(0.5), "P6Y2M22DT13H21M8S"),
            (a.scaled(2.0), "P24Y10M28DT32H26M20.000000002S"),
            (of("P1D").divided_by(-2), "PT-12H"),
        ] {
            assert_eq!(found.unwrap().to_string(), expected);
        }
        let largest = Duration { months: i64::MAX, days: i64::MAX, seconds: i64::MAX, nanosecond: 999_999_999 };
        assert_eq!(largest.checked_add(of("PT0.000000001S")), None);
        assert_eq!(largest.times(2), None);
        assert_eq!(largest.times(i64::MAX), None);
        assert_eq!(a.divided_by(0), None);
        assert_eq!(a.scaled(f64::NAN), None);
        assert_eq!(largest.scaled(1.5), None);
    }

    #[test]
    fn order_is_by_average_length() {
        let sorted = ["P-1Y", "PT-1S", "PT0S", "PT1S", "PT23H", "P1D", "PT25H", "P30D", "P1M", "P31D", "P1Y"];
        for pair in sorted.windows(2) {
            assert!(of(pair[0]) < of(pair[1]), "{pair:?}");
        }
        assert_ne!(of("PT24H"), of("P1D"));
        assert!(of("PT24H") < of("P1D"));
    }
}
