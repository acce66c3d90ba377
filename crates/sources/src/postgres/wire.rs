//! A connection as messages: what is to be sent is gathered and sent at once, what comes is read in large pieces.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustls::{ClientConnection, StreamOwned};

/// Bytes that are read at once.
const INPUT_BYTES: usize = 256 << 10;
/// Time that a write waits before received data is read: the server may wait for that before it reads on.
const WRITE_PATIENCE: Duration = Duration::from_millis(4);

/// Time that a read waits before it looks if anybody still wants the answer.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// Time limit for telling the server that something is no longer wanted.
const CANCEL_PATIENCE: Duration = Duration::from_secs(2);
/// The code of that request, in the place of a version.
const CANCEL_REQUEST: u32 = 80_877_102;

/// Bytes to and from a server.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// A message: its first byte, and where its body lies in the input.
pub(super) type Message = (u8, Range<usize>);

/// A connection.
pub(super) struct Wire {
    stream: Stream,
    /// Data received; the part from `start` to `end` has not been taken yet.
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// Data to be sent.
    pub(super) output: Output,
    read_timeout: Option<Duration>,
    /// By what the server knows the connection when it is asked to give up what it does: eight bytes.
    pub(super) cancel_key: Vec<u8>,
}

/// Messages to be sent.
#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
}

impl Stream {
    fn set_timeouts(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(read).and(stream.set_write_timeout(write)),
            Stream::Unix(stream) => stream.set_read_timeout(read).and(stream.set_write_timeout(write)),
            Stream::Tls(stream) => stream.sock.set_read_timeout(read).and(stream.sock.set_write_timeout(write)),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(into),
            Stream::Unix(stream) => stream.read(into),
            Stream::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.flush(),
            Stream::Unix(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

impl Wire {
    pub(super) fn new(stream: Stream) -> Wire {
        Wire {
            stream,
            input: Vec::new(),
            start: 0,
            end: 0,
            output: Output::default(),
            read_timeout: None,
            cancel_key: Vec::new(),
        }
    }

    /// Sets the time limit of the wait for each piece of an answer.
    pub(super) fn set_read_timeout(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.read_timeout = limit;
        self.stream.set_timeouts(self.slice(), Some(WRITE_PATIENCE))
    }

    /// Time that one read waits.
    fn slice(&self) -> Option<Duration> {
        Some(self.read_timeout.map_or(LOOK_AFTER, |limit| limit.min(LOOK_AFTER)))
    }

    /// Asks the server, over another connection, to give up what it does.
    fn cancel(&self) -> io::Result<()> {
        let mut request = 16_u32.to_be_bytes().to_vec();
        request.extend(CANCEL_REQUEST.to_be_bytes());
        request.extend(&self.cancel_key);
        match &self.stream {
            Stream::Tcp(stream) => cancel_over_tcp(stream, &request),
            Stream::Tls(stream) => cancel_over_tcp(&stream.sock, &request),
            Stream::Unix(stream) => match stream.peer_addr()?.as_pathname() {
                Some(path) => UnixStream::connect(path)?.write_all(&request),
                None => Ok(()),
            },
        }
    }

    /// Sends what was gathered. While the server does not take it, what it sends is read.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.output.bytes);
        let (mut sent, mut waits) = (0, 0);
        while sent < bytes.len() {
            match self.stream.write(&bytes[sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => (sent, waits) = (sent + count, 0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_wait(&error) => {
                    waits += 1;
                    let limit = self.read_timeout.unwrap_or(Duration::MAX);
                    if WRITE_PATIENCE.saturating_mul(2 * waits) > limit {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    self.read_what_is_there()?;
                }
                Err(error) => return Err(error),
            }
        }
        self.stream.flush()?;
        self.output.bytes = bytes;
        self.output.bytes.clear();
        Ok(())
    }

    /// Reads until nothing more comes at once.
    fn read_what_is_there(&mut self) -> io::Result<()> {
        self.stream.set_timeouts(Some(Duration::from_millis(1)), Some(WRITE_PATIENCE))?;
        let mut result = Ok(());
        while result.is_ok() {
            result = self.fill();
        }
        self.stream.set_timeouts(self.slice(), Some(WRITE_PATIENCE))?;
        match result {
            Err(error) if is_wait(&error) => Ok(()),
            other => other,
        }
    }

    /// The next message, waiting for it if need be.
    pub(super) fn next(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = self.next_there()? {
                return Ok(message);
            }
            self.wait()?;
        }
    }

    /// Waits for more, as long as it may take and anybody wants it.
    fn wait(&mut self) -> io::Result<()> {
        let mut waited = Duration::ZERO;
        loop {
            match self.fill() {
                Err(error) if is_wait(&error) => {
                    if let Err(unwanted) = model::interrupt::check_this_thread() {
                        // If the server cannot be told, it finds out when it sends its answer.
                        let _ = self.cancel();
                        return Err(io::Error::other(unwanted));
                    }
                    waited += self.slice().unwrap_or(LOOK_AFTER);
                    if self.read_timeout.is_some_and(|limit| waited >= limit) {
                        return Err(error);
                    }
                }
                filled => return filled,
            }
        }
    }

    /// The next message if all of it has come.
    #[inline]
    pub(super) fn next_there(&mut self) -> io::Result<Option<Message>> {
        let held = &self.input[self.start..self.end];
        let Some(header) = held.get(..5) else { return Ok(None) };
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if length < 4 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message shorter than its header"));
        }
        if held.len() < 1 + length {
            return Ok(None);
        }
        let (tag, body) = (header[0], self.start + 5..self.start + 1 + length);
        self.start = body.end;
        Ok(Some((tag, body)))
    }

    /// The bytes of a message's body; they stay until the next message is waited for.
    #[inline]
    pub(super) fn body(&self, range: Range<usize>) -> &[u8] {
        &self.input[range]
    }

    /// Reads more, after what is there.
    fn fill(&mut self) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        // Room for the whole of the next message, if it is a large one.
        let held = &self.input[self.start..self.end];
        let wanted = held
            .get(1..5)
            .map_or(5, |length| 1 + u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize);
        if self.input.len() - self.end < INPUT_BYTES / 4 || self.input.len() - self.start < wanted {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let size = INPUT_BYTES.max(wanted + INPUT_BYTES / 4).max(self.end + INPUT_BYTES / 4);
            if self.input.len() < size {
                self.input.resize(size, 0);
            }
        }
        loop {
            match self.stream.read(&mut self.input[self.end..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.end += count;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn cancel_over_tcp(stream: &TcpStream, request: &[u8]) -> io::Result<()> {
    let mut other = TcpStream::connect_timeout(&stream.peer_addr()?, CANCEL_PATIENCE)?;
    other.set_read_timeout(Some(CANCEL_PATIENCE))?;
    other.write_all(request)?;
    // The server closes the connection once it has passed the word on.
    other.read(&mut [0]).map(|_| ())
}

/// True if an error means that nothing came in time.
pub(super) fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

impl Output {
    /// Bytes that wait to be sent.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes back the output that was added after the first `bytes` bytes.
    pub(super) fn truncate(&mut self, bytes: usize) {
        self.bytes.truncate(bytes);
    }

    /// Adds a message; its length is filled in when `body` has written it.
    pub(super) fn message(&mut self, tag: Option<u8>, body: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.extend(tag);
        let at = self.bytes.len();
        self.bytes.extend([0; 4]);
        body(&mut self.bytes);
        let length = (self.bytes.len() - at) as u32;
        self.bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// A statement by itself, without parameters.
    pub(super) fn query(&mut self, text: &str) {
        self.message(Some(b'Q'), |out| put_text(out, text));
    }

    /// Gives a statement a name.
    pub(super) fn parse(&mut self, name: &str, text: &str) {
        self.message(Some(b'P'), |out| {
            put_text(out, name);
            put_text(out, text);
            out.extend([0; 2]);
        });
    }

    /// Asks what a statement (`S`) or a portal (`P`) gives.
    pub(super) fn describe(&mut self, what: u8, name: &str) {
        self.message(Some(b'D'), |out| {
            out.push(what);
            put_text(out, name);
        });
    }

    /// Takes `rows` rows out of a portal; all with 0.
    pub(super) fn execute(&mut self, portal: &str, rows: u32) {
        self.message(Some(b'E'), |out| {
            put_text(out, portal);
            out.extend(rows.to_be_bytes());
        });
    }

    /// Closes a statement (`S`) or a portal (`P`).
    pub(super) fn close(&mut self, what: u8, name: &str) {
        self.message(Some(b'C'), |out| {
            out.push(what);
            put_text(out, name);
        });
    }

    /// Ends what belongs together: the server answers when it has done it, or at the first thing that failed.
    pub(super) fn sync(&mut self) {
        self.message(Some(b'S'), |_| {});
    }
}

/// A string and the zero that ends it.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    // A zero inside would end it early; no name of PostgreSQL has one.
    out.extend(text.bytes().filter(|&byte| byte != 0));
    out.push(0);
}
