//! Values of time as bytes: of a fixed length each, except for the names of zones.

use crate::error::Result;
use crate::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time, Zone};
use crate::value::fixed::Fixed;

use super::bytes::{Get, Put};

/// An offset follows in four bytes.
const OFFSET: u8 = 0;
/// A name follows.
const NAME: u8 = 1;

/// Adds a zone: by name, since the numbers of zones are not the same for ever.
pub fn put_zone(zone: Zone, out: &mut Vec<u8>) {
    match zone.name() {
        Some(name) => {
            out.put_u8(NAME);
            out.put_text(name);
        }
        None => {
            out.put_u8(OFFSET);
            out.put_u32(zone.offset_at(0) as u32);
        }
    }
}

/// Reads a zone.
pub fn zone(get: &mut Get<'_>) -> Result<Zone> {
    match get.u8()? {
        OFFSET => {
            let seconds = get.u32()? as i32;
            Zone::of_offset(seconds)
                .ok_or_else(|| get.damage(format!("{seconds} seconds are no offset of a time zone")))
        }
        NAME => {
            let name = get.text()?;
            Zone::of_name(name).ok_or_else(|| get.damage(format!("this program knows no time zone '{name}'")))
        }
        tag => Err(get.damage(format!("no time zone has the tag {tag}"))),
    }
}

/// Adds a local date-time: seconds and nanoseconds.
pub fn put_local_date_time(x: LocalDateTime, out: &mut Vec<u8>) {
    out.put_u64(x.seconds as u64);
    out.put_u32(x.nanosecond);
}

/// Reads a local date-time.
pub fn local_date_time(get: &mut Get<'_>) -> Result<LocalDateTime> {
    let found = seconds_of(get)?;
    sound(get, found)
}

/// Seconds and nanoseconds, whatever they are.
fn seconds_of(get: &mut Get<'_>) -> Result<LocalDateTime> {
    Ok(LocalDateTime { seconds: get.u64()? as i64, nanosecond: get.u32()? })
}

/// The value that was read; out of its bounds it is damage.
pub(super) fn sound<T: Fixed>(get: &Get<'_>, found: T) -> Result<T> {
    if found.is_valid() {
        return Ok(found);
    }
    match found.into().check_time() {
        Ok(()) => Ok(found),
        Err(error) => Err(get.damage(error.message())),
    }
}

/// Reads a date.
pub fn date(get: &mut Get<'_>) -> Result<Date> {
    let found = Date(get.u64()? as i64);
    sound(get, found)
}

/// Reads a time of day in nanoseconds.
pub fn local_time(get: &mut Get<'_>) -> Result<LocalTime> {
    let found = LocalTime(get.u64()? as i64);
    sound(get, found)
}

/// Adds a time of day with its offset.
pub fn put_time(x: Time, out: &mut Vec<u8>) {
    out.put_u64(x.local.0 as u64);
    out.put_u32(x.offset as u32);
}

/// Reads a time of day with its offset.
pub fn time(get: &mut Get<'_>) -> Result<Time> {
    let found = Time { local: LocalTime(get.u64()? as i64), offset: get.u32()? as i32 };
    sound(get, found)
}

/// Adds a date-time: the moment, and the zone.
pub fn put_date_time(x: DateTime, out: &mut Vec<u8>) {
    put_local_date_time(x.utc(), out);
    put_zone(x.zone, out);
}

/// Reads a date-time.
pub fn date_time(get: &mut Get<'_>) -> Result<DateTime> {
    let LocalDateTime { seconds, nanosecond } = seconds_of(get)?;
    let found = DateTime { seconds, nanosecond, zone: zone(get)? };
    sound(get, found)
}

/// Adds a duration: months, days, seconds, nanoseconds.
pub fn put_duration(x: Duration, out: &mut Vec<u8>) {
    [x.months, x.days, x.seconds].into_iter().for_each(|part| out.put_u64(part as u64));
    out.put_u32(x.nanosecond);
}

/// Reads a duration.
pub fn duration(get: &mut Get<'_>) -> Result<Duration> {
    let found = Duration {
        months: get.u64()? as i64,
        days: get.u64()? as i64,
        seconds: get.u64()? as i64,
        nanosecond: get.u32()?,
    };
    sound(get, found)
}
