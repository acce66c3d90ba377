//! Passes over the edges of one store that go on at the same time read together.
//!
//! A pass that begins while another is under way begins where that one is, and ends where it began: what one of them
//! brings into the store's cache the other finds there, as long as it stays: a scan of the native store gives back what it
//! has read when it needs room, so that where memory is short two computations still read nearly twice what one does
//! (`shared` of `benchmarks/larger.sh` prints it). The tasks of a pass are in the order of the store's partitions, so that a place is a
//! part of all tasks, whatever the computation.
//!
//! Results do not depend on it: they are put together in the order of the tasks.
//! After: Zukowski, Héman, Nes, Boncz, "Cooperative scans: dynamic bandwidth sharing in a DBMS", 2007 (attaching to the
//! scan that is under way).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::rows::Rows;
use crate::parallel::map_tasks;

/// Where the passes over one store are.
#[derive(Debug, Default)]
pub struct Hand {
    passes: AtomicUsize,
    /// Of the tasks of the pass that began one last, this part of 2^32 lies before it.
    place: AtomicU32,
}

impl Hand {
    /// The hand of a store, by its number in [`model::store::Topology`]: the same for all who read it now.
    pub(crate) fn of_store(store: u64) -> Arc<Hand> {
        static HANDS: Mutex<BTreeMap<u64, Weak<Hand>>> = Mutex::new(BTreeMap::new());
        let mut hands = HANDS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hand) = hands.get(&store).and_then(Weak::upgrade) {
            return hand;
        }
        hands.retain(|_, hand| hand.strong_count() > 0);
        let hand = Arc::default();
        hands.insert(store, Arc::downgrade(&hand));
        hand
    }

    /// Begins a pass of so many tasks; gives the task that it begins with.
    fn begin(&self, tasks: usize) -> usize {
        if self.passes.fetch_add(1, Ordering::Relaxed) == 0 {
            return 0;
        }
        ((u64::from(self.place.load(Ordering::Relaxed)) * tasks as u64) >> 32) as usize
    }

    fn is_at(&self, task: usize, tasks: usize) {
        self.place.store((((task as u64) << 32) / tasks.max(1) as u64) as u32, Ordering::Relaxed);
    }
}

/// Ends a pass when it is dropped, also after an error.
struct Under<'a>(&'a Hand);

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.0.passes.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `work` on every task of a pass over rows, as [`crate::parallel::map_tasks`] does, beginning where another pass over
/// the same store is.
pub(crate) fn map_pass<T: Send, R: Send>(
    rows: &dyn Rows,
    threads: usize,
    tasks: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let Some(hand) = rows.hand().filter(|_| !tasks.is_empty()) else { return map_tasks(threads, tasks, work) };
    let count = tasks.len();
    let first = hand.begin(count);
    let _under = Under(hand);
    let mut tasks: Vec<(usize, T)> = tasks.into_iter().enumerate().collect();
    tasks.rotate_left(first);
    let mut results = map_tasks(threads, tasks, |(at, task)| {
        hand.is_at(at, count);
        work(task)
    });
    results.rotate_right(first);
    results
}

#[cfg(test)]
mod tests {
    use super::{Hand, Under};

    #[test]
    fn a_pass_begins_where_another_is() {
        let hand = Hand::of_store(71);
        assert_eq!(hand.begin(10), 0);
        let one = Under(&hand);
        hand.is_at(5, 10);
        for (tasks, expected) in [(10, 5), (1, 0), (100, 50), (3, 1)] {
            assert_eq!(Hand::of_store(71).begin(tasks), expected);
            drop(Under(&hand));
        }
        drop(one);
        assert_eq!(hand.begin(10), 0, "no other pass is under way");
        assert_eq!(Hand::of_store(72).begin(10), 0, "another store");
    }
}
