//! The port of the wide-column store: idempotent row writes, slices of partitions, scans of
//! whole tables, and one conditional append.
//!
//! Contract for those who implement it:
//! - A write that returned is seen by every later read, whoever asks (both at a quorum). One that failed may have reached
//!   some replicas, and may reach others later.
//! - Of two writes of a cell the one with the larger timestamp stays; equal ones are repeated writes of the same value.
//! - [`Tables::append`] is linearizable: of all appends at a place one is added, for good. One that timed out may be added
//!   later, until somebody else appends there or reads the place with [`Tables::read_place`].
//! - An epoch that is sealed takes no append, not even one that is under way.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

pub use scan::{Page, PageAsk, Scan, Tokens};
pub use shape::{ColumnShape, FieldKind, Shape, Table};

mod scan;
mod shape;

/// A value of a key or a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// A 64-bit integer.
    Int(i64),
    /// Raw bytes, which sort as unsigned bytes.
    Bytes(Arc<[u8]>),
}

/// A write of one row, or of all rows of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWrite {
    /// Table of the row.
    pub table: Table,
    /// Its partition key.
    pub partition: Vec<Field>,
    /// Its clustering key; empty to delete the partition.
    pub clustering: Vec<Field>,
    /// Decides which write of a cell stays: the sequence number of a commit, never the time of a clock.
    pub timestamp: i64,
    /// Change of the row.
    pub change: Change,
}

/// Change of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets cells, by their place in [`Shape::cells`].
    Put(Vec<(usize, Field)>),
    /// Deletes the row.
    Delete,
    /// Deletes the row and all whose clustering key differs only in a smaller last field, also where they are written later with
    /// no larger timestamp.
    DeleteUpTo,
}

/// A row that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its clustering key.
    pub clustering: Vec<Field>,
    /// Its cells, in the order of [`Shape::cells`].
    pub cells: Vec<Option<Field>>,
}

/// A question for rows of one partition, which come in the order of their clustering keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Table of the partition.
    pub table: Table,
    /// Its key.
    pub partition: Vec<Field>,
    /// First fields of the clustering key, which must be equal.
    pub prefix: Vec<Field>,
    /// Lower bound of the field behind the prefix.
    pub from: Bound<Field>,
    /// Upper bound of the field behind the prefix.
    pub to: Bound<Field>,
}

impl Slice {
    /// All rows of a partition whose clustering keys begin so.
    pub fn new(table: Table, partition: Vec<Field>, prefix: Vec<Field>) -> Slice {
        Slice { table, partition, prefix, from: Bound::Unbounded, to: Bound::Unbounded }
    }

    /// The same, within bounds of the next field.
    #[must_use]
    pub fn between(self, from: Bound<Field>, to: Bound<Field>) -> Slice {
        Slice { from, to, ..self }
    }

    /// True if a clustering key lies in the slice.
    pub fn holds(&self, clustering: &[Field]) -> bool {
        let Some(rest) = clustering.strip_prefix(&self.prefix[..]) else { return false };
        let Some(field) = rest.first() else { return true };
        let is_above = match &self.from {
            Bound::Unbounded => true,
            Bound::Included(bound) => field >= bound,
            Bound::Excluded(bound) => field > bound,
        };
        is_above
            && match &self.to {
                Bound::Unbounded => true,
                Bound::Included(bound) => field <= bound,
                Bound::Excluded(bound) => field < bound,
            }
    }
}

/// A place of the log of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The graph.
    pub graph: i64,
    /// The partition of the log.
    pub epoch: i64,
    /// The sequence number.
    pub sequence: i64,
}

/// Outcome of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The record is at the place.
    Added,
    /// Another record is there, or the same from an earlier attempt.
    Taken(Arc<[u8]>),
    /// The epoch takes no more records.
    Sealed,
}

/// Records and marks of one epoch of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// Sequence numbers with their records, ascending.
    pub records: Vec<(i64, Arc<[u8]>)>,
    /// Sequence numbers of the records whose rows are all written.
    pub applied: Vec<i64>,
    /// True if the epoch is sealed.
    pub is_sealed: bool,
}

/// Failure of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Too few replicas are there: nothing was done.
    Unavailable(String),
    /// No answer in time: it may have been done, or will be, or not.
    TimedOut(String),
    /// The session has ended for good, and says no more of what was under way.
    Ended(String),
    /// The store refuses the operation, and would again.
    Refused(String),
    /// The statement that reads was cancelled.
    Cancelled(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unavailable(text) => write!(f, "too few replicas answer: {text}"),
            Fault::TimedOut(text) => write!(f, "no answer in time: {text}"),
            Fault::Ended(text) => write!(f, "the session has ended: {text}"),
            Fault::Refused(text) => write!(f, "refused: {text}"),
            Fault::Cancelled(text) => write!(f, "cancelled: {text}"),
        }
    }
}

/// A wide-column store. Each call is one round trip, for which the caller waits.
pub trait Tables: Send + Sync + fmt::Debug {
    /// Writes rows at a quorum, in any order: all of them, if it returns.
    fn write(&self, rows: &[RowWrite]) -> Result<(), Fault>;

    /// Reads slices at a quorum, each the rows of one question. Where the wait can be ended, `is_cancelled` is asked now and
    /// then, and ends it with [`Fault::Cancelled`].
    fn read(&self, slices: &[Slice], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<Row>>, Fault>;

    /// Reads pages of scans at a quorum, each for itself, with `is_cancelled` as in [`Tables::read`]. A page that is asked for
    /// again has the same rows, but for what was written meanwhile.
    fn scan(&self, pages: &[PageAsk], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Page>, Fault>;

    /// Puts a record at a place of the log, if none is there and the epoch is not sealed.
    fn append(&self, place: Place, record: &[u8]) -> Result<Appended, Fault>;

    /// The record at a place, in the order of all appends. An append that timed out there is done or will never be.
    fn read_place(&self, place: Place) -> Result<Option<Arc<[u8]>>, Fault>;

    /// Records and marks of an epoch behind a sequence number, at a quorum.
    fn follow(&self, graph: i64, epoch: i64, after: i64) -> Result<LogPage, Fault>;

    /// Seals an epoch.
    fn seal(&self, graph: i64, epoch: i64) -> Result<(), Fault>;

    /// Waits a little before the next attempt: longer, the more have failed.
    fn pause(&self, attempts: u32);

    /// Waits for a time, while others append.
    fn wait(&self, ns: u64);
}
