//! Scans, lookups, expansion, joins, uniqueness of edges.

use super::{check, check_ordered, check_with};
use model::Value;

/// a→b, a→b again (parallel), b→c, c→a, c→c (loop), and d alone.
const GRAPH: &str = "CREATE (a:N:First {id: 1, name: 'a'}), (b:N {id: 2, name: 'b'}), (c:N {id: 3, name: 'c'}), (d:M {id: 4})
    CREATE (a)-[:E {w: 1}]->(b), (a)-[:F {w: 2}]->(b), (b)-[:E {w: 3}]->(c), (c)-[:E {w: 4}]->(a), (c)-[:E {w: 5}]->(c);\n";

fn check_graph(query: &str, expected: &[&str]) {
    check(&format!("{GRAPH}{query}"), expected);
}

#[test]
fn scans_by_label() {
    check_graph("MATCH (n) RETURN n.id", &["1", "2", "3", "4"]);
    check_graph("MATCH (n:N) RETURN n.id", &["1", "2", "3"]);
    check_graph("MATCH (n:N:First) RETURN n.id", &["1"]);
    check_graph("MATCH (n:Unknown) RETURN n.id", &[]);
    check_graph("MATCH (n:N) RETURN count(*)", &["3"]);
    check_graph("MATCH (n:N), (m:M) RETURN n.id, m.id", &["1, 4", "2, 4", "3, 4"]);
    check_graph("MATCH (n:N), (m:N) RETURN count(*)", &["9"]);
}

#[test]
fn filters_know_three_values() {
    check_graph("MATCH (n) WHERE n.name > 'a' RETURN n.id", &["2", "3"]);
    check_graph("MATCH (n) WHERE NOT n.name > 'a' RETURN n.id", &["1"]);
    check_graph("MATCH (n) WHERE n.name IS NULL RETURN n.id", &["4"]);
    check_graph("MATCH (n) WHERE n.missing = n.missing RETURN n.id", &[]);
    check_graph("MATCH (n) WHERE n.name = 'a' OR n.id = 4 RETURN n.id", &["1", "4"]);
    check_graph("MATCH (n) WHERE null RETURN n.id", &[]);
}

#[test]
fn lookups_by_constraint_and_id() {
    let script = format!("CREATE CONSTRAINT c FOR (n:N) REQUIRE n.id IS UNIQUE;\n{GRAPH}");
    check(&format!("{script}MATCH (n:N {{id: 2}}) RETURN n.name"), &["'b'"]);
    check(&format!("{script}MATCH (n:N {{id: 2.0}}) RETURN n.name"), &["'b'"]);
    check(&format!("{script}MATCH (n:N {{id: 9}}) RETURN n.name"), &[]);
    check(&format!("{script}MATCH (n:N) WHERE n.id = null RETURN n.name"), &[]);
    check(&format!("{script}MATCH (n:N) WHERE n.id IN [3, 1, 3, null, 7] RETURN n.name"), &["'a'", "'c'"]);
    check(
        &format!("{script}UNWIND [1, 5, 2, 1] AS i MATCH (n:N {{id: i}}) RETURN i, n.name"),
        &["1, 'a'", "1, 'a'", "2, 'b'"],
    );
    check_with(
        &format!("{script}MATCH (n:N {{id: $i}})-[:E]->(m:N) RETURN m.id"),
        &[("i", Value::Int(3))],
        &["1", "3"],
        false,
    );
    check_graph("MATCH (n:N {id: 2}) WITH id(n) AS i MATCH (m) WHERE id(m) = i RETURN m.name", &["'b'"]);
    check_graph("MATCH (m) WHERE id(m) = 'x' RETURN m.name", &[]);
    check_graph(
        "MATCH (n:N) WITH collect(id(n)) AS ids MATCH (m) WHERE id(m) IN ids RETURN m.name",
        &["'a'", "'b'", "'c'"],
    );
    check(
        &format!("{script}SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties, propertyType"),
        &["'c', 'UNIQUENESS', 'NODE', ['N'], ['id'], null"],
    );
}

#[test]
fn expands_each_way() {
    check_graph("MATCH (a)-[r]->(b) RETURN a.id, r.w, b.id", &["1, 1, 2", "1, 2, 2", "2, 3, 3", "3, 4, 1", "3, 5, 3"]);
    check_graph("MATCH (a {id: 3})<-[r]-(b) RETURN r.w, b.id", &["3, 2", "5, 3"]);
    check_graph("MATCH (a {id: 3})-[r]-(b) RETURN r.w, b.id", &["3, 2", "4, 1", "5, 3"]);
    check_graph("MATCH (a {id: 1})-[r:F]-(b) RETURN r.w", &["2"]);
    check_graph("MATCH (a {id: 1})-[r:F|E]->(b) RETURN r.w", &["1", "2"]);
    check_graph("MATCH (a)-[:Unknown]->(b) RETURN a", &[]);
    check_graph(
        "MATCH (a)-[r:F]-(b) RETURN type(r), startNode(r).id, endNode(r).id, a.id",
        &["'F', 1, 2, 1", "'F', 1, 2, 2"],
    );
    check_graph("MATCH (a)-->(b) RETURN count(*)", &["5"]);
    check_graph("MATCH (a)--(b) RETURN count(*)", &["9"]);
    check_graph("MATCH (a:N)-[:E]->(b) RETURN a.id, count(*)", &["1, 1", "2, 1", "3, 2"]);
}

#[test]
fn edges_of_a_pattern_differ() {
    // Two steps: 1→2→3 twice, 2→3→1, 2→3→3, 3→1→2 twice, 3→3→1; not the loop twice.
    let two = ["1, 3", "1, 3", "2, 1", "2, 3", "3, 2", "3, 2", "3, 1"];
    check_graph("MATCH (a)-->(b)-->(c) RETURN a.id, c.id", &two);
    check_graph("MATCH (a)-->(b)-->(c) RETURN count(*)", &["7"]);
    check_graph("MATCH (a)-->(b)-->(c) RETURN a.id, count(*)", &["1, 2", "2, 2", "3, 3"]);
    check_graph("MATCH (a)-->(b)-->(c) RETURN count(DISTINCT c)", &["3"]);
    check_graph("MATCH (a)-->(b) MATCH (b)-->(c) RETURN count(*)", &["8"]);
    check_graph("MATCH (a {id: 2})--(b)--(c) RETURN b.id, c.id", &["1, 2", "1, 2", "1, 3", "1, 3", "3, 1", "3, 3"]);
    check_graph("MATCH (a)-[r]->(b), (c)-[s]->(d) WHERE r.w = 1 RETURN s.w", &["2", "3", "4", "5"]);
    check_graph("MATCH (a)-[r]->(b) MATCH (c)-[r]->(d) RETURN r.w", &["1", "2", "3", "4", "5"]);
}

#[test]
fn cycles_join_back() {
    check_graph(
        "MATCH (a)-->(b)-->(c)-->(a) RETURN a.id, b.id, c.id",
        &["1, 2, 3", "1, 2, 3", "2, 3, 1", "2, 3, 1", "3, 1, 2", "3, 1, 2"],
    );
    check_graph("MATCH (a)-->(a) RETURN a.id", &["3"]);
    check_graph("MATCH (a)--(a) RETURN a.id", &["3"]);
    check_graph("MATCH (a {id: 1}), (b {id: 2}) MATCH (a)-[r]-(b) RETURN r.w", &["1", "2"]);
    check_graph("MATCH (a {id: 1}), (b {id: 2}) MATCH (a)<-[r]-(b) RETURN r.w", &[]);
    check_graph("MATCH (a {id: 1}), (b {id: 2}) MATCH (a)-[r]->(b)<-[s]-(a) RETURN r.w, s.w", &["1, 2", "2, 1"]);
    check_graph("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)", &["6"]);
}

#[test]
fn joins_on_values() {
    check_graph("MATCH (n:N), (m:N) WHERE n.name = m.name RETURN n.id, m.id", &["1, 1", "2, 2", "3, 3"]);
    check_graph("MATCH (n), (m) WHERE n.name = m.name RETURN count(*)", &["3"]);
    check_graph("MATCH (n:N), (m:N) WHERE n.id < m.id RETURN n.id, m.id", &["1, 2", "1, 3", "2, 3"]);
    check(
        "UNWIND [1, null, 2.0] AS x UNWIND [1.0, null, 2] AS y WITH x, y WHERE x = y RETURN x, y",
        &["1, 1.0", "2.0, 2"],
    );
}

#[test]
fn existence() {
    check_graph("MATCH (n) WHERE (n)-->() RETURN n.id", &["1", "2", "3"]);
    check_graph("MATCH (n) WHERE NOT (n)-->() RETURN n.id", &["4"]);
    check_graph("MATCH (n) WHERE EXISTS { (n)-[:E]->(m) WHERE m.id = 1 } RETURN n.id", &["3"]);
    check_graph("MATCH (n:N) WHERE (n)-[:F]->() OR n.id = 3 RETURN n.id", &["1", "3"]);
    check_graph("MATCH (n:N) RETURN n.id, COUNT { (n)-->() }", &["1, 2", "2, 1", "3, 2"]);
    check_graph("MATCH (n:N) RETURN n.id, COUNT { (n)-->(m) WHERE m.id = 3 }", &["1, 0", "2, 1", "3, 1"]);
    check_graph("MATCH (n) RETURN n.id, EXISTS { (n)-->() } AS x", &["1, true", "2, true", "3, true", "4, false"]);
    check_graph(
        "MATCH (n) RETURN n.id, [(n)-[r]->(m) WHERE r.w > 1 AND r.w <> 5 | m.id] AS l",
        &["1, [2]", "2, [3]", "3, [1]", "4, []"],
    );
    check_graph(
        "MATCH (n) RETURN n.id, [i IN [1, 2] | COUNT { (n)-->(m) WHERE m.id = i }] AS l",
        &["1, [0, 2]", "2, [0, 0]", "3, [1, 0]", "4, [0, 0]"],
    );
}

#[test]
fn stops_early() {
    check_ordered("UNWIND range(1, 1000) AS i RETURN i LIMIT 3", &["1", "2", "3"]);
    check_ordered("UNWIND range(1, 10) AS i RETURN i SKIP 4 LIMIT 3", &["5", "6", "7"]);
    // No list is made: this one would not fit.
    let all = "UNWIND range(-9223372036854775808, 9223372036854775807) AS i RETURN i LIMIT 2";
    check_ordered(all, &["-9223372036854775808", "-9223372036854775807"]);
    check_ordered(
        "UNWIND range(9223372036854775806, 9223372036854775807) AS i RETURN i - 1",
        &["9223372036854775805", "9223372036854775806"],
    );
    check_ordered(
        "UNWIND [2, null, 0, 1] AS n UNWIND range(n, 0, -1) AS i RETURN n, i",
        &["2, 2", "2, 1", "2, 0", "0, 0", "1, 1", "1, 0"],
    );
    check_ordered(
        "UNWIND range(1, 5000) AS i WITH i ORDER BY i SKIP 2046 LIMIT 4 RETURN i",
        &["2047", "2048", "2049", "2050"],
    );
    check_ordered("UNWIND range(1, 5000) AS i RETURN count(*), sum(i)", &["5000, 12502500"]);
    check_ordered("UNWIND range(1, 10) AS i RETURN i SKIP 8", &["9", "10"]);
    check_ordered("UNWIND range(1, 10) AS i RETURN i LIMIT 0", &[]);
    check_graph("MATCH (a)--(b) WITH a LIMIT 1 RETURN count(*)", &["1"]);
}

#[test]
fn edges_are_tested_before_rows_are_made_of_them() {
    // Values of all kinds, and none.
    const EDGES: &str = "CREATE (a:N {id: 1}), (b:N {id: 2}),
        (a)-[:E {w: 1, x: 'p'}]->(b), (a)-[:E {w: 2}]->(a), (a)-[:E {w: 2.5, x: 'q'}]->(b), (b)-[:E {w: '2', x: 3}]->(a),
        (b)-[:E {w: true}]->(b), (b)-[:E {w: [2]}]->(a), (b)-[:E]->(a), (b)-[:E {w: 0.0 / 0.0}]->(a), (b)-[:F {w: 2}]->(a);\n";
    for (condition, expected) in [
        ("r.w >= 2", "3"),
        ("r.w > 2", "1"),
        ("2 >= r.w", "3"),
        ("r.w = 2", "2"),
        ("r.w < '3'", "1"),
        ("r.w = true", "1"),
        ("r.w >= 1 AND r.w < 2", "1"),
        ("r.w = 2 AND a <> b", "1"),
        ("r.w > 0 AND r.x > 'p'", "1"),
        ("NOT r.w > 2", "4"),
        ("r.missing = 1", "0"),
        ("r.w > 1 OR r.x = 3", "4"),
    ] {
        for edge in ["(a)-[r]->(b)", "(b)<-[r]-(a)", "(a:N)-[r:E|F]->(b:N)"] {
            check(&format!("{EDGES}MATCH {edge} WHERE {condition} WITH a, b RETURN count(a.id + b.id)"), &[expected]);
        }
    }
    check(&format!("{EDGES}MATCH (a)-[r]-(b) WHERE r.w >= 2 WITH r, a, b RETURN count(a.id + b.id)"), &["5"]);
    check(&format!("{EDGES}MATCH (a)-[r {{w: 2}}]->(b)-[s]->(c) WHERE s.w >= 1 RETURN count(c.id + r.w)"), &["5"]);
    check(
        &format!(
            "{EDGES}MATCH (a)-[r]->(b) WHERE r.w >= 2 SET r.w = 0 WITH r MATCH ()-[s]->() WHERE s.w = 0 RETURN count(DISTINCT s)"
        ),
        &["3"],
    );
}
