//! Load on a server of Bolt 5, for `benchmarks/server.py`: prints a line of JSON.
//!
//! ```text
//! server_load ADDRESS reads CONNECTIONS SECONDS KEYS     point reads by key: rate, and percentiles of their times in µs
//! server_load ADDRESS writes CONNECTIONS SECONDS KEYS    the same for SET of a property, each a transaction
//! server_load ADDRESS stream ROWS                        rows of one result: rate
//! server_load ADDRESS query STATEMENT                   nothing, once it was run
//! server_load ADDRESS idle CONNECTIONS                   connections that have run a statement, open until standard input ends
//! ```

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark measures, tells its figures, and ends if it cannot"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::{Address, Graph, Session};
use database::{Config, Parameters, ResultBatch, ResultSink, Value};
use model::{Interrupt, Result};

fn session(address: &str) -> Session {
    let password = std::env::var("KNOT_PASSWORD").ok();
    let address = Address::parse(address, password).expect("the address is right");
    Graph::connect(address, Config::default(), &Interrupt::new()).expect("the server answers").session()
}

fn argument(at: usize) -> String {
    std::env::args().nth(at).expect("the arguments are those of the first lines of this file")
}

fn number(at: usize) -> u64 {
    argument(at).parse().expect("the argument is a number")
}

/// Counts the rows of a result.
struct Counter(usize);

impl ResultSink for Counter {
    fn columns(&mut self, _names: &[Arc<str>]) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> Result<bool> {
        self.0 += batch.rows;
        Ok(true)
    }
}

/// Runs a statement with random keys over several connections for some seconds, after a tenth of that time that does not count.
fn load(address: &str, statement: &'static str) {
    let (connections, seconds, keys) = (number(3), number(4), number(5));
    let (is_counted, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let work = |seed: u64| {
        let (is_counted, is_over, address) = (is_counted.clone(), is_over.clone(), address.to_owned());
        move || {
            let (mut session, mut state, mut times) = (session(&address), seed, Vec::new());
            while !is_over.load(Ordering::Relaxed) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let key = Value::Int((state % keys) as i64);
                let parameters = Parameters::from_iter([("key".into(), key)]);
                let start = Instant::now();
                let found = session.query(statement, &parameters).expect("the statement is right");
                assert_eq!(found.row_count(), 1, "the key is there");
                if is_counted.load(Ordering::Relaxed) {
                    times.push(start.elapsed().as_nanos() as u64);
                }
            }
            times
        }
    };
    let threads: Vec<_> =
        (0..connections).map(|at| std::thread::spawn(work(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(at + 1)))).collect();
    std::thread::sleep(Duration::from_millis(seconds * 100));
    is_counted.store(true, Ordering::Relaxed);
    let start = Instant::now();
    std::thread::sleep(Duration::from_secs(seconds));
    is_over.store(true, Ordering::Relaxed);
    let elapsed = start.elapsed().as_secs_f64();
    let mut times: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect();
    times.sort_unstable();
    let percentile = |share: f64| times[((times.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    println!(
        "{{\"per_second\": {:.0}, \"p50_us\": {:.1}, \"p99_us\": {:.1}, \"max_us\": {:.1}}}",
        times.len() as f64 / elapsed,
        percentile(0.5),
        percentile(0.99),
        percentile(1.0)
    );
}

fn main() {
    let address = argument(1);
    match argument(2).as_str() {
        "reads" => load(&address, "MATCH (p:Person {id: $key}) RETURN p.name AS name"),
        "writes" => load(&address, "MATCH (p:Person {id: $key}) SET p.seen = $key RETURN p.seen AS seen"),
        "stream" => {
            let (mut session, mut counter) = (session(&address), Counter(0));
            let rows = number(3);
            let parameters = Parameters::from_iter([("rows".into(), Value::Int(rows as i64))]);
            let start = Instant::now();
            let statement = "UNWIND range(1, $rows) AS i RETURN i, i * 2 AS j";
            session.run(statement, &parameters, &mut counter).expect("the statement is right");
            assert_eq!(counter.0 as u64, rows);
            println!("{{\"rows_per_second\": {:.0}}}", rows as f64 / start.elapsed().as_secs_f64());
        }
        "query" => {
            let mut session = session(&address);
            session.query(&argument(3), &Parameters::default()).expect("the statement is right");
        }
        "idle" => {
            let mut held: Vec<Session> = (0..number(3)).map(|_| session(&address)).collect();
            for session in &mut held {
                session.query("RETURN 1 AS x", &Parameters::default()).expect("the server answers");
            }
            println!("{{\"connections\": {}}}", held.len());
            let _ = std::io::read_to_string(std::io::stdin());
        }
        other => panic!("there is no load {other}"),
    }
}
