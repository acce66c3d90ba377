//! Blocks of values that are several integers each: date-times, times with an offset, durations.
//!
//! A table tells for each part the least integer, the step of which all differences from it are multiples, and the bits
//! that a step count takes; then come the zones, if the values have such; then the rows, each with the step counts of
//! its parts side by side. Parts that are the same in all rows take nothing.
//!
//! Cost: a random read is one load, a shift and a multiplication for each part.

use model::temporal::{DateTime, Duration, LocalDateTime, LocalTime, Time, Zone};
use model::{Result, Value};

use super::access::{Block, Found};
use super::block::{BlockHeader, Encoding};
use crate::codec::bits::mask_of;
use crate::codec::bytes::{Get, Put};
use crate::codec::temporal::{put_zone, zone};

/// Most parts of a value.
const PARTS_MAX: usize = 4;
/// Bytes behind the rows, so that sixteen can be loaded from anywhere in them.
pub(super) const PADDING_BYTES: usize = 16;

/// Of how many integers a value of an encoding consists; `None` if it is no such encoding.
pub(super) fn part_count(encoding: Encoding) -> Option<usize> {
    match encoding {
        Encoding::LocalDateTime | Encoding::Time => Some(2),
        Encoding::DateTime => Some(3),
        Encoding::Duration => Some(4),
        _ => None,
    }
}

/// The largest number that divides all.
fn common_step(differences: impl Iterator<Item = u64>) -> u64 {
    let mut step = 0;
    for mut other in differences {
        while other != 0 {
            (step, other) = (other, step % other);
        }
        if step == 1 {
            break;
        }
    }
    step.max(1)
}

/// Adds the values whose parts are given, one list for each part.
pub(super) fn put_parts(
    header: &mut BlockHeader,
    encoding: Encoding,
    parts: &[Vec<i64>],
    zones: &[Zone],
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let mut packed: Vec<(u64, u64, u8)> = Vec::with_capacity(parts.len());
    for values in parts {
        let min = values.iter().min().copied().unwrap_or_default();
        let max = values.iter().max().copied().unwrap_or_default();
        let step = common_step(values.iter().map(|x| x.wrapping_sub(min) as u64));
        let width = 64 - (max.wrapping_sub(min) as u64 / step).leading_zeros();
        packed.push((min as u64, step, width as u8));
        out.put_u64(min as u64);
        out.put_u64(step);
        out.put_u64(u64::from(width));
    }
    if encoding == Encoding::DateTime {
        out.put_u32(zones.len() as u32);
        zones.iter().for_each(|&zone| put_zone(zone, out));
        out.align();
    }
    header.encoding = encoding;
    header.dictionary = (out.len() - start) as u32;
    header.width = packed.iter().map(|(_, _, width)| width).sum();
    header.min = packed[0].0;
    header.max = parts[0].iter().max().copied().unwrap_or_default() as u64;
    let mut writer = BitWriter { out, bits: 0, held: 0 };
    for row in 0..parts[0].len() {
        for (values, &(min, step, width)) in parts.iter().zip(&packed) {
            writer.put((values[row] as u64).wrapping_sub(min) / step, u32::from(width));
        }
    }
    writer.finish();
    out.resize(out.len() + PADDING_BYTES, 0);
}

struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Bits that are not written yet, and how many: less than eight.
    held: u128,
    bits: u32,
}

impl BitWriter<'_> {
    fn put(&mut self, x: u64, width: u32) {
        self.held |= u128::from(x) << self.bits;
        self.bits += width;
        let bytes = (self.bits / 8) as usize;
        self.out.extend_from_slice(&self.held.to_le_bytes()[..bytes]);
        self.held >>= bytes * 8;
        self.bits %= 8;
    }

    fn finish(self) {
        if self.bits > 0 {
            self.out.push(self.held as u8);
        }
    }
}

/// One part of the values of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// Start in a row, in bits.
    start: usize,
    width: u8,
    min: u64,
    step: u64,
}

/// Layout of the parts of the values of a block, which lie beside each other.
#[derive(Debug)]
pub struct Parts {
    row_bits: usize,
    parts: [Part; PARTS_MAX],
    zones: Vec<Zone>,
}

impl Parts {
    /// Reads the table and the zones of a block, which has one of the encodings with parts.
    pub fn of(block: &Block<'_>) -> Result<Parts> {
        let header = block.header();
        let start = header.null_bytes();
        let table = block.read(start..start + header.dictionary as usize)?;
        let mut get = Get::new(table, block.path(), header.offset);
        let mut parts = [Part::default(); PARTS_MAX];
        let mut row_bits = 0;
        for part in parts.iter_mut().take(part_count(header.encoding).unwrap_or_default()) {
            let (min, step, width) = (get.u64()?, get.u64()?, get.u64()?.min(65) as u8);
            *part = Part { start: row_bits, width, min, step };
            row_bits += width as usize;
        }
        if row_bits != header.width as usize || parts.iter().any(|part| part.width > 64) {
            return Err(block.damage("the widths of the parts contradict the header"));
        }
        let mut zones = Vec::new();
        if header.encoding == Encoding::DateTime {
            for _ in 0..get.u32()? {
                zones.push(zone(&mut get)?);
            }
        }
        Ok(Parts { row_bits, parts, zones })
    }

    #[inline]
    fn part(&self, part: usize, found: &Found<'_, '_>) -> i64 {
        let Part { start, width, min, step } = self.parts[part];
        let steps = found.values.bits(found.place * self.row_bits + start) as u64 & mask_of(width);
        min.wrapping_add(step.wrapping_mul(steps)) as i64
    }

    /// The local date-time that was found.
    #[inline]
    pub fn local_date_time(&self, found: &Found<'_, '_>) -> Result<LocalDateTime> {
        let value = LocalDateTime { seconds: self.part(0, found), nanosecond: self.part(1, found) as u32 };
        sound(found, value, value.is_valid())
    }

    /// The time of day with an offset that was found.
    #[inline]
    pub fn time(&self, found: &Found<'_, '_>) -> Result<Time> {
        let value = Time { local: LocalTime(self.part(0, found)), offset: self.part(1, found) as i32 };
        sound(found, value, value.is_valid())
    }

    /// The date-time that was found.
    #[inline]
    pub fn date_time(&self, found: &Found<'_, '_>) -> Result<DateTime> {
        let (seconds, nanosecond) = (self.part(0, found), self.part(1, found) as u32);
        let number = self.part(2, found) as usize;
        match self.zones.get(number) {
            Some(&zone) => {
                let value = DateTime { seconds, nanosecond, zone };
                sound(found, value, value.is_valid())
            }
            None => Err(found.block.damage(format!("the block has no time zone of the number {number}"))),
        }
    }

    /// The duration that was found.
    #[inline]
    pub fn duration(&self, found: &Found<'_, '_>) -> Result<Duration> {
        let part = |part| self.part(part, found);
        let value = Duration { months: part(0), days: part(1), seconds: part(2), nanosecond: part(3) as u32 };
        sound(found, value, value.is_valid())
    }
}

/// The value that was found; out of its bounds it is damage.
#[inline]
fn sound<T: Copy + Into<Value>>(found: &Found<'_, '_>, value: T, is_valid: bool) -> Result<T> {
    if is_valid { Ok(value) } else { Err(found.block.no_time(value.into())) }
}
