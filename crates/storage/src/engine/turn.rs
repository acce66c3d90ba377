//! The writers' turn: what a large transaction holds while its writes go to files of its own, so that nobody commits
//! meanwhile, and how it makes those files the store's.
//!
//! Others may begin and read; they wait at their commit, and hear their time-outs there. They wait as long as something is done
//! in the transaction; if it only stays open, they are told so and give up. The memtable is not flushed meanwhile, since the
//! transaction's files hold what is in it; merges that are due come after it.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use model::interrupt::{check_this_thread, of_this_thread};
use model::meter::{self, Wait};
use model::platform::Clock;
use model::{Interrupt, IsolationLevel, PropertyKeyId, Result, Subject, error};

use super::background::Work;
use super::flush::Files;
use super::head::{Head, Start};
use super::{Engine, lock};
use crate::bulk::Built;
use crate::version::{Version, VersionEdit};
use crate::wal::replay::RecordRoom;

/// Time between two checks of the interrupt of those who wait for others.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);
/// Time that others wait for a transaction that holds the writers' turn while nothing is done in it.
const IDLE_PATIENCE: Duration = Duration::from_secs(5);

/// Share of the memory limit that the writes of one transaction may take before they go to files, as a divisor, and the
/// least that they may take in bytes.
const TRANSACTION_SHARE: usize = 8;
const TRANSACTION_BYTES_MIN: usize = 1 << 20;

/// Files that a large transaction has written.
pub(crate) struct Stages {
    /// The version that it began with, and the one that it leads to.
    pub(crate) base: Arc<Version>,
    pub(crate) last: Arc<Version>,
    /// Ordered indexes that it made anew.
    pub(crate) renewed: Vec<(Subject, Vec<PropertyKeyId>)>,
    pub(crate) built: Vec<Built>,
}

/// The right to commit, as a transaction sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Others too.
    Others,
    /// This one, since it has outgrown memory, or fallen behind others with its indexes.
    Own,
    /// This one, since it began.
    Alone,
}

/// Activity in a transaction, as those see it who wait for it.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// Statements and calls under way.
    under_way: AtomicUsize,
    /// When the last of them ended.
    ended_ns: AtomicU64,
    /// When the transaction took the writers' turn.
    taken_ns: AtomicU64,
}

impl Activity {
    fn take(&self, now_ns: u64) {
        self.taken_ns.store(now_ns, Relaxed);
        self.ended_ns.store(now_ns, Relaxed);
    }

    /// Since when nothing is done; `None` while something is.
    fn rests_since(&self) -> Option<u64> {
        (self.under_way.load(Acquire) == 0).then(|| self.ended_ns.load(Relaxed))
    }
}

/// A statement or call under way, until it is dropped.
pub(crate) struct UnderWay {
    activity: Arc<Activity>,
    clock: Arc<dyn Clock>,
}

impl UnderWay {
    fn begin(activity: &Arc<Activity>, clock: Arc<dyn Clock>) -> UnderWay {
        activity.under_way.fetch_add(1, Relaxed);
        UnderWay { activity: activity.clone(), clock }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.activity.ended_ns.store(self.clock.now_ns(), Relaxed);
        self.activity.under_way.fetch_sub(1, Release);
    }
}

/// The writers' turn of a flush, until it is dropped.
pub(super) struct TurnOfFlush<'e> {
    engine: &'e Engine,
    _under_way: UnderWay,
}

impl Drop for TurnOfFlush<'_> {
    fn drop(&mut self) {
        lock(&self.engine.head).holder = None;
        self.engine.head_released.notify_all();
        // Merges that were asked for meanwhile were put off.
        self.engine.ask_for(Work::Compaction);
    }
}

impl Start {
    pub(super) fn has_turn(&self) -> bool {
        self.turn != Turn::Others
    }

    /// Says that a statement or a call runs in the transaction until the answer is dropped.
    pub(crate) fn under_way(&self) -> UnderWay {
        UnderWay::begin(&self.activity, self.engine().platform.clock.clone())
    }

    /// As [`Start::under_way`], where somebody may wait for the transaction.
    pub(crate) fn under_way_if_waited_for(&self) -> Option<UnderWay> {
        self.has_turn().then(|| self.under_way())
    }

    /// Keeps everybody else from committing until the transaction ends. Fails with `CONFLICT` if somebody has since it began:
    /// what it gave out could not stay valid.
    pub(crate) fn take_turn_of_writers(&mut self) -> Result<()> {
        if self.has_turn() {
            return Ok(());
        }
        let engine = self.engine().clone();
        let mut head = engine.head_to_write(false)?;
        self.check_untouched(&head)?;
        engine.give_turn(&mut head, &self.activity);
        self.turn = Turn::Own;
        drop(head);
        let taken = engine.wait_for_flush().and_then(|()| self.check_untouched(&lock(&engine.head)));
        if taken.is_err() {
            self.release_turn();
        }
        taken
    }

    /// Keeps everybody else from committing until the transaction ends, which moves onto the newest state as always.
    pub(super) fn keep_turn(&mut self, head: &mut Head) {
        self.engine().give_turn(head, &self.activity);
        self.turn = Turn::Own;
    }

    fn check_untouched(&self, head: &Head) -> Result<()> {
        if self.is_where_it_began(head) {
            return Ok(());
        }
        let conflict = error!(
            Conflict,
            "the transaction wrote more than memory has room for, and others have committed since it began"
        );
        Err(conflict.with_remedy("run it again, or raise the memory limit (--memory-limit)"))
    }

    /// Lets others commit again.
    pub(crate) fn release_turn(&mut self) {
        if std::mem::replace(&mut self.turn, Turn::Others) != Turn::Others {
            self.engine().end_turn();
        }
    }

    /// Lets others commit again, now that all that the transaction wrote is in memory.
    pub(crate) fn release_turn_of_large(&mut self) {
        if self.turn == Turn::Own {
            self.release_turn();
        }
    }

    /// Makes what the stages wrote durable, then visible. Fails whole.
    pub(crate) fn publish(&mut self, stages: Stages) -> Result<()> {
        let engine = self.engine().clone();
        let result = engine.publish_stages(stages);
        if result.is_ok() {
            engine.counters.commits.add(1);
            engine.counters.large_commits.add(1);
        }
        self.release_turn();
        result
    }
}

impl Engine {
    /// Bytes of writes that a transaction keeps in memory at most.
    pub(crate) fn transaction_bytes_max(&self) -> usize {
        let share = (self.memory.limit() / TRANSACTION_SHARE).max(TRANSACTION_BYTES_MIN);
        self.options.transaction_bytes_max.unwrap_or(share)
    }

    /// Room for one record when the store is opened with the same memory limit.
    pub(crate) fn record_room(&self) -> RecordRoom {
        RecordRoom::within(self.memory.limit())
    }

    /// Begins a transaction that holds the writers' turn.
    pub(super) fn begin_alone(self: &Arc<Self>, isolation: IsolationLevel) -> Result<Start> {
        let activity = Arc::default();
        let mut head = self.head_to_write(false)?;
        self.give_turn(&mut head, &activity);
        drop(head);
        match self.wait_for_flush().and_then(|()| self.begin(isolation)) {
            Ok(mut start) => {
                (start.turn, start.activity) = (Turn::Alone, activity);
                Ok(start)
            }
            Err(error) => {
                self.end_turn();
                Err(error)
            }
        }
    }

    /// The writers' turn for a flush, unless a transaction has it. The caller holds `files`.
    pub(super) fn turn_of_flush(&self) -> Option<TurnOfFlush<'_>> {
        let mut head = lock(&self.head);
        if head.holder.is_some() {
            return None;
        }
        let activity = Arc::default();
        self.give_turn(&mut head, &activity);
        Some(TurnOfFlush { engine: self, _under_way: UnderWay::begin(&activity, self.platform.clock.clone()) })
    }

    fn give_turn(&self, head: &mut Head, activity: &Arc<Activity>) {
        activity.take(self.platform.clock.now_ns());
        head.holder = Some(activity.clone());
    }

    /// Lets others commit again, and has done what was put off.
    fn end_turn(self: &Arc<Self>) {
        lock(&self.head).holder = None;
        self.head_released.notify_all();
        self.flush_if_full();
        self.ask_for(Work::Compaction);
    }

    /// Waits until no flush is under way.
    fn wait_for_flush(&self) -> Result<()> {
        let mut waiting = None;
        loop {
            match self.files.try_lock() {
                Err(TryLockError::WouldBlock) => waiting = waiting.or_else(|| Some(meter::waiting(Wait::Lock))),
                Ok(_) | Err(TryLockError::Poisoned(_)) => return Ok(()),
            }
            check_this_thread()?;
            std::thread::sleep(PATIENCE / 10);
        }
    }

    /// The right to write the memtable into files, once no transaction holds the writers' turn.
    pub(super) fn files_to_write(&self, interrupt: &Interrupt) -> Result<MutexGuard<'_, Files>> {
        let began_ns = self.platform.clock.now_ns();
        loop {
            let files = lock(&self.files);
            let head = lock(&self.head);
            if head.holder.is_none() {
                return Ok(files);
            }
            drop(files);
            interrupt.check()?;
            self.check_holder(&*self.wait_at(head)?, began_ns)?;
        }
    }

    /// Waits a while for the holder of the head to go on; fails if the run on this thread should stop.
    pub(super) fn wait_at<'h>(&self, head: MutexGuard<'h, Head>) -> Result<MutexGuard<'h, Head>> {
        let _waiting = meter::waiting(Wait::Lock);
        let waited = self.head_released.wait_timeout(head, PATIENCE);
        let head = waited.unwrap_or_else(PoisonError::into_inner).0;
        check_this_thread()?;
        Ok(head)
    }

    /// Fails with `CONFLICT` if nothing is done in the transaction that holds the writers' turn, and somebody has
    /// waited for it that long since `began_ns`: it may be one that waits for the caller.
    pub(super) fn check_holder(&self, head: &Head, began_ns: u64) -> Result<()> {
        let Some(holder) = &head.holder else { return Ok(()) };
        let Some(rests_since_ns) = holder.rests_since() else { return Ok(()) };
        let now_ns = self.platform.clock.now_ns();
        if now_ns.saturating_sub(rests_since_ns.max(began_ns)) < IDLE_PATIENCE.as_nanos() as u64 {
            return Ok(());
        }
        let seconds = |since_ns: u64| now_ns.saturating_sub(since_ns) / 1_000_000_000;
        let conflict = error!(
            Conflict::TurnOfWritersHeld,
            "a transaction that wrote more than memory has room for has kept all others from committing for {} s, and nothing \
             has been done in it for {} s",
            seconds(holder.taken_ns.load(Relaxed)),
            seconds(rests_since_ns)
        );
        Err(conflict.with_remedy("commit that transaction or roll it back, then run this one again"))
    }

    fn publish_stages(&self, stages: Stages) -> Result<()> {
        let Stages { base, last, renewed, built } = stages;
        let interrupt = of_this_thread().unwrap_or_default();
        let mut files = lock(&self.files);
        self.check_open()?;
        let logged = self.change_log(&mut files);
        lock(&self.head).since_flush = None;
        logged?;
        let mut edit = VersionEdit::of_flushes(base.manifest(), last.manifest(), renewed);
        edit.wal_number = Some(files.log);
        let (config, _memory) = self.merge_memory();
        let mut current = lock(&self.current);
        let has = |number: &u64| current.manifest().indexes.iter().any(|entry| entry.file.number == *number);
        if !edit.removed_indexes.iter().all(has) {
            return Err(error!(Conflict, "an index that the transaction made anew was merged meanwhile"));
        }
        let context = base.build(&config, &interrupt);
        let before = current.clone();
        let installed = Built::new(&base, context, edit).install_with(&built, &current);
        let version = installed.inspect_err(|error| self.fail_if_replaced(&before, error))?;
        self.make_current(&mut current, &version);
        self.publish_version(version);
        drop(current);
        self.remove_logs_before(files.log);
        Ok(())
    }
}
