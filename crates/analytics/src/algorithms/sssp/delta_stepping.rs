//! Distances from one node to all: nodes are settled in buckets of similar distance, all nodes of a bucket at once.
//!
//! Claim: the distances that Dijkstra's algorithm gives, to the last bit, whatever the number of threads: a distance is
//! the least, over all paths, of the sum of the costs in the order of the path.
//! Cost: a little over one look at each edge that leads on from a node reached; 8 bytes a node.
//! After: Meyer, Sanders, "Δ-stepping: a parallelizable shortest path algorithm", 2003; Beamer, Asanović, Patterson,
//! "The GAP benchmark suite", 2015.

use std::sync::atomic::{AtomicU64, Ordering};

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph_view::Csr;
use crate::huge;
use crate::parallel::{even_ranges, map_tasks};

/// Buckets kept apart; nodes farther away wait together until those are done.
const BUCKETS: usize = 4096;
/// The width of a bucket in mean weights, for nodes of one edge; the more edges, the less lies between two nodes.
const WIDTH: f64 = 0.5;
/// Nodes of a bucket worth a task.
const TASK_NODES_MIN: usize = 512;
/// Tasks for each thread.
const TASKS_PER_THREAD: usize = 8;

/// Nodes by bucket of their distance, relative to the first bucket that may still hold some.
struct Queue {
    width: f64,
    first: u64,
    near: Vec<Vec<u32>>,
    far: Vec<u32>,
}

impl Queue {
    /// The bucket that a distance belongs to.
    #[inline]
    fn bucket(&self, distance: f64) -> u64 {
        (distance / self.width) as u64
    }

    fn push(&mut self, node: u32, bucket: u64) {
        match self.near.get_mut((bucket - self.first) as usize) {
            Some(nodes) => nodes.push(node),
            None => self.far.push(node),
        }
    }
}

/// For each node, its distance from the source; infinite where no path leads.
pub(super) fn run(rows: &Csr, source: u32, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let mean = rows.mean_weight();
    let degree = (rows.edge_count() as f64 / rows.node_count() as f64).max(1.0);
    let width = if mean > 0.0 && mean.is_finite() { mean * WIDTH / degree } else { 1.0 };
    let distances: Vec<AtomicU64> =
        huge::collect((0..rows.node_count()).map(|_| AtomicU64::new(f64::INFINITY.to_bits())));
    distances[source as usize].store(0.0_f64.to_bits(), Ordering::Relaxed);
    let mut queue = Queue { width, first: 0, near: vec![Vec::new(); BUCKETS], far: Vec::new() };
    queue.push(source, 0);
    loop {
        for at in 0..BUCKETS {
            let bucket = queue.first + at as u64;
            while !queue.near[at].is_empty() {
                interrupt.check()?;
                interrupt.report(bucket, 0);
                let nodes = std::mem::take(&mut queue.near[at]);
                for found in relax_all(rows, &distances, &queue, &nodes, bucket, threads, interrupt) {
                    found?.into_iter().for_each(|(node, bucket)| queue.push(node, bucket));
                }
            }
        }
        if !start_over(&mut queue, &distances) {
            break;
        }
    }
    Ok(distances.into_iter().map(|bits| f64::from_bits(bits.into_inner())).collect())
}

/// Moves the nearest of the nodes that wait into the buckets; false if none wait.
fn start_over(queue: &mut Queue, distances: &[AtomicU64]) -> bool {
    let bucket_of =
        |queue: &Queue, node: u32| queue.bucket(f64::from_bits(distances[node as usize].load(Ordering::Relaxed)));
    // A node may have been reached more cheaply, and settled, while it waited.
    let done = queue.first + BUCKETS as u64;
    let waiting: Vec<(u32, u64)> = std::mem::take(&mut queue.far)
        .into_iter()
        .map(|node| (node, bucket_of(queue, node)))
        .filter(|&(_, bucket)| bucket >= done)
        .collect();
    let Some(first) = waiting.iter().map(|&(_, bucket)| bucket).min() else { return false };
    queue.first = first;
    waiting.into_iter().for_each(|(node, bucket)| queue.push(node, bucket));
    true
}

type Found = Vec<(u32, u64)>;

/// Follows the edges of all nodes of a bucket; gives the nodes whose distance fell, with their new buckets.
fn relax_all(
    rows: &Csr,
    distances: &[AtomicU64],
    queue: &Queue,
    nodes: &[u32],
    bucket: u64,
    threads: usize,
    interrupt: &Interrupt,
) -> Vec<Result<Found>> {
    let pieces = (nodes.len() / TASK_NODES_MIN + 1).min(threads * TASKS_PER_THREAD);
    let threads = if nodes.len() < TASK_NODES_MIN { 1 } else { threads };
    map_tasks(threads, even_ranges(nodes.len(), pieces, 1), |range| {
        interrupt.check()?;
        let mut found = Vec::new();
        for &node in &nodes[range] {
            let distance = f64::from_bits(distances[node as usize].load(Ordering::Relaxed));
            // The node was reached more cheaply, and settled, since it was put here.
            if queue.bucket(distance) < bucket {
                continue;
            }
            for (&neighbor, &weight) in rows.neighbors(node).iter().zip(rows.weights(node)) {
                let offered = distance + weight;
                // The bits of numbers that are not negative sort as the numbers do.
                let target = &distances[neighbor as usize];
                if offered.to_bits() < target.load(Ordering::Relaxed)
                    && offered.to_bits() < target.fetch_min(offered.to_bits(), Ordering::Relaxed)
                {
                    found.push((neighbor, queue.bucket(offered)));
                }
            }
        }
        Ok(found)
    })
}
