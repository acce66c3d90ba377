//! Ten million nodes of a PostgreSQL table behind a cache of 64 MiB: in a process of its own, whose memory is looked at.

use database::{Config, Database, Durability, Parameters, Session, Value};
use model::Consumer;
use testing::Folder;
use testing::memory::most_bytes;
use testing::servers;

const NODES: i64 = 10_000_000;
const CACHE_BYTES: usize = 64 << 20;
/// Maximum memory that the whole process may have held at any time: the cache, as much again for what is read at the
/// moment, and the program itself. All nodes with two numbers and an edge each would take more than 600 MiB.
const PROCESS_BYTES_MAX: usize = 256 << 20;

const DEFINITION: &str = r#"{
  "nodes": { "Place": { "table": "place", "key": "id", "properties": ["id", "x"] } },
  "edges": { "NEXT": { "table": "place", "source": "Place", "target": "Place(next)" } },
  "cache": { "bytes": "64 MiB", "max-age": "1 h" }
}"#;

/// The number that a query gives.
fn number(session: &mut Session, text: &str) -> i64 {
    let result = session.query(text, &Parameters::default()).unwrap_or_else(|failure| panic!("{text}: {failure}"));
    match result.rows().next().as_deref() {
        Some([Value::Int(number)]) => *number,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn ten_million_nodes_lie_behind_a_small_cache() {
    let Some(server) = servers::postgres() else { return };
    let url = server.database("large");
    server.run(
        "large",
        &format!(
            "CREATE UNLOGGED TABLE place AS SELECT i::int AS id, (i % 1000)::int AS x, \
               ((i::int8 * 7) % {NODES} + 1)::int AS next FROM generate_series(1, {NODES}) AS i; \
             ALTER TABLE place ADD PRIMARY KEY (id); ANALYZE place;"
        ),
    );
    let folder = Folder::new();
    let definition = folder.join("large.json");
    std::fs::write(&definition, DEFINITION).expect("the folder of a test can be written");
    let config = Config { durability: Durability::Off, threads: 2, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("the store of a test can be opened");
    let mut session = database.session();
    let attach = format!("ATTACH '{url}' AS large (DEFINITION '{}')", definition.display());
    session.query(&attach, &Parameters::default()).expect("it can be attached");
    let trips = |session: &mut Session| number(session, "CALL source.stats() YIELD roundTrips RETURN roundTrips");

    // Counted by the database.
    let before = trips(&mut session);
    assert_eq!(number(&mut session, "MATCH (p:Place) RETURN count(*)"), NODES);
    assert!(trips(&mut session) - before <= 2, "a count is a statement");
    // Summed by the database; and, as it does not compute with expressions, read as a stream, all of it.
    assert_eq!(number(&mut session, "MATCH (p:Place) RETURN sum(p.x)"), NODES / 1000 * 499_500);
    assert!(trips(&mut session) - before <= 8, "a sum is a statement");
    assert_eq!(number(&mut session, "MATCH (p:Place) RETURN sum(p.x + 0)"), NODES / 1000 * 499_500);
    // Found by a key, and along edges, through the cache; more than it holds.
    assert_eq!(number(&mut session, "MATCH (p:Place {id: 9999999}) RETURN p.x"), 999);
    let steps = "MATCH (p:Place)-[:NEXT]->(q) WHERE p.id > $from AND p.id <= $to RETURN sum(q.x + 0)";
    for from in (0..600_000).step_by(150_000) {
        let mut parameters = Parameters::default();
        parameters.insert("from".into(), Value::Int(from));
        parameters.insert("to".into(), Value::Int(from + 150_000));
        let result = session.query(steps, &parameters).expect("a query of a test runs");
        let expected: i64 = (from + 1..=from + 150_000).map(|id| (id * 7 % NODES + 1) % 1000).sum();
        assert_eq!(result.rows().next().as_deref(), Some(&[Value::Int(expected)][..]));
    }
    let cached = "CALL source.stats() YIELD cacheBytes RETURN cacheBytes";
    let cached = usize::try_from(number(&mut session, cached)).expect("it is a size");
    assert!((CACHE_BYTES / 4..=CACHE_BYTES).contains(&cached), "{cached} bytes are cached");

    let usage = database.memory().usage();
    let source = usage.iter().find(|usage| usage.consumer == Consumer::SourceCache).expect("each consumer is told");
    // Bytes that a reader holds of a piece that has left the cache are counted too.
    assert!(source.peak <= CACHE_BYTES + CACHE_BYTES / 4, "{} bytes were held at once", source.peak);
    if let Some(bytes) = most_bytes() {
        assert!(bytes <= PROCESS_BYTES_MAX, "{} MiB were in memory at once", bytes >> 20);
    }
}
