//! Hashes that are part of the file format: they must never change.
//!
//! An integer and the float equal to it hash alike, as they are equal in Cypher.

pub use crate::mix::mix64 as mix;

use super::stored::Stored;
use crate::each_fixed;
use crate::mix::SPLITMIX_STEP;
use crate::temporal::LocalDateTime;
use crate::value::Value;

const SEED: u64 = SPLITMIX_STEP;
const FOLD: u64 = 0xa076_1d64_78bd_642f;

/// The hash of an integer.
#[inline]
pub fn hash_int(x: i64) -> u64 {
    mix((x as u64).wrapping_add(SEED))
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = (a as u128) * (b as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The hash of bytes under a seed.
#[inline]
pub fn hash_bytes(bytes: &[u8], seed: u64) -> u64 {
    let mut state = seed ^ mix(bytes.len() as u64 ^ FOLD);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("chunks have eight bytes"));
        state = fold(state ^ word ^ FOLD, SEED ^ state.rotate_left(32));
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    mix(state ^ u64::from_le_bytes(last).wrapping_mul(FOLD))
}

/// The hash of a string.
#[inline]
pub fn hash_text(text: &str) -> u64 {
    hash_bytes(text.as_bytes(), 1)
}

/// The integer that a float equals, if there is one.
#[inline]
pub fn integer_of(x: f64) -> Option<i64> {
    let integer = x as i64;
    // 2^63 saturates to the largest integer, which is not equal to it.
    (integer as f64 == x && x < 9_223_372_036_854_775_808.0).then_some(integer)
}

/// The hash of a float.
#[inline]
pub fn hash_float(x: f64) -> u64 {
    match integer_of(x) {
        Some(integer) => hash_int(integer),
        None => mix(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() } ^ FOLD),
    }
}

/// The hash of any value that can be stored; values that are equal in grouping hash alike.
pub fn hash_value(value: &Value) -> u64 {
    each_fixed!(value, {
        Value::String(x) => hash_text(x),
        Value::Bytes(x) => hash_bytes(x, 4),
        Value::List(items) => items.iter().fold(7, |state, item| mix(state ^ hash_value(item).rotate_left(17))),
    }, x => x.stable_hash(), _ => 0)
}

pub(super) fn hash_moment(seed: u64, moment: LocalDateTime) -> u64 {
    mix(mix(seed ^ (moment.seconds as u64).rotate_left(8)) ^ u64::from(moment.nanosecond))
}

#[cfg(test)]
mod tests {
    use super::{hash_float, hash_int, hash_text, hash_value};
    use crate::value::Value;

    #[test]
    fn equal_numbers_hash_alike() {
        for x in [0, 1, -1, 1 << 53, i64::MIN] {
            assert_eq!(hash_int(x), hash_float(x as f64));
        }
        assert_eq!(hash_float(-0.0), hash_int(0));
        assert_ne!(hash_float(9_223_372_036_854_775_808.0), hash_int(i64::MAX));
    }

    #[test]
    fn hashes_never_change() {
        assert_eq!(hash_int(42), 0xbdd7_3226_2feb_6e95);
        assert_eq!(hash_value(&Value::string("abc")), hash_text("abc"));
        assert_ne!(hash_text("abc"), hash_text("abc\0"));
    }
}
