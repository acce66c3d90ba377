//! Redis as a source, with a real server: random graphs against the reference store, and what goes wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

#[path = "support/silent.rs"]
mod silent;
#[path = "support/world.rs"]
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use model::{
    Column, Course, Direction, ErrorCode, GraphStore, Interrupt, NodeBatch, NodeScan, PropertyKeyId, ReadView, Value,
};
use redis::Commands;
use sources::connector::{Connector, OnCourse, Question, Which};
use sources::definition::{GraphDefinition, Prefetch};
use sources::redis::RedisConnector;
use testing::graphs::{GraphData, NodeGroup};
use testing::random::{SeededRandom, seed_or};
use testing::servers::{self, Redis, RedisOptions};
use testing::store_contract::{check_published, check_same_seeded};

use world::{reference, store, uid, world};

/// A database of the shared server that no other test uses, emptied.
fn database() -> Option<(String, redis::Connection)> {
    static NEXT: AtomicU8 = AtomicU8::new(0);
    let url = servers::redis()?.url(NEXT.fetch_add(1, Ordering::Relaxed));
    let mut connection = redis::Client::open(url.as_str()).unwrap().get_connection().unwrap();
    redis::cmd("FLUSHDB").exec(&mut connection).unwrap();
    Some((url, connection))
}

fn connector(url: &str, definition: &GraphDefinition) -> Arc<dyn Connector> {
    Arc::new(RedisConnector::open(url, definition).unwrap())
}

fn definition(json: &str) -> GraphDefinition {
    GraphDefinition::from_json(json).unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// `any`: structures are found out; otherwise they are declared. `reverse`: the keys of the other direction are kept.
fn world_definition(any: bool, reverse: bool, flat: bool) -> GraphDefinition {
    let structure = |name: &str| if any { String::new() } else { format!(r#""structure": "{name}","#) };
    let back = |name: &str| if reverse { format!(r#""reverse-keys": "{name}","#) } else { String::new() };
    let place = if flat { "place:{id}:{property}" } else { "place:{id}" };
    definition(&format!(
        r#"{{ "engine": "redis", "server": "localhost", "nodes": {{
        "Person": {{ "keys": "person:{{id}}", "properties": [
            {{ "name": "uid", "column": "id", "type": "INTEGER" }}, {{ "name": "name", "type": "STRING" }}, "age",
            {{ "name": "score", "type": "FLOAT" }}] }},
        "Place": {{ "keys": "{place}", "properties": [
            {{ "name": "uid", "column": "id" }}, {{ "name": "name", "type": "STRING" }}, "lat", "lon"] }}
    }}, "edges": {{
        "KNOWS": {{ {} {} "source": "Person", "target": "Person", "keys": "person:{{id}}:knows" }},
        "LIKES": {{ {} {} "source": "Person", "target": "Place", "keys": "person:{{id}}:likes", "score": "weight", "properties": ["weight"] }},
        "VISITED": {{ {} {} "source": "Person", "target": "Place", "keys": "visits:{{id}}" }},
        "NEXT": {{ {} {} "source": "Place", "target": "Place", "keys": "next:{{id}}", "score": "since", "properties": ["since"] }},
        "FRIEND": {{ {} {} "source": "Person", "target": "Person", "keys": "friends:{{id}}", "edge-hash": "friend:{{source}}:{{target}}",
            "properties": ["since", {{ "name": "note", "type": "STRING" }}] }}
    }} }}"#,
        structure("set"),
        back("person:{id}:known-by"),
        structure("sorted-set"),
        back("liked-by:{id}"),
        structure("list"),
        back("visitors:{id}"),
        structure("hash"),
        back("before:{id}"),
        structure("set"),
        back("friends-of:{id}"),
    ))
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    }
}

/// Writes a world as keys. Sorted sets are kept in one direction only where the other is a set.
fn load(data: &GraphData, flat: bool, connection: &mut redis::Connection) {
    for (group, name) in data.nodes.iter().zip(["person", "place"]) {
        for row in 0..group.count {
            let id = text(&group.properties[0].1.value(row));
            for (property, column) in &group.properties[1..] {
                let value = column.value(row);
                if value.is_null() {
                    continue;
                }
                let key = format!("{name}:{id}");
                let () = if flat && name == "place" {
                    connection.set(format!("{key}:{property}"), text(&value)).unwrap()
                } else {
                    connection.hset(key, property, text(&value)).unwrap()
                };
            }
        }
    }
    for group in &data.edges {
        for (row, (&source, &target)) in group.sources.iter().zip(&group.targets).enumerate() {
            let (s, t) = (text(&uid(data, source)), text(&uid(data, target)));
            let property = |at: usize| text(&group.properties[at].1.value(row));
            let () = match group.edge_type.as_str() {
                "KNOWS" => {
                    let () = connection.sadd(format!("person:{s}:knows"), &t).unwrap();
                    connection.sadd(format!("person:{t}:known-by"), &s).unwrap()
                }
                "LIKES" => {
                    let () = connection.zadd(format!("person:{s}:likes"), &t, property(0)).unwrap();
                    connection.zadd(format!("liked-by:{t}"), &s, property(0)).unwrap()
                }
                "VISITED" => {
                    let () = connection.rpush(format!("visits:{s}"), &t).unwrap();
                    connection.rpush(format!("visitors:{t}"), &s).unwrap()
                }
                "NEXT" => {
                    let () = connection.hset(format!("next:{s}"), &t, property(0)).unwrap();
                    connection.hset(format!("before:{t}"), &s, property(0)).unwrap()
                }
                _ => {
                    let () = connection.sadd(format!("friends:{s}"), &t).unwrap();
                    let () = connection.sadd(format!("friends-of:{t}"), &s).unwrap();
                    let key = format!("friend:{s}:{t}");
                    for (name, column) in &group.properties {
                        if !column.is_null(row) {
                            let () = connection.hset(&key, name, text(&column.value(row))).unwrap();
                        }
                    }
                }
            };
        }
    }
}

/// Writes a graph as keys: nodes of each set of labels as hashes, edges as lists at both ends with a hash of properties.
fn publish(data: &GraphData, connection: &mut redis::Connection) -> GraphDefinition {
    redis::cmd("FLUSHDB").exec(connection).unwrap();
    let mut pipeline = redis::pipe();
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    let no_nodes = [NodeGroup { labels: vec!["N".to_owned()], ..NodeGroup::default() }];
    let mut number = 0;
    for group in if data.nodes.is_empty() { &no_nodes[..] } else { &data.nodes } {
        let name = group.labels.join("-");
        let names: Vec<String> = group.properties.iter().map(|(name, _)| format!("{name:?}")).collect();
        nodes.push(format!(
            r#""{name}": {{ "keys": "{name}:{{id}}", "labels": {:?}, "show-key": false, "properties": [{}] }}"#,
            group.labels,
            names.join(", ")
        ));
        for row in 0..group.count {
            let key = format!("{name}:{number}");
            for (property, column) in group.properties.iter().filter(|(_, column)| !column.is_null(row)) {
                pipeline.hset(&key, property, text(&column.value(row))).ignore();
            }
            number += 1;
        }
    }
    for group in &data.edges {
        let name = &group.edge_type;
        let names: Vec<String> = group.properties.iter().map(|(name, _)| format!("{name:?}")).collect();
        let hash = if names.is_empty() {
            String::new()
        } else {
            format!(r#""edge-hash": "{name}-of:{{source}}:{{target}}","#)
        };
        edges.push(format!(
            r#""{name}": {{ "source": "N", "target": "N", "keys": "{name}:{{id}}", "reverse-keys": "{name}-to:{{id}}",
                "structure": "list", {hash} "properties": [{}] }}"#,
            names.join(", ")
        ));
        for (row, (source, target)) in group.sources.iter().zip(&group.targets).enumerate() {
            pipeline.rpush(format!("{name}:{source}"), target).ignore();
            pipeline.rpush(format!("{name}-to:{target}"), source).ignore();
            for (property, column) in group.properties.iter().filter(|(_, column)| !column.is_null(row)) {
                pipeline.hset(format!("{name}-of:{source}:{target}"), property, text(&column.value(row))).ignore();
            }
        }
    }
    if number > 0 {
        pipeline.exec(connection).unwrap();
    }
    definition(&format!(
        r#"{{ "engine": "redis", "server": "localhost", "nodes": {{ {} }}, "edges": {{ {} }} }}"#,
        nodes.join(", "),
        edges.join(", ")
    ))
}

#[test]
fn it_keeps_the_contract_of_stores() {
    let Some((url, connection)) = database() else { return };
    let connection = std::cell::RefCell::new(connection);
    check_published(&|data| {
        let definition = publish(data, &mut connection.borrow_mut());
        Box::new(store(&definition, connector(&url, &definition)))
    });
}

#[test]
fn a_graph_in_redis_is_the_graph_that_was_written() {
    let Some((url, mut connection)) = database() else { return };
    for round in 0..6 {
        let seed = seed_or(21) + round;
        let data = world(seed);
        let (any, reverse, flat) = (round % 2 == 0, round % 3 != 2, round % 4 < 2);
        redis::cmd("FLUSHDB").exec(&mut connection).unwrap();
        load(&data, flat, &mut connection);
        let reference = reference(&data);
        let mut definition = world_definition(any, reverse, flat);
        let prefetchers = [Prefetch::None, Prefetch::Adaptive, Prefetch::Lookahead(2)];
        definition.prefetch = prefetchers[round as usize % 3].clone();
        definition.cache.bytes_max = if round % 2 == 0 { 64 << 20 } else { 20_000 };
        let store = store(&definition, connector(&url, &definition));
        check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed);
        check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed + 50);
    }
}

/// All rows of a question, sorted, as strings.
fn rows(connector: &dyn Connector, question: &Question<'_>) -> model::Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    connector.read()?.ask(std::slice::from_ref(question), &mut |_, columns| {
        rows.extend(
            (0..columns[0].len()).map(|row| columns.iter().map(|column| column.value(row)).collect::<Vec<_>>()),
        );
        Ok(true)
    })?;
    rows.sort();
    Ok(rows)
}

#[test]
fn figure_3_runs_as_printed() {
    let Some((url, mut connection)) = database() else { return };
    let figure = definition(
        r#"{ "node-space": "homogeneous", "node": { "properties": ["lat", "long"] },
             "edges": { "road": { "suffix": "out" } } }"#,
    );
    for (id, lat, long) in [(1, "41.9", "12.4"), (2, "41.8", "12.5"), (3, "41.7", "12")] {
        let () = connection.hset_multiple(id, &[("lat", lat), ("long", long)]).unwrap();
    }
    let () = connection.sadd("1:out", &[2, 3, 9]).unwrap();
    let () = connection.sadd("3:out", &[1]).unwrap();
    let connector = connector(&url, &figure);
    let int = Value::Int;
    let all = Question::Nodes { kind: 0, which: Which::All, properties: &[0, 1, 2], order: &[], limit: None };
    let expected = [
        vec![int(1), int(1), Value::Float(41.9), Value::Float(12.4)],
        vec![int(2), int(2), Value::Float(41.8), Value::Float(12.5)],
        vec![int(3), int(3), Value::Float(41.7), int(12)],
    ];
    assert_eq!(rows(connector.as_ref(), &all).unwrap(), expected);
    let keys = Column::from_values(&[int(1), int(2), int(7), Value::string("1:out")]);
    let some = Question::Nodes { kind: 0, which: Which::Keys(&keys), properties: &[], order: &[], limit: None };
    assert_eq!(rows(connector.as_ref(), &some).unwrap(), [vec![int(1)], vec![int(2)]], "edges are not nodes");
    for direction in [Direction::Out, Direction::In] {
        let edges = Question::Edges { kind: 0, direction, of: Which::Keys(&keys), properties: &[] };
        let expected: &[(i64, i64)] =
            if direction == Direction::Out { &[(1, 2), (1, 3), (1, 9)] } else { &[(1, 3), (2, 1)] };
        let expected: Vec<_> = expected.iter().map(|&(a, b)| vec![int(a), int(b), Value::Null]).collect();
        assert_eq!(rows(connector.as_ref(), &edges).unwrap(), expected);
    }
    let starts = [(0, Column::from_values(&[int(2), int(3)]))];
    let along = [(0, Direction::Out)];
    for (depth, expected) in [(0, vec![2, 3]), (1, vec![1, 2, 3]), (2, vec![1, 2, 3])] {
        let which = Which::Within { starts: &starts, along: &along, depth, limit: 1_000 };
        let within = Question::Nodes { kind: 0, which: which.clone(), properties: &[], order: &[], limit: None };
        let expected: Vec<_> = expected.into_iter().map(|id| vec![int(id)]).collect();
        assert_eq!(rows(connector.as_ref(), &within).unwrap(), expected, "depth {depth}");
        let edges = Question::Edges { kind: 0, direction: Direction::Out, of: which, properties: &[] };
        let count = if depth == 0 { 1 } else { 4 };
        assert_eq!(rows(connector.as_ref(), &edges).unwrap().len(), count, "depth {depth}");
    }
    for (question, expected) in
        [(Question::CountNodes { kind: 0, which: Which::All }, 3), (Question::CountEdges { kind: 0 }, 4)]
    {
        assert_eq!(rows(connector.as_ref(), &question).unwrap(), [vec![int(expected)]]);
    }
    let facts = connector.facts().unwrap();
    assert_eq!((facts.nodes[0].rows, facts.edges[0].rows, facts.edges[0].by_end), (3, 4, (true, false)));
    assert_eq!(connector.write().map(drop).unwrap_err().code(), ErrorCode::ReadOnly);
}

/// The error of asking for people 1 to 3 and whom they know.
fn error_of(connector: &dyn Connector) -> (ErrorCode, String) {
    let keys = Column::from_values(&[1, 2, 3].map(Value::Int));
    let nodes = Question::Nodes { kind: 0, which: Which::Keys(&keys), properties: &[0, 1, 2], order: &[], limit: None };
    let edges = Question::Edges { kind: 0, direction: Direction::Out, of: Which::Keys(&keys), properties: &[] };
    let mut reading = connector.read().unwrap();
    let error = reading.ask(&[nodes, edges], &mut |_, _| Ok(true)).unwrap_err();
    (error.code(), error.message().to_owned())
}

const PEOPLE: &str = r#"{ "engine": "redis", "server": "localhost", "nodes": {
    "Person": { "keys": "person:{id}", "properties": ["id", "name", { "name": "age", "type": "INTEGER" }] } },
    "edges": { "KNOWS": { "source": "Person", "target": "Person", "keys": "knows:{id}", "structure": "set" } } }"#;

#[test]
fn what_does_not_fit_is_named_by_its_key() {
    let Some((url, mut connection)) = database() else { return };
    let people = connector(&url, &definition(PEOPLE));
    for (command, expected) in [
        ("RPUSH person:2 a", "key 'person:2' holds a list, the definition expects a hash"),
        ("HSET person:3 age x1", "key 'person:3', field 'age': expected INTEGER, found 'x1'"),
        ("ZADD knows:2 1 a", "key 'knows:2' holds a zset, the definition expects a set"),
        ("SET knows:1 5", "key 'knows:1' holds a string, the definition expects a set"),
    ] {
        redis::cmd("FLUSHDB").exec(&mut connection).unwrap();
        let mut words = command.split(' ');
        let mut written = redis::cmd(words.next().unwrap());
        for word in words {
            written.arg(word);
        }
        written.exec(&mut connection).unwrap();
        assert_eq!(error_of(people.as_ref()), (ErrorCode::Definition, format!("{url}: {expected}")), "{command}");
        if command.starts_with("RPUSH") {
            let all = Question::CountNodes { kind: 0, which: Which::All };
            let error = rows(people.as_ref(), &all).unwrap_err();
            assert_eq!(error.message(), format!("{url}: {expected}"), "a scan does not pass it over");
        }
    }
}

#[test]
fn a_server_that_is_gone_and_comes_back() {
    let Some(server) = Redis::start(&RedisOptions::default()) else { return };
    let url = server.url(0);
    let fill = || server.run(0, "HSET person:1 name ann\nHSET person:2 name bob\nSADD knows:1 2\n");
    fill();
    let people = connector(&url, &definition(PEOPLE));
    let all = Question::Nodes { kind: 0, which: Which::All, properties: &[1], order: &[], limit: None };
    let keys = Column::from_values(&[Value::Int(1)]);
    let some = Question::Nodes { kind: 0, which: Which::Keys(&keys), properties: &[1], order: &[], limit: None };
    assert_eq!(rows(people.as_ref(), &all).unwrap().len(), 2);

    let mut reading = people.read().unwrap();
    reading.ask(std::slice::from_ref(&some), &mut |_, _| Ok(true)).unwrap();
    server.server().kill();
    let error = rows(people.as_ref(), &all).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Source);
    assert!(error.message().starts_with(&format!("{url}: ")), "{error}");
    server.server().start_again();
    fill();
    assert_eq!(rows(people.as_ref(), &all).unwrap().len(), 2, "another query connects again");
    for _ in 0..2 {
        let error = reading.ask(std::slice::from_ref(&some), &mut |_, _| Ok(true)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Source, "a query does not go on over two lives of a server");
        assert!(error.message().contains("HMGET person:1: the connection was lost"), "{error}");
    }
    // Connections that wait in the pool break with the server; a new query does not see that.
    server.server().restart();
    fill();
    assert_eq!(rows(people.as_ref(), &some).unwrap(), [vec![Value::Int(1), Value::string("ann")]]);
}

#[test]
fn a_server_that_does_not_answer_is_a_time_out() {
    let Some(server) = Redis::start(&RedisOptions::default()) else { return };
    let url = server.url(0);
    server.run(0, "HSET person:1 name ann\n");
    let people = connector(&format!("{url}?timeout_ms=150"), &definition(PEOPLE));
    let all = Question::Nodes { kind: 0, which: Which::All, properties: &[1], order: &[], limit: None };
    assert_eq!(rows(people.as_ref(), &all).unwrap().len(), 1);
    server.server().pause();
    let error = rows(people.as_ref(), &all).unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (ErrorCode::Source, &*format!("{url}: SCAN 0: no answer within 150ms"))
    );
    server.server().resume();
    assert_eq!(rows(people.as_ref(), &all).unwrap().len(), 1);
}

#[test]
fn who_waits_for_a_server_hears_that_the_run_is_over() {
    let Some(server) = Redis::start(&RedisOptions::default()) else { return };
    server.run(0, "HSET person:1 name ann\nSADD knows:1 2\n");
    let people = connector(&server.url(0), &definition(PEOPLE));
    let mut reading = people.read().unwrap();
    let keys = Column::from_values(&[Value::Int(1)]);
    let some = Question::Nodes { kind: 0, which: Which::Keys(&keys), properties: &[1], order: &[], limit: None };
    reading.ask(std::slice::from_ref(&some), &mut |_, _| Ok(true)).unwrap();
    server.server().pause();
    let interrupt = Interrupt::new();
    let stopped = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let _listening = interrupt.listen();
            reading.ask(std::slice::from_ref(&some), &mut |_, _| Ok(true)).unwrap_err()
        });
        interrupt.cancel();
        waiting.join().unwrap()
    });
    assert_eq!(stopped.code(), ErrorCode::Cancelled, "not the time-out: {stopped}");
    server.server().resume();
    assert_eq!(rows(people.as_ref(), &some).unwrap().len(), 1, "another query has another connection");
}

#[test]
fn errors_name_the_source_and_where_it_lies_once() {
    let Some(server) = Redis::start(&RedisOptions { password: Some("s3cret".into()), needs_tls: false }) else {
        return;
    };
    let url = server.url(0).replace("//", "//:s3cret@");
    let definition = definition(PEOPLE);
    let store = store(&definition, connector(&url, &definition)).named("folk");
    let (schema, view) = (store.schema(), store.view());
    let scan = || -> model::Result<()> {
        let scan = NodeScan { labels: vec![schema.label("Person").unwrap()], ..NodeScan::default() };
        let mut batch = NodeBatch::default();
        let mut cursor = view.scan(&scan)?;
        while cursor.next(&mut batch)? {}
        Ok(())
    };
    scan().unwrap();
    server.server().kill();
    let error = scan().unwrap_err();
    let message = error.message();
    assert!(message.starts_with("source folk: ") && message.contains("nodes Person"), "{message}");
    assert_eq!((message.matches(&server.url(0)).count(), message.contains("s3cret")), (1, false), "{message}");
}

/// Places on a small map, each joined with those beside it, one way or both.
const PLACES: &str = r#"{ "engine": "redis", "server": "localhost", "nodes": {
    "Place": { "keys": "p:{id}", "properties": ["id", { "name": "lat", "type": "FLOAT" }, { "name": "lon", "type": "FLOAT" }] } },
    "edges": { "ROAD": { "source": "Place", "target": "Place", "keys": "r:{id}", "structure": "hash", "score": "length",
        "properties": [{ "name": "length", "type": "INTEGER" }] } } }"#;
const SIDE: i64 = 12;

fn fill_places(connection: &mut redis::Connection, random: &mut SeededRandom) {
    for at in 0..SIDE * SIDE {
        let (row, column) = (at / SIDE, at % SIDE);
        let place = [("lat", row as f64 / 100.0), ("lon", column as f64 / 100.0)];
        let () = connection.hset_multiple(format!("p:{at}"), &place).unwrap();
        for (other, is_there) in [(at + 1, column + 1 < SIDE), (at + SIDE, row + 1 < SIDE)] {
            if is_there {
                let ends = if random.index(4) == 0 { vec![(at, other)] } else { vec![(at, other), (other, at)] };
                for (source, target) in ends {
                    let () = connection.hset(format!("r:{source}"), target, 1_200 + random.index(300)).unwrap();
                }
            }
        }
    }
}

fn course() -> Course {
    let end = (SIDE - 1) as f64 / 100.0;
    let properties = [PropertyKeyId(1), PropertyKeyId(2)];
    Course { properties, from: [0.0, 0.0], to: [end, end], cost_per_km: 1_200.0, estimate_per_km: 1_000.0 }
}

/// Nodes that are met and edges that are followed, asked for at once and ahead: both ways must give the same.
fn on_course(
    connector: &dyn Connector,
    starts: (&[i64], &[f64]),
    known: &[i64],
    limit: u64,
) -> model::Result<[Vec<Vec<Value>>; 2]> {
    let keys = |keys: &[i64]| Column::from_values(&keys.iter().map(|&key| Value::Int(key)).collect::<Vec<_>>());
    let (starts, orders, known, course) = (keys(starts.0), starts.1, keys(known), course());
    let along = (0, Direction::Out);
    let (starts, known, course) = (&starts, &known, &course);
    let on = OnCourse { kind: 0, along, course, properties: [1, 2], starts, orders, known, limit };
    let which = Which::OnCourse(&on);
    let nodes = Question::Nodes { kind: 0, which: which.clone(), properties: &[1, 2], order: &[], limit: None };
    let edges = Question::Edges { kind: 0, direction: Direction::Out, of: which, properties: &[0] };
    let mut found: [Vec<Vec<Value>>; 2] = Default::default();
    let mut reading = connector.read()?;
    let questions = [nodes, edges];
    assert!(!reading.send(&questions)?, "nothing is sent over a connection that was not seen to be alive");
    let add = |found: &mut [Vec<Vec<Value>>; 2], number: usize, columns: &[Column]| -> model::Result<bool> {
        found[number].extend((0..columns[0].len()).map(|row| columns.iter().map(|column| column.value(row)).collect()));
        Ok(true)
    };
    reading.ask(&questions, &mut |number, columns| add(&mut found, number, &columns))?;
    let mut again: [Vec<Vec<Value>>; 2] = Default::default();
    assert!(reading.send(&questions)?);
    reading.receive(&mut |number, columns| add(&mut again, number, &columns))?;
    assert_eq!(found, again);
    // An answer to a request that nobody waits for is not taken for the answer to another.
    assert!(reading.send(&questions)?);
    drop(reading);
    let mut reading = connector.read()?;
    let mut third: [Vec<Vec<Value>>; 2] = Default::default();
    reading.ask(&questions, &mut |number, columns| add(&mut third, number, &columns))?;
    assert_eq!(found, third);
    Ok(found)
}

#[test]
fn what_a_search_comes_to_is_found_in_one_round_trip() {
    let Some((url, mut connection)) = database() else { return };
    let seed = seed_or(5);
    let mut random = SeededRandom::new(seed);
    fill_places(&mut connection, &mut random);
    let places = connector(&url, &definition(PLACES));
    for (limit, known) in [(1, vec![]), (40, vec![]), (10_000, vec![]), (10_000, vec![1, SIDE])] {
        let [nodes, edges] = on_course(places.as_ref(), (&[0], &[0.0]), &known, limit).unwrap();
        let near: Vec<Value> = edges.iter().map(|edge| edge[0].clone()).collect();
        let mut followed = near.clone();
        followed.dedup();
        assert!(followed.len() as u64 <= limit && followed[0] == Value::Int(0), "seed {seed}");
        assert!(known.iter().all(|&key| !near.contains(&Value::Int(key))), "seed {seed}");
        if limit > 1_000 && known.is_empty() {
            assert_eq!(nodes.len() as i64, SIDE * SIDE - 1, "seed {seed}: all but where it starts");
        }
        let keys = Column::from_values(&followed);
        let plain = Question::Edges { kind: 0, direction: Direction::Out, of: Which::Keys(&keys), properties: &[0] };
        let mut edges = edges;
        edges.sort();
        assert_eq!(edges, rows(places.as_ref(), &plain).unwrap(), "seed {seed}");
        let keys = Column::from_values(&nodes.iter().map(|node| node[0].clone()).collect::<Vec<_>>());
        let which = Which::Keys(&keys);
        let plain = Question::Nodes { kind: 0, which, properties: &[1, 2], order: &[], limit: None };
        let mut nodes = nodes;
        nodes.sort();
        assert_eq!(nodes, rows(places.as_ref(), &plain).unwrap(), "seed {seed}");
    }
    // A property that was not requested is passed over if it cannot be read; a requested one is not answered.
    redis::cmd("SET").arg("r:30").arg("x").exec(&mut connection).unwrap();
    let [_, edges] = on_course(places.as_ref(), (&[0], &[0.0]), &[], 10_000).unwrap();
    assert!(!edges.is_empty() && edges.iter().all(|edge| edge[0] != Value::Int(30)), "seed {seed}");
    let error = on_course(places.as_ref(), (&[30], &[0.0]), &[], 10_000).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Definition, "{error}");
}

#[test]
fn passwords_and_certificates() {
    let options = RedisOptions { password: Some("s3cret".into()), needs_tls: false };
    let Some(server) = Redis::start(&options) else { return };
    let url = server.url(0);
    for login in ["", ":wrong@"] {
        let (code, message) =
            error_of(connector(&url.replace("//", &format!("//{login}")), &definition(PEOPLE)).as_ref());
        assert_eq!(code, ErrorCode::Source);
        assert!(message.contains("the server does not let us in") && !message.contains("wrong@"), "{message}");
    }
    let people = connector(&url.replace("//", "//:s3cret@"), &definition(PEOPLE));
    let all = Question::CountNodes { kind: 0, which: Which::All };
    assert_eq!(rows(people.as_ref(), &all).unwrap(), [vec![Value::Int(0)]]);
    assert!(!people.name().contains("s3cret"));

    let options = RedisOptions { password: None, needs_tls: true };
    let Some(server) = Redis::start(&options) else { return };
    let (code, message) = error_of(connector(&server.url(0), &definition(PEOPLE)).as_ref());
    assert_eq!(code, ErrorCode::Source, "a certificate of an unknown authority is refused: {message}");
    let authority = server.authority().unwrap().display().to_string();
    let url = format!("{}?sslrootcert={authority}", server.url(0));
    assert_eq!(rows(connector(&url, &definition(PEOPLE)).as_ref(), &all).unwrap(), [vec![Value::Int(0)]]);
}

#[test]
fn a_check_says_what_does_not_fit() {
    let Some((url, mut connection)) = database() else { return };
    let people = connector(&url, &definition(PEOPLE));
    let said = || -> Vec<String> {
        people.check().unwrap().iter().map(|finding| format!("{} {}", finding.severity.name(), finding.place)).collect()
    };
    let empty = ["warning nodes.Person", "slow edges.KNOWS.reverse-keys", "warning edges.KNOWS"];
    assert_eq!(said(), empty, "no key has the patterns");
    let () = connection.hset("person:1", "name", "ann").unwrap();
    let () = connection.sadd("knows:1", &[1, 7]).unwrap();
    let expected = ["warning nodes.Person.properties", "slow edges.KNOWS.reverse-keys", "warning edges.KNOWS.target"];
    assert_eq!(said(), expected, "nobody has an age, and 7 is nobody");
    let () = connection.set("person:2", "x").unwrap();
    let () = connection.rpush("knows:2", "1").unwrap();
    let findings = people.check().unwrap();
    let errors: Vec<&str> =
        findings.iter().filter(|f| f.severity.name() == "error").map(|f| f.message.as_str()).collect();
    let holds = |key: &str, found: &str, expected: &str| {
        format!("{url}: key '{key}' holds a {found}, the definition expects a {expected}")
    };
    assert_eq!(errors, [holds("person:2", "string", "hash"), holds("knows:2", "list", "set")]);
}

#[test]
fn a_silent_server_is_given_up() {
    let nodes = r#"{ "nodes": { "T": { "keys": "t:{id}", "properties": ["v"] } } }"#;
    let port = silent::server(b"");
    for scheme in ["redis", "rediss"] {
        silent::check(&format!("{scheme}://127.0.0.1:{port}/0?timeout_ms=500&connect_timeout_ms=500"), nodes);
    }
}
