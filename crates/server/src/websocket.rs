//! WebSockets: the answer that begins one, and its frames. Messages of Bolt go in binary frames, whose borders mean nothing.
//!
//! Invariant: no memory is taken because a length was declared; the bytes of a frame are given on as they come.
//!
//! After: RFC 6455.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
/// Kind of a frame: raw bytes.
pub(crate) const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// The longest frame that is no part of a message.
const CONTROL_BYTES_MAX: u64 = 125;
/// The longest head of a frame.
const HEAD_BYTES_MAX: usize = 14;
/// Text that both sides put behind the client's key.
const KEY_END: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Reason for which a WebSocket is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed(u16);

impl Closed {
    /// The reason where there is nothing wrong.
    pub(crate) const NORMALLY: Closed = Closed(1000);

    /// Appends the frame that tells it.
    pub(crate) fn append(self, out: &mut Vec<u8>) {
        append_frame(out, CLOSE, &self.0.to_be_bytes());
    }
}

const WRONG_PROTOCOL: Closed = Closed(1002);
const WRONG_KIND: Closed = Closed(1003);

/// The answer to the key of a client.
pub(crate) fn accept(key: &str) -> String {
    let mut digest = Sha1::new();
    digest.update(key.trim());
    digest.update(KEY_END);
    STANDARD.encode(digest.finalize())
}

/// Appends a frame of a server.
pub(crate) fn append_frame(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    out.push(0x80 | kind);
    match payload.len() {
        length @ 0..=125 => out.push(length as u8),
        length @ 126..=0xFFFF => {
            out.push(126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
}

/// Takes the frames of a client apart. Bytes may come in any pieces.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Bytes of a head that is not whole.
    head: Vec<u8>,
    kind: u8,
    mask: [u8; 4],
    /// Bytes of the frame that were taken.
    taken: u64,
    /// Bytes of the frame that are still to come; `None` within a head.
    left: Option<u64>,
    /// The payload of a frame that is no part of a message.
    control: Vec<u8>,
    /// True within a message of several frames.
    is_fragmented: bool,
}

impl Frames {
    /// Takes bytes: appends those of messages to `payload`, and frames that answer them to `answer`. False once it is over; fails
    /// with what breaks the protocol.
    pub(crate) fn feed(
        &mut self,
        mut input: &[u8],
        payload: &mut Vec<u8>,
        answer: &mut Vec<u8>,
    ) -> Result<bool, Closed> {
        while !input.is_empty() {
            let step = match self.left {
                None => self.take_head(&mut input),
                Some(left) => {
                    self.take_payload(left, &mut input, payload);
                    Ok(())
                }
            };
            step?;
            if self.left == Some(0) && !self.end(answer) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take_head(&mut self, input: &mut &[u8]) -> Result<(), Closed> {
        while let Some((first, behind)) = input.split_first() {
            self.head.push(*first);
            *input = behind;
            if self.head.len() < 2 {
                continue;
            }
            let (first, second) = (self.head[0], self.head[1]);
            let extended = match second & 0x7F {
                126 => 2,
                127 => 8,
                _ => 0,
            };
            let (length_end, end) = (2 + extended, 6 + extended);
            // Clients mask what they send; without an extension the other bits are zero.
            if second & 0x80 == 0 || first & 0x70 != 0 {
                return Err(WRONG_PROTOCOL);
            }
            if self.head.len() < end {
                debug_assert!(end <= HEAD_BYTES_MAX);
                continue;
            }
            let length = match extended {
                0 => u64::from(second & 0x7F),
                _ => self.head[2..length_end].iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
            };
            self.mask.copy_from_slice(&self.head[length_end..end]);
            self.head.clear();
            return self.begin(first, length);
        }
        Ok(())
    }

    /// A frame begins.
    fn begin(&mut self, first: u8, length: u64) -> Result<(), Closed> {
        let (is_final, kind) = (first & 0x80 != 0, first & 0x0F);
        match kind {
            CONTINUATION if self.is_fragmented => self.is_fragmented = !is_final,
            BINARY if !self.is_fragmented => self.is_fragmented = !is_final,
            TEXT => return Err(WRONG_KIND),
            CLOSE | PING | PONG if is_final && length <= CONTROL_BYTES_MAX => {}
            _ => return Err(WRONG_PROTOCOL),
        }
        if length > i64::MAX as u64 {
            return Err(WRONG_PROTOCOL);
        }
        (self.kind, self.taken, self.left) = (kind, 0, Some(length));
        Ok(())
    }

    fn take_payload(&mut self, left: u64, input: &mut &[u8], payload: &mut Vec<u8>) {
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        let (taken, behind) = input.split_at(count);
        *input = behind;
        let to = if self.kind >= CLOSE { &mut self.control } else { payload };
        let mask = self.mask;
        let start = (self.taken % 4) as usize;
        to.extend(taken.iter().enumerate().map(|(at, byte)| byte ^ mask[(start + at) % 4]));
        self.taken += count as u64;
        self.left = Some(left - count as u64);
    }

    /// A frame has come to its end. False if it was the last.
    fn end(&mut self, answer: &mut Vec<u8>) -> bool {
        self.left = None;
        let control = std::mem::take(&mut self.control);
        match self.kind {
            PING => append_frame(answer, PONG, &control),
            CLOSE => {
                append_frame(answer, CLOSE, &control[..control.len().min(2)]);
                return false;
            }
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{BINARY, CLOSE, CONTINUATION, Frames, PING, PONG, TEXT, accept, append_frame};

    const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

    /// A frame of a client.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        append_frame(&mut frame, first & 0x0F, payload);
        frame[0] = first;
        frame[1] |= 0x80;
        let payload_start = frame.len() - payload.len();
        let hidden: Vec<u8> = payload.iter().enumerate().map(|(at, byte)| byte ^ MASK[at % 4]).collect();
        frame.truncate(payload_start);
        [frame, MASK.to_vec(), hidden].concat()
    }

    fn fed(bytes: &[u8], piece: usize) -> (Vec<u8>, Vec<u8>, bool) {
        let (mut frames, mut payload, mut answer) = (Frames::default(), Vec::new(), Vec::new());
        let is_open = bytes.chunks(piece).all(|piece| match frames.feed(piece, &mut payload, &mut answer) {
            Ok(is_open) => is_open,
            Err(closed) => {
                closed.append(&mut answer);
                false
            }
        });
        (payload, answer, is_open)
    }

    #[test]
    fn the_key_is_answered_as_the_specification_says() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn frames_in_any_pieces_give_their_bytes() {
        let long = vec![7; 70_000];
        let stream = [
            masked(0x80 | BINARY, b"one"),
            masked(BINARY, b"tw"),
            masked(0x80 | PING, b"there?"),
            masked(0x80 | CONTINUATION, b"o"),
            masked(0x80 | BINARY, &[]),
            masked(0x80 | BINARY, &long[..300]),
            masked(0x80 | BINARY, &long),
        ]
        .concat();
        let mut pong = Vec::new();
        append_frame(&mut pong, PONG, b"there?");
        for piece in [1, 2, 3, 1_000, stream.len()] {
            let (payload, answer, is_open) = fed(&stream, piece);
            assert_eq!(payload, [b"onetwo", &long[..300], &long[..]].concat(), "{piece}");
            assert_eq!((answer, is_open), (pong.clone(), true), "{piece}");
        }
    }

    #[test]
    fn an_end_is_answered_and_nonsense_is_refused() {
        let mut bye = Vec::new();
        append_frame(&mut bye, CLOSE, &1000_u16.to_be_bytes());
        assert_eq!(fed(&masked(0x80 | CLOSE, &[3, 232, b'x']), 1), (Vec::new(), bye, false));
        let unmasked = [0x80 | BINARY, 1, 0];
        let huge = [0x80 | BINARY, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];
        for wrong in [
            &unmasked[..],
            &huge,
            &masked(0x80 | TEXT, b"{}"),
            &masked(0x80 | CONTINUATION, b"x"),
            &masked(0xC0 | BINARY, b"x"),
            &masked(PING, b"x"),
            &masked(0x80 | PING, &[0; 126]),
            &masked(0x83, b"x"),
        ] {
            let (payload, answer, is_open) = fed(wrong, 1);
            assert!(payload.is_empty() && !is_open && answer[0] == 0x80 | CLOSE, "{wrong:?}");
        }
    }
}
