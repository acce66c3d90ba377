//! Separated values: any delimiter, quotes, embedded line ends, a header that may carry types as neo4j-admin's does.

use std::path::Path;

use model::{Result, error};

use super::field::FieldBuilder;
use super::header::{NamesAndTypes, names_without_header};
use super::text::TextChunks;
use super::{BadRow, Chunk, FieldType, ReadOptions, RowBatch, RowTexts, Table, TableColumn, line_text};

/// A CSV file as a table.
pub struct CsvTable {
    chunks: TextChunks,
    columns: Vec<TableColumn>,
    /// Reader of each column, beside its reason, which a misfit tells.
    types: Vec<(FieldType, Basis)>,
    delimiter: u8,
    quote: Option<u8>,
    list_delimiter: u8,
}

/// The reason for which a column is read as one type.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Basis {
    /// The header or an option says so.
    Stated,
    /// All fields of the first chunk fit.
    Inferred,
    /// Something else that the reader of the table knows, in words.
    Known(String),
}

impl CsvTable {
    /// Opens a file and reads its first chunk, for the header and for the types of columns that state none.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<CsvTable> {
        let chunks = TextChunks::open(path, options.quote, &options.interrupt)?;
        let Some(Chunk::Text { mut bytes, first_line }) = chunks.next()? else {
            return Err(error!(Import, "the file is empty, expected a header"));
        };
        let delimiter = options.delimiter.unwrap_or_else(|| sniff_delimiter(&bytes));
        let (first, header_bytes, header_lines) = read_header(&bytes, delimiter, options.quote)?;
        let (header, header_bytes, header_lines) = match names_without_header(&first, options)? {
            Some(names) => (names, 0, 0),
            None => (first, header_bytes, header_lines),
        };
        bytes.drain(..header_bytes);
        let names = NamesAndTypes::of_header(&header, options)?;
        let mut table = CsvTable {
            chunks,
            columns: Vec::new(),
            types: Vec::new(),
            delimiter,
            quote: options.quote,
            list_delimiter: options.list_delimiter,
        };
        table.decide_types(names, &bytes);
        table.chunks.put_back(Some(Chunk::Text { bytes, first_line: first_line + header_lines }));
        Ok(table)
    }

    fn reader<'a>(&self, bytes: &'a [u8]) -> csv::Reader<&'a [u8]> {
        reader(bytes, self.delimiter, self.quote)
    }

    /// Takes stated types, and infers the others from the first chunk.
    fn decide_types(&mut self, names: NamesAndTypes, sample: &[u8]) {
        let mut fields: Vec<Vec<String>> = vec![Vec::new(); names.names.len()];
        if names.types.iter().any(Option::is_none) {
            let mut reader = self.reader(sample);
            let mut record = csv::StringRecord::new();
            while reader.read_record(&mut record).unwrap_or(false) {
                for (column, field) in record.iter().enumerate().take(fields.len()) {
                    if names.types[column].is_none() {
                        fields[column].push(field.to_string());
                    }
                }
            }
        }
        for ((name, stated), sample) in names.names.into_iter().zip(names.types).zip(fields) {
            let (field_type, inferred) = match stated {
                Some(field_type) => (field_type, Basis::Stated),
                None => (FieldType::infer(sample.iter().map(String::as_str)), Basis::Inferred),
            };
            self.columns.push(TableColumn { name, field_type: Some(field_type.clone()) });
            self.types.push((field_type, inferred));
        }
    }

    /// A row that does not fit, as it stands in the file.
    fn bad_row(&self, record: &csv::ByteRecord, line: u64, text: &[u8], builders: &[FieldBuilder]) -> BadRow {
        let text = line_text(text);
        if record.len() != self.columns.len() {
            let reason = format!("expected {} fields, found {}", self.columns.len(), record.len());
            return BadRow { line, reason, text, ..BadRow::default() };
        }
        for (column, (field, builder)) in record.iter().zip(builders).enumerate() {
            if let Err(mut reason) = builder.check(field) {
                let name = &self.columns[column].name;
                let (field_type, basis) = &self.types[column];
                match basis {
                    Basis::Inferred if *field_type != FieldType::String => {
                        let wider =
                            std::str::from_utf8(field).map_or(FieldType::String, |field| field_type.wider(field));
                        let wider = wider.name();
                        reason += &format!(" (the type was inferred from the first rows; pass --type {name}:{wider})");
                    }
                    Basis::Known(why) => reason += &format!(" ({why})"),
                    Basis::Inferred | Basis::Stated => {}
                }
                return BadRow { line, column: Some(name.clone()), reason, text, remedy: None };
            }
        }
        BadRow { line, reason: "the row cannot be read".into(), text, ..BadRow::default() }
    }
}

fn reader(bytes: &[u8], delimiter: u8, quote: Option<u8>) -> csv::Reader<&[u8]> {
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(delimiter);
    match quote {
        Some(quote) => builder.quote(quote),
        None => builder.quoting(false),
    };
    builder.from_reader(bytes)
}

/// The header's fields, and how many bytes and lines it takes.
fn read_header(bytes: &[u8], delimiter: u8, quote: Option<u8>) -> Result<(Vec<String>, usize, u64)> {
    let mut reader = reader(bytes, delimiter, quote);
    let mut record = csv::StringRecord::new();
    let found = reader.read_record(&mut record).map_err(|cause| error!(Import, "line 1: the header: {cause}"))?;
    if !found {
        return Err(error!(Import, "the file is empty, expected a header"));
    }
    // The reader leaves the second byte of a CR LF to the record after.
    let mut length = reader.position().byte() as usize;
    length += usize::from(bytes[..length].ends_with(b"\r") && bytes[length..].starts_with(b"\n"));
    let lines = bytes[..length].iter().filter(|&&byte| byte == b'\n').count() as u64;
    Ok((record.iter().map(|field| field.trim().to_string()).collect(), length, lines))
}

/// The likeliest delimiter: the one that comes most often in the first line, outside quotes.
fn sniff_delimiter(bytes: &[u8]) -> u8 {
    let mut counts = [0_usize; 4];
    let candidates = *b",\t|;";
    let mut inside = false;
    for &byte in bytes.iter().take_while(|&&byte| byte != b'\n') {
        inside ^= byte == b'"';
        if let Some(at) = candidates.iter().position(|&candidate| candidate == byte && !inside) {
            counts[at] += 1;
        }
    }
    let best = (0..4).rev().max_by_key(|&at| counts[at]).unwrap_or(0);
    candidates[best]
}

/// For each field of a record, whether it begins with a quote.
fn quoted_fields(record: &[u8], delimiter: u8, quote: u8, out: &mut Vec<bool>) {
    out.clear();
    let mut at = record.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    loop {
        let is_quoted = record.get(at) == Some(&quote);
        out.push(is_quoted);
        if is_quoted {
            at += 1;
            while let Some(&byte) = record.get(at) {
                let is_doubled = byte == quote && record.get(at + 1) == Some(&quote);
                at += if is_doubled { 2 } else { 1 };
                if byte == quote && !is_doubled {
                    break;
                }
            }
        }
        at += record[at.min(record.len())..].iter().take_while(|&&byte| byte != delimiter).count() + 1;
        if at > record.len() {
            return;
        }
    }
}

/// True if the bytes of a record end within quotes.
fn is_left_open(record: &[u8], delimiter: u8, quote: Option<u8>) -> bool {
    let (mut inside, mut at_start) = (false, true);
    for &byte in record {
        if Some(byte) == quote && (inside || at_start) {
            // A doubled quote leaves the quotes and enters them again.
            inside = !inside;
            at_start = !inside;
        } else {
            at_start = !inside && (byte == delimiter || byte == b'\n' || byte == b'\r');
        }
    }
    inside
}

impl Table for CsvTable {
    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn next_chunk(&self) -> Result<Option<Chunk>> {
        self.chunks.next()
    }

    fn takes_types(&self) -> bool {
        true
    }

    fn read_as(&mut self, column: usize, field_type: &FieldType, why: &str) {
        if self.types[column].1 != Basis::Stated {
            self.types[column] = (field_type.clone(), Basis::Known(why.to_owned()));
            self.columns[column].field_type = Some(field_type.clone());
        }
    }

    fn parse(&self, chunk: Chunk, sink: &mut dyn FnMut(RowBatch) -> Result<()>) -> Result<()> {
        let Chunk::Text { bytes, first_line } = chunk else {
            return Err(error!(Internal, "a CSV file was given a chunk of another format"));
        };
        let mut rows = Rows::of(self, &bytes);
        let mut reader = self.reader(&bytes);
        let mut record = csv::ByteRecord::new();
        let (mut start, mut line) = (0, first_line);
        while reader.read_byte_record(&mut record).map_err(|cause| error!(Import, "{cause}"))? {
            // The reader's own line number is one too low after CR LF: it leaves the LF to the next record.
            let counted = start;
            start = record.position().map_or(counted, |position| position.byte() as usize);
            start += usize::from(start > 0 && bytes[start - 1] == b'\r' && bytes[start] == b'\n');
            line += bytes[counted..start].iter().filter(|&&byte| byte == b'\n').count() as u64;
            rows.take(&record, line, start..reader.position().byte() as usize);
        }
        if is_left_open(&bytes[start..], self.delimiter, self.quote) {
            // The last record has swallowed all that follows its quote: no value of it can be trusted.
            let text = bytes[start..].split(|&byte| byte == b'\n').next().unwrap_or_default();
            rows.take_back(line, line_text(text));
        }
        let batch = rows.finish();
        drop(reader);
        sink(RowBatch { texts: RowTexts::of(bytes, batch.texts), ..batch })
    }

    fn progress(&self) -> (u64, u64) {
        self.chunks.progress()
    }
}

/// Rows of one chunk as they are read.
struct Rows<'t> {
    table: &'t CsvTable,
    bytes: &'t [u8],
    builders: Vec<FieldBuilder>,
    batch: RowBatch,
    /// Rows that were pushed, good and bad, and which of them are good, once one is not.
    pushed: u32,
    good: Option<Vec<u32>>,
    /// True if any string of the chunk may be empty and not absent.
    has_empty_texts: bool,
    quoted: Vec<bool>,
}

impl<'t> Rows<'t> {
    fn of(table: &'t CsvTable, bytes: &'t [u8]) -> Rows<'t> {
        let builder = |(field_type, _): &(FieldType, Basis)| FieldBuilder::new(field_type, table.list_delimiter);
        let has_empty_texts = table.quote.is_some_and(|quote| bytes.windows(2).any(|pair| pair == [quote, quote]));
        Rows {
            table,
            bytes,
            builders: table.types.iter().map(builder).collect(),
            batch: RowBatch::default(),
            pushed: 0,
            good: None,
            has_empty_texts,
            quoted: Vec::new(),
        }
    }

    fn take(&mut self, record: &csv::ByteRecord, line: u64, place: std::ops::Range<usize>) {
        let mut fits = record.len() == self.builders.len();
        if fits {
            self.quoted.clear();
            if let (true, Some(quote)) = (self.has_empty_texts && record.iter().any(<[u8]>::is_empty), self.table.quote)
            {
                quoted_fields(&self.bytes[place.clone()], self.table.delimiter, quote, &mut self.quoted);
            }
            for (index, (field, builder)) in record.iter().zip(&mut self.builders).enumerate() {
                let is_text = self.quoted.get(index).is_some_and(|quoted| *quoted);
                fits &= if is_text { builder.push_quoted(field) } else { builder.push(field) };
            }
            self.pushed += 1;
        }
        if fits {
            self.batch.lines.push(line);
            self.batch.texts.push(place);
            if let Some(good) = &mut self.good {
                good.push(self.pushed - 1);
            }
            return;
        }
        let bad = self.table.bad_row(record, line, &self.bytes[place], &self.builders);
        self.batch.bad.push(bad);
        if self.good.is_none() && record.len() == self.builders.len() {
            self.good = Some((0..self.pushed - 1).collect());
        }
    }

    /// Calls the last row bad: its quote is open.
    fn take_back(&mut self, line: u64, text: String) {
        if self.batch.lines.last() == Some(&line) {
            self.batch.lines.pop();
            self.batch.texts.pop();
            let pushed = self.pushed;
            self.good.get_or_insert_with(|| (0..pushed).collect()).pop();
        } else if self.batch.bad.last().is_some_and(|bad| bad.line == line) {
            self.batch.bad.pop();
        }
        let reason = "a quote is opened here and not closed before the end of the file".to_string();
        self.batch.bad.push(BadRow { line, reason, text, ..BadRow::default() });
    }

    fn finish(self) -> RowBatch {
        let columns = self.builders.into_iter().map(FieldBuilder::finish);
        let columns = match self.good {
            None => columns.collect(),
            Some(good) => columns.map(|column| column.gather(&good)).collect(),
        };
        RowBatch { columns, ..self.batch }
    }
}
