//! Short ways to open, write and read graphs.

use std::sync::Arc;

use cluster::{ClusterStore, Settings};
use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Column, Constraint, Direction, EdgeBatch, EdgeId, Expand, GraphStore, Index, Interrupt, NodeBatch, NodeId,
    NodeScan, ReadView, Result, SortKey, Subject, Value, WriteTransaction,
};

use crate::ring::Client;

/// Sizes of caches: none, one that evicts nearly everything, and one that has room for all.
pub(crate) const CACHES: [usize; 3] = [0, 12 << 10, 64 << 20];

/// Opens a graph as a process whose random names are those of a seed.
pub(crate) fn try_open(client: &Arc<Client>, graph: i64, seed: u64) -> Result<ClusterStore> {
    try_open_with(client, graph, seed, &|_| {})
}

/// The same with further settings.
pub(crate) fn try_open_with(
    client: &Arc<Client>,
    graph: i64,
    seed: u64,
    change: &dyn Fn(&mut Settings),
) -> Result<ClusterStore> {
    let mut settings = client.settings(graph, seed);
    // Small, so that graphs of a few commits have several.
    (settings.epoch_records, settings.checkpoint_records) = (8, 5);
    change(&mut settings);
    ClusterStore::open(client.clone(), settings)
}

pub(crate) fn open(client: &Arc<Client>, graph: i64, seed: u64) -> ClusterStore {
    try_open(client, graph, seed).expect("opening a graph")
}

/// Adds a node of label `N`.
pub(crate) fn add_node(transaction: &mut dyn WriteTransaction, row: &[(&str, Value)]) -> Result<NodeId> {
    let labels = [transaction.label("N")?];
    let keys = row.iter().map(|(name, _)| transaction.property_key(name)).collect::<Result<Vec<_>>>()?;
    let properties: Vec<Column> = row.iter().map(|(_, value)| Column::constant(value, 1)).collect();
    let new = NewNodes { count: 1, labels: &labels, keys: &keys, properties: &properties };
    Ok(transaction.create_nodes(&new)?[0])
}

/// Adds an edge of type `E` with a value.
pub(crate) fn add_edge(
    transaction: &mut dyn WriteTransaction,
    source: NodeId,
    target: NodeId,
    value: i64,
) -> Result<EdgeId> {
    let (edge_type, key) = (transaction.edge_type("E")?, transaction.property_key("value")?);
    let properties = [Column::constant(&Value::Int(value), 1)];
    let (sources, targets, keys) = ([source], [target], [key]);
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys, properties: &properties };
    Ok(transaction.create_edges(&new)?[0])
}

pub(crate) fn set(transaction: &mut dyn WriteTransaction, node: NodeId, key: &str, value: Value) -> Result<()> {
    let key = transaction.property_key(key)?;
    transaction.set_node_properties(&[node], key, &Column::constant(&value, 1))
}

/// One property of a node.
pub(crate) fn value(view: &dyn ReadView, node: NodeId, key: &str) -> Result<Value> {
    let Some(key) = view.schema().property_key(key) else { return Ok(Value::Null) };
    Ok(view.node_properties(&[node], &[key])?[0].value(0))
}

/// The nodes of label `N` by `name`, in the order of their names.
pub(crate) fn named(view: &dyn ReadView) -> Result<Vec<(Value, NodeId)>> {
    let schema = view.schema();
    let (Some(label), Some(key)) = (schema.label("N"), schema.property_key("name")) else { return Ok(Vec::new()) };
    let scan = NodeScan { labels: vec![label], keys: vec![key], ..NodeScan::default() };
    let (mut cursor, mut batch, mut found) = (view.scan(&scan)?, NodeBatch::default(), Vec::new());
    while cursor.next(&mut batch)? {
        found.extend(batch.nodes.iter().enumerate().map(|(row, &node)| (batch.properties[0].value(row), node)));
    }
    found.sort_unstable();
    Ok(found)
}

/// The edges that start at a node, with their values.
pub(crate) fn edges(view: &dyn ReadView, node: NodeId) -> Result<Vec<(i64, EdgeId)>> {
    let keys: Vec<_> = view.schema().property_key("value").into_iter().collect();
    let expand = Expand { direction: Direction::Out, edge_ids: EdgeIds::Include, keys, ..Expand::default() };
    let from = [node];
    let (mut cursor, mut batch, mut found) = (view.expand(&from, &expand)?, EdgeBatch::default(), Vec::new());
    while cursor.next(&mut batch)? {
        for (row, &edge) in batch.edges.iter().enumerate() {
            if let Value::Int(value) = batch.properties[0].value(row) {
                found.push((value, edge));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Nodes 0 to 3 in a ring of edges, with a unique name, an index of edges and a sort key.
pub(crate) fn prepare(store: &ClusterStore) -> Result<Vec<NodeId>> {
    let mut transaction = store.write()?;
    let writer = &mut *transaction;
    let (label, name) = (writer.label("N")?, writer.property_key("name")?);
    let (edge_type, value) = (writer.edge_type("E")?, writer.property_key("value")?);
    writer.create_constraint(Constraint::unique("unique name", label, name), &Interrupt::new())?;
    let subject = Subject::EdgeType(edge_type);
    writer.create_index(Index { name: "values".into(), subject, keys: vec![value] }, &Interrupt::new())?;
    writer.set_sort_key(SortKey { edge_type, keys: vec![value] })?;
    let nodes: Vec<NodeId> =
        (0..4).map(|name| add_node(writer, &[("name", Value::Int(name))])).collect::<Result<_>>()?;
    for at in 0..4 {
        add_edge(writer, nodes[at], nodes[(at + 1) % 4], at as i64)?;
    }
    transaction.commit()?;
    Ok(nodes)
}
