//! Merges the changes of a memtable into a new version; only the segments and partitions that changed are rewritten.

use std::sync::Arc;

use model::id::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use model::{Column, Interrupt, Result, Schema, Value};

use super::load::BulkConfig;
use crate::version::Version;

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
    _base: &Arc<Version>,
    _changes: Changes,
    _config: &BulkConfig,
    _interrupt: &Interrupt,
) -> Result<Arc<Version>> {
    Err(model::error!(Internal, "rewrite is being built"))
}
