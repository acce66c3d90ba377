//! The state on which a transaction has built indexes, and what others commit meanwhile repeated on it.
//!
//! Others go on to commit while an index is built from one moment of the store. Their records are applied to that state, the
//! new index in it, by the same code that keeps every index and every constraint; so that the contents are in the end those
//! that the newest state has, which takes them over. Nothing of that state but the contents is used.

use std::path::Path;
use std::sync::Arc;

use model::{Consumer, MemoryBudget, Reservation, Result, Schema, error};

use super::made::Made;
use super::rebase::{Numbers, Pending, as_conflict, repeat};
use crate::codec::bytes::Get;
use crate::snapshot::Snapshot;
use crate::wal::record::{Operation, operation};

/// A committed transaction: the record of the log, and the contents of the indexes that it made.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) log: Box<[u8]>,
    pub(crate) made: Made,
}

/// The state with the new indexes.
pub(crate) struct CatchUp {
    snapshot: Snapshot,
    /// The numbers that names of the records have in the state.
    numbers: Numbers,
    /// The transaction wrote more than the schema.
    has_rows: bool,
    /// Repeated records take memory of their own.
    memory: Reservation,
    bytes_before: usize,
}

impl CatchUp {
    /// Goes on from what a transaction with that log made of a state with that schema.
    pub(crate) fn new(
        mut snapshot: Snapshot,
        log: &[u8],
        base: &Schema,
        memory: &Arc<MemoryBudget>,
    ) -> Result<CatchUp> {
        snapshot.memtable.settle();
        let (mut has_rows, mut get) = (false, Get::new(log, Path::new("transaction"), 0));
        while get.left() > 0 {
            has_rows |= !is_of_schema(&operation(&mut get)?);
        }
        let bytes_before = snapshot.memtable.bytes;
        let (numbers, memory) = (Numbers::new(base), memory.empty(Consumer::Memtable));
        Ok(CatchUp { snapshot, numbers, has_rows, memory, bytes_before })
    }

    /// Repeats what was committed next. Fails with `CONFLICT` if it breaks a new constraint, or has taken a name.
    pub(crate) fn repeat(&mut self, committed: &[Arc<Committed>]) -> Result<()> {
        for Committed { log, made } in committed.iter().map(|committed| &**committed) {
            if self.has_rows && !made.is_empty() {
                return Err(error!(Conflict, "an index or constraint was made by a transaction that committed first"));
            }
            let mut pending = Pending::default();
            repeat(&mut self.snapshot, log, &mut self.numbers, |snapshot, operation, first_own| {
                snapshot.apply_checked(operation, first_own, made, &mut pending).map_err(as_conflict)
            })?;
            pending.check(&self.snapshot).map_err(as_conflict)?;
            self.snapshot.memtable.settle();
        }
        self.memory.resize(self.snapshot.memtable.bytes.saturating_sub(self.bytes_before));
        Ok(())
    }

    /// Contents, by now, of the indexes and constraints of these names.
    pub(crate) fn made(&self, names: &[Arc<str>]) -> Made {
        Made::of(&self.snapshot, names)
    }
}

fn is_of_schema(operation: &Operation<'_>) -> bool {
    matches!(
        operation,
        Operation::Name(..)
            | Operation::CreateConstraint(_)
            | Operation::DropConstraint(_)
            | Operation::CreateIndex(_)
            | Operation::DropIndex(_)
            | Operation::SetSortKey(_)
            | Operation::DropSortKey(_)
    )
}
