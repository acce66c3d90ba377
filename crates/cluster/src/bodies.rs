//! Names of transactions whose items or rows are too long for a record: the number of the process, and one of a range that
//! it has written down before, so that a purge finds the bodies of transactions that were never appended.
//!
//! Invariant: a transaction uses a number only of a range that was written down at the horizon of the purge that the process
//! knew, or later. Whoever purges takes the ranges from before the horizon: their transactions are in the log, or conflict
//! with the record of the horizon.
//! Cost: one write more for every [`RANGE`] transactions of a process.

use std::sync::{Mutex, PoisonError};

use model::Result;

use crate::log::Log;
use crate::record::TransactionId;
use crate::rows::int;
use crate::tables::{Change, Field, RowWrite, Table};

/// Numbers of one range.
pub(crate) const RANGE: u64 = 16;

/// The numbers that a process has written down and not used.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    range: Mutex<Range>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Range {
    next: u64,
    end: u64,
    /// The last record of the state when the range was written down.
    sequence: u64,
}

/// A name, and the last record of the state when it was written down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) id: TransactionId,
    pub(crate) sequence: u64,
}

impl Numbers {
    /// A name for a transaction with a body.
    pub(crate) fn take(&self, log: &Log) -> Result<Named> {
        let mut range = self.range.lock().unwrap_or_else(PoisonError::into_inner);
        let state = log.state();
        if range.next == range.end || range.sequence < state.purge.horizon {
            let first = range.end;
            let new = Range { next: first, end: first + RANGE, sequence: state.sequence };
            let row = RowWrite {
                table: Table::Bodies,
                partition: vec![Field::Int(log.ring.graph)],
                clustering: vec![int(log.writer), int(first)],
                timestamp: 1,
                change: Change::Put(vec![(0, int(new.end)), (1, int(new.sequence))]),
            };
            // Numbers of a range whose write failed are not used again.
            range.end = new.end;
            range.next = new.end;
            log.ring.write(&[row])?;
            *range = new;
        }
        range.next += 1;
        Ok(Named { id: TransactionId(log.writer, range.next - 1), sequence: range.sequence })
    }
}
