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
