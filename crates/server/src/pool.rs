//! The threads that statements run on: made as they are needed, up to a number, and gone when they have nothing to do.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::connection::{Connection, Next};
use crate::limits::IDLE_THREAD_TIME;
use crate::serve::Server;

/// A connection to be served, and when it came.
type Job = (Connection, u64);

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// True once threads without work end at once.
    is_closed: bool,
}

/// The threads of a server.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    changed: Condvar,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a connection to a thread, or to the next that becomes free.
    pub(crate) fn put(&self, server: &Arc<Server>, connection: Connection) {
        let mut state = self.lock();
        state.jobs.push_back((connection, server.now_ns()));
        if state.idle >= state.jobs.len() {
            self.changed.notify_one();
        } else if state.threads < server.settings.statements_max {
            let at_work = server.clone();
            let made = std::thread::Builder::new().name("bolt".into()).spawn(move || at_work.pool.work(&at_work));
            // Without a further thread, those that there are take the job; the front looks after it if there are none.
            state.threads += usize::from(made.is_ok());
        }
    }

    /// True if a connection waits for a thread.
    pub(crate) fn is_short(&self) -> bool {
        !self.lock().jobs.is_empty()
    }

    /// True if there is neither a thread that is free nor room for a further one.
    pub(crate) fn is_full(&self, threads_max: usize) -> bool {
        let state = self.lock();
        state.idle <= state.jobs.len() && state.threads >= threads_max
    }

    /// True if a thread is at work, or a connection waits for one.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.lock();
        state.threads > state.idle || !state.jobs.is_empty()
    }

    /// Lets threads without work end; true once there are none left.
    pub(crate) fn close(&self) -> bool {
        let mut state = self.lock();
        state.is_closed = true;
        self.changed.notify_all();
        state.threads == 0
    }

    /// A connection that has waited since before that moment.
    pub(crate) fn overdue(&self, before_ns: u64) -> Option<Connection> {
        let mut state = self.lock();
        if state.jobs.front().is_some_and(|(_, came_ns)| *came_ns < before_ns) {
            return state.jobs.pop_front().map(|(connection, _)| connection);
        }
        None
    }

    fn work(&self, server: &Arc<Server>) {
        while let Some((mut connection, _)) = self.next() {
            let next = catch_unwind(AssertUnwindSafe(|| connection.serve()));
            server.left(connection.wire());
            match next {
                Ok(Next::Park) => server.park(connection),
                Ok(Next::Close) => connection.close(),
                // The transaction of one that has panicked is undone with its session.
                Ok(Next::Leave) | Err(_) => drop(connection),
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        state.idle += 1;
        if state.jobs.is_empty() {
            let waited = self
                .changed
                .wait_timeout_while(state, IDLE_THREAD_TIME, |state| state.jobs.is_empty() && !state.is_closed);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.idle -= 1;
        let job = state.jobs.pop_front();
        state.threads -= usize::from(job.is_none());
        job
    }
}
