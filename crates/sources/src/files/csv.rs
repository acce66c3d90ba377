//! Separated values: any delimiter, quotes, embedded line ends, a header that may carry types as neo4j-admin's does.

use std::path::Path;

use model::{Result, error};

use super::field::FieldBuilder;
use super::text::TextChunks;
use super::{BadRow, Chunk, FieldType, ReadOptions, RowBatch, Table, TableColumn, TypedHeader};

/// A CSV file as a table.
pub struct CsvTable {
    chunks: TextChunks,
    columns: Vec<TableColumn>,
    /// How each column is read, beside whether that was inferred: then a misfit's reason says so.
    types: Vec<(FieldType, Inferred)>,
    delimiter: u8,
    quote: Option<u8>,
    list_delimiter: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inferred {
    Yes,
    No,
}

impl CsvTable {
    /// Opens a file and reads its first chunk, for the header and for the types of columns that state none.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<CsvTable> {
        let chunks = TextChunks::open(path, options.quote)?;
        let Some(Chunk::Text { mut bytes, first_line }) = chunks.next()? else {
            return Err(error!(Import, "the file is empty, expected a header"));
        };
        let delimiter = options.delimiter.unwrap_or_else(|| sniff_delimiter(&bytes));
        let (header, header_bytes, header_lines) = match &options.header {
            Some(names) => (names.clone(), 0, 0),
            None => read_header(&bytes, delimiter, options.quote)?,
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
                Some(field_type) => (field_type, Inferred::No),
                None => (FieldType::infer(sample.iter().map(String::as_str)), Inferred::Yes),
            };
            self.columns.push(TableColumn { name, field_type: Some(field_type.clone()) });
            self.types.push((field_type, inferred));
        }
    }

    fn bad_row(&self, record: &csv::ByteRecord, line: u64, builders: &[FieldBuilder]) -> BadRow {
        let text = String::from_utf8_lossy(&record.iter().collect::<Vec<_>>().join(&self.delimiter)).into_owned();
        if record.len() != self.columns.len() {
            let reason = format!("expected {} fields, found {}", self.columns.len(), record.len());
            return BadRow { line, column: None, reason, text };
        }
        for (column, (field, builder)) in record.iter().zip(builders).enumerate() {
            if let Err(mut reason) = builder.check(field) {
                let name = &self.columns[column].name;
                if self.types[column].1 == Inferred::Yes {
                    reason += &format!(" (the type was inferred from the first rows; pass --type {name}:string)");
                }
                return BadRow { line, column: Some(name.clone()), reason, text };
            }
        }
        BadRow { line, column: None, reason: "the row cannot be read".into(), text }
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

/// The likeliest delimiter: the one that comes most often in the first line.
fn sniff_delimiter(bytes: &[u8]) -> u8 {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| line.iter().filter(|&&byte| byte == delimiter).count();
    *b",\t|;".iter().rev().max_by_key(|&&delimiter| count(delimiter)).unwrap_or(&b',')
}

/// The names of the columns and the types they state.
struct NamesAndTypes {
    names: Vec<String>,
    types: Vec<Option<FieldType>>,
}

impl NamesAndTypes {
    fn of_header(header: &[String], options: &ReadOptions) -> Result<NamesAndTypes> {
        let typed = options.typed_header == TypedHeader::Detect && header.iter().any(|field| is_typed(field));
        // neo4j-admin takes fields without a type for text; in other files they are inferred as ever.
        let has_roles =
            header.iter().any(|field| field.rsplit_once(':').is_some_and(|(_, suffix)| role_of(suffix).is_some()));
        let mut names = Vec::new();
        let mut types = Vec::new();
        for (index, field) in header.iter().enumerate() {
            let (name, mut stated) = if typed { split_typed(field)? } else { (field.clone(), None) };
            if !has_roles && !is_typed(field) {
                stated = None;
            }
            let name = if name.is_empty() { format!("column{}", index + 1) } else { unused(name, &names) };
            let chosen = options.types.iter().find(|(column, _)| *column == name).map(|(_, chosen)| chosen.clone());
            names.push(name);
            types.push(chosen.or(stated));
        }
        if let Some((missing, _)) = options.types.iter().find(|(column, _)| !names.contains(column)) {
            return Err(error!(Import, "there is no column '{missing}' to give a type, only {}", names.join(", ")));
        }
        Ok(NamesAndTypes { names, types })
    }
}

/// The name, or with a number if an earlier column has it: files of edges often name both ends alike.
fn unused(name: String, names: &[String]) -> String {
    if !names.contains(&name) || name.starts_with(':') {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    numbered.into_iter().find(|other| !names.contains(other)).unwrap_or(name)
}

/// Words of neo4j-admin that say what a column is for, not what type it has.
const ROLES: [&str; 6] = ["ID", "LABEL", "START_ID", "END_ID", "TYPE", "IGNORE"];

fn role_of(suffix: &str) -> Option<&str> {
    let word = suffix.split_once('(').map_or(suffix, |(word, _)| word);
    ROLES.iter().find(|role| word.eq_ignore_ascii_case(role)).map(|_| word)
}

fn is_typed(field: &str) -> bool {
    field.rsplit_once(':').is_some_and(|(_, suffix)| {
        role_of(suffix).is_some() || FieldType::of_name(suffix.split('{').next().unwrap_or(suffix)).is_some()
    })
}

/// Splits `name:type`; a role stays with the name (`id:ID(Person)`), and its values are text unless they are inferred.
fn split_typed(field: &str) -> Result<(String, Option<FieldType>)> {
    let Some((name, suffix)) = field.rsplit_once(':') else {
        return Ok((field.to_string(), Some(FieldType::String)));
    };
    if let Some(role) = role_of(suffix) {
        let text = !role.eq_ignore_ascii_case("ID") && !role.to_ascii_uppercase().ends_with("_ID");
        return Ok((field.to_string(), text.then_some(FieldType::String)));
    }
    match FieldType::of_name(suffix.split('{').next().unwrap_or(suffix)) {
        Some(field_type) => Ok((name.to_string(), Some(field_type))),
        None => Err(error!(Import, "line 1: the header's field '{field}' names an unknown type '{suffix}'")
            .with_remedy("use int, float, boolean, string, date, localtime, time, localdatetime, datetime, duration, or one of them with []")),
    }
}

/// Whether the bytes of a record end within quotes.
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

    fn parse(&self, chunk: Chunk, sink: &mut dyn FnMut(RowBatch) -> Result<()>) -> Result<()> {
        let Chunk::Text { bytes, first_line } = chunk else {
            return Err(error!(Internal, "a CSV file was given a chunk of another format"));
        };
        let mut builders: Vec<FieldBuilder> =
            self.types.iter().map(|(field_type, _)| FieldBuilder::new(field_type, self.list_delimiter)).collect();
        let mut batch = RowBatch::default();
        let mut reader = self.reader(&bytes);
        let mut record = csv::ByteRecord::new();
        let (mut counted, mut line) = (0, first_line);
        while reader.read_byte_record(&mut record).map_err(|cause| error!(Import, "{cause}"))? {
            // The reader's own line number is one too low after CR LF: it leaves the LF to the next record.
            let mut start = record.position().map_or(counted, |position| position.byte() as usize);
            start += usize::from(start > 0 && bytes[start - 1] == b'\r' && bytes[start] == b'\n');
            line += bytes[counted..start].iter().filter(|&&byte| byte == b'\n').count() as u64;
            counted = start;
            let mut taken = 0;
            if record.len() == builders.len() {
                for (field, builder) in record.iter().zip(&mut builders) {
                    if !builder.push(field) {
                        break;
                    }
                    taken += 1;
                }
            }
            if taken == builders.len() {
                batch.lines.push(line);
            } else {
                builders[..taken].iter_mut().for_each(FieldBuilder::pop);
                batch.bad.push(self.bad_row(&record, line, &builders));
            }
        }
        if is_left_open(&bytes[counted..], self.delimiter, self.quote) {
            // The last record has swallowed all that follows its quote: no value of it can be trusted.
            if batch.lines.last() == Some(&line) {
                batch.lines.pop();
                builders.iter_mut().for_each(FieldBuilder::pop);
            } else if batch.bad.last().is_some_and(|bad| bad.line == line) {
                batch.bad.pop();
            }
            let text =
                String::from_utf8_lossy(bytes[counted..].split(|&byte| byte == b'\n').next().unwrap_or_default());
            let reason = "a quote is opened here and not closed before the end of the file".to_string();
            batch.bad.push(BadRow { line, column: None, reason, text: text.trim_end().to_string() });
        }
        batch.columns = builders.into_iter().map(FieldBuilder::finish).collect();
        sink(batch)
    }

    fn progress(&self) -> (u64, u64) {
        self.chunks.progress()
    }
}
