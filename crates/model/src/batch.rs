//! Batches: rows of nodes and of edges, as cursors fill them. Buffers are reused from call to call.

use crate::column::Column;
use crate::id::{EdgeId, EdgeTypeId, NodeId};

/// Nodes found by a scan.
#[derive(Clone, Debug, Default)]
pub struct NodeBatch {
    /// The nodes, in no particular order.
    pub nodes: Vec<NodeId>,
    /// One column for each property key that the scan asked for, in the order asked.
    pub properties: Vec<Column>,
}

impl NodeBatch {
    /// Empties the batch, keeping its buffers.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.properties.clear();
    }
}

/// Edges found by expanding a batch of nodes: for each row, which input it belongs to and where the edge leads.
///
/// Rows of one input are contiguous, and inputs come in the order given; the edges of one input may be split over
/// several batches.
#[derive(Clone, Debug, Default)]
pub struct EdgeBatch {
    /// For each edge, the index into the `from` slice of the expansion. Never decreases.
    pub inputs: Vec<u32>,
    /// For each edge, the node at its other end (for a self-loop, the same node).
    pub neighbors: Vec<NodeId>,
    /// For each edge, its type. Always filled.
    pub types: Vec<EdgeTypeId>,
    /// For each edge, its id. Filled only if the expansion asked for ids.
    pub edges: Vec<EdgeId>,
    /// For each edge, true if it runs from the neighbor to the input node. Filled only for `Direction::Both`;
    /// otherwise the direction of the expansion says it.
    pub reversed: Vec<bool>,
    /// One column for each property key that the expansion asked for, in the order asked.
    pub properties: Vec<Column>,
}

impl EdgeBatch {
    /// Number of edges.
    pub fn len(&self) -> usize {
        self.neighbors.len()
    }

    /// True without edges.
    pub fn is_empty(&self) -> bool {
        self.neighbors.is_empty()
    }

    /// Empties the batch, keeping its buffers.
    pub fn clear(&mut self) {
        self.inputs.clear();
        self.neighbors.clear();
        self.types.clear();
        self.edges.clear();
        self.reversed.clear();
        self.properties.clear();
    }

    /// The rows at `rows`, in that order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> EdgeBatch {
        fn pick<T: Copy>(from: &[T], rows: &[u32]) -> Vec<T> {
            // A list that was not requested is empty.
            if from.is_empty() { Vec::new() } else { rows.iter().map(|&row| from[row as usize]).collect() }
        }
        EdgeBatch {
            inputs: pick(&self.inputs, rows),
            neighbors: pick(&self.neighbors, rows),
            types: pick(&self.types, rows),
            edges: pick(&self.edges, rows),
            reversed: pick(&self.reversed, rows),
            properties: self.properties.iter().map(|column| column.gather(rows)).collect(),
        }
    }

    /// Leaves only these rows, which ascend.
    pub fn retain(&mut self, rows: &[u32]) {
        fn keep<T: Copy>(values: &mut Vec<T>, rows: &[u32]) {
            // A list that was not requested is empty.
            if !values.is_empty() {
                rows.iter().enumerate().for_each(|(to, &from)| values[to] = values[from as usize]);
                values.truncate(rows.len());
            }
        }
        keep(&mut self.inputs, rows);
        keep(&mut self.neighbors, rows);
        keep(&mut self.types, rows);
        keep(&mut self.edges, rows);
        keep(&mut self.reversed, rows);
        self.properties.iter_mut().for_each(|column| *column = column.gather(rows));
    }

    /// Adds all rows of a batch of the same expansion at the end.
    pub fn append(&mut self, other: &EdgeBatch) {
        if self.is_empty() {
            self.properties.clone_from(&other.properties);
        } else {
            self.properties.iter_mut().zip(&other.properties).for_each(|(mine, theirs)| mine.append(theirs));
        }
        self.inputs.extend_from_slice(&other.inputs);
        self.neighbors.extend_from_slice(&other.neighbors);
        self.types.extend_from_slice(&other.types);
        self.edges.extend_from_slice(&other.edges);
        self.reversed.extend_from_slice(&other.reversed);
    }
}

/// A block of edges as a partition streams them: sorted by edge type, then source, then target.
#[derive(Clone, Debug, Default)]
pub struct EdgeBlock {
    /// Source node of each edge.
    pub sources: Vec<NodeId>,
    /// Target node of each edge.
    pub targets: Vec<NodeId>,
    /// The type of all edges of the block.
    pub edge_type: EdgeTypeId,
    /// Each edge's id. Filled only if asked for.
    pub edges: Vec<EdgeId>,
    /// One column for each property key that the stream asked for.
    pub properties: Vec<Column>,
}

impl EdgeBlock {
    /// Empties the block, keeping its buffers.
    pub fn clear(&mut self) {
        self.sources.clear();
        self.targets.clear();
        self.edges.clear();
        self.properties.clear();
    }
}

/// A block of edges by node: for each node a run of neighbors.
#[derive(Clone, Debug, Default)]
pub struct EdgeRuns {
    /// The type of all edges of the block.
    pub edge_type: EdgeTypeId,
    /// The nodes, ascending, each once; those without edges are left out. The run of the last may go on in the next block.
    pub nodes: Vec<u32>,
    /// For each node, where its run ends in `neighbors`; it starts where the one before it ends.
    pub ends: Vec<u32>,
    /// For each edge, the node at its other end.
    pub neighbors: Vec<u32>,
    /// One column for each property key that the scan asked for, a row for each edge.
    pub properties: Vec<Column>,
}

impl EdgeRuns {
    /// Empties the block, keeping its buffers.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.ends.clear();
        self.neighbors.clear();
        self.properties.clear();
    }

    /// True without edges.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Each node with its neighbors.
    #[inline]
    pub fn runs(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let mut start = 0;
        self.nodes.iter().zip(&self.ends).map(move |(&node, &end)| {
            let run = &self.neighbors[start as usize..end as usize];
            start = end;
            (node, run)
        })
    }
}
