//! Cancellation and progress: how a long run hears that it should stop, and says how far it has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, ErrorCode, Result};

/// A flag shared by whoever runs something long and whoever may stop it, and its progress counters.
///
/// Every loop that can run long calls [`Interrupt::check`] at least every few thousand steps.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
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

    /// Lowers the flag and clears progress, before the next run.
    pub fn reset(&self) {
        self.0.cancelled.store(false, Ordering::Relaxed);
        self.report(0, 0);
    }

    /// Fails with `CANCELLED` once somebody has asked for it.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.0.cancelled.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorCode::Cancelled, "the query was cancelled"));
        }
        Ok(())
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
