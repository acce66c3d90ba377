//! Definitions as people write them: what is read, what is refused and in which words, and that what is written reads back.

mod schema;

use std::path::Path;
use std::time::Duration;

use model::schema::PropertyKind;

use super::{CacheSettings, EndNode, GraphDefinition, Prefetch, Rows, Structure};

/// Figure 2 of the paper, as printed: the query runs over two lines inside its quotes.
const FIGURE_2: &str = r#"
{
  "server": "127.0.0.1",
  "database": "roads",
  "user": "chris",
  "node-space": "homogeneous",
  "node": {
    "sql": "SELECT lat_f as lat, long_f as long
           FROM junctions WHERE id = ?",
    "properties": ["lat", "long"]
  },
  "edges": {
    "road": {
      "sql": "SELECT j_to, distance
             FROM roads WHERE j_from = ?",
      "target": "j_to",
      "properties": ["distance"]
    }
  }
}
"#;

/// Figure 3 of the paper, as printed.
const FIGURE_3: &str = r#"
{
  "node-space": "homogeneous",
  "node": {
    "properties": ["lat", "long"]
  },
  "edges": {
    "road": {
      "suffix": "out"
    }
  }
}
"#;

const SHOP: &str = r#"{
  "url": "postgresql://shop@db.example/shop",
  "nodes": {
    "Customer": { "table": "public.customers", "key": "customer_id", "properties": ["company_name", { "name": "since", "column": "created", "type": "DATE" }] },
    "Order": { "labels": ["Order", "Document"], "table": "orders", "key": "order_id" },
    "Line": { "table": "order_lines", "key": ["order_id", "line"], "show-key": false, "properties": { "amount": "qty", "price": { "type": "FLOAT" } } }
  },
  "edges": {
    "PLACED": { "table": "orders", "source": "Customer(customer_id)", "target": "Order" },
    "PART_OF": { "table": "order_lines", "source": "Line", "target": "Order(order_id)" },
    "LIKES": { "type": "LIKES", "sql": "SELECT * FROM likes WHERE '?' <> '!'", "source": { "node": "Customer", "column": "who" }, "target": "Customer(whom[])", "key": "id" },
    "LIVES_IN": { "table": "public.customers", "source": "Customer", "target": { "label": "City", "property": "name", "column": "city" } },
    "KNOWS": { "sql": "SELECT * FROM k WHERE a = ?", "reverse": "SELECT * FROM k WHERE b = ?", "scan": "SELECT * FROM k", "source": "Customer(a)", "target": "Customer(b)" }
  },
  "prefetch": { "block": { "properties": ["lat", "long"], "size": 0.05 } },
  "cache": { "bytes": "64 MiB", "max-age": "5 min" }
}"#;

const KEYS: &str = r#"{
  "engine": "redis", "server": "cache.example", "port": 6380,
  "nodes": {
    "Person": { "keys": "person:{id}", "properties": [{ "name": "id", "type": "INTEGER" }, "name"] },
    "Place": { "keys": "place:{id}:{property}", "properties": ["name"] }
  },
  "edges": {
    "KNOWS": { "source": "Person", "target": "Person", "suffix": "knows", "reverse-suffix": "known-by", "structure": "sorted-set", "score": "since", "edge-hash": "knows:{source}:{target}" },
    "VISITED": { "source": "Person", "target": "Place", "keys": "visits:{id}", "structure": "list" }
  },
  "prefetch": { "lookahead": 3 },
  "cache": { "max-age": 0 }
}"#;

fn read(json: &str) -> GraphDefinition {
    GraphDefinition::from_json(json).unwrap_or_else(|failure| panic!("{failure:?}\n{json}"))
}

fn property_names(of: &[super::Property]) -> Vec<&str> {
    of.iter().map(|property| &*property.name).collect()
}

#[test]
fn figure_2_loads_as_printed() {
    let figure = read(FIGURE_2);
    assert_eq!(figure.url.as_deref(), Some("postgresql://chris@127.0.0.1/roads"));
    let [junction] = &figure.nodes[..] else { panic!("one kind of nodes") };
    assert_eq!((&junction.key[..], &junction.labels[..]), (&["id".to_owned()][..], &["Node".into()][..]));
    assert_eq!(property_names(&junction.properties), ["id", "lat", "long"]);
    let sql = "SELECT lat_f as lat, long_f as long\n           FROM junctions WHERE id = ?";
    assert_eq!(junction.rows, Rows::ByKey { sql: sql.into(), reverse: None, scan: None });
    let [road] = &figure.edges[..] else { panic!("one kind of edges") };
    assert_eq!((&*road.edge_type, &road.source.columns[..]), ("road", &["id".to_owned()][..]));
    assert_eq!((&road.target.node, &road.target.columns[..]), (&EndNode::Kind(0), &["j_to".to_owned()][..]));
    assert_eq!(property_names(&road.properties), ["distance"]);
    assert!(matches!(&road.rows, Rows::ByKey { sql, .. } if sql.ends_with("FROM roads WHERE j_from = ?")));
}

#[test]
fn figure_3_loads_as_printed() {
    let figure = read(FIGURE_3);
    assert_eq!(figure.url, None);
    let Rows::Keys(pattern) = &figure.nodes[0].rows else { panic!("keys") };
    assert_eq!((&*pattern.pattern, pattern.structure), ("{id}", Structure::Hash));
    assert_eq!(property_names(&figure.nodes[0].properties), ["id", "lat", "long"]);
    let Rows::Keys(pattern) = &figure.edges[0].rows else { panic!("keys") };
    assert_eq!((&*pattern.pattern, pattern.structure), ("{id}:out", Structure::Any));
    assert_eq!(figure.edges[0].source, figure.edges[0].target);
}

#[test]
fn every_form_is_read() {
    let shop = read(SHOP);
    assert_eq!(shop.nodes[0].rows, Rows::Table { schema: Some("public".into()), name: "customers".into() });
    assert_eq!(property_names(&shop.nodes[0].properties), ["customer_id", "company_name", "since"]);
    assert_eq!(shop.nodes[0].properties[2].kind, Some(PropertyKind::Date));
    assert_eq!(shop.nodes[1].labels.len(), 2);
    assert_eq!(property_names(&shop.nodes[2].properties), ["amount", "price"]);
    assert_eq!(shop.nodes[2].properties[0].column, "qty");
    assert_eq!(shop.edges[0].target.columns, ["order_id"]);
    assert_eq!(shop.edges[1].source.columns, ["order_id", "line"]);
    assert!(shop.edges[2].target.is_array && matches!(&shop.edges[2].rows, Rows::Query(_)));
    assert!(matches!(&shop.edges[3].target.node, EndNode::Foreign { label, .. } if &**label == "City"));
    assert!(matches!(&shop.edges[4].rows, Rows::ByKey { reverse: Some(_), scan: Some(_), .. }));
    assert!(matches!(&shop.prefetch, Prefetch::Block { properties, size } if properties.len() == 2 && *size == 0.05));
    assert_eq!(shop.cache, CacheSettings { bytes_max: 64 << 20, age_max: Duration::from_secs(300) });

    let keys = read(KEYS);
    assert_eq!(keys.url.as_deref(), Some("redis://cache.example:6380"));
    assert!(matches!(&keys.nodes[1].rows, Rows::Keys(pattern) if pattern.structure == Structure::Flat));
    let Rows::Keys(knows) = &keys.edges[0].rows else { panic!("keys") };
    assert_eq!(knows.pattern, "person:{id}:knows");
    assert_eq!(knows.reverse.as_deref(), Some("person:{id}:known-by"));
    assert_eq!((knows.structure, knows.score.as_deref()), (Structure::SortedSet, Some("since")));
    assert_eq!((keys.prefetch, keys.cache.age_max), (Prefetch::Lookahead(3), Duration::ZERO));
}

#[test]
fn what_is_written_reads_back() {
    for json in [FIGURE_2, FIGURE_3, SHOP, KEYS] {
        let definition = read(json);
        let written = definition.to_json();
        assert_eq!(read(&written), definition, "{written}");
        assert_eq!(read(&written).to_json(), written);
    }
}

#[test]
fn paths_lie_beside_the_definition() {
    let mut files = read(r#"{ "nodes": { "P": { "file": "p.csv" }, "Q": { "file": "/q.csv" } } }"#);
    files.resolve_paths(Path::new("/data"));
    assert_eq!(files.nodes[0].rows, Rows::File { path: "/data/p.csv".into() });
    assert_eq!(files.nodes[1].rows, Rows::File { path: "/q.csv".into() });
}

/// A definition with nodes `P` of table `p`, and this beside them.
fn with_edges(edges: &str) -> String {
    format!(r#"{{ "nodes": {{ "P": {{ "table": "p" }} }}, "edges": {{ {edges} }} }}"#)
}

fn refused(cases: &[(String, &str, &str)]) {
    for (json, message, remedy) in cases {
        let failure = GraphDefinition::from_json(json).expect_err(json);
        assert_eq!(failure.code().name(), "DEFINITION", "{json}");
        assert!(failure.message().starts_with(message), "{json}\n{}\n{message}", failure.message());
        assert!(failure.remedy().contains(remedy), "{json}\n{}", failure.remedy());
    }
}

#[test]
fn what_is_wrong_is_named() {
    refused(&[
        ("{".to_owned(), "line 1, column 1: EOF while parsing an object", "mend the JSON"),
        ("{ \"a\": \"x\ny\", \"b\" }".to_owned(), "line 2, column 9: expected `:`", "mend the JSON"),
        (r#"{ "url": "a", "url": "b" }"#.to_owned(), "line 1, column 19: the key `url` stands twice in one object", ""),
        ("[]".to_owned(), "expected an object, found a list", ""),
        (
            r#"{ "node": {}, "edgs": {} }"#.to_owned(),
            "there is no key `edgs` here; expected $schema",
            "did you mean `edges`?",
        ),
        (
            r#"{ "url": "postgresql://u:secret@h/d", "node": {} }"#.to_owned(),
            "url: a password stands in the definition",
            "PGPASSWORD",
        ),
        (
            r#"{ "url": "redis://h?password=x", "node": {} }"#.to_owned(),
            "url: a password stands in the definition",
            "environment",
        ),
        (r#"{ "password": "x", "node": {} }"#.to_owned(), "there is no key `password` here", ""),
        (r#"{ "url": "a", "server": "b", "node": {} }"#.to_owned(), "expected `url` or `server`, found both", ""),
        (
            r#"{ "engine": "postgre", "server": "b", "node": {} }"#.to_owned(),
            r#"engine: expected one of postgresql, postgres, mysql, mariadb, sqlite, duckdb, redis, file, found "postgre""#,
            "did you mean `postgres`?",
        ),
        (
            r#"{ "node-space": "heterogeneous", "node": {} }"#.to_owned(),
            "node-space: expected the key `nodes` in this node space, found `node`",
            "",
        ),
        (r#"{ "edges": {} }"#.to_owned(), "expected the key `nodes`: the kinds of nodes by name", ""),
    ]);
}

#[test]
fn what_is_wrong_with_nodes_is_named_with_its_place() {
    let node = |node: &str| format!(r#"{{ "nodes": {{ "P": {node} }} }}"#);
    refused(&[
        (node(r#"{ "table": 7 }"#), "nodes.P.table: expected a text, found 7", ""),
        (node(r#"{ "table": "p", "sql": "x" }"#), "nodes.P: expected `table` or `sql`, found both", ""),
        (
            node(r#"{ "table": "p", "properties": ["a", {"type": "INTEGR", "name": "b"}] }"#),
            "nodes.P.properties[1].type: expected one of BOOLEAN",
            "did you mean `INTEGER`?",
        ),
        (
            node(r#"{ "table": "p", "properties": ["a", "a"] }"#),
            "nodes.P.properties: the property `a` stands twice",
            "",
        ),
        (node(r#"{ "sql": "SELECT ?", "scan": "SELECT ?" }"#), "nodes.P.scan: expected no parameter `?`, found 1", ""),
        (
            node(r#"{ "sql": "SELECT 1", "scan": "SELECT 2" }"#),
            "nodes.P.sql: expected a parameter `?`, the node's key, found none",
            "",
        ),
        (node(r#"{ "keys": "p" }"#), r#"nodes.P.keys: expected `{id}` once in "p", found it 0 times"#, ""),
        (node(r#"{ "keys": "p:{id}", "structure": "set" }"#), "nodes.P.structure: expected one of hash, flat", ""),
        (node(r#"{ "keys": "p:{id}", "schema": "set" }"#), "nodes.P.schema: stands only beside `table`", ""),
    ]);
}

#[test]
fn what_is_wrong_with_edges_and_settings_is_named_with_its_place() {
    refused(&[
        (
            with_edges(r#""E": { "source": "P(a)", "target": "P(b)" }"#),
            "edges.E: expected where the rows come from",
            "",
        ),
        (
            with_edges(r#""E": { "table": "e", "source": "P", "target": "P(b)" }"#),
            "edges.E.source: expected the columns that hold the key of `P`, as `P(column)`",
            "",
        ),
        (
            with_edges(r#""E": { "table": "e", "target": "P(b)" }"#),
            "edges.E: expected the key `source`: a kind of nodes",
            "",
        ),
        (
            with_edges(r#""E": { "table": "e", "source": "Pp(a)", "target": "P(b)" }"#),
            "edges.E.source: there are no nodes `Pp` in this definition",
            "did you mean `P`?",
        ),
        (
            with_edges(r#""E": { "table": "e", "source": "P(a, b)", "target": "P(b)" }"#),
            "edges.E.source: expected 1 columns, as many as the node's key has, found 2",
            "",
        ),
        (
            with_edges(r#""E": { "keys": "e:{id}", "source": "P", "target": "P" }"#),
            "edges.E: rows come from keys, others of this definition from tables",
            "attach them all",
        ),
        (
            r#"{ "node": { "table": "p" }, "prefetch": { "lookahead": 0 } }"#.to_owned(),
            "prefetch.lookahead: expected a whole number from 1 to 64, found 0",
            "",
        ),
        (
            r#"{ "node": { "table": "p" }, "cache": { "bytes": "64 MX" } }"#.to_owned(),
            r#"cache.bytes: expected a number of bytes, as 268435456 or "256 MiB", found "64 MX""#,
            "",
        ),
        (r#"{ "nodes": {} }"#.to_owned(), "nodes: expected at least one kind of nodes, found none", ""),
    ]);
}

#[test]
fn pieces_of_a_place_become_a_url() {
    for (pieces, url) in [
        (r#""server": "h""#, Some("postgresql://h")),
        (
            r#""server": "::1", "port": 5433, "database": "my db", "user": "a@b""#,
            Some("postgresql://a%40b@[::1]:5433/my%20db"),
        ),
        (r#""server": "/run/pg", "database": "d""#, Some("postgresql://%2Frun%2Fpg/d")),
        (r#""engine": "MariaDB", "server": "h", "database": "d""#, Some("mysql://h/d")),
        (r#""engine": "sqlite", "database": "shop.db""#, Some("sqlite:shop.db")),
        (r#""engine": "sqlite""#, None),
    ] {
        let definition = read(&format!(r#"{{ {pieces}, "node": {{ "table": "t" }} }}"#));
        assert_eq!(definition.url.as_deref(), url, "{pieces}");
    }
}
