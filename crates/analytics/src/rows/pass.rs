//! Passes over the edges of one store that go on at the same time read together.
//!
//! A pass that begins while another is under way begins where that one is, and ends where it began: what one of them
//! brings into the store's cache the other finds there. They go on at one pace, none rests while another works. The store is
//! told how many read along, and keeps what one has read for the others. The tasks of a pass are in the order of the store's
//! partitions, so that a place is a part of all tasks, whatever the computation.
//!
//! Results do not depend on it: they are put together in the order of the tasks.
//! After: Zukowski, Héman, Nes, Boncz, "Cooperative scans: dynamic bandwidth sharing in a DBMS", 2007 (attaching to the
//! scan that is under way).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use model::id::EdgeTypeId;
use model::store::Direction;

use super::{Rows, Sides};
use crate::parallel::map_tasks_with;

/// A set of edges: a store, by its number in [`model::store::Topology`], and types.
type Edges = (u64, Option<Vec<EdgeTypeId>>);

/// The places of the passes over some edges.
#[derive(Debug, Default)]
pub(crate) struct Hand {
    /// By source, by target, and both.
    lanes: [Lane; 3],
}

/// The places of the passes in one direction.
#[derive(Debug, Default)]
pub struct Lane {
    passes: AtomicUsize,
    /// Of the tasks of the pass that began one last, this part of 2^32 lies before it.
    place: AtomicU32,
}

impl Hand {
    /// The hand of some edges: the same for all who read them now.
    pub(crate) fn of(edges: Edges) -> Arc<Hand> {
        static HANDS: Mutex<BTreeMap<Edges, Weak<Hand>>> = Mutex::new(BTreeMap::new());
        let mut hands = HANDS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hand) = hands.get(&edges).and_then(Weak::upgrade) {
            return hand;
        }
        hands.retain(|_, hand| hand.strong_count() > 0);
        let hand = Arc::default();
        hands.insert(edges, Arc::downgrade(&hand));
        hand
    }

    /// The passes in a direction.
    pub(crate) fn lane(&self, direction: Direction) -> &Lane {
        &self.lanes[match direction {
            Direction::Out => 0,
            Direction::In => 1,
            Direction::Both => 2,
        }]
    }

    /// Number of passes beside the one that asks that read the edges in a direction.
    pub(crate) fn others(&self, direction: Direction) -> u8 {
        let passes = |direction| self.lane(direction).passes.load(Ordering::Relaxed);
        (passes(direction) + passes(Direction::Both)).saturating_sub(1).min(u8::MAX.into()) as u8
    }
}

impl Lane {
    /// Begins a pass of `tasks` tasks on `threads` threads; gives the task that it begins with: of those that the
    /// threads of the other pass are at the first, so that the same tasks are under way.
    fn begin(&self, tasks: usize, threads: usize) -> usize {
        if self.passes.fetch_add(1, Ordering::Relaxed) == 0 {
            return 0;
        }
        let last_begun = ((u64::from(self.place.load(Ordering::Relaxed)) * tasks as u64) >> 32) as usize;
        let before = threads.saturating_sub(1).min(tasks);
        (last_begun + tasks - before) % tasks
    }

    /// A number that no other lane has.
    fn number(&self) -> u64 {
        std::ptr::from_ref(self).addr() as u64
    }

    fn is_at(&self, task: usize, tasks: usize) {
        self.place.store((((task as u64) << 32) / tasks.max(1) as u64) as u32, Ordering::Relaxed);
    }
}

/// Ends a pass when it is dropped, also after an error.
struct Under<'a>(&'a Lane);

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.0.passes.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `work` on every task of a pass over rows of some sides, as [`crate::parallel::map_tasks`] does, beginning where
/// another pass over the same edges is.
pub(crate) fn map_pass<T: Send, R: Send>(
    (rows, sides): (&dyn Rows, Sides),
    threads: usize,
    tasks: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    map_pass_with((rows, sides), &mut vec![(); threads.max(1)], tasks, |(), task| work(task))
}

/// The same on a thread for each of some states, as [`map_tasks_with`] does.
pub(crate) fn map_pass_with<S: Send, T: Send, R: Send>(
    (rows, sides): (&dyn Rows, Sides),
    states: &mut [S],
    tasks: Vec<T>,
    work: impl Fn(&mut S, T) -> R + Sync,
) -> Vec<R> {
    let Some((lane, interrupt)) = rows.lane(sides).filter(|_| !tasks.is_empty()) else {
        return map_tasks_with(states, tasks, work);
    };
    let count = tasks.len();
    let first = lane.begin(count, states.len());
    let _under = Under(lane);
    interrupt.keep_pace(lane.number());
    let mut tasks: Vec<(usize, T)> = tasks.into_iter().enumerate().collect();
    tasks.rotate_left(first);
    let mut results = map_tasks_with(states, tasks, |state, (at, task)| {
        lane.is_at(at, count);
        work(state, task)
    });
    interrupt.keep_pace(0);
    results.rotate_right(first);
    results
}

#[cfg(test)]
mod tests {
    use model::id::EdgeTypeId;
    use model::store::Direction;

    use super::{Hand, Under};

    #[test]
    fn a_pass_begins_where_another_is() {
        let hand = Hand::of((71, None));
        let lane = hand.lane(Direction::In);
        assert_eq!(lane.begin(10, 2), 0);
        let one = Under(lane);
        assert_eq!(hand.others(Direction::In), 0, "a pass is not its own companion");
        lane.is_at(5, 10);
        for (tasks, threads, expected) in [(10, 1, 5), (1, 1, 0), (1, 4, 0), (100, 2, 49), (3, 1, 1), (3, 3, 2)] {
            assert_eq!(Hand::of((71, None)).lane(Direction::In).begin(tasks, threads), expected);
            assert_eq!(hand.others(Direction::In), 1);
            drop(Under(lane));
        }
        assert_eq!(hand.lane(Direction::Both).begin(10, 1), 0, "another direction");
        assert_eq!(hand.others(Direction::In), 1, "who reads both ways reads along");
        drop((one, Under(hand.lane(Direction::Both))));
        assert_eq!(lane.begin(10, 1), 0, "no other pass is under way");
        for edges in [(72, None), (71, Some(vec![EdgeTypeId(1)]))] {
            assert_eq!(Hand::of(edges).lane(Direction::In).begin(10, 1), 0, "other edges");
        }
    }
}
