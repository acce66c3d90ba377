//! Searches from many sources: shared out among threads, and what they find added up in one order.
//!
//! - [`breadth`]: breadth-first searches from many nodes at a time.
//! - [`cheapest`]: cheapest paths from one node, the state kept for the next.
//! - [`distances`]: sums over the distances from all nodes.

pub(crate) mod breadth;
pub(crate) mod cheapest;
pub(crate) mod distances;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use model::error::Result;
use model::interrupt::Interrupt;

use crate::parallel::{even_ranges, map_tasks};

/// Groups that sources are cut into: enough to even out the work of as many threads as there may be.
const GROUPS: usize = 64;

/// The results of some groups, added up as far as there is none missing.
struct Sum<T> {
    total: Option<T>,
    next: usize,
    waiting: BTreeMap<usize, T>,
}

impl<T> Sum<T> {
    /// Takes what group `at` has found, and adds up what can be.
    fn take(&mut self, at: usize, found: T, add: &impl Fn(&mut T, T)) {
        self.waiting.insert(at, found);
        while let Some(part) = self.waiting.remove(&self.next) {
            self.next += 1;
            match &mut self.total {
                None => self.total = Some(part),
                Some(total) => add(total, part),
            }
        }
    }
}

/// Number of the sources that are done.
pub(crate) struct Progress<'a> {
    interrupt: &'a Interrupt,
    done: AtomicU64,
    total: u64,
}

impl Progress<'_> {
    /// Fails if the run was cancelled; otherwise reports that `sources` more are done.
    pub(crate) fn advance(&self, sources: usize) -> Result<()> {
        self.interrupt.check()?;
        let done = self.done.fetch_add(sources as u64, Ordering::Relaxed) + sources as u64;
        self.interrupt.report(done, self.total);
        Ok(())
    }
}

/// Works on `0..count` sources in groups, each but the last a multiple of `grain`, and adds up what they find in the
/// order of the groups, which are the same whatever the number of threads. `None` without sources.
pub(crate) fn add_up<T: Send>(
    count: usize,
    grain: usize,
    threads: usize,
    interrupt: &Interrupt,
    work: impl Fn(Range<usize>, &Progress<'_>) -> Result<T> + Sync,
    add: impl Fn(&mut T, T) + Sync,
) -> Result<Option<T>> {
    let progress = Progress { interrupt, done: AtomicU64::new(0), total: count as u64 };
    let sum = Mutex::new(Sum { total: None, next: 0, waiting: BTreeMap::new() });
    let groups = even_ranges(count, GROUPS, grain).into_iter().enumerate().collect();
    let done = map_tasks(threads, groups, |(at, group): (usize, Range<usize>)| -> Result<()> {
        interrupt.check()?;
        let found = work(group, &progress)?;
        sum.lock().unwrap_or_else(PoisonError::into_inner).take(at, found, &add);
        Ok(())
    });
    done.into_iter().collect::<Result<()>>()?;
    Ok(sum.into_inner().unwrap_or_else(PoisonError::into_inner).total)
}

/// Upper bound of the threads that hold state of their own, for estimates: those of the machine.
pub(crate) fn threads_expected() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use model::interrupt::Interrupt;

    use super::add_up;

    #[test]
    fn groups_are_added_in_their_order() {
        for threads in [1, 3] {
            for (count, grain) in [(0, 4), (3, 4), (1_000, 4), (1_001, 1)] {
                let all = add_up(
                    count,
                    grain,
                    threads,
                    &Interrupt::new(),
                    |group, _| Ok(group.collect::<Vec<usize>>()),
                    |total, part| total.extend(part),
                );
                assert_eq!(all.unwrap().unwrap_or_default(), (0..count).collect::<Vec<usize>>());
            }
        }
    }
}
