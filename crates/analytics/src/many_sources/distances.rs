//! For each node, a sum over its distances from all nodes that lead to it.

use model::error::Result;
use model::interrupt::Interrupt;

use super::breadth::{self, Searches};
use super::cheapest::{self, CheapestPaths};
use super::{add_up, threads_expected};
use crate::graph_view::GraphView;

/// The sums for each node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    /// The measures of the distances from other nodes, added up.
    pub(crate) measures: Vec<f64>,
    /// From how many other nodes a path leads to it.
    pub(crate) sources: Vec<u32>,
}

impl Sums {
    fn zero(count: usize) -> Sums {
        Sums { measures: vec![0.0; count], sources: vec![0; count] }
    }

    fn add(&mut self, other: &Sums) {
        self.measures.iter_mut().zip(&other.measures).for_each(|(sum, more)| *sum += more);
        self.sources.iter_mut().zip(&other.sources).for_each(|(sum, more)| *sum += more);
    }
}

/// Bytes of state for each node.
pub(crate) fn node_bytes(is_weighted: bool) -> usize {
    let of_search = if is_weighted { cheapest::NODE_BYTES } else { breadth::NODE_BYTES };
    let of_sums = size_of::<f64>() + size_of::<u32>();
    threads_expected() * (of_search + of_sums) + 2 * of_sums
}

/// Adds up a measure of the distances of all nodes to each, for a view that has forward rows: in edges, or in the weights
/// of the view.
pub(crate) fn sums(
    view: &GraphView,
    threads: usize,
    interrupt: &Interrupt,
    measure: impl Fn(f64) -> f64 + Sync,
) -> Result<Sums> {
    let count = view.node_count();
    let add = |total: &mut Sums, part: Sums| total.add(&part);
    let found = if view.forward().has_weights() {
        let work = |sources: std::ops::Range<usize>, progress: &super::Progress<'_>| {
            let mut sums = Sums::zero(count);
            let mut paths = CheapestPaths::new(view.forward());
            for source in sources {
                paths.run(source as u32, interrupt)?;
                for &node in &paths.order()[1..] {
                    sums.measures[node as usize] += measure(paths.distance(node));
                    sums.sources[node as usize] += 1;
                }
                progress.advance(1)?;
            }
            Ok(sums)
        };
        add_up(count, 1, threads, interrupt, work, add)?
    } else {
        let work = |sources: std::ops::Range<usize>, progress: &super::Progress<'_>| {
            let mut sums = Sums::zero(count);
            let mut searches = Searches::new(view, interrupt);
            let sources: Vec<u32> = (sources.start as u32..sources.end as u32).collect();
            for sources in sources.chunks(breadth::SOURCES) {
                searches.run(sources, |node, level, times| {
                    sums.measures[node as usize] += f64::from(times) * measure(f64::from(level));
                    sums.sources[node as usize] += times;
                })?;
                progress.advance(sources.len())?;
            }
            Ok(sums)
        };
        add_up(count, breadth::SOURCES, threads, interrupt, work, add)?
    };
    Ok(found.unwrap_or_default())
}

/// For checks by another method: what a cheapest path from each node to one costs, by lowering the costs of the nodes
/// that lead to a node whenever its own is lowered. The view must have backward rows.
pub(crate) fn costs_to(view: &GraphView, target: u32) -> Vec<f64> {
    let rows = view.backward();
    let mut costs = vec![f64::INFINITY; view.node_count()];
    costs[target as usize] = 0.0;
    let mut lowered = std::collections::VecDeque::from([target]);
    while let Some(node) = lowered.pop_front() {
        for (at, &from) in rows.neighbors(node).iter().enumerate() {
            let weight = if rows.has_weights() { rows.weights(node)[at] } else { 1.0 };
            let over_edge = costs[node as usize] + weight;
            if over_edge < costs[from as usize] {
                costs[from as usize] = over_edge;
                lowered.push_back(from);
            }
        }
    }
    costs
}

/// For checks by another method: some nodes of a view, evenly spaced.
pub(crate) fn some_nodes(view: &GraphView) -> impl Iterator<Item = u32> {
    const CHECKED: usize = 16;
    let count = view.node_count();
    (0..count).step_by(count.div_ceil(CHECKED).max(1)).map(|node| node as u32)
}
