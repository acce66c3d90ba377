//! Connections and servers that end, and signs that they have not.

use std::net::TcpStream;
use std::time::Duration;

use bolt::Value;
use server::Settings;

use super::client::{
    BEGIN, COMMIT, Client, ENDLESS, GOODBYE, HELLO, IGNORED, RESET, SUCCESS, get, map, message, pull, run, socket, text,
};
use super::running::Running;

const HOUR: Duration = Duration::from_secs(3_600);
const MANY: &str = "UNWIND range(1, 3000000) AS i RETURN i, 'a text that takes some room on its way ' + i AS t";

#[test]
fn a_statement_that_lasts_gives_signs_of_life() {
    let running = Running::start(Settings { keep_alive: Duration::from_millis(20), ..Settings::default() });
    let mut client = Client::connect(running.address);
    assert_eq!(get(get(&client.greeting, "hints"), "connection.recv_timeout_seconds"), &Value::Int(1));
    client.send(&run(ENDLESS, map(&[])));
    client.expect(SUCCESS);
    client.send(&pull());
    for _ in 0..5 {
        client.hear();
    }
    client.send(&message(RESET, vec![]));
    client.expect(IGNORED);
    client.expect(SUCCESS);
    // The columns do not wait for the end, though the rows are asked for already.
    client.send(&[run(ENDLESS, map(&[])), pull()].concat());
    client.expect(SUCCESS);
    client.hear();
    client.send(&message(RESET, vec![]));
    client.expect(IGNORED);
    client.expect(SUCCESS);
    // In a transaction they come between messages, also behind rows.
    client.send(&[message(BEGIN, vec![map(&[])]), run("RETURN 1 AS x", map(&[])), pull()].concat());
    client.expect(SUCCESS);
    client.expect(SUCCESS);
    assert_eq!(client.rest(), 1);
    client.send(&run(ENDLESS, map(&[])));
    client.expect(SUCCESS);
    client.hear();
    client.hear();
    client.reset();
    assert_eq!(client.rows("UNWIND range(1, 100000) AS i RETURN i"), 100_000);
}

#[test]
fn a_client_that_leaves_frees_its_statement() {
    let settings = Settings { statements_max: 1, patience: HOUR, message_bytes_max: 1 << 16, ..Settings::default() };
    let running = Running::start(settings);
    for has_queue in [false, true] {
        let mut client = Client::connect(running.address);
        client.send(&[run(MANY, map(&[])), pull()].concat());
        client.expect(SUCCESS);
        // It takes no row, and its statement waits for it with the one thread that there is. What it asks besides fills the room
        // of its requests, so that its end stands behind bytes that are not read.
        if has_queue {
            client.send(&message(0x12, vec![]).repeat(20_000));
        }
        drop(client);
        let mut other = Client::connect(running.address);
        assert_eq!(other.rows("RETURN 1 AS x"), 1, "{has_queue}");
    }
}

#[test]
fn a_commit_that_has_arrived_is_carried_out_though_its_client_has_left() {
    let mut running = Running::start(Settings::default());
    let rounds = 60;
    for round in 0..rounds {
        let mut client = Client::connect(running.address);
        let create = run("UNWIND range(1, 50) AS i CREATE (:Kept {i: i})", map(&[]));
        client.send(&[message(BEGIN, vec![map(&[])]), create, pull()].concat());
        (0..3).for_each(|_| drop(client.expect(SUCCESS)));
        let commit = message(COMMIT, vec![]);
        // It says goodbye, or not, or leaves within a further message.
        let behind = [message(GOODBYE, vec![]), vec![], vec![0, 9, 0xB0]];
        client.send(&[commit, behind[round % behind.len()].clone()].concat());
    }
    running.tell_to_end();
    running.wait();
    let mut session = running.database.session();
    let count = session.query("MATCH (n:Kept) RETURN count(*)", &Default::default()).unwrap().single();
    assert_eq!(count, Some(database::Value::Int(50 * rounds as i64)));
}

#[test]
fn a_connection_too_many_is_told_so() {
    let running = Running::start(Settings { connections_max: 1, ..Settings::default() });
    let first = Client::connect(running.address);
    for _ in 0..3 {
        let mut extra = Client::over(socket(running.address), "5.8");
        extra.send(&message(HELLO, vec![map(&[("user_agent", text("test/1"))])]));
        let (code, message) = extra.failure();
        assert_eq!(code, "Neo.TransientError.Request.NoThreadsAvailable");
        assert!(message.contains("--connections") && extra.is_closed(), "{message}");
    }
    drop(first);
    // The server learns of that when it next looks.
    loop {
        let mut next = Client::over(socket(running.address), "5.8");
        next.send(&message(HELLO, vec![map(&[("user_agent", text("test/1"))])]));
        if next.answer().is_ok_and(|(tag, _)| tag == SUCCESS) {
            break;
        }
    }
}

/// Waits until the server takes no more connections, since it is about to end.
fn wait_for_end(running: &Running) {
    while TcpStream::connect(running.address).is_ok() {
        std::thread::yield_now();
    }
}

#[test]
fn transactions_end_before_the_server_does_and_new_ones_do_not_begin() {
    let mut running = Running::start(Settings { drain: HOUR, ..Settings::default() });
    let mut idle = Client::connect(running.address);
    let mut client = Client::connect(running.address);
    client.send(&message(BEGIN, vec![map(&[])]));
    client.expect(SUCCESS);
    running.tell_to_end();
    wait_for_end(&running);
    // Nothing of it was under way.
    assert!(idle.is_closed());
    assert_eq!(client.rows("CREATE (n:Kept) RETURN n"), 1);
    client.send(&[message(COMMIT, vec![]), message(BEGIN, vec![map(&[])])].concat());
    client.expect(SUCCESS);
    let (code, _) = client.failure();
    assert_eq!(code, "Neo.TransientError.General.DatabaseUnavailable");
    assert!(client.is_closed());
    running.wait();
}

#[test]
fn a_statement_that_outlasts_the_drain_is_told_to_try_again() {
    let mut running = Running::start(Settings { drain: Duration::from_millis(50), ..Settings::default() });
    let mut client = Client::connect(running.address);
    client.send(&run(ENDLESS, map(&[])));
    client.expect(SUCCESS);
    client.send(&pull());
    running.tell_to_end();
    let (code, message) = client.failure();
    assert_eq!(code, "Neo.TransientError.General.DatabaseUnavailable", "{message}");
    assert!(client.is_closed());
    running.wait();
}
