//! Properties of nodes and edges: columns of the files, patched with what the memtable says.

use model::column::ColumnBuilder;
use model::{Column, EdgeId, NodeId, PropertyKeyId, Result, Value};

use super::Snapshot;
use crate::column::patched;
use crate::memtable::{self, Properties};

/// Properties of one row, as the memtable says.
#[derive(Clone, Copy)]
enum Overlay<'a> {
    /// These and no others.
    All(&'a Properties),
    /// These, and for other keys the files are right.
    Some(&'a Properties),
    /// None at all.
    Nothing,
}

impl<'a> Overlay<'a> {
    /// The value of a key; `None` where the files are right.
    fn get(self, key: PropertyKeyId) -> Option<&'a Value> {
        match self {
            Overlay::All(properties) => Some(properties.get(key).unwrap_or(&Value::Null)),
            Overlay::Some(properties) => properties.get(key),
            Overlay::Nothing => Some(&Value::Null),
        }
    }
}

impl Snapshot {
    pub(super) fn columns_of_nodes(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let memtable = &self.memtable;
        if memtable.nodes.is_empty() && memtable.node_changes.is_empty() {
            return self.version.node_properties(nodes, keys);
        }
        let overlays = nodes.iter().enumerate().filter_map(|(row, &node)| {
            if node.0 >= memtable.first_node {
                return Some((
                    row,
                    memtable.node(node).map_or(Overlay::Nothing, |record| Overlay::All(&record.properties)),
                ));
            }
            let change = memtable.node_change(node)?;
            Some((row, if change.is_deleted { Overlay::Nothing } else { Overlay::Some(&change.properties) }))
        });
        overlaid(nodes.len(), keys, overlays.collect(), || self.version.node_properties(nodes, keys))
    }

    pub(super) fn columns_of_edges(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let memtable = &self.memtable;
        if memtable.edges.is_empty() && memtable.edge_changes.is_empty() {
            return self.version.edge_properties(edges, keys);
        }
        let overlays = edges.iter().enumerate().filter_map(|(row, &edge)| {
            if memtable::ordinal(edge).is_some() {
                return Some((row, memtable.properties_of_edge(edge).map_or(Overlay::Nothing, Overlay::All)));
            }
            let change = memtable.edge_change(edge)?;
            Some((row, if change.is_deleted { Overlay::Nothing } else { Overlay::Some(&change.properties) }))
        });
        overlaid(edges.len(), keys, overlays.collect(), || self.version.edge_properties(edges, keys))
    }
}

/// Columns of the files under overlays of some rows; the files are not asked if every row is wholly overlaid.
fn overlaid(
    rows: usize,
    keys: &[PropertyKeyId],
    overlays: Vec<(usize, Overlay<'_>)>,
    read: impl FnOnce() -> Result<Vec<Column>>,
) -> Result<Vec<Column>> {
    if overlays.is_empty() {
        return read();
    }
    let is_whole = |overlay: &Overlay<'_>| !matches!(overlay, Overlay::Some(_));
    if overlays.len() == rows && overlays.iter().all(|(_, overlay)| is_whole(overlay)) {
        return Ok(keys.iter().map(|&key| whole_column(key, &overlays)).collect());
    }
    let columns = read()?;
    let patch = |(column, &key): (Column, &PropertyKeyId)| {
        let patches: Vec<(usize, &Value)> =
            overlays.iter().filter_map(|&(row, overlay)| Some((row, overlay.get(key)?))).collect();
        if patches.is_empty() { column } else { patched(column, &patches) }
    };
    Ok(columns.into_iter().zip(keys).map(patch).collect())
}

fn whole_column(key: PropertyKeyId, overlays: &[(usize, Overlay<'_>)]) -> Column {
    let mut builder = ColumnBuilder::default();
    overlays.iter().for_each(|&(_, overlay)| builder.push(overlay.get(key).unwrap_or(&Value::Null)));
    builder.finish()
}
