//! SQLite databases as sources.
//!
//! - [`worker`]: a connection on a thread of its own, since its open statements cannot leave it.
//! - [`reading`]: questions and changes.
//! - [`cells`]: cells as values by the declared types of columns.
//! - [`inspect`]: the catalog.
//!
//! One read transaction answers all questions of a view, so that they are of one moment. Where the file is not in WAL mode a
//! writer waits until readers have ended, up to its time-out.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::{Error, Result, error};

use crate::catalog::{Catalog, Inspect, TableColumn};
use crate::check::{Finding, relational};
use crate::connector::{Abilities, Code, Condition, Connector, Facts, Question, Reading, Writing};
use crate::definition::GraphDefinition;
use crate::relational::known::{Known, know};
use crate::sql::{self, dialect};

mod cells;
mod inspect;
mod reading;
mod worker;

use inspect::Inspector;
use reading::SqliteReading;
use worker::Worker;

/// Connections that are kept open while nobody asks.
const IDLE_MAX: usize = 4;
/// Time that a locked file is waited for, if the URL does not state one.
const WAIT: Duration = Duration::from_secs(5);

/// The code of the driver.
pub(crate) const CODE: Code = Code {
    open: |url, definition| Ok(Arc::new(SqliteConnector::new(url, Arc::new(definition.clone()))?)),
    inspect: Some(|url| Ok(Box::new(SqliteConnector::new(url, Arc::default())?))),
};

/// A database file.
pub struct SqliteConnector {
    source: Arc<Source>,
}

/// The data that a connector and its readings share.
struct Source {
    name: String,
    file: File,
    definition: Arc<GraphDefinition>,
    idle: Mutex<Vec<Worker>>,
    known: Mutex<Option<Arc<Known>>>,
}

/// The file, and the way in which it is opened.
#[derive(Clone, Debug, PartialEq)]
struct File {
    path: PathBuf,
    is_read_only: bool,
    wait: Duration,
}

impl SqliteConnector {
    /// A source from a URL: `sqlite:path`, with `?mode=ro` to read only and `?busy_timeout=ms`. Opens nothing yet.
    pub fn new(url: &str, definition: Arc<GraphDefinition>) -> Result<SqliteConnector> {
        let file = parse(url)?;
        let name = format!("sqlite:{}", file.path.display());
        let source = Source { name, file, definition, idle: Mutex::default(), known: Mutex::default() };
        Ok(SqliteConnector { source: Arc::new(source) })
    }
}

impl Source {
    fn worker(&self) -> Result<Worker> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Worker::open(&self.name, &self.file), Ok)
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
        let fresh = Arc::new(self.look()?);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh.clone());
        Ok(fresh)
    }

    fn look(&self) -> Result<Known> {
        let definition = self.definition.clone();
        self.inspect(move |inspector| know(&definition, inspector, &cells::facts))
    }

    fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Inspector<'_, '_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let worker = self.worker()?;
        let found = worker.run(move |session| look(&mut Inspector { session }))?;
        self.keep(worker);
        Ok(found)
    }

    fn check_writable(&self) -> Result<()> {
        if self.file.is_read_only {
            return Err(error!(ReadOnly, "{}: opened for reading only", self.name).with_remedy("leave ?mode=ro out"));
        }
        Ok(())
    }

    fn writer<'a>(&'a self, known: &'a Known) -> sql::Writer<'a> {
        let definition = &*self.definition;
        sql::Writer { dialect: dialect::SQLITE, definition, catalog: &known.catalog, has_returning: true }
    }
}

impl Connector for SqliteConnector {
    fn abilities(&self) -> Abilities {
        let writes = !self.source.file.is_read_only;
        // A recursive query would compare ends as they are written.
        let lookahead = self.source.known().is_ok_and(|known| !sql::has_loose_ends(&self.source.writer(&known)));
        Abilities {
            snapshots: true,
            writes,
            boxes: true,
            lookahead,
            conditions: true,
            patterns: true,
            ..Abilities::default()
        }
    }

    fn facts(&self) -> Result<Facts> {
        Ok(self.source.look_anew()?.facts.clone())
    }

    fn read(&self) -> Result<Box<dyn Reading>> {
        Ok(Box::new(SqliteReading::new(self.source.clone())))
    }

    fn write(&self) -> Result<Box<dyn Writing>> {
        self.source.check_writable()?;
        let mut writing = SqliteReading::new(self.source.clone());
        writing.begin_writing()?;
        Ok(Box::new(writing))
    }

    fn write_later(&self) -> Result<Box<dyn Writing>> {
        self.source.check_writable()?;
        Ok(Box::new(SqliteReading::new(self.source.clone())))
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
        &self.source.name
    }

    fn catalog(&self) -> Result<Catalog> {
        self.source.inspect(|inspector| inspector.catalog())
    }

    fn check(&self) -> Result<Vec<Finding>> {
        let definition = self.source.definition.clone();
        self.source.inspect(move |inspector| relational::findings(&definition, inspector))
    }
}

impl Inspect for SqliteConnector {
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
        sql::quote::name(dialect::SQLITE, name)
    }
}

/// The error of a URL that cannot be read.
fn bad(url: &str, what: &str) -> Error {
    error!(Argument, "{url}: {what}").with_remedy("write it as sqlite:shop.db?mode=ro&busy_timeout=5000")
}

/// Reads `sqlite:path?settings`; `sqlite://path` is taken too.
fn parse(url: &str) -> Result<File> {
    let rest = url.strip_prefix("sqlite:").or_else(|| url.strip_prefix("sqlite3:")).unwrap_or(url);
    let (path, settings) = rest.split_once('?').unwrap_or((rest, ""));
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(bad(url, "expected a path after sqlite:"));
    }
    let mut file = File { path: PathBuf::from(path), is_read_only: false, wait: WAIT };
    for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
        match setting.split_once('=') {
            Some(("mode", "ro")) => file.is_read_only = true,
            Some(("mode", "rw")) => file.is_read_only = false,
            Some(("busy_timeout", number)) => {
                let number = number.parse().map_err(|_| bad(url, "busy_timeout is a number of milliseconds"))?;
                file.wait = Duration::from_millis(number);
            }
            _ => {
                return Err(bad(url, &format!("there is no setting `{setting}`, only mode and busy_timeout")));
            }
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{WAIT, parse};

    #[test]
    fn urls_name_a_file() {
        for (url, path, is_read_only, wait) in [
            ("sqlite:a/b.db", "a/b.db", false, WAIT),
            ("sqlite:///a/b.db?mode=ro", "/a/b.db", true, WAIT),
            ("sqlite:b.db?busy_timeout=20&mode=rw", "b.db", false, Duration::from_millis(20)),
        ] {
            let file = parse(url).unwrap();
            assert_eq!(
                (file.path.to_str().unwrap(), file.is_read_only, file.wait),
                (path, is_read_only, wait),
                "{url}"
            );
        }
        for url in ["sqlite:", "sqlite:a?mode=x", "sqlite:a?busy_timeout=x", "sqlite:a?b"] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
