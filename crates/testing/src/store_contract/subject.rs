//! A store under check, with short ways to write and to read it.

use std::sync::Arc;

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Column, Constraint, Direction, EdgeBatch, EdgeId, EdgeTypeId, Error, ErrorCode, Expand, GraphStore, LabelId,
    NodeBatch, NodeId, NodeScan, PropertyKeyId, ReadView, Result, Value, WriteTransaction,
};

use super::{Disturb, Publish};
use crate::ReferenceStore;
use crate::graphs::GraphData;

/// Properties of one node or edge.
pub(super) type Row<'a> = &'a [(&'a str, Value)];

pub(super) struct Subject<'a> {
    store: Option<Box<dyn GraphStore>>,
    written: Written<'a>,
}

/// The store that checks write to.
enum Written<'a> {
    /// In the store, which is disturbed after each commit.
    There(&'a Disturb<'a>),
    /// In a store of which another is made after each commit.
    Elsewhere(ReferenceStore, &'a Publish<'a>),
}

impl<'a> Subject<'a> {
    pub(super) fn new(store: Box<dyn GraphStore>, disturb: &'a Disturb<'a>) -> Subject<'a> {
        Subject { store: Some(store), written: Written::There(disturb) }
    }

    pub(super) fn published(publish: &'a Publish<'a>) -> Subject<'a> {
        let store = publish(&GraphData::default());
        Subject { store: Some(store), written: Written::Elsewhere(ReferenceStore::new(), publish) }
    }

    pub(super) fn store(&self) -> &dyn GraphStore {
        &**self.store.as_ref().expect("the store is only away while it is disturbed")
    }

    pub(super) fn view(&self) -> Arc<dyn ReadView> {
        let view = self.store().read().expect("taking a snapshot");
        if view.capabilities().is_remote {
            // Its moment is that of the first question.
            let mut cursor = view.scan(&NodeScan::default()).expect("scanning");
            cursor.next(&mut NodeBatch::default()).expect("scanning on");
        }
        view
    }

    pub(super) fn begin(&self) -> Box<dyn WriteTransaction> {
        let store = match &self.written {
            Written::There(_) => self.store(),
            Written::Elsewhere(store, _) => store,
        };
        store.write().expect("beginning a transaction")
    }

    /// Writes and commits, then disturbs the store. No snapshot may be held.
    pub(super) fn commit<T>(&mut self, write: impl FnOnce(&mut dyn WriteTransaction) -> T) -> T {
        let result = self.commit_calmly(write);
        self.store = match &self.written {
            Written::There(disturb) => self.store.take().map(disturb),
            Written::Elsewhere(store, publish) => {
                let view = store.read().expect("taking a snapshot");
                Some(publish(&GraphData::of(&*view).expect("reading all")))
            }
        };
        result
    }

    /// Writes and commits, without disturbing: for checks that hold snapshots.
    pub(super) fn commit_calmly<T>(&self, write: impl FnOnce(&mut dyn WriteTransaction) -> T) -> T {
        let mut transaction = self.begin();
        let result = write(&mut *transaction);
        transaction.commit().expect("committing");
        result
    }

    /// Commits nodes of label `N` that have a `name` of 0, 1, 2, …, and edges of type `E` between them.
    pub(super) fn commit_edges(&mut self, nodes: usize, edges: &[(usize, usize)]) {
        self.commit(|transaction| {
            let nodes = numbered_nodes(transaction, 0..nodes);
            let pairs: Vec<_> = edges.iter().map(|&(source, target)| (nodes[source], nodes[target])).collect();
            add_edges(transaction, "E", &pairs);
        });
    }
}

/// Adds one node.
pub(super) fn try_add_node(transaction: &mut dyn WriteTransaction, labels: &[&str], row: Row<'_>) -> Result<NodeId> {
    let labels: Vec<LabelId> = labels.iter().map(|name| transaction.label(name)).collect::<Result<_>>()?;
    let keys: Vec<PropertyKeyId> = row.iter().map(|(name, _)| transaction.property_key(name)).collect::<Result<_>>()?;
    let properties: Vec<Column> = row.iter().map(|(_, value)| Column::constant(value, 1)).collect();
    let new = NewNodes { count: 1, labels: &labels, keys: &keys, properties: &properties };
    let ids = transaction.create_nodes(&new)?;
    assert_eq!(ids.len(), 1, "an id for each node created");
    Ok(ids[0])
}

pub(super) fn add_node(transaction: &mut dyn WriteTransaction, labels: &[&str], row: Row<'_>) -> NodeId {
    try_add_node(transaction, labels, row).expect("adding a node")
}

/// Adds nodes of label `N`, named by numbers.
pub(super) fn numbered_nodes(transaction: &mut dyn WriteTransaction, names: std::ops::Range<usize>) -> Vec<NodeId> {
    let labels = [transaction.label("N").expect("making a label")];
    let keys = [transaction.property_key("name").expect("making a property key")];
    let names: Vec<Value> = names.map(|name| Value::Int(name as i64)).collect();
    let properties = [Column::from_values(&names)];
    let new = NewNodes { count: names.len(), labels: &labels, keys: &keys, properties: &properties };
    transaction.create_nodes(&new).expect("adding nodes")
}

/// Adds one edge with properties.
pub(super) fn add_edge(
    transaction: &mut dyn WriteTransaction,
    edge_type: &str,
    source: NodeId,
    target: NodeId,
    row: Row<'_>,
) -> EdgeId {
    let edge_type = transaction.edge_type(edge_type).expect("making an edge type");
    let key =
        |transaction: &mut dyn WriteTransaction, name: &str| transaction.property_key(name).expect("making a key");
    let keys: Vec<PropertyKeyId> = row.iter().map(|(name, _)| key(transaction, name)).collect();
    let properties: Vec<Column> = row.iter().map(|(_, value)| Column::constant(value, 1)).collect();
    let new = NewEdges { edge_type, sources: &[source], targets: &[target], keys: &keys, properties: &properties };
    transaction.create_edges(&new).expect("adding an edge")[0]
}

/// Adds edges without properties.
pub(super) fn add_edges(
    transaction: &mut dyn WriteTransaction,
    edge_type: &str,
    pairs: &[(NodeId, NodeId)],
) -> Vec<EdgeId> {
    try_add_edges(transaction, edge_type, pairs).expect("adding edges")
}

pub(super) fn try_add_edges(
    transaction: &mut dyn WriteTransaction,
    edge_type: &str,
    pairs: &[(NodeId, NodeId)],
) -> Result<Vec<EdgeId>> {
    let edge_type = transaction.edge_type(edge_type)?;
    let (sources, targets): (Vec<NodeId>, Vec<NodeId>) = pairs.iter().copied().unzip();
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[], properties: &[] };
    transaction.create_edges(&new)
}

pub(super) fn set_node(
    transaction: &mut dyn WriteTransaction,
    nodes: &[NodeId],
    key: &str,
    values: &[Value],
) -> Result<()> {
    let key = transaction.property_key(key)?;
    transaction.set_node_properties(nodes, key, &Column::from_values(values))
}

pub(super) fn set_edge(
    transaction: &mut dyn WriteTransaction,
    edges: &[EdgeId],
    key: &str,
    values: &[Value],
) -> Result<()> {
    let key = transaction.property_key(key)?;
    transaction.set_edge_properties(edges, key, &Column::from_values(values))
}

/// Makes a constraint named after label and key.
pub(super) fn constrain(transaction: &mut dyn WriteTransaction, label: &str, key: &str) -> Result<()> {
    let name = format!("{label}_{key}");
    let constraint = Constraint::unique(name, transaction.label(label)?, transaction.property_key(key)?);
    transaction.create_constraint(constraint, &model::Interrupt::new())
}

pub(super) fn label(view: &dyn ReadView, name: &str) -> LabelId {
    view.schema().label(name).unwrap_or_else(|| panic!("label {name} is in the schema"))
}

pub(super) fn key(view: &dyn ReadView, name: &str) -> PropertyKeyId {
    view.schema().property_key(name).unwrap_or_else(|| panic!("property key {name} is in the schema"))
}

pub(super) fn edge_type(view: &dyn ReadView, name: &str) -> EdgeTypeId {
    view.schema().edge_type(name).unwrap_or_else(|| panic!("edge type {name} is in the schema"))
}

/// The node whose `name` is that number.
pub(super) fn named(view: &dyn ReadView, name: i64) -> NodeId {
    find(view, name).unwrap_or_else(|| panic!("a node is named {name}"))
}

pub(super) fn find(view: &dyn ReadView, name: i64) -> Option<NodeId> {
    let scan = NodeScan { keys: vec![view.schema().property_key("name")?], ..NodeScan::default() };
    let mut cursor = view.scan(&scan).expect("scanning");
    let mut batch = NodeBatch::default();
    while cursor.next(&mut batch).expect("scanning on") {
        let row = (0..batch.nodes.len()).find(|&row| batch.properties[0].value(row) == Value::Int(name));
        if let Some(row) = row {
            return Some(batch.nodes[row]);
        }
    }
    None
}

/// The first `count` nodes by `name`, in that order.
pub(super) fn all_named(view: &dyn ReadView, count: usize) -> Vec<NodeId> {
    let scan = NodeScan { keys: vec![key(view, "name")], ..NodeScan::default() };
    let mut nodes = vec![None; count];
    let mut cursor = view.scan(&scan).expect("scanning");
    let mut batch = NodeBatch::default();
    while cursor.next(&mut batch).expect("scanning on") {
        for (row, &node) in batch.nodes.iter().enumerate() {
            if let Value::Int(name) = batch.properties[0].value(row)
                && (name as usize) < count
            {
                nodes[name as usize] = Some(node);
            }
        }
    }
    nodes.into_iter().map(|node| node.expect("each name has a node")).collect()
}

/// One property of one node.
pub(super) fn node_value(view: &dyn ReadView, node: NodeId, name: &str) -> Value {
    let Some(key) = view.schema().property_key(name) else { return Value::Null };
    view.node_properties(&[node], &[key]).expect("reading a property")[0].value(0)
}

/// One property of one edge.
pub(super) fn edge_value(view: &dyn ReadView, edge: EdgeId, name: &str) -> Value {
    let Some(key) = view.schema().property_key(name) else { return Value::Null };
    view.edge_properties(&[edge], &[key]).expect("reading a property")[0].value(0)
}

pub(super) fn exists(view: &dyn ReadView, node: NodeId) -> bool {
    view.nodes_exist(&[node]).expect("asking for a node").get(0)
}

/// All rows of an expansion in one batch, edge ids included.
pub(super) fn expand(
    view: &dyn ReadView,
    from: &[NodeId],
    direction: Direction,
    types: Option<Vec<EdgeTypeId>>,
) -> EdgeBatch {
    let expand = Expand { direction, types, edge_ids: EdgeIds::Include, ..Expand::default() };
    let mut all = EdgeBatch::default();
    let mut batch = EdgeBatch::default();
    let mut cursor = view.expand(from, &expand).expect("expanding");
    while cursor.next(&mut batch).expect("expanding on") {
        all.inputs.append(&mut batch.inputs);
        all.neighbors.append(&mut batch.neighbors);
        all.types.append(&mut batch.types);
        all.edges.append(&mut batch.edges);
        all.reversed.append(&mut batch.reversed);
    }
    all
}

/// The neighbors of one node, sorted.
pub(super) fn neighbors(view: &dyn ReadView, node: NodeId, direction: Direction) -> Vec<NodeId> {
    let mut neighbors = expand(view, &[node], direction, None).neighbors;
    neighbors.sort_unstable();
    neighbors
}

/// Fails unless the result is an error of that code.
#[track_caller]
pub(super) fn assert_code<T>(result: Result<T>, code: ErrorCode) {
    let found = result.err().as_ref().map(Error::code);
    assert_eq!(found, Some(code), "the code that the call fails with");
}
