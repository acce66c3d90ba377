//! Answers of servers, as they write and as clients read them.

use crate::chunks;
use crate::encoder::Encoder;
use crate::message::Map;
use crate::packstream::{self, Limits, Malformed, Value};
use crate::version::Version;

const SUCCESS: u8 = 0x70;
const RECORD: u8 = 0x71;
const IGNORED: u8 = 0x7E;
const FAILURE: u8 = 0x7F;

/// A failure as drivers understand it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Neo4j's code, such as `Neo.ClientError.Statement.SyntaxError`.
    pub code: String,
    /// Description of the failure.
    pub message: String,
    /// The status of GQL, five characters.
    pub status: &'static str,
    /// The status in words.
    pub description: String,
    /// Place in the text of the statement.
    pub position: Option<Box<Position>>,
    /// Further entries of the diagnostic record, for clients that know them.
    pub details: Vec<(&'static str, String)>,
}

/// A place in a text: characters from its start from 0 on, line and column from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Characters before it.
    pub offset: i64,
    /// Its line.
    pub line: i64,
    /// Its column.
    pub column: i64,
}

impl Failure {
    /// The classification that GQL's diagnostic record has.
    pub fn classification(&self) -> &'static str {
        match self.code.split('.').nth(1) {
            Some("ClientError") => "CLIENT_ERROR",
            Some("TransientError") => "TRANSIENT_ERROR",
            _ => "DATABASE_ERROR",
        }
    }
}

/// One answer, as a client reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A request was done.
    Success(Map),
    /// A row.
    Record(Vec<Value>),
    /// A request was passed over, because one before it had failed.
    Ignored,
    /// A request has failed.
    Failure(Map),
}

/// Levels of an answer besides those of the lists and maps of a value: the message, the row, and the structures, lists and maps of a
/// path with the properties of its nodes.
const LEVELS_AROUND: usize = 8;

impl Answer {
    /// Reads a message; `None` if the bytes are a value, but no answer.
    ///
    /// # Errors
    /// Fails if the bytes are no value, or one beyond the limits.
    pub fn read(message: &[u8], limits: Limits) -> Result<Option<Answer>, Malformed> {
        let limits = Limits { depth: limits.depth.saturating_add(LEVELS_AROUND), ..limits };
        let Value::Structure(tag, mut fields) = packstream::decode(message, limits)? else { return Ok(None) };
        let (field, is_one) = (fields.pop(), fields.is_empty());
        Ok(match (tag, field) {
            (SUCCESS, Some(Value::Map(map))) if is_one => Some(Answer::Success(map)),
            (FAILURE, Some(Value::Map(map))) if is_one => Some(Answer::Failure(map)),
            (RECORD, Some(Value::List(row))) if is_one => Some(Answer::Record(row)),
            // Some servers send an empty map with it.
            (IGNORED, _) if is_one => Some(Answer::Ignored),
            _ => None,
        })
    }
}

/// Appends `SUCCESS`; `fields` writes its map.
pub fn success(out: &mut Vec<u8>, fields: impl FnOnce(&mut Encoder<'_>)) {
    chunks::append(out, |out| {
        let mut encoder = Encoder::new(out);
        encoder.structure(SUCCESS, 1);
        fields(&mut encoder);
    });
}

/// Appends the head of a `RECORD` with this number of values; `values` writes them.
pub fn record(out: &mut Vec<u8>, columns: usize, values: impl FnOnce(&mut Encoder<'_>)) {
    chunks::append(out, |out| {
        let mut encoder = Encoder::new(out);
        encoder.structure(RECORD, 1);
        encoder.list(columns);
        values(&mut encoder);
    });
}

/// Appends `IGNORED`.
pub fn ignored(out: &mut Vec<u8>) {
    chunks::append(out, |out| Encoder::new(out).structure(IGNORED, 0));
}

/// Appends `FAILURE` in the form of a version.
pub fn failure(out: &mut Vec<u8>, version: Version, failure: &Failure) {
    chunks::append(out, |out| {
        let mut encoder = Encoder::new(out);
        encoder.structure(FAILURE, 1);
        if !version.has_gql_errors() {
            encoder.map(2);
            encoder.entry("code", &failure.code);
            encoder.entry("message", &failure.message);
            return;
        }
        encoder.map(5);
        encoder.entry("neo4j_code", &failure.code);
        encoder.entry("message", &failure.message);
        encoder.entry("gql_status", failure.status);
        encoder.entry("description", &failure.description);
        encoder.string("diagnostic_record");
        encoder.map(4 + usize::from(failure.position.is_some()) + failure.details.len());
        diagnostic_record(&mut encoder);
        failure.details.iter().for_each(|(key, text)| encoder.entry(key, text));
        encoder.entry("_classification", failure.classification());
        if let Some(position) = &failure.position {
            encoder.string("_position");
            place(&mut encoder, **position);
        }
    });
}

/// The three entries that every diagnostic record of GQL has.
pub fn diagnostic_record(encoder: &mut Encoder<'_>) {
    encoder.entry("OPERATION", "");
    encoder.entry("OPERATION_CODE", "0");
    encoder.entry("CURRENT_SCHEMA", "/");
}

/// A place as a map.
pub fn place(encoder: &mut Encoder<'_>, position: Position) {
    encoder.map(3);
    for (key, number) in [("offset", position.offset), ("line", position.line), ("column", position.column)] {
        encoder.string(key);
        encoder.int(number);
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Failure, failure, ignored, record, success};
    use crate::chunks::Chunks;
    use crate::packstream::tests::{Random, rounds};
    use crate::{Limits, Value, Version};

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let mut out = Vec::new();
        success(&mut out, |out| out.map(0));
        ignored(&mut out);
        record(&mut out, 3, |out| [1, 2, 3].into_iter().for_each(|value| out.int(value)));
        let expected: &[u8] = &[
            0, 3, 0xB1, 0x70, 0xA0, 0, 0, // SUCCESS {}
            0, 2, 0xB0, 0x7E, 0, 0, // IGNORED
            0, 6, 0xB1, 0x71, 0x93, 1, 2, 3, 0, 0, // RECORD [1, 2, 3]
        ];
        assert_eq!(out, expected);
    }

    fn broken() -> Failure {
        Failure {
            code: "Neo.ClientError.Statement.SyntaxError".into(),
            message: "no".into(),
            status: "42001",
            description: "error: syntax error".into(),
            position: None,
            details: Vec::new(),
        }
    }

    #[test]
    fn failures_have_the_form_of_their_version() {
        let broken = Failure { details: vec![("_more", "so".into())], ..broken() };
        assert_eq!(broken.classification(), "CLIENT_ERROR");
        for (version, key) in
            [("4.4", "\u{84}code"), ("5.6", "\u{84}code"), ("5.7", "neo4j_code"), ("6.0", "gql_status")]
        {
            let mut out = Vec::new();
            failure(&mut out, Version::parse(version).unwrap(), &broken);
            let key = key.trim_start_matches('\u{84}').as_bytes();
            assert!(out.windows(key.len()).any(|window| window == key), "{version}");
            let has_more = out.windows(5).any(|window| window == b"_more");
            assert_eq!(has_more, version >= "5.7", "{version}");
            let has_status = out.windows(5).any(|window| window == b"42001");
            assert_eq!(has_status, version >= "5.7", "{version}");
        }
    }

    #[test]
    fn clients_read_what_servers_write() {
        let broken = broken();
        let mut out = Vec::new();
        success(&mut out, |out| out.map(0));
        record(&mut out, 2, |out| [1, 2].into_iter().for_each(|value| out.int(value)));
        ignored(&mut out);
        failure(&mut out, Version::parse("5.8").unwrap(), &broken);
        let (mut chunks, mut input, mut found) = (Chunks::default(), out.as_slice(), Vec::new());
        while let Some(message) = chunks.feed(&mut input, 1 << 20).unwrap() {
            found.push(Answer::read(&message, Limits::default()).unwrap().unwrap());
        }
        let record = Answer::Record(vec![Value::Int(1), Value::Int(2)]);
        assert_eq!(found[..3], [Answer::Success(vec![]), record, Answer::Ignored]);
        let Answer::Failure(map) = &found[3] else { panic!("{found:?}") };
        assert_eq!(crate::message::text(map, "neo4j_code"), Some(broken.code.as_str()));
    }

    #[test]
    fn fuzz_answers_of_any_bytes_are_read_or_refused() {
        let mut random = Random::of_environment(7);
        for _ in 0..rounds(3_000) {
            let mut bytes = vec![0xB1, [0x70, 0x71, 0x7E, 0x7F][random.below(4) as usize]];
            bytes.extend((0..random.below(40)).map(|_| random.below(256) as u8));
            // Nothing panics, whatever comes.
            let _ = Answer::read(&bytes, Limits { depth: 4, memory: 1 << 16 });
        }
        assert_eq!(Answer::read(&[0x01], Limits::default()), Ok(None));
        assert_eq!(Answer::read(&[0xB1, 0x71, 0xA0], Limits::default()), Ok(None));
    }
}
