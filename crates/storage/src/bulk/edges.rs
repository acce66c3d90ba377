//! The edge half of a flush: a partition of the new edges, and patches of the partitions whose edges changed.

use std::collections::BTreeMap;

use model::id::{EdgeId, EdgeTypeId, PropertyKeyId};
use model::{Column, ColumnData, Result, Schema, error};

use super::buffer::EdgeBuffer;
use super::chunk::edge_key;
use super::context::BuildContext;
use super::partitions::{BoxedSource, EdgeSources, everything, write_partitions};
use super::rewrite::{EdgePropertyChange, NewEdgeRows};
use super::sort::Buckets;
use crate::format::{EDGE_NUMBER_KEY, EdgePlace};
use crate::manifest::PartitionEntry;
use crate::patch::write::PatchContent;
use crate::version::{PatchEdit, Version};

/// Writes the new edges as one partition of level 0; rows of one type are in the order in which they were made.
pub fn write_new_edges(
    context: &BuildContext,
    rows: Vec<NewEdgeRows>,
    node_id_bound: u64,
    schema: &Schema,
) -> Result<Vec<PartitionEntry>> {
    let mut buffers: BTreeMap<EdgeTypeId, EdgeBuffer> = BTreeMap::new();
    for rows in rows {
        let keys: Vec<u64> = rows.sources.iter().zip(&rows.targets).map(|(&s, &t)| edge_key(s, t)).collect();
        let numbers = Column::new(ColumnData::Int(rows.numbers.iter().map(|&number| number as i64).collect()));
        let mut columns: Vec<(PropertyKeyId, &Column)> = rows.keys.iter().copied().zip(&rows.columns).collect();
        columns.push((EDGE_NUMBER_KEY, &numbers));
        buffers.entry(rows.edge_type).or_default().push(&keys, &columns)?;
    }
    if buffers.is_empty() {
        return Ok(Vec::new());
    }
    let types = buffers.keys().copied().collect();
    let of_type = |edge_type, _: &_| {
        let Some(buffer) = buffers.remove(&edge_type) else { return Ok(Vec::new()) };
        let buckets = Buckets::new(vec![buffer.seal()?], node_id_bound, 1)?.ordered(schema.sort_key(edge_type));
        let sorted: BoxedSource<'_> = Box::new(buckets.one_by_one());
        Ok(vec![sorted])
    };
    let sources = EdgeSources { types, of_type: Box::new(of_type) };
    write_partitions(context, &[everything()], 0, node_id_bound, schema, sources)
}

/// Writes a patch for each partition of the base that lost edges or whose edges have other properties now.
pub fn write_edge_changes(
    context: &BuildContext,
    base: &Version,
    deleted: Vec<EdgeId>,
    properties: Vec<EdgePropertyChange>,
) -> Result<Vec<PatchEdit>> {
    let mut by_slot: BTreeMap<usize, PatchContent> = BTreeMap::new();
    let place_of = |edge: EdgeId| match EdgePlace::of(edge) {
        Some(place) if base.partition_in(place.partition).is_some() => Ok(place),
        _ => Err(error!(Internal, "edge {} is none of the files", edge.0)),
    };
    for edge in deleted {
        let place = place_of(edge)?;
        by_slot.entry(place.partition).or_default().delete(place.section, place.position);
    }
    for EdgePropertyChange { edge, key, value } in properties {
        let place = place_of(edge)?;
        by_slot.entry(place.partition).or_default().set(place.section, place.position, key, value);
    }
    let mut edits = Vec::new();
    for (slot, content) in by_slot {
        context.interrupt.check()?;
        let Some(partition) = base.partition_in(slot) else { continue };
        let added = Some(content.write(context, partition)?);
        edits.push(PatchEdit { partition: partition.entry().topology.number, removed: Vec::new(), added });
    }
    Ok(edits)
}
