//! Messages in chunks: each of at most 65,535 bytes behind its length, the last one followed by a chunk of length 0.
//!
//! Cost: the bytes of a message are copied once as they arrive. Never more is held than has arrived.

use std::fmt;

/// The longest chunk.
const CHUNK_BYTES_MAX: usize = 0xFFFF;

/// A message is longer than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// The most bytes that it may have.
    pub limit: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message has more than the {} bytes that it may have", self.limit)
    }
}

/// Puts chunks together. Bytes may come in any pieces.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    message: Vec<u8>,
    /// Bytes of the chunk at hand that are still to come.
    rest: usize,
    /// First byte of a length whose second is still to come.
    half: Option<u8>,
}

impl Chunks {
    /// Takes bytes from the front of `input` up to the end of a message, which it gives; `None` if all were taken.
    ///
    /// # Errors
    /// Fails once the message has more than `limit` bytes; nothing more can be read of the connection then.
    pub fn feed(&mut self, input: &mut &[u8], limit: usize) -> Result<Option<Vec<u8>>, TooLong> {
        while let Some((&first, behind)) = input.split_first() {
            if self.rest > 0 {
                let taken = self.rest.min(input.len());
                self.message.extend_from_slice(&input[..taken]);
                *input = &input[taken..];
                self.rest -= taken;
                continue;
            }
            *input = behind;
            let Some(high) = self.half.take() else {
                self.half = Some(first);
                continue;
            };
            let length = usize::from(u16::from_be_bytes([high, first]));
            if length == 0 && !self.message.is_empty() {
                return Ok(Some(std::mem::take(&mut self.message)));
            }
            // A length of 0 without a message before it only says that the client is there.
            if self.message.len() + length > limit {
                return Err(TooLong { limit });
            }
            self.rest = length;
        }
        Ok(None)
    }

    /// Bytes of the message that is not yet whole.
    pub fn pending(&self) -> usize {
        self.message.len()
    }

    /// Bytes of memory that it takes, room for growth included.
    pub fn memory(&self) -> usize {
        self.message.capacity()
    }
}

/// Appends a message to `out`, in chunks; `write` appends its bytes.
pub fn append(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0]);
    write(out);
    let length = out.len() - start - 2;
    if let Ok(length) = u16::try_from(length) {
        out[start..start + 2].copy_from_slice(&length.to_be_bytes());
    } else {
        let message = out.split_off(start + 2);
        out.truncate(start);
        for chunk in message.chunks(CHUNK_BYTES_MAX) {
            out.extend_from_slice(&(chunk.len() as u16).to_be_bytes());
            out.extend_from_slice(chunk);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::{Chunks, TooLong, append};

    fn all(input: &[u8], limit: usize) -> Result<Vec<Vec<u8>>, TooLong> {
        let (mut chunks, mut input, mut messages) = (Chunks::default(), input, Vec::new());
        while let Some(message) = chunks.feed(&mut input, limit)? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn messages_are_put_together() {
        // The examples of the specification: one chunk, two chunks, two messages, and a NOOP between.
        let sixteen: Vec<u8> = (0..16).collect();
        let one = [&[0, 16], &sixteen[..], &[0, 0]].concat();
        assert_eq!(all(&one, 100).unwrap(), [&sixteen[..]]);
        let two = [&[0, 12], &sixteen[..12], &[0, 4], &sixteen[12..], &[0, 0]].concat();
        assert_eq!(all(&two, 100).unwrap(), [&sixteen[..]]);
        let both = [&one[..], &[0, 0, 0, 0], &two[..], &[0, 0]].concat();
        assert_eq!(all(&both, 100).unwrap(), [sixteen.clone(), sixteen.clone()]);
        assert_eq!(all(&one, 15), Err(TooLong { limit: 15 }));
        assert_eq!(all(&two, 15), Err(TooLong { limit: 15 }));
        // A length is refused before its bytes come.
        assert_eq!(all(&[0xFF, 0xFF], 1_000), Err(TooLong { limit: 1_000 }));
    }

    #[test]
    fn what_is_written_is_read() {
        for length in [1, 2, 65_534, 65_535, 65_536, 131_070, 200_000] {
            let message: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut out = vec![9];
            append(&mut out, |out| out.extend_from_slice(&message));
            let (mut chunks, mut found) = (Chunks::default(), Vec::new());
            for piece in out[1..].chunks(977) {
                let mut piece = piece;
                found.extend(chunks.feed(&mut piece, length).unwrap());
            }
            assert_eq!((found, chunks.pending()), (vec![message], 0), "{length}");
        }
    }
}
