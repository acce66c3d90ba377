//! An ascending sequence in the encoding of Elias and Fano: about two bits and the low bits of an entry.
//!
//! Low bits are packed at one width, chosen so that the rest, the high part, rises about as often as there are entries.
//! The high parts are a row of bits: for each entry as many zeros as its high part is above the one before, then a one.
//! So the `i`th one at bit `b` says that entry `i` has the high part `b - i`. Where every 64th one and every 64th zero is
//! stands in two packed arrays, each with the number of bits as its last entry.
//! Cost: an entry is found by one sample, one or two words and a load; a value likewise, with a short search.

use std::ops::Range;

use model::Result;

use super::pointer::write_packed;
use crate::codec::bits::{get, mask_of, pack, packed_bytes, unpack, width_of};
use crate::file::{FileWriter, StoreFile};

/// Ones, or zeros, from one sample to the next.
const SAMPLE: usize = 64;
const PIECE_BYTES: usize = 1 << 16;

/// Where a sequence lies in its file; all follows from the number of its entries, a bound, and where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ascending {
    count: usize,
    max: u64,
    low_width: u8,
    sample_width: u8,
    bits: usize,
    low_start: usize,
    high_start: usize,
    ones_start: usize,
    zeros_start: usize,
    end: usize,
}

impl Ascending {
    /// The sequence of so many entries, none above `max`, that starts at an offset of the file.
    pub fn new(count: usize, max: u64, start: usize) -> Ascending {
        let low_width = (max / (count as u64).max(1)).checked_ilog2().unwrap_or(0) as u8;
        let zeros = (max >> low_width) as usize + 1;
        let bits = count + zeros;
        let sample_width = width_of(bits as u64);
        let high_start = start + packed_bytes(count, low_width);
        let ones_start = high_start + (bits / 64 + 1) * 8;
        let zeros_start = ones_start + packed_bytes(count.div_ceil(SAMPLE) + 1, sample_width);
        let end = zeros_start + packed_bytes(zeros.div_ceil(SAMPLE) + 1, sample_width);
        Ascending {
            count,
            max,
            low_width,
            sample_width,
            bits,
            low_start: start,
            high_start,
            ones_start,
            zeros_start,
            end,
        }
    }

    /// Writes a sequence where the file is.
    pub fn write(
        entries: impl Iterator<Item = u64> + Clone,
        count: usize,
        max: u64,
        file: &mut FileWriter,
    ) -> Result<Ascending> {
        file.align()?;
        let this = Ascending::new(count, max, file.position() as usize);
        let mask = mask_of(this.low_width);
        write_packed(entries.clone().map(|entry| entry & mask), count, this.low_width, file)?;
        let (mut ones, mut zeros) = (Vec::new(), Vec::new());
        let (mut word, mut words, mut before, mut bytes) = (0u64, 0usize, 0usize, Vec::new());
        for (index, entry) in entries.enumerate() {
            let high = (entry >> this.low_width) as usize;
            zeros.extend((before.next_multiple_of(SAMPLE)..high).step_by(SAMPLE).map(|zero| (zero + index) as u64));
            let bit = high + index;
            if index % SAMPLE == 0 {
                ones.push(bit as u64);
            }
            while words < bit / 64 {
                bytes.extend_from_slice(&word.to_le_bytes());
                (word, words) = (0, words + 1);
            }
            word |= 1 << (bit % 64);
            before = high;
            if bytes.len() >= PIECE_BYTES {
                file.write(&bytes)?;
                bytes.clear();
            }
        }
        let zero_count = this.bits - count;
        zeros.extend((before.next_multiple_of(SAMPLE)..zero_count).step_by(SAMPLE).map(|zero| (zero + count) as u64));
        bytes.extend_from_slice(&word.to_le_bytes());
        bytes.resize(bytes.len() + (this.bits / 64 - words) * 8, 0);
        for mut samples in [ones, zeros] {
            samples.push(this.bits as u64);
            pack(samples.into_iter(), this.sample_width, &mut bytes);
        }
        file.write(&bytes)?;
        Ok(this)
    }

    /// Bytes that a sequence takes.
    pub fn bytes_of(count: usize, max: u64) -> usize {
        Ascending::new(count, max, 0).end
    }

    /// Bytes of the sequence.
    pub fn length(&self) -> usize {
        self.end - self.low_start
    }

    /// Where the sequence starts.
    pub fn start(&self) -> usize {
        self.low_start
    }

    /// Bits of the packed part of an entry.
    pub fn low_width(&self) -> u8 {
        self.low_width
    }

    #[inline]
    fn word(&self, file: &StoreFile, at: usize) -> u64 {
        let start = self.high_start + at * 8;
        u64::from_le_bytes(file.bytes()[start..start + 8].try_into().expect("the slice has eight bytes"))
    }

    #[cold]
    fn damage(&self, file: &StoreFile) -> model::Error {
        file.damage(self.high_start, "a sequence of a pointer index contradicts itself")
    }

    /// Where the one of that number is, or the zero if `flip` has all bits.
    #[inline]
    fn select(&self, file: &StoreFile, samples: usize, flip: u64, number: usize) -> Result<usize> {
        let width = self.sample_width as usize;
        file.ensure(samples + number / SAMPLE * width / 8, width / 4 + 8)?;
        let sample = |at| get(&file.bytes()[samples..], self.sample_width, at) as usize;
        let (from, to) = (sample(number / SAMPLE), sample(number / SAMPLE + 1));
        if from > to || to > self.bits {
            return Err(self.damage(file));
        }
        let (mut at, mut left) = (from / 64, number % SAMPLE);
        file.ensure(self.high_start + at * 8, (to / 64 - at + 1) * 8)?;
        let mut word = (self.word(file, at) ^ flip) & (u64::MAX << (from % 64));
        loop {
            let ones = word.count_ones() as usize;
            if left < ones {
                return Ok(at * 64 + select_in(word, left));
            }
            (left, at) = (left - ones, at + 1);
            if at > to / 64 {
                return Err(self.damage(file));
            }
            word = self.word(file, at) ^ flip;
        }
    }

    /// The next bit from `bit` on that is a one, or a zero if `flip` has all bits.
    #[inline]
    fn next(&self, file: &StoreFile, flip: u64, bit: usize) -> Result<usize> {
        let mut at = bit / 64;
        let mut mask = u64::MAX << (bit % 64);
        while at <= self.bits / 64 {
            file.ensure(self.high_start + at * 8, 8)?;
            let word = (self.word(file, at) ^ flip) & mask;
            if word != 0 {
                return Ok(at * 64 + word.trailing_zeros() as usize);
            }
            (at, mask) = (at + 1, u64::MAX);
        }
        Err(self.damage(file))
    }

    /// The entries from `start` on, which must exist.
    #[inline]
    pub fn read(&self, file: &StoreFile, start: usize, out: &mut [u64]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let width = self.low_width as usize;
        file.ensure(self.low_start + start * width / 8, (out.len() + 1) * width / 8 + 8)?;
        unpack(&file.bytes()[self.low_start..], self.low_width, start, out);
        let bit = self.select(file, self.ones_start, 0, start)?;
        if let [entry] = out {
            let high = bit.checked_sub(start).ok_or_else(|| self.damage(file))?;
            *entry |= (high as u64) << self.low_width;
            return Ok(());
        }
        self.add_high(file, start, bit, out)
    }

    /// Adds the high parts to entries from `start` on, the first of which has its one at `bit`; word by word.
    #[inline]
    fn add_high(&self, file: &StoreFile, start: usize, bit: usize, out: &mut [u64]) -> Result<()> {
        let words = self.bits / 64 + 1;
        // As many words as the entries take on the average, and a few.
        let step = out.len() / 32 + 2;
        let (mut at, mut ensured) = (bit / 64, bit / 64);
        let mut mask = u64::MAX << (bit % 64);
        let mut done = 0;
        while done < out.len() {
            if at >= words {
                return Err(self.damage(file));
            }
            if at >= ensured {
                ensured = (at + step).min(words);
                file.ensure(self.high_start + at * 8, (ensured - at) * 8)?;
            }
            let mut word = self.word(file, at) & mask;
            while word != 0 && done < out.len() {
                let bit = at * 64 + word.trailing_zeros() as usize;
                let Some(high) = bit.checked_sub(start + done) else { return Err(self.damage(file)) };
                out[done] |= (high as u64) << self.low_width;
                done += 1;
                word &= word - 1;
            }
            (at, mask) = (at + 1, u64::MAX);
        }
        Ok(())
    }

    /// One entry.
    #[inline]
    pub fn at(&self, file: &StoreFile, index: usize) -> Result<u64> {
        let mut entry = [0];
        self.read(file, index, &mut entry)?;
        Ok(entry[0])
    }

    /// How many entries are below a value, or, with `is_or_equal`, not above it.
    #[inline]
    pub fn count_below(&self, file: &StoreFile, value: u64, is_or_equal: bool) -> Result<usize> {
        let Some(value) = (if is_or_equal { Some(value) } else { value.checked_sub(1) }) else { return Ok(0) };
        if value >= self.max {
            return Ok(self.count);
        }
        Ok(self.search(file, value)?.1)
    }

    /// The last entry that equals a value, if any does.
    #[inline]
    pub fn find(&self, file: &StoreFile, value: u64) -> Result<Option<usize>> {
        if value > self.max {
            return Ok(None);
        }
        let (first, end) = self.search(file, value)?;
        let is_it =
            |index| get(&file.bytes()[self.low_start..], self.low_width, index) == value & mask_of(self.low_width);
        Ok((end > first && is_it(end - 1)).then(|| end - 1))
    }

    /// The first entry with the high part of a value, and the first that is above the value.
    #[inline]
    fn search(&self, file: &StoreFile, value: u64) -> Result<(usize, usize)> {
        let (bucket, mut last) = self.alike(file, (value >> self.low_width) as usize)?;
        let (mut first, low, width) = (bucket, value & mask_of(self.low_width), self.low_width as usize);
        file.ensure(self.low_start + first * width / 8, (last - first) * width / 8 + 16)?;
        while first < last {
            let middle = first + (last - first) / 2;
            if get(&file.bytes()[self.low_start..], self.low_width, middle) <= low {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        Ok((bucket, first))
    }

    /// The first entry with a high part, and the first with a larger one.
    #[inline]
    fn alike(&self, file: &StoreFile, high: usize) -> Result<(usize, usize)> {
        let start = match high.checked_sub(1) {
            None => 0,
            Some(zero) => self.select(file, self.zeros_start, u64::MAX, zero)? + 1,
        };
        let end = self.next(file, u64::MAX, start)?;
        match start.checked_sub(high) {
            Some(first) if end - high <= self.count => Ok((first, end - high)),
            _ => Err(self.damage(file)),
        }
    }

    /// The slots and words where a value, or an entry, probably is, for advice: byte ranges of the file.
    pub fn places(&self, value: u64, index: usize) -> [Range<usize>; 3] {
        let bit = (value >> self.low_width) as usize + index;
        let width = self.low_width as usize;
        let sample = index / SAMPLE * self.sample_width as usize / 8;
        [(self.ones_start + sample, 8), (self.high_start + bit / 64 * 8, 8), (self.low_start + index * width / 8, 16)]
            .map(|(start, length)| start..(start + length).min(self.end))
    }
}

/// The place of the one of that number in a word.
#[inline]
fn select_in(mut word: u64, mut number: usize) -> usize {
    let mut place = 0;
    for half in [32, 16, 8] {
        let ones = (word & ((1 << half) - 1)).count_ones() as usize;
        if number >= ones {
            number -= ones;
            word >>= half;
            place += half;
        }
    }
    (0..number).for_each(|_| word &= word - 1);
    place + word.trailing_zeros() as usize
}
