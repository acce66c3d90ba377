//! SNAP edge lists: two ids a line, between blanks or tabs; `#` and `%` start comments; further columns are kept.

use std::path::Path;

use model::{Interrupt, Result, error};

use super::field::FieldBuilder;
use super::text::TextChunks;
use super::{BadRow, Chunk, FieldType, RowBatch, RowTexts, Table, TableColumn};

/// An edge list as a table of `source`, `target` and, where lines have more, `value1`, `value2`, ….
pub struct EdgeListTable {
    chunks: TextChunks,
    columns: Vec<TableColumn>,
}

impl EdgeListTable {
    /// Opens a file; its first line that is no comment says how many columns there are, its first lines their types.
    pub fn open(path: &Path, interrupt: &Interrupt) -> Result<EdgeListTable> {
        let chunks = TextChunks::open(path, None, interrupt)?;
        let first = chunks.next()?;
        let columns = match &first {
            Some(Chunk::Text { bytes, .. }) => columns_of(bytes),
            _ => Vec::new(),
        };
        if columns.len() < 2 {
            return Err(error!(Import, "expected two ids a line, found no such line"));
        }
        chunks.put_back(first);
        Ok(EdgeListTable { chunks, columns })
    }
}

fn columns_of(bytes: &[u8]) -> Vec<TableColumn> {
    let text = String::from_utf8_lossy(bytes);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !is_skipped(line.as_bytes()))
        .map(|line| line.split_ascii_whitespace().collect())
        .collect();
    let count = rows.first().map_or(0, Vec::len);
    let named = |index: usize| match index {
        0 => "source".to_string(),
        1 => "target".to_string(),
        other => format!("value{}", other - 1),
    };
    (0..count)
        .map(|index| {
            let field_type = FieldType::infer(rows.iter().filter(|row| row.len() == count).map(|row| row[index]));
            TableColumn { name: named(index), field_type: Some(field_type) }
        })
        .collect()
}

fn is_skipped(line: &[u8]) -> bool {
    matches!(line.trim_ascii().first(), None | Some(b'#' | b'%'))
}

impl Table for EdgeListTable {
    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn next_chunk(&self) -> Result<Option<Chunk>> {
        self.chunks.next()
    }

    fn read_as(&mut self, column: usize, field_type: &FieldType, _why: &str) {
        self.columns[column].field_type = Some(field_type.clone());
    }

    fn parse(&self, chunk: Chunk, sink: &mut dyn FnMut(RowBatch) -> Result<()>) -> Result<()> {
        let fields = |line: &[u8], fields: &mut Vec<std::ops::Range<usize>>| {
            if is_skipped(line) {
                return Row::Skipped;
            }
            split_blanks(line, fields);
            Row::Fields
        };
        parse_lines(chunk, &self.columns, &fields, sink)
    }

    fn progress(&self) -> (u64, u64) {
        self.chunks.progress()
    }
}

/// The result of reading a line.
pub(crate) enum Row {
    /// A comment or empty.
    Skipped,
    /// A row whose fields were found.
    Fields,
    /// Something else, and why.
    Bad(String),
}

/// Finds the fields of a line.
pub(crate) type SplitLine<'a> = dyn Fn(&[u8], &mut Vec<std::ops::Range<usize>>) -> Row + 'a;

/// The ranges of a line that are not blank.
pub(crate) fn split_blanks(line: &[u8], fields: &mut Vec<std::ops::Range<usize>>) {
    let mut at = 0;
    while at < line.len() {
        while at < line.len() && line[at].is_ascii_whitespace() {
            at += 1;
        }
        let start = at;
        while at < line.len() && !line[at].is_ascii_whitespace() {
            at += 1;
        }
        if at > start {
            fields.push(start..at);
        }
    }
}

/// Parses a chunk line by line, with fields as `split` finds them.
pub(crate) fn parse_lines(
    chunk: Chunk,
    columns: &[TableColumn],
    split: &SplitLine<'_>,
    sink: &mut dyn FnMut(RowBatch) -> Result<()>,
) -> Result<()> {
    let Chunk::Text { bytes, first_line } = chunk else {
        return Err(error!(Internal, "a text file was given a chunk of another format"));
    };
    let types: Vec<FieldType> = columns.iter().map(|c| c.field_type.clone().unwrap_or(FieldType::String)).collect();
    let mut builders: Vec<FieldBuilder> = types.iter().map(|field_type| FieldBuilder::new(field_type, b';')).collect();
    let mut batch = RowBatch::default();
    let (mut pushed, mut good) = (0_u32, Vec::new());
    let mut fields = Vec::new();
    let mut start = 0;
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        fields.clear();
        let row = split(line, &mut fields);
        let line_number = first_line + number as u64;
        let mut bad = |column: Option<usize>, reason: String| {
            let column = column.map(|index| columns[index].name.clone());
            let text = String::from_utf8_lossy(line).trim_end().to_string();
            batch.bad.push(BadRow { line: line_number, column, reason, text, remedy: None });
        };
        match row {
            Row::Skipped => {}
            Row::Bad(reason) => bad(None, reason),
            Row::Fields if fields.len() != builders.len() => {
                bad(None, format!("expected {} fields, found {}", builders.len(), fields.len()));
            }
            Row::Fields => {
                let mut misfit = None;
                for (index, builder) in builders.iter_mut().enumerate() {
                    if !builder.push(&line[fields[index].clone()]) {
                        misfit = misfit.or(Some(index));
                    }
                }
                match misfit {
                    None => {
                        batch.lines.push(line_number);
                        batch.texts.push(start..start + line.len());
                        good.push(pushed);
                    }
                    Some(index) => {
                        let reason = builders[index].check(&line[fields[index].clone()]).err().unwrap_or_default();
                        bad(Some(index), reason);
                    }
                }
                pushed += 1;
            }
        }
        start += line.len() + 1;
    }
    let columns = builders.into_iter().map(FieldBuilder::finish);
    let is_whole = good.len() == pushed as usize;
    batch.columns = columns.map(|column| if is_whole { column } else { column.gather(&good) }).collect();
    let texts = RowTexts::of(bytes, std::mem::take(&mut batch.texts));
    sink(RowBatch { texts, ..batch })
}
