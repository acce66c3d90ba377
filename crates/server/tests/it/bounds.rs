//! Memory of messages, their depth, and what a version or a mode does not take.

use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;

use bolt::Value;
use database::Config;
use server::Settings;

use super::client::{Client, RUN, SUCCESS, map, message, pull, run, socket, text};
use super::running::{Running, folder};

const MIB: usize = 1 << 20;

fn small() -> Settings {
    Settings { message_bytes_max: MIB, ..Settings::default() }
}

fn list(count: usize, item: &Value) -> Value {
    Value::List(vec![item.clone(); count])
}

#[test]
fn values_take_no_more_than_sixteen_times_the_message() {
    let running = Running::start(small());
    let short_list = Value::List(vec![Value::Int(1)]);
    let short_map = map(&[("a", Value::Int(1))]);
    // Of lists, the values as they are read take more; of maps, those that are made of them.
    let mut client = Client::connect(running.address);
    client.send(&run("RETURN size($x) AS n", map(&[("x", list(300_000, &short_list))])));
    let (code, message) = client.failure();
    assert_eq!(code, "Neo.ClientError.Request.Invalid");
    assert!(message.contains("too much memory") && client.is_closed(), "{message}");
    let mut client = Client::connect(running.address);
    client.send(&run("RETURN size($x) AS n", map(&[("x", list(20_000, &short_map))])));
    let (_, message) = client.failure();
    assert!(message.contains("--message-limit"), "{message}");
    client.reset();
    for (count, item) in [(60_000, &short_list), (10_000, &short_map)] {
        client.send(&[run("RETURN size($x) AS n", map(&[("x", list(count, item))])), pull()].concat());
        client.expect(SUCCESS);
        assert_eq!(client.rest(), 1);
    }
}

#[test]
fn half_messages_of_many_clients_are_bounded_together() {
    let config = Config { memory_bytes_max: Some(24 * MIB), ..Config::default() };
    let running = Running::start_with(small(), config, folder());
    // Fourteen chunks of 60,000 bytes, and no end. An eighth of the memory has room for three such clients.
    let half = [&60_000_u16.to_be_bytes()[..], &[0; 60_000]].concat().repeat(14);
    let sockets: Vec<TcpStream> = (0..8).map(|_| socket(running.address)).collect();
    let (told, answers) = mpsc::channel();
    let threads = sockets.iter().map(|socket| {
        let (half, told) = (half.clone(), told.clone());
        let mut client = Client::log_in(socket.try_clone().unwrap(), "5.8");
        std::thread::spawn(move || {
            // Those that find no room are told so, and closed, perhaps before they have sent all.
            let _ = client.try_send(&half);
            if let Ok((_, content)) = client.answer() {
                let _ = told.send(format!("{content:?}"));
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    let refused: Vec<String> = answers.iter().take(4).collect();
    let code = "Neo.TransientError.General.MemoryPoolOutOfMemoryError";
    assert!(refused.iter().all(|refusal| refusal.contains(code)), "{refused:?}");
    // The others are served meanwhile.
    assert_eq!(Client::connect(running.address).rows("RETURN 1 AS x"), 1);
    assert!(running.database.memory().used() < 24 * MIB);
    // Those that are half there leave.
    sockets.iter().for_each(|socket| drop(socket.shutdown(std::net::Shutdown::Both)));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // Their room is free once the server knows that they have left.
    loop {
        let mut client = Client::connect(running.address);
        let sent =
            client.try_send(&[run("RETURN size($x) AS n", map(&[("x", text(&"x".repeat(900_000)))])), pull()].concat());
        match sent.and_then(|()| client.answer()) {
            Ok((SUCCESS, _)) => break assert_eq!(client.rest(), 1),
            _ => std::thread::yield_now(),
        }
    }
}

#[test]
fn many_small_messages_are_counted_with_what_they_take() {
    let running = Running::start(Settings { statements_max: 2, drain: Duration::from_millis(50), ..small() });
    let mut client = Client::connect(running.address);
    client.send(&run(super::client::ENDLESS, map(&[])));
    // 500,000 messages of three bytes would take far more than the 1.5 MB that they are. The server stops reading them.
    let many = message(0x12, vec![]).repeat(500_000);
    let (before, writer) = (
        running.database.memory().used(),
        std::thread::spawn(move || {
            let _ = client.try_send(&many);
            client
        }),
    );
    let mut other = Client::connect(running.address);
    assert_eq!(other.rows("UNWIND range(1, 100000) AS i RETURN i"), 100_000);
    assert!(running.database.memory().used() < before + 8 * MIB);
    running.tell_to_end();
    drop(other);
    drop(writer.join());
}

#[test]
fn parameters_nest_as_deeply_as_values_do() {
    let running = Running::start(Settings::default());
    let nested = |levels: u32| (0..levels).fold(Value::Int(1), |value, _| Value::List(vec![value]));
    let mut client = Client::connect(running.address);
    let depth = model::limits::VALUE_DEPTH_MAX;
    client.send(&[run("RETURN size($x) AS n", map(&[("x", nested(depth))])), pull()].concat());
    client.expect(SUCCESS);
    assert_eq!(client.rest(), 1);
    client.send(&run("RETURN $x AS x", map(&[("x", nested(depth + 1))])));
    let (_, message) = client.failure();
    assert!(message.contains("256 levels"), "{message}");
    client.reset();
    assert_eq!(client.rows("RETURN 1 AS x"), 1);
}

#[test]
fn vectors_are_refused_before_the_version_that_has_them() {
    let running = Running::start(Settings::default());
    let mut client = Client::connect(running.address);
    let vector = Value::Structure(0x56, vec![Value::Bytes(vec![0xC8]), Value::Bytes(vec![1, 2])]);
    client.send(&run("RETURN $x AS x", map(&[("x", vector)])));
    let (code, message) = client.failure();
    assert!(code.ends_with("TypeError") && message.contains("0x56"), "{code}: {message}");
}

#[test]
fn a_checkpoint_is_for_those_that_write() {
    let running = Running::start(Settings::default());
    let mut client = Client::connect(running.address);
    let checkpoint = |mode| message(RUN, vec![text("CHECKPOINT"), map(&[]), map(&[("mode", text(mode))])]);
    client.send(&checkpoint("r"));
    let (code, said) = client.failure();
    assert_eq!(code, "Neo.ClientError.Statement.AccessMode", "{said}");
    client.reset();
    client.send(&[checkpoint("w"), pull()].concat());
    client.expect(SUCCESS);
    assert_eq!(client.rest(), 0);
    // A plan is told in both.
    let explain = "EXPLAIN CREATE (:A)";
    client.send(&message(RUN, vec![text(explain), map(&[]), map(&[("mode", text("r"))])]));
    client.expect(SUCCESS);
}
