//! Counts, for each node, the triangles that it is part of, without holding the graph: as many nodes as memory allows keep
//! the lists of their neighbors of higher degree, while all rows stream past; then the next nodes do.
//!
//! Cost: a pass over all rows for the degrees, and one and a part for every window of lists.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use model::error::Result;
use model::interrupt::Interrupt;

use super::count::Counted;
use crate::graph::both::Distinct;
use crate::graph::{Graph, Side};
use crate::huge;
use crate::parallel::map_tasks;
use crate::rows::degrees;

/// Bytes of an entry of a list.
const ENTRY_BYTES: usize = size_of::<u32>() + size_of::<bool>();

/// A run under way.
struct Run<'a> {
    graph: &'a Graph<'a>,
    is_directed: bool,
    threads: usize,
    interrupt: &'a Interrupt,
    /// For each node, the entries of its rows.
    sizes: Vec<u32>,
    degrees: Vec<AtomicU32>,
    closed: Vec<AtomicU64>,
}

/// The lists of consecutive nodes.
struct Window {
    nodes: Range<usize>,
    offsets: Vec<usize>,
    neighbors: Vec<u32>,
    mutual: Vec<bool>,
}

/// The lists of a piece.
#[derive(Default)]
struct Lists {
    lengths: Vec<usize>,
    neighbors: Vec<u32>,
    mutual: Vec<bool>,
}

/// Counts all triangles, by node, holding lists of approximately `bytes` bytes.
pub(super) fn count(
    graph: &Graph<'_>,
    is_directed: bool,
    bytes: usize,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Counted> {
    let mut sizes = degrees(graph.rows(), Side::Forward, threads, interrupt)?;
    if !graph.is_undirected() {
        let backward = degrees(graph.rows(), Side::Backward, threads, interrupt)?;
        sizes.iter_mut().zip(backward).for_each(|(size, more)| *size += more);
    }
    let nodes = graph.node_count();
    let run = Run {
        graph,
        is_directed: is_directed && !graph.is_undirected(),
        threads,
        interrupt,
        sizes,
        degrees: huge::collect((0..nodes).map(|_| AtomicU32::new(0))),
        closed: huge::collect((0..nodes).map(|_| AtomicU64::new(0))),
    };
    let pieces = graph.pieces_of_both(threads);
    let (mut next, mut passes) = (0, 0);
    while next < pieces.len() {
        interrupt.report(next as u64, pieces.len() as u64);
        let window = run.load(&pieces, &mut next, bytes / ENTRY_BYTES)?;
        run.pass(&pieces, &window, passes == 0)?;
        passes += 1;
    }
    Ok(Counted {
        closed: run.closed.into_iter().map(AtomicU64::into_inner).collect(),
        degrees: run.degrees.into_iter().map(AtomicU32::into_inner).collect(),
    })
}

impl Run<'_> {
    /// True if the second node comes after the first in the order in which lists name neighbors.
    #[inline]
    fn is_higher(&self, node: u32, other: u32) -> bool {
        (self.sizes[other as usize], other) > (self.sizes[node as usize], node)
    }

    /// Reads the lists of the next pieces, until they have `entries_max` entries.
    fn load(&self, pieces: &[Range<usize>], next: &mut usize, entries_max: usize) -> Result<Window> {
        let start = pieces[*next].start;
        let mut window = Window { nodes: start..start, offsets: vec![0], neighbors: Vec::new(), mutual: Vec::new() };
        loop {
            let some = &pieces[*next..(*next + self.threads).min(pieces.len())];
            for lists in map_tasks(self.threads, some.to_vec(), |piece| self.lists(piece)) {
                let lists = lists?;
                for length in lists.lengths {
                    window.offsets.push(window.offsets[window.offsets.len() - 1] + length);
                }
                window.neighbors.extend(lists.neighbors);
                window.mutual.extend(lists.mutual);
            }
            *next += some.len();
            let left = entries_max.saturating_sub(window.neighbors.len());
            let last = some.last().map_or(0..0, Clone::clone);
            window.nodes.end = last.end;
            let expected = pieces.get(*next..(*next + self.threads).min(pieces.len())).unwrap_or(&[]);
            let expected: usize =
                expected.iter().flat_map(|piece| &self.sizes[piece.clone()]).map(|&size| size as usize).sum();
            if *next == pieces.len() || expected > left {
                return Ok(window);
            }
        }
    }

    fn lists(&self, piece: Range<usize>) -> Result<Lists> {
        let (mut lists, mut distinct) = (Lists::default(), Distinct::default());
        self.graph.scan_both(piece, None, self.interrupt, |node, forward, backward| {
            distinct.set(node, forward, backward, self.is_directed);
            let before = lists.neighbors.len();
            for (at, &neighbor) in distinct.neighbors.iter().enumerate() {
                if self.is_higher(node, neighbor) {
                    lists.neighbors.push(neighbor);
                    if self.is_directed {
                        lists.mutual.push(distinct.mutual[at]);
                    }
                }
            }
            lists.lengths.push(lists.neighbors.len() - before);
        })?;
        Ok(lists)
    }

    /// Streams all rows past a window.
    fn pass(&self, pieces: &[Range<usize>], window: &Window, is_first: bool) -> Result<()> {
        let done = map_tasks(self.threads, pieces.to_vec(), |piece| {
            let mut distinct = Distinct::default();
            let mut row = Row::default();
            self.graph.scan_both(piece, None, self.interrupt, |node, forward, backward| {
                distinct.set(node, forward, backward, self.is_directed);
                if is_first {
                    self.degrees[node as usize].store(distinct.neighbors.len() as u32, Ordering::Relaxed);
                }
                self.count_row(node, &distinct, window, &mut row);
            })
        });
        done.into_iter().collect()
    }

    /// Counts the triangles whose node of lowest degree is this one, and whose middle one is in the window.
    fn count_row(&self, node: u32, distinct: &Distinct, window: &Window, row: &mut Row) {
        row.higher.clear();
        row.directions.clear();
        for (at, &neighbor) in distinct.neighbors.iter().enumerate() {
            if self.is_higher(node, neighbor) {
                row.higher.push(neighbor);
                row.directions.push(1 + u64::from(self.is_directed && distinct.mutual[at]));
            }
        }
        let first = row.higher.partition_point(|&other| (other as usize) < window.nodes.start);
        let last = row.higher.partition_point(|&other| (other as usize) < window.nodes.end);
        if row.higher.len() < 2 || first == last {
            return;
        }
        row.found.clear();
        row.found.resize(row.higher.len(), 0);
        let mut own = 0;
        for middle in first..last {
            let at = row.higher[middle] as usize - window.nodes.start;
            let list = window.offsets[at]..window.offsets[at + 1];
            let mut place = 0;
            for (entry, &other) in list.clone().zip(&window.neighbors[list]) {
                place += advance(&row.higher[place..], other);
                if row.higher.get(place) == Some(&other) {
                    own += 1 + u64::from(self.is_directed && window.mutual[entry]);
                    row.found[middle] += row.directions[place];
                    row.found[place] += row.directions[middle];
                }
            }
        }
        self.closed[node as usize].fetch_add(own, Ordering::Relaxed);
        for (&other, &found) in row.higher.iter().zip(&row.found).filter(|(_, found)| **found > 0) {
            self.closed[other as usize].fetch_add(found, Ordering::Relaxed);
        }
    }
}

/// The neighbors of a row that its node's list names, what is counted for each, and in how many directions edges lead.
#[derive(Default)]
struct Row {
    higher: Vec<u32>,
    directions: Vec<u64>,
    found: Vec<u64>,
}

/// Number of entries of an ascending slice that are below a bound, found in steps that double.
#[inline]
fn advance(numbers: &[u32], bound: u32) -> usize {
    let mut step = 1;
    while step <= numbers.len() && numbers[step - 1] < bound {
        step *= 2;
    }
    let from = step / 2;
    from + numbers[from..step.min(numbers.len())].partition_point(|&number| number < bound)
}
