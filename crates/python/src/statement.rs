//! Running a statement: here, if it is expected to be short, or by another thread while this one listens to signals.
//!
//! A statement that turns out longer than expected is stopped, which leaves no trace, and started again by another
//! thread. Rows that were found by then have been shown to nobody.
//!
//! Cost: a short statement needs no other thread; a long one a few microseconds to reach it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use client::Session;
use database::registry::Tables;
use database::{
    Action, Error, IsolationLevel, Outlook, Parameters, Priority, ResultBatch, ResultSink, StatementSummary,
    transaction_verb,
};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::pipe::{Bound, Goal, Pipe, PipeSink, Types};
use crate::shared::{Seat, Shared, closed};
use crate::worker;

/// Rows of all operators together that a statement may be expected to make if it is run here.
const HERE_WORK_MAX: f64 = 50_000.0;
/// Rows that a statement that is run here may give.
const HERE_ROWS_MAX: usize = 16_384;
/// Time that a statement that is run here may take.
const HERE_TIME_MAX: Duration = Duration::from_millis(50);
/// Interval at which this thread looks for signals while it waits for another.
pub(crate) const SIGNAL_STEP: Duration = Duration::from_millis(40);
/// Interval at which a statement that is to stop is told so.
const STOP_STEP: Duration = Duration::from_millis(2);

/// Settings of statements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) timeout: Option<Duration>,
    pub(crate) query_memory: Option<usize>,
    pub(crate) isolation: IsolationLevel,
    pub(crate) priority: Priority,
}

/// A statement to run.
pub(crate) struct Request {
    pub(crate) text: Arc<str>,
    pub(crate) parameters: Parameters,
    pub(crate) settings: Settings,
    /// Tables that `LOAD FROM` knows.
    pub(crate) tables: Option<Arc<Tables>>,
    /// Callable that is told how far the statement has come.
    pub(crate) progress: Option<Py<PyAny>>,
}

/// A statement that has begun to give rows, or has ended.
pub(crate) struct Started {
    pub(crate) columns: Vec<Arc<str>>,
    /// Types of their values, as far as they are known before there are any.
    pub(crate) types: Types,
    pub(crate) ready: VecDeque<ResultBatch>,
    pub(crate) rest: Rest,
}

/// Part of the result that is still to come.
pub(crate) enum Rest {
    /// Nothing, since it has ended.
    Nothing(Box<StatementSummary>),
    /// Rows that another thread makes.
    Piped(Stream),
}

/// The reading end of a pipe: dropped, it ends the statement.
pub(crate) struct Stream(pub(crate) Arc<Pipe>);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Takes the rows of a statement that is run here, as long as there are few.
#[derive(Default)]
struct HereSink {
    outlook: Option<Outlook>,
    columns: Vec<Arc<str>>,
    types: Types,
    batches: VecDeque<ResultBatch>,
    rows: usize,
    /// True if statements that begin or end a transaction are refused here, since they may wait for others.
    refuses_control: bool,
    is_refused: bool,
}

impl ResultSink for HereSink {
    fn admits(&mut self, outlook: &Outlook) -> bool {
        self.outlook = Some(*outlook);
        self.is_refused = match outlook.action {
            Action::Control | Action::Administration | Action::Transaction => self.refuses_control,
            Action::Read | Action::Write => outlook.calls_procedure || outlook.work > HERE_WORK_MAX,
            Action::Batches | Action::Copy | Action::Attach | Action::Maintenance => true,
        };
        !self.is_refused
    }

    fn column_types(&mut self, types: &Types) {
        self.types = types.clone();
    }

    fn columns(&mut self, names: &[Arc<str>]) -> database::Result<()> {
        self.columns = names.to_vec();
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> database::Result<bool> {
        self.rows += batch.rows;
        self.batches.push_back(batch);
        // The result of a statement that has written cannot be computed again.
        let is_repeatable = self.outlook.is_some_and(|outlook| outlook.action == Action::Read);
        self.is_refused = is_repeatable && self.rows > HERE_ROWS_MAX;
        Ok(!self.is_refused)
    }
}

/// Runs a statement in a session taken for it.
pub(crate) fn run_once(py: Python<'_>, shared: &Arc<Shared>, request: Request) -> PyResult<Started> {
    let seat = shared.borrow_seat().map_err(Failure::plain)?;
    let tried = run_here(py, &seat, &request, Isolated::Refuse);
    match tried {
        Ok(Tried::Done(started)) => {
            shared.return_seat(seat);
            Ok(started)
        }
        Ok(Tried::Refused(action)) => run_there(py, seat, Some(shared.clone()), request, action, None),
        Ok(Tried::Elsewhere) => run_there(py, seat, Some(shared.clone()), request, None, None),
        Err(failure) => {
            shared.return_seat(seat);
            Err(failure)
        }
    }
}

/// Runs a statement in a session that is kept, in the transaction that it has open. What only reads and is long, or runs in another
/// process, which gives rows after the commit, is run in another session if there is no transaction, so that the next statement need
/// not wait for its last row.
pub(crate) fn run_kept(py: Python<'_>, shared: &Arc<Shared>, seat: &Arc<Seat>, request: Request) -> PyResult<Started> {
    let (action, is_free) = match run_here(py, seat, &request, Isolated::Allow)? {
        Tried::Done(started) => return Ok(started),
        Tried::Refused(action) => (action, action == Some(Action::Read)),
        Tried::Elsewhere => (None, transaction_verb(&request.text).is_none()),
    };
    if !is_free || in_transaction(py, seat)? {
        return run_there(py, seat.clone(), None, request, action, None);
    }
    let other = shared.borrow_seat().map_err(Failure::plain)?;
    run_there(py, other, Some(shared.clone()), request, action, Some(seat))
}

/// True if a session has a transaction open.
pub(crate) fn in_transaction(py: Python<'_>, seat: &Seat) -> PyResult<bool> {
    let found = py.detach(|| Ok::<_, Error>(seat.lock()?.as_ref().ok_or_else(closed)?.in_transaction()));
    Ok(found.map_err(Failure::plain)?)
}

/// Permission of a session to stay in a transaction after the statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Isolated {
    Allow,
    Refuse,
}

enum Tried {
    Done(Started),
    /// It is not short. What it does is known unless even that took too long to find out.
    Refused(Option<Action>),
    /// Its session is in another process, which this thread must not wait for.
    Elsewhere,
}

fn run_here(py: Python<'_>, seat: &Seat, request: &Request, isolated: Isolated) -> PyResult<Tried> {
    // A session that stays is the only one in which a transaction can be begun or ended.
    let mut sink = HereSink { refuses_control: isolated == Isolated::Allow, ..HereSink::default() };
    let mut is_elsewhere = false;
    let outcome = py.detach(|| {
        let mut guard = seat.lock()?;
        let outcome = run_in(&mut guard, request, |session| {
            let outcome = session.run_briefly(&request.text, &request.parameters, &mut sink, HERE_TIME_MAX);
            is_elsewhere = !session.is_here();
            outcome
        });
        if isolated == Isolated::Refuse {
            refuse_transaction(&mut guard)?;
        }
        outcome
    });
    match outcome {
        Ok(None) if is_elsewhere => Ok(Tried::Elsewhere),
        Ok(Some(summary)) if !sink.is_refused => Ok(Tried::Done(Started {
            columns: sink.columns,
            types: sink.types,
            ready: sink.batches,
            rest: Rest::Nothing(Box::new(summary)),
        })),
        // It was stopped for its length here: nothing has happened.
        Ok(_) => Ok(Tried::Refused(sink.outlook.map(|outlook| outlook.action))),
        Err(error) => Err(Failure::of(error, &request.text).into()),
    }
}

/// A session that was taken for one statement stays in no transaction.
fn refuse_transaction(guard: &mut Option<Session>) -> Result<(), Error> {
    match guard.as_mut().filter(|session| session.in_transaction()) {
        Some(session) => {
            session.rollback()?;
            Err(model::error!(TransactionState, "BEGIN needs a connection that stays the same")
                .with_remedy("use `with db.transaction() as tx`, or db.cursor() for a connection"))
        }
        None => Ok(()),
    }
}

/// Runs a statement in a session. One that panics is lost, and nothing else.
fn run_in<T>(
    guard: &mut Option<Session>,
    request: &Request,
    run: impl FnOnce(&mut Session) -> Result<T, Error>,
) -> Result<T, Error> {
    caught(guard, |session| {
        let settings = &request.settings;
        session.set_timeout(settings.timeout);
        session.set_query_memory(settings.query_memory);
        session.set_isolation(settings.isolation);
        session.set_priority(settings.priority);
        session.set_tables(request.tables.clone());
        run(session)
    })
}

fn caught<T>(guard: &mut Option<Session>, run: impl FnOnce(&mut Session) -> Result<T, Error>) -> Result<T, Error> {
    let session = guard.as_mut().ok_or_else(closed)?;
    catch_unwind(AssertUnwindSafe(|| run(session))).unwrap_or_else(|_| {
        guard.take();
        Err(model::error!(Internal, "the engine panicked; the session is lost, the database is not"))
    })
}

/// Has another thread begin or end the transaction of a session, which may have to wait for other transactions, and listens to
/// signals meanwhile.
pub(crate) fn control(
    py: Python<'_>,
    seat: &Arc<Seat>,
    action: impl FnOnce(&mut Session) -> Result<(), Error> + Send + 'static,
) -> PyResult<()> {
    let pipe = Pipe::new(Bound::All, seat.interrupt.clone());
    seat.set_pipe(&pipe);
    let (writer, seat) = (pipe.clone(), seat.clone());
    worker::run(Box::new(move || {
        let outcome = seat.lock().and_then(|mut guard| caught(&mut guard, action));
        writer.end_with(outcome.map(|()| StatementSummary::default()), || drop(seat));
    }))
    .map_err(Failure::plain)?;
    listen(py, &pipe, Goal::End, None)?;
    match pipe.outcome() {
        Some(Err(error)) => Err(Failure::plain(error).into()),
        _ => Ok(()),
    }
}

/// Has a statement run by another thread; `asked` is the connection it is run for, if that is another one's session.
fn run_there(
    py: Python<'_>,
    seat: Arc<Seat>,
    home: Option<Arc<Shared>>,
    mut request: Request,
    action: Option<Action>,
    asked: Option<&Arc<Seat>>,
) -> PyResult<Started> {
    let progress = request.progress.take();
    let text = request.text.clone();
    // A statement that writes ends before it gives rows; one that stays in its session makes the next statement wait.
    let (bound, goal) = match (&home, action) {
        (Some(_), None | Some(Action::Read)) => (Bound::Few, Goal::Rows),
        _ => (Bound::All, Goal::End),
    };
    let pipe = Pipe::new(bound, seat.interrupt.clone());
    seat.set_pipe(&pipe);
    if let Some(asked) = asked {
        asked.set_pipe(&pipe);
    }
    let (writer, shared) = (pipe.clone(), home);
    worker::run(Box::new(move || {
        let outcome = seat.lock().and_then(|mut guard| {
            let outcome = run_in(&mut guard, &request, |session| {
                session.run(&request.text, &request.parameters, &mut PipeSink(&writer))
            });
            if shared.is_some() {
                refuse_transaction(&mut guard)?;
            }
            outcome
        });
        drop(request);
        if let Some(shared) = shared {
            writer.end_with(outcome, || shared.return_seat(seat));
        } else {
            writer.end_with(outcome, || drop(seat));
        }
    }))
    .map_err(Failure::plain)?;
    let stream = Stream(pipe);
    listen(py, &stream.0, goal, progress.as_ref())?;
    if stream.0.has_failed()
        && let Some(Err(error)) = stream.0.outcome()
    {
        return Err(Failure::of(error, &text).into());
    }
    let (columns, types) = stream.0.columns();
    Ok(Started { columns, types, ready: VecDeque::new(), rest: Rest::Piped(stream) })
}

/// Waits until a statement has got that far, listens to signals and tells how far it has come. A signal that raises an
/// exception (as Ctrl-C does) ends the statement first.
pub(crate) fn listen(py: Python<'_>, pipe: &Pipe, goal: Goal, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    loop {
        if py.detach(|| pipe.has_reached(goal, SIGNAL_STEP)) {
            return Ok(());
        }
        let mut heard = py.check_signals();
        if let (Ok(()), Some(progress)) = (&heard, progress) {
            let (done, total) = pipe.progress();
            heard = progress.call1(py, (done, total)).map(|_| ());
        }
        if let Err(exception) = heard {
            py.detach(|| stop(pipe));
            return Err(exception);
        }
    }
}

/// Ends a statement, and waits until it has ended.
pub(crate) fn stop(pipe: &Pipe) {
    loop {
        // A statement that begins lowers the flag, so it is raised again.
        pipe.abandon();
        if pipe.has_reached(Goal::End, STOP_STEP) {
            return;
        }
    }
}
