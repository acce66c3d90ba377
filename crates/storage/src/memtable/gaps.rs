//! Stretches of ids among the nodes of a memtable that were reserved and are not used, passed over by readers of all
//! nodes: a transaction that reserved many ids and came to nothing must cost others neither time nor memory.

use std::ops::Range;

use imbl::{OrdMap, Vector};

use super::NodeRecord;

/// Shorter stretches are looked through.
const LENGTH_MIN: usize = 1_024;

/// Long stretches of unused places: from the first to one behind the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps(OrdMap<usize, usize>);

impl Gaps {
    /// Adds places that nobody uses.
    pub(super) fn add(&mut self, places: Range<usize>) {
        if places.len() >= LENGTH_MIN {
            self.0.insert(places.start, places.end);
        }
    }

    /// A place is used now.
    pub(super) fn take(&mut self, at: usize) {
        let Some((&start, &end)) = self.0.get_prev(&at).filter(|(_, end)| **end > at) else { return };
        self.0.remove(&start);
        self.add(start..at);
        self.add(at + 1..end);
    }

    /// The places outside of all gaps from `from` on, up to one behind the last.
    pub(super) fn used(&self, from: usize, end: usize) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let mut start = from;
        let first = self.0.get_prev(&from).map_or(from, |(&start, _)| start);
        for (&gap, &gap_end) in self.0.range(first..end) {
            runs.push(start..gap.max(start));
            start = start.max(gap_end);
        }
        runs.push(start..end.max(start));
        runs.retain(|run| !run.is_empty());
        runs
    }
}

/// Records of `count` unused ids. They share their memory: of n, about log n are held.
pub(super) fn unused_nodes(count: usize) -> Vector<NodeRecord> {
    let (mut all, mut doubled) = (Vector::new(), Vector::unit(NodeRecord::unused()));
    let mut left = count;
    while left > 0 {
        if left & 1 == 1 {
            all.append(doubled.clone());
        }
        left >>= 1;
        if left > 0 {
            doubled.append(doubled.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::{Gaps, LENGTH_MIN, unused_nodes};

    #[test]
    fn what_is_used_is_found_around_gaps() {
        let (mut gaps, long) = (Gaps::default(), LENGTH_MIN);
        assert_eq!(gaps.used(0, 7), from_ref(&(0..7)));
        gaps.add(10..10 + long - 1);
        assert_eq!(gaps.used(0, 5 * long), from_ref(&(0..5 * long)), "a short gap is none");
        gaps.add(10..10 + 3 * long);
        gaps.add(5 * long..9 * long);
        let end = 10 * long;
        assert_eq!(gaps.used(0, end), [0..10, 10 + 3 * long..5 * long, 9 * long..end]);
        assert_eq!(gaps.used(20, end), [10 + 3 * long..5 * long, 9 * long..end]);
        assert_eq!(gaps.used(4 * long, end), [4 * long..5 * long, 9 * long..end]);
        gaps.take(7 * long);
        assert_eq!(gaps.used(5 * long, end), [7 * long..7 * long + 1, 9 * long..end]);
        gaps.take(9 * long + 1);
        assert_eq!(gaps.used(end, end), []);
    }

    #[test]
    fn unused_nodes_are_as_many_as_asked_for() {
        for count in [0, 1, 2, 3, 1_000, (1 << 32) - 1] {
            assert_eq!(unused_nodes(count).len(), count);
        }
    }
}
