//! `CHECKPOINT`, `COMPACT` and `BACKUP DATABASE` in a session.

use std::path::PathBuf;

use cypher::ast::Maintenance;
use cypher::plan::CopyValue;
use model::{Result, Value, error};

use super::{ResultSink, Session};
use crate::Parameters;
use crate::copy::{report, text_of};
use crate::result::StatementSummary;

impl Session {
    pub(super) fn maintain(
        &mut self,
        work: &Maintenance<CopyValue>,
        parameters: &Parameters,
        sink: &mut dyn ResultSink,
    ) -> Result<StatementSummary> {
        let verb = work.verb();
        if self.in_transaction() {
            return Err(error!(TransactionState, "{verb} is about what is committed, and a transaction is open")
                .with_remedy("commit or roll it back first"));
        }
        match work {
            Maintenance::Checkpoint => self.database.checkpoint()?,
            Maintenance::Compact => self.database.compact(&self.interrupt)?,
            Maintenance::Backup { to, base } => {
                let to = self.files().to_write(verb, &text_of(to, parameters)?)?;
                let found = |base: &CopyValue| self.files().to_read(verb, &text_of(base, parameters)?);
                let base: Option<PathBuf> = base.as_ref().map(found).transpose()?;
                let done = self.database.backup(&to, base.as_deref(), &self.interrupt)?;
                let count = |number: u64| Value::Int(number as i64);
                let row = [
                    ("directory", Value::string(&to.display().to_string())),
                    ("files", count(done.files_copied)),
                    ("bytes", count(done.bytes_copied)),
                    ("sharedFiles", count(done.files_linked)),
                    ("sharedBytes", count(done.bytes_linked)),
                ];
                report(sink, &row)?;
            }
        }
        Ok(StatementSummary::default())
    }
}
