//! Draws the steps of random walks.

use model::error::Result;
use model::interrupt::Interrupt;

use super::Config;
use crate::graph_view::{Csr, GraphView};
use crate::parallel::{map_tasks, ranges_of_equal_work, split_mut};
use crate::random::Random;

/// Draws that may be rejected before a step is drawn from all edges of the node at once.
const DRAWS_MAX: usize = 32;
/// Steps between two checks for cancellation.
const CHECK_STEPS: usize = 1 << 10;
/// Pieces that rows are cut into to be sorted.
const PIECES: usize = 64;

/// Rows made ready for walks.
pub(super) struct Walker<'a> {
    rows: &'a Csr,
    length: usize,
    /// For each entry of a row, the weights of the row up to it, it included; empty without weights.
    sums: Vec<f64>,
    second_order: Option<SecondOrder>,
}

/// The data for steps that depend on the node before.
struct SecondOrder {
    /// The rows, each in ascending order.
    sorted: Vec<u32>,
    to_return: f64,
    to_leave: f64,
    most: f64,
}

/// True if the node before makes no difference.
pub(super) fn is_first_order(config: &Config) -> bool {
    config.return_factor == 1.0 && config.in_out_factor == 1.0
}

impl<'a> Walker<'a> {
    /// Makes the forward rows of a view ready.
    pub(super) fn new(view: &'a GraphView, config: &Config, threads: usize) -> Result<Walker<'a>> {
        let rows = view.forward();
        let mut sums = Vec::with_capacity(if rows.has_weights() { rows.edge_count() } else { 0 });
        if rows.has_weights() {
            for node in 0..rows.node_count() as u32 {
                let mut sum = 0.0;
                sums.extend(rows.weights(node).iter().map(|weight| {
                    sum += weight;
                    sum
                }));
                if sum == f64::INFINITY {
                    let id = view.node(node).0;
                    return Err(model::error!(Argument, "the weights of the edges of node #{id} sum to infinity"));
                }
            }
        }
        let second_order = (!is_first_order(config)).then(|| {
            let (to_return, to_leave) = (1.0 / config.return_factor, 1.0 / config.in_out_factor);
            SecondOrder { sorted: sorted(rows, threads), to_return, to_leave, most: to_return.max(to_leave).max(1.0) }
        });
        Ok(Walker { rows, length: config.walk_length, sums, second_order })
    }

    fn entries(&self, node: u32) -> std::ops::Range<usize> {
        self.rows.offsets()[node as usize] as usize..self.rows.offsets()[node as usize + 1] as usize
    }

    /// One walk from a node.
    pub(super) fn walk(&self, source: u32, random: &mut Random, interrupt: &Interrupt) -> Result<Vec<u32>> {
        interrupt.check()?;
        let mut walk = vec![source];
        let mut before = None;
        let mut node = source;
        while walk.len() < self.length {
            if walk.len() % CHECK_STEPS == 0 {
                interrupt.check()?;
            }
            let step = match (&self.second_order, before) {
                (Some(order), Some(before)) => self.draw_after(order, before, node, random),
                _ => self.draw(node, random),
            };
            let Some(next) = step else { break };
            walk.push(next);
            (before, node) = (Some(node), next);
        }
        Ok(walk)
    }

    /// A neighbor in proportion to weight.
    #[inline]
    fn draw(&self, node: u32, random: &mut Random) -> Option<u32> {
        let neighbors = self.rows.neighbors(node);
        if self.sums.is_empty() {
            return if neighbors.is_empty() { None } else { Some(neighbors[random.below(neighbors.len())]) };
        }
        pick(&self.sums[self.entries(node)], random).map(|at| neighbors[at])
    }

    /// A neighbor in proportion to weight and to what it is to the node before: drawn by weight, and taken as often as
    /// the factor says.
    fn draw_after(&self, order: &SecondOrder, before: u32, node: u32, random: &mut Random) -> Option<u32> {
        for _ in 0..DRAWS_MAX {
            let next = self.draw(node, random)?;
            if random.unit() * order.most < self.factor(order, before, next) {
                return Some(next);
            }
        }
        let neighbors = self.rows.neighbors(node);
        let mut sum = 0.0;
        let sums = neighbors.iter().enumerate().map(|(at, &next)| {
            let weight = if self.sums.is_empty() { 1.0 } else { self.rows.weights(node)[at] };
            sum += weight * self.factor(order, before, next);
            sum
        });
        pick(&sums.collect::<Vec<f64>>(), random).map(|at| neighbors[at])
    }

    fn factor(&self, order: &SecondOrder, before: u32, next: u32) -> f64 {
        if next == before {
            order.to_return
        } else if order.sorted[self.entries(before)].binary_search(&next).is_ok() {
            1.0
        } else {
            order.to_leave
        }
    }
}

/// A place in proportion to what the sums grow by there; `None` if they do not grow.
fn pick(sums: &[f64], random: &mut Random) -> Option<usize> {
    let total = *sums.last()?;
    if total <= 0.0 {
        return None;
    }
    let drawn = random.unit() * total;
    let at = sums.partition_point(|&sum| sum <= drawn);
    // Rounding may make what is drawn the total.
    Some(if at < sums.len() { at } else { sums.partition_point(|&sum| sum < total) })
}

/// The entries of rows, each row in ascending order.
fn sorted(rows: &Csr, threads: usize) -> Vec<u32> {
    let mut entries = rows.all_neighbors().to_vec();
    let offsets = rows.offsets();
    let nodes = ranges_of_equal_work(offsets, PIECES);
    let ranges: Vec<_> = nodes.iter().map(|nodes| offsets[nodes.start] as usize..offsets[nodes.end] as usize).collect();
    let pieces = nodes.into_iter().zip(split_mut(&mut entries, &ranges)).collect();
    map_tasks(threads, pieces, |(nodes, entries): (std::ops::Range<usize>, &mut [u32])| {
        let mut rest = entries;
        for node in nodes {
            let (row, after) = rest.split_at_mut(rows.degree(node as u32) as usize);
            row.sort_unstable();
            rest = after;
        }
    });
    entries
}
