//! One connection to a server, and the messages that have arrived on it.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bolt::{Chunks, Version, handshake};
use model::Interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::tls::{self, Encrypted, Trust};

/// Time between two looks at the order to stop while an answer is awaited.
const TICK: Duration = Duration::from_millis(10);
/// Time in which a server has to be reached, and to speak first.
pub(crate) const CONNECT_TIME: Duration = Duration::from_secs(10);
/// The least of it, where a statement may take less time.
pub(crate) const CONNECT_TIME_MIN: Duration = Duration::from_secs(1);
/// Time in which a server has to take what is sent.
const SEND_TIME: Duration = Duration::from_secs(60);
/// Bytes of a message.
const MESSAGE_BYTES_MAX: usize = 512 << 20;
/// Bytes that one read takes.
const READ_BYTES: usize = 64 << 10;

/// Any kind of connection.
enum Stream {
    Tcp(TcpStream),
    Tls(Box<Encrypted>),
    Unix(UnixStream),
}

/// A connection on which a version was agreed.
pub(crate) struct Wire {
    stream: Stream,
    pub(crate) version: Version,
    chunks: Chunks,
    /// Bytes that have arrived and were not looked at, from `taken` on.
    input: Vec<u8>,
    taken: usize,
    /// The longest time for which a server that works is silent.
    pub(crate) silence_max: Option<Duration>,
    /// Time for which it has been.
    silent: Duration,
}

/// State of the next message.
pub(crate) enum Arrival {
    /// All of it.
    Message(Vec<u8>),
    /// Not all, by the end of a tick.
    Nothing,
}

impl Stream {
    fn set_times(&self) -> Result<()> {
        match self {
            Stream::Tcp(stream) => set_times(stream),
            Stream::Tls(stream) => set_times(stream.get_ref()),
            Stream::Unix(stream) => {
                stream.set_read_timeout(Some(TICK))?;
                stream.set_write_timeout(Some(SEND_TIME))
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    /// Sends what was written and is held back.
    fn flush(&mut self) -> Result<()> {
        match self {
            Stream::Tls(stream) => stream.flush(),
            Stream::Tcp(_) | Stream::Unix(_) => Ok(()),
        }
    }

    /// True if there is something to read that has left the socket already.
    fn holds_bytes(&self) -> bool {
        match self {
            Stream::Tls(stream) => !stream.conn.wants_read(),
            Stream::Tcp(_) | Stream::Unix(_) => false,
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Tls(stream) => stream.get_ref().as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

fn set_times(stream: &TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TICK))?;
    stream.set_write_timeout(Some(SEND_TIME))
}

fn closed() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the connection was closed")
}

fn strange(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidData, format!("what answers is no Bolt server: {what}"))
}

pub(crate) fn is_tick(cause: &Error) -> bool {
    matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Ends the handshake of TLS.
fn agree_on_keys(stream: &mut Encrypted, interrupt: &Interrupt) -> Result<()> {
    let mut waited = Duration::ZERO;
    while stream.conn.is_handshaking() {
        match stream.conn.complete_io(&mut stream.sock) {
            Ok(_) => {}
            Err(cause) if !is_tick(&cause) => return Err(cause),
            Err(_) if waited >= CONNECT_TIME => {
                return Err(Error::new(ErrorKind::TimedOut, "the server does not answer in TLS"));
            }
            Err(_) => {
                interrupt.check_unpaused().map_err(|stop| Error::other(stop.to_string()))?;
                waited += TICK;
            }
        }
    }
    Ok(())
}

impl Wire {
    /// Connects over the network, encrypted if a trust says whose certificate is believed.
    pub(crate) fn to_server(host: &str, port: u16, trust: Option<Trust>, interrupt: &Interrupt) -> Result<Wire> {
        let mut last = Error::new(ErrorKind::NotFound, "the name stands for no address");
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_TIME) {
                Ok(stream) => {
                    let Some(trust) = trust else { return Wire::agree(Stream::Tcp(stream), CONNECT_TIME, interrupt) };
                    set_times(&stream)?;
                    let mut stream = tls::begin(host, stream, trust)?;
                    agree_on_keys(&mut stream, interrupt)?;
                    return Wire::agree(Stream::Tls(Box::new(stream)), CONNECT_TIME, interrupt);
                }
                Err(cause) => last = cause,
            }
        }
        Err(last)
    }

    /// Takes a connection within this machine.
    pub(crate) fn to_process(stream: UnixStream, patience: Duration, interrupt: &Interrupt) -> Result<Wire> {
        Wire::agree(Stream::Unix(stream), patience, interrupt)
    }

    /// Agrees on a version of the protocol. A server that says nothing for that time is an error as [`is_tick`] knows it.
    fn agree(mut stream: Stream, patience: Duration, interrupt: &Interrupt) -> Result<Wire> {
        stream.set_times()?;
        let mut rest = &handshake::opening()[..];
        while !rest.is_empty() {
            rest = &rest[stream.write(rest)?..];
        }
        stream.flush()?;
        let (mut answer, mut held, mut waited) = ([0; 4], 0, Duration::ZERO);
        while held < answer.len() {
            match stream.read(&mut answer[held..]) {
                Ok(0) => return Err(closed()),
                Ok(count) => held += count,
                Err(cause) if is_tick(&cause) && waited < patience => {
                    interrupt.check_unpaused().map_err(|stop| Error::other(stop.to_string()))?;
                    waited += TICK;
                }
                Err(cause) => return Err(cause),
            }
        }
        let version = handshake::agreed(answer).ok_or_else(|| strange("no version of the protocol is common"))?;
        let (chunks, input, silence_max) = (Chunks::default(), Vec::new(), Some(CONNECT_TIME));
        Ok(Wire { stream, version, chunks, input, taken: 0, silence_max, silent: Duration::ZERO })
    }

    /// True if it leads to another process of this user, by the socket of a store.
    pub(crate) fn is_within_machine(&self) -> bool {
        matches!(self.stream, Stream::Unix(_))
    }

    /// Sends bytes. If that fails, it says how many were taken.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::result::Result<(), (usize, Error)> {
        let mut taken = 0;
        while taken < bytes.len() {
            match self.stream.write(&bytes[taken..]) {
                Ok(0) => return Err((taken, closed())),
                Ok(count) => taken += count,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err((taken, cause)),
            }
        }
        self.stream.flush().map_err(|cause| (taken, cause))?;
        self.silent = Duration::ZERO;
        Ok(())
    }

    /// The next message, if it arrives within a tick.
    pub(crate) fn receive(&mut self) -> Result<Arrival> {
        loop {
            let mut rest = &self.input[self.taken..];
            let fed = self.chunks.feed(&mut rest, MESSAGE_BYTES_MAX);
            self.taken = self.input.len() - rest.len();
            if let Some(message) = fed.map_err(strange)? {
                return Ok(Arrival::Message(message));
            }
            self.input.resize(READ_BYTES, 0);
            self.taken = 0;
            let read = self.stream.read(&mut self.input);
            self.input.truncate(*read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Err(closed()),
                Ok(_) => self.silent = Duration::ZERO,
                Err(cause) if is_tick(&cause) => {
                    self.silent += TICK;
                    if self.silence_max.is_some_and(|most| self.silent > most) {
                        return Err(Error::new(ErrorKind::TimedOut, "the server has been silent for too long"));
                    }
                    return Ok(Arrival::Nothing);
                }
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Time since anything was sent or has arrived, in ticks of waiting.
    pub(crate) fn silent(&self) -> Duration {
        self.silent
    }

    /// The most bytes of a message that the other end takes, where that is known.
    pub(crate) fn message_bytes_max(&self) -> usize {
        match self.stream {
            Stream::Unix(_) => server::share::MESSAGE_BYTES_MAX,
            Stream::Tcp(_) | Stream::Tls(_) => usize::MAX,
        }
    }

    /// True if something has arrived that was not taken.
    pub(crate) fn has_arrived(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.stream.fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_held = self.taken < self.input.len() || self.stream.holds_bytes();
        is_held || poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// True if the server is there, as far as can be told when nothing was asked of it.
    pub(crate) fn is_alive(&mut self) -> bool {
        while self.has_arrived() {
            // Only signs of life may come unasked.
            if !matches!(self.receive(), Ok(Arrival::Nothing)) {
                return false;
            }
        }
        true
    }
}
