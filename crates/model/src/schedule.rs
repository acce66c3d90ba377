//! Order in which statements and computations that run at the same time share the processors: by priority, deadline and
//! age.
//!
//! Every statement takes a [`Turn`], and its loops call [`Turn::step`], through [`crate::Interrupt::check`]. As long as
//! the statements at work do not want more threads than there are, a step costs one load. Otherwise the statement that
//! comes first goes on freely, and the others rest: at every step that comes a slice after the last rest, until room is
//! made, but never longer than a pause. So a point query finds a free processor at once, a long computation goes on at
//! a fraction of its speed meanwhile, and no statement waits for one that waits.
//!
//! First come statements that are still short, then by priority, then by the nearest deadline, then the oldest. A
//! statement is short until it has run for [`SHORT_NS`], or says that it is long. Long ones of one priority that read
//! the same go along with each other: one that rested would have to read for itself what the other has just read.
//!
//! Source: the edge-streaming paper, section 6.1 (time and priority aware scheduling); Corbató and others, "An
//! experimental time-sharing system", 1962 (short until shown to be long).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::meter::{self, Wait};
use crate::platform::Clock;

/// A statement is short for so long, in nanoseconds.
pub const SHORT_NS: u64 = 20_000_000;
/// Time that a statement which is not first works between two rests, in nanoseconds.
const SLICE_NS: u64 = 1_000_000;
/// The longest rest.
const PAUSE: Duration = Duration::from_millis(4);

/// Urgency of a statement relative to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// It may wait for others.
    Low,
    /// As most are.
    #[default]
    Normal,
    /// Others wait for it.
    High,
}

impl Priority {
    /// Its name, as settings have it.
    pub fn name(self) -> &'static str {
        match self {
            Priority::Low => "low",
            Priority::Normal => "normal",
            Priority::High => "high",
        }
    }

    /// The priority of a name.
    pub fn of_name(name: &str) -> Option<Priority> {
        [Priority::Low, Priority::Normal, Priority::High].into_iter().find(|priority| priority.name() == name)
    }
}

/// State shared by the statements of one database.
#[derive(Debug)]
pub struct Scheduler {
    clock: Arc<dyn Clock>,
    threads: usize,
    /// Threads that the statements at work use.
    wanted: AtomicUsize,
    /// Statements at work that are still short.
    short: AtomicUsize,
    /// The long statement that comes first; 0 without one.
    first: AtomicU64,
    /// Identifier of what that statement reads together with others; 0 for nothing.
    first_pace: AtomicU64,
    resting: AtomicUsize,
    next: AtomicU64,
    long: Mutex<Vec<Long>>,
    changed: Condvar,
}

/// A statement that is not short any more.
#[derive(Clone, Copy, Debug)]
struct Long {
    turn: u64,
    priority: Priority,
    deadline_ns: u64,
    began_ns: u64,
    pace: u64,
}

impl Scheduler {
    /// A scheduler of statements that have `threads` threads together.
    pub fn new(clock: Arc<dyn Clock>, threads: usize) -> Arc<Scheduler> {
        Arc::new(Scheduler {
            clock,
            threads: threads.max(1),
            wanted: AtomicUsize::new(0),
            short: AtomicUsize::new(0),
            first: AtomicU64::new(0),
            first_pace: AtomicU64::new(0),
            resting: AtomicUsize::new(0),
            next: AtomicU64::new(1),
            long: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// A turn, for one statement after the other.
    pub fn turn(self: &Arc<Self>) -> Arc<Turn> {
        Arc::new(Turn {
            scheduler: self.clone(),
            id: self.next.fetch_add(1, Ordering::Relaxed),
            threads: AtomicUsize::new(0),
            is_long: AtomicBool::new(false),
            priority: Mutex::default(),
            began_ns: AtomicU64::new(0),
            deadline_ns: AtomicU64::new(u64::MAX),
            goes_on_until: AtomicU64::new(0),
            rests: AtomicU64::new(0),
            pace: AtomicU64::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Long>> {
        self.long.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn is_crowded(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > self.threads
    }

    /// Says who comes first among the long ones.
    fn rank(&self, long: &[Long]) {
        let first = long.iter().min_by_key(|one| (std::cmp::Reverse(one.priority), one.deadline_ns, one.began_ns));
        self.first.store(first.map_or(0, |one| one.turn), Ordering::Relaxed);
        self.first_pace.store(first.map_or(0, |one| one.pace), Ordering::Relaxed);
    }

    fn wake(&self) {
        if self.resting.load(Ordering::Relaxed) > 0 {
            drop(self.lock());
            self.changed.notify_all();
        }
    }
}

/// The part of one session, or of one computation.
#[derive(Debug)]
pub struct Turn {
    scheduler: Arc<Scheduler>,
    id: u64,
    /// Threads that the statement at work uses; 0 without one.
    threads: AtomicUsize,
    is_long: AtomicBool,
    priority: Mutex<Priority>,
    began_ns: AtomicU64,
    deadline_ns: AtomicU64,
    goes_on_until: AtomicU64,
    rests: AtomicU64,
    /// Identifier of what the statement reads together with others of its priority; 0 for nothing.
    pace: AtomicU64,
}

impl Turn {
    /// A statement begins: on one thread, and short until shown otherwise, but one of low priority is long at once.
    /// It ends when the guard is dropped.
    pub fn begin(&self, priority: Priority, now_ns: u64, limit: Option<Duration>) -> AtWork<'_> {
        let limit_ns = limit.map_or(u64::MAX, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        *self.priority.lock().unwrap_or_else(PoisonError::into_inner) = priority;
        self.began_ns.store(now_ns, Ordering::Relaxed);
        self.deadline_ns.store(now_ns.saturating_add(limit_ns), Ordering::Relaxed);
        self.goes_on_until.store(0, Ordering::Relaxed);
        self.threads.store(1, Ordering::Relaxed);
        self.scheduler.wanted.fetch_add(1, Ordering::Relaxed);
        self.scheduler.short.fetch_add(1, Ordering::Relaxed);
        if priority == Priority::Low {
            self.become_long();
        }
        AtWork(self)
    }

    /// Raises the number of threads that the statement uses to `threads`, if it used fewer.
    pub fn uses(&self, threads: usize) {
        let before = self.threads.fetch_max(threads, Ordering::Relaxed);
        if before > 0 && threads > before {
            self.scheduler.wanted.fetch_add(threads - before, Ordering::Relaxed);
        }
    }

    /// The statement is not short: a computation over the whole graph.
    pub fn become_long(&self) {
        if self.threads.load(Ordering::Relaxed) == 0 || self.is_long.swap(true, Ordering::Relaxed) {
            return;
        }
        let scheduler = &self.scheduler;
        scheduler.short.fetch_sub(1, Ordering::Relaxed);
        let mut long = scheduler.lock();
        long.push(Long {
            turn: self.id,
            priority: *self.priority.lock().unwrap_or_else(PoisonError::into_inner),
            deadline_ns: self.deadline_ns.load(Ordering::Relaxed),
            began_ns: self.began_ns.load(Ordering::Relaxed),
            pace: 0,
        });
        scheduler.rank(&long);
        drop(long);
        scheduler.wake();
    }

    /// The statement, if it is long, reads something, by a number that others name too if they read the same; 0 for nothing
    /// any more. If one of them comes first, all that have its priority do.
    pub fn keep_pace(&self, with: u64) {
        let scheduler = &self.scheduler;
        let mut long = scheduler.lock();
        let Some(own) = long.iter_mut().find(|one| one.turn == self.id) else { return };
        own.pace = if with == 0 { 0 } else { with << 2 | own.priority as u64 };
        self.pace.store(own.pace, Ordering::Relaxed);
        scheduler.rank(&long);
        drop(long);
        scheduler.wake();
    }

    /// To be called every few thousand steps, by each thread of the statement: rests if others come first.
    #[inline]
    pub fn step(&self) {
        if self.scheduler.is_crowded() {
            self.step_in_crowd();
        }
    }

    #[cold]
    fn step_in_crowd(&self) {
        let now = self.scheduler.clock.now_ns();
        if !self.is_long.load(Ordering::Relaxed) {
            if now.saturating_sub(self.began_ns.load(Ordering::Relaxed)) > SHORT_NS {
                self.become_long();
            }
            return;
        }
        if self.comes_first() || now < self.goes_on_until.load(Ordering::Relaxed) {
            return;
        }
        self.rest();
        self.goes_on_until.store(self.scheduler.clock.now_ns() + SLICE_NS, Ordering::Relaxed);
    }

    fn comes_first(&self) -> bool {
        let scheduler = &self.scheduler;
        if !scheduler.is_crowded() || scheduler.short.load(Ordering::Relaxed) > 0 {
            return !scheduler.is_crowded();
        }
        let pace = self.pace.load(Ordering::Relaxed);
        scheduler.first.load(Ordering::Relaxed) == self.id
            || pace != 0 && scheduler.first_pace.load(Ordering::Relaxed) == pace
    }

    /// Waits until it comes first, but not longer than a pause.
    fn rest(&self) {
        let _waiting = meter::waiting(Wait::Queue);
        let scheduler = &self.scheduler;
        self.rests.fetch_add(1, Ordering::Relaxed);
        scheduler.resting.fetch_add(1, Ordering::Relaxed);
        let waited = scheduler.changed.wait_timeout_while(scheduler.lock(), PAUSE, |_| !self.comes_first());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        scheduler.resting.fetch_sub(1, Ordering::Relaxed);
    }

    /// The statement waits for its client until the guard is dropped: others work as if it were not there. It is long from then on.
    pub fn step_aside(&self) -> Aside<'_> {
        self.become_long();
        let threads = self.threads.swap(0, Ordering::Relaxed);
        self.scheduler.wanted.fetch_sub(threads, Ordering::Relaxed);
        let mut long = self.scheduler.lock();
        let place = long.iter().position(|one| one.turn == self.id);
        let entry = place.map(|place| long.swap_remove(place));
        self.scheduler.rank(&long);
        drop(long);
        self.scheduler.wake();
        Aside { turn: self, threads, entry }
    }

    /// The clock of the scheduler.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.scheduler.clock
    }

    /// Number of times that the statements of this turn have rested.
    pub fn rests(&self) -> u64 {
        self.rests.load(Ordering::Relaxed)
    }
}

/// A statement at work.
#[derive(Debug)]
pub struct AtWork<'a>(&'a Turn);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let turn = self.0;
        let scheduler = &turn.scheduler;
        scheduler.wanted.fetch_sub(turn.threads.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        turn.pace.store(0, Ordering::Relaxed);
        if turn.is_long.swap(false, Ordering::Relaxed) {
            let mut long = scheduler.lock();
            long.retain(|one| one.turn != turn.id);
            scheduler.rank(&long);
        } else {
            scheduler.short.fetch_sub(1, Ordering::Relaxed);
        }
        scheduler.wake();
    }
}

/// A statement that waits for its client.
#[derive(Debug)]
pub struct Aside<'a> {
    turn: &'a Turn,
    threads: usize,
    entry: Option<Long>,
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        let scheduler = &self.turn.scheduler;
        self.turn.threads.fetch_add(self.threads, Ordering::Relaxed);
        scheduler.wanted.fetch_add(self.threads, Ordering::Relaxed);
        let mut long = scheduler.lock();
        long.extend(self.entry.take());
        scheduler.rank(&long);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::{Priority, SHORT_NS, SLICE_NS, Scheduler, Turn};
    use crate::platform::set_clock::SetClock;

    fn rests(turn: &Turn) -> u64 {
        let before = turn.rests();
        turn.step();
        turn.rests() - before
    }

    #[test]
    fn who_waits_for_a_client_keeps_nobody_waiting() {
        let clock = Arc::new(SetClock::default());
        let scheduler = Scheduler::new(clock.clone(), 1);
        let (one, two) = (scheduler.turn(), scheduler.turn());
        let first = one.begin(Priority::High, 0, None);
        let _second = two.begin(Priority::Normal, 0, None);
        two.become_long();
        clock.set(SHORT_NS);
        assert_eq!(rests(&two), 1);
        clock.set(2 * SHORT_NS);
        let aside = one.step_aside();
        assert_eq!(rests(&two), 0);
        drop(aside);
        clock.set(3 * SHORT_NS);
        assert_eq!((rests(&one), rests(&two)), (0, 1));
        drop(first);
        clock.set(4 * SHORT_NS);
        assert_eq!(rests(&two), 0);
    }

    #[test]
    fn nobody_rests_while_there_is_room() {
        let clock = Arc::new(SetClock::default());
        let scheduler = Scheduler::new(clock.clone(), 4);
        let (one, two) = (scheduler.turn(), scheduler.turn());
        let _one = one.begin(Priority::Low, 0, None);
        let _two = two.begin(Priority::Normal, 0, None);
        two.become_long();
        one.uses(3);
        clock.set(SHORT_NS);
        assert_eq!((rests(&one), rests(&two)), (0, 0));
        one.uses(4);
        assert_eq!((rests(&one), rests(&two)), (1, 0), "five threads want to work on four");
    }

    #[test]
    fn the_order_is_short_then_priority_then_deadline_then_age() {
        let clock = Arc::new(SetClock::default());
        let scheduler = Scheduler::new(clock.clone(), 1);
        let turns: Vec<Arc<Turn>> = (0..5).map(|_| scheduler.turn()).collect();
        let ten_seconds = Some(Duration::from_secs(10));
        let low = turns[0].begin(Priority::Low, 0, None);
        let old = turns[1].begin(Priority::Normal, 1, None);
        turns[1].become_long();
        let timed = turns[2].begin(Priority::Normal, 2, ten_seconds);
        turns[2].become_long();
        let high = turns[3].begin(Priority::High, 3, None);
        turns[3].become_long();
        let short = turns[4].begin(Priority::Normal, 4, None);
        let mut now = SHORT_NS;
        let mut check = |expected: [u64; 5]| {
            now += 2 * SLICE_NS;
            clock.set(now);
            let found = turns.iter().map(|turn| rests(turn)).collect::<Vec<_>>();
            assert_eq!(found, expected);
        };
        check([1, 1, 1, 1, 0]);
        drop(short);
        check([1, 1, 1, 0, 0]);
        drop(high);
        check([1, 1, 0, 0, 0]);
        drop(timed);
        check([1, 0, 0, 0, 0]);
        drop(old);
        check([0, 0, 0, 0, 0]);
        drop(low);
    }

    #[test]
    fn who_reads_the_same_as_the_first_goes_along_with_it() {
        let clock = Arc::new(SetClock::default());
        let scheduler = Scheduler::new(clock.clone(), 1);
        let turns: Vec<Arc<Turn>> = (0..4).map(|_| scheduler.turn()).collect();
        let priorities = [Priority::Normal, Priority::Normal, Priority::Low, Priority::Normal];
        let mut at_work: Vec<_> = turns
            .iter()
            .zip(priorities)
            .zip(0..)
            .map(|((turn, priority), now)| turn.begin(priority, now, None))
            .collect();
        turns.iter().for_each(|turn| turn.become_long());
        let mut now = SHORT_NS;
        let mut check = |expected: [u64; 4]| {
            now += 2 * SLICE_NS;
            clock.set(now);
            assert_eq!(turns.iter().map(|turn| rests(turn)).collect::<Vec<_>>(), expected);
        };
        check([0, 1, 1, 1]);
        turns[1].keep_pace(7);
        check([0, 1, 1, 1]);
        [0, 2].into_iter().for_each(|at| turns[at].keep_pace(7));
        turns[3].keep_pace(8);
        // One of lower priority rests all the same, and so does one that reads another store.
        check([0, 0, 1, 1]);
        turns[0].keep_pace(0);
        check([0, 1, 1, 1]);
        drop(at_work.remove(0));
        check([0, 0, 1, 1]);
    }

    #[test]
    fn a_statement_is_long_after_a_while_and_rests_between_slices() {
        let clock = Arc::new(SetClock::default());
        let scheduler = Scheduler::new(clock.clone(), 1);
        let (one, two) = (scheduler.turn(), scheduler.turn());
        let _one = one.begin(Priority::High, 0, None);
        let _two = two.begin(Priority::Normal, 0, None);
        assert_eq!((rests(&one), rests(&two)), (0, 0), "both are short");
        clock.set(SHORT_NS + 1);
        assert_eq!((rests(&one), rests(&two)), (0, 0), "both become long");
        assert_eq!((rests(&one), rests(&two), rests(&two)), (0, 1, 0), "one rest a slice");
        clock.set(SHORT_NS + 2 * SLICE_NS);
        assert_eq!((rests(&one), rests(&two)), (0, 1));
    }

    #[test]
    fn whoever_rests_goes_on_when_room_is_made() {
        let clock = Arc::new(SetClock::default());
        let scheduler = Scheduler::new(clock, 1);
        let (long, short) = (scheduler.turn(), scheduler.turn());
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _at_work = long.begin(Priority::Low, 0, None);
                while !stop.load(Ordering::Relaxed) {
                    long.step();
                }
            });
            for _ in 0..200 {
                let at_work = short.begin(Priority::Normal, 0, None);
                std::thread::yield_now();
                drop(at_work);
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(scheduler.wanted.load(Ordering::Relaxed), 0);
        assert_eq!(scheduler.short.load(Ordering::Relaxed), 0);
        assert!(scheduler.lock().is_empty());
    }
}
