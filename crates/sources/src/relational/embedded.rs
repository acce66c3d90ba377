//! Databases that run in this process, as sources: SQLite, DuckDB.
//!
//! - [`client`]: statements of SQL that are timed.
//! - [`worker`]: a connection on a thread of its own, which can be told to give up what others wait for.
//! - [`reading`]: questions and changes, in a transaction of a connection.
//!
//! An engine opens connections and knows its types; connections that are free, the catalog and what follows from it are kept
//! here.

use std::sync::{Arc, Mutex, PoisonError};

use model::{Error, Result};

use crate::catalog::{Catalog, Inspect, TableColumn};
use crate::check::{Finding, relational};
use crate::connector::{Abilities, Condition, Connector, Facts, Question, Reading, Writing};
use crate::definition::GraphDefinition;
use crate::relational::known::{Known, know};
use crate::sql::{self, ColumnFacts, Dialect};

pub(crate) mod client;
pub(crate) mod reading;
pub(crate) mod worker;

use reading::EmbeddedReading;
use worker::{Serve, Session, Worker};

/// Connections that are kept open while nobody asks.
const IDLE_MAX: usize = 4;

/// A database in this process.
pub(crate) trait Engine: Send + Sync + 'static {
    /// The name of the threads that have connections.
    const THREAD: &'static str;
    /// The command that begins a transaction which reads; a change makes it one that writes.
    const BEGIN: &'static str;
    /// The command that begins a transaction which writes, waiting for others who do.
    const BEGIN_WRITING: &'static str;
    /// The command after which a connection refuses to write, if one is needed.
    const READ_ONLY: Option<&'static str>;
    /// Its SQL.
    const DIALECT: &'static dyn Dialect;
    /// True if it follows edges by recursive queries.
    const FOLLOWS_EDGES: bool;
    /// True if a transaction has points that it can be undone to.
    const HAS_SAVEPOINTS: bool;

    /// The source as messages name it.
    fn name(&self) -> &str;
    /// Opens a connection on this thread and has it served until nobody needs it.
    fn connect(&self, serve: Serve<'_>) -> Result<()>;
    /// The facts of a column that statements need.
    fn facts(column: &TableColumn) -> ColumnFacts;
    /// The error for a change, if the database is open for reading only.
    fn unwritable(&self) -> Option<Error>;
    /// True if a change failed since another connection writes, and waiting does not help.
    fn is_conflict(failure: &Error) -> bool;
}

/// A connector to a database in this process.
pub(crate) struct EmbeddedConnector<E: Engine> {
    source: Arc<Source<E>>,
}

/// The data that a connector and its readings share.
struct Source<E> {
    engine: Arc<E>,
    definition: Arc<GraphDefinition>,
    idle: Mutex<Vec<Worker>>,
    known: Mutex<Option<Arc<Known>>>,
}

impl<E: Engine> EmbeddedConnector<E> {
    /// A source. Opens nothing yet.
    pub(crate) fn new(engine: E, definition: &GraphDefinition) -> EmbeddedConnector<E> {
        let (engine, definition) = (Arc::new(engine), Arc::new(definition.clone()));
        let source = Source { engine, definition, idle: Mutex::default(), known: Mutex::default() };
        EmbeddedConnector { source: Arc::new(source) }
    }
}

impl<E: Engine> Source<E> {
    fn worker(&self) -> Result<Worker> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Worker::open(self.engine.clone()), Ok)
    }

    /// Takes a connection back, in no transaction.
    fn keep(&self, worker: Worker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(worker);
        }
    }

    /// The facts of the catalog, asked for once.
    fn known(&self) -> Result<Arc<Known>> {
        if let Some(known) = &*self.known.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(known.clone());
        }
        self.look_anew()
    }

    /// Asks the catalog, without the lock: a thread that waits for the lock meanwhile could not be stopped.
    fn look_anew(&self) -> Result<Arc<Known>> {
        let definition = self.definition.clone();
        let fresh = Arc::new(self.inspect(move |inspector| know(&definition, inspector, &E::facts))?);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh.clone());
        Ok(fresh)
    }

    fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut dyn Inspect) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let worker = self.worker()?;
        let found = worker.run(move |session: &mut dyn Session| look(&mut *session.inspector()))?;
        self.keep(worker);
        Ok(found)
    }

    fn check_writable(&self) -> Result<()> {
        self.engine.unwritable().map_or(Ok(()), Err)
    }

    fn writer<'a>(&'a self, known: &'a Known) -> sql::Writer<'a> {
        let definition = &*self.definition;
        sql::Writer { dialect: E::DIALECT, definition, catalog: &known.catalog, has_returning: true }
    }
}

impl<E: Engine> Connector for EmbeddedConnector<E> {
    fn abilities(&self) -> Abilities {
        let source = &self.source;
        // A recursive query would compare ends as they are written.
        let can_follow = || source.known().is_ok_and(|known| !sql::has_loose_ends(&source.writer(&known)));
        Abilities {
            snapshots: true,
            writes: source.engine.unwritable().is_none(),
            boxes: true,
            lookahead: E::FOLLOWS_EDGES && can_follow(),
            conditions: true,
            patterns: true,
            ..Abilities::default()
        }
    }

    fn facts(&self) -> Result<Facts> {
        Ok(self.source.look_anew()?.facts.clone())
    }

    fn read(&self) -> Result<Box<dyn Reading>> {
        Ok(Box::new(EmbeddedReading::new(self.source.clone())))
    }

    fn write(&self) -> Result<Box<dyn Writing>> {
        self.source.check_writable()?;
        let mut writing = EmbeddedReading::new(self.source.clone());
        writing.begin_writing()?;
        Ok(Box::new(writing))
    }

    fn write_later(&self) -> Result<Box<dyn Writing>> {
        self.source.check_writable()?;
        Ok(Box::new(EmbeddedReading::new(self.source.clone())))
    }

    fn statement(&self, question: &Question<'_>) -> Option<String> {
        let known = self.source.known().ok()?;
        let statements = self.source.writer(&known).question(question).ok()?;
        Some(statements.into_iter().map(|statement| statement.text).collect::<Vec<_>>().join(";\n"))
    }

    fn finds(&self, kind: usize, condition: &Condition) -> bool {
        self.source.known().is_ok_and(|known| self.source.writer(&known).finds(kind, condition))
    }

    fn sorts(&self, kind: usize, properties: &[usize]) -> bool {
        self.source.known().is_ok_and(|known| self.source.writer(&known).sorts(kind, properties))
    }

    fn name(&self) -> &str {
        self.source.engine.name()
    }

    fn catalog(&self) -> Result<Catalog> {
        self.source.inspect(|inspector| inspector.catalog())
    }

    fn check(&self) -> Result<Vec<Finding>> {
        let definition = self.source.definition.clone();
        self.source.inspect(move |inspector| relational::findings(&definition, inspector))
    }
}

impl<E: Engine> Inspect for EmbeddedConnector<E> {
    fn catalog(&mut self) -> Result<Catalog> {
        Connector::catalog(self)
    }

    fn columns(&mut self, sql: &str) -> Result<Vec<TableColumn>> {
        let sql = sql.to_owned();
        self.source.inspect(move |inspector| inspector.columns(&sql))
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        let sql = sql.to_owned();
        self.source.inspect(move |inspector| inspector.number(&sql))
    }

    fn quote(&self, name: &str) -> String {
        sql::quote::name(E::DIALECT, name)
    }
}
