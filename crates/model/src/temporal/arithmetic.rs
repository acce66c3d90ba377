//! Moving by durations, and the durations between.

use super::calendar::{add_months, civil_of};
use super::{Date, DateTime, Duration, LocalDateTime, LocalTime, NANOS_OF_DAY, Time, Zone};

impl Date {
    /// The date later by the months, then the days, of the duration; whole days of the duration's time count too.
    /// `None` beyond the years.
    pub fn checked_add(self, duration: Duration) -> Option<Date> {
        let days = duration.days.checked_add((duration.time_nanos() / i128::from(NANOS_OF_DAY)) as i64)?;
        let moved = Date(add_months(self.0, duration.months)?.checked_add(days)?);
        moved.is_valid().then_some(moved)
    }
}

impl LocalTime {
    /// The time of day later by the duration's time; its days and months do not count.
    pub fn wrapping_add(self, duration: Duration) -> LocalTime {
        let nanos = (duration.time_nanos() + i128::from(self.0)).rem_euclid(i128::from(NANOS_OF_DAY));
        LocalTime(nanos as i64)
    }
}

impl Time {
    /// The time of day later by the duration's time; its days and months do not count.
    pub fn wrapping_add(self, duration: Duration) -> Time {
        Time { local: self.local.wrapping_add(duration), ..self }
    }
}

impl LocalDateTime {
    /// The date-time later by the months, then the days, then the nanoseconds of the duration; `None` beyond the years.
    pub fn checked_add(self, duration: Duration) -> Option<LocalDateTime> {
        let moved = self.add_date(duration.months, duration.days)?;
        LocalDateTime::of_nanos(moved.nanos() + duration.time_nanos())
    }

    fn add_date(self, months: i64, days: i64) -> Option<LocalDateTime> {
        let date = Date(add_months(self.date().0, months)?.checked_add(days)?);
        date.is_valid().then(|| LocalDateTime::of(date, self.time()))
    }
}

impl DateTime {
    /// The date-time later by a duration: months and days as the calendar of the zone has them, then exact time. `None`
    /// beyond the years.
    pub fn checked_add(self, duration: Duration) -> Option<DateTime> {
        let mut moved = self;
        if duration.months != 0 || duration.days != 0 {
            let local = self.local().add_date(duration.months, duration.days)?;
            moved = DateTime::of_local(local, self.zone, Some(self.offset()))?;
        }
        let utc = LocalDateTime::of_nanos(moved.utc().nanos() + duration.time_nanos())?;
        let moved = DateTime { seconds: utc.seconds, nanosecond: utc.nanosecond, zone: self.zone };
        moved.is_valid().then_some(moved)
    }
}

/// Any value of time, by its parts; what is missing is taken from the other when two are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// The date.
    pub date: Option<Date>,
    /// The time of day.
    pub time: Option<LocalTime>,
    /// The zone or offset.
    pub zone: Option<Zone>,
    /// The offset that tells apart local times that come twice.
    pub offset: Option<i32>,
}

impl From<Date> for Moment {
    fn from(date: Date) -> Moment {
        Moment { date: Some(date), ..Moment::default() }
    }
}

impl From<LocalTime> for Moment {
    fn from(time: LocalTime) -> Moment {
        Moment { time: Some(time), ..Moment::default() }
    }
}

impl From<Time> for Moment {
    fn from(time: Time) -> Moment {
        Moment { time: Some(time.local), zone: Zone::of_offset(time.offset), ..Moment::default() }
    }
}

impl From<LocalDateTime> for Moment {
    fn from(local: LocalDateTime) -> Moment {
        Moment { date: Some(local.date()), time: Some(local.time()), ..Moment::default() }
    }
}

impl From<DateTime> for Moment {
    fn from(moment: DateTime) -> Moment {
        Moment { zone: Some(moment.zone), offset: Some(moment.offset()), ..Moment::from(moment.local()) }
    }
}

/// Two moments on the same clocks: local date-times, and the nanoseconds on the axis of exact time.
struct Pair {
    from: LocalDateTime,
    to: LocalDateTime,
    zone: Zone,
    to_nanos: i128,
    /// Both have a date of their own.
    has_dates: bool,
}

impl Pair {
    /// Brings two moments onto the clocks of the first that has a zone; `None` beyond the years.
    fn of(from: Moment, to: Moment) -> Option<Pair> {
        let has_dates = from.date.is_some() && to.date.is_some();
        let date = from.date.or(to.date).unwrap_or(Date(0));
        // A zone counts only if both have one, or the other takes it over.
        let zone = from.zone.or(to.zone).unwrap_or(Zone::UTC);
        let resolve = |moment: Moment| -> Option<(LocalDateTime, i128)> {
            let local = LocalDateTime::of(moment.date.unwrap_or(date), moment.time.unwrap_or_default());
            let own = DateTime::of_local(local, moment.zone.unwrap_or(zone), moment.offset)?;
            Some((own.with_zone(zone).local(), own.utc().nanos()))
        };
        let (from, _) = resolve(from)?;
        let (to, to_nanos) = resolve(to)?;
        Some(Pair { from, to, zone, to_nanos, has_dates })
    }

    /// Exact nanoseconds from a local date-time on these clocks to the second moment.
    fn nanos_from(&self, from: LocalDateTime) -> Option<i128> {
        Some(self.to_nanos - DateTime::of_local(from, self.zone, None)?.utc().nanos())
    }
}

/// Whole months from one local date-time to another, towards zero.
fn months_between(from: LocalDateTime, to: LocalDateTime) -> i64 {
    let parts = |moment: LocalDateTime| {
        let (year, month, day) = civil_of(moment.date().0);
        (year * 12 + month, (day, moment.time()))
    };
    let ((from_month, from_rest), (to_month, to_rest)) = (parts(from), parts(to));
    let months = to_month - from_month;
    if months > 0 && to_rest < from_rest {
        months - 1
    } else if months < 0 && to_rest > from_rest {
        months + 1
    } else {
        months
    }
}

/// Whole days from one local date-time to another, towards zero.
fn days_between(from: LocalDateTime, to: LocalDateTime) -> i64 {
    ((to.nanos() - from.nanos()) / i128::from(NANOS_OF_DAY)) as i64
}

/// Months, then days, then exact time from one moment to another; without two dates only exact time. `None` beyond what
/// a duration holds.
pub fn between(from: Moment, to: Moment) -> Option<Duration> {
    let exact = exact_between(from, to)?;
    let pair = Pair::of(from, to)?;
    if !pair.has_dates {
        return Some(exact);
    }
    let months = months_between(pair.from, pair.to);
    let moved = pair.from.add_date(months, 0)?;
    let days = days_between(moved, pair.to);
    if months == 0 && days == 0 {
        return Some(exact);
    }
    let nanos = pair.nanos_from(moved.add_date(0, days)?)?;
    Some(Duration { months, days, ..Duration::of_nanos(nanos)? })
}

/// Whole months from one moment to another; none without two dates.
pub fn months(from: Moment, to: Moment) -> Option<Duration> {
    let pair = Pair::of(from, to)?;
    let months = if pair.has_dates { months_between(pair.from, pair.to) } else { 0 };
    Some(Duration::of_date(months, 0))
}

/// Whole days from one moment to another; none without two dates.
pub fn days(from: Moment, to: Moment) -> Option<Duration> {
    let pair = Pair::of(from, to)?;
    let days = if pair.has_dates { days_between(pair.from, pair.to) } else { 0 };
    Some(Duration::of_date(0, days))
}

/// Exact time from one moment to another.
pub fn exact_between(from: Moment, to: Moment) -> Option<Duration> {
    let zone = from.zone.or(to.zone).unwrap_or(Zone::UTC);
    let date = from.date.or(to.date).unwrap_or(Date(0));
    let nanos = |moment: Moment| -> Option<i128> {
        let local = LocalDateTime::of(moment.date.unwrap_or(date), moment.time.unwrap_or_default());
        let seconds = moment.zone.unwrap_or(zone).moment_of(local.seconds, moment.offset);
        Some(LocalDateTime { seconds, ..local }.nanos())
    };
    Duration::of_nanos(nanos(to)? - nanos(from)?)
}
