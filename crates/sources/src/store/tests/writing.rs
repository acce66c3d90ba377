//! Writing through a source.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Column, Direction, EdgeId, ErrorCode, Expand, GraphStore, LabelId, NodeId, ReadView, Result, Value,
    WriteTransaction,
};
use testing::store_contract::check_same_seeded;

use super::world::{World, batch_of, first_nodes};
use super::{ALL, PLAIN};
use crate::connector::Abilities;
use crate::store::{SourceStore, SourceTransaction};

fn labels(transaction: &mut dyn WriteTransaction, names: &[&str]) -> Vec<LabelId> {
    names.iter().map(|name| transaction.label(name).unwrap()).collect()
}

fn create(transaction: &mut dyn WriteTransaction, label: &str, rows: &[(&str, Vec<Value>)]) -> Result<Vec<NodeId>> {
    let labels = labels(transaction, &[label]);
    let keys: Vec<_> = rows.iter().map(|(name, _)| transaction.property_key(name).unwrap()).collect();
    let properties: Vec<Column> = rows.iter().map(|(_, values)| Column::from_values(values)).collect();
    let count = rows[0].1.len();
    transaction.create_nodes(&NewNodes { count, labels: &labels, keys: &keys, properties: &properties })
}

fn connect(
    transaction: &mut dyn WriteTransaction,
    edge_type: &str,
    pairs: &[(NodeId, NodeId)],
    since: i64,
) -> Result<Vec<EdgeId>> {
    let (sources, targets): (Vec<NodeId>, Vec<NodeId>) = pairs.iter().copied().unzip();
    let edge_type = transaction.edge_type(edge_type).unwrap();
    let key = transaction.property_key("since").unwrap();
    let properties = [Column::constant(&Value::Int(since), pairs.len())];
    transaction.create_edges(&NewEdges {
        edge_type,
        sources: &sources,
        targets: &targets,
        keys: &[key],
        properties: &properties,
    })
}

fn uid(view: &dyn ReadView, node: NodeId) -> Value {
    view.node_properties(&[node], &[view.schema().property_key("uid").unwrap()]).unwrap()[0].value(0)
}

fn new_persons(transaction: &mut dyn WriteTransaction) -> Vec<NodeId> {
    let ids = vec![Value::Int(90_001), Value::Int(90_002)];
    let uids = vec![Value::string("new 1"), Value::string("new 2")];
    create(transaction, "Person", &[("id", ids), ("uid", uids)]).unwrap()
}

#[test]
fn a_transaction_reads_what_it_wrote_and_others_when_it_is_committed() {
    let world = World::new(21, ALL, false);
    let store = world.store();
    let old = first_nodes(&store.view(), "Person", 3);
    let city = first_nodes(&store.view(), "City", 1)[0];
    let mut transaction = store.begin().unwrap();
    let new = new_persons(&mut transaction);
    let edges = connect(&mut transaction, "KNOWS", &[(new[0], new[1]), (old[0], new[0])], 7).unwrap();
    let twins = connect(&mut transaction, "LIKES", &[(new[0], city), (new[0], city)], 2).unwrap();
    assert_ne!(twins[0], twins[1], "parallel edges without keys are two");
    let key = transaction.property_key("name").unwrap();
    transaction
        .set_node_properties(&[old[1], new[0], old[1]], key, &Column::from_values(&["x", "y", "z"].map(Value::string)))
        .unwrap();
    let since = transaction.property_key("since").unwrap();
    transaction.set_edge_properties(&edges[..1], since, &Column::constant(&Value::Int(8), 1)).unwrap();
    let view = transaction.view();
    assert_eq!(uid(view, new[1]), Value::string("new 2"));
    assert_eq!(
        view.node_properties(&[old[1], new[0]], &[key]).unwrap()[0].values().collect::<Vec<_>>(),
        ["z", "y"].map(Value::string)
    );
    assert_eq!(
        view.edge_properties(&edges, &[since]).unwrap()[0].values().collect::<Vec<_>>(),
        [Value::Int(8), Value::Int(7)]
    );
    let found = batch_of(view, &new, &Expand { edge_ids: EdgeIds::Include, ..Expand::default() });
    assert_eq!((found.inputs, found.neighbors), (vec![0, 0, 0], vec![new[1], city, city]));
    assert!(found.edges.contains(&edges[0]) && twins.iter().all(|twin| found.edges.contains(twin)));
    assert!(!store.view().nodes_exist(&new[..1]).unwrap().get(0), "nothing shows before the commit");
    Box::new(transaction).commit().unwrap();
    assert_eq!(uid(&store.view(), new[0]), Value::string("new 1"));
    assert_eq!(batch_of(&store.view(), &new, &Expand::default()).len(), 3);
    let rows = world.connector.rows.lock().unwrap().clone();
    let changed = World { rows: (*rows).clone(), ..world };
    check_same_seeded(&store.view(), changed.reference().read().unwrap().as_ref(), "uid", 3);
}

/// Names a person anew in a transaction of its own.
fn rename(store: &SourceStore, node: NodeId, name: &str) {
    let mut transaction = store.begin().unwrap();
    let key = transaction.property_key("name").unwrap();
    transaction.set_node_properties(&[node], key, &Column::from_values(&[Value::string(name)])).unwrap();
    Box::new(transaction).commit().unwrap();
}

#[test]
fn what_a_view_reads_of_before_a_commit_is_not_kept_for_those_after_it() {
    let world = World::new(26, ALL, false);
    let store = world.store();
    let nodes = first_nodes(&store.view(), "Person", 2);
    let key = store.schema().property_key("name").unwrap();
    let name = |view: &dyn ReadView| view.node_properties(&nodes[..1], &[key]).unwrap()[0].value(0);
    // The older view has its snapshot, and fetches what was changed only after the commit.
    let older = store.view();
    older.node_properties(&nodes[1..], &[key]).unwrap();
    rename(&store, nodes[0], "first");
    let before = name(&older);
    assert_ne!(before, Value::string("first"), "a view is of one moment");
    assert_eq!(name(&store.view()), Value::string("first"));
    assert_eq!(name(&older), before, "and stays there");
    // The commit comes in the middle of a fetch.
    store.forget();
    let gate = Arc::new(Barrier::new(2));
    *world.connector.state.gate.lock().unwrap() = Some(gate.clone());
    std::thread::scope(|scope| {
        let held = scope.spawn(|| name(&store.view()));
        gate.wait();
        rename(&store, nodes[0], "second");
        gate.wait();
        assert_eq!(held.join().unwrap(), Value::string("first"));
    });
    assert_eq!(name(&store.view()), Value::string("second"));
    // Once nothing is forgotten, what was fetched is kept.
    let trips = store.stats().round_trips;
    assert_eq!(name(&store.view()), Value::string("second"));
    assert_eq!(store.stats().round_trips, trips);
}

#[test]
fn what_is_deleted_is_gone() {
    let world = World::new(22, ALL, true);
    let store = world.store();
    let persons = first_nodes(&store.view(), "Person", 150);
    let mut transaction = store.begin().unwrap();
    let both = Expand { direction: Direction::Both, edge_ids: EdgeIds::Include, ..Expand::default() };
    let node = *persons.iter().find(|node| !batch_of(transaction.view(), &[**node], &both).is_empty()).unwrap();
    let error = transaction.delete_nodes(&[node]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StillConnected, "{error}");
    let edges = batch_of(transaction.view(), &[node], &both).edges;
    transaction.delete_edges(&edges).unwrap();
    assert!(batch_of(transaction.view(), &[node], &both).is_empty());
    assert_eq!(transaction.view().edges_exist(&edges).unwrap().count_ones(), 0);
    transaction.delete_edges(&edges).unwrap();
    transaction.delete_nodes(&[node, node]).unwrap();
    transaction.delete_nodes(&[node]).unwrap();
    assert!(store.view().nodes_exist(&[node]).unwrap().get(0));
    Box::new(transaction).commit().unwrap();
    assert!(!store.view().nodes_exist(&[node]).unwrap().get(0));
    let rows = world.connector.rows.lock().unwrap().clone();
    let changed = World { rows: (*rows).clone(), ..world };
    check_same_seeded(&store.view(), changed.reference().read().unwrap().as_ref(), "uid", 4);
}

#[test]
fn what_a_source_cannot_write_is_refused() {
    let world = World::new(23, ALL, true);
    let store = world.store();
    let (persons, cities) = (first_nodes(&store.view(), "Person", 2), first_nodes(&store.view(), "City", 2));
    let refused = |code: ErrorCode, text: &str, run: &dyn Fn(&mut SourceTransaction) -> Result<()>| {
        let mut transaction = store.begin().unwrap();
        let error = run(&mut transaction).unwrap_err();
        assert_eq!((error.code(), error.message()), (code, text));
    };
    let text = "memory has no kind of nodes with the label Ship";
    refused(ErrorCode::Argument, text, &|t| t.label("Ship").map(drop));
    let text = "memory has no edges of type SAILS";
    refused(ErrorCode::Argument, text, &|t| t.edge_type("SAILS").map(drop));
    refused(ErrorCode::Argument, "memory has no property mast", &|t| t.property_key("mast").map(drop));
    refused(ErrorCode::Argument, "memory has several kinds of nodes with labels Thing", &|t| {
        create(t, "Thing", &[("uid", vec![Value::Int(1)])]).map(drop)
    });
    refused(ErrorCode::Argument, "memory: seat has no property age", &|t| {
        create(t, "Seat", &[("age", vec![Value::Int(1)])]).map(drop)
    });
    refused(ErrorCode::Argument, "memory has no edges of type KNOWS from city to city", &|t| {
        connect(t, "KNOWS", &[(cities[0], cities[1])], 1).map(drop)
    });
    let text = "memory: property id is the key of person, which stays as it is";
    refused(ErrorCode::ReadOnly, text, &|t| {
        let key = t.property_key("id")?;
        t.set_node_properties(&persons, key, &Column::constant(&Value::Int(4), 2))
    });
    let text = "memory: the definition gives nodes person their labels, City is none";
    refused(ErrorCode::ReadOnly, text, &|t| {
        let label = t.label("City")?;
        t.add_labels(&persons, &[label])
    });
    refused(ErrorCode::NotFound, "memory has no node #77", &|t| {
        let label = t.label("Person")?;
        t.add_labels(&[NodeId(77)], &[label])
    });
    let error = World::new(1, Abilities { writes: false, ..PLAIN }, true).store().write().err().unwrap();
    assert_eq!((error.code(), error.message()), (ErrorCode::ReadOnly, "memory: cannot be written"));
}

#[test]
fn a_statement_that_fails_is_undone_alone() {
    let world = World::new(24, ALL, true);
    let store = world.store();
    let mut transaction = store.begin().unwrap();
    let empty = transaction.savepoint();
    transaction.rollback_to(empty).unwrap();
    let new = new_persons(&mut transaction);
    let saved = transaction.savepoint();
    connect(&mut transaction, "KNOWS", &[(new[0], new[1])], 7).unwrap();
    transaction.rollback_to(saved).unwrap();
    assert!(batch_of(transaction.view(), &new, &Expand::default()).is_empty());
    assert!(transaction.view().nodes_exist(&new).unwrap().get(1));
    connect(&mut transaction, "KNOWS", &[(new[0], new[1])], 7).unwrap();
    transaction.rollback_to(empty).unwrap();
    assert!(!transaction.view().nodes_exist(&new).unwrap().get(1));
    Box::new(transaction).commit().unwrap();

    let mut transaction = store.begin().unwrap();
    let saved = transaction.savepoint();
    let new = new_persons(&mut transaction);
    let twice = ("id", vec![Value::Int(90_001), Value::Int(90_001)]);
    let error = create(&mut transaction, "Person", std::slice::from_ref(&twice)).unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::Constraint, "memory: key 90001 is taken"));
    assert_eq!(
        connect(&mut transaction, "KNOWS", &[(new[0], new[1])], 7).unwrap_err().code(),
        ErrorCode::TransactionState
    );
    transaction.rollback_to(saved).unwrap();
    new_persons(&mut transaction);
    create(&mut transaction, "Person", &[twice]).unwrap_err();
    let error = Box::new(transaction).commit().unwrap_err();
    assert_eq!(error.message(), "a change failed and was not undone: memory: key 90001 is taken");

    world.connector.state.has_marks.store(false, Ordering::Relaxed);
    let mut transaction = store.begin().unwrap();
    let saved = transaction.savepoint();
    new_persons(&mut transaction);
    let error = transaction.rollback_to(saved).unwrap_err();
    assert_eq!(error.message(), "memory cannot undo a part of a transaction");
    assert_eq!(Box::new(transaction).commit().unwrap_err().code(), ErrorCode::TransactionState);
}
