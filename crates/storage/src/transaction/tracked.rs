//! The snapshot of a transaction, which notes what is read of it if the transaction is serializable.
//!
//! The transaction's own checks read past it: what they rest on is checked again when it commits.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use model::store::{AccessHint, EdgeCursor, EdgeDelta, EdgePartitions, ElementId, NodeCursor, Topology};
use model::{
    Bitmap, Capabilities, Column, Direction, EdgeId, EdgeTypeId, EdgeValue, Expand, IndexCursor, IndexScan,
    IsolationLevel, LabelId, MemoryBudget, NodeId, NodeScan, PropertyKeyId, ReadView, Result, Schema, Statistics,
    Subject,
};

use crate::snapshot::Snapshot;
use crate::transaction::reads::{Read, ReadItems, Reads};

/// A snapshot, and what was read of it.
#[derive(Debug)]
pub(crate) struct Tracked {
    snapshot: Snapshot,
    /// None for a transaction that is not serializable.
    reads: Option<Reads>,
}

impl Deref for Tracked {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

impl DerefMut for Tracked {
    fn deref_mut(&mut self) -> &mut Snapshot {
        &mut self.snapshot
    }
}

impl Tracked {
    pub(crate) fn new(mut snapshot: Snapshot, isolation: IsolationLevel, memory: &Arc<MemoryBudget>) -> Tracked {
        snapshot.edges = snapshot.edges.in_transaction();
        let reads = (isolation == IsolationLevel::Serializable).then(|| Reads::new(memory));
        Tracked { snapshot, reads }
    }

    /// What statements read of it.
    pub(crate) fn view(&self) -> &dyn ReadView {
        if self.reads.is_some() { self } else { &self.snapshot }
    }

    /// Passes on what was decided by looking at the state. That something cannot be done tells its author about the
    /// state, and whatever made it so may be anywhere.
    pub(crate) fn told<T>(&self, result: Result<T>) -> Result<T> {
        if let (Err(_), Some(reads)) = (&result, &self.reads) {
            reads.add_everything();
        }
        result
    }

    /// What was read so far; none for a transaction that is not serializable.
    pub(crate) fn take_reads(&self) -> Option<ReadItems> {
        self.reads.as_ref().map(Reads::take)
    }

    fn note(&self, items: impl IntoIterator<Item = Read>) {
        if let Some(reads) = &self.reads {
            reads.add(items);
        }
    }

    fn note_edges(&self, nodes: &[NodeId], types: Option<&[EdgeTypeId]>) {
        match types {
            None => self.note(nodes.iter().map(|&node| Read::Edges { node, edge_type: None })),
            Some(types) => {
                let at = |node| types.iter().map(move |&edge_type| Read::Edges { node, edge_type: Some(edge_type) });
                self.note(nodes.iter().flat_map(|&node| at(node)));
            }
        }
    }

    /// The edges of a node are one item with their properties.
    fn note_ends(&self, edges: &[EdgeId]) -> Result<()> {
        for &edge in edges {
            if let Some(ends) = self.snapshot.edge_ends(edge)? {
                self.note([Read::Edges { node: ends.source, edge_type: Some(ends.edge_type) }]);
            }
        }
        Ok(())
    }

    fn note_scan(&self, labels: &[LabelId], keys: &[PropertyKeyId]) {
        // Who gets or loses one of the labels changes its members; a value changed otherwise is one of any of them.
        let label = labels.first().copied();
        self.note(keys.iter().map(|&key| Read::Values { label, key }));
        match label {
            None => self.note([Read::Members(None)]),
            Some(_) => self.note(labels.iter().map(|&label| Read::Members(Some(label)))),
        }
    }

    fn note_entries(&self, label: LabelId, key: PropertyKeyId, values: &Column) {
        self.note(values.values().filter(|value| !value.is_null()).map(|value| Read::entry(label, key, &value)));
    }
}

impl ReadView for Tracked {
    /// Not noted here: every serializable transaction counts as having read it.
    fn schema(&self) -> &Schema {
        self.snapshot.schema()
    }

    fn statistics(&self) -> &Statistics {
        if let Some(reads) = &self.reads {
            reads.add_everything();
        }
        self.snapshot.statistics()
    }

    fn estimates(&self) -> &Statistics {
        self.snapshot.statistics()
    }

    fn capabilities(&self) -> Capabilities {
        self.snapshot.capabilities()
    }

    fn node_id_bound(&self) -> u64 {
        self.snapshot.node_id_bound()
    }

    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>> {
        self.note_scan(&scan.labels, &scan.keys);
        self.snapshot.scan(scan)
    }

    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>> {
        self.note_edges(from, expand.types.as_deref());
        self.snapshot.expand(from, expand)
    }

    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.note(nodes.iter().map(|&node| Read::Node(node)));
        self.snapshot.node_properties(nodes, keys)
    }

    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.note_ends(edges)?;
        self.snapshot.edge_properties(edges, keys)
    }

    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        self.note(nodes.iter().map(|&node| Read::Labels(node)));
        self.snapshot.node_labels(nodes)
    }

    fn has_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Bitmap> {
        self.note(nodes.iter().map(|&node| Read::Labels(node)));
        self.snapshot.has_label(nodes, label)
    }

    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        self.note(nodes.iter().map(|&node| Read::Labels(node)));
        self.snapshot.nodes_exist(nodes)
    }

    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        self.note_ends(edges)?;
        self.snapshot.edges_exist(edges)
    }

    /// Not noted: the number of an edge never changes.
    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        self.snapshot.edge_numbers(edges)
    }

    fn find_edges(&self, element_ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
        let keys = element_ids.iter().filter_map(|id| ElementId::parse(id));
        self.note(keys.map(|id| Read::Edges { node: id.source, edge_type: Some(id.edge_type) }));
        self.snapshot.find_edges(element_ids)
    }

    fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
        if self.snapshot.schema().constraints.iter().any(|of| of.lookup_key() == Some((label, key))) {
            self.note_entries(label, key, values);
        } else {
            self.note_scan(&[label], &[key]);
        }
        self.snapshot.lookup(label, key, values)
    }

    fn index_scan<'a>(&'a self, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        match (scan.index.subject, scan.equal.first(), scan.index.keys.first()) {
            (Subject::EdgeType(edge_type), ..) => self.note([Read::EdgesOf(Some(edge_type))]),
            (Subject::Label(label), Some(values), Some(&key)) => self.note_entries(label, key, values),
            (Subject::Label(label), ..) => self.note_scan(&[label], &scan.index.keys),
        }
        self.snapshot.index_scan(scan)
    }

    fn degrees(&self, from: &[NodeId], direction: Direction, types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        self.note_edges(from, types);
        self.snapshot.degrees(from, direction, types)
    }

    fn loops(&self, nodes: &[NodeId], types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        self.note_edges(nodes, types);
        self.snapshot.loops(nodes, types)
    }

    fn prefetch(&self, hint: &AccessHint<'_>) {
        self.snapshot.prefetch(hint);
    }

    fn edge_partitions(&self) -> Option<&dyn EdgePartitions> {
        self.note([Read::EdgesOf(None)]);
        self.snapshot.edge_partitions()
    }

    /// Whoever knows the edges of that name has read them.
    fn topology(&self) -> Option<Topology> {
        self.note([Read::EdgesOf(None)]);
        self.snapshot.topology()
    }

    fn edges_since(&self, before: &Topology) -> Result<Option<EdgeDelta>> {
        self.note([Read::EdgesOf(None)]);
        self.snapshot.edges_since(before)
    }
}
