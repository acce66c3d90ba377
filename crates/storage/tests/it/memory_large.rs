//! The memory limit while one transaction writes many times what memory has room for, in a process of its own whose memory
//! can be measured.

use std::ops::Range;

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{Column, ColumnData, Direction, EdgeBatch, EdgeId, Expand, GraphStore, NodeId, Value, WriteTransaction};
use storage::{Durability, NativeStore, OpenOptions};

use crate::apart::{held_most, number_in, output_of};
use crate::directory::TestDirectory;

const PATH: &str = "KNOTWORK_TEST_LARGE_STORE";
const LIMIT: usize = 24 << 20;
/// Bytes that a process holds besides: buffers of files, the ids that the caller keeps, and what the allocator keeps.
const BESIDES: usize = 40 << 20;
const NODES: usize = 2_000;
const EDGES: usize = 400_000;
/// Edges of one call.
const ROWS: usize = 50_000;
/// Edges of one transaction of a log.
const LOGGED_ROWS: usize = 5_000;
/// Ends the name of a store with a long log.
const LOGGED: &str = "logged.knot";

/// The work of the child; nothing when run as a test.
#[test]
fn child() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let options = OpenOptions { memory_bytes_max: Some(LIMIT), durability: Durability::Off, ..OpenOptions::create() };
    let store = NativeStore::open(path.as_ref(), options, storage::os::platform()).unwrap();
    let nodes = create(&store);
    println!("\nedges {}", store.read().unwrap().statistics().edges);
    println!("created {}", held_most());
    println!("changed {}", change(&store, &nodes));
    println!("updated {}", held_most());
    delete(&store, &nodes);
    println!("left {}", store.read().unwrap().statistics().edges);
    println!("deleted {}", held_most());
    println!("counted {}", store.memory().peak());
    drop(store);
    let logged = std::path::Path::new(&path).with_extension(LOGGED);
    let reading = OpenOptions { memory_bytes_max: Some(LIMIT), ..OpenOptions::read_only() };
    let store = NativeStore::open(&logged, reading, storage::os::platform()).unwrap();
    println!("read {}", count_edges(&store));
    println!("looked {}", held_most());
    println!("held {}", store.memory().peak());
    drop(store);
    let store = NativeStore::open(&logged, options, storage::os::platform()).unwrap();
    println!("repeated {}", store.read().unwrap().statistics().edges);
    println!("opened {}", held_most());
    println!("replayed {}", store.memory().peak());
}

/// The edges that leave all nodes.
fn count_edges(store: &NativeStore) -> usize {
    let view = store.read().unwrap();
    let nodes: Vec<NodeId> = (0..view.node_id_bound()).map(NodeId).collect();
    let expand = Expand { direction: Direction::Out, edge_ids: EdgeIds::Omit, ..Expand::default() };
    let (mut cursor, mut batch, mut count) = (view.expand(&nodes, &expand).unwrap(), EdgeBatch::default(), 0);
    while cursor.next(&mut batch).unwrap() {
        count += batch.len();
    }
    count
}

/// A store whose log is many times the limit, made where there is room for it.
fn write_long_log(path: &std::path::Path) {
    let options = OpenOptions {
        memory_bytes_max: Some(2 << 30),
        memtable_bytes_max: usize::MAX,
        durability: Durability::Off,
        ..OpenOptions::create()
    };
    let store = NativeStore::open(path, options, storage::os::platform()).unwrap();
    let mut nodes = Vec::new();
    for first in (0..EDGES).step_by(LOGGED_ROWS) {
        let mut transaction = store.write().unwrap();
        if nodes.is_empty() {
            let new = NewNodes { count: NODES, labels: &[], keys: &[], properties: &[] };
            nodes = transaction.create_nodes(&new).unwrap();
        }
        create_edges(&mut *transaction, &nodes, first..first + LOGGED_ROWS);
        transaction.commit().unwrap();
    }
    assert!(store.memtable_bytes() > 2 * LIMIT, "{} bytes", store.memtable_bytes());
}

fn create(store: &NativeStore) -> Vec<NodeId> {
    let mut transaction = store.write().unwrap();
    let new = NewNodes { count: NODES, labels: &[], keys: &[], properties: &[] };
    let nodes = transaction.create_nodes(&new).unwrap();
    for first in (0..EDGES).step_by(ROWS) {
        create_edges(&mut *transaction, &nodes, first..first + ROWS);
    }
    transaction.commit().unwrap();
    nodes
}

fn create_edges(transaction: &mut dyn WriteTransaction, nodes: &[NodeId], edges: Range<usize>) {
    let (edge_type, key) = (transaction.edge_type("E").unwrap(), transaction.property_key("n").unwrap());
    let sources: Vec<NodeId> = edges.clone().map(|edge| nodes[edge * 7 % NODES]).collect();
    let targets: Vec<NodeId> = edges.clone().map(|edge| nodes[edge * 13 % NODES]).collect();
    let numbers = [Column::new(ColumnData::Int((edges.start as i64..edges.end as i64).collect()))];
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[key], properties: &numbers };
    transaction.create_edges(&new).unwrap();
}

/// The values of the only property of a batch.
fn numbers(batch: &EdgeBatch) -> Vec<i64> {
    let number = |value: Value| if let Value::Int(number) = value { number } else { panic!("{value} is no integer") };
    batch.properties[0].values().map(number).collect()
}

/// Changes a property of every edge while merges move the edges to other files; returns the sum of the property then.
fn change(store: &NativeStore, nodes: &[NodeId]) -> i64 {
    let mut transaction = store.write().unwrap();
    let view = store.read().unwrap();
    let key = transaction.property_key("n").unwrap();
    let expand = Expand { edge_ids: EdgeIds::Include, keys: vec![key], ..Expand::default() };
    let (mut cursor, mut batch) = (view.expand(nodes, &expand).unwrap(), EdgeBatch::default());
    while cursor.next(&mut batch).unwrap() {
        let values = numbers(&batch).into_iter().map(|number| Value::Int(number + 1));
        let changed = Column::from_values(&values.collect::<Vec<_>>());
        transaction.set_edge_properties(&batch.edges, key, &changed).unwrap();
    }
    drop(cursor);
    drop(view);
    transaction.commit().unwrap();
    let view = store.read().unwrap();
    let (mut cursor, mut sum) = (view.expand(nodes, &expand).unwrap(), 0);
    while cursor.next(&mut batch).unwrap() {
        sum += numbers(&batch).iter().sum::<i64>();
    }
    sum
}

fn delete(store: &NativeStore, nodes: &[NodeId]) {
    let mut transaction = store.write().unwrap();
    let expand = Expand { direction: Direction::Out, edge_ids: EdgeIds::Include, ..Expand::default() };
    let (mut batch, mut edges): (EdgeBatch, Vec<EdgeId>) = Default::default();
    let mut cursor = transaction.view().expand(nodes, &expand).unwrap();
    while cursor.next(&mut batch).unwrap() {
        edges.extend_from_slice(&batch.edges);
    }
    drop(cursor);
    transaction.delete_edges(&edges).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn one_transaction_of_many_times_the_memory_is_within_the_limit() {
    let directory = TestDirectory::new();
    let logged = directory.path().with_extension(LOGGED);
    write_long_log(&logged);
    let text = output_of("memory_large::child", &[(PATH, directory.path().as_os_str())]);
    std::fs::remove_dir_all(&logged).unwrap();
    let number = |name: &str| number_in(&text, name, 1);
    assert_eq!((number("edges"), number("left")), (EDGES, 0), "{text}");
    assert_eq!(number("changed"), EDGES * (EDGES + 1) / 2, "{text}");
    assert_eq!((number("read"), number("repeated")), (EDGES, EDGES), "{text}");
    let is_counted = |name: &str| number(name) <= LIMIT + LIMIT / 4;
    assert!(is_counted("counted") && is_counted("held") && is_counted("replayed"), "{text}");
    let most = (LIMIT + BESIDES) >> 10;
    let is_within = |name: &str| number(name) <= most;
    assert!(
        ["created", "updated", "deleted"].into_iter().all(is_within) && is_within("looked") && is_within("opened"),
        "at most {most} KiB may be held: {text}"
    );
}
