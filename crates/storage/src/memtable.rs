//! The memtable: everything written since the store's files were last written, as structurally shared maps.
//!
//! A clone costs a few reference counts and shares everything, so that snapshots, transactions and the next transaction
//! each have a root of their own; a write copies only the path to what it changes.
//!
//! Invariant: ids of edges made here have [`MEMTABLE_EDGE_BIT`] set. Nodes made here with ids that follow those of the
//! files are in a vector, with records marked as deleted for ids that nobody uses; a node made with an id below, which a
//! transaction may have reserved before the files were written, is a change that has labels.
//! Nothing is ever taken out of the vectors of nodes and edges: what is deleted is marked, so that ids stay what they are.
//! Invariant: the memtable knows nothing of the files. What a change needs to know of them is passed in.

mod adjacency;
mod gaps;
mod index;
mod links;
mod properties;

use crate::ordered_index::entries::OrderedEntries;
use std::sync::Arc;

use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, OrdMap, Vector};
use model::{EdgeId, EdgeTypeId, LabelId, Map, NodeId, PropertyKeyId, Schema, Statistics};
use rustc_hash::FxBuildHasher;

pub(crate) use adjacency::{Adjacency, Link, Links};
pub(crate) use index::{UniqueIndex, equals_itself, index_entry_bytes};
pub(crate) use properties::{Properties, value_bytes};

use crate::format::MEMTABLE_EDGE_BIT;

/// A persistent hash map.
pub(crate) type SharedMap<K, V> = GenericHashMap<K, V, FxBuildHasher, DefaultSharedPtr>;

/// A node made since the files were written.
#[derive(Clone, Debug)]
pub(crate) struct NodeRecord {
    /// In order of their ids, each once.
    pub(crate) labels: Arc<[LabelId]>,
    pub(crate) properties: Properties,
    pub(crate) is_deleted: bool,
}

impl NodeRecord {
    /// The record of an id that nobody uses.
    fn unused() -> NodeRecord {
        NodeRecord { labels: Arc::default(), properties: Properties::default(), is_deleted: true }
    }
}

/// Change of a node of the files.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeChange {
    pub(crate) is_deleted: bool,
    /// All labels the node has now, if they changed; in order of their ids. If there are labels, even an empty set of
    /// them, and the node is not deleted, it exists, even if the files know nothing of it.
    pub(crate) labels: Option<Arc<[LabelId]>>,
    /// Properties that were set; null for those that were removed.
    pub(crate) properties: Properties,
}

/// Change of an edge of the files.
#[derive(Clone, Debug, Default)]
pub(crate) struct EdgeChange {
    pub(crate) is_deleted: bool,
    /// Properties that were set; null for those that were removed.
    pub(crate) properties: Properties,
}

/// Bytes that the parts take, measured roughly: entries of persistent maps are about half full.
mod weight {
    pub(super) const NODE: usize = 64;
    pub(super) const EDGE: usize = 108;
    pub(super) const CHANGE: usize = 160;
}

/// Everything written since the store's files were last written.
#[derive(Clone, Debug)]
pub(crate) struct Memtable {
    /// Names and constraints, those of the files included.
    pub(crate) schema: Arc<Schema>,
    /// Counts, those of the files included.
    pub(crate) statistics: Arc<Statistics>,
    /// One more than the largest node id of the files.
    pub(crate) first_node: u64,
    /// One more than the largest edge number of the files and of the edges made here.
    pub(crate) edge_number_bound: u64,
    /// Nodes made here; the first has the id `first_node`.
    pub(crate) nodes: Vector<NodeRecord>,
    /// Stretches of them that are unused.
    gaps: gaps::Gaps,
    /// Nodes of the files that changed, by id.
    pub(crate) node_changes: OrdMap<u64, Arc<NodeChange>>,
    /// Edges made here, by ordinal.
    pub(crate) edges: Adjacency,
    /// Properties of edges made here that were changed since, by ordinal.
    pub(crate) edge_properties: SharedMap<u32, Properties>,
    /// Number of the edges made here that are deleted.
    pub(crate) edges_deleted: usize,
    /// Edges of the files that changed, by id.
    pub(crate) edge_changes: SharedMap<u64, EdgeChange>,
    /// The properties that some edge of the files got another value of.
    pub(crate) edge_keys_changed: Vec<PropertyKeyId>,
    /// The edges of the files that are deleted.
    pub(crate) base_edges_deleted: Adjacency,
    /// Edges that the transaction deleted that has not settled yet, its own included.
    pub(crate) own_deleted: Vector<(EdgeTypeId, NodeId, NodeId)>,
    /// True if that transaction changed properties of edges.
    pub(crate) own_properties_changed: bool,
    /// Unique values written here, by constraint in the order of the schema.
    pub(crate) indexes: Vector<UniqueIndex>,
    /// Entries of ordered indexes written here, by index in the order of the schema.
    pub(crate) ordered: Vector<OrderedEntries>,
    /// Approximate bytes held.
    pub(crate) bytes: usize,
}

impl Memtable {
    /// True if one of these properties belongs to a sort key.
    pub(crate) fn changes_sort_keys(&self, keys: impl Iterator<Item = PropertyKeyId>) -> bool {
        let mut keys = keys;
        keys.any(|key| self.schema.sort_keys.iter().any(|sort_key| sort_key.keys.contains(&key)))
    }

    /// True if an edge of the files may have another value of one of these properties.
    #[inline]
    pub(crate) fn changes_edge_keys(&self, keys: &[PropertyKeyId]) -> bool {
        self.edge_keys_changed.iter().any(|key| keys.contains(key))
    }

    /// Nothing written since files of that schema, those counts and those bounds of node ids and edge numbers.
    pub(crate) fn new(
        schema: Arc<Schema>,
        statistics: Arc<Statistics>,
        first_node: u64,
        edge_number_bound: u64,
    ) -> Memtable {
        let indexes = schema.constraints.iter().map(|_| UniqueIndex::default()).collect();
        let ordered = schema.indexes.iter().map(|_| OrderedEntries::default()).collect();
        Memtable {
            schema,
            statistics,
            first_node,
            edge_number_bound,
            nodes: Vector::new(),
            gaps: gaps::Gaps::default(),
            node_changes: OrdMap::new(),
            edges: Adjacency::default(),
            edge_properties: SharedMap::default(),
            edges_deleted: 0,
            edge_changes: SharedMap::default(),
            edge_keys_changed: Vec::new(),
            base_edges_deleted: Adjacency::default(),
            own_deleted: Vector::new(),
            own_properties_changed: false,
            indexes,
            ordered,
            bytes: 0,
        }
    }

    /// Estimated bytes held if that number of `nodes` is made here.
    pub(crate) fn bytes_with(&self, nodes: usize) -> usize {
        self.bytes.saturating_add(nodes.saturating_mul(weight::NODE))
    }

    /// One more than the largest node id.
    pub(crate) fn node_id_bound(&self) -> u64 {
        self.first_node + self.nodes.len() as u64
    }

    /// The record of a node made here, deleted or not.
    #[inline]
    pub(crate) fn node(&self, node: NodeId) -> Option<&NodeRecord> {
        self.nodes.get(usize::try_from(node.0.checked_sub(self.first_node)?).ok()?)
    }

    /// Change of a node of the files; `None` if it did not change.
    #[inline]
    pub(crate) fn node_change(&self, node: NodeId) -> Option<&NodeChange> {
        if self.node_changes.is_empty() {
            return None;
        }
        self.node_changes.get(&node.0).map(|change| &**change)
    }

    /// The properties of an edge made here.
    #[inline]
    pub(crate) fn properties_of_edge(&self, edge: EdgeId) -> Option<&Properties> {
        self.properties_at(ordinal(edge)?)
    }

    #[inline]
    fn properties_at(&self, ordinal: u32) -> Option<&Properties> {
        if !self.edge_properties.is_empty()
            && let Some(properties) = self.edge_properties.get(&ordinal)
        {
            return Some(properties);
        }
        self.edges.properties(ordinal)
    }

    /// The properties of an edge made here, for change.
    pub(crate) fn properties_of_edge_mut(&mut self, edge: EdgeId) -> Option<&mut Properties> {
        let ordinal = ordinal(edge)?;
        let made = self.edges.properties(ordinal)?;
        self.own_properties_changed = true;
        Some(self.edge_properties.entry(ordinal).or_insert_with(|| made.clone()))
    }

    /// The number of an edge made here, deleted or not.
    #[inline]
    pub(crate) fn edge_number(&self, edge: EdgeId) -> Option<u64> {
        self.edges.number(ordinal(edge)?)
    }

    /// The edges made here with their numbers and properties, in order.
    pub(crate) fn new_edges(&self) -> impl Iterator<Item = (Link, u64, &Properties)> {
        let edge =
            |ordinal| Some((self.edges.get(ordinal)?, self.edges.number(ordinal)?, self.properties_at(ordinal)?));
        (0..self.edges.len() as u32).filter_map(edge)
    }

    /// Puts the edges of a transaction to those that were committed before it.
    pub(crate) fn settle(&mut self) {
        self.edges.settle();
        self.base_edges_deleted.settle();
        self.own_deleted = Vector::new();
        self.own_properties_changed = false;
    }

    /// True if a transaction that has not settled yet made or deleted edges.
    pub(crate) fn changed_own_edges(&self) -> bool {
        self.edges.has_own() || !self.own_deleted.is_empty()
    }

    /// Change of an edge of the files; `None` if it did not change.
    #[inline]
    pub(crate) fn edge_change(&self, edge: EdgeId) -> Option<&EdgeChange> {
        if self.edge_changes.is_empty() {
            return None;
        }
        self.edge_changes.get(&edge.0)
    }

    /// The nodes made here from an id on, with their ids, except for long stretches of unused ids.
    pub(crate) fn new_nodes(&self, from: NodeId) -> impl Iterator<Item = (NodeId, &NodeRecord)> {
        let first = from.0.saturating_sub(self.first_node) as usize;
        let runs = self.gaps.used(first.min(self.nodes.len()), self.nodes.len());
        runs.into_iter().flat_map(move |run| {
            let ids = (self.first_node + run.start as u64..).map(NodeId);
            ids.zip(self.nodes.focus().narrow(run))
        })
    }

    /// Adds the node with an id that nobody has.
    pub(crate) fn put_node(&mut self, node: NodeId, labels: &Arc<[LabelId]>, properties: Properties) {
        self.bytes += weight::NODE + properties.bytes();
        let Some(at) = node.0.checked_sub(self.first_node) else {
            let change = NodeChange { is_deleted: false, labels: Some(labels.clone()), properties };
            self.node_changes.insert(node.0, Arc::new(change));
            return;
        };
        let at = at as usize;
        let record = NodeRecord { labels: labels.clone(), properties, is_deleted: false };
        let end = self.nodes.len();
        if at < end {
            self.gaps.take(at);
            self.nodes.set(at, record);
            return;
        }
        if end < at {
            self.bytes += weight::NODE;
            self.gaps.add(end..at);
            self.nodes.append(gaps::unused_nodes(at - end));
        }
        self.nodes.push_back(record);
    }

    /// Adds an edge, whose number nobody has. The caller has seen to it that its ends exist and counts it.
    pub(crate) fn push_edge(
        &mut self,
        source: NodeId,
        target: NodeId,
        edge_type: EdgeTypeId,
        number: u64,
        properties: Properties,
    ) -> EdgeId {
        self.bytes += weight::EDGE + properties.bytes();
        self.edge_number_bound = self.edge_number_bound.max(number + 1);
        edge_id(self.edges.push(source, target, edge_type, number, properties))
    }

    /// The record of a node made here, for change.
    pub(crate) fn node_mut(&mut self, node: NodeId) -> Option<&mut NodeRecord> {
        self.nodes.get_mut(usize::try_from(node.0.checked_sub(self.first_node)?).ok()?)
    }

    /// Mutable change of a node of the files.
    pub(crate) fn node_change_mut(&mut self, node: NodeId) -> &mut NodeChange {
        let bytes = &mut self.bytes;
        let change = self.node_changes.entry(node.0).or_insert_with(|| {
            *bytes += weight::CHANGE;
            Arc::default()
        });
        Arc::make_mut(change)
    }

    /// Mutable change of an edge of the files.
    pub(crate) fn edge_change_mut(&mut self, edge: EdgeId) -> &mut EdgeChange {
        self.own_properties_changed = true;
        let bytes = &mut self.bytes;
        self.edge_changes.entry(edge.0).or_insert_with(|| {
            *bytes += weight::CHANGE;
            EdgeChange::default()
        })
    }

    /// Marks an edge made here as deleted; its type, or `None` if it is gone already.
    pub(crate) fn delete_edge(&mut self, edge: EdgeId) -> Option<EdgeTypeId> {
        let ordinal = ordinal(edge)?;
        let link = self.edges.get(ordinal).filter(|link| !link.is_deleted)?;
        let edge_type = link.edge_type;
        self.own_deleted.push_back((edge_type, link.source, link.target));
        self.edges.delete(ordinal);
        self.edge_properties.remove(&ordinal);
        self.edges_deleted += 1;
        // A deleted entry still takes its room.
        self.bytes += 48;
        Some(edge_type)
    }

    /// Marks an edge of the files as deleted. The caller has seen to it that it is there.
    pub(crate) fn delete_base_edge(&mut self, edge: EdgeId, source: NodeId, target: NodeId, edge_type: EdgeTypeId) {
        let change = self.edge_change_mut(edge);
        change.is_deleted = true;
        change.properties = Properties::default();
        self.bytes += weight::EDGE;
        self.own_deleted.push_back((edge_type, source, target));
        // Only ends and type of these are asked for.
        self.base_edges_deleted.push(source, target, edge_type, 0, Properties::default());
    }

    /// Counts nodes of these labels in (1) or out (-1).
    pub(crate) fn count_nodes(&mut self, labels: &[LabelId], nodes: i64) {
        let statistics = Arc::make_mut(&mut self.statistics);
        statistics.nodes = statistics.nodes.saturating_add_signed(nodes);
        labels.iter().for_each(|&label| count(&mut statistics.nodes_by_label, label, nodes));
    }

    /// Counts a label given to nodes, or taken from them (`nodes` is negative then).
    pub(crate) fn count_label(&mut self, label: LabelId, nodes: i64) {
        count(&mut Arc::make_mut(&mut self.statistics).nodes_by_label, label, nodes);
    }

    /// Counts edges of a type in or out.
    pub(crate) fn count_edges(&mut self, edge_type: EdgeTypeId, edges: i64) {
        let statistics = Arc::make_mut(&mut self.statistics);
        statistics.edges = statistics.edges.saturating_add_signed(edges);
        count(&mut statistics.edges_by_type, edge_type, edges);
    }

    /// True if an index was built into a run that no manifest names yet.
    pub(crate) fn holds_built_indexes(&self) -> bool {
        self.ordered.iter().any(OrderedEntries::is_built) || self.indexes.iter().any(|index| index.built().is_some())
    }

    /// True if nothing was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

/// Most edges that may be made between two flushes.
pub(crate) const EDGES_MAX: usize = u32::MAX as usize;

/// The id of an edge made here.
#[inline]
pub(crate) fn edge_id(ordinal: u32) -> EdgeId {
    EdgeId(MEMTABLE_EDGE_BIT | u64::from(ordinal))
}

/// The place of an edge among those made here; `None` for edges of the files.
#[inline]
pub(crate) fn ordinal(edge: EdgeId) -> Option<u32> {
    u32::try_from(edge.0 ^ MEMTABLE_EDGE_BIT).ok()
}

fn count<K: Eq + std::hash::Hash + Copy>(counts: &mut Map<K, u64>, key: K, difference: i64) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add_signed(difference);
    if *count == 0 {
        counts.remove(&key);
    }
}
