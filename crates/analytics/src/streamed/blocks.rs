//! Runs of edges made rows of consecutive nodes, without copying neighbors except for the run that a block cuts.

use std::ops::Range;

use model::error::Result;

use super::numbered::NumberedRuns;
use super::resident::Added;
use crate::rows::{RowBlock, RowSink};

/// Upper bound of the empty rows in one stretch that are put into a block rather than begin another.
const GAP_ROWS_MAX: u32 = 24;
/// Empty rows in one block.
const EMPTY_ROWS: usize = 4_096;

/// Hands runs on as pieces of rows, in the order in which they come.
pub(super) struct Pieces<'s, 'k> {
    sink: &'s mut RowSink<'k>,
    offsets: Vec<u64>,
}

impl<'s, 'k> Pieces<'s, 'k> {
    pub(super) fn new(sink: &'s mut RowSink<'k>) -> Pieces<'s, 'k> {
        Pieces { sink, offsets: Vec::new() }
    }

    /// Hands on some of the runs.
    pub(super) fn pass(&mut self, runs: &NumberedRuns<'_>, which: Range<usize>) -> Result<()> {
        let mut at = which.start;
        while at < which.end {
            at = self.pass_block(runs, at, which.end, runs.nodes[at])?;
        }
        Ok(())
    }

    /// One block from the row `first` on, which is that of the run at `at` or one a little before it; gives the run at
    /// which the block ends, because a gap follows it or the runs do not ascend.
    fn pass_block(&mut self, runs: &NumberedRuns<'_>, mut at: usize, end: usize, first: u32) -> Result<usize> {
        let start = runs.start_of(at);
        self.offsets.clear();
        self.offsets.push(0);
        let (mut next, mut offset) = (first, 0);
        while at < end {
            let node = runs.nodes[at];
            if node != next {
                if node < next || node - next > GAP_ROWS_MAX {
                    break;
                }
                self.offsets.extend((next..node).map(|_| offset));
            }
            offset = u64::from(runs.ends[at]) - start as u64;
            self.offsets.push(offset);
            next = node + 1;
            at += 1;
        }
        let entries = start..start + offset as usize;
        let weights = if runs.weights.is_empty() { &[][..] } else { &runs.weights[entries.clone()] };
        (self.sink)(RowBlock { first, offsets: &self.offsets, neighbors: &runs.neighbors[entries], weights })?;
        Ok(at)
    }

    /// Hands on rows without neighbors.
    fn pass_empty(&mut self, rows: Range<u32>) -> Result<()> {
        for first in rows.clone().step_by(EMPTY_ROWS) {
            self.offsets.clear();
            self.offsets.resize(EMPTY_ROWS.min((rows.end - first) as usize) + 1, 0);
            (self.sink)(RowBlock { first, offsets: &self.offsets, neighbors: &[], weights: &[] })?;
        }
        Ok(())
    }
}

/// The treatment of rows without edges.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EmptyRows {
    Pass,
    LeaveOut,
}

/// Hands runs that ascend by node on as whole rows.
pub(super) struct WholeRows<'s, 'k, 'a> {
    pieces: Pieces<'s, 'k>,
    rows: Range<u32>,
    empty_rows: EmptyRows,
    added: Added<'a>,
    /// The last run of a block, which may go on in the next one.
    open: Option<u32>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
}

impl<'s, 'k, 'a> WholeRows<'s, 'k, 'a> {
    /// For the nodes of a range; to the rows of some of them runs are added.
    pub(super) fn new(
        rows: Range<u32>,
        empty_rows: EmptyRows,
        added: Added<'a>,
        sink: &'s mut RowSink<'k>,
    ) -> WholeRows<'s, 'k, 'a> {
        let pieces = Pieces::new(sink);
        WholeRows { pieces, rows, empty_rows, added, open: None, neighbors: Vec::new(), weights: Vec::new() }
    }

    /// Takes the next block.
    pub(super) fn take(&mut self, runs: &NumberedRuns<'_>) -> Result<()> {
        let Some(last) = runs.nodes.len().checked_sub(1) else { return Ok(()) };
        let mut at = 0;
        if self.open == Some(runs.nodes[0]) {
            self.extend_open(runs.run(0));
            if last == 0 {
                return Ok(());
            }
            at = 1;
        }
        self.close()?;
        self.pass(runs, at..last)?;
        self.neighbors.clear();
        self.weights.clear();
        self.open = Some(runs.nodes[last]);
        self.extend_open(runs.run(last));
        Ok(())
    }

    fn extend_open(&mut self, (neighbors, weights): (&[u32], &[f64])) {
        self.neighbors.extend_from_slice(neighbors);
        self.weights.extend_from_slice(weights);
    }

    /// Hands on the run that was kept back.
    fn close(&mut self) -> Result<()> {
        let Some(node) = self.open.take() else { return Ok(()) };
        let (neighbors, weights) = (std::mem::take(&mut self.neighbors), std::mem::take(&mut self.weights));
        let ends = [neighbors.len() as u32];
        self.pass(&NumberedRuns { nodes: &[node], ends: &ends, neighbors: &neighbors, weights: &weights }, 0..1)?;
        (self.neighbors, self.weights) = (neighbors, weights);
        Ok(())
    }

    /// Hands runs on with those that are added between them.
    fn pass(&mut self, runs: &NumberedRuns<'_>, which: Range<usize>) -> Result<()> {
        let mut at = which.start;
        while at < which.end {
            self.pass_added(runs.nodes[at])?;
            let Some(added) = self.added.node().filter(|&node| node <= runs.nodes[which.end - 1]) else {
                return self.pass_alone(runs, at..which.end);
            };
            let stop = at + runs.nodes[at..which.end].partition_point(|&node| node < added);
            self.pass_alone(runs, at..stop)?;
            at = stop;
            if runs.nodes[at] == added {
                let (neighbors, weights) = runs.run(at);
                self.pass_row(added, neighbors.to_vec(), weights.to_vec())?;
                at += 1;
            }
        }
        Ok(())
    }

    /// Hands on what is added for nodes before `end`.
    fn pass_added(&mut self, end: u32) -> Result<()> {
        while let Some(node) = self.added.node().filter(|&node| node < end) {
            self.pass_row(node, Vec::new(), Vec::new())?;
        }
        Ok(())
    }

    /// Hands on one row and what is added to it.
    fn pass_row(&mut self, node: u32, mut neighbors: Vec<u32>, mut weights: Vec<f64>) -> Result<()> {
        self.added.append(&mut neighbors, &mut weights)?;
        let ends = [neighbors.len() as u32];
        self.pass_alone(&NumberedRuns { nodes: &[node], ends: &ends, neighbors: &neighbors, weights: &weights }, 0..1)
    }

    fn pass_alone(&mut self, runs: &NumberedRuns<'_>, which: Range<usize>) -> Result<()> {
        let mut at = which.start;
        while at < which.end {
            let node = runs.nodes[at];
            if node < self.rows.start || node >= self.rows.end {
                let (found, expected) = (node, &self.rows);
                return Err(model::error!(
                    Internal,
                    "the store gave the edges of node {found} where those of {expected:?} follow in order"
                ));
            }
            let mut first = node;
            if self.empty_rows == EmptyRows::Pass && node > self.rows.start {
                if node - self.rows.start > GAP_ROWS_MAX {
                    self.pieces.pass_empty(self.rows.start..node)?;
                } else {
                    first = self.rows.start;
                }
            }
            at = self.pieces.pass_block(runs, at, which.end, first)?;
            self.rows.start = runs.nodes[at - 1] + 1;
        }
        Ok(())
    }

    /// Hands on what is left.
    pub(super) fn finish(mut self) -> Result<()> {
        self.close()?;
        self.pass_added(self.rows.end)?;
        match self.empty_rows {
            EmptyRows::Pass => self.pieces.pass_empty(self.rows.clone()),
            EmptyRows::LeaveOut => Ok(()),
        }
    }
}
