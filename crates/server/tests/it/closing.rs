//! Answers that are on their way when the server closes a connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bolt::Value;
use server::Settings;

use super::client::{
    BEGIN, COMMIT, Client, ENDLESS, FAILURE, GOODBYE, IGNORED, PULL, RECORD, SUCCESS, map, message, pull, run, socket,
};
use super::encryption;
use super::running::Running;

/// A socket that takes its time to read.
struct Slow(TcpStream);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        if count > 1_000 {
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(count)
    }
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Commits, asks for something out of place, and goes on asking; all answers before the failure come.
fn break_protocol(mut client: Client, rows: i64) {
    let rows_of = format!("UNWIND range(1, {rows}) AS i RETURN i, '{}' AS t", "x".repeat(1_000));
    let wrong = message(PULL, vec![map(&[("n", Value::Int(5))])]);
    let begin = message(BEGIN, vec![map(&[])]);
    let commit = message(COMMIT, vec![]);
    client
        .send(&[begin, run("CREATE (:X)", map(&[])), pull(), run(&rows_of, map(&[])), pull(), commit, wrong].concat());
    for _ in 0..2_000 {
        // The server may have closed the connection.
        if client.try_send(&run("RETURN 1", map(&[]))).is_err() {
            break;
        }
    }
    for _ in 0..4 {
        client.expect(SUCCESS);
    }
    for _ in 0..rows {
        client.expect(RECORD);
    }
    client.expect(SUCCESS);
    client.expect(SUCCESS);
    let (code, text) = client.failure();
    assert!(code.contains("Request.Invalid") && text.contains("not expected here"), "{code} {text}");
    assert!(client.is_closed());
}

#[test]
fn answers_reach_a_client_that_breaks_the_protocol_and_goes_on_sending() {
    let running = Running::start(Settings::default());
    for rows in [1, 300, 3_000, 15_000] {
        break_protocol(Client::connect(running.address), rows);
        break_protocol(Client::log_in(Slow(socket(running.address)), "5.8"), rows);
    }
    let (running, trusted) = encryption::start(Settings::default(), true);
    for rows in [1, 3_000, 15_000] {
        let secured = encryption::secure(Slow(socket(running.address)), &trusted, rustls::ALL_VERSIONS);
        break_protocol(Client::log_in(secured, "5.8"), rows);
    }
}

#[test]
fn a_client_that_never_notices_the_end_is_not_waited_for() {
    let running = Running::start(Settings::default());
    // More than there is room for: none of them closes its end.
    let mut clients: Vec<TcpStream> = Vec::new();
    for _ in 0..300 {
        let mut client = socket(running.address);
        let proposal = [&bolt::handshake::PREAMBLE[..], &[0, 0, 8, 5], &[0; 12]].concat();
        client.write_all(&[proposal, message(GOODBYE, vec![]).repeat(3)].concat()).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, [0, 0, 8, 5]);
        clients.push(client);
    }
    assert_eq!(Client::connect(running.address).rows("RETURN 1 AS x"), 1);
    // Their bytes are dropped, until the connection is closed.
    for client in &mut clients {
        let _ = client.write_all(&[0; 10]);
    }
    std::thread::sleep(Duration::from_millis(100));
    let is_open = |client: &mut TcpStream| client.write_all(&[0; 10]).is_ok();
    assert!(!is_open(&mut clients[0]) && is_open(&mut clients[299]));
}

#[test]
fn commits_that_were_carried_out_are_told_though_the_server_ends() {
    for round in 0..3 {
        let mut running = Running::start(Settings::default());
        let mut client = Client::connect(running.address);
        // It asks for all of it before it reads, and then goes on asking.
        let create = [run("CREATE (:Kept)", map(&[])), pull()].concat();
        client.send(&create.repeat(2_000));
        client.expect(SUCCESS);
        running.tell_to_end();
        std::thread::sleep(Duration::from_millis(round * 40));
        let _ = client.try_send(&create.repeat(100));
        let mut told = 0;
        let mut is_summary = true;
        while let Ok((tag, content)) = client.answer() {
            let is_success = tag == SUCCESS;
            told += i64::from(is_success && is_summary);
            is_summary = !is_summary;
            assert!(is_success || tag == IGNORED || tag == FAILURE, "{content:?}");
        }
        drop(client);
        running.wait();
        let mut session = running.database.session();
        let count = session.query("MATCH (n:Kept) RETURN count(*)", &Default::default()).unwrap().single();
        assert_eq!(count, Some(database::Value::Int(told)), "round {round}");
    }
}

/// A client that has a transaction open in which it has written, and does not read the rows of a result.
fn unread(running: &Running) -> Client {
    let mut client = Client::connect(running.address);
    client.send(&[message(BEGIN, vec![map(&[])]), run("MERGE (n:Hot) SET n.x = 1", map(&[])), pull()].concat());
    (0..3).for_each(|_| drop(client.expect(SUCCESS)));
    let rows = format!("UNWIND range(1, 20000) AS i RETURN i, '{}' AS t", "x".repeat(1_000));
    client.send(&[run(&rows, map(&[])), pull()].concat());
    client.expect(SUCCESS);
    client
}

/// Waits until no transaction is open but the own one.
fn wait_for_none(running: &Running) {
    let mut other = Client::connect(running.address);
    while other.rows("SHOW TRANSACTIONS") > 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_goodbye_behind_rows_that_are_not_read_ends_the_transaction() {
    let running = Running::start(Settings::default());
    for delay_ms in [0, 100] {
        let mut client = unread(&running);
        std::thread::sleep(Duration::from_millis(delay_ms));
        client.send(&message(GOODBYE, vec![]));
        wait_for_none(&running);
        drop(client);
    }
}

#[test]
fn rows_need_no_thread_to_be_read() {
    let running = Running::start(Settings { statements_max: 1, patience: Duration::ZERO, ..Settings::default() });
    let mut client = unread(&running);
    client.send(&message(COMMIT, vec![]));
    let mut other = Client::connect(running.address);
    other.send(&run(ENDLESS, map(&[])));
    other.expect(SUCCESS);
    for _ in 0..20_000 {
        client.expect(RECORD);
    }
    client.expect(SUCCESS);
    // The commit waits for the thread.
    other.reset();
    client.expect(SUCCESS);
}

#[test]
fn a_statement_that_waits_for_its_client_is_terminated() {
    let hour = Duration::from_secs(3_600);
    let running = Running::start(Settings { patience: hour, ..Settings::default() });
    let client = unread(&running);
    let mut other = Client::connect(running.address);
    let shown = "SHOW TRANSACTIONS YIELD transactionId, currentQuery WHERE currentQuery STARTS WITH 'UNWIND'";
    while other.rows(shown) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    other.send(&[run(&format!("{shown} RETURN transactionId"), map(&[])), pull()].concat());
    other.expect(SUCCESS);
    let Value::List(row) = other.expect(RECORD) else { panic!("no row") };
    other.expect(SUCCESS);
    let Value::String(name) = &row[0] else { panic!("{row:?}") };
    assert_eq!(other.rows(&format!("TERMINATE TRANSACTIONS '{name}'")), 1);
    wait_for_none(&running);
    drop(client);
}
