//! A sort key that is declared on a type that has edges: what the files hold is put in its order while the store is used.

use std::time::Duration;

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Column, ColumnData, Direction, EdgeBatch, EdgeTypeId, Expand, GraphStore, Interrupt, NodeId, PropertyKeyId, SortKey,
};
use storage::{Maintenance, NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;

const NODES: usize = 300;
const EDGES: usize = 6_000;

/// Nodes with edges that weigh this or that, in files.
fn fill(store: &NativeStore, seed: u64) -> (EdgeTypeId, PropertyKeyId) {
    let mut random = SeededRandom::new(seed);
    let mut transaction = store.write().unwrap();
    let (edge_type, key) = (transaction.edge_type("E").unwrap(), transaction.property_key("w").unwrap());
    let new = NewNodes { count: NODES, labels: &[], keys: &[], properties: &[] };
    let nodes = transaction.create_nodes(&new).unwrap();
    for _ in 0..2 {
        let mut ends = || (0..EDGES).map(|_| nodes[random.index(NODES)]).collect::<Vec<NodeId>>();
        let (sources, targets) = (ends(), ends());
        let weights = (0..EDGES as i64).map(|at| at * 7_919 % 1_000).collect();
        let weights = [Column::new(ColumnData::Int(weights))];
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[key], properties: &weights };
        transaction.create_edges(&new).unwrap();
    }
    transaction.commit().unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    (edge_type, key)
}

/// The neighbours and weights of each node, as the store hands them out.
fn edges(store: &NativeStore, edge_type: EdgeTypeId, key: PropertyKeyId, direction: Direction) -> Vec<Vec<(i64, u64)>> {
    let view = store.read().unwrap();
    let nodes: Vec<NodeId> = (0..NODES as u64).map(NodeId).collect();
    let (types, keys) = (Some(vec![edge_type]), vec![key]);
    let expand = Expand { direction, types, keys, edge_ids: EdgeIds::Omit, ..Expand::default() };
    let (mut cursor, mut batch) = (view.expand(&nodes, &expand).unwrap(), EdgeBatch::default());
    let mut found = vec![Vec::new(); NODES];
    while cursor.next(&mut batch).unwrap() {
        let ColumnData::Int(weights) = &batch.properties[0].data else { panic!("unexpected kind of column") };
        for (row, &input) in batch.inputs.iter().enumerate() {
            found[input as usize].push((weights[row], batch.neighbors[row].0));
        }
    }
    found
}

fn unsorted(store: &NativeStore) -> u64 {
    store.levels().iter().map(|partition| partition.unsorted).sum()
}

fn declare(store: &NativeStore, edge_type: EdgeTypeId, key: PropertyKeyId) {
    let mut transaction = store.write().unwrap();
    transaction.set_sort_key(SortKey { edge_type, keys: vec![key] }).unwrap();
    transaction.commit().unwrap();
}

fn sorted(mut lists: Vec<Vec<(i64, u64)>>) -> Vec<Vec<(i64, u64)>> {
    lists.iter_mut().for_each(|list| list.sort_unstable());
    lists
}

fn check(maintenance: Maintenance) {
    let seed = seed_or(23);
    let directory = TestDirectory::new();
    let store = directory.open_with(OpenOptions { maintenance, ..OpenOptions::create() });
    let (edge_type, key) = fill(&store, seed);
    let both = [Direction::Out, Direction::In];
    let before = both.map(|direction| sorted(edges(&store, edge_type, key, direction)));
    assert_eq!(unsorted(&store), 0);
    declare(&store, edge_type, key);
    for _ in 0..3_000 {
        if unsorted(&store) == 0 && store.stats().compactions > 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(unsorted(&store), 0, "seed {seed}");
    assert!(store.stats().compactions > 0);
    for (direction, before) in both.into_iter().zip(&before) {
        let after = edges(&store, edge_type, key, direction);
        assert!(after.iter().all(|list| list.is_sorted()), "seed {seed}: by weight, then neighbour");
        assert_eq!(after, *before, "seed {seed}");
    }
    drop(store);
    let problems = storage::check::check(&directory.platform(), directory.path(), &Interrupt::new()).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn older_edges_are_put_in_the_order_of_a_new_sort_key() {
    check(Maintenance::Inline);
    check(Maintenance::Background);
}
