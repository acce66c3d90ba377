//! The functions and procedures that queries can call: those of the executor and of analytics, and a few of our own.

use std::sync::Arc;

use analytics::ViewCache;
use cypher::catalog::{Catalog, FunctionSignature};
use exec::functions::FunctionCatalog;
use model::job::JobEngine;
use model::procedure::{Procedure, ProcedureSignature, Procedures};

use crate::attachments::Attachments;
use crate::files::FileAccess;
use crate::load::TableSource;
use crate::settings::Config;
use crate::spark::Spark;
use crate::statistics::ListStatistics;
use crate::tools::{self, Surroundings};

mod listing;
mod load_csv;
mod load_from;

pub use load_from::Tables;

/// Functions, procedures and tables that are registered.
#[derive(Clone)]
pub struct Registry {
    functions: Arc<FunctionCatalog>,
    /// Procedures that `CALL` can call.
    pub procedures: Procedures,
    /// The tables of the session that asks.
    tables: Arc<Tables>,
}

impl Registry {
    /// All functions and procedures, for a database opened so, which keeps graphs in memory there.
    pub fn new(config: &Config, views: Arc<ViewCache>) -> Registry {
        Registry::with_sources(config, views, None, None)
    }

    /// As [`Registry::new`], with what is attached there, and what is around the database.
    pub(crate) fn with_sources(
        config: &Config,
        views: Arc<ViewCache>,
        attachments: Option<Arc<Attachments>>,
        surroundings: Option<&Surroundings>,
    ) -> Registry {
        let mut procedures = Procedures::default();
        let own: Vec<Arc<dyn Procedure>> = vec![
            ListStatistics::procedure(),
            load_csv::procedure(FileAccess::default()),
            load_from::procedure(Arc::default()),
        ];
        let spark = config.spark.clone().map(|spark| Arc::new(Spark::new(spark)) as Arc<dyn JobEngine>);
        let all = own.into_iter().chain(exec::procedures::procedures()).chain(analytics::procedures_with(views, spark));
        all.for_each(|procedure| procedures.register(procedure));
        crate::attach::procedures(attachments).into_iter().for_each(|procedure| procedures.register(procedure));
        let tools = surroundings.map(tools::procedures).unwrap_or_default();
        tools.into_iter().for_each(|procedure| procedures.register(procedure));
        procedures.register(listing::settings(config));
        // The last, so that it lists all.
        procedures.register(listing::procedures(&procedures));
        Registry { functions: Arc::default(), procedures, tables: Arc::default() }
    }
}

impl Registry {
    /// Adds a procedure, under a name that is new, and to the list of all.
    pub(crate) fn add(&mut self, procedure: Arc<dyn Procedure>) {
        self.procedures.register(procedure);
        self.procedures.replace(listing::procedures(&self.procedures));
    }

    /// The same, for a session that may have tables, and may name these files.
    pub(crate) fn for_session(&self, tables: Option<&Arc<Tables>>, files: &FileAccess) -> Registry {
        let mut procedures = self.procedures.clone();
        procedures.replace(load_csv::procedure(files.clone()));
        let tables = tables.unwrap_or(&self.tables).clone();
        procedures.replace(load_from::procedure(tables.clone()));
        Registry { functions: self.functions.clone(), procedures, tables }
    }

    /// A number for the names of tables and their columns, which a plan rests on; 0 without tables.
    pub(crate) fn tables_fingerprint(&self) -> u64 {
        let one = |(name, table): (&Arc<str>, &Arc<dyn TableSource + Send>)| {
            std::hash::BuildHasher::hash_one(self.tables.hasher(), (name, table.names()))
        };
        // The order of the tables does not matter.
        self.tables.iter().map(one).fold(0, u64::wrapping_add)
    }
}

impl Catalog for Registry {
    fn table_columns(&self, name: &str) -> Option<Vec<Arc<str>>> {
        Some(self.tables.get(name)?.names().iter().map(|name| Arc::from(name.as_str())).collect())
    }

    fn table_names(&self) -> Vec<&str> {
        self.tables.keys().map(|name| &**name).collect()
    }

    fn function(&self, name: &str) -> Option<&FunctionSignature> {
        self.functions.function(name)
    }

    fn result_of(&self, function: &str) -> Option<cypher::catalog::ResultType> {
        exec::functions::result_of(function)
    }

    fn function_names(&self) -> Vec<&str> {
        self.functions.names().to_vec()
    }

    fn procedure(&self, name: &str) -> Option<&ProcedureSignature> {
        self.procedures.find(name).map(|procedure| procedure.signature())
    }

    fn procedure_names(&self) -> Vec<&str> {
        self.procedures.iter().map(|procedure| procedure.signature().name).collect()
    }
}
