//! Values as bytes, read with bounds on depth and size.
//!
//! Invariants: a declared length is compared with the bytes that are there before anything is done with it, and a list grows
//! only as its values are read. What is taken from the allocator is charged before it is taken, headers and room for growth
//! included.

use std::fmt;

use crate::encoder::Encoder;

/// One value as a client sends it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The absence of a value.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating point number.
    Float(f64),
    /// Raw bytes.
    Bytes(Vec<u8>),
    /// Text.
    String(String),
    /// Values of any kinds.
    List(Vec<Value>),
    /// Pairs of text and value in the order in which they came.
    Map(Vec<(String, Value)>),
    /// A structure: its tag and its fields.
    Structure(u8, Vec<Value>),
}

/// Bounds of one value or message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most levels of lists, maps and structures; of a message, those of a value within it.
    pub depth: usize,
    /// The most bytes of memory that the values may take.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { depth: 256, memory: 128 << 20 }
    }
}

/// Memory that an allocation of this size takes: allocators round up, and keep a header before it.
pub const fn heap_bytes(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        1..24 => 32,
        _ => bytes.saturating_add(23) & !15,
    }
}

/// Reason for which bytes are no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end within a value.
    Truncated,
    /// No value begins with that byte.
    Marker(u8),
    /// A text is not UTF-8.
    Text,
    /// A key of a map is no text.
    Key,
    /// There are more levels than there may be.
    Deep,
    /// The values would take more memory than they may.
    Large,
    /// Bytes follow the value.
    Rest,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Truncated => write!(f, "the message ends within a value"),
            Malformed::Marker(byte) => write!(f, "no value begins with the byte {byte:#04X}"),
            Malformed::Text => write!(f, "a text is not UTF-8"),
            Malformed::Key => write!(f, "a key of a map is no text"),
            Malformed::Deep => write!(f, "values are nested too deeply"),
            Malformed::Large => write!(f, "the values of a message take too much memory"),
            Malformed::Rest => write!(f, "bytes follow the value"),
        }
    }
}

/// The result of reading bytes.
pub type Result<T> = std::result::Result<T, Malformed>;

/// Reads one value, which must be all of the bytes.
///
/// # Errors
/// Fails if the bytes are no value, or one beyond the limits.
pub fn decode(bytes: &[u8], limits: Limits) -> Result<Value> {
    decode_charged(bytes, limits).map(|(value, _)| value)
}

/// Reads one value, as [`decode`] does, and gives the bytes of memory that it takes too.
///
/// # Errors
/// Fails if the bytes are no value, or one beyond the limits.
pub fn decode_charged(bytes: &[u8], limits: Limits) -> Result<(Value, usize)> {
    let mut decoder = Decoder { bytes, memory: limits.memory };
    let value = decoder.value(limits.depth)?;
    if decoder.bytes.is_empty() { Ok((value, limits.memory - decoder.memory)) } else { Err(Malformed::Rest) }
}

/// Appends a value.
pub fn encode(out: &mut Encoder<'_>, value: &Value) {
    match value {
        Value::Null => out.null(),
        Value::Bool(value) => out.bool(*value),
        Value::Int(value) => out.int(*value),
        Value::Float(value) => out.float(*value),
        Value::Bytes(bytes) => out.bytes(bytes),
        Value::String(text) => out.string(text),
        Value::List(items) => {
            out.list(items.len());
            items.iter().for_each(|item| encode(out, item));
        }
        Value::Map(entries) => {
            out.map(entries.len());
            for (key, item) in entries {
                out.string(key);
                encode(out, item);
            }
        }
        Value::Structure(tag, fields) => {
            // A longer one is never made: the decoder reads no more either.
            out.structure(*tag, fields.len().min(15) as u8);
            fields.iter().take(15).for_each(|field| encode(out, field));
        }
    }
}

/// Values of a list for which there is room from the start; further room is made as they come.
const FIRST_ROOM: usize = 64;

struct Decoder<'b> {
    bytes: &'b [u8],
    /// Bytes of memory that may still be taken.
    memory: usize,
}

impl<'b> Decoder<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed::Truncated)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or(Malformed::Truncated)?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// A length of 1, 2 or 4 bytes, as the lowest bits of the marker say.
    fn length(&mut self, width: u8) -> Result<usize> {
        Ok(match width {
            0 => usize::from(u8::from_be_bytes(self.array()?)),
            1 => usize::from(u16::from_be_bytes(self.array()?)),
            _ => u32::from_be_bytes(self.array()?) as usize,
        })
    }

    /// An allocation of this size is about to be made.
    fn charge(&mut self, bytes: usize) -> Result<()> {
        self.memory = self.memory.checked_sub(heap_bytes(bytes)).ok_or(Malformed::Large)?;
        Ok(())
    }

    /// Makes room for one more, if there is none, among `length` in all.
    fn make_room<T>(&mut self, held: &mut Vec<T>, length: usize) -> Result<()> {
        let old = held.capacity();
        if held.len() < old {
            return Ok(());
        }
        let new = (old * 2).max(FIRST_ROOM).min(length);
        // Both are there while one is copied to the other.
        self.charge(new * size_of::<T>())?;
        held.reserve_exact(new - old);
        self.memory += heap_bytes(old * size_of::<T>());
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        let [marker] = self.array()?;
        Ok(match marker {
            0x00..=0x7F | 0xF0..=0xFF => Value::Int(i64::from(marker as i8)),
            0xC0 => Value::Null,
            0xC1 => Value::Float(f64::from_be_bytes(self.array()?)),
            0xC2 | 0xC3 => Value::Bool(marker == 0xC3),
            0xC8 => Value::Int(i64::from(i8::from_be_bytes(self.array()?))),
            0xC9 => Value::Int(i64::from(i16::from_be_bytes(self.array()?))),
            0xCA => Value::Int(i64::from(i32::from_be_bytes(self.array()?))),
            0xCB => Value::Int(i64::from_be_bytes(self.array()?)),
            0xCC..=0xCE => {
                let length = self.length(marker - 0xCC)?;
                let bytes = self.take(length)?;
                self.charge(length)?;
                Value::Bytes(bytes.to_vec())
            }
            0x80..=0x8F | 0xD0..=0xD2 => Value::String(self.text(marker)?),
            0x90..=0x9F => self.list(usize::from(marker & 15), depth)?,
            0xD4..=0xD6 => {
                let length = self.length(marker - 0xD4)?;
                self.list(length, depth)?
            }
            0xA0..=0xAF => self.map(usize::from(marker & 15), depth)?,
            0xD8..=0xDA => {
                let length = self.length(marker - 0xD8)?;
                self.map(length, depth)?
            }
            0xB0..=0xBF => {
                let [tag] = self.array()?;
                Value::Structure(tag, self.values(usize::from(marker & 15), depth)?)
            }
            _ => return Err(Malformed::Marker(marker)),
        })
    }

    fn text(&mut self, marker: u8) -> Result<String> {
        let length = if marker < 0x90 { usize::from(marker & 15) } else { self.length(marker - 0xD0)? };
        let bytes = self.take(length)?;
        self.charge(length)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Malformed::Text)
    }

    fn list(&mut self, length: usize, depth: usize) -> Result<Value> {
        Ok(Value::List(self.values(length, depth)?))
    }

    fn values(&mut self, length: usize, depth: usize) -> Result<Vec<Value>> {
        let depth = depth.checked_sub(1).ok_or(Malformed::Deep)?;
        // Each value has a byte at least.
        if length > self.bytes.len() {
            return Err(Malformed::Truncated);
        }
        let mut values = Vec::new();
        for _ in 0..length {
            self.make_room(&mut values, length)?;
            values.push(self.value(depth)?);
        }
        Ok(values)
    }

    fn map(&mut self, length: usize, depth: usize) -> Result<Value> {
        let depth = depth.checked_sub(1).ok_or(Malformed::Deep)?;
        if length > self.bytes.len() / 2 {
            return Err(Malformed::Truncated);
        }
        let mut entries = Vec::new();
        for _ in 0..length {
            self.make_room(&mut entries, length)?;
            let [marker] = self.array()?;
            let key = match marker {
                0x80..=0x8F | 0xD0..=0xD2 => self.text(marker)?,
                _ => return Err(Malformed::Key),
            };
            entries.push((key, self.value(depth)?));
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
pub(crate) mod tests;
