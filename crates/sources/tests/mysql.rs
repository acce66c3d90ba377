//! MySQL as a source, asked of a MariaDB server: the graph that it is, snapshots, writes, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its database fails")]

#[path = "relational/shop.rs"]
mod shop;
#[path = "relational/world.rs"]
mod world;

use std::sync::Arc;

use model::{Column, ErrorCode, GraphStore, Value};
use sources::connect::{connect, inspect};
use sources::connector::{Change, Connector, Question, Reading, Which};
use sources::definition::{GraphDefinition, Prefetch};
use sources::infer;
use testing::random::seed_or;
use testing::servers::mariadb;
use testing::store_contract::check_same_seeded;
use world::{Types, World, store};

const TYPES: Types = Types { exact: "VARCHAR(40) COLLATE utf8mb4_bin", float: "DOUBLE", moment: "DATETIME" };

#[test]
fn a_database_is_the_graph_that_its_definition_makes_of_it() {
    let Some(server) = mariadb() else { return };
    let seed = seed_or(31);
    for (round, prefetch) in [Prefetch::None, Prefetch::Adaptive, Prefetch::Lookahead(2)].into_iter().enumerate() {
        let seed = seed + round as u64;
        let mut world = World::new(seed);
        // A query by key compares as MySQL does, to which the text `a` equals the number 0.
        world.definition.nodes.retain(|kind| &*kind.name != "road");
        world.definition.edges.retain(|kind| &*kind.name != "leads");
        let name = format!("world_{round}");
        let url = server.database(&name);
        server.run(&name, &world.statements(TYPES));
        world.definition.prefetch = prefetch;
        let store = store(&world.definition, connect(&url, &world.definition).unwrap());
        let reference = world.reference();
        for view in 0..2 {
            check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed + view);
        }
    }
}

/// People who know each other.
const PEOPLE: &str = "CREATE TABLE person (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, boss BIGINT, born DATE,
        seen TIMESTAMP NULL, paid DECIMAL(10,2), FOREIGN KEY (boss) REFERENCES person (id));
    CREATE TABLE knows (a BIGINT NOT NULL, b BIGINT NOT NULL, since INT, PRIMARY KEY (a, b),
        FOREIGN KEY (a) REFERENCES person (id), FOREIGN KEY (b) REFERENCES person (id));
    INSERT INTO person VALUES (1, 'ann', NULL, '1990-01-02', NULL, 12.50), (2, 'bob', 1, NULL, '2001-02-03 04:05:06', NULL), (3, 'cy', 1, NULL, NULL, NULL);
    INSERT INTO knows VALUES (1, 2, 2001), (2, 3, NULL);";

fn people(name: &str) -> Option<(String, GraphDefinition, Arc<dyn Connector>)> {
    let server = mariadb()?;
    let url = server.database(name);
    server.run(name, PEOPLE);
    let mut source = inspect(&url).unwrap();
    let catalog = source.catalog().unwrap();
    let definition = infer::definition(&catalog, &|name| source.quote(name)).definition;
    let connector = connect(&url, &definition).unwrap();
    Some((url, definition, connector))
}

fn rows(reading: &mut dyn Reading, properties: &[usize]) -> Vec<Vec<Value>> {
    let question = Question::Nodes { kind: 0, which: Which::All, properties, order: None, limit: None };
    let mut rows = Vec::new();
    let mut sink = |_: usize, columns: Vec<Column>| {
        rows.extend(
            (0..columns[0].len()).map(|row| columns.iter().map(|column| column.value(row)).collect::<Vec<_>>()),
        );
        Ok(true)
    };
    reading.ask(&[question], &mut sink).unwrap();
    rows.sort_by(|a, b| a[0].order(&b[0]));
    rows
}

fn names(reading: &mut dyn Reading) -> Vec<String> {
    rows(reading, &[1]).into_iter().map(|row| row[1].to_string().trim_matches('\'').to_owned()).collect()
}

#[test]
fn the_catalog_becomes_a_definition_and_values_are_what_columns_say() {
    let Some((_, definition, connector)) = people("values_of") else { return };
    let kinds: Vec<&str> = definition.nodes.iter().map(|kind| &*kind.name).collect();
    let types: Vec<&str> = definition.edges.iter().map(|kind| &*kind.edge_type).collect();
    assert_eq!((&kinds[..], &types[..]), (&["Person"][..], &["HAS_BOSS", "KNOWS"][..]));
    let names: Vec<&str> = definition.nodes[0].properties.iter().map(|property| &*property.name).collect();
    assert_eq!(names, ["id", "name", "born", "seen", "paid"]);
    let found = rows(connector.read().unwrap().as_mut(), &[2, 3, 4]);
    let texts: Vec<String> = found[0].iter().chain(&found[1]).map(|value| value.to_string()).collect();
    assert_eq!(texts, ["1", "1990-01-02", "null", "12.5", "2", "null", "2001-02-03T04:05:06Z", "null"]);
    assert!(connector.check().unwrap().is_empty(), "{:?}", connector.check());
}

#[test]
fn a_reading_is_of_one_moment() {
    let Some((_, _, connector)) = people("moment") else { return };
    let mut reading = connector.read().unwrap();
    assert_eq!(names(reading.as_mut()), ["ann", "bob", "cy"]);
    let all = Question::Nodes { kind: 0, which: Which::All, properties: &[1], order: None, limit: None };
    let stream = reading.start(&all).unwrap();
    mariadb().unwrap().run("moment", "INSERT INTO person (name) VALUES ('di')");
    assert_eq!(reading.more(stream, 2).unwrap().unwrap()[0].len(), 2);
    assert_eq!(names(reading.as_mut()), ["ann", "bob", "cy"]);
    assert_eq!(reading.more(stream, 2).unwrap().unwrap()[0].len(), 1);
    assert!(reading.more(stream, 2).unwrap().is_none());
    drop(reading);
    assert_eq!(names(connector.read().unwrap().as_mut()), ["ann", "bob", "cy", "di"]);
}

#[test]
fn changes_are_one_transaction() {
    let Some((_, _, connector)) = people("changes") else { return };
    let column = |values: &[Value]| Column::from_values(values);
    let mut writing = connector.write().unwrap();
    let new = column(&[Value::string("eve"), Value::string("fay")]);
    let keys = writing.change(&Change::InsertNodes { kind: 0, count: 2, properties: &[(1, &new)] }).unwrap();
    assert_eq!(keys.values().collect::<Vec<_>>(), [Value::Int(4), Value::Int(5)]);
    let (ids, same) = (column(&[Value::Int(3)]), column(&[Value::string("cy")]));
    // A row that is set to what it was is a row that was found.
    writing.change(&Change::UpdateNodes { kind: 0, keys: &ids, property: 1, values: &same }).unwrap();
    let since = column(&[Value::Int(2024)]);
    let edge = Change::InsertEdges { kind: 1, sources: &ids, targets: &keys.slice(0, 1), properties: &[(0, &since)] };
    writing.change(&edge).unwrap();
    assert_eq!(names(writing.as_mut()), ["ann", "bob", "cy", "eve", "fay"]);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 3);
    writing.commit().unwrap();
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 5);
    let mut writing = connector.write().unwrap();
    let one = column(&[Value::Int(1)]);
    let failure = writing.change(&Change::DeleteNodes { kind: 0, keys: &one }).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Constraint, "{failure}");
    let gone = column(&[Value::Int(99)]);
    let failure = writing.change(&Change::DeleteNodes { kind: 0, keys: &gone }).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::NotFound, "{failure}");
    drop(writing);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 5);
}

#[test]
fn what_is_wrong_is_named() {
    let Some((url, definition, _)) = people("wrong") else { return };
    let nobody = connect(&url.replace("root@", "nobody:secret@"), &definition).unwrap();
    let failure = nobody.facts().unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Source, "{failure}");
    assert!(failure.message().contains("Access denied") && !failure.message().contains("secret"), "{failure}");
    let slow = connect(&format!("{url}?statement_timeout=100"), &definition).unwrap();
    slow.facts().unwrap();
    mariadb().unwrap().run("wrong", "ALTER TABLE person DROP COLUMN born");
    let connector = connect(&url, &definition).unwrap();
    let question = Question::Nodes { kind: 0, which: Which::All, properties: &[2], order: None, limit: None };
    let failure = connector.read().unwrap().ask(&[question], &mut |_, _| Ok(true)).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Definition, "{failure}");
    let found = connector.check().unwrap();
    assert!(found.iter().any(|finding| finding.message.contains("there is no column `born`")), "{found:?}");
}

#[test]
fn a_definition_is_inferred_from_keys() {
    let Some(server) = mariadb() else { return };
    let url = server.database("shop");
    server.run("shop", shop::STATEMENTS);
    shop::check(&url);
}
