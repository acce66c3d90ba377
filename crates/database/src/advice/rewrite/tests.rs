//! Texts of statements, and the other texts that the counts of a store allow.

use std::sync::Arc;

use model::statistics::{EdgeSketch, ValueSketch};
use model::{EdgeTypeId, LabelId, PropertyKeyId, Schema, Sketches, Statistics};

use super::{Known, rewrites};

/// Persons with `id` and `name` who bought products with `sku`; products are part of products.
fn with_known(test: &dyn Fn(Known<'_>)) {
    let mut schema = Schema::default();
    let [person, product] = ["Person", "Product"].map(|name| LabelId(schema.labels.intern(name)));
    let [bought, part] = ["BOUGHT", "PART"].map(|name| EdgeTypeId(schema.edge_types.intern(name)));
    let [id, name, sku] = ["id", "name", "sku"].map(|name| PropertyKeyId(schema.property_keys.intern(name)));
    let mut sketches = Sketches::default();
    for place in [(person, id), (person, name), (product, sku)] {
        sketches.values.insert(place, ValueSketch { nodes: 9, sampled: 9, present: 9, distinct: 9, numbers: None });
    }
    for (edge_type, from, to) in [(bought, person, product), (part, product, product)] {
        let mut edges = EdgeSketch { edges: 5, sampled: 5, ..EdgeSketch::default() };
        for pair in [(Some(from), Some(to)), (Some(from), None), (None, Some(to))] {
            edges.pairs.insert(pair, 5);
        }
        sketches.edge_types.insert(edge_type, edges);
    }
    let statistics = Statistics { sketches: Some(Arc::new(sketches)), ..Statistics::default() };
    test(Known { schema: &schema, statistics: &statistics });
}

/// Statements, and their other texts.
const CASES: &[(&str, &[&str])] = &[
    ("MATCH (n {id: 5}) RETURN n", &["MATCH (n:Person {id: 5}) RETURN n"]),
    ("MATCH ({id: 5}) RETURN 1", &["MATCH (:Person {id: 5}) RETURN 1"]),
    (
        "MATCH (n) WHERE n.sku IN ['a'] AND n.x = 1 RETURN n",
        &["MATCH (n:Product) WHERE n.sku IN ['a'] AND n.x = 1 RETURN n"],
    ),
    // A null may pass these.
    ("MATCH (n) WHERE n.id = 5 OR n.name = 'a' RETURN n", &[]),
    ("MATCH (n) WHERE n.id IS NULL RETURN n", &[]),
    ("MATCH (n) WHERE NOT n.id = 5 RETURN n", &[]),
    ("MATCH (n) WHERE coalesce(n.id, 5) = 5 RETURN n", &[]),
    // It has a label; it is created; it is a group.
    ("MATCH (n:Person), (n {id: 5}) RETURN n", &[]),
    ("MATCH (n) WHERE n:Person AND n.id = 5 RETURN n", &[]),
    ("MERGE (n {id: 5}) RETURN n", &[]),
    // It would break its own premise, or may.
    ("MATCH (n {id: 5}) CREATE ({id: 5})", &[]),
    ("MATCH (n {id: 5}) CREATE (n)-[:PART]->()", &[]),
    ("MATCH (n {id: 5}) MERGE (m {id: 9})", &[]),
    ("MATCH (n {id: 5}) REMOVE n:Person", &[]),
    ("MATCH (n {id: 5}) SET n += {x: 1}", &[]),
    ("MATCH (n {id: 5}) MATCH (m) SET m.id = 1", &[]),
    ("MATCH (n {id: 5}) FOREACH (x IN [1] | CREATE (:Person))", &[]),
    ("MATCH (n {id: 5}) CALL { CREATE (:Person) } RETURN n", &[]),
    ("MATCH (n {id: 5}) SET n.x = 1", &["MATCH (n:Person {id: 5}) SET n.x = 1"]),
    ("MATCH (n {id: 5}) REMOVE n.x", &["MATCH (n:Person {id: 5}) REMOVE n.x"]),
    ("MATCH (n {id: 5}) DETACH DELETE n", &["MATCH (n:Person {id: 5}) DETACH DELETE n"]),
    ("MATCH ((n {id: 5})-[:PART]->(m)){2} RETURN n", &[]),
    ("MATCH (a:Person)-[r]->(b:Product) RETURN r", &["MATCH (a:Person)-[r:BOUGHT]->(b:Product) RETURN r"]),
    ("MATCH (a:Person)-->(b) RETURN b", &["MATCH (a:Person)-[:BOUGHT]->(b) RETURN b"]),
    ("MATCH (a:Product)<-[]-(b:Person) RETURN b", &["MATCH (a:Product)<-[:BOUGHT]-(b:Person) RETURN b"]),
    ("MATCH (a:Person)-[*2]->(b) RETURN b", &[]),
    ("MATCH (a:Product)--(b:Product) RETURN b", &["MATCH (a:Product)-[:PART]-(b:Product) RETURN b"]),
    // Both types lead to products.
    ("MATCH (a)-->(b:Product) RETURN b", &[]),
    ("MATCH (a:Person)-[:BOUGHT]-(b) RETURN b", &["MATCH (a:Person)-[:BOUGHT]->(b) RETURN b"]),
    ("MATCH (a:Product)-[r:BOUGHT]-(b) RETURN b", &["MATCH (a:Product)<-[r:BOUGHT]-(b) RETURN b"]),
    ("MATCH (a:Person)<-[:BOUGHT]->(b) RETURN b", &["MATCH (a:Person)-[:BOUGHT]->(b) RETURN b"]),
    ("MATCH (a:Product)-[:PART]-(b:Product) RETURN b", &[]),
    ("MATCH (a:Person)-[:BOUGHT*1..2]-(b) RETURN b", &[]),
    ("MATCH p = shortestPath((a:Person)-[:BOUGHT]-(b)) RETURN p", &[]),
    ("MATCH (n:Person) WHERE toLower(n.name) = 'a' RETURN n", &["MATCH (n:Person) WHERE n.name = 'a' RETURN n"]),
    ("MATCH (n:Person) WHERE toInteger(n.id) IN [1] RETURN n", &["MATCH (n:Person) WHERE n.id IN [1] RETURN n"]),
    ("MATCH (n:Person) WHERE toLower(n.name) <> 'a' OR true RETURN n", &[]),
    (
        "MATCH (n:Person) WHERE n.d.year = 1999 RETURN n",
        &["MATCH (n:Person) WHERE date('1999-01-01') <= n.d < date('2000-01-01') RETURN n"],
    ),
    ("MATCH (n:Person) WHERE n.d.year <= 1999 RETURN n", &["MATCH (n:Person) WHERE n.d < date('2000-01-01') RETURN n"]),
    ("MATCH (n:Person) WHERE n.d.year > 1999 RETURN n", &["MATCH (n:Person) WHERE n.d >= date('2000-01-01') RETURN n"]),
    ("MATCH (n:Person) WHERE n.d.month = 9 RETURN n", &[]),
    (
        "MATCH (n:Person) WHERE n.name =~ 'it\\'s.*' RETURN n",
        &["MATCH (n:Person) WHERE n.name STARTS WITH 'it\\'s' RETURN n"],
    ),
    ("MATCH (n:Person) WHERE n.name =~ 'a.c.*' RETURN n", &[]),
    (
        "MATCH (n:Person) WHERE left(n.name, 2) = 'é1' RETURN n",
        &["MATCH (n:Person) WHERE n.name STARTS WITH 'é1' RETURN n"],
    ),
    ("MATCH (n:Person) WHERE left(n.name, 3) = 'é1' RETURN n", &[]),
    (
        "MATCH (p:Person) WHERE EXISTS { MATCH (n) WHERE n.sku = p.name } RETURN p",
        &["MATCH (p:Person) WHERE EXISTS { MATCH (n:Product) WHERE n.sku = p.name } RETURN p"],
    ),
    ("RETURN 1", &[]),
    ("no query", &[]),
];

#[test]
fn texts_are_rewritten_where_the_counts_allow_it_and_premises_are_statements() {
    with_known(&|known| {
        for (text, expected) in CASES {
            let found = rewrites(text, known);
            assert_eq!(found.iter().map(|rewrite| rewrite.applied(text)).collect::<Vec<_>>(), *expected, "{text}");
            for rewrite in found {
                let premise = &rewrite.premise;
                cypher::parser::parse(&premise.counts_against).unwrap_or_else(|error| panic!("{premise:?}: {error}"));
                cypher::parser::parse(&rewrite.applied(text)).unwrap_or_else(|error| panic!("{text}: {error}"));
            }
        }
    });
}
