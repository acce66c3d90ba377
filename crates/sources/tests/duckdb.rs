//! DuckDB files as sources: the graph that one is, snapshots, writes, and files that cannot be opened.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its file fails")]

#[path = "relational/asking.rs"]
mod asking;
#[path = "relational/contract.rs"]
mod contract;
#[path = "types/duckdb.rs"]
mod own_types;
#[path = "relational/shop.rs"]
mod shop;
#[path = "relational/type_table.rs"]
mod types;
#[path = "relational/world.rs"]
mod world;

use std::sync::Arc;

use asking::{all_nodes, names, rows};
use model::{Column, ErrorCode, GraphStore, Value};
use sources::connect::connect;
use sources::connector::{Change, Connector, EdgeKeys, Question};
use sources::definition::{CacheSettings, GraphDefinition, Prefetch};
use sources::{duckdb, infer};
use testing::Folder;
use testing::random::seed_or;
use testing::servers::duckdb_library;
use testing::store_contract::check_same_seeded;
use world::{Types, World, store};

const TYPES: Types = Types { exact: "VARCHAR(40)", float: "DOUBLE", moment: "TIMESTAMP" };

/// A file made by statements, and its URL; `None` if the library is not there, which is said.
fn database(folder: &Folder, statements: &str) -> Option<String> {
    duckdb::set_library(&duckdb_library()?);
    let url = format!("duckdb:{}?mode=rw&threads=2", folder.path().join("test.duckdb").display());
    duckdb::execute(&url, statements).unwrap();
    Some(url)
}

/// Statements without their foreign keys: DuckDB refuses to delete a row to which none refers any more if the last that did was
/// deleted in the same transaction.
fn without_foreign_keys(statements: &str) -> String {
    const BEGIN: &str = "FOREIGN KEY";
    let (mut left, mut rest) = (String::new(), statements);
    while let Some(at) = rest.find(BEGIN) {
        left += rest[..at].trim_end().trim_end_matches(',');
        let end = rest[at..].match_indices(')').nth(1).map_or(rest.len(), |(end, _)| at + end + 1);
        rest = &rest[end..];
    }
    left + rest
}

#[test]
fn a_database_is_the_graph_that_its_definition_makes_of_it() {
    let seed = seed_or(31);
    let blocks = Prefetch::Block { properties: vec!["age".into()], size: 2.0 };
    for (round, prefetch) in
        [Prefetch::None, Prefetch::Adaptive, Prefetch::Lookahead(2), blocks].into_iter().enumerate()
    {
        let seed = seed + round as u64;
        let mut world = World::new(seed);
        let folder = Folder::new();
        let Some(url) = database(&folder, &world.statements(TYPES)) else { return };
        world.definition.prefetch = prefetch;
        world.definition.cache = CacheSettings { bytes_max: [0, 64 << 20][round % 2], ..CacheSettings::default() };
        let store = store(&world.definition, connect(&url, &world.definition).unwrap());
        let reference = world.reference();
        for view in 0..2 {
            check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed + view);
        }
    }
}

#[test]
fn it_keeps_the_contract_of_stores() {
    let folder = Folder::new();
    let Some(url) = database(&folder, "CREATE SEQUENCE numbers") else { return };
    let words = contract::Words {
        key: "BIGINT PRIMARY KEY DEFAULT nextval('numbers')",
        float: "DOUBLE",
        text: "VARCHAR",
        bytes: "BLOB",
        prefetch: Prefetch::Adaptive,
        has_savepoints: false,
    };
    contract::check(&words, &url, &|statements| duckdb::execute(&url, &without_foreign_keys(statements)).unwrap());
}

/// People who know each other.
const PEOPLE: &str = "CREATE SEQUENCE numbers START 4;
    CREATE TABLE person (id INTEGER PRIMARY KEY DEFAULT nextval('numbers'), name VARCHAR NOT NULL, boss INTEGER, born DATE);
    CREATE TABLE knows (a INTEGER NOT NULL REFERENCES person, b INTEGER NOT NULL REFERENCES person, since INTEGER, PRIMARY KEY (a, b));
    INSERT INTO person VALUES (1, 'ann', NULL, '1990-01-02'), (2, 'bob', 1, NULL), (3, 'cy', 1, '2001-01-01'), (9, 'zoe', 1, NULL);
    INSERT INTO knows VALUES (1, 2, 2001), (2, 3, NULL);";

const PEOPLE_DEFINITION: &str = r#"{
    "nodes": { "Person": { "table": "person", "properties": ["id", "name", "born"] } },
    "edges": {
        "BOSS": { "table": "person", "source": "Person", "target": "Person(boss)" },
        "KNOWS": { "table": "knows", "key": ["a", "b"], "source": "Person(a)", "target": "Person(b)", "properties": ["since"] }
    }
}"#;

fn people(folder: &Folder) -> Option<(String, GraphDefinition, Arc<dyn Connector>)> {
    let url = database(folder, PEOPLE)?;
    let definition = GraphDefinition::from_json(PEOPLE_DEFINITION).unwrap();
    let connector = connect(&url, &definition).unwrap();
    Some((url, definition, connector))
}

#[test]
fn a_reading_is_of_one_moment() {
    let folder = Folder::new();
    let Some((url, _, connector)) = people(&folder) else { return };
    let mut reading = connector.read().unwrap();
    let stream = reading.start(&all_nodes(&[1])).unwrap();
    assert_eq!(reading.more(stream, 1).unwrap().unwrap()[0].len(), 1);
    duckdb::execute(&url, "INSERT INTO person VALUES (10, 'di', NULL, NULL); DELETE FROM knows").unwrap();
    // Questions and several streams go on beside each other, in the state that the first of them saw.
    let second = reading.start(&all_nodes(&[])).unwrap();
    assert_eq!(reading.more(second, 2).unwrap().unwrap()[0].len(), 2);
    assert_eq!(names(reading.as_mut()), ["ann", "bob", "cy", "zoe"]);
    assert_eq!(reading.more(stream, 10).unwrap().unwrap()[1].value(1), Value::string("cy"));
    assert!(reading.more(stream, 10).unwrap().is_none());
    assert_eq!(reading.more(second, 2).unwrap().unwrap()[0].len(), 2);
    reading.stop(second);
    assert!(reading.more(second, 2).unwrap().is_none());
    assert_eq!(rows(reading.as_mut(), Question::CountEdges { kind: 1 }), [[Value::Int(2)]]);
    drop(reading);
    assert_eq!(names(connector.read().unwrap().as_mut()), ["ann", "bob", "cy", "zoe", "di"]);
}

#[test]
fn many_rows_come_piece_by_piece_beside_other_questions() {
    const ROWS: usize = 30_000;
    let folder = Folder::new();
    let made = format!("CREATE TABLE t AS SELECT i AS id, 'name ' || i AS name FROM range({ROWS}) AS r(i)");
    let Some(url) = database(&folder, &made) else { return };
    let definition = r#"{ "nodes": { "T": { "table": "t", "key": "id", "properties": ["id", "name"] } } }"#;
    let connector = connect(&url, &GraphDefinition::from_json(definition).unwrap()).unwrap();
    let mut reading = connector.read().unwrap();
    let stream = reading.start(&all_nodes(&[1])).unwrap();
    let (mut found, mut round) = (0, 0_usize);
    while let Some(columns) = reading.more(stream, 1_000).unwrap() {
        assert!(columns[0].len() <= 1_000);
        for row in 0..columns[0].len() {
            assert_eq!(columns[1].value(row).to_string(), format!("'name {}'", columns[0].value(row)));
        }
        found += columns[0].len();
        round += 1;
        if round % 10 == 0 {
            assert_eq!(
                rows(reading.as_mut(), Question::CountNodes { kind: 0, which: sources::connector::Which::All }).len(),
                1
            );
        }
    }
    assert_eq!(found, ROWS);
}

#[test]
fn changes_are_one_transaction() {
    let folder = Folder::new();
    let Some((_, _, connector)) = people(&folder) else { return };
    let column = |values: &[Value]| Column::from_values(values);
    let (names_of_two, ids) = (column(&[Value::string("eve"), Value::string("fay")]), column(&[Value::Int(9)]));
    let mut writing = connector.write().unwrap();
    let keys = writing.change(&Change::InsertNodes { kind: 0, count: 2, properties: &[(1, &names_of_two)] }).unwrap();
    assert_eq!(keys.values().collect::<Vec<_>>(), [Value::Int(4), Value::Int(5)]);
    let day = column(&[Value::Date(model::temporal::Date(0))]);
    writing.change(&Change::UpdateNodes { kind: 0, keys: &ids, property: 2, values: &day }).unwrap();
    // A foreign key as an edge, and a row of a join table.
    let one = column(&[Value::Int(1)]);
    writing.change(&Change::InsertEdges { kind: 0, sources: &one, targets: &ids, properties: &[] }).unwrap();
    let since = column(&[Value::Int(2024)]);
    let made = Change::InsertEdges { kind: 1, sources: &ids, targets: &one, properties: &[(0, &since)] };
    let made = writing.change(&made).unwrap();
    assert_eq!(made.value(0), Value::list(vec![Value::Int(9), Value::Int(1)]));
    // Later reads of the transaction see it; nobody else does.
    assert_eq!(names(writing.as_mut()), ["ann", "bob", "cy", "eve", "fay", "zoe"]);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 4);
    writing.commit().unwrap();
    let mut reading = connector.read().unwrap();
    assert_eq!(names(reading.as_mut()), ["ann", "bob", "cy", "eve", "fay", "zoe"]);
    let found = rows(reading.as_mut(), all_nodes(&[2]));
    assert_eq!(found[5][1].to_string(), "1970-01-01");
    drop(reading);
    // Uncommitted changes are gone.
    let mut writing = connector.write().unwrap();
    writing.change(&Change::DeleteNodes { kind: 0, keys: &keys.slice(1, 2) }).unwrap();
    assert_eq!(names(writing.as_mut()).len(), 5);
    drop(writing);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 6);
}

#[test]
fn changes_that_cannot_be_made_are_refused() {
    let folder = Folder::new();
    let Some((url, definition, connector)) = people(&folder) else { return };
    let column = |values: &[Value]| Column::from_values(values);
    let one = column(&[Value::Int(1)]);
    let refused = |change: &Change<'_>, code: ErrorCode, part: &str| {
        let failure = connector.write().unwrap().change(change).unwrap_err();
        assert_eq!(failure.code(), code, "{failure}");
        assert!(failure.message().contains(part), "{failure}");
    };
    refused(&Change::DeleteNodes { kind: 0, keys: &one }, ErrorCode::Constraint, "foreign key constraint");
    let gone = column(&[Value::Int(99)]);
    refused(&Change::DeleteNodes { kind: 0, keys: &gone }, ErrorCode::NotFound, "0 rows were changed");
    let keys =
        EdgeKeys { sources: &gone, targets: &one, keys: &column(&[Value::list(vec![Value::Int(99), Value::Int(1)])]) };
    refused(&Change::DeleteEdges { kind: 1, edges: keys }, ErrorCode::NotFound, "0 rows were changed");
    // The first who writes a row wins.
    let (mut first, mut second) = (connector.write().unwrap(), connector.write().unwrap());
    names(second.as_mut());
    let zoe = column(&[Value::Int(9)]);
    let (ann, bea) = (column(&[Value::string("ann")]), column(&[Value::string("bea")]));
    first.change(&Change::UpdateNodes { kind: 0, keys: &zoe, property: 1, values: &ann }).unwrap();
    let failure = second.change(&Change::UpdateNodes { kind: 0, keys: &zoe, property: 1, values: &bea }).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Conflict, "{failure}");
    drop(second);
    first.commit().unwrap();
    // With other settings it cannot be opened beside; for reading only, nothing is written.
    let read_only = url.replace("mode=rw", "mode=ro");
    let beside = connect(&read_only, &definition).unwrap();
    let failure = beside.facts().unwrap_err();
    assert!(failure.message().contains("open in this program with other settings"), "{failure}");
    drop((connector, beside));
    let read_only = connect(&read_only, &definition).unwrap();
    assert!(!read_only.abilities().writes);
    assert_eq!(read_only.write().err().unwrap().code(), ErrorCode::ReadOnly);
    assert_eq!(names(read_only.read().unwrap().as_mut()).len(), 4);
}

#[test]
fn what_is_not_there_is_named() {
    let folder = Folder::new();
    let Some((url, definition, connector)) = people(&folder) else { return };
    let nowhere = url.replace("test.duckdb", "none.duckdb");
    let failure = connect(&nowhere, &definition).unwrap().facts().unwrap_err();
    assert!(failure.message().contains("none.duckdb: IO: the file does not exist"), "{failure}");
    assert!(!folder.path().join("none.duckdb").exists());
    std::fs::write(folder.path().join("text.duckdb"), "no database at all, but a text that is long enough".repeat(999))
        .unwrap();
    let text = url.replace("test.duckdb", "text.duckdb");
    let failure = connect(&text, &definition).unwrap().facts().unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Source, "{failure}");
    assert!(failure.message().contains("not a valid DuckDB database file"), "{failure}");
    let failure = connect(&format!("{url}&no_such=1"), &definition).err().unwrap();
    assert!(
        failure.message().contains("there is no setting `no_such=1`, only mode, memory_limit, threads"),
        "{failure}"
    );
    let failure = connect(&url.replace("threads=2", "threads=none"), &definition).unwrap().facts().unwrap_err();
    assert!(failure.message().contains("settings") || failure.message().contains("threads"), "{failure}");
    // A table that was changed under a definition.
    connector.facts().unwrap();
    duckdb::execute(&url, "DROP TABLE knows").unwrap();
    let question = Question::CountEdges { kind: 1 };
    let failure = connector.read().unwrap().ask(&[question], &mut |_, _| Ok(true)).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Definition, "{failure}");
    assert!(failure.message().contains("Table with name knows does not exist"), "{failure}");
}

#[test]
fn a_query_of_a_definition_reads_no_other_file() {
    let folder = Folder::new();
    let Some(url) = database(&folder, "CREATE TABLE t (id INTEGER PRIMARY KEY)") else { return };
    let secret = folder.path().join("secret.csv");
    std::fs::write(&secret, "id\n1\n").unwrap();
    for query in
        [format!("SELECT * FROM read_csv('{}')", secret.display()), format!("SELECT * FROM '{}'", secret.display())]
    {
        let definition = serde_json::json!({ "nodes": { "T": { "sql": query, "key": "id", "properties": ["id"] } } });
        let definition = GraphDefinition::from_json(&definition.to_string()).unwrap();
        let connector = connect(&url, &definition).unwrap();
        let failure = connector.read().unwrap().ask(&[all_nodes(&[0])], &mut |_, _| Ok(true)).unwrap_err();
        assert!(failure.message().contains("disabled"), "{failure}");
    }
}

#[test]
fn a_definition_is_inferred_from_keys() {
    let folder = Folder::new();
    let Some(url) = database(&folder, shop::STATEMENTS) else { return };
    shop::check(&url);
}

#[test]
fn values_of_each_type_are_exact_or_told() {
    let folder = Folder::new();
    let Some(url) = database(&folder, "") else { return };
    let run = |statements: &str| duckdb::execute(&url, &without_foreign_keys(statements)).unwrap();
    let before = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');";
    types::check(&types::Database { name: "DuckDB", url: url.clone(), run: &run, before }, own_types::TYPES);
}

#[test]
fn an_edge_that_is_counted_is_followed() {
    let folder = Folder::new();
    let tables = "CREATE TABLE folded (k VARCHAR COLLATE NOCASE, v INT); INSERT INTO folded VALUES ('Abc', 1);
        CREATE TABLE folded_ref (id INTEGER PRIMARY KEY, k VARCHAR); INSERT INTO folded_ref VALUES (1, 'ABC'), (2, 'Abc'), (3, 'zzz');
        CREATE TABLE number (k BIGINT PRIMARY KEY, v INT); INSERT INTO number VALUES (7, 1);
        CREATE TABLE number_ref (id INTEGER PRIMARY KEY, k VARCHAR); INSERT INTO number_ref VALUES (1, '7'), (2, '8');
        CREATE TABLE moment (k TIMESTAMP PRIMARY KEY, v INT); INSERT INTO moment VALUES ('2013-02-09 05:00:00', 1);
        CREATE TABLE moment_ref (id INTEGER PRIMARY KEY, k TIMESTAMP); INSERT INTO moment_ref VALUES (1, '2013-02-09 05:00:00');
        CREATE TABLE pair (a TIMESTAMP, b DOUBLE, v INT, PRIMARY KEY (a, b)); INSERT INTO pair VALUES ('2013-02-09 05:00:00', 0.1, 1), ('2013-02-09 06:00:00', 0.1, 2);";
    let Some(url) = database(&folder, tables) else { return };
    for (name, edges) in [("folded", 2), ("number", 1), ("moment", 1)] {
        types::check_edges(&url, name, edges);
    }
    types::check_pairs(&url);
}

#[test]
fn a_column_that_the_database_computes_is_read_only() {
    let folder = Folder::new();
    let tables = "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT AS (id * 2)); INSERT INTO t (id) VALUES (1);";
    let Some(url) = database(&folder, tables) else { return };
    types::check_computed(&url);
}

#[test]
fn what_does_not_fit_is_found() {
    let folder = Folder::new();
    let tables = "CREATE TABLE person (id INTEGER, name TEXT, picture BLOB);
         INSERT INTO person VALUES (1, 'ann', NULL), (1, 'bob', NULL), (NULL, 'cy', NULL), (2, 'di', NULL);
         CREATE TABLE knows (a INTEGER, b INTEGER, c TEXT);
         INSERT INTO knows VALUES (1, 2, 'x'), (1, 7, 'x'), (8, 9, 'x'), (NULL, 9, 'x');";
    let Some(url) = database(&folder, tables) else { return };
    let definition = r#"{
      "nodes": {
        "Person": { "table": "person", "properties": ["nam", { "name": "picture", "type": "INTEGER" }] },
        "Place": { "table": "places" },
        "Query": { "sql": "SELECT nix FROM person" }
      },
      "edges": { "KNOWS": { "table": "knows", "source": "Person(a)", "target": "Person(b)" } }
    }"#;
    let found = connect(&url, &GraphDefinition::from_json(definition).unwrap()).unwrap().check().unwrap();
    let found: Vec<String> = found.iter().map(|finding| finding.to_string()).collect();
    for expected in [
        "error: nodes.Person.properties.nam: there is no column `nam`\n  = did you mean `name`?",
        "error: nodes.Person.properties.picture: `picture` is BLOB, which does not convert to INTEGER",
        "error: nodes.Person.key: 1 key names more than one row, but a key names one node",
        "warning: nodes.Person.key: 1 row is without a key, left out of the graph",
        "error: nodes.Place.table: there is no table `places`",
        "\"nix\" not found",
        "warning: edges.KNOWS.source: 1 row refers to no `Person`; such edges are left out",
        "warning: edges.KNOWS.target: 3 rows refer to no `Person`; such edges are left out",
    ] {
        assert!(found.iter().any(|finding| finding.contains(expected)), "{expected}\n{found:#?}");
    }
    let mut source = sources::connect::inspect(&url).unwrap();
    let inferred = infer::definition(&source.catalog().unwrap(), &|name| source.quote(name));
    assert!(inferred.notes.iter().any(|note| note.contains("no primary key")), "{:?}", inferred.notes);
}
