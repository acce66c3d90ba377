//! Procedures that drivers and tools call when they connect.

use std::sync::Arc;

use database::Database;
use model::procedure::{Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec};
use model::{Column, Result, Value};

/// The version of Neo4j whose drivers and tools are served.
pub(crate) const NEO4J_VERSION: &str = "5.26.0";

/// The name that drivers look at: most refuse a server that does not begin like this.
pub(crate) fn agent() -> String {
    format!("Neo4j/{NEO4J_VERSION} (Knotwork {})", env!("CARGO_PKG_VERSION"))
}

/// A procedure of one row.
struct Fixed {
    signature: ProcedureSignature,
    row: Vec<Value>,
}

const fn column(name: &'static str, type_name: &'static str) -> YieldSpec {
    YieldSpec { name, type_name }
}

const COMPONENTS: &[YieldSpec] =
    &[column("name", "STRING"), column("versions", "LIST<STRING>"), column("edition", "STRING")];
const PING: &[YieldSpec] = &[column("success", "BOOLEAN")];
const LICENSE: &[YieldSpec] =
    &[column("status", "STRING"), column("daysLeftOnTrial", "INTEGER"), column("totalTrialDays", "INTEGER")];

/// Adds them to a database that is served.
pub(crate) fn register(database: &Database) -> Result<()> {
    let version = Value::list(vec![Value::string(NEO4J_VERSION)]);
    let all = [
        (
            "dbms.components",
            "The version of Neo4j that clients may take the server for.",
            COMPONENTS,
            vec![Value::string("Neo4j Kernel"), version, Value::string("community")],
        ),
        ("db.ping", "True, if the database answers.", PING, vec![Value::Bool(true)]),
        (
            "dbms.licenseAgreementDetails",
            "That there is no agreement to be accepted.",
            LICENSE,
            vec![Value::string("yes"), Value::Int(0), Value::Int(0)],
        ),
    ];
    for (name, description, yields, row) in all {
        let mode = ProcedureMode::Read;
        let signature = ProcedureSignature { name, aliases: &[], description, mode, arguments: &[], yields };
        if database.callable_names().iter().any(|known| known == name) {
            continue;
        }
        database.register_procedure(Arc::new(Fixed { signature, row }))?;
    }
    Ok(())
}

impl Procedure for Fixed {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, _: &mut ProcedureContext<'_>, _: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        sink(self.row.iter().map(|value| Column::from_values([value])).collect())?;
        Ok(())
    }
}
