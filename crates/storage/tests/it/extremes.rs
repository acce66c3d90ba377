//! Values, names, ids and sizes at the edge of what can be: each survives the log, a flush, a merge and opening again, or is
//! refused with an error that names it.
//!
//! `EXTREME_EDGES=100000000 cargo test --release -p knotwork-storage extremes` makes the great node ten times as great.

use std::sync::Arc;

use model::store::{EdgeIds, Expand, NewEdges, NewNodes, NodeScan};
use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time};
use model::{
    Column, Direction, EdgeBatch, EdgeId, EdgeTypeId, ErrorCode, GraphStore, Interrupt, LabelId, NodeBatch, NodeId,
    PropertyKeyId, ReadView, Set, Value, WriteTransaction,
};
use storage::build::BuildConfig;
use storage::bulk::{BulkLoad, NodeRows};
use storage::version::Version;
use storage::{Durability, Maintenance, NativeStore, OpenOptions};

use crate::directory::TestDirectory;
use crate::numbered;

const MEBIBYTE: usize = 1 << 20;

/// Calls `check` with what is in the memtable, then in the log alone, then in files, then in files again.
fn check_everywhere(directory: &TestDirectory, store: NativeStore, check: impl Fn(&dyn ReadView, &str)) {
    check(&*store.read().unwrap(), "in memory");
    drop(store);
    let store = directory.open();
    check(&*store.read().unwrap(), "replayed from the log");
    store.checkpoint(&Interrupt::new()).unwrap();
    check(&*store.read().unwrap(), "written to files");
    drop(store);
    numbered::check_files(&directory.platform(), directory.path());
    let store = directory.open();
    check(&*store.read().unwrap(), "opened again");
}

/// Values of time that no calculation gives, as a caller may bring them.
fn impossible_times() -> Vec<Value> {
    let [first, last] = [LocalDateTime::MIN, LocalDateTime::MAX].map(|moment| moment.seconds);
    let moment = |seconds| LocalDateTime { seconds, nanosecond: 0 };
    let times: Vec<Value> = vec![
        Date(Date::MAX.0 + 1).into(),
        Date(i64::MIN).into(),
        LocalTime(-1).into(),
        LocalTime(LocalTime::MAX.0 + 1).into(),
        Time { local: LocalTime(0), offset: 64_801 }.into(),
        moment(last + 1).into(),
        moment(first - 1).into(),
        LocalDateTime { seconds: 0, nanosecond: 1_000_000_000 }.into(),
        DateTime { seconds: i64::MAX, ..DateTime::default() }.into(),
        Duration { nanosecond: 1_000_000_000, ..Duration::default() }.into(),
    ];
    let lists = times.iter().map(|time| Value::list(vec![Value::Int(1), time.clone()]));
    lists.chain(times.clone()).collect()
}

#[test]
fn values_of_time_out_of_their_bounds_are_refused_wherever_they_are_written() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let mut transaction = store.write().unwrap();
    let (key, edge_type) = (transaction.property_key("at").unwrap(), transaction.edge_type("E").unwrap());
    let new = NewNodes { count: 2, labels: &[], keys: &[], properties: &[] };
    let nodes = transaction.create_nodes(&new).unwrap();
    let edge = NewEdges { edge_type, sources: &nodes[..1], targets: &nodes[1..], keys: &[], properties: &[] };
    let edges = transaction.create_edges(&edge).unwrap();
    for value in impossible_times() {
        let problem = value.check_time().unwrap_err();
        let columns = [Column::from_values(&[value])];
        let load = |base: &Arc<Version>| {
            let mut load = BulkLoad::new(base, BuildConfig::default(), &Interrupt::new())?;
            let names = ["at"];
            let rows = NodeRows { count: 1, labels: &[], key: None, names: &names, columns: &columns, origin: 0 };
            load.push_nodes(&rows).map(drop)
        };
        let outcomes = [
            transaction
                .create_nodes(&NewNodes { count: 1, keys: &[key], properties: &columns, ..new.clone() })
                .map(drop),
            transaction.create_edges(&NewEdges { keys: &[key], properties: &columns, ..edge.clone() }).map(drop),
            transaction.set_node_properties(&nodes[..1], key, &columns[0]),
            transaction.set_edge_properties(&edges, key, &columns[0]),
            load(&store.version()),
        ];
        for outcome in outcomes {
            let error = outcome.expect_err(problem.message());
            assert_eq!(error.code(), ErrorCode::Argument);
            assert!(error.message().ends_with(problem.message()), "{error}");
        }
    }
    transaction.commit().unwrap();
    assert_eq!(store.read().unwrap().statistics().nodes, 2);
}

fn extreme_values() -> Vec<Value> {
    let nested = (0..60).fold(Value::Int(1), |value, _| Value::list(vec![value]));
    let mut values = vec![
        Value::Bool(false),
        Value::Int(i64::MIN),
        Value::Int(i64::MAX),
        Value::Float(f64::NAN),
        Value::Float(f64::INFINITY),
        Value::Float(f64::NEG_INFINITY),
        Value::Float(-0.0),
        Value::Float(f64::MIN_POSITIVE / 2.0),
        Value::Float(f64::MAX),
        Value::string(""),
        Value::string("\0"),
        Value::string("\u{10FFFF}\u{FEFF}\u{202E}e\u{301}"),
        Value::from("ü".repeat(8 * MEBIBYTE)),
        Value::Bytes(Arc::from(Vec::new())),
        Value::Bytes(Arc::from(vec![0xFF; 16 * MEBIBYTE])),
        Value::Date(Date::MIN),
        Value::Date(Date::MAX),
        Value::LocalDateTime(LocalDateTime::MIN),
        Value::LocalDateTime(LocalDateTime::MAX),
        Value::list(Vec::new()),
        Value::list(vec![Value::list(Vec::new()), Value::string(""), Value::Float(f64::NAN)]),
        Value::list((0..300_000).map(Value::Int).collect()),
        nested,
    ];
    // The same many times, so that encodings for equal and for sorted values meet them, too.
    values.extend((0..300).map(|number| Value::Int(i64::MAX - number % 3)));
    values
}

/// Equal to the last bit, or both are not a number.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b)),
        _ => a.type_name() == b.type_name() && a == b,
    }
}

#[test]
fn values_of_every_type_at_their_limits() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let values = extreme_values();
    let count = values.len();
    let mut transaction = store.write().unwrap();
    let (mixed, single) = (transaction.property_key("mixed").unwrap(), transaction.property_key("single").unwrap());
    let edge_type = transaction.edge_type("T").unwrap();
    let column = Column::from_values(&values);
    let properties = [column.clone()];
    let nodes =
        transaction.create_nodes(&NewNodes { count, labels: &[], keys: &[mixed], properties: &properties }).unwrap();
    let new = NewEdges { edge_type, sources: &nodes, targets: &nodes, keys: &[mixed], properties: &properties };
    transaction.create_edges(&new).unwrap();
    for (node, value) in nodes.iter().zip(&values) {
        transaction.set_node_properties(&[*node], single, &Column::from_values(std::slice::from_ref(value))).unwrap();
    }
    transaction.commit().unwrap();
    check_everywhere(&directory, store, |view, place| {
        let found = view.node_properties(&nodes, &[mixed, single]).unwrap();
        let edges = edges_of(view, &nodes, Direction::Out, &[mixed]);
        for (row, value) in values.iter().enumerate() {
            for (column, what) in [(&found[0], "node"), (&found[1], "node, set"), (&edges, "edge")] {
                let text = || format!("{:.60}", format!("{value:?}"));
                assert!(is_same(&column.value(row), value), "{what} {place}, row {row}: {}", text());
            }
        }
    });
}

/// The first of the properties of the edges of nodes, one edge of each node.
fn edges_of(view: &dyn ReadView, nodes: &[NodeId], direction: Direction, keys: &[PropertyKeyId]) -> Column {
    let expand =
        Expand { direction, types: None, edge_ids: EdgeIds::Omit, keys: keys.to_vec(), ranges: Vec::new(), top: None };
    let (mut batch, mut values) = (EdgeBatch::default(), Vec::new());
    let mut cursor = view.expand(nodes, &expand).unwrap();
    while cursor.next(&mut batch).unwrap() {
        values.extend(batch.properties[0].values());
    }
    Column::from_values(&values)
}

#[test]
fn names_at_their_limits_are_kept_or_refused() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let names = ["", " ", "\0", "`", "ü\u{10FFFF}", &"long".repeat(10_000)];
    let mut transaction = store.write().unwrap();
    let mut kept = Vec::new();
    for name in names {
        let made = [
            transaction.label(name).map(drop),
            transaction.edge_type(name).map(drop),
            transaction.property_key(name).map(drop),
        ];
        match made {
            [Ok(()), Ok(()), Ok(())] => kept.push(name),
            [Err(a), Err(b), Err(c)] => {
                assert!(
                    [&a, &b, &c].iter().all(|error| error.code().class() == model::error::ErrorClass::Client),
                    "{a:?}"
                );
            }
            other => panic!("labels, types and keys agree about {name:?}: {other:?}"),
        }
    }
    let labels: Vec<LabelId> = kept.iter().map(|name| transaction.label(name).unwrap()).collect();
    let keys: Vec<PropertyKeyId> = kept.iter().map(|name| transaction.property_key(name).unwrap()).collect();
    let columns: Vec<Column> = kept.iter().map(|name| Column::from_values(&[Value::string(name)])).collect();
    let new = NewNodes { count: 1, labels: &labels, keys: &keys, properties: &columns };
    let node = transaction.create_nodes(&new).unwrap()[0];
    for name in &kept {
        add_edges(&mut *transaction, name, &[node], &[node]);
    }
    transaction.commit().unwrap();
    check_everywhere(&directory, store, |view, place| {
        let schema = view.schema();
        assert_eq!(view.node_labels(&[node]).unwrap()[0].len(), kept.len(), "{place}");
        for name in &kept {
            let (key, edge_type) = (schema.property_key(name).unwrap(), schema.edge_type(name).unwrap());
            assert_eq!(view.node_properties(&[node], &[key]).unwrap()[0].value(0), Value::string(name), "{place}");
            assert_eq!(view.degrees(&[node], Direction::In, Some(&[edge_type])).unwrap(), [1], "{place}");
        }
    });
}

fn add_edges(transaction: &mut dyn WriteTransaction, edge_type: &str, sources: &[NodeId], targets: &[NodeId]) {
    let edge_type = transaction.edge_type(edge_type).unwrap();
    transaction.create_edges(&NewEdges { edge_type, sources, targets, keys: &[], properties: &[] }).unwrap();
}

fn add_nodes(transaction: &mut dyn WriteTransaction, count: usize) -> Vec<NodeId> {
    transaction.create_nodes(&NewNodes { count, labels: &[], keys: &[], properties: &[] }).unwrap()
}

#[test]
fn ten_thousand_edge_types() {
    const TYPES: usize = 10_000;
    let directory = TestDirectory::new();
    let store = directory.open();
    let mut transaction = store.write().unwrap();
    let nodes = add_nodes(&mut *transaction, 100);
    for number in 0..TYPES {
        add_edges(&mut *transaction, &format!("T{number}"), &[nodes[number % 7]], &[nodes[number % 100]]);
    }
    transaction.commit().unwrap();
    check_everywhere(&directory, store, |view, place| {
        assert_eq!(view.statistics().edges, TYPES as u64, "{place}");
        let out: u64 = view.degrees(&nodes, Direction::Out, None).unwrap().iter().sum();
        assert_eq!(out, TYPES as u64, "{place}");
        for number in (0..TYPES).step_by(531) {
            let types = [view.schema().edge_type(&format!("T{number}")).unwrap()];
            let source = [nodes[number % 7]];
            assert_eq!(view.degrees(&source, Direction::Out, Some(&types)).unwrap(), [1], "{place}, type {number}");
            assert_eq!(view.degrees(&[nodes[99]], Direction::Out, Some(&types)).unwrap(), [0], "{place}");
        }
    });
    // Once more, over what is in files.
    let store = directory.open();
    let mut transaction = store.write().unwrap();
    for number in 0..TYPES / 10 {
        add_edges(&mut *transaction, &format!("T{number}"), &[nodes[8]], &[nodes[9]]);
    }
    transaction.commit().unwrap();
    check_everywhere(&directory, store, |view, place| {
        assert_eq!(view.degrees(&[nodes[8]], Direction::Out, None).unwrap(), [TYPES as u64 / 10], "{place}");
        assert_eq!(view.statistics().edges, (TYPES + TYPES / 10) as u64, "{place}");
    });
}

#[test]
fn a_node_with_ten_million_edges() {
    let count: usize = std::env::var("EXTREME_EDGES").map_or(10_000_000, |text| text.parse().expect("it is a number"));
    const BATCH: usize = 50_000;
    let directory = TestDirectory::new();
    let options = OpenOptions { durability: Durability::Off, memtable_bytes_max: 16 << 20, ..OpenOptions::create() };
    let store = directory.open_with(options);
    let mut transaction = store.write().unwrap();
    let nodes = add_nodes(&mut *transaction, 1_000);
    transaction.edge_type("T").unwrap();
    transaction.commit().unwrap();
    let hub = nodes[0];
    for batch in 0..count / BATCH {
        let mut transaction = store.write().unwrap();
        let others: Vec<NodeId> = (0..BATCH).map(|row| nodes[(batch * BATCH + row) % 1_000]).collect();
        // Half of the edges start at the great node, half end there.
        let hubs = vec![hub; BATCH];
        let (sources, targets) = if batch % 2 == 0 { (&hubs, &others) } else { (&others, &hubs) };
        add_edges(&mut *transaction, "T", sources, targets);
        transaction.commit().unwrap();
    }
    let half = (count / 2) as u64;
    let loops = count as u64 / 1_000;
    let check = |view: &dyn ReadView, place: &str, deleted: u64| {
        assert_eq!(view.statistics().edges, count as u64 - deleted, "{place}");
        let out = view.degrees(&[hub], Direction::Out, None).unwrap()[0];
        let inward = view.degrees(&[hub], Direction::In, None).unwrap()[0];
        assert_eq!((out + deleted, inward), (half + loops / 2, half + loops / 2), "{place}");
        let one = nodes[500];
        assert_eq!(view.degrees(&[one], Direction::Both, None).unwrap()[0], loops - deleted.min(1), "{place}");
    };
    check_everywhere(&directory, store, |view, place| check(view, place, 0));
    // Some of its edges go, one by one: to the node in the middle.
    let store = directory.open_with(options);
    let mut transaction = store.write().unwrap();
    let expand = Expand {
        direction: Direction::Out,
        types: None,
        edge_ids: EdgeIds::Include,
        keys: Vec::new(),
        ranges: Vec::new(),
        top: None,
    };
    let mut batch = EdgeBatch::default();
    let edge = {
        let mut cursor = transaction.view().expand(std::slice::from_ref(&hub), &expand).unwrap();
        let mut found = None;
        while found.is_none() && cursor.next(&mut batch).unwrap() {
            found = batch.neighbors.iter().position(|&node| node == nodes[500]).map(|row| batch.edges[row]);
        }
        found.expect("there is an edge to that node")
    };
    transaction.delete_edges(&[edge]).unwrap();
    transaction.commit().unwrap();
    check_everywhere(&directory, store, |view, place| check(view, place, 1));
}

#[test]
fn ids_at_the_edge_of_their_range_are_not_there() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let mut transaction = store.write().unwrap();
    let nodes = add_nodes(&mut *transaction, 3);
    add_edges(&mut *transaction, "T", &nodes, &nodes);
    let (label, key) = (transaction.label("L").unwrap(), transaction.property_key("k").unwrap());
    transaction.commit().unwrap();
    let far = [3, (1 << 20) - 1, 1 << 20, u64::from(u32::MAX), 1 << 32, 1 << 63, u64::MAX].map(NodeId);
    let far_edges = [1, 1 << 20, 1 << 32, 1 << 52, 1 << 63, u64::MAX - 1, u64::MAX].map(EdgeId);
    check_everywhere(&directory, store, |view, place| {
        assert_eq!(view.nodes_exist(&far).unwrap().count_ones(), 0, "{place}");
        assert!(view.node_labels(&far).unwrap().iter().all(Vec::is_empty), "{place}");
        assert!(view.all_node_properties(&far).unwrap().iter().all(Vec::is_empty), "{place}");
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            assert_eq!(view.degrees(&far, direction, None).unwrap(), [0; 7], "{place}");
            assert_eq!(edges_of(view, &far, direction, &[key]).len(), 0, "{place}");
            let none = [EdgeTypeId(u32::MAX)];
            assert_eq!(view.degrees(&nodes, direction, Some(&none)).unwrap(), [0; 3], "{place}");
        }
        let is_there = view.edges_exist(&far_edges).unwrap();
        let properties = view.all_edge_properties(&far_edges).unwrap();
        for row in (0..far_edges.len()).filter(|&row| !is_there.get(row)) {
            assert!(properties[row].is_empty(), "{place}");
        }
        assert!(is_there.count_ones() < 3, "{place}: most of these edges are not there");
        let column = &view.node_properties(&nodes, &[PropertyKeyId(u32::MAX)]).unwrap()[0];
        assert!((0..3).all(|row| column.is_null(row)), "{place}");
        assert_eq!(view.has_label(&nodes, LabelId(u32::MAX)).unwrap().count_ones(), 0, "{place}");
    });
    let store = directory.open();
    let mut transaction = store.write().unwrap();
    for node in far {
        let one = Column::from_values(&[Value::Int(1)]);
        let edge_type = transaction.edge_type("T").unwrap();
        let new = NewEdges { edge_type, sources: &[node], targets: &nodes[..1], keys: &[], properties: &[] };
        let refused = [
            transaction.set_node_properties(&[node], key, &one).err(),
            transaction.add_labels(&[node], &[label]).err(),
            transaction.create_edges(&new).err(),
        ];
        for error in refused {
            assert_eq!(error.map(|error| error.code()), Some(ErrorCode::NotFound), "node {}", node.0);
        }
        transaction.delete_nodes(&[node]).unwrap();
    }
    transaction.delete_edges(&far_edges[4..]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(store.read().unwrap().statistics().nodes, 3);
}

#[test]
fn a_transaction_of_a_million_operations() {
    const NODES: usize = 100_000;
    let directory = TestDirectory::new();
    let store = directory.open();
    let mut transaction = store.write().unwrap();
    let key = transaction.property_key("n").unwrap();
    let nodes = add_nodes(&mut *transaction, NODES);
    for round in 0..9_i64 {
        for (number, node) in nodes.iter().enumerate() {
            let value = Column::constant(&Value::Int(round * number as i64), 1);
            transaction.set_node_properties(&[*node], key, &value).unwrap();
        }
    }
    for pair in nodes.windows(2) {
        add_edges(&mut *transaction, "NEXT", &pair[..1], &pair[1..]);
    }
    transaction.commit().unwrap();
    check_everywhere(&directory, store, |view, place| {
        let statistics = view.statistics();
        assert_eq!((statistics.nodes, statistics.edges), (NODES as u64, NODES as u64 - 1), "{place}");
        let column = view.node_properties(&nodes, &[key]).unwrap().swap_remove(0);
        assert!((0..NODES).all(|row| column.value(row) == Value::Int(8 * row as i64)), "{place}");
    });
}

/// A string of a mebibyte and a little more, a list of such, a number, or nothing.
fn large_value(at: usize) -> Value {
    let text = |at: usize| Value::from(format!("{at} {}", "large ".repeat(MEBIBYTE / 6 + at)));
    match at % 7 {
        0..=3 => text(at),
        4 if at > 20 => Value::list(vec![text(at), Value::Int(at as i64)]),
        5 if at > 20 => Value::Int(at as i64),
        _ => Value::Null,
    }
}

#[test]
fn large_texts_are_merged_a_few_at_a_time() {
    const NODES: usize = 36;
    let directory = TestDirectory::new();
    let store = directory.open_with(OpenOptions { maintenance: Maintenance::Inline, ..OpenOptions::create() });
    let values = |range: std::ops::Range<usize>| Column::from_values(&range.map(large_value).collect::<Vec<_>>());
    let (mut nodes, mut edges) = (Vec::new(), 0);
    let names = ["a", "b"];
    for start in (0..NODES).step_by(NODES / 4) {
        let range = start..start + NODES / 4;
        let mut transaction = store.write().unwrap();
        let keys = names.map(|name| transaction.property_key(name).unwrap());
        let edge_type = transaction.edge_type("E").unwrap();
        let properties = [values(range.clone()), values(range.start + 1..range.end + 1)];
        let new = NewNodes { count: range.len(), labels: &[], keys: &keys, properties: &properties };
        let made = transaction.create_nodes(&new).unwrap();
        let targets = vec![made[0]; made.len()];
        let weights = [values(range.clone())];
        let new = NewEdges { edge_type, sources: &made, targets: &targets, keys: &keys[..1], properties: &weights };
        edges += transaction.create_edges(&new).unwrap().len();
        nodes.extend(made);
        transaction.commit().unwrap();
        store.checkpoint(&Interrupt::new()).unwrap();
    }
    store.compact(&Interrupt::new()).unwrap();
    let check = |view: &dyn ReadView, what: &str| {
        let keys = names.map(|name| view.schema().property_key(name).unwrap());
        let found = view.node_properties(&nodes, &keys).unwrap();
        for at in 0..NODES {
            assert!(found[0].value(at) == large_value(at), "{what}: a of node {at}");
            assert!(found[1].value(at) == large_value(at + 1), "{what}: b of node {at}");
        }
        let expand = Expand { keys: vec![keys[0]], edge_ids: EdgeIds::Omit, ..Expand::default() };
        let (mut cursor, mut batch, mut count) = (view.expand(&nodes, &expand).unwrap(), EdgeBatch::default(), 0);
        while cursor.next(&mut batch).unwrap() {
            for (row, &input) in batch.inputs.iter().enumerate() {
                assert!(batch.properties[0].value(row) == large_value(input as usize), "{what}: an edge of {input}");
            }
            count += batch.len();
        }
        assert_eq!(count, edges);
    };
    assert!(directory.disk().list(directory.path()).unwrap().iter().all(|name| !name.ends_with(".run")));
    check_everywhere(&directory, store, check);
}

#[test]
fn more_types_than_fit_into_seventeen_bits_are_written_and_read() {
    const TYPES: usize = 140_000;
    let directory = TestDirectory::new();
    let store = directory.open_with(OpenOptions { durability: Durability::Off, ..OpenOptions::create() });
    let mut transaction = store.write().unwrap();
    let new = NewNodes { count: 1, labels: &[], keys: &[], properties: &[] };
    let node = transaction.create_nodes(&new).unwrap();
    for number in 0..TYPES {
        let edge_type = transaction.edge_type(&format!("T{number}")).unwrap();
        let new = NewEdges { edge_type, sources: &node, targets: &node, keys: &[], properties: &[] };
        transaction.create_edges(&new).unwrap();
    }
    transaction.commit().unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    let check = |store: &NativeStore| {
        let view = store.read().unwrap();
        assert_eq!(view.statistics().edges, TYPES as u64);
        let last = view.schema().edge_type(&format!("T{}", TYPES - 1)).unwrap();
        assert_eq!(view.degrees(&node, Direction::Out, Some(&[last])).unwrap(), [1]);
        assert_eq!(view.degrees(&node, Direction::Out, None).unwrap(), [TYPES as u64]);
    };
    check(&store);
    drop(store);
    check(&directory.open());
}

/// The nodes with these labels, in order.
fn scan(view: &dyn ReadView, labels: &[LabelId]) -> Vec<NodeId> {
    let (mut batch, mut nodes) = (NodeBatch::default(), Vec::new());
    let mut cursor = view.scan(&NodeScan { labels: labels.to_vec(), ..NodeScan::default() }).unwrap();
    while cursor.next(&mut batch).unwrap() {
        nodes.extend_from_slice(&batch.nodes);
    }
    nodes
}

/// Labels of few nodes: their files take what the nodes take, and not a bit of every node for each label.
#[test]
fn labels_of_few_nodes_take_the_room_of_their_nodes() {
    const LABELS: usize = 2_000;
    const NODES: usize = 120_000;
    let directory = TestDirectory::new();
    let store = directory.open_with(OpenOptions { durability: Durability::Off, ..OpenOptions::create() });
    let mut transaction = store.write().unwrap();
    let nodes = add_nodes(&mut *transaction, NODES);
    let labels: Vec<LabelId> = (0..LABELS).map(|number| transaction.label(&format!("L{number}")).unwrap()).collect();
    // Every label on the first node and two of its own, the last few on more and more nodes.
    let nodes_of = |number: usize| {
        let mut of = vec![0, number * 2 + 1, NODES - 1 - number];
        of.extend((0..20_usize.saturating_sub(LABELS - number) * 50).map(|at| 20_000 + at * 7));
        of
    };
    for (number, &label) in labels.iter().enumerate() {
        let of: Vec<NodeId> = nodes_of(number).into_iter().map(|at| nodes[at]).collect();
        transaction.add_labels(&of, &[label]).unwrap();
    }
    transaction.commit().unwrap();
    let last: Set<NodeId> = nodes_of(LABELS - 1).into_iter().map(|at| nodes[at]).collect();
    check_everywhere(&directory, store, |view, place| {
        for number in (0..LABELS).step_by(197).chain(LABELS - 22..LABELS) {
            let mut expected: Vec<NodeId> = nodes_of(number).into_iter().map(|at| nodes[at]).collect();
            expected.sort_unstable();
            assert_eq!(
                view.has_label(&nodes, labels[number]).unwrap().count_ones(),
                expected.len(),
                "{place}, {number}"
            );
            assert_eq!(view.has_label(&expected, labels[number]).unwrap().count_ones(), expected.len(), "{place}");
            assert_eq!(view.statistics().label(labels[number]), expected.len() as u64, "{place}, {number}");
            assert_eq!(scan(view, &[labels[number]]), expected, "{place}, {number}");
            let both: Vec<NodeId> = expected.iter().copied().filter(|node| last.contains(node)).collect();
            assert_eq!(scan(view, &[labels[number], labels[LABELS - 1]]), both, "{place}, {number}");
        }
        let few = view.node_labels(&[nodes[2], nodes[0], nodes[1], nodes[0]]).unwrap();
        assert_eq!(few.iter().map(Vec::len).collect::<Vec<_>>(), [0, LABELS, 1, LABELS], "{place}");
        let all = view.node_labels(&nodes).unwrap();
        let expected: usize = (0..LABELS).map(|number| nodes_of(number).len()).sum();
        assert_eq!(all.iter().map(Vec::len).sum::<usize>(), expected, "{place}");
        assert!(all.iter().all(|labels| labels.is_sorted()), "{place}");
    });
    let sizes = directory.disk().list(directory.path()).unwrap().into_iter().filter(|name| name.ends_with(".nodes"));
    let bytes: u64 = sizes.map(|name| directory.disk().length(&directory.path().join(name)).unwrap()).sum();
    assert!(bytes < 1 << 20, "{bytes} bytes for {LABELS} labels of {NODES} nodes");
}
