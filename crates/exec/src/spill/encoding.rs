//! Rows as bytes: column by column, little-endian, for temporary files of this process only.
//!
//! A column is its kind, whether it has a bitmap of presence, the bitmap, and its values. Values of mixed columns have a
//! tag each; one that the row before shares is written as one tag, so that a list repeated in every row stands once.

use std::sync::Arc;

use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time, Zone};
use model::{
    Bitmap, Column, ColumnData, EdgeId, EdgeTypeId, EdgeValue, NodeId, PathValue, Result, StringColumn, Value,
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

impl Plain for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut Reader<'_>) -> Result<bool> {
        Ok(u8::take(from)? != 0)
    }
}

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
    Date { 0 },
    LocalDateTime { seconds, nanosecond },
    LocalTime { 0 },
    Time { local, offset },
    DateTime { seconds, nanosecond, zone },
    Duration { months, days, seconds, nanosecond },
}

/// Stands for a zone with a name, which follows.
const NAMED_ZONE: i32 = i32::MAX;

impl Plain for Zone {
    fn put(&self, out: &mut Vec<u8>) {
        match (self.fixed_offset(), self.name()) {
            (None, Some(name)) => {
                NAMED_ZONE.put(out);
                put_text(name, out);
            }
            (offset, _) => offset.unwrap_or_default().put(out),
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Zone> {
        let zone = match i32::take(from)? {
            NAMED_ZONE => Zone::of_name(from.text()?),
            offset => Zone::of_offset(offset),
        };
        zone.ok_or_else(damaged)
    }
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

fn encode_column(column: &Column, out: &mut Vec<u8>) {
    let kind = out.len();
    out.push(0);
    out.push(u8::from(column.validity.is_some()));
    if let Some(validity) = &column.validity {
        put_all(validity.words(), out);
    }
    out[kind] = match &column.data {
        ColumnData::Null(_) => 0,
        ColumnData::Bool(values) => {
            put_all(values, out);
            1
        }
        ColumnData::Int(values) => {
            put_all(values, out);
            2
        }
        ColumnData::Float(values) => {
            put_all(values, out);
            3
        }
        ColumnData::String(texts) => {
            texts.iter().for_each(|text| put_text(text, out));
            4
        }
        ColumnData::Date(values) => {
            put_all(values, out);
            5
        }
        ColumnData::LocalDateTime(values) => {
            put_all(values, out);
            6
        }
        ColumnData::Node(values) => {
            put_all(values, out);
            7
        }
        ColumnData::Edge(values) => {
            put_all(values, out);
            8
        }
        ColumnData::Value(values) => {
            encode_values(values, out);
            9
        }
        ColumnData::LocalTime(values) => {
            put_all(values, out);
            10
        }
        ColumnData::Time(values) => {
            put_all(values, out);
            11
        }
        ColumnData::DateTime(values) => {
            put_all(values, out);
            12
        }
        ColumnData::Duration(values) => {
            put_all(values, out);
            13
        }
    };
}

fn decode_column(from: &mut Reader<'_>, rows: usize) -> Result<Column> {
    let kind = u8::take(from)?;
    let validity = match bool::take(from)? {
        true => Some(Bitmap::from_words(take_all(from, rows.div_ceil(64))?, rows)),
        false => None,
    };
    let data = match kind {
        0 => ColumnData::Null(rows),
        1 => ColumnData::Bool(take_all(from, rows)?),
        2 => ColumnData::Int(take_all(from, rows)?),
        3 => ColumnData::Float(take_all(from, rows)?),
        4 => {
            let mut texts = StringColumn::default();
            for _ in 0..rows {
                texts.push(from.text()?);
            }
            ColumnData::String(texts)
        }
        5 => ColumnData::Date(take_all(from, rows)?),
        6 => ColumnData::LocalDateTime(take_all(from, rows)?),
        7 => ColumnData::Node(take_all(from, rows)?),
        8 => ColumnData::Edge(take_all(from, rows)?),
        9 => ColumnData::Value(decode_values(from, rows)?),
        10 => ColumnData::LocalTime(take_all(from, rows)?),
        11 => ColumnData::Time(take_all(from, rows)?),
        12 => ColumnData::DateTime(take_all(from, rows)?),
        13 => ColumnData::Duration(take_all(from, rows)?),
        _ => return Err(damaged()),
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
        ($tag:literal, $x:expr) => {{
            out.push($tag);
            $x.put(out);
        }};
    }
    match value {
        Value::Null => out.push(0),
        Value::Bool(x) => plain!(1, x),
        Value::Int(x) => plain!(2, x),
        Value::Float(x) => plain!(3, x),
        Value::String(text) => {
            out.push(4);
            put_text(text, out);
        }
        Value::Bytes(bytes) => {
            plain!(5, (bytes.len() as u64));
            out.extend_from_slice(bytes);
        }
        Value::List(items) => {
            plain!(6, (items.len() as u64));
            items.iter().for_each(|item| encode_value(item, out));
        }
        Value::Map(map) => {
            plain!(7, (map.len() as u64));
            for (key, value) in map.iter() {
                put_text(key, out);
                encode_value(value, out);
            }
        }
        Value::Date(x) => plain!(8, x),
        Value::LocalDateTime(x) => plain!(9, x),
        Value::Node(x) => plain!(10, x),
        Value::Edge(x) => plain!(11, x),
        Value::Path(path) => {
            plain!(12, (path.nodes.len() as u64));
            put_all(&path.nodes, out);
            (path.edges.len() as u64).put(out);
            put_all(&path.edges, out);
        }
        Value::LocalTime(x) => plain!(13, x),
        Value::Time(x) => plain!(14, x),
        Value::DateTime(x) => plain!(15, x),
        Value::Duration(x) => plain!(16, x),
    }
}

fn decode_value(from: &mut Reader<'_>) -> Result<Value> {
    let count = |from: &mut Reader<'_>| Ok::<usize, model::Error>(u64::take(from)? as usize);
    Ok(match u8::take(from)? {
        0 => Value::Null,
        1 => Value::Bool(Plain::take(from)?),
        2 => Value::Int(Plain::take(from)?),
        3 => Value::Float(Plain::take(from)?),
        4 => Value::string(from.text()?),
        5 => {
            let length = count(from)?;
            Value::Bytes(Arc::from(from.bytes(length)?))
        }
        6 => {
            let length = count(from)?;
            Value::list((0..length).map(|_| decode_value(from)).collect::<Result<_>>()?)
        }
        7 => {
            let length = count(from)?;
            let entry = |_| Ok((Arc::from(from.text()?), decode_value(from)?));
            Value::map((0..length).map(entry).collect::<Result<Vec<_>>>()?)
        }
        8 => Value::Date(Plain::take(from)?),
        9 => Value::LocalDateTime(Plain::take(from)?),
        10 => Value::Node(Plain::take(from)?),
        11 => Value::Edge(Plain::take(from)?),
        12 => {
            let nodes = count(from)?;
            let nodes = take_all(from, nodes)?;
            let edges = count(from)?;
            Value::Path(Arc::new(PathValue { nodes, edges: take_all(from, edges)? }))
        }
        13 => Value::LocalTime(Plain::take(from)?),
        14 => Value::Time(Plain::take(from)?),
        15 => Value::DateTime(Plain::take(from)?),
        16 => Value::Duration(Plain::take(from)?),
        _ => return Err(damaged()),
    })
}

#[cfg(test)]
mod tests;
