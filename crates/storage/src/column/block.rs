//! One block of a column: its header, and access to its values without decoding the rest.

use std::ops::Range;
use std::path::Path;

use model::temporal::{Date, LocalTime};
use model::{Result, Value};

use super::parts::{PADDING_BYTES, Parts, part_count};

use crate::codec::bits::{get, is_width, packed_bytes, unpack};
use crate::codec::bytes::{Get, Put};
use crate::codec::value;
use crate::error::StorageError;
use crate::file::StoreFile;
use crate::format::COLUMN_BLOCK_ROWS;

/// Rows between two entries of the rank table of a block with nulls.
const RANK_ROWS: usize = 512;

/// How the values of a block are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// No row has a value.
    Absent = 0,
    /// Integers as packed differences from the least.
    Int = 1,
    /// Dates, like integers.
    Date = 2,
    /// Local date-times in parts: seconds and nanoseconds.
    LocalDateTime = 3,
    /// Floats in eight bytes.
    Float64 = 4,
    /// Floats in four bytes, where that loses nothing.
    Float32 = 5,
    /// The same float in every row, in the header.
    FloatConstant = 6,
    /// One bit each.
    Bool = 7,
    /// Texts laid end to end, and packed offsets.
    StringPlain = 8,
    /// Packed codes into a dictionary of texts.
    StringDictionary = 9,
    /// Tagged values laid end to end, and packed offsets.
    Mixed = 10,
    /// Times of day, like integers.
    LocalTime = 11,
    /// Times of day in parts: nanoseconds and the offset.
    Time = 12,
    /// Date-times in parts: seconds, nanoseconds, and the number of the zone.
    DateTime = 13,
    /// Durations in parts: months, days, seconds, nanoseconds.
    Duration = 14,
}

/// What the values of a block are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Booleans.
    Bool,
    /// Integers.
    Int,
    /// Floats.
    Float,
    /// Texts.
    String,
    /// Dates.
    Date,
    /// Local date-times.
    LocalDateTime,
    /// Several kinds, or lists, or bytes.
    Mixed,
    /// Times of day.
    LocalTime,
    /// Times of day with an offset.
    Time,
    /// Date-times with a zone.
    DateTime,
    /// Durations.
    Duration,
}

impl Encoding {
    const ALL: [Encoding; 15] = [
        Encoding::Absent,
        Encoding::Int,
        Encoding::Date,
        Encoding::LocalDateTime,
        Encoding::Float64,
        Encoding::Float32,
        Encoding::FloatConstant,
        Encoding::Bool,
        Encoding::StringPlain,
        Encoding::StringDictionary,
        Encoding::Mixed,
        Encoding::LocalTime,
        Encoding::Time,
        Encoding::DateTime,
        Encoding::Duration,
    ];

    /// The kind of the values; `None` if there are none.
    pub fn kind(self) -> Option<Kind> {
        Some(match self {
            Encoding::Absent => return None,
            Encoding::Int => Kind::Int,
            Encoding::Date => Kind::Date,
            Encoding::LocalDateTime => Kind::LocalDateTime,
            Encoding::Float64 | Encoding::Float32 | Encoding::FloatConstant => Kind::Float,
            Encoding::Bool => Kind::Bool,
            Encoding::StringPlain | Encoding::StringDictionary => Kind::String,
            Encoding::Mixed => Kind::Mixed,
            Encoding::LocalTime => Kind::LocalTime,
            Encoding::Time => Kind::Time,
            Encoding::DateTime => Kind::DateTime,
            Encoding::Duration => Kind::Duration,
        })
    }
}

/// What stands about a block in the directory of its file: 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// How the values are written.
    pub encoding: Encoding,
    /// Bits of a packed entry, or of all parts of a row.
    pub width: u8,
    /// Bits of a packed dictionary offset.
    pub dictionary_width: u8,
    /// A presence bitmap with ranks precedes the values.
    pub has_nulls: bool,
    /// Rows, at most `COLUMN_BLOCK_ROWS`.
    pub rows: u32,
    /// Rows that have a value.
    pub present: u32,
    /// Texts in the dictionary, or bytes of the table of parts.
    pub dictionary: u32,
    /// The least value: an integer, or the bits of a float (and its only value if it is constant).
    pub min: u64,
    /// The largest value, likewise.
    pub max: u64,
    /// Where the bytes start.
    pub offset: u64,
    /// How many bytes there are.
    pub length: u64,
}

impl BlockHeader {
    /// Bytes of a header in a directory.
    pub const BYTES: usize = 48;

    /// A block of so many rows without values.
    pub fn absent(rows: usize) -> BlockHeader {
        BlockHeader {
            encoding: Encoding::Absent,
            width: 0,
            dictionary_width: 0,
            has_nulls: false,
            rows: rows as u32,
            present: 0,
            dictionary: 0,
            min: 0,
            max: 0,
            offset: 0,
            length: 0,
        }
    }

    /// Adds the header to a directory.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.encoding as u8, self.width, self.dictionary_width, self.has_nulls as u8]);
        out.put_u32(self.rows);
        out.put_u32(self.present);
        out.put_u32(self.dictionary);
        [self.min, self.max, self.offset, self.length].iter().for_each(|&field| out.put_u64(field));
    }

    /// Reads a header and checks that its parts fit each other.
    pub fn take(get: &mut Get<'_>) -> Result<BlockHeader> {
        let [encoding, width, dictionary_width, has_nulls] = get.take(4)?.try_into().expect("four bytes were taken");
        let Some(&encoding) = Encoding::ALL.get(encoding as usize) else {
            return Err(get.damage(format!("no block has the encoding {encoding}")));
        };
        let header = BlockHeader {
            encoding,
            width,
            dictionary_width,
            has_nulls: has_nulls != 0,
            rows: get.u32()?,
            present: get.u32()?,
            dictionary: get.u32()?,
            min: get.u64()?,
            max: get.u64()?,
            offset: get.u64()?,
            length: get.u64()?,
        };
        let is_sound = (is_width(width) || part_count(encoding).is_some())
            && is_width(dictionary_width)
            && header.rows as usize <= COLUMN_BLOCK_ROWS
            && header.present <= header.rows
            && (header.has_nulls || header.encoding == Encoding::Absent || header.present == header.rows)
            && header.fixed_bytes() as u64 <= header.length;
        if is_sound { Ok(header) } else { Err(get.damage("the header of a block contradicts itself")) }
    }

    /// Bytes of presence bitmap and rank table.
    #[inline]
    pub fn null_bytes(&self) -> usize {
        if self.has_nulls {
            let rows = self.rows as usize;
            rows.div_ceil(64) * 8 + (rows.div_ceil(RANK_ROWS) * 2).next_multiple_of(8)
        } else {
            0
        }
    }

    /// Bytes before the texts or tagged values, if there are such; otherwise all bytes.
    fn fixed_bytes(&self) -> usize {
        let present = self.present as usize;
        self.null_bytes()
            + match self.encoding {
                Encoding::Absent | Encoding::FloatConstant => 0,
                Encoding::Int | Encoding::Date | Encoding::LocalTime | Encoding::Bool => {
                    packed_bytes(present, self.width)
                }
                Encoding::LocalDateTime | Encoding::Time | Encoding::DateTime | Encoding::Duration => {
                    self.dictionary as usize + (present * self.width as usize).div_ceil(8) + PADDING_BYTES
                }
                Encoding::Float64 => present * 8,
                Encoding::Float32 => present * 4,
                Encoding::StringPlain | Encoding::Mixed => packed_bytes(present + 1, self.width),
                Encoding::StringDictionary => {
                    packed_bytes(present, self.width)
                        + packed_bytes(self.dictionary as usize + 1, self.dictionary_width)
                }
            }
    }
}

/// A block with its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The header.
    pub header: &'a BlockHeader,
    /// Exactly `header.length` bytes.
    pub bytes: &'a [u8],
    /// The file, for errors.
    pub path: &'a Path,
    /// The file that must bring the bytes into memory before they are read; `None` for bytes that are there.
    pub file: Option<&'a StoreFile>,
}

impl<'a> Block<'a> {
    /// Brings some of the bytes into memory. Values are a small part of a block, so those alone are asked for that are
    /// read: `ensure_row` before `place`, `ensure_place` before `int`, `float` and `bool`; the rest see to it themselves.
    #[inline]
    pub fn ensure(&self, bytes: Range<usize>) -> Result<()> {
        let end = bytes.end.min(self.bytes.len());
        match self.file {
            Some(file) if bytes.start < end => {
                file.ensure(self.header.offset as usize + bytes.start, end - bytes.start)
            }
            _ => Ok(()),
        }
    }

    /// The bytes that tell whether a row has a value: a part of the bitmap, and one of the rank table.
    #[inline]
    pub fn row_bytes(&self, row: usize) -> [Range<usize>; 2] {
        let (bitmap, rank) = (row / RANK_ROWS * (RANK_ROWS / 8), (self.header.rows as usize).div_ceil(64) * 8);
        [bitmap..bitmap + RANK_ROWS / 8, rank + row / RANK_ROWS * 2..rank + row / RANK_ROWS * 2 + 2]
    }

    /// Brings in what [`Block::place`] reads.
    #[inline]
    pub fn ensure_row(&self, row: usize) -> Result<()> {
        if self.header.has_nulls {
            self.row_bytes(row).into_iter().try_for_each(|bytes| self.ensure(bytes))
        } else {
            Ok(())
        }
    }

    /// The bytes with the value at a place, or with the code or the offsets that lead to it.
    #[inline]
    pub fn place_bytes(&self, place: usize) -> Range<usize> {
        self.run_bytes(place, 1)
    }

    /// The same for `count` places.
    #[inline]
    pub fn run_bytes(&self, place: usize, count: usize) -> Range<usize> {
        let start = self.header.null_bytes();
        let (start, bytes) = match self.header.encoding {
            Encoding::Float64 => (start + place * 8, count * 8),
            Encoding::Float32 => (start + place * 4, count * 4),
            Encoding::Bool => (start + place / 8, count / 8 + 8),
            Encoding::Absent | Encoding::FloatConstant => (start, 0),
            Encoding::LocalDateTime | Encoding::Time | Encoding::DateTime | Encoding::Duration => {
                let width = self.header.width as usize;
                let rows = start + self.header.dictionary as usize;
                (rows + place * width / 8, (count + 1) * width / 8 + PADDING_BYTES)
            }
            _ => {
                let width = self.header.width as usize;
                (start + place * width / 8, (count + 1) * width / 8 + 8)
            }
        };
        start..start + bytes
    }

    /// Brings in what reading the value at a place reads first.
    #[inline]
    pub fn ensure_place(&self, place: usize) -> Result<()> {
        self.ensure(self.place_bytes(place))
    }

    /// The bytes of the text or tagged value at a place whose offsets are in memory; empty if there is no such.
    pub fn far_bytes(&self, place: usize) -> Range<usize> {
        let (values, header) = (self.values(), self.header);
        let between = |start: usize, width: u8, index: usize, count: usize| {
            let offsets = &values[start..];
            let from = self.header.null_bytes() + start + packed_bytes(count + 1, width);
            let offset = |index: usize| from.saturating_add(get(offsets, width, index) as usize);
            offset(index)..offset(index + 1)
        };
        match header.encoding {
            Encoding::StringPlain | Encoding::Mixed => between(0, header.width, place, header.present as usize),
            // A dictionary is small against its column and stays in memory by being used.
            _ => 0..0,
        }
    }

    /// The index among the present values of the value of a row; `None` if the row has none.
    #[inline]
    pub fn place(&self, row: usize) -> Option<usize> {
        if !self.header.has_nulls {
            return (self.header.encoding != Encoding::Absent).then_some(row);
        }
        let word_at = row / 64;
        let word = self.word(word_at);
        if word >> (row % 64) & 1 == 0 {
            return None;
        }
        let bitmap_bytes = (self.header.rows as usize).div_ceil(64) * 8;
        let at = bitmap_bytes + row / RANK_ROWS * 2;
        let mut rank = u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]) as usize;
        for before in row / RANK_ROWS * (RANK_ROWS / 64)..word_at {
            rank += self.word(before).count_ones() as usize;
        }
        Some(rank + (word & ((1 << (row % 64)) - 1)).count_ones() as usize)
    }

    /// A word of the presence bitmap.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        let bytes = self.bytes[index * 8..index * 8 + 8].try_into().expect("a word has eight bytes");
        u64::from_le_bytes(bytes)
    }

    #[inline]
    fn values(&self) -> &'a [u8] {
        &self.bytes[self.header.null_bytes()..]
    }

    /// The integer (or date, or time of day) at a place.
    #[inline]
    pub fn int(&self, place: usize) -> i64 {
        get(self.values(), self.header.width, place).wrapping_add(self.header.min) as i64
    }

    /// Fills `out` with the integers from a place on.
    pub fn ints(&self, place: usize, out: &mut [u64]) {
        unpack(self.values(), self.header.width, place, out);
        let min = self.header.min;
        out.iter_mut().for_each(|entry| *entry = entry.wrapping_add(min));
    }

    /// The float at a place.
    #[inline]
    pub fn float(&self, place: usize) -> f64 {
        let values = self.values();
        match self.header.encoding {
            Encoding::Float32 => {
                let bytes = values[place * 4..place * 4 + 4].try_into().expect("a float has four bytes");
                f64::from(f32::from_le_bytes(bytes))
            }
            Encoding::Float64 => {
                let bytes = values[place * 8..place * 8 + 8].try_into().expect("a float has eight bytes");
                f64::from_le_bytes(bytes)
            }
            _ => f64::from_bits(self.header.min),
        }
    }

    /// Adds `count` floats from a place on to `out`.
    pub fn floats(&self, place: usize, count: usize, out: &mut Vec<f64>) {
        let values = self.values();
        match self.header.encoding {
            Encoding::Float32 => out.extend(
                values[place * 4..(place + count) * 4]
                    .chunks_exact(4)
                    .map(|bytes| f64::from(f32::from_le_bytes(bytes.try_into().expect("chunks have four bytes")))),
            ),
            Encoding::Float64 => out.extend(
                values[place * 8..(place + count) * 8]
                    .chunks_exact(8)
                    .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("chunks have eight bytes"))),
            ),
            _ => out.resize(out.len() + count, f64::from_bits(self.header.min)),
        }
    }

    /// The boolean at a place.
    #[inline]
    pub fn bool(&self, place: usize) -> bool {
        get(self.values(), 1, place) != 0
    }

    /// The code into the dictionary of the text at a place.
    #[inline]
    pub fn code(&self, place: usize) -> Result<usize> {
        self.ensure_place(place)?;
        Ok(get(self.values(), self.header.width, place) as usize)
    }

    /// The text at a place.
    #[inline]
    pub fn text(&self, place: usize) -> Result<&'a str> {
        let (values, header) = (self.values(), self.header);
        let present = header.present as usize;
        let (offsets, width, index, count) = if header.encoding == Encoding::StringDictionary {
            self.ensure_place(place)?;
            let code = get(values, header.width, place) as usize;
            if code >= header.dictionary as usize {
                return Err(self.damage(format!("the code {code} is not in the dictionary")));
            }
            let offsets = &values[packed_bytes(present, header.width)..];
            (offsets, header.dictionary_width, code, header.dictionary as usize)
        } else {
            (values, header.width, place, present)
        };
        let bytes = self.between(offsets, width, index, count)?;
        std::str::from_utf8(bytes).map_err(|_| self.damage("a text is not UTF-8"))
    }

    /// The bytes between two packed offsets; the bytes follow the `count + 1` offsets.
    fn between(&self, offsets: &'a [u8], width: u8, index: usize, count: usize) -> Result<&'a [u8]> {
        let base = self.bytes.len() - offsets.len();
        self.ensure(base + index * width as usize / 8..base + (index + 2) * width as usize / 8 + 8)?;
        let (start, end) = (get(offsets, width, index) as usize, get(offsets, width, index + 1) as usize);
        let first = packed_bytes(count + 1, width);
        let Some(bytes) = offsets[first..].get(start..end) else {
            return Err(self.damage(format!("the offsets {start} and {end} lie outside the block")));
        };
        self.ensure(base + first + start..base + first + end)?;
        Ok(bytes)
    }

    /// Any value at a place.
    pub fn value_at(&self, place: usize) -> Result<Value> {
        self.ensure_place(place)?;
        Ok(match self.header.encoding {
            Encoding::Absent => Value::Null,
            Encoding::Int => Value::Int(self.int(place)),
            Encoding::Date => Value::Date(Date(self.int(place))),
            Encoding::LocalTime => Value::LocalTime(LocalTime(self.int(place))),
            Encoding::LocalDateTime => Value::LocalDateTime(Parts::of(self)?.local_date_time(place)?),
            Encoding::Time => Value::Time(Parts::of(self)?.time(place)?),
            Encoding::DateTime => Value::DateTime(Parts::of(self)?.date_time(place)?),
            Encoding::Duration => Value::Duration(Parts::of(self)?.duration(place)?),
            Encoding::Float64 | Encoding::Float32 | Encoding::FloatConstant => Value::Float(self.float(place)),
            Encoding::Bool => Value::Bool(self.bool(place)),
            Encoding::StringPlain | Encoding::StringDictionary => Value::string(self.text(place)?),
            Encoding::Mixed => {
                let bytes = self.between(self.values(), self.header.width, place, self.header.present as usize)?;
                value::decode(&mut Get::new(bytes, self.path, self.header.offset))?
            }
        })
    }

    /// The value of a row, null if it has none.
    pub fn value(&self, row: usize) -> Result<Value> {
        self.ensure_row(row)?;
        self.place(row).map_or(Ok(Value::Null), |place| self.value_at(place))
    }

    /// Damage in this block.
    pub fn damage(&self, problem: impl Into<String>) -> model::Error {
        StorageError::corrupt(self.path, self.header.offset, problem)
    }
}

/// Adds the presence bitmap and its rank table, as [`Block::place`] reads them.
pub fn put_presence(words: &[u64], rows: usize, out: &mut Vec<u8>) {
    words.iter().for_each(|&word| out.put_u64(word));
    let mut rank = 0u16;
    for group in words.chunks(RANK_ROWS / 64) {
        out.extend_from_slice(&rank.to_le_bytes());
        rank += group.iter().map(|word| word.count_ones() as u16).sum::<u16>();
    }
    debug_assert_eq!(words.len(), rows.div_ceil(64));
    out.align();
}
