//! The intersection of two sorted lists: by bits of one or of both, by merging, or by searching the longer for each of the shorter.

use crate::neighbor_lists::{List, Repeat};

/// A list that is longer than another by this factor is searched rather than read.
const SEARCH_RATIO: usize = 16;
/// Cost of the bits that two words share, in lookups of a node among bits.
const WORD_COST: usize = 2;

/// Calls `take` with each node that two lists have in common, once each, in order, until it is false.
pub(super) fn each_common(one: List<'_>, other: List<'_>, mut take: impl FnMut(u32) -> bool) {
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

/// Number of combinations of edges that lead to nodes that two lists have in common; neither has a node twice.
///
/// Those by the first edge to each node are counted like sets; of the few nodes with more edges the rest is added.
#[inline(always)]
pub(super) fn count(one: List<'_>, other: List<'_>) -> u64 {
    let mut count = count_common(one, other) as u64;
    if count == 0 || (one.repeats.is_empty() && other.repeats.is_empty()) {
        return count;
    }
    count += count_more(one.repeats, other) + count_more(other.repeats, one);
    intersect(one.repeats, other.repeats, |one, other| {
        count += one.more * other.more;
        true
    });
    count
}

/// Number of nodes that two lists have in common; neither has a node twice.
#[inline(always)]
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
        None if repeats.len() <= list.nodes.len() / SEARCH_RATIO.ilog2() as usize => {
            let found = repeats.iter().filter(|repeat| list.nodes.binary_search(&repeat.number()).is_ok());
            found.for_each(|repeat| count += repeat.more);
        }
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
    #[inline(always)]
    fn of(one: List<'a>, other: List<'a>) -> Way<'a> {
        // Nearly always only the nodes held have bits, or none.
        match (one.bits, other.bits) {
            (None, None) => return Way::Merge(one.nodes, other.nodes),
            (Some(bits), None) if !is_searched(one.nodes.len(), other.nodes.len()) => {
                return Way::Look(other.nodes, bits);
            }
            _ => {}
        }
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

/// The bit of a node. No branch but that of the bound, which is never taken.
#[inline]
fn bit(bits: &[u64], node: u32) -> u64 {
    bits.get(node as usize / 64).map_or(0, |word| word >> (node % 64) & 1)
}

#[inline]
fn is_set(bits: &[u64], node: u32) -> bool {
    bit(bits, node) == 1
}

/// Number of nodes of a list that are set: four at a time, so that none waits for the one before.
#[inline]
fn count_set(bits: &[u64], list: &[u32]) -> usize {
    let set = |node: u32| bit(bits, node);
    let (quads, rest) = list.as_chunks::<4>();
    let mut counts = [0; 4];
    for quad in quads {
        counts[0] += set(quad[0]);
        counts[1] += set(quad[1]);
        counts[2] += set(quad[2]);
        counts[3] += set(quad[3]);
    }
    (counts.iter().sum::<u64>() + rest.iter().map(|&node| set(node)).sum::<u64>()) as usize
}

/// Entry of a list that is sorted by the numbers of nodes.
pub(super) trait Numbered {
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
    use testing::random::{SeededRandom, seed_or};

    use super::{Way, count, each_common, gallop, intersect};
    use crate::neighbor_lists::{List, Repeat};

    const NODES: u32 = 1_000;

    /// A list whose length is drawn, with its bits.
    struct Drawn {
        nodes: Vec<u32>,
        bits: Vec<u64>,
        repeats: Vec<Repeat>,
    }

    impl Drawn {
        fn new(random: &mut SeededRandom) -> Drawn {
            let per_mille = *random.pick(&[0, 1, 10, 100, 500, 1_000]);
            let nodes: Vec<u32> = (0..NODES).filter(|_| random.below(1_000) < per_mille).collect();
            let percent = *random.pick(&[0, 5, 100]);
            let repeated = nodes.iter().filter(|_| random.chance(percent));
            let repeats = repeated.map(|&neighbor| Repeat { neighbor, more: u64::from(neighbor % 7 + 1) }).collect();
            let mut bits = vec![0; NODES.div_ceil(64) as usize];
            nodes.iter().for_each(|&node| bits[node as usize / 64] |= 1 << (node % 64));
            Drawn { nodes, bits, repeats }
        }

        fn list(&self, has_bits: bool) -> List<'_> {
            List { nodes: &self.nodes, bits: has_bits.then_some(&self.bits), repeats: &self.repeats }
        }

        fn edges(&self, node: u32) -> u64 {
            let more = self.repeats.iter().find(|repeat| repeat.neighbor == node).map_or(0, |repeat| repeat.more);
            if self.nodes.contains(&node) { 1 + more } else { 0 }
        }
    }

    #[test]
    fn lists_are_counted_alike_in_each_way() {
        let seed = seed_or(31);
        let mut random = SeededRandom::new(seed);
        let mut ways = [0; 3];
        for _ in 0..300 {
            let (left, right) = (Drawn::new(&mut random), Drawn::new(&mut random));
            let common: Vec<u32> = left.nodes.iter().copied().filter(|node| right.nodes.contains(node)).collect();
            let expected: u64 = common.iter().map(|&node| left.edges(node) * right.edges(node)).sum();
            for (left_bits, right_bits) in [(false, false), (true, false), (false, true), (true, true)] {
                let (one, other) = (left.list(left_bits), right.list(right_bits));
                assert_eq!(count(one, other), expected, "seed {seed}");
                let mut found = Vec::new();
                each_common(one, other, |node| {
                    found.push(node);
                    true
                });
                assert_eq!(found, common, "seed {seed}");
                let way = match Way::of(one, other) {
                    Way::Look(..) => 0,
                    Way::Words(..) => 1,
                    Way::Merge(..) => 2,
                };
                ways[way] += 1;
            }
        }
        assert!(ways.iter().all(|&times| times > 50), "a way was hardly taken: {ways:?}");
    }

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
