//! SQLite as a source: the graph that it is, snapshots, writes, locks, and files that cannot be written.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its file fails")]

#[path = "relational/asking.rs"]
mod asking;
#[path = "relational/contract.rs"]
mod contract;
#[path = "types/sqlite.rs"]
mod own_types;
#[path = "relational/shop.rs"]
mod shop;
#[path = "relational/type_table.rs"]
mod types;
#[path = "relational/world.rs"]
mod world;

use std::path::Path;
use std::sync::Arc;

use asking::{all_nodes, names, rows};
use model::{Column, ErrorCode, GraphStore, Value};
use rusqlite::Connection;
use sources::connect::connect;
use sources::connector::{Change, Connector, EdgeKeys, Question};
use sources::definition::{CacheSettings, GraphDefinition, Prefetch};
use sources::infer;
use testing::Folder;
use testing::random::seed_or;
use testing::store_contract::check_same_seeded;
use world::{Types, World, store};

const TYPES: Types = Types { exact: "VARCHAR(40)", float: "DOUBLE", moment: "TIMESTAMP" };

/// A file made by statements, and its URL.
fn database(folder: &Folder, statements: &str) -> String {
    let file = folder.path().join("test.db");
    let connection = Connection::open(&file).unwrap();
    connection.execute_batch(statements).unwrap();
    url(&file)
}

fn url(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

#[test]
fn a_database_is_the_graph_that_its_definition_makes_of_it() {
    let seed = seed_or(21);
    let blocks = Prefetch::Block { properties: vec!["age".into()], size: 2.0 };
    for (round, prefetch) in
        [Prefetch::None, Prefetch::Adaptive, Prefetch::Lookahead(2), blocks].into_iter().enumerate()
    {
        let seed = seed + round as u64;
        let mut world = World::new(seed);
        let folder = Folder::new();
        let url = database(&folder, &world.statements(TYPES));
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
    // Readers and writers do not wait for each other.
    let url = database(&folder, "PRAGMA journal_mode = WAL;");
    let connection = Connection::open(folder.path().join("test.db")).unwrap();
    let words = contract::Words {
        key: "INTEGER PRIMARY KEY",
        float: "DOUBLE",
        text: "TEXT",
        bytes: "BLOB",
        prefetch: Prefetch::Adaptive,
        has_savepoints: true,
    };
    contract::check(&words, &url, &|statements| connection.execute_batch(statements).unwrap());
}

/// People who know each other.
const PEOPLE: &str = "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, boss INTEGER REFERENCES person, born DATE);
    CREATE TABLE knows (a INTEGER NOT NULL REFERENCES person, b INTEGER NOT NULL REFERENCES person, since INTEGER, PRIMARY KEY (a, b));
    INSERT INTO person VALUES (1, 'ann', NULL, '1990-01-02'), (2, 'bob', 1, NULL), (3, 'cy', 1, 'long ago');
    INSERT INTO knows VALUES (1, 2, 2001), (2, 3, NULL);";

fn inferred(url: &str) -> GraphDefinition {
    let mut source = sources::connect::inspect(url).unwrap();
    let catalog = source.catalog().unwrap();
    infer::definition(&catalog, &|name| source.quote(name)).definition
}

fn people(folder: &Folder) -> (String, GraphDefinition, Arc<dyn Connector>) {
    let url = database(folder, PEOPLE);
    let definition = inferred(&url);
    let connector = connect(&url, &definition).unwrap();
    (url, definition, connector)
}

#[test]
fn values_are_what_their_columns_declare() {
    let folder = Folder::new();
    let (_, definition, connector) = people(&folder);
    let names: Vec<&str> = definition.nodes[0].properties.iter().map(|property| &*property.name).collect();
    assert_eq!(names, ["id", "name", "born"]);
    let found = rows(connector.read().unwrap().as_mut(), all_nodes(&[2]));
    assert!(matches!(found[0][1], Value::Date(_)), "{:?}", found[0]);
    assert_eq!(found[1][1], Value::Null);
    assert_eq!(found[2][1], Value::string("long ago"));
}

#[test]
fn a_reading_is_of_one_moment() {
    let folder = Folder::new();
    let (_, _, connector) = people(&folder);
    let other = Connection::open(folder.path().join("test.db")).unwrap();
    other.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    let mut reading = connector.read().unwrap();
    let stream = reading.start(&all_nodes(&[1])).unwrap();
    assert_eq!(reading.more(stream, 1).unwrap().unwrap()[0].len(), 1);
    other.execute_batch("INSERT INTO person VALUES (4, 'di', NULL, NULL); DELETE FROM knows").unwrap();
    // Questions and several streams go on beside each other, in the state that the first of them saw.
    let second = reading.start(&all_nodes(&[])).unwrap();
    assert_eq!(reading.more(second, 2).unwrap().unwrap()[0].len(), 2);
    assert_eq!(names(reading.as_mut()), ["ann", "bob", "cy"]);
    assert_eq!(reading.more(stream, 10).unwrap().unwrap()[1].value(1), Value::string("cy"));
    assert!(reading.more(stream, 10).unwrap().is_none());
    assert_eq!(reading.more(second, 2).unwrap().unwrap()[0].len(), 1);
    reading.stop(second);
    assert!(reading.more(second, 2).unwrap().is_none());
    assert_eq!(rows(reading.as_mut(), Question::CountEdges { kind: 1 }), [[Value::Int(2)]]);
    drop(reading);
    assert_eq!(names(connector.read().unwrap().as_mut()), ["ann", "bob", "cy", "di"]);
}

#[test]
fn changes_are_one_transaction() {
    let folder = Folder::new();
    let (_, _, connector) = people(&folder);
    let column = |values: &[Value]| Column::from_values(values);
    let (names_of_two, ids) = (column(&[Value::string("eve"), Value::string("fay")]), column(&[Value::Int(3)]));
    let mut writing = connector.write().unwrap();
    let keys = writing.change(&Change::InsertNodes { kind: 0, count: 2, properties: &[(1, &names_of_two)] }).unwrap();
    assert_eq!(keys.values().collect::<Vec<_>>(), [Value::Int(4), Value::Int(5)]);
    let day = column(&[Value::Date(model::temporal::Date(0))]);
    writing.change(&Change::UpdateNodes { kind: 0, keys: &ids, property: 2, values: &day }).unwrap();
    // A foreign key as an edge, and a row of a join table.
    let one = column(&[Value::Int(1)]);
    let boss = Change::InsertEdges { kind: 0, sources: &one, targets: &ids, properties: &[] };
    writing.change(&boss).unwrap();
    let since = column(&[Value::Int(2024)]);
    let made = Change::InsertEdges { kind: 1, sources: &ids, targets: &keys.slice(0, 1), properties: &[(0, &since)] };
    let made = writing.change(&made).unwrap();
    assert_eq!(made.value(0), Value::list(vec![Value::Int(3), Value::Int(4)]));
    // Later reads of the transaction see it; nobody else does.
    assert_eq!(names(writing.as_mut()), ["ann", "bob", "cy", "eve", "fay"]);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 3);
    writing.commit().unwrap();
    let mut reading = connector.read().unwrap();
    assert_eq!(names(reading.as_mut()), ["ann", "bob", "cy", "eve", "fay"]);
    let found = rows(reading.as_mut(), all_nodes(&[2]));
    assert_eq!(found[2][1].to_string(), "1970-01-01");
    drop(reading);
    // Uncommitted changes are gone.
    let mut writing = connector.write().unwrap();
    writing.change(&Change::DeleteNodes { kind: 0, keys: &keys.slice(1, 2) }).unwrap();
    assert_eq!(names(writing.as_mut()).len(), 4);
    drop(writing);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 5);
}

#[test]
fn changes_that_cannot_be_made_are_refused() {
    let folder = Folder::new();
    let (url, definition, connector) = people(&folder);
    let column = |values: &[Value]| Column::from_values(values);
    let one = column(&[Value::Int(1)]);
    let mut writing = connector.write().unwrap();
    let failure = writing.change(&Change::DeleteNodes { kind: 0, keys: &one }).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Constraint, "{failure}");
    assert!(failure.message().contains("FOREIGN KEY constraint failed, in: DELETE FROM"), "{failure}");
    let gone = column(&[Value::Int(99)]);
    let failure = writing.change(&Change::DeleteNodes { kind: 0, keys: &gone }).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::NotFound, "{failure}");
    let keys = EdgeKeys { sources: &gone, targets: &one, keys: &gone };
    assert!(writing.change(&Change::DeleteEdges { kind: 1, edges: keys }).is_err());
    drop(writing);
    // Another writer waits, and then says that it waited.
    let impatient = connect(&format!("{url}?busy_timeout=20"), &definition).unwrap();
    let holder = connector.write().unwrap();
    let failure = impatient.write().err().unwrap();
    assert!(failure.message().contains("database is locked"), "{failure}");
    assert!(failure.remedy().contains("busy_timeout"), "{}", failure.remedy());
    drop(holder);
    assert!(impatient.write().is_ok());
    let read_only = connect(&format!("{url}?mode=ro"), &definition).unwrap();
    assert!(!read_only.abilities().writes);
    assert_eq!(read_only.write().err().unwrap().code(), ErrorCode::ReadOnly);
    assert_eq!(names(read_only.read().unwrap().as_mut()).len(), 3);
}

#[test]
fn what_is_not_there_is_named() {
    let folder = Folder::new();
    let (_, definition, _) = people(&folder);
    let nowhere = connect(&url(&folder.path().join("none.db")), &definition).unwrap();
    let failure = nowhere.facts().unwrap_err();
    assert!(failure.message().contains("none.db: unable to open database file"), "{failure}");
    assert!(!folder.path().join("none.db").exists());
    std::fs::write(folder.path().join("text.db"), "no database at all, but a text that is long enough to be read")
        .unwrap();
    let no_database = connect(&url(&folder.path().join("text.db")), &definition).unwrap();
    let failure = no_database.facts().unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Source, "{failure}");
    assert!(failure.message().contains("file is not a database"), "{failure}");
    // A table that was changed under a definition.
    let (_, definition, connector) = people(&Folder::new());
    drop(connector);
    let folder = Folder::new();
    let url = database(&folder, "CREATE TABLE person (id INTEGER PRIMARY KEY); CREATE TABLE knows (a INT, b INT)");
    let changed = connect(&url, &definition).unwrap();
    let failure = changed.read().unwrap().ask(&[all_nodes(&[1])], &mut |_, _| Ok(true)).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Definition, "{failure}");
    assert!(failure.message().contains("no such column: n.name, in: SELECT"), "{failure}");
}

#[test]
fn a_definition_is_inferred_from_keys() {
    let folder = Folder::new();
    shop::check(&database(&folder, shop::STATEMENTS));
}

#[test]
fn what_does_not_fit_is_found() {
    let folder = Folder::new();
    let url = database(
        &folder,
        "CREATE TABLE person (id INTEGER, name TEXT, picture BLOB);
         INSERT INTO person VALUES (1, 'ann', NULL), (1, 'bob', NULL), (NULL, 'cy', NULL), (2, 'di', NULL);
         CREATE TABLE knows (a INTEGER, b INTEGER, c TEXT);
         INSERT INTO knows VALUES (1, 2, 'x'), (1, 7, 'x'), (8, 9, 'x'), (NULL, 9, 'x');",
    );
    let definition = r#"{
      "nodes": {
        "Person": { "table": "person", "properties": ["nam", { "name": "picture", "type": "INTEGER" }] },
        "Place": { "table": "places" },
        "Query": { "sql": "SELECT nix FROM person" }
      },
      "edges": {
        "KNOWS": { "table": "knows", "source": "Person(a)", "target": "Person(b)" },
        "BAD": { "table": "knows", "source": "Person(aa)", "target": "Place(b)" }
      }
    }"#;
    let definition = GraphDefinition::from_json(definition).unwrap();
    let found = connect(&url, &definition).unwrap().check().unwrap();
    let found: Vec<String> = found.iter().map(|finding| finding.to_string()).collect();
    for expected in [
        "error: nodes.Person.properties.nam: there is no column `nam`\n  = did you mean `name`?",
        "error: nodes.Person.properties.picture: `picture` is BLOB, which does not convert to INTEGER",
        "error: nodes.Person.key: 1 key names more than one row, but a key names one node",
        "warning: nodes.Person.key: 1 row is without a key, left out of the graph",
        "error: nodes.Place.table: there is no table `places`",
        "no such column: nix",
        "warning: edges.KNOWS.source: 1 row refers to no `Person`; such edges are left out",
        "warning: edges.KNOWS.target: 3 rows refer to no `Person`; such edges are left out",
        "slow: edges.KNOWS.source: no index finds edges by this end\n  = CREATE INDEX \"knows_a_index\" ON \"knows\" (\"a\")",
        "error: edges.BAD.source: there is no column `aa`",
    ] {
        assert!(found.iter().any(|finding| finding.contains(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn values_of_each_type_are_exact_or_told() {
    let folder = Folder::new();
    let url = database(&folder, "");
    let run =
        |statements: &str| Connection::open(folder.path().join("test.db")).unwrap().execute_batch(statements).unwrap();
    types::check(&types::Database { name: "SQLite", url, run: &run, before: "" }, own_types::TYPES);
}

#[test]
fn an_edge_that_is_counted_is_followed() {
    let folder = Folder::new();
    let url = database(
        &folder,
        "PRAGMA foreign_keys = OFF; CREATE TABLE folded (k TEXT COLLATE NOCASE PRIMARY KEY, v INT); INSERT INTO folded VALUES ('Abc', 1);
        CREATE TABLE folded_ref (id INTEGER PRIMARY KEY, k TEXT REFERENCES folded (k));
        INSERT INTO folded_ref VALUES (1, 'ABC'), (2, 'Abc'), (3, 'zzz');
        CREATE TABLE number (k INTEGER PRIMARY KEY, v INT); INSERT INTO number VALUES (7, 1);
        CREATE TABLE number_ref (id INTEGER PRIMARY KEY, k TEXT REFERENCES number (k)); INSERT INTO number_ref VALUES (1, '7'), (2, '8');
        CREATE TABLE moment (k TIMESTAMP PRIMARY KEY, v INT); INSERT INTO moment VALUES ('2013-02-09 05:00:00', 1);
        CREATE TABLE moment_ref (id INTEGER PRIMARY KEY, k TIMESTAMP REFERENCES moment (k)); INSERT INTO moment_ref VALUES (1, '2013-02-09 05:00:00');
        CREATE TABLE pair (a TIMESTAMP, b REAL, v INT, PRIMARY KEY (a, b)); INSERT INTO pair VALUES ('2013-02-09 05:00:00', 0.1, 1), ('2013-02-09 06:00:00', 0.1, 2);",
    );
    for (name, edges) in [("folded", 2), ("number", 1), ("moment", 1)] {
        types::check_edges(&url, name, edges);
    }
    types::check_pairs(&url);
}

#[test]
fn a_column_that_the_database_computes_is_read_only() {
    let folder = Folder::new();
    let url = database(
        &folder,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT AS (id * 2) STORED); INSERT INTO t (id) VALUES (1);",
    );
    types::check_computed(&url);
}

#[test]
fn rows_without_a_key_are_told() {
    let folder = Folder::new();
    let url = database(
        &folder,
        "CREATE TABLE t (k TEXT PRIMARY KEY, v); INSERT INTO t VALUES (NULL, 1), (NULL, 2), ('x', 3);",
    );
    let found = connect(&url, &inferred(&url)).unwrap().check().unwrap();
    assert!(
        found.iter().any(|finding| finding.message == "2 rows are without a key, left out of the graph"),
        "{found:?}"
    );
}
