//! Counts, for each node, the triangles that it is part of: in memory, by bits where nodes have many neighbors.
//!
//! A triangle is found from its node of highest rank number, in whose list the other two are. Which of the nodes of
//! smallest numbers (the hubs) are neighbors lies in a matrix of bits, at most [`HUBS_MAX`] wide: the list as words of bits,
//! and the row of each hub in it, tell in one step for up to 64 nodes which of them close a triangle. A neighbor that is no
//! hub has a short list itself, whose entries are looked up among marks.
//!
//! Unsafe code is allowed here for one call: of the same loop compiled for processors that count bits in one instruction.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code, reason = "the call is safe only where the processor can"))]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use model::error::Result;
use model::interrupt::Interrupt;

use super::ranked::Ranked;
use crate::huge;
use crate::parallel::{even_ranges, map_tasks, map_tasks_with, ranges_of_equal_work};

/// Most rows of the matrix: 32 MiB.
pub(super) const HUBS_MAX: usize = 16_384;
/// Neighbors of higher rank from which on a node is worth a row: with fewer, marks do as well.
pub(super) const HUB_DEGREE_MIN: u32 = 32;
/// Pieces for each thread.
const PIECES_PER_THREAD: usize = 64;

/// Counts by rank.
pub(super) struct Counted {
    /// For each rank, in how many triangles it is, each counted once for every direction of the edge opposite.
    pub(super) closed: Vec<u64>,
    /// For each rank, its distinct neighbors.
    pub(super) degrees: Vec<u32>,
}

/// Bits for the pairs of hubs that are neighbors: a row for each hub, symmetric.
struct Matrix {
    hubs: usize,
    row_words: usize,
    words: Vec<u64>,
}

impl Matrix {
    /// The matrix of all edges between hubs, or of those that go both ways.
    fn new(ranked: &Ranked, hubs: usize, only_mutual: bool, threads: usize) -> Matrix {
        let row_words = hubs.div_ceil(64);
        let words: Vec<AtomicU64> = huge::collect((0..hubs * row_words).map(|_| AtomicU64::new(0)));
        let set = |row: u32, column: u32| {
            let word = &words[row as usize * row_words + column as usize / 64];
            word.fetch_or(1 << (column % 64), Ordering::Relaxed);
        };
        map_tasks(threads, even_ranges(hubs, PIECES_PER_THREAD, 1), |rows| {
            for row in rows.start as u32..rows.end as u32 {
                for at in ranked.range(row) {
                    if !only_mutual || ranked.mutual[at] {
                        set(row, ranked.targets[at]);
                        set(ranked.targets[at], row);
                    }
                }
            }
        });
        Matrix { hubs, row_words, words: words.into_iter().map(AtomicU64::into_inner).collect() }
    }

    #[inline(always)]
    fn row(&self, hub: u32) -> &[u64] {
        &self.words[hub as usize * self.row_words..][..self.row_words]
    }
}

/// Upper bound of the bytes of the matrices for a graph of `nodes` nodes.
pub(super) fn matrix_bytes(nodes: usize, is_directed: bool) -> usize {
    let hubs = nodes.min(HUBS_MAX);
    hubs * hubs.div_ceil(8) * (1 + usize::from(is_directed))
}

/// Number of bits that two sets of words share; the first is given as its words that are not empty.
#[inline(always)]
fn common(row: &[u64], places: &[u32], masks: &[u64]) -> u64 {
    let mut count = 0;
    for (&place, &mask) in places.iter().zip(masks) {
        count += u64::from((row[place as usize] & mask).count_ones());
    }
    count
}

/// Counts all triangles.
pub(super) fn count(ranked: &Ranked, threads: usize, interrupt: &Interrupt) -> Result<Counted> {
    let degrees = ranked.distinct_degrees();
    let is_directed = !ranked.mutual.is_empty();
    let hubs = degrees.iter().take(HUBS_MAX).take_while(|&&degree| degree >= HUB_DEGREE_MIN).count();
    let all = Matrix::new(ranked, hubs, false, threads);
    let mutual = is_directed.then(|| Matrix::new(ranked, hubs, true, threads));
    let counter = Counter { ranked, all, mutual };
    let pieces = ranges_of_equal_work(&ranked.offsets, PIECES_PER_THREAD * threads);
    let done = AtomicUsize::new(0);
    let mut workers: Vec<Worker<'_>> = (0..threads.max(1)).map(|_| Worker::new(&counter)).collect();
    let counted = map_tasks_with(&mut workers, pieces.clone(), |worker, ranks| {
        interrupt.check()?;
        worker.count_ranks(ranks.start as u32..ranks.end as u32);
        interrupt.report(done.fetch_add(1, Ordering::Relaxed) as u64 + 1, pieces.len() as u64);
        Ok(())
    });
    counted.into_iter().collect::<Result<()>>()?;
    let mut parts = workers.into_iter().map(|worker| worker.closed);
    let mut closed = parts.next().unwrap_or_default();
    for part in parts {
        closed.iter_mut().zip(part).for_each(|(sum, more)| *sum += more);
    }
    Ok(Counted { closed, degrees })
}

/// The data that all threads read.
struct Counter<'a> {
    ranked: &'a Ranked,
    all: Matrix,
    mutual: Option<Matrix>,
}

/// The counts of one thread.
struct Worker<'a> {
    counter: &'a Counter<'a>,
    closed: Vec<u64>,
    /// For each rank, its place in the current list and one, or 0.
    marks: Vec<u32>,
    /// Number of times that each entry of the current list was found in another.
    found: Vec<u64>,
    places: Vec<u32>,
    masks: Vec<u64>,
    mutual_masks: Vec<u64>,
}

impl<'a> Worker<'a> {
    fn new(counter: &'a Counter<'a>) -> Worker<'a> {
        let ranks = counter.ranked.order.len();
        Worker {
            counter,
            closed: huge::zeroed(ranks),
            marks: huge::zeroed(ranks),
            found: Vec::new(),
            places: Vec::new(),
            masks: Vec::new(),
            mutual_masks: Vec::new(),
        }
    }

    fn count_ranks(&mut self, ranks: Range<u32>) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("popcnt") && std::arch::is_x86_feature_detected!("bmi2") {
            // SAFETY: the processor has what the function was compiled for.
            unsafe { self.count_ranks_with_popcnt(ranks) };
            return;
        }
        ranks.for_each(|rank| self.count_rank(rank));
    }

    /// The same, compiled for processors that count bits in one instruction.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt,bmi1,bmi2")]
    fn count_ranks_with_popcnt(&mut self, ranks: Range<u32>) {
        for rank in ranks {
            self.count_rank(rank);
        }
    }

    #[inline(always)]
    fn count_rank(&mut self, rank: u32) {
        let counter = self.counter;
        let range = counter.ranked.range(rank);
        let list = &counter.ranked.targets[range.clone()];
        if list.len() < 2 {
            return;
        }
        let hubs = list.partition_point(|&other| (other as usize) < counter.all.hubs);
        if hubs >= 2 {
            self.count_among_hubs(rank, &list[..hubs], range.start);
        }
        if hubs < list.len() {
            self.count_by_marks(rank, list, hubs, range.start);
        }
    }

    /// Counts the triangles of a node with two hubs.
    #[inline(always)]
    fn count_among_hubs(&mut self, rank: u32, hubs: &[u32], start: usize) {
        let counter = self.counter;
        let Worker { closed, places, masks, .. } = self;
        places.clear();
        masks.clear();
        for &hub in hubs {
            let (place, bit) = (hub / 64, 1 << (hub % 64));
            match masks.last_mut() {
                Some(mask) if places.last() == Some(&place) => *mask |= bit,
                _ => {
                    places.push(place);
                    masks.push(bit);
                }
            }
        }
        let mut sum = 0;
        if let Some(mutual) = &counter.mutual {
            self.mutual_masks.clear();
            self.mutual_masks.resize(masks.len(), 0);
            let mut at = 0;
            for (&hub, &is_mutual) in hubs.iter().zip(&counter.ranked.mutual[start..]) {
                while places[at] != hub / 64 {
                    at += 1;
                }
                self.mutual_masks[at] |= u64::from(is_mutual) << (hub % 64);
            }
            for &hub in hubs {
                let row = counter.all.row(hub);
                let edges = common(row, places, masks);
                closed[hub as usize] += edges + common(row, places, &self.mutual_masks);
                sum += edges + common(mutual.row(hub), places, masks);
            }
        } else {
            for &hub in hubs {
                let edges = common(counter.all.row(hub), places, masks);
                closed[hub as usize] += edges;
                sum += edges;
            }
        }
        // Each triangle was seen from both of its hubs.
        closed[rank as usize] += sum / 2;
    }

    /// Counts the triangles of a node whose middle node is no hub: those in the list from `first` on.
    #[inline(always)]
    fn count_by_marks(&mut self, rank: u32, list: &[u32], first: usize, start: usize) {
        let ranked = self.counter.ranked;
        let Worker { closed, marks, found, .. } = self;
        (1..).zip(list).for_each(|(place, &other)| marks[other as usize] = place);
        found.clear();
        found.resize(list.len(), 0);
        let is_directed = !ranked.mutual.is_empty();
        let directions = |at: usize| if is_directed { 1 + u64::from(ranked.mutual[at]) } else { 1 };
        let mut own = 0;
        for (at, &middle) in list.iter().enumerate().skip(first) {
            let to_middle = directions(start + at);
            let mut of_middle = 0;
            for edge in ranked.range(middle) {
                let mark = marks[ranked.targets[edge] as usize];
                if mark != 0 {
                    own += directions(edge);
                    of_middle += directions(start + mark as usize - 1);
                    found[mark as usize - 1] += to_middle;
                }
            }
            found[at] += of_middle;
        }
        closed[rank as usize] += own;
        for (&other, &found) in list.iter().zip(found.iter()) {
            marks[other as usize] = 0;
            closed[other as usize] += found;
        }
    }
}
