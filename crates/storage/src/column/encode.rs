//! Choosing and writing the encoding of a block: the smallest that keeps random access.

use model::{Bitmap, Column, ColumnBuilder, ColumnData, Map, Scalar, StringColumn, each_stored_vector};

use super::block::{BlockHeader, Encoding, put_presence};
use super::parts::put_parts;
use crate::codec::bits::{pack, packed_bytes, width_of};
use crate::codec::bytes::Put;
use crate::codec::value;
use crate::format::COLUMN_BLOCK_ROWS;

/// Encodes rows `start..end` of a column, at most `COLUMN_BLOCK_ROWS`, at the end of `out`. The offset of the
/// header stays 0 for the caller to fill in.
pub fn encode_block(column: &Column, start: usize, end: usize, out: &mut Vec<u8>) -> BlockHeader {
    assert!(end - start <= COLUMN_BLOCK_ROWS, "a block has at most {COLUMN_BLOCK_ROWS} rows");
    let before = out.len();
    let rows = end - start;
    let mut header = BlockHeader::absent(rows);
    let presence = presence_of(column, start, end);
    let present = presence.as_ref().map_or(rows, Bitmap::count_ones);
    if present == 0 {
        return header;
    }
    header.present = present as u32;
    let presence = presence.filter(|_| present < rows);
    if let Some(presence) = &presence {
        header.has_nulls = true;
        put_presence(presence.words(), rows, out);
    }
    let pick = Pick { presence: presence.as_ref(), start, end };
    each_stored_vector!(&column.data, {
        ColumnData::Float(values) => encode_floats(&mut header, &pick.of(values, |&x| x), out),
        ColumnData::Bool(values) => {
            header.encoding = Encoding::Bool;
            header.width = 1;
            pack(pick.of(values, |&x| u64::from(x)).into_iter(), 1, out);
        }
        ColumnData::String(texts) => encode_texts(&mut header, texts, &pick.rows(), out),
        ColumnData::Value(_) | ColumnData::Node(_) | ColumnData::Edge(_) | ColumnData::Null(_) => {
            out.truncate(before);
            return encode_values(column, start, end, out);
        }
    }, values => encode_integers(&mut header, &pick, values, out));
    out.align();
    header.length = (out.len() - before) as u64;
    header
}

/// The rows that have a value; `None` if all have.
fn presence_of(column: &Column, start: usize, end: usize) -> Option<Bitmap> {
    match (&column.data, &column.validity) {
        (ColumnData::Null(_) | ColumnData::Value(_), _) => Some((start..end).map(|row| !column.is_null(row)).collect()),
        (_, None) => None,
        (_, Some(validity)) => Some((start..end).map(|row| validity.get(row)).collect()),
    }
}

/// The present rows of a range.
struct Pick<'a> {
    presence: Option<&'a Bitmap>,
    start: usize,
    end: usize,
}

impl Pick<'_> {
    fn of<T, U>(&self, values: &[T], map: impl Fn(&T) -> U) -> Vec<U> {
        let values = &values[self.start..self.end];
        match self.presence {
            None => values.iter().map(map).collect(),
            Some(presence) => {
                values.iter().enumerate().filter(|(row, _)| presence.get(*row)).map(|(_, value)| map(value)).collect()
            }
        }
    }

    fn rows(&self) -> Vec<usize> {
        let is_present = |row: &usize| self.presence.is_none_or(|presence| presence.get(row - self.start));
        (self.start..self.end).filter(is_present).collect()
    }
}

/// Encodes values that are one or several integers each.
fn encode_integers<T: Scalar>(header: &mut BlockHeader, pick: &Pick<'_>, values: &[T], out: &mut Vec<u8>) {
    if T::PARTS > 1 {
        return put_parts(header, &pick.of(values, |&x| x), out);
    }
    let values = pick.of(values, |x| x.parts()[0]);
    let (min, max) = values.iter().fold((i64::MAX, i64::MIN), |(min, max), &x| (min.min(x), max.max(x)));
    header.encoding = Encoding::of::<T>();
    header.min = min as u64;
    header.max = max as u64;
    header.width = width_of(max.wrapping_sub(min) as u64);
    pack(values.into_iter().map(|x| x.wrapping_sub(min) as u64), header.width, out);
}

fn encode_floats(header: &mut BlockHeader, values: &[f64], out: &mut Vec<u8>) {
    let (min, max) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &x| (min.min(x), max.max(x)));
    header.min = min.to_bits();
    header.max = max.to_bits();
    let first = values[0].to_bits();
    if values.iter().all(|x| x.to_bits() == first) {
        header.encoding = Encoding::FloatConstant;
        header.min = first;
        header.max = first;
    } else if values.iter().all(|&x| f64::from(x as f32).to_bits() == x.to_bits()) {
        header.encoding = Encoding::Float32;
        values.iter().for_each(|&x| out.extend_from_slice(&(x as f32).to_le_bytes()));
    } else {
        header.encoding = Encoding::Float64;
        values.iter().for_each(|&x| out.extend_from_slice(&x.to_le_bytes()));
    }
}

fn encode_texts(header: &mut BlockHeader, texts: &StringColumn, rows: &[usize], out: &mut Vec<u8>) {
    let plain_text: usize = rows.iter().map(|&row| texts.get(row).len()).sum();
    let plain_width = width_of(plain_text as u64);
    let plain_bytes = packed_bytes(rows.len() + 1, plain_width) + plain_text;
    if let Some((dictionary, codes)) = dictionary_of(texts, rows) {
        let text: usize = dictionary.iter().map(|text| text.len()).sum();
        let (width, text_width) = (width_of(dictionary.len() as u64 - 1), width_of(text as u64));
        let bytes = packed_bytes(rows.len(), width) + packed_bytes(dictionary.len() + 1, text_width) + text;
        if bytes < plain_bytes {
            header.encoding = Encoding::StringDictionary;
            header.width = width;
            header.dictionary_width = text_width;
            header.dictionary = dictionary.len() as u32;
            pack(codes.into_iter().map(u64::from), width, out);
            put_texts(&dictionary, text_width, out);
            return;
        }
    }
    header.encoding = Encoding::StringPlain;
    header.width = plain_width;
    let texts: Vec<&str> = rows.iter().map(|&row| texts.get(row)).collect();
    put_texts(&texts, plain_width, out);
}

/// The distinct strings in order of first use, and the code of each row; `None` if there are too many to pay.
fn dictionary_of<'a>(texts: &'a StringColumn, rows: &[usize]) -> Option<(Vec<&'a str>, Vec<u32>)> {
    let distinct_max = rows.len() / 2 + 1;
    let mut numbers: Map<&str, u32> = Map::default();
    let mut dictionary = Vec::new();
    let mut codes = Vec::with_capacity(rows.len());
    for &row in rows {
        let text = texts.get(row);
        let code = *numbers.entry(text).or_insert_with(|| {
            dictionary.push(text);
            dictionary.len() as u32 - 1
        });
        if dictionary.len() > distinct_max {
            return None;
        }
        codes.push(code);
    }
    Some((dictionary, codes))
}

fn put_texts(texts: &[&str], width: u8, out: &mut Vec<u8>) {
    let mut offsets = Vec::with_capacity(texts.len() + 1);
    let mut offset = 0u64;
    offsets.push(0);
    for text in texts {
        offset += text.len() as u64;
        offsets.push(offset);
    }
    pack(offsets.into_iter(), width, out);
    texts.iter().for_each(|text| out.extend_from_slice(text.as_bytes()));
}

/// Encodes a column of single values: as its one kind if it has only one, otherwise as tagged values.
fn encode_values(column: &Column, start: usize, end: usize, out: &mut Vec<u8>) -> BlockHeader {
    let mut builder = ColumnBuilder::default();
    (start..end).for_each(|row| builder.push(&column.value(row)));
    let narrow = builder.finish();
    if !matches!(narrow.data, ColumnData::Value(_) | ColumnData::Node(_) | ColumnData::Edge(_)) {
        return encode_block(&narrow, 0, end - start, out);
    }
    let before = out.len();
    let rows = end - start;
    let presence: Bitmap = (0..rows).map(|row| !narrow.is_null(row)).collect();
    let mut header = BlockHeader::absent(rows);
    header.encoding = Encoding::Mixed;
    header.present = presence.count_ones() as u32;
    if (header.present as usize) < rows {
        header.has_nulls = true;
        put_presence(presence.words(), rows, out);
    }
    let mut bytes = Vec::new();
    let mut offsets = vec![0u64];
    for row in (0..rows).filter(|&row| presence.get(row)) {
        value::encode(&narrow.value(row), &mut bytes);
        offsets.push(bytes.len() as u64);
    }
    header.width = width_of(bytes.len() as u64);
    pack(offsets.into_iter(), header.width, out);
    out.extend_from_slice(&bytes);
    out.align();
    header.length = (out.len() - before) as u64;
    header
}
