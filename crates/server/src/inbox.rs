//! The bytes that have arrived on a socket, put together: messages of Bolt, requests of HTTP, or Bolt within a WebSocket.
//!
//! The first byte tells Bolt, which begins with 0x60, from HTTP, which begins with the letter of a method.

use std::collections::VecDeque;

use bolt::{Chunks, Handshake, Outcome, Version, message};

use crate::arrivals::Share;
use crate::failure;
use crate::http::{Intake, Refusal};
use crate::limits::{MESSAGE_OVERHEAD_BYTES, STRANGER_MESSAGE_BYTES_MAX};
use crate::websocket::{Closed, Frames};

/// The form of what arrives.
enum Dialect {
    /// No byte has come.
    Unknown,
    /// Bolt, as long as no version was agreed.
    Greeting(Handshake),
    Bolt(Chunks),
    Http(Box<Intake>),
}

/// The messages that have arrived on one socket.
pub(crate) struct Inbox {
    newest: Version,
    dialect: Dialect,
    /// Frames around the messages of Bolt.
    frames: Option<Box<Frames>>,
    messages: VecDeque<Vec<u8>>,
    /// Memory of the messages that are whole.
    bytes: usize,
    message_bytes_max: usize,
    share: Share,
    /// The last moment at which bytes have arrived.
    arrived_ns: u64,
    /// When the message that is not whole has begun.
    began_ns: u64,
    /// Reason for which nothing more is read.
    refusal: Option<Refusal>,
    /// Bytes of the handshake that are to be sent, and the version, once it is agreed.
    reply: Vec<u8>,
    agreed: Option<(Version, bool)>,
}

/// The requests of bytes that have arrived that cannot wait.
#[derive(Default)]
pub(crate) struct Heard {
    /// `RESET`s among them.
    pub(crate) resets: u64,
    /// True if what runs is to stop.
    pub(crate) is_urgent: bool,
    /// Bytes to be sent before all others.
    pub(crate) answer: Vec<u8>,
    /// True if the connection is over.
    pub(crate) is_over: bool,
    /// Reason that the client of a WebSocket is told once all was answered.
    pub(crate) broken: Option<Closed>,
}

/// Result of a handshake so far.
pub(crate) struct Greeting {
    /// Bytes to send.
    pub(crate) reply: Vec<u8>,
    /// The version, and true if it was chosen from a list.
    pub(crate) agreed: Option<(Version, bool)>,
}

/// Memory of a message that waits.
fn memory(message: &Vec<u8>) -> usize {
    message.capacity() + MESSAGE_OVERHEAD_BYTES
}

impl Inbox {
    /// An inbox in which nothing has arrived. `share` is its room.
    pub(crate) fn new(newest: Version, share: Share) -> Inbox {
        Inbox {
            newest,
            dialect: Dialect::Unknown,
            frames: None,
            messages: VecDeque::new(),
            bytes: 0,
            message_bytes_max: STRANGER_MESSAGE_BYTES_MAX,
            share,
            arrived_ns: 0,
            began_ns: 0,
            refusal: None,
            reply: Vec::new(),
            agreed: None,
        }
    }

    /// From now on messages may be longer.
    pub(crate) fn allow(&mut self, message_bytes_max: usize) {
        self.message_bytes_max = message_bytes_max;
    }

    /// True if more may be read.
    pub(crate) fn has_room(&self) -> bool {
        self.refusal.is_none() && self.bytes <= self.message_bytes_max && self.question().is_none()
    }

    /// True if requests of HTTP arrive.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self.dialect, Dialect::Http(_))
    }

    /// Holds room for what is there. False if there is none.
    fn hold(&mut self) -> bool {
        let half = match &self.dialect {
            Dialect::Bolt(chunks) => chunks.memory(),
            Dialect::Http(intake) => intake.memory(),
            Dialect::Unknown | Dialect::Greeting(_) => 0,
        };
        self.share.set(self.bytes + half)
    }

    /// When the last bytes of a message have come that is not yet whole; of a head of HTTP, the first.
    pub(crate) fn half_since_ns(&self) -> Option<u64> {
        match &self.dialect {
            Dialect::Bolt(chunks) => (chunks.pending() > 0).then_some(self.arrived_ns),
            Dialect::Http(intake) if intake.question().is_some() => None,
            Dialect::Http(intake) if intake.is_in_head() => Some(self.began_ns),
            Dialect::Http(intake) => intake.is_half().then_some(self.arrived_ns),
            Dialect::Unknown | Dialect::Greeting(_) => None,
        }
    }

    /// Takes bytes that have arrived at that moment.
    pub(crate) fn feed(&mut self, bytes: &[u8], now_ns: u64) -> Heard {
        let mut heard = Heard::default();
        self.arrived_ns = now_ns;
        match &mut self.frames {
            None => self.take(bytes, &mut heard),
            Some(frames) => {
                let mut payload = Vec::new();
                let fed = frames.feed(bytes, &mut payload, &mut heard.answer);
                heard.is_over = fed.as_ref().is_ok_and(|is_open| !is_open);
                if !payload.is_empty() {
                    self.take(&payload, &mut heard);
                }
                match (fed, &self.dialect) {
                    // Requests that came before are answered first.
                    (Err(closed), Dialect::Bolt(_)) => {
                        let message = "the frames of the WebSocket break its protocol";
                        self.refusal.get_or_insert_with(|| failure::of_protocol(message.to_owned()).into());
                        heard.broken = Some(closed);
                    }
                    (Err(closed), _) => {
                        closed.append(&mut heard.answer);
                        heard.is_over = true;
                    }
                    (Ok(_), _) => {}
                }
            }
        }
        if self.refusal.is_none() && !self.hold() {
            self.refusal = Some(failure::no_room().into());
        }
        heard
    }

    fn take(&mut self, bytes: &[u8], heard: &mut Heard) {
        let mut input = bytes;
        if let (Dialect::Unknown, Some(first)) = (&self.dialect, input.first()) {
            self.dialect = match *first {
                first if first == bolt::handshake::PREAMBLE[0] => Dialect::Greeting(Handshake::new(self.newest)),
                first if first.is_ascii_uppercase() => Dialect::Http(Box::default()),
                _ => return heard.is_over = true,
            };
        }
        self.greet(&mut input, heard);
        while !heard.is_over && self.refusal.is_none() {
            let found = match &mut self.dialect {
                Dialect::Bolt(chunks) => chunks
                    .feed(&mut input, self.message_bytes_max)
                    .map_err(|refusal| failure::of_protocol(refusal.to_string()).into()),
                Dialect::Http(intake) => {
                    if !intake.is_half() {
                        self.began_ns = self.arrived_ns;
                    }
                    intake.feed(&mut input, self.message_bytes_max)
                }
                Dialect::Unknown | Dialect::Greeting(_) => return,
            };
            match found {
                Ok(Some(message)) => self.arrive(message, heard),
                Ok(None) => return,
                Err(refusal) => self.refusal = Some(refusal),
            }
        }
    }

    /// The handshake of Bolt, as far as it has come.
    fn greet(&mut self, input: &mut &[u8], heard: &mut Heard) {
        while let Dialect::Greeting(handshake) = &mut self.dialect {
            match handshake.feed(input) {
                Outcome::More => return,
                Outcome::Send(bytes) => self.reply.extend(bytes),
                Outcome::Agreed(version, bytes) => {
                    self.reply.extend(bytes);
                    self.agreed = Some((version, handshake.is_by_manifest()));
                    self.dialect = Dialect::Bolt(Chunks::default());
                }
                Outcome::Refused(bytes) => {
                    // The connection closes behind them; what does not fit into the socket is of no use any more.
                    heard.answer.extend(bytes);
                    return heard.is_over = true;
                }
                Outcome::Foreign => return heard.is_over = true,
            }
        }
    }

    fn arrive(&mut self, message: Vec<u8>, heard: &mut Heard) {
        if matches!(self.dialect, Dialect::Bolt(_)) {
            heard.resets += u64::from(message::is_reset(&message));
            heard.is_urgent |= message::is_urgent(&message);
        }
        self.bytes += memory(&message);
        self.messages.push_back(message);
    }

    /// The head of a request whose body is not read, or whose protocol is not changed, before it was looked at; once those
    /// before it were taken.
    pub(crate) fn question(&self) -> Option<&[u8]> {
        match &self.dialect {
            Dialect::Http(intake) => intake.question(),
            _ => None,
        }
    }

    /// The request that was asked about may come.
    pub(crate) fn admit(&mut self) -> Heard {
        let Dialect::Http(intake) = &mut self.dialect else { return Heard::default() };
        let behind = intake.admit();
        let mut heard = Heard::default();
        self.take(&behind, &mut heard);
        heard
    }

    /// From now on frames of a WebSocket arrive, and Bolt within them.
    pub(crate) fn upgrade(&mut self, now_ns: u64) -> Heard {
        let Dialect::Http(intake) = &mut self.dialect else { return Heard::default() };
        let behind = intake.admit();
        self.dialect = Dialect::Greeting(Handshake::new(self.newest));
        self.frames = Some(Box::default());
        self.feed(&behind, now_ns)
    }

    /// Result of the handshake since this was last asked.
    pub(crate) fn greeting(&mut self) -> Greeting {
        Greeting { reply: std::mem::take(&mut self.reply), agreed: self.agreed.take() }
    }

    /// Forgets what has arrived; true if there was anything.
    pub(crate) fn clear(&mut self) -> bool {
        let had_any = !self.messages.is_empty() || self.half_since_ns().is_some();
        self.messages = VecDeque::new();
        self.bytes = 0;
        self.dialect = Dialect::Unknown;
        self.frames = None;
        // It has become less, for which there is always room.
        self.hold();
        had_any
    }

    /// The next message.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let message = self.messages.pop_front()?;
        self.bytes -= memory(&message);
        // It has become less, for which there is always room.
        self.hold();
        Some(message)
    }

    /// The next message, to be looked at.
    pub(crate) fn peek(&self) -> Option<&[u8]> {
        self.messages.front().map(Vec::as_slice)
    }

    /// Reason for which nothing more is read, after all messages before it were taken.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.clone().filter(|_| self.messages.is_empty())
    }
}
