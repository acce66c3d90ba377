//! A snapshot: a version of the files with a memtable root over it, read as one graph.
//!
//! Invariant: where the memtable says nothing about a node or edge, the files are right about it. Each read does the work
//! of merging only for the kinds of changes that the memtable holds.

mod between;
mod degree;
mod expand;
pub(crate) mod ordered;
mod partitions;
mod properties;
mod scan;

use std::sync::Arc;

use model::column::ColumnBuilder;
use model::store::chosen::{Chooser, Choosing};
use model::store::{EdgeCursor, EdgeDelta, EdgePartitions, KnownEnds, Moment, NodeCursor, Topology, lookup_by_scan};
use model::{
    Bitmap, Capabilities, Column, Count, Direction, EdgeId, EdgeTypeId, EdgeValue, Expand, IndexCursor, IndexScan,
    LabelId, NodeId, NodeScan, PropertyKeyId, ReadView, Result, Schema, Statistics, Value,
};

use crate::error::StorageError;
use crate::history::EdgeState;
use crate::index::{KeyIndex, hash_row};
use crate::memtable::{self, Memtable};
use crate::version::Version;
use crate::wal::record::{EdgeKey, Ends};

/// One moment of a store.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) version: Arc<Version>,
    pub(crate) memtable: Memtable,
    /// The state of what is committed of the edges.
    pub(crate) edges: EdgeState,
}

/// Capabilities of the native store.
pub(crate) fn capabilities(writes: bool) -> Capabilities {
    Capabilities {
        writes,
        dense_node_ids: true,
        expands_against_direction: true,
        looks_up_by_key: true,
        streams_edges: true,
        is_remote: false,
        flexible_schema: true,
    }
}

impl Snapshot {
    /// The state of the files, with nothing written since.
    pub(crate) fn new(version: Arc<Version>) -> Snapshot {
        let manifest = version.manifest();
        let schema = Arc::new(manifest.schema.clone());
        let statistics = Arc::new(manifest.statistics.clone());
        let memtable = Memtable::new(schema, statistics, manifest.node_id_bound, manifest.edge_number_bound);
        Snapshot { version, memtable, edges: EdgeState::new() }
    }

    /// A value, unless the bytes that it rests on could not be read.
    #[inline]
    pub(crate) fn sound<T>(&self, value: T) -> Result<T> {
        self.version.check_reads()?;
        Ok(value)
    }

    /// The same for a batch of edges that names these nodes, one at least. None is beyond the nodes that were ever
    /// made, so that a caller that keeps something for each node has a place for it.
    ///
    /// Cost: three operations a node on registers of several nodes; a maximum of 64 bits has no instruction on most processors,
    /// and took a third of an expansion.
    fn sound_edges(&self, nodes: impl Iterator<Item = u64> + Clone) -> Result<bool> {
        let bound = self.node_id_bound();
        // The difference of two numbers below 2^63 has the upper bit if it is negative.
        let (below, all) = (nodes.clone())
            .fold((u64::MAX, bound), |(below, all), node| (below & node.wrapping_sub(bound), all | node));
        if (below & !all) >> 63 == 0 {
            let largest = nodes.fold(0, u64::max);
            let problem = format!("an edge joins node {largest}, which was never made");
            return Err(StorageError::corrupt(self.version.directory(), 0, problem));
        }
        self.sound(true)
    }

    /// True if something was written that had better be in files soon: an index that was built, or a sort key.
    pub(crate) fn wants_files(&self) -> bool {
        let declared = &self.memtable.schema.sort_keys;
        self.memtable.holds_built_indexes() || *declared != self.version.manifest().schema.sort_keys
    }

    /// True if the node exists.
    pub(crate) fn node_exists(&self, node: NodeId) -> Result<bool> {
        if node.0 >= self.memtable.first_node {
            return Ok(self.memtable.node(node).is_some_and(|record| !record.is_deleted));
        }
        match self.memtable.node_change(node) {
            Some(change) if change.is_deleted => Ok(false),
            Some(change) if change.labels.is_some() => Ok(true),
            _ => self.version.node_exists(node),
        }
    }

    /// The labels of a node in order of their ids; none if it does not exist.
    pub(crate) fn labels_of(&self, node: NodeId) -> Result<Arc<[LabelId]>> {
        if node.0 >= self.memtable.first_node {
            return Ok(self.memtable.node(node).map_or_else(Arc::default, |record| record.labels.clone()));
        }
        match self.memtable.node_change(node) {
            Some(change) if change.is_deleted => return Ok(Arc::default()),
            Some(change) if change.labels.is_some() => return Ok(change.labels.clone().unwrap_or_default()),
            _ => {}
        }
        Ok(self.version.labels_of(node)?.into())
    }

    /// One property of a node; null if it has none.
    pub(crate) fn node_property(&self, node: NodeId, key: PropertyKeyId) -> Result<Value> {
        if node.0 >= self.memtable.first_node {
            return Ok(self
                .memtable
                .node(node)
                .and_then(|record| record.properties.get(key).cloned())
                .unwrap_or_default());
        }
        if let Some(change) = self.memtable.node_change(node) {
            if change.is_deleted {
                return Ok(Value::Null);
            }
            if let Some(value) = change.properties.get(key) {
                return Ok(value.clone());
            }
        }
        Ok(self.version.node_property(&[node], key)?.value(0))
    }

    /// The ends of an edge, if it exists.
    pub(crate) fn edge_ends(&self, edge: EdgeId) -> Result<Option<Ends>> {
        if let Some(ordinal) = memtable::ordinal(edge) {
            let link = self.memtable.edges.get(ordinal).filter(|link| !link.is_deleted);
            return Ok(link.map(|link| Ends { source: link.source, target: link.target, edge_type: link.edge_type }));
        }
        if self.memtable.edge_change(edge).is_some_and(|change| change.is_deleted) {
            return Ok(None);
        }
        let found = self.version.edge(edge)?;
        Ok(found.map(|(source, target, edge_type)| Ends { source, target, edge_type }))
    }

    /// The node that a run of a key index knows by a hash, if it has the label and the value now.
    fn owner_in(
        &self,
        run: &KeyIndex,
        label: LabelId,
        key: PropertyKeyId,
        value: &Value,
        hash: Option<u64>,
    ) -> Result<Option<NodeId>> {
        let mut nodes = Vec::new();
        hash.map_or(Ok(()), |hash| run.candidates(hash, |node, _| nodes.push(node)))?;
        for node in nodes {
            let has_value = self.node_property(node, key)?.equals(value) == Some(true);
            if has_value && self.labels_of(node)?.contains(&label) {
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    /// True unless the memtable says that a node of the files has lost the label or the value.
    fn still_has(&self, node: NodeId, label: LabelId, key: PropertyKeyId, value: &Value) -> bool {
        self.memtable.node_change(node).is_none_or(|change| {
            !change.is_deleted
                && change.labels.as_ref().is_none_or(|labels| labels.contains(&label))
                && change.properties.get(key).is_none_or(|found| found == value)
        })
    }
}

impl ReadView for Snapshot {
    fn schema(&self) -> &Schema {
        &self.memtable.schema
    }

    fn statistics(&self) -> &Statistics {
        &self.memtable.statistics
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(true)
    }

    fn node_id_bound(&self) -> u64 {
        self.memtable.node_id_bound()
    }

    fn count(&self, count: &Count) -> Result<Option<u64>> {
        let counts = self.statistics();
        Ok(match count {
            Count::Nodes(labels) => match labels.as_slice() {
                [] => Some(counts.nodes),
                [label] => Some(counts.label(*label)),
                _ => None,
            },
            Count::Matching(..) => None,
            Count::Edges(None) => Some(counts.edges),
            Count::Edges(Some(types)) => Some(types.iter().map(|&edge_type| counts.edge_type(edge_type)).sum()),
        })
    }

    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>> {
        Ok(Box::new(scan::ScanCursor::new(self, scan)))
    }

    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>> {
        if expand.top.is_some() {
            let (plain, chooser) = Chooser::new(expand);
            return Ok(Box::new(Choosing::new(expand::ExpandCursor::new(self, from, expand, plain.keys), chooser)));
        }
        Ok(Box::new(expand::ExpandCursor::new(self, from, expand, expand.keys.clone())))
    }

    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.sound(self.columns_of_nodes(nodes, keys)?)
    }

    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.sound(self.columns_of_edges(edges, keys)?)
    }

    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        let mut labels = self.version.node_labels(nodes)?;
        for (row, &node) in nodes.iter().enumerate() {
            if let Some(record) = self.memtable.node(node) {
                labels[row] = record.labels.to_vec();
            } else if let Some(change) = self.memtable.node_change(node) {
                match &change.labels {
                    _ if change.is_deleted => labels[row].clear(),
                    Some(now) => labels[row] = now.to_vec(),
                    None => {}
                }
            }
        }
        self.sound(labels)
    }

    fn has_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Bitmap> {
        let mut has = self.version.has_label(nodes, label)?;
        if self.memtable.nodes.is_empty() && self.memtable.node_changes.is_empty() {
            return self.sound(has);
        }
        for (row, &node) in nodes.iter().enumerate() {
            if let Some(record) = self.memtable.node(node) {
                has.set(row, record.labels.contains(&label));
            } else if let Some(change) = self.memtable.node_change(node) {
                match &change.labels {
                    _ if change.is_deleted => has.set(row, false),
                    Some(now) => has.set(row, now.contains(&label)),
                    None => {}
                }
            }
        }
        self.sound(has)
    }

    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        let mut exist = self.version.nodes_exist(nodes)?;
        if self.memtable.nodes.is_empty() && self.memtable.node_changes.is_empty() {
            return self.sound(exist);
        }
        for (row, &node) in nodes.iter().enumerate() {
            if let Some(record) = self.memtable.node(node) {
                exist.set(row, !record.is_deleted);
            } else if let Some(change) = self.memtable.node_change(node)
                && (change.is_deleted || change.labels.is_some())
            {
                exist.set(row, !change.is_deleted);
            }
        }
        self.sound(exist)
    }

    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        let mut exist = Bitmap::filled(edges.len(), false);
        for (row, &edge) in edges.iter().enumerate() {
            let is_there = match memtable::ordinal(edge) {
                Some(ordinal) => self.memtable.edges.get(ordinal).is_some_and(|link| !link.is_deleted),
                None => {
                    let is_deleted = self.memtable.edge_change(edge).is_some_and(|change| change.is_deleted);
                    !is_deleted && self.version.place(edge)?.is_some()
                }
            };
            exist.set(row, is_there);
        }
        self.sound(exist)
    }

    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        self.edge_numbers_of(edges)
    }

    fn find_edges(&self, element_ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
        let parsed: Vec<Option<EdgeKey>> = element_ids.iter().map(|text| EdgeKey::parse(text)).collect();
        let keys: Vec<EdgeKey> = parsed.iter().copied().flatten().collect();
        let mut found = self.edges_with_keys(&keys)?.into_iter();
        let edge = |key: Option<EdgeKey>| {
            let (Ends { source, target, edge_type }, id) = (key?.ends, found.next().flatten()?);
            Some(EdgeValue { id, source, target, edge_type })
        };
        Ok(parsed.into_iter().map(edge).collect())
    }

    fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
        let constraints = &self.memtable.schema.constraints;
        let Some(at) = constraints.iter().position(|of| of.lookup_key() == Some((label, key))) else {
            return lookup_by_scan(self, label, key, values);
        };
        let index = &self.memtable.indexes[at];
        let has_still = |row: usize, node| self.still_has(node, label, key, &values.value(row));
        let base = self.version.lookup_among(label, key, values, has_still)?;
        let mut nodes = ColumnBuilder::default();
        for row in 0..values.len() {
            let value = values.value(row);
            let mut found = index.get(&value).or_else(|| base.as_ref().and_then(|nodes| nodes[row]));
            if found.is_none()
                && let Some(run) = index.built()
            {
                found = self.owner_in(run, label, key, &value, hash_row(values, row))?;
            }
            nodes.push(&found.map_or(Value::Null, Value::Node));
        }
        self.sound(nodes.finish())
    }

    fn index_scan<'a>(&'a self, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        Ok(Box::new(ordered::OrderedCursor::new(self, scan)?))
    }

    fn degrees(&self, from: &[NodeId], direction: Direction, types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        self.sound(self.degrees_of(from, direction, types)?)
    }

    fn loops(&self, nodes: &[NodeId], types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        self.sound(self.loops_of(nodes, types)?)
    }

    fn edge_partitions(&self) -> Option<&dyn EdgePartitions> {
        Some(self)
    }

    fn moment(&self) -> Option<Moment> {
        self.edges.moment()
    }

    fn known_ends(&self) -> Option<&KnownEnds> {
        self.edges.known_ends()
    }

    fn topology(&self) -> Option<Topology> {
        let is_own = self.memtable.changed_own_edges() || self.memtable.own_properties_changed;
        (!is_own).then(|| self.edges.name())
    }

    fn edges_since(&self, before: &Topology) -> Result<Option<EdgeDelta>> {
        let is_own = self.memtable.changed_own_edges() || self.memtable.own_properties_changed;
        Ok(if is_own { None } else { self.edges.since(before) })
    }
}
