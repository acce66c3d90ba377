//! Caches: warm reads ask nobody, records of others drop what they touch, views see their own moment, bytes stay within bounds;
//! and the canaries of the cache.

mod held;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cluster::settings::CacheFault;
use cluster::{ClusterStore, Settings};
use model::store::{EdgeIds, NewNodes, nodes_of};
use model::{
    Column, Consumer, Direction, EdgeBatch, Expand, GraphStore, MemoryBudget, NodeId, ReadView, Value, WriteTransaction,
};
use testing::differential::{Content, assert_same_content};

use self::held::Held;
use crate::graph::{add_edge, add_node, edges, named, open, prepare, set, try_open_with, value};
use crate::ring::{Client, Faults, Ring};

fn open_with(client: &Arc<Client>, seed: u64, change: &dyn Fn(&mut Settings)) -> ClusterStore {
    try_open_with(client, 1, seed, change).expect("opening a graph")
}

fn commit(store: &ClusterStore, write: &dyn Fn(&mut dyn WriteTransaction)) {
    let mut transaction = store.write().expect("beginning a transaction");
    write(&mut *transaction);
    transaction.commit().expect("committing");
}

fn set_x(store: &ClusterStore, node: NodeId, x: i64) {
    commit(store, &|writer| set(writer, node, "x", Value::Int(x)).expect("setting a property"));
}

fn x(view: &dyn ReadView, node: NodeId) -> Value {
    value(view, node, "x").expect("reading")
}

/// The node of a name, by the unique value.
fn look_up(view: &dyn ReadView, name: i64) -> Option<NodeId> {
    let (label, key) = (view.schema().label("N"), view.schema().property_key("name"));
    let (label, key) = (label.expect("a label"), key.expect("a key"));
    nodes_of(&view.lookup(label, key, &Column::from_values(&[Value::Int(name)])).expect("looking up"))[0]
}

/// Looks names up, one after the other.
fn look_all_up(view: &dyn ReadView, names: std::ops::Range<i64>) {
    for name in names {
        look_up(view, name);
    }
}

/// Neighbours of nodes, in either direction.
fn neighbors(view: &dyn ReadView, from: &[NodeId], direction: Direction) -> Vec<NodeId> {
    let types = view.schema().edge_type("E").map(|edge_type| vec![edge_type]);
    let expand = Expand { direction, types, edge_ids: EdgeIds::Include, ..Expand::default() };
    let (mut cursor, mut batch) = (view.expand(from, &expand).expect("expanding"), EdgeBatch::default());
    let mut found = Vec::new();
    while cursor.next(&mut batch).expect("expanding on") {
        found.extend_from_slice(&batch.neighbors);
    }
    found
}

/// From a name over two edges and back over one, to names: a query of two hops and more.
fn walk(view: &dyn ReadView, name: i64) -> Vec<Value> {
    let start = look_up(view, name).expect("the name is there");
    let two = neighbors(view, &neighbors(view, &[start], Direction::Out), Direction::Out);
    let back = neighbors(view, &two, Direction::In);
    back.iter().map(|node| value(view, *node, "name").expect("reading")).collect()
}

#[test]
fn the_second_run_of_a_query_makes_no_round_trip_but_for_freshness() {
    let ring = Ring::new(41, 3, Faults::NONE);
    prepare(&open(&ring.client(0), 1, 1)).expect("preparing a graph");
    for (staleness_ns, expected) in [(0, 1), (1_000_000_000_000, 0)] {
        let client = ring.client(1);
        let store = open_with(&client, 2, &|settings| settings.staleness_ns = staleness_ns);
        let run = || {
            let (before, meter) = (client.operations(), model::meter::read());
            let view = store.read().expect("a snapshot");
            let names = walk(&*view, 1);
            assert_eq!(look_up(&*view, 1_000), None);
            assert_eq!(named(&*view).expect("scanning a label").len(), 4);
            let meter = model::meter::read().since(meter);
            eprintln!("{} round trips, {} hits", client.operations() - before, meter.source_hits);
            (names, client.operations() - before, meter.source_hits, meter.rows_fetched)
        };
        let (names, cold, ..) = run();
        assert_eq!(names, [Value::Int(2)]);
        assert!(cold >= 6, "{cold} round trips when nothing is kept");
        let (again, warm, hits, rows) = run();
        assert_eq!((again, warm, rows), (names, expected, 0), "the same answer of what is kept");
        assert!(hits >= 8, "{hits} hits");
    }
}

#[test]
fn records_of_others_drop_what_they_touch_and_nothing_else() {
    let ring = Ring::new(42, 3, Faults::NONE);
    let (a, client) = (open(&ring.client(0), 1, 1), ring.client(1));
    let nodes = prepare(&a).expect("preparing a graph");
    // A property that is known, so that it is read.
    set_x(&a, nodes[0], 0);
    let b = open_with(&client, 2, &|_| {});
    let see = |write: &dyn Fn(&mut dyn WriteTransaction)| {
        // The first reading fills the cache, the second finds all of it.
        for _ in 0..2 {
            let view = b.read().expect("a snapshot");
            (0..4).for_each(|at| drop(x(&*view, nodes[at])));
            (0..4).for_each(|at| drop(neighbors(&*view, &[nodes[at]], Direction::Both)));
            look_all_up(&*view, 0..20);
        }
        commit(&a, write);
        let view = b.read().expect("a snapshot");
        let rounds = |call: &dyn Fn()| {
            let before = client.operations();
            call();
            client.operations() - before
        };
        let of_nodes: Vec<u64> = nodes.iter().map(|&node| rounds(&|| drop(x(&*view, node)))).collect();
        let of_edges: Vec<u64> =
            nodes.iter().map(|&node| rounds(&|| drop(neighbors(&*view, &[node], Direction::Both)))).collect();
        let of_names: u64 = (0..20).map(|name| rounds(&|| look_all_up(&*view, name..name + 1))).sum();
        (of_nodes, of_edges, of_names)
    };
    let found = see(&|writer| set(writer, nodes[1], "x", Value::Int(1)).expect("setting a property"));
    assert_eq!(found, (vec![0, 1, 0, 0], vec![0; 4], 0), "a property of a node");
    let found = see(&|writer| {
        add_edge(writer, nodes[0], nodes[2], 9).expect("adding an edge");
    });
    assert_eq!(found, (vec![0; 4], vec![1, 0, 1, 0], 0), "an edge");
    let found = see(&|writer| {
        add_node(writer, &[("name", Value::Int(7))]).expect("adding a node");
    });
    assert_eq!(found, (vec![0; 4], vec![0; 4], 1), "a node of a new name, which was looked up before");
    let found = see(&|writer| set(writer, nodes[3], "name", Value::Int(12)).expect("setting a property"));
    assert_eq!(found, (vec![0, 0, 0, 1], vec![0; 4], 2), "a name that changes");
    // Longer than a record: its rows are read to learn what they touch.
    let long = Value::from("long ".repeat(20_000));
    let found = see(&|writer| set(writer, nodes[2], "x", long.clone()).expect("setting a property"));
    assert_eq!(found, (vec![0, 0, 1, 0], vec![0; 4], 0), "a long property");
    let longest = Value::from("long ".repeat(1_000_000));
    let (of_nodes, of_edges, _) =
        see(&|writer| set(writer, nodes[2], "x", longest.clone()).expect("setting a property"));
    assert_eq!((of_nodes[2], of_edges.iter().sum::<u64>()), (1, 4), "too long to be read: all is dropped");
    assert_same_content(&Content::of(&*b.read().expect("a snapshot")), &Content::of(&*a.read().expect("a snapshot")));
}

#[test]
fn what_is_not_there_is_kept_until_it_is() {
    let ring = Ring::new(43, 3, Faults::NONE);
    let (a, client) = (open(&ring.client(0), 1, 1), ring.client(1));
    let nodes = prepare(&a).expect("preparing a graph");
    let b = open_with(&client, 2, &|_| {});
    let absent = NodeId(nodes[3].0 + 1);
    let view = b.read().expect("a snapshot");
    for expected in [2, 0] {
        let before = client.operations();
        assert_eq!(look_up(&*view, 50), None);
        assert!(!view.nodes_exist(&[absent]).expect("asking").get(0));
        assert_eq!(client.operations() - before, expected, "a name and a node that are not there");
    }
    commit(&a, &|writer| {
        assert_eq!(add_node(writer, &[("name", Value::Int(50))]).expect("adding a node"), absent);
    });
    assert_eq!(look_up(&*view, 50), None, "the older view");
    let view = b.read().expect("a snapshot");
    assert_eq!(look_up(&*view, 50), Some(absent));
    assert!(view.nodes_exist(&[absent]).expect("asking").get(0));
}

/// A view, a later one that fills the cache, and what the first sees afterwards.
fn see_later(fault: Option<CacheFault>) -> (Value, Value, u64) {
    let ring = Ring::new(44, 3, Faults::NONE);
    let (a, client) = (open(&ring.client(0), 1, 1), ring.client(1));
    let nodes = prepare(&a).expect("preparing a graph");
    set_x(&a, nodes[0], 1);
    let b = open_with(&client, 2, &|settings| settings.cache_fault = fault);
    let older = b.read().expect("a snapshot");
    set_x(&a, nodes[0], 2);
    let newer = b.read().expect("a snapshot");
    let seen = x(&*newer, nodes[0]);
    let before = client.operations();
    let seen_before = x(&*older, nodes[0]);
    (seen_before, seen, client.operations() - before)
}

#[test]
fn views_see_their_own_moment_in_what_later_ones_have_read() {
    assert_eq!(see_later(None), (Value::Int(1), Value::Int(2), 0));
    let (seen_before, ..) = see_later(Some(CacheFault::SeesLaterRows));
    assert_ne!(seen_before, Value::Int(1), "the canary is found");
}

/// A value that is kept, and changed by another process: what the first sees.
fn see_changed(fault: Option<CacheFault>) -> Value {
    let ring = Ring::new(45, 3, Faults::NONE);
    let a = open(&ring.client(0), 1, 1);
    let nodes = prepare(&a).expect("preparing a graph");
    let b = open_with(&ring.client(1), 2, &|settings| settings.cache_fault = fault);
    set_x(&a, nodes[0], 1);
    assert_eq!(x(&*b.read().expect("a snapshot"), nodes[0]), Value::Int(1));
    set_x(&a, nodes[0], 2);
    x(&*b.read().expect("a snapshot"), nodes[0])
}

#[test]
fn what_another_process_changes_is_read_again() {
    assert_eq!(see_changed(None), Value::Int(2));
    assert_ne!(see_changed(Some(CacheFault::KeepsTouched)), Value::Int(2), "the canary is found");
}

/// A process sleeps while epochs of the log are dropped, and goes on from the checkpoint: what it sees.
fn see_passed_over(fault: Option<CacheFault>) -> Value {
    let ring = Ring::new(46, 3, Faults::NONE);
    let a = open(&ring.client(0), 1, 1);
    let nodes = prepare(&a).expect("preparing a graph");
    set_x(&a, nodes[0], 0);
    let b = open_with(&ring.client(1), 2, &|settings| settings.cache_fault = fault);
    assert_eq!(x(&*b.read().expect("a snapshot"), nodes[0]), Value::Int(0));
    set_x(&a, nodes[0], 1);
    (0..60).for_each(|number| set_x(&a, nodes[1], number));
    assert!(a.trim().expect("dropping epochs") >= 4);
    x(&*b.read().expect("a snapshot"), nodes[0])
}

#[test]
fn nothing_is_kept_where_records_were_passed_over() {
    assert_eq!(see_passed_over(None), Value::Int(1));
    assert_ne!(see_passed_over(Some(CacheFault::KeepsPassedOver)), Value::Int(1), "the canary is found");
}

/// A thread has read a node, and its rows come in when another thread has followed the log past a change of the node: what the
/// first sees, and what a view sees that was taken in between.
fn see_late(fault: Option<CacheFault>, kind: &str) -> (bool, bool) {
    let ring = Ring::new(47, 3, Faults::NONE);
    let a = open(&ring.client(0), 1, 1);
    let nodes = prepare(&a).expect("preparing a graph");
    set_x(&a, nodes[0], 1);
    let client = ring.client(1);
    let mut settings = client.settings(1, 2);
    (settings.epoch_records, settings.cache_fault) = (8, fault);
    let held = Held::new(client);
    let b = ClusterStore::open(held.clone(), settings).expect("opening a graph");
    let ask = |view: &dyn ReadView| match kind {
        "node" => x(view, nodes[0]) == Value::Int(2),
        "edge" => edges(view, nodes[0]).expect("reading").len() == 2,
        "name" => look_up(view, 77).is_some(),
        _ => named(view).expect("reading").len() == 5,
    };
    let older = b.read().expect("a snapshot");
    held.hold_next_read();
    std::thread::scope(|scope| {
        let early = scope.spawn(|| ask(&*older));
        held.wait_until_held();
        commit(&a, &|writer| {
            set(writer, nodes[0], "x", Value::Int(2)).expect("setting a property");
            add_edge(writer, nodes[0], nodes[2], 9).expect("adding an edge");
            add_node(writer, &[("name", Value::Int(77))]).expect("adding a node");
        });
        let newer = b.read().expect("a snapshot");
        held.release();
        let early = early.join().expect("the thread reads");
        (early, ask(&*newer))
    })
}

#[test]
fn rows_that_come_in_after_a_record_that_touched_them_are_not_kept() {
    for kind in ["node", "edge", "name", "label"] {
        assert_eq!(see_late(None, kind), (false, true), "{kind}");
        assert_eq!(see_late(Some(CacheFault::KeepsLateRows), kind), (false, false), "{kind}: the canary is found");
    }
}

#[test]
fn bytes_stay_within_the_bounds_and_give_way() {
    const NODES: usize = 2_000;
    let ring = Ring::new(48, 3, Faults::NONE);
    let client = ring.client(0);
    let memory = MemoryBudget::new(2 << 20);
    let store = open_with(&client, 1, &|settings| {
        (settings.cache_bytes_max, settings.memory) = (200_000, memory.clone());
    });
    let mut nodes = Vec::new();
    commit_nodes(&store, NODES, &mut nodes);
    let view = store.read().expect("a snapshot");
    for round in 0..3 {
        for chunk in nodes.chunks(50) {
            assert_eq!(view.all_node_properties(chunk).expect("reading").len(), chunk.len());
            neighbors(&*view, chunk, Direction::Out);
            assert!(store.cache_bytes() <= 200_000, "{} bytes in round {round}", store.cache_bytes());
            assert_eq!(memory.used_by(Consumer::SourceCache), store.cache_bytes());
        }
    }
    assert!(store.cache_bytes() > 100_000, "{} bytes", store.cache_bytes());
    // Units that are used again and again stay, in spite of all that are used once.
    for chunk in nodes.chunks(50) {
        drop(x(&*view, nodes[0]));
        view.all_node_properties(chunk).expect("reading");
    }
    let before = client.operations();
    drop(x(&*view, nodes[0]));
    assert_eq!(client.operations(), before, "what is used often is kept");
    let others = memory.reserve(Consumer::Query, (2 << 20) - 50_000).expect("the cache gives way");
    assert!(store.cache_bytes() <= 50_000, "{} bytes", store.cache_bytes());
    view.all_node_properties(&nodes).expect("reading");
    assert!(memory.used() <= 2 << 20);
    drop(others);
    view.all_node_properties(&nodes).expect("reading");
    assert!(store.cache_bytes() > 100_000, "{} bytes", store.cache_bytes());
    drop((view, store));
    assert_eq!(memory.used(), 0, "a store that is closed holds nothing");
}

fn commit_nodes(store: &ClusterStore, count: usize, nodes: &mut Vec<NodeId>) {
    let mut transaction = store.write().expect("beginning a transaction");
    let label = [transaction.label("Many").expect("a label")];
    let many = NewNodes { count, labels: &label, keys: &[], properties: &[] };
    nodes.extend(transaction.create_nodes(&many).expect("adding nodes"));
    for pair in nodes.windows(2) {
        add_edge(&mut *transaction, pair[0], pair[1], 7).expect("adding an edge");
    }
    transaction.commit().expect("committing");
}

#[test]
fn a_cache_of_no_bytes_keeps_nothing() {
    let ring = Ring::new(49, 3, Faults::NONE);
    let client = ring.client(0);
    let store = open_with(&client, 1, &|settings| settings.cache_bytes_max = 0);
    let nodes = prepare(&store).expect("preparing a graph");
    let view = store.read().expect("a snapshot");
    for _ in 0..2 {
        let before = client.operations();
        drop(value(&*view, nodes[0], "name").expect("reading"));
        assert_eq!((client.operations() - before, store.cache_bytes()), (1, 0));
    }
}

/// Threads of one process read while another process writes; each view must see one moment: both nodes have the same value.
#[test]
fn threads_that_share_a_cache_see_one_moment_each() {
    const ROUNDS: i64 = 150;
    let ring = Ring::new(50, 3, Faults::NONE);
    let a = open(&ring.client(0), 1, 1);
    let nodes = prepare(&a).expect("preparing a graph");
    let b = open_with(&ring.client(1), 2, &|_| {});
    let set_both = |number: i64| {
        commit(&a, &|writer| {
            nodes[..2].iter().for_each(|node| set(writer, *node, "x", Value::Int(number)).expect("setting a property"));
        });
    };
    set_both(0);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = Value::Int(0);
                while !is_over.load(Ordering::Relaxed) {
                    let view = b.read().expect("a snapshot");
                    let (one, other) = (x(&*view, nodes[0]), x(&*view, nodes[1]));
                    assert_eq!(one, other, "two nodes of one moment");
                    assert!(one >= last, "{one:?} after {last:?}");
                    last = one;
                }
            });
        }
        for number in 1..=ROUNDS {
            set_both(number);
            let view = b.read().expect("a snapshot");
            let seen = x(&*view, nodes[1]);
            if seen != Value::Int(number) {
                is_over.store(true, Ordering::Relaxed);
                panic!("{seen:?} was seen after {number} was acknowledged");
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
