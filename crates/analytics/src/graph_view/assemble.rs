//! Edges in any order become compressed sparse rows, by a counting sort in two steps that each stay in cache.
//!
//! First every task scatters its edges into buckets of neighboring rows; then every bucket counts and places its own.
//! Cost: two passes over 8 bytes an edge and direction, no random access beyond a bucket's rows.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use model::error::Result;
use model::store::Direction;

use super::{Csr, Sides};
use crate::edges::EdgeSource;
use crate::huge;
use crate::parallel::{map_tasks, split_mut};

/// Most buckets that edges are scattered into: more write streams than this fall out of the nearest caches.
const BUCKETS_MAX: usize = 256;
/// Fewest rows worth a bucket of their own.
const BUCKET_ROWS_MIN: usize = 1 << 10;

/// The rows and degrees that were asked for of a graph.
pub(crate) struct Built {
    pub(crate) forward: Option<Csr>,
    pub(crate) backward: Option<Csr>,
    /// For each node, how many edges lead away from it; empty if there are forward rows that say it.
    pub(crate) degrees: Vec<u32>,
}

/// The edges of one task, by bucket of rows.
struct Buckets {
    shift: u32,
    /// For each bucket, its edges: row in the upper half, column in the lower.
    edges: Vec<Vec<u64>>,
    /// For each bucket, the weights of its edges, if there are any.
    weights: Vec<Vec<f64>>,
}

impl Buckets {
    fn new(shift: u32, count: usize, edges_each: usize) -> Buckets {
        let edges = (0..count).map(|_| Vec::with_capacity(edges_each)).collect();
        Buckets { shift, edges, weights: vec![Vec::new(); count] }
    }

    #[inline]
    fn push(&mut self, row: u32, column: u32) {
        self.edges[(row >> self.shift) as usize].push(u64::from(row) << 32 | u64::from(column));
    }

    fn push_all(&mut self, rows: &[u32], columns: &[u32], weights: &[f64]) {
        rows.iter().zip(columns).for_each(|(&row, &column)| self.push(row, column));
        rows.iter().zip(weights).for_each(|(&row, &weight)| self.weights[(row >> self.shift) as usize].push(weight));
    }

    /// Adds each edge at both ends, one edge after the other, so that rows are in the same order however the edges are cut
    /// into batches and tasks; a self-loop once.
    fn push_both_ways(&mut self, sources: &[u32], targets: &[u32], weights: &[f64]) {
        for (&source, &target) in sources.iter().zip(targets) {
            self.push(source, target);
            if source != target {
                self.push(target, source);
            }
        }
        for ((&source, &target), &weight) in sources.iter().zip(targets).zip(weights) {
            self.weights[(source >> self.shift) as usize].push(weight);
            if source != target {
                self.weights[(target >> self.shift) as usize].push(weight);
            }
        }
    }
}

/// Adds to each node's count how often it comes. Runs of one node, as sorted streams have them, cost one addition.
fn count(nodes: &[u32], degrees: &[AtomicU32]) {
    for run in nodes.chunk_by(|a, b| a == b) {
        degrees[run[0] as usize].fetch_add(run.len() as u32, Ordering::Relaxed);
    }
}

/// Reads all edges and makes the rows asked for.
pub(crate) fn assemble(
    source: &dyn EdgeSource,
    node_count: usize,
    direction: Direction,
    sides: Sides,
    threads: usize,
) -> Result<Built> {
    let is_undirected = direction == Direction::Both;
    let wants_forward = is_undirected || sides != Sides::Backward;
    let wants_backward = !is_undirected && sides != Sides::Forward;
    let shift = bucket_shift(node_count);
    let bucket_count = node_count.div_ceil(1 << shift);
    let degrees: Vec<AtomicU32> = (0..if wants_forward { 0 } else { node_count }).map(|_| AtomicU32::new(0)).collect();
    let tasks = source.task_count();
    let expected = source.edge_count() as usize / (tasks.max(1) * bucket_count.max(1));
    let edges_each = (expected + expected / 8) << u32::from(is_undirected);
    let make = |wanted: bool| wanted.then(|| Buckets::new(shift, bucket_count, edges_each));

    let scanned = map_tasks(threads, (0..tasks).collect(), |task| -> Result<_> {
        let (mut forward, mut backward) = (make(wants_forward), make(wants_backward));
        source.scan(task, &mut |sources, targets, weights| {
            let (from, to) = if direction == Direction::In { (targets, sources) } else { (sources, targets) };
            match &mut forward {
                Some(buckets) if is_undirected => buckets.push_both_ways(from, to, weights),
                Some(buckets) => buckets.push_all(from, to, weights),
                None => count(from, &degrees),
            }
            if let Some(buckets) = &mut backward {
                buckets.push_all(to, from, weights);
            }
            Ok(())
        })?;
        Ok((forward, backward))
    });
    let scanned = scanned.into_iter().collect::<Result<Vec<_>>>()?;
    let (forward, backward): (Vec<_>, Vec<_>) = scanned.into_iter().unzip();
    let has_weights = source.has_weights();
    let rows =
        |tasks: Vec<Option<Buckets>>| place(node_count, shift, tasks.into_iter().flatten(), has_weights, threads);
    Ok(Built {
        forward: wants_forward.then(|| rows(forward)),
        backward: wants_backward.then(|| rows(backward)),
        degrees: degrees.into_iter().map(AtomicU32::into_inner).collect(),
    })
}

/// The power of two of rows in a bucket.
fn bucket_shift(node_count: usize) -> u32 {
    node_count.div_ceil(BUCKETS_MAX).max(BUCKET_ROWS_MIN).next_power_of_two().trailing_zeros()
}

/// One bucket of all tasks, and where its rows go.
struct Bucket<'a> {
    first_row: u32,
    first_edge: u64,
    edges: Vec<Vec<u64>>,
    weights: Vec<Vec<f64>>,
    ends: &'a mut [u64],
    neighbors: &'a mut [u32],
    placed_weights: &'a mut [f64],
}

fn place(
    node_count: usize,
    shift: u32,
    tasks: impl Iterator<Item = Buckets>,
    has_weights: bool,
    threads: usize,
) -> Csr {
    let row_ranges: Vec<Range<usize>> =
        (0..node_count).step_by(1 << shift).map(|start| start..(start + (1 << shift)).min(node_count)).collect();
    let mut edges: Vec<Vec<Vec<u64>>> = row_ranges.iter().map(|_| Vec::new()).collect();
    let mut weights: Vec<Vec<Vec<f64>>> = row_ranges.iter().map(|_| Vec::new()).collect();
    for task in tasks {
        edges.iter_mut().zip(task.edges).for_each(|(bucket, part)| bucket.push(part));
        weights.iter_mut().zip(task.weights).for_each(|(bucket, part)| bucket.push(part));
    }
    let mut edge_ranges = Vec::with_capacity(row_ranges.len());
    let mut total = 0;
    for parts in &edges {
        let start = total;
        total += parts.iter().map(Vec::len).sum::<usize>();
        edge_ranges.push(start..total);
    }
    let weight_ranges: Vec<Range<usize>> =
        if has_weights { edge_ranges.clone() } else { vec![0..0; edge_ranges.len()] };

    let mut offsets = huge::zeroed(node_count + 1);
    let mut neighbors = huge::zeroed(total);
    let mut placed_weights = huge::zeroed(if has_weights { total } else { 0 });
    let targets = split_mut(&mut offsets[1..], &row_ranges)
        .into_iter()
        .zip(split_mut(&mut neighbors, &edge_ranges))
        .zip(split_mut(&mut placed_weights, &weight_ranges));
    let buckets = targets.zip(edges.into_iter().zip(weights)).enumerate();
    let buckets = buckets.map(|(at, (((ends, neighbors), placed_weights), (edges, weights)))| Bucket {
        first_row: row_ranges[at].start as u32,
        first_edge: edge_ranges[at].start as u64,
        edges,
        weights,
        ends,
        neighbors,
        placed_weights,
    });
    map_tasks(threads, buckets.collect(), place_bucket);
    Csr { offsets, neighbors, weights: placed_weights }
}

fn place_bucket(bucket: Bucket<'_>) {
    let first_row = bucket.first_row;
    let row_of = |edge: u64| ((edge >> 32) as u32 - first_row) as usize;
    let mut next = vec![0_u32; bucket.ends.len()];
    bucket.edges.iter().flatten().for_each(|&edge| next[row_of(edge)] += 1);
    let mut before = 0;
    for (end, next) in bucket.ends.iter_mut().zip(&mut next) {
        let degree = *next;
        *next = before;
        before += degree;
        *end = bucket.first_edge + u64::from(before);
    }
    for (edges, weights) in bucket.edges.into_iter().zip(bucket.weights) {
        for (at, &edge) in edges.iter().enumerate() {
            let place = &mut next[row_of(edge)];
            bucket.neighbors[*place as usize] = edge as u32;
            if let Some(&weight) = weights.get(at) {
                bucket.placed_weights[*place as usize] = weight;
            }
            *place += 1;
        }
    }
}
