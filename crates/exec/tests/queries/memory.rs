//! Queries with less memory than they need: they spill, give the same answers, and leave nothing behind.

use std::path::PathBuf;
use std::sync::Arc;

use exec::{QueryMemory, RunSettings, SpillSpace};
use model::{ErrorCode, Map, MemoryBudget, Result};
use testing::ReferenceStore;
use testing::simulation::{FaultyDisk, MemoryDisk};

use super::{Answer, execute};

/// Runs something with no memory beyond what work needs in any case, and checks that all is given back.
pub(crate) fn with_tiny<T>(work: impl FnOnce(&QueryMemory) -> T) -> T {
    with_limit(0, work)
}

pub(super) fn with_limit<T>(limit: usize, work: impl FnOnce(&QueryMemory) -> T) -> T {
    let budget = MemoryBudget::new(1 << 30);
    let disk = MemoryDisk::new();
    disk.put_directory(&PathBuf::from("spill"));
    let space = SpillSpace::new(Arc::new(disk), vec![PathBuf::from("spill")]);
    let memory = QueryMemory::new(budget.clone(), Some(limit), space.clone());
    let outcome = work(&memory);
    assert_eq!((memory.used(), space.open_files()), (0, 0), "a query gives back what it took");
    drop(memory);
    assert_eq!(budget.used(), 0);
    outcome
}

/// Two answers must be the same except for the order of rows.
pub(crate) fn compare(text: &str, answer: &Result<Answer>, spilled: &Result<Answer>) {
    match (answer, spilled) {
        (Ok((rows, _)), Ok((spilled, _))) => {
            let (mut rows, mut spilled) = (rows.clone(), spilled.clone());
            rows.sort();
            spilled.sort();
            assert_eq!(spilled, rows, "{text}: with little memory (left) and without limit (right)");
        }
        (Err(error), Err(spilled)) => assert_eq!(spilled.code(), error.code(), "{text}: {error:?}, {spilled:?}"),
        (Ok(_), Err(error)) => panic!("{text} fails with little memory: {error:?}"),
        (Err(error), Ok(_)) => panic!("{text} fails only with much memory: {error:?}"),
    }
}

/// Queries over many rows; those that order their result are compared row by row.
const QUERIES: &[&str] = &[
    "UNWIND range(1, 20000) AS i WITH i, (i * 7919) % 20011 AS k RETURN k, i ORDER BY k % 100, -i",
    "UNWIND range(1, 20000) AS i RETURN i % 7 AS k, toString(i) AS t ORDER BY k DESC, t",
    "UNWIND range(1, 20000) AS i RETURN i % 10 AS k, i ORDER BY k LIMIT 9000",
    "UNWIND range(1, 20000) AS i RETURN i % 10 AS k, i ORDER BY k SKIP 15000 LIMIT 10",
    "UNWIND range(1, 20000) AS i RETURN DISTINCT (i * 31) % 4999 AS k",
    "UNWIND range(1, 20000) AS i WITH DISTINCT i % 3 AS a, toString(i % 5000) AS b RETURN a, b",
    "UNWIND range(1, 20000) AS i RETURN (i * 31) % 4999 AS k, count(*) AS c, sum(i) AS s, min(i), max(toString(i))",
    "UNWIND range(1, 20000) AS i RETURN i % 997 AS k, collect(i) AS l",
    "UNWIND range(1, 20000) AS i RETURN {a: [j IN range(1, 3) | {q: j, w: i % 6007}]} AS k, size(collect(i)) AS s, \
     avg(DISTINCT i * 7 % 1000) AS d",
    "UNWIND range(1, 20000) AS i RETURN i % 997 AS k, count(DISTINCT i % 7) AS c, collect(DISTINCT i % 3) AS l",
    "UNWIND range(1, 20000) AS i RETURN i % 997 AS k, percentileCont(i, 0.5) AS p, percentileDisc(i, 0.1) AS d",
    "UNWIND range(1, 20000) AS i RETURN count(DISTINCT (i * 31) % 14999), count(DISTINCT toString(i % 9000)), count(*)",
    "UNWIND range(1, 20000) AS i RETURN sum(DISTINCT i % 8000), avg(DISTINCT i % 7000), max(DISTINCT i), avg(i)",
    "UNWIND range(1, 20000) AS i WITH CASE WHEN i % 2 = 0 THEN i % 3000 ELSE toFloat(i % 3000) END AS x \
     RETURN count(DISTINCT x), percentileDisc(DISTINCT toInteger(x), 0.3), sum(DISTINCT x)",
    "UNWIND range(1, 20000) AS i WITH (i * 7919) % 20011 AS x \
     RETURN percentileCont(x, 0.37), percentileDisc(toFloat(x % 17), 0.9), percentileCont(x, 0), percentileDisc(x, 1.0)",
    "UNWIND range(1, 20000) AS i WITH (i * 7919) % 20011 AS x RETURN percentileCont(DISTINCT x % 9973, 0.25) AS p",
    "UNWIND range(1, 20000) AS i WITH CASE i % 2 WHEN 0 THEN -1 ELSE i END AS k, i \
     RETURN k, count(DISTINCT i) AS c, percentileDisc(i, 0.5) AS p, count(DISTINCT toString(i)) AS t",
    "UNWIND range(1, 20000) AS i RETURN i % 3 AS k, count(DISTINCT toString(i)) AS c, stDev(DISTINCT i) > 1 AS d, \
     percentileCont(i, 0.75) AS p, sum(i) AS s",
    "UNWIND range(1, 8000) AS i CREATE (:A {k: i, t: toString(i % 5000)});\n\
     MATCH (a:A) RETURN count(DISTINCT a.t), percentileCont(a.k, 0.5), count(DISTINCT a), count(*), sum(DISTINCT a.k)",
    "UNWIND range(1, 8000) AS i CREATE (:A {k: i % 2, t: toString(i)});\n\
     MATCH (a:A) RETURN a.k AS k, count(DISTINCT a.t), percentileDisc(toInteger(a.t), 0.5), count(DISTINCT a)",
    "UNWIND range(1, 20000) AS i RETURN i % 997 AS k, stDev(i) > 0 AS p, avg(toFloat(i % 4)) AS d",
    "UNWIND range(1, 20000) AS i WITH i % 5000 AS k, collect(DISTINCT toString(i)) AS l WHERE size(l) > 3 RETURN k, l[0]",
    "UNWIND range(1, 6000) AS i CREATE (:A {k: i % 1000, t: toString(i)}), (:B {k: i % 1500});\n\
     MATCH (a:A), (b:B) WHERE a.k = b.k AND a.k > 100 RETURN a.t, b.k",
    "UNWIND range(1, 3000) AS i CREATE (:A {k: i % 3}), (:B {k: i % 2});\n\
     MATCH (a:A), (b:B) WHERE a.k = b.k RETURN a.k, count(*)",
    "UNWIND range(1, 500) AS i CREATE (:A {k: i}), (:B {k: i});\nMATCH (a:A), (b:B) RETURN sum(a.k * b.k), count(*)",
    "UNWIND range(1, 3000) AS i CREATE (:A {k: i});\nMATCH (a:A), (b:A) RETURN count(*)",
    "UNWIND range(1, 5000) AS i CREATE (:A {k: i % 500})-[:R]->(:B {i: i});\n\
     MATCH (a:A)-[:R]->(b) WITH a.k AS k, b ORDER BY b.i RETURN k, collect(b.i)[0..3] AS l ORDER BY k",
];

fn store_of(script: &str, settings: RunSettings) -> (ReferenceStore, String) {
    let store = ReferenceStore::new();
    let mut statements: Vec<&str> = script.split(";\n").collect();
    let last = statements.pop().expect("a script ends with a statement").trim().to_string();
    for statement in statements {
        execute(&store, statement.trim(), &Map::default(), settings).expect("the graph can be made");
    }
    (store, last)
}

#[test]
fn large_results_spill_and_stay_the_same() {
    for script in QUERIES {
        for (threads, batch_rows) in [(1, 2_048), (3, 100)] {
            let settings = RunSettings { threads, batch_rows, parallel_nodes_min: 0, ..RunSettings::default() };
            let (store, query) = store_of(script, settings);
            let (expected, _) = super::run_with(&store, &query, &Map::default(), settings, &QueryMemory::unlimited())
                .unwrap_or_else(|error| panic!("{query}: {error:?}"));
            for limit in [0, 20_000, 200_000] {
                let place = format!("{query} with {limit} bytes, {threads} threads");
                let (found, spilled) = with_limit(limit, |memory| {
                    let found = super::run_with(&store, &query, &Map::default(), settings, memory);
                    let (rows, _) = found.unwrap_or_else(|error| panic!("{place}: {error:?}"));
                    (rows, memory.spilled())
                });
                assert!(spilled > 0 || limit > 20_000 || query.ends_with("count(*)"), "{place} spills nothing");
                if query.contains("(a:A), (b:") {
                    let sorted = |mut rows: Vec<String>| {
                        rows.sort();
                        rows
                    };
                    assert_eq!(sorted(found), sorted(expected.clone()), "{place}");
                } else {
                    assert_eq!(found, expected, "{place}");
                }
            }
        }
    }
}

#[test]
fn what_cannot_spill_names_the_limit() {
    let store = ReferenceStore::new();
    for (query, operator) in [
        ("UNWIND range(1, 200000) AS i RETURN collect(i)", "collect(): Aggregate"),
        ("UNWIND range(1, 200000) AS i RETURN i % 2 AS k, collect(i)", "collect(): Aggregate"),
        (
            "UNWIND range(1, 200000) AS i RETURN count(DISTINCT i), collect(DISTINCT toString(i))",
            "collect(): Aggregate",
        ),
    ] {
        with_limit(500_000, |memory| {
            let outcome = super::run_with(&store, query, &Map::default(), RunSettings::default(), memory);
            let error = outcome.expect_err(query);
            assert_eq!(error.code(), ErrorCode::Limit, "{query}: {error:?}");
            assert!(error.message().starts_with(operator), "{query}: {error:?}");
            assert!(error.message().contains("500000 bytes it may hold"), "{query}: {error:?}");
            assert!(error.remedy().contains("query_memory_max"), "{query}: {error:?}");
        });
    }
}

/// Runs a query within a limit on a disk that is full from an operation on: that is its error, and nothing is left.
pub(super) fn check_full_disk(store: &ReferenceStore, query: &str, operation: u64, limit: usize) {
    let disk = MemoryDisk::new();
    disk.put_directory(&PathBuf::from("spill"));
    let disk = FaultyDisk::new(Arc::new(disk));
    disk.fill_at(operation);
    let space = SpillSpace::new(Arc::new(disk), vec![PathBuf::from("spill")]);
    let budget = MemoryBudget::new(1 << 30);
    let memory = QueryMemory::new(budget.clone(), Some(limit), space.clone());
    let outcome = super::run_with(store, query, &Map::default(), RunSettings::default(), &memory);
    let error = outcome.map(|(rows, _)| rows).expect_err(query);
    assert_eq!(error.code(), ErrorCode::DiskFull, "{query} at {operation}: {error:?}");
    assert!(error.remedy().contains("free space"), "{error:?}");
    drop(memory);
    assert_eq!((budget.used(), space.open_files()), (0, 0), "{query}");
}

#[test]
fn a_full_disk_is_an_error_and_nothing_is_left() {
    let store = ReferenceStore::new();
    let query = "UNWIND range(1, 20000) AS i RETURN (i * 31) % 4999 AS k, count(*) ORDER BY k";
    for operation in [0, 1, 5, 40] {
        check_full_disk(&store, query, operation, 10_000);
    }
}
