//! Rows as bytes: column by column, little-endian, for temporary files of this process only.
//!
//! A column is its kind, whether it has a bitmap of presence, the bitmap, and its values. Values of mixed columns have a
//! tag each; one that the row before shares is written as one tag, so that a list repeated in every row stands once.

use std::path::Path;
use std::sync::Arc;

use model::codec::bytes::Get;
use model::{
    Bitmap, Column, ColumnData, EdgeId, EdgeTypeId, EdgeValue, Fixed, FixedKind, NodeId, PathValue, Result, Stored,
    StringColumn, Value, each_fixed, each_stored_vector, with_stored,
};

use crate::chunk::Chunk;
use crate::size::address;

/// A fixed number of bytes.
trait Plain: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut Reader<'_>) -> Result<Self>;
}

/// Adds the rows of a chunk to `out`.
pub(crate) fn encode(chunk: &Chunk, out: &mut Vec<u8>) {
    (chunk.rows as u64).put(out);
    (chunk.columns.len() as u64).put(out);
    chunk.columns.iter().for_each(|column| encode_column(column, out));
}

/// The rows that [`encode`] wrote.
pub(crate) fn decode(bytes: &[u8]) -> Result<Chunk> {
    let mut reader = Reader(bytes);
    let rows = u64::take(&mut reader)? as usize;
    let columns = u64::take(&mut reader)? as usize;
    let columns = (0..columns).map(|_| Ok(Arc::new(decode_column(&mut reader, rows)?))).collect::<Result<_>>()?;
    Ok(Chunk { rows, columns })
}

/// Bytes left to be read.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn bytes(&mut self, count: usize) -> Result<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn text(&mut self) -> Result<&'b str> {
        let length = u64::take(self)? as usize;
        std::str::from_utf8(self.bytes(length)?).map_err(|_| damaged())
    }
}

fn damaged() -> model::Error {
    model::error!(Io, "a temporary file does not hold what was written to it").with_remedy("check the disk")
}

macro_rules! plain_numbers {
    ($($number:ty),*) => { $(
        impl Plain for $number {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn take(from: &mut Reader<'_>) -> Result<$number> {
                let bytes = from.bytes(size_of::<$number>())?;
                Ok(<$number>::from_le_bytes(bytes.try_into().expect("as many bytes as were asked for")))
            }
        }
    )* };
}

plain_numbers!(u8, i32, u32, i64, u64, f64);

/// Types that are other types in order.
macro_rules! plain_structs {
    ($($name:ty { $($field:tt),* }),* $(,)?) => { $(
        impl Plain for $name {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                $(Plain::put(&self.$field, out);)*
            }

            #[inline]
            fn take(from: &mut Reader<'_>) -> Result<$name> {
                Ok(Self { $($field: Plain::take(from)?),* })
            }
        }
    )* };
}

plain_structs! {
    NodeId { 0 },
    EdgeId { 0 },
    EdgeTypeId { 0 },
    EdgeValue { id, source, target, edge_type },
}

fn put_all<T: Plain>(values: &[T], out: &mut Vec<u8>) {
    out.reserve(size_of_val(values));
    values.iter().for_each(|value| value.put(out));
}

fn take_all<T: Plain>(from: &mut Reader<'_>, count: usize) -> Result<Vec<T>> {
    (0..count).map(|_| T::take(from)).collect()
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    (text.len() as u64).put(out);
    out.extend_from_slice(text.as_bytes());
}

// Columns and values of other kinds; those that properties can have follow from `KIND_TAG` on.
const NULL: u8 = 0;
const STRING: u8 = 1;
const NODE: u8 = 2;
const EDGE: u8 = 3;
const VALUES: u8 = 4;
const BYTES: u8 = 5;
const LIST: u8 = 6;
const MAP: u8 = 7;
const PATH: u8 = 8;
/// The number of the first kind in [`FixedKind::ALL`].
const KIND_TAG: u8 = 16;

/// Adds values of a kind; gives the kind's number.
fn put_kind<T: Stored>(values: &[T], out: &mut Vec<u8>) -> u8 {
    out.reserve(size_of_val(values));
    values.iter().for_each(|value| value.put(out));
    KIND_TAG + T::KIND as u8
}

/// Reads values of a kind.
fn take_kind<T: Stored>(from: &mut Reader<'_>, count: usize) -> Result<Vec<T>> {
    let mut get = Get::new(from.0, Path::new("a temporary file"), 0);
    let values = (0..count).map(|_| T::take(&mut get)).collect::<Result<_>>().map_err(|_| damaged())?;
    let left = get.left();
    from.bytes(from.0.len() - left)?;
    Ok(values)
}

/// The kind with a number.
fn kind_of(tag: u8) -> Result<FixedKind> {
    let kind = tag.checked_sub(KIND_TAG).and_then(|at| FixedKind::ALL.get(usize::from(at)));
    kind.copied().ok_or_else(damaged)
}

fn encode_column(column: &Column, out: &mut Vec<u8>) {
    let tag = out.len();
    out.push(0);
    out.push(u8::from(column.validity.is_some()));
    if let Some(validity) = &column.validity {
        put_all(validity.words(), out);
    }
    out[tag] = each_stored_vector!(&column.data, {
        ColumnData::Null(_) => NULL,
        ColumnData::String(texts) => {
            texts.iter().for_each(|text| put_text(text, out));
            STRING
        }
        ColumnData::Node(values) => {
            put_all(values, out);
            NODE
        }
        ColumnData::Edge(values) => {
            put_all(values, out);
            EDGE
        }
        ColumnData::Value(values) => {
            encode_values(values, out);
            VALUES
        }
    }, values => put_kind(values, out));
}

fn decode_column(from: &mut Reader<'_>, rows: usize) -> Result<Column> {
    let tag = u8::take(from)?;
    let validity = match u8::take(from)? != 0 {
        true => Some(Bitmap::from_words(take_all(from, rows.div_ceil(64))?, rows)),
        false => None,
    };
    let data = match tag {
        NULL => ColumnData::Null(rows),
        STRING => {
            let mut texts = StringColumn::default();
            for _ in 0..rows {
                texts.push(from.text()?);
            }
            ColumnData::String(texts)
        }
        NODE => ColumnData::Node(take_all(from, rows)?),
        EDGE => ColumnData::Edge(take_all(from, rows)?),
        VALUES => ColumnData::Value(decode_values(from, rows)?),
        tag => with_stored!(kind_of(tag)?, {
            FixedKind::Node | FixedKind::Edge => return Err(damaged()),
        }, T => T::vector(take_kind(from, rows)?)),
    };
    Ok(Column { data, validity })
}

/// Stands for the value before.
const SAME: u8 = u8::MAX;

fn encode_values(values: &[Value], out: &mut Vec<u8>) {
    let mut last = 0;
    for value in values {
        let address = address(value);
        if address != 0 && std::mem::replace(&mut last, address) == address {
            out.push(SAME);
        } else {
            encode_value(value, out);
        }
    }
}

fn decode_values(from: &mut Reader<'_>, rows: usize) -> Result<Vec<Value>> {
    let mut values: Vec<Value> = Vec::with_capacity(rows.min(from.0.len()));
    let mut shared = Value::Null;
    for _ in 0..rows {
        if from.0.first() == Some(&SAME) {
            from.bytes(1)?;
            values.push(shared.clone());
            continue;
        }
        let value = decode_value(from)?;
        if address(&value) != 0 {
            shared = value.clone();
        }
        values.push(value);
    }
    Ok(values)
}

fn encode_value(value: &Value, out: &mut Vec<u8>) {
    macro_rules! plain {
        ($tag:expr, $x:expr) => {{
            out.push($tag);
            $x.put(out);
        }};
    }
    each_fixed!(value, {
        Value::String(text) => {
            out.push(STRING);
            put_text(text, out);
        }
        Value::Bytes(bytes) => {
            plain!(BYTES, (bytes.len() as u64));
            out.extend_from_slice(bytes);
        }
        Value::List(items) => {
            plain!(LIST, (items.len() as u64));
            items.iter().for_each(|item| encode_value(item, out));
        }
        Value::Map(map) => {
            plain!(MAP, (map.len() as u64));
            for (key, value) in map.iter() {
                put_text(key, out);
                encode_value(value, out);
            }
        }
        Value::Node(x) => plain!(NODE, x),
        Value::Edge(x) => plain!(EDGE, x),
        Value::Path(path) => {
            plain!(PATH, (path.nodes.len() as u64));
            put_all(&path.nodes, out);
            (path.edges.len() as u64).put(out);
            put_all(&path.edges, out);
        }
    }, x => {
        let tag = out.len();
        out.push(0);
        out[tag] = put_kind(std::slice::from_ref(x), out);
    }, _ => out.push(NULL));
}

fn decode_value(from: &mut Reader<'_>) -> Result<Value> {
    let count = |from: &mut Reader<'_>| Ok::<usize, model::Error>(u64::take(from)? as usize);
    Ok(match u8::take(from)? {
        NULL => Value::Null,
        STRING => Value::string(from.text()?),
        BYTES => {
            let length = count(from)?;
            Value::Bytes(Arc::from(from.bytes(length)?))
        }
        LIST => {
            let length = count(from)?;
            Value::list((0..length).map(|_| decode_value(from)).collect::<Result<_>>()?)
        }
        MAP => {
            let length = count(from)?;
            let entry = |_| Ok((Arc::from(from.text()?), decode_value(from)?));
            Value::map((0..length).map(entry).collect::<Result<Vec<_>>>()?)
        }
        NODE => Value::Node(Plain::take(from)?),
        EDGE => Value::Edge(Plain::take(from)?),
        PATH => {
            let nodes = count(from)?;
            let nodes = take_all(from, nodes)?;
            let edges = count(from)?;
            Value::Path(Arc::new(PathValue { nodes, edges: take_all(from, edges)? }))
        }
        tag => with_stored!(kind_of(tag)?, {
            FixedKind::Node | FixedKind::Edge => return Err(damaged()),
        }, T => take_kind::<T>(from, 1)?[0].into()),
    })
}

#[cfg(test)]
mod tests;
