//! A client of bare messages.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bolt::packstream::{self, encode};
use bolt::{Encoder, Limits, Value, Version, chunks};

pub(crate) const HELLO: u8 = 0x01;
pub(crate) const GOODBYE: u8 = 0x02;
pub(crate) const LOGON: u8 = 0x6A;
pub(crate) const RESET: u8 = 0x0F;
pub(crate) const RUN: u8 = 0x10;
pub(crate) const BEGIN: u8 = 0x11;
pub(crate) const COMMIT: u8 = 0x12;
pub(crate) const PULL: u8 = 0x3F;
pub(crate) const ROUTE: u8 = 0x66;
pub(crate) const SUCCESS: u8 = 0x70;
pub(crate) const RECORD: u8 = 0x71;
pub(crate) const IGNORED: u8 = 0x7E;
pub(crate) const FAILURE: u8 = 0x7F;

/// Statement that runs until it is stopped.
pub(crate) const ENDLESS: &str =
    "UNWIND range(1, 1000000) AS i UNWIND range(1, 100000) AS j WITH i, j WHERE i * j = -1 RETURN count(*) AS c";

/// Both directions of a connection.
pub(crate) trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

pub(crate) struct Client {
    stream: Box<dyn Stream>,
    /// Answer to `HELLO`.
    pub(crate) greeting: Value,
}

pub(crate) fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

pub(crate) fn map(entries: &[(&str, Value)]) -> Value {
    Value::Map(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
}

/// The value of a key of a map.
pub(crate) fn get<'v>(value: &'v Value, key: &str) -> &'v Value {
    let Value::Map(entries) = value else { panic!("no map: {value:?}") };
    bolt::message::get(entries, key).unwrap_or_else(|| panic!("no {key}: {value:?}"))
}

/// A message in chunks.
pub(crate) fn message(tag: u8, fields: Vec<Value>) -> Vec<u8> {
    let mut out = Vec::new();
    chunks::append(&mut out, |out| encode(&mut Encoder::new(out), &Value::Structure(tag, fields)));
    out
}

pub(crate) fn run(statement: &str, parameters: Value) -> Vec<u8> {
    message(RUN, vec![text(statement), parameters, map(&[])])
}

pub(crate) fn pull() -> Vec<u8> {
    message(PULL, vec![map(&[("n", Value::Int(-1))])])
}

/// A socket whose reads end at last.
pub(crate) fn socket(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    socket
}

impl Client {
    /// A client that has agreed on that version.
    pub(crate) fn over(stream: impl Stream + 'static, version: &str) -> Client {
        let version = Version::parse(version).unwrap();
        let mut client = Client { stream: Box::new(stream), greeting: Value::Null };
        let proposal = [0, 0, version.minor, version.major];
        client.send(&[&bolt::handshake::PREAMBLE[..], &proposal, &[0; 12]].concat());
        let mut answer = [0; 4];
        client.stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, proposal);
        client
    }

    /// A client that has logged in.
    pub(crate) fn connect(address: SocketAddr) -> Client {
        Client::log_in(socket(address), "5.8")
    }

    pub(crate) fn log_in(stream: impl Stream + 'static, version: &str) -> Client {
        let mut client = Client::over(stream, version);
        client.send(&message(HELLO, vec![map(&[("user_agent", text("test/1"))])]));
        client.send(&message(LOGON, vec![map(&[("scheme", text("none"))])]));
        client.greeting = client.expect(SUCCESS);
        client.expect(SUCCESS);
        client
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
        self.stream.flush().unwrap();
    }

    /// Waits for a sign of life, which must come before any message.
    pub(crate) fn hear(&mut self) {
        let mut length = [0; 2];
        self.stream.read_exact(&mut length).unwrap();
        assert_eq!(length, [0; 2]);
    }

    /// Sends what the server takes.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next message.
    pub(crate) fn answer(&mut self) -> std::io::Result<(u8, Value)> {
        let mut body = Vec::new();
        loop {
            let mut length = [0; 2];
            self.stream.read_exact(&mut length)?;
            match usize::from(u16::from_be_bytes(length)) {
                // A sign of life.
                0 if body.is_empty() => {}
                0 => break,
                length => {
                    let start = body.len();
                    body.resize(start + length, 0);
                    self.stream.read_exact(&mut body[start..])?;
                }
            }
        }
        match packstream::decode(&body, Limits::default()).unwrap() {
            Value::Structure(tag, fields) => Ok((tag, fields.into_iter().next().unwrap_or(Value::Null))),
            other => panic!("no message: {other:?}"),
        }
    }

    /// The next message, which is of that kind.
    pub(crate) fn expect(&mut self, expected: u8) -> Value {
        let (tag, content) = self.answer().unwrap();
        assert_eq!(tag, expected, "{content:?}");
        content
    }

    /// The code of the failure that comes next.
    pub(crate) fn failure(&mut self) -> (String, String) {
        let content = self.expect(FAILURE);
        match (get(&content, "neo4j_code"), get(&content, "message")) {
            (Value::String(code), Value::String(message)) => (code.clone(), message.clone()),
            other => panic!("{other:?}"),
        }
    }

    /// The rows of a statement.
    pub(crate) fn rows(&mut self, statement: &str) -> usize {
        self.send(&[run(statement, map(&[])), pull()].concat());
        self.expect(SUCCESS);
        self.rest()
    }

    /// Rows up to the end of the stream.
    pub(crate) fn rest(&mut self) -> usize {
        let mut rows = 0;
        loop {
            match self.answer().unwrap() {
                (RECORD, _) => rows += 1,
                (SUCCESS, _) => return rows,
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn reset(&mut self) {
        self.send(&message(RESET, vec![]));
        self.expect(SUCCESS);
    }

    /// True once the server has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(cause) => return !matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            }
        }
    }
}
