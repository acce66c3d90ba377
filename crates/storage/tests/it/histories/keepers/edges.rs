//! Lists that edges keep: as parallel edges, in a property of one of several parallel edges, in an edge made anew.
//!
//! The edges of several lists join the same two nodes, beside others that come and go; a sort key orders them by a property
//! that changes, and is itself dropped and declared again. So an edge that is taken for its parallel shows.

use model::store::{EdgeIds, Expand, NewEdges};
use model::{
    Column, Direction, EdgeBatch, EdgeId, GraphStore, NodeId, PropertyKeyId, ReadView, Result, SortKey, Value,
    WriteTransaction,
};
use storage::NativeStore;
use testing::random::SeededRandom;

use super::{Keeper, appended, create_node, find, int, key_of, number, numbers, single};

/// Makes an edge.
pub(super) fn connect(
    transaction: &mut dyn WriteTransaction,
    edge_type: &str,
    source: NodeId,
    target: NodeId,
    properties: &[(&str, Value)],
) -> Result<()> {
    let edge_type = transaction.edge_type(edge_type)?;
    let keys: Vec<PropertyKeyId> =
        properties.iter().map(|(name, _)| transaction.property_key(name)).collect::<Result<_>>()?;
    let columns: Vec<Column> = properties.iter().map(|(_, value)| single(value.clone())).collect();
    let new = NewEdges { edge_type, sources: &[source], targets: &[target], keys: &keys, properties: &columns };
    transaction.create_edges(&new).map(drop)
}

/// An edge that leaves a node: its id, its end, and the values of some properties.
type Neighbor = (EdgeId, NodeId, Vec<Value>);

/// The edges of a type that leave a node.
pub(super) fn neighbors(view: &dyn ReadView, edge_type: &str, from: NodeId, keys: &[&str]) -> Result<Vec<Neighbor>> {
    let expand = Expand {
        direction: Direction::Out,
        types: Some(view.schema().edge_type(edge_type).into_iter().collect()),
        edge_ids: EdgeIds::Include,
        keys: keys.iter().map(|key| key_of(view, key)).collect(),
        ..Expand::default()
    };
    let (from, mut batch, mut found) = ([from], EdgeBatch::default(), Vec::new());
    let mut cursor = view.expand(&from, &expand)?;
    while cursor.next(&mut batch)? {
        for (row, &edge) in batch.edges.iter().enumerate() {
            let values = batch.properties.iter().map(|column| column.value(row)).collect();
            found.push((edge, batch.neighbors[row], values));
        }
    }
    Ok(found)
}

/// The property of the sort keys, at random.
fn rank(random: &mut SeededRandom) -> (&'static str, Value) {
    ("rank", int(random.below(1_000)))
}

/// Declares the sort key of a type, or drops it.
fn toggle_sort_key(store: &NativeStore, edge_type: &str) -> Result<()> {
    let mut transaction = store.write()?;
    let (edge_type, key) = (transaction.edge_type(edge_type)?, transaction.property_key("rank")?);
    if transaction.view().schema().sort_keys.iter().any(|sort_key| sort_key.edge_type == edge_type) {
        transaction.drop_sort_key(edge_type)?;
    } else {
        transaction.set_sort_key(SortKey { edge_type, keys: vec![key] })?;
    }
    transaction.commit()
}

/// Makes the two nodes that the edges of a keeper join, if this is its first list.
fn prepare_ends(transaction: &mut dyn WriteTransaction, label: &str, list: u32, is_sorted: bool) -> Result<()> {
    let (edge_type, keys) = (transaction.edge_type(label)?, vec![transaction.property_key("rank")?]);
    if list > 0 {
        return Ok(());
    }
    for end in 0..2 {
        create_node(transaction, label, &[("list", int(end))])?;
    }
    if is_sorted { transaction.set_sort_key(SortKey { edge_type, keys }) } else { Ok(()) }
}

/// Makes an edge between the two nodes of a keeper.
fn join(transaction: &mut dyn WriteTransaction, name: &str, properties: &[(&str, Value)]) -> Result<()> {
    let source = find(transaction.view(), name, 0, &[])?.0;
    let target = find(transaction.view(), name, 1, &[])?.0;
    connect(transaction, name, source, target, properties)
}

/// Parallel edges, one for each number.
pub(super) struct Parallel {
    pub(super) is_sorted: bool,
}

impl Keeper for Parallel {
    fn name(&self) -> &'static str {
        if self.is_sorted { "SortedItems" } else { "Items" }
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn prepare(&self, transaction: &mut dyn WriteTransaction, list: u32) -> Result<()> {
        for key in ["tag", "value"] {
            transaction.property_key(key)?;
        }
        prepare_ends(transaction, self.name(), list, self.is_sorted)
    }

    fn read(&self, view: &dyn ReadView, list: u32) -> Result<Vec<u64>> {
        let from = find(view, self.name(), 0, &[])?.0;
        let mut edges = neighbors(view, self.name(), from, &["tag", "value"])?;
        edges.retain(|(_, _, values)| values[0] == int(list.into()));
        Ok(edges.iter().map(|(_, _, values)| number(&values[1])).collect())
    }

    fn append(&self, to: &mut dyn WriteTransaction, list: u32, value: u64, random: &mut SeededRandom) -> Result<()> {
        join(to, self.name(), &[("tag", int(list.into())), ("value", int(value)), rank(random)])
    }

    fn disturb(&self, store: &NativeStore) -> Result<()> {
        if self.is_sorted { toggle_sort_key(store, self.name()) } else { Ok(()) }
    }
}

/// The tag of an edge that is no list.
const NOISE: u64 = 1_000;

/// The edge of a list among its parallels.
struct Found {
    edge: EdgeId,
    values: Vec<u64>,
    /// One of the edges that are no list.
    noise: Option<EdgeId>,
}

fn edge_of_list(view: &dyn ReadView, name: &str, list: u32) -> Result<Found> {
    let from = find(view, name, 0, &[])?.0;
    let edges = neighbors(view, name, from, &["tag", "values"])?;
    let of = |tag: u64| edges.iter().filter(move |(_, _, values)| values[0] == int(tag));
    let mut lists = of(list.into());
    let (edge, _, values) = lists.next().unwrap_or_else(|| panic!("{name} {list} is there"));
    assert!(lists.next().is_none(), "{name} {list} is there once");
    assert!(of(NOISE).all(|(_, _, values)| values[1].is_null()), "what is no list holds nothing");
    Ok(Found { edge: *edge, values: numbers(&values[1]), noise: of(NOISE).next().map(|(edge, ..)| *edge) })
}

/// Makes or deletes, in half of the calls, an edge that is no list, beside those that are.
fn make_noise(to: &mut dyn WriteTransaction, name: &str, found: &Found, random: &mut SeededRandom) -> Result<()> {
    match found.noise {
        _ if random.chance(50) => Ok(()),
        Some(edge) if random.chance(40) => to.delete_edges(&[edge]),
        _ => join(to, name, &[("tag", int(NOISE)), rank(random)]),
    }
}

/// The list of one of several parallel edges, whose place in the order of the sort key changes.
pub(super) struct OneOfParallel {
    /// True if the edge is deleted and made anew for each number; otherwise the number is added to its property.
    pub(super) is_replaced: bool,
}

impl Keeper for OneOfParallel {
    fn name(&self) -> &'static str {
        if self.is_replaced { "ReplacedEdge" } else { "EdgeList" }
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn prepare(&self, transaction: &mut dyn WriteTransaction, list: u32) -> Result<()> {
        transaction.property_key("values")?;
        prepare_ends(transaction, self.name(), list, true)?;
        join(transaction, self.name(), &[("tag", int(list.into())), ("rank", int(list.into()))])
    }

    fn read(&self, view: &dyn ReadView, list: u32) -> Result<Vec<u64>> {
        Ok(edge_of_list(view, self.name(), list)?.values)
    }

    fn append(&self, to: &mut dyn WriteTransaction, list: u32, value: u64, random: &mut SeededRandom) -> Result<()> {
        let found = edge_of_list(to.view(), self.name(), list)?;
        let values = appended(found.values.clone(), value);
        if self.is_replaced {
            to.delete_edges(&[found.edge])?;
            join(to, self.name(), &[("tag", int(list.into())), ("values", values.value(0)), rank(random)])?;
        } else {
            let (key, order) = (to.property_key("values")?, to.property_key("rank")?);
            to.set_edge_properties(&[found.edge], key, &values)?;
            if random.chance(50) {
                to.set_edge_properties(&[found.edge], order, &single(rank(random).1))?;
            }
        }
        make_noise(to, self.name(), &found, random)
    }

    fn disturb(&self, store: &NativeStore) -> Result<()> {
        toggle_sort_key(store, self.name())
    }
}
