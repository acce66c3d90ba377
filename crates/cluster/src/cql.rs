//! Apache Cassandra, and what speaks its protocol CQL, as a wide-column store.
//!
//! One runtime of two threads belongs to the session, and nothing of it is seen outside: each call of [`Tables`] sends all its
//! requests at once and waits for the answers. The driver knows which machine has which rows, and goes to another where one is
//! away.
//!
//! - [`statements`]: the statements, made of the shapes of the tables, and prepared when they are used first.
//! - [`values`]: fields and rows. [`faults`]: the meaning of errors.
//!
//! Cost: a slice and a batch of rows of one partition are one request each; up to [`REQUESTS_MAX`] are under way for a call.

mod faults;
mod session;
mod statements;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use model::{Error, ErrorCode, Result};
use scylla::statement::batch::{Batch, BatchType};
use scylla::value::CqlValue;

use self::session::Session;
use scylla::response::PagingState;

use crate::tables::{
    Appended, Change, Fault, Field, LogPage, Page, PageAsk, Place, Row, RowWrite, Slice, Table, Tables,
};

/// Requests of one call that are under way at a time.
const REQUESTS_MAX: usize = 128;
/// Bytes of a batch of rows of one partition; Cassandra warns of 5 KiB and refuses 50 KiB by default.
const BATCH_BYTES_MAX: usize = 32 << 10;
/// Rows of such a batch.
const BATCH_ROWS_MAX: usize = 100;
/// Records that are read at first from the end of an epoch, in which there is mostly no new one.
const TAIL_RECORDS: i32 = 8;
/// Records of each further page.
const PAGE_RECORDS: i32 = 512;

/// Settings of a connection.
#[derive(Clone, Debug)]
pub struct CqlConfig {
    /// Machines to ask first, as `host:port`; the others are learnt from them.
    pub hosts: Vec<String>,
    /// The keyspace of the tables.
    pub keyspace: String,
    /// Keyspace and tables are made if they are not there.
    pub creates: bool,
    /// Copies of each row, in each data centre, of a keyspace that is made.
    pub copies: u32,
    /// User and password.
    pub login: Option<(String, String)>,
    /// Time after which a request has no answer.
    pub timeout: Duration,
}

impl CqlConfig {
    /// Settings with defaults: what is not there is made, three copies, no login, 20 s.
    pub fn new(hosts: Vec<String>, keyspace: impl Into<String>) -> CqlConfig {
        let (keyspace, timeout) = (keyspace.into(), Duration::from_secs(20));
        CqlConfig { hosts, keyspace, creates: true, copies: 3, login: None, timeout }
    }
}

/// Tables in a keyspace.
pub struct CqlTables {
    session: Session,
    keyspace: String,
}

impl fmt::Debug for CqlTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CqlTables").field("keyspace", &self.keyspace).finish_non_exhaustive()
    }
}

impl CqlTables {
    /// Connects, and makes keyspace and tables if they are not there.
    pub fn connect(config: &CqlConfig) -> Result<CqlTables> {
        let is_name = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_lowercase())
                && name.len() <= 48
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        if !is_name(&config.keyspace) {
            return Err(model::error!(Argument, "{:?} is no name of a keyspace", config.keyspace)
                .with_remedy("use up to 48 small letters, digits and underscores, a letter first"));
        }
        let failed = |fault: Fault| match fault {
            Fault::Refused(_) if !config.creates => {
                Error::new(ErrorCode::NotAStore, format!("the keyspace {} holds no graphs: {fault}", config.keyspace))
                    .with_remedy("check the address; `knot cql://HOST/KEYSPACE` makes keyspace and tables")
            }
            _ => Error::new(ErrorCode::Connection, format!("{}: {fault}", config.hosts.join(", ")))
                .with_remedy("see that the machines run, and that host, port and login are right"),
        };
        let session = Session::connect(config).map_err(failed)?;
        Ok(CqlTables { session, keyspace: config.keyspace.clone() })
    }

    /// Writes rows of one partition: a batch, or a statement alone.
    async fn write_together(&self, rows: &[&RowWrite]) -> Result<(), Fault> {
        let mut batch = Batch::new(BatchType::Unlogged);
        let mut values: Vec<Vec<CqlValue>> = Vec::with_capacity(rows.len());
        if let [row] = rows {
            let statement = self.session.prepared(&statements::write(&self.keyspace, row)).await?;
            let outcome = self.session.driver().execute_unpaged(&statement, values::of_write(row)).await;
            return outcome.map(drop).map_err(|error| faults::of(&error));
        }
        for row in rows {
            batch.append_statement(self.session.prepared(&statements::write(&self.keyspace, row)).await?);
            values.push(values::of_write(row));
        }
        // Repeated writes change nothing.
        batch.set_is_idempotent(true);
        let outcome = self.session.driver().batch(&batch, values).await;
        outcome.map(drop).map_err(|error| faults::of(&error))
    }

    async fn read_slice(&self, slice: &Slice) -> Result<Vec<Row>, Fault> {
        let statement = self.session.prepared(&statements::read(&self.keyspace, slice)).await?;
        let rows = self.session.all_rows(&statement, values::of_slice(slice)).await?;
        rows.into_iter().map(|row| values::row_of(slice.table, row)).collect()
    }

    async fn read_page(&self, ask: &PageAsk) -> Result<Page, Fault> {
        let statement = self.session.prepared(&statements::scan(&self.keyspace, &ask.scan)).await?;
        let values = [ask.scan.tokens.after, ask.scan.tokens.to].map(CqlValue::BigInt).to_vec();
        let from = ask.from.as_ref().map(|from| PagingState::new_from_raw_bytes(&from[..]));
        let (rows, next) = self.session.page(&statement, values, from, ask.rows as i32).await?;
        let rows = rows.into_iter().filter_map(|row| values::scanned_row_of(&ask.scan, row).transpose());
        let next = next.and_then(|next| next.as_bytes_slice().cloned());
        Ok(Page { rows: rows.collect::<Result<_, _>>()?, next })
    }

    /// The records of an epoch behind a sequence number, and whether it is sealed: read in one request, backwards, since the
    /// seal comes only with rows that no bound restricts.
    async fn tail(&self, graph: i64, epoch: i64, after: i64) -> Result<LogPage, Fault> {
        let statement = self.session.prepared(&statements::tail(&self.keyspace)).await?;
        let key = || vec![CqlValue::BigInt(graph), CqlValue::BigInt(epoch)];
        let (mut records, mut is_sealed, mut page, mut size) = (Vec::new(), false, None, TAIL_RECORDS);
        loop {
            let (rows, next) = self.session.page(&statement, key(), page, size).await?;
            let mut is_past = false;
            for row in rows {
                let found = values::log_row_of(row)?;
                is_sealed |= found.is_sealed;
                match (found.sequence, found.record) {
                    (Some(sequence), _) if sequence <= after => is_past = true,
                    (Some(sequence), Some(record)) => records.push((sequence, record)),
                    _ => {}
                }
            }
            if is_past || next.is_none() {
                records.reverse();
                return Ok(LogPage { records, applied: Vec::new(), is_sealed });
            }
            (page, size) = (next, PAGE_RECORDS);
        }
    }

    async fn marks(&self, graph: i64, epoch: i64, after: i64) -> Result<Vec<i64>, Fault> {
        let key = vec![Field::Int(graph), Field::Int(epoch)];
        let slice = Slice::new(Table::Applied, key, Vec::new())
            .between(std::ops::Bound::Excluded(Field::Int(after)), std::ops::Bound::Unbounded);
        let rows = self.read_slice(&slice).await?;
        let number = |row: &Row| match row.clustering.first() {
            Some(Field::Int(number)) => Some(*number),
            _ => None,
        };
        Ok(rows.iter().filter_map(number).collect())
    }

    async fn append_record(&self, place: Place, record: &[u8]) -> Result<Appended, Fault> {
        let statement = self.session.prepared(&statements::append(&self.keyspace)).await?;
        let mut values = vec![CqlValue::Blob(record.to_vec())];
        values.extend([place.graph, place.epoch, place.sequence].map(CqlValue::BigInt));
        let answer = self.session.driver().execute_unpaged(&statement, values).await;
        let answer = answer.map_err(|error| faults::of_append(&error))?;
        values::appended(answer)
    }
}

/// Rows of each partition, in batches that are not too large.
fn batches(rows: &[RowWrite]) -> Vec<Vec<&RowWrite>> {
    let mut partitions: BTreeMap<(Table, &[Field]), Vec<&RowWrite>> = BTreeMap::new();
    for row in rows {
        partitions.entry((row.table, &row.partition)).or_default().push(row);
    }
    let mut batches = Vec::new();
    for rows in partitions.into_values() {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for row in rows {
            let size = size_of_write(row);
            if !batch.is_empty() && (bytes + size > BATCH_BYTES_MAX || batch.len() == BATCH_ROWS_MAX) {
                batches.push(std::mem::take(&mut batch));
                bytes = 0;
            }
            batch.push(row);
            bytes += size;
        }
        batches.push(batch);
    }
    batches
}

/// Approximate bytes of a write.
fn size_of_write(row: &RowWrite) -> usize {
    let size = |field: &Field| if let Field::Bytes(bytes) = field { bytes.len() + 4 } else { 12 };
    let cells = match &row.change {
        Change::Put(cells) => cells.iter().map(|(_, field)| size(field)).sum(),
        Change::Delete | Change::DeleteUpTo => 0,
    };
    row.clustering.iter().map(size).sum::<usize>() + cells + 32
}

impl Tables for CqlTables {
    fn write(&self, rows: &[RowWrite]) -> Result<(), Fault> {
        let writes = stream::iter(batches(rows)).map(|rows| async move { self.write_together(&rows).await });
        self.session.wait(writes.buffer_unordered(REQUESTS_MAX).try_collect::<Vec<()>>()).map(drop)
    }

    fn read(&self, slices: &[Slice], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<Row>>, Fault> {
        let reads = stream::iter(slices).map(|slice| self.read_slice(slice));
        self.session.wait_or_cancel(reads.buffered(REQUESTS_MAX).try_collect(), is_cancelled)
    }

    fn scan(&self, pages: &[PageAsk], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Page>, Fault> {
        let reads = stream::iter(pages).map(|page| self.read_page(page));
        self.session.wait_or_cancel(reads.buffered(REQUESTS_MAX).try_collect(), is_cancelled)
    }

    fn append(&self, place: Place, record: &[u8]) -> Result<Appended, Fault> {
        self.session.wait(self.append_record(place, record))
    }

    fn read_place(&self, place: Place) -> Result<Option<Arc<[u8]>>, Fault> {
        self.session.wait(async {
            let statement = self.session.prepared(&statements::place(&self.keyspace)).await?;
            let key = [place.graph, place.epoch, place.sequence].map(CqlValue::BigInt).to_vec();
            let rows = self.session.all_rows(&statement, key).await?;
            rows.into_iter().next().map_or(Ok(None), values::record_at)
        })
    }

    fn follow(&self, graph: i64, epoch: i64, after: i64) -> Result<LogPage, Fault> {
        self.session.wait(async {
            let reads = futures_util::future::try_join(self.tail(graph, epoch, after), self.marks(graph, epoch, after));
            let (page, applied) = reads.await?;
            Ok(LogPage { applied, ..page })
        })
    }

    fn seal(&self, graph: i64, epoch: i64) -> Result<(), Fault> {
        self.session.wait(async {
            let statement = self.session.prepared(&statements::seal(&self.keyspace)).await?;
            let key = [graph, epoch].map(CqlValue::BigInt).to_vec();
            let outcome = self.session.driver().execute_unpaged(&statement, key).await;
            outcome.map(drop).map_err(|error| faults::of_append(&error))
        })
    }

    fn pause(&self, attempts: u32) {
        const SHORTEST_MS: u64 = 5;
        const LONGEST_MS: u64 = 500;
        std::thread::sleep(Duration::from_millis((SHORTEST_MS << attempts.min(10)).min(LONGEST_MS)));
    }

    fn wait(&self, ns: u64) {
        std::thread::sleep(Duration::from_nanos(ns));
    }
}
