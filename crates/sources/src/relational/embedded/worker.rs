//! A connection on a thread of its own: what it has open may not leave its thread, and a thread that waits for it can still be
//! told that the run it waits for is over.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Column, Result, error};

use super::Engine;
use crate::catalog::Inspect;
use crate::sql::{Form, ParameterValue, Statement};

/// Rows that are read before they are handed over.
pub(crate) const BATCH: usize = 4096;

/// Time that an answer is waited for before a look if anybody still wants it.
const LOOK_AFTER: Duration = Duration::from_millis(100);

type Job = Box<dyn FnOnce(&mut dyn Session) + Send>;

/// Has the database give up what it does, from another thread.
pub(crate) type Interrupter = Box<dyn Fn() + Send + Sync>;

/// Serves a connection, which may be interrupted, until nobody needs it.
pub(crate) type Serve<'a> = &'a mut dyn FnMut(&mut dyn Session, Interrupter);

/// A statement that can be sent to another thread.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) text: String,
    pub(crate) parameters: Vec<ParameterValue<'static>>,
    /// The form in which each column of its rows is read.
    pub(crate) forms: Vec<Form>,
}

impl Prepared {
    pub(crate) fn of(statement: &Statement<'_>) -> Prepared {
        let owned = statement.clone().into_owned();
        let forms = owned.forms();
        let parameters = owned.parameters.into_iter().map(|parameter| parameter.value).collect();
        Prepared { text: owned.text, parameters, forms }
    }
}

/// A connection as its thread sees it.
pub(crate) trait Session {
    /// Executes a command without rows: the begin and end of transactions.
    fn command(&mut self, text: &str) -> Result<()>;
    /// Hands the rows of a statement over in batches, as long as they are wanted.
    fn query(&mut self, statement: &Prepared, sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>) -> Result<()>;
    /// Executes a statement without rows; the answer is how many rows it changed.
    fn execute(&mut self, statement: &Prepared) -> Result<usize>;
    /// Begins to read the rows of a statement piece by piece.
    fn start(&mut self, statement: &Prepared) -> Result<u64>;
    /// Further rows of a stream; fewer than wanted at its end.
    fn more(&mut self, stream: u64, most: usize) -> Result<(Vec<Column>, usize)>;
    /// Closes a stream.
    fn stop(&mut self, stream: u64);
    /// Closes all streams.
    fn close_streams(&mut self);
    /// Closes everything and gives changes up that were not committed.
    fn reset(&mut self) -> Result<()>;
    /// The connection as one that tables are looked at through.
    fn inspector(&mut self) -> Box<dyn Inspect + '_>;
}

/// A thread with a connection, until it is dropped.
pub(crate) struct Worker {
    jobs: Sender<Job>,
    interrupt: Interrupter,
    thread: JoinHandle<()>,
}

impl Worker {
    pub(crate) fn open<E: Engine>(engine: Arc<E>) -> Result<Worker> {
        let (jobs, inbox) = channel::<Job>();
        let (opened, wait) = sync_channel(1);
        let thread = std::thread::Builder::new().name(E::THREAD.into());
        let spawned = thread.spawn(move || {
            let mut serve = |session: &mut dyn Session, interrupt: Interrupter| {
                if opened.send(Ok(interrupt)).is_err() {
                    return;
                }
                while let Ok(job) = inbox.recv() {
                    job(session);
                }
            };
            if let Err(failure) = engine.connect(&mut serve) {
                drop(opened.send(Err(failure)));
            }
        });
        let thread = spawned.map_err(|cause| error!(Source, "cannot start a thread for a connection: {cause}"))?;
        let interrupt = wait.recv().unwrap_or_else(|_| Err(stopped()))?;
        Ok(Worker { jobs, interrupt, thread })
    }

    /// Closes the connection and waits until it is closed.
    pub(crate) fn close(self) {
        drop(self.jobs);
        let _ = self.thread.join();
    }

    /// Does something with the connection and waits until it is done.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut dyn Session) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, wait) = sync_channel(1);
        self.send(move |session| drop(done.send(job(session))))?;
        self.wait(&wait).and_then(|answer| answer)
    }

    /// Waits for an answer. If the run that wants it is over, the database is told to give up, and the reason is given.
    pub(crate) fn wait<T>(&self, inbox: &Receiver<T>) -> Result<T> {
        loop {
            match inbox.recv_timeout(LOOK_AFTER) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(unwanted) = model::interrupt::check_this_thread() {
                        (self.interrupt)();
                        return Err(unwanted);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(stopped()),
            }
        }
    }

    /// Does something with the connection while others wait for what it hands over.
    pub(crate) fn send(&self, job: impl FnOnce(&mut dyn Session) + Send + 'static) -> Result<()> {
        self.jobs.send(Box::new(job)).map_err(|_| stopped())
    }
}

fn stopped() -> model::Error {
    error!(Internal, "the thread of a connection has stopped")
}
