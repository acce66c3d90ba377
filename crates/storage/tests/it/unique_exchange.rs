//! Unique values that are exchanged, by one call or by several whose values are compared in the end: in memory, over files that
//! the transaction writes on its way, and beside others.

use std::collections::BTreeMap;

use model::store::{NewEdges, NewNodes};
use model::{
    Column, ColumnData, Constraint, EdgeId, ErrorCode, GraphStore, Interrupt, LabelId, NodeId, PropertyKeyId, ReadView,
    Result, Rule, Subject, Value, WriteTransaction,
};
use storage::{Durability, NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;

/// More than two pieces of a call.
const MANY: usize = 20_000;
/// Windows of calls of the random test.
const WINDOWS: usize = 150;

/// Subject of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nodes by one property.
    Node,
    /// Nodes by two properties, of which one is always the same.
    Pair,
    /// Edges, some of them parallel.
    Edge,
}

const KINDS: [Kind; 3] = [Kind::Node, Kind::Pair, Kind::Edge];

/// A store whose rows, nodes or edges, have unique values.
struct World {
    kind: Kind,
    store: NativeStore,
    label: LabelId,
    key: PropertyKeyId,
    nodes: Vec<NodeId>,
    /// Goes last: until it is closed the store writes files in the background.
    directory: TestDirectory,
}

impl World {
    /// The row with number `i` has the value `i`.
    fn new(kind: Kind, rows: usize, transaction_bytes_max: Option<usize>) -> World {
        let directory = TestDirectory::new();
        let durability = Durability::Off;
        let store = directory.open_with(OpenOptions { durability, transaction_bytes_max, ..OpenOptions::create() });
        let mut transaction = store.write().unwrap();
        let label = transaction.label("P").unwrap();
        let (key, other) = (transaction.property_key("k").unwrap(), transaction.property_key("o").unwrap());
        let edge_type = transaction.edge_type("E").unwrap();
        let keys = if kind == Kind::Pair { vec![other, key] } else { vec![key] };
        let subject = if kind == Kind::Edge { Subject::EdgeType(edge_type) } else { Subject::Label(label) };
        let constraint = Constraint { name: "unique".into(), subject, keys, rule: Rule::Unique };
        transaction.create_constraint(constraint, &Interrupt::new()).unwrap();
        let numbers = Column::new(ColumnData::Int((0..rows as i64).collect()));
        let values = [numbers.clone(), Column::from_values(&vec![Value::string("same"); rows])];
        let new = NewNodes { count: rows, labels: &[label], keys: &[key, other], properties: &values };
        let nodes = transaction.create_nodes(&new).unwrap();
        let sources: Vec<NodeId> = (0..rows).map(|row| nodes[row / 3 * 3]).collect();
        let targets: Vec<NodeId> = (0..rows).map(|row| nodes[row / 2]).collect();
        let (keys, values) = ([key, other], [numbers.clone(), numbers]);
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys, properties: &values };
        transaction.create_edges(&new).unwrap();
        transaction.commit().unwrap();
        World { kind, directory, store, label, key, nodes }
    }

    /// The edges by their ids in a view, with their values, in the order of their rows.
    fn edges(&self, view: &dyn ReadView) -> Vec<(EdgeId, Value)> {
        let (edge_type, row) = (view.schema().edge_type("E").unwrap(), view.schema().property_key("o").unwrap());
        let mut found: Vec<(Value, EdgeId, Value)> = Vec::new();
        model::store::by_scan::each_edge(view, edge_type, &[row, self.key], |batch| {
            for (at, edge) in batch.edges.iter().enumerate() {
                found.push((batch.properties[0].value(at), *edge, batch.properties[1].value(at)));
            }
            Ok(())
        })
        .unwrap();
        found.sort_by(|a, b| a.0.order(&b.0));
        found.into_iter().map(|(_, edge, value)| (edge, value)).collect()
    }

    fn set(&self, transaction: &mut dyn WriteTransaction, rows: &[usize], values: &Column) -> Result<()> {
        self.set_before(transaction, rows, values, || {})
    }

    /// The same; calls a function before the call of the store.
    fn set_before<T>(
        &self,
        transaction: &mut dyn WriteTransaction,
        rows: &[usize],
        values: &Column,
        before: impl FnOnce() -> T,
    ) -> Result<()> {
        match self.kind {
            Kind::Edge => {
                let all = self.edges(transaction.view());
                let edges: Vec<EdgeId> = rows.iter().map(|&row| all[row].0).collect();
                let _meanwhile = before();
                transaction.set_edge_properties(&edges, self.key, values)
            }
            Kind::Node | Kind::Pair => {
                let nodes: Vec<NodeId> = rows.iter().map(|&row| self.nodes[row]).collect();
                let _meanwhile = before();
                transaction.set_node_properties(&nodes, self.key, values)
            }
        }
    }

    fn values(&self, view: &dyn ReadView) -> Vec<Value> {
        match self.kind {
            Kind::Edge => self.edges(view).into_iter().map(|(_, value)| value).collect(),
            Kind::Node | Kind::Pair => view.node_properties(&self.nodes, &[self.key]).unwrap()[0].values().collect(),
        }
    }

    /// Compares the values, and what a lookup of each finds.
    fn check(&self, view: &dyn ReadView, expected: &[Value], place: &str) {
        assert_eq!(self.values(view), expected, "{place}");
        if self.kind == Kind::Node {
            let owners = view.lookup(self.label, self.key, &Column::from_values(expected)).unwrap();
            for (row, value) in expected.iter().enumerate() {
                let owner = if value.is_null() { Value::Null } else { Value::Node(self.nodes[row]) };
                assert_eq!(owners.value(row), owner, "{place}: the node with {value}");
            }
        }
    }

    /// Compares the files, and that each value is taken.
    fn check_committed(&self, expected: &[Value], place: &str) {
        self.check(&*self.store.read().unwrap(), expected, place);
        let mut transaction = self.store.write().unwrap();
        let taken = expected.iter().position(|value| !value.is_null());
        if let (Some(row), Kind::Node) = (taken, self.kind) {
            let values = [Column::from_values(&expected[row..row + 1])];
            let new = NewNodes { count: 1, labels: &[self.label], keys: &[self.key], properties: &values };
            assert_eq!(transaction.create_nodes(&new).unwrap_err().code(), ErrorCode::Constraint, "{place}");
        }
        drop(transaction);
        self.store.checkpoint(&Interrupt::new()).unwrap();
        self.check(&*self.store.read().unwrap(), expected, place);
    }

    fn check_files(self) {
        let World { directory, store, .. } = self;
        drop(store);
        let problems = storage::check::check(&directory.platform(), directory.path(), &Interrupt::new()).unwrap();
        assert_eq!(problems, []);
    }
}

fn ints(values: impl Iterator<Item = usize>) -> Vec<Value> {
    values.map(|value| Value::Int(value as i64)).collect()
}

#[test]
fn one_call_exchanges_any_number_of_values() {
    for kind in KINDS {
        for transaction_bytes_max in [None, Some(1)] {
            let place = format!("{kind:?}, {transaction_bytes_max:?} bytes");
            let world = World::new(kind, MANY, transaction_bytes_max);
            let rows: Vec<usize> = (0..MANY).collect();
            // The first row of the call is the last to find a value that is free.
            let reversed = ints((0..MANY).rev());
            let mut transaction = world.store.write().unwrap();
            world.set(&mut *transaction, &rows, &Column::from_values(&reversed)).unwrap();
            world.check(transaction.view(), &reversed, &place);
            transaction.commit().unwrap();
            world.check_committed(&reversed, &place);
            world.check_files();
        }
    }
}

#[test]
fn a_call_that_leaves_two_equal_values_changes_nothing() {
    for kind in KINDS {
        let world = World::new(kind, MANY, None);
        let before = ints(0..MANY);
        let rows: Vec<usize> = (0..MANY - 1).collect();
        // Each gets the value of the next, and the last keeps its own.
        let shifted = ints(1..MANY);
        let mut transaction = world.store.write().unwrap();
        let error = world.set(&mut *transaction, &rows, &Column::from_values(&shifted)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Constraint, "{kind:?}: {error}");
        world.check(transaction.view(), &before, &format!("{kind:?}"));
        transaction.commit().unwrap();
        world.check_committed(&before, &format!("{kind:?}"));
        world.check_files();
    }
}

#[test]
fn a_long_call_is_stopped_between_its_pieces() {
    for kind in KINDS {
        let world = World::new(kind, MANY, None);
        let rows: Vec<usize> = (0..MANY).collect();
        let stop = |transaction: &mut dyn WriteTransaction| {
            let interrupt = Interrupt::new();
            interrupt.cancel();
            let values = Column::from_values(&ints((0..MANY).rev()));
            let stopped = world.set_before(transaction, &rows, &values, || interrupt.listen());
            assert_eq!(stopped.unwrap_err().code(), ErrorCode::Cancelled, "{kind:?}");
        };
        // A change that was stopped half way is not committed.
        let mut transaction = world.store.write().unwrap();
        stop(&mut *transaction);
        assert_eq!(transaction.commit().unwrap_err().code(), ErrorCode::TransactionState, "{kind:?}");
        world.check_committed(&ints(0..MANY), &format!("{kind:?}"));
        let mut transaction = world.store.write().unwrap();
        let savepoint = transaction.savepoint();
        stop(&mut *transaction);
        transaction.rollback_to(savepoint).unwrap();
        world.check(transaction.view(), &ints(0..MANY), &format!("{kind:?}"));
        // Nothing of it is left to be compared.
        world.set(&mut *transaction, &rows, &Column::from_values(&ints((0..MANY).rev()))).unwrap();
        transaction.commit().unwrap();
        world.check_committed(&ints((0..MANY).rev()), &format!("{kind:?}"));
    }
}

#[test]
fn calls_that_are_compared_in_the_end_exchange_values() {
    let seed = seed_or(17);
    let mut random = SeededRandom::new(seed);
    for kind in KINDS {
        for transaction_bytes_max in [None, Some(1)] {
            let place = format!("FUZZ_SEED={seed}: {kind:?}, {transaction_bytes_max:?} bytes");
            let world = World::new(kind, MANY, transaction_bytes_max);
            let mut values: Vec<usize> = (0..MANY).collect();
            (1..MANY).for_each(|at| values.swap(at, random.index(at + 1)));
            let rows: Vec<usize> = (0..MANY).collect();
            let mut transaction = world.store.write().unwrap();
            let savepoint = transaction.savepoint();
            for are_all in [false, true] {
                transaction.defer_unique();
                let end = if are_all { MANY } else { MANY - values.iter().rev().position(|&of| of != 0).unwrap() - 1 };
                for part in rows[..end].chunks(3_000) {
                    let set = ints(part.iter().map(|&row| values[row]));
                    world.set(&mut *transaction, part, &Column::from_values(&set)).unwrap();
                }
                let compared = transaction.check_deferred();
                if are_all {
                    compared.unwrap();
                    break;
                }
                // Without the last rows somebody has lost a value that nobody gave up.
                assert_eq!(compared.unwrap_err().code(), ErrorCode::Constraint, "{place}");
                transaction.rollback_to(savepoint).unwrap();
                world.check(transaction.view(), &ints(0..MANY), &place);
            }
            let expected = ints(values.iter().copied());
            world.check(transaction.view(), &expected, &place);
            transaction.commit().unwrap();
            world.check_committed(&expected, &place);
            world.check_files();
        }
    }
}

/// True if all values that are there differ.
fn differ(values: &[Value]) -> bool {
    let mut seen = BTreeMap::new();
    values.iter().all(|value| match value {
        Value::Int(number) => seen.insert(*number, ()).is_none(),
        _ => true,
    })
}

#[test]
fn random_calls_agree_with_a_list() {
    let seed = seed_or(23);
    let mut random = SeededRandom::new(seed);
    let (mut accepted, mut refused) = (0, 0);
    for (round, kind) in KINDS.into_iter().cycle().take(6).enumerate() {
        let rows = 12;
        let world = World::new(kind, rows, if round < 3 { None } else { Some(1) });
        let mut values = ints(0..rows);
        let mut transaction = world.store.write().unwrap();
        for window in 0..WINDOWS {
            let place = format!("FUZZ_SEED={seed}: {kind:?}, round {round}, window {window}");
            let (before, savepoint) = (values.clone(), transaction.savepoint());
            let calls = if random.chance(60) {
                transaction.defer_unique();
                1 + random.index(6)
            } else {
                0
            };
            let mut outcome = Ok(());
            for _ in 0..calls.max(1) {
                let changed: Vec<usize> = (0..1 + random.index(4)).map(|_| random.index(rows)).collect();
                let set: Vec<Value> = changed
                    .iter()
                    .map(|_| if random.chance(10) { Value::Null } else { Value::Int(random.below(40) as i64) })
                    .collect();
                changed.iter().zip(&set).for_each(|(&row, value)| values[row] = value.clone());
                outcome = world.set(&mut *transaction, &changed, &Column::from_values(&set));
            }
            if calls > 0 {
                outcome.unwrap_or_else(|error| panic!("{place}: {error}"));
                outcome = transaction.check_deferred();
            }
            assert_eq!(outcome.is_ok(), differ(&values), "{place}: {values:?}, {outcome:?}");
            match outcome {
                Ok(()) => accepted += 1,
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.code(), ErrorCode::Constraint, "{place}: {error}");
                    values = before;
                    if calls > 0 || round >= 3 {
                        transaction.rollback_to(savepoint).unwrap();
                    }
                }
            }
            world.check(transaction.view(), &values, &place);
            if random.chance(10) {
                transaction.commit().unwrap();
                world.check_committed(&values, &place);
                transaction = world.store.write().unwrap();
            }
        }
        transaction.commit().unwrap();
        world.check(&*world.store.read().unwrap(), &values, "the last commit");
        world.check_files();
    }
    assert!(accepted > WINDOWS && refused > WINDOWS, "FUZZ_SEED={seed}: {accepted} accepted, {refused} refused");
}

/// A node with a value that another transaction makes.
fn create(world: &World, value: i64) {
    let mut transaction = world.store.write().unwrap();
    let values = [Column::from_values(&[Value::Int(value)])];
    let new = NewNodes { count: 1, labels: &[world.label], keys: &[world.key], properties: &values };
    transaction.create_nodes(&new).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn what_others_committed_meanwhile_is_compared_with_the_last_values() {
    for (theirs, is_conflict) in [(100, false), (50, false), (60, true)] {
        let world = World::new(Kind::Node, 4, None);
        let mut transaction = world.store.write().unwrap();
        transaction.defer_unique();
        // The first two exchange values over several calls; the third comes to its value by another.
        for (row, value) in [(0, 1), (1, 0), (2, 50), (2, 60)] {
            world.set(&mut *transaction, &[row], &Column::from_values(&[Value::Int(value)])).unwrap();
        }
        transaction.check_deferred().unwrap();
        create(&world, theirs);
        let committed = transaction.commit();
        if is_conflict {
            assert_eq!(committed.unwrap_err().code(), ErrorCode::Conflict);
            world.check_committed(&ints(0..4), "a conflict");
        } else {
            committed.unwrap();
            world.check_committed(&[1, 0, 60, 3].map(Value::Int), &format!("beside {theirs}"));
        }
        world.check_files();
    }
}

#[test]
fn a_label_may_come_before_the_value_that_makes_room() {
    let world = World::new(Kind::Node, 3, None);
    let mut transaction = world.store.write().unwrap();
    let values = [Column::from_values(&[Value::Int(1)])];
    let new = NewNodes { count: 1, labels: &[], keys: &[world.key], properties: &values };
    let node = transaction.create_nodes(&new).unwrap()[0];
    assert_eq!(transaction.add_labels(&[node], &[world.label]).unwrap_err().code(), ErrorCode::Constraint);
    transaction.defer_unique();
    transaction.add_labels(&[node], &[world.label]).unwrap();
    world.set(&mut *transaction, &[1], &Column::from_values(&[Value::Int(9)])).unwrap();
    transaction.check_deferred().unwrap();
    transaction.commit().unwrap();
    world.check_committed(&[0, 9, 2].map(Value::Int), "a label");
    let view = world.store.read().unwrap();
    assert_eq!(view.lookup(world.label, world.key, &values[0]).unwrap().value(0), Value::Node(node));
    // The commit compares values that were not compared before it.
    let mut transaction = world.store.write().unwrap();
    transaction.defer_unique();
    world.set(&mut *transaction, &[0], &Column::from_values(&[Value::Int(9)])).unwrap();
    assert_eq!(transaction.commit().unwrap_err().code(), ErrorCode::Constraint);
}
