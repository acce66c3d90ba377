//! Connections that are kept for the next request; the number of open ones is bounded.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{Result, error};

use super::session::Session;
use super::url::Settings;

/// Time limit of the wait for a connection while all are in use.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time after which to look whether anybody still wants it.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// The connections of a source.
pub(super) struct Pool {
    settings: Arc<Settings>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Session>,
    /// Connections that are idle or taken.
    open: usize,
}

/// A session that was taken; it goes back when dropped, if it still works.
pub(super) struct Lease {
    pool: Arc<Pool>,
    session: Option<Session>,
}

impl Pool {
    pub(super) fn new(settings: Arc<Settings>) -> Pool {
        Pool { settings, state: Mutex::default(), freed: Condvar::new() }
    }

    /// A session that nobody else has: an idle one, or a new one while fewer are open than may be, or the next that is
    /// given back.
    pub(super) fn take(self: &Arc<Pool>) -> Result<Lease> {
        let mut state = self.lock();
        let mut waited = Duration::ZERO;
        loop {
            if let Some(mut session) = state.idle.pop() {
                (session.is_used, session.has_answered) = (true, false);
                return Ok(Lease { pool: self.clone(), session: Some(session) });
            }
            if state.open < self.settings.pool_size {
                state.open += 1;
                drop(state);
                let mut lease = Lease { pool: self.clone(), session: None };
                // If this fails, dropping the lease makes room for another.
                lease.session = Some(Session::open(self.settings.clone())?);
                return Ok(lease);
            }
            let woken = self.freed.wait_timeout(state, LOOK_AFTER).unwrap_or_else(PoisonError::into_inner);
            state = woken.0;
            if !woken.1.timed_out() || !state.idle.is_empty() {
                continue;
            }
            model::interrupt::check_this_thread()?;
            waited += LOOK_AFTER;
            if waited >= PATIENCE {
                let count = self.settings.pool_size;
                return Err(error!(
                    Source,
                    "{}: all {count} connections were in use for {PATIENCE:?}", self.settings.name
                )
                .with_remedy("let more be open (pool_size in the source's URL), or run fewer queries at once"));
            }
        }
    }

    /// Closes what is idle: one of them was found dead, so the others will be.
    pub(super) fn close_idle(&self) {
        let mut state = self.lock();
        state.open -= state.idle.len();
        state.idle.clear();
        self.freed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// The session.
    pub(super) fn session(&mut self) -> &mut Session {
        self.session.as_mut().expect("a lease holds its session until it is dropped")
    }

    /// Closes the connection instead of giving it back.
    pub(super) fn close(mut self) {
        self.session = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        match self.session.take() {
            Some(session) => state.idle.push(session),
            None => state.open -= 1,
        }
        drop(state);
        self.pool.freed.notify_one();
    }
}
