//! A database that is connected in this process, and the sessions that were made of it.
//!
//! Invariant: after a fork the child owns threads, locks and files of its parent only in name; it neither uses nor
//! closes them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use client::{Graph, Session};
use database::{Config, Database, Error, Interrupt};
use model::error;

use crate::error::forked;
use crate::pipe::Pipe;

/// Sessions that are kept for the next statement.
const IDLE_MAX: usize = 16;
/// Time that closing waits before it tells statements to stop once more.
const CLOSE_STEP: Duration = Duration::from_millis(2);

/// A session, used by one thread at a time and taken away when the database is closed.
pub(crate) struct Seat {
    session: Mutex<Option<Session>>,
    /// Interrupt that stops its statement.
    pub(crate) interrupt: Interrupt,
    pipe: Mutex<Weak<Pipe>>,
    process: u32,
}

/// A database that is connected, or was.
pub(crate) struct Shared {
    process: u32,
    open: Mutex<Option<Open>>,
    /// The settings it was opened with.
    pub(crate) config: Config,
}

struct Open {
    graph: Graph,
    idle: Vec<Arc<Seat>>,
    seats: Vec<Weak<Seat>>,
}

/// The error of all that needs a database which is closed.
pub(crate) fn closed() -> Error {
    error!(Closed, "the database is closed").with_remedy("connect to it again")
}

impl Shared {
    pub(crate) fn new(graph: Graph) -> Arc<Shared> {
        let config = graph.config().clone();
        let open = Some(Open { graph, idle: Vec::new(), seats: Vec::new() });
        Arc::new(Shared { process: std::process::id(), open: Mutex::new(open), config })
    }

    fn lock(&self) -> Result<MutexGuard<'_, Option<Open>>, Error> {
        if self.process != std::process::id() {
            return Err(forked());
        }
        Ok(self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The graph, if it is still open.
    pub(crate) fn graph(&self) -> Result<Graph, Error> {
        self.lock()?.as_ref().map(|open| open.graph.clone()).ok_or_else(closed)
    }

    /// The database, which must be open in this process to do what the verb says.
    pub(crate) fn database_to(&self, verb: &str) -> Result<Database, Error> {
        self.graph()?.database_to(verb)
    }

    /// True if it is open, and this the process that opened it.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().is_ok_and(|open| open.is_some())
    }

    /// A session of one's own.
    pub(crate) fn seat(&self) -> Result<Arc<Seat>, Error> {
        let mut guard = self.lock()?;
        let open = guard.as_mut().ok_or_else(closed)?;
        Ok(open.new_seat())
    }

    /// A session for one statement; to be given back.
    pub(crate) fn borrow_seat(&self) -> Result<Arc<Seat>, Error> {
        let mut guard = self.lock()?;
        let open = guard.as_mut().ok_or_else(closed)?;
        Ok(open.idle.pop().unwrap_or_else(|| open.new_seat()))
    }

    /// Gives a session back that was taken for one statement.
    pub(crate) fn return_seat(&self, seat: Arc<Seat>) {
        if let Ok(mut guard) = self.lock()
            && let Some(open) = guard.as_mut()
            && open.idle.len() < IDLE_MAX
        {
            open.idle.push(seat);
        }
    }

    /// Stops all that runs, undoes what is not committed, and closes the store. Again, it does nothing.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let Some(open) = self.lock()?.take() else { return Ok(()) };
        for seat in open.seats.iter().filter_map(Weak::upgrade) {
            seat.leave();
        }
        drop(open);
        Ok(())
    }
}

impl Open {
    fn new_seat(&mut self) -> Arc<Seat> {
        let session = self.graph.session();
        let interrupt = session.interrupt();
        let process = std::process::id();
        let (session, pipe) = (Mutex::new(Some(session)), Mutex::default());
        let seat = Arc::new(Seat { session, interrupt, pipe, process });
        // The list is swept when it has doubled, so that a seat costs the same however many there were.
        if self.seats.len() == self.seats.capacity() {
            self.seats.retain(|seat| seat.strong_count() > 0);
            self.seats.reserve(self.seats.len() + 1);
        }
        self.seats.push(Arc::downgrade(&seat));
        seat
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

impl Seat {
    /// The session, for as long as the guard lives. Waits for a statement that still runs in it.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Option<Session>>, Error> {
        if self.process != std::process::id() {
            return Err(forked());
        }
        Ok(self.session.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on its statement writes to that pipe.
    pub(crate) fn set_pipe(&self, pipe: &Arc<Pipe>) {
        *self.pipe.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(pipe);
    }

    /// Pipe that its last long statement writes to, if that still runs.
    pub(crate) fn pipe(&self) -> Option<Arc<Pipe>> {
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner).upgrade().filter(|pipe| !pipe.has_ended())
    }

    /// Ends the session, and the statement that it runs.
    pub(crate) fn leave(&self) {
        if self.process != std::process::id() {
            return;
        }
        loop {
            self.interrupt.cancel();
            if let Some(pipe) = self.pipe.lock().unwrap_or_else(PoisonError::into_inner).upgrade() {
                pipe.abandon();
            }
            // A statement that begins lowers the flag, so it is raised until the session is free.
            if let Ok(mut session) = self.session.try_lock() {
                session.take();
                return;
            }
            std::thread::sleep(CLOSE_STEP);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.session.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}
