//! Interface of a driver to those who ask a relational database in its own SQL, for reading alone. [`crate::connect::client`] gives
//! one; its time is that of the driver, measured on the thread that the driver runs on.

use std::sync::Arc;

use model::platform::Clock;
use model::{Column, Result, Value};

/// A connection over which a relational database is asked.
pub trait SqlClient: Send {
    /// Sends a statement and reads its rows to the last. Each statement is a transaction of its own; it stays prepared where the
    /// driver prepares statements. It is given up if the run on this thread is over.
    ///
    /// # Errors
    /// Those of the database, which name it. A connection that was lost is made anew by the next statement.
    fn ask(&mut self, text: &str, parameters: &[Value], clock: &Arc<dyn Clock>) -> Result<SqlAnswer>;
}

/// Rows of a statement.
#[derive(Clone, Debug, Default)]
pub struct SqlAnswer {
    /// Nanoseconds from before the statement was sent until the last row was decoded.
    pub ns: u64,
    /// The columns, of one length. There may be none where there are no rows.
    pub columns: Vec<Column>,
}

impl SqlAnswer {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }
}
