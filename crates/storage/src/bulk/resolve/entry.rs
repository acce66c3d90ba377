//! A key as the tables of a bulk load know it: hashed, with the id of its node.

use model::{Column, ColumnData, Value};

use crate::codec::hash::{hash_bytes, hash_float, hash_int, hash_text, hash_value, integer_of, mix};
use crate::codec::value::encode;

/// Bytes of an entry, in memory and in a run.
pub(super) const ENTRY_BYTES: usize = 16;

/// Two hashes of a key and an id: that of its node, or the row that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) first: u64,
    pub(super) second: u32,
    pub(super) id: u32,
}

impl Entry {
    /// Sort key of the entry: it tells the keys of two entries apart, and gives their order in a run.
    #[inline]
    pub(super) fn key(&self) -> (u64, u32) {
        (self.first, self.second)
    }

    pub(super) fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.first.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.second.to_le_bytes());
        bytes[12..].copy_from_slice(&self.id.to_le_bytes());
        bytes
    }

    #[inline]
    pub(super) fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Entry {
        let all = u128::from_le_bytes(*bytes);
        Entry { first: all as u64, second: (all >> 64) as u32, id: (all >> 96) as u32 }
    }
}

/// A key as the tables know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Int(i64),
    Hashed(u64, u32),
}

impl Key {
    #[inline]
    pub(super) fn of(column: &Column, row: usize) -> Key {
        match &column.data {
            ColumnData::Int(values) => Key::Int(values[row]),
            ColumnData::String(texts) => {
                let text = texts.get(row);
                Key::Hashed(hash_text(text), hash_bytes(text.as_bytes(), 0x5eed) as u32)
            }
            ColumnData::Float(values) => Key::of_float(values[row]),
            _ => match column.value(row) {
                Value::Int(x) => Key::Int(x),
                Value::Float(x) => Key::of_float(x),
                Value::String(x) => Key::Hashed(hash_text(&x), hash_bytes(x.as_bytes(), 0x5eed) as u32),
                value => {
                    let mut bytes = Vec::new();
                    encode(&value, &mut bytes);
                    Key::Hashed(hash_value(&value), hash_bytes(&bytes, 0x5eed) as u32)
                }
            },
        }
    }

    fn of_float(x: f64) -> Key {
        integer_of(x).map_or_else(|| Key::Hashed(hash_float(x), mix(x.to_bits()) as u32), Key::Int)
    }

    /// The entry of this key; for integers the first hash alone tells them apart.
    #[inline]
    pub(super) fn entry(self, id: u32) -> Entry {
        match self {
            Key::Int(x) => Entry { first: hash_int(x), second: 0, id },
            Key::Hashed(first, second) => Entry { first, second: second | 1, id },
        }
    }
}
