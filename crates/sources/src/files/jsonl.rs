//! JSON lines: one object a line; each value says its own type, and a missing key is null.

use std::path::Path;

use model::{ColumnBuilder, Interrupt, Result, Value, error};

use super::json_value::{to_value, wide_integer};
use super::text::TextChunks;
use super::{BadRow, Chunk, FieldType, RowBatch, RowTexts, Table, TableColumn};

/// A file of JSON lines as a table: its columns are the keys of its first chunk of lines.
///
/// A key that first comes later would be lost, so a row that has one is bad; its reason names the key.
pub struct JsonLinesTable {
    chunks: TextChunks,
    columns: Vec<TableColumn>,
    /// The types of values in the first chunk; `None` where they are of several.
    types: Vec<Option<FieldType>>,
    /// True if other keys than the columns' are passed over.
    is_selective: bool,
}

impl JsonLinesTable {
    /// Opens a file and reads its first chunk, for the keys.
    pub fn open(path: &Path, interrupt: &Interrupt) -> Result<JsonLinesTable> {
        let chunks = TextChunks::open(path, None, interrupt)?;
        let first = chunks.next()?;
        let mut columns: Vec<TableColumn> = Vec::new();
        let mut kinds: Vec<Kinds> = Vec::new();
        if let Some(Chunk::Text { bytes, .. }) = &first {
            for line in bytes.split(|&byte| byte == b'\n') {
                let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(line) else { continue };
                for (key, value) in object {
                    let at = columns.iter().position(|column| column.name == key).unwrap_or_else(|| {
                        columns.push(TableColumn { name: key, field_type: None });
                        kinds.push(Kinds::None);
                        columns.len() - 1
                    });
                    kinds[at].add(&to_value(value).unwrap_or(Value::Null));
                }
            }
        }
        if columns.is_empty() {
            let error = error!(Import, "expected a JSON object on each line, found none");
            let is_array =
                matches!(&first, Some(Chunk::Text { bytes, .. }) if bytes.trim_ascii_start().starts_with(b"["));
            return Err(match is_array {
                true => error.with_remedy("put each object of the array on a line of its own: jq -c '.[]' FILE"),
                false => error.with_remedy("write one object a line"),
            });
        }
        chunks.put_back(first);
        let types = kinds.into_iter().map(Kinds::only).collect();
        Ok(JsonLinesTable { chunks, columns, types, is_selective: false })
    }

    /// Opens a file of which only these keys are read, wherever they come; others are passed over.
    pub fn with_columns(path: &Path, names: &[String]) -> Result<JsonLinesTable> {
        let column = |name: &String| TableColumn { name: name.clone(), field_type: None };
        let columns: Vec<TableColumn> = names.iter().map(column).collect();
        let types = vec![None; columns.len()];
        let chunks = TextChunks::open(path, None, &Interrupt::new())?;
        Ok(JsonLinesTable { chunks, columns, types, is_selective: true })
    }

    fn row(&self, line: &[u8], values: &mut [Value]) -> Result<(), (Option<String>, String)> {
        values.fill(Value::Null);
        let parsed: serde_json::Value = serde_json::from_slice(line).map_err(|cause| (None, in_line(&cause)))?;
        if let Some(number) = wide_integer(line) {
            return Err((None, format!("{number} is larger than a 64-bit integer; write it as text to keep it")));
        }
        let serde_json::Value::Object(object) = parsed else {
            return Err((None, "expected a JSON object".into()));
        };
        for (key, value) in object {
            let Some(index) = self.columns.iter().position(|column| column.name == key) else {
                if self.is_selective {
                    continue;
                }
                return Err((Some(key), "the key does not come in the first rows of the file".into()));
            };
            values[index] = to_value(value).map_err(|reason| (Some(key), reason))?;
        }
        Ok(())
    }
}

/// The kinds of values seen under one key.
enum Kinds {
    None,
    One(FieldType),
    Several,
}

impl Kinds {
    fn add(&mut self, value: &Value) {
        *self = match (std::mem::replace(self, Kinds::Several), FieldType::of_value(value)) {
            (before, _) if value.is_null() => before,
            (Kinds::None, Some(kind)) => Kinds::One(kind),
            (Kinds::One(before), Some(kind)) if before == kind => Kinds::One(kind),
            _ => Kinds::Several,
        };
    }

    fn only(self) -> Option<FieldType> {
        match self {
            Kinds::One(kind) => Some(kind),
            Kinds::None | Kinds::Several => None,
        }
    }
}

/// A parser's complaint about one line, without the line's number, which is always one.
fn in_line(cause: &serde_json::Error) -> String {
    cause.to_string().replace(" at line 1 column ", " at column ")
}

impl Table for JsonLinesTable {
    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn type_of(&self, column: usize) -> Option<FieldType> {
        self.types[column].clone()
    }

    fn next_chunk(&self) -> Result<Option<Chunk>> {
        self.chunks.next()
    }

    fn parse(&self, chunk: Chunk, sink: &mut dyn FnMut(RowBatch) -> Result<()>) -> Result<()> {
        let Chunk::Text { bytes, first_line } = chunk else {
            return Err(error!(Internal, "a JSON file was given a chunk of another format"));
        };
        let mut builders = vec![ColumnBuilder::default(); self.columns.len()];
        let mut values = vec![Value::Null; self.columns.len()];
        let mut batch = RowBatch::default();
        let mut start = 0;
        for (number, text) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let place = start..start + text.len();
            start += text.len() + 1;
            if text.trim_ascii().is_empty() {
                continue;
            }
            let line = first_line + number as u64;
            match self.row(text, &mut values) {
                Ok(()) => {
                    builders.iter_mut().zip(&values).for_each(|(builder, value)| builder.push(value));
                    batch.lines.push(line);
                    batch.texts.push(place);
                }
                Err((column, reason)) => {
                    let text = String::from_utf8_lossy(text).into_owned();
                    batch.bad.push(BadRow { line, column, reason, text, remedy: None });
                }
            }
        }
        batch.columns = builders.into_iter().map(ColumnBuilder::finish).collect();
        let texts = RowTexts::of(bytes, std::mem::take(&mut batch.texts));
        sink(RowBatch { texts, ..batch })
    }

    fn progress(&self) -> (u64, u64) {
        self.chunks.progress()
    }
}
