//! One block of a column: its header, and where in its bytes values lie.

use std::ops::Range;

use model::{FixedKind, Result, Scalar, Stored, with_stored};

use super::parts::PADDING_BYTES;
use crate::codec::bits::{bytes_of, is_width, packed_bytes};
use crate::codec::bytes::{Get, Put};
use crate::codec::stored::kind_of_encoding;
use crate::format::COLUMN_BLOCK_ROWS;

/// Rows between two entries of the rank table of a block with nulls.
pub(super) const RANK_ROWS: usize = 512;

/// Encoding of the values of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// No row has a value.
    Absent,
    /// Values that are an integer each, as packed differences from the least.
    Packed(FixedKind),
    /// Values that are several integers each.
    Parts(FixedKind),
    /// Floats in eight bytes.
    Float64,
    /// Floats in four bytes, where that loses nothing.
    Float32,
    /// The same float in every row, in the header.
    FloatConstant,
    /// One bit each.
    Bool,
    /// Strings laid end to end, and packed offsets.
    StringPlain,
    /// Packed codes into a dictionary of strings.
    StringDictionary,
    /// Tagged values laid end to end, and packed offsets.
    Mixed,
}

/// Kind of the values of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Values of a fixed size.
    Fixed(FixedKind),
    /// Strings.
    String,
    /// Several kinds, or lists, or bytes.
    Mixed,
}

impl Encoding {
    const PLAIN: [(u8, Encoding); 8] = [
        (0, Encoding::Absent),
        (4, Encoding::Float64),
        (5, Encoding::Float32),
        (6, Encoding::FloatConstant),
        (7, Encoding::Bool),
        (8, Encoding::StringPlain),
        (9, Encoding::StringDictionary),
        (10, Encoding::Mixed),
    ];

    /// The encoding of a kind of values that are one or several integers each.
    pub fn of<T: Scalar>() -> Encoding {
        if T::PARTS == 1 { Encoding::Packed(T::KIND) } else { Encoding::Parts(T::KIND) }
    }

    /// Its number in files.
    fn number(self) -> u8 {
        match self {
            Encoding::Packed(kind) | Encoding::Parts(kind) => number_of(kind),
            plain => Encoding::PLAIN.iter().find(|(_, encoding)| *encoding == plain).map_or(0, |(number, _)| *number),
        }
    }

    /// The encoding with that number.
    fn of_number(number: u8) -> Option<Encoding> {
        if let Some((_, encoding)) = Encoding::PLAIN.iter().find(|(plain, _)| *plain == number) {
            return Some(*encoding);
        }
        Some(
            with_stored!(kind_of_encoding(number)?, { FixedKind::Node | FixedKind::Edge => return None, }, T => Encoding::of::<T>()),
        )
    }

    /// The kind of the values; `None` if there are none.
    pub fn kind(self) -> Option<Kind> {
        Some(match self {
            Encoding::Absent => return None,
            Encoding::Packed(kind) | Encoding::Parts(kind) => Kind::Fixed(kind),
            Encoding::Float64 | Encoding::Float32 | Encoding::FloatConstant => Kind::Fixed(FixedKind::Float),
            Encoding::Bool => Kind::Fixed(FixedKind::Bool),
            Encoding::StringPlain | Encoding::StringDictionary => Kind::String,
            Encoding::Mixed => Kind::Mixed,
        })
    }
}

/// The number in files of the encoding of a kind that has no other; 0 for others.
fn number_of(kind: FixedKind) -> u8 {
    with_stored!(kind, { FixedKind::Node | FixedKind::Edge => 0, }, T => T::ENCODING)
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
        out.extend_from_slice(&[self.encoding.number(), self.width, self.dictionary_width, self.has_nulls as u8]);
        out.put_u32(self.rows);
        out.put_u32(self.present);
        out.put_u32(self.dictionary);
        [self.min, self.max, self.offset, self.length].iter().for_each(|&field| out.put_u64(field));
    }

    /// Reads a header and checks that its parts fit each other.
    pub fn take(get: &mut Get<'_>) -> Result<BlockHeader> {
        let [encoding, width, dictionary_width, has_nulls] = get.take(4)?.try_into().expect("four bytes were taken");
        let Some(encoding) = Encoding::of_number(encoding) else {
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
            && (is_width(width) || matches!(encoding, Encoding::Parts(_)))
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
            Encoding::Parts(_) => {
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
                Encoding::Packed(_) | Encoding::Bool => packed_bytes(present, self.width),
                Encoding::Parts(_) => {
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
