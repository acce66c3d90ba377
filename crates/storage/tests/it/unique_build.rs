//! Constraints over more nodes than a memtable keeps: their index is made on the disk, within the memory limit, and holds
//! before and after it is written to files.

use model::store::NewNodes;
use model::{
    Column, ColumnData, Constraint, Consumer, ErrorCode, GraphStore, Interrupt, LabelId, NodeId, PropertyKeyId,
    ReadView, Result, Value, WriteTransaction,
};
use storage::{NativeStore, OpenOptions};

use crate::directory::TestDirectory;

const NODES: i64 = 90_000;
const LIMIT: usize = 4 << 20;

struct Names {
    label: LabelId,
    a: PropertyKeyId,
    twice: PropertyKeyId,
}

/// Nodes with all values of `a`, now an integer, now a string; of `twice` one value comes two times.
fn fill(directory: &TestDirectory) -> Names {
    let store = directory.open();
    let mut transaction = store.write().unwrap();
    let label = transaction.label("P").unwrap();
    let keys = ["a", "twice"].map(|key| transaction.property_key(key).unwrap());
    let a: Vec<Value> = (0..NODES).map(value).collect();
    let twice = (0..NODES).map(|at| if at == NODES - 5 { 77 } else { at }).collect();
    let properties = [Column::from_values(&a), Column::new(ColumnData::Int(twice))];
    let new = NewNodes { count: NODES as usize, labels: &[label], keys: &keys, properties: &properties };
    transaction.create_nodes(&new).unwrap();
    transaction.commit().unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    Names { label, a: keys[0], twice: keys[1] }
}

fn value(at: i64) -> Value {
    match at % 3 {
        0 => Value::string(&format!("text {at}")),
        1 => Value::Float(if at == 1 { f64::NAN } else { at as f64 }),
        _ => Value::Int(at),
    }
}

fn create(transaction: &mut dyn WriteTransaction, names: &Names, key: PropertyKeyId) -> Result<(u64, u64)> {
    let interrupt = Interrupt::new();
    transaction.create_constraint(Constraint::unique("one", names.label, key), &interrupt)?;
    Ok(interrupt.progress())
}

fn set(transaction: &mut dyn WriteTransaction, names: &Names, node: u64, value: &Value) -> Result<()> {
    transaction.set_node_properties(&[NodeId(node)], names.a, &Column::from_values([value]))
}

/// The node that has the value.
fn owner(view: &dyn ReadView, names: &Names, value: &Value) -> Option<u64> {
    match view.lookup(names.label, names.a, &Column::from_values([value])).unwrap().value(0) {
        Value::Node(node) => Some(node.0),
        _ => None,
    }
}

fn open_small(directory: &TestDirectory) -> NativeStore {
    directory.open_with(OpenOptions { memory_bytes_max: Some(LIMIT), ..OpenOptions::default() })
}

#[test]
fn a_constraint_over_many_nodes_is_built_on_the_disk() {
    let directory = TestDirectory::new();
    let names = fill(&directory);
    let store = open_small(&directory);
    let before = store.memory().used_by(Consumer::Memtable);
    let mut transaction = store.write().unwrap();
    assert_eq!(create(&mut *transaction, &names, names.a).unwrap(), (NODES as u64, NODES as u64));
    assert_eq!(owner(transaction.view(), &names, &Value::Int(6_002)), Some(6_002));
    set(&mut *transaction, &names, 6_002, &Value::Int(-1)).unwrap();
    set(&mut *transaction, &names, 7, &Value::Int(6_002)).unwrap();
    for (value, expected) in [
        (Value::Int(6_002), Some(7)),
        (Value::Float(-1.0), Some(6_002)),
        (Value::Int(7), None),
        (Value::Int(100), Some(100)),
        (Value::string("text 9"), Some(9)),
        (Value::Float(f64::NAN), None),
    ] {
        assert_eq!(owner(transaction.view(), &names, &value), expected, "{value}");
    }
    let refused = set(&mut *transaction, &names, 3, &Value::Int(8)).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Constraint, "{refused:?}");
    assert!(refused.message().contains("node 8"), "{refused:?}");
    transaction.commit().unwrap();
    // The commit has written the index to files.
    assert!(store.memory().used_by(Consumer::Memtable) <= before + 1_000, "{:?}", store.memory().usage());
    let sort = store.memory().usage().into_iter().find(|usage| usage.consumer == Consumer::Sort).unwrap();
    assert!(sort.used == 0 && sort.peak > 0 && sort.peak <= LIMIT / 4, "{sort:?}");
    assert_eq!(owner(&*store.read().unwrap(), &names, &Value::Int(6_002)), Some(7));
    drop(store);
    let store = open_small(&directory);
    assert_eq!(owner(&*store.read().unwrap(), &names, &Value::Int(6_002)), Some(7));
    assert_eq!(owner(&*store.read().unwrap(), &names, &Value::Int(7)), None);
    let mut transaction = store.write().unwrap();
    assert_eq!(set(&mut *transaction, &names, 3, &Value::Int(8)).unwrap_err().code(), ErrorCode::Constraint);
    drop(transaction);
    drop(store);
    let problems = storage::check::check(&directory.platform(), directory.path(), &Interrupt::new()).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn two_nodes_with_the_same_value_are_named() {
    let directory = TestDirectory::new();
    let names = fill(&directory);
    let store = open_small(&directory);
    let files = directory.disk().list(directory.path()).unwrap();
    let mut transaction = store.write().unwrap();
    let refused = create(&mut *transaction, &names, names.twice).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Constraint);
    for word in ["77", "nodes 77 and 89995"] {
        assert!(refused.to_string().contains(word) || refused.message().contains(word), "{refused:?} has {word}");
    }
    let cancelled = Interrupt::new();
    cancelled.cancel();
    let constraint = Constraint::unique("one", names.label, names.a);
    assert_eq!(transaction.create_constraint(constraint, &cancelled).unwrap_err().code(), ErrorCode::Cancelled);
    drop(transaction);
    assert_eq!(directory.disk().list(directory.path()).unwrap(), files, "nothing is left of what was given up");
}
