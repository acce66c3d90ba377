//! Races of several processes for the same thing: unique values, `MERGE`, names, and rules beside data.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cluster::ClusterStore;
use model::store::nodes_of;
use model::{
    Column, Constraint, ErrorCode, GraphStore, Index, Interrupt, NodeId, Result, Subject, Value, WriteTransaction,
};
use testing::differential::Content;
use testing::random::seed_or;

use crate::graph::{add_edge, add_node, named, open, prepare, set, value};
use crate::ring::{Faults, Ring, Turns};

const CLIENTS: usize = 4;
const VALUES: i64 = 25;

/// Tries a transaction until it is committed; the number of conflicts.
fn retried(store: &ClusterStore, write: &dyn Fn(&mut dyn WriteTransaction) -> Result<()>) -> u64 {
    for conflicts in 0.. {
        let outcome = store.write().and_then(|mut transaction| {
            write(&mut *transaction)?;
            transaction.commit()
        });
        match outcome {
            Ok(()) => return conflicts,
            Err(error) if matches!(error.code(), ErrorCode::Conflict | ErrorCode::Connection) => {}
            Err(error) => panic!("a transaction failed: {error:?}"),
        }
    }
    0
}

/// Makes a node of that name unless there is one, as `MERGE` does.
fn merge(transaction: &mut dyn WriteTransaction, name: i64, has_constraint: bool) -> Result<()> {
    let view = transaction.view();
    let is_there = if has_constraint {
        let (label, key) = (view.schema().label("N"), view.schema().property_key("name"));
        let (label, key) = (label.expect("the label is there"), key.expect("the key is there"));
        let found = view.lookup(label, key, &Column::from_values(&[Value::Int(name)]))?;
        nodes_of(&found)[0].is_some()
    } else {
        transaction.claim(&[name as u64]);
        named(transaction.view())?.iter().any(|(other, _)| *other == Value::Int(name))
    };
    if is_there { Ok(()) } else { add_node(transaction, &[("name", Value::Int(name))]).map(drop) }
}

/// Several processes make the same nodes at once: the names that there are in the end, and the conflicts.
fn race(seed: u64, has_constraint: bool) -> (Vec<Value>, u64) {
    let ring = Ring::build(seed, 3, Faults::NONE, Some(Turns::new(seed, CLIENTS)));
    ring.alone(|| {
        let store = open(&ring.client(CLIENTS), 1, seed);
        let mut transaction = store.write().expect("beginning a transaction");
        let (label, key) = (transaction.label("N"), transaction.property_key("name"));
        if has_constraint {
            let constraint = Constraint::unique("names", label.expect("a label"), key.expect("a key"));
            transaction.create_constraint(constraint, &Interrupt::new()).expect("making a constraint");
        }
        transaction.commit().expect("committing");
    });
    ring.trouble(Faults { outage: 0, ..Faults::MANY }, None);
    let conflicts = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (ring, conflicts) = (&ring, &conflicts);
            scope.spawn(move || {
                let store = open(&ring.client(number), 1, seed + 1);
                for name in 0..VALUES {
                    let found = retried(&store, &|transaction| merge(transaction, name, has_constraint));
                    conflicts.fetch_add(found, Ordering::Relaxed);
                }
                ring.turns.as_ref().expect("there are turns").finish();
            });
        }
    });
    ring.calm();
    let store = open(&ring.client(CLIENTS), 1, seed + 2);
    let view = store.read().expect("taking a snapshot");
    Content::of(&*view);
    let names = named(&*view).expect("reading").into_iter().map(|(name, _)| name).collect();
    (names, conflicts.into_inner())
}

#[test]
fn unique_values_and_merges_are_made_once_by_many_processes() {
    let expected: Vec<Value> = (0..VALUES).map(Value::Int).collect();
    for has_constraint in [true, false] {
        let mut conflicts = 0;
        for seed in [seed_or(1), seed_or(2)] {
            eprintln!("FUZZ_SEED={seed}");
            let (names, found) = race(seed, has_constraint);
            assert_eq!(names, expected, "FUZZ_SEED={seed}: the names, with a constraint: {has_constraint}");
            conflicts += found;
        }
        eprintln!("{conflicts} conflicts, with a constraint: {has_constraint}");
        assert!(conflicts > 10, "the processes met: {conflicts} conflicts");
    }
}

/// Two transactions that do not see each other: the outcome of the one that commits second.
fn second_of(
    stores: [&ClusterStore; 2],
    first: &dyn Fn(&mut dyn WriteTransaction) -> Result<()>,
    second: &dyn Fn(&mut dyn WriteTransaction) -> Result<()>,
) -> Option<ErrorCode> {
    let [mut one, mut two] = stores.map(|store| store.write().expect("beginning a transaction"));
    first(&mut *one).expect("the first writes");
    second(&mut *two).expect("the second writes");
    one.commit().expect("the first commits");
    two.commit().err().map(|error| error.code())
}

fn two_processes() -> (Arc<Ring>, ClusterStore, ClusterStore, Vec<NodeId>) {
    let ring = Ring::new(3, 3, Faults::NONE);
    let (a, b) = (open(&ring.client(0), 1, 1), open(&ring.client(1), 1, 2));
    let nodes = prepare(&a).expect("preparing a graph");
    (ring, a, b, nodes)
}

#[test]
fn conflicts_between_processes_are_those_of_the_table() {
    type Write<'a> = &'a dyn Fn(&mut dyn WriteTransaction) -> Result<()>;
    let (_ring, a, b, nodes) = two_processes();
    let n = |at: usize| nodes[at];
    let set_zero: Write<'_> = &|writer| set(writer, n(0), "x", Value::Int(1));
    let set_one: Write<'_> = &|writer| set(writer, n(1), "x", Value::Int(2));
    let label_zero: Write<'_> = &|writer| {
        let label = writer.label("N")?;
        writer.add_labels(&[n(0)], &[label])
    };
    let edge_at_zero: Write<'_> = &|writer| add_edge(writer, n(0), n(1), 9).map(drop);
    let name_seven: Write<'_> = &|writer| add_node(writer, &[("name", Value::Int(7))]).map(drop);
    let rename_to_seven: Write<'_> = &|writer| set(writer, n(2), "name", Value::Float(7.0));
    let claim: Write<'_> = &|writer| {
        writer.claim(&[5]);
        add_node(writer, &[]).map(drop)
    };
    let index: Write<'_> = &|writer| {
        let (label, key) = (writer.label("N")?, writer.property_key("name")?);
        let index = Index { name: "other".into(), subject: Subject::Label(label), keys: vec![key] };
        writer.create_index(index, &Interrupt::new())
    };
    // Names first, so that they do not conflict.
    retried(&a, set_zero);
    let lonely = {
        let mut transaction = a.write().expect("beginning a transaction");
        let nodes: Vec<NodeId> = (0..2).map(|_| add_node(&mut *transaction, &[]).expect("adding a node")).collect();
        transaction.commit().expect("committing");
        nodes
    };
    let delete_lonely: Write<'_> = &|writer| writer.delete_nodes(&lonely[..1]);
    let edge_at_lonely: Write<'_> = &|writer| add_edge(writer, lonely[0], n(1), 9).map(drop);
    let conflict = Some(ErrorCode::Conflict);
    let cases: [(&str, Write<'_>, Write<'_>, Option<ErrorCode>); 10] = [
        ("one node", set_zero, set_zero, conflict),
        ("a property and a label of one node", set_zero, label_zero, conflict),
        ("two nodes", set_zero, set_one, None),
        ("a property of a node, and an edge at it", set_zero, edge_at_zero, None),
        ("edges at one node", edge_at_zero, edge_at_zero, None),
        ("a unique value", name_seven, rename_to_seven, conflict),
        ("one claim", claim, claim, conflict),
        ("an edge at a node, and its deletion", edge_at_lonely, delete_lonely, conflict),
        ("an index, and data", index, set_zero, conflict),
        ("data, and an index", set_zero, index, conflict),
    ];
    for (name, first, second, expected) in cases {
        if name == "data, and an index" {
            retried(&a, &|writer| writer.drop_index("other"));
        }
        assert_eq!(second_of([&a, &b], first, second), expected, "{name}");
    }
    let deleting = [&lonely[1..2]];
    let delete_other: Write<'_> = &|writer| writer.delete_nodes(deleting[0]);
    let edge_at_other: Write<'_> = &|writer| add_edge(writer, deleting[0][0], n(1), 9).map(drop);
    assert_eq!(second_of([&b, &a], delete_other, edge_at_other), conflict, "a deletion, and an edge at the node");
    Content::of(&*a.read().expect("taking a snapshot"));
}

#[test]
fn new_names_conflict_only_where_they_differ() {
    let (_ring, a, b, nodes) = two_processes();
    let new_key = |name: &'static str| {
        let node = nodes[name.len() % 4];
        move |writer: &mut dyn WriteTransaction| set(writer, node, name, Value::Int(1))
    };
    assert_eq!(second_of([&a, &b], &new_key("new"), &new_key("other")), Some(ErrorCode::Conflict));
    let label = |writer: &mut dyn WriteTransaction| writer.label("Both").map(drop);
    assert_eq!(second_of([&a, &b], &label, &label), None, "both make the same name");
    for store in [&a, &b] {
        let view = store.read().expect("taking a snapshot");
        assert_eq!(value(&*view, nodes[3], "new").expect("reading"), Value::Int(1));
        assert!(view.schema().label("Both").is_some());
    }
}

/// Real threads, so that commits of a process are led while others of its threads follow the log.
#[test]
fn increments_of_processes_with_several_threads_are_not_lost() {
    const PROCESSES: usize = 3;
    const THREADS: usize = 3;
    const ROUNDS: usize = 40;
    let ring = Ring::new(31, 3, Faults::NONE);
    let nodes = prepare(&open(&ring.client(9), 1, 9)).expect("preparing a graph");
    let stores: Vec<ClusterStore> = (0..PROCESSES).map(|number| open(&ring.client(number), 1, 1)).collect();
    let conflicts = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for store in stores.iter().flat_map(|store| std::iter::repeat_n(store, THREADS)) {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    let found = retried(store, &|writer| {
                        let before = value(writer.view(), nodes[round % 2], "count")?;
                        let count = if let Value::Int(count) = before { count } else { 0 };
                        std::thread::yield_now();
                        set(writer, nodes[round % 2], "count", Value::Int(count + 1))
                    });
                    conflicts.fetch_add(found, Ordering::Relaxed);
                    drop(store.read().expect("following"));
                }
            });
        }
    });
    let view = stores[0].read().expect("taking a snapshot");
    let counts = [0, 1].map(|at| value(&*view, nodes[at], "count").expect("reading"));
    let expected = Value::Int((PROCESSES * THREADS * ROUNDS / 2) as i64);
    assert_eq!(counts, [expected.clone(), expected], "increments that were not lost");
    eprintln!("{} conflicts", conflicts.into_inner());
}
