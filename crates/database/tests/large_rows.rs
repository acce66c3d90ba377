//! Statements that keep rows of every kind of value, more than the memory: in a process of its own, whose allocations are counted.
//! An estimate of a row that is too small shows here.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use database::session::ResultSink;
use database::{Config, Database, Durability, ErrorCode, Parameters, ResultBatch};
use testing::Folder;

const ROWS: usize = 60_000;
const MEMORY_BYTES: usize = 24 << 20;
/// Bytes that may be held besides: batches on their way, and values that were made and not yet accounted for.
const BESIDES_BYTES: usize = 16 << 20;

/// Kinds of values, as expressions of `i`; some of nodes `n`, relationships `r` and paths `p`.
const KINDS: [(&str, &str); 22] = [
    ("integer", "i"),
    ("text", "toString(i)"),
    (
        "long text",
        "toString(i) + ' is a text of some hundred bytes, as a name, a title or an address may well be in a store'",
    ),
    ("list of integers", "range(i, i + 9)"),
    ("list of texts", "[x IN range(0, 5) | toString(i + x)]"),
    ("list of lists", "[x IN range(0, 3) | [x, i]]"),
    ("empty list", "[x IN range(0, 5) WHERE x > i + 9]"),
    ("map", "{a: i, b: toString(i)}"),
    ("map of one", "{a: i}"),
    ("map of many", "{a: i, b: 1, c: 2, d: 3, e: 4, f: 5, g: 6, h: 7, j: 8, k: 9, l: 10, m: 11}"),
    ("map of maps", "{a: {b: {c: i}}}"),
    ("list of maps", "[x IN range(0, 3) | {a: x, b: i}]"),
    ("list of an integer and a map", "[i, {a: i}]"),
    ("map of a list of kinds", "{b: [i, {a: 1}, 'x']}"),
    ("list of lists of kinds", "[i, [i, 'a'], [[i], {a: 1}]]"),
    ("properties", "properties(n)"),
    ("date and time", "datetime({year: 2000 + i % 20, timezone: 'Europe/Paris'}) + duration({seconds: i})"),
    ("duration", "duration({seconds: i})"),
    ("point", "point({x: i, y: 1})"),
    ("node", "n"),
    ("path", "p"),
    ("mixed", "CASE i % 3 WHEN 0 THEN i WHEN 1 THEN toString(i) ELSE {a: i} END"),
];

/// Ways to keep rows, with the number of rows that they give.
const WAYS: [(&str, usize); 7] = [
    ("WITH i, # AS v RETURN v ORDER BY (i * 7919) % 60013", ROWS),
    ("WITH i, # AS v RETURN v ORDER BY (i * 7919) % 60013 LIMIT 50000", 50_000),
    ("WITH # AS v RETURN DISTINCT v", ROWS),
    ("WITH # AS v RETURN v, count(*)", ROWS),
    ("WITH i, # AS v RETURN i % 5000 AS k, collect(v) AS l", 5_000),
    ("WITH # AS v RETURN count(DISTINCT v)", 1),
    ("WITH i, # AS v RETURN i % 20 AS k, collect(DISTINCT v) AS l", 20),
];

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Counts the bytes that are held.
struct Counting;

// SAFETY: each call is handed on as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts rows, and keeps none.
#[derive(Default)]
struct Counter(usize);

impl ResultSink for Counter {
    fn columns(&mut self, _names: &[Arc<str>]) -> database::Result<()> {
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> database::Result<bool> {
        self.0 += batch.rows;
        Ok(true)
    }
}

#[test]
fn statements_that_keep_rows_of_any_kind_stay_within_the_limit() {
    let folder = Folder::new();
    let config =
        Config { durability: Durability::Off, memory_bytes_max: Some(MEMORY_BYTES), threads: 2, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("the store of a test can be opened");
    let mut session = database.session();
    let mut run = |text: &str| {
        let mut counter = Counter::default();
        let outcome = session.run(text, &Parameters::default(), &mut counter);
        outcome.map(|_| counter.0).map_err(|failure| failure.code())
    };
    run(&format!("UNWIND range(0, {}) AS i CREATE (:N {{i: i, s: toString(i)}})-[:R {{w: i}}]->(:M)", ROWS - 1))
        .expect("nodes can be made");
    database.checkpoint().expect("a store can be flushed");
    let mut faults = Vec::new();
    for (kind, expression) in KINDS {
        for (way, expected) in WAYS {
            let text = format!("MATCH p = (n:N)-[r:R]->() WITH n.i AS i, n, r, p {}", way.replace('#', expression));
            let before = HELD.load(Ordering::Relaxed);
            MOST.store(before, Ordering::Relaxed);
            let found = run(&text);
            let more = MOST.load(Ordering::Relaxed) - before;
            eprintln!("{kind}: {way}: {} MiB, {found:?}", more >> 20);
            let is_one = kind == "empty list";
            let is_right = match found {
                Ok(rows) => rows == expected || is_one && rows <= expected,
                Err(code) => code == ErrorCode::Limit && way.contains("DISTINCT v) AS l"),
            };
            if !is_right || more > MEMORY_BYTES + BESIDES_BYTES {
                faults.push(format!("{kind}: {way}: {} MiB, {found:?}", more >> 20));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
