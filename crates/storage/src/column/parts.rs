//! Blocks of values that are several integers each: date-times, times with an offset, durations.
//!
//! A table tells for each part the least integer, the step of which all differences from it are multiples, and the bits
//! that a step count takes; then come the zones, if the values have such; then the rows, each with the step counts of
//! its parts side by side. Parts that are the same in all rows take nothing.
//!
//! Cost: a random read is one load, a shift and a multiplication for each part.

use model::fixed::PARTS_MAX;
use model::temporal::Zone;
use model::{Result, Scalar};

use super::access::{Block, Found};
use super::block::{BlockHeader, Encoding};
use crate::codec::bits::mask_of;
use crate::codec::bytes::{Get, Put};
use crate::codec::temporal::{put_zone, zone};

/// Bytes behind the rows, so that sixteen can be loaded from anywhere in them.
pub(super) const PADDING_BYTES: usize = 16;

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

/// Adds values, at least one.
pub(super) fn put_parts<T: Scalar>(header: &mut BlockHeader, values: &[T], out: &mut Vec<u8>) {
    let start = out.len();
    let zones = if T::HAS_ZONE { zones_of(values) } else { Vec::new() };
    let parts_of = |value: &T| {
        let mut parts = value.parts();
        if T::HAS_ZONE {
            parts[T::PARTS - 1] = zones.partition_point(|zone| *zone < value.zone()) as i64;
        }
        parts
    };
    let rows: Vec<[i64; PARTS_MAX]> = values.iter().map(parts_of).collect();
    let mut table = [Part::default(); PARTS_MAX];
    for (at, part) in table.iter_mut().take(T::PARTS).enumerate() {
        let of = || rows.iter().map(|parts| parts[at]);
        let (min, max) = (of().min().unwrap_or_default(), of().max().unwrap_or_default());
        part.min = min as u64;
        part.step = common_step(of().map(|x| x.wrapping_sub(min) as u64));
        part.width = (64 - (max.wrapping_sub(min) as u64 / part.step).leading_zeros()) as u8;
        [part.min, part.step, u64::from(part.width)].into_iter().for_each(|x| out.put_u64(x));
    }
    if T::HAS_ZONE {
        out.put_u32(zones.len() as u32);
        zones.iter().for_each(|&zone| put_zone(zone, out));
        out.align();
    }
    header.encoding = Encoding::of::<T>();
    header.dictionary = (out.len() - start) as u32;
    header.width = table.iter().map(|part| part.width).sum();
    header.min = table[0].min;
    header.max = rows.iter().map(|parts| parts[0]).max().unwrap_or_default() as u64;
    let mut writer = BitWriter { out, bits: 0, held: 0 };
    for parts in rows {
        for (part, x) in table.iter().take(T::PARTS).zip(parts) {
            writer.put((x as u64).wrapping_sub(part.min) / part.step, u32::from(part.width));
        }
    }
    writer.finish();
    out.resize(out.len() + PADDING_BYTES, 0);
}

/// The zones of values, each once and in order.
fn zones_of<T: Scalar>(values: &[T]) -> Vec<Zone> {
    let mut zones: Vec<Zone> = values.iter().map(|value| value.zone()).collect();
    zones.sort_unstable();
    zones.dedup();
    zones
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
    /// Reads the table and the zones of a block of such values.
    pub fn of<T: Scalar>(block: &Block<'_>) -> Result<Parts> {
        let header = block.header();
        let start = header.null_bytes();
        let table = block.read(start..start + header.dictionary as usize)?;
        let mut get = Get::new(table, block.path(), header.offset);
        let mut parts = [Part::default(); PARTS_MAX];
        let mut row_bits = 0;
        for part in parts.iter_mut().take(T::PARTS) {
            let (min, step, width) = (get.u64()?, get.u64()?, get.u64()?.min(65) as u8);
            *part = Part { start: row_bits, width, min, step };
            row_bits += width as usize;
        }
        if row_bits != header.width as usize || parts.iter().any(|part| part.width > 64) {
            return Err(block.damage("the widths of the parts contradict the header"));
        }
        let mut zones = Vec::new();
        if T::HAS_ZONE {
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

    /// The value that was found; out of its bounds it is damage.
    #[inline]
    pub fn value<T: Scalar>(&self, found: &Found<'_, '_>) -> Result<T> {
        let mut parts = [0; PARTS_MAX];
        for (at, part) in parts.iter_mut().take(T::PARTS).enumerate() {
            *part = self.part(at, found);
        }
        let mut zone = Zone::UTC;
        if T::HAS_ZONE {
            let number = parts[T::PARTS - 1] as usize;
            let Some(&known) = self.zones.get(number) else {
                return Err(found.block.damage(format!("the block has no time zone of the number {number}")));
            };
            zone = known;
        }
        let value = T::of_parts(parts, zone);
        if value.is_valid() { Ok(value) } else { Err(found.block.no_time(value.into())) }
    }
}
