//! The edges of small partitions, such as writes that were not merged yet, read once and kept by node: so that they cost
//! the passes over a large partition little.

use std::ops::Range;

use model::error::Result;

use super::numbered::NumberedRuns;

/// Runs in order of their nodes, each node once.
#[derive(Default)]
pub(super) struct ResidentRuns {
    nodes: Vec<u32>,
    ends: Vec<u32>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
}

/// Edges in the order in which they were read.
#[derive(Default)]
pub(super) struct Unsorted {
    /// Node, neighbor, and which edge it is.
    edges: Vec<(u32, u32, u32)>,
    weights: Vec<f64>,
}

impl Unsorted {
    /// Takes a block.
    pub(super) fn take(&mut self, runs: &NumberedRuns<'_>) {
        for run in 0..runs.nodes.len() {
            let (neighbors, weights) = runs.run(run);
            let first = self.edges.len() as u32;
            self.edges.extend(neighbors.iter().zip(first..).map(|(&neighbor, at)| (runs.nodes[run], neighbor, at)));
            self.weights.extend_from_slice(weights);
        }
    }

    /// The runs of the edges; those of a node keep their order.
    pub(super) fn sort(mut self) -> ResidentRuns {
        self.edges.sort_unstable_by_key(|&(node, _, at)| (node, at));
        let mut runs = ResidentRuns::default();
        for &(node, neighbor, at) in &self.edges {
            if runs.nodes.last() != Some(&node) {
                runs.nodes.push(node);
                runs.ends.push(0);
            }
            runs.neighbors.push(neighbor);
            runs.weights.extend(self.weights.get(at as usize));
            if let Some(end) = runs.ends.last_mut() {
                *end = runs.neighbors.len() as u32;
            }
        }
        runs
    }
}

impl ResidentRuns {
    /// All of them.
    pub(super) fn runs(&self) -> NumberedRuns<'_> {
        NumberedRuns { nodes: &self.nodes, ends: &self.ends, neighbors: &self.neighbors, weights: &self.weights }
    }

    /// The range of the runs of some nodes.
    pub(super) fn of(&self, nodes: Range<u32>) -> Range<usize> {
        let before = |end: u32| self.nodes.partition_point(|&node| node < end);
        before(nodes.start)..before(nodes.end)
    }
}

/// Resident runs that are put between and behind the rows of a partition.
pub(super) struct Added<'a> {
    runs: NumberedRuns<'a>,
    left: Range<usize>,
}

impl<'a> Added<'a> {
    /// The runs of some nodes.
    pub(super) fn new(resident: &'a ResidentRuns, nodes: Range<u32>) -> Added<'a> {
        Added { runs: resident.runs(), left: resident.of(nodes) }
    }

    /// The node of the next run.
    #[inline]
    pub(super) fn node(&self) -> Option<u32> {
        if self.left.is_empty() { None } else { Some(self.runs.nodes[self.left.start]) }
    }

    /// Adds the next run to a row.
    pub(super) fn append(&mut self, neighbors: &mut Vec<u32>, weights: &mut Vec<f64>) -> Result<()> {
        let Some(at) = self.left.next() else {
            return Err(model::error!(Internal, "a run was asked for behind the last one of a small partition"));
        };
        let run = self.runs.run(at);
        neighbors.extend_from_slice(run.0);
        weights.extend_from_slice(run.1);
        Ok(())
    }
}
