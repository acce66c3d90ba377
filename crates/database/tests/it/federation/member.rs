//! A member of a federation for tests: a reference store whose ids carry a number, with edges to nodes of other parts.
//!
//! A node of label `Ghost` stands for nodes of another part: those of label `All` whose `id` is the ghost's. Nobody sees
//! the ghosts themselves.

use std::sync::Arc;

use model::store::{EdgeCursor, EdgeIds, NewEdges, NewNodes, NodeCursor, Savepoint};
use model::{
    Bitmap, Capabilities, Column, Constraint, EdgeBatch, EdgeId, EdgeTypeId, EdgeValue, Expand, GraphStore, Index,
    IndexBatch, IndexCursor, IndexScan, Interrupt, LabelId, NodeBatch, NodeId, NodeScan, PropertyKeyId, ReadView,
    Result, Schema, SortKey, Statistics, Value, WriteTransaction,
};
use sources::federation::{MemberStore, MemberTransaction, MemberView};
use sources::store::Crossing;
use testing::ReferenceStore;

pub(crate) const GHOST: &str = "Ghost";
/// The label and the property by which nodes of other parts are found.
pub(crate) const END: (&str, &str) = ("All", "id");

const SHIFT: u32 = 56;

pub(crate) struct TestMember {
    pub(crate) store: ReferenceStore,
    number: u8,
}

impl TestMember {
    pub(crate) fn new(number: u8, store: ReferenceStore) -> TestMember {
        TestMember { store, number }
    }
}

impl GraphStore for TestMember {
    fn capabilities(&self) -> Capabilities {
        Capabilities { dense_node_ids: false, streams_edges: false, ..self.store.capabilities() }
    }

    fn read(&self) -> Result<Arc<dyn ReadView>> {
        Ok(Arc::new(Shifted::new(Snapshot(self.store.read()?), self.number)))
    }

    fn write(&self) -> Result<Box<dyn WriteTransaction>> {
        Ok(self.write_member()?)
    }
}

impl MemberStore for TestMember {
    fn read_member(&self) -> Result<Arc<dyn MemberView>> {
        Ok(Arc::new(Shifted::new(Snapshot(self.store.read()?), self.number)))
    }

    fn write_member(&self) -> Result<Box<dyn MemberTransaction>> {
        Ok(Box::new(TestTransaction(Shifted::new(Writing(self.store.write()?), self.number))))
    }
}

trait Inner: Send + Sync {
    fn view(&self) -> &dyn ReadView;
}

struct Snapshot(Arc<dyn ReadView>);

impl Inner for Snapshot {
    fn view(&self) -> &dyn ReadView {
        &*self.0
    }
}

struct Writing(Box<dyn WriteTransaction>);

impl Inner for Writing {
    fn view(&self) -> &dyn ReadView {
        self.0.view()
    }
}

/// A view with other ids, and without ghosts.
struct Shifted<I> {
    inner: I,
    number: u8,
    statistics: Statistics,
}

impl<I: Inner> Shifted<I> {
    fn new(inner: I, number: u8) -> Shifted<I> {
        let mut statistics = inner.view().statistics().clone();
        if let Some(ghost) = inner.view().schema().label(GHOST) {
            statistics.nodes -= statistics.nodes_by_label.remove(&ghost).unwrap_or(0);
        }
        Shifted { inner, number, statistics }
    }

    fn out(&self, node: NodeId) -> NodeId {
        NodeId(node.0 | u64::from(self.number) << SHIFT)
    }

    /// The node as the inner store knows it; one that it does not know if it is of another member.
    fn own(&self, node: NodeId) -> NodeId {
        if node.0 >> SHIFT == u64::from(self.number) { NodeId(node.0 & ((1 << SHIFT) - 1)) } else { NodeId(u64::MAX) }
    }

    fn own_nodes(&self, nodes: &[NodeId]) -> Vec<NodeId> {
        nodes.iter().map(|&node| self.own(node)).collect()
    }

    fn own_edges(&self, edges: &[EdgeId]) -> Vec<EdgeId> {
        edges.iter().map(|edge| EdgeId(self.own(NodeId(edge.0)).0)).collect()
    }

    fn ghosts(&self, nodes: &[NodeId]) -> Bitmap {
        match self.inner.view().schema().label(GHOST) {
            None => Bitmap::filled(nodes.len(), false),
            Some(label) => {
                self.inner.view().has_label(nodes, label).expect("a store of a test can be read and written")
            }
        }
    }

    fn ghost_id(&self, ghost: NodeId) -> Value {
        let key = self.inner.view().schema().property_key(END.1).expect("a store of a test can be read and written");
        self.inner.view().node_properties(&[ghost], &[key]).expect("a store of a test can be read and written")[0]
            .value(0)
    }

    fn ghost_of(&self, id: &Value) -> Option<NodeId> {
        let schema = self.inner.view().schema();
        let scan = NodeScan {
            labels: vec![schema.label(GHOST)?],
            keys: vec![schema.property_key(END.1)?],
            ..NodeScan::default()
        };
        let (mut batch, mut cursor) =
            (NodeBatch::default(), self.inner.view().scan(&scan).expect("a store of a test can be read and written"));
        while cursor.next(&mut batch).expect("a store of a test can be read and written") {
            let found = (0..batch.nodes.len()).find(|&row| batch.properties[0].value(row) == *id);
            if let Some(row) = found {
                return Some(batch.nodes[row]);
            }
        }
        None
    }

    /// All edges at some nodes, whichever parts these are of.
    fn rows(&self, from: &[NodeId], expand: &Expand, others: Option<&dyn Crossing>) -> Result<Vec<EdgeBatch>> {
        let with_ids = Expand { edge_ids: EdgeIds::Include, ..expand.clone() };
        let mut rows = Vec::new();
        for (input, &node) in from.iter().enumerate() {
            let start = if node.0 >> SHIFT == u64::from(self.number) {
                Some(self.own(node))
            } else if let Some(others) = others {
                let id = others.values_of(&[node], END.0, END.1)?.value(0);
                if id.is_null() { None } else { self.ghost_of(&id) }
            } else {
                None
            };
            let Some(start) = start else { continue };
            let start = [start];
            let mut batch = EdgeBatch::default();
            let mut cursor = self.inner.view().expand(&start, &with_ids)?;
            while cursor.next(&mut batch)? {
                let ghosts = self.ghosts(&batch.neighbors);
                for row in 0..batch.len() {
                    let mut neighbors = vec![self.out(batch.neighbors[row])];
                    if ghosts.get(row) {
                        neighbors.clear();
                        if let Some(others) = others {
                            let id = Column::from_values(&[self.ghost_id(batch.neighbors[row])]);
                            neighbors.extend(others.nodes_of(END.0, END.1, &id)?.into_iter().map(|(_, node)| node));
                        }
                    }
                    for neighbor in neighbors {
                        let mut one = batch.gather(&[row as u32]);
                        (one.inputs[0], one.neighbors[0]) = (input as u32, neighbor);
                        one.edges[0] = EdgeId(self.out(NodeId(one.edges[0].0)).0);
                        if expand.edge_ids == EdgeIds::Omit {
                            one.edges.clear();
                        }
                        rows.push(one);
                    }
                }
            }
        }
        rows.reverse();
        Ok(rows)
    }
}

struct Rows(Vec<EdgeBatch>);

impl EdgeCursor for Rows {
    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        *out = self.0.pop().unwrap_or_default();
        if !out.is_empty()
            && let Some(more) = self.0.pop()
        {
            out.append(&more);
        }
        Ok(!out.is_empty())
    }
}

struct Nodes<'a, I> {
    view: &'a Shifted<I>,
    cursor: Box<dyn NodeCursor + 'a>,
}

impl<I: Inner> NodeCursor for Nodes<'_, I> {
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool> {
        while self.cursor.next(out)? {
            let ghosts = self.view.ghosts(&out.nodes);
            let kept: Vec<u32> = (0..out.nodes.len() as u32).filter(|&row| !ghosts.get(row as usize)).collect();
            out.nodes = kept.iter().map(|&row| self.view.out(out.nodes[row as usize])).collect();
            out.properties.iter_mut().for_each(|column| *column = column.gather(&kept));
            if !out.nodes.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

struct Found<'a, I> {
    view: &'a Shifted<I>,
    cursor: Box<dyn IndexCursor + 'a>,
}

impl<I: Inner> IndexCursor for Found<'_, I> {
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool> {
        let is_more = self.cursor.next(out)?;
        let view = self.view;
        out.nodes.iter_mut().for_each(|node| *node = view.out(*node));
        for edge in &mut out.edges {
            let EdgeValue { id, source, target, edge_type } = *edge;
            let id = EdgeId(view.out(NodeId(id.0)).0);
            *edge = EdgeValue { id, source: view.out(source), target: view.out(target), edge_type };
        }
        Ok(is_more)
    }
}

impl<I: Inner> ReadView for Shifted<I> {
    fn schema(&self) -> &Schema {
        self.inner.view().schema()
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn capabilities(&self) -> Capabilities {
        let own = self.inner.view().capabilities();
        Capabilities { dense_node_ids: false, streams_edges: false, ..own }
    }

    fn node_id_bound(&self) -> u64 {
        0
    }

    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>> {
        Ok(Box::new(Nodes { view: self, cursor: self.inner.view().scan(scan)? }))
    }

    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>> {
        Ok(Box::new(Rows(self.rows(from, expand, None)?)))
    }

    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.inner.view().node_properties(&self.own_nodes(nodes), keys)
    }

    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.inner.view().edge_properties(&self.own_edges(edges), keys)
    }

    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        self.inner.view().node_labels(&self.own_nodes(nodes))
    }

    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        self.inner.view().nodes_exist(&self.own_nodes(nodes))
    }

    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        self.inner.view().edges_exist(&self.own_edges(edges))
    }

    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        self.inner.view().edge_numbers(&self.own_edges(edges))
    }

    fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
        let found = model::store::nodes_of(&self.inner.view().lookup(label, key, values)?);
        let values: Vec<Value> =
            found.iter().map(|node| node.map_or(Value::Null, |node| Value::Node(self.out(node)))).collect();
        Ok(Column::from_values(&values))
    }

    fn index_scan<'a>(&'a self, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        Ok(Box::new(Found { view: self, cursor: self.inner.view().index_scan(scan)? }))
    }
}

impl<I: Inner> MemberView for Shifted<I> {
    fn crossing_types(&self) -> Vec<EdgeTypeId> {
        (0..self.schema().edge_types.len() as u32).map(EdgeTypeId).collect()
    }

    fn expand_across<'a>(
        &'a self,
        from: &'a [NodeId],
        expand: &'a Expand,
        others: &'a dyn Crossing,
    ) -> Result<Box<dyn EdgeCursor + 'a>> {
        Ok(Box::new(Rows(self.rows(from, expand, Some(others))?)))
    }
}

struct TestTransaction(Shifted<Writing>);

impl TestTransaction {
    fn inner(&mut self) -> &mut dyn WriteTransaction {
        &mut *self.0.inner.0
    }
}

impl MemberTransaction for TestTransaction {
    fn member_view(&self) -> &dyn MemberView {
        &self.0
    }
}

impl WriteTransaction for TestTransaction {
    fn view(&self) -> &dyn ReadView {
        &self.0
    }

    fn label(&mut self, name: &str) -> Result<LabelId> {
        self.inner().label(name)
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId> {
        self.inner().edge_type(name)
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId> {
        self.inner().property_key(name)
    }

    fn create_nodes(&mut self, new: &NewNodes<'_>) -> Result<Vec<NodeId>> {
        let nodes = self.inner().create_nodes(new)?;
        Ok(nodes.into_iter().map(|node| self.0.out(node)).collect())
    }

    fn create_edges(&mut self, new: &NewEdges<'_>) -> Result<Vec<EdgeId>> {
        let (sources, targets) = (self.0.own_nodes(new.sources), self.0.own_nodes(new.targets));
        let edges = self.inner().create_edges(&NewEdges { sources: &sources, targets: &targets, ..new.clone() })?;
        Ok(edges.into_iter().map(|edge| EdgeId(self.0.out(NodeId(edge.0)).0)).collect())
    }

    fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        let nodes = self.0.own_nodes(nodes);
        self.inner().set_node_properties(&nodes, key, values)
    }

    fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        let edges = self.0.own_edges(edges);
        self.inner().set_edge_properties(&edges, key, values)
    }

    fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        let nodes = self.0.own_nodes(nodes);
        self.inner().add_labels(&nodes, labels)
    }

    fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        let nodes = self.0.own_nodes(nodes);
        self.inner().remove_labels(&nodes, labels)
    }

    fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        let edges = self.0.own_edges(edges);
        self.inner().delete_edges(&edges)
    }

    fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        let nodes = self.0.own_nodes(nodes);
        self.inner().delete_nodes(&nodes)
    }

    fn create_constraint(&mut self, constraint: Constraint, interrupt: &Interrupt) -> Result<()> {
        self.inner().create_constraint(constraint, interrupt)
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        self.inner().drop_constraint(name)
    }

    fn create_index(&mut self, index: Index, interrupt: &Interrupt) -> Result<()> {
        self.inner().create_index(index, interrupt)
    }

    fn set_sort_key(&mut self, sort_key: SortKey) -> Result<()> {
        self.inner().set_sort_key(sort_key)
    }

    fn drop_sort_key(&mut self, edge_type: EdgeTypeId) -> Result<()> {
        self.inner().drop_sort_key(edge_type)
    }

    fn savepoint(&mut self) -> Savepoint {
        self.inner().savepoint()
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.inner().rollback_to(savepoint)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.0.inner.0.commit()
    }
}
