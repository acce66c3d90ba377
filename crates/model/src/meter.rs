//! Counters of this thread's requests to the store and of the time that it waits, which a profile reads before and after an
//! operator works.
//!
//! Cost: an addition to a variable of the thread. The clock is read only where the thread waits, and only by threads that
//! are at work for a statement: [`timed_by`].

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;

use crate::platform::Clock;

/// Reason for which a thread spends time without computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// Blocks of files that were not in memory are read.
    Disk,
    /// Blocks that have come from the disk are compared with their checksums.
    Verify,
    /// A database that is attached answers.
    Source,
    /// The log is written and synced, by this thread or by another for it.
    Log,
    /// Others commit, hold the turn of writers, or are tried again.
    Lock,
    /// Statements that come first are at work.
    Queue,
    /// Temporary files are written and read.
    Spill,
}

const WAITS: usize = 7;

impl Wait {
    /// All of them, in the order of reports.
    pub const ALL: [Wait; WAITS] =
        [Wait::Disk, Wait::Verify, Wait::Source, Wait::Log, Wait::Lock, Wait::Queue, Wait::Spill];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Wait::Disk => "disk",
            Wait::Verify => "verify",
            Wait::Source => "source",
            Wait::Log => "log",
            Wait::Lock => "lock",
            Wait::Queue => "queue",
            Wait::Spill => "spill",
        }
    }
}

/// Nanoseconds of waiting, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits([u64; WAITS]);

impl Waits {
    /// No time at all.
    pub const NOTHING: Waits = Waits([0; WAITS]);

    /// Nanoseconds of one kind.
    pub fn of(&self, wait: Wait) -> u64 {
        self.0[wait as usize]
    }

    /// Nanoseconds of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds nanoseconds of one kind.
    pub fn count(&mut self, wait: Wait, nanoseconds: u64) {
        self.0[wait as usize] += nanoseconds;
    }

    /// Adds those of another.
    pub fn add(&mut self, other: &Waits) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }

    /// Nanoseconds since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Waits) -> Waits {
        Waits(std::array::from_fn(|at| self.0[at] - earlier.0[at]))
    }

    /// The same share of each: `part` of `whole`, rounded down.
    #[must_use]
    pub fn share(self, part: u64, whole: u64) -> Waits {
        Waits(self.0.map(|nanoseconds| share(nanoseconds, part, whole)))
    }
}

/// The share `part` of `whole` of a number of nanoseconds, rounded down; nothing of nothing.
pub fn share(nanoseconds: u64, part: u64, whole: u64) -> u64 {
    let product = u128::from(nanoseconds) * u128::from(part);
    product.checked_div(u128::from(whole)).map_or(0, |share| u64::try_from(share).unwrap_or(u64::MAX))
}

/// Counts of one thread, which only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Uses of blocks of files, each of one or more neighbours.
    pub block_uses: u64,
    /// Blocks that were not in the cache when they were wanted.
    pub block_misses: u64,
    /// Bytes of blocks asked of the disk, read ahead or not.
    pub bytes_read: u64,
    /// Approximate bytes of property values decoded from blocks.
    pub bytes_decoded: u64,
    /// Round trips to databases that are attached, for which somebody waited.
    pub round_trips: u64,
    /// Rows that attached databases sent: nodes and edges, asked for or fetched ahead.
    pub rows_fetched: u64,
    /// Nodes and edges of attached databases that were given out, from the cache or not.
    pub rows_used: u64,
    /// Nodes, and lists of edges or entries, that were asked for and found in the cache of an attached database or a ring.
    pub source_hits: u64,
    /// Those that were not found there.
    pub source_misses: u64,
    /// Time of waiting.
    pub waits: Waits,
}

thread_local! {
    static METER: Cell<Meter> = const { Cell::new(Meter::NOTHING) };
    /// Time of waiting; not in `METER`, so that counting moves few bytes.
    static WAITED: Cell<Waits> = const { Cell::new(Waits::NOTHING) };
    /// The wait that is under way, and when it began or went on.
    static WAITING: Cell<(Option<Wait>, u64)> = const { Cell::new((None, 0)) };
    /// The clock of the statement that this thread works for.
    static CLOCK: RefCell<Option<Arc<dyn Clock>>> = const { RefCell::new(None) };
}

/// The counts of this thread.
pub fn read() -> Meter {
    Meter { waits: waits(), ..METER.with(Cell::get) }
}

/// The time that this thread has waited.
pub fn waits() -> Waits {
    WAITED.with(Cell::get)
}

/// Nanoseconds by the clock of the statement that this thread works for, less those that it has waited; 0 without a clock.
/// Between two readings lies the time that it has worked.
pub fn worked_ns() -> u64 {
    let now = CLOCK.with(|held| held.borrow().as_ref().map(|clock| clock.now_ns()));
    now.map_or(0, |now| now.saturating_sub(waits().total()))
}

/// Until the guard is dropped, waits of this thread are timed by that clock.
#[must_use]
pub fn timed_by(clock: Arc<dyn Clock>) -> Timed {
    let before = CLOCK.with(|held| held.borrow_mut().replace(clock));
    Timed { before, on_this_thread: PhantomData }
}

/// See [`timed_by`].
#[derive(Debug)]
pub struct Timed {
    before: Option<Arc<dyn Clock>>,
    on_this_thread: PhantomData<*const ()>,
}

impl Drop for Timed {
    fn drop(&mut self) {
        let before = self.before.take();
        CLOCK.with(|held| *held.borrow_mut() = before);
    }
}

/// Until the guard is dropped, the time of this thread is counted as a wait, if the thread works for a statement. A wait
/// within another interrupts it, so that no time is counted twice.
#[must_use]
pub fn waiting(wait: Wait) -> Waiting {
    Waiting::begin(Some(wait))
}

/// Until the guard is dropped, the wait that is under way is interrupted: what was waited for has come and is worked on.
#[must_use]
pub fn working() -> Waiting {
    match WAITING.get() {
        (None, _) => Waiting { clock: None, before: None, on_this_thread: PhantomData },
        _ => Waiting::begin(None),
    }
}

/// See [`waiting`].
#[derive(Debug)]
pub struct Waiting {
    clock: Option<Arc<dyn Clock>>,
    before: Option<Wait>,
    on_this_thread: PhantomData<*const ()>,
}

impl Waiting {
    fn begin(wait: Option<Wait>) -> Waiting {
        let clock = CLOCK.with(|held| held.borrow().clone());
        let before = clock.as_ref().and_then(|clock| switch(&**clock, wait));
        Waiting { clock, before, on_this_thread: PhantomData }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(clock) = &self.clock {
            switch(&**clock, self.before);
        }
    }
}

/// Counts the time of the wait that is under way, and begins another or none.
fn switch(clock: &dyn Clock, to: Option<Wait>) -> Option<Wait> {
    let now = clock.now_ns();
    let (from, since) = WAITING.replace((to, now));
    if let Some(wait) = from {
        let mut waited = WAITED.get();
        waited.count(wait, now.saturating_sub(since));
        WAITED.set(waited);
    }
    from
}

/// Adds to the counts of this thread.
#[inline]
pub fn count(change: impl FnOnce(&mut Meter)) {
    METER.with(|meter| {
        let mut counts = meter.get();
        change(&mut counts);
        meter.set(counts);
    });
}

impl Meter {
    const NOTHING: Meter = Meter {
        block_uses: 0,
        block_misses: 0,
        bytes_read: 0,
        bytes_decoded: 0,
        round_trips: 0,
        rows_fetched: 0,
        rows_used: 0,
        source_hits: 0,
        source_misses: 0,
        waits: Waits::NOTHING,
    };

    /// Counts since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Meter) -> Meter {
        Meter {
            block_uses: self.block_uses - earlier.block_uses,
            block_misses: self.block_misses - earlier.block_misses,
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_decoded: self.bytes_decoded - earlier.bytes_decoded,
            round_trips: self.round_trips - earlier.round_trips,
            rows_fetched: self.rows_fetched - earlier.rows_fetched,
            rows_used: self.rows_used - earlier.rows_used,
            source_hits: self.source_hits - earlier.source_hits,
            source_misses: self.source_misses - earlier.source_misses,
            waits: self.waits.since(earlier.waits),
        }
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Meter) {
        self.block_uses += other.block_uses;
        self.block_misses += other.block_misses;
        self.bytes_read += other.bytes_read;
        self.bytes_decoded += other.bytes_decoded;
        self.round_trips += other.round_trips;
        self.rows_fetched += other.rows_fetched;
        self.rows_used += other.rows_used;
        self.source_hits += other.source_hits;
        self.source_misses += other.source_misses;
        self.waits.add(&other.waits);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Wait, Waits, share, timed_by, waiting, waits, working};
    use crate::platform::set_clock::SetClock;

    #[test]
    fn waits_within_waits_are_counted_once() {
        let clock = Arc::new(SetClock::default());
        let before = waits();
        let timed = timed_by(clock.clone());
        let source = waiting(Wait::Source);
        clock.pass(10);
        {
            let _disk = waiting(Wait::Disk);
            clock.pass(3);
        }
        {
            let _working = working();
            clock.pass(100);
            let _spill = waiting(Wait::Spill);
            clock.pass(5);
        }
        clock.pass(1);
        drop(source);
        clock.pass(1_000);
        drop(working());
        drop(timed);
        let _lock = waiting(Wait::Lock);
        clock.pass(7);
        let waited = waits().since(before);
        let expected = [(Wait::Source, 11), (Wait::Disk, 3), (Wait::Spill, 5)];
        let of = |wait| expected.iter().find(|(kind, _)| *kind == wait).map_or(0, |(_, time)| *time);
        Wait::ALL.iter().for_each(|&wait| assert_eq!(waited.of(wait), of(wait), "{}", wait.name()));
        assert_eq!(waited.total(), 19);
    }

    #[test]
    fn shares_never_exceed_the_part() {
        let mut waits = Waits::NOTHING;
        Wait::ALL.iter().zip([3, 5, 7, 11, 13, 17, 19]).for_each(|(&wait, time)| waits.count(wait, time));
        for part in 0..=75 {
            assert!(waits.share(part, 75).total() <= part);
        }
        assert_eq!(waits.share(75, 75), waits);
        assert_eq!((share(5, 1, 0), share(u64::MAX, u64::MAX, 1)), (0, u64::MAX));
    }
}
