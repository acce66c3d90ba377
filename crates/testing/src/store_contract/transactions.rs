//! Promises of transactions about each other: snapshots, savepoints, rollback, one writer after another.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::{Direction, ErrorCode, GraphStore, Value, WriteTransaction};

use super::Check;
use super::subject::{
    Subject, add_edges, add_node, all_named, assert_code, constrain, exists, expand, find, named, neighbors,
    node_value, numbered_nodes, set_edge, set_node,
};
use crate::differential::{Content, assert_same_content};

/// Promises of stores whose schema is flexible.
pub(super) const FLEXIBLE: &[(&str, Check)] = &[("a call that fails changes nothing", failed_calls)];

/// Promises of stores that can undo a part of a transaction.
pub(super) const SAVEPOINTS: &[(&str, Check)] = &[
    ("savepoints undo what came after, and only that", savepoints),
    ("savepoints nest and can be used again", nested_savepoints),
    ("ids stay valid until the transaction ends", stable_ids),
];

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("writes show in their transaction at once, to others after commit", visibility),
    ("snapshots stay as they are while others write", snapshots),
    ("a dropped transaction leaves no trace", dropped),
    ("writers take turns, and none loses what another wrote", writers_take_turns),
    ("readers read while a transaction writes", readers_beside_a_writer),
    ("a store without the capability refuses writing", refusal),
];

fn visibility(subject: &mut Subject<'_>) {
    subject.commit_edges(2, &[(0, 1)]);
    let before = subject.view();
    {
        let mut transaction = subject.begin();
        let node = add_node(&mut *transaction, &["New"], &[("name", Value::Int(2))]);
        let old = named(transaction.view(), 0);
        add_edges(&mut *transaction, "E", &[(node, old), (old, node)]);
        set_node(&mut *transaction, &[old], "age", &[Value::Int(9)]).expect("setting a property");
        assert_eq!(find(transaction.view(), 2), Some(node), "a new node shows in its transaction");
        assert_eq!(neighbors(transaction.view(), node, Direction::Both), [old, old]);
        assert_eq!(node_value(transaction.view(), old, "age"), Value::Int(9));
        assert_eq!(find(&*subject.view(), 2), None, "it does not show to others");
        Content::of(transaction.view());
        transaction.commit().expect("committing");
    }
    assert_eq!(find(&*before, 2), None, "an older snapshot does not show it even after commit");
    assert_eq!(node_value(&*before, named(&*before, 0), "age"), Value::Null);
    let after = subject.view();
    let node = named(&*after, 2);
    assert_eq!(neighbors(&*after, node, Direction::Both).len(), 2);
    assert_eq!(node_value(&*after, named(&*after, 0), "age"), Value::Int(9));
}

fn snapshots(subject: &mut Subject<'_>) {
    subject.commit_edges(30, &[(0, 1), (1, 2), (2, 0), (0, 0), (5, 6)]);
    let mut kept = Vec::new();
    for round in 0..6 {
        let view = subject.view();
        let content = Content::of(&*view);
        kept.push((view, content));
        subject.commit_calmly(|transaction| {
            let nodes = all_named(transaction.view(), 3);
            let edges = expand(transaction.view(), &nodes, Direction::Out, None).edges;
            set_node(transaction, &nodes, "round", &vec![Value::Int(round); 3]).expect("setting properties");
            set_edge(transaction, &edges, "round", &vec![Value::Int(round); edges.len()]).expect("setting properties");
            transaction.delete_edges(&edges[..1]).expect("deleting an edge");
            let node = add_node(transaction, &["R"], &[("name", Value::Int(100 + round))]);
            add_edges(transaction, "F", &[(nodes[0], node), (nodes[0], nodes[1])]);
            let lonely = named(transaction.view(), 10 + round);
            transaction.delete_nodes(&[lonely]).expect("deleting a node");
            if transaction.view().capabilities().flexible_schema {
                let label = transaction.label("L").expect("a label");
                transaction.add_labels(&nodes[..1], &[label]).expect("adding a label");
            }
        });
    }
    for (view, content) in &kept {
        assert_same_content(&Content::of(&**view), content);
    }
}

fn dropped(subject: &mut Subject<'_>) {
    subject.commit_edges(3, &[(0, 1), (1, 2)]);
    let before = Content::of(&*subject.view());
    {
        let mut transaction = subject.begin();
        disturb_everything(&mut *transaction);
        assert!(Content::of(transaction.view()) != before, "the transaction did something");
    }
    let view = subject.view();
    assert_same_content(&Content::of(&*view), &before);
    if view.capabilities().flexible_schema {
        assert_eq!(view.schema().label("Disturbed"), None, "a label that only a dropped transaction used");
    }
    drop(view);
    subject.commit(|_| {});
    assert_same_content(&Content::of(&*subject.view()), &before);
}

/// One write of each kind that the store can make.
fn disturb_everything(transaction: &mut dyn WriteTransaction) {
    let is_flexible = transaction.view().capabilities().flexible_schema;
    let nodes = all_named(transaction.view(), 3);
    let edges = expand(transaction.view(), &nodes, Direction::Out, None).edges;
    let fresh_key = if is_flexible { "fresh key" } else { "b" };
    let node = add_node(transaction, &["Disturbed"], &[(fresh_key, Value::string("x"))]);
    add_edges(transaction, "DISTURBED", &[(node, nodes[0]), (nodes[1], node)]);
    let other = if is_flexible { Value::string("other") } else { Value::Int(-1) };
    set_node(transaction, &nodes[..2], "name", &[other, Value::Null]).expect("setting properties");
    set_edge(transaction, &edges[..1], "weight", &[Value::Float(1.5)]).expect("setting a property");
    transaction.delete_edges(&edges[1..]).expect("deleting edges");
    transaction.delete_nodes(&nodes[2..]).expect("deleting a node");
    if !is_flexible {
        return;
    }
    let label = transaction.label("Disturbed").expect("a label");
    transaction.add_labels(&nodes[..1], &[label]).expect("adding a label");
    let n = transaction.label("N").expect("a label");
    transaction.remove_labels(&nodes[1..2], &[n]).expect("removing a label");
    constrain(transaction, "Disturbed", "fresh key").expect("making a constraint");
}

fn savepoints(subject: &mut Subject<'_>) {
    subject.commit_edges(3, &[(0, 1), (1, 2)]);
    let expected = subject.commit(|transaction| {
        let node = add_node(transaction, &["Kept"], &[("name", Value::Int(3))]);
        let zero = named(transaction.view(), 0);
        add_edges(transaction, "E", &[(zero, node)]);
        let marked = Content::of(transaction.view());
        let savepoint = transaction.savepoint();
        disturb_everything(transaction);
        transaction.rollback_to(savepoint).expect("rolling back");
        assert_same_content(&Content::of(transaction.view()), &marked);
        let later = add_node(transaction, &["Kept"], &[("name", Value::Int(4))]);
        add_edges(transaction, "E", &[(node, later)]);
        Content::of(transaction.view())
    });
    let view = subject.view();
    assert_same_content(&Content::of(&*view), &expected);
    assert_eq!(neighbors(&*view, named(&*view, 3), Direction::Out), [named(&*view, 4)]);
}

fn nested_savepoints(subject: &mut Subject<'_>) {
    subject.commit_edges(1, &[]);
    subject.commit(|transaction| {
        let outer = transaction.savepoint();
        let zero = named(transaction.view(), 0);
        set_node(transaction, &[zero], "step", &[Value::Int(1)]).expect("setting a property");
        let inner = transaction.savepoint();
        for step in 2..5 {
            set_node(transaction, &[zero], "step", &[Value::Int(step)]).expect("setting a property");
            numbered_nodes(transaction, 1..20);
            transaction.rollback_to(inner).expect("rolling back");
            assert_eq!(node_value(transaction.view(), zero, "step"), Value::Int(1), "after rolling back {step}");
            assert_eq!(find(transaction.view(), 1), None);
        }
        transaction.rollback_to(outer).expect("rolling back past an inner savepoint");
        assert_eq!(node_value(transaction.view(), zero, "step"), Value::Null);
        transaction.savepoint();
        set_node(transaction, &[zero], "step", &[Value::Int(7)]).expect("setting a property");
    });
    let view = subject.view();
    assert_eq!(
        node_value(&*view, named(&*view, 0), "step"),
        Value::Int(7),
        "a savepoint that is not used undoes nothing"
    );
    assert_eq!(find(&*view, 1), None);
}

fn failed_calls(subject: &mut Subject<'_>) {
    subject.commit_edges(4, &[(0, 1)]);
    subject.commit(|transaction| constrain(transaction, "N", "name").expect("making a constraint"));
    let before = Content::of(&*subject.view());
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 4);
        let taken = [Value::Int(50), Value::Int(3)];
        assert_code(set_node(transaction, &nodes[..2], "name", &taken), ErrorCode::Constraint);
        assert_same_content(&Content::of(transaction.view()), &before);
        assert_code(transaction.delete_nodes(&[nodes[3], nodes[0]]), ErrorCode::StillConnected);
        assert_same_content(&Content::of(transaction.view()), &before);
        assert_code(constrain(transaction, "N", "name"), ErrorCode::SchemaRule);
        assert_code(transaction.drop_constraint("no such name"), ErrorCode::SchemaRule);
        assert_same_content(&Content::of(transaction.view()), &before);
    });
    assert_same_content(&Content::of(&*subject.view()), &before);
}

fn stable_ids(subject: &mut Subject<'_>) {
    subject.commit_edges(10, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    subject.commit(|transaction| {
        let old = all_named(transaction.view(), 10);
        let old_edges = expand(transaction.view(), &old, Direction::Out, None).edges;
        let fresh = numbered_nodes(transaction, 10..13);
        let fresh_edges = add_edges(transaction, "E", &[(fresh[0], fresh[1]), (fresh[1], old[5])]);
        let savepoint = transaction.savepoint();
        numbered_nodes(transaction, 20..700);
        add_edges(transaction, "F", &[(old[0], fresh[0]); 700]);
        transaction.delete_edges(&old_edges[..1]).expect("deleting an edge");
        for _ in 0..2 {
            let view = transaction.view();
            assert_eq!(neighbors(view, fresh[0], Direction::Out), [fresh[1]]);
            assert_eq!(view.edges_exist(&fresh_edges).expect("asking for edges").count_ones(), 2);
            assert_eq!(view.edges_exist(&old_edges[1..]).expect("asking for edges").count_ones(), 3);
            assert!(old.iter().chain(&fresh).all(|&node| exists(view, node)));
            set_edge(transaction, &old_edges[1..], "mark", &vec![Value::Bool(true); 3]).expect("setting properties");
            set_edge(transaction, &fresh_edges, "mark", &vec![Value::Bool(true); 2]).expect("setting properties");
            transaction.rollback_to(savepoint).expect("rolling back");
        }
        assert_eq!(transaction.view().edges_exist(&old_edges).expect("asking for edges").count_ones(), 4);
    });
}

fn writers_take_turns(subject: &mut Subject<'_>) {
    const THREADS: usize = 4;
    const ROUNDS: usize = 15;
    subject.commit_edges(1, &[]);
    subject.commit(|transaction| {
        let node = named(transaction.view(), 0);
        set_node(transaction, &[node], "count", &[Value::Int(0)]).expect("setting a property");
    });
    let store = subject.store();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..ROUNDS).for_each(|_| increment(store)));
        }
    });
    let view = subject.view();
    let count = node_value(&*view, named(&*view, 0), "count");
    assert_eq!(count, Value::Int((THREADS * ROUNDS) as i64), "increments that were not lost");
}

/// Adds 1 to the `count` of node 0, again where another write came first.
fn increment(store: &dyn GraphStore) {
    loop {
        let mut transaction = store.write().expect("beginning a transaction");
        let node = named(transaction.view(), 0);
        let Value::Int(count) = node_value(transaction.view(), node, "count") else { panic!("the count is a number") };
        let set = set_node(&mut *transaction, &[node], "count", &[Value::Int(count + 1)]);
        match set.and_then(|()| transaction.commit()) {
            Ok(()) => return,
            Err(error) => assert_eq!(error.code(), ErrorCode::Conflict, "only a conflict may stop a writer: {error}"),
        }
    }
}

fn readers_beside_a_writer(subject: &mut Subject<'_>) {
    subject.commit_edges(50, &[(0, 1), (1, 2)]);
    let expected = Content::of(&*subject.view());
    let mut transaction = subject.begin();
    disturb_everything(&mut *transaction);
    let reads = AtomicUsize::new(0);
    let store = subject.store();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let view = store.read().expect("taking a snapshot beside a writer");
                assert_same_content(&Content::of(&*view), &expected);
                reads.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(reads.into_inner(), 2, "readers that came through while a transaction was open");
    drop(transaction);
}

fn refusal(subject: &mut Subject<'_>) {
    if !subject.store().capabilities().writes {
        assert_code(subject.store().write().map(|_| ()), ErrorCode::ReadOnly);
    }
}
