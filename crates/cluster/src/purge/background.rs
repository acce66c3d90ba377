//! The purge in the background: a thread that looks now and then whether there is enough to purge, and works a tenth of the time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Interrupt, Result, error};

use super::{Purger, is_passing};
use crate::shared::Shared;
use crate::state::Purge;

/// Dead rows from which on a purge is worth its records.
const DEAD_ROWS_MIN: u64 = 1_000;
/// Time of rest for each time of work.
const REST: u64 = 9;
/// Leases without progress after which another process may go on with a purge.
const LEASES_OF_OTHERS: u64 = 8;

/// The thread.
#[derive(Debug)]
pub(crate) struct Background {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    is_stopped: Mutex<bool>,
    changed: Condvar,
    interrupt: Interrupt,
}

impl Stop {
    /// Waits; true if it is time to stop.
    fn wait(&self, time: Duration) -> bool {
        let stopped = self.is_stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(stopped, time, |is_stopped| !*is_stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Background {
    /// Starts the thread, if the settings ask for it.
    pub(crate) fn start(shared: &Arc<Shared>) -> Result<Option<Background>> {
        let settings = &shared.log.settings;
        if settings.purge_interval_ns == 0 || settings.is_read_only {
            return Ok(None);
        }
        let stop = Arc::new(Stop::default());
        let looks = Looks { shared: shared.clone(), stop: stop.clone(), seen: VecDeque::new(), other: None };
        let thread = std::thread::Builder::new().name("knotwork-purge".to_owned()).spawn(move || looks.run());
        let thread = thread.map_err(|error| error!(Io, "cannot start a thread: {error}"))?;
        Ok(Some(Background { stop, thread: Some(thread) }))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.is_stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.interrupt.cancel();
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic has been told by its thread; a purge that is unfinished is continued by the next.
            let _ = thread.join();
        }
    }
}

/// Looks for something to purge.
struct Looks {
    shared: Arc<Shared>,
    stop: Arc<Stop>,
    /// Records that were the last, with the times.
    seen: VecDeque<(u64, u64)>,
    /// The unfinished purge of another process, and when it was seen first.
    other: Option<(Purge, u64)>,
}

impl Looks {
    fn run(mut self) {
        let interval = Duration::from_nanos(self.shared.log.settings.purge_interval_ns);
        let _listening = self.stop.interrupt.listen();
        while !self.stop.wait(interval) {
            // A failure costs nothing but time: the next look tries again.
            if self.look().is_err_and(|error| !is_passing(&error)) {
                return;
            }
        }
    }

    fn look(&mut self) -> Result<()> {
        let log = &self.shared.log;
        let (now, state) = (log.settings.clock.now_ns(), log.catch_up()?);
        self.seen.push_back((now, state.sequence));
        let is_old = |seen: &(u64, u64)| now.saturating_sub(seen.0) >= log.settings.keep_ns;
        while self.seen.get(1).is_some_and(is_old) {
            self.seen.pop_front();
        }
        let Some((_, upto)) = self.seen.front().copied().filter(is_old) else { return Ok(()) };
        if state.dead.rows < DEAD_ROWS_MIN && state.dead.indexes.is_empty() || self.is_left_to_other(&state.purge, now)
        {
            return Ok(());
        }
        let stop = self.stop.clone();
        let rest = move |worked_ns: u64| {
            stop.wait(Duration::from_nanos(worked_ns.saturating_mul(REST)));
            stop.interrupt.check()
        };
        Purger::new(&self.shared, &rest).run(upto.max(state.purge.horizon)).map(drop)
    }

    /// True if another process is at work, as far as its progress shows.
    fn is_left_to_other(&mut self, purge: &Purge, now: u64) -> bool {
        if purge.purged >= purge.horizon {
            self.other = None;
            return false;
        }
        match &self.other {
            Some((seen, since)) if seen == purge => {
                now.saturating_sub(*since) < self.shared.log.settings.lease_ns.saturating_mul(LEASES_OF_OTHERS)
            }
            _ => {
                self.other = Some((purge.clone(), now));
                true
            }
        }
    }
}
