//! The transactions of a statement that commits on its own.

use std::sync::Arc;

use exec::Transactions;
use model::{IsolationLevel, ReadView, Result, WriteTransaction};

use crate::database::Database;

/// The transactions of a statement that commits on its own.
pub(super) struct OwnTransactions<'d> {
    pub(super) database: &'d Database,
    pub(super) isolation: IsolationLevel,
}

impl Transactions for OwnTransactions<'_> {
    fn begin(&self, is_alone: bool) -> Result<Box<dyn WriteTransaction>> {
        let (store, isolation) = (self.database.store(), self.isolation);
        let mut transaction = if is_alone { store.write_alone(isolation)? } else { store.write_isolated(isolation)? };
        transaction.set_at_work(true);
        Ok(transaction)
    }

    fn snapshot(&self) -> Result<Arc<dyn ReadView>> {
        self.database.store().read()
    }
}
