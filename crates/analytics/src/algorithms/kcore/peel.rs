//! Core numbers in memory: nodes are peeled off level by level, by all threads at once.
//!
//! At each level a thread first looks for nodes of its own that have no more neighbors left than the level, then takes
//! those away, and whatever that leaves with too few. Threads meet twice a level.

use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph::Graph;
use crate::graph::both::Distinct;
use crate::huge;
use crate::parallel::{even_ranges, map_tasks, split_mut};

/// Edges below which one thread does all.
const EDGES_PER_THREAD_MIN: u64 = 1 << 18;

/// The distinct neighbors of each node.
struct Neighbors {
    offsets: Vec<u64>,
    targets: Vec<u32>,
}

impl Neighbors {
    fn read(graph: &Graph<'_>, threads: usize, interrupt: &Interrupt) -> Result<Neighbors> {
        let pieces = graph.pieces_of_both(threads);
        let lists = map_tasks(threads, pieces, |piece| -> Result<_> {
            let (mut lengths, mut targets) = (Vec::with_capacity(piece.len()), Vec::new());
            let mut distinct = Distinct::default();
            graph.scan_both(piece, None, interrupt, |node, forward, backward| {
                distinct.set(node, forward, backward, false);
                targets.extend_from_slice(&distinct.neighbors);
                lengths.push(distinct.neighbors.len() as u32);
            })?;
            Ok((lengths, targets))
        });
        let lists: Vec<(Vec<u32>, Vec<u32>)> = lists.into_iter().collect::<Result<_>>()?;
        let mut offsets = huge::with_capacity(graph.node_count() + 1);
        offsets.push(0);
        let mut end = 0;
        for &length in lists.iter().flat_map(|(lengths, _)| lengths) {
            end += u64::from(length);
            offsets.push(end);
        }
        let mut ranges: Vec<Range<usize>> = Vec::with_capacity(lists.len());
        for (_, part) in &lists {
            let start = ranges.last().map_or(0, |range| range.end);
            ranges.push(start..start + part.len());
        }
        let mut targets = huge::zeroed(end as usize);
        let copies = split_mut(&mut targets, &ranges).into_iter().zip(&lists).collect();
        map_tasks(threads, copies, |(to, (_, part)): (&mut [u32], &(Vec<u32>, Vec<u32>))| to.copy_from_slice(part));
        Ok(Neighbors { offsets, targets })
    }

    #[inline]
    fn row(&self, node: u32) -> &[u32] {
        &self.targets[self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize]
    }
}

/// Counts of one level, shared by the threads.
#[derive(Default)]
struct Level {
    /// Nodes that have no more neighbors than the level.
    found: AtomicUsize,
    /// Nodes that have more.
    left: AtomicUsize,
    /// The fewest neighbors of those.
    least: AtomicU32,
}

impl Level {
    fn clear(&self) {
        self.found.store(0, Ordering::Relaxed);
        self.left.store(0, Ordering::Relaxed);
        self.least.store(u32::MAX, Ordering::Relaxed);
    }
}

/// A run under way.
struct Peel<'a> {
    neighbors: Neighbors,
    /// For each node, its neighbors left; once it was taken away, its core number.
    numbers: Vec<AtomicU32>,
    /// Of one level and of the next, by turns.
    levels: [Level; 2],
    meeting: Barrier,
    is_cancelled: AtomicBool,
    interrupt: &'a Interrupt,
}

/// The core number of each node of a graph in memory.
pub(super) fn run(graph: &Graph<'_>, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let nodes = graph.node_count();
    let neighbors = Neighbors::read(graph, threads, interrupt)?;
    let threads = threads.min((graph.edge_count() / EDGES_PER_THREAD_MIN + 1) as usize).max(1);
    let degree = |node: usize| (neighbors.offsets[node + 1] - neighbors.offsets[node]) as u32;
    let numbers: Vec<AtomicU32> = huge::collect((0..nodes).map(|node| AtomicU32::new(degree(node))));
    let parts = even_ranges(nodes, threads, 1);
    let peel = Peel {
        neighbors,
        numbers,
        levels: [Level::default(), Level::default()],
        meeting: Barrier::new(parts.len()),
        is_cancelled: AtomicBool::new(false),
        interrupt,
    };
    peel.levels.iter().for_each(Level::clear);
    // As many threads as parts, each with one, since threads wait for each other.
    std::thread::scope(|scope| {
        let peel = &peel;
        let mut parts = parts.into_iter();
        let own = parts.next();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || peel.work(part))).collect();
        if let Some(own) = own {
            peel.work(own);
        }
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    interrupt.check()?;
    Ok(peel.numbers.into_iter().map(AtomicU32::into_inner).collect())
}

impl Peel<'_> {
    /// Runs the part of one thread, for its own nodes.
    fn work(&self, part: Range<usize>) {
        let mut left: Vec<u32> = (part.start as u32..part.end as u32).collect();
        let mut stack = Vec::new();
        let (mut number, mut turn, mut done) = (0, 0, 0);
        loop {
            let level = &self.levels[turn % 2];
            let mut least = u32::MAX;
            left.retain(|&node| {
                let neighbors_left = self.numbers[node as usize].load(Ordering::Relaxed);
                match neighbors_left.cmp(&number) {
                    // Taken away at a lower level already.
                    std::cmp::Ordering::Less => false,
                    std::cmp::Ordering::Equal => {
                        stack.push(node);
                        false
                    }
                    std::cmp::Ordering::Greater => {
                        least = least.min(neighbors_left);
                        true
                    }
                }
            });
            level.found.fetch_add(stack.len(), Ordering::Relaxed);
            level.left.fetch_add(left.len(), Ordering::Relaxed);
            level.least.fetch_min(least, Ordering::Relaxed);
            if self.interrupt.check().is_err() {
                self.is_cancelled.store(true, Ordering::Relaxed);
            }
            self.meeting.wait();
            let (found, all_left) = (level.found.load(Ordering::Relaxed), level.left.load(Ordering::Relaxed));
            let least = level.least.load(Ordering::Relaxed);
            if self.is_cancelled.load(Ordering::Relaxed) {
                return;
            }
            // Nobody looks at the other level before the next meeting.
            self.levels[(turn + 1) % 2].clear();
            done += found;
            self.interrupt.report(done as u64, (done + all_left) as u64);
            self.take_away(&mut stack, number);
            if found > 0 && all_left == 0 {
                return;
            }
            self.meeting.wait();
            if found == 0 && all_left == 0 {
                return;
            }
            number = if found == 0 { least } else { number + 1 };
            turn += 1;
        }
    }

    /// Takes nodes away, and those that are left with no more neighbors than the level.
    fn take_away(&self, stack: &mut Vec<u32>, number: u32) {
        while let Some(node) = stack.pop() {
            for &neighbor in self.neighbors.row(node) {
                let left = &self.numbers[neighbor as usize];
                if left.load(Ordering::Relaxed) <= number {
                    continue;
                }
                let before = left.fetch_sub(1, Ordering::Relaxed);
                if before == number + 1 {
                    stack.push(neighbor);
                } else if before <= number {
                    // Another thread took the last one too many meanwhile.
                    left.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}
