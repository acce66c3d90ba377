//! Bulk load: nodes first, then edges, into a new version of a store, never holding the graph in memory.
//!
//! - [`nodes`]: rows of nodes into segments, keys and indexes.
//! - [`edges`]: rows of edges from several threads into sorted runs.
//! - [`finish`]: runs into partitions, and the new manifest.
//!
//! Cost: a node is written once; an edge is sorted in memory or in runs of about half the budget, and merged once.

use crate::build::BuildConfig;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use model::id::{EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use model::{Column, Constraint, Interrupt, Map, PropertyType, ReadView, Result, Schema};

use super::buffer::SealedBuffer;
use super::resolve::KeyTable;
use super::rewrite::{EdgePropertyChange, NodeChange};
use super::run::Run;
use super::stored_keys::StoredKeys;
use crate::build::BuildContext;
use crate::index::sort::PairSorter;
use crate::manifest::SegmentEntry;
use crate::node_run::NodeRunEntry;
use crate::segment::write::SegmentWriter;
use crate::snapshot::Snapshot;
use crate::version::Version;

mod edges;
mod finish;
mod nodes;

pub use edges::EdgeLoader;

/// Share of the budget that the keys of all groups may take, as a divisor.
const KEY_MEMORY_SHARE: usize = 2;
/// Share of the budget that keys of nodes of the store may take, as a divisor.
const STORED_KEY_MEMORY_SHARE: usize = 8;

/// A row that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// The row: the batch's origin plus its index in the batch.
    pub row: u64,
    /// The problem: what was found and what was expected.
    pub reason: String,
    /// Label and property of the uniqueness constraint that refuses it, if one does.
    pub constraint: Option<(Arc<str>, Arc<str>)>,
}

/// The keys by which edges will find nodes.
#[derive(Clone, Copy, Debug)]
pub struct KeyRows<'a> {
    /// The group within which a key names one node.
    pub group: &'a str,
    /// The property that keeps the key, if it is to be kept; with a label it becomes a uniqueness constraint on the
    /// first label.
    pub property: Option<&'a str>,
    /// One key for each row.
    pub values: &'a Column,
}

/// Rows of nodes that have the same labels and property names.
#[derive(Clone, Copy, Debug)]
pub struct NodeRows<'a> {
    /// Number of rows.
    pub count: usize,
    /// Their labels.
    pub labels: &'a [&'a str],
    /// Their keys.
    pub key: Option<KeyRows<'a>>,
    /// The names of their other properties.
    pub names: &'a [&'a str],
    /// One column for each name; null means that the node has no such property.
    pub columns: &'a [Column],
    /// The number of the first row, for errors.
    pub origin: u64,
}

/// Result of adding rows of nodes.
#[derive(Clone, Debug, Default)]
pub struct NodesAdded {
    /// Nodes made.
    pub created: u64,
    /// Rows whose key was taken and that were passed over or updated the node there.
    pub merged: u64,
    /// Rows that were not taken.
    pub errors: Vec<RowError>,
    /// For each row, its node; `None` for an error.
    pub nodes: Vec<Option<NodeId>>,
}

/// The words of a message that name a group; none for the one without a name, which all nodes are in whose header gives none.
fn of_group(group: &str) -> String {
    if group.is_empty() { String::new() } else { format!(" of group {group}") }
}

/// Rows of edges of one type that have the same groups and property names.
#[derive(Clone, Copy, Debug)]
pub struct EdgeRows<'a> {
    /// Their type.
    pub edge_type: &'a str,
    /// The group of the keys of the sources.
    pub source_group: &'a str,
    /// The keys of the sources.
    pub sources: &'a Column,
    /// The group of the keys of the targets.
    pub target_group: &'a str,
    /// The keys of the targets.
    pub targets: &'a Column,
    /// The names of their properties.
    pub names: &'a [&'a str],
    /// One column for each name; null means that the edge has no such property.
    pub columns: &'a [Column],
    /// The number of the first row, for errors.
    pub origin: u64,
}

/// A build of a new version. Dropped before `finish`, the store is as it was.
pub struct BulkLoad {
    base: Arc<Version>,
    context: Arc<BuildContext>,
    schema: Schema,
    groups: Vec<Group>,
    constraints: Vec<ConstraintBuild>,
    segments: Map<u64, SegmentEntry>,
    writer: Option<SegmentWriter>,
    next_node: u64,
    updates: Map<NodeId, NodeChange>,
    /// Approximate number of bytes that `updates` take.
    update_bytes: usize,
    /// Updates that were written, oldest first.
    update_runs: Vec<NodeRunEntry>,
    shared: Option<Arc<Shared>>,
}

/// Nodes that edges find by a key.
struct Group {
    name: String,
    keys: KeyTable,
    /// Labels and properties in which the store keeps keys of this group that were there before.
    bound: Vec<(LabelId, PropertyKeyId)>,
    /// The same, once edges come.
    stored: Vec<StoredKeys>,
}

/// A uniqueness constraint that new nodes fall under.
struct ConstraintBuild {
    label: LabelId,
    key: PropertyKeyId,
    /// The group whose keys are the values, so that they are unique already.
    group: Option<usize>,
    /// The values of new nodes, where no group knows them.
    values: KeyTable,
    pairs: PairSorter,
}

/// State shared by the loaders of edges.
struct Shared {
    context: Arc<BuildContext>,
    base: Arc<Version>,
    groups: Vec<Group>,
    schema: Mutex<Schema>,
    node_id_bound: u64,
    buffer_bytes_max: usize,
    buffered_bytes: AtomicUsize,
    open_loaders: AtomicUsize,
    edges: AtomicU64,
    typed: Vec<TypedProperty>,
    done: Mutex<Loaded>,
}

/// A property of edges whose type a constraint of the store demands, so that those of the store have it.
struct TypedProperty {
    constraint: Constraint,
    edge_type: String,
    name: String,
    demanded: PropertyType,
    /// A value of this load may be of another type.
    is_unsure: AtomicBool,
}

/// Output of the finished loaders.
#[derive(Default)]
struct Loaded {
    buffers: Vec<(EdgeTypeId, SealedBuffer)>,
    runs: Vec<Run>,
    histogram: Vec<u64>,
    /// Changes of edges of the base.
    changes: Vec<EdgePropertyChange>,
}

impl BulkLoad {
    /// Begins a build in a store's directory, whose lock the caller holds. The base is the store's current version.
    pub fn new(base: &Arc<Version>, config: BuildConfig, interrupt: &Interrupt) -> Result<BulkLoad> {
        let least = model::limits::IMPORT_MEMORY_BYTES_MIN;
        if config.memory_bytes < least {
            let found = config.memory_bytes;
            return Err(crate::error::StorageError::limit(format!("a build needs {least} bytes, {found} are allowed")));
        }
        Ok(BulkLoad::unchecked(base, config, interrupt))
    }

    /// Begins a build whose budget may be too small to be sensible: for tests that want many runs.
    pub(crate) fn unchecked(base: &Arc<Version>, config: BuildConfig, interrupt: &Interrupt) -> BulkLoad {
        let schema = base.manifest().schema.clone();
        let memory = config.memory_bytes;
        let constraints = schema
            .constraints
            .iter()
            .filter_map(model::Constraint::lookup_key)
            .map(|(label, key)| ConstraintBuild::new(label, key, None, memory))
            .collect();
        BulkLoad {
            base: base.clone(),
            context: Arc::new(base.build(&config, interrupt)),
            schema,
            groups: Vec::new(),
            constraints,
            segments: base.manifest().segments.iter().map(|entry| (entry.segment, *entry)).collect(),
            writer: None,
            next_node: base.manifest().node_id_bound,
            updates: Map::default(),
            update_bytes: 0,
            update_runs: Vec::new(),
            shared: None,
        }
    }

    /// Lets edges find nodes that the store had before, by a property that has a uniqueness constraint with the label.
    pub fn bind_group(&mut self, group: &str, label: &str, property: &str) -> Result<()> {
        let found = self.schema.label(label).zip(self.schema.property_key(property));
        let Some((label_id, key)) =
            found.filter(|&(label, key)| self.base.manifest().schema.unique(label, key).is_some())
        else {
            return Err(model::error!(SchemaRule, "the store has no uniqueness constraint on :{label}({property})")
                .with_remedy("create the constraint first, or import the nodes with their keys"));
        };
        let group = self.group(group);
        let bound = &mut self.groups[group].bound;
        if !bound.contains(&(label_id, key)) {
            bound.push((label_id, key));
        }
        Ok(())
    }

    fn group(&mut self, name: &str) -> usize {
        self.groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            let keys = KeyTable::new(self.context.config.memory_bytes / KEY_MEMORY_SHARE);
            self.groups.push(Group { name: name.to_owned(), keys, bound: Vec::new(), stored: Vec::new() });
            self.groups.len() - 1
        })
    }

    /// Nodes and edges taken so far.
    pub fn counts(&self) -> (u64, u64) {
        let edges = self.shared.as_ref().map_or(0, |shared| shared.edges.load(std::sync::atomic::Ordering::Relaxed));
        (self.next_node - self.base.manifest().node_id_bound, edges)
    }

    /// The store as it is before this load. No write of others comes between it and the load.
    pub fn before(&self) -> Box<dyn ReadView> {
        Box::new(Snapshot::new(self.base.clone()))
    }

    /// The store's directory.
    pub fn directory(&self) -> PathBuf {
        self.context.directory.clone()
    }
}

impl std::fmt::Debug for BulkLoad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (nodes, edges) = self.counts();
        write!(f, "BulkLoad({nodes} nodes, {edges} edges)")
    }
}

impl ConstraintBuild {
    fn new(label: LabelId, key: PropertyKeyId, group: Option<usize>, memory_bytes: usize) -> ConstraintBuild {
        let (values, pairs) = (KeyTable::new(memory_bytes / 4), PairSorter::new(memory_bytes / 16));
        ConstraintBuild { label, key, group, values, pairs }
    }
}
