//! Rows on their way from the thread that makes them to the one that asks for them: a queue with a bound.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use database::{Error, Interrupt, Outlook, ResultBatch, ResultSink, StatementSummary};
use model::{PropertyType, error};

use crate::error::forked;

/// Batches that wait to be asked for, at most.
const BATCHES_MAX: usize = 32;

/// The type of every value of each column besides null, where it is known.
pub(crate) type Types = Arc<[Option<PropertyType>]>;

/// Outcome of a statement.
pub(crate) type Outcome = Result<StatementSummary, Error>;

/// Summary of a statement, once it is known.
#[derive(Default)]
pub(crate) struct Told(pub(crate) Mutex<Option<StatementSummary>>);

impl Told {
    pub(crate) fn tell(&self, summary: Option<StatementSummary>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = summary;
    }
}

/// Result of a read.
pub(crate) enum Found {
    /// Rows.
    Rows(ResultBatch),
    /// Nothing yet.
    Nothing,
    /// The end of the rows, and the outcome of the statement, given once.
    End(Box<Option<Outcome>>),
}

/// Number of rows that a pipe may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// A few batches: their maker waits.
    Few,
    /// All there are.
    All,
}

/// Event that is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The first rows.
    Rows,
    /// The end.
    End,
}

#[derive(Default)]
struct State {
    columns: Option<Vec<Arc<str>>>,
    types: Types,
    batches: VecDeque<ResultBatch>,
    outcome: Option<Outcome>,
    is_ended: bool,
    is_abandoned: bool,
}

/// The queue.
pub(crate) struct Pipe {
    state: Mutex<State>,
    changed: Condvar,
    bound: Bound,
    interrupt: Interrupt,
    process: u32,
}

impl Pipe {
    /// A pipe for a statement that this interrupt stops.
    pub(crate) fn new(bound: Bound, interrupt: Interrupt) -> Arc<Pipe> {
        Arc::new(Pipe {
            state: Mutex::default(),
            changed: Condvar::new(),
            bound,
            interrupt,
            process: std::process::id(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False in a fork of the process that made it: its thread is not there, and its lock may be held for ever.
    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Nobody will ask for rows any more: the statement stops as soon as it can.
    pub(crate) fn abandon(&self) {
        if !self.is_ours() {
            return;
        }
        let mut state = self.lock();
        state.is_abandoned = true;
        state.batches.clear();
        // Only while it runs: its session may serve another statement afterwards.
        if !state.is_ended {
            self.interrupt.cancel();
        }
        self.changed.notify_all();
    }

    /// The statement has ended so; what follows is done before anybody hears of it, and not within reach of `abandon`.
    pub(crate) fn end_with(&self, outcome: Outcome, last: impl FnOnce()) {
        {
            let mut state = self.lock();
            state.outcome = Some(outcome);
            state.is_ended = true;
        }
        last();
        self.changed.notify_all();
    }

    /// Outcome of the statement, told once.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.lock().outcome.take()
    }

    /// True if the statement has failed.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.lock().outcome, Some(Err(_)))
    }

    /// True if the statement has ended.
    pub(crate) fn has_ended(&self) -> bool {
        !self.is_ours() || self.lock().is_ended
    }

    /// Cancels the statement: the reader of its rows is told.
    pub(crate) fn cancel(&self) {
        if self.is_ours() && !self.lock().is_ended {
            self.interrupt.cancel();
        }
    }

    /// Steps done and steps in all, as the statement tells them.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.interrupt.progress()
    }

    /// The names of the columns and what is known of their values; nothing before they are known.
    pub(crate) fn columns(&self) -> (Vec<Arc<str>>, Types) {
        let state = self.lock();
        (state.columns.clone().unwrap_or_default(), state.types.clone())
    }

    /// True if the statement has ended, or has got as far as `goal`; waits a little if not.
    pub(crate) fn has_reached(&self, goal: Goal, patience: Duration) -> bool {
        let is_reached = |state: &State| state.is_ended || goal == Goal::Rows && !state.batches.is_empty();
        let mut state = self.lock();
        if !is_reached(&state) && !patience.is_zero() {
            state = self.changed.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        is_reached(&state)
    }

    /// Reads what is there; waits a little if there is nothing.
    pub(crate) fn read(&self, patience: Duration) -> Found {
        if !self.is_ours() {
            return Found::End(Box::new(Some(Err(forked()))));
        }
        let mut state = self.lock();
        if state.batches.is_empty() && !state.is_ended && !patience.is_zero() {
            state = self.changed.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.is_abandoned {
            // A reader that abandoned the statement does not read on; any other reader would miss rows.
            let error = error!(Closed, "the connection or database was closed before all rows were read");
            let error = error.with_remedy("read the rows first, as with fetchall() or to_arrow()");
            return Found::End(Box::new(Some(Err(error))));
        }
        match state.batches.pop_front() {
            Some(batch) => {
                // Only a writer that waits has to be told, and it waits only if the pipe was full.
                if state.batches.len() + 1 >= BATCHES_MAX {
                    self.changed.notify_all();
                }
                Found::Rows(batch)
            }
            None if state.is_ended => Found::End(Box::new(state.outcome.take())),
            None => Found::Nothing,
        }
    }
}

/// The end of a pipe that a statement writes to.
pub(crate) struct PipeSink<'a>(pub(crate) &'a Pipe);

impl ResultSink for PipeSink<'_> {
    fn admits(&mut self, _outlook: &Outlook) -> bool {
        !self.0.lock().is_abandoned
    }

    fn column_types(&mut self, types: &Types) {
        self.0.lock().types = types.clone();
    }

    fn columns(&mut self, names: &[Arc<str>]) -> database::Result<()> {
        let mut state = self.0.lock();
        state.columns = Some(names.to_vec());
        self.0.changed.notify_all();
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> database::Result<bool> {
        let mut state = self.0.lock();
        while self.0.bound == Bound::Few && state.batches.len() >= BATCHES_MAX && !state.is_abandoned {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_abandoned {
            return Ok(false);
        }
        state.batches.push_back(batch);
        if state.batches.len() == 1 {
            self.0.changed.notify_all();
        }
        Ok(true)
    }
}
