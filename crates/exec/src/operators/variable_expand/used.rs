//! The edges that a row holds and from which those of its paths must differ.

use model::{EdgeId, EdgeValue, NodeId, Set, Value};

use crate::chunk::Chunk;
use crate::rows::edge_at;

/// See the module.
#[derive(Default)]
pub(super) struct Used {
    edges: Set<EdgeId>,
    ends: Set<NodeId>,
}

/// The edges in some columns of a row, singly or in lists, in their order.
pub(super) fn edges_of_row(chunk: &Chunk, columns: &[usize], row: u32) -> Vec<EdgeValue> {
    let mut edges = Vec::new();
    for column in columns.iter().map(|&column| &chunk.columns[column]) {
        if let Some(edge) = edge_at(column, row as usize) {
            edges.push(edge);
        } else if let Value::List(items) = column.value(row as usize) {
            edges.extend(items.iter().filter_map(|item| if let Value::Edge(edge) = item { Some(*edge) } else { None }));
        }
    }
    edges
}

impl Used {
    /// The edges in some columns of a row, singly or in lists.
    pub(super) fn of_row(chunk: &Chunk, columns: &[usize], row: u32) -> Used {
        Used::of_edges(edges_of_row(chunk, columns, row))
    }

    /// These edges.
    pub(super) fn of_edges(edges: impl IntoIterator<Item = EdgeValue>) -> Used {
        let mut used = Used::default();
        edges.into_iter().for_each(|edge| used.add_edge(&edge));
        used
    }

    fn add_edge(&mut self, edge: &EdgeValue) {
        self.edges.insert(edge.id);
        self.ends.extend([edge.source, edge.target]);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    pub(super) fn contains(&self, edge: EdgeId) -> bool {
        self.edges.contains(&edge)
    }

    /// True if an edge may start or end at a node.
    pub(super) fn touches(&self, node: NodeId) -> bool {
        self.ends.contains(&node)
    }
}
