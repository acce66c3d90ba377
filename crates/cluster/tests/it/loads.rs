//! Bulk loads: a whole graph is there at once or not at all, wherever the process that loads it is killed; another goes on
//! where it stopped, or begins anew; nobody writes beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cluster::{ClusterStore, LoadPlan};
use model::store::NewNodes;
use model::{
    Column, Constraint, ErrorCode, GraphStore, Index, Interrupt, NodeId, ReadView, Result, Rule, Subject, Value,
};
use testing::differential::{Content, assert_same_content};

use crate::graph::{add_edge, add_node, named, prepare, try_open_with};
use crate::ring::{Canary, Client, CrashKind, Faults, Ring};

/// The graph that is loaded, and the one into which it is.
const SOURCE: i64 = 1;
const TARGET: i64 = 2;

fn open(client: &Arc<Client>, graph: i64, seed: u64) -> ClusterStore {
    try_open(client, graph, seed).expect("opening a graph")
}

fn try_open(client: &Arc<Client>, graph: i64, seed: u64) -> Result<ClusterStore> {
    try_open_with(client, graph, seed, &|settings| settings.attempts = 60)
}

/// A graph with values of several kinds, indexes of nodes and of edges, rules of each kind, and gaps among the ids.
fn write_source(store: &ClusterStore) -> Result<()> {
    prepare(store)?;
    let mut transaction = store.write()?;
    let writer = &mut *transaction;
    let (label, other) = (writer.label("N")?, writer.label("Other")?);
    let (name, text) = (writer.property_key("name")?, writer.property_key("text")?);
    let edge_type = writer.edge_type("E")?;
    let index = |name: &str, subject, keys| Index { name: name.into(), subject, keys };
    writer.create_index(index("texts", Subject::Label(label), vec![text, name]), &Interrupt::new())?;
    let exists =
        |name: &str, subject, key| Constraint { name: name.into(), subject, keys: vec![key], rule: Rule::Exists };
    writer.create_constraint(exists("named", Subject::Label(label), name), &Interrupt::new())?;
    let value = writer.property_key("value")?;
    writer.create_constraint(exists("valued", Subject::EdgeType(edge_type), value), &Interrupt::new())?;
    let mut nodes = Vec::new();
    for at in 0..40 {
        let value = if at % 3 == 0 { Value::from("x".repeat(at as usize * 10)) } else { Value::Float(at as f64 / 4.0) };
        nodes.push(add_node(writer, &[("name", Value::Int(100 + at)), ("text", value)])?);
    }
    writer.add_labels(&nodes[5..20], &[other])?;
    let plain = writer.create_nodes(&NewNodes { count: 3, labels: &[], keys: &[], properties: &[] })?;
    for at in 0..90 {
        add_edge(writer, nodes[at * 7 % 40], nodes[at * 11 % 40], at as i64 % 17)?;
    }
    add_edge(writer, plain[0], plain[0], 5)?;
    transaction.commit()?;
    let mut transaction = store.write()?;
    transaction.delete_nodes(&plain[1..2])?;
    transaction.commit()
}

fn content(view: &dyn ReadView) -> Content {
    Content::of(view)
}

/// A ring with a source, its content, and a view of it.
fn prepared(faults: Faults) -> (Arc<Ring>, Arc<dyn ReadView>, Content) {
    let ring = Ring::new(31, 5, Faults::NONE);
    let store = open(&ring.client(0), SOURCE, 1);
    write_source(&store).expect("writing the source");
    let view = store.read().expect("a snapshot");
    let content = content(&*view);
    ring.trouble(faults, None);
    (ring, view, content)
}

fn plan() -> LoadPlan {
    LoadPlan { threads: 1, piece_nodes: 1, ..LoadPlan::new(77) }
}

fn load(store: &ClusterStore, view: &dyn ReadView, plan: &LoadPlan) -> Result<()> {
    store.load(view, plan, &Interrupt::new(), &|_, _| {})
}

fn code<T>(outcome: Result<T>) -> Option<ErrorCode> {
    outcome.err().map(|failure| failure.code())
}

/// Checks that a graph has all that was loaded, and that it is written and read as any other.
fn check_loaded(ring: &Arc<Ring>, client: usize, expected: &Content) {
    let store = open(&ring.client(client), TARGET, client as u64);
    let view = store.read().expect("a snapshot");
    assert_same_content(&content(&*view), expected);
    let statistics = view.statistics();
    let label = view.schema().label("N").expect("the label");
    assert_eq!((statistics.nodes, statistics.edges, statistics.label(label)), (46, 95, 44));
    let key = view.schema().property_key("name").expect("the key");
    let names = Column::from_values(&[Value::Int(139), Value::Int(99), Value::Int(0)]);
    let found = view.lookup(label, key, &names).expect("looking up");
    assert_eq!((0..3).map(|row| found.is_null(row)).collect::<Vec<_>>(), [false, true, false]);
    let add = |name: i64| -> Result<NodeId> {
        let mut transaction = store.write()?;
        let node = add_node(&mut *transaction, &[("name", Value::Int(name))])?;
        transaction.commit().map(|()| node)
    };
    assert_eq!(code(add(120)), Some(ErrorCode::Constraint), "a name that was loaded is taken");
    let node = add(999).expect("writing behind the load");
    assert!(node.0 >= view.node_id_bound(), "node {} gets an id behind those that were loaded", node.0);
    assert_eq!(store.read().expect("a snapshot").statistics().nodes, 47);
}

#[test]
fn a_graph_is_loaded_whole_on_a_ring_with_faults() {
    for (at, faults) in [Faults::NONE, Faults::MANY].into_iter().enumerate() {
        let (ring, view, expected) = prepared(faults);
        // Another process has the graph open, and has read that nothing is there.
        let reader = open(&ring.client(8), TARGET, 8);
        let before = reader.read().expect("a snapshot");
        assert!(named(&*before).expect("reading").is_empty());
        let store = open(&ring.client(1), TARGET, 2);
        let steps = AtomicU64::new(0);
        let plan = LoadPlan { threads: if at == 0 { 3 } else { 1 }, ..plan() };
        let report = |done: u64, total: u64| {
            assert!(done <= total && total > 100, "{done} of {total}");
            if steps.fetch_add(1, Ordering::Relaxed).is_multiple_of(40) {
                let view = reader.read().expect("a snapshot");
                assert_eq!(view.statistics().nodes, 0);
                assert_eq!(view.node_properties(&[NodeId(0)], &[]).expect("reading").len(), 0);
                assert!(!view.nodes_exist(&[NodeId(0)]).expect("reading").get(0), "rows of a load are not seen");
                assert_eq!(code(reader.write()), Some(ErrorCode::Busy), "nobody writes beside a load");
            }
        };
        store.load(&*view, &plan, &Interrupt::new(), &report).expect("loading");
        assert!(steps.into_inner() > 100);
        assert!(named(&*before).expect("reading").is_empty(), "an older view stays as it was");
        assert_same_content(&content(&*reader.read().expect("a snapshot")), &expected);
        ring.calm();
        check_loaded(&ring, 2, &expected);
    }
}

/// Loads whose process is killed at each operation and in each way. Another goes on, or begins anew, and is killed as well.
#[test]
fn a_load_that_is_killed_anywhere_is_not_seen_and_goes_on() {
    let operations = {
        let (ring, view, _) = prepared(Faults::NONE);
        let client = ring.client(1);
        let store = open(&client, TARGET, 2);
        let before = client.operations();
        load(&store, &*view, &plan()).expect("loading");
        client.operations() - before
    };
    let (mut resumed, mut saved) = (0, 0);
    for kind in CrashKind::ALL {
        // Every operation at both ends, where records are appended, and some between them.
        let is_taken = |at: &u64| *at < 14 || *at + 14 > operations || *at % 19 == kind as u64;
        for at in (1..=operations).filter(is_taken) {
            let place = format!("killed {kind:?} operation {at} of {operations}");
            let restarts = at % 2 == 1;
            let (ring, view, expected) = prepared(Faults::NONE);
            let victim = ring.client(1);
            let store = open(&victim, TARGET, 2);
            victim.crash_at(at, kind);
            let outcome = load(&store, &*view, &plan());
            let next = ring.client(2);
            let seen = open(&next, TARGET, 3);
            let nodes = seen.read().expect("a snapshot").statistics().nodes;
            assert!(nodes == 0 || nodes == 46, "{place}: {nodes} nodes are seen");
            if outcome.is_ok() {
                continue;
            }
            if nodes == 0 && seen.is_loading().expect("asking") {
                // The next is killed too, on its way.
                next.crash_at(3 + at % 40, CrashKind::Half);
                let plan = LoadPlan { restarts, ..plan() };
                let second = load(&seen, &*view, &plan);
                let third = ring.client(3);
                let store = open(&third, TARGET, 4);
                if second.is_err() && store.is_loading().expect("asking") {
                    let before = third.operations();
                    go_on(&store, &*view, &LoadPlan { restarts: false, ..plan }, &place);
                    saved += u64::from(third.operations() - before < operations * 3 / 4);
                    resumed += 1;
                }
            } else if nodes == 0 {
                load(&open(&ring.client(4), TARGET, 5), &*view, &plan()).unwrap_or_else(|e| panic!("{place}: {e}"));
            }
            check_loaded(&ring, 6, &expected);
        }
    }
    eprintln!("{operations} operations, {resumed} loads were gone on with, {saved} of them over a quarter shorter");
    assert!(resumed > 40 && saved > 8, "{resumed} {saved}");
}

/// Goes on with a load. A record of those that were killed may come to light on the way, the last one among them.
fn go_on(store: &ClusterStore, view: &dyn ReadView, plan: &LoadPlan, place: &str) {
    let outcome = load(store, view, plan);
    let is_conflict = code(outcome.clone()) == Some(ErrorCode::Conflict);
    if is_conflict && store.is_loading().expect("asking") {
        load(store, view, plan).unwrap_or_else(|e| panic!("{place}: {e}"));
    } else if !is_conflict {
        outcome.unwrap_or_else(|e| panic!("{place}: {e}"));
    }
}

#[test]
fn a_load_that_begins_anew_leaves_nothing_of_the_one_before() {
    let (ring, view, expected) = prepared(Faults::NONE);
    // Another source, larger and with other labels, which is left in the midst.
    let other = open(&ring.client(5), 3, 6);
    let mut transaction = other.write().expect("beginning a transaction");
    let label = [transaction.label("Wrong").expect("a label")];
    let many = NewNodes { count: 300, labels: &label, keys: &[], properties: &[] };
    transaction.create_nodes(&many).expect("adding nodes");
    transaction.commit().expect("committing");
    let wrong = other.read().expect("a snapshot");
    let victim = ring.client(1);
    let store = open(&victim, TARGET, 2);
    victim.crash_at(100, CrashKind::After);
    assert!(load(&store, &*wrong, &LoadPlan { source: 1, ..plan() }).is_err());

    let store = open(&ring.client(2), TARGET, 3);
    assert!(store.is_loading().expect("asking"));
    assert_eq!(code(load(&store, &*view, &plan())), Some(ErrorCode::Argument), "it is another source");
    load(&store, &*view, &LoadPlan { restarts: true, ..plan() }).expect("beginning anew");
    check_loaded(&ring, 3, &expected);
    let view = open(&ring.client(4), TARGET, 4).read().expect("a snapshot");
    assert!(view.schema().label("Wrong").is_none());
    assert!(view.node_id_bound() < 300 + 256, "ids are given out again");
}

#[test]
fn graphs_that_are_not_new_and_writes_beside_are_refused() {
    let (ring, view, expected) = prepared(Faults::NONE);
    let full = open(&ring.client(1), SOURCE, 2);
    let failure = load(&full, &*view, &plan()).expect_err("it has content");
    assert_eq!(failure.code(), ErrorCode::Argument);
    assert!(failure.to_string().contains("graph 1 is not new: it has 46 nodes and 95 edges"), "{failure}");
    let reader = try_open_with(&ring.client(2), TARGET, 3, &|settings| settings.is_read_only = true);
    let reader = reader.expect("opening a graph");
    assert_eq!(code(load(&reader, &*view, &plan())), Some(ErrorCode::ReadOnly));

    // Transactions that began before, and write in the midst of the load.
    let writer = open(&ring.client(3), TARGET, 4);
    let open_one = || writer.write().expect("beginning a transaction");
    let (transactions, refused) = (std::sync::Mutex::new(vec![open_one(), open_one()]), AtomicU64::new(0));
    let store = open(&ring.client(4), TARGET, 5);
    let report = |_: u64, _: u64| {
        let open = std::mem::take(&mut *transactions.lock().expect("nobody panics"));
        for (at, mut transaction) in open.into_iter().enumerate() {
            // One takes ids, the other a name.
            let outcome = match at {
                0 => add_node(&mut *transaction, &[]).map(drop),
                _ => transaction.label("Beside").and_then(|_| transaction.commit()),
            };
            assert_eq!(code(outcome), Some(ErrorCode::Conflict));
            refused.fetch_add(1, Ordering::Relaxed);
        }
    };
    store.load(&*view, &plan(), &Interrupt::new(), &report).expect("loading");
    assert_eq!(refused.into_inner(), 2);
    check_loaded(&ring, 5, &expected);

    // Rules that the graph has stay, and a load into it goes by them.
    let ruled = open(&ring.client(6), 4, 6);
    let mut transaction = ruled.write().expect("beginning a transaction");
    transaction.label("First").expect("a label");
    let (label, key) = (transaction.label("N").expect("a label"), transaction.property_key("name").expect("a key"));
    let unique = Constraint::unique("unique name", label, key);
    transaction.create_constraint(unique, &Interrupt::new()).expect("declaring");
    transaction.commit().expect("committing");
    load(&ruled, &*view, &plan()).expect("loading");
    let found = ruled.read().expect("a snapshot");
    assert_eq!(found.schema().constraints.len(), view.schema().constraints.len());
    let (label, key) =
        (found.schema().label("N").expect("a label"), found.schema().property_key("name").expect("a key"));
    let names = found.lookup(label, key, &Column::from_values(&[Value::Int(120)])).expect("looking up");
    assert!(!names.is_null(0));
}

#[test]
fn a_load_that_another_takes_over_ends_and_harms_nothing() {
    let (ring, view, expected) = prepared(Faults::NONE);
    let (first, second) = (open(&ring.client(1), TARGET, 2), open(&ring.client(2), TARGET, 3));
    let is_due = AtomicU64::new(1);
    let report = |done: u64, _: u64| {
        if done == 30 && is_due.fetch_and(0, Ordering::Relaxed) == 1 {
            load(&second, &*view, &LoadPlan { restarts: true, ..plan() }).expect("taking over");
        }
    };
    let outcome = first.load(&*view, &plan(), &Interrupt::new(), &report);
    assert_eq!(code(outcome), Some(ErrorCode::Conflict));
    check_loaded(&ring, 3, &expected);
}

#[test]
fn a_load_is_cancelled_and_gone_on_with() {
    let (ring, view, expected) = prepared(Faults::NONE);
    let (store, interrupt) = (open(&ring.client(1), TARGET, 2), Interrupt::new());
    let report = |done: u64, _: u64| {
        if done == 100 {
            interrupt.cancel();
        }
    };
    assert_eq!(code(store.load(&*view, &plan(), &interrupt, &report)), Some(ErrorCode::Cancelled));
    assert_eq!(store.read().expect("a snapshot").statistics().nodes, 0);
    load(&store, &*view, &plan()).expect("going on");
    check_loaded(&ring, 2, &expected);
}

/// Rows that are acknowledged and not there yet when the last record is written: a load that did not wait would look so.
#[test]
fn rows_that_are_missing_behind_the_last_record_are_found() {
    let (ring, view, expected) = prepared(Faults::NONE);
    let store = open(&ring.client(1), TARGET, 2);
    ring.trouble(Faults::NONE, Some(Canary::MarkBeforeRows));
    // Few operations, in which few of the rows that are late arrive.
    load(&store, &*view, &LoadPlan { piece_nodes: 512, ..plan() }).expect("loading");
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        content(&*store.read().expect("a snapshot")) == expected
    }));
    assert!(!matches!(found, Ok(true)), "rows that are late are missed");
}
