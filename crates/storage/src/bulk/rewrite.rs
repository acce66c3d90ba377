//! Merges the changes of a memtable into a new version; only the segments and partitions that changed are rewritten.

use std::ops::Range;
use std::sync::Arc;

use model::id::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use model::{Column, Constraint, Interrupt, Map, Result, Schema, Set, Value};

use super::buffer::EdgeBuffer;
use super::chunk::{ChunkSource, EdgeChunk, edge_key};
use super::context::BuildContext;
use super::indexes::{build_index, write_index};
use super::load::BulkConfig;
use super::partitions::{BoxedSource, EdgeChanges, lay_out, write_partitions};
use super::sort::Buckets;
use crate::codec::hash::hash_value;
use crate::error::StorageError;
use crate::format::{NODE_ID_LIMIT, SEGMENT_BITS, SEGMENT_NODES};
use crate::index::index_hash;
use crate::index::sort::PairSorter;
use crate::manifest::{IndexEntry, PartitionEntry, SegmentEntry};
use crate::segment::Segment;
use crate::segment::write::SegmentWriter;
use crate::version::{Version, VersionEdit};

/// Targets counted together when partitions are laid out, as a power of two.
pub const HISTOGRAM_BITS: u32 = 12;

/// What became of one node. Nodes at or above the base's bound are new; ids between that are not listed are unused.
#[derive(Clone, Debug, Default)]
pub struct NodeChange {
    /// Which node.
    pub node: NodeId,
    /// It is gone; the other fields do not count.
    pub is_deleted: bool,
    /// All its labels from now on, in any order; `None` if they did not change.
    pub labels: Option<Vec<LabelId>>,
    /// The properties that changed; null removes one.
    pub properties: Vec<(PropertyKeyId, Value)>,
}

/// New edges of one type, in columns.
#[derive(Clone, Debug)]
pub struct NewEdgeRows {
    /// Their type.
    pub edge_type: EdgeTypeId,
    /// Where each starts.
    pub sources: Vec<NodeId>,
    /// Where each ends.
    pub targets: Vec<NodeId>,
    /// The keys of their properties, each at most once.
    pub keys: Vec<PropertyKeyId>,
    /// One column for each key.
    pub columns: Vec<Column>,
}

/// A changed property of an edge of the base.
#[derive(Clone, Debug)]
pub struct EdgePropertyChange {
    /// The edge, by its id in the base.
    pub edge: EdgeId,
    /// The property.
    pub key: PropertyKeyId,
    /// Its value from now on; null removes it.
    pub value: Value,
}

/// Everything that differs from the base.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Names and constraints from now on; the names of the base keep their numbers.
    pub schema: Schema,
    /// One more than the largest node id ever given out.
    pub node_id_bound: u64,
    /// Changed and new nodes, in any order, each at most once.
    pub nodes: Vec<NodeChange>,
    /// New edges; several rows may have the same type.
    pub new_edges: Vec<NewEdgeRows>,
    /// Edges of the base that are gone, in any order.
    pub deleted_edges: Vec<EdgeId>,
    /// Changed properties of edges of the base; a later one for the same edge and key wins.
    pub edge_properties: Vec<EdgePropertyChange>,
    /// The first write-ahead log that is not in the new version.
    pub wal_number: u64,
}

/// Writes a new version with the changes and makes it current. On failure the store stays as it was.
///
/// Uniqueness was enforced when the changes were made; a constraint that is new in the schema gets its index here.
pub fn rewrite(
    base: &Arc<Version>,
    mut changes: Changes,
    config: &BulkConfig,
    interrupt: &Interrupt,
) -> Result<Arc<Version>> {
    let context = BuildContext::new(base, config, interrupt);
    changes.nodes.sort_by_key(|change| change.node);
    check_limits(&changes)?;
    let mut manifest = base.manifest().clone();
    let schema = std::mem::take(&mut changes.schema);
    manifest.node_id_bound = manifest.node_id_bound.max(changes.node_id_bound);
    manifest.segments = rewrite_segments(&context, base, &changes.nodes)?;
    let segments = open_segments(&context, base, &manifest.segments)?;
    manifest.indexes = rewrite_indexes(&context, base, &schema, &changes.nodes, &segments, manifest.node_id_bound)?;
    manifest.partitions = rewrite_partitions(&context, base, &mut changes, manifest.node_id_bound)?;
    manifest.schema = schema;
    manifest.wal_number = changes.wal_number;
    drop(segments);
    // If publishing fails it may still have replaced the manifest; the next opening removes what is not needed then.
    context.commit();
    base.publish(&VersionEdit::difference(base.manifest(), manifest))
}

fn check_limits(changes: &Changes) -> Result<()> {
    if changes.node_id_bound > NODE_ID_LIMIT {
        return Err(StorageError::limit(format!("{} nodes are more than {NODE_ID_LIMIT}", changes.node_id_bound)));
    }
    Ok(())
}

/// The segments of the new version: those with changes are written anew.
pub fn rewrite_segments(context: &BuildContext, base: &Version, nodes: &[NodeChange]) -> Result<Vec<SegmentEntry>> {
    let mut entries: Map<u64, SegmentEntry> =
        base.manifest().segments.iter().map(|entry| (entry.segment, *entry)).collect();
    for changes in nodes.chunk_by(|a, b| a.node.0 >> SEGMENT_BITS == b.node.0 >> SEGMENT_BITS) {
        let number = changes[0].node.0 >> SEGMENT_BITS;
        let old = base.segments().get(number as usize).and_then(|segment| segment.as_deref());
        let written = SegmentWriter::changed(context, number, old, changes)?.finish(context)?;
        match written {
            Some(entry) => entries.insert(number, entry),
            None => entries.remove(&number),
        };
    }
    let mut entries: Vec<SegmentEntry> = entries.into_values().collect();
    entries.sort_by_key(|entry| entry.segment);
    Ok(entries)
}

/// Opens segments, sharing those of the base.
pub fn open_segments(
    context: &BuildContext,
    base: &Version,
    entries: &[SegmentEntry],
) -> Result<Vec<Option<Arc<Segment>>>> {
    let mut segments: Vec<Option<Arc<Segment>>> = Vec::new();
    for &entry in entries {
        let at = entry.segment as usize;
        let open = base.segments().get(at).cloned().flatten().filter(|open| open.entry() == entry);
        segments.resize(segments.len().max(at + 1), None);
        segments[at] = Some(match open {
            Some(open) => open,
            None => Arc::new(Segment::open(&context.platform.disk, &context.directory, entry)?),
        });
    }
    Ok(segments)
}

fn rewrite_indexes(
    context: &BuildContext,
    base: &Version,
    schema: &Schema,
    nodes: &[NodeChange],
    segments: &[Option<Arc<Segment>>],
    node_id_bound: u64,
) -> Result<Vec<IndexEntry>> {
    let mut entries = Vec::new();
    for &Constraint { label, key, .. } in &schema.constraints {
        if base.manifest().schema.unique(label, key).is_none() {
            entries.extend(build_index(context, label, key, segments, node_id_bound)?);
            continue;
        }
        let has_key = |change: &NodeChange| change.properties.iter().any(|(at, _)| *at == key);
        let affected: Vec<&NodeChange> =
            nodes.iter().filter(|change| change.is_deleted || change.labels.is_some() || has_key(change)).collect();
        let old = base.index_of(label, key);
        if affected.is_empty() {
            entries.extend(old.map(|index| index.entry()));
            continue;
        }
        let mut new = PairSorter::new(context.config.memory_bytes / 8);
        for change in &affected {
            if let Some(hash) = hash_of_node(segments, change.node, label, key)? {
                new.push(context, index_hash(hash), change.node)?;
            }
        }
        let without: Set<NodeId> = affected.iter().map(|change| change.node).collect();
        let old = old.map(|index| &**index);
        entries.extend(write_index(context, label, key, old, &without, new, node_id_bound)?);
    }
    Ok(entries)
}

/// The hash of a node's value under a constraint, if it has the label and a value.
fn hash_of_node(
    segments: &[Option<Arc<Segment>>],
    node: NodeId,
    label: LabelId,
    key: PropertyKeyId,
) -> Result<Option<u64>> {
    let (number, row) = ((node.0 >> SEGMENT_BITS) as usize, node.0 & (SEGMENT_NODES - 1));
    let Some(Some(segment)) = segments.get(number) else { return Ok(None) };
    if !segment.bit(segment.label(label), row as usize)? {
        return Ok(None);
    }
    let value = segment.column(key).map_or(Ok(Value::Null), |column| column.value(row))?;
    Ok((!value.is_null()).then(|| hash_value(&value)))
}

fn rewrite_partitions(
    context: &BuildContext,
    base: &Version,
    changes: &mut Changes,
    node_id_bound: u64,
) -> Result<Vec<PartitionEntry>> {
    let mut buffers: Map<EdgeTypeId, EdgeBuffer> = Map::default();
    let mut histogram = vec![0u64; (node_id_bound >> HISTOGRAM_BITS) as usize + 1];
    let mut new_edges = 0;
    for rows in changes.new_edges.drain(..) {
        let keys: Vec<u64> = rows.sources.iter().zip(&rows.targets).map(|(&s, &t)| edge_key(s, t)).collect();
        for target in &rows.targets {
            histogram[(target.0 >> HISTOGRAM_BITS) as usize] += 1;
        }
        new_edges += keys.len() as u64;
        let columns: Vec<(PropertyKeyId, &Column)> = rows.keys.iter().copied().zip(&rows.columns).collect();
        buffers.entry(rows.edge_type).or_default().push(&keys, &columns)?;
    }
    let mut deleted = std::mem::take(&mut changes.deleted_edges);
    deleted.sort_unstable();
    deleted.dedup();
    let mut properties = std::mem::take(&mut changes.edge_properties);
    properties.sort_by_key(|change| (change.edge, change.key));
    if new_edges == 0 && deleted.is_empty() && properties.is_empty() {
        return Ok(base.manifest().partitions.clone());
    }
    let intervals = lay_out(base, new_edges, &histogram, HISTOGRAM_BITS, context.config.partition_edges_max);
    let mut sorted: Map<EdgeTypeId, Vec<EdgeChunk>> = Map::default();
    for (edge_type, buffer) in buffers {
        let chunks = sorted.entry(edge_type).or_default();
        Buckets::new(vec![buffer.seal()?], node_id_bound, 1)?.drain(|chunk| {
            chunks.push(chunk);
            Ok(())
        })?;
    }
    let sorted = &sorted;
    let is_touched = move |interval: &Range<u64>| {
        let keys = sorted.values().flatten().flat_map(|chunk| &chunk.keys);
        keys.into_iter().any(|key| interval.contains(&(key & 0xffff_ffff)))
    };
    let new_edges = move |edge_type: EdgeTypeId, _: &Range<u64>| {
        let source = sorted.get(&edge_type).map(|chunks| Box::new(KeptChunks(chunks)) as BoxedSource<'_>);
        Ok(source.into_iter().collect())
    };
    let edge_changes = EdgeChanges {
        types: sorted.keys().copied().collect(),
        new_edges: Box::new(new_edges),
        is_touched: Box::new(is_touched),
        deleted,
        properties,
    };
    write_partitions(context, base, &intervals, node_id_bound, edge_changes)
}

/// Sorted chunks that are read once for each partition.
struct KeptChunks<'a>(&'a [EdgeChunk]);

impl ChunkSource for KeptChunks<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        let Some((chunk, rest)) = self.0.split_first() else { return Ok(None) };
        self.0 = rest;
        Ok(Some(chunk.clone()))
    }
}
