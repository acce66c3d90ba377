//! Answers of servers.

use crate::chunks;
use crate::encoder::Encoder;
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
    pub position: Option<Position>,
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
        encoder.map(4 + usize::from(failure.position.is_some()));
        diagnostic_record(&mut encoder);
        encoder.entry("_classification", failure.classification());
        if let Some(position) = failure.position {
            encoder.string("_position");
            place(&mut encoder, position);
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
    use super::{Failure, failure, ignored, record, success};
    use crate::Version;

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

    #[test]
    fn failures_have_the_form_of_their_version() {
        let broken = Failure {
            code: "Neo.ClientError.Statement.SyntaxError".into(),
            message: "no".into(),
            status: "42001",
            description: "error: syntax error".into(),
            position: None,
        };
        assert_eq!(broken.classification(), "CLIENT_ERROR");
        for (version, key) in
            [("4.4", "\u{84}code"), ("5.6", "\u{84}code"), ("5.7", "neo4j_code"), ("6.0", "gql_status")]
        {
            let mut out = Vec::new();
            failure(&mut out, Version::parse(version).unwrap(), &broken);
            let key = key.trim_start_matches('\u{84}').as_bytes();
            assert!(out.windows(key.len()).any(|window| window == key), "{version}");
            let has_status = out.windows(5).any(|window| window == b"42001");
            assert_eq!(has_status, version >= "5.7", "{version}");
        }
    }
}
