//! The threads of a store: one merges writes into files, one syncs the log where commits do not wait for that.
//!
//! Invariant: they end before the store's last handle is gone; what they were doing is then given up, as by a crash.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::interrupt::check_this_thread;
use model::meter::{self, Wait};
use model::{Consumer, Error, ErrorCode, Interrupt, MemoryBudget, Result};

use super::merges::Extent;
use super::room::only_deletes;
use super::turn::PATIENCE;
use super::{Durability, Engine, Maintenance, OpenMode, OpenOptions, lock};

/// Multiple of its limit to which the memtable may grow while a flush runs, if that is within its share of the memory
/// limit; then writers wait.
pub(super) const STALL_FACTOR: usize = 4;

/// Share of the memory limit, as a divisor, by which transactions that only delete may exceed that while the disk is full.
const DELETING_SHARE: usize = 8;

/// Bytes of the memtable beyond which nothing may be added before it is in files.
pub(super) fn memtable_bytes_most(options: &OpenOptions, memory: &MemoryBudget) -> usize {
    options.memtable_bytes_max.saturating_mul(STALL_FACTOR).min(memory.share(Consumer::Memtable))
}

/// Work that a thread may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Flush,
    Compaction,
}

/// The name of a thread and what it does.
type NamedWork = (&'static str, fn(&Engine));

/// State that the threads wait on.
#[derive(Debug, Default)]
pub(super) struct Background {
    state: Mutex<State>,
    changed: Condvar,
    /// Told after each flush.
    flushed: Condvar,
    /// Raised when the store is closed.
    interrupt: Interrupt,
}

#[derive(Debug, Default)]
struct State {
    wants_flush: bool,
    wants_compaction: bool,
    is_closing: bool,
    /// Flushes, and merges.
    flushes: Ended,
    merges: Ended,
    threads: Vec<JoinHandle<()>>,
}

/// Outcome of some work.
#[derive(Debug, Default)]
struct Ended {
    /// Counts how often it ended, well or not.
    count: u64,
    /// Why it failed, if it did the last time.
    failure: Option<Error>,
}

/// Time that a thread waits before it tries again what failed: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The wait after one more failure.
fn pause_after(before: Option<Duration>) -> Duration {
    before.map_or(FIRST_PAUSE, |before| (before * 2).min(LONGEST_PAUSE))
}

impl Engine {
    /// Starts the threads that the options ask for.
    pub(super) fn start_threads(self: &Arc<Self>) -> Result<()> {
        if self.options.mode == OpenMode::ReadOnly {
            return Ok(());
        }
        let mut work: Vec<NamedWork> = Vec::new();
        if self.options.maintenance == Maintenance::Background {
            work.push(("knotwork-flush", Engine::flush_when_asked));
            work.push(("knotwork-merge", Engine::compact_when_asked));
        }
        if matches!(self.options.durability, Durability::Relaxed { .. }) {
            work.push(("knotwork-sync", Engine::sync_in_intervals));
        }
        let mut state = lock(&self.background.state);
        for (name, run) in work {
            let engine = self.clone();
            let work = move || {
                // Callers that wait for the thread are told, and nothing is written on its unfinished state.
                if catch_unwind(AssertUnwindSafe(|| run(&engine))).is_err() {
                    engine.log.fail(&model::error!(Internal, "the thread {name} of the store panicked"));
                    engine.background.flushed.notify_all();
                }
            };
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
            state.threads.push(thread.map_err(|error| model::error!(Io, "cannot start a thread: {error}"))?);
        }
        Ok(())
    }

    /// Ends the threads and makes durable what is not yet.
    pub(super) fn stop_threads(&self) {
        let threads = {
            let mut state = lock(&self.background.state);
            state.is_closing = true;
            std::mem::take(&mut state.threads)
        };
        self.background.interrupt.cancel();
        self.background.changed.notify_all();
        self.background.flushed.notify_all();
        for thread in threads {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
        if matches!(self.options.durability, Durability::Relaxed { .. }) {
            // The failure is kept; nobody is left to hear of it.
            let _ = self.log.sync();
        }
    }

    fn flush_when_asked(&self) {
        let mut pause = None;
        while self.wait_for_work(pause, |state| &mut state.wants_flush) {
            pause = self.flush_what_is_full().is_err().then(|| pause_after(pause));
        }
    }

    fn compact_when_asked(&self) {
        // Compactions not done when the store was closed are due now.
        self.ask_for(Work::Compaction);
        let mut pause = None;
        while self.wait_for_work(pause, |state| &mut state.wants_compaction) {
            pause = self.compact(Extent::Due, &self.background.interrupt).is_err().then(|| pause_after(pause));
        }
    }

    /// Waits until a wish is there, or a pause is over, and takes it; false once the store is closed.
    fn wait_for_work(&self, pause: Option<Duration>, wish: impl Fn(&mut State) -> &mut bool) -> bool {
        let (state, changed) = (lock(&self.background.state), &self.background.changed);
        let has_nothing_to_do = |state: &mut State| !state.is_closing && !std::mem::take(wish(state));
        let state = match pause {
            None => changed.wait_while(state, has_nothing_to_do).unwrap_or_else(PoisonError::into_inner),
            Some(pause) => {
                changed.wait_timeout_while(state, pause, has_nothing_to_do).unwrap_or_else(PoisonError::into_inner).0
            }
        };
        !state.is_closing
    }

    /// Wakes the thread for some work.
    pub(super) fn ask_for(&self, work: Work) {
        let mut state = lock(&self.background.state);
        let wish = match work {
            Work::Flush => &mut state.wants_flush,
            Work::Compaction => &mut state.wants_compaction,
        };
        if !std::mem::replace(wish, true) {
            drop(state);
            self.background.changed.notify_all();
        }
    }

    /// Flushes until the memtable is below its limit. A failure is told to callers that wait for room.
    fn flush_what_is_full(&self) -> Result<()> {
        let mut files = lock(&self.files);
        while self.is_full() && self.log.failure().is_none() && lock(&self.head).holder.is_none() {
            self.flush(&mut files, &self.background.interrupt)?;
            self.compact_if_due();
        }
        Ok(())
    }

    /// Has the files take over indexes that were just built, and sort keys that were just declared. Until then each
    /// opening of the store builds the indexes again from the log, which takes as long as it did now; and merging puts
    /// edges in the order of a sort key once the files know it.
    pub(super) fn flush_what_wants_files(&self) {
        let mut files = lock(&self.files);
        let is_wanted = lock(&self.published).wants_files() && lock(&self.head).holder.is_none();
        if is_wanted && self.log.failure().is_none() {
            // The commit stands; a failure is told to callers that wait for room.
            let is_flushed = self.flush(&mut files, &self.background.interrupt).is_ok();
            drop(files);
            if is_flushed {
                self.compact_if_due();
            }
        }
    }

    fn sync_in_intervals(&self) {
        let Durability::Relaxed { interval } = self.options.durability else { return };
        let mut state = lock(&self.background.state);
        while !state.is_closing {
            let wait = interval.max(Duration::from_millis(1));
            state = self.background.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
            drop(state);
            // The failure is kept and told to the next writer.
            let _ = self.log.sync();
            state = lock(&self.background.state);
        }
    }

    pub(super) fn set_memtable_bytes(&self, bytes: usize) {
        let before = self.memtable_bytes.swap(bytes, Ordering::Relaxed);
        if bytes >= before {
            self.memory.hold(Consumer::Memtable, bytes - before);
        } else {
            self.memory.release(Consumer::Memtable, before - bytes);
        }
    }

    fn is_full(&self) -> bool {
        // If others need the memory, a smaller memtable is written out already.
        let limit = self.options.memtable_bytes_max / if self.memory.is_pressed() { 4 } else { 1 };
        self.memtable_bytes.load(Ordering::Relaxed) > limit
    }

    /// Has the memtable merged into files if it is full. The commit before it stands whatever happens here; a failure
    /// is told to callers that wait for room.
    pub(super) fn flush_if_full(&self) {
        if !self.is_full() {
            return;
        }
        match self.options.maintenance {
            Maintenance::Background => self.ask_for(Work::Flush),
            Maintenance::Inline => drop(self.flush_what_is_full()),
        }
    }

    /// Waits until files have taken enough over for a transaction to commit that wrote such a record. Where a full disk keeps
    /// them from that, one that only deletes commits all the same, as far as memory allows: it is what makes room.
    pub(super) fn wait_to_commit(&self, record: &[u8]) -> Result<()> {
        let waited = self.wait_for_room().and_then(|()| self.wait_for_merges());
        let Err(error) = waited else { return Ok(()) };
        let most = memtable_bytes_most(&self.options, &self.memory) + self.memory.limit() / DELETING_SHARE;
        let is_let_in = error.code() == ErrorCode::DiskFull
            && self.memtable_bytes.load(Ordering::Relaxed) <= most
            && only_deletes(record)?;
        if is_let_in { self.check_open() } else { Err(error) }
    }

    /// True if the last flush found the disk full.
    pub(super) fn has_found_disk_full(&self) -> bool {
        let state = lock(&self.background.state);
        state.flushes.failure.as_ref().is_some_and(|failure| failure.code() == ErrorCode::DiskFull)
    }

    /// Waits while the memtable is far beyond its limit and a flush is on its way.
    fn wait_for_room(&self) -> Result<()> {
        let limit = memtable_bytes_most(&self.options, &self.memory);
        let is_crowded = || self.memtable_bytes.load(Ordering::Relaxed) > limit;
        if !is_crowded() || self.options.maintenance == Maintenance::Inline {
            return Ok(());
        }
        // Counted before it is asked for: one that finds the disk full ends within microseconds.
        let before = lock(&self.background.state).flushes.count;
        self.flush_if_full();
        let start = self.platform.clock.now_ns();
        let mut state = lock(&self.background.state);
        while is_crowded() && state.flushes.count == before && !state.is_closing && self.log.failure().is_none() {
            state = self.wait_to_be_told(state, start)?;
        }
        let failure = state.flushes.failure.clone().filter(|_| is_crowded());
        drop(state);
        self.counters.stalls.add(1);
        self.counters.stall_ns.add(self.platform.clock.now_ns() - start);
        self.check_open()?;
        failure.map_or(Ok(()), Err)
    }

    /// Waits while the partitions of level 0 are too many: reading them all would be slow.
    fn wait_for_merges(&self) -> Result<()> {
        let policy = &self.options.compaction;
        let is_crowded = || self.level0.load(Ordering::Relaxed) >= policy.level0_max;
        if !is_crowded() || self.options.maintenance == Maintenance::Inline {
            return Ok(());
        }
        let before = lock(&self.background.state).merges.count;
        self.ask_for(Work::Compaction);
        let start = self.platform.clock.now_ns();
        let mut state = lock(&self.background.state);
        let has_failed = |state: &State| state.merges.count != before && state.merges.failure.is_some();
        while is_crowded() && !has_failed(&state) && !state.is_closing && self.log.failure().is_none() {
            state = self.wait_to_be_told(state, start)?;
        }
        let failure = state.merges.failure.clone().filter(|_| is_crowded());
        drop(state);
        self.counters.merge_stalls.add(1);
        self.counters.merge_stall_ns.add(self.platform.clock.now_ns() - start);
        self.check_open()?;
        failure.map_or(Ok(()), Err)
    }

    /// Waits a while for a flush or merge to end, on behalf of a caller that began to wait at that time; fails if the run on this
    /// thread should stop, or if a transaction in which nothing is done puts both off.
    fn wait_to_be_told<'s>(&'s self, state: MutexGuard<'s, State>, began_ns: u64) -> Result<MutexGuard<'s, State>> {
        let _waiting = meter::waiting(Wait::Lock);
        drop(self.background.flushed.wait_timeout(state, PATIENCE));
        check_this_thread()?;
        self.check_holder(&lock(&self.head), began_ns)?;
        Ok(lock(&self.background.state))
    }

    /// Wakes callers that wait for room, after some work that may have failed.
    pub(super) fn tell_flushed(&self, work: Work, failure: Option<&Error>) {
        let mut state = lock(&self.background.state);
        let ended = match work {
            Work::Flush => &mut state.flushes,
            Work::Compaction => &mut state.merges,
        };
        ended.count += 1;
        ended.failure = failure.filter(|error| error.code() != ErrorCode::Cancelled).cloned();
        drop(state);
        self.background.flushed.notify_all();
    }
}
