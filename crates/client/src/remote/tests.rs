//! Servers that lie, stammer and leave.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use bolt::packstream::encode;
use bolt::{Encoder, Value, answer, chunks, own};
use database::{IsolationLevel, Parameters, Priority, QueryResult, ResultBatch, ResultSink};
use model::{ErrorCode, Interrupt, Result};
use testing::random::{SeededRandom, seed_or};

use super::{Failed, Remote, Settings};
use crate::wire::{CONNECT_TIME, Wire};

const SETTINGS: Settings =
    Settings { isolation: IsolationLevel::Snapshot, priority: Priority::Normal, query_memory_max: None };
/// The answer to the handshake: version 5.8.
const AGREED: [u8; 4] = [0, 0, 8, 5];

/// A session at a server that answers these bytes, whatever it is asked, in pieces of that size, and then leaves.
fn served(bytes: &[u8], piece: usize) -> Result<Remote> {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let bytes = bytes.to_vec();
    std::thread::spawn(move || {
        let mut reader = theirs.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while reader.read(&mut buffer).is_ok_and(|count| count > 0) {}
        });
        for piece in bytes.chunks(piece) {
            if theirs.write_all(piece).is_err() {
                return;
            }
        }
        let _ = theirs.shutdown(Shutdown::Write);
    });
    let wire = Wire::to_process(ours, CONNECT_TIME, &Interrupt::new())
        .map_err(|cause| model::error!(Connection, "{cause}"))?;
    Remote::log_in(wire, "the server".to_owned(), None, None, SETTINGS, &Interrupt::new())
}

fn success(fields: &[(&str, Value)]) -> Vec<u8> {
    let mut out = Vec::new();
    answer::success(&mut out, |out| {
        out.map(fields.len());
        for (key, value) in fields {
            out.string(key);
            encode(out, value);
        }
    });
    out
}

fn record(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    answer::record(&mut out, values.len(), |out| values.iter().for_each(|value| encode(out, value)));
    out
}

fn message(tag: u8, fields: Vec<Value>) -> Vec<u8> {
    let mut out = Vec::new();
    chunks::append(&mut out, |out| encode(&mut Encoder::new(out), &Value::Structure(tag, fields)));
    out
}

fn columns(names: &[&str]) -> Value {
    Value::List(names.iter().map(|name| Value::String((*name).to_owned())).collect())
}

/// The answers up to the login, and those parts.
fn after_login(parts: &[Vec<u8>]) -> Vec<u8> {
    [AGREED.to_vec(), success(&[]), success(&[]), parts.concat()].concat()
}

fn run(remote: &mut Remote) -> Result<QueryResult, Failed> {
    let mut result = QueryResult::default();
    result.summary = remote.run("RETURN 1", &Parameters::default(), None, &Interrupt::new(), &mut result)?;
    Ok(result)
}

fn code_of(parts: &[Vec<u8>]) -> ErrorCode {
    let mut remote = served(&after_login(parts), 1 << 20).unwrap();
    let code = run(&mut remote).err().expect("that is no answer").into_error().code();
    assert!(!remote.is_alive(), "nothing more is asked of it");
    code
}

#[test]
fn answers_may_come_in_any_pieces() {
    let parts = [
        success(&[("fields", columns(&["x"]))]),
        record(&[Value::Int(1)]),
        vec![0, 0, 0, 0],
        record(&[Value::String("ä".repeat(40_000))]),
        success(&[("has_more", Value::Bool(true))]),
        record(&[Value::Null]),
        success(&[]),
    ];
    let bytes = after_login(&parts);
    for piece in [1, 3, 1_000, bytes.len()] {
        let mut remote = served(&bytes, piece).unwrap();
        let result = run(&mut remote).map_err(Failed::into_error).unwrap();
        assert_eq!((result.row_count(), result.columns.len()), (3, 1), "pieces of {piece}");
        // The server leaves once it has sent all, which may be a moment later.
        let hears_it = (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            !remote.is_alive()
        });
        assert!(hears_it, "pieces of {piece}");
    }
}

#[test]
fn a_server_that_leaves_says_what_is_known_of_the_outcome() {
    let fields = ("fields", columns(&["x"]));
    let committed = (own::IS_COMMITTED, Value::Bool(true));
    let row = record(&[Value::Int(1)]);
    assert_eq!(code_of(&[]), ErrorCode::OutcomeUnknown);
    let half = success(std::slice::from_ref(&fields));
    assert_eq!(code_of(&[half[..half.len() - 3].to_vec()]), ErrorCode::OutcomeUnknown);
    assert_eq!(code_of(std::slice::from_ref(&half)), ErrorCode::Connection);
    assert_eq!(code_of(&[half, row.clone()]), ErrorCode::Connection);
    let mut remote = served(&after_login(&[success(&[fields, committed]), row]), 1 << 20).unwrap();
    let error = run(&mut remote).err().unwrap().into_error();
    assert!(error.code() == ErrorCode::Connection && error.message().contains("was committed"), "{error:?}");
    // A statement within a transaction, and a commit that cannot be sent any more: the transaction is lost before.
    for commits in [true, false] {
        let mut remote = served(&after_login(&[success(&[])]), 1 << 20).unwrap();
        remote.begin(&Interrupt::new()).map_err(Failed::into_error).unwrap();
        assert!(remote.in_transaction());
        let error = match commits {
            true => {
                while remote.is_alive() {}
                remote.commit(&Interrupt::new()).unwrap_err()
            }
            false => run(&mut remote).err().unwrap().into_error(),
        };
        assert_eq!((error.code(), remote.in_transaction()), (ErrorCode::Connection, false));
        assert!(error.message().contains("rolled back"), "{error:?}");
    }
    // A commit whose answer does not come.
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let leaver = std::thread::spawn(move || {
        let mut buffer = [0; 4_096];
        theirs.write_all(&after_login(&[success(&[])])).unwrap();
        // The handshake, `HELLO`, `LOGON` and `BEGIN` come first, in as many pieces as there are; then `COMMIT`.
        let mut tail = Vec::new();
        while !tail.ends_with(&[0, 2, 0xB0, 0x12, 0, 0]) {
            let count = theirs.read(&mut buffer).unwrap();
            tail.extend_from_slice(&buffer[..count]);
        }
    });
    let mut remote = Remote::log_in(
        Wire::to_process(ours, CONNECT_TIME, &Interrupt::new()).unwrap(),
        "x".to_owned(),
        None,
        None,
        SETTINGS,
        &Interrupt::new(),
    )
    .unwrap();
    remote.begin(&Interrupt::new()).map_err(Failed::into_error).unwrap();
    assert_eq!(remote.commit(&Interrupt::new()).unwrap_err().code(), ErrorCode::OutcomeUnknown);
    leaver.join().unwrap();
    // Nothing is lost by a transaction that could not begin.
    let mut remote = served(&after_login(&[]), 1 << 20).unwrap();
    assert!(matches!(remote.begin(&Interrupt::new()), Err(Failed::NotSent(_))));
}

#[test]
fn lies_are_errors() {
    let fields = || success(&[("fields", columns(&["x"]))]);
    let cases = [
        vec![success(&[])],
        vec![success(&[("fields", Value::List(vec![Value::Int(1)]))])],
        vec![record(&[])],
        vec![message(0x7E, vec![])],
        vec![message(0x33, vec![])],
        vec![fields(), record(&[])],
        vec![fields(), record(&[Value::Int(1), Value::Int(2)])],
        vec![fields(), message(0x7E, vec![])],
        vec![fields(), record(&[Value::Structure(0x4E, vec![])])],
        vec![fields(), record(&[Value::Structure(0x44, vec![Value::Null])])],
        vec![fields(), record(&[Value::Structure(0x99, vec![])])],
        vec![vec![0, 1, 0xC4, 0, 0]],
        vec![vec![0, 4, 0xB1, 0x71, 0xD6, 0xFF, 0, 0]],
    ];
    for (number, parts) in cases.iter().enumerate() {
        let code = code_of(parts);
        assert!(matches!(code, ErrorCode::Connection | ErrorCode::OutcomeUnknown), "case {number}: {code:?}");
    }
    for bytes in [&b"HTTP/1.1 400"[..], &[0, 0, 0, 0], &[], &[0, 0], &[0, 0, 4, 4]] {
        assert_eq!(served(bytes, 1 << 20).err().map(|error| error.code()), Some(ErrorCode::Connection), "{bytes:?}");
    }
}

#[test]
fn fuzz_any_bytes_of_a_server_are_an_answer_or_an_error() {
    let seed = seed_or(3);
    println!("FUZZ_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let parts = [
        success(&[("fields", columns(&["x"]))]),
        record(&[Value::List(vec![Value::Int(1), Value::String("text".into()), Value::Map(vec![])])]),
        success(&[("stats", Value::Map(vec![("nodes-created".into(), Value::Int(1))]))]),
    ];
    let bytes = after_login(&parts);
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..300 {
        let mut bytes = bytes.clone();
        for _ in 0..random.below(4) {
            let at = random.index(bytes.len());
            match random.below(3) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, random.below(256) as u8),
            }
        }
        match served(&bytes, 1 + random.index(bytes.len())).map(|mut remote| run(&mut remote).map(|_| ())) {
            Ok(Ok(())) => answered += 1,
            _ => refused += 1,
        }
    }
    assert!(answered > 30 && refused > 30, "seed {seed}: {answered} were answered, {refused} refused");
}

/// Takes rows until it has enough.
struct Few(usize);

impl ResultSink for Few {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> Result<bool> {
        self.0 += batch.rows;
        Ok(false)
    }
}

#[test]
fn rows_that_are_not_wanted_are_not_asked_for() {
    let parts = [
        success(&[("fields", columns(&["x"]))]),
        record(&[Value::Int(1)]),
        success(&[("has_more", Value::Bool(true))]),
        success(&[]),
    ];
    let mut remote = served(&after_login(&parts), 1 << 20).unwrap();
    let mut few = Few(0);
    let ran = remote.run("RETURN 1", &Parameters::default(), None, &Interrupt::new(), &mut few);
    assert!(ran.is_ok() && few.0 == 1);
}
