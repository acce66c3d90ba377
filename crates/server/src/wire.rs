//! One socket, and the messages that have arrived on it.
//!
//! The thread that serves a connection and the front both take bytes from the socket: the first when it waits for a request,
//! the second while a statement runs. Whoever finds `RESET`, `GOODBYE` or the end raises the interrupt of the session.
//!
//! The first byte tells the transport: TLS begins with 0x16, a process that passes its sockets with [`HANDOVER_FIRST`]; all else
//! is plain.
//!
//! Invariant: locks are taken in the order link, inbox, transport, outlet. The front and the threads take them at the same time.

use std::cell::RefCell;
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bolt::Version;
use bolt::message::is_goodbye;
use database::Interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::arrivals::Share;
use crate::http::{Refusal, plain_answer};
use crate::inbox::{Greeting, Heard, Inbox};
use crate::limits::{DROPPED_READS, FAREWELL_BYTES, LINGER, READ_BYTES};
use crate::outlet::{Outlet, Sent};
use crate::socket::Socket;
use crate::tls::Identity;

/// First byte of a client that speaks TLS.
const TLS_FIRST: u8 = 0x16;
/// First byte of a process that passes its sockets; the holder of the store answers with the same.
pub(crate) const HANDOVER_FIRST: u8 = b'S';
/// The answer to TLS where there is none: an alert that the handshake has failed.
const TLS_REFUSAL: [u8; 7] = [0x15, 3, 1, 0, 2, 2, 40];

/// The client's end of a connection is closed, also where bytes are left to read.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const HANG_UP: PollFlags = PollFlags::RDHUP;
/// The connection is broken; other systems do not say more.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const HANG_UP: PollFlags = PollFlags::HUP;

/// A socket, shared by the thread that serves it and the front.
pub(crate) struct Wire {
    stream: Socket,
    /// `None` for one of this machine that came by the socket of the store.
    peer: Option<SocketAddr>,
    inbox: Mutex<Inbox>,
    transport: Mutex<Transport>,
    outlet: Mutex<Outlet>,
    identity: Option<Arc<Identity>>,
    interrupt: Mutex<Option<Interrupt>>,
    is_gone: AtomicBool,
    /// True once the server does not let it go on.
    is_cut: AtomicBool,
    /// `RESET`s that have arrived and were not taken.
    resets: AtomicU64,
    /// True while a statement runs.
    is_running: AtomicBool,
    /// True while a transaction is committed, which only the server itself stops.
    is_committing: AtomicBool,
    /// True if the client has gone on asking when the connection had ended.
    is_talking: AtomicBool,
}

thread_local! {
    /// Bytes as a socket gives them: one buffer for each thread, since clearing one for each request would empty the caches of the
    /// processor.
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

/// Form of the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    /// No byte has come.
    Unknown,
    Plain,
    Tls,
    /// A process of this machine passes its sockets; what follows is not read here.
    Handover,
}

impl Wire {
    /// The wire of a connection that has just come. `share` is the room of what arrives; with an identity, clients may speak TLS.
    pub(crate) fn new(
        stream: Socket,
        peer: Option<SocketAddr>,
        newest: Version,
        share: Share,
        identity: Option<Arc<Identity>>,
    ) -> std::io::Result<Wire> {
        stream.prepare()?;
        Ok(Wire {
            stream,
            peer,
            inbox: Mutex::new(Inbox::new(newest, share)),
            transport: Mutex::new(Transport::Unknown),
            outlet: Mutex::new(Outlet::new()),
            identity,
            interrupt: Mutex::default(),
            is_gone: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            resets: AtomicU64::new(0),
            is_running: AtomicBool::new(false),
            is_committing: AtomicBool::new(false),
            is_talking: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outlet(&self) -> MutexGuard<'_, Outlet> {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client's address and port; `None` if it came by the socket of the store.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// The address that the client reached.
    pub(crate) fn own_address(&self) -> Option<SocketAddr> {
        self.stream.own_address()
    }

    /// The socket, to be polled.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// From now on messages may be longer.
    pub(crate) fn allow(&self, message_bytes_max: usize) {
        self.lock().allow(message_bytes_max);
    }

    /// From now on `RESET` and the end of the connection raise that flag.
    pub(crate) fn stop_by(&self, interrupt: Interrupt) {
        *self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = Some(interrupt);
    }

    /// True once the client has left, or the server has given it up.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    /// True if what runs is not wanted any more. It is looked at after the session has lowered its interrupt, which may have
    /// been raised before.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_gone() || self.is_cut() || self.is_reset()
    }

    /// True if `RESET` has arrived and was not taken.
    pub(crate) fn is_reset(&self) -> bool {
        self.resets.load(Ordering::Acquire) > 0
    }

    /// True once the server does not let it go on.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }

    /// Stops what runs, and lets nothing more run; answers are sent.
    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
        self.cancel();
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

    /// Stops what runs for its client, unless it is a commit: a client that leaves then has asked for nothing else.
    fn raise(&self) {
        if !self.is_committing.load(Ordering::Acquire) {
            self.cancel();
        }
    }

    fn cancel(&self) {
        if let Some(interrupt) = &*self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) {
            interrupt.cancel();
        }
    }

    /// Does work that begins now, and that `RESET` and the end of the connection are to stop.
    pub(crate) fn while_running<T>(&self, now_ns: u64, work: impl FnOnce() -> T) -> T {
        self.outlet().begin(now_ns);
        self.is_running.store(true, Ordering::Release);
        let done = work();
        self.is_running.store(false, Ordering::Release);
        done
    }

    /// Commits, beginning now: neither `RESET` nor the end of the connection stops it.
    pub(crate) fn while_committing<T>(&self, now_ns: u64, work: impl FnOnce() -> T) -> T {
        self.is_committing.store(true, Ordering::Release);
        let done = self.while_running(now_ns, work);
        self.is_committing.store(false, Ordering::Release);
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

    /// Sends what a statement that lasts has held back, and says to its client that the server is alive, once it was silent for
    /// that long.
    pub(crate) fn beat(&self, now_ns: u64, interval_ns: u64) {
        // The inbox is locked before the outlet.
        let is_http = self.is_http();
        // A thread that has it sends something better.
        let Ok(mut outlet) = self.outlet.try_lock() else { return };
        let released = outlet.release(&self.stream, now_ns);
        let beaten = released.and_then(|()| match is_http {
            true => Ok(()),
            false => outlet.beat(&self.stream, now_ns, interval_ns),
        });
        if beaten.is_err() {
            self.give_up();
        }
    }

    /// True if there is room for more messages.
    pub(crate) fn has_room(&self) -> bool {
        !self.is_gone() && self.lock().has_room()
    }

    /// When a client has last gone on with a message that is not yet whole.
    pub(crate) fn half_since_ns(&self) -> Option<u64> {
        self.lock().half_since_ns()
    }

    /// True if what is sent is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        *self.transport.lock().unwrap_or_else(PoisonError::into_inner) == Transport::Tls
    }

    /// Another handle of the connection of a process that passes its sockets.
    pub(crate) fn handover(&self) -> Option<UnixStream> {
        let transport = *self.transport.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.stream {
            Socket::Unix(stream) if transport == Transport::Handover => stream.try_clone().ok(),
            _ => None,
        }
    }

    /// True if the client speaks HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.lock().is_http()
    }

    /// Takes what has arrived from the socket by now, without waiting.
    pub(crate) fn receive(&self, now_ns: u64) {
        BUFFER.with_borrow_mut(|buffer| self.receive_by(buffer, now_ns));
    }

    fn receive_by(&self, buffer: &mut [u8], now_ns: u64) {
        let mut inbox = self.lock();
        while !self.is_gone() && inbox.has_room() {
            match (&self.stream).read(buffer) {
                Ok(0) => self.give_up(),
                Ok(count) => {
                    self.take_in(&mut inbox, &buffer[..count], now_ns);
                    if count < buffer.len() {
                        return self.acknowledge_half(&inbox);
                    }
                }
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.give_up(),
            }
        }
        // Without room nothing is read, and the end is not found by reading.
        if !self.is_gone() && self.is_hung_up() {
            self.give_up();
        }
    }

    /// Takes a little of what has arrived, where nothing of it waits: a client that says goodbye is heard, whatever it has left
    /// unread. True if it says so now.
    pub(crate) fn hear_farewell(&self, now_ns: u64) -> bool {
        BUFFER.with_borrow_mut(|buffer| match (&self.stream).read(&mut buffer[..FAREWELL_BYTES]) {
            Ok(0) => self.give_up(),
            Ok(count) => {
                let mut inbox = self.lock();
                self.take_in(&mut inbox, &buffer[..count], now_ns);
            }
            Err(cause) if matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.give_up(),
        });
        self.next_is(is_goodbye)
    }

    /// Waits for a request as long as a thread lingers, and takes what has come. False if nothing has.
    pub(crate) fn receive_soon(&self, now_ns: impl FnOnce() -> u64) -> bool {
        if LINGER.is_zero() || !self.has_room() {
            return self.wait(false, LINGER);
        }
        BUFFER.with_borrow_mut(|buffer| match self.stream.read_soon(buffer) {
            Ok(count) if count > 0 => {
                let mut inbox = self.lock();
                self.take_in(&mut inbox, &buffer[..count], now_ns());
                self.acknowledge_half(&inbox);
                true
            }
            Err(cause) if cause.kind() == ErrorKind::WouldBlock => false,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => true,
            Ok(_) | Err(_) => {
                self.give_up();
                true
            }
        })
    }

    /// Acknowledges half a request of HTTP: the client may keep the body back until its head was acknowledged.
    fn acknowledge_half(&self, inbox: &Inbox) {
        if inbox.is_http() && inbox.half_since_ns().is_some() {
            self.stream.acknowledge();
        }
    }

    /// True if the client has closed its end, also where bytes are left to read.
    pub(crate) fn is_hung_up(&self) -> bool {
        let mut fds = [PollFd::new(&self.stream, HANG_UP)];
        poll(&mut fds, Some(&timespec(Duration::ZERO))).is_ok_and(|ready| ready > 0)
    }

    /// Takes bytes as the socket gives them.
    fn take_in(&self, inbox: &mut Inbox, bytes: &[u8], now_ns: u64) {
        let mut transport = self.transport.lock().unwrap_or_else(PoisonError::into_inner);
        if *transport == Transport::Unknown {
            *transport = match self.choose(bytes[0]) {
                Some(transport) => transport,
                None => return self.give_up(),
            };
        }
        if *transport == Transport::Handover {
            return;
        }
        if *transport == Transport::Plain {
            return self.heed(inbox.feed(bytes, now_ns));
        }
        let mut plain = Vec::new();
        let opened = self.outlet().open(&self.stream, bytes, &mut plain);
        if !plain.is_empty() {
            self.heed(inbox.feed(&plain, now_ns));
        }
        if !opened.is_ok_and(|is_open| is_open) {
            self.give_up();
        }
    }

    /// The transport of a client that begins with that byte; `None` if it is turned away.
    fn choose(&self, first: u8) -> Option<Transport> {
        let is_bolt = first == bolt::handshake::PREAMBLE[0];
        if self.peer.is_none() {
            let other = (first == HANDOVER_FIRST).then_some(Transport::Handover);
            return if is_bolt { Some(Transport::Plain) } else { other };
        }
        match (&self.identity, first == TLS_FIRST) {
            (Some(identity), true) => {
                self.outlet().protect(identity.session()?);
                Some(Transport::Tls)
            }
            (None, true) => {
                self.send(&TLS_REFUSAL, 0);
                None
            }
            // Names and passwords are not to cross the network in plain text.
            (Some(identity), false) if identity.is_required() => {
                if first.is_ascii_uppercase() {
                    self.send(&plain_answer("this server wants its clients to encrypt: connect by https://"), 0);
                }
                None
            }
            (_, false) => Some(Transport::Plain),
        }
    }

    /// Does what bytes that have arrived ask for at once.
    fn heed(&self, heard: Heard) {
        self.resets.fetch_add(heard.resets, Ordering::AcqRel);
        if heard.is_urgent || heard.resets > 0 {
            self.raise();
        }
        if let Some(reason) = heard.broken {
            self.outlet().note_reason(reason);
        }
        if !heard.answer.is_empty() && self.outlet().insert(&self.stream, &heard.answer).is_err() || heard.is_over {
            self.outlet().stop_frames();
            self.give_up();
        }
    }

    /// Result of the handshake since this was last asked.
    pub(crate) fn greeting(&self) -> Greeting {
        self.lock().greeting()
    }

    /// The next message.
    pub(crate) fn next(&self) -> Option<Vec<u8>> {
        self.lock().next()
    }

    /// The head of the request of HTTP that comes next and is not let in by itself.
    pub(crate) fn question(&self) -> Option<Vec<u8>> {
        let inbox = self.lock();
        inbox.question().filter(|_| inbox.peek().is_none()).map(<[u8]>::to_vec)
    }

    /// Lets the request in that was asked about.
    pub(crate) fn admit(&self) {
        let heard = self.lock().admit();
        self.heed(heard);
    }

    /// Speaks Bolt within the frames of a WebSocket from now on, behind that answer.
    pub(crate) fn upgrade(&self, answer: &[u8], now_ns: u64) {
        let mut outlet = self.outlet();
        let sent = outlet.insert(&self.stream, answer);
        outlet.frame();
        drop(outlet);
        if sent.is_err() {
            return self.give_up();
        }
        let heard = self.lock().upgrade(now_ns);
        self.heed(heard);
    }

    /// Looks at the next message: true if it is there and fits.
    pub(crate) fn next_is(&self, fits: impl FnOnce(&[u8]) -> bool) -> bool {
        self.lock().peek().is_some_and(fits)
    }

    /// True if a message waits, or a head that is to be looked at.
    pub(crate) fn has_message(&self) -> bool {
        let inbox = self.lock();
        inbox.peek().is_some() || inbox.question().is_some()
    }

    /// Reason for which nothing more is read, after all messages before it were taken.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.lock().refusal()
    }

    /// Sends what the socket takes of these bytes, which end with a message, without waiting.
    pub(crate) fn send(&self, bytes: &[u8], now_ns: u64) -> Sent {
        if self.is_gone() {
            return Sent::default();
        }
        let sent = self.outlet().send(&self.stream, bytes, now_ns);
        sent.unwrap_or_else(|_| {
            self.give_up();
            Sent::default()
        })
    }

    /// Takes bytes, which end with a message, to be sent with those that come next, or when the front looks; false if too much
    /// would wait.
    pub(crate) fn hold(&self, bytes: &[u8]) -> bool {
        !self.is_gone() && self.outlet().hold(bytes)
    }

    /// True if bytes that were taken to be sent wait for the client to read.
    pub(crate) fn has_rest(&self) -> bool {
        self.outlet().has_rest()
    }

    /// Waits until the socket can be read, or written if asked; true if it can.
    pub(crate) fn wait(&self, wants_to_write: bool, limit: Duration) -> bool {
        let mut flags = HANG_UP;
        flags.set(PollFlags::OUT, wants_to_write);
        flags.set(PollFlags::IN, self.has_room());
        let mut fds = [PollFd::new(&self.stream, flags)];
        poll(&mut fds, Some(&timespec(limit))).is_ok_and(|ready| ready > 0)
    }

    /// True if the connection has ended before its client knew: what is on its way to it would be lost, were it closed now.
    pub(crate) fn is_talking(&self) -> bool {
        self.is_talking.load(Ordering::Acquire) || self.has_rest()
    }

    /// Goes on with the end of the connection, without waiting: sends what is left, says that nothing more comes, and drops what
    /// the client sends, since the system would otherwise throw away what is on its way to it. True once the client has closed its
    /// end, or the connection is broken.
    pub(crate) fn leave(&self) -> bool {
        if self.lock().clear() {
            self.is_talking.store(true, Ordering::Release);
        }
        match self.outlet().end(&self.stream) {
            Ok(true) => self.stream.end(),
            Ok(false) => return false,
            Err(_) => return true,
        }
        BUFFER.with_borrow_mut(|buffer| {
            for _ in 0..DROPPED_READS {
                match (&self.stream).read(buffer) {
                    Ok(0) => return true,
                    Ok(_) => self.is_talking.store(true, Ordering::Release),
                    Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                    Err(cause) => return cause.kind() != ErrorKind::WouldBlock,
                }
            }
            false
        })
    }
}

/// A time as the system takes it.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}
