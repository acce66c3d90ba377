//! Cancellation, deadline and progress: how a long run hears that it should stop, and says how far it has come.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::error::{Error, ErrorCode, Result};
use crate::platform::Clock;
use crate::schedule::Turn;

/// A flag shared by whoever runs something long and whoever may stop it, its deadline, and its progress counters.
///
/// Every loop that can run long calls [`Interrupt::check`] at least every few thousand steps.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    /// Whether there is a deadline, so that the common check is one load more.
    is_timed: AtomicBool,
    deadline: Mutex<Option<Deadline>>,
    done: AtomicU64,
    total: AtomicU64,
    turn: OnceLock<Arc<Turn>>,
}

#[derive(Debug)]
struct Deadline {
    clock: Arc<dyn Clock>,
    at_ns: u64,
    limit: Duration,
}

thread_local! {
    /// What the run on this thread listens to.
    static HEARD: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
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

/// The flag that the run on this thread listens to, for who lets another thread look at it.
pub fn of_this_thread() -> Option<Interrupt> {
    HEARD.with(|heard| heard.borrow().clone())
}

/// Fails as [`Interrupt::check`] does, for the run on this thread, if there is one: for who waits for another program, and
/// has no flag at hand.
pub fn check_this_thread() -> Result<()> {
    HEARD.with(|heard| heard.borrow().as_ref().map_or(Ok(()), Interrupt::check_unpaused))
}

impl Interrupt {
    /// A flag that nobody has raised.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Asks the run to stop at its next check.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Until the guard is dropped, who waits on this thread hears this flag.
    #[must_use]
    pub fn listen(&self) -> Listening {
        let before = HEARD.with(|heard| heard.borrow_mut().replace(self.clone()));
        Listening { before, on_this_thread: PhantomData }
    }

    /// Lowers the flag, takes the deadline away and clears progress, before the next run.
    pub fn reset(&self) {
        self.0.cancelled.store(false, Ordering::Relaxed);
        self.set_deadline(None);
        self.report(0, 0);
    }

    /// From now on the run may take so long by that clock; `None` for as long as it takes.
    pub fn set_deadline(&self, limit: Option<(Arc<dyn Clock>, Duration)>) {
        let deadline = limit.map(|(clock, limit)| {
            let at_ns = clock.now_ns().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
            Deadline { clock, at_ns, limit }
        });
        self.0.is_timed.store(deadline.is_some(), Ordering::Relaxed);
        *self.0.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }

    /// From now on, every check is a step of that turn: it may rest while others come first. Only the first one counts.
    pub fn take_turns(&self, turn: Arc<Turn>) {
        let _ = self.0.turn.set(turn);
    }

    /// The run uses so many threads from now on, if it used fewer.
    pub fn use_threads(&self, threads: usize) {
        if let Some(turn) = self.0.turn.get() {
            turn.uses(threads);
        }
    }

    /// The run is a computation over the whole graph on so many threads: who asks for less comes first.
    pub fn become_long(&self, threads: usize) {
        if let Some(turn) = self.0.turn.get() {
            turn.uses(threads);
            turn.become_long();
        }
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

    /// As [`Interrupt::check`], for who does not compute but waits, and therefore takes no turn.
    #[inline]
    pub fn check_unpaused(&self) -> Result<()> {
        if self.0.cancelled.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorCode::Cancelled, "the query was cancelled"));
        }
        if self.0.is_timed.load(Ordering::Relaxed) { self.check_deadline() } else { Ok(()) }
    }

    #[cold]
    fn check_deadline(&self) -> Result<()> {
        match &*self.0.deadline.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(deadline) if deadline.clock.now_ns() >= deadline.at_ns => {
                Err(crate::error!(Timeout, "the query ran longer than the {:?} it may", deadline.limit)
                    .with_remedy("raise the timeout (timeout, --timeout), or ask for less"))
            }
            _ => Ok(()),
        }
    }

    /// Says how many of how many steps (iterations, rows) are done; a total of 0 means unknown.
    pub fn report(&self, done: u64, total: u64) {
        self.0.done.store(done, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Steps done and steps in all, as last reported.
    pub fn progress(&self) -> (u64, u64) {
        (self.0.done.load(Ordering::Relaxed), self.0.total.load(Ordering::Relaxed))
    }
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
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::Interrupt;
    use crate::ErrorCode;
    use crate::platform::Clock;

    #[derive(Debug, Default)]
    struct SetClock(AtomicU64);

    impl Clock for SetClock {
        fn now_ns(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        fn unix_us(&self) -> i64 {
            0
        }
    }

    #[test]
    fn a_run_ends_at_its_deadline() {
        let (clock, interrupt) = (Arc::new(SetClock::default()), Interrupt::new());
        interrupt.set_deadline(Some((clock.clone(), Duration::from_millis(1_500))));
        clock.0.store(1_499_999_999, Ordering::Relaxed);
        assert!(interrupt.check().is_ok());
        clock.0.store(1_500_000_000, Ordering::Relaxed);
        let error = interrupt.check().unwrap_err();
        assert_eq!((error.code(), error.message()), (ErrorCode::Timeout, "the query ran longer than the 1.5s it may"));
        interrupt.reset();
        assert!(interrupt.check().is_ok());
    }
}
