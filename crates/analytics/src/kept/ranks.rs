//! PageRank, mended.
//!
//! The scores of [`crate::algorithms::pagerank`] are, up to a factor, the solution of `y = 1 + d · Σ y(u)/degree(u)` over
//! edges `u→v`: what nodes without edges hold is spread evenly, as the constant is, so that it drops out when the scores
//! are made to sum to 1. Beside an approximate `y` its residual `r = 1 + d · Σ y(u)/degree(u) − y` is kept.
//!
//! Claim: all scores together differ from those of an exact run by at most [`Ranks::error_bound`], 2‖r‖₁ / ((1 − d)‖y‖₁),
//! which a run and every mending bring below the tolerance.
//! Cost: an edge that came or went changes the residual at the neighbors of its source. Then residuals are pushed on along
//! edges, from the nodes where they are large, until they are small together: about as many edges as the change moves
//! scores, not as there are. When that would touch more edges than there are, the whole is pushed in passes.
//! After: Andersen, Chung, Lang, "Local graph partitioning using PageRank vectors", 2006; Zhang, Lofgren, Goel,
//! "Approximate personalized PageRank on dynamic graphs", 2016.

use model::Map;
use model::batch::EdgeBatch;
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::store::{EdgeIds, ReadView};

use super::change::{Change, Nodes};
use crate::algorithms::pagerank;
use crate::graph::{Graph, Selection, Side};
use crate::parallel::map_tasks;
use crate::projection::Projection;

/// Nodes whose edges are followed at a time.
const BATCH_NODES: usize = 2_048;

/// Iterations after which a first run is left to pushing.
const ITERATIONS_MAX: u64 = 500;

/// Bytes kept for each node.
pub(crate) const NODE_BYTES: usize = 2 * size_of::<f64>();
/// Bytes that a run takes for each node besides: degrees twice, shares and scores, values and residuals by number.
pub(crate) const RUN_NODE_BYTES: usize = 2 * size_of::<u32>() + 4 * size_of::<f64>();

/// By node id; 0 for nodes that do not take part.
#[derive(Debug)]
pub(crate) struct Ranks {
    damping_factor: f64,
    tolerance: f64,
    values: Vec<f64>,
    residuals: Vec<f64>,
}

impl Ranks {
    /// Computes all.
    pub(crate) fn run(
        graph: &Graph<'_>,
        selection: &Selection<'_>,
        nodes: &Nodes,
        (damping_factor, tolerance): (f64, f64),
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<Ranks> {
        // Exact shares, and as near as the error may be that a change of so much leaves.
        let change = (tolerance * (1.0 - damping_factor) / 4.0).min(1e-8);
        let config = pagerank::Config { damping_factor, max_iterations: ITERATIONS_MAX, tolerance: change };
        let found = pagerank::run(graph, &config, pagerank::Means::threads(threads), interrupt)?;
        let degrees = graph.forward_degrees(threads, interrupt)?;
        let dangling: f64 =
            (0..).zip(&found.scores).filter(|&(at, _): &(usize, _)| degrees[at] == 0).map(|(_, x)| x).sum();
        let constant = (1.0 - damping_factor + damping_factor * dangling) / nodes.count.max(1) as f64;
        let values: Vec<f64> = found.scores.iter().map(|score| score / constant).collect();
        let residuals = residuals(graph, &values, &degrees, damping_factor, threads, interrupt)?;
        let by_id = |of: &[f64]| {
            let mut all = vec![0.0; nodes.bound];
            of.iter().enumerate().for_each(|(number, x)| all[graph.node(number as u32).index()] = *x);
            all
        };
        let mut ranks = Ranks { damping_factor, tolerance, values: by_id(&values), residuals: by_id(&residuals) };
        ranks.push(selection.view, selection.projection, nodes, interrupt)?;
        Ok(ranks)
    }

    /// Bytes held.
    pub(crate) fn byte_count(&self) -> usize {
        size_of_val(&self.values[..]) + size_of_val(&self.residuals[..])
    }

    fn residual(&self) -> f64 {
        self.residuals.iter().map(|residual| residual.abs()).sum()
    }

    /// The most by which all scores together may differ from those of an exact run.
    pub(crate) fn error_bound(&self) -> f64 {
        let sum: f64 = self.values.iter().map(|value| value.abs()).sum();
        if sum == 0.0 { 0.0 } else { 2.0 * self.residual() / ((1.0 - self.damping_factor) * sum) }
    }

    /// The scores of the nodes that take part, which sum to 1.
    pub(crate) fn scores(&self, nodes: &Nodes) -> Vec<(u32, f64)> {
        let sum: f64 = nodes.iter().map(|node| self.values[node as usize]).sum();
        nodes.iter().map(|node| (node, self.values[node as usize] / sum)).collect()
    }

    /// Mends the scores; gives how many times a node's edges were followed.
    pub(crate) fn mend(
        &mut self,
        view: &dyn ReadView,
        projection: &Projection,
        nodes: &Nodes,
        change: &Change,
        interrupt: &Interrupt,
    ) -> Result<Option<u64>> {
        let bound = nodes.bound.max(self.values.len());
        self.values.resize(bound, 0.0);
        self.residuals.resize(bound, 0.0);
        for &node in &change.nodes_added {
            (self.values[node as usize], self.residuals[node as usize]) = (0.0, 1.0);
        }
        self.correct(view, projection, nodes, change, interrupt)?;
        for &node in &change.nodes_deleted {
            (self.values[node as usize], self.residuals[node as usize]) = (0.0, 0.0);
        }
        self.push(view, projection, nodes, interrupt).map(Some)
    }

    /// Takes back what sources whose edges changed gave by their old edges, and gives it by their new ones.
    fn correct(
        &mut self,
        view: &dyn ReadView,
        projection: &Projection,
        nodes: &Nodes,
        change: &Change,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let mut changes: Map<u32, (Vec<u32>, Vec<u32>)> = Map::default();
        change.added.iter().for_each(|&(source, target)| changes.entry(source).or_default().0.push(target));
        change.deleted.iter().for_each(|&(source, target)| changes.entry(source).or_default().1.push(target));
        let mut sources: Vec<u32> = changes.keys().copied().collect();
        sources.sort_unstable();
        for batch in sources.chunks(BATCH_NODES) {
            let rows = rows(view, projection, nodes, batch, interrupt)?;
            for (source, now) in batch.iter().zip(rows) {
                let (added, deleted) = &changes[source];
                let before = now.len() + deleted.len() - added.len();
                let held = self.damping_factor * self.values[*source as usize];
                let share = |degree: usize| if degree == 0 { 0.0 } else { held / degree as f64 };
                let (old, new) = (share(before), share(now.len()));
                now.iter().for_each(|&target| self.residuals[target as usize] += new - old);
                added.iter().for_each(|&target| self.residuals[target as usize] += old);
                deleted.iter().for_each(|&target| self.residuals[target as usize] -= old);
            }
        }
        Ok(())
    }

    /// Pushes residuals on until they are small; gives how many times a node's edges were followed.
    fn push(
        &mut self,
        view: &dyn ReadView,
        projection: &Projection,
        nodes: &Nodes,
        interrupt: &Interrupt,
    ) -> Result<u64> {
        let mut touched = 0;
        loop {
            // The sum of all values is at least the number of nodes, as each has the constant.
            let sum: f64 = self.values.iter().sum::<f64>().max(nodes.count as f64);
            let allowed = self.tolerance * (1.0 - self.damping_factor) * sum / 2.0;
            let left = self.residual();
            if left <= allowed || nodes.count == 0 {
                return Ok(touched);
            }
            // A residual below the threshold at every node adds up to half of the error that is allowed.
            let threshold = (allowed / (2.0 * nodes.count as f64)).max(left / (64.0 * nodes.count as f64));
            let is_large = |&node: &u32| self.residuals[node as usize].abs() > threshold;
            let frontier: Vec<u32> = nodes.iter().filter(is_large).collect();
            for batch in frontier.chunks(BATCH_NODES) {
                interrupt.check()?;
                touched += batch.len() as u64;
                let rows = rows(view, projection, nodes, batch, interrupt)?;
                for (&node, targets) in batch.iter().zip(rows) {
                    let pushed = std::mem::take(&mut self.residuals[node as usize]);
                    self.values[node as usize] += pushed;
                    let share = self.damping_factor * pushed / targets.len().max(1) as f64;
                    targets.iter().for_each(|&target| self.residuals[target as usize] += share);
                }
            }
        }
    }
}

/// By how much each value differs from what its neighbors and the constant give it.
fn residuals(
    graph: &Graph<'_>,
    values: &[f64],
    degrees: &[u32],
    damping_factor: f64,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    let pieces = graph.rows().pieces(Side::Backward, 16 * threads);
    let parts = map_tasks(threads, pieces, |piece| -> Result<_> {
        let start = piece.start;
        let mut found = vec![0.0; piece.len()];
        graph.rows().scan(Side::Backward, piece, None, &mut |block| {
            interrupt.check()?;
            for (node, neighbors) in block.rows() {
                let share = |&from: &u32| values[from as usize] / f64::from(degrees[from as usize]);
                found[node as usize - start] = damping_factor * neighbors.iter().map(share).sum::<f64>();
            }
            Ok(())
        })?;
        Ok((start, found))
    });
    let mut all = vec![0.0; values.len()];
    for part in parts {
        let (start, found) = part?;
        all[start..start + found.len()].copy_from_slice(&found);
    }
    all.iter_mut().zip(values).for_each(|(received, value)| *received += 1.0 - value);
    Ok(all)
}

/// For each of some nodes, the other ends of the edges that lead away from it.
fn rows(
    view: &dyn ReadView,
    projection: &Projection,
    nodes: &Nodes,
    of: &[u32],
    interrupt: &Interrupt,
) -> Result<Vec<Vec<u32>>> {
    let from: Vec<NodeId> = of.iter().map(|&node| NodeId(u64::from(node))).collect();
    let expand = projection.expand(projection.direction, Vec::new(), EdgeIds::Omit);
    let mut found = vec![Vec::new(); of.len()];
    let mut cursor = view.expand(&from, &expand)?;
    let mut batch = EdgeBatch::default();
    while cursor.next(&mut batch)? {
        interrupt.check()?;
        for (&input, neighbor) in batch.inputs.iter().zip(&batch.neighbors) {
            if nodes.contains(neighbor.index()) {
                found[input as usize].push(neighbor.index() as u32);
            }
        }
    }
    Ok(found)
}
