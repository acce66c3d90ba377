//! Time that a run takes: nanoseconds of each edge and node in each pass over the edges, by execution mode, or by the degrees of nodes.
//!
//! The costs are those of one thread, fitted to eleven generated graphs (Kronecker, Barabási–Albert, Erdős–Rényi, social and ratings, of
//! 33,000 to 3 million nodes) on a server processor (Intel Xeon, 2 MiB of L2 cache a core), with the files of the store in memory.
//! `benchmarks/algorithms_validation.py` compares them with runs on other graphs.
//!
//! An edge leads to the state of another node. Its access time grows with the logarithm of the number of nodes, once their state is
//! larger than the caches of the processor.

use model::store::Direction;

use super::degrees::Degrees;
use crate::execution::Execution;
use crate::graph::Estimate;
use crate::many_sources::threads_expected;
use crate::projection::Selection;
use crate::rows::Sides;

/// Nanoseconds in a pass.
#[derive(Clone, Copy, Debug)]
pub struct PassCost {
    /// Of an edge.
    edge: f64,
    /// Of an edge besides, for each e-fold of [`CACHED_NODES`].
    far: f64,
    /// Of a node.
    node: f64,
}

pub(crate) const fn cost(edge: f64, far: f64, node: f64) -> PassCost {
    PassCost { edge, far, node }
}

impl PassCost {
    pub(crate) fn ns(self, edges: f64, nodes: f64) -> f64 {
        edges * (self.edge + self.far * (nodes / CACHED_NODES).ln().max(0.0)) + nodes * self.node
    }
}

/// Costs of the passes of an algorithm; `None` where it does not run or its time was not measured.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    memory: PassCost,
    streaming: Option<PassCost>,
    windows: Option<PassCost>,
    /// True if all threads work: with one, or where rounds cost what threads gain, it takes the time of one.
    is_parallel: bool,
}

const fn in_memory(memory: PassCost) -> Kernel {
    Kernel { memory, streaming: None, windows: None, is_parallel: true }
}

const fn by_one_thread(memory: PassCost) -> Kernel {
    Kernel { is_parallel: false, ..in_memory(memory) }
}

/// PageRank without weights.
pub(crate) const RANK: Kernel = Kernel {
    memory: cost(0.4, 1.6, 9.0),
    streaming: Some(cost(1.4, 0.0, 21.0)),
    windows: Some(cost(4.5, 0.0, 180.0)),
    is_parallel: true,
};
/// ArticleRank, eigenvector centrality, hubs and authorities.
pub(crate) const SCORE: Kernel =
    Kernel { memory: cost(0.7, 1.6, 6.5), streaming: Some(cost(1.4, 0.5, 24.0)), windows: None, is_parallel: true };
/// Weak components, of which one pass is enough.
pub(crate) const UNION: Kernel = Kernel {
    memory: cost(2.4, 1.3, 18.0),
    streaming: Some(cost(1.75, 0.1, 35.0)),
    windows: Some(cost(64.0, 0.0, 1_800.0)),
    is_parallel: true,
};
/// Strong components, told as one pass.
pub(crate) const DEPTH_FIRST: Kernel =
    Kernel { memory: cost(4.0, 0.3, 0.0), streaming: Some(cost(13.4, 0.0, 123.0)), windows: None, is_parallel: true };
/// Label propagation, with edges in both directions.
pub(crate) const VOTE: Kernel = Kernel {
    memory: cost(0.0, 4.7, 53.0),
    streaming: Some(cost(0.0, 1.45, 75.0)),
    windows: Some(cost(12.5, 0.0, 270.0)),
    is_parallel: true,
};
/// Degrees.
pub(crate) const COUNT: Kernel =
    Kernel { memory: cost(0.0, 0.0, 10.0), streaming: Some(cost(1.8, 0.0, 35.0)), windows: None, is_parallel: true };
/// Articulation points and bridges, told as one pass.
pub(crate) const LOW_POINTS: Kernel = by_one_thread(cost(8.5, 23.0, 250.0));
/// Louvain: all moves of nodes of all levels, told as one pass.
pub(crate) const MOVE: Kernel = by_one_thread(cost(40.0, 22.0, 2_400.0));
/// Leiden: the same with refinement.
pub(crate) const REFINE: Kernel = by_one_thread(cost(95.0, 120.0, 5_000.0));
/// A spanning tree of edges without weights.
pub(crate) const JOIN: Kernel = by_one_thread(cost(25.0, 4.0, 350.0));
/// A topological order.
pub(crate) const LAYER: Kernel = by_one_thread(cost(2.0, 1.3, 10.0));
/// A breadth-first search that reaches all nodes.
pub(crate) const SEARCH: Kernel = in_memory(cost(0.2, 0.1, 17.0));
/// The same for each of many nodes, of which those of a word are searched from together.
pub(crate) const SEARCH_OF_MANY: Kernel = in_memory(cost(0.06, 0.02, 0.1));
/// A search for all shortest paths and the way back along them.
pub(crate) const PATHS: Kernel = in_memory(cost(12.0, 14.0, 20.0));
/// Cores in memory. Streamed, the number of passes depends on the graph.
pub(crate) const PEEL: Kernel = in_memory(cost(11.7, 5.1, 34.0));

/// Nanoseconds to read an edge and a node of the forward side into memory.
const VIEW_FORWARD: PassCost = cost(4.5, 0.0, 14.0);
/// The same of the backward side.
const VIEW_BACKWARD: PassCost = cost(8.3, 0.0, 21.0);
/// Approximate number of nodes whose state fits the caches of the processor.
const CACHED_NODES: f64 = 250_000.0;
/// The part of a thread that each further one adds.
const THREAD_SHARE: f64 = 0.6;

/// Work of a run, by which its time is told.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Passes over all edges.
    Passes {
        /// The most that there are.
        count: u64,
        /// Cost of each.
        kernel: Kernel,
    },
    /// A pass over all edges from each node, or from some.
    PassPerNode {
        /// Number of nodes; `None` for each.
        nodes: Option<u64>,
        /// Cost of each.
        kernel: Kernel,
    },
    /// Work of which the degrees of nodes decide.
    Degrees(OfDegrees),
}

/// Nanoseconds of one thread by the degrees of nodes; `None` if they were not measured in this mode.
pub(crate) type OfDegrees = fn(&Degrees, Execution) -> Option<f64>;

impl Estimate {
    /// Seconds of a run with such work; `None` if it was never measured in its mode, or the degrees that it depends on are unknown.
    pub(crate) fn seconds(&self, work: Work, selection: &Selection<'_>) -> Option<f64> {
        let ns = match work {
            Work::Passes { count, kernel } => self.passes_ns(count, kernel)?,
            Work::PassPerNode { nodes, kernel } => self.passes_ns(nodes.unwrap_or(u64::MAX).min(self.nodes), kernel)?,
            Work::Degrees(ns_of) => ns_of(&Degrees::of(selection, self)?, self.execution)? / self.speedup(),
        };
        let view_ns = self.view_ns(selection.sides, selection.projection.direction);
        Some((ns + view_ns / self.speedup()) / 1e9)
    }

    /// Nanoseconds of passes.
    fn passes_ns(&self, count: u64, kernel: Kernel) -> Option<f64> {
        let cost = match self.execution {
            Execution::Memory => kernel.memory,
            Execution::Streaming => kernel.streaming?,
            Execution::Windows => kernel.windows?,
            // Cost of a program whose machines are not known here.
            Execution::Spark => return None,
        };
        let speedup = if kernel.is_parallel { self.speedup() } else { 1.0 };
        Some(count as f64 * cost.ns(self.edges as f64, self.nodes as f64) / speedup)
    }

    /// Nanoseconds of one thread to read the view into memory, if that is to be done.
    fn view_ns(&self, sides: Sides, direction: Direction) -> f64 {
        if self.view_bytes == 0 {
            return 0.0;
        }
        let (edges, nodes) = (self.edges_once(direction) as f64, self.nodes as f64);
        let is_read = |other| sides != other || direction == Direction::Both;
        let forward = if is_read(Sides::Backward) { VIEW_FORWARD.ns(edges, nodes) } else { 0.0 };
        let backward = if is_read(Sides::Forward) { VIEW_BACKWARD.ns(edges, nodes) } else { 0.0 };
        forward + backward
    }

    /// The number of times that the run is faster than with one thread. Threads beyond the processors gain nothing.
    fn speedup(&self) -> f64 {
        let threads = self.pace.threads.min(threads_expected());
        1.0 + THREAD_SHARE * threads.saturating_sub(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use model::store::Direction;

    use super::{RANK, SCORE};
    use crate::execution::{Execution, Pace};
    use crate::graph::Estimate;
    use crate::many_sources::threads_expected;
    use crate::rows::Sides;

    fn estimate(execution: Execution, threads: usize) -> Estimate {
        let pace = Pace::full(threads);
        Estimate { execution, nodes: 1_000_000, edges: 10_000_000, bytes: 0, view_bytes: 0, bytes_per_pass: 0, pace }
    }

    #[test]
    fn slower_modes_take_longer_and_threads_shorten_them() {
        let ns = |execution| estimate(execution, 1).passes_ns(20, RANK).expect("it was measured");
        let all = Execution::ALL.map(ns);
        // Streams of a store in the system's cache take no longer than random reads of a large view.
        assert!(all[0] < 1.1 * all[1] && all[1] < all[2] && all[0] > 0.1e9 && all[2] < 60e9, "{all:?}");
        assert_eq!(estimate(Execution::Windows, 1).passes_ns(1, SCORE), None);
        let speedup = |threads| estimate(Execution::Memory, threads).speedup();
        let processors = threads_expected();
        assert!(speedup(1) == 1.0 && (processors == 1 || speedup(2) > 1.4));
        assert_eq!(speedup(1_000_000), speedup(processors));
    }

    #[test]
    fn edges_take_longer_where_the_state_of_nodes_is_larger_than_caches() {
        let of_edge = |nodes: f64| RANK.memory.ns(1e7, nodes) - RANK.memory.ns(0.0, nodes);
        assert_eq!(of_edge(1_000.0), of_edge(100_000.0));
        assert!(of_edge(1e6) > 2.0 * of_edge(1e5) && of_edge(1e7) > 1.5 * of_edge(1e6));
    }

    #[test]
    fn a_view_that_is_kept_is_not_read() {
        let kept = estimate(Execution::Memory, 1);
        let read = Estimate { view_bytes: 1 << 20, ..kept };
        let of = |estimate: Estimate, sides| estimate.view_ns(sides, Direction::Out);
        let [forward, backward] = [Sides::Forward, Sides::Backward].map(|sides| of(read, sides));
        assert_eq!(of(kept, Sides::ForwardAndBackward), 0.0);
        assert!(forward > 0.0 && backward > forward);
        assert_eq!(of(read, Sides::ForwardAndBackward), forward + backward);
        // An undirected view has each edge twice.
        let both = Estimate { edges: 2 * read.edges, ..read };
        assert_eq!(both.view_ns(Sides::Forward, Direction::Both), forward + backward);
    }
}
