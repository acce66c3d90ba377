//! `db.loadFrom`: the rows of a table that the session knows by name; `LOAD FROM` is a call of it.

use std::sync::Arc;

use model::procedure::{ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink};
use model::{Map, Result, Value, error};

use crate::load::TableSource;

/// The tables of a session by name.
pub type Tables = Map<Arc<str>, Arc<dyn TableSource + Send>>;

/// The procedure, for these tables.
pub(super) fn procedure(tables: Arc<Tables>) -> Arc<dyn Procedure> {
    Arc::new(LoadFrom(tables))
}

struct LoadFrom(Arc<Tables>);

/// Its name, which the binder knows.
pub(super) const NAME: &str = "db.loadFrom";

static SIGNATURE: ProcedureSignature = ProcedureSignature {
    name: NAME,
    aliases: &[],
    description: "The rows of a table of the program that asks: LOAD FROM gives each of its columns a variable.",
    mode: ProcedureMode::Read,
    arguments: &[ArgumentSpec {
        name: "table",
        type_name: "STRING",
        description: "The name of the table, written out.",
        default: None,
    }],
    yields: &[],
};

impl Procedure for LoadFrom {
    fn signature(&self) -> &ProcedureSignature {
        &SIGNATURE
    }

    fn call(&self, context: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let Value::String(name) = &arguments[0] else {
            return Err(error!(Type, "expected the name of a table, found {}", arguments[0].type_name()));
        };
        let missing = || error!(NotFound, "there is no table with the name {name}");
        let table = self.0.get(name).ok_or_else(missing)?;
        for piece in 0..table.pieces() {
            context.interrupt.check()?;
            let (_, columns) = table.piece(piece)?;
            let rows = columns.first().map_or(0, model::Column::len);
            for start in (0..rows).step_by(model::limits::BATCH_ROWS) {
                let end = (start + model::limits::BATCH_ROWS).min(rows);
                if !sink(columns.iter().map(|column| column.slice(start, end)).collect())? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
