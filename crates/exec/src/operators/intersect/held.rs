//! The intersection of several sorted lists: by bitmap, by merging, or by searching the longer for each of the shorter.

use crate::neighbor_lists::ListReader;

/// A list that is longer than another by this factor is searched rather than read.
const SEARCH_RATIO: usize = 16;
/// Shorter lists are not marked in the bitmap.
const MARKED_MIN: usize = 8;

/// The intersection of the lists of all nodes of a row but the last, kept while those nodes stay the same.
#[derive(Default)]
pub(super) struct Common {
    /// The nodes whose lists are held, in the order of the legs given.
    nodes: Vec<u32>,
    /// The intersection of the first two lists, of the first three, and so on.
    levels: Vec<Vec<u32>>,
    /// The nodes held, as bits; cleared before others are held.
    bits: Vec<u64>,
    is_marked: bool,
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
            self.levels.resize_with(steady.len() - 1, Vec::new);
            for level in kept.max(1)..steady.len() {
                let mut common = std::mem::take(&mut self.levels[level - 1]);
                common.clear();
                let before = match level {
                    1 => readers[steady[0]].list(nodes[steady[0]]),
                    _ => &self.levels[level - 2],
                };
                intersect(before, readers[steady[level]].list(nodes[steady[level]]), |node| {
                    common.push(node);
                    true
                });
                self.levels[level - 1] = common;
            }
        }
        if stays && !self.is_marked {
            let Common { nodes, levels, bits, is_marked, .. } = self;
            let held = levels.last().map_or_else(|| readers[steady[0]].list(nodes[0]), Vec::as_slice);
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
            let held = levels.last().map_or_else(|| readers[steady[0]].list(nodes[0]), Vec::as_slice);
            held.iter().for_each(|&node| bits[node as usize / 64] = 0);
        }
    }

    /// The nodes held; `first` is the list of the first node.
    fn held<'a>(&'a self, first: &'a [u32]) -> &'a [u32] {
        self.levels.last().map_or(first, Vec::as_slice)
    }

    #[inline]
    fn has(&self, node: u32) -> bool {
        self.bits[node as usize / 64] >> (node % 64) & 1 == 1
    }

    /// True if a list is to be read against the bitmap.
    fn reads(&self, held: &[u32], list: &[u32]) -> bool {
        self.is_marked && list.len() / SEARCH_RATIO <= held.len()
    }

    /// Number of nodes of a list that are held; neither has a node twice.
    pub(super) fn count(&self, first: &[u32], list: &[u32]) -> usize {
        let held = self.held(first);
        if self.reads(held, list) {
            return count_marked(&self.bits, list);
        }
        let mut count = 0;
        intersect(held, list, |_| {
            count += 1;
            true
        });
        count
    }

    /// Calls `take` with each node of a list that is held, once each, in order, until it is false.
    pub(super) fn each(&self, first: &[u32], list: &[u32], mut take: impl FnMut(u32) -> bool) {
        let held = self.held(first);
        if !self.reads(held, list) {
            intersect(held, list, take);
            return;
        }
        let mut last = None;
        for &node in list {
            if self.has(node) && last.replace(node) != Some(node) && !take(node) {
                return;
            }
        }
    }
}

/// Number of nodes of a list that are set: four at a time, so that none waits for the one before.
#[inline]
fn count_marked(bits: &[u64], list: &[u32]) -> usize {
    let is_set = |node: u32| bits[node as usize / 64] >> (node % 64) & 1;
    let (quads, rest) = list.as_chunks::<4>();
    let mut counts = [0; 4];
    for quad in quads {
        counts[0] += is_set(quad[0]);
        counts[1] += is_set(quad[1]);
        counts[2] += is_set(quad[2]);
        counts[3] += is_set(quad[3]);
    }
    (counts.iter().sum::<u64>() + rest.iter().map(|&node| is_set(node)).sum::<u64>()) as usize
}

/// Calls `take` with each node that both lists have, once each, in order, until it is false.
fn intersect(a: &[u32], b: &[u32], mut take: impl FnMut(u32) -> bool) {
    let (short, mut long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() / SEARCH_RATIO > short.len() {
        let mut last = None;
        for &node in short {
            long = &long[gallop(long, node)..];
            match long.first() {
                None => return,
                Some(&found) => {
                    if found == node && last.replace(node) != Some(node) && !take(node) {
                        return;
                    }
                }
            }
        }
        return;
    }
    let (mut i, mut j) = (0, 0);
    while i < short.len() && j < long.len() {
        let (left, right) = (short[i], long[j]);
        if left == right {
            if !take(left) {
                return;
            }
            while i < short.len() && short[i] == left {
                i += 1;
            }
            while j < long.len() && long[j] == left {
                j += 1;
            }
            continue;
        }
        i += usize::from(left < right);
        j += usize::from(right < left);
    }
}

/// The first place of a sorted list whose node is not below the one given: in steps that double, then by halves.
#[inline]
fn gallop(list: &[u32], node: u32) -> usize {
    let mut step = 1;
    while step < list.len() && list[step] < node {
        step *= 2;
    }
    let (start, end) = (step / 2, (step + 1).min(list.len()));
    start + list[start..end].partition_point(|&other| other < node)
}

#[cfg(test)]
mod tests {
    use super::{gallop, intersect};

    #[test]
    fn lists_of_all_sizes_have_the_same_in_common() {
        let multiples = |of: u32, count: u32| (0..count).map(|i| i * of).collect::<Vec<_>>();
        for (a, b, count) in [(2, 3, 400), (7, 1, 9), (1, 50, 3), (5, 5, 0), (1, 1, 1)] {
            for (short, long) in [(count, 1_000), (1_000, count), (count, count * 2)] {
                let (left, right) = (multiples(a, short), multiples(b, long));
                let expected: Vec<u32> = left.iter().copied().filter(|node| right.contains(node)).collect();
                let mut found = Vec::new();
                intersect(&left, &right, |node| {
                    found.push(node);
                    true
                });
                assert_eq!(found, expected, "{a} {b} {short} {long}");
            }
        }
    }

    #[test]
    fn a_node_that_comes_twice_is_given_once() {
        let mut found = Vec::new();
        intersect(&[1, 1, 2, 4, 4, 4], &[1, 2, 2, 3, 4], |node| {
            found.push(node);
            true
        });
        assert_eq!(found, [1, 2, 4]);
    }

    #[test]
    fn galloping_finds_the_first_place() {
        let list = [2, 4, 4, 8, 16, 16, 31];
        for node in 0..33 {
            assert_eq!(gallop(&list, node), list.partition_point(|&other| other < node), "{node}");
        }
        assert_eq!(gallop(&[], 3), 0);
    }
}
