//! Access to the values of a block without decoding the rest.
//!
//! Invariant: the bytes of a block are had from [`Block::read`] alone, which brings them into memory and compares them
//! with their checksums. A place comes from a [`Presence`], a value from [`Values`], and both are made by it: no value
//! can be made of bytes that were not verified, and none of bytes outside the block.
//! Cost: a [`Cursor`] asks the file once for each block of checksums that its rows touch, not for each value.

use std::ops::Range;
use std::path::Path;

use model::temporal::Zone;
use model::{FixedKind, Result, Scalar, StringColumn, Value, with_stored};

use super::block::{BlockHeader, Encoding, RANK_ROWS};
use super::fixed::Fixed;
use super::parts::Parts;
use crate::codec::bits::Packed;
use crate::codec::bytes::Get;
use crate::codec::value;
use crate::error::StorageError;
use crate::file::StoreFile;
use crate::format::CHECKSUM_BLOCK_BYTES;

/// Location of the bytes of a block.
#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// In memory: never written, read by others, or verified.
    Held(&'a [u8]),
    /// In a file that verifies them when they are read.
    File(&'a StoreFile),
}

/// A block, whose bytes are read as they are needed.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    header: &'a BlockHeader,
    source: Source<'a>,
    /// The file, for errors.
    path: &'a Path,
}

impl<'a> Block<'a> {
    /// A block whose bytes are in memory.
    #[inline]
    pub fn held(header: &'a BlockHeader, bytes: &'a [u8], path: &'a Path) -> Block<'a> {
        Block { header, source: Source::Held(bytes), path }
    }

    /// A block of a file.
    #[inline]
    pub fn of_file(header: &'a BlockHeader, file: &'a StoreFile) -> Block<'a> {
        Block { header, source: Source::File(file), path: file.path() }
    }

    /// The header.
    #[inline]
    pub fn header(&self) -> &'a BlockHeader {
        self.header
    }

    /// The file, for errors.
    pub fn path(&self) -> &'a Path {
        self.path
    }

    /// Bytes of the block, verified.
    #[inline]
    pub fn read(&self, bytes: Range<usize>) -> Result<&'a [u8]> {
        let is_within = bytes.start <= bytes.end && bytes.end as u64 <= self.header.length;
        let found = match self.source {
            Source::File(file) if is_within => {
                return file.read(self.header.offset as usize + bytes.start, bytes.end - bytes.start);
            }
            Source::Held(all) => all.get(bytes.clone()),
            Source::File(_) => None,
        };
        found.ok_or_else(|| self.damage(format!("bytes {bytes:?} are wanted of {}", self.header.length)))
    }

    /// The rows of a group that have values; see [`BlockHeader::presence_bytes`].
    #[inline]
    fn presence(&self, group: usize) -> Result<Presence<'a>> {
        let [bitmap, rank] = self.header.presence_bytes(group);
        let (words, rank) = (self.read(bitmap)?, self.read(rank)?);
        let rank = rank.first_chunk().map_or(0, |&bytes| u16::from_le_bytes(bytes).into());
        Ok(Presence { words: words.as_chunks().0, rank })
    }

    /// The index among the present values of the value of a row; `None` if the row has none, or is none of the block.
    #[inline]
    pub fn place(&self, row: usize) -> Result<Option<usize>> {
        Cursor::new(*self).place(row)
    }

    /// All strings of its dictionary, in the order of their codes.
    pub(super) fn dictionary(&self) -> Result<StringColumn> {
        let header = self.header;
        let count = if header.encoding == Encoding::StringDictionary { header.dictionary as usize } else { 0 };
        (0..count).map(|code| self.dictionary_text(code)).collect()
    }

    /// The string of a code of its dictionary, which must be one.
    #[inline]
    fn dictionary_text(&self, code: usize) -> Result<&'a str> {
        let place = self.header.dictionary_bytes(code);
        let skipped = place.start - self.header.dictionary_start();
        let offsets = Packed::part(self.read(place)?, skipped, self.header.dictionary_width);
        self.text(self.header.text_bytes(offsets.get(code), offsets.get(code + 1)))
    }

    /// The string of these bytes.
    #[inline]
    fn text(&self, bytes: Range<usize>) -> Result<&'a str> {
        std::str::from_utf8(self.read(bytes)?).map_err(|_| self.damage("a text is not UTF-8"))
    }

    /// The values at some places.
    #[inline]
    pub fn values(&self, places: Range<usize>) -> Result<Values<'a>> {
        if places.end > self.header.present as usize {
            return Err(self.no_place(places.end));
        }
        let bytes = self.header.value_bytes(&places);
        let is_whole = places == (0..self.header.present as usize);
        Ok(Values { header: self.header, start: bytes.start, bytes: self.read(bytes)?, is_whole })
    }

    /// The values at a place and behind it, as far as they are verified together with it.
    #[inline]
    fn values_around(&self, place: usize) -> Result<Values<'a>> {
        let Source::File(_) = self.source else { return self.values(0..self.header.present as usize) };
        let needed = self.header.value_bytes(&(place..place + 1));
        let offset = self.header.offset as usize;
        let end = (offset + needed.end).next_multiple_of(CHECKSUM_BLOCK_BYTES) - offset;
        let end = end.min(self.header.length as usize).max(needed.end);
        Ok(Values { header: self.header, start: needed.start, bytes: self.read(needed.start..end)?, is_whole: false })
    }

    #[cold]
    fn no_place(&self, place: usize) -> model::Error {
        self.damage(format!("value {place} is wanted of {}", self.header.present))
    }

    #[cold]
    fn no_code(&self, code: usize) -> model::Error {
        self.damage(format!("the code {code} is not in the dictionary"))
    }

    /// The damage of a value of time that is out of its bounds.
    #[cold]
    pub(super) fn no_time(&self, value: Value) -> model::Error {
        let problem = value.check_time().map_or_else(|error| error.message().to_owned(), |()| String::new());
        self.damage(problem)
    }

    /// Damage in this block.
    pub fn damage(&self, problem: impl Into<String>) -> model::Error {
        StorageError::corrupt(self.path, self.header.offset, problem)
    }
}

/// The rows of a group of [`RANK_ROWS`] that have values.
#[derive(Clone, Copy, Debug)]
struct Presence<'a> {
    words: &'a [[u8; 8]],
    /// Values before the group.
    rank: usize,
}

impl Presence<'_> {
    /// The place of the value of a row of the group.
    #[inline]
    fn place(&self, row: usize) -> Option<usize> {
        let word = u64::from_le_bytes(*self.words.get(row / 64)?);
        if word >> (row % 64) & 1 == 0 {
            return None;
        }
        let ones = |word: &[u8; 8]| u64::from_le_bytes(*word).count_ones() as usize;
        let before: usize = self.words[..row / 64].iter().map(ones).sum();
        Some(self.rank + before + (word & ((1 << (row % 64)) - 1)).count_ones() as usize)
    }
}

/// The values at some places of a block, verified.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    header: &'a BlockHeader,
    /// Start of the bytes in the block.
    start: usize,
    bytes: &'a [u8],
    /// They are those at all places.
    is_whole: bool,
}

impl<'a> Values<'a> {
    /// No values.
    fn none(header: &'a BlockHeader) -> Values<'a> {
        Values { header, start: usize::MAX, bytes: &[], is_whole: false }
    }

    /// True if the value at a place is among them.
    #[inline]
    fn hold(&self, place: usize) -> bool {
        if self.is_whole {
            return true;
        }
        let needed = self.header.value_bytes(&(place..place + 1));
        self.start <= needed.start && needed.end - self.start <= self.bytes.len()
    }

    #[inline]
    fn packed(&self, width: u8) -> Packed<'a> {
        Packed::part(self.bytes, self.start - self.header.null_bytes(), width)
    }

    /// The bytes from one of the values' own on; the first value starts at 0.
    #[inline]
    fn from(&self, at: usize) -> &'a [u8] {
        &self.bytes[at + self.header.null_bytes() - self.start..]
    }

    /// The values as what they are if all have the same width.
    #[inline(always)]
    pub(super) fn fixed(&self) -> Fixed<'a> {
        Fixed::new(self.header, self.bytes, self.start.wrapping_sub(self.header.null_bytes()))
    }

    /// Fills `out` with the integers from a place on.
    pub fn ints(&self, place: usize, out: &mut [u64]) {
        self.packed(self.header.width).unpack(place, out);
        let min = self.header.min;
        out.iter_mut().for_each(|entry| *entry = entry.wrapping_add(min));
    }

    /// Adds `count` floats from a place on to `out`.
    pub fn floats(&self, place: usize, count: usize, out: &mut Vec<f64>) {
        match self.header.encoding {
            Encoding::Float32 => {
                let chunks = self.from(place * 4)[..count * 4].as_chunks().0;
                out.extend(chunks.iter().map(|&bytes| f64::from(f32::from_le_bytes(bytes))));
            }
            Encoding::Float64 => {
                out.extend(self.from(place * 8)[..count * 8].as_chunks().0.iter().map(|&x| f64::from_le_bytes(x)));
            }
            _ => out.resize(out.len() + count, f64::from_bits(self.header.min)),
        }
    }

    /// The code into the dictionary of the string at a place.
    #[inline]
    pub fn code(&self, place: usize) -> usize {
        self.packed(self.header.width).get(place) as usize
    }

    /// Fills `out` with the codes from a place on.
    pub fn codes(&self, place: usize, out: &mut [u64]) {
        self.packed(self.header.width).unpack(place, out);
    }

    /// Byte range in the block of the string or tagged value at a place.
    #[inline]
    fn far(&self, place: usize) -> Range<usize> {
        let offsets = self.packed(self.header.width);
        self.header.far_bytes(offsets.get(place), offsets.get(place + 1))
    }

    /// The sixteen bytes with a bit of the rows of values in parts.
    #[inline]
    pub(super) fn bits(&self, bit: usize) -> u128 {
        let bytes = self.from(self.header.dictionary as usize + bit / 8)[..16].try_into();
        u128::from_le_bytes(bytes.expect("the slice has sixteen bytes")) >> (bit % 8)
    }
}

/// A value that was found: verified except for the string or the tagged value that it leads to.
#[derive(Clone, Copy, Debug)]
pub struct Found<'c, 'a> {
    /// Its block.
    pub block: &'c Block<'a>,
    /// Values among which it is.
    pub values: &'c Values<'a>,
    /// Its place.
    pub place: usize,
}

impl<'a> Found<'_, 'a> {
    /// The integer (or date, or time of day).
    #[inline]
    pub fn int(&self) -> i64 {
        self.values.fixed().int(self.place)
    }

    /// The float.
    #[inline]
    pub fn float(&self) -> f64 {
        self.values.fixed().float(self.place)
    }

    /// The boolean.
    #[inline]
    pub fn bool(&self) -> bool {
        self.values.fixed().bool(self.place)
    }

    /// The code of the string in the dictionary.
    #[inline]
    pub fn code(&self) -> Result<usize> {
        let code = self.values.code(self.place);
        if code < self.block.header.dictionary as usize { Ok(code) } else { Err(self.block.no_code(code)) }
    }

    /// The string.
    #[inline]
    pub fn text(&self) -> Result<&'a str> {
        match self.block.header.encoding {
            Encoding::StringDictionary => self.block.dictionary_text(self.code()?),
            _ => self.block.text(self.values.far(self.place)),
        }
    }

    /// The bytes of the string or tagged value, which are verified when it is read; empty if it leads to none, or if
    /// that is in a dictionary: a dictionary is small against its column and stays in memory by being used.
    pub fn far_bytes(&self) -> Range<usize> {
        match self.block.header.encoding {
            Encoding::StringPlain | Encoding::Mixed => self.values.far(self.place),
            _ => 0..0,
        }
    }

    /// The value that is an integer each; out of its bounds it is damage.
    #[inline]
    fn packed<T: Scalar>(&self) -> Result<T> {
        let found = T::of_parts([self.int(), 0, 0, 0], Zone::UTC);
        if found.is_valid() { Ok(found) } else { Err(self.block.no_time(found.into())) }
    }

    /// The value.
    pub fn value(&self) -> Result<Value> {
        Ok(match self.block.header.encoding {
            Encoding::Absent => Value::Null,
            Encoding::Packed(kind) => with_stored!(kind, {
                FixedKind::Node | FixedKind::Edge => Value::Null,
            }, T => self.packed::<T>()?.into()),
            Encoding::Parts(kind) => with_stored!(kind, {
                FixedKind::Node | FixedKind::Edge => Value::Null,
            }, T => Parts::of::<T>(self.block)?.value::<T>(self)?.into()),
            Encoding::Float64 | Encoding::Float32 | Encoding::FloatConstant => Value::Float(self.float()),
            Encoding::Bool => Value::Bool(self.bool()),
            Encoding::StringPlain | Encoding::StringDictionary => Value::string(self.text()?),
            Encoding::Mixed => {
                let bytes = self.block.read(self.far_bytes())?;
                value::decode(&mut Get::new(bytes, self.block.path, self.block.header.offset))?
            }
        })
    }
}

/// Finds the values of rows of a block, and remembers what was verified for the last of them.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    block: Block<'a>,
    /// The group of rows that was looked at last.
    presence: Option<(usize, Presence<'a>)>,
    values: Values<'a>,
}

impl<'a> Cursor<'a> {
    /// A cursor over the rows of a block.
    #[inline]
    pub fn new(block: Block<'a>) -> Cursor<'a> {
        Cursor { block, presence: None, values: Values::none(block.header) }
    }

    /// The index among the present values of the value of a row; `None` if the row has none, or is none of the block.
    #[inline]
    pub fn place(&mut self, row: usize) -> Result<Option<usize>> {
        let header = self.block.header;
        if row >= header.rows as usize || header.present == 0 {
            return Ok(None);
        }
        if !header.has_nulls {
            return Ok(Some(row));
        }
        let group = row / RANK_ROWS;
        let presence = match self.presence {
            Some((at, presence)) if at == group => presence,
            _ => self.presence.insert((group, self.block.presence(group)?)).1,
        };
        Ok(presence.place(row % RANK_ROWS))
    }

    /// Like [`Cursor::place`]; a place at which there is no value is damage.
    #[inline]
    pub(super) fn place_within(&mut self, row: usize) -> Result<Option<usize>> {
        match self.place(row)? {
            Some(place) if place >= self.block.header.present as usize => Err(self.block.no_place(place)),
            place => Ok(place),
        }
    }

    /// The value of a row; `None` if the row has none, or is none of the block.
    #[inline]
    pub fn find(&mut self, row: usize) -> Result<Option<Found<'_, 'a>>> {
        let Some(place) = self.place_within(row)? else { return Ok(None) };
        if !self.values.hold(place) {
            self.values = self.block.values_around(place)?;
        }
        Ok(Some(Found { block: &self.block, values: &self.values, place }))
    }
}
