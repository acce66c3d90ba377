//! Reading a state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::store::chosen::expand_chosen;
use model::store::{EdgeCursor, EdgeIds, EdgePartitions, NO_EDGE_NUMBER, NodeCursor};
use model::{
    Bitmap, Capabilities, Column, ColumnBuilder, Direction, EdgeBatch, EdgeId, Expand, LabelId, NodeBatch, NodeId,
    NodeScan, PropertyKeyId, ReadView, Result, Schema, Statistics, Value,
};

use super::state::{EdgeRecord, Properties, State};
use super::{Ids, Options};

/// One moment of a reference store, or the inside of a transaction.
#[derive(Clone, Debug)]
pub(super) struct ReferenceView {
    pub(super) state: Arc<State>,
    pub(super) options: Options,
    pub(super) calls: Arc<AtomicU64>,
}

impl ReferenceView {
    fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    fn node_columns(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Vec<Column> {
        columns(keys, nodes.iter().map(|id| self.state.nodes.get(id).map(|node| &node.properties)))
    }

    pub(super) fn edge_columns(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Vec<Column> {
        columns(keys, edges.iter().map(|id| self.state.edges.get(id).map(|edge| &edge.properties)))
    }

    /// The edges of one node that an expansion finds.
    fn steps(&self, input: u32, node: NodeId, expand: &Expand, steps: &mut Vec<Step>) {
        let Some(record) = self.state.nodes.get(&node) else { return };
        let wanted = |edge: &EdgeRecord| expand.types.as_ref().is_none_or(|types| types.contains(&edge.edge_type));
        if expand.direction != Direction::In {
            let edges = record.out_edges.iter().map(|id| (*id, &self.state.edges[id]));
            let found = edges.filter(|(_, edge)| wanted(edge));
            steps.extend(found.map(|(id, edge)| Step { input, edge: id, neighbor: edge.target, is_reversed: false }));
        }
        if expand.direction != Direction::Out {
            let edges = record.in_edges.iter().map(|id| (*id, &self.state.edges[id]));
            let is_first_sight = |edge: &EdgeRecord| expand.direction == Direction::In || edge.source != edge.target;
            let found = edges.filter(|(_, edge)| wanted(edge) && is_first_sight(edge));
            steps.extend(found.map(|(id, edge)| Step { input, edge: id, neighbor: edge.source, is_reversed: true }));
        }
    }
}

/// One column for each key from the properties of each row; `None` for what does not exist.
fn columns<'a>(keys: &[PropertyKeyId], rows: impl Iterator<Item = Option<&'a Properties>>) -> Vec<Column> {
    let mut builders = vec![ColumnBuilder::default(); keys.len()];
    for properties in rows {
        for (builder, key) in builders.iter_mut().zip(keys) {
            builder.push(properties.and_then(|properties| properties.get(key)).unwrap_or(&Value::Null));
        }
    }
    builders.into_iter().map(ColumnBuilder::finish).collect()
}

impl ReadView for ReferenceView {
    fn schema(&self) -> &Schema {
        &self.state.schema
    }

    fn statistics(&self) -> &Statistics {
        self.state.statistics()
    }

    fn capabilities(&self) -> Capabilities {
        self.options.capabilities
    }

    fn node_id_bound(&self) -> u64 {
        match self.options.ids {
            Ids::Dense => self.state.nodes_created,
            Ids::Sparse => 0,
        }
    }

    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>> {
        self.count_call();
        let in_range = |id: &NodeId| scan.range.as_ref().is_none_or(|range| range.contains(&id.0));
        let nodes = self
            .state
            .nodes
            .iter()
            .filter(|(id, node)| in_range(id) && scan.labels.iter().all(|label| node.labels.contains(label)));
        let nodes: Vec<NodeId> = nodes.map(|(id, _)| *id).collect();
        Ok(Box::new(ScanCursor { view: self, nodes, keys: scan.keys.clone(), position: 0 }))
    }

    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>> {
        if expand.is_chosen() {
            return expand_chosen(self, from, expand);
        }
        self.count_call();
        let mut steps = Vec::new();
        for (input, &node) in from.iter().enumerate() {
            self.steps(input as u32, node, expand, &mut steps);
        }
        let batch_rows = self.options.batch_rows;
        Ok(Box::new(ExpandCursor { view: self, expand, steps, position: 0, batch_rows }))
    }

    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.count_call();
        Ok(self.node_columns(nodes, keys))
    }

    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.count_call();
        Ok(self.edge_columns(edges, keys))
    }

    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        self.count_call();
        let labels = |id| self.state.nodes.get(id).map_or_else(Vec::new, |node| node.labels.iter().copied().collect());
        Ok(nodes.iter().map(labels).collect())
    }

    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        self.count_call();
        Ok(nodes.iter().map(|id| self.state.nodes.contains_key(id)).collect())
    }

    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        self.count_call();
        Ok(edges.iter().map(|id| self.state.edges.contains_key(id)).collect())
    }

    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        self.count_call();
        let number = |id| self.state.edges.get(id).map_or(NO_EDGE_NUMBER, |edge| edge.number);
        Ok(edges.iter().map(number).collect())
    }

    fn edge_partitions(&self) -> Option<&dyn EdgePartitions> {
        if self.options.capabilities.streams_edges { Some(self) } else { None }
    }
}

struct ScanCursor<'a> {
    view: &'a ReferenceView,
    nodes: Vec<NodeId>,
    keys: Vec<PropertyKeyId>,
    position: usize,
}

impl NodeCursor for ScanCursor<'_> {
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool> {
        out.clear();
        let end = self.nodes.len().min(self.position + self.view.options.batch_rows);
        let nodes = &self.nodes[self.position..end];
        self.position = end;
        if nodes.is_empty() {
            return Ok(false);
        }
        out.nodes.extend_from_slice(nodes);
        out.properties = self.view.node_columns(nodes, &self.keys);
        Ok(true)
    }
}

/// One row of an expansion.
struct Step {
    input: u32,
    edge: EdgeId,
    neighbor: NodeId,
    is_reversed: bool,
}

struct ExpandCursor<'a> {
    view: &'a ReferenceView,
    expand: &'a Expand,
    steps: Vec<Step>,
    position: usize,
    batch_rows: usize,
}

impl EdgeCursor for ExpandCursor<'_> {
    fn limit_batches(&mut self, rows: usize) {
        self.batch_rows = rows.clamp(1, self.view.options.batch_rows);
    }

    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        out.clear();
        let end = self.steps.len().min(self.position + self.batch_rows);
        let steps = &self.steps[self.position..end];
        self.position = end;
        if steps.is_empty() {
            return Ok(false);
        }
        let edges: Vec<EdgeId> = steps.iter().map(|step| step.edge).collect();
        out.inputs.extend(steps.iter().map(|step| step.input));
        out.neighbors.extend(steps.iter().map(|step| step.neighbor));
        out.types.extend(edges.iter().map(|id| self.view.state.edges[id].edge_type));
        if self.expand.direction == Direction::Both {
            out.reversed.extend(steps.iter().map(|step| step.is_reversed));
        }
        out.properties = self.view.edge_columns(&edges, &self.expand.keys);
        if self.expand.edge_ids == EdgeIds::Include {
            out.edges = edges;
        }
        Ok(true)
    }
}
