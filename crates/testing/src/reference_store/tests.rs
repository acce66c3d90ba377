//! Tests of what is special to the reference store; the rest is the store contract's.

use model::store::NewNodes;
use model::{ErrorCode, GraphStore, NodeScan};

use super::ReferenceStore;

fn add_nodes(store: &ReferenceStore, count: usize) {
    let mut transaction = store.write().unwrap();
    transaction.create_nodes(&NewNodes { count, labels: &[], keys: &[], properties: &[] }).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn small_batches_are_small() {
    let store = ReferenceStore::with_batch_rows(2);
    add_nodes(&store, 5);
    let view = store.read().unwrap();
    let mut cursor = view.scan(&NodeScan::default()).unwrap();
    let mut batch = model::NodeBatch::default();
    let mut sizes = Vec::new();
    while cursor.next(&mut batch).unwrap() {
        sizes.push(batch.nodes.len());
    }
    assert_eq!(sizes, [2, 2, 1]);
    assert_eq!(store.call_count(), 1);
}

#[test]
fn a_read_only_store_keeps_its_content_and_refuses_writes() {
    let store = ReferenceStore::foreign(10);
    add_nodes(&store, 3);
    let store = store.read_only();
    assert_eq!(store.read().unwrap().statistics().nodes, 3);
    assert_eq!(store.write().err().unwrap().code(), ErrorCode::ReadOnly);
}
