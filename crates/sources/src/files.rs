//! Tables in files: rows in chunks that are cut in order by one thread and parsed by any.
//!
//! A text file is cut at record boundaries, a Parquet file at its row groups, so that both cores parse.
//!
//! Cost: one pass over the bytes; holds one chunk for each thread.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use model::{Column, Interrupt, Result, error};

#[cfg(feature = "parquet")]
mod arrow_rows;
#[cfg(feature = "parquet")]
pub mod arrow_stream;
pub mod csv;
pub mod csv_writer;
pub mod dimacs;
pub mod edge_list;
pub mod field;
pub mod header;
pub mod json_value;
pub mod jsonl;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "parquet")]
pub mod parquet_columns;
#[cfg(feature = "parquet")]
pub mod parquet_writer;
mod pipe;
pub mod records;
pub mod text;

pub use field::FieldType;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name, as in the header.
    pub name: String,
    /// The type that its values are read as; `None` where each value says its own type (JSON).
    pub field_type: Option<FieldType>,
}

/// A row that could not be read, with its place and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadRow {
    /// The line (or, in Parquet, the row) it starts at, counted from 1.
    pub line: u64,
    /// The column at fault, if it is one.
    pub column: Option<String>,
    /// The reason of the refusal, in lower case.
    pub reason: String,
    /// The row as it stands in the file, as far as it is text.
    pub text: String,
    /// The remedy, if it is not the row that should be mended.
    pub remedy: Option<String>,
}

/// Rows of a table.
#[derive(Clone, Debug, Default)]
pub struct RowBatch {
    /// One column for each of the table's, all of the same length.
    pub columns: Vec<Column>,
    /// For each row, the line (or row number) it starts at, counted from 1.
    pub lines: Vec<u64>,
    /// Rows that were left out.
    pub bad: Vec<BadRow>,
    /// The good rows as they stand in the file, if that is text.
    pub texts: RowTexts,
}

/// Rows as they stand in a text file.
#[derive(Clone, Debug, Default)]
pub struct RowTexts {
    bytes: std::sync::Arc<Vec<u8>>,
    /// Start and end of each row.
    places: Vec<(u32, u32)>,
}

impl RowTexts {
    pub(crate) fn push(&mut self, place: std::ops::Range<usize>) {
        self.places.push((place.start as u32, place.end as u32));
    }

    pub(crate) fn pop(&mut self) {
        self.places.pop();
    }

    pub(crate) fn of(bytes: Vec<u8>, places: RowTexts) -> RowTexts {
        RowTexts { bytes: std::sync::Arc::new(bytes), places: places.places }
    }

    /// The text of a row, without its line end; `None` if the file is not text.
    pub fn get(&self, row: usize) -> Option<String> {
        let (start, end) = *self.places.get(row)?;
        Some(line_text(self.bytes.get(start as usize..end as usize)?))
    }

    /// Some of the rows.
    pub fn gather(&self, rows: &[u32]) -> RowTexts {
        let places = rows.iter().filter_map(|&row| self.places.get(row as usize).copied()).collect();
        RowTexts { bytes: self.bytes.clone(), places }
    }
}

/// Bytes as text, without the line end.
pub(crate) fn line_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_start_matches(['\r', '\n']).trim_end_matches(['\r', '\n']).to_owned()
}

impl RowBatch {
    /// Number of good rows.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True without good rows.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// A piece of a file that can be parsed by itself.
#[derive(Debug)]
pub enum Chunk {
    /// Whole lines or records of a text file.
    Text {
        /// The bytes.
        bytes: Vec<u8>,
        /// The number of the first line, from 1.
        first_line: u64,
    },
    /// A row group of a Parquet file.
    RowGroup {
        /// Its number.
        index: usize,
        /// Rows of the file before it.
        first_row: u64,
    },
}

/// A table in a file.
///
/// `next_chunk` may be called by any thread, one at a time; `parse` by many at once.
pub trait Table: Send + Sync {
    /// The columns, known once the table is open.
    fn columns(&self) -> &[TableColumn];
    /// The type of a column, if it has one: where each value says its own, that of the values in the first rows.
    fn type_of(&self, column: usize) -> Option<FieldType> {
        self.columns()[column].field_type.clone()
    }
    /// Reads a column whose type was inferred as one of another type, before any row is read; `why` goes with the
    /// reason of rows that do not fit. Columns whose type is stated, or whose values say their own, stay as they are.
    fn read_as(&mut self, _column: usize, _field_type: &FieldType, _why: &str) {}
    /// True if a stated type decides how the fields of a column are read; values of other files say their own.
    fn takes_types(&self) -> bool {
        false
    }
    /// Nodes that the file says there are, numbered from 1, whether or not a row names them.
    fn node_count(&self) -> Option<u64> {
        None
    }
    /// The next piece in order; `None` at the end.
    fn next_chunk(&self) -> Result<Option<Chunk>>;
    /// Reads the rows of a piece, in batches, until the sink fails.
    fn parse(&self, chunk: Chunk, sink: &mut dyn FnMut(RowBatch) -> Result<()>) -> Result<()>;
    /// Bytes read from the file so far and bytes in all, for progress; compressed bytes where it is compressed.
    fn progress(&self) -> (u64, u64);
}

/// The formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Separated values with quotes, by default with a header.
    Csv,
    /// One JSON object a line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// SNAP: two ids a line, `#` comments, further columns kept.
    EdgeList,
    /// DIMACS `.gr`: arcs with a length.
    DimacsGraph,
    /// DIMACS `.co`: coordinates of nodes.
    DimacsCoordinates,
}

impl Format {
    /// The format that a file's name says, after `.gz` and `.zst` are taken off.
    pub fn of_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
        Some(match plain.rsplit_once('.')?.1 {
            "csv" | "tsv" | "tbl" => Format::Csv,
            "jsonl" | "ndjson" | "json" => Format::JsonLines,
            "parquet" => Format::Parquet,
            "txt" | "edges" | "el" | "snap" => Format::EdgeList,
            "gr" => Format::DimacsGraph,
            "co" => Format::DimacsCoordinates,
            _ => return None,
        })
    }

    /// The format of a name as given on a command line.
    pub fn of_name(name: &str) -> Option<Format> {
        Some(match name.to_ascii_lowercase().as_str() {
            "csv" => Format::Csv,
            "jsonl" | "json" => Format::JsonLines,
            "parquet" => Format::Parquet,
            "snap" | "edge-list" => Format::EdgeList,
            "dimacs" | "gr" => Format::DimacsGraph,
            "co" => Format::DimacsCoordinates,
            _ => return None,
        })
    }
}

/// Options for reading a file.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format; told from the name if `None`.
    pub format: Option<Format>,
    /// The separator of fields; told from the first line (`,`, tab, `|` or `;`) if `None`.
    pub delimiter: Option<u8>,
    /// The quote; `None` for files in which quotes mean nothing.
    pub quote: Option<u8>,
    /// The separator of the elements of a list within a field.
    pub list_delimiter: u8,
    /// The names of the columns, for a file without a header.
    pub header: Option<Vec<String>>,
    /// The columns that a table of the store declares: their types, and their names for a file without a header.
    pub declared: Vec<(String, Option<FieldType>)>,
    /// True if the first line is a header; `None` if it is one unless it names no declared column, or only numbers.
    pub has_header: Option<bool>,
    /// Types that win over what is inferred, by column name.
    pub types: Vec<(String, FieldType)>,
    /// Interrupt of the reading of a pipe that is silent.
    pub interrupt: Interrupt,
    /// The rule by which headers of the form `name:type` set types, and `:ID` and its kin are kept as written.
    pub typed_header: TypedHeader,
}

/// The rule by which header fields carry types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedHeader {
    /// Typed if any field has one of the forms of neo4j-admin.
    Detect,
    /// The whole field is a name.
    Never,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            format: None,
            delimiter: None,
            quote: Some(b'"'),
            list_delimiter: b';',
            header: None,
            declared: Vec::new(),
            has_header: None,
            types: Vec::new(),
            interrupt: Interrupt::new(),
            typed_header: TypedHeader::Detect,
        }
    }
}

/// Opens a file as a table. The error names the file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Table>> {
    let place = path.display().to_string();
    let format = options.format.or_else(|| Format::of_path(path)).ok_or_else(|| {
        error!(Import, "{place}: the name does not say the format")
            .with_remedy("pass --format csv, jsonl, parquet, snap, dimacs or co")
    })?;
    let opened = match format {
        Format::Csv => csv::CsvTable::open(path, options).map(|table| Box::new(table) as Box<dyn Table>),
        Format::JsonLines => {
            jsonl::JsonLinesTable::open(path, &options.interrupt).map(|table| Box::new(table) as Box<dyn Table>)
        }
        Format::EdgeList => {
            edge_list::EdgeListTable::open(path, &options.interrupt).map(|table| Box::new(table) as Box<dyn Table>)
        }
        Format::DimacsGraph | Format::DimacsCoordinates => {
            dimacs::DimacsTable::open(path, format, &options.interrupt).map(|table| Box::new(table) as Box<dyn Table>)
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            parquet::ParquetTable::open(path, &options.types).map(|table| Box::new(table) as Box<dyn Table>)
        }
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(error!(Unsupported, "this build cannot read Parquet")),
    };
    opened.map_err(|failure| if failure.message().starts_with(&place) { failure } else { failure.within(&place) })
}

/// A byte counter around a file, and decompression by the file's name or first bytes.
pub(crate) struct ByteSource {
    reader: Mutex<Box<dyn Read + Send>>,
    position: std::sync::Arc<std::sync::atomic::AtomicU64>,
    length: u64,
    path: PathBuf,
    is_packed: bool,
    interrupt: Interrupt,
}

struct CountingFile {
    file: Box<dyn Read + Send>,
    position: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl Read for CountingFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.position.fetch_add(count as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(count)
    }
}

/// Opens a file for reading, with an error that names it.
pub(crate) fn open_file(path: &Path) -> Result<std::fs::File> {
    #[allow(clippy::disallowed_methods, reason = "files to import are not the store's; they are read as they are")]
    let file = std::fs::File::open(path).map_err(|cause| file_error(path, &cause))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(error!(File, "{}: is a directory, expected a file", path.display()));
    }
    Ok(file)
}

/// The error for a failure that the operating system reports about a file, in our words.
pub(crate) fn file_error(path: &Path, cause: &std::io::Error) -> model::Error {
    match cause.kind() {
        std::io::ErrorKind::NotFound => error!(File, "{}: no such file", path.display()),
        std::io::ErrorKind::PermissionDenied => {
            error!(File, "{}: permission denied", path.display()).with_remedy("let this user read the file")
        }
        _ => model::Error::of_file(path, cause),
    }
}

impl ByteSource {
    pub(crate) fn open(path: &Path, interrupt: &Interrupt) -> Result<ByteSource> {
        let is_silent = path.exists() && !path.is_file() && !path.is_dir();
        let (file, length): (Box<dyn Read + Send>, u64) = match is_silent {
            true => (Box::new(pipe::PipeReader::open(path.to_path_buf(), interrupt.clone())), 0),
            false => {
                let file = open_file(path)?;
                let length = file.metadata().map_err(|cause| file_error(path, &cause))?.len();
                (Box::new(file), length)
            }
        };
        let position = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let counting = CountingFile { file, position: position.clone() };
        let name = path.to_string_lossy().to_ascii_lowercase();
        let reader: Box<dyn Read + Send> = if name.ends_with(".gz") {
            Box::new(flate2::read::MultiGzDecoder::new(counting))
        } else if name.ends_with(".zst") {
            Box::new(zstd::Decoder::new(counting).map_err(|cause| file_error(path, &cause))?)
        } else {
            Box::new(counting)
        };
        let is_packed = name.ends_with(".gz") || name.ends_with(".zst");
        let (reader, path, interrupt) = (Mutex::new(reader), path.to_path_buf(), interrupt.clone());
        Ok(ByteSource { reader, position, length, path, is_packed, interrupt })
    }

    /// Fills as much of the buffer as there is; fewer bytes only at the end.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        let mut reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut filled = 0;
        while filled < buffer.len() {
            match reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) if self.interrupt.check().is_err() => self.interrupt.check()?,
                Err(cause) if self.is_packed => {
                    return Err(error!(Import, "{}: cannot be unpacked: {cause}", self.path.display())
                        .with_remedy("check that the file is whole, and packed as the end of its name says"));
                }
                Err(cause) => return Err(file_error(&self.path, &cause)),
            }
        }
        Ok(filled)
    }

    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.position.load(std::sync::atomic::Ordering::Relaxed), self.length)
    }
}
