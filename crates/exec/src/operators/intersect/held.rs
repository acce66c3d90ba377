//! The intersection of several sorted lists: by bits of one or of both, by merging, or by searching the longer for each of the
//! shorter.

use crate::neighbor_lists::{List, ListReader, Repeat};

/// A list that is longer than another by this factor is searched rather than read.
const SEARCH_RATIO: usize = 16;
/// Shorter lists are not marked in the bitmap.
const MARKED_MIN: usize = 8;
/// Two words are compared and their bits counted in the time in which so many nodes are looked up.
const WORD_COST: usize = 2;

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
    #[inline]
    fn held<'a>(&'a self, first: List<'a>) -> List<'a> {
        let marks = self.is_marked.then_some(&self.bits[..]);
        match self.levels.last() {
            Some(level) => List { bits: marks, ..level.as_list() },
            None => List { bits: marks.or(first.bits), ..first },
        }
    }

    /// True if several combinations of edges may lead to a node of a list that is held.
    pub(super) fn has_repeats(&self, first: List<'_>, list: List<'_>) -> bool {
        !list.repeats.is_empty() || !self.held(first).repeats.is_empty()
    }

    /// Number of combinations of edges that lead to nodes of a list that are held.
    ///
    /// Those by the first edge to each node are counted like sets; of the few nodes with more edges the rest is added.
    #[inline]
    pub(super) fn count(&self, first: List<'_>, list: List<'_>) -> i64 {
        let held = self.held(first);
        let mut count = count_common(held, list) as u64;
        if !list.repeats.is_empty() {
            count += count_more(list.repeats, held);
        }
        if !held.repeats.is_empty() {
            count += count_more(held.repeats, list);
            intersect(held.repeats, list.repeats, |one, other| {
                count += one.more * other.more;
                true
            });
        }
        count as i64
    }

    /// Calls `take` with each node of a list that is held, once each, in order, until it is false.
    pub(super) fn each(&self, first: List<'_>, list: List<'_>, take: impl FnMut(u32) -> bool) {
        each_common(self.held(first), list, take);
    }
}

/// Calls `take` with each node that two lists have in common, once each, in order, until it is false.
fn each_common(one: List<'_>, other: List<'_>, mut take: impl FnMut(u32) -> bool) {
    match Way::of(one, other) {
        Way::Look(nodes, bits) => {
            let mut last = None;
            for &node in nodes {
                if is_set(bits, node) && last.replace(node) != Some(node) && !take(node) {
                    return;
                }
            }
        }
        Way::Words(one, other) => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                let mut both = one & other;
                while both != 0 {
                    if !take(at as u32 * 64 + both.trailing_zeros()) {
                        return;
                    }
                    both &= both - 1;
                }
            }
        }
        Way::Merge(one, other) => intersect(one, other, |&node, _| take(node)),
    }
}

/// Number of nodes that two lists have in common; neither has a node twice.
#[inline]
fn count_common(one: List<'_>, other: List<'_>) -> usize {
    match Way::of(one, other) {
        Way::Look(nodes, bits) => count_set(bits, nodes),
        Way::Words(one, other) => one.iter().zip(other).map(|(one, other)| (one & other).count_ones() as usize).sum(),
        Way::Merge(one, other) => {
            let mut count = 0;
            intersect(one, other, |_, _| {
                count += 1;
                true
            });
            count
        }
    }
}

/// Number of edges besides the first to nodes that a list has.
fn count_more(repeats: &[Repeat], list: List<'_>) -> u64 {
    let mut count = 0;
    match list.bits {
        Some(bits) => repeats.iter().filter(|it| is_set(bits, it.neighbor)).for_each(|it| count += it.more),
        None => intersect(repeats, list.nodes, |repeat, _| {
            count += repeat.more;
            true
        }),
    }
    count
}

/// The cheapest way to tell what two lists have in common.
enum Way<'a> {
    /// Each node of a list is looked up among bits.
    Look(&'a [u32], &'a [u64]),
    /// The bits of both, word by word.
    Words(&'a [u64], &'a [u64]),
    /// Both lists are read, or the longer one is searched for each node of the shorter.
    Merge(&'a [u32], &'a [u32]),
}

impl<'a> Way<'a> {
    #[inline]
    fn of(one: List<'a>, other: List<'a>) -> Way<'a> {
        // Nearly always only the nodes held have bits.
        let (short, long) = (one.nodes.len().min(other.nodes.len()), one.nodes.len().max(other.nodes.len()));
        let merged = if is_searched(short, long) { short * SEARCH_RATIO } else { short + long };
        let mut best = (merged, Way::Merge(one.nodes, other.nodes));
        for (nodes, bits) in [(other.nodes, one.bits), (one.nodes, other.bits)] {
            if let Some(bits) = bits.filter(|_| nodes.len() < best.0) {
                best = (nodes.len(), Way::Look(nodes, bits));
            }
        }
        if let (Some(one), Some(other)) = (one.bits, other.bits)
            && one.len().min(other.len()) * WORD_COST < best.0
        {
            return Way::Words(one, other);
        }
        best.1
    }
}

/// True if a list is so much longer than another that it is searched.
#[inline]
fn is_searched(short: usize, long: usize) -> bool {
    long / SEARCH_RATIO > short
}

#[inline]
fn is_set(bits: &[u64], node: u32) -> bool {
    bits.get(node as usize / 64).is_some_and(|word| word >> (node % 64) & 1 == 1)
}

/// Number of nodes of a list that are set: four at a time, so that none waits for the one before.
#[inline]
fn count_set(bits: &[u64], list: &[u32]) -> usize {
    let set = |node: u32| usize::from(is_set(bits, node));
    let (quads, rest) = list.as_chunks::<4>();
    let mut counts = [0; 4];
    for quad in quads {
        counts[0] += set(quad[0]);
        counts[1] += set(quad[1]);
        counts[2] += set(quad[2]);
        counts[3] += set(quad[3]);
    }
    counts.iter().sum::<usize>() + rest.iter().map(|&node| set(node)).sum::<usize>()
}

/// Entry of a list that is sorted by the numbers of nodes.
trait Numbered {
    fn number(&self) -> u32;
}

impl Numbered for u32 {
    fn number(&self) -> u32 {
        *self
    }
}

impl Numbered for Repeat {
    fn number(&self) -> u32 {
        self.neighbor
    }
}

/// Calls `take` with the first entries of each node that both lists have, in order, until it is false.
fn intersect<A: Numbered, B: Numbered>(a: &[A], b: &[B], mut take: impl FnMut(&A, &B) -> bool) {
    if is_searched(a.len(), b.len()) {
        return search(a, b, take);
    }
    if is_searched(b.len(), a.len()) {
        return search(b, a, |right, left| take(left, right));
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (left, right) = (a[i].number(), b[j].number());
        if left == right {
            if !take(&a[i], &b[j]) {
                return;
            }
            while i < a.len() && a[i].number() == left {
                i += 1;
            }
            while j < b.len() && b[j].number() == left {
                j += 1;
            }
            continue;
        }
        i += usize::from(left < right);
        j += usize::from(right < left);
    }
}

/// The same, by searching the longer list for each entry of the shorter.
fn search<S: Numbered, L: Numbered>(short: &[S], mut long: &[L], mut take: impl FnMut(&S, &L) -> bool) {
    let mut last = None;
    for entry in short {
        long = &long[gallop(long, entry.number())..];
        match long.first() {
            None => return,
            Some(found) => {
                let number = entry.number();
                if found.number() == number && last.replace(number) != Some(number) && !take(entry, found) {
                    return;
                }
            }
        }
    }
}

/// The first place of a sorted list whose node is not below the one given: in steps that double, then by halves.
#[inline]
fn gallop<L: Numbered>(list: &[L], node: u32) -> usize {
    let mut step = 1;
    while step < list.len() && list[step].number() < node {
        step *= 2;
    }
    let (start, end) = (step / 2, (step + 1).min(list.len()));
    start + list[start..end].partition_point(|other| other.number() < node)
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
                intersect(&left, &right, |&node, _| {
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
        intersect(&[1, 1, 2, 4, 4, 4], &[1, 2, 2, 3, 4], |&node, _| {
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
        assert_eq!(gallop::<u32>(&[], 3), 0);
    }
}
