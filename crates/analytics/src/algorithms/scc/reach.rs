//! The set of nodes that a node reaches: a search from it that follows a small frontier and, when the frontier is
//! large, lets the nodes not yet reached look for a reached neighbor instead.
//!
//! Since only the set matters and not the distance, a node may be reached over one that was reached in the same step.

use std::sync::atomic::{AtomicU64, Ordering};

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph_view::Csr;
use crate::parallel::{even_ranges, map_tasks, ranges_of_equal_work};

/// A frontier whose edges are more than this part of all is not followed, but looked for.
const PULL_SHARE: u64 = 15;
/// Nodes of a frontier worth a task.
const TASK_NODES_MIN: usize = 256;
/// Tasks for each thread.
const TASKS_PER_THREAD: usize = 16;

/// A set of nodes that several threads add to.
pub(super) struct Reached(Vec<AtomicU64>);

impl Reached {
    fn new(node_count: usize) -> Reached {
        Reached((0..node_count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline]
    pub(super) fn has(&self, node: u32) -> bool {
        self.0[node as usize / 64].load(Ordering::Relaxed) >> (node % 64) & 1 == 1
    }

    /// Adds a node; true if it is new.
    #[inline]
    fn add(&self, node: u32) -> bool {
        let bit = 1 << (node % 64);
        self.0[node as usize / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}

/// The surroundings of a search.
pub(super) struct Search<'a> {
    pub(super) threads: usize,
    pub(super) interrupt: &'a Interrupt,
}

impl Search<'_> {
    /// The nodes among those that `may` be entered which `start` reaches over `rows`; `turned` holds the same edges
    /// turned round.
    pub(super) fn run(
        &self,
        rows: &Csr,
        turned: &Csr,
        start: u32,
        may: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Reached> {
        let reached = Reached::new(rows.node_count());
        reached.add(start);
        let mut frontier = vec![start];
        while !frontier.is_empty() {
            self.interrupt.check()?;
            let edges: u64 = frontier.iter().map(|&node| rows.degree(node)).sum();
            frontier = if edges > rows.edge_count() as u64 / PULL_SHARE {
                self.pull(turned, &reached, may)?
            } else {
                self.push(rows, &frontier, &reached, may)?
            };
        }
        Ok(reached)
    }

    /// Follows the edges of the frontier.
    fn push(
        &self,
        rows: &Csr,
        frontier: &[u32],
        reached: &Reached,
        may: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Vec<u32>> {
        let pieces = (frontier.len() / TASK_NODES_MIN + 1).min(self.threads * TASKS_PER_THREAD);
        let threads = if frontier.len() < TASK_NODES_MIN { 1 } else { self.threads };
        let parts = map_tasks(threads, even_ranges(frontier.len(), pieces, 1), |range| -> Result<Vec<u32>> {
            self.interrupt.check()?;
            let neighbors = frontier[range].iter().flat_map(|&node| rows.neighbors(node));
            Ok(neighbors.copied().filter(|&node| !reached.has(node) && may(node) && reached.add(node)).collect())
        });
        concat(parts)
    }

    /// Adds every node that has an edge from a node already reached.
    fn pull(&self, turned: &Csr, reached: &Reached, may: &(dyn Fn(u32) -> bool + Sync)) -> Result<Vec<u32>> {
        let ranges = ranges_of_equal_work(turned.offsets(), self.threads * TASKS_PER_THREAD);
        let parts = map_tasks(self.threads, ranges, |range| -> Result<Vec<u32>> {
            self.interrupt.check()?;
            let waiting = (range.start as u32..range.end as u32).filter(|&node| !reached.has(node) && may(node));
            let found = waiting.filter(|&node| {
                turned.neighbors(node).iter().any(|&neighbor| reached.has(neighbor)) && reached.add(node)
            });
            Ok(found.collect())
        });
        concat(parts)
    }
}

fn concat(parts: Vec<Result<Vec<u32>>>) -> Result<Vec<u32>> {
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(parts.concat())
}
