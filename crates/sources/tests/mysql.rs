//! MySQL as a source, asked of a MariaDB server: the graph that it is, snapshots, writes, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its database fails")]

#[path = "relational/asking.rs"]
mod asking;
#[path = "relational/contract.rs"]
mod contract;
#[path = "types/mysql.rs"]
mod own_types;
#[path = "relational/shop.rs"]
mod shop;
#[path = "support/silent.rs"]
mod silent;
#[path = "relational/type_table.rs"]
mod types;
#[path = "relational/world.rs"]
mod world;

use std::sync::Arc;
use std::time::Duration;

use asking::{all_nodes, names, rows};
use model::{Column, ErrorCode, GraphStore, Interrupt, KeyOrder, Value};
use sources::connect::{connect, inspect};
use sources::connector::{Change, Connector, Question, Which};
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

#[test]
fn it_keeps_the_contract_of_stores() {
    let Some(server) = mariadb() else { return };
    let url = server.database("contract");
    let words = contract::Words {
        key: "BIGINT AUTO_INCREMENT PRIMARY KEY",
        float: "DOUBLE",
        text: "LONGTEXT COLLATE utf8mb4_bin",
        bytes: "LONGBLOB",
        // The recursive queries of lookahead end the connection of MariaDB 10.11.19 here.
        prefetch: Prefetch::Adaptive,
        has_savepoints: true,
    };
    contract::check(&words, &url, &|statements| server.run("contract", statements));
}

/// Edges are followed by the server if all keys are integers.
#[test]
fn lookahead_finds_all_edges_between_integer_keys() {
    let Some(server) = mariadb() else { return };
    let seed = seed_or(37);
    for (round, depth) in [1, 2, 4].into_iter().enumerate() {
        let seed = seed + round as u64;
        let mut world = World::new(seed);
        world.definition.nodes.truncate(1);
        world.definition.edges.retain(|kind| matches!(&*kind.name, "boss" | "likes"));
        let name = format!("integers_{round}");
        let url = server.database(&name);
        server.run(&name, &world.statements(TYPES));
        world.definition.prefetch = Prefetch::Lookahead(depth);
        let connector = connect(&url, &world.definition).unwrap();
        assert!(connector.abilities().lookahead);
        let store = store(&world.definition, connector);
        let reference = world.reference();
        for view in 0..2 {
            check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed + view);
        }
    }
    let mut world = World::new(seed);
    world.definition.nodes.truncate(2);
    world.definition.edges.clear();
    let url = server.url("integers_0");
    assert!(!connect(&url, &world.definition).unwrap().abilities().lookahead, "places have keys of two columns");
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

#[test]
fn the_catalog_becomes_a_definition_and_values_are_what_columns_say() {
    let Some((_, definition, connector)) = people("values_of") else { return };
    let kinds: Vec<&str> = definition.nodes.iter().map(|kind| &*kind.name).collect();
    let types: Vec<&str> = definition.edges.iter().map(|kind| &*kind.edge_type).collect();
    assert_eq!((&kinds[..], &types[..]), (&["Person"][..], &["HAS_BOSS", "KNOWS"][..]));
    let names: Vec<&str> = definition.nodes[0].properties.iter().map(|property| &*property.name).collect();
    assert_eq!(names, ["id", "name", "born", "seen", "paid"]);
    let found = rows(connector.read().unwrap().as_mut(), all_nodes(&[2, 3, 4]));
    let texts: Vec<String> = found[0].iter().chain(&found[1]).map(|value| value.to_string()).collect();
    assert_eq!(texts, ["1", "1990-01-02", "null", "12.5", "2", "null", "2001-02-03T04:05:06Z", "null"]);
    assert!(connector.check().unwrap().is_empty(), "{:?}", connector.check());
}

#[test]
fn a_reading_is_of_one_moment() {
    let Some((_, _, connector)) = people("moment") else { return };
    let mut reading = connector.read().unwrap();
    assert_eq!(names(reading.as_mut()), ["ann", "bob", "cy"]);
    let stream = reading.start(&all_nodes(&[1])).unwrap();
    mariadb().unwrap().run("moment", "INSERT INTO person (name) VALUES ('di')");
    assert_eq!(reading.more(stream, 2).unwrap().unwrap()[0].len(), 2);
    assert_eq!(names(reading.as_mut()), ["ann", "bob", "cy"]);
    assert_eq!(reading.more(stream, 2).unwrap().unwrap()[0].len(), 1);
    assert!(reading.more(stream, 2).unwrap().is_none());
    drop(reading);
    assert_eq!(names(connector.read().unwrap().as_mut()), ["ann", "bob", "cy", "di"]);
}

#[test]
fn rows_come_as_they_are_wanted() {
    let Some((_, _, connector)) = people("many") else { return };
    let rows = 60_000;
    let more = format!("INSERT INTO person (id, name) SELECT seq, 'x' FROM seq_10_to_{};", rows + 6);
    mariadb().unwrap().run("many", &more);
    let mut reading = connector.read().unwrap();
    let (first, second) = (reading.start(&all_nodes(&[0])).unwrap(), reading.start(&all_nodes(&[])).unwrap());
    let mut seen = reading.more(first, 10).unwrap().unwrap()[0].len();
    assert_eq!(seen, 10);
    // Other requests made meanwhile see the same moment, and nothing is lost.
    mariadb().unwrap().run("many", "DELETE FROM person WHERE id > 20000;");
    assert_eq!(reading.more(second, 7).unwrap().unwrap()[0].len(), 7);
    assert_eq!(names(reading.as_mut()).len(), rows);
    reading.stop(second);
    let mut last = 0;
    while let Some(columns) = reading.more(first, 5_000).unwrap() {
        assert!(columns[0].len() <= 5_000);
        seen += columns[0].len();
        last = columns[1].values().map(|value| if let Value::Int(id) = value { id } else { 0 }).fold(last, i64::max);
    }
    assert_eq!((seen, last), (rows, rows as i64 + 6));
    drop(reading);
    // A scan that is given up leaves the others alone.
    let mut reading = connector.read().unwrap();
    let stream = reading.start(&all_nodes(&[1])).unwrap();
    assert_eq!(reading.more(stream, 10).unwrap().unwrap()[0].len(), 10);
    drop(reading);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 19_994);
}

#[test]
fn a_part_of_a_transaction_is_undone() {
    let Some((_, _, connector)) = people("parts") else { return };
    let mut writing = connector.write().unwrap();
    let name = Column::from_values(&[Value::string("eve")]);
    let insert = Change::InsertNodes { kind: 0, count: 1, properties: &[(1, &name)] };
    writing.change(&insert).unwrap();
    assert!(writing.mark(1).unwrap());
    writing.change(&insert).unwrap();
    writing.undo_to(1).unwrap();
    assert_eq!(names(writing.as_mut()).len(), 4);
    writing.commit().unwrap();
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 4);
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
    let question = all_nodes(&[2]);
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

/// Orders to interrupt a statement that come when it has just ended meet nobody else.
#[test]
fn a_late_interrupt_ends_no_other_statement() {
    let Some(server) = mariadb() else { return };
    let url = server.database("late");
    server.run("late", "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);");
    let slow = |seconds: f64| {
        let sql = format!("SELECT id, SLEEP({seconds}) AS nap FROM t");
        let kind = serde_json::json!({ "sql": sql, "key": "id", "properties": ["nap"] });
        GraphDefinition::from_json(&serde_json::json!({ "nodes": { "T": kind } }).to_string()).unwrap()
    };
    let seed = seed_or(39);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (url, slow) = (&url, &slow);
            scope.spawn(move || {
                // Waits are looked at every tenth of a second: statements end just then.
                let connector = connect(url, &slow(0.1)).unwrap();
                connector.facts().unwrap();
                let mut random = testing::random::SeededRandom::new(seed + thread);
                for _ in 0..8 {
                    let (interrupt, wait) = (Interrupt::new(), random.below(100));
                    let listening = interrupt.listen();
                    let canceller = interrupt.clone();
                    let cancel = std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(wait));
                        canceller.cancel();
                    });
                    let ask = || {
                        let mut reading = connector.read().unwrap();
                        reading.ask(&[all_nodes(&[1])], &mut |_, _| Ok(true))
                    };
                    let unwanted = ask();
                    drop(listening);
                    cancel.join().unwrap();
                    if let Err(failure) = unwanted {
                        assert_eq!(failure.code(), ErrorCode::Cancelled, "seed {seed}: {failure}");
                    }
                    ask().unwrap_or_else(|failure| panic!("seed {seed}: another statement was ended: {failure}"));
                }
            });
        }
    });
}

#[test]
fn connections_that_the_server_closed_while_idle_are_replaced() {
    let Some(server) = mariadb() else { return };
    let Some((_, _, connector)) = people("idle") else { return };
    let close_all = || {
        let find = "SELECT id FROM information_schema.processlist WHERE db = 'idle' AND id <> CONNECTION_ID()";
        let found = server.rows("mysql", find);
        assert!(!found.is_empty(), "connections are kept");
        found.iter().for_each(|row| server.run("mysql", &format!("KILL {};", row[0])));
    };
    let readings: Vec<_> = (0..3).map(|_| connector.read().unwrap()).collect();
    readings.into_iter().for_each(|mut reading| assert_eq!(names(reading.as_mut()).len(), 3));
    close_all();
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 3);
    close_all();
    let mut writing = connector.write().unwrap();
    let name = Column::from_values(&[Value::string("eve")]);
    writing.change(&Change::InsertNodes { kind: 0, count: 1, properties: &[(1, &name)] }).unwrap();
    writing.commit().unwrap();
    close_all();
    assert_eq!(connector.facts().unwrap().nodes.len(), 1);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 4);
}

#[test]
fn values_of_each_type_are_exact_or_told() {
    let Some(server) = mariadb() else { return };
    let url = server.database("types");
    let run = |statements: &str| server.run("types", statements);
    let before = "ALTER DATABASE types CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;";
    types::check(&types::Database { name: "MySQL and MariaDB", url, run: &run, before }, own_types::TYPES);
}

#[test]
fn a_silent_server_is_given_up() {
    let nodes = r#"{ "nodes": { "T": { "table": "t", "properties": ["v"] } } }"#;
    let port = silent::server(b"");
    for settings in ["", "&sslmode=require", "&statement_timeout=500"] {
        silent::check(&format!("mysql://u@127.0.0.1:{port}/x?connect_timeout=1{settings}"), nodes);
    }
}

#[test]
fn an_edge_that_is_counted_is_followed() {
    let Some(server) = mariadb() else { return };
    let url = server.database("loose");
    server.run(
        "loose",
        "ALTER DATABASE loose CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
        CREATE TABLE folded (k VARCHAR(20) PRIMARY KEY, v INT) COLLATE utf8mb4_general_ci; INSERT INTO folded VALUES ('Abc', 1);
        CREATE TABLE folded_ref (id INT PRIMARY KEY, k VARCHAR(20), FOREIGN KEY (k) REFERENCES folded (k)) COLLATE utf8mb4_general_ci;
        INSERT INTO folded_ref VALUES (1, 'ABC'), (2, 'abc'), (4, 'Abc'), (5, NULL);
        CREATE TABLE padded (k VARCHAR(20) PRIMARY KEY, v INT) COLLATE utf8mb4_bin; INSERT INTO padded VALUES ('ab', 1);
        CREATE TABLE padded_ref (id INT PRIMARY KEY, k VARCHAR(20), FOREIGN KEY (k) REFERENCES padded (k)) COLLATE utf8mb4_bin;
        INSERT INTO padded_ref VALUES (1, 'ab'), (2, 'ab  ');
        CREATE TABLE pair (a DECIMAL(20,2), b VARCHAR(9), v INT, PRIMARY KEY (a, b)) COLLATE utf8mb4_general_ci;
        INSERT INTO pair VALUES (123456789012345678.91, 'x', 1), (123456789012345678.92, 'x', 2);",
    );
    for (name, edges) in [("folded", 3), ("padded", 2)] {
        types::check_edges(&url, name, edges);
    }
    types::check_pairs(&url);
}

/// The server compares only beginnings of strings when it sorts, as long as it is told to.
#[test]
fn long_strings_are_sorted_to_their_ends() {
    let Some(server) = mariadb() else { return };
    let url = server.database("long");
    server.run(
        "long",
        "CREATE TABLE doc (id INT PRIMARY KEY, body LONGTEXT, title VARCHAR(1000), code VARCHAR(1030), mark CHAR(9))
            COLLATE utf8mb4_nopad_bin;
        INSERT INTO doc SELECT seq, CONCAT(REPEAT('ä', 5000), 9 - seq), CONCAT(REPEAT('ä', 990), 9 - seq), seq, seq FROM seq_1_to_8;",
    );
    let mut source = inspect(&url).unwrap();
    let catalog = source.catalog().unwrap();
    let definition = infer::definition(&catalog, &|name| source.quote(name)).definition;
    let connector = connect(&url, &definition).unwrap();
    let sorts = [0, 1, 2, 3, 4].map(|property| connector.sorts(0, &[property]));
    assert_eq!(sorts, [true, false, true, false, true]);
    let mut reading = connector.read().unwrap();
    for (order, expected) in [(KeyOrder::Ascending, [7, 8]), (KeyOrder::Descending, [1, 2])] {
        let order = &[(2, order)];
        let first = Question::Nodes { kind: 0, which: Which::All, properties: &[0], order, limit: Some(2) };
        let found = rows(reading.as_mut(), first);
        assert_eq!(found.iter().map(|row| row[1].clone()).collect::<Vec<_>>(), expected.map(Value::Int));
    }
}

#[test]
fn a_column_that_the_server_computes_is_read_only() {
    let Some(server) = mariadb() else { return };
    let url = server.database("computed");
    server.run(
        "computed",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT AS (id * 2) STORED); INSERT INTO t (id) VALUES (1);",
    );
    types::check_computed(&url);
}
