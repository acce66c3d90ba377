//! Flush: merges the memtable into new files, and begins a new log.
//!
//! The new log is made before the manifest that names it, and the old one is removed after: a crash at any moment leaves
//! a manifest whose log holds exactly what its files do not.

use std::sync::Arc;

use model::column::ColumnBuilder;
use model::{Column, EdgeId, EdgeTypeId, Interrupt, Map, NodeId, PropertyKeyId, Result, Value};

use crate::bulk::{BulkConfig, Changes, EdgePropertyChange, NewEdgeRows, NodeChange, rewrite};
use crate::memtable::{EdgeRecord, Memtable};
use crate::version::Version;

/// Writes files that hold the base and the memtable; the log with `wal_number` holds what comes after.
pub(crate) fn merge(
    base: &Arc<Version>,
    memtable: &Memtable,
    wal_number: u64,
    interrupt: &Interrupt,
) -> Result<Arc<Version>> {
    rewrite(base, changes(memtable, wal_number), &BulkConfig::default(), interrupt)
}

fn changes(memtable: &Memtable, wal_number: u64) -> Changes {
    let changed = memtable.edge_changes.iter();
    let mut deleted_edges: Vec<EdgeId> =
        changed.clone().filter(|(_, change)| change.is_deleted).map(|(&edge, _)| EdgeId(edge)).collect();
    deleted_edges.sort_unstable();
    let properties = |(&edge, change): (&u64, &crate::memtable::EdgeChange)| {
        let entries = change.properties.entries().to_vec();
        entries.into_iter().map(move |(key, value)| EdgePropertyChange { edge: EdgeId(edge), key, value })
    };
    let mut edge_properties: Vec<EdgePropertyChange> =
        changed.filter(|(_, change)| !change.is_deleted).flat_map(properties).collect();
    edge_properties.sort_unstable_by_key(|change| (change.edge, change.key));
    Changes {
        schema: (*memtable.schema).clone(),
        node_id_bound: memtable.node_id_bound(),
        nodes: node_changes(memtable),
        new_edges: new_edges(memtable),
        deleted_edges,
        edge_properties,
        wal_number,
    }
}

fn node_changes(memtable: &Memtable) -> Vec<NodeChange> {
    let changed = memtable.node_changes.iter().map(|(&node, change)| NodeChange {
        node: NodeId(node),
        is_deleted: change.is_deleted,
        labels: change.labels.as_ref().map(|labels| labels.to_vec()),
        properties: change.properties.entries().to_vec(),
    });
    // Nodes that were made and deleted since are ids that nobody uses.
    let new = memtable.nodes.iter().zip(memtable.first_node..).filter(|(record, _)| !record.is_deleted);
    let new = new.map(|(record, node)| NodeChange {
        node: NodeId(node),
        is_deleted: false,
        labels: Some(record.labels.to_vec()),
        properties: record.properties.entries().to_vec(),
    });
    changed.chain(new).collect()
}

/// The edges made since, one set of columns for each type and set of keys.
fn new_edges(memtable: &Memtable) -> Vec<NewEdgeRows> {
    let mut groups: Map<(EdgeTypeId, Vec<PropertyKeyId>), Vec<&EdgeRecord>> = Map::default();
    let mut present = Vec::new();
    for edge in memtable.edges.iter().filter(|edge| !edge.is_deleted) {
        present.clear();
        present.extend(edge.properties.entries().iter().map(|entry| entry.0));
        let group = (edge.edge_type, std::mem::take(&mut present));
        match groups.get_mut(&group) {
            Some(edges) => {
                edges.push(edge);
                present = group.1;
            }
            None => {
                groups.insert(group, vec![edge]);
            }
        }
    }
    let mut rows: Vec<NewEdgeRows> =
        groups.into_iter().map(|((edge_type, keys), edges)| rows_of(edge_type, keys, &edges)).collect();
    rows.sort_by(|a, b| (a.edge_type, &a.keys).cmp(&(b.edge_type, &b.keys)));
    rows
}

fn rows_of(edge_type: EdgeTypeId, keys: Vec<PropertyKeyId>, edges: &[&EdgeRecord]) -> NewEdgeRows {
    let column = |at: usize| -> Column {
        let mut builder = ColumnBuilder::default();
        edges
            .iter()
            .for_each(|edge| builder.push(edge.properties.entries().get(at).map_or(&Value::Null, |entry| &entry.1)));
        builder.finish()
    };
    NewEdgeRows {
        edge_type,
        sources: edges.iter().map(|edge| edge.source).collect(),
        targets: edges.iter().map(|edge| edge.target).collect(),
        columns: (0..keys.len()).map(column).collect(),
        keys,
    }
}
