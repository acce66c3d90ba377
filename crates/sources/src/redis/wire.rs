//! A connection to a server. Over TCP and sockets of the file system who waits for an answer hears that the run is over;
//! over TLS, which the driver speaks, when the answer comes or its time is over.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Duration;

use redis::{Connection, ConnectionAddr, ConnectionInfo, Parser, RedisError, RedisResult, Value};

/// Time that a read waits before it looks if anybody still wants the answer.
const LOOK_AFTER: Duration = Duration::from_millis(50);

/// A connection.
pub(super) enum Wire {
    Plain(Box<Plain>),
    Driver(Box<Connection>),
}

/// One that is read here, and parsed by the driver.
pub(super) struct Plain {
    stream: Stream,
    parser: Parser,
    timeout: Duration,
}

enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Wire {
    /// Connects and logs in.
    pub(super) fn open(client: &redis::Client, connect_timeout: Duration, timeout: Duration) -> RedisResult<Wire> {
        let info = client.get_connection_info();
        let stream = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Stream::Tcp(connect(host, *port, connect_timeout)?),
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
            _ => {
                let connection = client.get_connection_with_timeout(connect_timeout)?;
                connection.set_read_timeout(Some(timeout))?;
                connection.set_write_timeout(Some(timeout))?;
                return Ok(Wire::Driver(Box::new(connection)));
            }
        };
        let mut plain = Plain { stream, parser: Parser::new(), timeout: connect_timeout };
        plain.stream.set_timeout(LOOK_AFTER.min(connect_timeout).min(timeout))?;
        plain.log_in(info)?;
        plain.timeout = timeout;
        Ok(Wire::Plain(Box::new(plain)))
    }

    /// Sends commands.
    pub(super) fn send(&mut self, bytes: &[u8]) -> RedisResult<()> {
        match self {
            Wire::Plain(plain) => Ok(plain.patient().write_all(bytes)?),
            Wire::Driver(connection) => connection.send_packed_command(bytes),
        }
    }

    /// The next reply.
    pub(super) fn receive(&mut self) -> RedisResult<Value> {
        match self {
            Wire::Plain(plain) => plain.receive(),
            Wire::Driver(connection) => connection.recv_response(),
        }
    }
}

/// Connects to the first of a host's addresses that answers.
fn connect(host: &str, port: u16, timeout: Duration) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

impl Plain {
    fn log_in(&mut self, info: &ConnectionInfo) -> RedisResult<()> {
        let settings = info.redis_settings();
        let mut commands = Vec::new();
        if let Some(password) = settings.password() {
            let mut command = redis::cmd("AUTH");
            if let Some(user) = settings.username() {
                command.arg(user);
            }
            commands.push(command.arg(password).get_packed_command());
        }
        if settings.db() != 0 {
            commands.push(redis::cmd("SELECT").arg(settings.db()).get_packed_command());
        }
        self.patient().write_all(&commands.concat())?;
        for _ in &commands {
            self.receive()?.extract_error()?;
        }
        Ok(())
    }

    fn patient(&mut self) -> Patient<'_> {
        Patient { stream: &mut self.stream, timeout: self.timeout }
    }

    fn receive(&mut self) -> RedisResult<Value> {
        let Plain { stream, parser, timeout } = self;
        parser.parse_value(Patient { stream, timeout: *timeout })
    }
}

impl Stream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(Some(timeout)).and(stream.set_write_timeout(Some(timeout))),
            #[cfg(unix)]
            Stream::Unix(stream) => stream.set_read_timeout(Some(timeout)).and(stream.set_write_timeout(Some(timeout))),
        }
    }
}

/// Reads and writes as long as it may take and anybody wants it.
struct Patient<'a> {
    stream: &'a mut Stream,
    timeout: Duration,
}

impl Patient<'_> {
    fn attempt(&mut self, mut run: impl FnMut(&mut Stream) -> io::Result<usize>) -> io::Result<usize> {
        let slice = LOOK_AFTER.min(self.timeout);
        let mut waited = Duration::ZERO;
        loop {
            match run(self.stream) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if model::interrupt::check_this_thread().is_err() {
                        return Err(io::Error::other("nobody waits for it any more"));
                    }
                    waited += slice;
                    if waited >= self.timeout {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                done => return done,
            }
        }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.attempt(|stream| match stream {
            Stream::Tcp(stream) => stream.read(into),
            #[cfg(unix)]
            Stream::Unix(stream) => stream.read(into),
        })
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|stream| match stream {
            Stream::Tcp(stream) => stream.write(bytes),
            #[cfg(unix)]
            Stream::Unix(stream) => stream.write(bytes),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The reason why nobody waits any more, if an error of the connection means that.
pub(super) fn stopped(cause: &RedisError) -> Option<model::Error> {
    if cause.is_io_error() { model::interrupt::check_this_thread().err() } else { None }
}
