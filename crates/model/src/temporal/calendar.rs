//! The proleptic Gregorian calendar over all years that Cypher knows, on days since 1970-01-01.
//!
//! Cost: a few integer divisions, no tables.
//! After: Hinnant, "chrono-compatible low-level date algorithms"; ISO 8601 for weeks.

/// The first year of a date.
pub const YEAR_MIN: i64 = -999_999_999;
/// The last year of a date.
pub const YEAR_MAX: i64 = 999_999_999;
/// The first day of the first year.
pub const DAY_MIN: i64 = days_of(YEAR_MIN, 1, 1);
/// The last day of the last year.
pub const DAY_MAX: i64 = days_of(YEAR_MAX, 12, 31);

/// Days in which the calendar repeats itself, weekdays and all: 400 years.
pub const DAYS_OF_CYCLE: i64 = 146_097;

/// The day number of a date; months outside 1 to 12 and days outside the month are not refused.
pub const fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    // Years begin in March here, so that the leap day is the last of its year.
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_OF_CYCLE + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a day number.
pub const fn civil_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(DAYS_OF_CYCLE);
    let day_of_era = days - era * DAYS_OF_CYCLE;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + (month <= 2) as i64, month, day)
}

/// True if a year has a 29th of February.
pub const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Number of days of a year.
pub const fn year_length(year: i64) -> i64 {
    365 + is_leap(year) as i64
}

/// Number of days of a month.
pub const fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + is_leap(year) as i64,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Number of days of a quarter.
pub const fn quarter_length(year: i64, quarter: i64) -> i64 {
    let first = 3 * quarter - 2;
    month_length(year, first) + month_length(year, first + 1) + month_length(year, first + 2)
}

/// The day of the week: 1 is Monday, 7 is Sunday.
pub const fn weekday_of(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// The ISO week of a day: the year it belongs to, and its number there.
pub const fn week_of(days: i64) -> (i64, i64) {
    // A week belongs to the year that has its Thursday.
    let thursday = days - weekday_of(days) + 4;
    let (year, _, _) = civil_of(thursday);
    (year, (thursday - days_of(year, 1, 1)) / 7 + 1)
}

/// The Monday of the first ISO week of a year.
pub const fn first_monday(week_year: i64) -> i64 {
    // The first week is the one with the 4th of January.
    let fourth = days_of(week_year, 1, 4);
    fourth - weekday_of(fourth) + 1
}

/// Number of ISO weeks of a year.
pub const fn year_weeks(week_year: i64) -> i64 {
    (first_monday(week_year + 1) - first_monday(week_year)) / 7
}

/// A day moved by months; a day that the month does not have becomes the month's last.
pub fn add_months(days: i64, months: i64) -> Option<i64> {
    let (year, month, day) = civil_of(days);
    let months = (year * 12 + month - 1).checked_add(months)?;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    if !(YEAR_MIN..=YEAR_MAX).contains(&year) {
        return None;
    }
    Some(days_of(year, month, day.min(month_length(year, month))))
}

#[cfg(test)]
mod tests {
    use super::{
        DAY_MAX, DAY_MIN, YEAR_MAX, YEAR_MIN, add_months, civil_of, days_of, first_monday, month_length,
        quarter_length, week_of, weekday_of, year_length, year_weeks,
    };

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let mut expected = (1799, 12, 31);
        let first = days_of(1800, 1, 1);
        for days in first..first + 146_200 {
            let (year, month, day) = expected;
            expected = if day < month_length(year, month) {
                (year, month, day + 1)
            } else if month < 12 {
                (year, month + 1, 1)
            } else {
                (year + 1, 1, 1)
            };
            assert_eq!(civil_of(days), expected);
            assert_eq!(days_of(expected.0, expected.1, expected.2), days);
        }
    }

    #[test]
    fn known_days() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((1969, 12, 31), -1),
            ((2000, 2, 29), 11_016),
            ((0, 1, 1), -719_528),
            ((-1, 12, 31), -719_529),
            ((YEAR_MIN, 1, 1), DAY_MIN),
            ((YEAR_MAX, 12, 31), DAY_MAX),
        ] {
            assert_eq!(days_of(date.0, date.1, date.2), days, "{date:?}");
            assert_eq!(civil_of(days), date, "{days}");
        }
    }

    #[test]
    fn weeks_are_those_of_iso_8601() {
        for (date, weekday, week) in [
            ((2005, 1, 1), 6, (2004, 53)),
            ((2005, 12, 31), 6, (2005, 52)),
            ((2007, 1, 1), 1, (2007, 1)),
            ((2008, 12, 29), 1, (2009, 1)),
            ((2010, 1, 3), 7, (2009, 53)),
            ((1816, 12, 30), 1, (1817, 1)),
        ] {
            let days = days_of(date.0, date.1, date.2);
            assert_eq!((weekday_of(days), week_of(days)), (weekday, week), "{date:?}");
            assert_eq!(first_monday(week.0) + (week.1 - 1) * 7 + weekday - 1, days, "{date:?}");
        }
        assert_eq!([2004, 2005, 2009, 2010].map(year_weeks), [53, 52, 53, 52]);
    }

    #[test]
    fn lengths() {
        assert_eq!([1900, 2000, 2023, 2024, 0, -4].map(year_length), [365, 366, 365, 366, 366, 366]);
        assert_eq!([1, 2, 3, 4].map(|quarter| quarter_length(2024, quarter)), [91, 91, 92, 92]);
    }

    #[test]
    fn months_end_where_they_end() {
        let at = |year, month, day| days_of(year, month, day);
        for (days, months, expected) in [
            (at(2024, 1, 31), 1, Some(at(2024, 2, 29))),
            (at(2023, 1, 31), 1, Some(at(2023, 2, 28))),
            (at(2024, 3, 31), -1, Some(at(2024, 2, 29))),
            (at(2024, 1, 15), -13, Some(at(2022, 12, 15))),
            (at(2024, 1, 15), i64::MAX, None),
            (DAY_MAX, 1, None),
            (DAY_MIN, -1, None),
        ] {
            assert_eq!(add_months(days, months), expected);
        }
    }
}
