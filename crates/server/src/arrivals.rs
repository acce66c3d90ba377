//! Room for messages that have arrived in part, or wait for a thread: bounded for all connections together.
//!
//! A little of each connection is free, so that requests of usual size, and `RESET`, always get through; what is beyond that
//! is taken from the share of all, and accounted for in the memory of the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::memory::Reservation;

use crate::limits::STRANGER_MESSAGE_BYTES_MAX;

/// Bytes of one connection that are free.
const FREE_BYTES: usize = 2 * STRANGER_MESSAGE_BYTES_MAX;

/// The room of all connections.
#[derive(Debug)]
pub(crate) struct Arrivals {
    taken: AtomicUsize,
    max: usize,
}

impl Arrivals {
    /// Room for this number of bytes.
    pub(crate) fn new(max: usize) -> Arc<Arrivals> {
        Arc::new(Arrivals { taken: AtomicUsize::new(0), max })
    }
}

/// The part of one connection.
#[derive(Debug)]
pub(crate) struct Share {
    all: Arc<Arrivals>,
    bytes: usize,
    held: Reservation,
}

impl Share {
    /// Nothing of that room. `held` is the account of the connection.
    pub(crate) fn new(all: Arc<Arrivals>, held: Reservation) -> Share {
        Share { all, bytes: 0, held }
    }

    /// Holds this number of bytes from here on, the free ones included. False if there is no room for them; what was held before
    /// is held on then.
    pub(crate) fn set(&mut self, bytes: usize) -> bool {
        let bytes = if bytes <= FREE_BYTES { 0 } else { bytes };
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 {
            let take = |taken: usize| taken.checked_add(more).filter(|taken| *taken <= self.all.max);
            if self.all.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
                return false;
            }
            if self.held.cover(bytes).is_err() {
                self.all.taken.fetch_sub(more, Ordering::Relaxed);
                return false;
            }
        } else {
            self.all.taken.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            self.held.resize(bytes);
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use model::Consumer;
    use model::memory::MemoryBudget;

    use super::{Arrivals, FREE_BYTES, Share};

    #[test]
    fn room_is_shared_by_all_and_comes_back() {
        let budget = MemoryBudget::unlimited();
        let all = Arrivals::new(3 * FREE_BYTES);
        let share = || Share::new(all.clone(), budget.empty(Consumer::Query));
        let (mut one, mut two) = (share(), share());
        assert!(one.set(2 * FREE_BYTES));
        // A little is free even where there is no room.
        assert!(!two.set(2 * FREE_BYTES) && two.set(FREE_BYTES) && !two.set(2 * FREE_BYTES));
        assert_eq!(budget.used(), 2 * FREE_BYTES);
        assert!(one.set(FREE_BYTES + 1) && two.set(FREE_BYTES + 1));
        drop(one);
        assert!(two.set(3 * FREE_BYTES) && !two.set(3 * FREE_BYTES + 1));
        assert!(two.set(0) && share().set(3 * FREE_BYTES));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn the_memory_of_the_database_bounds_it_too() {
        let budget = MemoryBudget::new(FREE_BYTES * 2);
        let mut share = Share::new(Arrivals::new(usize::MAX), budget.empty(Consumer::Query));
        assert!(!share.set(3 * FREE_BYTES) && share.set(FREE_BYTES + 1));
    }
}
