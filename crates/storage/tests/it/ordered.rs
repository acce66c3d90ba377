//! Ordered indexes that are too large to be made in memory: made as a run, kept by flushes, made again by replay, and
//! given up without a trace.

use model::store::NewNodes;
use model::{
    Column, ColumnData, Constraint, ErrorCode, GraphStore, Index, IndexBatch, IndexScan, Interrupt, KeyOrder, KeyRange,
    NodeId, Rule, Subject, Value,
};
use storage::NativeStore;

use crate::directory::TestDirectory;

const NODES: i64 = 70_000;

/// Nodes with the values 0, 1, 2, … of `a`, and `b` that is `a` modulo 1,000.
fn fill(store: &NativeStore) -> Index {
    let mut transaction = store.write().unwrap();
    let label = transaction.label("P").unwrap();
    let keys = ["a", "b"].map(|key| transaction.property_key(key).unwrap());
    let values = |step: i64| Column::new(ColumnData::Int((0..NODES).map(|at| at % step).collect()));
    let properties = [values(NODES), values(1_000)];
    let new = NewNodes { count: NODES as usize, labels: &[label], keys: &keys, properties: &properties };
    transaction.create_nodes(&new).unwrap();
    transaction.commit().unwrap();
    Index { name: "ba".into(), subject: Subject::Label(label), keys: vec![keys[1], keys[0]] }
}

fn ordered_files(directory: &TestDirectory) -> usize {
    let names = directory.disk().list(directory.path()).unwrap();
    names.iter().filter(|name| name.ends_with(".ordered")).count()
}

/// The nodes whose `b` is this, in order of `a`.
fn found(store: &NativeStore, index: &Index, b: i64, order: KeyOrder) -> Vec<NodeId> {
    let view = store.read().unwrap();
    let equal = vec![Column::from_values([&Value::Int(b)])];
    let scan = IndexScan { index: index.clone(), equal, rows: 1, range: KeyRange::All, order };
    let (mut cursor, mut batch) = (view.index_scan(&scan).unwrap(), IndexBatch::default());
    let mut nodes = Vec::new();
    while cursor.next(&mut batch).unwrap() {
        nodes.extend_from_slice(&batch.nodes);
    }
    nodes
}

fn check(store: &NativeStore, index: &Index) {
    let expected: Vec<NodeId> = (0..NODES / 1_000).map(|at| NodeId((at * 1_000 + 7) as u64)).collect();
    assert_eq!(found(store, index, 7, KeyOrder::Ascending), expected);
    let turned: Vec<NodeId> = expected.into_iter().rev().collect();
    assert_eq!(found(store, index, 7, KeyOrder::Descending), turned);
    assert_eq!(found(store, index, 1_000, KeyOrder::Ascending), []);
}

#[test]
fn a_large_index_is_made_as_a_run_and_outlives_flushes_and_replay() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let index = fill(&store);
    let mut transaction = store.write().unwrap();
    let interrupt = Interrupt::new();
    transaction.create_index(index.clone(), &interrupt).unwrap();
    assert_eq!(interrupt.progress(), (NODES as u64, NODES as u64));
    transaction.commit().unwrap();
    check(&store, &index);
    drop(store);
    // The log says only that the index was made.
    let store = directory.open();
    check(&store, &index);
    store.checkpoint(&Interrupt::new()).unwrap();
    check(&store, &index);
    let mut transaction = store.write().unwrap();
    transaction.set_node_properties(&[NodeId(7)], index.keys[0], &Column::constant(&Value::Int(8), 1)).unwrap();
    transaction.commit().unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    assert_eq!(found(&store, &index, 7, KeyOrder::Ascending)[0], NodeId(1_007));
    assert_eq!(found(&store, &index, 8, KeyOrder::Ascending)[..2], [NodeId(7), NodeId(8)]);
    drop(store);
    let store = directory.open();
    assert_eq!(found(&store, &index, 8, KeyOrder::Ascending).len() as i64, NODES / 1_000 + 1);
}

#[test]
fn an_index_that_is_given_up_leaves_nothing() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let index = fill(&store);
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let mut transaction = store.write().unwrap();
    let error = transaction.create_index(index.clone(), &interrupt).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Cancelled);
    let unique =
        Constraint { name: "b".into(), subject: index.subject, keys: index.keys[..1].to_vec(), rule: Rule::Key };
    let twice = Constraint { keys: vec![index.keys[0], index.keys[0]], ..unique };
    assert_eq!(
        transaction.create_constraint(twice, &model::Interrupt::new()).unwrap_err().code(),
        ErrorCode::SchemaRule
    );
    let start = transaction.savepoint();
    transaction.create_index(index.clone(), &Interrupt::new()).unwrap();
    assert_eq!(ordered_files(&directory), 1);
    transaction.rollback_to(start).unwrap();
    drop(transaction);
    assert_eq!(ordered_files(&directory), 0, "the file went with what named it");
    let mut transaction = store.write().unwrap();
    transaction.create_index(index.clone(), &Interrupt::new()).unwrap();
    drop(transaction);
    assert_eq!(ordered_files(&directory), 0);
    assert!(store.read().unwrap().schema().indexes.is_empty());
}
