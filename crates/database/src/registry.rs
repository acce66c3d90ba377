//! The functions and procedures that queries can call: those of the executor and of analytics, and a few of our own.

use std::sync::Arc;

use analytics::ViewCache;
use cypher::catalog::{Catalog, FunctionSignature};
use exec::functions::FunctionCatalog;
use model::procedure::{Procedure, ProcedureSignature, Procedures};

use crate::attach::Attachments;
use crate::settings::Config;
use crate::statistics::ListStatistics;

mod listing;
mod load_csv;

/// What is registered.
#[derive(Clone)]
pub struct Registry {
    functions: Arc<FunctionCatalog>,
    /// What `CALL` can call.
    pub procedures: Procedures,
}

impl Registry {
    /// All functions and procedures, for a database opened so, which keeps graphs in memory there.
    pub fn new(config: &Config, views: Arc<ViewCache>) -> Registry {
        Registry::with_sources(config, views, None)
    }

    /// As [`Registry::new`], with what is attached there.
    pub(crate) fn with_sources(
        config: &Config,
        views: Arc<ViewCache>,
        attachments: Option<Arc<Attachments>>,
    ) -> Registry {
        let mut procedures = Procedures::default();
        let own: Vec<Arc<dyn Procedure>> = vec![ListStatistics::procedure(), load_csv::procedure()];
        let all = own.into_iter().chain(exec::procedures::procedures()).chain(analytics::procedures_with(views));
        all.for_each(|procedure| procedures.register(procedure));
        crate::attach::procedures(attachments).into_iter().for_each(|procedure| procedures.register(procedure));
        procedures.register(listing::settings(config));
        // The last, so that it lists all.
        procedures.register(listing::procedures(&procedures));
        Registry { functions: Arc::default(), procedures }
    }
}

impl Catalog for Registry {
    fn function(&self, name: &str) -> Option<&FunctionSignature> {
        self.functions.function(name)
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
