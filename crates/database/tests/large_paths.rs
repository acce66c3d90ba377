//! Procedures whose rows hold paths or lists, on a chain whose paths are larger than the memory: in a process of its own, whose
//! memory is looked at. Each gives its answer, or ends with `LIMIT`.

use std::collections::BTreeSet;

use database::{Config, Database, Durability, ErrorCode, Parameters, Session, Value};
use testing::Folder;
use testing::memory::most_bytes;

/// Edges of the chain.
const LENGTH: i64 = 600_000;
/// Edges of a path that has room.
const SHORT: i64 = 20_000;
const MEMORY_BYTES: usize = 64 << 20;
/// Maximum memory that the whole process may have held at any time: the limit, as much again, and the program itself.
/// Without accounts, a path took 0.7 KB an edge, and rows of a thousand long lists several GB.
const PROCESS_BYTES_MAX: usize = 2 * MEMORY_BYTES + (64 << 20);

/// Procedures with such rows, and calls of them; `$to` is the node where a path ends.
const CALLS: [(&str, &str); 11] = [
    ("algo.allShortestPaths", "({source: a, target: b}) YIELD path RETURN max(length(path))"),
    ("algo.astar", "({source: a, target: b, heuristicScale: 0.0}) YIELD path RETURN max(length(path))"),
    ("algo.bidirectionalDijkstra", "({source: a, target: b}) YIELD path RETURN max(length(path))"),
    ("algo.bridges", "() YIELD remainingSizes RETURN max(size(remainingSizes))"),
    ("algo.dijkstra", "({source: a, target: b}) YIELD path RETURN max(length(path))"),
    ("algo.leiden", "({includeIntermediateCommunities: true}) YIELD intermediateCommunityIds AS i RETURN max(size(i))"),
    ("algo.longestPath", "({}) YIELD nodes, costs WITH nodes, costs LIMIT 4000 RETURN max(size(nodes) + size(costs))"),
    (
        "algo.louvain",
        "({includeIntermediateCommunities: true}) YIELD intermediateCommunityIds AS i RETURN max(size(i))",
    ),
    ("algo.randomWalk", "({sourceNodes: [a], walkLength: b.id, withPaths: true}) YIELD path RETURN max(length(path))"),
    ("algo.shortest_path", "({source: a, target: b}) YIELD path RETURN max(length(path))"),
    ("algo.yens", "({source: a, target: b, k: 2}) YIELD path RETURN max(length(path))"),
];

/// The number that a statement gives, or the code of its error.
fn number(session: &mut Session, text: &str, to: i64) -> Result<i64, ErrorCode> {
    let mut parameters = Parameters::default();
    parameters.insert("to".into(), Value::Int(to));
    let result = session.query(text, &parameters).map_err(|failure| failure.code())?;
    match result.rows().next().as_deref() {
        Some([Value::Int(number)]) => Ok(*number),
        other => panic!("{text}: {other:?}"),
    }
}

fn procedures(session: &mut Session) -> BTreeSet<String> {
    let text = "SHOW PROCEDURES YIELD name, signature RETURN name, signature";
    let result = session.query(text, &Parameters::default()).expect("procedures are listed");
    let of_row = |row: Vec<Value>| match &*row {
        [Value::String(name), Value::String(signature)] => (name.to_string(), signature.to_string()),
        other => panic!("{other:?}"),
    };
    let rows = result.rows().map(|row| of_row(row.to_vec()));
    let is_long = |(name, signature): &(String, String)| {
        let (_, columns) = signature.split_once(") :: ").expect("a signature tells its columns");
        let is_figure = name.ends_with(".stats") || name.ends_with(".write") || name.ends_with(".estimate");
        name.starts_with("algo.") && !is_figure && (columns.contains("PATH") || columns.contains("LIST"))
    };
    rows.filter(is_long).map(|(name, _)| name).collect()
}

#[test]
fn paths_larger_than_memory_end_with_limit() {
    let folder = Folder::new();
    let config =
        Config { durability: Durability::Off, memory_bytes_max: Some(MEMORY_BYTES), threads: 2, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("the store of a test can be opened");
    let mut session = database.session();
    let mut run = |text: &str| {
        session.query(text, &Parameters::default()).unwrap_or_else(|failure| panic!("{text}: {failure}"));
    };
    run(&format!("UNWIND range(0, {LENGTH}) AS i CREATE (:N {{id: i, latitude: 0.0, longitude: i / 10000.0}})"));
    run("CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE");
    run("MATCH (a:N) MATCH (b:N {id: a.id + 1}) CREATE (a)-[:R]->(b)");
    let named: BTreeSet<String> = CALLS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(procedures(&mut session), named, "each procedure with such rows is called here");
    let mut refused = 0;
    for (name, call) in CALLS {
        let text = format!("MATCH (a:N {{id: 0}}), (b:N {{id: $to}}) CALL {name}{call}");
        let is_path = call.contains("length(path)");
        if is_path {
            let found = number(&mut session, &text, SHORT).unwrap_or_else(|code| panic!("{text}: {code:?}"));
            assert!(found == SHORT || name == "algo.randomWalk" && found == SHORT - 1, "{text}: {found}");
        }
        match number(&mut session, &text, LENGTH) {
            Ok(found) => assert!(found > 0 || !is_path, "{text}: {found}"),
            Err(code) => {
                assert_eq!(code, ErrorCode::Limit, "{text}");
                refused += 1;
            }
        }
        if let Some(bytes) = most_bytes() {
            assert!(bytes <= PROCESS_BYTES_MAX, "{text}: {} MiB were in memory at once", bytes >> 20);
        }
        let held: usize = database.memory().usage().iter().map(|usage| usage.peak).max().unwrap_or(0);
        assert!(held <= MEMORY_BYTES, "{text}: {held} bytes were accounted");
    }
    assert!(refused > 0, "some path is larger than the memory");
}
