//! A graph at one moment, with the writes of a transaction over it: rows that were read, then what the transaction changed.

pub(crate) mod index;

mod edges;
mod expand;
mod nodes;
mod pages;
mod scan;

use std::sync::Arc;

use model::store::chosen::{Chooser, Choosing};
use model::store::{EdgeBlockCursor, EdgeCursor, EdgeStream, ElementId, Moment, NO_EDGE_NUMBER, NodeCursor, Topology};
use model::{
    Bitmap, Capabilities, Column, ColumnBuilder, Count, EdgeId, EdgeValue, Expand, IndexCursor, IndexScan, LabelId,
    Map, MemoryBudget, NodeId, NodeScan, PropertyKeyId, ReadView, Result, Schema, Statistics, Value,
};

use crate::overlay::Overlay;
use crate::reader::Reader;
use crate::rows::{EdgeData, EdgeVersion, NodeData, NodeVersion, property};
use crate::state::State;

/// A moment, and what a transaction wrote since.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) reader: Reader,
    pub(crate) state: Arc<State>,
    pub(crate) own: Overlay,
    pub(crate) capabilities: Capabilities,
    /// Number of the store, as long as it is open.
    pub(crate) store: u64,
    /// True inside of a transaction.
    pub(crate) is_transaction: bool,
    /// The budget to which pages of scans are charged.
    pub(crate) memory: Arc<MemoryBudget>,
    /// Rows of such a page at most.
    pub(crate) scan_rows: u32,
}

impl View {
    /// Nodes that the transaction has not touched, as they were read.
    pub(crate) fn base_nodes(&self, ids: &[NodeId]) -> Result<Map<NodeId, NodeVersion>> {
        self.reader.nodes(ids.iter().copied().filter(|id| !self.own.nodes.contains_key(id)))
    }

    /// Edges that the transaction has not touched, as they were read.
    pub(crate) fn base_edges(&self, edges: &[EdgeId]) -> Result<Map<u64, EdgeVersion>> {
        self.reader.edges(edges.iter().map(|edge| edge.0).filter(|number| !self.own.edges.contains_key(number)))
    }

    /// Content of nodes; `None` for those that are not there.
    pub(crate) fn nodes(&self, ids: &[NodeId]) -> Result<Vec<Option<Arc<NodeData>>>> {
        let base = self.base_nodes(ids)?;
        let content = |id: &NodeId| match self.own.nodes.get(id) {
            Some(touched) => touched.new.clone(),
            None => base.get(id).map(|version| version.data.clone()),
        };
        Ok(ids.iter().map(content).collect())
    }

    /// Content of edges; `None` for those that are not there.
    pub(crate) fn edges(&self, edges: &[EdgeId]) -> Result<Vec<Option<Arc<EdgeData>>>> {
        let base = self.base_edges(edges)?;
        let content = |edge: &EdgeId| match self.own.edges.get(&edge.0) {
            Some(touched) => touched.new.clone(),
            None => base.get(&edge.0).map(|version| version.data.clone()),
        };
        Ok(edges.iter().map(content).collect())
    }
}

/// One column for each key from the properties of each row; `None` for what is not there.
pub(crate) fn columns<'a>(
    keys: &[PropertyKeyId],
    rows: impl Iterator<Item = Option<&'a [(PropertyKeyId, Value)]>>,
) -> Vec<Column> {
    let mut builders = vec![ColumnBuilder::default(); keys.len()];
    for properties in rows {
        for (builder, &key) in builders.iter_mut().zip(keys) {
            builder.push(properties.and_then(|properties| property(properties, key)).unwrap_or(&Value::Null));
        }
    }
    builders.into_iter().map(ColumnBuilder::finish).collect()
}

impl ReadView for View {
    fn schema(&self) -> &Schema {
        &self.own.schema
    }

    fn statistics(&self) -> &Statistics {
        &self.own.statistics
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn node_id_bound(&self) -> u64 {
        self.state.next.nodes.max(self.own.node_bound)
    }

    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>> {
        if nodes::AllNodes::serves(self, scan) {
            return Ok(Box::new(nodes::AllNodes::new(self)));
        }
        Ok(Box::new(scan::ScanCursor::new(self, scan)))
    }

    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>> {
        if !expand.is_chosen() {
            return Ok(Box::new(expand::ExpandCursor::new(self, from, expand.clone(), &[])));
        }
        let (plain, chooser) = Chooser::new(expand);
        let cursor = expand::ExpandCursor::new(self, from, plain, &expand.ranges);
        Ok(Box::new(Choosing::new(cursor, chooser)))
    }

    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let found = self.nodes(nodes)?;
        Ok(columns(keys, found.iter().map(|node| node.as_ref().map(|node| &node.properties[..]))))
    }

    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let found = self.edges(edges)?;
        Ok(columns(keys, found.iter().map(|edge| edge.as_ref().map(|edge| &edge.properties[..]))))
    }

    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        let found = self.nodes(nodes)?;
        Ok(found.iter().map(|node| node.as_ref().map_or_else(Vec::new, |node| node.labels.clone())).collect())
    }

    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        Ok(self.nodes(nodes)?.iter().map(Option::is_some).collect())
    }

    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        Ok(self.edges(edges)?.iter().map(Option::is_some).collect())
    }

    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        let found = self.edges(edges)?;
        Ok(edges.iter().zip(found).map(|(edge, found)| found.map_or(NO_EDGE_NUMBER, |_| edge.0)).collect())
    }

    fn find_edges(&self, element_ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
        let wanted: Vec<Option<ElementId>> = element_ids.iter().map(|text| ElementId::parse(text)).collect();
        let ids: Vec<EdgeId> =
            wanted.iter().map(|wanted| EdgeId(wanted.map_or(NO_EDGE_NUMBER, |wanted| wanted.number))).collect();
        let found = self.edges(&ids)?;
        let matching = |((wanted, id), found): ((Option<ElementId>, EdgeId), Option<Arc<EdgeData>>)| {
            let (wanted, found) = (wanted?, found?);
            let ends = (wanted.edge_type, wanted.source, wanted.target);
            let is_same = ends == (found.edge_type, found.source, found.target);
            is_same.then_some(EdgeValue { id, source: ends.1, target: ends.2, edge_type: ends.0 })
        };
        Ok(wanted.into_iter().zip(ids).zip(found).map(matching).collect())
    }

    fn all_node_properties(&self, nodes: &[NodeId]) -> Result<Vec<Vec<(PropertyKeyId, Value)>>> {
        let found = self.nodes(nodes)?;
        Ok(found.iter().map(|node| node.as_ref().map_or_else(Vec::new, |node| node.properties.clone())).collect())
    }

    fn all_edge_properties(&self, edges: &[EdgeId]) -> Result<Vec<Vec<(PropertyKeyId, Value)>>> {
        let found = self.edges(edges)?;
        Ok(found.iter().map(|edge| edge.as_ref().map_or_else(Vec::new, |edge| edge.properties.clone())).collect())
    }

    fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
        index::lookup(self, label, key, values)
    }

    fn index_scan<'a>(&'a self, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        index::index_scan(self, scan)
    }

    fn count(&self, count: &Count) -> Result<Option<u64>> {
        let counts = self.statistics();
        Ok(match count {
            Count::Nodes(labels) => match labels[..] {
                [] => Some(counts.nodes),
                [label] => Some(counts.label(label)),
                _ => None,
            },
            Count::Edges(None) => Some(counts.edges),
            Count::Edges(Some(types)) => Some(types.iter().map(|&edge_type| counts.edge_type(edge_type)).sum()),
            Count::Matching(..) => None,
        })
    }

    fn all_edges<'a>(&'a self, stream: &EdgeStream) -> Result<Option<Box<dyn EdgeBlockCursor + 'a>>> {
        self.all_edges_part(stream, 0, 1)
    }

    fn all_edges_part<'a>(
        &'a self,
        stream: &EdgeStream,
        part: usize,
        parts: usize,
    ) -> Result<Option<Box<dyn EdgeBlockCursor + 'a>>> {
        Ok(Some(Box::new(edges::AllEdges::new(self, stream, part, parts))))
    }

    fn moment(&self) -> Option<Moment> {
        (!self.is_transaction).then_some(Moment { store: self.store, number: self.state.sequence })
    }

    fn topology(&self) -> Option<Topology> {
        let State { edges_changed: edges, edge_properties_changed: properties, .. } = *self.state;
        self.own.edges.is_empty().then_some(Topology { store: self.store, edges, properties })
    }
}
