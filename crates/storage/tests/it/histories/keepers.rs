//! Features of the store that keep lists of numbers, so that concurrent transactions on each can be checked.
//!
//! A new feature that transactions write joins [`KEEPERS`]: it then runs in all histories, beside all others, under
//! flushes, merges, backups, bulk loads and changes of the schema, and faults are planted in its way
//! (`planted_faults_are_found`).

mod edges;
mod nodes;

pub(super) use nodes::label_of_list;

use model::store::{NewNodes, NodeScan};
use model::{Column, LabelId, NodeBatch, NodeId, PropertyKeyId, ReadView, Result, Value, WriteTransaction};
use storage::NativeStore;
use testing::random::SeededRandom;

/// Lists of each keeper.
pub(super) const LISTS: u32 = 2;

/// All keepers; the lists of one have consecutive numbers.
pub(super) const KEEPERS: &[&dyn Keeper] = &[
    &nodes::Property,
    &nodes::Replaced,
    &nodes::UniqueSlots,
    &nodes::Labelled,
    &nodes::Indexed,
    &edges::Parallel { is_sorted: false },
    &edges::Parallel { is_sorted: true },
    &edges::OneOfParallel { is_replaced: false },
    &edges::OneOfParallel { is_replaced: true },
];

/// A feature that keeps lists.
pub(super) trait Keeper: Sync {
    /// A name for messages and for labels and types of its own.
    fn name(&self) -> &'static str;
    /// True if the numbers of a list come in order, so that two transactions that append to it conflict.
    fn is_ordered(&self) -> bool;
    /// Makes an empty list.
    fn prepare(&self, transaction: &mut dyn WriteTransaction, list: u32) -> Result<()>;
    /// The numbers of a list.
    fn read(&self, view: &dyn ReadView, list: u32) -> Result<Vec<u64>>;
    /// Adds a number, with further writes that must not matter.
    fn append(&self, to: &mut dyn WriteTransaction, list: u32, value: u64, random: &mut SeededRandom) -> Result<()>;
    /// Changes the schema that the lists rest on, while they are written.
    fn disturb(&self, _store: &NativeStore) -> Result<()> {
        Ok(())
    }
}

/// The numbers in a value that holds a list.
fn numbers(value: &Value) -> Vec<u64> {
    match value {
        Value::Null => Vec::new(),
        Value::List(values) => values.iter().map(number).collect(),
        other => panic!("a list is a list, found {other:?}"),
    }
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Int(number) => *number as u64,
        other => panic!("an item is a number, found {other:?}"),
    }
}

fn int(number: u64) -> Value {
    Value::Int(number as i64)
}

/// A list with one number more, as a column of one row.
fn appended(mut values: Vec<u64>, value: u64) -> Column {
    values.push(value);
    single(Value::list(values.into_iter().map(int).collect::<Vec<_>>()))
}

fn single(value: Value) -> Column {
    Column::from_values(&[value])
}

fn label_of(view: &dyn ReadView, name: &str) -> LabelId {
    view.schema().label(name).unwrap_or_else(|| panic!("label {name} was made"))
}

fn key_of(view: &dyn ReadView, name: &str) -> PropertyKeyId {
    view.schema().property_key(name).unwrap_or_else(|| panic!("property {name} was made"))
}

/// Makes a node of one label.
fn create_node(transaction: &mut dyn WriteTransaction, label: &str, properties: &[(&str, Value)]) -> Result<NodeId> {
    let labels = [transaction.label(label)?];
    let keys: Vec<PropertyKeyId> =
        properties.iter().map(|(name, _)| transaction.property_key(name)).collect::<Result<_>>()?;
    let columns: Vec<Column> = properties.iter().map(|(_, value)| single(value.clone())).collect();
    let new = NewNodes { count: 1, labels: &labels, keys: &keys, properties: &columns };
    Ok(transaction.create_nodes(&new)?[0])
}

/// The nodes of a label with the values of some properties.
fn scan(view: &dyn ReadView, label: &str, keys: &[&str]) -> Result<Vec<(NodeId, Vec<Value>)>> {
    let scan = NodeScan {
        labels: vec![label_of(view, label)],
        keys: keys.iter().map(|key| key_of(view, key)).collect(),
        ..NodeScan::default()
    };
    let (mut cursor, mut batch, mut found) = (view.scan(&scan)?, NodeBatch::default(), Vec::new());
    while cursor.next(&mut batch)? {
        for (row, &node) in batch.nodes.iter().enumerate() {
            found.push((node, batch.properties.iter().map(|column| column.value(row)).collect()));
        }
    }
    Ok(found)
}

/// The one node of a label whose property `list` is that number, and its other properties.
fn find(view: &dyn ReadView, label: &str, list: u32, keys: &[&str]) -> Result<(NodeId, Vec<Value>)> {
    let keys: Vec<&str> = ["list"].iter().chain(keys).copied().collect();
    let mut found = scan(view, label, &keys)?;
    found.retain(|(_, values)| values[0] == Value::Int(i64::from(list)));
    assert_eq!(found.len(), 1, "one node {label} has list {list}");
    let (node, mut values) = found.remove(0);
    values.remove(0);
    Ok((node, values))
}
