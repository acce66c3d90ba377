//! Rows as a store gives them become compressed sparse rows, without being sorted into buckets.
//!
//! Cost: every row is read once, in the order in which the store holds it, and copied once: 4 bytes an edge and direction
//! (12 with weights), twice that while they are put together.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use model::error::Result;
use model::interrupt::Interrupt;

use super::Csr;
use crate::huge;
use crate::parallel::{even_ranges, map_tasks, split_mut};
use crate::rows::{Rows, Side};

/// Pieces for each thread.
const PIECES_PER_THREAD: usize = 16;

/// The rows of some nodes.
#[derive(Default)]
struct Piece {
    /// For each row, where it ends among the neighbors.
    ends: Vec<u64>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
}

/// The place to which the rows of a piece go.
struct Place<'a> {
    first_edge: u64,
    ends: &'a mut [u64],
    neighbors: &'a mut [u32],
    weights: &'a mut [f64],
}

/// Reads the rows of one side of a graph.
pub(super) fn collect(rows: &dyn Rows, side: Side, threads: usize, interrupt: &Interrupt) -> Result<Csr> {
    let total = rows.edge_count();
    let done = AtomicU64::new(0);
    let pieces = map_tasks(threads, rows.pieces(side, PIECES_PER_THREAD * threads), |nodes| -> Result<Piece> {
        let mut piece = Piece { ends: Vec::with_capacity(nodes.len()), ..Piece::default() };
        rows.scan(side, nodes, None, &mut |block| {
            interrupt.check()?;
            let (before, first) = (piece.neighbors.len() as u64, block.offsets[0]);
            piece.ends.extend(block.offsets[1..].iter().map(|end| end - first + before));
            piece.neighbors.extend_from_slice(block.neighbors);
            piece.weights.extend_from_slice(block.weights);
            let read = block.neighbors.len() as u64;
            interrupt.report((done.fetch_add(read, Ordering::Relaxed) + read).min(total), total);
            Ok(())
        })?;
        Ok(piece)
    });
    let pieces = pieces.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(joined(pieces, threads))
}

/// Ranges of those lengths, one behind the other.
fn ranges_of(lengths: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut end = 0;
    let next = |length| {
        end += length;
        end - length..end
    };
    lengths.map(next).collect()
}

/// The pieces one behind the other.
fn joined(pieces: Vec<Piece>, threads: usize) -> Csr {
    let row_ranges = ranges_of(pieces.iter().map(|piece| piece.ends.len()));
    let edge_ranges = ranges_of(pieces.iter().map(|piece| piece.neighbors.len()));
    let weight_ranges = ranges_of(pieces.iter().map(|piece| piece.weights.len()));
    let length = |ranges: &[Range<usize>]| ranges.last().map_or(0, |range| range.end);
    let mut offsets: Vec<u64> = huge::zeroed(length(&row_ranges) + 1);
    let mut neighbors: Vec<u32> = huge::zeroed(length(&edge_ranges));
    let mut weights: Vec<f64> = huge::zeroed(length(&weight_ranges));
    let places = split_mut(&mut offsets[1..], &row_ranges)
        .into_iter()
        .zip(split_mut(&mut neighbors, &edge_ranges))
        .zip(split_mut(&mut weights, &weight_ranges))
        .zip(&edge_ranges)
        .map(|(((ends, neighbors), weights), edges)| Place {
            first_edge: edges.start as u64,
            ends,
            neighbors,
            weights,
        });
    map_tasks(threads, places.zip(pieces).collect(), |(place, piece): (Place<'_>, Piece)| {
        place.ends.iter_mut().zip(piece.ends).for_each(|(to, end)| *to = place.first_edge + end);
        place.neighbors.copy_from_slice(&piece.neighbors);
        place.weights.copy_from_slice(&piece.weights);
    });
    Csr { offsets, neighbors, weights }
}

/// Number of times that each of `nodes` nodes is named in rows.
pub(super) fn count_neighbors(rows: &Csr, nodes: usize, threads: usize) -> Vec<u32> {
    let counts: Vec<AtomicU32> = huge::collect((0..nodes).map(|_| AtomicU32::new(0)));
    map_tasks(threads, even_ranges(rows.neighbors.len(), PIECES_PER_THREAD * threads, 1), |range| {
        for &neighbor in &rows.neighbors[range] {
            counts[neighbor as usize].fetch_add(1, Ordering::Relaxed);
        }
    });
    counts.into_iter().map(AtomicU32::into_inner).collect()
}
