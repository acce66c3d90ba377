//! Rows that are there come as they are asked for, while their statement computes those behind them.

use std::time::Duration;

use bolt::Value;
use server::Settings;

use super::client::{
    BEGIN, COMMIT, Client, ENDLESS, FAILURE, IGNORED, PULL, RECORD, RESET, SUCCESS, get, map, message, run, socket,
};
use super::encryption;
use super::running::Running;

const DISCARD: u8 = 0x2F;

/// A request for that number of rows of a stream; the last one for −1.
fn portion(tag: u8, rows: i64, stream: i64) -> Vec<u8> {
    message(tag, vec![map(&[("n", Value::Int(rows)), ("qid", Value::Int(stream))])])
}

/// A statement whose first rows, of that many bytes, are there at once, and whose end never comes.
fn endless(rows: usize, bytes: usize) -> String {
    let text = "x".repeat(bytes);
    format!("UNWIND range(1, {rows}) AS i RETURN i AS c, '{text}' AS t UNION ALL {ENDLESS}, '' AS t")
}

/// Asserts that rows come that begin with that number, and that there are more.
fn expect_rows(client: &mut Client, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let (tag, row) = client.answer().unwrap();
        let Value::List(row) = row else { panic!("no row: {tag} {row:?}") };
        assert_eq!((tag, &row[0]), (RECORD, &Value::Int(number)));
    }
    assert_eq!(get(&client.expect(SUCCESS), "has_more"), &Value::Bool(true));
}

/// Takes rows of endless statements, which no thread of the server would ever send.
fn take_rows(mut client: Client, bytes: usize) {
    let rest = Duration::from_millis(20);
    let statement = endless(3_000, bytes);
    // A batch of rows comes when it is full.
    for rows in [1, 7, 1_000] {
        client.send(&run(&statement, map(&[])));
        client.expect(SUCCESS);
        std::thread::sleep(rest);
        let mut next = 1;
        while next + 2 * rows < 2_000 {
            client.send(&portion(PULL, rows, -1));
            expect_rows(&mut client, next..next + rows);
            client.send(&portion(DISCARD, rows, -1));
            expect_rows(&mut client, 0..0);
            next += 2 * rows;
        }
        client.send(&portion(PULL, 10_000, -1));
        for _ in next..2_000 {
            client.expect(RECORD);
        }
        client.send(&message(RESET, vec![]));
        while client.answer().unwrap().0 != IGNORED {}
        client.expect(SUCCESS);
    }
    // Rows of an earlier stream of the transaction, too; those of one that is not open yet come once it is.
    client.send(&message(BEGIN, vec![map(&[])]));
    client.send(&run("UNWIND range(1, 500) AS i RETURN i", map(&[])));
    client.expect(SUCCESS);
    let first = client.expect(SUCCESS);
    client.send(&[run(&statement, map(&[])), portion(PULL, 5, -1)].concat());
    client.expect(SUCCESS);
    expect_rows(&mut client, 1..6);
    std::thread::sleep(rest);
    let Value::Int(first) = get(&first, "qid") else { panic!("{first:?}") };
    client.send(&[portion(PULL, 400, *first), portion(PULL, 50, -1), portion(PULL, 50, *first)].concat());
    expect_rows(&mut client, 1..401);
    expect_rows(&mut client, 6..56);
    expect_rows(&mut client, 401..451);
    client.reset();
    assert_eq!(client.rows("RETURN 1 AS x"), 1);
}

#[test]
fn rows_that_are_there_come_while_their_statement_computes() {
    let running = Running::start(Settings::default());
    take_rows(Client::connect(running.address), 3);
}

#[test]
fn so_do_those_in_temporary_files_and_over_tls() {
    let settings = || Settings { patience: Duration::ZERO, ..Settings::default() };
    let running = Running::start(settings());
    take_rows(Client::connect(running.address), 2_000);
    let (running, trusted) = encryption::start(settings(), true);
    let secured = encryption::secure(socket(running.address), &trusted, rustls::ALL_VERSIONS);
    take_rows(Client::log_in(secured, "5.8"), 2_000);
}

#[test]
fn the_end_of_a_statement_answers_the_request_that_waits_for_it() {
    let running = Running::start(Settings::default());
    let slow = "UNWIND range(1, 3000000) AS i WITH i WHERE i % 7 = 9";
    for (end, is_failure) in [("RETURN count(*) AS c", false), ("WITH count(*) AS n RETURN 1 / n AS c", true)] {
        let mut client = Client::connect(running.address);
        client.send(&message(BEGIN, vec![map(&[])]));
        client.send(&run(&format!("UNWIND range(1, 10) AS c RETURN c UNION ALL {slow} {end}"), map(&[])));
        client.expect(SUCCESS);
        client.expect(SUCCESS);
        client.send(&portion(PULL, 1_000, -1));
        for _ in 0..10 {
            client.expect(RECORD);
        }
        if is_failure {
            client.expect(FAILURE);
            client.reset();
        } else {
            client.expect(RECORD);
            client.expect(SUCCESS);
            client.send(&message(COMMIT, vec![]));
            client.expect(SUCCESS);
        }
        assert_eq!(client.rows("RETURN 1 AS x"), 1);
    }
}

/// A statement whose columns are told at its end, which never comes.
fn endless_write() -> String {
    ENDLESS.replace("RETURN count(*) AS c", "CREATE (n) RETURN n")
}

#[test]
fn a_statement_that_is_stopped_beside_an_open_stream_is_answered() {
    let running = Running::start(Settings::default());
    for limit_ms in [None, Some(1), Some(200)] {
        let mut client = Client::connect(running.address);
        let scope = limit_ms.map_or(map(&[]), |limit| map(&[("tx_timeout", Value::Int(limit))]));
        client.send(&message(BEGIN, vec![scope]));
        client.expect(SUCCESS);
        if limit_ms != Some(1) {
            client.send(&[run("UNWIND range(1, 3000) AS i RETURN i", map(&[])), portion(PULL, 1, -1)].concat());
            client.expect(SUCCESS);
            expect_rows(&mut client, 1..2);
        }
        std::thread::sleep(Duration::from_millis(5));
        client.send(&run(&endless_write(), map(&[])));
        if limit_ms.is_none() {
            std::thread::sleep(Duration::from_millis(50));
            client.send(&message(RESET, vec![]));
            client.expect(IGNORED);
            client.expect(SUCCESS);
        } else {
            let (code, text) = client.failure();
            assert!(code.contains("TransactionTimedOut") && !text.contains("0ns"), "{code} {text}");
            client.send(&portion(PULL, 1, -1));
            client.expect(IGNORED);
            client.reset();
        }
        assert_eq!(client.rows("RETURN 1 AS x"), 1);
    }
}

#[test]
fn requests_for_rows_that_cannot_be_answered_do_not_take_answers_with_them() {
    let running = Running::start(Settings::default());
    let slow = "UNWIND range(1, 2000000) AS i WITH i WHERE i % 7 = 9 RETURN i";
    for behind in ["", " UNION ALL ", " UNION ALL UNWIND range(1, 4000) AS i RETURN i UNION ALL "] {
        let tail = if behind.is_empty() { "" } else { slow };
        let statement = run(&format!("UNWIND range(1, 3000) AS i RETURN i{behind}{tail}"), map(&[]));
        let begin = message(BEGIN, vec![map(&[])]);
        // A stream that is not there, among others.
        let mut client = Client::connect(running.address);
        let (good, bad) = (portion(PULL, 1, 0), portion(PULL, 1, 7));
        client.send(&[&begin[..], &statement, &good, &bad, &good, &message(COMMIT, vec![])].concat());
        client.expect(SUCCESS);
        client.expect(SUCCESS);
        expect_rows(&mut client, 1..2);
        client.expect(FAILURE);
        client.expect(IGNORED);
        client.expect(IGNORED);
        client.reset();
        client.send(&[&begin[..], &statement, &bad, &good].concat());
        client.expect(SUCCESS);
        client.expect(SUCCESS);
        client.expect(FAILURE);
        client.expect(IGNORED);
        client.reset();
        assert_eq!(client.rows("RETURN 1 AS x"), 1);
        // Requests that are none end the connection once they are told.
        for wrong in [map(&[("n", Value::Int(0))]), map(&[("n", Value::Int(-2))]), map(&[])] {
            let wrong = message(PULL, vec![wrong]);
            for good in [vec![], portion(PULL, 1, -1)] {
                let mut client = Client::connect(running.address);
                client.send(&[&statement[..], &good, &wrong].concat());
                client.expect(SUCCESS);
                if !good.is_empty() {
                    expect_rows(&mut client, 1..2);
                }
                client.expect(FAILURE);
                assert!(client.is_closed());
            }
        }
    }
}
