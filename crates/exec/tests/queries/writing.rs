//! `CREATE`, `SET`, `REMOVE`, `DELETE`, constraints.

use super::{check, check_counters, check_error, check_with};
use exec::Counters;
use model::Value;

#[test]
fn creates() {
    check("CREATE (a:A {x: 1})-[r:R {y: 2}]->(b:B:C) RETURN a.x, r.y, labels(b)", &["1, 2, ['B', 'C']"]);
    check(
        "UNWIND range(1, 3) AS i CREATE (:N {id: i});\nMATCH (a:N), (b:N) WHERE a.id < b.id CREATE (a)-[:E]->(b);\nMATCH (a)-->(b) RETURN a.id, b.id",
        &["1, 2", "1, 3", "2, 3"],
    );
    check("CREATE (a:N {x: null}) RETURN keys(a)", &["[]"]);
    check("CREATE (a)<-[:E]-(b:B) RETURN labels(a);\nMATCH (b:B)-->(a) RETURN count(*)", &["1"]);
    check("MATCH (n) CREATE (m) RETURN count(*)", &["0"]);
    check("CREATE ();\nMATCH (n) CREATE ();\nMATCH (n) RETURN count(*)", &["2"]);
    check("CREATE p = (a:N {id: 1})-[:E]->(b:N {id: 2}) RETURN [n IN nodes(p) | n.id]", &["[1, 2]"]);
    check("UNWIND [1, 2, 3] AS i CREATE (n:N {id: i}) RETURN n.id LIMIT 1;\nMATCH (n) RETURN count(*)", &["3"]);
    check("UNWIND [1, 2, 3] AS i CREATE (n:N {id: i}) WITH n LIMIT 0 RETURN n;\nMATCH (n) RETURN count(*)", &["3"]);
    let rows = Value::list(vec![
        Value::map([("a".into(), Value::Int(1)), ("b".into(), Value::string("x"))]),
        Value::map([("a".into(), Value::Int(2)), ("c".into(), Value::Bool(true))]),
    ]);
    check_with(
        "UNWIND $rows AS row CREATE (n:N) SET n = row RETURN n.a, n.b, n.c",
        &[("rows", rows.clone())],
        &["1, 'x', null", "2, null, true"],
        false,
    );
    check_with(
        "UNWIND $rows AS row CREATE (n:N {x: row.a}) SET n += row RETURN n.x, n.a, n.c",
        &[("rows", rows)],
        &["1, 1, null", "2, 2, true"],
        false,
    );
    check_error("CREATE (n {x: {a: 1}})", "TYPE");
    check_error("MATCH (n) RETURN n;\nOPTIONAL MATCH (a:Missing) CREATE (a)-[:E]->(b)", "NOT_FOUND");
}

#[test]
fn sets_properties() {
    let nodes = "CREATE (:N {id: 1, x: 1}), (:N {id: 2, x: 2});\n";
    check(&format!("{nodes}MATCH (n:N) SET n.x = n.x + 10 RETURN n.x"), &["11", "12"]);
    check(&format!("{nodes}MATCH (n:N) SET n.x = 5, n.y = n.x + 1 RETURN n.x, n.y"), &["5, 6", "5, 6"]);
    check(
        &format!("{nodes}UNWIND [1, 2, 3] AS i MATCH (n:N {{id: 1}}) SET n.x = n.x + i RETURN n.x"),
        &["7", "7", "7"],
    );
    check(
        &format!("{nodes}MATCH (a:N {{id: 1}}), (b:N {{id: 2}}) SET a.x = b.x, b.x = a.x RETURN a.x, b.x"),
        &["2, 2"],
    );
    check(
        &format!(
            "{nodes}UNWIND [[1, 2], [2, 1]] AS p MATCH (a:N {{id: p[0]}}), (b:N {{id: p[1]}}) SET a.x = b.x;\nMATCH (n) RETURN n.x"
        ),
        &["2", "2"],
    );
    check(&format!("{nodes}MATCH (n:N) SET n.x = null RETURN keys(n)"), &["['id']", "['id']"]);
    check(&format!("{nodes}MATCH (n:N) REMOVE n.x RETURN keys(n)"), &["['id']", "['id']"]);
    check(&format!("{nodes}MATCH (n:N {{id: 1}}) SET n = {{z: 3}} RETURN n.id, n.x, n.z"), &["null, null, 3"]);
    check(&format!("{nodes}MATCH (n:N {{id: 1}}) SET n += {{x: null, z: 3}} RETURN n.id, n.x, n.z"), &["1, null, 3"]);
    check(&format!("{nodes}MATCH (n:N {{id: 1}}), (m:N {{id: 2}}) SET n = m RETURN n.id, n.x"), &["2, 2"]);
    check(
        "CREATE (a)-[r:E {x: 1}]->(b) SET r.x = r.x + 1, r.y = 3 RETURN r.x, r.y;\nMATCH ()-[r]->() SET r += {z: 4} RETURN r.x, r.y, r.z",
        &["2, 3, 4"],
    );
    check(&format!("{nodes}OPTIONAL MATCH (n:Missing) SET n.x = 1 RETURN n"), &["null"]);
    check(&format!("{nodes}MATCH (n:N) SET n.x = [1, 2] RETURN n.x LIMIT 1"), &["[1, 2]"]);
    check_error(&format!("{nodes}MATCH (n:N) SET n.x = n"), "TYPE");
    check_error(&format!("{nodes}MATCH (n:N) SET n.x = [1, null]"), "TYPE");
}

#[test]
fn sets_labels() {
    check("CREATE (n:A) SET n:B:C RETURN labels(n)", &["['A', 'B', 'C']"]);
    check("CREATE (n:A:B);\nMATCH (n:A) REMOVE n:A:Missing RETURN labels(n)", &["['B']"]);
    check_counters("CREATE (n:A) SET n:A:B", Counters { nodes_created: 1, labels_added: 2, ..Counters::default() });
}

#[test]
fn deletes() {
    let graph = "CREATE (a:N {id: 1})-[:E]->(b:N {id: 2})-[:E]->(c:N {id: 3}), (d:N {id: 4});\n";
    check(&format!("{graph}MATCH (n:N {{id: 4}}) DELETE n;\nMATCH (n) RETURN n.id"), &["1", "2", "3"]);
    check_error(&format!("{graph}MATCH (n:N {{id: 1}}) DELETE n"), "STILL_CONNECTED");
    check(
        &format!("{graph}MATCH (n:N {{id: 2}}) DETACH DELETE n;\nMATCH (n) RETURN n.id, COUNT {{ (n)--() }}"),
        &["1, 0", "3, 0", "4, 0"],
    );
    check(&format!("{graph}MATCH (a {{id: 1}})-[r]->(b) DELETE r, a;\nMATCH (n) RETURN n.id"), &["2", "3", "4"]);
    check(&format!("{graph}MATCH (n)-[r]->() DELETE r RETURN count(*);\nMATCH ()-[r]->() RETURN count(*)"), &["0"]);
    check(&format!("{graph}MATCH p = (:N {{id: 1}})-[*2]->() DELETE p;\nMATCH (n) RETURN n.id"), &["4"]);
    check(&format!("{graph}OPTIONAL MATCH (n:Missing) DELETE n RETURN n"), &["null"]);
    check(&format!("{graph}MATCH (n:N) DETACH DELETE n RETURN count(*)"), &["4"]);
    check(&format!("{graph}MATCH (n:N)--(m) DETACH DELETE n RETURN count(*);\nMATCH (n) RETURN n.id"), &["4"]);
    check_error(&format!("{graph}MATCH (n) DELETE n.id"), "TYPE");
    check_counters(
        &format!("{graph}MATCH (n) DETACH DELETE n"),
        Counters { nodes_deleted: 4, edges_deleted: 2, ..Counters::default() },
    );
}

#[test]
fn constraints() {
    let constraint = "CREATE CONSTRAINT c FOR (n:N) REQUIRE n.id IS UNIQUE;\n";
    check_error(&format!("{constraint}CREATE (:N {{id: 1}}), (:N {{id: 1}})"), "CONSTRAINT");
    check_error(&format!("{constraint}{constraint}"), "SCHEMA");
    check(
        &format!(
            "{constraint}CREATE CONSTRAINT c IF NOT EXISTS FOR (n:N) REQUIRE n.id IS UNIQUE;\nSHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties, propertyType"
        ),
        &["'c', 'UNIQUENESS', 'NODE', ['N'], ['id'], null"],
    );
    check(&format!("{constraint}DROP CONSTRAINT c;\nCREATE (:N {{id: 1}}), (:N {{id: 1}});\nSHOW CONSTRAINTS"), &[]);
    check("DROP CONSTRAINT c IF EXISTS;\nSHOW CONSTRAINTS", &[]);
    check_error("DROP CONSTRAINT c", "SCHEMA");
}

#[test]
fn reads_after_writes() {
    check("CREATE (a:N {id: 1}) WITH a MATCH (n:N) RETURN n.id", &["1"]);
    check(
        "CREATE (a:N {id: 1})-[:E]->(b:N {id: 2}) WITH a MATCH (a)-[:E]->(x) SET x.id = 9 WITH x RETURN x.id",
        &["9"],
    );
    check("UNWIND [1, 2] AS i CREATE (n:N {id: i}) WITH count(*) AS c MATCH (n:N) RETURN c, count(n)", &["2, 2"]);
    check("CREATE (a:N) RETURN 1 AS x UNION ALL CREATE (b:N) RETURN 2 AS x;\nMATCH (n:N) RETURN count(*)", &["2"]);
}
