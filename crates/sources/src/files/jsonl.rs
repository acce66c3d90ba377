//! JSON lines: one object a line; each value says its own type, and a missing key is null.

use std::path::Path;
use std::sync::Arc;

use model::{ColumnBuilder, Result, Value, error};

use super::text::TextChunks;
use super::{BadRow, Chunk, RowBatch, Table, TableColumn};

/// A file of JSON lines as a table: its columns are the keys of its first chunk of lines.
///
/// A key that first comes later would be lost, so a row that has one is bad; its reason names the key.
pub struct JsonLinesTable {
    chunks: TextChunks,
    columns: Vec<TableColumn>,
    /// Whether other keys than the columns' are passed over.
    is_selective: bool,
}

impl JsonLinesTable {
    /// Opens a file and reads its first chunk, for the keys.
    pub fn open(path: &Path) -> Result<JsonLinesTable> {
        let chunks = TextChunks::open(path, None)?;
        let first = chunks.next()?;
        let mut columns: Vec<TableColumn> = Vec::new();
        if let Some(Chunk::Text { bytes, .. }) = &first {
            for line in bytes.split(|&byte| byte == b'\n') {
                if let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(line) {
                    for key in object.keys().filter(|key| !columns.iter().any(|c| c.name == **key)).collect::<Vec<_>>()
                    {
                        columns.push(TableColumn { name: key.clone(), field_type: None });
                    }
                }
            }
        }
        if columns.is_empty() {
            return Err(error!(Import, "expected a JSON object on each line, found none"));
        }
        chunks.put_back(first);
        Ok(JsonLinesTable { chunks, columns, is_selective: false })
    }

    /// Opens a file of which only these keys are read, wherever they come; others are passed over.
    pub fn with_columns(path: &Path, names: &[String]) -> Result<JsonLinesTable> {
        let columns = names.iter().map(|name| TableColumn { name: name.clone(), field_type: None }).collect();
        Ok(JsonLinesTable { chunks: TextChunks::open(path, None)?, columns, is_selective: true })
    }

    fn row(&self, line: &[u8], values: &mut [Value]) -> Result<(), (Option<String>, String)> {
        values.fill(Value::Null);
        let parsed: serde_json::Value = serde_json::from_slice(line).map_err(|cause| (None, cause.to_string()))?;
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

fn to_value(json: serde_json::Value) -> Result<Value, String> {
    Ok(match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(x) => Value::Bool(x),
        serde_json::Value::Number(x) => match x.as_i64() {
            Some(whole) => Value::Int(whole),
            None if x.is_u64() => return Err(format!("{x} is larger than a 64-bit integer")),
            None => Value::Float(x.as_f64().ok_or_else(|| format!("{x} is not a number that can be kept"))?),
        },
        serde_json::Value::String(x) => Value::String(Arc::from(x)),
        serde_json::Value::Array(items) => {
            let items = items.into_iter().map(to_value).collect::<Result<Vec<_>, _>>()?;
            if items.iter().any(|item| !item.is_storable() || item.is_null()) {
                return Err("a list with nulls or objects cannot be a property".into());
            }
            Value::list(items)
        }
        serde_json::Value::Object(_) => return Err("an object cannot be a property".into()),
    })
}

impl Table for JsonLinesTable {
    fn columns(&self) -> &[TableColumn] {
        &self.columns
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
        for (number, text) in bytes.split(|&byte| byte == b'\n').enumerate() {
            if text.trim_ascii().is_empty() {
                continue;
            }
            let line = first_line + number as u64;
            match self.row(text, &mut values) {
                Ok(()) => {
                    builders.iter_mut().zip(&values).for_each(|(builder, value)| builder.push(value));
                    batch.lines.push(line);
                }
                Err((column, reason)) => {
                    let text = String::from_utf8_lossy(text).into_owned();
                    batch.bad.push(BadRow { line, column, reason, text });
                }
            }
        }
        batch.columns = builders.into_iter().map(ColumnBuilder::finish).collect();
        sink(batch)
    }

    fn progress(&self) -> (u64, u64) {
        self.chunks.progress()
    }
}
