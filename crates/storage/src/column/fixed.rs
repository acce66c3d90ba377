//! Values of fixed width: integers, floats and booleans at any place of a block.
//!
//! Invariant: a [`Fixed`] is made by [`super::access::Values::fixed`] alone, of bytes that were verified.
//! Cost: a value is one load; what is needed for it lies in one cache line, whatever the header of the block holds.

use model::Result;

use super::access::Cursor;
use super::block::{BlockHeader, Encoding};
use super::read::BlockSource;
use crate::codec::bits::Packed;
use crate::format::COLUMN_BLOCK_ROWS;

/// Layout of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Packed differences from the least.
    Packed,
    /// Floats in four bytes.
    Float32,
    /// Floats in eight bytes.
    Float64,
    /// The same float in every row.
    Constant,
}

/// The values of fixed width at some places of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed<'a> {
    bytes: &'a [u8],
    /// Bytes of the block's values before these.
    skipped: usize,
    /// The least value, or the bits of the only one.
    min: u64,
    width: u8,
    layout: Layout,
}

impl<'a> Fixed<'a> {
    /// The values in bytes that start `skipped` bytes behind the first value of the block.
    #[inline(always)]
    pub(super) fn new(header: &BlockHeader, bytes: &'a [u8], skipped: usize) -> Fixed<'a> {
        let layout = match header.encoding {
            Encoding::Float32 => Layout::Float32,
            Encoding::Float64 => Layout::Float64,
            Encoding::FloatConstant => Layout::Constant,
            _ => Layout::Packed,
        };
        Fixed { bytes, skipped, min: header.min, width: header.width, layout }
    }

    /// The integer (or date, or time of day) at a place.
    #[inline(always)]
    pub(super) fn int(&self, place: usize) -> i64 {
        Packed::part(self.bytes, self.skipped, self.width).get(place).wrapping_add(self.min) as i64
    }

    /// The float at a place.
    #[inline(always)]
    pub(super) fn float(&self, place: usize) -> f64 {
        match self.layout {
            Layout::Float64 => f64::from_le_bytes(self.array(place * 8)),
            Layout::Float32 => f64::from(f32::from_le_bytes(self.array(place * 4))),
            Layout::Packed | Layout::Constant => f64::from_bits(self.min),
        }
    }

    /// The boolean at a place.
    #[inline(always)]
    pub(super) fn bool(&self, place: usize) -> bool {
        Packed::part(self.bytes, self.skipped, 1).get(place) != 0
    }

    #[inline(always)]
    fn array<const BYTES: usize>(&self, at: usize) -> [u8; BYTES] {
        let at = at - self.skipped;
        self.bytes[at..at + BYTES].try_into().expect("the slice has as many bytes as the array")
    }
}

/// A block that was opened to be read at random places.
#[derive(Clone, Copy)]
struct Opened<'a> {
    values: Fixed<'a>,
    /// Rows that have a value.
    present: u32,
    /// Number of the cursor that finds the places of a block with nulls.
    cursor: Option<u32>,
}

/// Calls `each` for every position of a column in memory, whose values have a fixed width, with the values of its block
/// and its place among them; with `None` where there is no value. Positions may jump about among the blocks: each is
/// opened once.
#[inline(always)]
pub(super) fn visit_fixed<S: BlockSource>(
    source: &S,
    positions: impl Iterator<Item = u64>,
    mut each: impl FnMut(Option<(&Fixed<'_>, usize)>),
) -> Result<()> {
    let mut blocks: Vec<Option<Opened<'_>>> = vec![None; source.headers().len()];
    let mut cursors: Vec<Cursor<'_>> = Vec::new();
    for position in positions {
        let (index, row) = (position as usize / COLUMN_BLOCK_ROWS, position as usize % COLUMN_BLOCK_ROWS);
        let block = match blocks.get_mut(index) {
            Some(Some(block)) => block,
            Some(unopened) => unopened.insert(open(source, index, &mut cursors)?),
            None => {
                each(None);
                continue;
            }
        };
        let place = match block.cursor {
            None if row < block.present as usize => Some(row),
            None => None,
            Some(cursor) => cursors[cursor as usize].place_within(row)?,
        };
        each(place.map(|place| (&block.values, place)));
    }
    Ok(())
}

/// Opens a block; one with nulls with a cursor.
#[cold]
fn open<'a, S: BlockSource>(source: &'a S, index: usize, cursors: &mut Vec<Cursor<'a>>) -> Result<Opened<'a>> {
    let block = source.block(index)?;
    let header = block.header();
    let cursor = header.has_nulls.then_some(cursors.len() as u32);
    if cursor.is_some() {
        cursors.push(Cursor::new(block));
    }
    let values = block.values(0..header.present as usize)?;
    Ok(Opened { values: values.fixed(), present: header.present, cursor })
}
