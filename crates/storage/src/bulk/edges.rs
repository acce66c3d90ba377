//! The edge half of a flush: a partition of the new edges, and patches of the partitions whose edges changed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use model::id::{EdgeId, EdgeTypeId, PropertyKeyId};
use model::{Column, ColumnData, Result, Schema, error};

use super::buffer::EdgeBuffer;
use super::partitions::{EdgeSources, everything, write_partitions};
use super::rewrite::{EdgePropertyChange, NewEdgeRows};
use super::sort::Buckets;
use crate::build::BuildContext;
use crate::build::chunk::{BoxedSource, ChunkSource, EdgeChunk, edge_key};
use crate::format::{EDGE_NUMBER_KEY, EdgePlace};
use crate::manifest::PartitionEntry;
use crate::partition::patch::write::PatchContent;
use crate::version::{PatchEdit, Version};

/// The key under which rows carry their numbers through the sort, where somebody asks for them. No property has it.
const ROW: PropertyKeyId = PropertyKeyId(u32::MAX - 1);

/// The ids that the edges of each section of a partition had before, in the order of their positions.
pub type PlacedEdges = Vec<Vec<EdgeId>>;

/// Writes the new edges as one partition of level 0; rows of one type are in the order in which they were made. Where the
/// edges of all rows have ids, it tells where each has come to lie.
pub fn write_new_edges(
    context: &BuildContext,
    rows: Vec<NewEdgeRows>,
    ids: &[Vec<EdgeId>],
    node_id_bound: u64,
    schema: &Schema,
) -> Result<(Vec<PartitionEntry>, PlacedEdges)> {
    let mut buffers: BTreeMap<EdgeTypeId, (EdgeBuffer, Vec<EdgeId>)> = BTreeMap::new();
    for (at, rows) in rows.into_iter().enumerate() {
        let keys: Vec<u64> = rows.sources.iter().zip(&rows.targets).map(|(&s, &t)| edge_key(s, t)).collect();
        let numbers = Column::new(ColumnData::Int(rows.numbers.iter().map(|&number| number as i64).collect()));
        let places;
        let mut columns: Vec<(PropertyKeyId, &Column)> = rows.keys.iter().copied().zip(&rows.columns).collect();
        columns.push((EDGE_NUMBER_KEY, &numbers));
        let (buffer, of_type) = buffers.entry(rows.edge_type).or_default();
        if let Some(ids) = ids.get(at) {
            let first = of_type.len() as i64;
            places = Column::new(ColumnData::Int((first..first + ids.len() as i64).collect()));
            columns.push((ROW, &places));
            of_type.extend_from_slice(ids);
        }
        buffer.push(&keys, &columns)?;
    }
    if buffers.is_empty() {
        return Ok(Default::default());
    }
    let types = buffers.keys().copied().collect();
    let placed: Rc<RefCell<PlacedEdges>> = Rc::default();
    let of_type = |edge_type, _: &_| {
        let Some((buffer, ids)) = buffers.remove(&edge_type) else { return Ok(Vec::new()) };
        let buckets = Buckets::new(vec![buffer.seal()?], node_id_bound, 1)?.ordered(schema.sort_key(edge_type));
        let mut sorted: BoxedSource<'_> = Box::new(buckets.one_by_one());
        if !ids.is_empty() {
            placed.borrow_mut().push(Vec::with_capacity(ids.len()));
            sorted = Box::new(Placing { inner: sorted, ids, placed: placed.clone() });
        }
        Ok(vec![sorted])
    };
    let sources = EdgeSources { types, of_type: Box::new(of_type) };
    let entries = write_partitions(context, &[everything()], 0, node_id_bound, schema, sources)?;
    Ok((entries, placed.take()))
}

/// Sorted edges without the numbers of their rows; notes the edges of the rows on the way.
struct Placing<'a> {
    inner: BoxedSource<'a>,
    /// The edge of each row.
    ids: Vec<EdgeId>,
    placed: Rc<RefCell<PlacedEdges>>,
}

impl ChunkSource for Placing<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        let Some(mut chunk) = self.inner.next()? else { return Ok(None) };
        let at = chunk.columns.iter().position(|(key, _)| *key == ROW);
        let numbers = at.map(|at| chunk.columns.swap_remove(at).1.data);
        let Some(ColumnData::Int(numbers)) = numbers else {
            return Err(error!(Internal, "edges lost the numbers of their rows"));
        };
        chunk.columns.sort_unstable_by_key(|(key, _)| *key);
        let mut placed = self.placed.borrow_mut();
        if let Some(section) = placed.last_mut() {
            section.extend(numbers.iter().map(|&row| self.ids[row as usize]));
        }
        Ok(Some(chunk))
    }
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
