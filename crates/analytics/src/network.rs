//! A network for finding communities: undirected, weighted, and made coarser by taking communities for nodes.
//!
//! An edge of the graph counts at both its ends, whichever way it leads; parallel edges add up; a self-loop counts twice
//! at its node, so that the strengths of all nodes sum to twice the weight of all edges.
//!
//! Invariant: whatever is found does not depend on the number of threads, to the last bit.

mod coarsen;
mod moving;
mod neighborhood;
mod partition;
mod rounds;
mod start;

use std::borrow::Cow;
use std::ops::Range;

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph_view::GraphView;
use crate::parallel::{map_tasks, ranges_of_equal_work, split_mut};

pub(crate) use moving::{Moving, move_nodes};
pub(crate) use neighborhood::{Neighborhood, Sum};
pub(crate) use partition::{Members, Partition, unfold};
pub(crate) use start::{by_smallest_node, seeds};

/// Entries below which a thread more costs more than it does.
const ENTRIES_PER_THREAD_MIN: usize = 1 << 16;
/// Pieces for each thread.
const PIECES_PER_THREAD: usize = 16;

/// The network of one level.
pub(crate) struct Network<'a> {
    /// The offset of the row of each node.
    starts: Cow<'a, [u64]>,
    /// The end of the row of each node; the next row may begin behind that.
    ends: Cow<'a, [u64]>,
    /// The other ends of each node's edges; of the first level also the node itself for a self-loop.
    neighbors: Cow<'a, [u32]>,
    /// The weights of those edges; empty for 1 each.
    weights: Cow<'a, [f64]>,
    /// True if rows hold self-loops, once each.
    has_own: bool,
    /// Twice the weight of the edges within each node.
    loops: Vec<f64>,
    /// The weight of all edges of each node, those within it twice.
    strengths: Vec<f64>,
    /// All strengths together: twice the weight of all edges.
    total: f64,
    /// Entries of all rows.
    entry_count: usize,
}

impl<'a> Network<'a> {
    /// The network of an undirected view with forward rows; fails if its weights do not add up to a number.
    pub(crate) fn of_view(view: &'a GraphView, threads: usize) -> Result<Network<'a>> {
        let rows = view.forward();
        let node_count = view.node_count();
        let mut network = Network {
            starts: Cow::Borrowed(&rows.offsets()[..node_count]),
            ends: Cow::Borrowed(&rows.offsets()[1..]),
            neighbors: Cow::Borrowed(rows.all_neighbors()),
            weights: Cow::Borrowed(if rows.has_weights() { rows.all_weights() } else { &[] }),
            has_own: false,
            loops: Vec::new(),
            strengths: Vec::new(),
            total: 0.0,
            entry_count: rows.edge_count(),
        };
        let threads = network.threads(threads);
        let (mut loops, mut strengths) = (vec![0.0; node_count], vec![0.0; node_count]);
        let ranges = ranges_of_equal_work(rows.offsets(), PIECES_PER_THREAD * threads);
        let parts = split_mut(&mut loops, &ranges).into_iter().zip(split_mut(&mut strengths, &ranges));
        let tasks: Vec<_> = ranges.iter().cloned().zip(parts).collect();
        let have_own = map_tasks(threads, tasks, |(range, (loops, strengths))| {
            let mut has_own = false;
            for ((node, inside), strength) in range.zip(loops).zip(strengths) {
                let (own, all) = network.weigh_row(node as u32);
                (*inside, *strength) = (2.0 * own, own + all);
                has_own |= own != 0.0;
            }
            has_own
        });
        network.has_own = have_own.contains(&true);
        network.total = strengths.iter().sum();
        (network.loops, network.strengths) = (loops, strengths);
        Ok(network)
    }

    /// The weight of a row's self-loops, and of all its entries.
    fn weigh_row(&self, node: u32) -> (f64, f64) {
        let entries = self.entries(node);
        if self.weights.is_empty() {
            let row = &self.neighbors[entries];
            return (row.iter().filter(|&&other| other == node).count() as f64, row.len() as f64);
        }
        let (mut own, mut all) = (0.0, 0.0);
        for (&other, &weight) in self.neighbors[entries.clone()].iter().zip(&self.weights[entries]) {
            own += if other == node { weight } else { 0.0 };
            all += weight;
        }
        (own, all)
    }

    pub(crate) fn node_count(&self) -> usize {
        self.starts.len()
    }

    /// Twice the weight of all edges.
    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// The weight of all edges of a node.
    #[inline]
    pub(crate) fn strength(&self, node: u32) -> f64 {
        self.strengths[node as usize]
    }

    /// The range of the row of a node.
    #[inline]
    pub(crate) fn entries(&self, node: u32) -> Range<usize> {
        self.starts[node as usize] as usize..self.ends[node as usize] as usize
    }

    /// The ends of a node's edges, among them perhaps the node itself.
    #[inline]
    pub(crate) fn row(&self, node: u32) -> &[u32] {
        &self.neighbors[self.entries(node)]
    }

    /// The weight in its row of a node's self-loops.
    #[inline]
    pub(crate) fn own_in_row(&self, node: u32) -> f64 {
        if self.has_own { 0.5 * self.loops[node as usize] } else { 0.0 }
    }

    /// True if sums of weights are sums of ones that fit into 32 bits.
    pub(crate) fn counts_edges(&self) -> bool {
        self.weights.is_empty() && u32::try_from(self.entry_count).is_ok()
    }

    /// Number of the offered threads that are worth it.
    pub(crate) fn threads(&self, offered: usize) -> usize {
        offered.clamp(1, self.entry_count / ENTRIES_PER_THREAD_MIN + 1)
    }

    /// For each node the weight of the edges that join it with others of its community.
    pub(crate) fn within(&self, communities: &[u32], threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let threads = self.threads(threads);
        let mut within = vec![0.0; self.node_count()];
        // Rows lie one after another, and where they end is as good as where the next begins.
        let mut offsets = vec![0; self.node_count() + 1];
        for node in 0..self.node_count() {
            offsets[node + 1] = offsets[node] + (self.ends[node] - self.starts[node]);
        }
        let ranges = ranges_of_equal_work(&offsets, PIECES_PER_THREAD * threads);
        let tasks: Vec<_> = ranges.iter().cloned().zip(split_mut(&mut within, &ranges)).collect();
        let done = map_tasks(threads, tasks, |(range, within)| -> Result<()> {
            interrupt.check()?;
            for (node, within) in range.zip(within) {
                let (entries, own) = (self.entries(node as u32), communities[node]);
                let row = self.neighbors[entries.clone()].iter();
                let is_within = |other: u32| communities[other as usize] == own;
                let sum = if self.weights.is_empty() {
                    row.map(|&other| u64::from(is_within(other))).sum::<u64>() as f64
                } else {
                    let weights = &self.weights[entries];
                    row.zip(weights).map(|(&other, &weight)| if is_within(other) { weight } else { 0.0 }).sum()
                };
                *within = sum - self.own_in_row(node as u32);
            }
            Ok(())
        });
        done.into_iter().collect::<Result<()>>()?;
        Ok(within)
    }

    /// The modularity of a partition: the share of weight within communities, less what would be expected of it by the
    /// strengths of the nodes, times `gamma`. 0 without edges.
    pub(crate) fn modularity(&self, partition: &Partition, within: &[f64], gamma: f64) -> f64 {
        self.share(within.iter().sum::<f64>(), partition.totals(), gamma)
    }

    /// The modularity where every node is a community.
    pub(crate) fn modularity_apart(&self, gamma: f64) -> f64 {
        self.share(0.0, &self.strengths, gamma)
    }

    fn share(&self, within: f64, totals: &[f64], gamma: f64) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        let inside = (self.loops.iter().sum::<f64>() + within) / self.total;
        inside - gamma * totals.iter().map(|total| (total / self.total) * (total / self.total)).sum::<f64>()
    }

    /// The connected pieces of given communities, numbered without gaps, and how many there are.
    pub(crate) fn pieces(&self, communities: &[u32], interrupt: &Interrupt) -> Result<(Vec<u32>, usize)> {
        let mut pieces = vec![u32::MAX; self.node_count()];
        let (mut count, mut stack) = (0, Vec::new());
        for start in 0..self.node_count() as u32 {
            if pieces[start as usize] != u32::MAX {
                continue;
            }
            interrupt.check()?;
            pieces[start as usize] = count;
            stack.push(start);
            while let Some(node) = stack.pop() {
                let own = communities[node as usize];
                for &other in self.row(node) {
                    if communities[other as usize] == own && pieces[other as usize] == u32::MAX {
                        pieces[other as usize] = count;
                        stack.push(other);
                    }
                }
            }
            count += 1;
        }
        Ok((pieces, count as usize))
    }
}
