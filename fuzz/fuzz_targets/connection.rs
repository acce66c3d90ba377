//! Fuzzes the connections of a server: the handshake, chunks, PackStream, the states of Bolt, WebSockets, HTTP and JSON, up to the
//! statements that run. The first byte says how the others are put on the wire.
#![no_main]

use std::sync::LazyLock;

use bolt::message::{Portion, Scope};
use bolt::{Value, handshake, request};
use database::{Config, Database, Durability};
use libfuzzer_sys::fuzz_target;
use server::fuzzing::Subject;

static SUBJECT: LazyLock<Subject> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("knotwork-fuzz-{}.knot", std::process::id()));
    let config =
        Config { durability: Durability::Off, memory_bytes_max: Some(256 << 20), threads: 1, ..Config::default() };
    Subject::new(Database::open(&folder, config).expect("a store"))
});

/// Statements that a session of requests chooses from.
const STATEMENTS: &[&str] = &[
    "RETURN 1 AS x",
    "UNWIND range(1, 3000) AS i RETURN i, 'text ' + i",
    "CREATE (:N {i: $i})",
    "MATCH (n:N) RETURN n LIMIT 3",
    "MATCH (n:N) WITH n LIMIT 5 DETACH DELETE n",
    "RETURN 1 / 0",
    "RETRUN",
    "EXPLAIN MATCH (n)-->(m) RETURN n",
    "PROFILE MATCH (n) RETURN count(n)",
    "SHOW DATABASES",
    "SHOW TRANSACTIONS",
    "CALL dbms.components()",
    "CREATE DATABASE other",
    "COMMIT",
    "USE neo4j RETURN $i",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&form, rest)) = bytes.split_first() else { return };
    match form % 5 {
        0 => drop(SUBJECT.feed(rest)),
        1 => drop(SUBJECT.feed(&messages(rest))),
        2 => drop(SUBJECT.feed(&requests(rest))),
        3 => drop(SUBJECT.feed(&http(rest))),
        _ => drop(SUBJECT.feed(&web_socket(rest))),
    }
});

/// A session that has logged in.
fn begun() -> Vec<u8> {
    let mut out = handshake::opening().to_vec();
    request::hello(&mut out, &[("user_agent", Value::String("fuzz/1".to_owned()))]);
    request::logon(&mut out, &[("scheme", Value::String("none".to_owned()))]);
    out
}

/// Messages whose bytes are those of the fuzzer, each behind its length.
fn messages(mut rest: &[u8]) -> Vec<u8> {
    let mut out = begun();
    while let Some((&length, behind)) = rest.split_first() {
        let (message, behind) = behind.split_at(usize::from(length).min(behind.len()));
        bolt::chunks::append(&mut out, |out| out.extend_from_slice(message));
        rest = behind;
    }
    out
}

/// Requests that the bytes choose.
fn requests(rest: &[u8]) -> Vec<u8> {
    let mut out = begun();
    for pair in rest.chunks(2).take(200) {
        let (kind, number) = (pair[0], pair.get(1).copied().unwrap_or(0));
        let portion =
            Portion { rows: (number % 7 > 0).then_some(u64::from(number)), stream: Some(i64::from(number / 64) - 1) };
        let timeout_ms = (number & 64 > 0).then_some(i64::from(number));
        let scope = Scope { timeout_ms, ..Scope::default() };
        match kind % 9 {
            0 | 1 => {
                let text = STATEMENTS[usize::from(number) % STATEMENTS.len()];
                request::run(&mut out, text, |out| out_map(out, number), &scope);
            }
            2 | 3 => request::pull(&mut out, portion),
            4 => request::discard(&mut out, portion),
            5 => request::begin(&mut out, &scope),
            6 => request::commit(&mut out),
            7 => request::rollback(&mut out),
            _ if number < 8 => request::goodbye(&mut out),
            _ => request::reset(&mut out),
        }
    }
    out
}

fn out_map(out: &mut bolt::Encoder<'_>, number: u8) {
    out.map(1);
    out.string("i");
    out.int(i64::from(number));
}

/// A request of HTTP with the bytes as its body, and what follows it.
fn http(rest: &[u8]) -> Vec<u8> {
    let (path, body) = match rest.split_first() {
        Some((&first, body)) => (first, body),
        None => (0, rest),
    };
    let path =
        ["/db/neo4j/query/v2", "/db/neo4j/query/v2/tx", "/db/neo4j/query/v2/tx/abc", "/metrics"][usize::from(path % 4)];
    let kind = if path.len() % 2 == 0 { "application/json" } else { "application/vnd.neo4j.query" };
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"].concat()
}

/// A WebSocket with the bytes as its frames.
fn web_socket(rest: &[u8]) -> Vec<u8> {
    let head = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    [head.as_bytes(), rest].concat()
}
