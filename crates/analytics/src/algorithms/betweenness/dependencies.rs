//! Adds to the scores the dependency of the shortest paths from one source on each node.
//!
//! Nodes are met in order of their distance, paths counted on the way; then in the opposite order each node takes from
//! the nodes behind it: δ(v) = Σ σ(v)/σ(w) · (1 + δ(w)) over edges v→w on shortest paths.

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph_view::Csr;
use crate::many_sources::cheapest::CheapestPaths;

const UNREACHED: u32 = u32::MAX;
/// Nodes between two checks for cancellation.
const CHECK_NODES: usize = 1 << 10;

/// State of a node while paths from one source are counted.
#[derive(Clone, Copy)]
struct Known {
    /// Number of shortest paths that lead to it.
    paths: f64,
    /// (1 + δ)/σ: what an edge to it is worth to a path that leads to the edge.
    worth: f64,
    /// Number of edges of such a path; not kept with weights.
    distance: u32,
}

const UNKNOWN: Known = Known { paths: 0.0, worth: 0.0, distance: UNREACHED };

/// Bytes of state for each node.
pub(super) const NODE_BYTES: usize = size_of::<Known>() + size_of::<u32>();

/// State kept for the next source.
pub(super) struct Dependencies<'a> {
    rows: &'a Csr,
    known: Vec<Known>,
    /// Nodes reached, nearest first, where there are no weights.
    order: Vec<u32>,
    cheapest: Option<CheapestPaths<'a>>,
}

impl<'a> Dependencies<'a> {
    pub(super) fn new(rows: &'a Csr) -> Dependencies<'a> {
        let cheapest = rows.has_weights().then(|| CheapestPaths::new(rows));
        Dependencies { rows, known: vec![UNKNOWN; rows.node_count()], order: Vec::new(), cheapest }
    }

    /// Adds to each node's score how much paths from the source depend on it. False if there are too many to be counted.
    pub(super) fn add_from(&mut self, source: u32, scores: &mut [f64], interrupt: &Interrupt) -> Result<bool> {
        match self.cheapest.take() {
            Some(mut paths) => {
                let could_count = self.add_over_cheapest(&mut paths, source, scores, interrupt);
                self.cheapest = Some(paths);
                could_count
            }
            None => self.add_over_shortest(source, scores, interrupt),
        }
    }

    fn add_over_shortest(&mut self, source: u32, scores: &mut [f64], interrupt: &Interrupt) -> Result<bool> {
        let last_level = self.count_shortest(source, interrupt)?;
        let mut could_count = true;
        // No path goes on from the nodes of the last level.
        for &node in &self.order[last_level..] {
            let known = &mut self.known[node as usize];
            known.worth = 1.0 / known.paths;
            could_count &= known.paths.is_finite();
        }
        for (at, &node) in self.order[..last_level].iter().enumerate().rev() {
            if at % CHECK_NODES == 0 {
                interrupt.check()?;
            }
            let Known { paths, distance, .. } = self.known[node as usize];
            let mut worth = 0.0;
            for &next in self.rows.neighbors(node) {
                let next = &self.known[next as usize];
                if next.distance == distance + 1 {
                    worth += next.worth;
                }
            }
            self.known[node as usize].worth = worth + 1.0 / paths;
            could_count &= paths.is_finite();
            if node != source {
                scores[node as usize] += worth * paths;
            }
        }
        self.order.drain(..).for_each(|node| self.known[node as usize] = UNKNOWN);
        Ok(could_count)
    }

    /// Finds the nodes that can be reached and counts the shortest paths to them; gives where the last level begins.
    fn count_shortest(&mut self, source: u32, interrupt: &Interrupt) -> Result<usize> {
        self.known[source as usize] = Known { paths: 1.0, distance: 0, ..UNKNOWN };
        self.order.push(source);
        let (mut at, mut level_start) = (0, 0);
        let mut level = 0;
        while at < self.order.len() {
            if at % CHECK_NODES == 0 {
                interrupt.check()?;
            }
            let node = self.order[at];
            let Known { paths, distance, .. } = self.known[node as usize];
            if distance > level {
                (level, level_start) = (distance, at);
            }
            for &next in self.rows.neighbors(node) {
                let known = &mut self.known[next as usize];
                if known.distance == UNREACHED {
                    (known.distance, known.paths) = (distance + 1, paths);
                    self.order.push(next);
                } else if known.distance == distance + 1 {
                    known.paths += paths;
                }
            }
            at += 1;
        }
        Ok(level_start)
    }

    fn add_over_cheapest(
        &mut self,
        cheapest: &mut CheapestPaths<'_>,
        source: u32,
        scores: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<bool> {
        cheapest.run(source, interrupt)?;
        let order = cheapest.order();
        order.iter().for_each(|&node| self.known[node as usize] = UNKNOWN);
        self.known[source as usize].paths = 1.0;
        for (at, &node) in order.iter().enumerate() {
            if at % CHECK_NODES == 0 {
                interrupt.check()?;
            }
            let paths = self.known[node as usize].paths;
            for next in cheapest.next_nodes(node) {
                self.known[next as usize].paths += paths;
            }
        }
        let mut could_count = true;
        for &node in order.iter().rev() {
            let paths = self.known[node as usize].paths;
            let worth: f64 = cheapest.next_nodes(node).map(|next| self.known[next as usize].worth).sum();
            self.known[node as usize].worth = worth + 1.0 / paths;
            could_count &= paths.is_finite();
            if node != source {
                scores[node as usize] += worth * paths;
            }
        }
        Ok(could_count)
    }
}
