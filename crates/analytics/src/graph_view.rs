//! A compact copy of a projection in memory: nodes numbered from 0, edges as compressed sparse rows.
//!
//! Cost: 4 bytes an edge and direction (12 with weights), 8 bytes a node. A store with edge partitions gives the rows of
//! each direction in order, and they are copied together, for which as much again is held; of other stores every edge is
//! read once and sorted into rows, for which another 8 bytes an edge and direction are held (16 with weights).
//! Invariant: the order of the neighbors in a row depends on the store only, never on the number of threads.

pub(crate) mod assemble;
mod collect;
pub(crate) mod mend;
mod rows;

use std::ops::Range;
use std::sync::Arc;

use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::memory::Reservation;
use model::store::{Direction, ReadView};

pub use crate::edges::EdgeList;
pub use crate::rows::Sides;

use crate::edges::{self, EdgeSource};
use crate::execution::Pace;
use crate::numbering::Numbering;
use crate::projection::{Projection, Selection, Weight};
use crate::rows::{RowBlock, Side};
use crate::streamed::{StreamedRows, partitions_of};

/// Compressed sparse rows: the neighbors of node `i` are `neighbors[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr {
    offsets: Vec<u64>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
}

impl Csr {
    /// Number of rows.
    pub fn node_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of entries in all rows.
    pub fn edge_count(&self) -> usize {
        self.neighbors.len()
    }

    /// The offset of each row, and the end of the last one.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The entries of all rows.
    pub fn all_neighbors(&self) -> &[u32] {
        &self.neighbors
    }

    /// The weights of all entries; empty without weights.
    pub fn all_weights(&self) -> &[f64] {
        &self.weights
    }

    /// The neighbors of a node.
    #[inline]
    pub fn neighbors(&self, node: u32) -> &[u32] {
        &self.neighbors[self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize]
    }

    /// The weights of a node's edges, in the order of its neighbors; only for views with weights.
    #[inline]
    pub fn weights(&self, node: u32) -> &[f64] {
        &self.weights[self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize]
    }

    /// True if entries have weights.
    pub fn has_weights(&self) -> bool {
        self.weights.len() == self.neighbors.len() && !self.weights.is_empty()
    }

    /// The rows of some nodes.
    pub(crate) fn block(&self, nodes: Range<usize>) -> RowBlock<'_> {
        let offsets = &self.offsets[nodes.start..=nodes.end];
        let entries = offsets[0] as usize..offsets[nodes.len()] as usize;
        let weights = if self.weights.is_empty() { &[][..] } else { &self.weights[entries.clone()] };
        RowBlock { first: nodes.start as u32, offsets, neighbors: &self.neighbors[entries], weights }
    }

    /// Number of neighbors of a node; parallel edges are counted each.
    #[inline]
    pub fn degree(&self, node: u32) -> u64 {
        self.offsets[node as usize + 1] - self.offsets[node as usize]
    }

    /// The mean weight of all entries; 0 without entries.
    pub fn mean_weight(&self) -> f64 {
        if self.weights.is_empty() { 0.0 } else { self.weights.iter().sum::<f64>() / self.weights.len() as f64 }
    }
}

/// A projection in memory.
#[derive(Clone, Debug)]
pub struct GraphView {
    numbering: Numbering,
    direction: Direction,
    forward: Option<Csr>,
    backward: Option<Csr>,
    degrees: Vec<u32>,
    /// The memory that it is charged to, if it is kept.
    pub(crate) held: Option<Arc<Reservation>>,
}

impl GraphView {
    /// Reads a projection of a graph.
    pub fn build(
        view: &dyn ReadView,
        projection: &Projection,
        weight: Option<&Weight>,
        sides: Sides,
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<GraphView> {
        if partitions_of(view).is_some() {
            let selection = Selection { view, projection, weight, sides };
            return GraphView::collected(selection, threads, interrupt);
        }
        let numbering = Numbering::build(view, projection.labels.as_deref(), interrupt)?;
        let source = edges::of_view(view, projection, weight, &numbering, threads, interrupt)?;
        let built = assemble::assemble(&*source, numbering.len(), projection.direction, sides, threads)?;
        drop(source);
        Ok(GraphView::from_built(numbering, projection.direction, built))
    }

    /// Puts together the rows that a store reads from its partitions, in either direction.
    fn collected(selection: Selection<'_>, threads: usize, interrupt: &Interrupt) -> Result<GraphView> {
        let Selection { projection, sides, .. } = selection;
        let is_undirected = projection.direction == Direction::Both;
        let wants_forward = is_undirected || sides != Sides::Backward;
        let wants_backward = !is_undirected && sides != Sides::Forward;
        let streamed = StreamedRows::new(selection, Pace::full(threads), None, interrupt)?;
        let collect = |side| collect::collect(streamed.rows(), side, threads, interrupt);
        let forward = wants_forward.then(|| collect(Side::Forward)).transpose()?;
        let backward = wants_backward.then(|| collect(Side::Backward)).transpose()?;
        let numbering = streamed.into_numbering();
        let degrees = match (&forward, &backward) {
            (None, Some(backward)) => collect::count_neighbors(backward, numbering.len(), threads),
            _ => Vec::new(),
        };
        let built = assemble::Built { forward, backward, degrees };
        Ok(GraphView::from_built(numbering, projection.direction, built))
    }

    /// The view of a graph given as a list of edges between nodes `0..node_count`, for measuring and tests.
    pub fn from_edges(
        node_count: u32,
        list: &EdgeList<'_>,
        direction: Direction,
        sides: Sides,
        threads: usize,
    ) -> GraphView {
        let source: &dyn EdgeSource = list;
        let built = assemble::assemble(source, node_count as usize, direction, sides, threads)
            .expect("a list of edges in memory can be read");
        GraphView::from_built(Numbering::identity(node_count), direction, built)
    }

    fn from_built(numbering: Numbering, direction: Direction, built: assemble::Built) -> GraphView {
        let assemble::Built { forward, backward, degrees } = built;
        GraphView { numbering, direction, forward, backward, degrees, held: None }
    }

    /// Bytes that it holds.
    pub fn byte_count(&self) -> usize {
        let rows = [&self.forward, &self.backward].into_iter().flatten();
        let bytes = |rows: &Csr| 8 * rows.offsets.len() + 4 * rows.neighbors.len() + 8 * rows.weights.len();
        rows.map(bytes).sum::<usize>() + 4 * self.degrees.len() + self.numbering.byte_count()
    }

    /// True if it has the rows of both sides.
    pub(crate) fn has_both_sides(&self) -> bool {
        self.forward.is_some() && (self.backward.is_some() || self.is_undirected())
    }

    pub(crate) fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.numbering.len()
    }

    /// Number of edges; an undirected view counts an edge at both its ends.
    pub fn edge_count(&self) -> usize {
        self.forward.as_ref().or(self.backward.as_ref()).map_or(0, Csr::edge_count)
    }

    /// The node of that number.
    #[inline]
    pub fn node(&self, index: u32) -> NodeId {
        self.numbering.node(index)
    }

    /// The number of a node, if it takes part.
    pub fn index(&self, node: NodeId) -> Option<u32> {
        self.numbering.index(node)
    }

    /// True if edges are followed both ways, so that forward and backward rows are the same.
    pub fn is_undirected(&self) -> bool {
        self.direction == Direction::Both
    }

    /// The rows of edges that lead away; the view must have been built with forward rows.
    pub fn forward(&self) -> &Csr {
        self.forward.as_ref().expect("the caller built this view with forward rows")
    }

    /// The rows of edges that lead away, if the view has them.
    pub fn find_forward(&self) -> Option<&Csr> {
        self.forward.as_ref()
    }

    /// The rows of edges that lead to a node; the view must have been built with backward rows.
    pub fn backward(&self) -> &Csr {
        self.find_backward().expect("the caller built this view with backward rows")
    }

    /// True if entries have weights.
    pub(crate) fn has_weights(&self) -> bool {
        self.forward.as_ref().or(self.backward.as_ref()).is_some_and(Csr::has_weights)
    }

    /// The rows of edges that lead to a node, if the view has them.
    pub fn find_backward(&self) -> Option<&Csr> {
        if self.is_undirected() { self.forward.as_ref() } else { self.backward.as_ref() }
    }

    /// Number of edges that lead away from a node.
    #[inline]
    pub fn forward_degree(&self, node: u32) -> u64 {
        match &self.forward {
            Some(rows) => rows.degree(node),
            None => u64::from(self.degrees[node as usize]),
        }
    }
}
