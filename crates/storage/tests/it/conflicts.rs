//! Transactions side by side: which of two can commit, and what the other is told.

use model::store::{EdgeIds, Expand, NewEdges, NewNodes};
use model::{
    Column, Constraint, Direction, EdgeBatch, EdgeId, Error, ErrorCode, GraphStore, Interrupt, NodeId, ReadView,
    SortKey, Value, WriteTransaction,
};
use storage::NativeStore;

use crate::directory::TestDirectory;

type Write<'a> = &'a dyn Fn(&mut dyn WriteTransaction);

fn create_nodes(transaction: &mut dyn WriteTransaction, count: usize) -> Vec<NodeId> {
    transaction.create_nodes(&NewNodes { count, labels: &[], keys: &[], properties: &[] }).unwrap()
}

fn connect(transaction: &mut dyn WriteTransaction, source: u64, target: u64) -> EdgeId {
    let edge_type = transaction.edge_type("E").unwrap();
    let (sources, targets) = ([NodeId(source)], [NodeId(target)]);
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[], properties: &[] };
    transaction.create_edges(&new).unwrap()[0]
}

fn set(transaction: &mut dyn WriteTransaction, node: u64, value: i64) {
    let key = transaction.property_key("p").unwrap();
    transaction.set_node_properties(&[NodeId(node)], key, &Column::from_values(&[Value::Int(value)])).unwrap();
}

fn set_edge(transaction: &mut dyn WriteTransaction, edge: EdgeId, value: i64) {
    let key = transaction.property_key("p").unwrap();
    transaction.set_edge_properties(&[edge], key, &Column::from_values(&[Value::Int(value)])).unwrap();
}

fn value(view: &dyn ReadView, node: u64) -> Value {
    let Some(key) = view.schema().property_key("p") else { return Value::Null };
    view.node_properties(&[NodeId(node)], &[key]).unwrap()[0].value(0)
}

/// The edges from one node to another in logical order, with their property.
fn edges(view: &dyn ReadView, source: u64, target: u64) -> Vec<(EdgeId, Value)> {
    let keys = view.schema().property_key("p").into_iter().collect::<Vec<_>>();
    let expand = Expand {
        direction: Direction::Out,
        types: None,
        edge_ids: EdgeIds::Include,
        keys,
        ranges: Vec::new(),
        top: None,
    };
    let from = [NodeId(source)];
    let mut found = Vec::new();
    let mut cursor = view.expand(&from, &expand).unwrap();
    let mut batch = EdgeBatch::default();
    while cursor.next(&mut batch).unwrap() {
        for row in (0..batch.len()).filter(|&row| batch.neighbors[row] == NodeId(target)) {
            found.push((batch.edges[row], batch.properties.first().map_or(Value::Null, |column| column.value(row))));
        }
    }
    found
}

/// A store with four nodes and an edge from 0 to 1.
fn store() -> (TestDirectory, NativeStore) {
    let directory = TestDirectory::new();
    let store = directory.open();
    let mut transaction = store.write().unwrap();
    create_nodes(&mut *transaction, 4);
    connect(&mut *transaction, 0, 1);
    transaction.commit().unwrap();
    (directory, store)
}

/// Two transactions begin; the first to commit can, the second can or is told the words.
fn check(first: Write<'_>, second: Write<'_>, refusal: Option<&str>) {
    for flush in [false, true] {
        let (_directory, store) = store();
        if flush {
            store.checkpoint(&Interrupt::new()).unwrap();
        }
        let (mut a, mut b) = (store.write().unwrap(), store.write().unwrap());
        second(&mut *b);
        first(&mut *a);
        a.commit().unwrap();
        if flush {
            store.checkpoint(&Interrupt::new()).unwrap();
        }
        match (b.commit(), refusal) {
            (Ok(()), None) => assert_eq!(store.stats().conflicts, 0),
            (Err(error), Some(words)) => {
                assert_is_conflict(&error, words);
                assert_eq!(store.stats().conflicts, 1);
            }
            (result, _) => panic!("{result:?} where {refusal:?} was expected"),
        }
    }
}

fn assert_is_conflict(error: &Error, words: &str) {
    assert_eq!(error.code(), ErrorCode::Conflict, "{error:?}");
    assert!(error.message().contains(words), "{error:?}: {words:?} was expected");
    assert!(error.remedy().contains("retry"), "{error:?}");
}

fn the_edge(transaction: &dyn WriteTransaction) -> EdgeId {
    edges(transaction.view(), 0, 1)[0].0
}

#[test]
fn of_two_that_change_one_node_the_second_is_refused() {
    let label = |transaction: &mut dyn WriteTransaction| {
        let label = transaction.label("L").unwrap();
        transaction.add_labels(&[NodeId(2)], &[label]).unwrap();
    };
    check(&|t| set(t, 2, 1), &|t| set(t, 2, 2), Some("node 2"));
    check(&|t| set(t, 2, 1), &label, Some("node 2"));
    check(&|t| t.delete_nodes(&[NodeId(2)]).unwrap(), &|t| set(t, 2, 2), Some("node 2"));
    check(&|t| set(t, 2, 1), &|t| t.delete_nodes(&[NodeId(2)]).unwrap(), Some("node 2"));
    check(&|t| set(t, 2, 1), &|t| set(t, 3, 2), None);
}

#[test]
fn of_two_that_change_one_edge_the_second_is_refused() {
    let words = "type E from node 0 to node 1";
    let delete = |t: &mut dyn WriteTransaction| {
        let edge = the_edge(t);
        t.delete_edges(&[edge]).unwrap();
    };
    let change = |t: &mut dyn WriteTransaction| {
        let edge = the_edge(t);
        set_edge(t, edge, 7);
    };
    check(&change, &change, Some(words));
    check(&delete, &change, Some(words));
    check(&change, &delete, Some(words));
    check(&delete, &delete, Some(words));
    check(&|t| set(t, 0, 1), &change, None);
}

#[test]
fn what_was_relied_on_is_looked_at_again() {
    let delete = |t: &mut dyn WriteTransaction| t.delete_nodes(&[NodeId(2)]).unwrap();
    let add = |t: &mut dyn WriteTransaction| {
        connect(t, 2, 3);
    };
    check(&delete, &add, Some("node 2"));
    check(&add, &delete, Some("node 2"));
    check(&add, &add, None);
}

#[test]
fn of_two_that_take_a_unique_value_the_second_is_refused() {
    let (_directory, store) = store();
    let mut transaction = store.write().unwrap();
    let label = transaction.label("L").unwrap();
    let key = transaction.property_key("k").unwrap();
    transaction.create_constraint(Constraint::unique("rule", label, key), &model::Interrupt::new()).unwrap();
    transaction.commit().unwrap();
    let take = |value: i64| {
        let mut transaction = store.write().unwrap();
        let column = Column::from_values(&[Value::Int(value)]);
        let new = NewNodes { count: 1, labels: &[label], keys: &[key], properties: &[column] };
        transaction.create_nodes(&new).unwrap();
        transaction
    };
    let (a, b, c) = (take(5), take(5), take(6));
    a.commit().unwrap();
    assert_is_conflict(&b.commit().unwrap_err(), "k 5");
    c.commit().unwrap();
    assert_eq!(store.read().unwrap().statistics().nodes, 6);
}

#[test]
fn labels_of_declared_ends_follow_their_names() {
    let (_directory, store) = store();
    let declare = |edge_type: &str, from: &str, to: &str| {
        let mut transaction = store.write().unwrap();
        let (from, to) = (transaction.label(from).unwrap(), transaction.label(to).unwrap());
        let ends = Constraint::ends(edge_type, transaction.edge_type(edge_type).unwrap(), from, to);
        transaction.create_constraint(ends, &Interrupt::new()).unwrap();
        transaction
    };
    // Both give the first new number to a label of their own.
    let (first, second) = (declare("T", "A", "B"), declare("S", "C", "B"));
    first.commit().unwrap();
    second.commit().unwrap();
    let view = store.read().unwrap();
    let schema = view.schema();
    for (edge_type, expected) in [("T", ["A", "B"]), ("S", ["C", "B"])] {
        assert_eq!(schema.declared_ends(edge_type, None, None).unwrap(), Some(expected));
    }
}

#[test]
fn of_two_that_claim_the_same_the_second_is_refused() {
    let make = |hash: u64| {
        move |t: &mut dyn WriteTransaction| {
            t.claim(&[hash]);
            create_nodes(t, 1);
        }
    };
    check(&make(1), &make(1), Some("MERGE"));
    check(&make(1), &make(2), None);
}

#[test]
fn write_skew_is_not_refused_under_snapshot_isolation() {
    let skew = |read: u64, written: u64| {
        move |t: &mut dyn WriteTransaction| {
            assert_eq!(value(t.view(), read), Value::Null);
            set(t, written, 1);
        }
    };
    check(&skew(2, 3), &skew(3, 2), None);
}

#[test]
fn a_transaction_sees_its_own_writes_and_no_later_ones_of_others() {
    let (_directory, store) = store();
    let mut a = store.write().unwrap();
    set(&mut *a, 2, 1);
    let mut b = store.write().unwrap();
    set(&mut *b, 3, 2);
    b.commit().unwrap();
    assert_eq!([value(a.view(), 2), value(a.view(), 3)], [Value::Int(1), Value::Null]);
    a.commit().unwrap();
    let view = store.read().unwrap();
    assert_eq!([value(&*view, 2), value(&*view, 3)], [Value::Int(1), Value::Int(2)]);
}

#[test]
fn names_given_side_by_side_stay_apart() {
    let (directory, store) = store();
    let write = |label: &str, edge_type: &str, key: &str, node: u64| {
        let mut transaction = store.write().unwrap();
        let label = transaction.label(label).unwrap();
        let edge_type = transaction.edge_type(edge_type).unwrap();
        let key = transaction.property_key(key).unwrap();
        let column = Column::from_values(&[Value::Int(node as i64)]);
        transaction.add_labels(&[NodeId(node)], &[label]).unwrap();
        transaction.set_node_properties(&[NodeId(node)], key, &column).unwrap();
        let (sources, targets) = ([NodeId(node)], [NodeId(0)]);
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[key], properties: &[column] };
        transaction.create_edges(&new).unwrap();
        transaction
    };
    let transactions =
        [write("A", "T", "x", 1), write("B", "U", "y", 2), write("B", "T", "z", 3), write("A", "T", "x", 0)];
    transactions.into_iter().for_each(|transaction| transaction.commit().unwrap());
    let check = |view: &dyn ReadView| {
        let schema = view.schema();
        for (node, label, edge_type, key) in [(1, "A", "T", "x"), (2, "B", "U", "y"), (3, "B", "T", "z")] {
            let labels = view.node_labels(&[NodeId(node)]).unwrap();
            assert_eq!(labels[0], [schema.label(label).unwrap()], "labels of node {node}");
            let key = schema.property_key(key).unwrap();
            let properties = view.all_node_properties(&[NodeId(node)]).unwrap();
            assert_eq!(properties[0], [(key, Value::Int(node as i64))], "properties of node {node}");
            let types = [schema.edge_type(edge_type).unwrap()];
            assert_eq!(view.degrees(&[NodeId(node)], Direction::Out, Some(&types)).unwrap(), [1]);
        }
        assert_eq!((schema.labels.len(), schema.edge_types.len(), schema.property_keys.len()), (2, 3, 3));
    };
    check(&*store.read().unwrap());
    drop(store);
    let store = directory.open();
    check(&*store.read().unwrap());
    store.checkpoint(&Interrupt::new()).unwrap();
    check(&*store.read().unwrap());
}

#[test]
fn a_parallel_edge_is_the_same_after_others_came_and_files_were_written() {
    for is_sorted in [false, true] {
        for (flush_before, flush_between) in [(false, false), (true, false), (false, true), (true, true)] {
            check_parallel(is_sorted, flush_before, flush_between);
        }
    }
}

fn check_parallel(is_sorted: bool, flush_before: bool, flush_between: bool) {
    let (directory, store) = store();
    let mut transaction = store.write().unwrap();
    if is_sorted {
        let (edge_type, key) = (transaction.edge_type("E").unwrap(), transaction.property_key("p").unwrap());
        transaction.set_sort_key(SortKey { edge_type, keys: vec![key] }).unwrap();
    }
    (0..3).for_each(|_| {
        connect(&mut *transaction, 0, 1);
    });
    let all: Vec<EdgeId> = edges(transaction.view(), 0, 1).into_iter().map(|(edge, _)| edge).collect();
    (1..).zip(&all).for_each(|(value, &edge)| set_edge(&mut *transaction, edge, value));
    transaction.commit().unwrap();
    if flush_before {
        store.checkpoint(&Interrupt::new()).unwrap();
    }
    let mut a = store.write().unwrap();
    let third = edges(a.view(), 0, 1).into_iter().find(|(_, value)| *value == Value::Int(3)).unwrap().0;
    let first = edges(a.view(), 0, 1).into_iter().find(|(_, value)| *value == Value::Int(1)).unwrap().0;
    a.delete_edges(&[first]).unwrap();
    set_edge(&mut *a, third, 30);
    let own = connect(&mut *a, 0, 1);
    set_edge(&mut *a, own, 50);
    let mut b = store.write().unwrap();
    let later = connect(&mut *b, 0, 1);
    // Comes first in the order of the sort key.
    set_edge(&mut *b, later, -60);
    b.commit().unwrap();
    if flush_between {
        store.checkpoint(&Interrupt::new()).unwrap();
    }
    a.commit().unwrap();
    let values = |store: &NativeStore| {
        let mut values: Vec<Value> = edges(&*store.read().unwrap(), 0, 1).into_iter().map(|(_, value)| value).collect();
        values.sort();
        values
    };
    let expected = [-60, 2, 4, 30, 50].map(Value::Int);
    assert_eq!(values(&store), expected);
    drop(store);
    assert_eq!(values(&directory.open()), expected);
}

#[test]
fn nodes_reserved_before_files_were_written_are_there_after() {
    let (directory, store) = store();
    let mut a = store.write().unwrap();
    let node = create_nodes(&mut *a, 1)[0];
    set(&mut *a, node.0, 1);
    let mut b = store.write().unwrap();
    let beyond = create_nodes(&mut *b, 2);
    assert!(beyond[0] > node);
    b.commit().unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    connect(&mut *a, node.0, beyond[1].0 - 2);
    a.commit().unwrap();
    let check = |store: &NativeStore| {
        let view = store.read().unwrap();
        assert_eq!(view.statistics().nodes, 7);
        assert!(view.nodes_exist(&[node]).unwrap().get(0));
        assert_eq!(value(&*view, node.0), Value::Int(1));
        assert_eq!(view.degrees(&[node], Direction::Out, None).unwrap(), [1]);
    };
    check(&store);
    drop(store);
    let store = directory.open();
    check(&store);
    store.checkpoint(&Interrupt::new()).unwrap();
    check(&store);
}

#[test]
fn ids_of_a_transaction_that_was_dropped_are_used_again() {
    let (_directory, store) = store();
    let mut transaction = store.write().unwrap();
    let savepoint = transaction.savepoint();
    let first = create_nodes(&mut *transaction, 10)[0];
    transaction.rollback_to(savepoint).unwrap();
    assert_eq!(create_nodes(&mut *transaction, 3)[0], first);
    drop(transaction);
    let mut transaction = store.write().unwrap();
    assert_eq!(create_nodes(&mut *transaction, 1)[0], first);
}
