//! A graph made ready for counting triangles: each node knows its distinct neighbors of higher degree, by rank.
//!
//! Ranks go from the node of most edges to that of fewest, so that the lists are short (no list is longer than the square
//! root of twice the edges) and the nodes that most lists name have small numbers, near one another in memory.

use std::ops::Range;

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph_view::GraphView;
use crate::huge;
use crate::parallel::{map_tasks, ranges_of_equal_work, split_mut};

/// Pieces for each thread.
const PIECES_PER_THREAD: usize = 32;

/// Nodes by rank, with their distinct neighbors of lower rank number.
pub(crate) struct Ranked {
    /// For each rank, its node.
    pub(super) order: Vec<u32>,
    /// The offset of the list of each rank, and the end of the last one.
    pub(super) offsets: Vec<u64>,
    /// The ranks of neighbors, each below its own node's, ascending.
    pub(super) targets: Vec<u32>,
    /// For each entry, whether edges lead both ways; empty if direction does not matter.
    pub(super) mutual: Vec<bool>,
}

/// Nodes in order of falling degree, those of equal degree by number.
pub(super) fn by_falling_degree(degrees: &[u32]) -> Vec<u32> {
    let most = degrees.iter().copied().max().unwrap_or(0) as usize;
    // Degrees of more than a few million are rare; a counting sort over them would cost more than it saves.
    if most > 1 << 24 {
        let mut order: Vec<u32> = (0..degrees.len() as u32).collect();
        order.sort_by_key(|&node| std::cmp::Reverse(degrees[node as usize]));
        return order;
    }
    let mut next = vec![0_u32; most + 2];
    degrees.iter().for_each(|&degree| next[most - degree as usize + 1] += 1);
    (1..next.len()).for_each(|at| next[at] += next[at - 1]);
    let mut order = huge::zeroed(degrees.len());
    for (node, &degree) in (0..).zip(degrees) {
        let place = &mut next[most - degree as usize];
        order[*place as usize] = node;
        *place += 1;
    }
    order
}

/// For each node of an order, its place.
pub(super) fn places(order: &[u32]) -> Vec<u32> {
    let mut ranks = huge::zeroed(order.len());
    (0..).zip(order).for_each(|(rank, &node)| ranks[node as usize] = rank);
    ranks
}

/// The lists of some ranks.
#[derive(Default)]
struct Lists {
    lengths: Vec<u32>,
    targets: Vec<u32>,
    mutual: Vec<bool>,
}

impl Ranked {
    /// Makes the lists of an undirected view, or of a directed one that has both sides. For a directed one the lists are
    /// those of all edges, without direction, and say which go both ways.
    pub(crate) fn new(view: &GraphView, threads: usize, interrupt: &Interrupt) -> Result<Ranked> {
        let is_directed = !view.is_undirected();
        let (forward, backward) = (view.forward(), view.backward());
        let degree = |node: u32| forward.degree(node) + if is_directed { backward.degree(node) } else { 0 };
        let degrees: Vec<u32> = huge::collect((0..view.node_count() as u32).map(|node| degree(node) as u32));
        let order = by_falling_degree(&degrees);
        let ranks = places(&order);
        let mut work = Vec::with_capacity(order.len() + 1);
        work.push(0);
        let mut sum = 0;
        work.extend(order.iter().map(|&node| {
            sum += u64::from(degrees[node as usize]);
            sum
        }));
        let pieces = ranges_of_equal_work(&work, PIECES_PER_THREAD * threads);
        let lists = map_tasks(threads, pieces.clone(), |piece: Range<usize>| -> Result<Lists> {
            interrupt.check()?;
            let mut lists = Lists::default();
            let mut keys = Vec::new();
            for rank in piece.start as u32..piece.end as u32 {
                let node = order[rank as usize];
                if is_directed {
                    lists.add_directed(rank, &ranks, forward.neighbors(node), backward.neighbors(node), &mut keys);
                } else {
                    lists.add(rank, &ranks, forward.neighbors(node));
                }
            }
            Ok(lists)
        });
        let lists = lists.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(Ranked::joined(order, &lists, threads))
    }

    fn joined(order: Vec<u32>, lists: &[Lists], threads: usize) -> Ranked {
        let mut offsets = huge::with_capacity(order.len() + 1);
        offsets.push(0);
        let mut end = 0;
        offsets.extend(lists.iter().flat_map(|lists| &lists.lengths).map(|&length| {
            end += u64::from(length);
            end
        }));
        let mut ranges = Vec::with_capacity(lists.len());
        let mut start = 0;
        for part in lists {
            ranges.push(start..start + part.targets.len());
            start += part.targets.len();
        }
        let mut targets = huge::zeroed(start);
        let copies = split_mut(&mut targets, &ranges).into_iter().zip(lists).collect();
        map_tasks(threads, copies, |(to, part): (&mut [u32], &Lists)| to.copy_from_slice(&part.targets));
        let mutual = lists.iter().flat_map(|part| part.mutual.iter().copied()).collect();
        Ranked { order, offsets, targets, mutual }
    }

    /// The range of the list of a rank.
    #[inline]
    pub(super) fn range(&self, rank: u32) -> Range<usize> {
        self.offsets[rank as usize] as usize..self.offsets[rank as usize + 1] as usize
    }

    /// For each rank, how many distinct neighbors its node has.
    pub(super) fn distinct_degrees(&self) -> Vec<u32> {
        let mut degrees: Vec<u32> = huge::collect(self.offsets.windows(2).map(|ends| (ends[1] - ends[0]) as u32));
        self.targets.iter().for_each(|&rank| degrees[rank as usize] += 1);
        degrees
    }
}

impl Lists {
    fn add(&mut self, rank: u32, ranks: &[u32], neighbors: &[u32]) {
        let start = self.targets.len();
        self.targets.extend(neighbors.iter().map(|&neighbor| ranks[neighbor as usize]).filter(|&other| other < rank));
        let list = &mut self.targets[start..];
        list.sort_unstable();
        let mut kept = 0;
        for at in 0..list.len() {
            if at == 0 || list[at] != list[at - 1] {
                list[kept] = list[at];
                kept += 1;
            }
        }
        self.targets.truncate(start + kept);
        self.lengths.push(kept as u32);
    }

    fn add_directed(&mut self, rank: u32, ranks: &[u32], forward: &[u32], backward: &[u32], keys: &mut Vec<u64>) {
        keys.clear();
        for (side, neighbors) in [forward, backward].into_iter().enumerate() {
            let lower = neighbors.iter().map(|&neighbor| ranks[neighbor as usize]).filter(|&other| other < rank);
            keys.extend(lower.map(|other| u64::from(other) << 1 | side as u64));
        }
        keys.sort_unstable();
        let start = self.targets.len();
        for run in keys.chunk_by(|a, b| a >> 1 == b >> 1) {
            self.targets.push((run[0] >> 1) as u32);
            self.mutual.push(run[0] & 1 == 0 && run[run.len() - 1] & 1 == 1);
        }
        self.lengths.push((self.targets.len() - start) as u32);
    }
}
