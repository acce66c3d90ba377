//! How many bytes rows hold in memory, about: what is charged for keeping them.
//!
//! Cost: constant for a column of one kind; for mixed columns a step a row. Lists are judged by their first element, and
//! a list or text that the row before shares is not counted again.

use std::sync::Arc;

use model::{Column, ColumnData, Value};

use crate::chunk::Chunk;

/// Counts columns one after the other, remembering what the last row shared.
#[derive(Debug, Default)]
pub(crate) struct Sizer {
    last: Vec<usize>,
}

impl Sizer {
    /// Bytes that the rows of a chunk take where those of the chunk before are kept too.
    pub(crate) fn chunk(&mut self, chunk: &Chunk) -> usize {
        self.last.resize(chunk.columns.len(), 0);
        let columns = chunk.columns.iter().zip(&mut self.last);
        columns.map(|(column, last)| column_bytes_after(column, last)).sum()
    }
}

/// Bytes that the rows of a chunk take.
pub(crate) fn chunk_bytes(chunk: &Chunk) -> usize {
    Sizer::default().chunk(chunk)
}

/// Bytes that a column takes.
pub(crate) fn column_bytes(column: &Column) -> usize {
    column_bytes_after(column, &mut 0)
}

fn column_bytes_after(column: &Column, last: &mut usize) -> usize {
    let rows = column.len();
    let data = match &column.data {
        ColumnData::Null(_) => 0,
        ColumnData::Bool(_) => rows,
        ColumnData::String(text) => text.byte_count() + rows * size_of::<u64>(),
        ColumnData::Edge(_) => rows * size_of::<model::EdgeValue>(),
        ColumnData::Value(values) => {
            let heap: usize = values.iter().map(|value| heap_bytes_after(value, last)).sum();
            rows * size_of::<Value>() + heap
        }
        ColumnData::LocalDateTime(_) | ColumnData::Time(_) | ColumnData::DateTime(_) => rows * 2 * size_of::<u64>(),
        ColumnData::Duration(_) => rows * size_of::<model::temporal::Duration>(),
        _ => rows * size_of::<u64>(),
    };
    data + if column.validity.is_some() { rows / 8 } else { 0 }
}

/// Bytes that a value takes besides itself, none if it is what `last` points to.
fn heap_bytes_after(value: &Value, last: &mut usize) -> usize {
    let address = address(value);
    if address == 0 || std::mem::replace(last, address) == address {
        return 0;
    }
    heap_bytes(value)
}

/// Where what a value shares stands; 0 for values that share nothing.
pub(crate) fn address(value: &Value) -> usize {
    match value {
        Value::String(text) => text.as_ptr() as usize,
        Value::Bytes(bytes) => bytes.as_ptr() as usize,
        Value::List(items) => items.address(),
        Value::Map(map) => map.address(),
        Value::Path(path) => Arc::as_ptr(path) as usize,
        _ => 0,
    }
}

/// Bytes of a reference count.
const SHARED: usize = 2 * size_of::<usize>();

/// Bytes that a value takes besides itself. What stands in a list several times is counted each time.
pub(crate) fn heap_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => SHARED + text.len(),
        Value::Bytes(bytes) => SHARED + bytes.len(),
        Value::List(_) | Value::Map(_) => nested_bytes(value, heap_bytes),
        Value::Path(path) => {
            SHARED + path.nodes.len() * size_of::<u64>() + path.edges.len() * size_of::<model::EdgeValue>()
        }
        _ => 0,
    }
}

/// Bytes that a value takes besides itself and that nobody else holds: none for what came from elsewhere.
pub(crate) fn own_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) if Arc::strong_count(text) == 1 => heap_bytes(value),
        Value::Bytes(bytes) if Arc::strong_count(bytes) == 1 => heap_bytes(value),
        Value::Path(path) if Arc::strong_count(path) == 1 => heap_bytes(value),
        Value::List(items) if items.is_sole() => nested_bytes(value, own_bytes),
        Value::Map(map) if map.is_sole() => nested_bytes(value, own_bytes),
        _ => 0,
    }
}

/// Most bytes that a list or map is estimated at. Sums over rows and groups stay in range.
const NESTED_BYTES_MAX: usize = 1 << 40;

/// Bytes of a list, judged by its first element, or of a map. An estimate multiplies from level to level.
fn nested_bytes(value: &Value, of: fn(&Value) -> usize) -> usize {
    let bytes = match value {
        Value::List(items) => {
            let each = size_of::<Value>().saturating_add(items.first().map_or(0, of));
            items.len().saturating_mul(each).saturating_add(SHARED + size_of::<Vec<Value>>())
        }
        Value::Map(map) => {
            let own = SHARED + map.len() * 2 * size_of::<Value>();
            map.iter().fold(own, |sum, (key, value)| sum.saturating_add(SHARED + key.len()).saturating_add(of(value)))
        }
        _ => 0,
    };
    bytes.min(NESTED_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::{Sizer, chunk_bytes, heap_bytes, own_bytes};
    use crate::chunk::Chunk;
    use model::{Column, Value};
    use std::sync::Arc;

    #[test]
    fn what_others_hold_is_not_ones_own() {
        let list = Value::list(vec![Value::string("abc"); 10]);
        assert!(own_bytes(&list) < heap_bytes(&list), "its texts are one");
        let list = Value::list(vec![Value::string("abc")]);
        assert_eq!(own_bytes(&list), heap_bytes(&list));
        let other = list.clone();
        assert_eq!(own_bytes(&list), 0);
        drop(other);
        let outer = Value::list(vec![list.clone(), Value::Int(1)]);
        assert_eq!(own_bytes(&outer), heap_bytes(&Value::list(vec![Value::Int(1); 2])));
    }

    #[test]
    fn what_rows_share_counts_once() {
        let list = Value::list(vec![Value::Int(1); 1_000]);
        let chunk = Chunk { rows: 100, columns: vec![Arc::new(Column::from_values(&vec![list; 100]))] };
        let once = 1_000 * size_of::<Value>();
        let bytes = chunk_bytes(&chunk);
        assert!((once..once + 100 * size_of::<Value>() + 100).contains(&bytes), "{bytes}");
        let mut sizer = Sizer::default();
        assert_eq!(sizer.chunk(&chunk), bytes);
        assert_eq!(sizer.chunk(&chunk), 100 * size_of::<Value>());
    }
}
