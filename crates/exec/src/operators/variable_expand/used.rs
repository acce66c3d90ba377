//! The edges that a row holds and from which those of its paths must differ.

use model::{Column, EdgeId, EdgeValue, NodeId, Set, Value};

use crate::chunk::Chunk;
use crate::rows::edge_at;

/// See the module.
#[derive(Default)]
pub(super) struct Used {
    edges: Set<EdgeId>,
    ends: Set<NodeId>,
}

impl Used {
    /// The edges in some columns of a row, singly or in lists.
    pub(super) fn of_row(chunk: &Chunk, columns: &[usize], row: u32) -> Used {
        let mut used = Used::default();
        columns.iter().for_each(|&column| used.add(&chunk.columns[column], row as usize));
        used
    }

    /// These edges.
    pub(super) fn of_edges(edges: impl IntoIterator<Item = EdgeValue>) -> Used {
        let mut used = Used::default();
        edges.into_iter().for_each(|edge| used.add_edge(&edge));
        used
    }

    fn add(&mut self, column: &Column, row: usize) {
        if let Some(edge) = edge_at(column, row) {
            return self.add_edge(&edge);
        }
        let Value::List(items) = column.value(row) else { return };
        for item in items.iter() {
            if let Value::Edge(edge) = item {
                self.add_edge(edge);
            }
        }
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
