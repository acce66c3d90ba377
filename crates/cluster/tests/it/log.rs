//! The log: epochs that are dropped while a process sleeps, checkpoints, commits that share a record, and clients that get
//! in each other's way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cluster::ClusterStore;
use cluster::tables::{Appended, Fault, LogPage, Page, PageAsk, Place, Row, RowWrite, Slice, Table, Tables};
use model::{ErrorCode, GraphStore, NodeId, Value};
use testing::differential::{Content, assert_same_content};

use crate::graph::{add_node, named, open, prepare, set, value};
use crate::ring::{Canary, Client, Faults, Ring};

fn set_once(store: &ClusterStore, node: NodeId, number: i64) -> model::Result<()> {
    let mut transaction = store.write()?;
    set(&mut *transaction, node, "x", Value::Int(number))?;
    transaction.commit()
}

/// A process sleeps in a transaction while others commit, and drop the epoch in which its record would be: the outcome of its
/// commit, the value that it wrote as others see it, and as it sees it.
fn sleeper(canary: Option<Canary>) -> (Option<ErrorCode>, Value, Value) {
    let ring = Ring::new(11, 3, Faults::NONE);
    let (a, b) = (open(&ring.client(0), 1, 1), open(&ring.client(1), 1, 2));
    let nodes = prepare(&a).expect("preparing a graph");
    set_once(&a, nodes[1], 0).expect("committing");
    ring.trouble(Faults::NONE, canary);
    let mut asleep = b.write().expect("beginning a transaction");
    set(&mut *asleep, nodes[0], "x", Value::Int(-1)).expect("writing");
    for number in 0..60 {
        set_once(&a, nodes[1], number).expect("committing");
    }
    set_once(&a, nodes[0], 7).expect("committing");
    let dropped = a.trim().expect("dropping epochs");
    assert!(dropped >= 4, "{dropped} epochs were dropped");
    let outcome = asleep.commit().err().map(|error| error.code());
    let seen = [&a, &b].map(|store| {
        let view = store.read().expect("taking a snapshot");
        value(&*view, nodes[0], "x").expect("reading")
    });
    let [by_others, by_itself] = seen;
    (outcome, by_others, by_itself)
}

#[test]
fn a_process_that_slept_takes_no_number_of_a_dropped_epoch() {
    let (outcome, by_others, by_itself) = sleeper(None);
    assert_eq!((outcome, by_others, by_itself), (Some(ErrorCode::Conflict), Value::Int(7), Value::Int(7)));
    // The canary: without the seal nobody compares it with the other write of the node.
    let (outcome, ..) = sleeper(Some(Canary::NeverSeals));
    assert_eq!(outcome, None, "an epoch that is dropped and not sealed takes a commit that is too late");
}

#[test]
fn a_process_that_slept_goes_on_from_the_checkpoint() {
    let ring = Ring::new(12, 3, Faults::NONE);
    let (a, b) = (open(&ring.client(0), 1, 1), open(&ring.client(1), 1, 2));
    let nodes = prepare(&a).expect("preparing a graph");
    assert_eq!(named(&*b.read().expect("a snapshot")).expect("reading").len(), 4);
    for number in 0..100 {
        set_once(&a, nodes[1], number).expect("committing");
    }
    assert!(a.trim().expect("dropping epochs") > 8);
    assert_eq!(a.trim().expect("dropping none"), 0, "what is dropped is not dropped again");
    let content = Content::of(&*a.read().expect("taking a snapshot"));
    assert_same_content(&Content::of(&*b.read().expect("taking a snapshot")), &content);
    set_once(&b, nodes[1], 1_000).expect("committing");
    let third = open(&ring.client(2), 1, 3);
    assert_eq!(third.sequence().expect("following"), a.sequence().expect("following"));
    assert_eq!(value(&*third.read().expect("a snapshot"), nodes[1], "x").expect("reading"), Value::Int(1_000));
}

/// A client whose appends wait, once it is made slow, until others have written the bodies of their transactions, and then a little.
#[derive(Debug)]
struct Slow {
    inner: Arc<Client>,
    /// Bodies to wait for; none at first.
    bodies: AtomicU64,
    written: AtomicU64,
    appends: AtomicU64,
}

impl Tables for Slow {
    fn write(&self, rows: &[RowWrite]) -> Result<(), Fault> {
        let outcome = self.inner.write(rows);
        let is_body = rows.iter().any(|row| row.table == Table::LogBody);
        self.written.fetch_add(u64::from(is_body), Ordering::Relaxed);
        outcome
    }

    fn read(&self, slices: &[Slice], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<Row>>, Fault> {
        self.inner.read(slices, is_cancelled)
    }

    fn append(&self, place: Place, record: &[u8]) -> Result<Appended, Fault> {
        let bodies = self.bodies.load(Ordering::Relaxed);
        while self.written.load(Ordering::Relaxed) < bodies {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Those that have written their bodies queue up next.
        std::thread::sleep(Duration::from_millis(20));
        self.appends.fetch_add(1, Ordering::Relaxed);
        self.inner.append(place, record)
    }

    fn scan(&self, pages: &[PageAsk], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Page>, Fault> {
        self.inner.scan(pages, is_cancelled)
    }

    fn read_place(&self, place: Place) -> Result<Option<Arc<[u8]>>, Fault> {
        self.inner.read_place(place)
    }

    fn follow(&self, graph: i64, epoch: i64, after: i64) -> Result<LogPage, Fault> {
        self.inner.follow(graph, epoch, after)
    }

    fn seal(&self, graph: i64, epoch: i64) -> Result<(), Fault> {
        self.inner.seal(graph, epoch)
    }

    fn pause(&self, attempts: u32) {
        self.inner.pause(attempts);
    }

    fn wait(&self, ns: u64) {
        self.inner.wait(ns);
    }
}

#[test]
fn commits_that_wait_together_share_a_record() {
    const WRITERS: u64 = 8;
    let ring = Ring::new(13, 3, Faults::NONE);
    let client = ring.client(0);
    let settings = client.settings(1, 1);
    let slow = Arc::new(Slow {
        inner: client,
        bodies: AtomicU64::new(0),
        written: AtomicU64::new(0),
        appends: AtomicU64::new(0),
    });
    let store = ClusterStore::open(slow.clone(), settings).expect("opening a graph");
    // Names and a block of ids, which have records of their own.
    let mut transaction = store.write().expect("beginning a transaction");
    add_node(&mut *transaction, &[("name", Value::Int(0)), ("text", Value::Int(0))]).expect("adding a node");
    transaction.commit().expect("committing");
    slow.bodies.store(WRITERS, Ordering::Relaxed);
    let before = slow.appends.swap(0, Ordering::Relaxed);
    assert_eq!(before, 2, "appends of a block and of a commit");
    std::thread::scope(|scope| {
        for writer in 1..=WRITERS as i64 {
            let store = &store;
            scope.spawn(move || {
                let mut transaction = store.write().expect("beginning a transaction");
                let text = Value::from("long ".repeat(2_000));
                add_node(&mut *transaction, &[("name", Value::Int(writer)), ("text", text)]).expect("adding a node");
                transaction.commit().expect("committing");
            });
        }
    });
    let appends = slow.appends.load(Ordering::Relaxed);
    assert!(appends <= 4, "{WRITERS} transactions were committed by {appends} appends");
    let other = open_plain(&ring);
    assert_eq!(named(&*other.read().expect("a snapshot")).expect("reading").len(), WRITERS as usize + 1);
    Content::of(&*other.read().expect("a snapshot"));
}

fn open_plain(ring: &Arc<Ring>) -> ClusterStore {
    let client = ring.client(9);
    let settings = client.settings(1, 9);
    ClusterStore::open(client, settings).expect("opening a graph")
}

#[test]
fn a_majority_that_is_away_is_told_and_comes_back() {
    let ring = Ring::new(14, 3, Faults::NONE);
    let store = open(&ring.client(0), 1, 1);
    let nodes = prepare(&store).expect("preparing a graph");
    let view = store.read().expect("taking a snapshot");
    ring.take_away(2);
    let failures = [
        store.read().err(),
        store.write().err(),
        value(&*view, nodes[0], "name").err(),
        ClusterStore::open(ring.client(1), ring.client(1).settings(1, 5)).err(),
    ];
    for failure in failures {
        let failure = failure.expect("without a majority nothing is read");
        assert_eq!(failure.code(), ErrorCode::Connection, "{failure:?}");
        assert!(!failure.message().is_empty());
    }
    ring.calm();
    assert_eq!(value(&*view, nodes[0], "name").expect("reading"), Value::Int(0));
    set_once(&store, nodes[0], 5).expect("committing");
}
