//! A view compared with a reference view that holds the same graph under other ids: everything that a view can be asked,
//! with random batches.
//!
//! Nodes are matched by the value of one property, which every node has and no two share. Names that only one of the two
//! schemas has count as absent in the other.

mod edges;
mod nodes;

use std::collections::BTreeMap;

use model::{EdgeTypeId, LabelId, Map, NodeBatch, NodeId, NodeScan, PropertyKeyId, ReadView, Value};

use crate::random::{SeededRandom, seed_or};

/// Rounds of random questions.
const ROUNDS: usize = 25;
/// An id that no schema has.
const NO_ID: u32 = u32::MAX;
/// Nodes that no view has.
const NO_NODES: [NodeId; 3] = [NodeId(u64::MAX - 1), NodeId(0x7FFF_0000_1234_5678), NodeId(0x01FE_0000_0000_0007)];

/// Fails unless two views answer alike, whichever way they are asked. The seed of the questions is that of the environment
/// variable `FUZZ_SEED`, and printed on failure.
///
/// # Panics
/// If the views differ, or fail.
pub fn check_same(view: &dyn ReadView, reference: &dyn ReadView, key_property: &str) {
    check_same_seeded(view, reference, key_property, seed_or(1));
}

/// The same with questions of that seed.
///
/// # Panics
/// If the views differ, or fail.
pub fn check_same_seeded(view: &dyn ReadView, reference: &dyn ReadView, key_property: &str, seed: u64) {
    let said = Seed(seed);
    let mut pair = Pair::new(view, reference, key_property, SeededRandom::new(seed));
    pair.check_scans();
    pair.check_lookups();
    pair.check_indexes();
    pair.check_counts();
    pair.check_edge_ids();
    for _ in 0..ROUNDS {
        pair.check_nodes();
        pair.check_expansion();
        pair.check_edges();
    }
    drop(said);
}

/// Says on a panic which seed asked.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("views are not the same: replay with FUZZ_SEED={}", self.0);
        }
    }
}

/// The two views, and what is called what in each.
struct Pair<'a> {
    view: &'a dyn ReadView,
    reference: &'a dyn ReadView,
    random: SeededRandom,
    /// Each node's name, with its id in both.
    nodes: Vec<(Value, NodeId, NodeId)>,
    names: [Map<NodeId, Value>; 2],
    /// The ids of each name in both.
    labels: Vec<(LabelId, LabelId)>,
    types: Vec<(EdgeTypeId, EdgeTypeId)>,
    keys: Vec<(PropertyKeyId, PropertyKeyId)>,
}

fn pairs(a: &model::schema::Names, b: &model::schema::Names) -> Vec<(u32, u32)> {
    let mut names: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    a.iter().zip(0..).for_each(|(name, id)| names.entry(name).or_insert((NO_ID, NO_ID)).0 = id);
    b.iter().zip(0..).for_each(|(name, id)| names.entry(name).or_insert((NO_ID, NO_ID)).1 = id);
    names.into_values().collect()
}

/// The nodes of a view that carry labels, each with its value of a property.
fn scan(view: &dyn ReadView, labels: Vec<LabelId>, keys: Vec<PropertyKeyId>) -> Vec<(NodeId, Vec<Value>)> {
    let mut nodes = Vec::new();
    let scan = NodeScan { labels, keys, ..NodeScan::default() };
    let mut cursor = view.scan(&scan).expect("nodes can be scanned");
    let mut batch = NodeBatch::default();
    while cursor.next(&mut batch).expect("nodes can be scanned") {
        for (row, &node) in batch.nodes.iter().enumerate() {
            nodes.push((node, batch.properties.iter().map(|column| column.value(row)).collect()));
        }
    }
    nodes
}

impl<'a> Pair<'a> {
    fn new(view: &'a dyn ReadView, reference: &'a dyn ReadView, key: &str, random: SeededRandom) -> Pair<'a> {
        let named = |view: &dyn ReadView| -> BTreeMap<Value, NodeId> {
            let key = view.schema().property_key(key).expect("both schemas have the property that names nodes");
            let nodes = scan(view, Vec::new(), vec![key]);
            let count = nodes.len();
            let named: BTreeMap<Value, NodeId> = nodes.into_iter().map(|(id, mut name)| (name.remove(0), id)).collect();
            assert_eq!(named.len(), count, "each node has a name of its own");
            named
        };
        let (ours, theirs) = (named(view), named(reference));
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "the nodes");
        let nodes = ours.iter().map(|(name, &node)| (name.clone(), node, theirs[name])).collect();
        let names = [&ours, &theirs].map(|named| named.iter().map(|(name, &node)| (node, name.clone())).collect());
        let (a, b) = (view.schema(), reference.schema());
        let labels = pairs(&a.labels, &b.labels).into_iter().map(|(a, b)| (LabelId(a), LabelId(b))).collect();
        let types = pairs(&a.edge_types, &b.edge_types).into_iter().map(|(a, b)| (EdgeTypeId(a), EdgeTypeId(b)));
        let keys = pairs(&a.property_keys, &b.property_keys);
        Pair {
            view,
            reference,
            random,
            nodes,
            names,
            labels,
            types: types.collect(),
            keys: keys.into_iter().map(|(a, b)| (PropertyKeyId(a), PropertyKeyId(b))).collect(),
        }
    }

    /// Random nodes in both views, some of them twice and some that are not there.
    fn pick_nodes(&mut self) -> (Vec<NodeId>, Vec<NodeId>) {
        let most = *self.random.pick(&[1, 3, 20, 300]);
        let count = self.random.index(most) + 1;
        let pick = |_| {
            if self.nodes.is_empty() || self.random.chance(3) {
                let node = *self.random.pick(&NO_NODES);
                return (node, node);
            }
            let &(_, ours, theirs) = self.random.pick(&self.nodes);
            (ours, theirs)
        };
        (0..count).map(pick).unzip()
    }

    /// Some of the properties, in random order; both views' ids of each.
    fn pick_keys(&mut self) -> (Vec<PropertyKeyId>, Vec<PropertyKeyId>) {
        let mut keys = self.keys.clone();
        self.random.shuffle(&mut keys);
        keys.truncate(self.random.index(keys.len() + 1));
        keys.into_iter().unzip()
    }

    /// The name of a node of one of the views: 0 ours, 1 the reference's.
    fn name(&self, side: usize, node: NodeId) -> Value {
        self.names[side].get(&node).unwrap_or_else(|| panic!("node {node:?} was not scanned")).clone()
    }
}

/// Values as text in which integers and floats, and all lengths of lists, are told apart.
fn text(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().map(|value| format!("{value}")).collect::<Vec<_>>().join(", ")
}

/// Fails with the first rows that differ, and how many there are.
fn assert_same<T: PartialEq + std::fmt::Debug>(ours: &[T], theirs: &[T], asked: &dyn Fn() -> String) {
    let Some(at) = (0..ours.len().max(theirs.len())).find(|&at| ours.get(at) != theirs.get(at)) else { return };
    let (a, b, lengths) = (ours.get(at), theirs.get(at), (ours.len(), theirs.len()));
    panic!("{}: row {at} of {lengths:?} is {a:?}, expected {b:?}", asked());
}
