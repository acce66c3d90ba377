//! MySQL and MariaDB databases as sources.
//!
//! - [`session`]: a connection. [`cells`]: values. [`reading`]: questions and changes. [`inspect`]: the catalog.
//! - [`client`]: statements of SQL.
//! - [`watch`]: those who wait. [`socket`]: how long they may wait.
//!
//! A reading is a transaction that begins with a consistent snapshot: for tables of InnoDB all that it answers is of one
//! moment.

use std::sync::{Arc, Mutex, PoisonError};

use model::{PropertyKind, Result};

use crate::catalog::{Catalog, Inspect, TableColumn};
use crate::check::{Finding, relational};
use crate::connector::{Abilities, Code, Condition, Connector, Facts, Question, Reading, Writing};
use crate::definition::{GraphDefinition, Rows};
use crate::relational::known::{Known, know};
use crate::sql::{self, dialect};

mod cells;
mod client;
mod inspect;
mod reading;
mod session;
mod socket;
mod watch;

use inspect::Looker;
use reading::MysqlReading;
use session::{Session, Settings};

/// Connections that are kept open while nobody asks.
const IDLE_MAX: usize = 8;

/// Kinds and ways of edges that one recursive query follows, each by a part that names the rows reached so far. MariaDB
/// (10.11) takes about three times the memory for each further part: 30 MB for 8, 3.5 GB for 12, all there is for 14.
const RECURSIVE_PARTS_MAX: usize = 4;

/// The code of the driver.
pub(crate) const CODE: Code = Code {
    open: |url, definition| Ok(Arc::new(MysqlConnector::open(url, definition)?)),
    inspect: Some(|url| Ok(Box::new(MysqlConnector::open(url, &GraphDefinition::default())?))),
    client: Some(|url| {
        let connector = MysqlConnector::open(url, &GraphDefinition::default())?;
        Ok(Box::new(client::MysqlClient::new(connector)))
    }),
};

/// A database of MySQL or MariaDB.
pub(crate) struct MysqlConnector {
    source: Arc<Source>,
}

/// The data that a connector and its readings share.
struct Source {
    settings: Settings,
    definition: GraphDefinition,
    idle: Mutex<Vec<Session>>,
    known: Mutex<Option<Arc<Known>>>,
    watch: watch::Watch,
}

impl MysqlConnector {
    /// A source from a URL: `mysql://user@host:3306/database`. Connects to nothing yet.
    ///
    /// The password comes with the URL or from `MYSQL_PWD`. The URL's settings are `sslmode`, `connect_timeout` (seconds)
    /// and `statement_timeout` (milliseconds).
    pub(crate) fn open(url: &str, definition: &GraphDefinition) -> Result<MysqlConnector> {
        let settings = Settings::parse(url)?;
        let definition = definition.clone();
        let source = Source {
            settings,
            definition,
            idle: Mutex::default(),
            known: Mutex::default(),
            watch: watch::Watch::default(),
        };
        Ok(MysqlConnector { source: Arc::new(source) })
    }
}

impl Source {
    fn session(&self) -> Result<Session> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(mut session) => {
                session.is_used = true;
                Ok(session)
            }
            None => self.settings.open(),
        }
    }

    /// Takes a connection back, in no transaction. One that the server was told to interrupt is closed: the order may
    /// reach it later, and would end what is asked next.
    fn keep(&self, session: Session) {
        if self.watch.was_told(session.handle().connection) {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(session);
        }
    }

    /// Has the server give up what another connection asked it; that connection is of no use any more. A connection that
    /// was kept might wait for a server that answers no more.
    fn kill(&self, connection: u32) {
        if let Ok(mut session) = self.settings.open()
            && session.command(&format!("KILL QUERY {connection}")).is_ok()
        {
            self.keep(session);
        }
    }

    /// True if edges can be followed by a recursive query: its keys are integers. Such a query has the types of its
    /// first rows, so that it would cut strings short, and compares strings as their collation does.
    fn follows_edges(self: &Arc<Source>) -> bool {
        let Ok(known) = self.known() else { return false };
        self.definition.nodes.iter().enumerate().all(|(kind, node)| {
            let is_integer = |name: &String| {
                let facts = known.catalog.node(kind).column(name);
                facts.kind == Some(PropertyKind::Integer) && !facts.is_wide
            };
            matches!(&node.key[..], [name] if is_integer(name)) && !matches!(node.rows, Rows::ByKey { .. })
        }) && !self.definition.edges.iter().any(|edge| matches!(edge.rows, Rows::ByKey { .. }))
    }

    /// Closes what is idle: one of them was found dead, so the others will be.
    fn close_idle(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The facts of the catalog, asked for once.
    fn known(self: &Arc<Source>) -> Result<Arc<Known>> {
        if let Some(known) = &*self.known.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(known.clone());
        }
        self.look()
    }

    /// Asks the catalog, without the lock: a thread that waits for the lock meanwhile could not be stopped.
    fn look(self: &Arc<Source>) -> Result<Arc<Known>> {
        let fresh = Arc::new(know(&self.definition, &mut Looker(self), &cells::facts)?);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh.clone());
        Ok(fresh)
    }

    fn writer<'a>(&'a self, known: &'a Known, is_mariadb: bool) -> sql::Writer<'a> {
        let (definition, catalog) = (&self.definition, &known.catalog);
        sql::Writer { dialect: dialect::MYSQL, definition, catalog, has_returning: is_mariadb }
    }
}

impl Connector for MysqlConnector {
    fn abilities(&self) -> Abilities {
        Abilities {
            snapshots: true,
            writes: true,
            boxes: true,
            lookahead: self.source.follows_edges(),
            lookahead_lists_max: Some(RECURSIVE_PARTS_MAX),
            conditions: true,
            patterns: true,
            ..Abilities::default()
        }
    }

    fn facts(&self) -> Result<Facts> {
        Ok(self.source.look()?.facts.clone())
    }

    fn read(&self) -> Result<Box<dyn Reading>> {
        Ok(Box::new(MysqlReading::new(self.source.clone(), false)))
    }

    fn write(&self) -> Result<Box<dyn Writing>> {
        Ok(Box::new(MysqlReading::new(self.source.clone(), true)))
    }

    fn statement(&self, question: &Question<'_>) -> Option<String> {
        let known = self.source.known().ok()?;
        let statements = self.source.writer(&known, true).question(question).ok()?;
        Some(statements.into_iter().map(|statement| statement.text).collect::<Vec<_>>().join(";\n"))
    }

    fn finds(&self, kind: usize, condition: &Condition) -> bool {
        self.source.known().is_ok_and(|known| self.source.writer(&known, true).finds(kind, condition))
    }

    fn sorts(&self, kind: usize, properties: &[usize]) -> bool {
        self.source.known().is_ok_and(|known| self.source.writer(&known, true).sorts(kind, properties))
    }

    fn name(&self) -> &str {
        &self.source.settings.name
    }

    fn catalog(&self) -> Result<Catalog> {
        Looker(&self.source).catalog()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        relational::findings(&self.source.definition, &mut Looker(&self.source))
    }
}

impl Inspect for MysqlConnector {
    fn catalog(&mut self) -> Result<Catalog> {
        Looker(&self.source).catalog()
    }

    fn columns(&mut self, sql: &str) -> Result<Vec<TableColumn>> {
        Looker(&self.source).columns(sql)
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        Looker(&self.source).number(sql)
    }

    fn quote(&self, name: &str) -> String {
        sql::quote::name(dialect::MYSQL, name)
    }
}
