//! Strings of columns as they are read: those of dictionaries once each, the rows as codes; those that lie end to end in a run of
//! rows all at once.

use std::ops::Range;
use std::sync::Arc;

use model::{Bitmap, Column, ColumnData, Result, StringColumn};

use super::access::Found;
use super::block::{BlockHeader, Encoding};
use super::read::{BlockSource, each_block, is_without_nulls, visit};
use crate::format::COLUMN_BLOCK_ROWS;

/// Largest number of strings of a dictionary that is remembered.
const DICTIONARY_TEXTS_MAX: usize = 4_096;

/// Dictionaries that are remembered together, at most.
const DICTIONARIES_MAX: usize = 64;

/// Rows of a run for each string of a dictionary, from which on the dictionary is had whole.
const WHOLE_ROWS: usize = 2;

/// Number of strings below which they are laid end to end.
const CODED_ROWS_MIN: usize = 16;

/// Marks a number of a dictionary whose string was not read yet.
const UNREAD: u32 = u32::MAX;

/// Strings as they are gathered: those of dictionaries are read once each.
struct Texts {
    /// Number of rows there will be.
    rows: usize,
    texts: StringColumn,
    /// For each row the number of its string; only once a dictionary was met.
    codes: Vec<u32>,
    /// By the header of a block with a dictionary: the number of each string there. Blocks of several buffers in memory
    /// lie at the same places, each in its own buffer: so it is the header that tells them apart.
    dictionaries: Vec<(*const BlockHeader, Vec<u32>)>,
    /// Position in `dictionaries` of the one that was used last.
    last: usize,
}

impl Texts {
    fn new(rows: usize) -> Texts {
        Texts { rows, texts: StringColumn::default(), codes: Vec::new(), dictionaries: Vec::new(), last: 0 }
    }

    #[inline]
    fn push(&mut self, found: Found<'_, '_>) -> Result<()> {
        let header = found.block.header();
        let known = if is_shared(header, self.rows) { self.dictionary(header) } else { None };
        let Some(known) = known else {
            self.push_text(found.text()?);
            return Ok(());
        };
        self.push_code(known, found.code()?, || found.text())
    }

    /// Adds the string of a code of a known dictionary.
    #[inline]
    fn push_code<'a>(&mut self, known: usize, code: usize, text: impl FnOnce() -> Result<&'a str>) -> Result<()> {
        let number = match self.dictionaries[known].1.get(code) {
            Some(&number) if number != UNREAD => number,
            _ => self.add_text(known, code, text()?),
        };
        self.codes.push(number);
        Ok(())
    }

    /// Adds the string of a code that was not met before; gives its number.
    #[cold]
    fn add_text(&mut self, known: usize, code: usize, text: &str) -> u32 {
        let number = self.texts.len() as u32;
        self.texts.push(text);
        self.dictionaries[known].1[code] = number;
        number
    }

    fn push_text(&mut self, text: &str) {
        if !self.dictionaries.is_empty() {
            self.codes.push(self.texts.len() as u32);
        }
        self.texts.push(text);
    }

    /// The place among the dictionaries of that of a block.
    #[inline]
    fn dictionary(&mut self, block: &BlockHeader) -> Option<usize> {
        let header: *const BlockHeader = block;
        if self.dictionaries.get(self.last).is_none_or(|(of, _)| *of != header) {
            self.last = match self.dictionaries.iter().position(|(of, _)| *of == header) {
                Some(known) => known,
                None if self.dictionaries.len() == DICTIONARIES_MAX => return None,
                None => {
                    if self.dictionaries.is_empty() {
                        self.codes.reserve(self.rows);
                        self.codes.extend(0..self.texts.len() as u32);
                    }
                    self.dictionaries.push((header, vec![UNREAD; block.dictionary as usize]));
                    self.dictionaries.len() - 1
                }
            };
        }
        Some(self.last)
    }

    fn finish(self) -> StringColumn {
        if self.dictionaries.is_empty() { self.texts } else { StringColumn::coded(Arc::new(self.texts), self.codes) }
    }
}

/// The strings at these positions; null where there is none.
pub(super) fn gather<S: BlockSource>(source: &S, positions: impl Iterator<Item = u64>, count: usize) -> Result<Column> {
    let mut texts = Texts::new(count);
    let mut validity: Option<Bitmap> = None;
    let mut rows = 0;
    visit(source, positions, |found| {
        match found {
            Some(found) => {
                texts.push(found)?;
                if let Some(validity) = &mut validity {
                    validity.push(true);
                }
            }
            None => {
                validity.get_or_insert_with(|| Bitmap::filled(rows, true)).push(false);
                texts.push_text("");
            }
        }
        rows += 1;
        Ok(())
    })?;
    Ok(Column { data: ColumnData::String(texts.finish()), validity })
}

/// True if a gather of that number of rows remembers the dictionary of a block.
fn is_shared(header: &BlockHeader, rows: usize) -> bool {
    header.encoding == Encoding::StringDictionary
        && header.dictionary as usize <= DICTIONARY_TEXTS_MAX.min(rows.saturating_mul(4))
        && rows >= CODED_ROWS_MIN
}

/// True if a run of rows has no nulls, and few dictionaries have all its strings: see [`of_run`].
pub(super) fn is_in_dictionaries<S: BlockSource>(source: &S, run: &Range<u64>) -> bool {
    if !is_without_nulls(source, run) {
        return false;
    }
    let rows = (run.end - run.start) as usize;
    let blocks = run.start as usize / COLUMN_BLOCK_ROWS..(run.end as usize).div_ceil(COLUMN_BLOCK_ROWS);
    blocks.len() <= DICTIONARIES_MAX
        && source.headers().get(blocks).is_some_and(|headers| headers.iter().all(|header| is_shared(header, rows)))
}

/// The strings of a run of which [`is_in_dictionaries`] is true: their codes are unpacked together.
pub(super) fn of_run<S: BlockSource>(source: &S, run: &Range<u64>) -> Result<Column> {
    if let Some(texts) = whole_dictionary(source, run) {
        return in_dictionary(source, run, texts);
    }
    let mut texts = Texts::new((run.end - run.start) as usize);
    let mut codes = [0u64; 512];
    each_block(source, run, |block, values, rows| {
        let Some(known) = texts.dictionary(block.header()) else {
            return Err(block.damage("its dictionary is one too many"));
        };
        for from in rows.clone().step_by(codes.len()) {
            let part = &mut codes[..(rows.end - from).min(512)];
            values.codes(from, part);
            for (place, &code) in (from..).zip(part.iter()) {
                let found = Found { block, values, place };
                texts.push_code(known, code as usize, || found.text())?;
            }
        }
        Ok(())
    })?;
    Ok(Column::new(ColumnData::String(texts.finish())))
}

/// The dictionary of the only block that has rows of a run, if there are many of these for each of its strings.
fn whole_dictionary<S: BlockSource>(source: &S, run: &Range<u64>) -> Option<Arc<StringColumn>> {
    let (block, last) = (run.start as usize / COLUMN_BLOCK_ROWS, (run.end as usize - 1) / COLUMN_BLOCK_ROWS);
    let strings = source.headers().get(block)?.dictionary as usize;
    let has_many = strings.saturating_mul(WHOLE_ROWS) <= (run.end - run.start) as usize;
    if block == last && has_many { source.dictionary(block) } else { None }
}

/// The strings of a run in one block, by codes of its dictionary.
fn in_dictionary<S: BlockSource>(source: &S, run: &Range<u64>, texts: Arc<StringColumn>) -> Result<Column> {
    let mut codes: Vec<u32> = Vec::with_capacity((run.end - run.start) as usize);
    let mut buffer = [0u64; 512];
    each_block(source, run, |block, values, rows| {
        for from in rows.clone().step_by(buffer.len()) {
            let part = &mut buffer[..(rows.end - from).min(512)];
            values.codes(from, part);
            codes.extend(part.iter().map(|&code| code as u32));
        }
        match codes.iter().position(|&code| code as usize >= texts.len()) {
            Some(row) => Found { block, values, place: rows.start + row }.code().map(|_| ()),
            None => Ok(()),
        }
    })?;
    Ok(Column::new(ColumnData::String(StringColumn::coded(texts, codes))))
}

/// True if a run of rows has no nulls, and all its strings lie end to end in their blocks: see [`of_plain_run`].
pub(super) fn is_plain<S: BlockSource>(source: &S, run: &Range<u64>) -> bool {
    let blocks = run.start as usize / COLUMN_BLOCK_ROWS..(run.end as usize).div_ceil(COLUMN_BLOCK_ROWS);
    let are_plain = |headers: &[BlockHeader]| headers.iter().all(|header| header.encoding == Encoding::StringPlain);
    is_without_nulls(source, run) && source.headers().get(blocks).is_some_and(are_plain)
}

/// The strings of a run of which [`is_plain`] is true: those of a block are read, verified and copied together.
pub(super) fn of_plain_run<S: BlockSource>(source: &S, run: &Range<u64>) -> Result<Column> {
    let mut texts = StringColumn::default();
    let mut offsets = Vec::new();
    each_block(source, run, |block, values, rows| {
        offsets.resize(rows.len() + 1, 0);
        values.codes(rows.start, &mut offsets);
        let (first, last) = (offsets[0], offsets[rows.len()]);
        let bytes = block.read(block.header().far_bytes(first, last))?;
        let text = std::str::from_utf8(bytes).map_err(|_| block.damage("a text is not UTF-8"))?;
        offsets.iter_mut().for_each(|offset| *offset = offset.wrapping_sub(first));
        if texts.append_parts(&offsets, text) { Ok(()) } else { Err(block.damage("its texts do not lie end to end")) }
    })?;
    Ok(Column::new(ColumnData::String(texts)))
}
