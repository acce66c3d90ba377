//! Edges between parts of a graph: what a source must ask the other parts.

use model::{Column, NodeId, Result};

/// The other parts of a graph, asked when edges are followed whose far, or near, end is
/// [`EndNode::Foreign`](crate::definition::EndNode::Foreign).
pub trait Crossing {
    /// The nodes with that label whose property equals a value: rows of `values` with a node of each, in order of rows; a
    /// row may have several nodes or none. Values are not null.
    fn nodes_of(&self, label: &str, property: &str, values: &Column) -> Result<Vec<(u32, NodeId)>>;

    /// For each node, the value of a property; null where it has none or lacks the label.
    fn values_of(&self, nodes: &[NodeId], label: &str, property: &str) -> Result<Column>;
}
