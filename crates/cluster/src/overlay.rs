//! Writes of a transaction that is not committed yet: the nodes and edges that it touched, as they were and as they are.
//!
//! Persistent maps: a savepoint is a copy that costs nothing, and so is the state before a call that may fail.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use model::{EdgeTypeId, Map, NodeId, Schema, Statistics, Subject};

use crate::rows::{EdgeData, EdgeVersion, NodeData, NodeVersion, entry_bytes};
use crate::state::{NumberedIndex, State, indexes_of};

/// A node or an edge that a transaction touched.
#[derive(Clone, Debug)]
pub(crate) struct Touched<V, D> {
    /// As it was before; `None` if it is new.
    pub(crate) old: Option<V>,
    /// As it is now; `None` if it is deleted.
    pub(crate) new: Option<Arc<D>>,
}

/// An entry of an index: its number, values, and the node or the number of the edge.
pub(crate) type OwnEntry = (u32, Arc<[u8]>, u64);

/// Type and ends of an edge; those of a node say nothing.
pub(crate) type Ends = (EdgeTypeId, NodeId, NodeId);

/// Writes of a transaction; empty for a view that only reads.
#[derive(Clone, Debug)]
pub(crate) struct Overlay {
    pub(crate) schema: Arc<Schema>,
    pub(crate) statistics: Arc<Statistics>,
    pub(crate) nodes: OrdMap<NodeId, Touched<NodeVersion, NodeData>>,
    pub(crate) edges: OrdMap<u64, Touched<EdgeVersion, EdgeData>>,
    /// Sources, and targets, of the edges that it touched and that are there.
    pub(crate) out: OrdSet<(NodeId, u64)>,
    pub(crate) into: OrdSet<(NodeId, u64)>,
    /// Entries of what it touched; of an index that it made, all entries.
    pub(crate) entries: OrdMap<OwnEntry, Ends>,
    /// All indexes of the schema, by number.
    pub(crate) indexes: Arc<Vec<NumberedIndex>>,
    /// Numbers of indexes by name.
    pub(crate) numbers: Arc<Map<Arc<str>, u32>>,
    pub(crate) next_index: u32,
    /// The first number of an index that was made in the transaction.
    pub(crate) first_fresh: u32,
    /// True if constraints, indexes or sort keys changed.
    pub(crate) has_new_rules: bool,
    /// One more than the largest id of a node that it made.
    pub(crate) node_bound: u64,
}

impl Overlay {
    /// No writes over a state.
    pub(crate) fn new(state: &State) -> Overlay {
        Overlay {
            schema: state.schema.clone(),
            statistics: state.statistics.clone(),
            nodes: OrdMap::new(),
            edges: OrdMap::new(),
            out: OrdSet::new(),
            into: OrdSet::new(),
            entries: OrdMap::new(),
            indexes: Arc::new(indexes_of(&state.schema, &state.indexes)),
            numbers: state.indexes.clone(),
            next_index: state.next_index,
            first_fresh: state.next_index,
            has_new_rules: false,
            node_bound: 0,
        }
    }

    /// Takes over changed rules.
    pub(crate) fn set_rules(&mut self, change: impl FnOnce(&mut Schema, &mut Map<Arc<str>, u32>, &mut u32)) {
        self.has_new_rules = true;
        let numbers = Arc::make_mut(&mut self.numbers);
        change(Arc::make_mut(&mut self.schema), numbers, &mut self.next_index);
        self.indexes = Arc::new(indexes_of(&self.schema, &self.numbers));
    }

    /// The index of that name.
    pub(crate) fn index(&self, name: &str) -> Option<&NumberedIndex> {
        self.indexes.iter().find(|index| &*index.name == name)
    }

    /// True if an index was made in the transaction, so that no table has entries of it.
    pub(crate) fn is_fresh(&self, index: &NumberedIndex) -> bool {
        index.number >= self.first_fresh
    }

    /// Adds an entry of an index that was made in the transaction.
    pub(crate) fn put_entry(&mut self, index: u32, bytes: Vec<u8>, id: u64, ends: Ends) {
        self.entries.insert((index, Arc::from(bytes), id), ends);
    }

    /// Sets a node as it is now. What it was before is that of the first call.
    pub(crate) fn put_node(&mut self, id: NodeId, old: Option<NodeVersion>, new: Option<NodeData>) {
        let new = new.map(Arc::new);
        let before = self.nodes.get(&id).cloned();
        let was = match &before {
            Some(touched) => touched.new.clone(),
            None => old.as_ref().map(|version| version.data.clone()),
        };
        let old = before.map_or(old, |touched| touched.old);
        self.count_node(was.as_deref(), new.as_deref());
        if let Some(was) = &was {
            self.take_entries(id.0, |index| node_entry(index, was));
        }
        if let Some(new) = &new {
            self.give_entries(id.0, Ends::default(), |index| node_entry(index, new));
            self.node_bound = self.node_bound.max(id.0 + 1);
        }
        self.nodes.insert(id, Touched { old, new });
    }

    /// Sets an edge as it is now. What it was before is that of the first call.
    pub(crate) fn put_edge(&mut self, number: u64, old: Option<EdgeVersion>, new: Option<EdgeData>) {
        let new = new.map(Arc::new);
        let before = self.edges.get(&number).cloned();
        let was = match &before {
            Some(touched) => touched.new.clone(),
            None => old.as_ref().map(|version| version.data.clone()),
        };
        let old = before.map_or(old, |touched| touched.old);
        self.count_edge(was.as_deref(), new.as_deref());
        if let Some(was) = &was {
            self.out.remove(&(was.source, number));
            self.into.remove(&(was.target, number));
            self.take_entries(number, |index| edge_entry(index, was));
        }
        if let Some(new) = &new {
            self.out.insert((new.source, number));
            self.into.insert((new.target, number));
            let ends = (new.edge_type, new.source, new.target);
            self.give_entries(number, ends, |index| edge_entry(index, new));
        }
        self.edges.insert(number, Touched { old, new });
    }

    fn take_entries(&mut self, id: u64, entry: impl Fn(&NumberedIndex) -> Option<Vec<u8>>) {
        for index in self.indexes.iter() {
            if let Some(bytes) = entry(index) {
                self.entries.remove(&(index.number, Arc::from(bytes), id));
            }
        }
    }

    fn give_entries(&mut self, id: u64, ends: Ends, entry: impl Fn(&NumberedIndex) -> Option<Vec<u8>>) {
        for index in self.indexes.iter() {
            if let Some(bytes) = entry(index) {
                self.entries.insert((index.number, Arc::from(bytes), id), ends);
            }
        }
    }

    fn count_node(&mut self, was: Option<&NodeData>, new: Option<&NodeData>) {
        if was.is_some() == new.is_some() && was.map(|was| &was.labels) == new.map(|new| &new.labels) {
            return;
        }
        let statistics = Arc::make_mut(&mut self.statistics);
        for (data, change) in [(was, -1), (new, 1)] {
            let Some(data) = data else { continue };
            statistics.nodes = statistics.nodes.saturating_add_signed(change);
            for &label in &data.labels {
                let count = statistics.nodes_by_label.entry(label).or_default();
                *count = count.saturating_add_signed(change);
            }
        }
    }

    fn count_edge(&mut self, was: Option<&EdgeData>, new: Option<&EdgeData>) {
        if was.is_some() == new.is_some() {
            return;
        }
        let statistics = Arc::make_mut(&mut self.statistics);
        for (data, change) in [(was, -1), (new, 1)] {
            let Some(data) = data else { continue };
            statistics.edges = statistics.edges.saturating_add_signed(change);
            let count = statistics.edges_by_type.entry(data.edge_type).or_default();
            *count = count.saturating_add_signed(change);
        }
    }
}

/// The entry of a node in an index.
pub(crate) fn node_entry(index: &NumberedIndex, node: &NodeData) -> Option<Vec<u8>> {
    let Subject::Label(label) = index.subject else { return None };
    node.labels.binary_search(&label).ok()?;
    entry_bytes(&node.properties, &index.keys)
}

/// The entry of an edge in an index.
pub(crate) fn edge_entry(index: &NumberedIndex, edge: &EdgeData) -> Option<Vec<u8>> {
    if index.subject != Subject::EdgeType(edge.edge_type) {
        return None;
    }
    entry_bytes(&edge.properties, &index.keys)
}
