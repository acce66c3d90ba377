//! PostgreSQL as a source, with a real server: random tables against the reference store, values of all types, snapshots,
//! changes, and what goes wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

#[path = "relational/asking.rs"]
mod asking;
#[path = "postgres/faults.rs"]
mod faults;
#[path = "types/postgres.rs"]
mod own_types;
#[path = "support/silent.rs"]
mod silent;
#[path = "relational/type_table.rs"]
mod types;
#[path = "relational/world.rs"]
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use asking::{all_nodes, names, rows};
use model::{Column, Direction, ErrorCode, GraphStore, Value};
use sources::connect::connect;
use sources::connector::{Change, Connector, EdgeKeys, Question, Reading, Which};
use sources::definition::{CacheSettings, GraphDefinition, Prefetch};
use testing::random::seed_or;
use testing::servers::{self, Postgres};
use testing::store_contract::check_same_seeded;
use world::{Types, World, store};

const TYPES: Types = Types { exact: "varchar(40)", float: "double precision", moment: "timestamp" };

/// A new database of a server with these tables, and its name and URL.
fn database(server: &Postgres, statements: &str) -> (String, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let url = server.database(&name);
    server.run(&name, statements);
    (name, url)
}

fn definition(json: &str) -> GraphDefinition {
    GraphDefinition::from_json(json).unwrap_or_else(|failure| panic!("{failure:?}"))
}

#[test]
fn a_database_is_the_graph_that_its_definition_makes_of_it() {
    let Some(server) = servers::postgres() else { return };
    let seed = seed_or(31);
    let blocks = Prefetch::Block { properties: vec!["age".into()], size: 2.0 };
    let prefetches = [Prefetch::None, Prefetch::Adaptive, Prefetch::Lookahead(2), blocks];
    for (round, prefetch) in prefetches.into_iter().enumerate() {
        let seed = seed + round as u64;
        let mut world = World::new(seed);
        let (_, url) = database(server, &world.statements(TYPES));
        world.definition.prefetch = prefetch;
        world.definition.cache = CacheSettings { bytes_max: [0, 64 << 20][round % 2], ..CacheSettings::default() };
        let store = store(&world.definition, connect(&url, &world.definition).unwrap());
        let reference = world.reference();
        for view in 0..2 {
            check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed + view);
        }
    }
}

/// A column of each type with the values of two rows as they are to be read.
const VALUES: &[(&str, &str, &str)] = &[
    ("int2", "-5", "-5"),
    ("int4", "2000000000", "2000000000"),
    ("int8", "-9000000000000000000", "-9000000000000000000"),
    ("float4", "0.5", "0.5"),
    ("float8", "1e-300", "1e-300"),
    ("float8", "'NaN'", "NaN"),
    ("numeric", "123.25", "123.25"),
    ("numeric(9,0)", "123456789", "123456789"),
    ("numeric", "-0.000001", "-1e-6"),
    ("text", "'O''Neil ünï'", "'O\\'Neil ünï'"),
    ("varchar(9)", "''", "''"),
    ("char(5)", "'ab'", "'ab'"),
    ("\"char\"", "'x'", "'x'"),
    ("name", "'nm'", "'nm'"),
    ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    ("bool", "true", "true"),
    ("bytea", "'\\x00ff'", "00ff"),
    ("date", "'2024-02-29'", "2024-02-29"),
    ("date", "'0044-03-15 BC'", "-0043-03-15"),
    ("time", "'23:59:59.999999'", "23:59:59.999999"),
    ("timetz", "'12:00:00+02'", "12:00+02:00"),
    ("timestamp", "'1969-12-31 23:59:59.5'", "1969-12-31T23:59:59.500"),
    ("timestamptz", "'2024-01-01 00:00:00+02'", "2023-12-31T22:00Z"),
    ("interval", "'1 year 2 days -3.5 seconds'", "P1Y2DT-3.5S"),
    ("json", "'{\"a\": [1, 2.5, null]}'", "{a: [1, 2.5, null]}"),
    ("jsonb", "'[true]'", "[true]"),
    ("int4[]", "'{1,NULL,3}'", "[1, null, 3]"),
    ("text[]", "'{{a,b},{c,\"d e\"}}'", "[['a', 'b'], ['c', 'd e']]"),
    ("mood", "'so so'", "'so so'"),
    ("small", "7", "7"),
    ("inet", "'10.0.0.1/8'", "'10.0.0.1/8'"),
    ("oid", "4000000000", "4000000000"),
    ("money", "12", "'$12.00'"),
];

#[test]
fn values_of_all_types_are_read() {
    let Some(server) = servers::postgres() else { return };
    let columns: Vec<String> = VALUES.iter().enumerate().map(|(at, (of, ..))| format!("c{at} {of}")).collect();
    let values: Vec<&str> = VALUES.iter().map(|(_, value, _)| *value).collect();
    let statements = format!(
        "CREATE TYPE mood AS ENUM ('so so', 'fine'); CREATE DOMAIN small AS int CHECK (VALUE < 10); \
         SET lc_monetary = 'C'; CREATE TABLE t (id int PRIMARY KEY, {}); INSERT INTO t VALUES (1, {}); INSERT INTO t (id) VALUES (2);",
        columns.join(", "),
        values.join(", ")
    );
    let (_, url) = database(server, &statements);
    let properties: Vec<String> = (0..VALUES.len()).map(|at| format!("\"c{at}\"")).collect();
    let json =
        format!(r#"{{"nodes": {{"t": {{"table": "t", "key": "id", "properties": [{}]}}}}}}"#, properties.join(", "));
    let connector = connect(&url, &definition(&json)).unwrap();
    let numbers: Vec<usize> = (1..=VALUES.len()).collect();
    let found = rows(connector.read().unwrap().as_mut(), all_nodes(&numbers));
    let mut wrong = Vec::new();
    for (at, (of, written, expected)) in VALUES.iter().enumerate() {
        // The sign of money is the server's.
        let shown = found[0][1 + at].to_string();
        let shown = if *of == "money" { shown.replace("'12.00", "'$12.00") } else { shown };
        if shown != *expected {
            wrong.push(format!("{of} {written}: {shown}, not {expected}"));
        }
        assert!(found[1][1 + at].is_null(), "{of}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Keys of types that are passed as text.
    for (at, (of, ..)) in VALUES.iter().enumerate() {
        if !matches!(*of, "uuid" | "mood" | "inet" | "small" | "int2" | "char(5)" | "date" | "timestamptz") {
            continue;
        }
        let json = format!(r#"{{"nodes": {{"t": {{"table": "t", "key": "c{at}", "properties": ["id"]}}}}}}"#);
        let connector = connect(&url, &definition(&json)).unwrap();
        let keys = Column::from_values(&[found[0][1 + at].clone()]);
        let which = Which::Keys(&keys);
        let question = Question::Nodes { kind: 0, which, properties: &[1], order: None, limit: None };
        let expected = vec![vec![found[0][1 + at].clone(), Value::Int(1)]];
        assert_eq!(
            format!("{:?}", rows(connector.read().unwrap().as_mut(), question)),
            format!("{expected:?}"),
            "{of}"
        );
    }
}

/// People who know each other.
const PEOPLE: &str = "CREATE TABLE person (id serial PRIMARY KEY, name text NOT NULL, boss int REFERENCES person, born date);
    CREATE TABLE knows (a int NOT NULL REFERENCES person, b int NOT NULL REFERENCES person, since int, PRIMARY KEY (a, b));
    INSERT INTO person (name, boss, born) VALUES ('ann', NULL, '1990-01-02'), ('bob', 1, NULL), ('cy', 1, '2000-01-01');
    INSERT INTO knows VALUES (1, 2, 2001), (2, 3, NULL);";

const PEOPLE_DEFINITION: &str = r#"{
    "nodes": { "person": { "table": "person", "key": "id", "properties": ["id", "name", "born"] } },
    "edges": {
        "boss": { "table": "person", "source": "person", "target": "person(boss)" },
        "knows": { "table": "knows", "source": "person(a)", "target": "person(b)", "key": ["a", "b"], "properties": ["since"] }
    } }"#;

fn people(server: &Postgres) -> (String, Arc<dyn Connector>) {
    let (name, url) = database(server, PEOPLE);
    (name, connect(&url, &definition(PEOPLE_DEFINITION)).unwrap())
}

#[test]
fn facts_are_those_of_the_catalog() {
    let Some(server) = servers::postgres() else { return };
    let (_, connector) = people(server);
    let facts = connector.facts().unwrap();
    assert_eq!((facts.nodes[0].rows, &*facts.nodes[0].unique), (3, &[0][..]));
    assert_eq!(facts.nodes[0].indexed, [vec![0]]);
    let [boss, knows] = &*facts.edges else { panic!("two kinds of edges") };
    assert_eq!((knows.rows, knows.by_end, knows.ends_exist), (2, (true, false), (true, true)));
    assert_eq!((boss.by_end, boss.ends_exist), ((true, false), (true, true)));
    let keys = Column::from_values(&[Value::Int(1)]);
    let question = Question::Edges { kind: 1, direction: Direction::Out, of: Which::Keys(&keys), properties: &[] };
    assert!(connector.statement(&question).unwrap().contains("WHERE e.\"a\" = ANY($1::int4[])"));
}

#[test]
fn a_reading_is_of_one_moment() {
    let Some(server) = servers::postgres() else { return };
    let (database, connector) = people(server);
    let mut reading = connector.read().unwrap();
    let stream = reading.start(&all_nodes(&[1])).unwrap();
    assert_eq!(reading.more(stream, 1).unwrap().unwrap()[0].len(), 1);
    server.run(&database, "INSERT INTO person VALUES (4, 'di', NULL, NULL); DELETE FROM knows;");
    // Questions and several streams go on beside each other, in the state that the first of them saw.
    let second = reading.start(&all_nodes(&[])).unwrap();
    assert_eq!(reading.more(second, 2).unwrap().unwrap()[0].len(), 2);
    assert_eq!(names(reading.as_mut()), ["ann", "bob", "cy"]);
    let mut seen = 1;
    while let Some(columns) = reading.more(stream, 10).unwrap() {
        seen += columns[0].len();
    }
    assert_eq!(seen, 3);
    reading.stop(second);
    assert!(reading.more(second, 2).unwrap().is_none());
    assert_eq!(rows(reading.as_mut(), Question::CountEdges { kind: 1 }), [[Value::Int(2)]]);
    drop(reading);
    assert_eq!(names(connector.read().unwrap().as_mut()), ["ann", "bob", "cy", "di"]);
}

#[test]
fn many_questions_are_answered_each() {
    let Some(server) = servers::postgres() else { return };
    let (_, connector) = people(server);
    let keys = Column::from_values(&[Value::Int(1), Value::Int(2), Value::Int(1 << 40)]);
    let edges = |kind, direction| Question::Edges { kind, direction, of: Which::Keys(&keys), properties: &[] };
    let questions = [
        edges(0, Direction::In),
        all_nodes(&[0]),
        edges(1, Direction::Out),
        Question::CountNodes { kind: 0, which: Which::Keys(&keys) },
    ];
    let mut counts = [0; 4];
    let mut reading = connector.read().unwrap();
    for _ in 0..3 {
        reading
            .ask(&questions, &mut |number, columns| {
                counts[number] += columns[0].len();
                Ok(true)
            })
            .unwrap();
    }
    assert_eq!(counts, [6, 9, 6, 3]);
}

#[test]
fn changes_are_one_transaction() {
    let Some(server) = servers::postgres() else { return };
    let (database, connector) = people(server);
    let column = |values: &[Value]| Column::from_values(values);
    let (names_of_two, ids) = (column(&[Value::string("eve"), Value::string("fay")]), column(&[Value::Int(3)]));
    let mut writing = connector.write().unwrap();
    let keys = writing.change(&Change::InsertNodes { kind: 0, count: 2, properties: &[(1, &names_of_two)] }).unwrap();
    assert_eq!(keys.values().collect::<Vec<_>>(), [Value::Int(4), Value::Int(5)]);
    let day = column(&[Value::string("1970-01-01")]);
    writing.change(&Change::UpdateNodes { kind: 0, keys: &ids, property: 2, values: &day }).unwrap();
    let one = column(&[Value::Int(1)]);
    let since = column(&[Value::Int(2024)]);
    let made = Change::InsertEdges { kind: 1, sources: &ids, targets: &keys.slice(0, 1), properties: &[(0, &since)] };
    let made = writing.change(&made).unwrap();
    assert_eq!(made.value(0), Value::list(vec![Value::Int(3), Value::Int(4)]));
    // A foreign key as an edge: the boss of one, who has none.
    writing.change(&Change::InsertEdges { kind: 0, sources: &one, targets: &ids, properties: &[] }).unwrap();
    // What follows reads it; nobody else does.
    assert_eq!(names(writing.as_mut()), ["ann", "bob", "cy", "eve", "fay"]);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 3);
    writing.commit().unwrap();
    assert_eq!(names(connector.read().unwrap().as_mut()), ["ann", "bob", "cy", "eve", "fay"]);
    let expected = [["1", "3", "1990-01-02"], ["3", "1", "1970-01-01"]];
    assert_eq!(server.rows(&database, "SELECT id, boss, born FROM person WHERE id IN (1, 3) ORDER BY id;"), expected);
    // What is not committed is gone.
    let mut writing = connector.write().unwrap();
    writing.change(&Change::DeleteNodes { kind: 0, keys: &keys.slice(1, 2) }).unwrap();
    let edges = EdgeKeys { sources: &one, targets: &ids, keys: &column(&[Value::Null]) };
    writing.change(&Change::DeleteEdges { kind: 0, edges }).unwrap();
    assert_eq!(names(writing.as_mut()).len(), 4);
    drop(writing);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 5);
}

#[test]
fn changes_that_cannot_be_made_are_refused() {
    let Some(server) = servers::postgres() else { return };
    let (database, connector) = people(server);
    let column = |values: &[Value]| Column::from_values(values);
    let check = |change: &Change<'_>, code: ErrorCode, part: &str| {
        let mut writing = connector.write().unwrap();
        let failure = writing.change(change).unwrap_err();
        assert_eq!(failure.code(), code, "{failure}");
        assert!(failure.message().contains(part), "{failure}");
        // The transaction is over, and says so.
        assert!(writing.change(change).is_err());
        assert!(writing.commit().is_err());
    };
    let (one, two, null) = (column(&[Value::Int(1)]), column(&[Value::Int(2)]), column(&[Value::Null]));
    check(&Change::DeleteNodes { kind: 0, keys: &one }, ErrorCode::Constraint, "foreign key");
    let nobody = column(&[Value::Int(99)]);
    check(&Change::DeleteNodes { kind: 0, keys: &nobody }, ErrorCode::Conflict, "0 rows were changed instead of 1");
    let twice = Change::InsertEdges { kind: 1, sources: &one, targets: &two, properties: &[] };
    check(&twice, ErrorCode::Constraint, "duplicate key");
    let taken = Change::InsertEdges { kind: 0, sources: &two, targets: &one, properties: &[] };
    check(&taken, ErrorCode::Conflict, "already have a value");
    let word = column(&[Value::string("not a day")]);
    check(&Change::UpdateNodes { kind: 0, keys: &one, property: 2, values: &word }, ErrorCode::Type, "type date");
    // Two who write the same row: the second comes too late.
    let mut writing = connector.write().unwrap();
    assert_eq!(names(writing.as_mut()).len(), 3);
    server.run(&database, "UPDATE person SET name = 'anne' WHERE id = 1;");
    let name = column(&[Value::string("anna")]);
    let late = writing.change(&Change::UpdateNodes { kind: 0, keys: &one, property: 1, values: &name }).unwrap_err();
    assert_eq!(late.code(), ErrorCode::Conflict, "{late}");
    drop(writing);
    assert_eq!(rows(connector.read().unwrap().as_mut(), Question::CountEdges { kind: 0 }), [[Value::Int(2)]]);
    let _ = null;
}

/// Asks some questions and sends others: the rows of the ones, then those of the others.
fn asked_and_sent(
    reading: &mut dyn Reading,
    now: &[Question<'_>],
    later: &[Question<'_>],
) -> model::Result<[Vec<Vec<Value>>; 2]> {
    let mut found: [Vec<Vec<Value>>; 2] = Default::default();
    let add = |found: &mut Vec<Vec<Value>>, columns: &[Column]| -> model::Result<bool> {
        found.extend((0..columns[0].len()).map(|row| columns.iter().map(|column| column.value(row)).collect()));
        Ok(true)
    };
    let is_sent = reading.ask_and_send(now, &mut |_, columns| add(&mut found[0], &columns), later)?;
    assert_eq!(is_sent, !later.is_empty());
    reading.receive(&mut |_, columns| add(&mut found[1], &columns))?;
    found.iter_mut().for_each(|rows| rows.sort());
    Ok(found)
}

#[test]
fn what_is_sent_along_is_answered_later() {
    let Some(server) = servers::postgres() else { return };
    let (_, url) = database(
        server,
        "CREATE TABLE t (id int PRIMARY KEY, age text); INSERT INTO t VALUES (1, '7'), (2, '8'), (3, 'nine');",
    );
    let definition = definition(
        r#"{ "nodes": { "T": { "table": "t", "properties": [{ "name": "age", "type": "INTEGER" }] } }, "edges": {} }"#,
    );
    let connector = connect(&format!("{url}?pool_size=1"), &definition).unwrap();
    let keys = [vec![1], vec![2], vec![3]]
        .map(|keys: Vec<i64>| Column::from_values(&keys.into_iter().map(Value::Int).collect::<Vec<_>>()));
    // The first property is the key.
    let ages = [1];
    let question = |at: usize| {
        let which = Which::Keys(&keys[at]);
        Question::Nodes { kind: 0, which, properties: &ages, order: None, limit: None }
    };
    let row = |id: i64, age: i64| vec![Value::Int(id), Value::Int(age)];
    for _ in 0..2 {
        let mut reading = connector.read().unwrap();
        let found = asked_and_sent(reading.as_mut(), &[question(0)], &[question(1)]).unwrap();
        assert_eq!(found, [vec![row(1, 7)], vec![row(2, 8)]]);
        let found = asked_and_sent(reading.as_mut(), &[question(0), question(1)], &[]).unwrap();
        assert_eq!(found, [vec![row(1, 7), row(2, 8)], vec![]]);
        // Nobody takes the answer.
        assert!(reading.ask_and_send(&[question(0)], &mut |_, _| Ok(true), &[question(1)]).unwrap());
        let mut rows = Vec::new();
        reading
            .ask(&[question(0)], &mut |_, columns| {
                rows.push(columns[1].value(0));
                Ok(true)
            })
            .unwrap();
        assert_eq!(rows, [Value::Int(7)]);
        assert!(reading.ask_and_send(&[question(0)], &mut |_, _| Ok(true), &[question(1)]).unwrap());
        drop(reading);
        // What is asked cannot be read, while the answer to what was sent along is on its way.
        let mut reading = connector.read().unwrap();
        let failure = asked_and_sent(reading.as_mut(), &[question(2)], &[question(1)]).unwrap_err();
        assert_eq!(failure.code(), ErrorCode::Definition, "{failure}");
        drop(reading);
        let mut reading = connector.read().unwrap();
        let failure = asked_and_sent(reading.as_mut(), &[question(0)], &[question(2)]).unwrap_err();
        assert_eq!(failure.code(), ErrorCode::Definition, "{failure}");
    }
}

#[test]
fn values_of_each_type_are_exact_or_told() {
    let Some(server) = servers::postgres() else { return };
    let (name, url) = database(server, "");
    let run = |statements: &str| server.run(&name, statements);
    let before = "CREATE TYPE mood AS ENUM ('so so', 'fine'); CREATE EXTENSION citext;";
    types::check(&types::Database { name: "PostgreSQL", url, run: &run, before }, own_types::TYPES);
}

#[test]
fn a_silent_server_is_given_up() {
    let nodes = r#"{ "nodes": { "T": { "table": "t", "properties": ["v"] } } }"#;
    // Silent at once, after it has agreed to TLS, and after it has refused it.
    for word in [&b""[..], b"S", b"N"] {
        let port = silent::server(word);
        silent::check(&format!("postgres://u@127.0.0.1:{port}/x?connect_timeout=1"), nodes);
    }
}

/// Numbers that differ in their last digit, texts that only the server takes for equal, and dates beside times.
const LOOSE: &str = "CREATE EXTENSION citext;
    CREATE TABLE padded (k char(5) PRIMARY KEY, v int); INSERT INTO padded VALUES ('ab', 1);
    CREATE TABLE padded_ref (id int PRIMARY KEY, k varchar(9) REFERENCES padded); INSERT INTO padded_ref VALUES (1, 'ab'), (2, 'ab   '), (3, NULL);
    CREATE TABLE folded (k citext PRIMARY KEY, v int); INSERT INTO folded VALUES ('Abc', 1);
    CREATE TABLE folded_ref (id int PRIMARY KEY, k citext REFERENCES folded); INSERT INTO folded_ref VALUES (1, 'ABC'), (2, 'abc');
    CREATE TABLE day (k timestamp PRIMARY KEY, v int); INSERT INTO day VALUES ('2024-01-02', 1);
    CREATE TABLE day_ref (id int PRIMARY KEY, k date REFERENCES day); INSERT INTO day_ref VALUES (1, '2024-01-02');
    CREATE TABLE amount (k numeric(20,2) PRIMARY KEY, v int); INSERT INTO amount VALUES (7, 1), (7.5, 2);
    CREATE TABLE amount_ref (id int PRIMARY KEY, k numeric REFERENCES amount); INSERT INTO amount_ref VALUES (1, 7), (2, 7.50);
    CREATE TABLE pair (a numeric(20,2), b interval, v int, PRIMARY KEY (a, b));
    INSERT INTO pair VALUES (123456789012345678.91, '1 day', 1), (123456789012345678.92, '1 day', 2);";

#[test]
fn an_edge_that_is_counted_is_followed() {
    let Some(server) = servers::postgres() else { return };
    let (_, url) = database(server, LOOSE);
    for (name, edges) in [("padded", 2), ("folded", 2), ("day", 1), ("amount", 2)] {
        types::check_edges(&url, name, edges);
    }
    types::check_pairs(&url);
}
