//! A set of pairs of a group and an integer.
//!
//! Rows that an expansion gives often bring the same integer many times in succession. As long as every integer comes in
//! one such run, a group holds it just if it was given it last: nothing is searched, and the pairs are only written down.
//! When an integer comes back after others, or runs are short, the pairs go into a table with open addressing.
//!
//! Cost: 4 bytes a pair and a group while there are runs; 8 bytes a place in the table, of which at least a quarter is
//! free. Integers that do not fit 32 bits are kept by hash.

use model::Set;

/// Average rows of a run from which runs are used.
const RUN_ROWS_MIN: usize = 4;

/// Number of runs that are looked at before the average is tested.
const RUNS_MIN: usize = 16;

/// Marks a free place: no group has this number.
const FREE: u64 = u64::MAX;

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// See the module.
#[derive(Debug)]
pub(super) enum PairSet {
    Runs(Runs),
    Table(Table),
}

impl Default for PairSet {
    fn default() -> PairSet {
        PairSet::Runs(Runs::default())
    }
}

/// Pairs whose integers came in one run each.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The integer of each run, and where its groups start.
    starts: Vec<(i64, usize)>,
    /// The groups that have the integers, each once in a run.
    groups: Vec<u32>,
    /// For each group, the number of the run it was in last; 0 for none, so that runs count from 1.
    last: Vec<u32>,
    /// The integers of all runs.
    seen: Set<i64>,
    /// Rows so far.
    rows: usize,
}

/// Pairs by hash.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// A group above 32 bits of an integer; a power of two of places.
    places: Vec<u64>,
    /// Places that are taken.
    taken: usize,
    wide: Set<(u32, i64)>,
}

impl PairSet {
    /// Adds a pair; true if it is new.
    #[inline]
    pub(super) fn insert(&mut self, group: u32, integer: i64) -> bool {
        loop {
            match self {
                PairSet::Table(table) => return table.insert(group, integer),
                PairSet::Runs(runs) => {
                    if let Some(is_new) = runs.insert(group, integer) {
                        return is_new;
                    }
                }
            }
            self.search();
        }
    }

    /// Makes room for as many pairs as another set has. Pairs of a table come in the order of their places, and would crowd
    /// in a table that is too small for them.
    pub(super) fn reserve_for(&mut self, other: &PairSet) {
        if let (PairSet::Table(mine), PairSet::Table(other)) = (self, other) {
            while (mine.taken + other.taken + 1) * 4 > mine.places.len() * 3 {
                mine.grow();
            }
        }
    }

    /// Gives runs up.
    #[cold]
    fn search(&mut self) {
        let mut table = Table::default();
        self.for_each(|group, integer| {
            table.insert(group, integer);
        });
        *self = PairSet::Table(table);
    }

    /// Approximate bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let wide = size_of::<(u32, i64)>() + size_of::<u64>();
        match self {
            PairSet::Runs(runs) => {
                let each = size_of::<(i64, usize)>() + wide;
                runs.starts.len() * each + (runs.groups.len() + runs.last.len()) * size_of::<u32>()
            }
            PairSet::Table(table) => table.places.len() * size_of::<u64>() + table.wide.len() * wide,
        }
    }

    /// Calls `each` with all pairs; those with the same integer in succession, if they came so.
    pub(super) fn for_each(&self, mut each: impl FnMut(u32, i64)) {
        match self {
            PairSet::Runs(runs) => {
                let ends = runs.starts.iter().skip(1).map(|(_, start)| *start).chain([runs.groups.len()]);
                for (&(integer, start), end) in runs.starts.iter().zip(ends) {
                    runs.groups[start..end].iter().for_each(|&group| each(group, integer));
                }
            }
            PairSet::Table(table) => {
                let taken = table.places.iter().filter(|place| **place != FREE);
                taken.for_each(|&place| each((place >> 32) as u32, i64::from(place as u32)));
                table.wide.iter().for_each(|&(group, integer)| each(group, integer));
            }
        }
    }
}

impl Runs {
    /// Adds a pair; true if it is new, `None` if runs do not tell.
    #[inline]
    fn insert(&mut self, group: u32, integer: i64) -> Option<bool> {
        if self.starts.last().is_none_or(|(current, _)| *current != integer) && !self.start(integer) {
            return None;
        }
        self.rows += 1;
        let run = self.starts.len() as u32;
        if self.last.len() <= group as usize {
            self.last.resize((group as usize + 1).next_power_of_two(), 0);
        }
        let last = &mut self.last[group as usize];
        if *last == run {
            return Some(false);
        }
        *last = run;
        self.groups.push(group);
        Some(true)
    }

    /// Starts the run of an integer; false if it had one, or runs are not worth it.
    fn start(&mut self, integer: i64) -> bool {
        let runs = self.starts.len();
        let are_short = runs >= RUNS_MIN && self.rows < RUN_ROWS_MIN * runs;
        if are_short || runs >= u32::MAX as usize || !self.seen.insert(integer) {
            return false;
        }
        self.starts.push((integer, self.groups.len()));
        true
    }
}

impl Table {
    #[inline]
    fn insert(&mut self, group: u32, integer: i64) -> bool {
        match u32::try_from(integer) {
            Ok(low) => self.insert_place(u64::from(group) << 32 | u64::from(low)),
            Err(_) => self.wide.insert((group, integer)),
        }
    }

    #[inline]
    fn insert_place(&mut self, pair: u64) -> bool {
        if (self.taken + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        let mask = self.places.len() - 1;
        let mut at = first_place(pair, mask);
        loop {
            let found = self.places[at];
            if found == pair {
                return false;
            }
            if found == FREE {
                self.places[at] = pair;
                self.taken += 1;
                return true;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(64);
        let before = std::mem::replace(&mut self.places, vec![FREE; size]);
        for pair in before.into_iter().filter(|pair| *pair != FREE) {
            let mut at = first_place(pair, size - 1);
            while self.places[at] != FREE {
                at = (at + 1) & (size - 1);
            }
            self.places[at] = pair;
        }
    }
}

/// Differs with the size of the table, so that pairs taken from one in order of their places do not crowd in another.
#[inline]
fn first_place(pair: u64, mask: usize) -> usize {
    let mixed = (pair ^ pair >> 32 ^ (mask as u64) << 20).wrapping_mul(MULTIPLIER);
    (mixed ^ mixed >> 32) as usize & mask
}

#[cfg(test)]
mod tests {
    use super::PairSet;
    use model::Set;

    fn check(pairs: &[(u32, i64)], is_table: bool) {
        let (mut set, mut reference) = (PairSet::default(), Set::default());
        for &(group, integer) in pairs {
            assert_eq!(set.insert(group, integer), reference.insert((group, integer)), "{group} {integer}");
        }
        assert_eq!(matches!(set, PairSet::Table(_)), is_table, "{pairs:?}");
        let mut found = Set::default();
        set.for_each(|group, integer| assert!(found.insert((group, integer)), "{group} {integer} twice"));
        assert_eq!(found, reference);
    }

    #[test]
    fn pairs_are_held_once() {
        check(&[], false);
        check(&[(0, 5), (0, 5), (1, 5), (0, 6), (0, 6)], false);
        check(&[(0, 5), (0, 6), (0, 5), (1, 5), (0, 6)], true);
        check(&[(0, -1), (7, i64::MAX), (0, -1), (0, i64::MIN), (0, -1), (0, 4_294_967_295), (0, 4_294_967_296)], true);
        check(
            &[(u32::MAX - 1, 4_294_967_295), (0, 0), (u32::MAX - 1, 4_294_967_295)].map(|(g, x)| (g % 1_000, x)),
            true,
        );
    }

    #[test]
    fn short_runs_are_searched() {
        check(&(0..100).map(|x| (x as u32 % 3, x)).collect::<Vec<_>>(), true);
        check(&(0..1_000).map(|x| (x as u32 % 7, x / 50)).collect::<Vec<_>>(), false);
    }

    #[test]
    fn random_pairs() {
        let mut state = 42_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let pairs: Vec<(u32, i64)> = (0..20_000).map(|_| (next(50) as u32, next(200) as i64 - 20)).collect();
        check(&pairs, true);
    }
}
