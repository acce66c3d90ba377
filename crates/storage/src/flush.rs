//! Flush: merges the memtable into new files, and begins a new log.
//!
//! The new log is made before the manifest that names it, and the old one is removed after: a crash at any moment leaves
//! a manifest whose log holds exactly what its files do not.

use std::sync::Arc;

use model::column::ColumnBuilder;
use model::{EdgeId, EdgeTypeId, Interrupt, Map, NodeId, PropertyKeyId, Result};

use crate::bulk::{BulkConfig, Changes, EdgePropertyChange, NewEdgeRows, NodeChange, rewrite};
use crate::memtable::Memtable;
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
    let mut groups: Map<(EdgeTypeId, Vec<PropertyKeyId>), usize> = Map::default();
    let mut rows: Vec<(NewEdgeRows, Vec<ColumnBuilder>)> = Vec::new();
    for (link, properties) in memtable.edges.iter().zip(&memtable.edge_properties) {
        if link.is_deleted {
            continue;
        }
        let edge_type = link.edge_type;
        let keys: Vec<PropertyKeyId> = properties.entries().iter().map(|entry| entry.0).collect();
        let next = rows.len();
        let at = *groups.entry((edge_type, keys)).or_insert(next);
        if at == next {
            let keys: Vec<PropertyKeyId> = properties.entries().iter().map(|entry| entry.0).collect();
            let builders = vec![ColumnBuilder::default(); keys.len()];
            let (sources, targets) = (Vec::new(), Vec::new());
            rows.push((NewEdgeRows { edge_type, sources, targets, keys, columns: Vec::new() }, builders));
        }
        let (group, builders) = &mut rows[at];
        group.sources.push(link.source);
        group.targets.push(link.target);
        builders.iter_mut().zip(properties.entries()).for_each(|(builder, entry)| builder.push(&entry.1));
    }
    let finish = |(mut rows, builders): (NewEdgeRows, Vec<ColumnBuilder>)| {
        rows.columns = builders.into_iter().map(ColumnBuilder::finish).collect();
        rows
    };
    rows.into_iter().map(finish).collect()
}
