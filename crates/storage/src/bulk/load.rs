//! Bulk load: nodes first, then edges, into a new version of a store, never holding the graph in memory.

use std::path::PathBuf;
use std::sync::Arc;

use model::id::NodeId;
use model::{Column, Interrupt, Result};

use crate::version::Version;

/// What to do about a node whose key is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The row is an error.
    #[default]
    Error,
    /// The row is passed over; edges find the node that is there.
    Skip,
    /// The row's properties replace those of the node that is there.
    Update,
}

/// How a build may use the machine.
#[derive(Clone, Debug)]
pub struct BulkConfig {
    /// Memory it may use, in bytes.
    pub memory_bytes: usize,
    /// Threads it may use.
    pub threads: usize,
    /// What to do about a node whose key is taken.
    pub on_duplicate: OnDuplicate,
    /// Edges in one partition, at most, when partitions are laid out anew.
    pub partition_edges_max: u64,
}

impl Default for BulkConfig {
    fn default() -> BulkConfig {
        BulkConfig {
            memory_bytes: model::limits::IMPORT_MEMORY_BYTES,
            threads: 2,
            on_duplicate: OnDuplicate::Error,
            partition_edges_max: 1 << 28,
        }
    }
}

/// A row that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// The row: the batch's origin plus its index in the batch.
    pub row: u64,
    /// What was found and what was expected.
    pub reason: String,
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
    /// How many.
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

/// What became of rows of nodes.
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
#[derive(Debug)]
pub struct BulkLoad {
    _directory: PathBuf,
}

impl BulkLoad {
    /// Begins a build in a store's directory, whose lock the caller holds. The base is the store's current version.
    pub fn new(_base: &Arc<Version>, _config: BulkConfig, _interrupt: &Interrupt) -> Result<BulkLoad> {
        Err(model::error!(Internal, "bulk load is being built"))
    }

    /// Lets edges find nodes that the store had before, by a property that has a uniqueness constraint with the label.
    pub fn bind_group(&mut self, _group: &str, _label: &str, _property: &str) -> Result<()> {
        Ok(())
    }

    /// Adds nodes. Not possible once an edge loader was made.
    pub fn push_nodes(&mut self, _rows: &NodeRows<'_>) -> Result<NodesAdded> {
        Ok(NodesAdded::default())
    }

    /// A loader of edges for one thread; several may work at once. Ends the nodes.
    pub fn edge_loader(&mut self) -> Result<EdgeLoader> {
        Ok(EdgeLoader {})
    }

    /// Writes the files and makes them the store's current version. All loaders must be finished.
    pub fn finish(self) -> Result<Arc<Version>> {
        Err(model::error!(Internal, "bulk load is being built"))
    }
}

/// Takes edges from one thread.
#[derive(Debug)]
pub struct EdgeLoader {}

impl EdgeLoader {
    /// Adds edges by the keys of their ends; gives the rows that were not taken.
    pub fn push(&mut self, _rows: &EdgeRows<'_>) -> Result<Vec<RowError>> {
        Ok(Vec::new())
    }

    /// Adds edges by the ids of their ends, which must exist.
    pub fn push_ids(
        &mut self,
        _edge_type: &str,
        _sources: &[NodeId],
        _targets: &[NodeId],
        _names: &[&str],
        _columns: &[Column],
    ) -> Result<()> {
        Ok(())
    }

    /// Hands over what it holds. Must be called before the build is finished.
    pub fn finish(self) -> Result<()> {
        Ok(())
    }
}

