//! Integers packed at a fixed width of bits, read at any index by one unaligned load.
//!
//! Invariant: widths are 0 to 57, or 64, so that an entry never spans more than eight bytes; every packed array is
//! followed by `PADDING_BYTES` bytes.
//! Cost: a random read is one load, a shift and a mask; a long run unpacks at well under a nanosecond an entry.

use std::ops::Range;

use crate::format::PADDING_BYTES;

/// The least width of the format that holds `max`.
pub fn width_of(max: u64) -> u8 {
    match 64 - max.leading_zeros() {
        58.. => 64,
        bits => bits as u8,
    }
}

/// True if the format knows this width.
pub fn is_width(width: u8) -> bool {
    width <= 57 || width == 64
}

/// Bytes of a packed array with its padding; a multiple of eight.
pub fn packed_bytes(count: usize, width: u8) -> usize {
    ((count * width as usize).div_ceil(8) + PADDING_BYTES).next_multiple_of(8)
}

/// The bits that an entry of this width can have.
#[inline]
pub fn mask_of(width: u8) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width as u32) }
}

#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    let word: &[u8; 8] = bytes[at..at + 8].try_into().expect("the slice has eight bytes");
    u64::from_le_bytes(*word)
}

/// Byte range of entries in their packed array, with the bytes behind the last of them that a load reads.
#[inline]
pub fn bytes_of(width: u8, entries: &Range<usize>) -> Range<usize> {
    let width = width as usize;
    let end = entries.end.saturating_mul(width).div_ceil(8).saturating_add(PADDING_BYTES);
    entries.start.saturating_mul(width) / 8..end
}

/// A packed array, or the part of one that was read: the bytes of some entries, as [`bytes_of`] says.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    bytes: &'a [u8],
    /// Bytes of the array before these.
    skipped: usize,
    width: u8,
}

impl<'a> Packed<'a> {
    /// The array that starts at the first of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8], width: u8) -> Packed<'a> {
        Packed { bytes, skipped: 0, width }
    }

    /// The part of an array that starts `skipped` bytes behind its start.
    #[inline]
    pub fn part(bytes: &'a [u8], skipped: usize, width: u8) -> Packed<'a> {
        Packed { bytes, skipped, width }
    }

    /// The entry at an index of the array, which is among those that were read.
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        let bit = index * self.width as usize;
        load(self.bytes, (bit >> 3) - self.skipped) >> (bit & 7) & mask_of(self.width)
    }

    /// Fills `out` with the entries from `start` on.
    pub fn unpack(&self, start: usize, out: &mut [u64]) {
        let head = out.len().min(start.wrapping_neg() & 7);
        let (first, rest) = out.split_at_mut(head);
        first.iter_mut().enumerate().for_each(|(index, entry)| *entry = self.get(start + index));
        let whole = rest.len() & !7;
        let (groups, last) = rest.split_at_mut(whole);
        if !groups.is_empty() {
            unpack_groups_of(self.from(start + head), self.width, groups);
        }
        let from = start + head + whole;
        last.iter_mut().enumerate().for_each(|(index, entry)| *entry = self.get(from + index));
    }

    /// Fills `out` with `base` plus each of the entries from `start` on; their width is 32 at most.
    pub fn unpack_u32(&self, base: u32, start: usize, out: &mut [u32]) {
        debug_assert!(self.width <= 32, "wider entries do not fit");
        let entry_at = |index: usize| base.wrapping_add(self.get(index) as u32);
        let head = out.len().min(start.wrapping_neg() & 7);
        let (first, rest) = out.split_at_mut(head);
        first.iter_mut().zip(start..).for_each(|(entry, index)| *entry = entry_at(index));
        let whole = rest.len() & !7;
        let (groups, last) = rest.split_at_mut(whole);
        if !groups.is_empty() {
            unpack_u32_groups_of(self.from(start + head), self.width, base, groups);
        }
        last.iter_mut().zip(start + head + whole..).for_each(|(entry, index)| *entry = entry_at(index));
    }

    /// The bytes from an entry on whose index is a multiple of eight.
    #[inline]
    fn from(&self, index: usize) -> &'a [u8] {
        &self.bytes[index / 8 * self.width as usize - self.skipped..]
    }
}

/// Eight entries take exactly `W` bytes, so every shift below is a constant.
fn unpack_groups<const W: usize>(bytes: &[u8], out: &mut [u64]) {
    let mask = mask_of(W as u8);
    for (group, entries) in out.chunks_exact_mut(8).enumerate() {
        let bytes = &bytes[group * W..group * W + W + PADDING_BYTES];
        for (index, entry) in entries.iter_mut().enumerate() {
            let bit = index * W;
            *entry = load(bytes, bit / 8) >> (bit % 8) & mask;
        }
    }
}

macro_rules! dispatch {
    ($width:expr, $bytes:expr, $out:expr; $($w:literal)*) => {
        match $width {
            0 => $out.fill(0),
            $($w => unpack_groups::<$w>($bytes, $out),)*
            other => unreachable!("width {other} was refused when the array was opened"),
        }
    };
}

fn unpack_groups_of(bytes: &[u8], width: u8, out: &mut [u64]) {
    dispatch!(width, bytes, out;
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
        31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 64);
}

/// Like [`unpack_groups`].
fn unpack_u32_groups<const W: usize>(bytes: &[u8], base: u32, out: &mut [u32]) {
    let mask = mask_of(W as u8) as u32;
    let groups = out.len() / 8;
    // One slice of the right length, so that no access below is compared with its end.
    let bytes = &bytes[..groups * W + PADDING_BYTES];
    for (group, entries) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let bytes = &bytes[group * W..group * W + W + PADDING_BYTES];
        for (index, entry) in entries.iter_mut().enumerate() {
            let bit = index * W;
            *entry = ((load(bytes, bit / 8) >> (bit % 8)) as u32 & mask).wrapping_add(base);
        }
    }
}

macro_rules! dispatch_u32 {
    ($width:expr, $bytes:expr, $base:expr, $out:expr; $($w:literal)*) => {
        match $width {
            0 => $out.fill($base),
            $($w => unpack_u32_groups::<$w>($bytes, $base, $out),)*
            other => unreachable!("width {other} is more than 32"),
        }
    };
}

fn unpack_u32_groups_of(bytes: &[u8], width: u8, base: u32, out: &mut [u32]) {
    dispatch_u32!(width, bytes, base, out;
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

/// Packs entries one by one; whole bytes are ready to be taken at any time.
#[derive(Debug)]
pub struct Packer {
    width: u32,
    pending: u64,
    filled: u32,
    bytes: Vec<u8>,
}

impl Packer {
    /// A packer of entries of that width.
    pub fn new(width: u8) -> Packer {
        debug_assert!(is_width(width));
        Packer { width: width as u32, pending: 0, filled: 0, bytes: Vec::new() }
    }

    /// Adds an entry, which must fit the width.
    #[inline]
    pub fn push(&mut self, entry: u64) {
        debug_assert!(entry <= mask_of(self.width as u8));
        if self.width == 0 {
            return;
        }
        self.pending |= entry << self.filled;
        let total = self.filled + self.width;
        if total >= 64 {
            self.bytes.extend_from_slice(&self.pending.to_le_bytes());
            let used = 64 - self.filled;
            self.pending = if used == 64 { 0 } else { entry >> used };
            self.filled = total - 64;
        } else {
            self.filled = total;
        }
    }

    /// The bytes that are complete; the caller writes them and clears the vector.
    pub fn ready(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns the bytes that are left, with the padding. `count` is the number of entries pushed in all.
    pub fn finish(mut self, count: usize) -> Vec<u8> {
        let all = packed_bytes(count, self.width as u8);
        let whole = count * self.width as usize / 64 * 8;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes());
        let taken = self.bytes.len() - 8;
        // `whole` bytes were completed in all; `taken` of them are still here.
        self.bytes.truncate(taken + 8);
        self.bytes.resize(taken + all - whole, 0);
        self.bytes
    }
}

/// A packed array of the entries, with padding, at the end of `out`.
pub fn pack(entries: impl ExactSizeIterator<Item = u64>, width: u8, out: &mut Vec<u8>) {
    let count = entries.len();
    let mut packer = Packer::new(width);
    packer.bytes.reserve(packed_bytes(count, width));
    entries.for_each(|entry| packer.push(entry));
    out.extend_from_slice(&packer.finish(count));
}

#[cfg(test)]
mod tests {
    use super::{Packed, bytes_of, mask_of, pack, packed_bytes, width_of};
    use crate::codec::hash::mix;

    #[test]
    fn every_width_reads_back() {
        for width in (0..=57).chain([64]) {
            for count in [0usize, 1, 7, 8, 9, 63, 64, 65, 200] {
                let entries: Vec<u64> = (0..count as u64).map(|i| mix(i + width) & mask_of(width as u8)).collect();
                let mut bytes = vec![];
                pack(entries.iter().copied(), width as u8, &mut bytes);
                assert_eq!(bytes.len(), packed_bytes(count, width as u8), "width {width} count {count}");
                for start in 0..count.min(20) {
                    let mut out = vec![0; count - start];
                    // As little is read as the entries need.
                    let place = bytes_of(width as u8, &(start..count));
                    let packed = Packed::part(&bytes[place.clone()], place.start, width as u8);
                    packed.unpack(start, &mut out);
                    assert_eq!(out, entries[start..], "width {width} start {start}");
                    assert_eq!(packed.get(start), entries[start]);
                    assert_eq!(Packed::new(&bytes, width as u8).get(start), entries[start]);
                    if width <= 32 {
                        let mut out = vec![0; count - start];
                        packed.unpack_u32(7, start, &mut out);
                        let expected: Vec<u32> = entries[start..].iter().map(|&x| (x as u32).wrapping_add(7)).collect();
                        assert_eq!(out, expected, "width {width} start {start}");
                    }
                }
            }
        }
    }

    #[test]
    fn widths_that_a_load_cannot_span_are_not_used() {
        assert_eq!(width_of(0), 0);
        assert_eq!(width_of(1), 1);
        assert_eq!(width_of((1 << 57) - 1), 57);
        assert_eq!(width_of(1 << 57), 64);
        assert_eq!(width_of(u64::MAX), 64);
    }
}
