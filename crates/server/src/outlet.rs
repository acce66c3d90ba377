//! The sending half of a socket, and the TLS session that both halves share.
//!
//! Invariant: an empty chunk, which says that the server is alive, is sent between two messages only.

use std::io::{ErrorKind, Read, Result, Write};

use rustls::ServerConnection;

use crate::limits::SEND_BYTES;
use crate::socket::Socket;
use crate::websocket::{self, Closed};

/// Bytes of a message that one frame of a WebSocket takes.
const FRAME_BYTES: usize = 32 << 10;
/// Bytes that are held to be sent with others.
const HELD_BYTES_MAX: usize = 2 * SEND_BYTES;
/// Bytes of answers to frames that wait because the client does not read; further ones are left out.
const INSERTED_BYTES_MAX: usize = 64 << 10;

/// Bytes on their way to a client.
pub(crate) struct Outlet {
    tls: Option<Box<ServerConnection>>,
    /// True if messages go in frames of a WebSocket.
    is_framed: bool,
    /// Bytes that were taken and are to be sent before others; under TLS its session may have them.
    rest: Vec<u8>,
    /// True if what was sent ends with a message.
    is_whole: bool,
    /// True once it was said that nothing more will come.
    has_ended: bool,
    /// Reason for the end that the client of a WebSocket is told.
    reason: Closed,
    /// The last moment at which the socket took bytes, or a statement began.
    moved_ns: u64,
}

/// Outcome of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Bytes that were taken.
    pub(crate) taken: usize,
    /// True if the socket has taken any.
    pub(crate) has_moved: bool,
}

impl Outlet {
    /// An outlet through which nothing was sent.
    pub(crate) fn new() -> Outlet {
        Outlet {
            tls: None,
            is_framed: false,
            rest: Vec::new(),
            is_whole: true,
            has_ended: false,
            reason: Closed::NORMALLY,
            moved_ns: 0,
        }
    }

    /// Sends within that TLS session from now on.
    pub(crate) fn protect(&mut self, tls: ServerConnection) {
        self.tls = Some(Box::new(tls));
    }

    /// Sends messages in frames of a WebSocket from now on.
    pub(crate) fn frame(&mut self) {
        self.is_framed = true;
    }

    /// The client of a WebSocket is told that reason for the end.
    pub(crate) fn note_reason(&mut self, reason: Closed) {
        self.reason = reason;
    }

    /// The frames of a WebSocket have ended: no further one is sent.
    pub(crate) fn stop_frames(&mut self) {
        self.is_framed = false;
    }

    /// Sends bytes before those that are given from now on, and as they are.
    pub(crate) fn insert(&mut self, mut socket: &Socket, bytes: &[u8]) -> Result<()> {
        if self.rest.len() < INSERTED_BYTES_MAX {
            self.rest.extend_from_slice(bytes);
        }
        ignoring_waits(self.step(&mut socket, &[], &mut Sent::default()))
    }

    /// True if bytes that were taken were not sent yet.
    pub(crate) fn has_rest(&self) -> bool {
        !self.rest.is_empty() || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Sends what the socket takes, without waiting. The bytes end with a message.
    pub(crate) fn send(&mut self, mut socket: &Socket, bytes: &[u8], now_ns: u64) -> Result<Sent> {
        let mut sent = Sent::default();
        // Bytes that were held go out together with these, so that the client wakes once.
        if !self.rest.is_empty() && self.hold(bytes) {
            sent.taken = bytes.len();
        }
        loop {
            let left = &bytes[sent.taken..];
            if left.is_empty() && !self.has_rest() {
                break;
            }
            match self.step(&mut socket, left, &mut sent) {
                Ok(()) => {}
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        if sent.has_moved {
            self.moved_ns = now_ns;
        }
        self.is_whole = sent.taken == bytes.len();
        Ok(sent)
    }

    fn step(&mut self, socket: &mut &Socket, bytes: &[u8], sent: &mut Sent) -> Result<()> {
        self.push_rest(socket, sent)?;
        if bytes.is_empty() {
            return Ok(());
        }
        if self.is_framed {
            let taken = bytes.len().min(FRAME_BYTES);
            self.put(&bytes[..taken]);
            sent.taken += taken;
            return self.push_rest(socket, sent);
        }
        let Some(tls) = &mut self.tls else {
            let count = socket.write(bytes)?;
            sent.taken += count;
            sent.has_moved |= count > 0;
            return Ok(());
        };
        sent.taken += tls.writer().write(bytes)?;
        sent.has_moved |= push(tls, socket)?;
        Ok(())
    }

    /// Sends what was taken before. Records that the socket has not taken go first, so that never more than one buffer of them waits.
    fn push_rest(&mut self, socket: &mut &Socket, sent: &mut Sent) -> Result<()> {
        if let Some(tls) = &mut self.tls {
            sent.has_moved |= push(tls, socket)?;
        }
        while !self.rest.is_empty() {
            match &mut self.tls {
                None => {
                    let count = socket.write(&self.rest)?;
                    self.rest.drain(..count);
                    sent.has_moved |= count > 0;
                }
                Some(tls) => {
                    let count = tls.writer().write(&self.rest)?;
                    self.rest.drain(..count);
                    sent.has_moved |= push(tls, socket)?;
                }
            }
        }
        Ok(())
    }

    /// A statement begins: its client hears the next sign of life that much later.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.moved_ns = self.moved_ns.max(now_ns);
    }

    /// Takes bytes, which end with a message, to be sent with those that come next, or when the front looks. False, and nothing is
    /// taken, if too much would wait.
    pub(crate) fn hold(&mut self, bytes: &[u8]) -> bool {
        if !self.is_whole || self.rest.len() + bytes.len() > HELD_BYTES_MAX {
            return false;
        }
        self.put(bytes);
        true
    }

    /// Takes bytes, in frames if messages go in such.
    fn put(&mut self, bytes: &[u8]) {
        match self.is_framed {
            true => bytes.chunks(FRAME_BYTES).for_each(|part| {
                websocket::append_frame(&mut self.rest, websocket::BINARY, part);
            }),
            false => self.rest.extend_from_slice(bytes),
        }
    }

    /// Sends what is held, unless a message is half sent.
    pub(crate) fn release(&mut self, socket: &Socket, now_ns: u64) -> Result<()> {
        match self.is_whole && !self.rest.is_empty() {
            true => self.send(socket, &[], now_ns).map(drop),
            false => Ok(()),
        }
    }

    /// Says that the server is alive, if it was silent for so long, and stands between two messages.
    pub(crate) fn beat(&mut self, mut socket: &Socket, now_ns: u64, interval_ns: u64) -> Result<()> {
        if !self.is_whole || self.has_rest() || now_ns.saturating_sub(self.moved_ns) < interval_ns {
            return Ok(());
        }
        // Both bytes are sent, or the second one before anything else.
        self.moved_ns = now_ns;
        self.put(&[0, 0]);
        ignoring_waits(self.step(&mut socket, &[], &mut Sent::default()))
    }

    /// Takes records of TLS that have arrived, and appends what they say to `plain`. False once the client has said its last.
    pub(crate) fn open(&mut self, mut socket: &Socket, mut records: &[u8], plain: &mut Vec<u8>) -> Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        let mut is_open = true;
        while !records.is_empty() && is_open {
            tls.read_tls(&mut records)?;
            let state = tls.process_new_packets();
            let pushed = push(tls, &mut socket);
            let state = state.map_err(|cause| std::io::Error::new(ErrorKind::InvalidData, cause))?;
            match pushed {
                Err(cause) if cause.kind() != ErrorKind::WouldBlock => return Err(cause),
                _ => {}
            }
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut plain[start..])?;
            is_open = !state.peer_has_closed();
        }
        Ok(is_open)
    }

    /// Sends what is left, and then says that nothing more will come. True once all of it was taken.
    pub(crate) fn end(&mut self, mut socket: &Socket) -> Result<bool> {
        if std::mem::take(&mut self.is_framed) {
            self.reason.append(&mut self.rest);
        }
        ignoring_waits(self.step(&mut socket, &[], &mut Sent::default()))?;
        if self.rest.is_empty() && !std::mem::replace(&mut self.has_ended, true) {
            if let Some(tls) = &mut self.tls {
                tls.send_close_notify();
            }
            ignoring_waits(self.step(&mut socket, &[], &mut Sent::default()))?;
        }
        Ok(!self.has_rest())
    }
}

/// A socket that takes no more at the moment has not failed.
fn ignoring_waits(outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(cause) if !matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Err(cause),
        _ => Ok(()),
    }
}

/// Gives records to the socket, until it takes no more; true if it has taken any.
fn push(tls: &mut ServerConnection, socket: &mut &Socket) -> Result<bool> {
    let mut has_moved = false;
    while tls.wants_write() {
        match tls.write_tls(socket) {
            Ok(count) => has_moved |= count > 0,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(has_moved)
}
