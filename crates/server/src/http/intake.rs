//! Requests put together from bytes that come in any pieces: each as its head and the bytes of its body, one behind the other.
//!
//! A body that is long, or whose client asks first, is not read before [`Intake::admit`]: until then [`Intake::question`] has
//! the head.
//!
//! Cost: bytes are copied once as they arrive. Never more is held than has arrived.

use super::head::{Head, Length, Refusal, too_long};

/// The longest head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// The longest line around a piece of a body.
const LINE_BYTES_MAX: usize = 256;
/// Lines behind the last piece.
const TRAILERS_MAX: usize = 64;

/// Part of a request that comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Head,
    /// A body of which that many bytes are still to come.
    Bytes(u64),
    /// The line with the length of a piece.
    ChunkLine,
    /// A piece of which that many bytes are still to come.
    Chunk(u64),
    /// The end of the line behind a piece.
    ChunkEnd,
    /// That many lines have come behind the last piece.
    Trailer(usize),
}

/// Puts requests together.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    phase: Phase,
    message: Vec<u8>,
    head_bytes: usize,
    line: Vec<u8>,
    /// Bytes that have come behind a head that is not admitted.
    behind: Vec<u8>,
    is_asking: bool,
    is_admitted: bool,
}

impl Intake {
    /// Takes bytes from the front of `input` up to the end of a request, which it gives; `None` if all were taken.
    pub(crate) fn feed(&mut self, input: &mut &[u8], limit: usize) -> Result<Option<Vec<u8>>, Refusal> {
        while !input.is_empty() {
            if self.is_asking {
                self.behind.extend_from_slice(input);
                *input = &[];
                return Ok(None);
            }
            let is_whole = match self.phase {
                Phase::Head => self.take_head(input, limit)?,
                Phase::Bytes(left) => {
                    let left = self.take_body(input, left, limit)?;
                    self.phase = Phase::Bytes(left);
                    left == 0
                }
                Phase::Chunk(left) => {
                    let left = self.take_body(input, left, limit)?;
                    self.phase = if left == 0 { Phase::ChunkEnd } else { Phase::Chunk(left) };
                    false
                }
                Phase::ChunkLine | Phase::ChunkEnd | Phase::Trailer(_) => self.take_line(input)?,
            };
            if is_whole {
                self.phase = Phase::Head;
                self.is_admitted = false;
                return Ok(Some(std::mem::take(&mut self.message)));
            }
        }
        Ok(None)
    }

    fn take_head(&mut self, input: &mut &[u8], limit: usize) -> Result<bool, Refusal> {
        if self.message.is_empty() {
            // Some clients end a body with a line of its own.
            let start = input.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(input.len());
            *input = &input[start..];
        }
        let before = self.message.len();
        let taken = (HEAD_BYTES_MAX - before).min(input.len());
        self.message.extend_from_slice(&input[..taken]);
        let searched = before.saturating_sub(3);
        let end = self.message[searched..].windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = end.map(|end| searched + end + 4) else {
            *input = &input[taken..];
            if self.message.len() >= HEAD_BYTES_MAX {
                return Err(Refusal::new(431, format!("the head of a request has at most {HEAD_BYTES_MAX} bytes")));
            }
            return Ok(false);
        };
        *input = &input[end - before..];
        self.message.truncate(end);
        let (head, length) = Head::read(&self.message)?;
        if length != end {
            return Err(Refusal::new(400, "the lines of the head end in different ways"));
        }
        self.head_bytes = end;
        let body = head.length()?;
        self.phase = match body {
            Length::Bytes(length) => Phase::Bytes(length),
            Length::Chunks => Phase::ChunkLine,
        };
        let has_body = body != Length::Bytes(0);
        let is_long = matches!(body, Length::Bytes(length) if length > limit as u64);
        self.is_asking = head.is_upgrade() || has_body && (head.is_expecting() || is_long);
        Ok(!has_body && !self.is_asking)
    }

    /// Takes bytes of the body; gives the number of those that are still to come of `left`.
    fn take_body(&mut self, input: &mut &[u8], left: u64, limit: usize) -> Result<u64, Refusal> {
        let body = self.message.len() - self.head_bytes;
        let room = limit.saturating_sub(body);
        let declared_is_long = matches!(self.phase, Phase::Bytes(left) if left > room as u64);
        if room == 0 && left > 0 || declared_is_long {
            if self.is_admitted {
                return Err(too_long(limit));
            }
            self.is_asking = true;
            return Ok(left);
        }
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(input.len()).min(room);
        self.message.extend_from_slice(&input[..taken]);
        *input = &input[taken..];
        Ok(left - taken as u64)
    }

    /// Takes a line around pieces of a body. True if it was the last.
    fn take_line(&mut self, input: &mut &[u8]) -> Result<bool, Refusal> {
        let wrong = || Refusal::new(400, "the pieces of the body are not as they have to be");
        let end = input.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(input.len(), |end| end + 1);
        if self.line.len() + taken > LINE_BYTES_MAX {
            return Err(wrong());
        }
        self.line.extend_from_slice(&input[..taken]);
        *input = &input[taken..];
        if end.is_none() {
            return Ok(false);
        }
        let line = std::mem::take(&mut self.line);
        let is_empty = line == b"\r\n";
        self.phase = match self.phase {
            Phase::ChunkEnd if is_empty => Phase::ChunkLine,
            Phase::ChunkLine => match httparse::parse_chunk_size(&line) {
                Ok(httparse::Status::Complete((length, 0))) if length == line.len() => Phase::Trailer(0),
                Ok(httparse::Status::Complete((length, bytes))) if length == line.len() => Phase::Chunk(bytes),
                _ => return Err(wrong()),
            },
            Phase::Trailer(_) if is_empty => return Ok(true),
            Phase::Trailer(lines) if lines < TRAILERS_MAX => Phase::Trailer(lines + 1),
            _ => return Err(wrong()),
        };
        Ok(false)
    }

    /// The head of a request that is not read further before it is admitted.
    pub(crate) fn question(&self) -> Option<&[u8]> {
        self.is_asking.then(|| &self.message[..self.head_bytes])
    }

    /// Lets the request in that was asked about, and gives the bytes that have come behind its head.
    pub(crate) fn admit(&mut self) -> Vec<u8> {
        self.is_asking = false;
        self.is_admitted = true;
        std::mem::take(&mut self.behind)
    }

    /// True if a request has begun, and is not whole.
    pub(crate) fn is_half(&self) -> bool {
        !self.message.is_empty()
    }

    /// True if the head of a request has begun, and is not whole.
    pub(crate) fn is_in_head(&self) -> bool {
        self.is_half() && self.phase == Phase::Head
    }

    /// Bytes of memory that it takes, room for growth included.
    pub(crate) fn memory(&self) -> usize {
        self.message.capacity() + self.line.capacity() + self.behind.capacity()
    }
}

#[cfg(test)]
mod tests;
