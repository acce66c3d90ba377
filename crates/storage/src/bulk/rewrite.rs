//! Writes the changes of a memtable into new files: segments that changed are rewritten, edges come as a partition of
//! their own, what became of older edges as patches of their partitions.

use std::sync::Arc;

use model::id::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use model::{Column, Index, Interrupt, Result, Schema, Statistics, Value};

use super::built::Built;
use super::edges::{write_edge_changes, write_new_edges};
use super::indexes::index_changes;
use crate::build::BuildConfig;
use crate::build::BuildContext;
use crate::error::StorageError;
use crate::format::NODE_ID_LIMIT;
use crate::node_run::layers::Layers;
use crate::node_run::write::{NodeRow, NodeRunWriter};
use crate::node_run::{NodeRun, NodeRunEntry};
use crate::ordered_index::entries::OrderedEntries;
use crate::ordered_index::write::RunWriter;
use crate::version::{Version, VersionEdit};

/// Targets counted together when partitions are laid out, as a power of two.
pub const HISTOGRAM_BITS: u32 = 12;

/// Change of one node. Nodes at or above the base's bound are new; ids between that are not listed are unused.
#[derive(Clone, Debug, Default)]
pub struct NodeChange {
    /// The node.
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
    /// Source of each edge.
    pub sources: Vec<NodeId>,
    /// Target of each edge.
    pub targets: Vec<NodeId>,
    /// The number of each, which no other edge ever had.
    pub numbers: Vec<u64>,
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
    /// For each of `new_edges` the ids that its edges have so far; empty where nobody asks where they come to lie.
    pub edge_ids: Vec<Vec<EdgeId>>,
    /// Edges of the base that are gone, in any order.
    pub deleted_edges: Vec<EdgeId>,
    /// Changed properties of edges of the base; a later one for the same edge and key wins.
    pub edge_properties: Vec<EdgePropertyChange>,
    /// Entries written of ordered indexes.
    pub(crate) ordered: Vec<(Index, OrderedEntries)>,
    /// The first write-ahead log that is not in the new version.
    pub wal_number: u64,
    /// The counts of what the new version holds; counted anew if there are none.
    pub statistics: Option<Statistics>,
}

/// Writes a new version with the changes and makes it current. On failure the store stays as it was.
pub fn rewrite(
    base: &Arc<Version>,
    changes: Changes,
    config: &BuildConfig,
    interrupt: &Interrupt,
) -> Result<Arc<Version>> {
    build(base, changes, config, interrupt)?.install(base)
}

/// Writes files with the changes: what nothing touches stays as it is.
///
/// Uniqueness was enforced when the changes were made; a constraint that is new in the schema gets its index here.
pub fn build(base: &Arc<Version>, mut changes: Changes, config: &BuildConfig, interrupt: &Interrupt) -> Result<Built> {
    let context = base.build(config, interrupt);
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
    manifest.schema = schema.clone();
    manifest.wal_number = changes.wal_number;
    drop(layers);
    // The edges take memory of their own now.
    changes.nodes = Vec::new();
    let mut edit = VersionEdit::difference(base.manifest(), manifest);
    ordered_changes(&context, base, &changes.ordered, &mut edit)?;
    edit.statistics = changes.statistics.take();
    let new_edges = std::mem::take(&mut changes.new_edges);
    let (added, placed) = write_new_edges(&context, new_edges, &changes.edge_ids, bound, &schema)?;
    edit.added_partitions = added;
    edit.patches = write_edge_changes(&context, base, changes.deleted_edges, changes.edge_properties)?;
    Ok(Built { placed, ..Built::new(base, context, edit) })
}

/// Adds a run for each ordered index that was written to.
fn ordered_changes(
    context: &BuildContext,
    base: &Version,
    changes: &[(Index, OrderedEntries)],
    edit: &mut VersionEdit,
) -> Result<()> {
    for (index, written) in changes {
        let mut newest = base.ordered_runs(index).map(|run| run.entry().age).max();
        if written.is_new() {
            edit.renewed_ordered.push((index.subject, index.keys.clone()));
            newest = None;
        }
        if let Some(built) = written.built() {
            context.adopt(built.file());
            edit.added_ordered.push(built.entry().clone());
            newest = Some(built.entry().age);
        }
        let age = newest.map_or(1, |age| age + 1);
        let mut writer = RunWriter::new(context, index, age)?;
        for (entry, is_removed) in written.iter().filter(|&(_, is_removed)| age > 1 || !is_removed) {
            writer.push(entry, is_removed)?;
        }
        edit.added_ordered.extend(writer.finish(context)?);
    }
    Ok(())
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
