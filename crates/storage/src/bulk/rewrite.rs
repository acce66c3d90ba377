//! Merges the changes of a memtable into a new version; only the segments and partitions that changed are rewritten.

use std::ops::Range;
use std::sync::Arc;

use model::id::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use model::{Column, Interrupt, Map, Result, Schema, Value};

use super::buffer::EdgeBuffer;
use super::chunk::{ChunkSource, EdgeChunk, edge_key};
use super::context::BuildContext;
use super::indexes::index_changes;
use super::load::BulkConfig;
use super::partitions::{BoxedSource, EdgeChanges, lay_out, write_partitions};
use super::sort::Buckets;
use crate::error::StorageError;
use crate::format::NODE_ID_LIMIT;
use crate::manifest::PartitionEntry;
use crate::node_run::layers::Layers;
use crate::node_run::write::{NodeRow, NodeRunWriter};
use crate::node_run::{NodeRun, NodeRunEntry};
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
    let run = write_node_run(&context, base, &mut changes.nodes, base.layers().age() + 1)?;
    let layers = with_runs(&context, base, run)?;
    let bound = manifest.node_id_bound;
    manifest.indexes.extend(index_changes(&context, base, &layers, &schema, &changes.nodes, bound)?);
    manifest.node_runs.extend(run);
    manifest.partitions = rewrite_partitions(&context, base, &mut changes, manifest.node_id_bound)?;
    manifest.schema = schema;
    manifest.wal_number = changes.wal_number;
    drop(layers);
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

/// Puts labels and properties in order; of two values for the same key the later counts.
fn normalize(changes: &mut [NodeChange]) {
    for change in changes {
        if let Some(labels) = &mut change.labels {
            labels.sort_unstable();
            labels.dedup();
        }
        if !change.properties.is_sorted_by(|a, b| a.0 < b.0) {
            change.properties.reverse();
            change.properties.sort_by_key(|(key, _)| *key);
            change.properties.dedup_by_key(|(key, _)| *key);
        }
    }
}

/// Writes what changes of nodes say as a run; `None` if there are none. The changes ascend by node.
pub fn write_node_run(
    context: &BuildContext,
    base: &Version,
    changes: &mut [NodeChange],
    age: u64,
) -> Result<Option<NodeRunEntry>> {
    if changes.is_empty() {
        return Ok(None);
    }
    normalize(changes);
    let mut writer = NodeRunWriter::new(context)?;
    for change in changes.iter() {
        writer.push(&NodeRow {
            node: change.node,
            is_deleted: change.is_deleted,
            is_whole: change.labels.is_some() && change.node.0 >= base.node_id_bound(),
            labels: change.labels.as_deref(),
            properties: &change.properties,
        })?;
    }
    writer.finish(context, age)
}

/// The nodes of a version with runs over them.
pub fn with_runs(
    context: &BuildContext,
    base: &Version,
    new: impl IntoIterator<Item = NodeRunEntry>,
) -> Result<Layers> {
    let mut runs = base.layers().runs().to_vec();
    for entry in new {
        runs.push(Arc::new(NodeRun::open(&context.platform.disk, &context.directory, entry)?));
    }
    Ok(Layers::new(base.segments().to_vec(), runs))
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
