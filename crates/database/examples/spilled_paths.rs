//! Times paths whose search does not fit into memory: spilled_paths FOLDER [MEMORY_KIB].
//!
//! Two graphs of 20,000 nodes: 200 levels of 100 nodes, each with one edge from the level before, a few with two, and scattered
//! edges, four for each node. Each line is a query in plenty of memory and within MEMORY_KIB (1,024 if left out); both must
//! give the same rows in the same order.

use std::error::Error;
use std::path::Path;
use std::sync::OnceLock;

use database::{Config, Database, Parameters, Session, Value};
use model::platform::Platform;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Graphs: a name, and the source and target of each edge by the number of the edge and random integers.
const GRAPHS: [(&str, &str); 2] = [
    (
        "levels",
        "UNWIND range(0, 20199) AS i \
         WITH CASE WHEN i < 20000 THEN i ELSE (i * 7919) % 19900 + 100 END AS t, (i * 104729) % 100 AS way \
         MATCH (a:N {id: CASE WHEN t < 100 THEN 20000 ELSE (t / 100 - 1) * 100 + way END}), (b:N {id: t}) \
         CREATE (a)-[:E]->(b)",
    ),
    (
        "scattered",
        "UNWIND range(0, 79999) AS i \
         MATCH (a:N {id: (i * 7919 + i / 20000) % 20001}), (b:N {id: (i * 104729 + i / 5000 * 31) % 20001}) \
         CREATE (a)-[:E]->(b)",
    ),
];
const QUERIES: [&str; 4] = [
    "MATCH p = ALL SHORTEST (a:N {id: 20000})-[:E]->+(b) RETURN b.id, length(p)",
    "MATCH p = ANY SHORTEST (a:N {id: 20000})-[:E]->+(b) RETURN b.id, length(p)",
    "MATCH (a:N {id: 20000}), (b:N {id: 19999}) MATCH p = allShortestPaths((a)-[:E*]->(b)) RETURN length(p)",
    "MATCH p = (a:N {id: 20000})-[:E*1..8]->(b) RETURN count(*), sum(length(p))",
];

/// Seconds since some fixed moment.
fn now() -> f64 {
    static PLATFORM: OnceLock<Platform> = OnceLock::new();
    PLATFORM.get_or_init(storage::os::platform).clock.now_ns() as f64 / 1e9
}

#[allow(clippy::print_stdout, reason = "an example shows its figures")]
fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("usage: spilled_paths FOLDER [MEMORY_KIB]")?;
    let kib: usize = arguments.get(1).map_or(Ok(1_024), |text| text.parse())?;
    for (name, edges) in GRAPHS {
        let database = Database::open(&Path::new(folder).join(format!("{name}.knot")), Config::default())?;
        let mut session = database.session();
        for statement in [
            "CREATE CONSTRAINT n FOR (n:N) REQUIRE n.id IS UNIQUE",
            "UNWIND range(0, 20000) AS i CREATE (:N {id: i})",
            edges,
        ] {
            session.query(statement, &Parameters::default())?;
        }
        for query in QUERIES {
            let (rows, free, _) = run(&mut session, query, None)?;
            let (same, bound, spilled) = run(&mut session, query, Some(kib << 10))?;
            if same != rows {
                return Err(format!("{name}: {query} gives other rows within {kib} KiB").into());
            }
            let count = rows.len();
            println!(
                "{name:9} {free:7.3} s, within {kib} KiB {bound:7.3} s ({spilled} bytes spilled), {count} rows: {query}"
            );
        }
    }
    Ok(())
}

/// The rows of a query, the seconds that it took, and the bytes that it spilled.
fn run(session: &mut Session, query: &str, memory: Option<usize>) -> Outcome<(Vec<Vec<Value>>, f64, u64)> {
    session.set_query_memory(memory);
    let start = now();
    let result = session.query(query, &Parameters::default())?;
    let seconds = now() - start;
    Ok((result.rows().collect(), seconds, result.summary.spilled_bytes))
}
