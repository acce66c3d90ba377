//! Requests of clients.

use std::fmt;

use crate::packstream::{self, Limits, Malformed, Value};
use crate::version::Version;

/// Pairs of text and value.
pub type Map = Vec<(String, Value)>;

/// Levels of a message besides those of the lists and maps of a parameter: the message, the map of parameters, and a date, say,
/// in the innermost list, which is a structure on the wire and a plain value otherwise.
const LEVELS_AROUND: usize = 3;

pub(crate) const HELLO: u8 = 0x01;
pub(crate) const GOODBYE: u8 = 0x02;
pub(crate) const RESET: u8 = 0x0F;
pub(crate) const RUN: u8 = 0x10;
pub(crate) const BEGIN: u8 = 0x11;
pub(crate) const COMMIT: u8 = 0x12;
pub(crate) const ROLLBACK: u8 = 0x13;
pub(crate) const DISCARD: u8 = 0x2F;
pub(crate) const PULL: u8 = 0x3F;
const TELEMETRY: u8 = 0x54;
const ROUTE: u8 = 0x66;
pub(crate) const LOGON: u8 = 0x6A;
const LOGOFF: u8 = 0x6B;

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// The first one: who the client is, and before 5.1 the credentials.
    Hello(Map),
    /// Credentials.
    Logon(Map),
    /// The client is nobody from now on.
    Logoff,
    /// The interface of the driver that was used.
    Telemetry(i64),
    /// The client leaves.
    Goodbye,
    /// Stops what runs, and undoes what is open.
    Reset,
    /// A statement, its parameters, and for one outside of transactions what [`Request::Begin`] has for others.
    Run(String, Map, Scope),
    /// The next rows are not wanted.
    Discard(Portion),
    /// The next rows are wanted.
    Pull(Portion),
    /// A transaction begins.
    Begin(Scope),
    /// The transaction is to be made durable.
    Commit,
    /// The transaction is to be undone.
    Rollback,
    /// Servers of a database: the address that the client dialled and what else it says of its way, bookmarks, the database, the
    /// user in whose place it acts.
    Route(Map, Vec<String>, Option<String>, Option<String>),
}

/// Rows of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The most rows; `None` for all.
    pub rows: Option<u64>,
    /// The stream; `None` for the last one that was opened.
    pub stream: Option<i64>,
}

/// Access for which a transaction is begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Reading and writing.
    #[default]
    Write,
    /// Reading only.
    Read,
}

/// Settings of a transaction: database, access, limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// Transactions that it must come after.
    pub bookmarks: Vec<String>,
    /// Time limit in milliseconds.
    pub timeout_ms: Option<i64>,
    /// Remarks of the client, for lists of transactions.
    pub metadata: Map,
    /// Access.
    pub mode: Mode,
    /// The database.
    pub database: Option<String>,
    /// The user in whose place the client acts.
    pub impersonated: Option<String>,
    /// The least severity of notifications, or `OFF`.
    pub severity: Option<String>,
}

/// Reason for which bytes are no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadRequest {
    /// They are no value.
    Malformed(Malformed),
    /// They are a value, but no message.
    NoMessage,
    /// This version has no such message.
    Unknown(u8),
    /// A field of the message is not what it has to be.
    Field(&'static str, &'static str),
}

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadRequest::Malformed(cause) => write!(f, "{cause}"),
            BadRequest::NoMessage => write!(f, "a message is a structure, found another value"),
            BadRequest::Unknown(tag) => write!(f, "this version of Bolt has no message {tag:#04X}"),
            BadRequest::Field(message, field) => write!(f, "{message}: {field}"),
        }
    }
}

impl From<Malformed> for BadRequest {
    fn from(cause: Malformed) -> BadRequest {
        BadRequest::Malformed(cause)
    }
}

type Result<T> = std::result::Result<T, BadRequest>;

/// True for `GOODBYE`.
pub fn is_goodbye(message: &[u8]) -> bool {
    matches!(message, [0xB0, GOODBYE, ..])
}

/// True if the bytes of a message are those of one that jumps the queue: what runs is to stop at once.
pub fn is_urgent(message: &[u8]) -> bool {
    matches!(message, [0xB0, RESET | GOODBYE, ..])
}

/// True if the bytes of a message are those of `COMMIT`.
pub fn is_commit(message: &[u8]) -> bool {
    matches!(message, [0xB0, COMMIT, ..])
}

/// True if the bytes of a message are those of `RESET`.
pub fn is_reset(message: &[u8]) -> bool {
    matches!(message, [0xB0, RESET, ..])
}

impl Request {
    /// Reads a message.
    ///
    /// # Errors
    /// Fails if the bytes are none of that version, or beyond the limits.
    pub fn read(message: &[u8], version: Version, limits: Limits) -> Result<Request> {
        Request::read_charged(message, version, limits).map(|(request, _)| request)
    }

    /// Reads a message, as [`Request::read`] does, and gives the bytes of memory that its values take too.
    ///
    /// # Errors
    /// Fails if the bytes are none of that version, or beyond the limits.
    pub fn read_charged(message: &[u8], version: Version, limits: Limits) -> Result<(Request, usize)> {
        let limits = Limits { depth: limits.depth.saturating_add(LEVELS_AROUND), ..limits };
        let (Value::Structure(tag, fields), charged) = packstream::decode_charged(message, limits)? else {
            return Err(BadRequest::NoMessage);
        };
        let mut fields = Fields { message: name(tag), fields: fields.into_iter() };
        let request = match tag {
            HELLO => Request::Hello(fields.map("expected a map")?),
            LOGON if version.has_logon() => Request::Logon(fields.map("expected a map of credentials")?),
            LOGOFF if version.has_logon() => Request::Logoff,
            TELEMETRY if version.has_telemetry() => Request::Telemetry(fields.integer("expected an integer")?),
            GOODBYE => Request::Goodbye,
            RESET => Request::Reset,
            RUN => {
                let text = fields.string("expected the text of the statement")?;
                let parameters = fields.map("expected a map of parameters")?;
                Request::Run(text, parameters, fields.scope()?)
            }
            DISCARD => Request::Discard(fields.portion()?),
            PULL => Request::Pull(fields.portion()?),
            BEGIN => Request::Begin(fields.scope()?),
            COMMIT => Request::Commit,
            ROLLBACK => Request::Rollback,
            ROUTE => fields.route()?,
            _ => return Err(BadRequest::Unknown(tag)),
        };
        match fields.fields.next() {
            None => Ok((request, charged)),
            Some(_) => Err(BadRequest::Field(name(tag), "there are more fields than it has")),
        }
    }

    /// Name of the message.
    pub fn name(&self) -> &'static str {
        name(match self {
            Request::Hello(_) => HELLO,
            Request::Logon(_) => LOGON,
            Request::Logoff => LOGOFF,
            Request::Telemetry(_) => TELEMETRY,
            Request::Goodbye => GOODBYE,
            Request::Reset => RESET,
            Request::Run(..) => RUN,
            Request::Discard(_) => DISCARD,
            Request::Pull(_) => PULL,
            Request::Begin(_) => BEGIN,
            Request::Commit => COMMIT,
            Request::Rollback => ROLLBACK,
            Request::Route(..) => ROUTE,
        })
    }
}

fn name(tag: u8) -> &'static str {
    match tag {
        HELLO => "HELLO",
        LOGON => "LOGON",
        LOGOFF => "LOGOFF",
        TELEMETRY => "TELEMETRY",
        GOODBYE => "GOODBYE",
        RESET => "RESET",
        RUN => "RUN",
        DISCARD => "DISCARD",
        PULL => "PULL",
        BEGIN => "BEGIN",
        COMMIT => "COMMIT",
        ROLLBACK => "ROLLBACK",
        ROUTE => "ROUTE",
        _ => "an unknown message",
    }
}

/// The value of a key.
pub fn get<'m>(map: &'m [(String, Value)], key: &str) -> Option<&'m Value> {
    map.iter().rev().find(|(held, _)| held == key).map(|(_, value)| value)
}

/// The text of a key.
pub fn text<'m>(map: &'m [(String, Value)], key: &str) -> Option<&'m str> {
    match get(map, key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

struct Fields {
    message: &'static str,
    fields: std::vec::IntoIter<Value>,
}

impl Fields {
    fn bad<T>(&self, field: &'static str) -> Result<T> {
        Err(BadRequest::Field(self.message, field))
    }

    fn map(&mut self, expected: &'static str) -> Result<Map> {
        match self.fields.next() {
            Some(Value::Map(map)) => Ok(map),
            _ => self.bad(expected),
        }
    }

    fn string(&mut self, expected: &'static str) -> Result<String> {
        match self.fields.next() {
            Some(Value::String(text)) => Ok(text),
            _ => self.bad(expected),
        }
    }

    fn integer(&mut self, expected: &'static str) -> Result<i64> {
        match self.fields.next() {
            Some(Value::Int(integer)) => Ok(integer),
            _ => self.bad(expected),
        }
    }

    fn portion(&mut self) -> Result<Portion> {
        let map = self.map("expected a map")?;
        let rows = match get(&map, "n") {
            Some(Value::Int(-1)) => None,
            Some(Value::Int(rows)) if *rows > 0 => Some(rows.unsigned_abs()),
            _ => return self.bad("n is a number of rows, or -1 for all"),
        };
        let stream = match get(&map, "qid") {
            None | Some(Value::Null | Value::Int(-1)) => None,
            Some(Value::Int(stream)) => Some(*stream),
            _ => return self.bad("qid is an integer"),
        };
        Ok(Portion { rows, stream })
    }

    fn texts(&self, value: Option<Value>) -> Result<Vec<String>> {
        let text = |value| match value {
            Value::String(text) => Ok(text),
            _ => self.bad("bookmarks are texts"),
        };
        match value {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::List(items)) => items.into_iter().map(text).collect(),
            _ => self.bad("bookmarks are a list of texts"),
        }
    }

    fn scope(&mut self) -> Result<Scope> {
        let mut scope = Scope::default();
        for (key, value) in self.map("expected a map of settings")? {
            match (key.as_str(), value) {
                (_, Value::Null) => {}
                ("bookmarks", value) => scope.bookmarks = self.texts(Some(value))?,
                ("tx_timeout", Value::Int(milliseconds)) if milliseconds >= 0 => scope.timeout_ms = Some(milliseconds),
                ("tx_timeout", _) => return self.bad("tx_timeout is a number of milliseconds"),
                ("tx_metadata", Value::Map(map)) => scope.metadata = map,
                ("tx_metadata", _) => return self.bad("tx_metadata is a map"),
                ("mode", Value::String(mode)) if mode == "r" => scope.mode = Mode::Read,
                ("mode", Value::String(mode)) if mode == "w" => scope.mode = Mode::Write,
                ("mode", _) => return self.bad("mode is r or w"),
                ("db", Value::String(name)) => scope.database = Some(name).filter(|name| !name.is_empty()),
                ("db", _) => return self.bad("db is a text"),
                ("imp_user", Value::String(name)) => scope.impersonated = Some(name),
                ("imp_user", _) => return self.bad("imp_user is a text"),
                ("notifications_minimum_severity", Value::String(least)) => scope.severity = Some(least),
                _ => {}
            }
        }
        Ok(scope)
    }

    fn route(&mut self) -> Result<Request> {
        let routing = self.map("expected a map of the routing context")?;
        let bookmarks = self.fields.next();
        let bookmarks = self.texts(bookmarks)?;
        let extra = self.map("expected a map of the database")?;
        let named = |key| text(&extra, key).filter(|name| !name.is_empty()).map(str::to_owned);
        Ok(Request::Route(routing, bookmarks, named("db"), named("imp_user")))
    }
}

#[cfg(test)]
mod tests {
    use super::{BadRequest, Mode, Portion, Request, Scope};
    use crate::packstream::tests::{Random, rounds};
    use crate::packstream::{Limits, Malformed, Value, encode};
    use crate::{Encoder, Version};

    fn read(version: &str, tag: u8, fields: Vec<Value>) -> Result<Request, BadRequest> {
        let mut out = Vec::new();
        encode(&mut Encoder::new(&mut out), &Value::Structure(tag, fields));
        Request::read(&out, Version::parse(version).unwrap(), Limits::default())
    }

    fn map(entries: &[(&str, Value)]) -> Value {
        Value::Map(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    }

    fn text(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    #[test]
    fn messages_are_read() {
        let settings = map(&[
            ("bookmarks", Value::List(vec![text("a"), text("b")])),
            ("tx_timeout", Value::Int(1_500)),
            ("mode", text("r")),
            ("db", text("neo4j")),
            ("something_else", Value::Int(1)),
        ]);
        let scope = Scope {
            bookmarks: vec!["a".into(), "b".into()],
            timeout_ms: Some(1_500),
            mode: Mode::Read,
            database: Some("neo4j".into()),
            ..Scope::default()
        };
        assert_eq!(read("5.8", 0x11, vec![settings.clone()]), Ok(Request::Begin(scope.clone())));
        let parameters = map(&[("x", Value::Int(123))]);
        let run = Request::Run("RETURN $x AS x".into(), vec![("x".into(), Value::Int(123))], scope);
        assert_eq!(read("4.4", 0x10, vec![text("RETURN $x AS x"), parameters, settings]), Ok(run));
        let pull = |n: i64, qid| read("5.0", 0x3F, vec![map(&[("n", Value::Int(n)), ("qid", qid)])]);
        assert_eq!(pull(-1, Value::Int(-1)), Ok(Request::Pull(Portion { rows: None, stream: None })));
        assert_eq!(pull(5, Value::Int(2)), Ok(Request::Pull(Portion { rows: Some(5), stream: Some(2) })));
        assert!(matches!(pull(0, Value::Null), Err(BadRequest::Field("PULL", _))));
        assert!(matches!(pull(-2, Value::Null), Err(BadRequest::Field("PULL", _))));
        let route = vec![map(&[("address", text("a:1"))]), Value::List(Vec::new()), map(&[("db", Value::Null)])];
        assert!(matches!(read("5.4", 0x66, route), Ok(Request::Route(_, _, None, None))));
        // A message in the bytes of the specification: RUN "RETURN 1 AS num" {} {}.
        let bytes = b"\xB3\x10\x8FRETURN 1 AS num\xA0\xA0";
        let run = Request::Run("RETURN 1 AS num".into(), Vec::new(), Scope::default());
        assert_eq!(Request::read(bytes, Version::ALL[0], Limits::default()), Ok(run));
    }

    #[test]
    fn messages_belong_to_versions() {
        let credentials = || vec![map(&[("scheme", text("basic"))])];
        assert_eq!(read("5.0", 0x6A, credentials()), Err(BadRequest::Unknown(0x6A)));
        assert!(matches!(read("5.1", 0x6A, credentials()), Ok(Request::Logon(_))));
        assert_eq!(read("5.3", 0x54, vec![Value::Int(1)]), Err(BadRequest::Unknown(0x54)));
        assert_eq!(read("5.4", 0x54, vec![Value::Int(1)]), Ok(Request::Telemetry(1)));
        assert_eq!(read("5.4", 0x0F, vec![]), Ok(Request::Reset));
        assert!(matches!(read("5.4", 0x0F, vec![Value::Null]), Err(BadRequest::Field("RESET", _))));
        let limits = Limits::default();
        assert_eq!(Request::read(&[0x01], Version::ALL[0], limits), Err(BadRequest::NoMessage));
        let truncated = BadRequest::Malformed(Malformed::Truncated);
        assert_eq!(Request::read(&[0xB1, 0x01], Version::ALL[0], limits), Err(truncated));
    }

    #[test]
    fn parameters_are_nested_as_deeply_as_the_limit_says() {
        let run = |levels: usize, innermost: Value| {
            let value = (0..levels).fold(innermost, |value, _| Value::List(vec![value]));
            read("5.8", 0x10, vec![text("RETURN $x"), map(&[("x", value)]), map(&[])])
        };
        let date = || Value::Structure(0x44, vec![Value::Int(1)]);
        let depth = Limits::default().depth;
        for innermost in [Value::Int(1), date()] {
            assert!(matches!(run(depth, innermost), Ok(Request::Run(..))));
        }
        assert_eq!(run(depth + 1, date()), Err(BadRequest::Malformed(Malformed::Deep)));
        assert_eq!(run(depth + 2, Value::Int(1)), Err(BadRequest::Malformed(Malformed::Deep)));
    }

    #[test]
    fn random_messages_do_no_harm() {
        let mut random = Random::of_environment(22);
        let tags = [0x01, 0x02, 0x0F, 0x10, 0x11, 0x12, 0x13, 0x2F, 0x3F, 0x54, 0x66, 0x6A, 0x6B, 0x77];
        for _ in 0..rounds(5_000) {
            let tag = tags[random.below(tags.len() as u64) as usize];
            let fields = (0..random.below(5)).map(|_| random.value(2)).collect();
            let version = Version::ALL[random.below(Version::ALL.len() as u64) as usize];
            if let Ok(request) = read(&version.to_string(), tag, fields) {
                assert!(!request.name().is_empty());
            }
        }
    }
}
