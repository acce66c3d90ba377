//! Dates, times of day, date-times and durations: their representation, order, texts and arithmetic.
//!
//! - [`calendar`]: the Gregorian calendar over two thousand million years.
//! - [`zone`]: offsets and named time zones.
//! - [`mod@duration`] is for durations.
//! - `text`: reading and printing.
//! - [`bounds`]: the values that there are of each kind.
//! - [`arithmetic`]: moving by durations, and durations between.
//!
//! All are small and copied; precision is a nanosecond. `Ord` is the order of `ORDER BY`, in which values are equal only
//! if they are the same in all their parts: moments first, then offsets, then names of zones.

use std::cmp::Ordering;

pub mod arithmetic;
pub mod bounds;
pub mod calendar;
pub mod duration;
mod text;
pub mod zone;

pub use duration::{Duration, DurationParts};
pub use zone::{OFFSET_MAX, Zone};

/// Seconds of a day.
pub const SECONDS_OF_DAY: i64 = 86_400;
/// Nanoseconds of a second.
pub const NANOS_OF_SECOND: i64 = 1_000_000_000;
/// Nanoseconds of a day.
pub const NANOS_OF_DAY: i64 = SECONDS_OF_DAY * NANOS_OF_SECOND;

/// A calendar date: days since 1970-01-01 in the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i64);

/// A time of day without a zone: nanoseconds since midnight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalTime(pub i64);

/// A time of day with an offset from UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Time {
    /// Time that clocks show.
    pub local: LocalTime,
    /// Seconds that these clocks are ahead of UTC.
    pub offset: i32,
}

/// A date and time of day without a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalDateTime {
    /// Whole seconds since 1970-01-01T00:00:00.
    pub seconds: i64,
    /// Nanoseconds after them: less than a second.
    pub nanosecond: u32,
}

/// A moment, and the zone in which it is to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DateTime {
    /// Whole seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Nanoseconds after them: less than a second.
    pub nanosecond: u32,
    /// The zone.
    pub zone: Zone,
}

impl Date {
    /// The first date.
    pub const MIN: Date = Date(calendar::DAY_MIN);
    /// The last date.
    pub const MAX: Date = Date(calendar::DAY_MAX);

    /// True if the date lies in the years that Cypher knows.
    pub fn is_valid(self) -> bool {
        (Date::MIN..=Date::MAX).contains(&self)
    }

    /// Year, month and day.
    pub fn year_month_day(self) -> (i64, i64, i64) {
        calendar::civil_of(self.0)
    }

    /// Reads `2015-07-21` and the other forms of ISO 8601: weeks, quarters, days of the year, without dashes.
    pub fn parse(text: &str) -> Option<Date> {
        text::date(text)
    }
}

impl LocalTime {
    /// The last time of day.
    pub const MAX: LocalTime = LocalTime(NANOS_OF_DAY - 1);

    /// Reads `21:40:32.142`, also without colons, and without seconds or minutes.
    pub fn parse(text: &str) -> Option<LocalTime> {
        text::local_time(text)
    }
}

impl Time {
    /// Nanoseconds since midnight in UTC, negative on the day before; what times are sorted by.
    pub fn utc_nanos(self) -> i64 {
        self.local.0 - i64::from(self.offset) * NANOS_OF_SECOND
    }

    /// The same moment on clocks with another offset.
    pub fn with_offset(self, offset: i32) -> Time {
        let local = self.utc_nanos() + i64::from(offset) * NANOS_OF_SECOND;
        Time { local: LocalTime(local.rem_euclid(NANOS_OF_DAY)), offset }
    }

    /// Reads a time of day with an offset such as `21:40:32+01:00`; without one it is UTC.
    pub fn parse(text: &str) -> Option<Time> {
        text::time(text)
    }
}

impl LocalDateTime {
    /// The first date-time.
    pub const MIN: LocalDateTime = LocalDateTime { seconds: calendar::DAY_MIN * SECONDS_OF_DAY, nanosecond: 0 };
    /// The last date-time.
    pub const MAX: LocalDateTime =
        LocalDateTime { seconds: (calendar::DAY_MAX + 1) * SECONDS_OF_DAY - 1, nanosecond: 999_999_999 };

    /// A date and a time of day.
    pub fn of(date: Date, time: LocalTime) -> LocalDateTime {
        LocalDateTime {
            seconds: date.0 * SECONDS_OF_DAY + time.0 / NANOS_OF_SECOND,
            nanosecond: (time.0 % NANOS_OF_SECOND) as u32,
        }
    }

    /// The moment `micros` microseconds after 1970-01-01T00:00:00.
    pub const fn of_micros(micros: i64) -> LocalDateTime {
        LocalDateTime {
            seconds: micros.div_euclid(1_000_000),
            nanosecond: (micros.rem_euclid(1_000_000) * 1_000) as u32,
        }
    }

    /// The date.
    pub fn date(self) -> Date {
        Date(self.seconds.div_euclid(SECONDS_OF_DAY))
    }

    /// The time of day.
    pub fn time(self) -> LocalTime {
        LocalTime(self.seconds.rem_euclid(SECONDS_OF_DAY) * NANOS_OF_SECOND + i64::from(self.nanosecond))
    }

    /// Nanoseconds since 1970-01-01T00:00:00.
    pub fn nanos(self) -> i128 {
        i128::from(self.seconds) * i128::from(NANOS_OF_SECOND) + i128::from(self.nanosecond)
    }

    /// The date-time `nanos` nanoseconds after 1970-01-01T00:00:00; `None` beyond the years that Cypher knows.
    pub fn of_nanos(nanos: i128) -> Option<LocalDateTime> {
        let second = i128::from(NANOS_OF_SECOND);
        let seconds = i64::try_from(nanos.div_euclid(second)).ok()?;
        let found = LocalDateTime { seconds, nanosecond: nanos.rem_euclid(second) as u32 };
        found.is_valid().then_some(found)
    }

    /// Reads a date and a time of day with a `T` or a space between; a date alone is its midnight.
    pub fn parse(text: &str) -> Option<LocalDateTime> {
        text::local_date_time(text)
    }
}

impl DateTime {
    /// The moment at which clocks of a zone show a local date-time (see [`Zone::moment_of`]); `None` beyond the years that
    /// Cypher knows.
    pub fn of_local(local: LocalDateTime, zone: Zone, preferred_offset: Option<i32>) -> Option<DateTime> {
        let seconds = zone.moment_of(local.seconds, preferred_offset);
        let found = DateTime { seconds, nanosecond: local.nanosecond, zone };
        found.is_valid().then_some(found)
    }

    /// Seconds that the zone's clocks are ahead of UTC at that moment.
    pub fn offset(self) -> i32 {
        self.zone.offset_at(self.seconds)
    }

    /// Date and time that the zone's clocks show.
    pub fn local(self) -> LocalDateTime {
        LocalDateTime { seconds: self.seconds + i64::from(self.offset()), nanosecond: self.nanosecond }
    }

    /// The same moment in another zone.
    pub fn with_zone(self, zone: Zone) -> DateTime {
        DateTime { zone, ..self }
    }

    /// The same moment in UTC, as a local date-time.
    pub fn utc(self) -> LocalDateTime {
        LocalDateTime { seconds: self.seconds, nanosecond: self.nanosecond }
    }

    /// Reads a date-time with offset, zone in brackets, or both: `2015-07-21T21:40:32+02:00[Europe/Stockholm]`; without
    /// either it is UTC.
    pub fn parse(text: &str) -> Option<DateTime> {
        text::date_time(text)
    }
}

impl Default for DateTime {
    fn default() -> DateTime {
        DateTime { seconds: 0, nanosecond: 0, zone: Zone::UTC }
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Time) -> Ordering {
        self.utc_nanos().cmp(&other.utc_nanos()).then(self.offset.cmp(&other.offset))
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DateTime {
    fn cmp(&self, other: &DateTime) -> Ordering {
        let moment = (self.seconds, self.nanosecond).cmp(&(other.seconds, other.nanosecond));
        if moment != Ordering::Equal || self.zone == other.zone {
            return moment;
        }
        self.offset().cmp(&other.offset()).then(self.zone.cmp(&other.zone))
    }
}

impl PartialOrd for DateTime {
    fn partial_cmp(&self, other: &DateTime) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
