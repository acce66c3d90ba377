//! What a planner may ask of a store: counts that are cheap to keep current.

use crate::Map;
use crate::id::{EdgeTypeId, LabelId};

/// Counts of one snapshot. Exact for the native store; a foreign store may estimate.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Nodes in all.
    pub nodes: u64,
    /// Edges in all.
    pub edges: u64,
    /// Nodes by label; a node of two labels counts in both.
    pub nodes_by_label: Map<LabelId, u64>,
    /// Edges by type.
    pub edges_by_type: Map<EdgeTypeId, u64>,
}

impl Statistics {
    /// Nodes that carry the label.
    pub fn label(&self, label: LabelId) -> u64 {
        self.nodes_by_label.get(&label).copied().unwrap_or(0)
    }

    /// Edges of the type.
    pub fn edge_type(&self, edge_type: EdgeTypeId) -> u64 {
        self.edges_by_type.get(&edge_type).copied().unwrap_or(0)
    }
}
