//! Values of time at their bounds and beyond them: taken, or refused by what they hold.

use crate::temporal::{
    Date, DateTime, Duration, LocalDateTime, LocalTime, NANOS_OF_DAY, OFFSET_MAX, SECONDS_OF_DAY, Time, Zone,
};
use crate::{Column, ColumnData, Value};

fn message(value: Value) -> String {
    let error = value.check_time().unwrap_err();
    assert_eq!(error.code(), crate::ErrorCode::Argument, "{error}");
    let column = Column::from_values(&[Value::Null, value.clone()]);
    assert_eq!(column.check_time().unwrap_err().message(), error.message());
    assert!(Value::list(vec![value]).check_time().is_err());
    error.message().to_owned()
}

#[test]
fn values_up_to_their_bounds_are_taken() {
    let zones = [Zone::UTC, Zone::of_offset(OFFSET_MAX).unwrap(), Zone::of_name("Asia/Tokyo").unwrap()];
    let mut taken: Vec<Value> = vec![Date::MIN.into(), Date::MAX.into(), LocalTime(0).into(), LocalTime::MAX.into()];
    taken.extend([Value::from(LocalDateTime::MIN), LocalDateTime::MAX.into()]);
    for local in [LocalDateTime::MIN, LocalDateTime::MAX] {
        taken.extend(zones.iter().map(|&zone| Value::from(DateTime::of_local(local, zone, None).unwrap())));
    }
    taken.push(Time { local: LocalTime::MAX, offset: -OFFSET_MAX }.into());
    taken.push(Duration { months: i64::MIN, days: i64::MAX, seconds: i64::MIN, nanosecond: 999_999_999 }.into());
    for value in taken {
        assert!(value.check_time().is_ok(), "{value}");
        assert!(Column::from_values(&[value]).check_time().is_ok());
    }
}

#[test]
fn values_beyond_are_refused_and_named() {
    let years = "outside the years -999999999 to 999999999";
    for days in [Date::MAX.0 + 1, Date::MIN.0 - 1, i64::MAX, i64::MIN] {
        let found = message(Date(days).into());
        assert!(found.contains(&days.to_string()) && found.contains(years), "{found}");
    }
    let [first, last] = [LocalDateTime::MIN, LocalDateTime::MAX].map(|moment| moment.seconds);
    for seconds in [last + 1, first - 1, i64::MAX, i64::MIN] {
        assert!(message(LocalDateTime { seconds, nanosecond: 0 }.into()).contains(years));
        for zone in [Zone::UTC, Zone::of_name("Europe/Stockholm").unwrap()] {
            let beyond = seconds.saturating_add(seconds.signum() * SECONDS_OF_DAY);
            assert!(message(DateTime { seconds: beyond, nanosecond: 0, zone }.into()).contains(years));
        }
    }
    // The moment is there, and clocks an hour ahead show the year after the last.
    let zone = Zone::of_offset(3_600).unwrap();
    assert!(message(DateTime { seconds: last, nanosecond: 0, zone }.into()).contains(years));
    let nanosecond = 1_000_000_000;
    assert!(message(LocalDateTime { seconds: 0, nanosecond }.into()).contains("1000000000 nanoseconds"));
    assert!(message(Duration { nanosecond, ..Duration::default() }.into()).contains("1000000000 nanoseconds"));
    assert!(message(LocalTime(NANOS_OF_DAY).into()).contains("24:00"));
    assert!(message(Time { local: LocalTime(-1), offset: 0 }.into()).contains("24:00"));
    assert!(message(Time { local: LocalTime(0), offset: OFFSET_MAX + 1 }.into()).contains("64801 seconds"));
}

#[test]
fn rows_without_a_value_hold_anything() {
    let data = ColumnData::Date(vec![Date(i64::MAX), Date(0)]);
    assert!(Column::with_validity(data, [false, true].into_iter().collect()).check_time().is_ok());
}
