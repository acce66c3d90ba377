//! The threads of a store: one merges writes into files, one syncs the log where commits do not wait for that.
//!
//! Invariant: they end before the store's last handle is gone; what they were doing is then given up, as by a crash.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Consumer, Interrupt, Result};

use super::merges::Extent;
use super::{Durability, Engine, Maintenance, OpenMode, lock};

/// How many times its limit the memtable may grow to while a flush runs, if that is within its share of the memory limit;
/// then writers wait.
pub(super) const STALL_FACTOR: usize = 4;

/// What a thread may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Flush,
    Compaction,
}

/// The name of a thread and what it does.
type NamedWork = (&'static str, fn(&Engine));

/// What the threads wait for.
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
    /// Counts flushes that ended.
    flushes: u64,
    threads: Vec<JoinHandle<()>>,
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
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&engine));
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
        while self.wait_for_work(|state| &mut state.wants_flush) {
            self.flush_what_is_full();
        }
    }

    fn compact_when_asked(&self) {
        // What was not merged when the store was closed is due now.
        self.ask_for(Work::Compaction);
        while self.wait_for_work(|state| &mut state.wants_compaction) {
            // The failure is kept and told to the next writer.
            let _ = self.compact(Extent::Due, &self.background.interrupt);
        }
    }

    /// Waits until a wish is there, and takes it; false once the store is closed.
    fn wait_for_work(&self, wish: impl Fn(&mut State) -> &mut bool) -> bool {
        let mut state = lock(&self.background.state);
        while !state.is_closing && !std::mem::take(wish(&mut state)) {
            state = self.background.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
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

    /// Flushes until the memtable is below its limit. A failure is kept and told to the next writer.
    fn flush_what_is_full(&self) {
        let mut files = lock(&self.files);
        while self.is_full() && self.log.failure().is_none() {
            if self.flush(&mut files, &self.background.interrupt).is_err() {
                return;
            }
            self.compact_if_due();
        }
    }

    /// Has the files take over indexes that were just built, and sort keys that were just declared. Until then whoever opens
    /// the store builds the indexes again from the log, which takes as long as it did now; and merging puts edges in the
    /// order of a sort key once the files know it.
    pub(super) fn flush_what_wants_files(&self) {
        let mut files = lock(&self.files);
        if lock(&self.published).wants_files() && self.log.failure().is_none() {
            // The commit stands; a failure is kept and told to the next writer.
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
        // Where others need the memory, a smaller one is written out already.
        let limit = self.options.memtable_bytes_max / if self.memory.is_pressed() { 4 } else { 1 };
        self.memtable_bytes.load(Ordering::Relaxed) > limit
    }

    /// Has the memtable merged into files if it is full. The commit before it stands whatever happens here; a failure
    /// closes the store for writing.
    pub(super) fn flush_if_full(&self) {
        if !self.is_full() {
            return;
        }
        match self.options.maintenance {
            Maintenance::Background => self.ask_for(Work::Flush),
            Maintenance::Inline => self.flush_what_is_full(),
        }
    }

    /// Waits while the memtable is far beyond its limit and a flush is on its way.
    pub(super) fn wait_for_room(&self) -> Result<()> {
        let limit =
            self.options.memtable_bytes_max.saturating_mul(STALL_FACTOR).min(self.memory.share(Consumer::Memtable));
        let is_crowded = || self.memtable_bytes.load(Ordering::Relaxed) > limit;
        if !is_crowded() || self.options.maintenance == Maintenance::Inline {
            return Ok(());
        }
        self.flush_if_full();
        let start = self.platform.clock.now_ns();
        let mut state = lock(&self.background.state);
        let before = state.flushes;
        while is_crowded() && state.flushes == before && !state.is_closing && self.log.failure().is_none() {
            state = self.background.flushed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        self.counters.stalls.add(1);
        self.counters.stall_ns.add(self.platform.clock.now_ns() - start);
        self.check_open()
    }

    /// Waits while there are so many partitions of level 0 that reading them all would be slow.
    pub(super) fn wait_for_merges(&self) -> Result<()> {
        let policy = &self.options.compaction;
        let is_crowded = || self.level0.load(Ordering::Relaxed) >= policy.level0_max;
        if !is_crowded() || self.options.maintenance == Maintenance::Inline {
            return Ok(());
        }
        self.ask_for(Work::Compaction);
        let start = self.platform.clock.now_ns();
        let mut state = lock(&self.background.state);
        while is_crowded() && !state.is_closing && self.log.failure().is_none() {
            state = self.background.flushed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        self.counters.merge_stalls.add(1);
        self.counters.merge_stall_ns.add(self.platform.clock.now_ns() - start);
        self.check_open()
    }

    /// Wakes who waits for room.
    pub(super) fn tell_flushed(&self) {
        lock(&self.background.state).flushes += 1;
        self.background.flushed.notify_all();
    }
}
