//! The tables of one graph, asked again where that is safe, with errors of this program.

use std::sync::Arc;

use model::meter;
use model::{Error, ErrorCode, Result, interrupt};

use crate::tables::{Appended, Fault, LogPage, Page, PageAsk, Place, Row, RowWrite, Slice, Tables};

/// Slices of one round trip at most.
const SLICES_MAX: usize = 4_096;
/// Rows of one write at most.
const ROWS_MAX: usize = 4_096;

/// The tables of one graph.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    pub(crate) tables: Arc<dyn Tables>,
    /// Number of the graph, which stands in every partition key.
    pub(crate) graph: i64,
    /// Times that an operation is tried.
    pub(crate) attempts: u32,
}

/// Outcome of an append that was tried again until it was known.
pub(crate) enum Attempt {
    /// The record is at the place.
    Added,
    /// Another record is there.
    Taken(Arc<[u8]>),
    /// The epoch takes no more records.
    Sealed,
    /// Nothing was added, and never will be.
    Failed(Error),
    /// It may have been added, or not.
    Unknown(Error),
}

/// The error of a fault after which nothing is in doubt.
fn failed(fault: &Fault) -> Error {
    match fault {
        Fault::Refused(_) => Error::new(ErrorCode::Source, format!("the wide-column store: {fault}")),
        _ => Error::new(ErrorCode::Connection, format!("the wide-column store: {fault}"))
            .with_remedy("see that a majority of the replicas runs, then try again"),
    }
}

impl Ring {
    /// Repeats an operation that may be repeated, with pauses.
    fn repeated<T>(&self, operation: impl Fn() -> Result<T, Fault>) -> Result<T> {
        for attempt in 1.. {
            meter::count(|meter| meter.round_trips += 1);
            let waiting = meter::waiting(meter::Wait::Source);
            let outcome = operation();
            drop(waiting);
            match outcome {
                Ok(answer) => return Ok(answer),
                Err(fault @ Fault::Cancelled(_)) => {
                    interrupt::check_this_thread()?;
                    return Err(failed(&fault));
                }
                Err(fault @ (Fault::Ended(_) | Fault::Refused(_))) => return Err(failed(&fault)),
                Err(fault) if attempt >= self.attempts => return Err(failed(&fault)),
                Err(_) => self.tables.pause(attempt),
            }
        }
        Err(model::error!(Internal, "an operation was not tried"))
    }

    /// Reads slices, unless the statement of this thread is cancelled.
    pub(crate) fn read(&self, slices: &[Slice]) -> Result<Vec<Vec<Row>>> {
        let mut answers = Vec::with_capacity(slices.len());
        let is_cancelled = || interrupt::check_this_thread().is_err();
        for slices in slices.chunks(SLICES_MAX) {
            interrupt::check_this_thread()?;
            let mut rows = self.repeated(|| self.tables.read(slices, &is_cancelled))?;
            let count: usize = rows.iter().map(Vec::len).sum();
            meter::count(|meter| meter.rows_fetched += count as u64);
            answers.append(&mut rows);
        }
        Ok(answers)
    }

    /// Reads pages of scans in one round trip, unless the statement of this thread is cancelled.
    pub(crate) fn scan(&self, pages: &[PageAsk]) -> Result<Vec<Page>> {
        interrupt::check_this_thread()?;
        let is_cancelled = || interrupt::check_this_thread().is_err();
        let found = self.repeated(|| self.tables.scan(pages, &is_cancelled))?;
        let count: usize = found.iter().map(|page| page.rows.len()).sum();
        meter::count(|meter| meter.rows_fetched += count as u64);
        Ok(found)
    }

    /// Reads one slice, for whoever waits: a commit that others share is not cancelled by one of them.
    pub(crate) fn read_one(&self, slice: Slice) -> Result<Vec<Row>> {
        Ok(self.repeated(|| self.tables.read(std::slice::from_ref(&slice), &|| false))?.pop().unwrap_or_default())
    }

    /// Writes rows, which may be repeated.
    pub(crate) fn write(&self, rows: &[RowWrite]) -> Result<()> {
        rows.chunks(ROWS_MAX).try_for_each(|rows| self.repeated(|| self.tables.write(rows)))
    }

    /// Records and marks of an epoch.
    pub(crate) fn follow(&self, epoch: i64, after: i64) -> Result<LogPage> {
        self.repeated(|| self.tables.follow(self.graph, epoch, after))
    }

    /// The record at a place, in the order of all appends.
    pub(crate) fn read_place(&self, epoch: i64, sequence: i64) -> Result<Option<Arc<[u8]>>> {
        self.repeated(|| self.tables.read_place(Place { graph: self.graph, epoch, sequence }))
    }

    /// Seals an epoch.
    pub(crate) fn seal(&self, epoch: i64) -> Result<()> {
        self.repeated(|| self.tables.seal(self.graph, epoch))
    }

    /// Appends a record, which no other record of any process equals. An attempt without an answer is repeated at the same
    /// place: the record is added once at most, and one that finds itself there was added before.
    pub(crate) fn append(&self, epoch: i64, sequence: i64, record: &[u8]) -> Attempt {
        let place = Place { graph: self.graph, epoch, sequence };
        let (mut is_in_doubt, mut attempt) = (false, 1);
        loop {
            meter::count(|meter| meter.round_trips += 1);
            let waiting = meter::waiting(meter::Wait::Log);
            let outcome = self.tables.append(place, record);
            drop(waiting);
            let fault = match outcome {
                Ok(Appended::Added) => return Attempt::Added,
                Ok(Appended::Taken(found)) if *found == *record => return Attempt::Added,
                Ok(Appended::Taken(found)) => return Attempt::Taken(found),
                // An append in doubt may have been made before the epoch was sealed.
                Ok(Appended::Sealed) if is_in_doubt => return self.look(epoch, sequence, record),
                Ok(Appended::Sealed) => return Attempt::Sealed,
                Err(fault) => fault,
            };
            is_in_doubt |= !matches!(fault, Fault::Unavailable(_) | Fault::Refused(_));
            let is_last = attempt >= self.attempts || matches!(fault, Fault::Ended(_) | Fault::Refused(_));
            if is_last && is_in_doubt {
                return match fault {
                    Fault::Ended(_) => Attempt::Unknown(failed(&fault)),
                    _ => self.look(epoch, sequence, record),
                };
            }
            if is_last {
                return Attempt::Failed(failed(&fault));
            }
            self.tables.pause(attempt);
            attempt += 1;
        }
    }

    /// Asks whose record is at a place where an append is in doubt.
    fn look(&self, epoch: i64, sequence: i64, record: &[u8]) -> Attempt {
        match self.read_place(epoch, sequence) {
            Ok(Some(found)) if *found == *record => Attempt::Added,
            Ok(Some(found)) => Attempt::Taken(found),
            Ok(None) => Attempt::Failed(model::error!(
                Connection,
                "the log of the graph does not take records: no append was answered in {} attempts",
                self.attempts
            )),
            Err(error) => Attempt::Unknown(error),
        }
    }
}
