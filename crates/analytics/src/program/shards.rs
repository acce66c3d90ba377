//! The edges of a graph in files, cut so that any part of them can be read in order: sliding windows over a grid.
//!
//! Nodes are cut into *intervals*, so few that the states of one fit into memory, and intervals into *columns*. The
//! edges that nodes of one interval send over make a *row*, sorted by receiver: so a row is read in order when its nodes
//! send (their states are then at hand), and the parts of all rows that lead to one column are read side by side, in
//! order too, when nodes of the column receive. A value that lies on an edge has the edge's number within its row.
//!
//! Cost: 4 bytes an edge (12 with weights), 8 bytes for each pair of a row and a receiver, 4 bytes a node. Memory: 16
//! bytes for each part of a row, none for nodes or edges.
//! After: Kyrola, Blelloch, Guestrin, "GraphChi: large-scale graph computation on just a PC", 2012; Zhu, Han, Chen,
//! "GridGraph", 2015.

mod build;
mod sort;

use std::ops::Range;

use crate::scratch::{Scratch, Stream};

pub(crate) use build::build;

/// The division of the nodes into intervals and columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Nodes of the graph.
    pub(crate) node_count: usize,
    /// An interval has two to this power nodes.
    pub(crate) row_shift: u32,
    /// Receivers are counted in pieces of two to this power, and columns end where pieces do.
    pub(crate) piece_shift: u32,
    /// Nodes of a column, at the most: no less than a piece has.
    pub(crate) column_nodes_max: usize,
    /// Columns to be had at least, if there are as many pieces, so that threads have something to take.
    pub(crate) columns_min: usize,
    /// True if edges are also sent over backwards.
    pub(crate) is_both_ways: bool,
    /// True to count the edges over which each node sends.
    pub(crate) has_degrees: bool,
}

impl Layout {
    /// Number of intervals.
    pub(crate) fn row_count(&self) -> usize {
        self.node_count.div_ceil(1 << self.row_shift)
    }

    /// The nodes of an interval.
    pub(crate) fn row_nodes(&self, row: usize) -> Range<usize> {
        row << self.row_shift..((row + 1) << self.row_shift).min(self.node_count)
    }
}

/// A position in the files of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) run: u64,
    pub(crate) edge: u64,
}

/// The edges in one direction.
pub(crate) struct EdgeSide<'a> {
    /// True if nodes send against the direction of edges.
    pub(crate) is_reversed: bool,
    /// For each row and receiver in it the receiver and over how many edges it receives: two numbers of 4 bytes.
    pub(crate) runs: Scratch<'a>,
    /// For each edge its sender.
    pub(crate) senders: Scratch<'a>,
    /// For each edge its weight.
    pub(crate) weights: Option<Scratch<'a>>,
    /// For each node, over how many edges it sends.
    pub(crate) degrees: Option<Scratch<'a>>,
    /// The beginning of each part of a row, row by row, and the end of the last one.
    starts: Vec<Position>,
}

impl<'a> EdgeSide<'a> {
    /// The runs of a part of a row, as pairs of a receiver and a count.
    pub(crate) fn runs(&self, part: usize, buffer_bytes: usize) -> Stream<'_, 'a> {
        Stream::of::<(u32, u32)>(&self.runs, self.starts[part].run..self.starts[part + 1].run, buffer_bytes)
    }

    /// The numbers of the edges of a part of a row.
    pub(crate) fn edges(&self, part: usize) -> Range<u64> {
        self.starts[part].edge..self.starts[part + 1].edge
    }
}

/// The edges of a graph in files.
pub(crate) struct Shards<'a> {
    pub(crate) layout: Layout,
    /// The beginning of each column, and the end of the last one.
    pub(crate) columns: Vec<u32>,
    /// Forward, and backward if asked for.
    pub(crate) sides: Vec<EdgeSide<'a>>,
}

impl Shards<'_> {
    pub(crate) fn column_count(&self) -> usize {
        self.columns.len() - 1
    }

    /// The nodes of a column.
    pub(crate) fn column_nodes(&self, column: usize) -> Range<usize> {
        self.columns[column] as usize..self.columns[column + 1] as usize
    }

    /// The columns that an interval is made of.
    pub(crate) fn row_columns(&self, row: usize) -> Range<usize> {
        let nodes = self.layout.row_nodes(row);
        let column_at = |node: usize| self.columns.partition_point(|&start| (start as usize) < node);
        column_at(nodes.start)..column_at(nodes.end)
    }

    /// The number of the part of a row that leads to a column.
    pub(crate) fn part(&self, row: usize, column: usize) -> usize {
        row * self.column_count() + column
    }
}
