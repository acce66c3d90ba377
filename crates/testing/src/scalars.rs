//! Values of time of every kind, at their limits and near each other, identifiers, and points.

use model::Value;
use model::fixed::Uuid;
use model::point::{Crs, Point};
use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time, Zone};

/// The values, all different.
pub fn scalar_values() -> Vec<Value> {
    let moments = ["1969-12-31T23:59:59.999999999", "1970-01-01T00:00", "2015-07-21T21:40:32.142"];
    let zoned = [
        "2015-07-21T21:40:32.142Z",
        "2015-07-21T22:40:32.142+01:00",
        "2015-07-21T23:40:32.142+02:00",
        "2015-07-21T23:40:32.142+02:00[Europe/Stockholm]",
        "2015-07-21T23:40:32.142+02:00[Europe/Berlin]",
        "-999999999-01-01T00:00+18:00",
        "+999999999-12-31T23:59:59.999999999-18:00",
    ];
    let times = ["00:00Z", "01:00+01:00", "23:59:59.999999999-18:00", "00:00+18:00", "12:31:14.645876123+01:00"];
    let durations = ["PT0S", "P1M", "P30D", "P31D", "P1D", "PT24H", "PT-0.000000001S", "P-12Y5M-14DT16H12M70S"];
    let mut values: Vec<Value> = [Date::MIN, Date(-1), Date(0), Date(20_000), Date::MAX].map(Value::Date).into();
    values.extend([LocalDateTime::MIN, LocalDateTime::MAX].map(Value::LocalDateTime));
    values.extend(moments.map(|text| LocalDateTime::parse(text).expect("a local date-time").into()));
    values.extend([LocalTime(0), LocalTime(1), LocalTime::MAX].map(Value::LocalTime));
    values.extend(times.map(|text| Time::parse(text).expect("a time").into()));
    values.extend(zoned.map(|text| DateTime::parse(text).expect("a date-time").into()));
    values.extend(durations.map(|text| Duration::parse(text).expect("a duration").into()));
    let largest = |part| Duration { months: part, days: part, seconds: part, nanosecond: 999_999_999 };
    values.extend([largest(i64::MAX), largest(i64::MIN)].map(Value::Duration));
    values.extend([0, 1, 1 << 64, u128::MAX].map(|bits| Value::Uuid(Uuid::from_u128(bits))));
    let points = [
        "{x: 0, y: 0}",
        "{x: 0, y: 0, z: 0}",
        "{x: -1e308, y: 5e-324}",
        "{x: 1, y: -1, z: 1e308}",
        "{longitude: 0, latitude: 0}",
        "{longitude: -180, latitude: 90}",
        "{longitude: 180, latitude: -90, height: -1}",
    ];
    values.extend(points.map(|text| Point::parse(text).expect("a point").into()));
    values
}

/// A value of time, an identifier or a point, made of random bits, within years that people use.
pub fn random_scalar(mut next: impl FnMut() -> u64) -> Value {
    let seconds = next() as i64 >> 30;
    let nanosecond = [0, 142_000_000, (next() % 1_000_000_000) as u32][(next() % 3) as usize];
    let zones = ["Z", "+01:00", "-09:30", "Europe/Stockholm", "Pacific/Honolulu"];
    let zone = Zone::parse(zones[(next() % 5) as usize]).expect("a zone");
    let moment = DateTime { seconds, nanosecond, zone };
    let local = moment.local();
    match next() % 8 {
        0 => local.date().into(),
        1 => local.time().into(),
        2 => Time { local: local.time(), offset: moment.offset() }.into(),
        3 => local.into(),
        4 => moment.into(),
        5 => Uuid::from_u64_pair(next() % 3, next()).into(),
        6 => {
            let mut coordinate = || (next() % 7) as f64 / 2.0 - 1.5;
            let coordinates = [coordinate(), coordinate(), coordinate()];
            let crs = [Crs::Wgs84, Crs::Wgs84Height, Crs::Cartesian, Crs::Cartesian3D][(next() % 4) as usize];
            Point::new(crs, &coordinates[..crs.dimensions()]).expect("small coordinates").into()
        }
        _ => {
            let (months, days) = ((next() % 100) as i64 - 50, (next() % 100) as i64 - 50);
            Duration { months, days, seconds: seconds >> 10, nanosecond }.into()
        }
    }
}
