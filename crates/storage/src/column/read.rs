//! Gathering rows from the blocks of a column into typed columns.
//!
//! Cost: a gather takes one random access a row and allocates once; a range decodes whole runs.

use std::ops::Range;
use std::sync::Arc;

use model::temporal::Zone;
use model::{
    Bitmap, Column, ColumnBuilder, ColumnData, Fixed, FixedKind, Result, Scalar, StringColumn, Value, with_stored,
};

use super::access::{Block, Cursor, Found, Values};
use super::block::{BlockHeader, Encoding, Kind, RANK_ROWS};
use super::dictionaries::Dictionaries;
use super::fixed::visit_fixed;
use super::parts::Parts;
use super::texts;
use crate::codec::bytes::Get;
use crate::file::StoreFile;
use crate::format::{CHECKSUM_BLOCK_BYTES, COLUMN_BLOCK_ROWS};

/// Positions that are asked for before the first of them is read.
const AHEAD_POSITIONS: usize = 2_048;
/// Positions that are no further apart than this, on average, are read without being asked for.
const DENSE_GAP: u64 = 16;

/// Number of blocks in memory up to which they are held open together, whatever the number of rows that are read.
const OPEN_BLOCKS_MIN: usize = 64;

/// Divisor of the bytes of a column's blocks, of which as many may have to be read where the others are in memory.
const MISSING_SHARE: usize = 4;

/// Something that has the blocks of a column.
pub trait BlockSource {
    /// Most blocks are in memory, and need not be asked for their bytes.
    const IS_IN_MEMORY: bool = false;
    /// The headers of all blocks, in order.
    fn headers(&self) -> &[BlockHeader];
    /// A block.
    fn block(&self, index: usize) -> Result<Block<'_>>;
    /// All strings of a block's dictionary, where they are kept.
    fn dictionary(&self, _block: usize) -> Option<Arc<StringColumn>> {
        None
    }
}

/// A column of a file.
#[derive(Debug)]
pub struct ColumnReader {
    file: Arc<StoreFile>,
    headers: Vec<BlockHeader>,
    kind: Option<Kind>,
    dictionaries: Dictionaries,
}

impl BlockSource for ColumnReader {
    fn headers(&self) -> &[BlockHeader] {
        &self.headers
    }

    #[inline]
    fn block(&self, index: usize) -> Result<Block<'_>> {
        Ok(Block::of_file(&self.headers[index], &self.file))
    }

    fn dictionary(&self, block: usize) -> Option<Arc<StringColumn>> {
        let hold = |bytes| self.file.try_hold(bytes);
        self.dictionaries.get_or_read(block, hold, || self.block(block)?.dictionary())
    }
}

/// A column most of whose bytes that will be read were found in memory: such blocks from `first` on are read without asking
/// for their bytes again. Should some of them be given back meanwhile, the operating system reads them anew. The others are read from
/// the file, once each.
struct InMemory<'a> {
    column: &'a ColumnReader,
    first: usize,
    bytes: Vec<Option<&'a [u8]>>,
}

impl BlockSource for InMemory<'_> {
    const IS_IN_MEMORY: bool = true;

    fn headers(&self) -> &[BlockHeader] {
        &self.column.headers
    }

    #[inline]
    fn block(&self, index: usize) -> Result<Block<'_>> {
        let bytes = index.checked_sub(self.first).and_then(|at| *self.bytes.get(at)?);
        let ColumnReader { headers, file, .. } = self.column;
        Ok(match bytes {
            Some(bytes) => Block::held(&headers[index], bytes, file.path()),
            None => Block::of_file(&headers[index], file),
        })
    }

    fn dictionary(&self, block: usize) -> Option<Arc<StringColumn>> {
        self.column.dictionary(block)
    }
}

/// The run that positions are, if each follows the one before.
fn run_of(positions: &[u64]) -> Option<Range<u64>> {
    let (&first, &last) = (positions.first()?, positions.last()?);
    let is_run = last.checked_sub(first) == Some(positions.len() as u64 - 1)
        && positions.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    is_run.then(|| first..last + 1)
}

/// Rows of a run for each one that is wanted of it, up to which the run is read and the others are left out.
const SPAN_SHARE: u64 = 4;

/// True if positions rise, and of each `gap` rows from the first to the last one is among them, on average.
fn is_dense(positions: &[u64], gap: u64) -> bool {
    let (Some(first), Some(last)) = (positions.first(), positions.last()) else { return false };
    last.checked_sub(*first).is_some_and(|span| span / gap < positions.len() as u64) && positions.is_sorted()
}

/// Counts the bytes of values that were decoded.
fn metered(column: Column) -> Column {
    let bytes = match &column.data {
        ColumnData::Null(_) => 0,
        ColumnData::Bool(values) => values.len(),
        ColumnData::String(texts) => texts.byte_count(),
        _ => column.len() * size_of::<u64>(),
    };
    model::meter::count(|meter| meter.bytes_decoded += bytes as u64);
    column
}

impl ColumnReader {
    /// Reads the headers of a column of `rows` rows from its file's directory.
    pub fn open(file: &Arc<StoreFile>, get: &mut Get<'_>, rows: u64) -> Result<ColumnReader> {
        let count = get.count(BlockHeader::BYTES)?;
        let mut headers = Vec::with_capacity(count);
        for index in 0..count {
            let header = BlockHeader::take(get)?;
            let expected = rows.saturating_sub((index * COLUMN_BLOCK_ROWS) as u64).min(COLUMN_BLOCK_ROWS as u64);
            if u64::from(header.rows) != expected {
                let problem = format!("block {index} of a column has {} rows, expected {expected}", header.rows);
                return Err(get.damage(problem));
            }
            if header.length > 0 {
                file.check_range(header.offset, header.length, "a block of a column")?;
            }
            headers.push(header);
        }
        if (count * COLUMN_BLOCK_ROWS) as u64 + COLUMN_BLOCK_ROWS as u64 <= rows {
            return Err(get.damage(format!("a column of {rows} rows has {count} blocks")));
        }
        let kind = kind_of(&headers);
        let dictionaries = Dictionaries::new(headers.len());
        Ok(ColumnReader { file: file.clone(), headers, kind, dictionaries })
    }

    /// True if the blocks of these rows hold no value, which their headers say.
    pub fn is_absent(&self, rows: &Range<u64>) -> bool {
        let blocks = rows.start as usize / COLUMN_BLOCK_ROWS..(rows.end as usize).div_ceil(COLUMN_BLOCK_ROWS);
        rows.is_empty() || self.headers.iter().take(blocks.end).skip(blocks.start).all(|header| header.present == 0)
    }

    /// The rows at these positions; null where there is none.
    pub fn read(&self, positions: &[u64]) -> Result<Column> {
        self.read_rows(positions).map(metered)
    }

    fn read_rows(&self, positions: &[u64]) -> Result<Column> {
        if positions.len() < 2 {
            return gather(self, self.kind, positions);
        }
        if let Some(run) = run_of(positions) {
            return range(self, self.kind, run);
        }
        let span = positions[0]..positions[positions.len() - 1].saturating_add(1);
        if is_dense(positions, SPAN_SHARE) && texts::is_in_dictionaries(self, &span) {
            let rows: Vec<u32> = positions.iter().map(|position| (position - span.start) as u32).collect();
            return Ok(texts::of_run(self, &span)?.gather(&rows));
        }
        if let Some(column) = self.active(positions) {
            return gather(&column, self.kind, positions);
        }
        // Positions that lie close together share blocks with their neighbors.
        if !self.file.is_cold() || is_dense(positions, DENSE_GAP) {
            return gather(self, self.kind, positions);
        }
        // Reads at random places: a part of them is asked for before the first of it is read.
        let step = (self.file.ahead_blocks_max() / 2).clamp(1, AHEAD_POSITIONS);
        if positions.len() <= step {
            self.ask(positions)?;
            return gather(self, self.kind, positions);
        }
        let mut all = Column::nulls(0);
        for part in positions.chunks(step) {
            self.ask(part)?;
            let part = gather(self, self.kind, part)?;
            all.append_range(&part, 0, part.len());
        }
        Ok(all)
    }

    /// Begins to read the blocks of the file that hold the values at these positions.
    fn ask(&self, positions: &[u64]) -> Result<()> {
        let rows = || {
            positions.iter().filter_map(|&position| {
                let header = self.headers.get(position as usize / COLUMN_BLOCK_ROWS)?;
                let row = position as usize % COLUMN_BLOCK_ROWS;
                (row < header.rows as usize && header.length > 0).then_some((header, row))
            })
        };
        let ask = |header: &BlockHeader, bytes: Range<usize>| {
            self.file.will_need(header.offset as usize + bytes.start, bytes.len());
        };
        // The order of reads is that of dependence: presence, then the value or its offsets, then the string.
        for (header, row) in rows().filter(|(header, _)| header.has_nulls) {
            header.presence_bytes(row / RANK_ROWS).into_iter().for_each(|bytes| ask(header, bytes));
        }
        let mut is_far = false;
        for (header, row) in rows() {
            if let Some(place) = Block::of_file(header, &self.file).place(row)? {
                ask(header, header.value_bytes(&(place..place + 1)));
            }
            is_far |= matches!(header.encoding, Encoding::StringPlain | Encoding::Mixed);
        }
        for (header, row) in rows().filter(|_| is_far) {
            if let Some(found) = Cursor::new(Block::of_file(header, &self.file)).find(row)? {
                let bytes = found.far_bytes();
                // Offsets that are damaged are found when they are read.
                if bytes.start < bytes.end && bytes.end as u64 <= header.length {
                    ask(header, bytes);
                }
            }
        }
        Ok(())
    }

    /// The column as it is in memory, if most bytes of the blocks between the first and the last position are there; `None` too if
    /// there are too few reads to make it worth a look. What is missing is read whole blocks at a time: at most a quarter of all, as
    /// that of other nodes at the end of those that are read.
    fn active(&self, positions: &[u64]) -> Option<InMemory<'_>> {
        let (first, last) = positions.iter().fold((u64::MAX, 0), |(first, last), &at| (first.min(at), last.max(at)));
        let first = first as usize / COLUMN_BLOCK_ROWS;
        let headers = self.headers.get(first..self.headers.len().min(last as usize / COLUMN_BLOCK_ROWS + 1))?;
        let bytes: usize = headers.iter().map(|header| header.length as usize).sum();
        if bytes / CHECKSUM_BLOCK_BYTES >= positions.len() {
            return None;
        }
        let active = |header: &BlockHeader| match header.length as usize {
            0 => Some(&[][..]),
            length => self.file.active(header.offset as usize, length),
        };
        let found: Vec<Option<&[u8]>> = headers.iter().map(active).collect();
        let missing = headers.iter().zip(&found).filter(|(_, found)| found.is_none());
        let missing: usize = missing.map(|(header, _)| header.length as usize).sum();
        (missing <= bytes / MISSING_SHARE).then_some(InMemory { column: self, first, bytes: found })
    }

    /// Bytes of a row of the block at a position, on the average.
    pub fn row_bytes(&self, position: u64) -> u64 {
        let header = self.headers.get(position as usize / COLUMN_BLOCK_ROWS);
        header.map_or(0, |header| header.length.div_ceil(u64::from(header.rows.max(1))))
    }

    /// A run of rows.
    pub fn range(&self, run: Range<u64>) -> Result<Column> {
        range(self, self.kind, run).map(metered)
    }

    /// One value.
    pub fn value(&self, position: u64) -> Result<Value> {
        let Some(mut cursor) = self.cursor(position) else { return Ok(Value::Null) };
        cursor.find(position as usize % COLUMN_BLOCK_ROWS)?.map_or(Ok(Value::Null), |found| found.value())
    }

    /// A cursor over the block that holds a row; `None` behind the last.
    #[inline]
    pub fn cursor(&self, row: u64) -> Option<Cursor<'_>> {
        let header = self.headers.get(row as usize / COLUMN_BLOCK_ROWS)?;
        Some(Cursor::new(Block::of_file(header, &self.file)))
    }

    /// True if all its values are integers.
    pub fn holds_ints(&self) -> bool {
        self.kind.is_none_or(|kind| kind == Kind::Fixed(FixedKind::Int))
    }

    /// Its file.
    pub fn file(&self) -> &StoreFile {
        &self.file
    }

    /// Rows that have a value.
    pub fn present(&self) -> u64 {
        self.headers.iter().map(|header| u64::from(header.present)).sum()
    }

    /// Advice that a position will be read soon.
    pub fn will_need(&self, position: u64) {
        let Some(header) = self.headers.get(position as usize / COLUMN_BLOCK_ROWS) else { return };
        if !self.file.is_cold() || header.length == 0 {
            return;
        }
        let row = position as usize % COLUMN_BLOCK_ROWS;
        // With nulls the place is known only once the bitmap is there; near enough is the row.
        let place = row.min(header.present.saturating_sub(1) as usize);
        let bytes = header.value_bytes(&(place..place + 1));
        self.file.will_need(header.offset as usize + bytes.start, bytes.len());
    }
}

/// The one kind that all blocks with values have; `Mixed` if they differ, `None` if no block has any.
pub fn kind_of(headers: &[BlockHeader]) -> Option<Kind> {
    let mut kinds = headers.iter().filter_map(|header| header.encoding.kind());
    let first = kinds.next()?;
    Some(if kinds.all(|kind| kind == first) { first } else { Kind::Mixed })
}

/// The rows of a gather: values with a presence bit each, made only once a row is missing.
struct Rows<T> {
    values: Vec<T>,
    validity: Option<Bitmap>,
}

impl<T: Fixed> Rows<T> {
    fn new(count: usize) -> Rows<T> {
        Rows { values: Vec::with_capacity(count), validity: None }
    }

    #[inline]
    fn push(&mut self, value: Option<T>) {
        match (value, &mut self.validity) {
            (Some(value), None) => self.values.push(value),
            (Some(value), Some(validity)) => {
                self.values.push(value);
                validity.push(true);
            }
            (None, validity) => {
                validity.get_or_insert_with(|| Bitmap::filled(self.values.len(), true)).push(false);
                self.values.push(T::default());
            }
        }
    }

    fn column(self) -> Column {
        Column { data: T::vector(self.values), validity: self.validity }
    }
}

/// True if the blocks of a source are held open together while this many rows are read, which may jump about among them.
fn is_opened_once<S: BlockSource>(source: &S, rows: usize) -> bool {
    S::IS_IN_MEMORY && source.headers().len() <= rows.max(OPEN_BLOCKS_MIN)
}

/// Calls `each` for every position with its value; with `None` where there is none.
#[inline]
pub(super) fn visit<S: BlockSource>(
    source: &S,
    positions: impl Iterator<Item = u64>,
    mut each: impl FnMut(Option<Found<'_, '_>>) -> Result<()>,
) -> Result<()> {
    let count = source.headers().len();
    let place_of = |position: u64| (position as usize / COLUMN_BLOCK_ROWS, position as usize % COLUMN_BLOCK_ROWS);
    if is_opened_once(source, positions.size_hint().0) {
        let cursors = (0..count).map(|index| source.block(index).map(Cursor::new));
        let mut cursors: Vec<Cursor<'_>> = cursors.collect::<Result<_>>()?;
        for position in positions {
            let (index, row) = place_of(position);
            match cursors.get_mut(index) {
                Some(cursor) => each(cursor.find(row)?)?,
                None => each(None)?,
            }
        }
        return Ok(());
    }
    let mut current: Option<(usize, Cursor<'_>)> = None;
    for position in positions {
        let (index, row) = place_of(position);
        if index >= count {
            each(None)?;
            continue;
        }
        let (_, cursor) = match &mut current {
            Some(current) if current.0 == index => current,
            other => other.insert((index, Cursor::new(source.block(index)?))),
        };
        each(cursor.find(row)?)?;
    }
    Ok(())
}

/// The rows of any source at these positions, which have that kind; null where there is none.
pub fn gather<S: BlockSource>(source: &S, kind: Option<Kind>, positions: &[u64]) -> Result<Column> {
    gather_from(source, kind, positions.iter().copied(), positions.len())
}

/// Like [`gather`], from an iterator of `count` positions.
pub fn gather_from<S: BlockSource>(
    source: &S,
    kind: Option<Kind>,
    positions: impl Iterator<Item = u64> + Clone,
    count: usize,
) -> Result<Column> {
    macro_rules! typed {
        ($type:ty, $get:ident, $wrap:expr) => {{
            let mut rows = Rows::<$type>::new(count);
            if is_opened_once(source, count) {
                visit_fixed(source, positions, |found| {
                    rows.push(found.map(|(values, place)| $wrap(values.$get(place))))
                })?;
            } else {
                visit(source, positions, |found| {
                    rows.push(found.map(|found| $wrap(found.$get())));
                    Ok(())
                })?;
            }
            rows.column()
        }};
    }
    Ok(match kind {
        None => Column::nulls(count),
        Some(Kind::Fixed(FixedKind::Float)) => typed!(f64, float, std::convert::identity),
        Some(Kind::Fixed(FixedKind::Bool)) => typed!(bool, bool, std::convert::identity),
        Some(Kind::Fixed(kind)) => with_stored!(kind, {
            FixedKind::Node | FixedKind::Edge => Column::nulls(count),
        }, T => match T::PARTS {
            1 => {
                let again = positions.clone();
                in_bounds(source, typed!(T, int, |x| T::of_parts([x, 0, 0, 0], Zone::UTC)), again)?
            }
            _ => gather_parts::<T, S>(source, positions, count)?,
        }),
        Some(Kind::String) => texts::gather(source, positions, count)?,
        Some(Kind::Mixed) => {
            let mut builder = ColumnBuilder::default();
            visit(source, positions, |found| {
                let value = found.map_or(Ok(Value::Null), |found| found.value())?;
                builder.push(&value);
                Ok(())
            })?;
            builder.finish()
        }
    })
}

/// Rows whose values are several integers each.
fn gather_parts<T: Scalar, S: BlockSource>(
    source: &S,
    positions: impl Iterator<Item = u64>,
    count: usize,
) -> Result<Column> {
    let mut rows = Rows::<T>::new(count);
    let mut open: Option<(*const BlockHeader, Parts)> = None;
    visit(source, positions, |found| {
        let Some(found) = found else {
            rows.push(None);
            return Ok(());
        };
        let header: *const BlockHeader = found.block.header();
        let parts = match &open {
            Some((of, parts)) if *of == header => parts,
            _ => &open.insert((header, Parts::of::<T>(found.block)?)).1,
        };
        rows.push(Some(parts.value(&found)?));
        Ok(())
    })?;
    Ok(rows.column())
}

/// A run of rows of any source.
pub fn range<S: BlockSource>(source: &S, kind: Option<Kind>, run: Range<u64>) -> Result<Column> {
    let count = (run.end - run.start) as usize;
    match kind {
        Some(Kind::Fixed(kind)) if is_without_nulls(source, &run) => with_stored!(kind, {
            FixedKind::Bool | FixedKind::Node | FixedKind::Edge => gather_from(source, Some(Kind::Fixed(kind)), run, count),
            FixedKind::Float => floats(source, run),
        }, T => match T::PARTS {
            1 => integers::<T, S>(source, run),
            _ => gather_parts::<T, S>(source, run, count),
        }),
        Some(Kind::String) if texts::is_in_dictionaries(source, &run) => texts::of_run(source, &run),
        Some(Kind::String) if texts::is_plain(source, &run) => texts::of_plain_run(source, &run),
        _ => gather_from(source, kind, run, count),
    }
}

/// Calls with the values of each block of a run without nulls, and the rows there.
pub(super) fn each_block<S: BlockSource>(
    source: &S,
    run: &Range<u64>,
    mut each: impl FnMut(&Block<'_>, &Values<'_>, Range<usize>) -> Result<()>,
) -> Result<()> {
    let mut at = run.start as usize;
    while at < run.end as usize {
        let (index, row) = (at / COLUMN_BLOCK_ROWS, at % COLUMN_BLOCK_ROWS);
        let block = source.block(index)?;
        let rows = (run.end as usize - at).min(COLUMN_BLOCK_ROWS - row);
        each(&block, &block.values(row..row + rows)?, row..row + rows)?;
        at += rows;
    }
    Ok(())
}

fn floats<S: BlockSource>(source: &S, run: Range<u64>) -> Result<Column> {
    let mut floats: Vec<f64> = Vec::with_capacity((run.end - run.start) as usize);
    each_block(source, &run, |_, values, rows| {
        values.floats(rows.start, rows.len(), &mut floats);
        Ok(())
    })?;
    Ok(Column::new(ColumnData::Float(floats)))
}

/// A run of values that are an integer each; one out of its bounds is damage of its block.
fn integers<T: Scalar, S: BlockSource>(source: &S, run: Range<u64>) -> Result<Column> {
    let mut found: Vec<T> = Vec::with_capacity((run.end - run.start) as usize);
    let mut buffer = [0u64; 512];
    each_block(source, &run, |block, values, rows| {
        let before = found.len();
        for from in rows.clone().step_by(buffer.len()) {
            let part = &mut buffer[..(rows.end - from).min(512)];
            values.ints(from, part);
            found.extend(part.iter().map(|&x| T::of_parts([x as i64, 0, 0, 0], Zone::UTC)));
        }
        match found[before..].iter().find(|x| !x.is_valid()) {
            Some(&wrong) => Err(block.no_time(wrong.into())),
            None => Ok(()),
        }
    })?;
    Ok(Column::new(T::vector(found)))
}

/// A column, read from these positions, whose dates and times of day are within their bounds; the first other is damage
/// of its block.
fn in_bounds<S: BlockSource>(source: &S, column: Column, mut positions: impl Iterator<Item = u64>) -> Result<Column> {
    let Err(error) = column.check_time() else { return Ok(column) };
    let row = (0..column.len()).find(|&row| column.value(row).check_time().is_err());
    let position = row.and_then(|row| positions.nth(row)).unwrap_or_default();
    Err(source.block(position as usize / COLUMN_BLOCK_ROWS)?.damage(error.message()))
}

pub(super) fn is_without_nulls<S: BlockSource>(source: &S, run: &Range<u64>) -> bool {
    let headers = source.headers();
    if run.is_empty() {
        return false;
    }
    let (first, last) = (run.start as usize / COLUMN_BLOCK_ROWS, (run.end as usize - 1) / COLUMN_BLOCK_ROWS);
    let Some(headers) = headers.get(first..=last) else { return false };
    let last_rows = headers[last - first].rows as usize;
    headers.iter().all(|header| !header.has_nulls && header.present == header.rows)
        && (run.end as usize - 1) % COLUMN_BLOCK_ROWS < last_rows
}
