//! `OPTIONAL MATCH` and what nulls do after it.

use super::{check, check_ordered};

const GRAPH: &str =
    "CREATE (a:P {id: 1}), (b:P {id: 2}), (c:P {id: 3}), (a)-[:K {w: 1}]->(b), (a)-[:K {w: 2}]->(c), (b)-[:L]->(c);\n";

fn check_graph(query: &str, expected: &[&str]) {
    check(&format!("{GRAPH}{query}"), expected);
}

#[test]
fn rows_without_a_match_stay() {
    check_graph(
        "MATCH (p:P) OPTIONAL MATCH (p)-[r:K]->(q) RETURN p.id, r.w, q.id",
        &["1, 1, 2", "1, 2, 3", "2, null, null", "3, null, null"],
    );
    check_graph(
        "MATCH (p:P) OPTIONAL MATCH (p)-[:K]->(q) WHERE q.id = 3 RETURN p.id, q.id",
        &["1, 3", "2, null", "3, null"],
    );
    check_graph("OPTIONAL MATCH (x:Missing) RETURN x", &["null"]);
    check_graph("MATCH (p:P) OPTIONAL MATCH (x:Missing) RETURN p.id, x", &["1, null", "2, null", "3, null"]);
}

#[test]
fn nulls_match_nothing() {
    check_graph("MATCH (p:P) OPTIONAL MATCH (p)-[:L]->(q) MATCH (q)<-[:K]-(r) RETURN p.id, r.id", &["2, 1"]);
    check_graph(
        "MATCH (p:P) OPTIONAL MATCH (p)-[:L]->(q) OPTIONAL MATCH (q)<-[:K]-(r) RETURN p.id, q.id, r.id",
        &["1, null, null", "2, 3, 1", "3, null, null"],
    );
    check_graph("OPTIONAL MATCH (x:Missing) RETURN x.id, labels(x), x:P, id(x)", &["null, null, null, null"]);
    check_graph(
        "MATCH (p:P) OPTIONAL MATCH (p)-[:K]->(q) WITH p, count(q) AS c RETURN p.id, c",
        &["1, 2", "2, 0", "3, 0"],
    );
    check_graph(
        "MATCH (p:P) OPTIONAL MATCH (p)-[:K {w: 2}]->(q) RETURN p.id, collect(q.id)",
        &["1, [3]", "2, []", "3, []"],
    );
    check_graph(
        "MATCH (p:P) OPTIONAL MATCH path = (p)-[:L]->(q) RETURN p.id, length(path)",
        &["1, null", "2, 1", "3, null"],
    );
}

#[test]
fn optional_keeps_the_order_of_rows() {
    check_ordered(
        &format!(
            "{GRAPH}MATCH (p:P) WITH p ORDER BY p.id DESC OPTIONAL MATCH (p)-[:K]->(q) WITH p, q.id AS q RETURN p.id, count(q)"
        ),
        &["3, 0", "2, 0", "1, 2"],
    );
}

#[test]
fn optional_with_longer_patterns() {
    check_graph(
        "MATCH (p:P) OPTIONAL MATCH (p)-[:K]->(q)-[:L]->(r) RETURN p.id, q.id, r.id",
        &["1, 2, 3", "2, null, null", "3, null, null"],
    );
    check_graph(
        "MATCH (p:P) OPTIONAL MATCH (p)-[*1..2]->(q) RETURN p.id, q.id",
        &["1, 2", "1, 3", "1, 3", "2, 3", "3, null"],
    );
    check_graph(
        "MATCH (p:P), (q:P {id: 3}) OPTIONAL MATCH (p)-[r:K]->(q) RETURN p.id, r.w",
        &["1, 2", "2, null", "3, null"],
    );
}
