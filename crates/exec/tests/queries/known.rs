//! Answers of subplans that are known from earlier batches: the same as asked for anew, and asked for once.

use cypher::optimizer::{OptimizerConfig, Use};
use exec::RunSettings;
use testing::ReferenceStore;

use super::memory::with_limit;
use super::optimizer::Bench;
use super::rows_given;

/// 60 nodes with 6,000 relationships between them, so that each node is the end of a hundred.
const GRAPH: &[&str] = &[
    "UNWIND range(0, 59) AS i CREATE (:N {id: i, v: [1, 1.0, 'a', true, null][i % 5]})",
    "UNWIND range(0, 5999) AS i MATCH (a:N {id: i % 60}), (b:N {id: (i * 7 + i / 60) % 60}) CREATE (a)-[:E {w: i % 9}]->(b)",
    "MATCH (a:N), (b:N) WHERE b.id = a.id + 1 AND a.id % 3 = 0 CREATE (a)-[:F]->(b)",
];

const QUERIES: &[&str] = &[
    "MATCH (a:N)-[r:E]->(b:N) WHERE EXISTS { (b)-[:F]->(c:N) WHERE c.id < 30 } RETURN count(*), sum(a.id)",
    "MATCH (a:N)-[r:E]->(b:N) WHERE NOT EXISTS { (b)-[:F]->(c:N) WHERE c.id < 30 } RETURN count(*), sum(a.id)",
    "MATCH (a:N)-[r:E]->(b:N) WHERE EXISTS { (b)-[:F]->(c:N) WHERE c.id > a.id } RETURN count(*), sum(a.id)",
    "MATCH (a:N)-[r:E]->(b:N) WHERE EXISTS { (b)-[q:E]->(c:N) WHERE q.w = r.w AND c.id < 20 } RETURN count(*), sum(a.id)",
    "MATCH (a:N)-[r:E]->(b:N) RETURN sum(COUNT { (b)-[:E]->(c:N) WHERE c.id < 7 }), sum(COUNT { (a)-[:F]->() })",
    "MATCH (a:N)-[r:E]->(b:N) WITH a, COUNT { (b)--(c:N) WHERE NOT EXISTS { (c)-[:F]->(a) } } AS n RETURN sum(n), max(n)",
    "MATCH (a:N)-[r:E]->(b:N) WITH b.v AS v WHERE EXISTS { (c:N) WHERE c.v = v AND c.id % 5 = 1 } RETURN count(*), collect(DISTINCT v)",
    "MATCH (a:N)-[r:E]->(b:N) RETURN count(CASE WHEN EXISTS { (b)-[:F]->() } THEN 1 END), count(CASE WHEN (a)-[:F]->(b) THEN 1 END)",
    "MATCH (a:N)-[r:E]->(b:N) WHERE EXISTS { (a)-[:F*1..3]->(b) } RETURN count(*)",
];

fn config() -> OptimizerConfig {
    OptimizerConfig { exists_joins: Use::Never, ..OptimizerConfig::default() }
}

fn bench() -> Bench {
    Bench::new(&GRAPH.iter().map(ToString::to_string).collect::<Vec<_>>())
}

#[test]
fn answers_of_earlier_batches_are_those_that_are_asked_for_anew() {
    let bench = bench();
    for query in QUERIES {
        let rows = |batch_rows, threads| {
            let settings = RunSettings { batch_rows, threads, parallel_nodes_min: 0, ..RunSettings::default() };
            bench.run(query, &config(), settings).unwrap_or_else(|error| panic!("{error}\n{query}")).0
        };
        // Batches of a row are too small for it.
        let expected = rows(1, 1);
        for (batch_rows, threads) in [(16, 1), (100, 1), (2_048, 1), (64, 3), (2_048, 2)] {
            assert_eq!(rows(batch_rows, threads), expected, "batches of {batch_rows} rows, {threads} threads: {query}");
        }
    }
}

#[test]
fn without_memory_for_them_answers_are_asked_for_anew() {
    let bench = bench();
    for query in QUERIES {
        let settings = RunSettings { batch_rows: 32, ..RunSettings::default() };
        let (expected, _) = bench.run(query, &config(), settings).expect("the query runs");
        for limit in [0, 4_096, 16_384, 1 << 20] {
            let rows = with_limit(limit, |memory| bench.run_within(query, &config(), settings, memory));
            assert_eq!(rows.unwrap_or_else(|error| panic!("{error}\n{query}")).0, expected, "{limit} bytes: {query}");
        }
    }
}

#[test]
fn an_answer_is_asked_for_once() {
    let store = ReferenceStore::new();
    GRAPH.iter().for_each(|statement| {
        rows_given(&store, statement, 20);
    });
    // Of 20 rows in a batch hardly two have the same node, so that each of the 6,000 would be asked for: 600,000 rows.
    let (_, given) =
        rows_given(&store, "MATCH (a:N)-[r:E]->(b:N) RETURN sum(COUNT { (b)-[q:E]->(c:N) WHERE q.w < 7 })", 20);
    assert!((6_000..60_000).contains(&given), "{given} rows");
}

#[test]
fn answers_that_hardly_come_again_are_not_kept() {
    let bench = bench();
    let query = "UNWIND range(0, 139999) AS i RETURN sum(COUNT { (n:N) WHERE n.id = i OR n.id = i - 139900 })";
    let rows = bench.run(query, &config(), RunSettings::default()).unwrap_or_else(|error| panic!("{error}\n{query}")).0;
    assert_eq!(rows, ["120"]);
}
