//! Statements of SQL, for reading alone.

use std::sync::Arc;

use model::platform::Clock;
use model::{Column, Result, Value};

use super::pool::Lease;
use super::session::{Session, Trouble};
use super::{PostgresConnector, Shared};
use crate::relational::answers::gather;
use crate::sql::{Parameter, ParameterValue, Rest, Statement};
use crate::sql_client::{SqlAnswer, SqlClient};

/// A transaction that writes is refused by the server.
const READ_ONLY: &str = "SET default_transaction_read_only = on";

/// A connection that is asked in SQL.
pub(super) struct PostgresClient {
    shared: Arc<Shared>,
    /// None before the first statement, and after one that failed.
    lease: Option<Lease>,
}

impl PostgresClient {
    pub(super) fn new(connector: PostgresConnector) -> PostgresClient {
        PostgresClient { shared: connector.shared, lease: None }
    }

    fn lease(&mut self) -> Result<Lease> {
        if let Some(lease) = self.lease.take() {
            return Ok(lease);
        }
        let mut lease = self.shared.pool.take()?;
        match lease.session().command(READ_ONLY) {
            Ok(_) => Ok(lease),
            Err(trouble) => {
                lease.close();
                Err(self.shared.error(trouble, "a connection", READ_ONLY))
            }
        }
    }
}

impl SqlClient for PostgresClient {
    fn ask(&mut self, text: &str, parameters: &[Value], clock: &Arc<dyn Clock>) -> Result<SqlAnswer> {
        let mut lease = self.lease()?;
        // As text: the server knows the type of what they are compared with.
        let parameter =
            |value: &Value| Parameter { value: ParameterValue::One(value.clone()), sql_type: String::new() };
        let statement = Statement {
            text: text.to_owned(),
            parameters: parameters.iter().map(parameter).collect(),
            answer: Vec::new(),
            rest: Rest::default(),
            expects: None,
        };
        let begin = clock.now_ns();
        match run(lease.session(), &statement) {
            Ok(batches) => {
                let ns = clock.now_ns() - begin;
                self.lease = Some(lease);
                Ok(SqlAnswer { ns, columns: gather(batches) })
            }
            Err(trouble) => {
                lease.close();
                Err(self.shared.error(trouble, "a statement", text))
            }
        }
    }
}

fn run(session: &mut Session, statement: &Statement<'_>) -> std::result::Result<Vec<Vec<Column>>, Trouble> {
    session.queue_bind("", statement)?;
    session.wire.output.execute("", 0);
    session.wire.output.sync();
    session.send()?;
    let fields = session.read_fields(&[])?;
    let mut batches = Vec::new();
    session.read_rows(&fields, |columns| {
        batches.push(columns);
        Ok(true)
    })?;
    session.finish()?;
    Ok(batches)
}
