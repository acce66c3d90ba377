//! Counts the pairs of a node's neighbors that are joined, with two windows of rows in memory at a time: for triangles
//! and the local clustering coefficient.
//!
//! Claim: that of [`Triads`].
//! Cost: with rows of B bytes in windows of W bytes, B/W · B bytes are read; the work is that of intersecting the
//! neighbors of both ends of every edge.

use std::ops::Range;

use model::error::Result;
use model::interrupt::Interrupt;

use super::Triads;
use crate::algorithm::Run;
use crate::graph::Graph;
use crate::held::Held;
use crate::parallel::{map_tasks, ranges_of_equal_work};
use crate::program::Context;
use crate::program::shards::{EdgeSide, Layout, Position, Shards, build};
use crate::scratch::{Stream, WHAT};

/// Least memory of a run.
const BYTES_MIN: usize = 16 << 10;
/// Bytes of a buffer at the most.
const BUFFER_BYTES_MAX: usize = 256 << 10;
/// Pieces of a window for each thread.
const PIECES_PER_THREAD: usize = 16;
/// Factor of lengths beyond which the longer of two lists is searched in, not read along.
const SEARCH_FACTOR: usize = 16;

/// Counts in a graph that has forward rows.
pub(crate) fn run(graph: &Graph<'_>, run: &Run<'_>) -> Result<Triads> {
    let context = Context::of(run);
    let nodes = graph.node_count();
    let wanted = (1_usize << 20).saturating_add(64 * nodes).saturating_add(64 * graph.edge_count() as usize);
    let bytes = wanted.min(context.workspace.bytes_free() / 4 * 3);
    if bytes < BYTES_MIN {
        return Err(model::error!(Limit, "{bytes} bytes of memory are too few for windows of rows")
            .with_remedy("raise the memory limit (--memory-limit, --query-memory)"));
    }
    let held = Held::take(context.workspace, WHAT, bytes)?;
    let row_shift = nodes.next_power_of_two().ilog2();
    let layout = Layout {
        node_count: nodes,
        row_shift,
        piece_shift: row_shift,
        column_nodes_max: nodes,
        columns_min: 1,
        is_both_ways: !graph.is_undirected(),
        has_degrees: false,
    };
    let shards = build::<()>(graph, layout, bytes, &context)?;
    let windows = Windows::new(graph, &shards, bytes, run.interrupt)?;
    let mut found = Triads { degrees: Vec::with_capacity(nodes), closed: Vec::with_capacity(nodes) };
    // Without direction both ends of an edge have it in their rows, so that every pair is counted twice.
    let times = if graph.is_undirected() { 2 } else { 1 };
    for window in 0..windows.cuts.len() - 1 {
        run.interrupt.report(window as u64, windows.cuts.len() as u64 - 1);
        let around = windows.load(window, &shards.sides)?;
        let mut joined = vec![0_u64; around.nodes.len()];
        for other in 0..windows.cuts.len() - 1 {
            // Rows of the last side lead away from a node.
            let leading = windows.load(other, &shards.sides[shards.sides.len() - 1..])?;
            count(&around, &leading, &mut joined, run)?;
        }
        found.degrees.extend((0..around.nodes.len()).map(|at| around.row(at).len() as u32));
        found.closed.extend(joined.iter().map(|joined| joined / times));
    }
    drop(held);
    Ok(found)
}

/// Adds, for each node of a window, how many edges lead from its neighbors in another window to any of its neighbors.
fn count(around: &Window, leading: &Window, joined: &mut [u64], run: &Run<'_>) -> Result<()> {
    let pieces = ranges_of_equal_work(&around.offsets, PIECES_PER_THREAD * run.threads.max(1));
    let parts = map_tasks(run.threads, pieces, |piece| {
        run.interrupt.check()?;
        let mut counts = Vec::with_capacity(piece.len());
        for at in piece {
            let neighbors = around.row(at);
            let within = |end: usize| neighbors.partition_point(|&neighbor| (neighbor as usize) < end);
            let mut sum = 0;
            for &neighbor in &neighbors[within(leading.nodes.start)..within(leading.nodes.end)] {
                sum += common(neighbors, leading.row(neighbor as usize - leading.nodes.start));
            }
            counts.push(sum);
        }
        Ok(counts)
    });
    let mut at = 0;
    for part in parts {
        for count in part? {
            joined[at] += count;
            at += 1;
        }
    }
    Ok(())
}

/// Number of entries that two sorted lists without repetition have in common.
fn common(a: &[u32], b: &[u32]) -> u64 {
    let (short, mut long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let mut count = 0;
    if long.len() / SEARCH_FACTOR > short.len() {
        for &number in short {
            let at = long.partition_point(|&other| other < number);
            long = &long[at..];
            count += u64::from(long.first() == Some(&number));
        }
        return count;
    }
    let (mut i, mut j) = (0, 0);
    while i < short.len() && j < long.len() {
        let (x, y) = (short[i], long[j]);
        count += u64::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    count
}

/// Rows of consecutive nodes: distinct neighbors, sorted, without the node itself.
struct Window {
    nodes: Range<usize>,
    offsets: Vec<u64>,
    neighbors: Vec<u32>,
}

impl Window {
    fn row(&self, at: usize) -> &[u32] {
        &self.neighbors[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }
}

/// The beginning of a window: its first node, and the positions of its rows on each side.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    node: usize,
    starts: [Position; 2],
}

/// The cuts of the rows of a graph, such that two windows fit into memory.
struct Windows {
    /// One more than there are windows.
    cuts: Vec<Cut>,
    buffer_bytes: usize,
}

/// The rows of one side, read in order.
struct Reader<'f, 'a> {
    runs: Stream<'f, 'a>,
    senders: Stream<'f, 'a>,
    next: Option<(u32, u32)>,
}

impl<'f, 'a> Reader<'f, 'a> {
    fn new(side: &'f EdgeSide<'a>, from: Position, buffer_bytes: usize) -> Result<Reader<'f, 'a>> {
        let runs = from.run..side.runs.length() / size_of::<(u32, u32)>() as u64;
        let edges = from.edge..side.senders.length() / size_of::<u32>() as u64;
        let mut runs = Stream::of::<(u32, u32)>(&side.runs, runs, buffer_bytes);
        let next = runs.next()?;
        Ok(Reader { runs, senders: Stream::of::<u32>(&side.senders, edges, buffer_bytes), next })
    }

    /// Over how many edges a node receives, nodes being asked for in order.
    fn count(&mut self, node: u32) -> Result<Option<u32>> {
        match self.next {
            Some((receiver, count)) if receiver == node => {
                self.next = self.runs.next()?;
                Ok(Some(count))
            }
            _ => Ok(None),
        }
    }

    /// Adds the senders to a node.
    fn add(&mut self, node: u32, out: &mut Vec<u32>) -> Result<()> {
        for _ in 0..self.count(node)?.unwrap_or(0) {
            out.extend(self.senders.next::<u32>()?.filter(|&sender| sender != node));
        }
        Ok(())
    }
}

impl Windows {
    fn new(graph: &Graph<'_>, shards: &Shards<'_>, bytes: usize, interrupt: &Interrupt) -> Result<Windows> {
        let window_bytes = bytes / 3;
        let buffer_bytes = (bytes / 24).min(BUFFER_BYTES_MAX);
        let sides = &shards.sides;
        let mut readers = Vec::new();
        for side in sides {
            readers.push(Reader::new(side, Position::default(), buffer_bytes)?);
        }
        let mut at = Cut::default();
        let mut cuts = vec![at];
        let mut held = 0;
        for node in 0..shards.layout.node_count {
            let mut ends = at.starts;
            for (reader, end) in readers.iter_mut().zip(&mut ends) {
                if let Some(count) = reader.count(node as u32)? {
                    end.run += 1;
                    end.edge += u64::from(count);
                }
            }
            let edges: u64 = ends.iter().zip(&at.starts).map(|(end, start)| end.edge - start.edge).sum();
            // A count and an offset for the node, and its neighbors.
            let more = 2 * size_of::<u64>() + edges as usize * size_of::<u32>();
            if more > window_bytes {
                let id = graph.node(node as u32).0;
                return Err(model::error!(
                    Limit,
                    "node #{id} has {edges} edges, which do not fit into a window of {window_bytes} bytes"
                )
                .with_remedy("raise the memory limit (--memory-limit, --query-memory)"));
            }
            if held + more > window_bytes {
                cuts.push(Cut { node, starts: at.starts });
                interrupt.check()?;
                held = 0;
            }
            held += more;
            at.starts = ends;
        }
        cuts.push(Cut { node: shards.layout.node_count, starts: at.starts });
        Ok(Windows { cuts, buffer_bytes })
    }

    /// The rows of a window, over the given sides.
    fn load(&self, window: usize, sides: &[EdgeSide<'_>]) -> Result<Window> {
        let (from, to) = (&self.cuts[window], &self.cuts[window + 1]);
        let mut readers = Vec::new();
        for side in sides {
            readers.push(Reader::new(side, from.starts[usize::from(side.is_reversed)], self.buffer_bytes)?);
        }
        let nodes = from.node..to.node;
        let mut offsets = Vec::with_capacity(nodes.len() + 1);
        offsets.push(0);
        let edges = |side: &EdgeSide<'_>| {
            let at = usize::from(side.is_reversed);
            (to.starts[at].edge - from.starts[at].edge) as usize
        };
        let mut neighbors: Vec<u32> = Vec::with_capacity(sides.iter().map(edges).sum());
        let mut row = Vec::new();
        for node in nodes.clone() {
            row.clear();
            readers.iter_mut().try_for_each(|reader| reader.add(node as u32, &mut row))?;
            row.sort_unstable();
            row.dedup();
            neighbors.extend_from_slice(&row);
            offsets.push(neighbors.len() as u64);
        }
        Ok(Window { nodes, offsets, neighbors })
    }
}

#[cfg(test)]
mod tests {
    use super::common;

    #[test]
    fn numbers_in_both_lists_are_counted() {
        let long: Vec<u32> = (0..1000).map(|number| 3 * number).collect();
        for (a, b, expected) in [
            (&[][..], &[1][..], 0),
            (&[1, 2, 3], &[2, 3, 4], 2),
            (&[3, 4, 5, 2997], &long, 2),
            (&[0, 1, 2, 3], &long, 2),
            (&long, &long, 1000),
        ] {
            assert_eq!((common(a, b), common(b, a)), (expected, expected));
        }
    }
}
