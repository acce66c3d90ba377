//! Cancellation, deadline and progress: how a long run hears that it should stop, and says how far it has come.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::error::{Error, ErrorCode, Result};
use crate::limits::WORK_BETWEEN_CHECKS;
use crate::meter::{self, Meter, Timed};
use crate::platform::Clock;
use crate::schedule::Turn;

/// A flag shared by a long operation and the thread that may stop it, its deadline, and its progress counters.
///
/// Every loop that can run long calls [`Interrupt::check`] at least every few thousand steps.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    /// True if there is a deadline or a trial, so that the common check is one load more.
    is_timed: AtomicBool,
    limits: Mutex<Limits>,
    /// A check has failed because the trial had ended.
    is_trial_over: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    turn: OnceLock<Arc<Turn>>,
    /// Counts of threads that have helped the run.
    helped: Mutex<Meter>,
    has_helped: AtomicBool,
}

#[derive(Debug, Default)]
struct Limits {
    deadline: Option<Deadline>,
    trial: Option<Deadline>,
}

#[derive(Debug)]
struct Deadline {
    clock: Arc<dyn Clock>,
    at_ns: u64,
    limit: Duration,
}

impl Deadline {
    fn new((clock, limit): (Arc<dyn Clock>, Duration)) -> Deadline {
        let at_ns = clock.now_ns().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        Deadline { clock, at_ns, limit }
    }

    fn has_passed(&self) -> bool {
        self.clock.now_ns() >= self.at_ns
    }
}

thread_local! {
    /// The interrupt that the run on this thread listens to.
    static HEARD: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
    /// Work done since it was last looked at.
    static WORK: Cell<usize> = const { Cell::new(0) };
}

/// As long as it lives, [`check_this_thread`] looks at the flag that it was made of. It stays on its thread.
#[derive(Debug)]
pub struct Listening {
    before: Option<Interrupt>,
    on_this_thread: PhantomData<*const ()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let before = self.before.take();
        HEARD.with(|heard| *heard.borrow_mut() = before);
    }
}

/// As long as it lives, this thread works for a run that another thread drives; see [`Interrupt::help`].
#[derive(Debug)]
pub struct Helping {
    interrupt: Interrupt,
    before: Meter,
    _timed: Option<Timed>,
}

impl Drop for Helping {
    fn drop(&mut self) {
        let counts = meter::read().since(self.before);
        locked(&self.interrupt.0.helped).add(&counts);
        self.interrupt.0.has_helped.store(true, Ordering::Release);
    }
}

/// The flag that the run on this thread listens to, for callers that let another thread look at it.
pub fn of_this_thread() -> Option<Interrupt> {
    HEARD.with(|heard| heard.borrow().clone())
}

/// Fails as [`Interrupt::check`] does, for the run on this thread, if there is one: for callers that wait for another
/// program, and has no flag at hand.
pub fn check_this_thread() -> Result<()> {
    HEARD.with(|heard| heard.borrow().as_ref().map_or(Ok(()), Interrupt::check_unpaused))
}

/// Counts `units` of work on this thread: rows, elements of lists, nodes of a tree, or 16 bytes of strings, each of
/// which takes some nanoseconds. After every [`WORK_BETWEEN_CHECKS`] of them it fails as [`check_this_thread`] does:
/// for loops that may be long and have no flag at hand.
#[inline]
pub fn work(units: usize) -> Result<()> {
    let done = WORK.get().saturating_add(units);
    if done < WORK_BETWEEN_CHECKS {
        WORK.set(done);
        return Ok(());
    }
    WORK.set(0);
    check_this_thread()
}

/// The items in a list, as [`work`] for each.
pub fn collected<T>(items: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut all = Vec::with_capacity(items.size_hint().0);
    for item in items {
        work(1)?;
        all.push(item);
    }
    Ok(all)
}

impl Interrupt {
    /// A flag that nobody has raised.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// True if both are one flag.
    pub fn is(&self, other: &Interrupt) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Asks the run to stop at its next check.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Until the guard is dropped, waits on this thread listen to this flag.
    #[must_use]
    pub fn listen(&self) -> Listening {
        let before = HEARD.with(|heard| heard.borrow_mut().replace(self.clone()));
        Listening { before, on_this_thread: PhantomData }
    }

    /// Until the guard is dropped, this thread helps the run that another thread drives: its waits are timed, and its counts
    /// are those of the run.
    #[must_use]
    pub fn help(&self) -> Helping {
        let timed = self.0.turn.get().map(|turn| meter::timed_by(turn.clock().clone()));
        Helping { interrupt: self.clone(), before: meter::read(), _timed: timed }
    }

    /// Takes the counts of the threads that have helped the run.
    pub fn take_helped(&self) -> Meter {
        // Mostly nobody has: a load costs less than an exchange.
        if !self.0.has_helped.load(Ordering::Relaxed) || !self.0.has_helped.swap(false, Ordering::Acquire) {
            return Meter::default();
        }
        std::mem::take(&mut locked(&self.0.helped))
    }

    /// Lowers the flag, takes the deadline and the trial away and clears progress, before the next run.
    pub fn reset(&self) {
        self.0.cancelled.store(false, Ordering::Relaxed);
        self.set_deadline(None);
        self.set_trial(None);
        self.report(0, 0);
    }

    /// From now on the run may take so long by that clock; `None` for as long as it takes.
    pub fn set_deadline(&self, limit: Option<(Arc<dyn Clock>, Duration)>) {
        self.limit(|limits| &mut limits.deadline, limit);
    }

    /// From now on the run is tried for so long by that clock, and the caller will run it again in another mode if it
    /// takes longer: no time limit that a user has set. A run that ends with an error while
    /// [`Interrupt::is_trial_over`] holds says nothing but that.
    pub fn set_trial(&self, limit: Option<(Arc<dyn Clock>, Duration)>) {
        self.0.is_trial_over.store(false, Ordering::Relaxed);
        self.limit(|limits| &mut limits.trial, limit);
    }

    /// Sets one of the limits. Cost: a load where none is set and none is there, as at the start of most statements.
    fn limit(&self, of: fn(&mut Limits) -> &mut Option<Deadline>, limit: Option<(Arc<dyn Clock>, Duration)>) {
        if limit.is_none() && !self.0.is_timed.load(Ordering::Relaxed) {
            return;
        }
        let mut limits = locked(&self.0.limits);
        *of(&mut limits) = limit.map(Deadline::new);
        self.0.is_timed.store(limits.deadline.is_some() || limits.trial.is_some(), Ordering::Relaxed);
    }

    /// True if a check has failed because the trial had ended.
    pub fn is_trial_over(&self) -> bool {
        self.0.is_trial_over.load(Ordering::Relaxed)
    }

    /// From now on, every check is a step of that turn: it may rest while others come first. Only the first one counts.
    pub fn take_turns(&self, turn: Arc<Turn>) {
        let _ = self.0.turn.set(turn);
    }

    /// Raises the number of threads that the run uses to `threads`, if it used fewer.
    pub fn use_threads(&self, threads: usize) {
        if let Some(turn) = self.0.turn.get() {
            turn.uses(threads);
        }
    }

    /// Marks the run as a computation over the whole graph on `threads` threads: runs that ask for less come first.
    pub fn become_long(&self, threads: usize) {
        if let Some(turn) = self.0.turn.get() {
            turn.uses(threads);
            turn.become_long();
        }
    }

    /// Waits, by `wait`, for whoever takes the rows: others work meanwhile as if the run were not there.
    pub fn while_aside<T>(&self, wait: impl FnOnce() -> T) -> T {
        let _aside = self.0.turn.get().map(|turn| turn.step_aside());
        wait()
    }

    /// The run reads something that others may read at the same time; see [`Turn::keep_pace`].
    pub fn keep_pace(&self, with: u64) {
        if let Some(turn) = self.0.turn.get() {
            turn.keep_pace(with);
        }
    }

    /// Fails with `CANCELLED` once somebody has asked for it, with `TIMEOUT` once the deadline has passed.
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.check_unpaused()?;
        if let Some(turn) = self.0.turn.get() {
            turn.step();
        }
        Ok(())
    }

    /// As [`Interrupt::check`], for callers that wait instead of computing, and therefore take no turn.
    #[inline]
    pub fn check_unpaused(&self) -> Result<()> {
        if self.0.cancelled.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorCode::Cancelled, "the query was cancelled"));
        }
        if self.0.is_timed.load(Ordering::Relaxed) { self.check_deadline() } else { Ok(()) }
    }

    #[cold]
    fn check_deadline(&self) -> Result<()> {
        let limits = locked(&self.0.limits);
        if let Some(deadline) = limits.deadline.as_ref().filter(|deadline| deadline.has_passed()) {
            return Err(crate::error!(Timeout, "the query ran longer than the {:?} it may", deadline.limit)
                .with_remedy("raise the timeout (timeout, --timeout), or ask for less"));
        }
        if limits.trial.as_ref().is_some_and(Deadline::has_passed) {
            self.0.is_trial_over.store(true, Ordering::Relaxed);
            return Err(Error::new(ErrorCode::Cancelled, "the run took longer than it was tried for"));
        }
        Ok(())
    }

    /// Says how many of how many steps (iterations, rows) are done; a total of 0 means unknown.
    pub fn report(&self, done: u64, total: u64) {
        self.0.done.store(done, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Reports as [`Interrupt::report`] does before the next of these steps, and checks: rounds may be many over a graph so
    /// small that nothing else looks at the interrupt.
    pub fn step(&self, done: u64, total: u64) -> Result<()> {
        self.report(done, total);
        self.check()
    }

    /// Steps done and steps in all, as last reported.
    pub fn progress(&self) -> (u64, u64) {
        (self.0.done.load(Ordering::Relaxed), self.0.total.load(Ordering::Relaxed))
    }
}

fn locked<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    #[test]
    fn who_waits_hears_the_run_of_its_thread() {
        let (outer, inner) = (super::Interrupt::new(), super::Interrupt::new());
        assert!(super::check_this_thread().is_ok());
        let listening = outer.listen();
        outer.cancel();
        assert!(super::check_this_thread().is_err());
        {
            let _inner = inner.listen();
            assert!(super::check_this_thread().is_ok());
        }
        assert!(super::check_this_thread().is_err());
        assert!(std::thread::spawn(super::check_this_thread).join().is_ok_and(|heard| heard.is_ok()));
        drop(listening);
        assert!(super::check_this_thread().is_ok());
    }

    #[test]
    fn work_hears_the_run_of_its_thread() {
        let interrupt = super::Interrupt::new();
        let _listening = interrupt.listen();
        interrupt.cancel();
        let steps = (0..).take_while(|_| super::work(16).is_ok()).count();
        assert!(steps <= crate::limits::WORK_BETWEEN_CHECKS / 16, "{steps}");
        assert!(super::collected(0..1_000_000).is_err());
        interrupt.reset();
        assert_eq!(super::collected(0..1_000_000).unwrap().len(), 1_000_000);
    }

    use std::time::Duration;

    use super::Interrupt;
    use crate::ErrorCode;
    use crate::platform::Clock;
    use crate::platform::set_clock::SetClock;

    #[test]
    fn a_run_ends_at_its_deadline() {
        let (clock, interrupt) = (Arc::new(SetClock::default()), Interrupt::new());
        interrupt.set_deadline(Some((clock.clone(), Duration::from_millis(1_500))));
        clock.set(1_499_999_999);
        assert!(interrupt.check().is_ok());
        clock.set(1_500_000_000);
        let error = interrupt.check().unwrap_err();
        assert_eq!((error.code(), error.message()), (ErrorCode::Timeout, "the query ran longer than the 1.5s it may"));
        interrupt.reset();
        assert!(interrupt.check().is_ok());
    }

    #[test]
    fn the_end_of_a_trial_is_no_timeout() {
        let (clock, interrupt) = (Arc::new(SetClock::default()), Interrupt::new());
        let limit = |ms| Some((clock.clone() as Arc<dyn Clock>, Duration::from_millis(ms)));
        interrupt.set_deadline(limit(100));
        interrupt.set_trial(limit(50));
        clock.set(49_999_999);
        assert!(interrupt.check().is_ok() && !interrupt.is_trial_over());
        clock.set(50_000_000);
        assert_eq!(interrupt.check().unwrap_err().code(), ErrorCode::Cancelled);
        assert!(interrupt.is_trial_over());
        // The limit that a user has set comes first.
        interrupt.set_trial(limit(0));
        clock.set(100_000_000);
        assert_eq!(interrupt.check().unwrap_err().code(), ErrorCode::Timeout);
        assert!(!interrupt.is_trial_over());
        interrupt.reset();
        assert!(interrupt.check().is_ok());
    }
}
