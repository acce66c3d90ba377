//! Connections to a Redis server: a pool, time-outs, one reconnect, commands in pipelines.
//!
//! Invariant: a connection of the pool knows how many replies are still to come that nobody waits for; a reading that has
//! read something does not go on over another connection, since the server may have started again without its data.

use std::io::Read;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use model::{Error, Result, error};
use redis::{ErrorKind, IntoConnectionInfo, RedisError};

use super::wire::{Wire, stopped};

/// Connections kept for the next query.
const IDLE_MAX: usize = 8;
/// Time limit for connecting, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for the next piece of an answer, unless the URL says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The variable of the environment with the password, as `redis-cli` has it.
const PASSWORD_VARIABLE: &str = "REDISCLI_AUTH";
/// The parameter of the URL with the file of the authority that signed the server's certificate, if not one of the system's.
const AUTHORITY: &str = "sslrootcert";

/// A server and the connections that wait for the next query.
pub(super) struct Server {
    client: redis::Client,
    name: String,
    connect_timeout: Duration,
    timeout: Duration,
    idle: Mutex<Vec<Kept>>,
}

/// A connection with what was asked over it and not yet read.
struct Kept {
    wire: Wire,
    unread: usize,
}

impl Server {
    /// A server by its URL; nothing is connected yet.
    pub(super) fn of(url: &str) -> Result<Server> {
        let name = without_password(url);
        let wrong = |cause: &dyn std::fmt::Display| error!(Source, "{name}: {cause}");
        if url.starts_with("rediss:") || url.starts_with("valkeys:") {
            static PROVIDER: Once = Once::new();
            // An earlier call has chosen one already, which serves as well.
            PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        }
        let mut info = url.into_connection_info().map_err(|cause| wrong(&reason(&cause)))?;
        if info.redis_settings().password().is_none()
            && let Ok(password) = std::env::var(PASSWORD_VARIABLE)
        {
            let settings = info.redis_settings().clone().set_password(password);
            info = info.set_redis_settings(settings);
        }
        let client = match parameter(url, AUTHORITY) {
            Some(path) => redis::Client::build_with_tls(info, authority(path)?),
            None => redis::Client::open(info),
        };
        let client = client.map_err(|cause| wrong(&reason(&cause)))?;
        Ok(Server {
            client,
            connect_timeout: milliseconds(url, "connect_timeout_ms")?.unwrap_or(CONNECT_TIMEOUT),
            timeout: milliseconds(url, "timeout_ms")?.unwrap_or(TIMEOUT),
            name,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// The URL without its password.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self) -> Result<Kept> {
        let wire = Wire::open(&self.client, self.connect_timeout, self.timeout);
        let wire = wire.map_err(|cause| self.failure("connecting", self.connect_timeout, &cause))?;
        Ok(Kept { wire, unread: 0 })
    }

    fn failure(&self, command: &str, timeout: Duration, cause: &RedisError) -> Error {
        if let Some(stopped) = stopped(cause) {
            return stopped;
        }
        let name = &self.name;
        if cause.kind() == ErrorKind::AuthenticationFailed || cause.code().is_some_and(is_refusal) {
            return not_let_in(name, command, &reason(cause));
        }
        if cause.is_timeout() {
            return error!(Source, "{name}: {command}: no answer within {timeout:?}")
                .with_remedy("see what the server does, or raise timeout_ms in the URL");
        }
        error!(Source, "{name}: {command}: {}", reason(cause))
    }
}

/// True if the code of an error says that somebody may not do this.
pub(super) fn is_refusal(code: &str) -> bool {
    matches!(code, "NOAUTH" | "WRONGPASS" | "NOPERM")
}

/// The error of a server that wants another user or password.
pub(super) fn not_let_in(source: &str, command: &str, reason: &str) -> Error {
    error!(Source, "{source}: {command}: the server does not let us in: {reason}")
        .with_remedy(format!("give user and password in the URL, or the password in {PASSWORD_VARIABLE}"))
}

/// The reason of a failure, without the words that name its kind.
fn reason(cause: &RedisError) -> String {
    let text = cause.to_string();
    if cause.is_connection_dropped() && !cause.is_connection_refusal() {
        return format!("the connection was lost ({text})");
    }
    text
}

/// A URL as messages show it.
fn without_password(url: &str) -> String {
    let shown = crate::urls::without_password(url);
    shown.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// The value of a parameter of a URL.
fn parameter<'a>(url: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = url.split_once('?')?;
    let mut pairs = query.split('#').next()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The certificate of an authority.
fn authority(path: &str) -> Result<redis::TlsCertificates> {
    let (path, mut certificate) = (std::path::Path::new(path), Vec::new());
    let mut file = crate::files::open_file(path)?;
    file.read_to_end(&mut certificate).map_err(|cause| crate::files::file_error(path, &cause))?;
    Ok(redis::TlsCertificates { client_tls: None, root_cert: Some(certificate) })
}

fn milliseconds(url: &str, name: &str) -> Result<Option<Duration>> {
    let Some(text) = parameter(url, name) else { return Ok(None) };
    match text.parse() {
        Ok(number) if number > 0 => Ok(Some(Duration::from_millis(number))),
        _ => Err(error!(Source, "the URL's {name} is '{text}', expected milliseconds")),
    }
}

/// Commands that are sent together.
#[derive(Debug, Default)]
pub(super) struct Commands {
    bytes: Vec<u8>,
    count: usize,
    /// The first, as messages show it.
    first: String,
}

impl Commands {
    /// Adds a command.
    pub(super) fn push(&mut self, arguments: &[&str]) {
        if self.count == 0 {
            self.first = arguments.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        }
        self.count += 1;
        self.number(b'*', arguments.len());
        for argument in arguments {
            self.number(b'$', argument.len());
            self.bytes.extend_from_slice(argument.as_bytes());
            self.bytes.extend_from_slice(b"\r\n");
        }
    }

    /// Adds a command whose second argument is a key in three parts, and others follow.
    pub(super) fn push_key(&mut self, command: &str, key: [&str; 3], rest: &[&str]) {
        if self.count == 0 {
            self.first = format!("{command} {}", key.concat());
        }
        self.count += 1;
        self.number(b'*', 2 + rest.len());
        self.number(b'$', command.len());
        self.bytes.extend_from_slice(command.as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
        self.number(b'$', key.iter().map(|part| part.len()).sum());
        key.iter().for_each(|part| self.bytes.extend_from_slice(part.as_bytes()));
        self.bytes.extend_from_slice(b"\r\n");
        for argument in rest {
            self.number(b'$', argument.len());
            self.bytes.extend_from_slice(argument.as_bytes());
            self.bytes.extend_from_slice(b"\r\n");
        }
    }

    fn number(&mut self, mark: u8, number: usize) {
        self.bytes.push(mark);
        let (mut digits, mut at, mut rest) = ([0; 20], 20, number);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(&digits[at..]);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Number of commands.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn name(&self) -> String {
        match self.count {
            0 | 1 => self.first.clone(),
            count => format!("{} and {} further commands", self.first, count - 1),
        }
    }
}

/// The connection of one reading, made when it is first needed.
pub(super) struct Link {
    server: Arc<Server>,
    connection: Option<Kept>,
    has_read: bool,
    /// The names of the commands that were sent and whose replies were not waited for, and their number.
    sent: Option<(String, usize)>,
}

impl Link {
    pub(super) fn new(server: Arc<Server>) -> Link {
        Link { server, connection: None, has_read: false, sent: None }
    }

    /// The server as messages name it.
    pub(super) fn name(&self) -> &str {
        self.server.name()
    }

    /// True if something was read over the connection, which is still there.
    pub(super) fn has_read(&self) -> bool {
        self.has_read && self.connection.is_some()
    }

    /// Sends commands and gives their replies in order: one round trip. Errors that a command has for itself are replies.
    pub(super) fn exchange(&mut self, commands: &Commands) -> Result<Vec<redis::Value>> {
        if commands.count == 0 {
            return Ok(Vec::new());
        }
        let mut may_be_stale = false;
        if self.connection.is_none() {
            if self.has_read {
                let name = self.server.name();
                return Err(error!(Source, "{name}: {}: the connection was lost in mid-query", commands.name()));
            }
            let idle = self.server.idle().pop();
            may_be_stale = idle.is_some();
            self.connection = Some(idle.map_or_else(|| self.server.connect(), Ok)?);
        }
        let mut result = self.try_exchange(commands);
        let is_lost = |cause: &RedisError| cause.is_io_error() && !cause.is_timeout() && stopped(cause).is_none();
        if may_be_stale && result.as_ref().is_err_and(is_lost) {
            // The server was started again since: none of the connections that wait can be good.
            self.server.idle().clear();
            self.connection = Some(self.server.connect()?);
            result = self.try_exchange(commands);
        }
        self.settled(&commands.name(), result)
    }

    /// Sends commands whose replies are taken by [`Link::receive`], before anything else is asked.
    pub(super) fn send(&mut self, commands: &Commands) -> Result<()> {
        let Some(Kept { wire, unread }) = &mut self.connection else {
            return Err(error!(Internal, "commands are sent over a connection that is not there"));
        };
        *unread += commands.count;
        let result = wire.send(&commands.bytes);
        self.settled(&commands.name(), result)?;
        self.sent = Some((commands.name(), commands.count));
        Ok(())
    }

    /// The replies to what was sent.
    pub(super) fn receive(&mut self) -> Result<Vec<redis::Value>> {
        let (Some((name, count)), Some(kept)) = (self.sent.take(), &mut self.connection) else { return Ok(Vec::new()) };
        let result = kept.read(count);
        self.settled(&name, result)
    }

    /// The value that came, or the error of a connection that is lost.
    fn settled<T>(&mut self, name: &str, result: redis::RedisResult<T>) -> Result<T> {
        self.has_read = true;
        result.map_err(|cause| {
            self.connection = None;
            self.server.failure(name, self.server.timeout, &cause)
        })
    }

    fn try_exchange(&mut self, commands: &Commands) -> redis::RedisResult<Vec<redis::Value>> {
        let Some(kept) = &mut self.connection else { return Ok(Vec::new()) };
        let before = kept.unread;
        kept.wire.send(&commands.bytes)?;
        kept.unread += commands.count;
        // Answers that nobody waited for come first.
        kept.read(before)?;
        kept.read(commands.count)
    }
}

impl Kept {
    /// Reads `count` of the replies that are to come.
    fn read(&mut self, count: usize) -> redis::RedisResult<Vec<redis::Value>> {
        let mut replies = Vec::with_capacity(count);
        while replies.len() < count {
            match self.wire.receive()? {
                redis::Value::Push { .. } => {}
                reply => {
                    self.unread -= 1;
                    replies.push(reply);
                }
            }
        }
        Ok(replies)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            let mut idle = self.server.idle();
            if idle.len() < IDLE_MAX {
                idle.push(connection);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Commands, milliseconds, without_password};

    #[test]
    fn passwords_are_not_shown() {
        let check = |url: &str, expected: &str| assert_eq!(without_password(url), expected);
        check("redis://:secret@host:6379/1", "redis://host:6379/1");
        check("redis://user:sec@ret@host:6379/1?timeout_ms=5", "redis://user@host:6379/1");
        check("rediss://host", "rediss://host");
    }

    #[test]
    fn urls_carry_time_outs() {
        assert_eq!(milliseconds("redis://h?a=b&timeout_ms=50#x", "timeout_ms").unwrap().unwrap().as_millis(), 50);
        assert!(milliseconds("redis://h?timeout_ms=x", "timeout_ms").is_err());
        assert!(milliseconds("redis://h", "timeout_ms").unwrap().is_none());
    }

    #[test]
    fn commands_are_written_as_arrays() {
        let mut commands = Commands::default();
        commands.push(&["GET", "a"]);
        commands.push_key("HMGET", ["person:", "12", ""], &["lat"]);
        let expected = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*3\r\n$5\r\nHMGET\r\n$9\r\nperson:12\r\n$3\r\nlat\r\n";
        assert_eq!(String::from_utf8_lossy(&commands.bytes), expected);
        assert_eq!(commands.name(), "GET a and 1 further commands");
    }
}
