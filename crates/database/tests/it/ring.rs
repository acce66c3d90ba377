//! A database on a real ring, whose address is in `KNOTWORK_CQL`; `scripts/ring.sh test` starts one. Skipped aloud otherwise.
//!
//! All golden files that hold on every store run in `golden`; here is the rest: addresses, access, what works on files alone.

use std::path::{Path, PathBuf};

use database::{Access, Config, Database, ErrorCode, Interrupt, Session, Value};

/// The address of a graph in a keyspace of this run; `None` where there is no ring.
pub(crate) fn address(graph: u64) -> Option<PathBuf> {
    let Ok(host) = std::env::var("KNOTWORK_CQL") else {
        testing::servers::skip("databases on a real ring: KNOTWORK_CQL names none; scripts/ring.sh test starts one");
        return None;
    };
    let nodes = std::env::var("KNOTWORK_CQL_NODES").unwrap_or_else(|_| "1".to_owned());
    let keyspace = format!("knot_database_{}", std::process::id());
    Some(PathBuf::from(format!("cql://{host}/{keyspace}?graph={graph}&copies={nodes}")))
}

fn open(address: &Path, access: Access) -> database::Result<Database> {
    Database::open(address, Config { access, ..Config::default() })
}

fn value(session: &mut Session, text: &str) -> Value {
    let result = session.query(text, &Default::default()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    result.single().unwrap_or_else(|| panic!("{text}: one row of one column was expected"))
}

fn code<T>(outcome: database::Result<T>) -> Option<ErrorCode> {
    outcome.err().map(|error| error.code())
}

#[test]
fn a_database_on_a_ring_is_written_by_two_at_once() {
    let Some(address) = address(900) else { return };
    let missing = PathBuf::from(address.to_string_lossy().replace("knot_database", "knot_nothing"));
    assert_eq!(code(open(&missing, Access::ReadOnly)), Some(ErrorCode::NotAStore));
    let (a, b) = (open(&address, Access::ReadWrite).unwrap(), open(&address, Access::ReadWriteExisting).unwrap());
    let (mut one, mut two) = (a.session(), b.session());
    for statement in [
        "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.name IS UNIQUE",
        "CREATE INDEX FOR (p:Person) ON (p.born)",
        "UNWIND range(0, 99) AS n CREATE (:Person {name: 'p' + n, born: 1900 + n})",
        "MATCH (a:Person), (b:Person) WHERE b.born = a.born + 1 CREATE (a)-[:KNOWS {since: b.born}]->(b)",
    ] {
        one.query(statement, &Default::default()).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
    assert_eq!(value(&mut two, "MATCH (:Person)-[k:KNOWS]->() RETURN count(k)"), Value::Int(99));
    assert_eq!(value(&mut two, "MATCH (p:Person) WHERE p.born > 1990 RETURN count(*)"), Value::Int(9));
    assert_eq!(value(&mut two, "MATCH (:Person {name: 'p7'})-[:KNOWS*3]->(p) RETURN p.name"), Value::string("p10"));
    let path = "MATCH p = shortestPath((a:Person {name: 'p1'})-[:KNOWS*]->(b:Person {name: 'p6'})) RETURN length(p)";
    assert_eq!(value(&mut two, path), Value::Int(5));
    two.query("MERGE (p:Person {name: 'new'}) SET p.seen = true", &Default::default()).unwrap();
    one.query("MERGE (p:Person {name: 'new'}) SET p.seen = true", &Default::default()).unwrap();
    assert_eq!(value(&mut one, "MATCH (p:Person) WHERE p.seen RETURN count(*)"), Value::Int(1));
    let rank = "CALL algo.pagerank() YIELD node, score RETURN count(*)";
    assert_eq!(value(&mut one, rank), Value::Int(101));
    one.query("BEGIN", &Default::default()).unwrap();
    one.query("MATCH (p:Person {name: 'p1'}) SET p.x = 1", &Default::default()).unwrap();
    two.query("MATCH (p:Person {name: 'p1'}) SET p.x = 2", &Default::default()).unwrap();
    assert_eq!(code(one.query("COMMIT", &Default::default())), Some(ErrorCode::Conflict));
    let info = a.info().unwrap();
    assert_eq!((info.nodes, info.edges, info.files.len()), (101, 99, 0));
    assert!(!info.path.to_string_lossy().contains('@'));
}

#[test]
fn a_ring_says_what_it_does_not_do() {
    let Some(address) = address(901) else { return };
    let database = open(&address, Access::ReadWrite).unwrap();
    database.checkpoint().unwrap();
    database.compact(&Interrupt::new()).unwrap();
    let failure = database.backup(Path::new("copy.knot"), None, &Interrupt::new()).err().unwrap();
    assert_eq!(failure.code(), ErrorCode::Unsupported);
    assert!(failure.to_string().contains("a backup works on a store in files"), "{failure}");
    assert_eq!(code(database::check(&address, &Interrupt::new())), Some(ErrorCode::Unsupported));
    let reader = open(&address, Access::ReadOnly).unwrap();
    assert_eq!(code(reader.session().query("CREATE ()", &Default::default())), Some(ErrorCode::ReadOnly));
    for wrong in ["cql://", "cql://host", "cql://host/Name", "cql://127.0.0.1:1/social"] {
        let found = code(open(Path::new(wrong), Access::ReadWrite));
        let expected = if wrong.ends_with("social") { ErrorCode::Connection } else { ErrorCode::Argument };
        assert_eq!(found, Some(expected), "{wrong}");
    }
}

/// Cypher of a graph of users who review products; some products are reviewed far more often than others.
const REVIEWS: &str = "UNWIND range($first, $first + 999) AS k WITH k, (k * 7919 + k / 1200) % 1200 AS i, (k * 104729) % 10007 AS h \
     MATCH (u:User {id: i}), (p:Product {id: toInteger(800.0 * h * h / (10007.0 * 10007.0))}) \
     CREATE (u)-[:REVIEWED {score: 1 + (k * 31 + k / 7) % 5, time: k}]->(p)";

const LIKED: &str = "MATCH (u:User {id: $i})-[r:REVIEWED]->(p:Product)<-[s:REVIEWED]-(v:User) \
     WHERE r.score = 5 AND s.score = 5 AND v.id <> $i";

/// Runs a query for some users: all rows, milliseconds of each, and round trips, hits and misses of all.
fn recommend(session: &mut Session, query: &str, users: &[i64]) -> (Vec<Vec<Vec<Value>>>, f64, [u64; 3]) {
    let (mut answers, mut sums, start) = (Vec::new(), [0; 3], std::time::SystemTime::now());
    for user in users {
        let parameters = database::Parameters::from_iter([("i".into(), Value::Int(*user))]);
        let result = session.query(&format!("PROFILE {query}"), &parameters);
        let result = result.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        for actual in
            result.summary.report.as_ref().expect("it is asked for").lines.iter().filter_map(|line| line.actual)
        {
            let storage = actual.storage;
            let counts = [storage.round_trips, storage.source_hits, storage.source_misses];
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        answers.push(result.rows().collect());
    }
    let milliseconds = start.elapsed().unwrap_or_default().as_secs_f64() * 1e3 / users.len() as f64;
    (answers, milliseconds, sums)
}

/// Titan's three traversals: answers with and without a cache are the same, and what was asked before makes no round trip.
/// Prints times, which no test rests on.
#[test]
fn recommendations_that_were_asked_for_before_make_no_round_trip() {
    let Some(address) = address(902) else { return };
    let mut session = open(&address, Access::ReadWrite).unwrap().session();
    for statement in [
        "CREATE CONSTRAINT FOR (u:User) REQUIRE u.id IS UNIQUE",
        "CREATE CONSTRAINT FOR (p:Product) REQUIRE p.id IS UNIQUE",
        "CREATE SORT KEY FOR ()-[r:REVIEWED]-() ON (r.score, r.time)",
        "UNWIND range(0, 1199) AS n CREATE (:User {id: n})",
        "UNWIND range(0, 799) AS n CREATE (:Product {id: n})",
    ] {
        session.query(statement, &Default::default()).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
    let start = std::time::SystemTime::now();
    for first in (0..20_000).step_by(1_000) {
        let parameters = database::Parameters::from_iter([("first".into(), Value::Int(first))]);
        session.query(REVIEWS, &parameters).unwrap_or_else(|error| panic!("reviews from {first} on: {error:?}"));
    }
    eprintln!("20,000 reviews were written in {:?}", start.elapsed().unwrap_or_default());
    let rest = "MATCH (v)-[t:REVIEWED]->(q:Product) WHERE t.score = 5 AND NOT EXISTS { MATCH (u)-[:REVIEWED]->(q) } \
         RETURN q.id AS id, count(*) AS n ORDER BY n DESC, id LIMIT 10";
    let queries = [
        (
            "preference",
            "MATCH (u:User {id: $i})-[r:REVIEWED]->(p:Product) WHERE r.score = 5 RETURN p.id ORDER BY r.time DESC LIMIT 10"
                .to_owned(),
        ),
        ("similarity", format!("{LIKED} RETURN count(DISTINCT v)")),
        ("recommendation", format!("{LIKED} WITH DISTINCT u, v ORDER BY v.id LIMIT 200 {rest}")),
    ];
    let with = |option: &str| open(Path::new(&format!("{}&{option}", address.display())), Access::ReadOnly).unwrap();
    let (some, others): (Vec<i64>, Vec<i64>) =
        ((0..10).map(|n| n * 37).collect(), (0..10).map(|n| n * 41 + 5).collect());
    for (name, query) in queries {
        // One process after the other, so that the wide-column store has read everything before either is timed.
        let mut without = with("cache=0").session();
        recommend(&mut without, &query, &some);
        let (expected, plain, [rounds, ..]) = recommend(&mut without, &query, &some);
        eprintln!("{name}, without a cache: {plain:.2} ms, {rounds} round trips of {} queries", some.len());
        let kept = with("cache=64MiB");
        let mut session = kept.session();
        for (state, users) in [("cold", &some), ("warm", &others), ("hot", &some)] {
            let (answers, milliseconds, [rounds, hits, misses]) = recommend(&mut session, &query, users);
            eprintln!("{name}, {state}: {milliseconds:.2} ms, {rounds} round trips, {hits} hits, {misses} misses");
            if users == &some {
                assert_eq!(answers, expected, "{name}, {state}");
            }
            if state == "hot" {
                assert_eq!((rounds, misses), (0, 0), "{name}");
            }
        }
        let mut stale = with("cache=64MiB&staleness=1min").session();
        recommend(&mut stale, &query, &some);
        let (answers, milliseconds, _) = recommend(&mut stale, &query, &some);
        eprintln!("{name}, hot, a minute late at most: {milliseconds:.2} ms");
        assert_eq!(answers, expected, "{name}, a minute late at most");
    }
}
