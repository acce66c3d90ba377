//! Kinds of values that properties can have: their numbers and bytes in files.

use super::bytes::{Get, Put};
use super::{hash, ordered, temporal};
use crate::error::Result;
use crate::point::Point;
use crate::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time};
use crate::value::fixed::{FixedKind, Scalar, Uuid};
use crate::with_stored;

/// A kind of values of a fixed size that properties can have. Its numbers and bytes lie in files and never change.
pub trait Stored: Scalar {
    /// Its number as the encoding of a block of a column; 0 if the kind has encodings of its own.
    const ENCODING: u8 = 0;
    /// Its number before a column of the log.
    const LOG_TAG: u8;
    /// Its number before a single value.
    const VALUE_TAG: u8;
    /// The first byte of its values in ordered indexes.
    const ORDERED_TAG: u8;
    /// Bytes behind the tag in ordered indexes; `None` if they are as many as a pair of bytes 0 and 1 ends.
    const ORDERED_BYTES: Option<usize>;
    /// Fewest bytes of a value in the log.
    const BYTES_MIN: usize;

    /// Adds its bytes, as the log and single values have them.
    fn put(self, out: &mut Vec<u8>);

    /// Reads the bytes of [`Stored::put`]; a value out of its bounds is damage.
    fn take(get: &mut Get<'_>) -> Result<Self>;

    /// Adds its bytes in ordered indexes, with the tag.
    fn put_ordered(self, out: &mut Vec<u8>);

    /// Its hash in files.
    fn stable_hash(self) -> u64;
}

/// The kinds by one of their numbers; 0 is none.
macro_rules! kinds_by {
    ($number:ident, $size:literal) => {{
        let mut kinds = [None; $size];
        let mut at = 0;
        while at < FixedKind::ALL.len() {
            let kind = FixedKind::ALL[at];
            let number = with_stored!(kind, { FixedKind::Node | FixedKind::Edge => 0, }, T => <T as Stored>::$number);
            if number > 0 {
                kinds[number as usize] = Some(kind);
            }
            at += 1;
        }
        kinds
    }};
}

/// The kind whose blocks of columns have the number of their encoding from it.
pub fn kind_of_encoding(number: u8) -> Option<FixedKind> {
    const KINDS: [Option<FixedKind>; 32] = kinds_by!(ENCODING, 32);
    KINDS.get(usize::from(number)).copied().flatten()
}

/// The kind with that number before a column of the log.
pub fn kind_of_log_tag(number: u8) -> Option<FixedKind> {
    const KINDS: [Option<FixedKind>; 32] = kinds_by!(LOG_TAG, 32);
    KINDS.get(usize::from(number)).copied().flatten()
}

/// The kind with that number before a single value.
pub(super) fn kind_of_value_tag(number: u8) -> Option<FixedKind> {
    const KINDS: [Option<FixedKind>; 32] = kinds_by!(VALUE_TAG, 32);
    KINDS.get(usize::from(number)).copied().flatten()
}

/// A kind whose values begin with that byte in ordered indexes.
pub(super) fn kind_of_ordered_tag(number: u8) -> Option<FixedKind> {
    const KINDS: [Option<FixedKind>; 128] = kinds_by!(ORDERED_TAG, 128);
    KINDS.get(usize::from(number)).copied().flatten()
}

impl Stored for bool {
    const LOG_TAG: u8 = 1;
    /// True has the number behind it.
    const VALUE_TAG: u8 = 1;
    const ORDERED_TAG: u8 = 0x40;
    const ORDERED_BYTES: Option<usize> = Some(1);
    const BYTES_MIN: usize = 1;

    fn put(self, out: &mut Vec<u8>) {
        out.put_u8(u8::from(self));
    }

    fn take(get: &mut Get<'_>) -> Result<bool> {
        Ok(get.u8()? != 0)
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[Self::ORDERED_TAG, u8::from(self)]);
    }

    fn stable_hash(self) -> u64 {
        hash::mix(2 + u64::from(self))
    }
}

impl Stored for i64 {
    const ENCODING: u8 = 1;
    const LOG_TAG: u8 = 2;
    const VALUE_TAG: u8 = 3;
    const ORDERED_TAG: u8 = ordered::NUMBER;
    const ORDERED_BYTES: Option<usize> = Some(10);
    const BYTES_MIN: usize = 8;

    fn put(self, out: &mut Vec<u8>) {
        out.put_u64(self as u64);
    }

    fn take(get: &mut Get<'_>) -> Result<i64> {
        Ok(get.u64()? as i64)
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        ordered::put_int(self, out);
    }

    fn stable_hash(self) -> u64 {
        hash::hash_int(self)
    }
}

impl Stored for f64 {
    const LOG_TAG: u8 = 3;
    const VALUE_TAG: u8 = 4;
    const ORDERED_TAG: u8 = ordered::NUMBER;
    const ORDERED_BYTES: Option<usize> = Some(10);
    const BYTES_MIN: usize = 8;

    fn put(self, out: &mut Vec<u8>) {
        out.put_u64(self.to_bits());
    }

    fn take(get: &mut Get<'_>) -> Result<f64> {
        Ok(f64::from_bits(get.u64()?))
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        ordered::put_number(self, 0, out);
    }

    fn stable_hash(self) -> u64 {
        hash::hash_float(self)
    }
}

impl Stored for Date {
    const ENCODING: u8 = 2;
    const LOG_TAG: u8 = 5;
    const VALUE_TAG: u8 = 7;
    const ORDERED_TAG: u8 = 0x28;
    const ORDERED_BYTES: Option<usize> = Some(8);
    const BYTES_MIN: usize = 8;

    fn put(self, out: &mut Vec<u8>) {
        out.put_u64(self.0 as u64);
    }

    fn take(get: &mut Get<'_>) -> Result<Date> {
        temporal::date(get)
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        ordered::put_signed(Self::ORDERED_TAG, self.0, out);
    }

    fn stable_hash(self) -> u64 {
        hash::mix(5 ^ (self.0 as u64) << 8)
    }
}

impl Stored for LocalDateTime {
    const ENCODING: u8 = 3;
    const LOG_TAG: u8 = 6;
    const VALUE_TAG: u8 = 8;
    const ORDERED_TAG: u8 = 0x20;
    const ORDERED_BYTES: Option<usize> = Some(12);
    const BYTES_MIN: usize = 12;

    fn put(self, out: &mut Vec<u8>) {
        temporal::put_local_date_time(self, out);
    }

    fn take(get: &mut Get<'_>) -> Result<LocalDateTime> {
        temporal::local_date_time(get)
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        ordered::put_moment(Self::ORDERED_TAG, self, out);
    }

    fn stable_hash(self) -> u64 {
        hash::hash_moment(6, self)
    }
}

impl Stored for LocalTime {
    const ENCODING: u8 = 11;
    const LOG_TAG: u8 = 8;
    const VALUE_TAG: u8 = 10;
    const ORDERED_TAG: u8 = 0x2c;
    const ORDERED_BYTES: Option<usize> = Some(8);
    const BYTES_MIN: usize = 8;

    fn put(self, out: &mut Vec<u8>) {
        out.put_u64(self.0 as u64);
    }

    fn take(get: &mut Get<'_>) -> Result<LocalTime> {
        temporal::local_time(get)
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        ordered::put_signed(Self::ORDERED_TAG, self.0, out);
    }

    fn stable_hash(self) -> u64 {
        hash::mix(8 ^ (self.0 as u64).rotate_left(8))
    }
}

impl Stored for Time {
    const ENCODING: u8 = 12;
    const LOG_TAG: u8 = 9;
    const VALUE_TAG: u8 = 11;
    const ORDERED_TAG: u8 = 0x2a;
    const ORDERED_BYTES: Option<usize> = Some(12);
    const BYTES_MIN: usize = 12;

    fn put(self, out: &mut Vec<u8>) {
        temporal::put_time(self, out);
    }

    fn take(get: &mut Get<'_>) -> Result<Time> {
        temporal::time(get)
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        ordered::put_signed(Self::ORDERED_TAG, self.utc_nanos(), out);
        ordered::put_offset(self.offset, out);
    }

    fn stable_hash(self) -> u64 {
        hash::mix(hash::mix(9 ^ (self.local.0 as u64).rotate_left(8)) ^ self.offset as u64)
    }
}

impl Stored for DateTime {
    const ENCODING: u8 = 13;
    const LOG_TAG: u8 = 10;
    const VALUE_TAG: u8 = 12;
    const ORDERED_TAG: u8 = 0x1c;
    /// The name of the zone ends them.
    const ORDERED_BYTES: Option<usize> = None;
    const BYTES_MIN: usize = 12;

    fn put(self, out: &mut Vec<u8>) {
        temporal::put_date_time(self, out);
    }

    fn take(get: &mut Get<'_>) -> Result<DateTime> {
        temporal::date_time(get)
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        ordered::put_moment(Self::ORDERED_TAG, self.utc(), out);
        ordered::put_offset(self.offset(), out);
        // An offset alone comes before the names of zones.
        ordered::put_escaped(self.zone.name().unwrap_or_default().as_bytes(), out);
        out.extend_from_slice(&[0, 1]);
    }

    fn stable_hash(self) -> u64 {
        let zone = self.zone.name().map_or(self.offset() as u64, hash::hash_text);
        hash::hash_moment(10, self.utc()) ^ zone
    }
}

impl Stored for Duration {
    const ENCODING: u8 = 14;
    const LOG_TAG: u8 = 11;
    const VALUE_TAG: u8 = 13;
    const ORDERED_TAG: u8 = 0x2e;
    const ORDERED_BYTES: Option<usize> = Some(32);
    const BYTES_MIN: usize = 28;

    fn put(self, out: &mut Vec<u8>) {
        temporal::put_duration(self, out);
    }

    fn take(get: &mut Get<'_>) -> Result<Duration> {
        temporal::duration(get)
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        ordered::put_duration(self, out);
    }

    fn stable_hash(self) -> u64 {
        self.parts().into_iter().fold(11, |state, part| hash::mix(state ^ (part as u64).rotate_left(17)))
    }
}

impl Stored for Uuid {
    const ENCODING: u8 = 15;
    const LOG_TAG: u8 = 12;
    const VALUE_TAG: u8 = 14;
    const ORDERED_TAG: u8 = 0x70;
    const ORDERED_BYTES: Option<usize> = Some(16);
    const BYTES_MIN: usize = 16;

    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn take(get: &mut Get<'_>) -> Result<Uuid> {
        let bytes = get.take(16)?.try_into().expect("sixteen bytes were taken");
        Ok(Uuid::from_bytes(bytes))
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        out.put_u8(Self::ORDERED_TAG);
        out.extend_from_slice(self.as_bytes());
    }

    fn stable_hash(self) -> u64 {
        hash::hash_bytes(self.as_bytes(), 12)
    }
}

impl Stored for Point {
    const ENCODING: u8 = 16;
    const LOG_TAG: u8 = 13;
    const VALUE_TAG: u8 = 15;
    const ORDERED_TAG: u8 = 0x18;
    const ORDERED_BYTES: Option<usize> = Some(28);
    const BYTES_MIN: usize = 28;

    fn put(self, out: &mut Vec<u8>) {
        out.put_u32(self.srid());
        self.all().into_iter().for_each(|number| out.put_u64(number.to_bits()));
    }

    fn take(get: &mut Get<'_>) -> Result<Point> {
        let srid = get.u32()?;
        let coordinates = [get.u64()?, get.u64()?, get.u64()?].map(f64::from_bits);
        temporal::sound(get, Point::of_parts(srid, coordinates))
    }

    fn put_ordered(self, out: &mut Vec<u8>) {
        out.put_u8(Self::ORDERED_TAG);
        out.extend_from_slice(&self.srid().to_be_bytes());
        self.all().into_iter().for_each(|number| out.extend_from_slice(&ordered::of_float(number).to_be_bytes()));
    }

    fn stable_hash(self) -> u64 {
        self.parts().into_iter().fold(13, |state, part| hash::mix(state ^ (part as u64).rotate_left(17)))
    }
}
