//! Names of states of the edges, and what came and went between two of them, through flushes and merges.

use std::collections::BTreeMap;

use model::batch::EdgeRuns;
use model::store::{NewEdges, NewNodes, RunScan, Topology};
use model::{Column, EdgeTypeId, GraphStore, Interrupt, NodeId, ReadView, Value};
use storage::{Durability, NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;

/// Number of times that each edge is there.
type Edges = BTreeMap<(u32, u64, u64), i64>;

fn edges_of(view: &dyn ReadView) -> Edges {
    let (partitions, scan) = (view.edge_partitions().unwrap(), RunScan::default());
    let mut edges = Edges::new();
    for partition in 0..partitions.count() {
        let mut cursor = partitions.runs(partition, &scan).unwrap();
        let mut runs = EdgeRuns::default();
        while cursor.next(&mut runs).unwrap() {
            for (node, neighbors) in runs.runs() {
                for &neighbor in neighbors {
                    *edges.entry((runs.edge_type.0, node.into(), neighbor.into())).or_default() += 1;
                }
            }
        }
    }
    edges
}

/// Makes some edges and deletes some in a transaction.
fn change(store: &NativeStore, random: &mut SeededRandom, nodes: u64) {
    let mut transaction = store.write().unwrap();
    let types = [transaction.edge_type("A").unwrap(), transaction.edge_type("B").unwrap()];
    let key = transaction.property_key("value").unwrap();
    for edge_type in types {
        let ends = |random: &mut SeededRandom| (0..5).map(|_| NodeId(random.below(nodes))).collect::<Vec<_>>();
        let (sources, targets) = (ends(random), ends(random));
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[], properties: &[] };
        let made = transaction.create_edges(&new).unwrap();
        transaction.set_edge_properties(&made[..1], key, &Column::from_values([&Value::Int(1)])).unwrap();
        let node = [NodeId(random.below(nodes))];
        let expand = model::Expand { edge_ids: model::store::EdgeIds::Include, ..model::Expand::default() };
        let mut batch = model::EdgeBatch::default();
        transaction.view().expand(&node, &expand).unwrap().next(&mut batch).unwrap();
        // An edge that is named twice goes once.
        let mut gone: Vec<_> = batch.edges.iter().take(2).copied().collect();
        gone.extend(gone.first().copied());
        transaction.delete_edges(&gone).unwrap();
        assert_eq!(transaction.view().topology(), None, "a transaction that changed edges has no name for them");
    }
    transaction.commit().unwrap();
}

fn check(before: &(Topology, Edges), view: &dyn ReadView) {
    let after = edges_of(view);
    let delta = view.edges_since(&before.0).unwrap().expect("few changes are known");
    let mut edges = before.1.clone();
    let key = |&(edge_type, source, target): &(EdgeTypeId, NodeId, NodeId)| (edge_type.0, source.0, target.0);
    delta.added.iter().for_each(|edge| *edges.entry(key(edge)).or_default() += 1);
    delta.deleted.iter().for_each(|edge| *edges.entry(key(edge)).or_default() -= 1);
    edges.retain(|_, count| *count != 0);
    assert!(edges == after, "what came and went since {:?}", before.0);
    assert!(delta.is_empty() || !view.topology().unwrap().has_same_edges(&before.0));
}

#[test]
fn what_came_and_went_leads_from_state_to_state() {
    let seed = seed_or(61);
    let mut random = SeededRandom::new(seed);
    let directory = TestDirectory::new();
    let options = OpenOptions { durability: Durability::Off, ..OpenOptions::create() };
    let store = NativeStore::open(directory.path(), options, storage::os::platform()).unwrap();
    let mut transaction = store.write().unwrap();
    let label = [transaction.label("N").unwrap()];
    transaction.create_nodes(&NewNodes { count: 40, labels: &label, keys: &[], properties: &[] }).unwrap();
    transaction.commit().unwrap();
    let mut states: Vec<(Topology, Edges)> = Vec::new();
    for round in 0..30 {
        let view = store.read().unwrap();
        states.push((view.topology().unwrap(), edges_of(&*view)));
        assert_eq!(store.write().unwrap().view().topology(), view.topology(), "a transaction begins with that state");
        change(&store, &mut random, 40);
        let now = store.read().unwrap();
        assert_ne!(now.topology(), view.topology(), "seed {seed}, round {round}");
        let name = now.topology();
        if round % 3 == 0 {
            store.checkpoint(&Interrupt::new()).unwrap();
        }
        if round % 10 == 9 {
            store.compact(&Interrupt::new()).unwrap();
        }
        let now = store.read().unwrap();
        assert_eq!(now.topology(), name, "seed {seed}, round {round}: files change no state");
        states.iter().for_each(|before| check(before, &*now));
        assert_eq!(view.edges_since(&name.unwrap()).unwrap(), None, "nobody goes back");
    }
    drop(store);
    let store = NativeStore::open(directory.path(), options, storage::os::platform()).unwrap();
    assert_eq!(store.read().unwrap().edges_since(&states[0].0).unwrap(), None, "names end with the open store");
}

#[test]
fn a_moment_is_named_until_anything_is_committed() {
    let directory = TestDirectory::new();
    let options = OpenOptions { durability: Durability::Off, ..OpenOptions::create() };
    let store = NativeStore::open(directory.path(), options, storage::os::platform()).unwrap();
    let mut transaction = store.write().unwrap();
    let node = transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[], properties: &[] }).unwrap();
    assert_eq!(transaction.view().moment(), None, "a transaction may change what has no name");
    transaction.commit().unwrap();
    let before = store.read().unwrap();
    assert!(before.moment().is_some());
    assert_eq!(store.read().unwrap().moment(), before.moment());
    store.compact(&Interrupt::new()).unwrap();
    assert_eq!(store.read().unwrap().moment(), before.moment(), "merging changes nothing");
    let mut transaction = store.write().unwrap();
    let key = transaction.property_key("value").unwrap();
    transaction.set_node_properties(&node, key, &Column::from_values([&Value::Int(1)])).unwrap();
    transaction.commit().unwrap();
    assert_ne!(store.read().unwrap().moment(), before.moment());
}
