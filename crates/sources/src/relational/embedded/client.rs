//! Statements of SQL for a database in this process. They are timed on the thread that has the connection, so that the way there
//! and back is in no figure.

use std::sync::Arc;

use model::platform::Clock;
use model::{Result, Value, error};

use super::Engine;
use super::worker::{Prepared, Worker};
use crate::relational::answers::gather;
use crate::sql::ParameterValue;
use crate::sql_client::{SqlAnswer, SqlClient};

/// A connection that is asked in SQL.
pub(crate) struct EmbeddedClient {
    /// None once it is closed.
    worker: Option<Worker>,
}

impl EmbeddedClient {
    /// Opens a connection for reading.
    pub(crate) fn open<E: Engine>(engine: E) -> Result<EmbeddedClient> {
        let worker = Worker::open(Arc::new(engine))?;
        if let Some(command) = E::READ_ONLY {
            worker.run(move |session| session.command(command))?;
        }
        Ok(EmbeddedClient { worker: Some(worker) })
    }
}

impl Drop for EmbeddedClient {
    /// Waits until the connection is closed, so that one that is opened anew finds it so.
    fn drop(&mut self) {
        self.worker.take().into_iter().for_each(Worker::close);
    }
}

impl SqlClient for EmbeddedClient {
    fn ask(&mut self, text: &str, parameters: &[Value], clock: &Arc<dyn Clock>) -> Result<SqlAnswer> {
        let parameters = parameters.iter().cloned().map(ParameterValue::One).collect();
        let statement = Prepared { text: text.to_owned(), parameters, forms: Vec::new() };
        let clock = clock.clone();
        let worker = self.worker.as_ref().ok_or_else(|| error!(Internal, "a connection is asked that is closed"))?;
        let (ns, batches) = worker.run(move |session| {
            let mut batches = Vec::new();
            let begin = clock.now_ns();
            session.query(&statement, &mut |columns| {
                batches.push(columns);
                Ok(true)
            })?;
            Ok((clock.now_ns() - begin, batches))
        })?;
        Ok(SqlAnswer { ns, columns: gather(batches) })
    }
}
