//! A text file as rows: read from its start, or block by block where they are wanted.
//!
//! A block is a chunk of whole records, about a mebibyte. Where blocks lie is found out by one pass over the file. Of a
//! compressed file the unpacked bytes are kept then, since it can only be read from its start.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Column, Consumer, MemoryBudget, Reservation, Result, error};

use crate::files::jsonl::JsonLinesTable;
use crate::files::{self, BadRow, Chunk, FieldType, Format, ReadOptions, RowBatch, Table, TableColumn};

/// A text file.
pub(super) struct TextFile {
    path: PathBuf,
    format: Format,
    options: ReadOptions,
    /// Opened once, for the columns and to parse single blocks.
    table: Box<dyn Table>,
    memory: Arc<MemoryBudget>,
    blocks: Mutex<Option<Arc<Blocks>>>,
}

/// The positions of the blocks of a file.
struct Blocks {
    places: Vec<Block>,
    rows: u32,
    /// The bytes of each, unpacked, if the file is compressed.
    unpacked: Vec<Vec<u8>>,
    _memory: Reservation,
}

struct Block {
    start: u64,
    length: usize,
    first_line: u64,
    first_row: u32,
}

/// The rows of a file from its start on.
pub(super) struct TextScan {
    table: Box<dyn Table>,
    path: PathBuf,
    rows: u64,
}

impl TextFile {
    /// Opens a file; columns in `types` are read so, and of JSON only `columns` are read.
    pub(super) fn open(
        path: &Path,
        format: Format,
        columns: &[String],
        types: &[(String, FieldType)],
        memory: Arc<MemoryBudget>,
    ) -> Result<TextFile> {
        // Definitions name columns by the header: so that is what the first line is, also if its names are numbers.
        let mut options = ReadOptions { format: Some(format), has_header: Some(true), ..ReadOptions::default() };
        let first = files::open(path, &options)?;
        let has = |name: &String| first.columns().iter().any(|column| column.name == *name);
        if format == Format::Csv {
            // All are pinned, so that each scan reads the types that the first one found.
            let stated = |name: &String| types.iter().find(|(other, _)| other == name).map(|(_, kind)| kind.clone());
            let pinned = first.columns().iter().filter_map(|column| {
                let kind = stated(&column.name).or_else(|| column.field_type.clone())?;
                Some((column.name.clone(), kind))
            });
            options.types = pinned.collect();
        }
        let known: Vec<String> = columns.iter().filter(|name| has(name)).cloned().collect();
        let mut file =
            TextFile { path: path.to_owned(), format, options, table: first, memory, blocks: Mutex::new(None) };
        if format == Format::JsonLines {
            let keys = if known.is_empty() { columns.to_vec() } else { known };
            file.table = Box::new(JsonLinesTable::with_columns(path, &keys)?);
        } else {
            file.table = file.reopen()?;
        }
        Ok(file)
    }

    /// The table from its start again, read as before.
    fn reopen(&self) -> Result<Box<dyn Table>> {
        if self.format == Format::JsonLines {
            let names: Vec<String> = self.table.columns().iter().map(|column| column.name.clone()).collect();
            return Ok(Box::new(JsonLinesTable::with_columns(&self.path, &names)?));
        }
        files::open(&self.path, &self.options)
    }

    /// True if each row names its columns, so that one may lack any.
    pub(super) fn is_keyed(&self) -> bool {
        self.format == Format::JsonLines
    }

    pub(super) fn columns(&self) -> &[TableColumn] {
        self.table.columns()
    }

    /// Begins to read all rows.
    pub(super) fn scan(&self) -> Result<TextScan> {
        Ok(TextScan { table: self.reopen()?, path: self.path.clone(), rows: 0 })
    }

    /// Rows, about, if they were not counted yet.
    pub(super) fn rows_about(&self) -> Result<u64> {
        if let Some(blocks) = &*self.blocks.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(u64::from(blocks.rows));
        }
        let table = self.reopen()?;
        let Some(chunk) = table.next_chunk()? else { return Ok(0) };
        let mut rows = 0;
        table.parse(chunk, &mut |batch| {
            rows += (batch.len() + batch.bad.len()) as u64;
            Ok(())
        })?;
        let (read, length) = table.progress();
        Ok((rows as f64 * length as f64 / read.max(1) as f64).round() as u64)
    }

    pub(super) fn is_compressed(&self) -> bool {
        let name = self.path.to_string_lossy().to_ascii_lowercase();
        name.ends_with(".gz") || name.ends_with(".zst")
    }

    fn blocks(&self) -> Result<Arc<Blocks>> {
        let mut known = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(blocks) = &*known {
            return Ok(blocks.clone());
        }
        let is_compressed = self.is_compressed();
        let mut memory = self.memory.empty(Consumer::SourceCache);
        let (mut places, mut unpacked, mut rows, mut length) = (Vec::new(), Vec::new(), 0_u64, 0);
        let table = self.reopen()?;
        while let Some(chunk) = table.next_chunk()? {
            let Chunk::Text { bytes, first_line } = &chunk else {
                return Err(error!(Internal, "a text file was cut into chunks of another format"));
            };
            places.push(Block {
                start: length,
                length: bytes.len(),
                first_line: *first_line,
                first_row: row_number(rows)?,
            });
            length += bytes.len() as u64;
            if is_compressed {
                memory.grow(bytes.len()).map_err(|failure| {
                    let place = self.path.display().to_string();
                    failure.within(&place).with_remedy(
                        "unpack the file, or convert it to Parquet: rows of a compressed text are found only by keeping all of it",
                    )
                })?;
                unpacked.push(bytes.clone());
            }
            table.parse(chunk, &mut |batch| {
                refuse_bad(&self.path, &batch.bad)?;
                rows += batch.len() as u64;
                Ok(())
            })?;
        }
        if !is_compressed {
            // The bytes before the first chunk are a byte order mark and the header.
            let all =
                files::open_file(&self.path)?.metadata().map_err(|cause| files::file_error(&self.path, &cause))?.len();
            let before = all.saturating_sub(length);
            places.iter_mut().for_each(|block| block.start += before);
        }
        let blocks = Arc::new(Blocks { places, rows: row_number(rows)?, unpacked, _memory: memory });
        *known = Some(blocks.clone());
        Ok(blocks)
    }

    /// The number of the block that has a row, with its first row and the row after its last.
    pub(super) fn block_of(&self, row: u32) -> Result<(usize, u32, u32)> {
        let blocks = self.blocks()?;
        let number = blocks.places.partition_point(|block| block.first_row <= row) - 1;
        let end = blocks.places.get(number + 1).map_or(blocks.rows, |next| next.first_row);
        Ok((number, blocks.places[number].first_row, end))
    }

    /// All columns of a block.
    pub(super) fn read_block(&self, number: usize) -> Result<Vec<Column>> {
        let blocks = self.blocks()?;
        let block = &blocks.places[number];
        let bytes = match blocks.unpacked.get(number) {
            Some(bytes) => bytes.clone(),
            None => {
                let mut file = files::open_file(&self.path)?;
                let mut bytes = vec![0; block.length];
                let read = file.seek(SeekFrom::Start(block.start)).and_then(|_| file.read_exact(&mut bytes));
                read.map_err(|cause| files::file_error(&self.path, &cause))?;
                bytes
            }
        };
        let mut columns: Option<Vec<Column>> = None;
        let chunk = Chunk::Text { bytes, first_line: block.first_line };
        self.table.parse(chunk, &mut |batch| {
            refuse_bad(&self.path, &batch.bad)?;
            append(&mut columns, batch.columns);
            Ok(())
        })?;
        Ok(columns.unwrap_or_else(|| vec![Column::nulls(0); self.columns().len()]))
    }
}

/// Adds rows to those that are there.
pub(super) fn append(to: &mut Option<Vec<Column>>, columns: Vec<Column>) {
    match to {
        None => *to = Some(columns),
        Some(to) => to.iter_mut().zip(&columns).for_each(|(to, column)| to.append(column)),
    }
}

fn row_number(rows: u64) -> Result<u32> {
    u32::try_from(rows).map_err(|_| error!(Limit, "a file that is read in place has more than {} rows", u32::MAX))
}

/// Fails if there are rows that could not be read: without them, answers would be wrong.
pub(super) fn refuse_bad(path: &Path, bad: &[BadRow]) -> Result<()> {
    let Some(row) = bad.first() else { return Ok(()) };
    let column = row.column.as_ref().map(|column| format!(", column '{column}'")).unwrap_or_default();
    let reason = row.reason.split(" (the type was inferred").next().unwrap_or_default();
    Err(error!(Definition, "{}, line {}{column}: {reason}", path.display(), row.line)
        .with_remedy("mend the row, or the type of the property in the definition"))
}

impl TextScan {
    /// Further rows, all columns, with the number of the first; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Vec<Column>)>> {
        let Some(chunk) = self.table.next_chunk()? else { return Ok(None) };
        let first = row_number(self.rows)?;
        let mut columns: Option<Vec<Column>> = None;
        let (path, mut rows) = (&self.path, 0);
        self.table.parse(chunk, &mut |batch: RowBatch| {
            refuse_bad(path, &batch.bad)?;
            rows += batch.len() as u64;
            append(&mut columns, batch.columns);
            Ok(())
        })?;
        self.rows += rows;
        Ok(Some((first, columns.unwrap_or_else(|| vec![Column::nulls(0); self.table.columns().len()]))))
    }
}
