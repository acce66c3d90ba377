//! Rows of which nobody reads the matches: passed on at their first match, the same as without that.

use cypher::optimizer::{OptimizerConfig, Use};
use exec::RunSettings;
use testing::ReferenceStore;

use super::optimizer::Bench;
use super::rows_given;

/// 120 nodes with some 40 relationships each, some of them parallel and some loops; one node has none.
const GRAPH: &[&str] = &[
    "UNWIND range(0, 119) AS i CREATE (:N {id: i, v: i % 11})",
    "MATCH (a:N), (b:N) WHERE (a.id * 5 + b.id * 7) % 3 = 0 AND a.id <> 60 AND b.id <> 60 CREATE (a)-[:E {w: (a.id + b.id) % 9}]->(b)",
    "MATCH (a:N), (b:N) WHERE b.id = a.id + 1 AND a.id % 4 = 0 AND a.id <> 60 CREATE (a)-[:E {w: 4}]->(b), (a)-[:F]->(b)",
];

const QUERIES: &[&str] = &[
    "MATCH (a:N)-[:E]-(b)-[:E]->(c)-[:E]->(d) WHERE a.id = 5 RETURN count(DISTINCT a)",
    "MATCH (a:N)-[:E]->(b)-[:E]-(c)-[:E]-(d) WHERE a.id IN [3, 60, 7] RETURN DISTINCT a.id AS k ORDER BY k",
    "MATCH (a:N)-[:E]->(b)-[r:E]-(c)-[:E]-(d) WHERE a.id < 9 AND r.w > 2 AND d.v = a.v RETURN max(a.id), min(a.v)",
    "MATCH (a:N)-[:F]->(b)-[:E]->(c)-[:E]->(d)-[:E]->(a) RETURN DISTINCT b.id AS k ORDER BY k LIMIT 5",
    "MATCH (a:N {id: 4})-[p:E*2..3]->(b)-[:E]-(c) WHERE all(r IN p WHERE r.w < 7) RETURN count(DISTINCT a.id)",
    "MATCH (a:N)-[:F]->(b), (b)-[:E]-(c)-[:E]-(d)-[:E]-(e) WHERE c.v < e.v RETURN count(DISTINCT a), collect(DISTINCT b.v)[0] IS NULL",
    "MATCH (a:N {id: 60})-[:E]-(b)-[:E]-(c) RETURN count(DISTINCT a.id), max(a.v)",
];

/// A store that these statements have filled, with batches of that many rows.
fn store_of(statements: &[&str], batch_rows: usize) -> ReferenceStore {
    let store = ReferenceStore::with_batch_rows(batch_rows);
    statements.iter().for_each(|statement| {
        rows_given(&store, statement, batch_rows);
    });
    store
}

#[test]
fn rows_are_those_of_all_matches() {
    let bench = Bench::new(&GRAPH.iter().map(ToString::to_string).collect::<Vec<_>>());
    for query in QUERIES {
        let rows = |first_matches, batch_rows, threads| {
            // Nothing is left to this rule by those that merge or count first.
            let config = OptimizerConfig {
                first_matches,
                count_matches: false,
                partial_aggregation: Use::Never,
                ..OptimizerConfig::default()
            };
            let settings = RunSettings { batch_rows, threads, parallel_nodes_min: 0, ..RunSettings::default() };
            bench.run(query, &config, settings).unwrap_or_else(|error| panic!("{error}\n{query}"))
        };
        let (expected, _) = rows(Use::Never, 2_048, 1);
        for (batch_rows, threads) in [(1, 1), (7, 1), (2_048, 1), (64, 3)] {
            let (found, plan) = rows(Use::Always, batch_rows, threads);
            assert_eq!(found, expected, "batches of {batch_rows} rows, {threads} threads: {query}\n{plan}");
            assert!(plan.contains("SemiApply"), "{query}\n{plan}");
        }
    }
}

/// Optional patterns of which nothing is read are not matched, unless their matches are counted.
#[test]
fn unread_optional_patterns_are_dropped() {
    let bench = Bench::new(&GRAPH.iter().map(ToString::to_string).collect::<Vec<_>>());
    for (query, is_dropped) in [
        ("MATCH (a:N) OPTIONAL MATCH (a)-[:F]->(b)-[:E]->(c) WHERE b.v = c.v RETURN count(DISTINCT a), max(a.v)", true),
        ("MATCH (a:N) OPTIONAL MATCH (a)-[:F]->(b) OPTIONAL MATCH (b)-[:E]-(c) RETURN DISTINCT a.v AS v", true),
        ("MATCH (a:N) OPTIONAL MATCH (a)-[:F]->(b) RETURN count(DISTINCT b)", false),
        ("MATCH (a:N) OPTIONAL MATCH (a)-[r:F]->(b) WHERE r.w > 1 RETURN count(a), count(*)", false),
    ] {
        let rows = |first_matches| {
            let config = OptimizerConfig { first_matches, count_matches: false, ..OptimizerConfig::default() };
            bench.run(query, &config, RunSettings::default()).unwrap_or_else(|error| panic!("{error}\n{query}"))
        };
        let (expected, _) = rows(Use::Never);
        let (found, plan) = rows(Use::Cheaper);
        assert_eq!(found, expected, "{query}\n{plan}");
        assert_eq!(plan.contains("Optional"), !is_dropped, "{query}\n{plan}");
    }
}

#[test]
fn further_matches_are_not_made() {
    let store = store_of(GRAPH, 2_048);
    // There are 80 × 40 × 40 matches and more of each. Those of the first are merged step by step, of the second a few are made.
    for (query, most) in [
        ("MATCH (a:N)-[:E]-(b)-[:E]->(c)-[:E]->(d) WHERE a.id = 5 RETURN count(DISTINCT a)", 8_000),
        (
            "MATCH (a:N)-[:E]->(b)-[r:E]-(c)-[:E]-(d)-[:E]-(e) WHERE a.id = 7 AND r.w > 2 AND e.v = b.v RETURN DISTINCT a.id AS k",
            600,
        ),
    ] {
        let (rows, given) = rows_given(&store, query, 2_048);
        assert_eq!(rows.len(), 1, "{query}");
        assert!(given < most, "{given} rows: {query}");
    }
}

/// Rows of a batch that are answered are not worked on for the sake of one that has no match.
#[test]
fn answered_rows_leave_a_batch() {
    let store = store_of(
        &[
            "UNWIND range(0, 29) AS i CREATE (:M {id: i})",
            "MATCH (a:M), (b:M) WHERE (a.id * 7 + b.id * 11) % 6 = 0 AND a.id <> b.id CREATE (a)-[:R]->(b)",
            "CREATE (:M {id: 99}), (:M {id: 98})-[:R]->(:M {id: 97})",
        ],
        64,
    );
    let pattern = "(n)-[:R*1..3]->()-[:R*1..3]-()-[:R]-()-[:R]-()";
    for (condition, expected) in
        [(format!("EXISTS {{ {pattern} }}"), "30"), (format!("NOT EXISTS {{ {pattern} }}"), "3")]
    {
        let (rows, given) = rows_given(&store, &format!("MATCH (n:M) WHERE {condition} RETURN count(*)"), 64);
        assert_eq!(rows, [expected], "{condition}");
        assert!(given < 100_000, "{given} rows: {condition}");
    }
}

/// Rows that a limit leaves, or of which one is enough, are made in small parts first, whatever makes them.
#[test]
fn few_rows_are_made_for_few() {
    let store = store_of(GRAPH, 2_048);
    for (query, expected) in [
        ("MATCH (a:N)-[:E]-(b)-[:E]-(c)-[:E]-(d) RETURN 1 AS one LIMIT 3", 3),
        ("MATCH (a:N)-[:E*1..3]-(b)-[:E]-(c) RETURN 1 AS one LIMIT 3", 3),
        ("MATCH (a:N), (b:N), (c:N) RETURN 1 AS one LIMIT 3", 3),
        ("MATCH (a:N {id: 5}) WHERE EXISTS { (a)-[:E*1..3]-(b)-[:E]-(c) } RETURN a.id", 1),
        ("MATCH (a:N {id: 5}) WHERE EXISTS { (a)-[:E*1..4]-() } RETURN a.id", 1),
    ] {
        let (rows, given) = rows_given(&store, query, 2_048);
        assert_eq!(rows.len(), expected, "{query}");
        assert!(given < 2_000, "{given} rows: {query}");
    }
}

/// A row that is answered by the path of no edges is not searched on for the sake of one without an answer.
#[test]
fn the_path_of_no_edges_answers_at_once() {
    let store = store_of(
        &[
            "UNWIND range(0, 11) AS i CREATE (:L {id: i})",
            "MATCH (a:L), (b:L) WHERE (a.id + b.id) % 3 = 0 AND a.id < b.id CREATE (a)-[:R]->(b), (b)-[:R]->(a)",
            "MATCH (a:L) WHERE a.id < 6 CREATE (a)-[:R]->(a)",
        ],
        2_048,
    );
    let query = "MATCH (n:L) WHERE EXISTS { MATCH (n)-->(n)<-[*0..]-(n) } RETURN count(*)";
    let (rows, given) = rows_given(&store, query, 2_048);
    assert_eq!(rows, ["6"]);
    assert!(given < 200, "{given} rows");
}
