//! A graph that is exported and imported again is the same, in every format: names, types and values.

use std::sync::Arc;

use super::{Subject, plan};
use database::export::{ExportFormat, export};
use database::{Database, Interrupt};
use model::fixed::Uuid;
use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time};
use model::{Column, Expand, NodeBatch, NodeId, NodeScan, ReadView, Value};
use testing::graphs::{EdgeGroup, GraphData, NodeGroup, zoo};
use testing::random::{SeededRandom, seed_or};

const FORMATS: [ExportFormat; 2] = [ExportFormat::Csv, ExportFormat::JsonLines];

/// A graph as sorted lines, with the type of each value; nodes are named by all that they are.
fn content(view: &dyn ReadView) -> Vec<String> {
    let schema = view.schema();
    let properties = |held: &[(model::PropertyKeyId, Value)]| {
        let mut held: Vec<String> =
            held.iter().map(|(key, value)| format!("{:?}={value:?}", schema.property_key_name(*key))).collect();
        held.sort();
        held.join(" ")
    };
    let (mut lines, mut nodes, mut batch) = (Vec::new(), Vec::new(), NodeBatch::default());
    let mut cursor = view.scan(&NodeScan::default()).expect("nodes can be read");
    while cursor.next(&mut batch).expect("nodes can be read") {
        nodes.extend(batch.nodes.iter().copied());
    }
    let name = |node: NodeId| {
        let mut labels: Vec<&str> =
            view.node_labels(&[node]).expect("it is there")[0].iter().map(|label| schema.label_name(*label)).collect();
        labels.sort_unstable();
        format!("{labels:?} {}", properties(&view.all_node_properties(&[node]).expect("it is there")[0]))
    };
    lines.extend(nodes.iter().map(|node| name(*node)));
    let keys: Vec<_> = (0..schema.property_keys.len() as u32).map(model::PropertyKeyId).collect();
    for number in 0..schema.edge_types.len() as u32 {
        let edge_type = model::EdgeTypeId(number);
        let expand = Expand { types: Some(vec![edge_type]), keys: keys.clone(), ..Expand::default() };
        let mut cursor = view.expand(&nodes, &expand).expect("edges can be read");
        let mut batch = model::EdgeBatch::default();
        while cursor.next(&mut batch).expect("edges can be read") {
            for row in 0..batch.inputs.len() {
                let held: Vec<_> = keys.iter().zip(&batch.properties).map(|(key, of)| (*key, of.value(row))).collect();
                let held: Vec<_> = held.into_iter().filter(|(_, value)| !value.is_null()).collect();
                let (from, to) = (name(nodes[batch.inputs[row] as usize]), name(batch.neighbors[row]));
                lines.push(format!("{from} -{:?} {}-> {to}", schema.edge_type_name(edge_type), properties(&held)));
            }
        }
    }
    lines.sort();
    lines
}

/// Exports a store and imports the files into a new one.
fn copied(subject: &Subject, format: ExportFormat) -> Subject {
    let folder = subject.folder.join(&format!("exported-{format:?}"));
    let view = subject.database.store().read().expect("a snapshot can be taken");
    let summary = export(&*view, &folder, format, &Interrupt::new()).expect("a store can be exported");
    let copy = Subject::new();
    let of_kind = |kind: &str| {
        let name = |path: &std::path::Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let files = summary.files.iter().filter(|path| name(path).is_some_and(|name| name.starts_with(kind)));
        files.map(|path| ("", path.clone())).collect::<Vec<_>>()
    };
    let imported =
        copy.import(&plan(&of_kind("nodes-"), &of_kind("edges-"))).expect("what was exported can be imported");
    assert_eq!((imported.nodes_created, imported.edges_created), (summary.nodes, summary.edges));
    copy
}

fn check(graph: &GraphData, told: &str) {
    let subject = Subject::new();
    graph.load_into(&*subject.database.store()).expect("the graph can be kept");
    let read = |database: &Database| content(&*database.store().read().expect("a snapshot can be taken"));
    let expected = read(&subject.database);
    for format in FORMATS {
        let found = read(&copied(&subject, format).database);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{told}, {format:?}");
        }
        assert_eq!(found.len(), expected.len(), "{told}, {format:?}");
    }
}

const NAMES: &[&str] = &[
    "plain", ":ID", ":LABEL", "id:ID(P)", "a:b", "n:int", "l:long[]", "x,y", "semi;colon;s;s;s", "quo\"te",
    "new\nline", "", "nul\0", " lead", "trail ", "\\back", "\\:ID", "{x}", "x:ID{y}", "`tick`", "ünï", "tab\t",
    "pipe|", "[", ":", "json", "A", "a", "id", "source", "\r",
];

fn values() -> Vec<Value> {
    let text = Value::string;
    let mut values: Vec<Value> = [
        "", " ", "a;b", "a,b", "\"", "\n", "\r\n", "NaN", "true", "7", "007", "2024-02-29", "null", "[1]", "{}",
        "\u{feff}x", "nul\0", "ünï \u{1F980}", "{\"$date\": \"2024-02-29\"}",
    ]
    .map(text)
    .to_vec();
    let floats =
        [-0.0, 0.0, 1.0, 1e300, 5e-324, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.1, 123456789.125];
    values.extend(floats.map(Value::Float));
    values.extend([i64::MIN, -1, 0, 1, i64::MAX].map(Value::Int));
    values.extend([true, false].map(Value::Bool));
    values.extend([Value::Bytes(Arc::from([])), Value::Bytes(Arc::from([0, 255, 16]))]);
    values.extend(["-0044-03-15", "2024-02-29"].map(|x| Value::Date(Date::parse(x).expect("a date"))));
    values.extend(
        ["1582-10-15T07:30", "2024-02-29T23:59:59.999999999"]
            .map(|x| Value::LocalDateTime(LocalDateTime::parse(x).expect("a date and time"))),
    );
    values.push(Value::LocalTime(LocalTime::parse("23:59:59.000000001").expect("a time")));
    values.extend([1, u128::MAX].map(|bits| Value::Uuid(Uuid::from_u128(bits))));
    values.push(Value::Time(Time::parse("12:00+05:30").expect("a time")));
    values.extend(
        [
            "2024-10-27T02:30:00+01:00[Europe/Berlin]",
            "2024-10-27T02:30:00+02:00[Europe/Berlin]",
            "2024-01-01T00:00Z",
            "2024-01-01T00:00:00.5-05:00",
        ]
        .map(|x| Value::DateTime(DateTime::parse(x).expect("a moment"))),
    );
    values.extend(["P-1Y2M3DT-4.5S", "PT0S", "P12W"].map(|x| Value::Duration(Duration::parse(x).expect("a duration"))));
    values
}

fn value(random: &mut SeededRandom, pool: &[Value], depth: usize) -> Value {
    let kind = random.index(if depth < 4 { 10 } else { 6 });
    match kind {
        6 => Value::list((0..random.index(4)).map(|_| value(random, pool, depth + 1)).collect()),
        7 => Value::list((0..random.index(4)).map(|_| Value::Int(random.index(9) as i64)).collect()),
        8 => Value::list(
            (0..random.index(4)).map(|_| Value::string(["a", "b c", "d;e", "", " f"][random.index(5)])).collect(),
        ),
        _ => pool[random.index(pool.len())].clone(),
    }
}

/// Some properties of different names. With few kinds of values, so that columns of one type come about too.
fn properties(random: &mut SeededRandom, pool: &[Value]) -> Vec<(String, Column)> {
    let first = random.index(NAMES.len());
    let names = (0..random.index(5)).map(|step| NAMES[(first + step * 7) % NAMES.len()]);
    let mut held: Vec<(String, Column)> = Vec::new();
    for name in names {
        if held.iter().all(|(other, _)| other != name) {
            held.push((name.to_owned(), Column::from_values(&[value(random, pool, 0)])));
        }
    }
    held
}

fn strange(random: &mut SeededRandom) -> GraphData {
    let pool = values();
    let pool: Vec<Value> = (0..1 + random.index(pool.len())).map(|_| pool[random.index(pool.len())].clone()).collect();
    let count = 1 + random.index(40);
    let label = |random: &mut SeededRandom| {
        ["A", "B;C", " sp ", "[x]", "[\"y\"]", "L:M", "a-b", "a b", "a", ""][random.index(10)]
    };
    let nodes = (0..count).map(|_| {
        let mut labels: Vec<String> = (0..random.index(3)).map(|_| label(random).to_owned()).collect();
        labels.sort();
        labels.dedup();
        NodeGroup { count: 1, labels, properties: properties(random, &pool) }
    });
    let nodes: Vec<NodeGroup> = nodes.collect();
    let edges = (0..random.index(60)).map(|_| EdgeGroup {
        edge_type: ["R", "odd type", "a;b", "T:U", "x\ny", ""][random.index(6)].to_owned(),
        sources: vec![random.index(count) as u64],
        targets: vec![random.index(count) as u64],
        properties: properties(random, &pool),
    });
    GraphData { edges: edges.collect(), nodes }
}

#[test]
fn the_zoo_and_back() {
    check(&zoo(), "zoo");
}

#[test]
fn strange_graphs_and_back() {
    let seed = seed_or(17);
    println!("seed {seed}");
    let mut random = SeededRandom::new(seed);
    for round in 0..25 {
        check(&strange(&mut random), &format!("seed {seed}, round {round}"));
    }
}

/// The empty list, null and the empty string are three values: as users write them, and as an export does.
#[test]
fn empty_lists_null_and_empty_texts_are_told_apart() {
    let text =
        "id:ID,texts:string[],numbers:int[],text:string\n1,\"\",\"\",\"\"\n2,,,\n3,a;b,1;2,c\n4,\"a;b\",\"1\",\"c\"\n";
    let subject = Subject::new();
    let nodes = subject.folder.write("lists.csv", text);
    subject.import(&plan(&[("L", nodes)], &[])).expect("the file is right");
    let query = "MATCH (n:L) RETURN n.id, n.texts, n.numbers, n.text ORDER BY n.id";
    let expected = "1,[],[],''; 2,null,null,null; 3,['a', 'b'],[1, 2],'c'; 4,['a', 'b'],[1],'c'";
    subject.check(&[(query, expected)]);
    for format in FORMATS {
        copied(&subject, format).check(&[(query, expected)]);
    }
}

#[test]
fn a_property_that_comes_late_is_read() {
    let nodes = (0..20_000)
        .map(|id| Value::string(&format!("a text that makes the file longer than what is looked at first {id}")));
    let nodes: Vec<Value> = nodes.collect();
    let group = |values: &[Value], name: &str| NodeGroup {
        count: values.len(),
        labels: vec!["L".into()],
        properties: vec![(name.into(), Column::from_values(values))],
    };
    let graph = GraphData { nodes: vec![group(&nodes, "text"), group(&[Value::Int(1)], "late")], edges: Vec::new() };
    let subject = Subject::new();
    graph.load_into(&*subject.database.store()).expect("the graph can be kept");
    for format in FORMATS {
        copied(&subject, format).check(&[("MATCH (n:L) RETURN count(n), count(n.text), sum(n.late)", "20001,20000,1")]);
    }
}

#[test]
fn an_export_that_stops_leaves_nothing() {
    let subject = Subject::new();
    zoo().load_into(&*subject.database.store()).expect("the graph can be kept");
    let view = subject.database.store().read().expect("a snapshot can be taken");
    let stopped = Interrupt::new();
    stopped.cancel();
    let folder = subject.folder.join("new");
    let error = export(&*view, &folder, ExportFormat::Csv, &stopped).expect_err("it was cancelled");
    assert_eq!(error.code(), database::ErrorCode::Cancelled);
    assert!(!folder.exists(), "the folder goes with the files");
    // A value that no file can carry is named, and leaves nothing either.
    let deep = (0..150).fold(Value::Int(1), |inner, _| Value::list(vec![inner]));
    let held = vec![("nested".to_owned(), Column::from_values(&[deep]))];
    let group = NodeGroup { count: 1, labels: Vec::new(), properties: held };
    GraphData { nodes: vec![group], edges: Vec::new() }.load_into(&*subject.database.store()).expect("it can be kept");
    let view = subject.database.store().read().expect("a snapshot can be taken");
    let error = export(&*view, &folder, ExportFormat::JsonLines, &Interrupt::new()).expect_err("it is too deep");
    assert!(error.message().contains("nested") && error.remedy().contains("knot backup"), "{error}");
    assert!(!folder.exists(), "the folder goes with the files");
}
