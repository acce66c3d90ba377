//! Values pulled along edges: for each node the sum of what its neighbors hold, each times the weight of the edge.
//!
//! Invariant: the sums are the same bit for bit whatever the number of threads, as the order of a row is.
//! Cost: one pass over the rows, and one random read of 8 bytes an edge.

use std::ops::Range;

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph::{Graph, Rows, Side};
use crate::parallel::split_mut;
use crate::rows::pass::map_pass;

/// Pieces that rows are cut into: enough to even out the work of as many threads as there may be.
const PIECES: usize = 64;
/// Edges below which a piece is not cut further: to begin a piece costs a read where rows are streamed.
const EDGES_PER_PIECE_MIN: usize = 1 << 14;
/// Edges below which a thread more costs more than it does.
const EDGES_PER_THREAD_MIN: usize = 1 << 16;

/// The rows of one side of a graph, to be pulled along again and again.
pub(crate) struct Pull<'a> {
    rows: &'a dyn Rows,
    side: Side,
    ranges: Vec<Range<usize>>,
    threads: usize,
    interrupt: &'a Interrupt,
}

impl<'a> Pull<'a> {
    pub(crate) fn new(graph: &'a Graph<'_>, side: Side, threads: usize, interrupt: &'a Interrupt) -> Pull<'a> {
        let rows = graph.rows();
        let edges = rows.edge_count() as usize;
        let ranges = rows.pieces(side, PIECES.min(edges / EDGES_PER_PIECE_MIN + 1));
        Pull { rows, side, ranges, threads: threads.min(edges / EDGES_PER_THREAD_MIN + 1), interrupt }
    }

    /// Fills `out`: for each node what `finish` makes of the node and the sum over its row of the values there.
    pub(crate) fn sums(
        &self,
        values: &[f64],
        out: &mut [f64],
        finish: impl Fn(usize, f64) -> f64 + Sync,
    ) -> Result<()> {
        self.each_row(out, |node, neighbors, weights| {
            let sum = if weights.is_empty() { sum_of(values, neighbors) } else { dot(values, neighbors, weights) };
            finish(node, sum)
        })
    }

    /// Fills `out`: for each node the weights of its row added up, or how many entries it has if they have no weights.
    pub(crate) fn strengths(&self, out: &mut [f64]) -> Result<()> {
        self.each_row(
            out,
            |_, neighbors, weights| {
                if weights.is_empty() { neighbors.len() as f64 } else { weights.iter().sum() }
            },
        )
    }

    fn each_row(&self, out: &mut [f64], value: impl Fn(usize, &[u32], &[f64]) -> f64 + Sync) -> Result<()> {
        let pieces = self.ranges.iter().cloned().zip(split_mut(out, &self.ranges)).collect();
        let done = map_pass(
            (self.rows, self.side.only()),
            self.threads,
            pieces,
            |(nodes, out): (Range<usize>, &mut [f64])| {
                let start = nodes.start;
                self.rows.scan(self.side, nodes, None, &mut |block| {
                    self.interrupt.check()?;
                    let first = block.first as usize;
                    for (row, out) in out[first - start..][..block.len()].iter_mut().enumerate() {
                        *out = value(first + row, block.neighbors(row), block.weights(row));
                    }
                    Ok(())
                })
            },
        );
        done.into_iter().collect()
    }
}

/// For each node, the weights of the edges that lead away from it added up (or their number, if they have none), for a
/// graph that has backward rows.
pub(crate) fn forward_strengths(graph: &Graph<'_>, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let mut strengths = vec![0.0; graph.node_count()];
    match graph.view() {
        // The weights of a node lie in the rows of its neighbors; one thread, so that they are always added in one order.
        Some(view) if !view.is_undirected() => view.scan(Side::Backward, 0..view.node_count(), None, &mut |block| {
            interrupt.check()?;
            if block.weights.is_empty() {
                block.neighbors.iter().for_each(|&from| strengths[from as usize] += 1.0);
            } else {
                let edges = block.neighbors.iter().zip(block.weights);
                edges.for_each(|(&from, &weight)| strengths[from as usize] += weight);
            }
            Ok(())
        })?,
        _ => Pull::new(graph, Side::Forward, threads, interrupt).strengths(&mut strengths)?,
    }
    Ok(strengths)
}

/// The values of some nodes added up, in four sums at once, since one addition waits for the one before.
#[inline]
fn sum_of(values: &[f64], nodes: &[u32]) -> f64 {
    let mut sums = [0.0; 4];
    let mut quads = nodes.chunks_exact(4);
    for quad in &mut quads {
        for (sum, &node) in sums.iter_mut().zip(quad) {
            *sum += values[node as usize];
        }
    }
    let rest: f64 = quads.remainder().iter().map(|&node| values[node as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[inline]
fn dot(values: &[f64], nodes: &[u32], weights: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (mut quads, mut quad_weights) = (nodes.chunks_exact(4), weights.chunks_exact(4));
    for (quad, weights) in (&mut quads).zip(&mut quad_weights) {
        for ((sum, &node), &weight) in sums.iter_mut().zip(quad).zip(weights) {
            *sum += values[node as usize] * weight;
        }
    }
    let rest = quads.remainder().iter().zip(quad_weights.remainder());
    let rest: f64 = rest.map(|(&node, &weight)| values[node as usize] * weight).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// A measure of each of many numbers added up, in eight sums at once.
pub(crate) fn total(numbers: &[f64], measure: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let mut eights = numbers.chunks_exact(8);
    for eight in &mut eights {
        for (sum, &number) in sums.iter_mut().zip(eight) {
            *sum += measure(number);
        }
    }
    sums.iter().sum::<f64>() + eights.remainder().iter().map(|&number| measure(number)).sum::<f64>()
}

/// Divides numbers by the root of the sum of their squares, if that is not 0.
pub(crate) fn normalize(numbers: &mut [f64]) {
    // The largest first, so that squares neither vanish nor overflow.
    let largest = numbers.iter().fold(0.0_f64, |most, number| most.max(number.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return;
    }
    let norm = largest * total(numbers, |number| (number / largest) * (number / largest)).sqrt();
    numbers.iter_mut().for_each(|number| *number /= norm);
}

/// The most that two lists of numbers differ in one place.
pub(crate) fn largest_change(before: &[f64], after: &[f64]) -> f64 {
    before.iter().zip(after).fold(0.0, |most, (before, after)| (before - after).abs().max(most))
}

#[cfg(test)]
mod tests {
    use super::{dot, normalize, sum_of, total};

    #[test]
    fn sums_take_every_number_once() {
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let nodes: Vec<u32> = (0..20).collect();
        for count in 0..20 {
            let expected: f64 = values[..count].iter().sum();
            assert_eq!(sum_of(&values, &nodes[..count]), expected);
            assert_eq!(total(&values[..count], |x| x), expected);
            let squares: f64 = values[..count].iter().map(|x| x * x).sum();
            assert_eq!(dot(&values, &nodes[..count], &values[..count]), squares);
        }
    }

    #[test]
    fn lengths_become_one_however_large() {
        for scale in [1.0, 1e-300, 1e300] {
            let mut numbers = [3.0 * scale, 4.0 * scale];
            normalize(&mut numbers);
            assert!((numbers[0] - 0.6).abs() < 1e-15 && (numbers[1] - 0.8).abs() < 1e-15, "{numbers:?}");
        }
        let mut zeros = [0.0; 3];
        normalize(&mut zeros);
        assert_eq!(zeros, [0.0; 3]);
    }
}
