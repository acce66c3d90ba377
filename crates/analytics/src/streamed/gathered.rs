//! Rows whose edges lie in several partitions, types or directions: gathered for a window of nodes and put in order.
//!
//! Cost: each edge is copied twice; a window holds about as many edges as there is room for in the buffers of a thread, unless
//! one node has more.

use std::ops::Range;

use model::error::Result;

use super::numbered::NumberedRuns;
use crate::rows::{RowBlock, RowSink};

/// Factor of the intended number of edges beyond which a window is read anew with fewer nodes.
pub(super) const WINDOW_EXCESS: usize = 4;
/// Nodes of a window, at most.
pub(super) const WINDOW_ROWS_MAX: usize = 1 << 18;

/// The runs of a window of nodes, as they came.
#[derive(Default)]
pub(super) struct Window {
    /// Each run: its node, and how many neighbors.
    runs: Vec<(u32, u32)>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
    is_in_order: bool,
    offsets: Vec<u64>,
    sorted_neighbors: Vec<u32>,
    sorted_weights: Vec<f64>,
}

impl Window {
    /// Empties the window, keeping its buffers.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.neighbors.clear();
        self.weights.clear();
        self.is_in_order = true;
    }

    /// Edges taken so far.
    pub(super) fn edge_count(&self) -> usize {
        self.neighbors.len()
    }

    /// Takes a block.
    pub(super) fn take(&mut self, runs: &NumberedRuns<'_>) {
        let mut start = 0;
        for (&node, &end) in runs.nodes.iter().zip(runs.ends) {
            self.is_in_order &= self.runs.last().is_none_or(|last| last.0 <= node);
            self.runs.push((node, end - start));
            start = end;
        }
        self.neighbors.extend_from_slice(runs.neighbors);
        self.weights.extend_from_slice(runs.weights);
    }

    /// Takes some of the runs.
    pub(super) fn take_some(&mut self, runs: &NumberedRuns<'_>, which: Range<usize>) {
        for at in which {
            let (neighbors, weights) = runs.run(at);
            let (nodes, ends) = (&runs.nodes[at..=at], [neighbors.len() as u32]);
            self.take(&NumberedRuns { nodes, ends: &ends, neighbors, weights });
        }
    }

    /// Hands the rows of the window's nodes on; runs of one node follow one another in the order in which they came.
    pub(super) fn pass(&mut self, nodes: Range<usize>, sink: &mut RowSink<'_>) -> Result<()> {
        let first = nodes.start as u32;
        self.offsets.clear();
        self.offsets.resize(nodes.len() + 1, 0);
        for &(node, edges) in &self.runs {
            self.offsets[(node - first) as usize + 1] += u64::from(edges);
        }
        let mut end = 0;
        for offset in &mut self.offsets {
            end += *offset;
            *offset = end;
        }
        if !self.is_in_order {
            self.sort(first);
        }
        let (neighbors, weights) = if self.is_in_order {
            (&self.neighbors, &self.weights)
        } else {
            (&self.sorted_neighbors, &self.sorted_weights)
        };
        sink(RowBlock { first, offsets: &self.offsets, neighbors, weights })
    }

    fn sort(&mut self, first: u32) {
        let mut next: Vec<u64> = self.offsets[..self.offsets.len() - 1].to_vec();
        self.sorted_neighbors.resize(self.neighbors.len(), 0);
        self.sorted_weights.resize(self.weights.len(), 0.0);
        let mut start = 0;
        for &(node, edges) in &self.runs {
            let (from, edges) = (start, edges as usize);
            start += edges;
            let place = &mut next[(node - first) as usize];
            let to = *place as usize;
            *place += edges as u64;
            self.sorted_neighbors[to..to + edges].copy_from_slice(&self.neighbors[from..from + edges]);
            if !self.weights.is_empty() {
                self.sorted_weights[to..to + edges].copy_from_slice(&self.weights[from..from + edges]);
            }
        }
    }
}
