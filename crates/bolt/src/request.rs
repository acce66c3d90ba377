//! Requests as clients write them, in chunks; [`Request::read`](crate::Request::read) reads them.

use crate::chunks;
use crate::encoder::Encoder;
use crate::message::{BEGIN, COMMIT, DISCARD, GOODBYE, HELLO, LOGON, Mode, PULL, Portion, RESET, ROLLBACK, RUN, Scope};
use crate::packstream::{Value, encode};

fn message(out: &mut Vec<u8>, tag: u8, fields: u8, write: impl FnOnce(&mut Encoder<'_>)) {
    chunks::append(out, |out| {
        let mut encoder = Encoder::new(out);
        encoder.structure(tag, fields);
        write(&mut encoder);
    });
}

fn map(out: &mut Encoder<'_>, entries: &[(&str, Value)]) {
    out.map(entries.len());
    for (key, value) in entries {
        out.string(key);
        encode(out, value);
    }
}

/// Appends `HELLO`.
pub fn hello(out: &mut Vec<u8>, fields: &[(&str, Value)]) {
    message(out, HELLO, 1, |out| map(out, fields));
}

/// Appends `LOGON`.
pub fn logon(out: &mut Vec<u8>, credentials: &[(&str, Value)]) {
    message(out, LOGON, 1, |out| map(out, credentials));
}

/// Appends `RUN`; `parameters` writes the map of parameters.
pub fn run(out: &mut Vec<u8>, text: &str, parameters: impl FnOnce(&mut Encoder<'_>), scope: &Scope) {
    message(out, RUN, 3, |out| {
        out.string(text);
        parameters(out);
        map(out, &entries(scope));
    });
}

/// Appends `BEGIN`.
pub fn begin(out: &mut Vec<u8>, scope: &Scope) {
    message(out, BEGIN, 1, |out| map(out, &entries(scope)));
}

/// Appends `PULL`.
pub fn pull(out: &mut Vec<u8>, portion: Portion) {
    message(out, PULL, 1, |out| map(out, &portion_entries(portion)));
}

/// Appends `DISCARD`.
pub fn discard(out: &mut Vec<u8>, portion: Portion) {
    message(out, DISCARD, 1, |out| map(out, &portion_entries(portion)));
}

/// Appends `COMMIT`.
pub fn commit(out: &mut Vec<u8>) {
    message(out, COMMIT, 0, |_| ());
}

/// Appends `ROLLBACK`.
pub fn rollback(out: &mut Vec<u8>) {
    message(out, ROLLBACK, 0, |_| ());
}

/// Appends `RESET`.
pub fn reset(out: &mut Vec<u8>) {
    message(out, RESET, 0, |_| ());
}

/// Appends `GOODBYE`.
pub fn goodbye(out: &mut Vec<u8>) {
    message(out, GOODBYE, 0, |_| ());
}

fn portion_entries(portion: Portion) -> Vec<(&'static str, Value)> {
    let rows = portion.rows.map_or(-1, |rows| i64::try_from(rows).unwrap_or(i64::MAX));
    let stream = portion.stream.map(|stream| ("qid", Value::Int(stream)));
    std::iter::once(("n", Value::Int(rows))).chain(stream).collect()
}

/// The entries of a scope that differ from the default.
fn entries(scope: &Scope) -> Vec<(&'static str, Value)> {
    let text = |text: &String| Value::String(text.clone());
    let bookmarks = Value::List(scope.bookmarks.iter().map(text).collect());
    let said = [
        ("bookmarks", Some(bookmarks).filter(|_| !scope.bookmarks.is_empty())),
        ("tx_timeout", scope.timeout_ms.map(Value::Int)),
        ("tx_metadata", Some(Value::Map(scope.metadata.clone())).filter(|_| !scope.metadata.is_empty())),
        ("mode", (scope.mode == Mode::Read).then(|| Value::String("r".to_owned()))),
        ("db", scope.database.as_ref().map(text)),
        ("imp_user", scope.impersonated.as_ref().map(text)),
        ("notifications_minimum_severity", scope.severity.as_ref().map(text)),
    ];
    said.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

#[cfg(test)]
mod tests {
    use crate::chunks::Chunks;
    use crate::message::{Mode, Portion, Request, Scope};
    use crate::packstream::{Limits, Value};
    use crate::version::Version;

    /// The requests in bytes that may come in any pieces.
    fn read(bytes: &[u8], piece: usize) -> Vec<Request> {
        let (mut chunks, mut found) = (Chunks::default(), Vec::new());
        for mut piece in bytes.chunks(piece) {
            while let Some(message) = chunks.feed(&mut piece, 1 << 20).unwrap() {
                found.push(Request::read(&message, Version::ALL[0], Limits::default()).unwrap());
            }
        }
        found
    }

    #[test]
    fn servers_read_what_clients_write() {
        let scope = Scope {
            bookmarks: vec!["a".into(), "b".into()],
            timeout_ms: Some(1_500),
            metadata: vec![("app".into(), Value::Int(1))],
            mode: Mode::Read,
            database: Some("neo4j".into()),
            impersonated: Some("ann".into()),
            severity: Some("OFF".into()),
        };
        let fields = [("user_agent", Value::String("x/1".into()))];
        let as_map: Vec<(String, Value)> =
            fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let portions = [Portion { rows: None, stream: None }, Portion { rows: Some(7), stream: Some(2) }];
        let mut out = Vec::new();
        super::hello(&mut out, &fields);
        super::logon(&mut out, &fields);
        super::begin(&mut out, &scope);
        super::begin(&mut out, &Scope::default());
        super::run(&mut out, "RETURN $x", |out| super::map(out, &[("x", Value::Int(1))]), &scope);
        super::pull(&mut out, portions[0]);
        super::pull(&mut out, portions[1]);
        super::discard(&mut out, portions[1]);
        super::commit(&mut out);
        super::rollback(&mut out);
        super::reset(&mut out);
        super::goodbye(&mut out);
        let expected = [
            Request::Hello(as_map.clone()),
            Request::Logon(as_map),
            Request::Begin(scope.clone()),
            Request::Begin(Scope::default()),
            Request::Run("RETURN $x".into(), vec![("x".into(), Value::Int(1))], scope),
            Request::Pull(portions[0]),
            Request::Pull(portions[1]),
            Request::Discard(portions[1]),
            Request::Commit,
            Request::Rollback,
            Request::Reset,
            Request::Goodbye,
        ];
        for piece in [1, 2, 3, 7, 64, out.len()] {
            assert_eq!(read(&out, piece), expected, "pieces of {piece}");
        }
    }
}
