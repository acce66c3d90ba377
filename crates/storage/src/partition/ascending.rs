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
use crate::codec::bits::{Packed, mask_of, pack, packed_bytes, width_of};
use crate::file::{FileWriter, StoreFile};

/// Ones, or zeros, from one sample to the next.
const SAMPLE: usize = 64;
const PIECE_BYTES: usize = 1 << 16;

/// Layout of a sequence in its file; all follows from the number of its entries, a bound, and its start.
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
    /// The sequence of `count` entries, none above `max`, that starts at an offset of the file.
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

    /// Start of the sequence.
    pub fn start(&self) -> usize {
        self.low_start
    }

    /// Bits of the packed part of an entry.
    pub fn low_width(&self) -> u8 {
        self.low_width
    }

    /// Words of the bits of the high parts.
    #[inline]
    fn words<'a>(&self, file: &'a StoreFile, words: Range<usize>) -> Result<&'a [[u8; 8]]> {
        Ok(file.read(self.high_start + words.start * 8, words.len() * 8)?.as_chunks().0)
    }

    #[cold]
    fn damage(&self, file: &StoreFile) -> model::Error {
        file.damage(self.high_start, "a sequence of a pointer index contradicts itself")
    }

    /// Position of the one of that number, or of the zero if `flip` has all bits.
    #[inline]
    fn select(&self, file: &StoreFile, samples: usize, flip: u64, number: usize) -> Result<usize> {
        let first = number / SAMPLE;
        let sampled = file.packed(samples, self.sample_width, &(first..first + 2))?;
        let (from, to) = (sampled.get(first) as usize, sampled.get(first + 1) as usize);
        if from > to || to > self.bits {
            return Err(self.damage(file));
        }
        let mut left = number % SAMPLE;
        let mut mask = u64::MAX << (from % 64);
        for (at, &word) in (from / 64..).zip(self.words(file, from / 64..to / 64 + 1)?) {
            let word = (u64::from_le_bytes(word) ^ flip) & mask;
            let ones = word.count_ones() as usize;
            if left < ones {
                return Ok(at * 64 + select_in(word, left));
            }
            left -= ones;
            mask = u64::MAX;
        }
        Err(self.damage(file))
    }

    /// The next bit from `bit` on that is a one, or a zero if `flip` has all bits.
    #[inline]
    fn next(&self, file: &StoreFile, flip: u64, bit: usize) -> Result<usize> {
        let mut at = bit / 64;
        let mut mask = u64::MAX << (bit % 64);
        while at <= self.bits / 64 {
            let &[word] = self.words(file, at..at + 1)? else { break };
            let word = (u64::from_le_bytes(word) ^ flip) & mask;
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
        file.packed(self.low_start, self.low_width, &(start..start + out.len()))?.unpack(start, out);
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
        let mut first = bit / 64;
        let mut mask = u64::MAX << (bit % 64);
        let mut done = 0;
        while done < out.len() {
            if first >= words {
                return Err(self.damage(file));
            }
            let end = (first + step).min(words);
            for (at, &word) in (first..).zip(self.words(file, first..end)?) {
                let mut word = u64::from_le_bytes(word) & mask;
                while word != 0 && done < out.len() {
                    let bit = at * 64 + word.trailing_zeros() as usize;
                    let Some(high) = bit.checked_sub(start + done) else { return Err(self.damage(file)) };
                    out[done] |= (high as u64) << self.low_width;
                    done += 1;
                    word &= word - 1;
                }
                mask = u64::MAX;
                if done == out.len() {
                    break;
                }
            }
            first = end;
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

    /// Number of entries below a value, or, with `is_or_equal`, not above it.
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
        let (first, end, lows) = self.search(file, value)?;
        Ok((end > first && lows.get(end - 1) == value & mask_of(self.low_width)).then(|| end - 1))
    }

    /// The first entry with the high part of a value, the first that is above the value, and the low parts between them.
    #[inline]
    fn search<'a>(&self, file: &'a StoreFile, value: u64) -> Result<(usize, usize, Packed<'a>)> {
        let (bucket, mut last) = self.alike(file, (value >> self.low_width) as usize)?;
        let (mut first, low) = (bucket, value & mask_of(self.low_width));
        let lows = file.packed(self.low_start, self.low_width, &(first..last))?;
        while first < last {
            let middle = first + (last - first) / 2;
            if lows.get(middle) <= low {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        Ok((bucket, first, lows))
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
