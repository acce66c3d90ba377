//! Writing and reading of the small directories of files: fixed-width integers and strings, little endian.

use std::path::Path;

use crate::error::{Error, ErrorCode, Result};

/// Writing into a byte vector.
pub trait Put {
    /// Adds a byte.
    fn put_u8(&mut self, x: u8);
    /// Adds four bytes.
    fn put_u32(&mut self, x: u32);
    /// Adds eight bytes.
    fn put_u64(&mut self, x: u64);
    /// Adds the length in four bytes, then the string.
    fn put_text(&mut self, text: &str);
    /// Adds zeros up to a multiple of eight.
    fn align(&mut self);
}

impl Put for Vec<u8> {
    fn put_u8(&mut self, x: u8) {
        self.push(x);
    }

    fn put_u32(&mut self, x: u32) {
        self.extend_from_slice(&x.to_le_bytes());
    }

    fn put_u64(&mut self, x: u64) {
        self.extend_from_slice(&x.to_le_bytes());
    }

    fn put_text(&mut self, text: &str) {
        self.put_u32(text.len() as u32);
        self.extend_from_slice(text.as_bytes());
    }

    fn align(&mut self) {
        self.resize(self.len().next_multiple_of(8), 0);
    }
}

/// Adds a number in seven bits a byte, lowest first.
pub fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reading from the bytes of a file; what does not fit is damage at a place that the error names.
#[derive(Debug)]
pub struct Get<'a> {
    bytes: &'a [u8],
    at: usize,
    path: &'a Path,
    origin: u64,
}

impl<'a> Get<'a> {
    /// A reader of `bytes`, which start at `origin` of the file at `path`.
    pub fn new(bytes: &'a [u8], path: &'a Path, origin: u64) -> Get<'a> {
        Get { bytes, at: 0, path, origin }
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..count)) {
            Some(bytes) => {
                self.at += count;
                Ok(bytes)
            }
            None => Err(self.damage(format!("{count} more bytes were expected"))),
        }
    }

    /// An error at the present place.
    pub fn damage(&self, problem: impl Into<String>) -> Error {
        let (place, offset) = (self.path.display(), self.origin + self.at as u64);
        Error::new(ErrorCode::Corrupt, format!("{place} at byte {offset}: {}", problem.into()))
    }

    /// A byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes were taken")))
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes were taken")))
    }

    /// A count of things that take at least `least` bytes each, so that damage cannot ask for absurd memory.
    pub fn count(&mut self, least: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        if count.saturating_mul(least) > self.bytes.len() - self.at {
            return Err(self.damage(format!("a count of {count} exceeds what is left")));
        }
        Ok(count)
    }

    /// Reads a string.
    pub fn text(&mut self) -> Result<&'a str> {
        let length = self.u32()? as usize;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| self.damage("a text is not UTF-8"))
    }

    /// Bytes with their length before them in four bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    /// A number in seven bits a byte, lowest first.
    pub fn varint(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.damage("a number has no end"))
    }

    /// Bytes not read yet.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }
}
