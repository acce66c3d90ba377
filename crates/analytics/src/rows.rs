//! Rows in blocks: for consecutive nodes their neighbors, as slices of memory or as buffers that a read has filled.

pub(crate) mod pass;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use model::column::Bitmap;
use model::error::Result;
use model::interrupt::Interrupt;

use crate::huge;
use pass::{Lane, map_pass};

/// The side of the edges that a row lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// For each node, where its edges lead.
    Forward,
    /// For each node, where edges come from.
    Backward,
}

/// The rows that a computation asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// For each node, where its edges lead.
    Forward,
    /// For each node, where edges come from; and how many lead away from it.
    Backward,
    /// Both.
    ForwardAndBackward,
}

/// The rows of consecutive nodes.
#[derive(Clone, Copy, Debug)]
pub struct RowBlock<'a> {
    /// The node of the first row.
    pub first: u32,
    /// The offsets of rows, and the end of the last one, one more than there are rows: the neighbors of row `i` are
    /// those from `offsets[i] - offsets[0]` to `offsets[i + 1] - offsets[0]`.
    pub offsets: &'a [u64],
    /// The neighbors of all rows.
    pub neighbors: &'a [u32],
    /// As many weights as neighbors; empty without weights.
    pub weights: &'a [f64],
}

impl<'a> RowBlock<'a> {
    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The range of the entries of a row.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        (self.offsets[row] - self.offsets[0]) as usize..(self.offsets[row + 1] - self.offsets[0]) as usize
    }

    /// The neighbors of a row.
    #[inline]
    pub fn neighbors(&self, row: usize) -> &'a [u32] {
        &self.neighbors[self.range(row)]
    }

    /// The weights of a row, in the order of its neighbors; empty without weights.
    #[inline]
    pub fn weights(&self, row: usize) -> &'a [f64] {
        if self.weights.is_empty() { &[] } else { &self.weights[self.range(row)] }
    }

    /// Each node with its neighbors.
    #[inline]
    pub fn rows(&self) -> impl Iterator<Item = (u32, &'a [u32])> + '_ {
        (0..self.len()).map(|row| (self.first + row as u32, self.neighbors(row)))
    }
}

/// Takes a block of rows.
pub type RowSink<'a> = dyn FnMut(RowBlock<'_>) -> Result<()> + 'a;

/// A graph as rows.
///
/// Contract: every scan of the same rows gives the same blocks' contents in the same order within a row, whatever the
/// number of threads.
pub trait Rows: Sync {
    /// Number of nodes.
    fn node_count(&self) -> usize;

    /// About how many entries the rows of one side have.
    fn edge_count(&self) -> u64;

    /// The nodes in at most about `count` ranges whose rows are about equal work, in an order that reads well.
    fn pieces(&self, side: Side, count: usize) -> Vec<Range<usize>>;

    /// Gives the rows of a range of nodes, each whole, nodes ascending. With `among`, the rows of other nodes may be left
    /// out or empty, and what holds only such rows is not read.
    fn scan(&self, side: Side, nodes: Range<usize>, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()>;

    /// The lane of the passes that rows of some sides are read from, and the interrupt, which tells who works when;
    /// `None` if passes gain nothing from reading together.
    fn lane(&self, _sides: Sides) -> Option<(&Lane, &Interrupt)> {
        None
    }

    /// Number of parts that [`Rows::scan_part`] knows, in order of [`Rows::part_neighbors`].
    fn part_count(&self, side: Side) -> usize;

    /// The neighbors that the rows of a part may name. Threads that each take the parts of one such interval share nothing.
    fn part_neighbors(&self, side: Side, part: usize) -> Range<usize>;

    /// Gives the rows of one part, in the order that reads fastest: a node may have a piece of its row in several parts
    /// and several blocks of one; all parts together give every row once.
    fn scan_part(&self, side: Side, part: usize, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()>;
}

impl Side {
    /// This side alone.
    pub(crate) fn only(self) -> Sides {
        match self {
            Side::Forward => Sides::Forward,
            Side::Backward => Sides::Backward,
        }
    }
}

/// For each node, how many entries its row has.
pub(crate) fn degrees(rows: &dyn Rows, side: Side, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let degrees: Vec<AtomicU32> = huge::collect((0..rows.node_count()).map(|_| AtomicU32::new(0)));
    let done = map_pass((rows, side.only()), threads, (0..rows.part_count(side)).collect(), |part| {
        rows.scan_part(side, part, None, &mut |block| {
            interrupt.check()?;
            for row in 0..block.len() {
                let entries = block.range(row).len() as u32;
                if entries > 0 {
                    degrees[block.first as usize + row].fetch_add(entries, Ordering::Relaxed);
                }
            }
            Ok(())
        })
    });
    done.into_iter().collect::<Result<()>>()?;
    Ok(degrees.into_iter().map(AtomicU32::into_inner).collect())
}
