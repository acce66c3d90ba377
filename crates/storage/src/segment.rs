//! Node segments: existence, labels and property columns of the nodes of one interval of ids.
//!
//! Row `r` of a segment is the node `segment_range(segment).start + r`. A segment has rows up to its last used id.
//! [`write`] makes segments from new rows, [`fold`] from an old segment and the runs over it.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use model::Result;
use model::id::{LabelId, PropertyKeyId};
use model::platform::Disk;

use crate::codec::bytes::{Get, Put};
use crate::column::ColumnReader;
use crate::file::StoreFile;
use crate::format::{CHECKSUM_BLOCK_BYTES, FileKind, SEGMENT_NODES};
use crate::manifest::SegmentEntry;

pub mod label_rows;
pub mod label_tests;
pub mod write;

/// Number of reads of each block of a bitmap for which the bitmap is brought into memory as a whole.
const READS_OF_A_BLOCK: usize = 16;
/// Bits of a bitmap's form in its directory; the number of rows of a list lies above them.
const FORM_BITS: u32 = 8;
/// Form of a list.
const FORM_LIST: u64 = 3;

/// A set of rows, in its file or known without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowBitmap {
    /// No bit is set.
    None,
    /// Every bit is set.
    All,
    /// The words lie in the file.
    Words {
        /// Start of the first word.
        start: usize,
    },
    /// Few bits are set. Their rows lie in the file in order, four bytes each.
    List {
        /// Start of the first row.
        start: usize,
        /// Number of rows.
        count: usize,
    },
}

impl RowBitmap {
    /// Adds the bitmap to its file's directory.
    pub fn put(self, out: &mut Vec<u8>) {
        let (form, start) = match self {
            RowBitmap::None => (0, 0),
            RowBitmap::All => (1, 0),
            RowBitmap::Words { start } => (2, start as u64),
            RowBitmap::List { start, count } => (FORM_LIST | (count as u64) << FORM_BITS, start as u64),
        };
        out.put_u64(form);
        out.put_u64(start);
    }

    fn take(file: &StoreFile, directory: &mut Get<'_>, rows: usize) -> Result<RowBitmap> {
        let (form, start) = (directory.u64()?, directory.u64()?);
        Ok(match form {
            0 => RowBitmap::None,
            1 => RowBitmap::All,
            2 => {
                file.check_range(start, rows.div_ceil(64) as u64 * 8, "a bitmap of nodes")?;
                RowBitmap::Words { start: start as usize }
            }
            list if list & ((1 << FORM_BITS) - 1) == FORM_LIST && list >> FORM_BITS <= rows as u64 => {
                let count = list >> FORM_BITS;
                file.check_range(start, count * 4, "a list of nodes")?;
                RowBitmap::List { start: start as usize, count: count as usize }
            }
            other => return Err(directory.damage(format!("no bitmap has the form {other}"))),
        })
    }
}

/// A label of a segment.
#[derive(Clone, Copy, Debug)]
pub struct SegmentLabel {
    /// The label.
    pub label: LabelId,
    /// Number of nodes that carry it.
    pub count: u64,
    /// Rows of those nodes.
    pub rows: RowBitmap,
}

/// One immutable node segment.
#[derive(Debug)]
pub struct Segment {
    file: Arc<StoreFile>,
    entry: SegmentEntry,
    rows: usize,
    alive_count: u64,
    alive: RowBitmap,
    labels: Vec<SegmentLabel>,
    columns: Vec<(PropertyKeyId, ColumnReader)>,
}

impl Segment {
    /// Opens a segment; reads header and directory only.
    pub fn open(disk: &Arc<dyn Disk>, directory: &Path, entry: SegmentEntry) -> Result<Segment> {
        let file = StoreFile::open(disk, directory, FileKind::Nodes, entry.file)?;
        let mut get = file.directory()?;
        let (number, rows, alive_count) = (get.u64()?, get.u64()?, get.u64()?);
        if number != entry.segment || rows > SEGMENT_NODES || alive_count > rows {
            return Err(get.damage(format!("segment {number} of {rows} rows, expected segment {}", entry.segment)));
        }
        let rows = rows as usize;
        let alive = RowBitmap::take(&file, &mut get, rows)?;
        let mut labels: Vec<SegmentLabel> = Vec::new();
        for _ in 0..get.count(28)? {
            let (label, count) = (LabelId(get.u32()?), get.u64()?);
            if labels.last().is_some_and(|before| before.label >= label) {
                return Err(get.damage("the labels of a segment are not in order"));
            }
            labels.push(SegmentLabel { label, count, rows: RowBitmap::take(&file, &mut get, rows)? });
        }
        let mut columns: Vec<(PropertyKeyId, ColumnReader)> = Vec::new();
        for _ in 0..get.count(8)? {
            let key = PropertyKeyId(get.u32()?);
            if columns.last().is_some_and(|(before, _)| *before >= key) {
                return Err(get.damage("the columns of a segment are not in order"));
            }
            columns.push((key, ColumnReader::open(&file, &mut get, rows as u64)?));
        }
        Ok(Segment { file, entry, rows, alive_count, alive, labels, columns })
    }

    /// Entry in the manifest.
    pub fn entry(&self) -> SegmentEntry {
        self.entry
    }

    /// Its file.
    pub fn file(&self) -> &Arc<StoreFile> {
        &self.file
    }

    /// Rows, used or not.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Nodes that exist.
    pub fn alive_count(&self) -> u64 {
        self.alive_count
    }

    /// The labels that some node here carries, in order.
    pub fn labels(&self) -> &[SegmentLabel] {
        &self.labels
    }

    /// The property columns, in order of their keys.
    pub fn columns(&self) -> &[(PropertyKeyId, ColumnReader)] {
        &self.columns
    }

    /// The column of a key, if some node here has that property.
    #[inline]
    pub fn column(&self, key: PropertyKeyId) -> Option<&ColumnReader> {
        let index = self.columns.binary_search_by_key(&key, |(at, _)| *at).ok()?;
        Some(&self.columns[index].1)
    }

    /// The rows that exist.
    pub fn alive(&self) -> RowBitmap {
        self.alive
    }

    /// The rows that carry a label.
    #[inline]
    pub fn label(&self, label: LabelId) -> RowBitmap {
        match self.labels.binary_search_by_key(&label, |at| at.label) {
            Ok(index) => self.labels[index].rows,
            Err(_) => RowBitmap::None,
        }
    }

    /// Word `index` of a bitmap; bits past the last row are clear.
    #[inline]
    pub fn word(&self, bitmap: RowBitmap, index: usize) -> Result<u64> {
        if index >= self.rows.div_ceil(64) {
            return Ok(0);
        }
        match bitmap {
            RowBitmap::None => Ok(0),
            RowBitmap::All if (index + 1) * 64 > self.rows => Ok((1 << (self.rows % 64)) - 1),
            RowBitmap::All => Ok(u64::MAX),
            RowBitmap::Words { start } => {
                let bytes = self.file.read(start + index * 8, 8)?.try_into().expect("a word has eight bytes");
                Ok(u64::from_le_bytes(bytes))
            }
            RowBitmap::List { start, count } => {
                let list = self.list(start, count)?;
                let end = ((index + 1) * 64).min(self.rows);
                let of_word = list[first_from(list, index * 64)..].iter().map(|row| u32::from_le_bytes(*row) as usize);
                Ok(of_word.take_while(|&row| row < end).fold(0, |word, row| word | 1 << (row % 64)))
            }
        }
    }

    /// Calls with the index and the bits of each word of a range that has any, in order.
    pub fn each_word(
        &self,
        bitmap: RowBitmap,
        range: Range<usize>,
        mut call: impl FnMut(usize, u64) -> Result<()>,
    ) -> Result<()> {
        let RowBitmap::List { start, count } = bitmap else {
            for index in range.start..range.end.min(self.rows.div_ceil(64)) {
                match self.word(bitmap, index)? {
                    0 => {}
                    word => call(index, word)?,
                }
            }
            return Ok(());
        };
        let list = self.list(start, count)?;
        let mut rows = list[first_from(list, range.start * 64)..].iter().map(|row| u32::from_le_bytes(*row) as usize);
        let (mut at, mut next) = (range.start * 64, rows.next());
        while let Some(row) = next.filter(|&row| row < range.end * 64) {
            let (index, mut word) = (row / 64, 0u64);
            while let Some(row) = next.filter(|&row| row / 64 == index) {
                if row < at || row >= self.rows {
                    return Err(self.file.damage(start, "the rows of a label are not in order"));
                }
                (at, word, next) = (row + 1, word | 1 << (row % 64), rows.next());
            }
            call(index, word)?;
        }
        Ok(())
    }

    /// Calls with each of the items, in order of their rows, whose row is in a bitmap. Of a list with fewer rows than there
    /// are items, the items are looked for, so that very many labels of few nodes each cost what those nodes do.
    pub fn each_of<T>(
        &self,
        bitmap: RowBitmap,
        items: &[T],
        row_of: impl Fn(&T) -> usize,
        mut call: impl FnMut(&T),
    ) -> Result<()> {
        match bitmap {
            RowBitmap::List { start, count } if count < items.len() => {
                for row in self.list(start, count)?.iter().map(|row| u32::from_le_bytes(*row) as usize) {
                    let first = items.partition_point(|item| row_of(item) < row);
                    items[first..].iter().take_while(|item| row_of(item) == row).for_each(&mut call);
                }
            }
            _ => {
                for item in items {
                    if self.bit(bitmap, row_of(item))? {
                        call(item);
                    }
                }
            }
        }
        Ok(())
    }

    /// The rows of a list, as they lie in the file.
    fn list(&self, start: usize, count: usize) -> Result<&[[u8; 4]]> {
        Ok(self.file.read(start, count * 4)?.as_chunks().0)
    }

    /// The bytes of a bitmap, if they stand in the file and are in memory; as `word`, they tell nothing of rows behind the
    /// last. For many reads they are brought there.
    pub fn bitmap_bytes(&self, bitmap: RowBitmap, reads: usize) -> Result<Option<&[u8]>> {
        let RowBitmap::Words { start } = bitmap else { return Ok(None) };
        let length = self.rows.div_ceil(64) * 8;
        match self.file.active(start, length) {
            None if reads < READS_OF_A_BLOCK * length.div_ceil(CHECKSUM_BLOCK_BYTES) => Ok(None),
            None => self.file.read(start, length).map(Some),
            found => Ok(found),
        }
    }

    /// The bit of a row.
    #[inline]
    pub fn bit(&self, bitmap: RowBitmap, row: usize) -> Result<bool> {
        Ok(self.word(bitmap, row / 64)? >> (row % 64) & 1 == 1)
    }
}

/// Number of rows of a list that come before a row.
fn first_from(list: &[[u8; 4]], row: usize) -> usize {
    list.partition_point(|at| (u32::from_le_bytes(*at) as usize) < row)
}
