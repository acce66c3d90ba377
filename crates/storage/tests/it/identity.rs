//! Threads that change and delete some of many parallel edges of a type with a sort key, while others add such edges and
//! files are written: each changes the edge that it means, and no two are in each other's way.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{Column, EdgeBatch, EdgeId, Expand, GraphStore, Interrupt, NodeId, ReadView, SortKey, Value};
use storage::{Durability, NativeStore, OpenOptions};

use crate::directory::TestDirectory;
use crate::numbered::check_files;

const OLD: i64 = 90;
const NEW: i64 = 150;
const THREADS: usize = 3;

fn column(value: i64) -> Column {
    Column::from_values(&[Value::Int(value)])
}

/// Adds an edge that is known by a number, which is also its sort key.
fn connect(store: &NativeStore, uid: i64) {
    let mut transaction = store.write().unwrap();
    let edge_type = transaction.edge_type("E").unwrap();
    let keys = ["k", "uid"].map(|name| transaction.property_key(name).unwrap());
    let properties = [column(uid), column(uid)];
    let (sources, targets) = ([NodeId(0)], [NodeId(1)]);
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys, properties: &properties };
    transaction.create_edges(&new).unwrap();
    transaction.commit().unwrap();
}

/// All edges: id, number and mark.
fn edges(view: &dyn ReadView) -> Vec<(EdgeId, Value, Value)> {
    let keys = ["uid", "mark"].map(|name| view.schema().property_key(name).unwrap()).to_vec();
    let expand = Expand { edge_ids: EdgeIds::Include, keys, ..Expand::default() };
    let (mut cursor, mut batch, mut found) =
        (view.expand(&[NodeId(0)], &expand).unwrap(), EdgeBatch::default(), Vec::new());
    while cursor.next(&mut batch).unwrap() {
        let row = |row| (batch.edges[row], batch.properties[0].value(row), batch.properties[1].value(row));
        found.extend((0..batch.len()).map(row));
    }
    found
}

fn is_deleted(uid: i64) -> bool {
    uid % 3 == 0
}

/// Marks an old edge with its number, or deletes it.
fn change(store: &NativeStore, uid: i64) {
    let mut transaction = store.write().unwrap();
    let key = transaction.property_key("mark").unwrap();
    let found = edges(transaction.view()).into_iter().find(|edge| edge.1 == Value::Int(uid));
    let edge = found.unwrap_or_else(|| panic!("edge {uid} is gone before it was deleted")).0;
    // Others commit meanwhile.
    std::thread::yield_now();
    match is_deleted(uid) {
        true => transaction.delete_edges(&[edge]).unwrap(),
        false => transaction.set_edge_properties(&[edge], key, &column(uid)).unwrap(),
    }
    transaction.commit().unwrap();
}

/// Counts a thread out, also one that panics.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn check(is_sorted: bool) {
    let directory = TestDirectory::new();
    let options = OpenOptions { durability: Durability::Off, memtable_bytes_max: 20_000, ..OpenOptions::create() };
    let store = directory.open_with(options);
    let mut transaction = store.write().unwrap();
    transaction.create_nodes(&NewNodes { count: 2, labels: &[], keys: &[], properties: &[] }).unwrap();
    let edge_type = transaction.edge_type("E").unwrap();
    let [key, ..] = ["k", "uid", "mark"].map(|name| transaction.property_key(name).unwrap());
    if is_sorted {
        transaction.set_sort_key(SortKey { edge_type, keys: vec![key] }).unwrap();
    }
    transaction.commit().unwrap();
    (1..=OLD).for_each(|uid| connect(&store, uid));
    let left = AtomicUsize::new(THREADS + 1);
    std::thread::scope(|scope| {
        let (store, left) = (&store, &left);
        scope.spawn(move || {
            let _done = Done(left);
            (1..=NEW).for_each(|uid| connect(store, -uid));
        });
        for thread in 0..THREADS as i64 {
            scope.spawn(move || {
                let _done = Done(left);
                (1..=OLD).filter(|uid| uid % THREADS as i64 == thread).for_each(|uid| change(store, uid));
            });
        }
        while left.load(Ordering::Relaxed) > 0 {
            store.checkpoint(&Interrupt::new()).unwrap();
            std::thread::yield_now();
        }
    });
    assert_eq!(store.stats().conflicts, 0, "different edges are in nobody's way");
    let check = |store: &NativeStore| {
        let mut found: Vec<(i64, Value)> = edges(&*store.read().unwrap())
            .into_iter()
            .map(|(_, uid, mark)| if let Value::Int(uid) = uid { (uid, mark) } else { panic!("an edge has a number") })
            .collect();
        found.sort_by_key(|edge| edge.0);
        let new = (1..=NEW).rev().map(|uid| (-uid, Value::Null));
        let old = (1..=OLD).filter(|&uid| !is_deleted(uid)).map(|uid| (uid, Value::Int(uid)));
        assert_eq!(found, new.chain(old).collect::<Vec<_>>());
    };
    check(&store);
    drop(store);
    let store = directory.open_with(options);
    check(&store);
    store.compact(&Interrupt::new()).unwrap();
    check(&store);
    drop(store);
    check_files(&directory.platform(), directory.path());
}

#[test]
fn threads_change_the_parallel_edges_that_they_mean() {
    check(false);
    check(true);
}
