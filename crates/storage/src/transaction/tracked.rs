//! The snapshot of a transaction, which notes what is read of it if the transaction is serializable, and gives edges the ids
//! that they had before a stage of it was written into files.
//!
//! The transaction's own checks read past it: what they rest on is checked again when it commits.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use model::store::{AccessHint, EdgeCursor, EdgeDelta, EdgePartitions, ElementId, NodeCursor, Topology};
use model::{
    Bitmap, Capabilities, Column, Count, Direction, EdgeId, EdgeTypeId, EdgeValue, Expand, IndexCursor, IndexScan,
    IsolationLevel, LabelId, MemoryBudget, NodeId, NodeScan, PropertyKeyId, ReadView, Result, Schema, Statistics,
    Subject,
};

use crate::memtable::edge_id;
use crate::snapshot::Snapshot;
use crate::transaction::aliases::{Aliased, Aliases};
use crate::transaction::reads::{Read, ReadItems, Reads};

/// A snapshot, and what was read of it.
#[derive(Debug)]
pub(crate) struct Tracked {
    /// None once it was taken to be committed.
    snapshot: Option<Box<Snapshot>>,
    /// The ids of edges that moved into files meanwhile.
    pub(super) aliases: Aliases,
    /// None for a transaction that is not serializable.
    reads: Option<Box<Reads>>,
}

/// A snapshot is taken at the end of its transaction, which is not asked for anything from then on.
const IS_THERE: &str = "the transaction is open";

impl Deref for Tracked {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        self.snapshot()
    }
}

impl DerefMut for Tracked {
    fn deref_mut(&mut self) -> &mut Snapshot {
        self.snapshot.as_mut().expect(IS_THERE)
    }
}

impl Tracked {
    pub(crate) fn new(mut snapshot: Snapshot, isolation: IsolationLevel, memory: &Arc<MemoryBudget>) -> Tracked {
        snapshot.edges = snapshot.edges.in_transaction();
        let reads = (isolation == IsolationLevel::Serializable).then(|| Box::new(Reads::new(memory)));
        Tracked { snapshot: Some(Box::new(snapshot)), aliases: Aliases::default(), reads }
    }

    fn snapshot(&self) -> &Snapshot {
        self.snapshot.as_ref().expect(IS_THERE)
    }

    /// The view that statements read.
    pub(crate) fn view(&self) -> &dyn ReadView {
        if self.reads.is_some() || !self.aliases.is_empty() { self } else { self.snapshot() }
    }

    /// Goes on with another snapshot.
    pub(super) fn replace(&mut self, mut snapshot: Snapshot) {
        snapshot.edges = snapshot.edges.in_transaction();
        **self = snapshot;
    }

    /// The snapshot, for its commit.
    pub(super) fn take(&mut self) -> Box<Snapshot> {
        self.snapshot.take().expect(IS_THERE)
    }

    /// Passes on what was decided by looking at the state. That something cannot be done tells its author about the
    /// state, and whatever made it so may be anywhere.
    pub(crate) fn told<T>(&self, result: Result<T>) -> Result<T> {
        if let (Err(_), Some(reads)) = (&result, &self.reads) {
            reads.add_everything();
        }
        result
    }

    /// Items read so far; none for a transaction that is not serializable.
    pub(crate) fn take_reads(&self) -> Option<ReadItems> {
        self.reads.as_ref().map(|reads| reads.take())
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

    /// Edges as the snapshot knows them; ids that nothing has for those that are gone. The place of an edge that a stage
    /// deleted still holds its bytes, which nobody must see.
    fn there<'e>(&self, edges: &'e [EdgeId]) -> Result<Cow<'e, [EdgeId]>> {
        let mut inner = self.aliases.to_inner(edges)?;
        if !self.aliases.is_empty() {
            let exist = self.snapshot().edges_exist(&inner)?;
            let gone = (0..inner.len()).filter(|&row| !exist.get(row));
            for row in gone.collect::<Vec<_>>() {
                inner.to_mut()[row] = edge_id(u32::MAX);
            }
        }
        Ok(inner)
    }

    /// The edges of a node are one item with their properties.
    fn note_ends(&self, edges: &[EdgeId]) -> Result<()> {
        if self.reads.is_none() {
            return Ok(());
        }
        for &edge in edges {
            if let Some(ends) = self.snapshot().edge_ends(edge)? {
                self.note([Read::Edges { node: ends.source, edge_type: Some(ends.edge_type) }]);
            }
        }
        Ok(())
    }

    fn note_scan(&self, labels: &[LabelId], keys: &[PropertyKeyId]) {
        // A node that gets or loses one of the labels changes its members; a value changed otherwise may be one of any
        // label.
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
        self.snapshot().schema()
    }

    fn statistics(&self) -> &Statistics {
        if let Some(reads) = &self.reads {
            reads.add_everything();
        }
        self.snapshot().statistics()
    }

    fn estimates(&self) -> &Statistics {
        self.snapshot().statistics()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { streams_edges: self.aliases.is_empty(), ..self.snapshot().capabilities() }
    }

    fn node_id_bound(&self) -> u64 {
        self.snapshot().node_id_bound()
    }

    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>> {
        self.note_scan(&scan.labels, &scan.keys);
        self.snapshot().scan(scan)
    }

    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>> {
        self.note_edges(from, expand.types.as_deref());
        let inner = self.snapshot().expand(from, expand)?;
        if self.aliases.is_empty() {
            return Ok(inner);
        }
        Ok(Box::new(Aliased { inner, aliases: &self.aliases }))
    }

    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.note(nodes.iter().map(|&node| Read::Node(node)));
        self.snapshot().node_properties(nodes, keys)
    }

    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let edges = &*self.there(edges)?;
        self.note_ends(edges)?;
        self.snapshot().edge_properties(edges, keys)
    }

    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        self.note(nodes.iter().map(|&node| Read::Labels(node)));
        self.snapshot().node_labels(nodes)
    }

    fn has_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Bitmap> {
        self.note(nodes.iter().map(|&node| Read::Labels(node)));
        self.snapshot().has_label(nodes, label)
    }

    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        self.note(nodes.iter().map(|&node| Read::Labels(node)));
        self.snapshot().nodes_exist(nodes)
    }

    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        let edges = &*self.aliases.to_inner(edges)?;
        self.note_ends(edges)?;
        self.snapshot().edges_exist(edges)
    }

    /// Not noted: the number of an edge never changes.
    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        self.snapshot().edge_numbers(&self.there(edges)?)
    }

    fn find_edges(&self, element_ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
        let keys = element_ids.iter().filter_map(|id| ElementId::parse(id));
        self.note(keys.map(|id| Read::Edges { node: id.source, edge_type: Some(id.edge_type) }));
        let mut found = self.snapshot().find_edges(element_ids)?;
        for edge in found.iter_mut().flatten() {
            self.aliases.to_visible(std::slice::from_mut(&mut edge.id))?;
        }
        Ok(found)
    }

    fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
        if self.snapshot().schema().constraints.iter().any(|of| of.lookup_key() == Some((label, key))) {
            self.note_entries(label, key, values);
        } else {
            self.note_scan(&[label], &[key]);
        }
        self.snapshot().lookup(label, key, values)
    }

    fn index_scan<'a>(&'a self, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        match (scan.index.subject, scan.equal.first(), scan.index.keys.first()) {
            (Subject::EdgeType(edge_type), ..) => self.note([Read::EdgesOf(Some(edge_type))]),
            (Subject::Label(label), Some(values), Some(&key)) => self.note_entries(label, key, values),
            (Subject::Label(label), ..) => self.note_scan(&[label], &scan.index.keys),
        }
        let inner = self.snapshot().index_scan(scan)?;
        if self.aliases.is_empty() {
            return Ok(inner);
        }
        Ok(Box::new(Aliased { inner, aliases: &self.aliases }))
    }

    fn count(&self, count: &Count) -> Result<Option<u64>> {
        if self.reads.is_some() { Ok(None) } else { ReadView::count(self.snapshot(), count) }
    }

    fn degrees(&self, from: &[NodeId], direction: Direction, types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        self.note_edges(from, types);
        self.snapshot().degrees(from, direction, types)
    }

    fn loops(&self, nodes: &[NodeId], types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        self.note_edges(nodes, types);
        self.snapshot().loops(nodes, types)
    }

    fn prefetch(&self, hint: &AccessHint<'_>) {
        self.snapshot().prefetch(hint);
    }

    fn edge_partitions(&self) -> Option<&dyn EdgePartitions> {
        self.note([Read::EdgesOf(None)]);
        // Those of the files tell other ids than those that the transaction has given out.
        if self.aliases.is_empty() { self.snapshot().edge_partitions() } else { None }
    }

    /// Counts as a read: a caller that knows the edges of that name has read them.
    fn topology(&self) -> Option<Topology> {
        self.note([Read::EdgesOf(None)]);
        self.snapshot().topology()
    }

    fn edges_since(&self, before: &Topology) -> Result<Option<EdgeDelta>> {
        self.note([Read::EdgesOf(None)]);
        self.snapshot().edges_since(before)
    }
}
