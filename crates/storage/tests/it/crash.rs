//! Kills a process that writes, at random moments, and opens what it leaves.
//!
//! The child is this test binary, run again with an environment variable that says where its store is. It writes the
//! number of each acknowledged transaction to its standard output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use model::GraphStore;
use storage::{NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;
use crate::numbered;

const PATH: &str = "KNOTWORK_TEST_CRASH_STORE";
const MEMTABLE_BYTES: &str = "KNOTWORK_TEST_CRASH_MEMTABLE_BYTES";

/// Work of the child process; nothing when run as a test.
#[test]
fn child() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let memtable_bytes_max = std::env::var(MEMTABLE_BYTES).unwrap().parse().unwrap();
    let options = OpenOptions { memtable_bytes_max, ..OpenOptions::create() };
    let store = NativeStore::open(path.as_ref(), options, storage::os::platform()).unwrap();
    let mut out = std::io::stdout();
    for number in numbered::check(&*store.read().unwrap()) + 1.. {
        numbered::commit_number(&store, number).unwrap();
        writeln!(out, "\nacknowledged {number}").unwrap();
        out.flush().unwrap();
    }
}

/// Moment from which the delay before a kill counts.
#[derive(Clone, Copy, PartialEq)]
enum From {
    /// The start of the process, so that some are killed while they open the store.
    Start,
    /// Its first commit, so that some have committed, however busy the machine is.
    FirstCommit,
}

/// Runs the child and kills it after a while; the last number that it acknowledged.
fn run_and_kill(directory: &TestDirectory, memtable_bytes_max: usize, from: From, delay: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture", "--test-threads=1"])
        .env(PATH, directory.path())
        .env(MEMTABLE_BYTES, memtable_bytes_max.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (first, has_committed) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let numbers = out.lines().map_while(Result::ok);
        let numbers = numbers.filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok());
        numbers.inspect(|_| first.send(()).unwrap_or_default()).last().unwrap_or(0)
    });
    if from == From::FirstCommit {
        has_committed.recv().unwrap();
    }
    std::thread::sleep(delay);
    assert_eq!(child.try_wait().unwrap(), None, "the child writes until it is killed");
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

fn check(seed: u64, rounds: usize, memtable_bytes_max: usize) {
    let mut random = SeededRandom::new(seed);
    let directory = TestDirectory::new();
    let mut found = 0;
    for round in 0..rounds {
        let delay = Duration::from_micros(20_000 + random.below(60_000));
        let from = if round % 2 == 0 { From::FirstCommit } else { From::Start };
        let acknowledged = run_and_kill(&directory, memtable_bytes_max, from, delay).max(found);
        let store = directory.open();
        found = numbered::check(&*store.read().unwrap());
        let place = format!("seed {seed}, round {round}: {acknowledged} acknowledged, {found} found");
        assert!(found == acknowledged || found == acknowledged + 1, "{place}");
        drop(store);
        numbered::check_files(&directory.platform(), directory.path());
    }
    assert!(found > 0, "the child committed something");
}

#[test]
fn a_killed_process_loses_no_acknowledged_commit() {
    check(seed_or(7), 12, usize::MAX);
}

#[test]
fn nor_does_one_that_writes_files_all_the_time() {
    check(seed_or(8), 25, 2_500);
}

#[test]
fn a_store_open_in_another_process_is_busy() {
    let directory = TestDirectory::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture", "--test-threads=1"])
        .env(PATH, directory.path())
        .env(MEMTABLE_BYTES, usize::MAX.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("acknowledged ")));
    let error = NativeStore::open(directory.path(), OpenOptions::default(), directory.platform()).unwrap_err();
    assert_eq!(error.code(), model::ErrorCode::Busy);
    assert!(error.message().contains(&*directory.path().to_string_lossy()));
    child.kill().unwrap();
    child.wait().unwrap();
    drop(directory.open());
}
