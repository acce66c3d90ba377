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
