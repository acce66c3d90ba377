//! Estimated bytes that rows hold in memory: what is charged for keeping them.
//!
//! Cost: constant for a column of one kind; for mixed columns a step a row. Lists are judged by some of their elements, spread evenly,
//! and a list or string that the row before shares is not counted again.

use std::sync::Arc;

use model::value::{MapValue, map_node_bytes};
use model::{Column, ColumnData, PathValue, Value, each_vector};

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
    let data = each_vector!(&column.data, {
        ColumnData::Null(_) => 0,
        ColumnData::String(text) => text.byte_count() + rows * size_of::<u64>(),
        ColumnData::Value(values) => {
            let heap: usize = values.iter().map(|value| heap_bytes_after(value, last)).sum();
            rows * size_of::<Value>() + heap
        }
    }, values => size_of_val(&values[..]));
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

/// Address of the data that a value shares; 0 for values that share nothing.
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

/// Elements of a list that are looked at; half as many of a list within one.
const SAMPLES: usize = 8;

/// Bytes that a value takes besides itself. What stands in a list several times is counted each time.
pub fn heap_bytes(value: &Value) -> usize {
    bytes_by(value, SAMPLES)
}

fn bytes_by(value: &Value, samples: usize) -> usize {
    match value {
        Value::String(text) => SHARED + text.len(),
        Value::Bytes(bytes) => SHARED + bytes.len(),
        Value::List(_) | Value::Map(_) => nested_bytes(value, samples, bytes_by),
        Value::Path(path) => {
            let members = size_of_val(&path.nodes[..]) + size_of_val(&path.edges[..]);
            SHARED + size_of::<PathValue>() + members
        }
        _ => 0,
    }
}

/// Bytes that a value takes besides itself and that nobody else holds: none for what came from elsewhere.
pub(crate) fn own_bytes(value: &Value) -> usize {
    own_bytes_by(value, SAMPLES)
}

fn own_bytes_by(value: &Value, samples: usize) -> usize {
    match value {
        Value::String(text) if Arc::strong_count(text) == 1 => heap_bytes(value),
        Value::Bytes(bytes) if Arc::strong_count(bytes) == 1 => heap_bytes(value),
        Value::Path(path) if Arc::strong_count(path) == 1 => heap_bytes(value),
        Value::List(items) if items.is_sole() => nested_bytes(value, samples, own_bytes_by),
        Value::Map(map) if map.is_sole() => nested_bytes(value, samples, own_bytes_by),
        _ => 0,
    }
}

/// Bytes of a list, judged by some of its elements, or of a map. The bytes of lists and maps in it are taken for as many of all the
/// values below as they have: a share, so that an estimate does not multiply from level to level.
fn nested_bytes(value: &Value, samples: usize, of: fn(&Value, usize) -> usize) -> usize {
    let within = (samples / 2).max(1);
    match value {
        Value::List(items) => {
            let own = SHARED + size_of::<Vec<Value>>() + items.len() * size_of::<Value>();
            let below = (items.extent() as usize).saturating_sub(items.len());
            let looked_at = items.len().min(samples);
            let (mut flat, mut nested, mut extent) = (0, 0, 0);
            for place in 0..looked_at {
                let item = &items[place * items.len() / looked_at];
                match extent_of(item) {
                    0 => flat += of(item, within),
                    values => {
                        nested += of(item, within);
                        extent += values;
                    }
                }
            }
            let scaled =
                |bytes: usize, whole: usize, part: usize| (bytes as u128 * whole as u128 / part as u128) as usize;
            let below = if extent == 0 { below * size_of::<Value>() } else { scaled(nested, below, extent) };
            own + below + scaled(flat, items.len(), looked_at.max(1))
        }
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| SHARED + key.len() + of(value, within));
            SHARED + size_of::<MapValue>() + map_node_bytes(map.len()) + entries.sum::<usize>()
        }
        _ => 0,
    }
}

/// Values in all levels of a list or map.
fn extent_of(value: &Value) -> usize {
    match value {
        Value::List(items) => items.extent() as usize,
        Value::Map(map) => map.extent() as usize,
        _ => 0,
    }
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
