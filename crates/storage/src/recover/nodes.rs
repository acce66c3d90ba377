//! Salvage of nodes: existence, labels, values, each as far as it can be read.

use std::ops::Range;

use model::store::{NodeScan, ReadView};
use model::{Column, ColumnBuilder, Interrupt, LabelId, Map, NodeBatch, NodeId, PropertyKeyId, Result, Value};

use super::{BATCH, Losses, What, all_keys, in_halves};
use crate::bulk::{BulkLoad, NodeRows};
use crate::snapshot::Snapshot;

/// No node has this number in the new store.
const NONE: u32 = u32::MAX;
/// Ids whose numbers are kept together.
const GROUP: usize = 1 << 16;

/// The nodes of the new store.
pub(super) struct Copied {
    /// By the node's old id, in groups; none of a group of which no node was copied.
    groups: Vec<Option<Box<[u32]>>>,
    pub(super) count: u64,
}

impl Copied {
    /// The node in the new store.
    pub(super) fn get(&self, old: NodeId) -> Option<NodeId> {
        let at = usize::try_from(old.0).ok()?;
        let number = self.groups.get(at / GROUP)?.as_ref()?[at % GROUP];
        (number != NONE).then_some(NodeId(u64::from(number)))
    }

    /// The old ids of all nodes that were copied.
    pub(super) fn old_ids(&self) -> Vec<NodeId> {
        let groups = self.groups.iter().enumerate().filter_map(|(at, group)| Some((at, group.as_ref()?)));
        let ids = groups.flat_map(|(at, group)| {
            (0..GROUP).filter(|&row| group[row] != NONE).map(move |row| NodeId((at * GROUP + row) as u64))
        });
        ids.collect()
    }

    fn set(&mut self, old: NodeId, new: NodeId) {
        let at = old.0 as usize;
        if self.groups.len() <= at / GROUP {
            self.groups.resize(at / GROUP + 1, None);
        }
        let group = self.groups[at / GROUP].get_or_insert_with(|| vec![NONE; GROUP].into());
        group[at % GROUP] = new.0 as u32;
        self.count += 1;
    }
}

/// Copies all nodes.
pub(super) fn copy(
    snapshot: &Snapshot,
    load: &mut BulkLoad,
    losses: &mut Losses,
    interrupt: &Interrupt,
) -> Result<Copied> {
    let bound = snapshot.node_id_bound();
    let mut copied = Copied { groups: Vec::new(), count: 0 };
    for start in (0..bound).step_by(BATCH) {
        interrupt.check()?;
        let range = start..(start + BATCH as u64).min(bound);
        if let Ok(living) = living_in(snapshot, range.clone()) {
            copy_batch(snapshot, &living, load, &mut copied, losses)?;
            continue;
        }
        let ids: Vec<NodeId> = range.map(NodeId).collect();
        let mut living = Vec::new();
        in_halves(
            &ids,
            &mut |ids| {
                let there = snapshot.nodes_exist(ids)?;
                living.extend(ids.iter().enumerate().filter(|(row, _)| there.get(*row)).map(|(_, &id)| id));
                Ok(())
            },
            &mut |_, cause| losses.add(cause, 1, &What::Nodes),
        )?;
        copy_batch(snapshot, &living, load, &mut copied, losses)?;
    }
    Ok(copied)
}

/// The nodes of a range of ids.
fn living_in(snapshot: &Snapshot, range: Range<u64>) -> Result<Vec<NodeId>> {
    let scan = NodeScan { range: Some(range), ..NodeScan::default() };
    let (mut cursor, mut batch, mut living) = (snapshot.scan(&scan)?, NodeBatch::default(), Vec::new());
    while cursor.next(&mut batch)? {
        living.extend_from_slice(&batch.nodes);
    }
    Ok(living)
}

fn copy_batch(
    snapshot: &Snapshot,
    nodes: &[NodeId],
    load: &mut BulkLoad,
    copied: &mut Copied,
    losses: &mut Losses,
) -> Result<()> {
    if nodes.is_empty() {
        return Ok(());
    }
    let mut labels: Map<NodeId, Vec<LabelId>> = Map::default();
    let mut read = |ids: &[NodeId]| {
        labels.extend(ids.iter().copied().zip(snapshot.node_labels(ids)?));
        Ok(())
    };
    in_halves(nodes, &mut read, &mut |_, cause| losses.add(cause, 1, &What::Labels))?;
    let mut properties = Vec::new();
    for key in all_keys(snapshot) {
        let column = read_values(nodes, key, losses, snapshot)?;
        if (0..nodes.len()).any(|row| !column.is_null(row)) {
            properties.push((snapshot.schema().property_key_name(key), column));
        }
    }
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let mut groups: Vec<(Vec<LabelId>, Vec<u32>)> = Vec::new();
    let mut places: Map<Vec<LabelId>, usize> = Map::default();
    for (row, node) in nodes.iter().enumerate() {
        let labels = labels.remove(node).unwrap_or_default();
        let at = *places.entry(labels).or_insert_with_key(|labels| {
            groups.push((labels.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(row as u32);
    }
    for (labels, rows) in groups {
        let labels: Vec<&str> = labels.iter().map(|&label| snapshot.schema().label_name(label)).collect();
        let columns: Vec<Column> = properties.iter().map(|(_, column)| column.gather(&rows)).collect();
        let batch =
            NodeRows { count: rows.len(), labels: &labels, key: None, names: &names, columns: &columns, origin: 0 };
        let added = load.push_nodes(&batch)?;
        for (&row, node) in rows.iter().zip(added.nodes) {
            let Some(node) = node else { continue };
            copied.set(nodes[row as usize], node);
        }
    }
    Ok(())
}

/// The values of one property; null where they cannot be read.
fn read_values(nodes: &[NodeId], key: PropertyKeyId, losses: &mut Losses, snapshot: &Snapshot) -> Result<Column> {
    let what = What::NodeValues(snapshot.schema().property_key_name(key).to_owned());
    if let Ok(columns) = snapshot.node_properties(nodes, &[key]) {
        return Ok(columns.into_iter().next().unwrap_or_else(|| Column::nulls(nodes.len())));
    }
    let mut values: Map<NodeId, Value> = Map::default();
    let mut read = |ids: &[NodeId]| {
        let columns = snapshot.node_properties(ids, &[key])?;
        values.extend(ids.iter().copied().zip(columns[0].values()));
        Ok(())
    };
    in_halves(nodes, &mut read, &mut |_, cause| losses.add(cause, 1, &what))?;
    let mut column = ColumnBuilder::default();
    nodes.iter().for_each(|node| column.push(&values.remove(node).unwrap_or(Value::Null)));
    Ok(column.finish())
}
