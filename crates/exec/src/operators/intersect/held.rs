//! The intersection of the lists of all nodes of a row but the last, kept from row to row.

use super::two_lists::{Numbered, count, each_common};
use crate::neighbor_lists::{List, ListReader, Repeat};

/// Shorter lists are not marked in the bitmap.
const MARKED_MIN: usize = 8;

/// The intersection of the lists of all nodes of a row but the last, kept while those nodes stay the same.
#[derive(Default)]
pub(super) struct Common {
    /// The nodes whose lists are held, in the order of the legs given.
    nodes: Vec<u32>,
    /// The intersection of the first two lists, of the first three, and so on.
    levels: Vec<Level>,
    /// The nodes held, as bits; cleared before others are held.
    bits: Vec<u64>,
    is_marked: bool,
}

/// The intersection of some lists.
#[derive(Default)]
struct Level {
    nodes: Vec<u32>,
    /// Those to which several combinations of edges lead.
    repeats: Vec<Repeat>,
}

impl Level {
    fn as_list(&self) -> List<'_> {
        List { nodes: &self.nodes, bits: None, repeats: &self.repeats }
    }

    /// Becomes what two lists have in common.
    fn fill(&mut self, one: List<'_>, other: List<'_>) {
        let Level { nodes, repeats } = self;
        nodes.clear();
        repeats.clear();
        each_common(one, other, |node| {
            nodes.push(node);
            true
        });
        let (mut left, mut right) = (one.repeats, other.repeats);
        while let Some(neighbor) = left.first().into_iter().chain(right.first()).map(Numbered::number).min() {
            let ways =
                [&mut left, &mut right].into_iter().map(|repeats| 1 + take_more(repeats, neighbor)).product::<u64>();
            if nodes.binary_search(&neighbor).is_ok() {
                repeats.push(Repeat { neighbor, more: ways - 1 });
            }
        }
    }
}

/// Edges besides the first to a neighbor, which is taken off the repeats if it is their first.
fn take_more(repeats: &mut &[Repeat], neighbor: u32) -> u64 {
    match repeats.split_first() {
        Some((first, rest)) if first.neighbor == neighbor => {
            *repeats = rest;
            first.more
        }
        _ => 0,
    }
}

impl Common {
    /// Begins a chunk, with numbers of nodes below a bound.
    pub(super) fn begin(&mut self, bound: usize) {
        debug_assert!(!self.is_marked, "what a chunk marks is cleared at its end");
        self.nodes.clear();
        if self.bits.len() < bound.div_ceil(64) {
            self.bits.resize(bound.div_ceil(64), 0);
        }
    }

    /// Holds what the lists of these nodes have in common. `stays` if the next row has the same nodes.
    pub(super) fn hold(&mut self, readers: &[ListReader<'_>], steady: &[usize], nodes: &[u32], stays: bool) {
        let is_kept = |level: usize| self.nodes.get(level) == Some(&nodes[steady[level]]);
        let kept = (0..steady.len()).take_while(|&level| is_kept(level)).count();
        if kept < steady.len() {
            self.clear(readers, steady);
            self.nodes.truncate(kept);
            self.nodes.extend(steady[kept..].iter().map(|&leg| nodes[leg]));
            self.levels.resize_with(steady.len() - 1, Level::default);
            for level in kept.max(1)..steady.len() {
                let mut common = std::mem::take(&mut self.levels[level - 1]);
                let before = match level {
                    1 => readers[steady[0]].list(nodes[steady[0]]),
                    _ => self.levels[level - 2].as_list(),
                };
                common.fill(before, readers[steady[level]].list(nodes[steady[level]]));
                self.levels[level - 1] = common;
            }
        }
        if stays && !self.is_marked {
            let Common { nodes, levels, bits, is_marked, .. } = self;
            let held = levels.last().map_or_else(|| readers[steady[0]].nodes(nodes[0]), |level| &level.nodes);
            if held.len() >= MARKED_MIN {
                held.iter().for_each(|&node| bits[node as usize / 64] |= 1 << (node % 64));
                *is_marked = true;
            }
        }
    }

    /// Clears the bitmap. At the end of a chunk too: the lists may be others in the next.
    pub(super) fn clear(&mut self, readers: &[ListReader<'_>], steady: &[usize]) {
        if std::mem::take(&mut self.is_marked) {
            let Common { nodes, levels, bits, .. } = self;
            let held = levels.last().map_or_else(|| readers[steady[0]].nodes(nodes[0]), |level| &level.nodes);
            held.iter().for_each(|&node| bits[node as usize / 64] = 0);
        }
    }

    /// The nodes held; `first` is the list of the first node.
    #[inline(always)]
    fn held<'a>(&'a self, first: List<'a>) -> List<'a> {
        let marks = self.is_marked.then_some(&self.bits[..]);
        match self.levels.last() {
            Some(level) => List { bits: marks, ..level.as_list() },
            None => List { bits: marks.or(first.bits), ..first },
        }
    }

    /// Number of combinations of edges that lead to a node of a list that is held.
    #[inline]
    pub(super) fn count_to(&self, first: List<'_>, list: List<'_>, node: u32) -> i64 {
        (Repeat::edges_to(self.held(first).repeats, node) * Repeat::edges_to(list.repeats, node)) as i64
    }

    /// Number of combinations of edges that lead to nodes of a list that are held.
    #[inline(always)]
    pub(super) fn count(&self, first: List<'_>, list: List<'_>) -> i64 {
        count(self.held(first), list) as i64
    }

    /// Calls `take` with each node of a list that is held, once each, in order, until it is false.
    pub(super) fn each(&self, first: List<'_>, list: List<'_>, take: impl FnMut(u32) -> bool) {
        each_common(self.held(first), list, take);
    }
}
