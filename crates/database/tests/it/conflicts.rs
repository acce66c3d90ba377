//! Two transactions at once, step by step: which of them conflict, what the error names, and what is left.
//!
//! Both begin, the first does its statement, the second does its own, the first commits, the second commits.

use database::{Config, Database, Durability, Error, ErrorCode, Parameters, Session};
use testing::Folder;

use crate::engine::answer_of;

fn open(folder: &Folder) -> Database {
    let config = Config { durability: Durability::Off, threads: 1, ..Config::default() };
    Database::open(&folder.join("store.knot"), config).expect("a store can be opened")
}

fn run(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let answer = answer_of(session, text, &Parameters::default())?;
    Ok(answer.rows.iter().map(|row| row.join(",")).collect())
}

/// Two transactions on a graph.
struct Case {
    graph: &'static [&'static str],
    first: &'static str,
    second: &'static str,
    /// Words in the error of the second; none if it commits.
    conflict: Option<&'static [&'static str]>,
    query: &'static str,
    /// Result of the query after both, and if the second was refused, after it was repeated: or the code of its error.
    left: &'static str,
}

/// The graph of most cases.
const PAIR: &[&str] =
    &["CREATE (:P {id: 1, n: 0})-[:R {n: 0}]->(:P {id: 2, n: 0})", "CREATE (:P {id: 3}), (:Q {id: 4})"];
const UNIQUE: &[&str] = &["CREATE CONSTRAINT k FOR (k:K) REQUIRE k.id IS UNIQUE"];

const CASES: &[Case] = &[
    Case {
        graph: PAIR,
        first: "MATCH (p:P {id: 1}) SET p.n = p.n + 1",
        second: "MATCH (p:P {id: 1}) SET p.n = p.n + 10",
        conflict: Some(&["node"]),
        query: "MATCH (p:P {id: 1}) RETURN p.n",
        left: "11",
    },
    Case {
        graph: PAIR,
        first: "MATCH (p:P {id: 1}) SET p.n = 1",
        second: "MATCH (p:P {id: 2}) SET p.n = 2",
        conflict: None,
        query: "MATCH (p:P) WHERE p.id < 3 RETURN sum(p.n)",
        left: "3",
    },
    Case {
        graph: PAIR,
        first: "MATCH ()-[r:R]->() SET r.n = r.n + 1",
        second: "MATCH ()-[r:R]->() SET r.n = r.n + 10",
        conflict: Some(&[]),
        query: "MATCH ()-[r:R]->() RETURN r.n",
        left: "11",
    },
    Case {
        graph: PAIR,
        first: "MATCH ()-[r:R]->() DELETE r",
        second: "MATCH ()-[r:R]->() SET r.n = 5",
        conflict: Some(&[]),
        query: "MATCH ()-[r:R]->() RETURN count(r)",
        left: "0",
    },
    Case {
        graph: PAIR,
        first: "MATCH (p:P {id: 3}) DELETE p",
        second: "MATCH (p:P {id: 3}) SET p.n = 5",
        conflict: Some(&["node"]),
        query: "MATCH (p:P {id: 3}) RETURN count(p)",
        left: "0",
    },
    Case {
        graph: PAIR,
        first: "MATCH (p:P {id: 3}) DELETE p",
        second: "MATCH (p:P {id: 3}), (q:Q) CREATE (q)-[:S]->(p)",
        conflict: Some(&[]),
        query: "MATCH (p:P {id: 3}) RETURN count(p)",
        left: "0",
    },
    Case {
        graph: PAIR,
        first: "MATCH (p:P {id: 3}), (q:Q) CREATE (q)-[:S]->(p)",
        second: "MATCH (p:P {id: 3}) DELETE p",
        conflict: Some(&[]),
        query: "MATCH ()-[s:S]->(p:P {id: 3}) RETURN count(s)",
        left: "STILL_CONNECTED",
    },
    // New edges of one node do not conflict, nor do new nodes.
    Case {
        graph: PAIR,
        first: "MATCH (p:P {id: 3}), (q:Q) CREATE (q)-[:S]->(p), (:New)",
        second: "MATCH (p:P {id: 3}), (q:Q) CREATE (q)-[:S]->(p), (:New)",
        conflict: None,
        query: "MATCH ()-[s:S]->() RETURN count(s)",
        left: "2",
    },
    Case {
        graph: PAIR,
        first: "CREATE (:Other {name: 'a', x: 1})-[:Y]->(:Z)",
        second: "CREATE (:Z {z: 1})-[:X]->(:Other {x: 2, name: 'b'})",
        conflict: None,
        query: "MATCH (o:Other) RETURN sum(o.x) + size(collect(o.name))",
        left: "5",
    },
    Case {
        graph: UNIQUE,
        first: "CREATE (:K {id: 7, by: 1})",
        second: "CREATE (:K {id: 7, by: 2})",
        conflict: Some(&["7"]),
        query: "MATCH (k:K) RETURN k.by",
        left: "CONSTRAINT",
    },
    Case {
        graph: UNIQUE,
        first: "CREATE (:K {id: 7})",
        second: "CREATE (:K {id: 8})",
        conflict: None,
        query: "MATCH (k:K) RETURN sum(k.id)",
        left: "15",
    },
    Case {
        graph: UNIQUE,
        first: "MERGE (k:K {id: 7}) ON CREATE SET k.n = 1 ON MATCH SET k.n = k.n + 1",
        second: "MERGE (k:K {id: 7}) ON CREATE SET k.n = 1 ON MATCH SET k.n = k.n + 1",
        conflict: Some(&[]),
        query: "MATCH (k:K) RETURN sum(k.n)",
        left: "2",
    },
    // Without a constraint, too: what MERGE found missing is claimed.
    Case {
        graph: PAIR,
        first: "MERGE (k:K {id: 7}) ON CREATE SET k.n = 1 ON MATCH SET k.n = k.n + 1",
        second: "MERGE (k:K {id: 7}) ON CREATE SET k.n = 1 ON MATCH SET k.n = k.n + 1",
        conflict: Some(&[]),
        query: "MATCH (k:K) RETURN sum(k.n)",
        left: "2",
    },
    Case {
        graph: PAIR,
        first: "MATCH (p:P {id: 3}), (q:Q) MERGE (q)-[s:S]->(p) ON CREATE SET s.n = 1 ON MATCH SET s.n = s.n + 1",
        second: "MATCH (p:P {id: 3}), (q:Q) MERGE (q)-[s:S]->(p) ON CREATE SET s.n = 1 ON MATCH SET s.n = s.n + 1",
        conflict: Some(&[]),
        query: "MATCH ()-[s:S]->() RETURN sum(s.n)",
        left: "2",
    },
    Case {
        graph: PAIR,
        first: "CREATE CONSTRAINT k FOR (p:P) REQUIRE p.id IS UNIQUE",
        second: "CREATE (:P {id: 1})",
        conflict: Some(&[]),
        query: "MATCH (p:P {id: 1}) RETURN count(p)",
        left: "CONSTRAINT",
    },
    Case {
        graph: PAIR,
        first: "CREATE (:P {id: 1})",
        second: "CREATE CONSTRAINT k FOR (p:P) REQUIRE p.id IS UNIQUE",
        conflict: Some(&[]),
        query: "MATCH (p:P {id: 1}) RETURN count(p)",
        left: "CONSTRAINT",
    },
];

/// Runs a transaction of one statement until it is committed, or fails in another way.
fn repeat(database: &Database, statement: &str) -> Result<(), Error> {
    let mut session = database.session();
    session.begin()?;
    run(&mut session, statement)?;
    session.commit()
}

fn check(case: &Case) {
    let folder = Folder::new();
    let database = open(&folder);
    case.graph.iter().for_each(|text| drop(run(&mut database.session(), text).expect("the graph can be made")));
    let (mut first, mut second) = (database.session(), database.session());
    let place = format!("{} | {}", case.first, case.second);
    first.begin().expect("no transaction is open");
    second.begin().expect("no transaction is open");
    run(&mut first, case.first).unwrap_or_else(|error| panic!("{place}: the first: {error}"));
    let early = run(&mut second, case.second).map(drop);
    first.commit().unwrap_or_else(|error| panic!("{place}: the first commit: {error}"));
    let end = early.and_then(|()| second.commit());
    drop(second);
    let mut repeated = Ok(());
    match (case.conflict, end) {
        (None, Ok(())) => {}
        (Some(words), Err(error)) if error.code() == ErrorCode::Conflict => {
            let message = error.message().to_owned();
            words.iter().for_each(|word| assert!(message.contains(word), "{place}: {message:?} names {word:?}"));
            repeated = repeat(&database, case.second);
        }
        (expected, end) => panic!("{place}: expected a conflict: {}, found {end:?}", expected.is_some()),
    }
    match repeated {
        Ok(()) => assert_eq!(run(&mut database.session(), case.query).expect("it can be read"), [case.left], "{place}"),
        Err(error) => assert_eq!(error.code().name(), case.left, "{place}: {error}"),
    }
}

#[test]
fn the_first_to_commit_wins_and_the_second_is_told() {
    CASES.iter().for_each(check);
}

#[test]
fn ws_write_skew_happens_under_snapshot_isolation() {
    let folder = Folder::new();
    let database = open(&folder);
    run(&mut database.session(), "CREATE (:P {id: 1, value: 70}), (:P {id: 2, value: 80})").expect("it can be made");
    let take = |id: u32| {
        format!(
            "MATCH (a:P {{id: 1}}), (b:P {{id: 2}}) WHERE a.value + b.value >= 100 \
             MATCH (p:P {{id: {id}}}) SET p.value = p.value - 100"
        )
    };
    let (mut first, mut second) = (database.session(), database.session());
    first.begin().expect("no transaction is open");
    second.begin().expect("no transaction is open");
    run(&mut first, &take(1)).expect("there is enough");
    run(&mut second, &take(2)).expect("there is enough");
    first.commit().expect("nobody else wrote that");
    second.commit().expect("nobody else wrote that, and what was read does not count");
    let sum = run(&mut database.session(), "MATCH (p:P) RETURN sum(p.value)").expect("it can be read");
    assert_eq!(sum, ["-50"], "each saw what the other then took");
}

/// Statements that are transactions of their own are repeated by the session until they go through.
#[test]
fn statements_that_conflict_are_repeated() {
    const THREADS: i64 = 4;
    const STATEMENTS: i64 = 60;
    for graph in [UNIQUE, &[]] {
        let folder = Folder::new();
        let database = open(&folder);
        graph.iter().for_each(|text| drop(run(&mut database.session(), text).expect("the graph can be made")));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let database = &database;
                scope.spawn(move || {
                    let mut session = database.session();
                    for number in 0..STATEMENTS {
                        let text = format!(
                            "MERGE (k:K {{id: {}}}) ON CREATE SET k.n = 1 ON MATCH SET k.n = k.n + 1",
                            (number + thread) % 20
                        );
                        while let Err(error) = run(&mut session, &text) {
                            assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
                        }
                    }
                });
            }
        });
        let found = run(&mut database.session(), "MATCH (k:K) RETURN count(k), count(DISTINCT k.id), sum(k.n)");
        assert_eq!(found.expect("it can be read"), [format!("20,20,{}", THREADS * STATEMENTS)]);
    }
}
