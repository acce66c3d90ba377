//! One block of a column: its header, and where in its bytes values lie.

use std::ops::Range;

use model::Result;

use super::parts::{PADDING_BYTES, part_count};
use crate::codec::bits::{bytes_of, is_width, packed_bytes};
use crate::codec::bytes::{Get, Put};
use crate::format::COLUMN_BLOCK_ROWS;

/// Rows between two entries of the rank table of a block with nulls.
pub(super) const RANK_ROWS: usize = 512;

/// Encoding of the values of a block.
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
    /// Strings laid end to end, and packed offsets.
    StringPlain = 8,
    /// Packed codes into a dictionary of strings.
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

/// Kind of the values of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Booleans.
    Bool,
    /// Integers.
    Int,
    /// Floats.
    Float,
    /// Strings.
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

/// Description of a block in the directory of its file: 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// Encoding of the values.
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
    /// Strings in the dictionary, or bytes of the table of parts.
    pub dictionary: u32,
    /// The least value: an integer, or the bits of a float (and its only value if it is constant).
    pub min: u64,
    /// The largest value, likewise.
    pub max: u64,
    /// Start of the bytes.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

impl BlockHeader {
    /// Bytes of a header in a directory.
    pub const BYTES: usize = 48;

    /// A block of `rows` rows without values.
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
        let is_of_encoding = match encoding {
            Encoding::Absent => header.present == 0 && !header.has_nulls,
            Encoding::Bool => width == 1,
            _ => header.present > 0,
        };
        let is_sound = is_of_encoding
            && (is_width(width) || part_count(encoding).is_some())
            && is_width(dictionary_width)
            && header.rows as usize <= COLUMN_BLOCK_ROWS
            && header.present <= header.rows
            && (header.has_nulls || header.encoding == Encoding::Absent || header.present == header.rows)
            && header.fixed_bytes() as u64 <= header.length
            && header.offset.checked_add(header.length).is_some();
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

    /// The bytes that tell which rows of a group of [`RANK_ROWS`] have values: a part of the bitmap, and a rank.
    #[inline]
    pub(super) fn presence_bytes(&self, group: usize) -> [Range<usize>; 2] {
        let end = (self.rows as usize).div_ceil(64) * 8;
        let start = (group * (RANK_ROWS / 8)).min(end);
        [start..(start + RANK_ROWS / 8).min(end), end + group * 2..end + group * 2 + 2]
    }

    /// The bytes with the values at some places, or with the codes or the offsets that lead to them.
    #[inline]
    pub(super) fn value_bytes(&self, places: &Range<usize>) -> Range<usize> {
        let bytes = match self.encoding {
            Encoding::Float64 => places.start * 8..places.end * 8,
            Encoding::Float32 => places.start * 4..places.end * 4,
            Encoding::Absent | Encoding::FloatConstant => 0..0,
            Encoding::LocalDateTime | Encoding::Time | Encoding::DateTime | Encoding::Duration => {
                let (rows, width) = (self.dictionary as usize, self.width as usize);
                rows + places.start * width / 8..rows + (places.end * width).div_ceil(8) + PADDING_BYTES
            }
            // An offset more than there are values.
            Encoding::StringPlain | Encoding::Mixed => bytes_of(self.width, &(places.start..places.end + 1)),
            _ => bytes_of(self.width, places),
        };
        self.null_bytes() + bytes.start..self.null_bytes() + bytes.end
    }

    /// Start of the offsets of the strings of a dictionary.
    #[inline]
    pub(super) fn dictionary_start(&self) -> usize {
        self.null_bytes() + packed_bytes(self.present as usize, self.width)
    }

    /// The bytes with the two offsets of a string of the dictionary.
    #[inline]
    pub(super) fn dictionary_bytes(&self, code: usize) -> Range<usize> {
        let bytes = bytes_of(self.dictionary_width, &(code..code + 2));
        self.dictionary_start() + bytes.start..self.dictionary_start() + bytes.end
    }

    /// The bytes of a string of the dictionary between two of its offsets.
    #[inline]
    pub(super) fn text_bytes(&self, start: u64, end: u64) -> Range<usize> {
        let first = self.dictionary_start() + packed_bytes(self.dictionary as usize + 1, self.dictionary_width);
        first.saturating_add(start as usize)..first.saturating_add(end as usize)
    }

    /// The bytes of a string or tagged value of its own between two of the offsets.
    #[inline]
    pub(super) fn far_bytes(&self, start: u64, end: u64) -> Range<usize> {
        let first = self.null_bytes() + packed_bytes(self.present as usize + 1, self.width);
        first.saturating_add(start as usize)..first.saturating_add(end as usize)
    }

    /// Bytes before the strings or tagged values, if there are such; otherwise all bytes.
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

/// Adds the presence bitmap and its rank table, as [`super::access`] reads them.
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
