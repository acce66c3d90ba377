//! A session wherever the graph is: in this process, in another one, on a server.

use std::sync::Arc;
use std::time::Duration;

use database::registry::Tables;
use database::{
    IsolationLevel, Parameters, Priority, QueryResult, ResultSink, StatementSummary, TransactionVerb, transaction_verb,
};
use model::{Interrupt, Result, error};

use crate::graph::{Graph, Place};
use crate::remote::{Failed, Remote, Settings};

/// Number of times that a statement is sent anew, because it has certainly not run where it was sent.
const ATTEMPTS: usize = 8;

/// The place of a session at present.
enum Seat {
    /// It has none, or lost it.
    None,
    Here(Box<database::Session>),
    There(Box<Remote>),
}

/// A session: runs statements, one at a time.
pub struct Session {
    graph: Graph,
    seat: Seat,
    /// The flag that stops a statement, wherever that runs.
    interrupt: Interrupt,
    timeout: Option<Duration>,
    settings: Settings,
    /// The tables that `LOAD FROM` knows.
    tables: Option<Arc<Tables>>,
}

impl Session {
    pub(crate) fn new(graph: Graph) -> Session {
        let (timeout, settings) = (graph.config().timeout, graph.settings());
        Session { graph, seat: Seat::None, interrupt: Interrupt::new(), timeout, settings, tables: None }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Sees that the session has a place, before a statement: a process that has ended may have left it without. Unless it is called,
    /// the next statement does it.
    ///
    /// # Errors
    /// Fails if the graph cannot be reached nor opened.
    pub fn settle(&mut self, interrupt: &Interrupt) -> Result<()> {
        let is_seated = match &mut self.seat {
            Seat::None => false,
            Seat::Here(_) => true,
            // A transaction that is lost is told of by the statement. Settings are told where a session begins.
            Seat::There(remote) => remote.in_transaction() || remote.settings() == self.settings && remote.is_alive(),
        };
        if is_seated {
            return Ok(());
        }
        self.seat = match self.graph.settle_again(self.settings, interrupt)? {
            Place::Here(database) => Seat::Here(Box::new(database.session_stopped_by(self.interrupt.clone()))),
            Place::There(remote) => Seat::There(remote),
        };
        self.prepare();
        Ok(())
    }

    /// Tells a session in this process its settings.
    fn prepare(&mut self) {
        if let Seat::Here(session) = &mut self.seat {
            session.set_timeout(self.timeout);
            session.set_isolation(self.settings.isolation);
            session.set_priority(self.settings.priority);
            session.set_query_memory(self.settings.query_memory_max);
            session.set_tables(self.tables.clone());
        }
    }

    /// True if the session is in this process.
    pub fn is_here(&self) -> bool {
        matches!(self.seat, Seat::Here(_))
    }

    /// The session of the database, which must be open in this process to do what the verb says.
    ///
    /// # Errors
    /// `UNSUPPORTED` if it is elsewhere, besides the errors of [`Session::settle`].
    pub fn here_to(&mut self, verb: &str) -> Result<&mut database::Session> {
        self.interrupt.reset();
        self.settle(&self.interrupt.clone())?;
        match &mut self.seat {
            Seat::Here(session) => Ok(session),
            _ => Err(self.graph.is_elsewhere(verb)),
        }
    }

    /// The flag that stops the running statement, from another thread.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Sets the time limit of statements that are run from now on; `None` for no limit.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
        self.prepare();
    }

    /// Sets the isolation of transactions that are begun from now on.
    pub fn set_isolation(&mut self, isolation: IsolationLevel) {
        self.settings.isolation = isolation;
        self.prepare();
    }

    /// Sets the priority of statements that are run from now on; within a transaction in another process, from its end on.
    pub fn set_priority(&mut self, priority: Priority) {
        self.settings.priority = priority;
        self.prepare();
    }

    /// Sets the memory limit of statements, in bytes, as [`Session::set_priority`] does; `None` for half of the database's.
    pub fn set_query_memory(&mut self, bytes: Option<usize>) {
        self.settings.query_memory_max = bytes;
        self.prepare();
    }

    /// Sets the tables that `LOAD FROM` knows in the statements that are run from now on, in this process.
    pub fn set_tables(&mut self, tables: Option<Arc<Tables>>) {
        self.tables = tables;
        self.prepare();
    }

    /// True if a transaction was begun.
    pub fn in_transaction(&self) -> bool {
        match &self.seat {
            Seat::None => false,
            Seat::Here(session) => session.in_transaction(),
            Seat::There(remote) => remote.in_transaction(),
        }
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// As those of a session of the database, and `CONNECTION`.
    pub fn begin(&mut self) -> Result<()> {
        if self.in_transaction() {
            return Err(error!(TransactionState, "a transaction is open already").with_remedy("commit or roll it back"));
        }
        self.interrupt.reset();
        self.attempt(|seat, interrupt, _| match seat {
            Seat::Here(session) => Ok(session.begin()?),
            Seat::There(remote) => remote.begin(interrupt),
            Seat::None => Ok(()),
        })
    }

    /// Makes the transaction's writes durable and visible.
    ///
    /// # Errors
    /// As those of a session of the database, `CONNECTION`, and `OUTCOME_UNKNOWN` if the connection is lost before it is told.
    pub fn commit(&mut self) -> Result<()> {
        self.interrupt.reset();
        match &mut self.seat {
            Seat::Here(session) => session.commit(),
            Seat::There(remote) if remote.in_transaction() => remote.commit(&self.interrupt),
            _ => Err(no_transaction("commit")),
        }
    }

    /// Undoes the transaction's writes.
    ///
    /// # Errors
    /// Fails without a transaction.
    pub fn rollback(&mut self) -> Result<()> {
        match &mut self.seat {
            Seat::Here(session) => session.rollback(),
            Seat::There(remote) if remote.in_transaction() => remote.roll_back(),
            _ => Err(no_transaction("roll back")),
        }
    }

    /// Runs one statement and holds its whole result.
    ///
    /// # Errors
    /// As those of [`Session::run`].
    pub fn query(&mut self, text: &str, parameters: &Parameters) -> Result<QueryResult> {
        let mut result = QueryResult::default();
        result.summary = self.run(text, parameters, &mut result)?;
        Ok(result)
    }

    /// Runs one statement and gives its rows to a sink as they come.
    ///
    /// # Errors
    /// As those of a session of the database; `CONNECTION` if the connection is lost and nothing of it stays, or all of it that it
    /// wrote; `OUTCOME_UNKNOWN` if that cannot be told.
    pub fn run(&mut self, text: &str, parameters: &Parameters, sink: &mut dyn ResultSink) -> Result<StatementSummary> {
        self.interrupt.reset();
        self.settle(&self.interrupt.clone())?;
        if let Seat::There(_) = self.seat
            && let Some(verb) = transaction_verb(text)
        {
            match verb {
                TransactionVerb::Begin => self.begin()?,
                TransactionVerb::Commit => self.commit()?,
                TransactionVerb::Rollback => self.rollback()?,
            }
            return Ok(StatementSummary::default());
        }
        if self.tables.is_some() && matches!(self.seat, Seat::There(_)) {
            return Err(self.graph.is_elsewhere("LOAD FROM with a table of this program"));
        }
        self.attempt(|seat, interrupt, timeout| match seat {
            Seat::Here(session) => Ok(session.run(text, parameters, sink)?),
            Seat::There(remote) => {
                let _listening = interrupt.listen();
                remote.run(text, parameters, timeout, interrupt, sink)
            }
            Seat::None => Ok(StatementSummary::default()),
        })
    }

    /// Runs one statement as [`Session::run`] does, but only in this process, and only for so long: `None` if it takes longer, or the
    /// graph is elsewhere. It has then left no trace, and what it has given to the sink is void.
    ///
    /// # Errors
    /// As those of [`Session::run`].
    pub fn run_briefly(
        &mut self,
        text: &str,
        parameters: &Parameters,
        sink: &mut dyn ResultSink,
        limit: Duration,
    ) -> Result<Option<StatementSummary>> {
        self.interrupt.reset();
        self.settle(&self.interrupt.clone())?;
        match &mut self.seat {
            Seat::Here(session) => session.run_briefly(text, parameters, sink, limit),
            _ => Ok(None),
        }
    }

    /// Does something at the place of the session, at another one if that has ended before it did anything of it.
    fn attempt<T>(
        &mut self,
        mut work: impl FnMut(&mut Seat, &Interrupt, Option<Duration>) -> Result<T, Failed>,
    ) -> Result<T> {
        let interrupt = self.interrupt.clone();
        let mut attempt = 0;
        loop {
            self.settle(&interrupt)?;
            attempt += 1;
            match work(&mut self.seat, &interrupt, self.timeout) {
                Ok(done) => return Ok(done),
                Err(Failed::NotSent(_)) if attempt < ATTEMPTS => self.seat = Seat::None,
                Err(failed) => return Err(failed.into_error()),
            }
        }
    }
}

fn no_transaction(verb: &str) -> model::Error {
    error!(TransactionState, "there is no transaction to {verb}").with_remedy("begin one first")
}
