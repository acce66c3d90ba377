//! `MERGE`: what is found, what is created, and that a batch does as row by row.

use super::{check, check_counters, check_error};
use exec::Counters;

#[test]
fn merges_nodes() {
    check("MERGE (n:N {id: 1}) RETURN n.id;\nMERGE (n:N {id: 1});\nMATCH (n) RETURN n.id", &["1"]);
    check("UNWIND [1, 2, 1, 3, 2] AS i MERGE (n:N {id: i});\nMATCH (n:N) RETURN n.id", &["1", "2", "3"]);
    check(
        "UNWIND [1, 2, 1] AS i MERGE (n:N {id: i}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1 RETURN n.id, i;\nMATCH (n:N) RETURN n.id, n.c",
        &["1, 2", "2, 1"],
    );
    check(
        "UNWIND [1, 1, 1, 1] AS i MERGE (n:N {id: i}) ON MATCH SET n.c = coalesce(n.c, 0) + 1;\nMATCH (n:N) RETURN n.c",
        &["3"],
    );
    check("CREATE (:N {id: 1}), (:N {id: 1});\nMERGE (n:N {id: 1}) ON MATCH SET n.x = 1 RETURN n.x", &["1", "1"]);
    check(
        "CREATE (:N {id: 1, x: 2}), (:N {id: 1, x: 3});\nUNWIND [1, 2] AS i MERGE (n:N {id: i}) RETURN i, n.x",
        &["1, 2", "1, 3", "2, null"],
    );
    check("UNWIND [1, 1.0] AS i MERGE (n:N {id: i}) RETURN count(*), count(DISTINCT n)", &["2, 1"]);
    check("UNWIND [1, 2] AS i MERGE (n:N) RETURN count(DISTINCT n)", &["1"]);
    check("UNWIND [1, 2] AS i MERGE (n:N) SET n.id = i;\nMATCH (n) RETURN n.id", &["2"]);
    check("MERGE (n);\nMATCH (n) RETURN count(*)", &["1"]);
}

#[test]
fn merges_with_a_constraint() {
    let constraint = "CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE;\n";
    check(
        &format!(
            "{constraint}UNWIND [3, 1, 3, 2, 1] AS i MERGE (n:N {{id: i}}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1;\nMATCH (n:N) RETURN n.id, n.c"
        ),
        &["1, 2", "2, 1", "3, 2"],
    );
    check(
        &format!(
            "{constraint}UNWIND range(1, 100) AS i MERGE (n:N {{id: i % 10}}) ON CREATE SET n.first = i ON MATCH SET n.last = i;\nMATCH (n:N) WHERE n.id < 2 RETURN n.id, n.first, n.last"
        ),
        &["0, 10, 100", "1, 1, 91"],
    );
    check_error(&format!("{constraint}CREATE (:N {{id: 1, x: 1}});\nMERGE (n:N {{id: 1, x: 2}})"), "CONSTRAINT");
}

#[test]
fn later_rows_see_what_earlier_ones_did() {
    check(
        "UNWIND [1, 2, 3] AS i MERGE (n:N {id: i}) ON CREATE SET n.id = i + 1;\nMATCH (n:N) RETURN n.id",
        &["2", "4"],
    );
    check(
        "UNWIND [1, 2, 1] AS i MERGE (n:N {id: i}) ON CREATE SET n:M ON MATCH SET n:L;\nMATCH (n) RETURN n.id, n:M, n:L",
        &["1, true, true", "2, true, false"],
    );
    check(
        "CREATE (:C {v: 0});\nUNWIND [1, 1, 2] AS i MATCH (c:C) MERGE (n:N {id: i}) ON CREATE SET c.v = c.v + 1 ON MATCH SET c.v = c.v + 10;\nMATCH (c:C) RETURN c.v",
        &["12"],
    );
}

#[test]
fn merges_edges() {
    let nodes = "UNWIND [1, 2, 3] AS i CREATE (:N {id: i});\n";
    check(
        &format!(
            "{nodes}UNWIND [[1, 2], [1, 2], [2, 1], [1, 1], [1, 1]] AS p MATCH (a:N {{id: p[0]}}), (b:N {{id: p[1]}}) MERGE (a)-[r:E]->(b) ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1;\nMATCH (a)-[r]->(b) RETURN a.id, b.id, r.n"
        ),
        &["1, 2, 2", "2, 1, 1", "1, 1, 2"],
    );
    check(
        &format!(
            "{nodes}UNWIND [[1, 2], [2, 1]] AS p MATCH (a:N {{id: p[0]}}), (b:N {{id: p[1]}}) MERGE (a)-[r:E]-(b);\nMATCH ()-[r]->() RETURN count(*)"
        ),
        &["1"],
    );
    check(
        &format!(
            "{nodes}UNWIND [[1, 1], [1, 2], [1, 1]] AS p MATCH (a:N {{id: 1}}), (b:N {{id: 2}}) MERGE (a)-[r:E {{v: p[1]}}]->(b);\nMATCH ()-[r]->() RETURN r.v"
        ),
        &["1", "2"],
    );
    check(
        &format!(
            "{nodes}MATCH (a:N {{id: 1}}) UNWIND [1, 1] AS i MERGE (a)-[:E]->(b:M {{id: i}});\nMATCH (a)-->(b:M) RETURN a.id, b.id"
        ),
        &["1, 1"],
    );
    check("MERGE (a:A)-[:E]->(b:B) RETURN labels(a), labels(b)", &["['A'], ['B']"]);
    check("CREATE (:A);\nMERGE (a:A)-[:E]->(b:B);\nMATCH (n) RETURN count(*)", &["3"]);
    check("MERGE p = (a:A)-[:E]->(b:B) RETURN length(p)", &["1"]);
    check(
        &format!(
            "{nodes}UNWIND [1, 1] AS i MATCH (a:N {{id: i}}), (b:N {{id: 2}}) MERGE p = (a)-[r:E]->(b) RETURN length(p), [n IN nodes(p) | n.id]"
        ),
        &["1, [1, 2]", "1, [1, 2]"],
    );
}

#[test]
fn refuses_nulls() {
    check_error("MERGE (n:N {id: null})", "SEMANTIC");
    check_error("UNWIND [1, null] AS i MERGE (n:N {id: i})", "SEMANTIC");
    check_error("OPTIONAL MATCH (a:Missing) MERGE (a)-[:E]->(b:B)", "NOT_FOUND");
}

#[test]
fn counts() {
    check_counters(
        "UNWIND [1, 1, 2] AS i MERGE (n:N {id: i}) ON CREATE SET n.x = 1",
        Counters { nodes_created: 2, labels_added: 2, properties_set: 4, ..Counters::default() },
    );
}
