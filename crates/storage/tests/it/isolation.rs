//! Snapshots, savepoints and many threads.

use std::sync::atomic::{AtomicBool, Ordering};

use model::store::{NewEdges, NewNodes};
use model::{Column, ColumnData, GraphStore, Interrupt, NodeId, Value};
use storage::{Durability, OpenOptions};

use crate::directory::TestDirectory;

#[test]
fn readers_see_whole_transactions_while_writers_and_flushes_go_on() {
    const WRITERS: usize = 4;
    const COMMITS: usize = 50;
    let directory = TestDirectory::new();
    let options = OpenOptions { memtable_bytes_max: 20_000, durability: Durability::Off, ..OpenOptions::create() };
    let store = directory.open_with(options);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..COMMITS {
                        let mut transaction = store.write().unwrap();
                        let edge_type = transaction.edge_type("NEXT").unwrap();
                        let new = NewNodes { count: 3, labels: &[], keys: &[], properties: &[] };
                        let nodes = transaction.create_nodes(&new).unwrap();
                        let (sources, targets) = (&nodes, &[nodes[1], nodes[2], nodes[0]]);
                        let new = NewEdges { edge_type, sources, targets, keys: &[], properties: &[] };
                        transaction.create_edges(&new).unwrap();
                        transaction.commit().unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut before = 0;
            while !is_done.load(Ordering::Relaxed) {
                let view = store.read().unwrap();
                let statistics = view.statistics();
                assert_eq!(statistics.nodes % 3, 0);
                assert_eq!(statistics.nodes, statistics.edges);
                assert!(statistics.nodes >= before);
                before = statistics.nodes;
                let nodes: Vec<NodeId> = (0..view.node_id_bound()).map(NodeId).collect();
                let degrees = view.degrees(&nodes, model::Direction::Out, None).unwrap();
                // Ids that were reserved by transactions still open are those of no node.
                let exist = view.nodes_exist(&nodes).unwrap();
                assert!(degrees.iter().enumerate().all(|(row, &degree)| degree == u64::from(exist.get(row))));
            }
        });
        let results: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    let expected = (WRITERS * COMMITS * 3) as u64;
    assert_eq!(store.read().unwrap().statistics().nodes, expected);
    drop(store);
    assert_eq!(directory.open().read().unwrap().statistics().nodes, expected);
}

#[test]
fn a_snapshot_outlives_the_files_it_reads() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let set = |number: i64| {
        let mut transaction = store.write().unwrap();
        let key = transaction.property_key("number").unwrap();
        if transaction.view().node_id_bound() == 0 {
            transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[], properties: &[] }).unwrap();
        }
        let values = Column::new(ColumnData::Int(vec![number]));
        transaction.set_node_properties(&[NodeId(0)], key, &values).unwrap();
        transaction.commit().unwrap();
        store.checkpoint(&Interrupt::new()).unwrap();
        store.read().unwrap()
    };
    let views: Vec<_> = (0..4).map(set).collect();
    for (number, view) in views.iter().enumerate() {
        let key = view.schema().property_key("number").unwrap();
        let columns = view.node_properties(&[NodeId(0)], &[key]).unwrap();
        assert_eq!(columns[0].value(0), Value::Int(number as i64));
    }
}

#[test]
fn savepoints_far_apart_are_reached() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let mut transaction = store.write().unwrap();
    let mut marks = Vec::new();
    for step in 0..40_u64 {
        marks.push((transaction.savepoint(), transaction.view().node_id_bound()));
        let text = Column::constant(&Value::string(&"x".repeat(step as usize)), 500);
        let key = transaction.property_key(&format!("key{step}")).unwrap();
        let new = NewNodes { count: 500, labels: &[], keys: &[key], properties: &[text] };
        transaction.create_nodes(&new).unwrap();
    }
    for (step, (savepoint, bound)) in marks.into_iter().enumerate().rev().step_by(3) {
        transaction.rollback_to(savepoint).unwrap();
        assert_eq!(transaction.view().node_id_bound(), bound);
        assert_eq!(transaction.view().statistics().nodes, bound);
        assert_eq!(transaction.view().schema().property_keys.len(), step);
    }
    transaction.commit().unwrap();
}
