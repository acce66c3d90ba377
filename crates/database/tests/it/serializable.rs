//! Two serializable transactions at once: the second reads and writes, the first commits in between; which are refused.

use database::{Config, Database, Durability, Error, ErrorCode, IsolationLevel, Parameters, Session};
use testing::Folder;

use crate::engine::answer_of;

const GRAPH: &[&str] = &[
    "CREATE CONSTRAINT k FOR (k:K) REQUIRE k.id IS UNIQUE",
    "CREATE INDEX city FOR (p:P) ON (p.city)",
    "CREATE (:P {id: 1, n: 70, city: 'A'})-[:R {n: 0}]->(:P {id: 2, n: 80, city: 'B'}), (:P {id: 3})-[:S]->(:Q {id: 4})",
    "CREATE (:K {id: 1, n: 0}), (:K {id: 2, n: 0}), (:Log {n: 0}), (:New {n: 0})",
];

fn run(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let answer = answer_of(session, text, &Parameters::default())?;
    Ok(answer.rows.iter().map(|row| row.join(",")).collect())
}

/// The second transaction reads, the first writes and commits, the second writes elsewhere: what its commit gives.
fn second_commit(isolation: IsolationLevel, reads: &str, first: &str, second: &str) -> Result<(), Error> {
    let folder = Folder::new();
    let config = Config { durability: Durability::Off, threads: 1, isolation, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
    let (mut one, mut other) = (database.session(), database.session());
    GRAPH.iter().for_each(|text| drop(run(&mut one, text).expect("the graph can be made")));
    database.checkpoint().expect("it can be written");
    other.begin().expect("none is open");
    one.begin().expect("none is open");
    run(&mut other, reads).unwrap_or_else(|error| panic!("{reads}: {error}"));
    run(&mut one, first).unwrap_or_else(|error| panic!("{first}: {error}"));
    run(&mut other, second).unwrap_or_else(|error| panic!("{second}: {error}"));
    one.commit().expect("the first to commit wins");
    other.commit()
}

const LOG: &str = "CREATE (:Log {n: 1})";

/// A query that reads, a change by another transaction, and whether that matters.
const CASES: &[(&str, &str, bool)] = &[
    // Values of nodes that were found by a scan; the properties of a node are one item.
    ("MATCH (p:P) WHERE p.id < 3 RETURN sum(p.n)", "MATCH (p:P {id: 1}) SET p.n = 0", true),
    ("MATCH (p:P) WHERE p.id < 3 RETURN sum(p.n)", "MATCH (p:P {id: 1}) SET p.city = 'C'", true),
    ("MATCH (q:Q) RETURN q.id", "MATCH (p:P {id: 1}) SET p.n = 0", false),
    // Phantoms of scans.
    ("MATCH (p:P) RETURN count(*)", "CREATE (:P {id: 9})", true),
    ("MATCH (p:P) RETURN count(*)", "CREATE (:Q {id: 9})", false),
    ("MATCH (p:P) RETURN count(*)", "MATCH (k:K {id: 1}) SET k:P", true),
    ("MATCH (p:P) RETURN count(*)", "MATCH (p:P {id: 2}) REMOVE p:P", true),
    ("MATCH (p:P) RETURN count(*)", "MATCH (p:P {id: 3})-[s:S]->(q) DELETE s, p", true),
    ("MATCH (n) RETURN count(*)", "CREATE (:Q)", true),
    ("MATCH (p:P) RETURN count(*)", "MATCH (p:P {id: 1}) SET p.n = 0", false),
    // Names that are new.
    ("MATCH (u:Unknown) RETURN u", "CREATE (:Unknown)", true),
    // Unique values, found and missed.
    ("MATCH (k:K {id: 7}) RETURN k", "CREATE (:K {id: 7})", true),
    ("MATCH (k:K {id: 7}) RETURN k", "CREATE (:K {id: 8})", false),
    ("MATCH (k:K {id: 7}) RETURN k", "MATCH (k:K {id: 1}) SET k.id = 7", true),
    ("MATCH (k:K {id: 1}) RETURN k.n", "MATCH (k:K {id: 1}) SET k.n = 7", true),
    ("MATCH (k:K {id: 1}) RETURN k.n", "MATCH (k:K {id: 2}) SET k.n = 7", false),
    ("MATCH (k:K {id: 1}) RETURN count(k)", "MATCH (k:K {id: 1}) DELETE k", true),
    // An ordered index: equal values and ranges.
    ("MATCH (p:P {city: 'Z'}) RETURN p.id", "CREATE (:P {city: 'Z'})", true),
    ("MATCH (p:P {city: 'Z'}) RETURN p.id", "MATCH (p:P {id: 1}) SET p.city = 'Z'", true),
    ("MATCH (p:P) WHERE p.city > 'Y' RETURN p.id", "MATCH (p:P {id: 1}) SET p.city = 'Z'", true),
    // Edges of a node.
    ("MATCH (:P {id: 1})-[r:R]->() RETURN count(r)", "MATCH (a:P {id: 1}), (q:Q) CREATE (a)-[:R]->(q)", true),
    ("MATCH (:P {id: 1})-[r:R]->() RETURN count(r)", "MATCH (a:P {id: 1}), (q:Q) CREATE (a)-[:S]->(q)", false),
    ("MATCH (:P {id: 1})-[r:R]->() RETURN r.n", "MATCH ()-[r:R]->() SET r.n = 5", true),
    ("MATCH (:P {id: 2})<-[r]-() RETURN count(r)", "MATCH ()-[r:R]->() DELETE r", true),
    ("MATCH (:P {id: 1})-->(x:P) RETURN count(*)", "MATCH (p:P {id: 2}) REMOVE p:P", true),
    // Rows that the other transaction only reads.
    ("MATCH (p:P) RETURN sum(p.n)", "MATCH (p:P) RETURN sum(p.n)", false),
];

#[test]
fn what_was_read_must_still_be_so() {
    let mut wrong = Vec::new();
    for &(reads, first, matters) in CASES {
        match (matters, second_commit(IsolationLevel::Serializable, reads, first, LOG)) {
            (false, Ok(())) => {}
            (true, Err(error)) => {
                assert_eq!(error.code(), ErrorCode::Conflict, "{reads} / {first}: {error}");
                assert!(error.message().contains("the transaction read"), "{reads} / {first}: {error}");
            }
            (_, result) => wrong.push(format!("{reads} / {first}: {result:?}")),
        }
        // Snapshot isolation allows all of it, and a transaction that only reads can always commit.
        second_commit(IsolationLevel::Snapshot, reads, first, LOG).expect("it is no conflict of writes");
        second_commit(IsolationLevel::Serializable, "RETURN 1", first, reads).expect("it only reads");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn write_skew_is_refused() {
    let (reads, first, second) = (
        "MATCH (p:P) WHERE p.id < 3 RETURN sum(p.n)",
        "MATCH (p:P {id: 1}) SET p.n = p.n - 100",
        "MATCH (p:P {id: 2}) SET p.n = p.n - 100",
    );
    second_commit(IsolationLevel::Snapshot, reads, first, second).expect("a snapshot allows it");
    let error = second_commit(IsolationLevel::Serializable, reads, first, second).expect_err("it is refused");
    assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
}
