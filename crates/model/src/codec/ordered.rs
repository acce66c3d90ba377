//! Entries of ordered indexes as bytes, in the order of `ORDER BY`.
//!
//! Each value is a tag and its bytes, and no value's bytes are the start of another's, so that values can follow each
//! other. Equal numbers have equal bytes, whether they are integers or floats: the largest float that is not above the
//! number, then how far the number is above it, which is not zero only for integers beyond 2^53.

use std::ops::Bound;

use super::stored::{Stored, kind_of_ordered_tag};
use crate::id::NodeId;
use crate::index_scan::KeyRange;
use crate::temporal::{Duration, LocalDateTime};
use crate::value::Value;
use crate::value::fixed::FixedKind;
use crate::{each_fixed, with_stored};

// Kinds of a fixed size have theirs in `stored`.
const LIST_END: u8 = 0x01;
const LIST: u8 = 0x10;
const STRING: u8 = 0x30;
/// Of integers and floats, which are one.
pub(super) const NUMBER: u8 = 0x50;
const BYTES: u8 = 0x60;

/// Bytes of a node behind the values.
pub const NODE_BYTES: usize = 4;
/// Bytes of the two ends of an edge behind the values.
pub const EDGE_BYTES: usize = 8;

/// Adds a value; false, with nothing added, for null and what no property can hold.
pub fn put_value(value: &Value, out: &mut Vec<u8>) -> bool {
    each_fixed!(value, {
        Value::String(x) => put_bytes(STRING, x.as_bytes(), out),
        Value::Bytes(x) => put_bytes(BYTES, x, out),
        Value::List(items) => {
            let start = out.len();
            out.push(LIST);
            if !items.iter().all(|item| put_value(item, out)) {
                out.truncate(start);
                return false;
            }
            out.push(LIST_END);
        }
    }, x => x.put_ordered(out), _ => return false);
    true
}

pub(super) fn put_signed(tag: u8, x: i64, out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&(x as u64 ^ 1 << 63).to_be_bytes());
}

pub(super) fn put_moment(tag: u8, moment: LocalDateTime, out: &mut Vec<u8>) {
    put_signed(tag, moment.seconds, out);
    out.extend_from_slice(&moment.nanosecond.to_be_bytes());
}

pub(super) fn put_offset(offset: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&(offset as u32 ^ 1 << 31).to_be_bytes());
}

/// By the average length first, as durations are ordered.
pub(super) fn put_duration(x: Duration, out: &mut Vec<u8>) {
    out.push(Duration::ORDERED_TAG);
    out.extend_from_slice(&(x.average_nanos() as u128 ^ 1 << 127).to_be_bytes());
    [x.months, x.days].into_iter().for_each(|part| out.extend_from_slice(&(part as u64 ^ 1 << 63).to_be_bytes()));
}

fn put_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    put_escaped(bytes, out);
    out.extend_from_slice(&[0, 1]);
}

/// Writes a zero byte as two bytes, so that a zero followed by a one can end the string.
pub(super) fn put_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for (at, piece) in bytes.split(|&byte| byte == 0).enumerate() {
        if at > 0 {
            out.extend_from_slice(&[0, 0xff]);
        }
        out.extend_from_slice(piece);
    }
}

pub(super) fn put_int(x: i64, out: &mut Vec<u8>) {
    let mut below = x as f64;
    if below as i128 > i128::from(x) {
        below = below.next_down();
    }
    let rest = i128::from(x) - below as i128;
    put_number(below, rest as u16, out);
}

/// A number whose order is that of floats that are finite.
pub(super) fn of_float(x: f64) -> u64 {
    of_bits(x.to_bits())
}

fn of_bits(bits: u64) -> u64 {
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

pub(super) fn put_number(x: f64, rest: u16, out: &mut Vec<u8>) {
    // One zero, and one NaN that is above all.
    let x = if x == 0.0 { 0.0 } else { x };
    let bits = if x.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { x.to_bits() };
    out.push(NUMBER);
    out.extend_from_slice(&of_bits(bits).to_be_bytes());
    out.extend_from_slice(&rest.to_be_bytes());
}

/// True if the value is NaN or holds it: then it equals nothing.
pub fn has_nan(value: &Value) -> bool {
    match value {
        Value::Float(x) => x.is_nan(),
        Value::List(items) => items.iter().any(has_nan),
        _ => false,
    }
}

/// True if values, as [`put_value`] wrote them, hold NaN, so that they equal nothing.
pub fn hold_nan(mut values: &[u8]) -> bool {
    let mut nan = Vec::new();
    put_number(f64::NAN, 0, &mut nan);
    while let Some(&tag) = values.first() {
        let length = match tag {
            NUMBER if values.starts_with(&nan) => return true,
            STRING | BYTES => values.windows(2).position(|pair| pair == [0, 1]).map_or(values.len(), |at| at + 2),
            tag => kind_of_ordered_tag(tag).map_or(1, |kind| ordered_length(kind, values)),
        };
        values = values.get(length..).unwrap_or_default();
    }
    false
}

/// Bytes of the first value, which is of that kind.
fn ordered_length(kind: FixedKind, values: &[u8]) -> usize {
    let bytes = with_stored!(kind, { FixedKind::Node | FixedKind::Edge => Some(0), }, T => T::ORDERED_BYTES);
    bytes.map_or_else(|| end_of_zone(values), |bytes| 1 + bytes)
}

/// Bytes of a date-time with the name of its zone.
fn end_of_zone(values: &[u8]) -> usize {
    let name = values.get(17..).unwrap_or_default();
    name.windows(2).position(|pair| pair == [0, 1]).map_or(values.len(), |at| 17 + at + 2)
}

/// Adds a node behind its values.
pub fn put_node(node: NodeId, out: &mut Vec<u8>) {
    out.extend_from_slice(&(node.0 as u32).to_be_bytes());
}

/// The values and the node of an entry.
pub fn split_node(entry: &[u8]) -> Option<(&[u8], NodeId)> {
    let (values, node) = entry.split_last_chunk::<NODE_BYTES>()?;
    Some((values, NodeId(u64::from(u32::from_be_bytes(*node)))))
}

/// The values and the ends of an entry.
pub fn split_edge(entry: &[u8]) -> Option<(&[u8], (NodeId, NodeId))> {
    let (rest, target) = split_node(entry)?;
    let (values, source) = split_node(rest)?;
    Some((values, (source, target)))
}

/// A range of entries, as bytes: `start..end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first key in it.
    pub start: Vec<u8>,
    /// The first key behind it.
    pub end: Vec<u8>,
    /// Not all that is in it is meant: the values have to be compared.
    pub must_compare: bool,
}

/// The first key behind all that start so.
pub fn after_prefix(mut prefix: Vec<u8>) -> Vec<u8> {
    while prefix.last() == Some(&0xff) {
        prefix.pop();
    }
    match prefix.last_mut() {
        Some(last) => *last += 1,
        // Everything starts so, and no entry starts with the byte 255.
        None => prefix.push(0xff),
    }
    prefix
}

/// The entries whose first values have these bytes and whose next value is in the range; `None` if there can be none.
pub fn byte_range(prefix: &[u8], range: &KeyRange) -> Option<ByteRange> {
    let with = |put: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = prefix.to_vec();
        put(&mut bytes);
        bytes
    };
    match range {
        KeyRange::All => {
            let (start, end) = (prefix.to_vec(), after_prefix(prefix.to_vec()));
            Some(ByteRange { start, end, must_compare: false })
        }
        KeyRange::StartsWith(text) => {
            let start = with(&|bytes| {
                bytes.push(STRING);
                put_escaped(text.as_bytes(), bytes);
            });
            Some(ByteRange { end: after_prefix(start.clone()), start, must_compare: false })
        }
        KeyRange::Between(lower, upper) => {
            let tag = tag_of(bound_value(lower).or_else(|| bound_value(upper))?)?;
            if [lower, upper]
                .into_iter()
                .filter_map(bound_value)
                .any(|value| tag_of(value) != Some(tag) || is_nan(value))
            {
                return None;
            }
            // Kinds that have an order, but are not compared.
            if kind_of_ordered_tag(tag).is_some_and(|kind| !kind.is_compared()) {
                return None;
            }
            // Lists compare item by item, and what cannot be compared lies between what can.
            if tag == LIST {
                let start = with(&|bytes| bytes.push(tag));
                return Some(ByteRange { end: after_prefix(start.clone()), start, must_compare: true });
            }
            let value_bytes = |value: &Value| {
                with(&|bytes| {
                    put_value(value, bytes);
                })
            };
            let start = match lower {
                Bound::Unbounded => with(&|bytes| bytes.push(tag)),
                Bound::Included(value) => value_bytes(value),
                Bound::Excluded(value) => after_prefix(value_bytes(value)),
            };
            let end = match upper {
                // NaN is above all numbers, but compares with none.
                Bound::Unbounded if tag == NUMBER => value_bytes(&Value::Float(f64::NAN)),
                Bound::Unbounded => with(&|bytes| bytes.push(tag + 1)),
                Bound::Included(value) => after_prefix(value_bytes(value)),
                Bound::Excluded(value) => value_bytes(value),
            };
            (start < end).then_some(ByteRange { start, end, must_compare: false })
        }
    }
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(x) if x.is_nan())
}

fn bound_value(bound: &Bound<Value>) -> Option<&Value> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
    }
}

fn tag_of(value: &Value) -> Option<u8> {
    let mut bytes = Vec::new();
    put_value(value, &mut bytes).then(|| bytes[0])
}
