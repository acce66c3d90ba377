//! Statements of SQL, for reading alone.

use std::sync::Arc;

use model::platform::Clock;
use model::{Result, Value};

use super::cells::to_sql;
use super::session::Session;
use super::{MysqlConnector, Source};
use crate::relational::answers::gather;
use crate::sql_client::{SqlAnswer, SqlClient};

/// A connection that is asked in SQL.
pub(super) struct MysqlClient {
    source: Arc<Source>,
    /// None before the first statement, and after one that failed.
    session: Option<Session>,
}

impl MysqlClient {
    pub(super) fn new(connector: MysqlConnector) -> MysqlClient {
        MysqlClient { source: connector.source, session: None }
    }
}

impl SqlClient for MysqlClient {
    fn ask(&mut self, text: &str, parameters: &[Value], clock: &Arc<dyn Clock>) -> Result<SqlAnswer> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => {
                let mut session = self.source.session()?;
                session.command("SET SESSION TRANSACTION READ ONLY")?;
                session
            }
        };
        let parameters: Vec<_> = parameters.iter().map(to_sql).collect();
        let mut batches = Vec::new();
        let waiting = self.source.wait_for(&session.handle());
        let begin = clock.now_ns();
        session.query(text, parameters, &[], &mut |columns| {
            batches.push(columns);
            Ok(true)
        })?;
        let ns = clock.now_ns() - begin;
        drop(waiting);
        // The server may have been told too late to end this statement: then it would end the next.
        if !self.source.watch.was_told(session.handle().connection) {
            self.session = Some(session);
        }
        Ok(SqlAnswer { ns, columns: gather(batches) })
    }
}
