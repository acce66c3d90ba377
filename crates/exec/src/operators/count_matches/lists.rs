//! The edges of many nodes at once: of a batch as they come, and of all nodes as sorted lists.

use std::sync::Arc;

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, EdgeId, EdgeTypeId, NodeId, Result};

use crate::adjacency::expansion;
use crate::runtime::Runtime;

/// The edges of a batch of nodes, node by node.
#[derive(Default)]
pub(super) struct Edges {
    /// The start of each node's edges, and the end of the last.
    pub(super) starts: Vec<usize>,
    pub(super) neighbors: Vec<NodeId>,
    /// Of each edge; only if asked for.
    pub(super) ids: Vec<EdgeId>,
    pub(super) types: Vec<EdgeTypeId>,
    /// True if the edge runs from the neighbor; only if both directions are followed.
    pub(super) reversed: Vec<bool>,
}

impl Edges {
    /// The edges of nodes.
    pub(super) fn of(
        runtime: &Runtime<'_>,
        nodes: &[NodeId],
        direction: Direction,
        types: &[Arc<str>],
        ids: EdgeIds,
    ) -> Result<Edges> {
        let mut edges = Edges { starts: Vec::with_capacity(nodes.len() + 1), ..Edges::default() };
        let view = runtime.view();
        if let Some(expand) = expansion(view.view(), direction, types, ids) {
            let mut batch = EdgeBatch::default();
            let mut cursor = view.view().expand(nodes, &expand)?;
            while cursor.next(&mut batch)? {
                runtime.environment.interrupt.check()?;
                for (row, &input) in batch.inputs.iter().enumerate() {
                    while edges.starts.len() <= input as usize {
                        edges.starts.push(edges.neighbors.len() + row);
                    }
                }
                edges.neighbors.extend_from_slice(&batch.neighbors);
                edges.ids.extend_from_slice(&batch.edges);
                edges.types.extend_from_slice(&batch.types);
                edges.reversed.extend_from_slice(&batch.reversed);
            }
        }
        edges.starts.resize(nodes.len() + 1, edges.neighbors.len());
        Ok(edges)
    }

    /// The places of the edges of a node.
    #[inline]
    pub(super) fn range(&self, node: usize) -> std::ops::Range<usize> {
        self.starts[node]..self.starts[node + 1]
    }
}

/// The neighbors of nodes, each once and in order.
#[derive(Default)]
pub(super) struct Lists {
    starts: Vec<usize>,
    nodes: Vec<NodeId>,
}

impl Lists {
    /// Adds the lists of further nodes.
    pub(super) fn add(&mut self, edges: &mut Edges) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        for node in 0..edges.starts.len() - 1 {
            let range = edges.range(node);
            let neighbors = &mut edges.neighbors[range];
            if !neighbors.is_sorted() {
                neighbors.sort_unstable();
            }
            let start = self.nodes.len();
            for &neighbor in &*neighbors {
                if self.nodes.len() == start || self.nodes.last() != Some(&neighbor) {
                    self.nodes.push(neighbor);
                }
            }
            self.starts.push(self.nodes.len());
        }
    }

    /// The lists of successive parts as one.
    pub(super) fn joined(parts: Vec<Lists>) -> Lists {
        let nodes = parts.iter().map(|part| part.nodes.len()).sum();
        let mut all = Lists { starts: vec![0], nodes: Vec::with_capacity(nodes) };
        for part in parts {
            let before = all.nodes.len();
            all.starts.extend(part.starts.iter().skip(1).map(|start| before + start));
            all.nodes.extend_from_slice(&part.nodes);
        }
        all
    }

    /// The neighbors of one.
    #[inline]
    pub(super) fn get(&self, at: usize) -> &[NodeId] {
        match self.starts.get(at..at + 2) {
            Some(bounds) => &self.nodes[bounds[0]..bounds[1]],
            None => &[],
        }
    }
}
