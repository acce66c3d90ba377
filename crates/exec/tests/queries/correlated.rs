//! Subqueries whose patterns are found by a value of the row around them: right, and without a scan for each row.

use exec::{QueryMemory, RunSettings};
use model::Map;
use testing::ReferenceStore;

use super::{check, rows_given, run_with};

/// The statements that make `20 * scale` nodes `N`, four of each `k`, and `3 * scale` nodes `M`, of which the first third
/// have such a `k`.
fn graph(scale: u64) -> [String; 2] {
    let (nodes, keys, outer, first) = (20 * scale, 5 * scale, 3 * scale, 4 * scale);
    [
        format!("UNWIND range(0, {nodes} - 1) AS i CREATE (:N {{id: i, k: i % {keys}}})"),
        format!("UNWIND range(0, {outer} - 1) AS i CREATE (:M {{id: i, k: i + {first}}})"),
    ]
}

/// Reading queries over that graph, with their only row at scale 10.
const QUERIES: &[(&str, &str)] = &[
    ("MATCH (m:M) OPTIONAL MATCH (n:N {k: m.k}) RETURN count(n), count(*)", "40, 60"),
    ("MATCH (m:M) OPTIONAL MATCH (n:N {k: m.k, id: m.k + 50}) RETURN count(n), sum(n.id)", "10, 945"),
    ("MATCH (m:M) WHERE EXISTS { MATCH (n:N {k: m.k}) } RETURN count(*)", "10"),
    ("MATCH (m:M) WHERE NOT EXISTS { MATCH (n:N {k: m.k}) } RETURN count(*), min(m.id)", "20, 10"),
    ("MATCH (m:M) WITH COUNT { MATCH (n:N) WHERE n.k = m.k } AS c RETURN sum(c), max(c)", "40, 4"),
    ("MATCH (m:M) RETURN sum(size(COLLECT { MATCH (n:N) WHERE n.k = m.k RETURN n.id }))", "40"),
    ("MATCH (m:M) CALL (m) { MATCH (n:N) WHERE n.k = m.k RETURN n } RETURN count(*), max(n.id)", "40, 199"),
    ("MATCH (m:M) CALL (m) { MATCH (n:N) WHERE n.k = m.k RETURN n ORDER BY n.id LIMIT 1 } RETURN sum(n.id)", "445"),
    (
        "MATCH (m:M) CALL (m) { MATCH (n:N) WHERE n.k = m.k RETURN max(n.id) AS top } RETURN count(top), max(top)",
        "10, 199",
    ),
    (
        "MATCH (m:M) CALL (m) { MATCH (n:N) WHERE n.k = m.k RETURN n.id AS id UNION ALL MATCH (o:M) WHERE o.id = m.k RETURN o.id AS id } RETURN count(*)",
        "40",
    ),
];

#[test]
fn every_form_gives_the_rows_of_its_definition() {
    let graph = graph(10).join(";\n");
    for (query, expected) in QUERIES {
        check(&format!("{graph};\n{query}"), &[*expected]);
    }
}

#[test]
fn what_equals_nothing_finds_nothing() {
    let graph = "CREATE (:N {k: 1}), (:N {k: 1.0}), (:N {k: 0.0 / 0.0}), (:N), (:M {id: 1, k: 1}), (:M {id: 2}), (:M {id: 3, k: 0.0 / 0.0});\n";
    check(
        &format!("{graph}MATCH (m:M) RETURN m.id, COUNT {{ MATCH (n:N) WHERE n.k = m.k }}"),
        &["1, 2", "2, 0", "3, 0"],
    );
    check(
        &format!("{graph}MATCH (m:M) OPTIONAL MATCH (n:N {{k: m.k}}) RETURN m.id, count(n)"),
        &["1, 2", "2, 0", "3, 0"],
    );
    check(&format!("{graph}MATCH (m:M) WHERE NOT EXISTS {{ MATCH (n:N {{k: m.k}}) }} RETURN m.id"), &["2", "3"]);
}

#[test]
fn what_asks_for_nothing_of_the_row_runs_once_for_many() {
    const CONSTANT: &[(&str, &str)] = &[
        ("MATCH (m:M) RETURN sum(COUNT { MATCH (n:N) WHERE n.k = 7 })", "120"),
        ("MATCH (m:M) WHERE m.k IN COLLECT { MATCH (n:N) RETURN n.k } RETURN count(*)", "10"),
        ("MATCH (m:M) WHERE NOT EXISTS { MATCH (n:N) WHERE n.k = -1 } RETURN count(*)", "30"),
        ("MATCH (m:M) RETURN sum(COUNT { MATCH (n:N) WHERE n.k < 5 RETURN n LIMIT 7 })", "210"),
        ("MATCH (m:M) OPTIONAL MATCH (n:N) WHERE n.k = 7 RETURN count(n), count(*), sum(n.id)", "120, 120, 9840"),
        ("MATCH (m:M) OPTIONAL MATCH (n:N) WHERE n.k = -1 RETURN count(n), count(*)", "0, 30"),
        (
            "MATCH (m:M) WITH m ORDER BY m.id DESC OPTIONAL MATCH (n:N) WHERE n.k = 7 AND n.id < 9 RETURN collect(m.id)[..3]",
            "[29, 28, 27]",
        ),
        ("MATCH (m:M) CALL () { MATCH (n:N) WHERE n.k = 7 RETURN n LIMIT 1 } RETURN count(n), count(*)", "30, 30"),
        ("MATCH (m:M) WITH EXISTS { MATCH (n:N) WHERE n.k > 48 } AS e RETURN collect(DISTINCT e)", "[true]"),
    ];
    let small = graph(10).join(";\n");
    let store = ReferenceStore::new();
    for statement in graph(100) {
        rows_given(&store, &statement, 10);
    }
    for (query, expected) in CONSTANT {
        check(&format!("{small};\n{query}"), &[*expected]);
        // Once for each batch of ten, not for each of 300 rows.
        let (_, given) = rows_given(&store, query, 10);
        assert!(given < 200_000, "{given} rows for {query}");
    }
    let distinct = "UNWIND range(1, 50) AS i RETURN count(DISTINCT COLLECT { RETURN rand() AS r }) > 40";
    check(distinct, &["true"]);
}

#[test]
fn a_list_of_a_row_is_searched_as_one_written_in_place() {
    let few = "[1, 2.0, 'a', null, [1], 9007199254740993]";
    for list in [
        "range(0, 20)",
        "range(0, 20) + [null]",
        "range(0, 20) + ['a', 2.5]",
        "range(0, 20) + [[1]]",
        "range(0, 20) + [0.0 / 0.0]",
        "[]",
        "[9007199254740992.0, 1, 2, 3, 4, 5, 6, 7, 8]",
    ] {
        let in_place = format!("UNWIND {few} AS x RETURN collect(coalesce(toString(x IN {list}), 'null'))");
        let expected = super::rows_of(&in_place);
        let bound = format!("WITH {list} AS l UNWIND {few} AS x RETURN collect(coalesce(toString(x IN l), 'null'))");
        check(&bound, &[&expected[0]]);
        // Two lists in turns.
        let both =
            format!("UNWIND [{list}, [1]] AS l UNWIND {few} + {few} AS x WITH l, x WHERE x IN l RETURN count(*)");
        let apart = [list, "[1]"].map(|list| {
            let rows = super::rows_of(&format!("UNWIND {few} + {few} AS x WITH x WHERE x IN {list} RETURN count(*)"));
            rows[0].parse::<u64>().expect("a count is a number")
        });
        check(&both, &[&(apart[0] + apart[1]).to_string()]);
    }
}

#[test]
fn the_other_side_is_read_a_few_times_however_many_rows_ask() {
    let store = ReferenceStore::new();
    for statement in graph(100) {
        rows_given(&store, &statement, 10);
    }
    for (query, _) in QUERIES {
        // A scan for each row would give 600,000; a few scans, each with a filter, stay far below.
        let (_, given) = rows_given(&store, query, 10);
        assert!(given < 40_000, "{given} rows for {query}");
    }
    // A statement that writes reads it once for each batch.
    let (_, given) = rows_given(&store, "UNWIND range(0, 999) AS i MERGE (n:N {k: i})", 10);
    assert!(given < 700_000, "{given} rows for 1,000 rows that are merged");
    let (rows, _) = run_with(
        &store,
        "MATCH (n:N) RETURN count(*)",
        &Map::default(),
        RunSettings::default(),
        &QueryMemory::unlimited(),
    )
    .expect("the query runs");
    assert_eq!(rows, ["2500"]);
}
