//! Dates and local date-times as integers since the Unix epoch, with their calendar view by `jiff`.

use jiff::SignedDuration;
use jiff::civil;

/// A calendar date: days since 1970-01-01 in the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// A date and time of day without a zone: microseconds since 1970-01-01T00:00:00.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalDateTime(pub i64);

const EPOCH: civil::Date = civil::date(1970, 1, 1);

impl Date {
    /// The date as year, month and day; `None` outside the years -9999 to 9999.
    pub fn to_civil(self) -> Option<civil::Date> {
        EPOCH.checked_add(SignedDuration::from_hours(i64::from(self.0) * 24)).ok()
    }

    /// The day number of a calendar date.
    pub fn from_civil(date: civil::Date) -> Date {
        let hours = date.duration_since(EPOCH).as_hours();
        Date((hours / 24) as i32)
    }

    /// Reads `2001-02-28`; a time of day after it is not passed over.
    pub fn parse(text: &str) -> Option<Date> {
        if text.contains(['T', 't', ' ']) {
            return None;
        }
        text.parse::<civil::Date>().ok().map(Date::from_civil)
    }
}

impl LocalDateTime {
    /// The calendar view; `None` outside the years -9999 to 9999.
    pub fn to_civil(self) -> Option<civil::DateTime> {
        EPOCH.to_datetime(civil::Time::midnight()).checked_add(SignedDuration::from_micros(self.0)).ok()
    }

    /// The microsecond number of a calendar date-time; finer digits are dropped.
    pub fn from_civil(moment: civil::DateTime) -> LocalDateTime {
        let since = moment.duration_since(EPOCH.to_datetime(civil::Time::midnight()));
        LocalDateTime(since.as_micros() as i64)
    }

    /// Reads `2001-02-28T13:05:00` (also with a space, or with fractional seconds).
    pub fn parse(text: &str) -> Option<LocalDateTime> {
        text.parse::<civil::DateTime>().ok().map(LocalDateTime::from_civil)
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.to_civil() {
            Some(date) => write!(f, "{date}"),
            None => write!(f, "day {} of the epoch", self.0),
        }
    }
}

impl std::fmt::Display for LocalDateTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.to_civil() {
            Some(moment) => write!(f, "{moment}"),
            None => write!(f, "microsecond {} of the epoch", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Date, LocalDateTime};

    #[test]
    fn calendar_round_trip() {
        for days in [-719_162, -1, 0, 1, 11_000, 20_000] {
            let date = Date(days);
            assert_eq!(Date::from_civil(date.to_civil().unwrap()), date);
            assert_eq!(Date::parse(&date.to_string()), Some(date));
        }
        for micros in [-1, 0, 1, 981_173_106_000_000, -62_000_000_000_000_000] {
            let moment = LocalDateTime(micros);
            assert_eq!(LocalDateTime::from_civil(moment.to_civil().unwrap()), moment);
            assert_eq!(LocalDateTime::parse(&moment.to_string()), Some(moment));
        }
    }
}
