//! PostgreSQL as a source.
//!
//! - `url`, `open`, `tls`: where it is, and getting in. `pool`: connections that are kept.
//! - `wire`: messages; `session`: statements and their answers; `encode`, `decode`: values in binary.
//! - `catalog`: types, indexes and sizes. `inspect`: all tables, for definitions that are inferred and compared.
//! - `reading`: snapshots and transactions. `client`: statements of SQL. `failure`: what the server says is wrong.
//!
//! A reading is a transaction at REPEATABLE READ: all that it answers is of one moment. All questions of one call, and the
//! beginning of the transaction, are one round trip. The protocol is spoken here, without a driver: rows go from the
//! network's buffer into typed columns, and portals and pipelines are used as they are meant (see ADR 0029).

mod catalog;
mod client;
mod decode;
mod encode;
mod failure;
mod inspect;
mod open;
mod pool;
mod reading;
mod session;
mod tls;
mod url;
mod wire;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use model::Result;

use self::catalog::Known;
use self::inspect::Looker;
use self::pool::Pool;
use self::reading::Transaction;
use self::url::Settings;
use crate::catalog::Inspect;
use crate::check::{Finding, relational};
use crate::connector::{Abilities, Change, Code, Condition, Connector, Facts, Question, Reading, Writing};
use crate::definition::GraphDefinition;
use crate::sql::{self, Catalog, Writer, dialect};

/// The code of the driver.
pub(crate) const CODE: Code = Code {
    open: |url, definition| Ok(Arc::new(PostgresConnector::open(url, definition)?)),
    inspect: Some(|url| Ok(Box::new(PostgresConnector::open(url, &GraphDefinition::default())?))),
    client: Some(|url| {
        let connector = PostgresConnector::open(url, &GraphDefinition::default())?;
        Ok(Box::new(client::PostgresClient::new(connector)))
    }),
};

/// A PostgreSQL database that a graph is read from.
pub struct PostgresConnector {
    shared: Arc<Shared>,
}

/// The data that all transactions of a source share.
struct Shared {
    settings: Arc<Settings>,
    definition: Arc<GraphDefinition>,
    pool: Arc<Pool>,
    known: Mutex<Option<Arc<Known>>>,
}

impl PostgresConnector {
    /// A database by its URL, with what of it is which part of the graph. Nothing is connected yet.
    ///
    /// The password comes with the URL, from `PGPASSWORD` or from `~/.pgpass`. The URL's settings are `sslmode`,
    /// `sslrootcert`, `connect_timeout` (seconds), `statement_timeout` (milliseconds), `pool_size` and `search_path`.
    pub fn open(url: &str, definition: &GraphDefinition) -> Result<PostgresConnector> {
        let settings = Arc::new(Settings::parse(url)?);
        let pool = Arc::new(Pool::new(settings.clone()));
        let definition = Arc::new(definition.clone());
        Ok(PostgresConnector { shared: Arc::new(Shared { settings, definition, pool, known: Mutex::default() }) })
    }
}

impl Connector for PostgresConnector {
    fn abilities(&self) -> Abilities {
        Abilities {
            snapshots: true,
            writes: true,
            boxes: true,
            // A recursive query would compare ends as they are written.
            lookahead: self.shared.known().is_ok_and(|known| !sql::has_loose_ends(&self.shared.writer(&known))),
            sends: true,
            conditions: true,
            patterns: true,
            ..Abilities::default()
        }
    }

    fn facts(&self) -> Result<Facts> {
        // Asked anew: sizes and indexes change.
        self.shared.forget();
        Ok(self.shared.known()?.facts.clone())
    }

    fn read(&self) -> Result<Box<dyn Reading>> {
        Ok(Box::new(Transaction::new(self.shared.clone(), false)))
    }

    fn write(&self) -> Result<Box<dyn Writing>> {
        Ok(Box::new(Transaction::new(self.shared.clone(), true)))
    }

    fn statement(&self, question: &Question<'_>) -> Option<String> {
        let empty = Catalog::default();
        let known = self.shared.known().ok();
        let catalog = known.as_ref().map_or(&empty, |known| &known.catalog);
        let texts = self.shared.with(catalog).question(question).ok()?;
        Some(texts.into_iter().map(|statement| statement.text).collect::<Vec<_>>().join(";\n"))
    }

    fn finds(&self, kind: usize, condition: &Condition) -> bool {
        self.shared.known().is_ok_and(|known| self.shared.with(&known.catalog).finds(kind, condition))
    }

    fn sorts(&self, kind: usize, properties: &[usize]) -> bool {
        self.shared.known().is_ok_and(|known| self.shared.with(&known.catalog).sorts(kind, properties))
    }

    fn name(&self) -> &str {
        &self.shared.settings.name
    }

    fn catalog(&self) -> Result<crate::catalog::Catalog> {
        Looker(&self.shared).catalog()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        relational::findings(&self.shared.definition, &mut Looker(&self.shared))
    }
}

impl Shared {
    fn writer<'a>(&'a self, known: &'a Known) -> Writer<'a> {
        self.with(&known.catalog)
    }

    fn with<'a>(&'a self, catalog: &'a Catalog) -> Writer<'a> {
        Writer { dialect: dialect::POSTGRES, definition: &self.definition, catalog, has_returning: true }
    }

    fn node_name(&self, kind: usize) -> &str {
        self.definition.nodes.get(kind).map_or("", |node| &node.name)
    }

    fn edge_name(&self, kind: usize) -> &str {
        self.definition.edges.get(kind).map_or("", |edge| &edge.name)
    }

    /// The subject of a question, for messages.
    fn what(&self, question: &Question<'_>) -> String {
        match question {
            Question::Nodes { kind, .. } | Question::CountNodes { kind, .. } => {
                format!("nodes {}", self.node_name(*kind))
            }
            Question::Edges { kind, .. } | Question::CountEdges { kind } => format!("edges {}", self.edge_name(*kind)),
            Question::Pattern(asked) => {
                let names: BTreeSet<&str> = asked.nodes.iter().map(|node| self.node_name(node.of)).collect();
                format!("a pattern of nodes {}", names.into_iter().collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The subject of a change, for messages.
    fn what_change(&self, change: &Change<'_>) -> String {
        match change {
            Change::InsertNodes { kind, .. } | Change::UpdateNodes { kind, .. } | Change::DeleteNodes { kind, .. } => {
                format!("nodes {}", self.node_name(*kind))
            }
            Change::InsertEdges { kind, .. } | Change::UpdateEdges { kind, .. } | Change::DeleteEdges { kind, .. } => {
                format!("edges {}", self.edge_name(*kind))
            }
        }
    }
}
