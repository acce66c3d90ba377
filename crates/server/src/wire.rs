//! One socket, and the messages that have arrived on it.
//!
//! The thread that serves a connection and the front both take bytes from the socket: the first when it waits for a request,
//! the second while a statement runs. Whoever finds `RESET`, `GOODBYE` or the end raises the interrupt of the session.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bolt::{Chunks, Handshake, Outcome, Version, message};
use database::Interrupt;
use model::memory::Reservation;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::limits::{READ_BYTES, STRANGER_MESSAGE_BYTES_MAX};

/// A socket, shared by the thread that serves it and the front.
pub(crate) struct Wire {
    stream: TcpStream,
    peer: SocketAddr,
    inbox: Mutex<Inbox>,
    interrupt: OnceLock<Interrupt>,
    is_gone: AtomicBool,
    /// `RESET`s that have arrived and were not taken.
    resets: AtomicU64,
    /// True while a statement runs.
    is_running: AtomicBool,
}

struct Inbox {
    /// As long as no version was agreed.
    handshake: Option<Handshake>,
    chunks: Chunks,
    messages: VecDeque<Vec<u8>>,
    /// Bytes of the messages that are whole.
    bytes: usize,
    message_bytes_max: usize,
    held: Reservation,
    /// The message that is too long; nothing more is read then.
    refusal: Option<String>,
    /// Bytes of the handshake that are to be sent, and the version, once it is agreed.
    reply: Vec<u8>,
    agreed: Option<(Version, bool)>,
}

/// Result of a handshake so far.
pub(crate) struct Greeting {
    /// Bytes to send.
    pub(crate) reply: Vec<u8>,
    /// The version, and true if it was chosen from a list.
    pub(crate) agreed: Option<(Version, bool)>,
}

impl Wire {
    /// The wire of a connection that has just come. `held` is the account of what arrives.
    pub(crate) fn new(
        stream: TcpStream,
        peer: SocketAddr,
        newest: Version,
        held: Reservation,
    ) -> std::io::Result<Wire> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
        let inbox = Inbox {
            handshake: Some(Handshake::new(newest)),
            chunks: Chunks::default(),
            messages: VecDeque::new(),
            bytes: 0,
            message_bytes_max: STRANGER_MESSAGE_BYTES_MAX,
            held,
            refusal: None,
            reply: Vec::new(),
            agreed: None,
        };
        Ok(Wire {
            stream,
            peer,
            inbox: Mutex::new(inbox),
            interrupt: OnceLock::new(),
            is_gone: AtomicBool::new(false),
            resets: AtomicU64::new(0),
            is_running: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client's address and port.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The address that the client reached.
    pub(crate) fn own_address(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    /// The socket, to be polled.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// From now on messages may be longer.
    pub(crate) fn allow(&self, message_bytes_max: usize) {
        self.lock().message_bytes_max = message_bytes_max;
    }

    /// From now on `RESET` and the end of the connection raise that flag.
    pub(crate) fn stop_by(&self, interrupt: Interrupt) {
        let _ = self.interrupt.set(interrupt);
    }

    /// True once the client has left, or the server has given it up.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    /// True if what runs is not wanted any more. It is looked at after the session has lowered its interrupt, which may have
    /// been raised before.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_gone() || self.resets.load(Ordering::Acquire) > 0
    }

    /// `RESET`s that have arrived since this was last asked.
    pub(crate) fn take_resets(&self) -> u64 {
        self.resets.swap(0, Ordering::AcqRel)
    }

    /// Stops what runs; nothing more is read or sent.
    pub(crate) fn give_up(&self) {
        self.is_gone.store(true, Ordering::Release);
        self.raise();
    }

    fn raise(&self) {
        if let Some(interrupt) = self.interrupt.get() {
            interrupt.cancel();
        }
    }

    /// Does work that `RESET` and the end of the connection are to stop.
    pub(crate) fn while_running<T>(&self, work: impl FnOnce() -> T) -> T {
        self.is_running.store(true, Ordering::Release);
        let done = work();
        self.is_running.store(false, Ordering::Release);
        done
    }

    /// Does work that waits on the socket itself, within work that is running: the front is not to take bytes meanwhile.
    pub(crate) fn while_waiting<T>(&self, work: impl FnOnce() -> T) -> T {
        self.is_running.store(false, Ordering::Release);
        let done = work();
        self.is_running.store(true, Ordering::Release);
        done
    }

    /// True while a statement runs.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire)
    }

    /// True if there is room for more messages.
    pub(crate) fn has_room(&self) -> bool {
        let inbox = self.lock();
        !self.is_gone() && inbox.refusal.is_none() && inbox.bytes <= inbox.message_bytes_max
    }

    /// Takes what has arrived from the socket, without waiting.
    pub(crate) fn receive(&self) {
        let mut inbox = self.lock();
        let mut buffer = [0; READ_BYTES];
        while !self.is_gone() && inbox.refusal.is_none() && inbox.bytes <= inbox.message_bytes_max {
            match (&self.stream).read(&mut buffer) {
                Ok(0) => self.give_up(),
                Ok(count) => {
                    self.feed(&mut inbox, &buffer[..count]);
                    if count < buffer.len() {
                        return;
                    }
                }
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.give_up(),
            }
        }
    }

    fn feed(&self, inbox: &mut Inbox, mut input: &[u8]) {
        if let Some(handshake) = &mut inbox.handshake {
            match handshake.feed(&mut input) {
                Outcome::More => {}
                Outcome::Send(bytes) => {
                    inbox.reply.extend(bytes);
                    return self.feed(inbox, input);
                }
                Outcome::Agreed(version, bytes) => {
                    inbox.reply.extend(bytes);
                    inbox.agreed = Some((version, handshake.is_by_manifest()));
                    inbox.handshake = None;
                }
                Outcome::Refused(bytes) => {
                    // The connection closes behind them; what does not fit into the socket is of no use any more.
                    let _ = (&self.stream).write(&bytes);
                    self.give_up();
                }
                Outcome::Foreign => self.give_up(),
            }
        }
        while inbox.handshake.is_none() && inbox.refusal.is_none() {
            match inbox.chunks.feed(&mut input, inbox.message_bytes_max) {
                Ok(Some(message)) => self.arrive(inbox, message),
                Ok(None) => break,
                Err(refusal) => inbox.refusal = Some(refusal.to_string()),
            }
        }
        let bytes = inbox.bytes + inbox.chunks.pending();
        if bytes > STRANGER_MESSAGE_BYTES_MAX && inbox.held.cover(bytes).is_err() {
            inbox.refusal = Some("the server has no memory for the message".to_owned());
        }
    }

    fn arrive(&self, inbox: &mut Inbox, message: Vec<u8>) {
        if message::is_reset(&message) {
            self.resets.fetch_add(1, Ordering::AcqRel);
            self.raise();
        } else if message::is_urgent(&message) {
            self.raise();
        }
        inbox.bytes += message.len();
        inbox.messages.push_back(message);
    }

    /// Result of the handshake since this was last asked.
    pub(crate) fn greeting(&self) -> Greeting {
        let mut inbox = self.lock();
        Greeting { reply: std::mem::take(&mut inbox.reply), agreed: inbox.agreed.take() }
    }

    /// The next message.
    pub(crate) fn next(&self) -> Option<Vec<u8>> {
        let mut inbox = self.lock();
        let message = inbox.messages.pop_front()?;
        inbox.bytes -= message.len();
        if inbox.messages.is_empty() && inbox.chunks.pending() == 0 {
            inbox.held.resize(0);
        }
        Some(message)
    }

    /// Looks at the next message: true if it is there and fits.
    pub(crate) fn next_is(&self, fits: impl FnOnce(&[u8]) -> bool) -> bool {
        self.lock().messages.front().is_some_and(|message| fits(message))
    }

    /// True if a message waits.
    pub(crate) fn has_message(&self) -> bool {
        self.next_is(|_| true)
    }

    /// Reason for which nothing more is read, after all messages before it were taken.
    pub(crate) fn refusal(&self) -> Option<String> {
        let inbox = self.lock();
        inbox.refusal.clone().filter(|_| inbox.messages.is_empty())
    }

    /// Sends what the socket takes, without waiting; gives how much that was.
    pub(crate) fn send(&self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        while sent < bytes.len() && !self.is_gone() {
            match (&self.stream).write(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.give_up(),
            }
        }
        sent
    }

    /// Waits until the socket can be read, or written if asked; true if it can.
    pub(crate) fn wait(&self, wants_to_write: bool, limit: Duration) -> bool {
        let flags = if wants_to_write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = [PollFd::new(&self.stream, flags)];
        poll(&mut fds, Some(&timespec(limit))).is_ok_and(|ready| ready > 0)
    }

    /// Closes the connection once the client has read what was sent: what it has sent meanwhile is read and dropped, since
    /// otherwise the system would throw away what is on its way to it.
    pub(crate) fn close_gently(&self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        let mut buffer = [0; READ_BYTES];
        for _ in 0..4 {
            match (&self.stream).read(&mut buffer) {
                Ok(count) if count > 0 => {}
                _ => break,
            }
        }
        self.is_gone.store(true, Ordering::Release);
    }
}

/// A time as the system takes it.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}
