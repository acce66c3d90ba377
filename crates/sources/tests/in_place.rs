//! Files read where they lie: random graphs against the reference store, and what goes wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

#[path = "support/world.rs"]
mod world;

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use model::{Column, Direction, ErrorCode, GraphStore, MemoryBudget, Value};
use sources::connect::connect;
use sources::connector::{Condition, Connector, Question, Test, Which};
use sources::definition::GraphDefinition;
use testing::Folder;
use testing::graphs::{GraphData, NodeGroup};
use testing::random::seed_or;
use testing::store_contract::{TABLES, check_published, check_same_seeded};

use world::{reference, store, uid, world};

fn definition(json: &str) -> GraphDefinition {
    GraphDefinition::from_json(json).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn connector(folder: &Path, definition: &GraphDefinition) -> Arc<dyn Connector> {
    connect(&format!("file://{}", folder.display()), definition).unwrap()
}

/// A table as columns with names.
type Rows = (Vec<String>, Vec<Vec<Value>>);

/// Writes rows in the format that the name says.
fn write(folder: &Folder, name: &str, (columns, rows): &Rows) {
    let bytes = if name.contains(".csv") {
        csv_of(columns, rows).into_bytes()
    } else if name.contains(".jsonl") {
        json_of(columns, rows).into_bytes()
    } else {
        parquet_of(columns, rows)
    };
    let bytes = match name {
        name if name.ends_with(".zst") => zstd::encode_all(&bytes[..], 1).unwrap(),
        name if name.ends_with(".gz") => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut encoder, &bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => bytes,
    };
    folder.write(name, bytes);
}

fn csv_of(columns: &[String], rows: &[Vec<Value>]) -> String {
    let field = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => format!("\"{}\"", text.replace('"', "\"\"")),
        other => other.to_string(),
    };
    let mut text = columns.join(",") + "\n";
    for row in rows {
        text += &(row.iter().map(field).collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

fn json_of(columns: &[String], rows: &[Vec<Value>]) -> String {
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let mut object = serde_json::Map::new();
        for (name, value) in columns.iter().zip(row) {
            let json = match value {
                Value::Null if at == 0 => serde_json::Value::Null,
                Value::Null => continue,
                Value::Int(number) => (*number).into(),
                Value::Float(number) => (*number).into(),
                Value::List(items) => items.iter().map(|item| item.to_string().parse::<i64>().unwrap()).collect(),
                Value::String(text) => (**text).into(),
                other => panic!("{other} is not written"),
            };
            object.insert(name.clone(), json);
        }
        text += &(serde_json::Value::Object(object).to_string() + "\n");
    }
    text
}

#[cfg(feature = "parquet")]
fn parquet_of(columns: &[String], rows: &[Vec<Value>]) -> Vec<u8> {
    let mut writer = sources::files::parquet_writer::ParquetWriter::new(Vec::new(), columns.to_vec());
    rows.iter().for_each(|row| writer.push(row.iter().cloned()).unwrap());
    writer.finish().unwrap()
}

#[cfg(not(feature = "parquet"))]
fn parquet_of(_: &[String], _: &[Vec<Value>]) -> Vec<u8> {
    unreachable!("the formats of a build without parquet do not name it")
}

/// The extensions that worlds are written with.
fn extensions() -> Vec<&'static str> {
    let mut extensions = vec!["csv", "jsonl", "csv.gz", "jsonl.zst"];
    if cfg!(feature = "parquet") {
        extensions.push("parquet");
    }
    extensions
}

/// Writes a world as files: a table for each kind; the edges of `NEXT` have a key, and `LIKES` have columns of other names.
fn write_world(folder: &Folder, data: &GraphData, extension: &str) -> GraphDefinition {
    for (group, name) in data.nodes.iter().zip(["person", "place"]) {
        let columns = group.properties.iter().map(|(name, _)| name.clone()).collect();
        let row = |row: usize| group.properties.iter().map(|(_, column)| column.value(row)).collect();
        write(folder, &format!("{name}.{extension}"), &(columns, (0..group.count).map(row).collect()));
    }
    for group in &data.edges {
        let mut columns = vec!["a".to_owned(), "b".to_owned()];
        columns.extend(group.properties.iter().map(|(name, _)| name.clone()));
        let row = |(row, (&source, &target)): (usize, (&u64, &u64))| {
            let mut values = vec![uid(data, source), uid(data, target)];
            values.extend(group.properties.iter().map(|(_, column)| column.value(row)));
            values
        };
        let mut rows: Vec<Vec<Value>> = group.sources.iter().zip(&group.targets).enumerate().map(row).collect();
        if group.edge_type == "VISITED" {
            // Rows that have no edge: an end is null.
            let (first, second) = (uid(data, 0), data.nodes[1].properties[0].1.value(0));
            rows.push(vec![first, Value::Null]);
            rows.insert(0, vec![Value::Null, second]);
        }
        write(folder, &format!("{}.{extension}", group.edge_type.to_lowercase()), &(columns, rows));
    }
    definition(&format!(
        r#"{{ "nodes": {{
        "Person": {{ "file": "person.{extension}", "key": "uid", "properties": [
            {{ "name": "name", "type": "STRING" }}, {{ "name": "age", "type": "INTEGER" }}, {{ "name": "score", "type": "FLOAT" }}] }},
        "Place": {{ "file": "place.{extension}", "key": "uid", "properties": [
            {{ "name": "name", "type": "STRING" }}, {{ "name": "lat", "type": "FLOAT" }}, {{ "name": "lon", "type": "FLOAT" }}] }}
    }}, "edges": {{
        "KNOWS": {{ "file": "knows.{extension}", "source": "Person(a)", "target": "Person(b)" }},
        "LIKES": {{ "file": "likes.{extension}", "source": "Person(a)", "target": "Place(b)", "properties": [{{ "name": "weight", "type": "FLOAT" }}] }},
        "VISITED": {{ "file": "visited.{extension}", "source": "Person(a)", "target": "Place(b)" }},
        "NEXT": {{ "file": "next.{extension}", "source": "Place(a)", "target": "Place(b)", "properties": [{{ "name": "since", "type": "INTEGER" }}] }},
        "FRIEND": {{ "file": "friend.{extension}", "source": "Person(a)", "target": "Person(b)",
            "properties": [{{ "name": "since", "type": "INTEGER" }}, {{ "name": "note", "type": "STRING" }}] }}
    }} }}"#
    ))
}

#[test]
fn a_graph_in_files_is_the_graph_that_was_written() {
    let extensions = extensions();
    for round in 0..extensions.len() * 2 {
        let seed = seed_or(31) + round as u64;
        let extension = extensions[round % extensions.len()];
        let mut data = world(seed);
        // A file of JSON lines or CSV without rows says nothing of its columns.
        if data.edges.iter().any(|group| group.sources.is_empty()) {
            data = world(seed + 1_000);
        }
        let folder = Folder::new();
        let mut definition = write_world(&folder, &data, extension);
        definition.cache.bytes_max = if round % 2 == 0 { 64 << 20 } else { 10_000 };
        let reference = reference(&data);
        let store = store(&definition, connector(folder.path(), &definition));
        check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed);
        check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed + 50);
    }
}

/// Writes a graph as files, a table for each set of labels and each type of edges, all between nodes `N`.
fn publish(folder: &Folder, data: &GraphData, extension: &str) -> GraphDefinition {
    let (mut nodes, mut edges) = (serde_json::Map::new(), serde_json::Map::new());
    let (mut first, mut first_named) = (0, 0);
    // A file without rows says nothing of its columns: in the first row is no node.
    let no_nodes = [NodeGroup { labels: vec!["N".to_owned()], ..NodeGroup::default() }];
    for group in if data.nodes.is_empty() { &no_nodes[..] } else { &data.nodes } {
        let name = group.labels.join("-");
        let columns =
            ["key".to_owned()].into_iter().chain(group.properties.iter().map(|(name, _)| name.clone())).collect();
        let mut rows = vec![vec![Value::Null; group.properties.len() + 1]];
        rows.extend((0..group.count).map(|row| {
            let values = group.properties.iter().map(|(_, column)| column.value(row));
            [Value::Int((first + row) as i64)].into_iter().chain(values).collect()
        }));
        write(folder, &format!("{name}.{extension}"), &(columns, rows));
        let kind = serde_json::json!({
            "file": format!("{name}.{extension}"), "labels": group.labels, "key": "key", "show-key": false,
            "properties": typed(&group.properties),
        });
        nodes.insert(name.clone(), kind);
        if name == "N" {
            first_named = first as u64;
        }
        first += group.count;
    }
    for group in data.edges.iter().filter(|group| !group.sources.is_empty()) {
        let columns =
            ["from", "to"].map(str::to_owned).into_iter().chain(group.properties.iter().map(|(name, _)| name.clone()));
        let row = |row: usize| {
            let ends = [group.sources[row], group.targets[row]];
            assert!(ends.iter().all(|&end| end >= first_named), "edges join nodes of the last group");
            let values = group.properties.iter().map(|(_, column)| column.value(row));
            ends.map(|end| Value::Int(end as i64)).into_iter().chain(values).collect()
        };
        let rows = (0..group.sources.len()).map(row).collect();
        write(folder, &format!("{}.{extension}", group.edge_type), &(columns.collect(), rows));
        let kind = serde_json::json!({
            "file": format!("{}.{extension}", group.edge_type), "source": "N(from)", "target": "N(to)",
            "properties": typed(&group.properties),
        });
        edges.insert(group.edge_type.clone(), kind);
    }
    definition(&serde_json::json!({ "nodes": nodes, "edges": edges }).to_string())
}

/// Properties with the types that the contract gives them.
fn typed(properties: &[(String, Column)]) -> Vec<serde_json::Value> {
    let typed = properties
        .iter()
        .map(|(name, _)| serde_json::json!({ "name": name, "type": TABLES.type_of(name).unwrap().name() }));
    typed.collect()
}

#[test]
fn files_keep_the_contract_of_stores() {
    for extension in extensions() {
        let folders = std::cell::RefCell::new(Vec::new());
        check_published(&|data| {
            let folder = Folder::new();
            let definition = publish(&folder, data, extension);
            let store = store(&definition, connector(folder.path(), &definition));
            folders.borrow_mut().push(folder);
            Box::new(store)
        });
    }
}

/// All rows of a question, sorted.
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

fn nodes<'a>(which: Which<'a>, properties: &'a [usize]) -> Question<'a> {
    Question::Nodes { kind: 0, which, properties, order: &[], limit: None }
}

const PEOPLE: &str = r#"{ "nodes": { "Person": { "file": "people.csv", "key": "id", "properties": ["name", "age", "boss"] } },
    "edges": { "BOSS": { "file": "people.csv", "source": "Person(id)", "target": "Person(boss)" } } }"#;

#[test]
fn what_is_wrong_with_a_file_is_named() {
    let keys = Column::from_values(&[Value::Int(1), Value::Int(2)]);
    for (text, question, code, expected) in [
        (None, nodes(Which::All, &[0]), ErrorCode::File, "people.csv: no such file"),
        (Some("id,name,age\n1,a,2\n"), nodes(Which::All, &[0]), ErrorCode::Definition, ""),
        (
            Some("name,age,boss\na,2,1\n"),
            nodes(Which::All, &[0]),
            ErrorCode::Definition,
            "people.csv: there is no column 'id', only name, age, boss",
        ),
        (
            Some("id,name,age,boss\n1,a,5,\n1,b,6,\n"),
            nodes(Which::Keys(&keys), &[0]),
            ErrorCode::Definition,
            "people.csv: rows 1 and 2 have the same key 1 (id)",
        ),
        (
            Some("id,name,age,boss\n1,a,5,\n2,b\n"),
            nodes(Which::All, &[0]),
            ErrorCode::Definition,
            "people.csv, line 3: expected 4 fields, found 2",
        ),
        (
            Some("id,name,age,boss\n1,a,5,\n2,\"b,7,\n"),
            nodes(Which::Keys(&keys), &[0]),
            ErrorCode::Definition,
            "people.csv, line 3: a quote is opened here and not closed before the end of the file",
        ),
        (Some(""), nodes(Which::All, &[0]), ErrorCode::Import, "people.csv: the file is empty, expected a header"),
    ] {
        let folder = Folder::new();
        if let Some(text) = text {
            folder.write("people.csv", text);
        }
        let people = connector(folder.path(), &definition(PEOPLE));
        match rows(people.as_ref(), &question) {
            Err(error) => {
                let place = format!("{}/", folder.path().display());
                assert_eq!((error.code(), error.message().replace(&place, "")), (code, expected.to_owned()));
            }
            Ok(found) => {
                assert_eq!((expected, found.len()), ("", 1), "a column that is not asked for need not be there")
            }
        }
    }
}

#[test]
fn null_keys_dangling_ends_and_types() {
    let folder = Folder::new();
    folder.write("people.csv", "id,name,age,boss\n1,a,5,2\n,b,6,1\n3,c,,99\n2,d,7,\n");
    let people = connector(folder.path(), &definition(PEOPLE));
    let int = Value::Int;
    let all = rows(people.as_ref(), &nodes(Which::All, &[2])).unwrap();
    assert_eq!(all, [vec![int(1), int(5)], vec![int(2), int(7)], vec![int(3), Value::Null]], "a null key is no node");
    let count = Question::CountNodes { kind: 0, which: Which::All };
    assert_eq!(rows(people.as_ref(), &count).unwrap(), [vec![int(3)]]);
    assert_eq!(rows(people.as_ref(), &Question::CountEdges { kind: 0 }).unwrap(), [vec![int(2)]]);
    let keys = Column::from_values(&[1, 2, 3, 99].map(Value::Int));
    let edges = Question::Edges { kind: 0, direction: Direction::In, of: Which::Keys(&keys), properties: &[] };
    let expected = [vec![int(2), int(1), Value::Null], vec![int(99), int(3), Value::Null]];
    assert_eq!(rows(people.as_ref(), &edges).unwrap(), expected);
    let conditions = [Condition::is(2, Test::Between(Bound::Included(int(6)), Bound::Unbounded))];
    assert_eq!(rows(people.as_ref(), &nodes(Which::Where(&conditions), &[])).unwrap(), [vec![int(2)]]);
    let typed = PEOPLE.replace(r#""age","#, r#"{ "name": "age", "type": "DATE" },"#);
    let error = rows(connector(folder.path(), &definition(&typed)).as_ref(), &nodes(Which::All, &[2])).unwrap_err();
    assert!(error.message().ends_with("people.csv, line 2, column 'age': expected date, found '5'"), "{error}");
}

#[test]
fn arrays_name_several_nodes() {
    let folder = Folder::new();
    folder.write(
        "p.jsonl",
        "{\"id\":1,\"friends\":[2,3]}\n{\"id\":2,\"friends\":[]}\n{\"id\":3,\"friends\":[1]}\n{\"id\":4}\n",
    );
    let json = r#"{ "nodes": { "P": { "file": "p.jsonl" } },
        "edges": { "F": { "file": "p.jsonl", "source": "P(id)", "target": "P(friends[])" } } }"#;
    let people = connector(folder.path(), &definition(json));
    let keys = Column::from_values(&[1, 2, 3].map(Value::Int));
    for (direction, expected) in [(Direction::Out, [(1, 2), (1, 3), (3, 1)]), (Direction::In, [(1, 3), (2, 1), (3, 1)])]
    {
        for of in [Which::Keys(&keys), Which::All] {
            let edges = Question::Edges { kind: 0, direction, of, properties: &[] };
            let expected: Vec<_> =
                expected.iter().map(|&(a, b)| vec![Value::Int(a), Value::Int(b), Value::Null]).collect();
            assert_eq!(rows(people.as_ref(), &edges).unwrap(), expected);
        }
    }
    assert_eq!(rows(people.as_ref(), &Question::CountEdges { kind: 0 }).unwrap(), [vec![Value::Int(3)]]);
}

#[test]
fn a_file_that_changes_is_read_again_or_refused() {
    let folder = Folder::new();
    folder.write("people.csv", "id,name,age,boss\n1,a,5,\n");
    let people = connector(folder.path(), &definition(PEOPLE));
    let keys = Column::from_values(&[1, 2].map(Value::Int));
    let asked = nodes(Which::Keys(&keys), &[1]);
    assert_eq!(rows(people.as_ref(), &asked).unwrap().len(), 1);
    let mut reading = people.read().unwrap();
    reading.ask(std::slice::from_ref(&asked), &mut |_, _| Ok(true)).unwrap();
    let open = reading.start(&nodes(Which::All, &[0])).unwrap();
    folder.write("people.csv", "id,name,age,boss\n2,b,5,\n1,c,5,\n");
    for error in [
        reading.ask(std::slice::from_ref(&asked), &mut |_, _| Ok(true)).unwrap_err(),
        reading.more(open, 10).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.code(), ErrorCode::Source);
        assert!(error.message().ends_with("people.csv: the file was changed while it was read"), "{error}");
    }
    let found = rows(people.as_ref(), &asked).unwrap();
    assert_eq!(found[0], [Value::Int(1), Value::string("c")], "another query sees the file as it is now");
    std::fs::remove_file(folder.join("people.csv")).unwrap();
    assert_eq!(rows(people.as_ref(), &asked).unwrap_err().code(), ErrorCode::File);
}

#[test]
fn an_index_that_does_not_fit_is_a_limit() {
    let folder = Folder::new();
    let text: String = (0..20_000).map(|row| format!("{},n{row}\n", row * 7919 % 1_000_003)).collect();
    folder.write("n.csv", format!("id,name\n{text}"));
    let json = r#"{ "nodes": { "N": { "file": "n.csv", "properties": ["name"] } } }"#;
    let connector = connector(folder.path(), &definition(json));
    connector.charge_to(&MemoryBudget::new(100_000));
    assert_eq!(rows(connector.as_ref(), &nodes(Which::All, &[0])).unwrap().len(), 20_000, "scans need no index");
    let keys = Column::from_values(&[Value::Int(7919)]);
    let error = rows(connector.as_ref(), &nodes(Which::Keys(&keys), &[0])).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Limit);
    assert!(error.remedy().contains("PRELOAD"), "{error:?}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_is_pruned_and_damage_is_told() {
    let folder = Folder::new();
    let columns: Vec<String> = ["id", "name", "x"].map(str::to_owned).to_vec();
    let row =
        |row: i64| vec![Value::Int(row * 2), Value::string(&format!("n{row:06}")), Value::Float(row as f64 / 2.0)];
    let data: Vec<Vec<Value>> = (0..150_000).map(row).collect();
    write(&folder, "n.parquet", &(columns, data));
    let json = r#"{ "nodes": { "N": { "file": "n.parquet", "properties": ["name", "x"] } } }"#;
    let n = connector(folder.path(), &definition(json));
    let names = n.facts().unwrap();
    assert_eq!(names.nodes[0].rows, 150_000);
    let count = |test: Test, property| {
        let conditions = [Condition::is(property, test)];
        rows(n.as_ref(), &nodes(Which::Where(&conditions), &[0])).unwrap().len()
    };
    let between =
        |low: f64, high: f64| Test::Between(Bound::Included(Value::Float(low)), Bound::Excluded(Value::Float(high)));
    assert_eq!(count(between(100.0, 200.0), 2), 200);
    assert_eq!(count(between(74_999.0, 80_000.0), 2), 2);
    assert_eq!(count(between(-5.0, 0.0), 2), 0);
    assert_eq!(count(Test::StartsWith("n00012".into()), 1), 10);
    assert_eq!(count(Test::OneOf(vec![Value::Int(4), Value::Int(299_998), Value::Int(3)]), 0), 2);
    let keys = Column::from_values(&[0, 131_070, 131_072, 299_998, 5].map(Value::Int));
    let found = rows(n.as_ref(), &nodes(Which::Keys(&keys), &[2])).unwrap();
    let expected = [(0, 0.0), (131_070, 32_767.5), (131_072, 32_768.0), (299_998, 74_999.5)];
    assert_eq!(found, expected.map(|(id, x)| vec![Value::Int(id), Value::Float(x)]));
    let order = Question::Nodes {
        kind: 0,
        which: Which::All,
        properties: &[],
        order: &[(2, model::KeyOrder::Descending)],
        limit: Some(2),
    };
    assert_eq!(rows(n.as_ref(), &order).unwrap(), [[Value::Int(299_996)], [Value::Int(299_998)]]);

    let bytes = std::fs::read(folder.join("n.parquet")).unwrap();
    folder.write("n.parquet", &bytes[..bytes.len() / 2]);
    let error = rows(n.as_ref(), &nodes(Which::All, &[0])).unwrap_err();
    assert!(error.message().contains("n.parquet: not a Parquet file"), "{error}");
}

#[test]
fn a_check_says_what_does_not_fit() {
    let folder = Folder::new();
    let people = connector(folder.path(), &definition(PEOPLE));
    let said = || -> Vec<String> { people.check().unwrap().iter().map(|finding| finding.to_string()).collect() };
    assert!(said()[0].starts_with("error: nodes.Person: ") && said()[0].contains("people.csv: no such file"));
    folder.write("people.csv", "id,name,age,boss\n1,a,5,2\n,b,6,1\n2,c,,99\n");
    let place = format!("{}/", folder.path().display());
    let found: Vec<String> = said().iter().map(|text| text.replace(&place, "")).collect();
    assert_eq!(
        found,
        [
            "warning: nodes.Person.key: people.csv: 1 rows have no key, and are no nodes",
            "warning: edges.BOSS.target: people.csv: 1 of the first 3 name no node of Person, as 99",
        ]
    );
    folder.write("people.csv", "id,name,age\n1,a,5\n1,b,5\n");
    let found = said().concat();
    for expected in ["there is no column 'boss'", "rows 1 and 2 have the same key 1"] {
        assert!(found.contains(expected), "{found}");
    }
}
