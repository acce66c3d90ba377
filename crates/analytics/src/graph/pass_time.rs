//! Time of a computation that reads all edges in passes: nanoseconds of each edge and node in each pass, by execution mode.
//!
//! The costs are those of one thread, measured on two generated graphs (Kronecker of scale 18 with 4.2 million edges, Barabási–Albert with 0.3
//! million nodes and 1.5 million edges) on a server processor (AMD EPYC), with the files of the store in memory. Most of the
//! time is spent on random accesses, which depend on how far from each other in memory neighbors lie: on each of the two graphs a pass
//! takes from half to twice of what is told.

use crate::execution::Execution;
use crate::graph::Estimate;
use crate::many_sources::threads_expected;
use crate::rows::Sides;

/// Nanoseconds of an edge and of a node in a pass.
#[derive(Clone, Copy, Debug)]
pub struct PassCost {
    edge: f64,
    node: f64,
}

const fn cost(edge: f64, node: f64) -> PassCost {
    PassCost { edge, node }
}

/// Costs of the passes of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    memory: PassCost,
    streaming: PassCost,
    /// `None` if it does not run in windows.
    windows: Option<PassCost>,
}

/// PageRank without weights.
pub(crate) const RANK: Kernel =
    Kernel { memory: cost(0.8, 20.0), streaming: cost(2.0, 50.0), windows: Some(cost(5.0, 200.0)) };
/// ArticleRank, eigenvector centrality, hubs and authorities.
pub(crate) const SCORE: Kernel = Kernel { memory: cost(0.8, 30.0), streaming: cost(2.0, 50.0), windows: None };
/// Weak components, of which one pass is enough.
pub(crate) const UNION: Kernel =
    Kernel { memory: cost(3.0, 30.0), streaming: cost(4.7, 20.0), windows: Some(cost(72.0, 2_000.0)) };
/// Strong components, told as one pass.
pub(crate) const DEPTH_FIRST: Kernel = Kernel { memory: cost(4.7, 20.0), streaming: cost(5.0, 450.0), windows: None };
/// Label propagation, with edges in both directions.
pub(crate) const VOTE: Kernel =
    Kernel { memory: cost(1.0, 70.0), streaming: cost(3.0, 150.0), windows: Some(cost(14.0, 300.0)) };
/// Degrees.
pub(crate) const COUNT: Kernel = Kernel { memory: cost(0.5, 15.0), streaming: cost(2.0, 40.0), windows: None };

/// Nanoseconds to read an edge and a node of one side into memory.
const VIEW: PassCost = cost(6.0, 130.0);
/// The part of a thread that each further one adds.
const THREAD_SHARE: f64 = 0.8;

/// Passes of a run.
#[derive(Clone, Copy, Debug)]
pub struct Passes {
    /// The most that there are.
    pub count: u64,
    /// Cost of each.
    pub kernel: Kernel,
}

impl Estimate {
    /// Seconds of a run with such passes; `None` if it was never measured in its mode.
    pub(crate) fn seconds(&self, passes: Passes, sides: Sides) -> Option<f64> {
        let kernel = passes.kernel;
        let cost = match self.execution {
            Execution::Memory => kernel.memory,
            Execution::Streaming => kernel.streaming,
            Execution::Windows => kernel.windows?,
            // Cost of a program whose machines are not known here.
            Execution::Spark => return None,
        };
        let (edges, nodes) = (self.edges as f64, self.nodes as f64);
        let of_pass = |cost: PassCost| edges * cost.edge + nodes * cost.node;
        let read = if sides == Sides::ForwardAndBackward { 2.0 } else { 1.0 };
        let view_ns = if self.view_bytes > 0 { read * of_pass(VIEW) } else { 0.0 };
        // Threads beyond the processors gain nothing.
        let threads = self.pace.threads.min(threads_expected());
        let threads = 1.0 + THREAD_SHARE * threads.saturating_sub(1) as f64;
        Some((view_ns + passes.count as f64 * of_pass(cost)) / threads / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::{Passes, RANK, SCORE};
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
        let seconds = |execution, threads| {
            let passes = Passes { count: 20, kernel: RANK };
            estimate(execution, threads).seconds(passes, Sides::Backward).expect("it was measured")
        };
        let all = Execution::ALL.map(|execution| seconds(execution, 1));
        assert!(all.is_sorted() && all[0] > 0.1 && all[2] < 60.0, "{all:?}");
        let processors = threads_expected();
        assert!(processors == 1 || seconds(Execution::Memory, 2) < 0.6 * seconds(Execution::Memory, 1));
        assert_eq!(seconds(Execution::Memory, 1_000_000), seconds(Execution::Memory, processors));
        assert_eq!(estimate(Execution::Windows, 1).seconds(Passes { count: 1, kernel: SCORE }, Sides::Forward), None);
    }

    #[test]
    fn a_view_that_is_kept_is_not_read() {
        let passes = Passes { count: 1, kernel: RANK };
        let kept = estimate(Execution::Memory, 1);
        let read = Estimate { view_bytes: 1 << 20, ..kept };
        let [kept, one, two] = [(kept, Sides::Forward), (read, Sides::Forward), (read, Sides::ForwardAndBackward)]
            .map(|(estimate, sides)| estimate.seconds(passes, sides).expect("it was measured"));
        assert!(kept < one && one < two && (two - kept - 2.0 * (one - kept)).abs() < 1e-9, "{kept} {one} {two}");
    }
}
