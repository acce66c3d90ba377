//! The functions and procedures that queries can call: those of the executor and of analytics, and a few of our own.

use std::sync::Arc;

use cypher::catalog::{Catalog, FunctionSignature};
use exec::functions::FunctionCatalog;
use model::procedure::{Procedure, ProcedureSignature, Procedures};

use crate::statistics::ListStatistics;

mod schema_procedures;

/// What is registered.
pub struct Registry {
    functions: FunctionCatalog,
    /// What `CALL` can call.
    pub procedures: Procedures,
}

impl Registry {
    /// All functions and procedures.
    #[allow(clippy::new_without_default, reason = "a registry is made once, with everything in it")]
    pub fn new() -> Registry {
        let mut procedures = Procedures::default();
        let own: Vec<Arc<dyn Procedure>> = schema_procedures::procedures();
        procedures.register(ListStatistics::procedure());
        own.into_iter().chain(analytics::procedures()).for_each(|procedure| procedures.register(procedure));
        Registry { functions: FunctionCatalog::default(), procedures }
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
