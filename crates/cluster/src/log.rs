//! The shared log as one process knows it: the state up to the last record whose rows are all written, and the records
//! behind it.
//!
//! Invariants: the state comes to include a record only when all before it are included and its rows are all written, so
//! that a view of the state finds them; records are never changed once they are in the log.

mod catch_up;
mod checkpoint;
mod lease;

pub(crate) use catch_up::too_old;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Map, Result, error};

use self::lease::Lease;
use crate::body::rows_of;
use crate::cache::{Cache, Touched};
use crate::record::{Record, Stored, TransactionId};
use crate::ring::Ring;
use crate::rows::int;
use crate::settings::Settings;
use crate::state::{Ids, State};
use crate::tables::{Change, Field, LogPage, RowWrite, Table};

/// Records that are kept to be compared with transactions that began before them.
const RECENT_RECORDS: usize = 4_096;

/// Records that show which processes append.
const WRITERS_RECORDS: usize = 1_024;

/// Parts of long bodies up to which a record is read to learn what it touches in the cache.
const TOUCHED_PARTS_MAX: u32 = 16;
/// Such records of one page at most, each a round trip.
const TOUCHED_RECORDS_MAX: usize = 16;

/// Records of transactions, by sequence number.
pub(crate) type Records = BTreeMap<u64, Arc<Record>>;

/// Rows of transactions of this process, which need not be read.
pub(crate) type OwnRows = Map<TransactionId, Arc<[u8]>>;

/// The log of a graph.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) ring: Ring,
    pub(crate) settings: Settings,
    /// Number of this process.
    pub(crate) writer: u64,
    pub(crate) cache: Arc<Cache>,
    lease: Lease,
    followed: Mutex<Followed>,
}

/// Progress of this process along the log.
#[derive(Debug, Default)]
struct Followed {
    state: Arc<State>,
    /// The last records that the state includes.
    recent: VecDeque<Arc<Record>>,
    /// Records behind the state.
    ahead: Records,
    /// Records behind the state whose rows are all written.
    applied: BTreeSet<u64>,
    /// Units of the cache that records behind the state touch, as far as they are known.
    touched: BTreeMap<u64, Touched>,
    /// First ids of the blocks that this process was given and has not taken.
    grants: Map<TransactionId, Ids>,
    /// The record behind the state, if its rows were not all written when it was seen first, at that time.
    stuck: Option<(u64, u64)>,
    /// When the log was last read.
    read_ns: Option<u64>,
}

impl Followed {
    /// Includes in the state what can be.
    fn advance(&mut self, writer: u64, cache: &Cache) -> Result<()> {
        loop {
            let sequence = self.state.sequence + 1;
            if !self.applied.contains(&sequence) {
                return Ok(());
            }
            let Some(record) = self.ahead.get(&sequence).cloned() else { return Ok(()) };
            let mut state = State::clone(&self.state);
            for member in &record.members {
                let first = state.apply(sequence, &member.delta)?;
                if record.writer == writer && member.delta.block != Ids::default() {
                    self.grants.insert(member.transaction, first);
                }
            }
            state.sequence = sequence;
            // Dropped before a view can see the record.
            let touched = self.touched.remove(&sequence);
            cache.include(sequence, &touched.unwrap_or_else(|| touched_by_short(sequence, &record, cache)));
            self.state = Arc::new(state);
            self.ahead.remove(&sequence);
            self.applied.remove(&sequence);
            self.recent.push_back(Arc::new(record.without_rows()));
            if self.recent.len() > RECENT_RECORDS {
                self.recent.pop_front();
            }
        }
    }

    /// Number of the first record that is kept.
    fn first_recent(&self) -> u64 {
        self.state.sequence + 1 - self.recent.len() as u64
    }
}

/// The last of the records that follow each other from one on.
pub(crate) fn last_without_gap(known: &Records, from: u64) -> u64 {
    let mut last = from;
    while known.contains_key(&(last + 1)) {
        last += 1;
    }
    last
}

/// Units of the cache that a record touches: those of its rows, if all of them stand in it, otherwise all.
fn touched_by_short(sequence: u64, record: &Record, cache: &Cache) -> Touched {
    if !cache.is_on() || record.is_of_load() {
        return Touched::All;
    }
    let mut rows = Vec::new();
    for member in &record.members {
        let Stored::Inline(bytes) = &member.rows else { return Touched::All };
        let Ok(mut more) = rows_of(bytes, sequence as i64) else { return Touched::All };
        rows.append(&mut more);
    }
    Touched::by(&rows)
}

impl Log {
    /// A log of which nothing is known yet.
    pub(crate) fn new(ring: Ring, settings: Settings) -> Log {
        let (writer, cache) = (settings.random.next_u64(), Cache::new(&settings));
        Log { ring, settings, writer, cache, lease: Lease::default(), followed: Mutex::default() }
    }

    fn followed(&self) -> MutexGuard<'_, Followed> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The partition of a record.
    pub(crate) fn epoch(&self, sequence: u64) -> i64 {
        (sequence / self.settings.epoch_records) as i64
    }

    /// The last state that this process knows.
    pub(crate) fn state(&self) -> Arc<State> {
        self.followed().state.clone()
    }

    /// The first ids of a block that this process was given.
    pub(crate) fn take_grant(&self, transaction: TransactionId) -> Option<Ids> {
        self.followed().grants.remove(&transaction)
    }

    /// The last of the records that this process knows without a gap.
    pub(crate) fn tail(&self) -> u64 {
        let followed = self.followed();
        last_without_gap(&followed.ahead, followed.state.sequence)
    }

    /// Writers of the last records that this process knows, the last first.
    pub(crate) fn writers(&self) -> Vec<u64> {
        let followed = self.followed();
        let known = followed.recent.iter().chain(followed.ahead.values()).rev();
        known.take(WRITERS_RECORDS).map(|record| record.writer).collect()
    }

    /// Adds a record that was appended or found.
    pub(crate) fn note(&self, sequence: u64, record: &Arc<Record>) {
        let mut followed = self.followed();
        if sequence > followed.state.sequence {
            followed.ahead.insert(sequence, record.clone());
        }
    }

    /// Reads a record.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Result<Arc<Record>> {
        let record = Record::decode(bytes, self.settings.epoch_records)?;
        let steps = record.members.iter().filter_map(|member| member.delta.purge.as_ref());
        steps.map(|step| &step.purge).try_for_each(|purge| self.check_lease(purge))?;
        Ok(Arc::new(record))
    }

    /// Adds a page of the log that begins behind a sequence number. The records of a page that has a gap are asked for one by
    /// one: one that was appended may not have come to a majority yet.
    fn absorb(&self, page: &LogPage, after: u64) -> Result<Arc<State>> {
        let mut records: Records = BTreeMap::new();
        for (sequence, bytes) in &page.records {
            let sequence = *sequence as u64;
            let expected = after + 1 + records.len() as u64;
            for missing in expected..sequence {
                let found = self.ring.read_place(self.epoch(missing), missing as i64)?;
                let Some(bytes) = found else { return Err(self.missing(missing)) };
                records.insert(missing, self.decode(&bytes)?);
            }
            records.insert(sequence, self.decode(bytes)?);
        }
        let touched = self.touched_by_long(&records);
        let mut followed = self.followed();
        let sequence = followed.state.sequence;
        followed.touched.extend(touched.into_iter().filter(|(number, _)| *number > sequence));
        followed.ahead.extend(records.into_iter().filter(|(number, _)| *number > sequence));
        followed.applied.extend(page.applied.iter().map(|&number| number as u64).filter(|&number| number > sequence));
        followed.advance(self.writer, &self.cache)?;
        self.lease.found(followed.state.purge.horizon);
        Ok(followed.state.clone())
    }

    /// Units of the cache that long records touch, those that are not known yet. Records that are left out touch all.
    fn touched_by_long(&self, records: &Records) -> Vec<(u64, Touched)> {
        let parts = |record: &Record| record.members.iter().map(|member| member.rows.parts()).sum::<u32>();
        let is_long = |record: &Record| (1..=TOUCHED_PARTS_MAX).contains(&parts(record));
        if !self.cache.is_on() {
            return Vec::new();
        }
        let unknown: Vec<(u64, Arc<Record>)> = {
            let followed = self.followed();
            let is_unknown = |number: u64| number > followed.state.sequence && !followed.touched.contains_key(&number);
            let unknown = records.iter().filter(|(number, record)| is_long(record) && is_unknown(**number));
            unknown.map(|(number, record)| (*number, record.clone())).collect()
        };
        if unknown.len() > TOUCHED_RECORDS_MAX {
            return Vec::new();
        }
        let touched = |(number, record): (u64, Arc<Record>)| {
            let rows = self.rows_of_record(number, &record, &OwnRows::default());
            (number, rows.map_or(Touched::All, |rows| Touched::by(&rows)))
        };
        unknown.into_iter().map(touched).collect()
    }

    /// The rows that a record writes.
    pub(crate) fn rows_of_record(&self, sequence: u64, record: &Record, own: &OwnRows) -> Result<Vec<RowWrite>> {
        let mut rows = Vec::new();
        for member in &record.members {
            let bytes = match own.get(&member.transaction) {
                Some(bytes) => bytes.clone(),
                None => member.rows.load(&self.ring, member.transaction)?,
            };
            rows.append(&mut rows_of(&bytes, sequence as i64)?);
        }
        Ok(rows)
    }

    fn missing(&self, sequence: u64) -> model::Error {
        error!(Corrupt, "graph {}: record {sequence} of the log is not there, a later one is", self.ring.graph)
    }

    /// Writes the rows of a record and marks it. Whoever does so again writes the same.
    pub(crate) fn apply(&self, sequence: u64, record: &Record, own: &OwnRows) -> Result<()> {
        let rows = self.rows_of_record(sequence, record, own)?;
        self.ring.write(&rows)?;
        let mark = RowWrite {
            table: Table::Applied,
            partition: vec![Field::Int(self.ring.graph), Field::Int(self.epoch(sequence))],
            clustering: vec![int(sequence)],
            timestamp: sequence as i64,
            change: Change::Put(vec![(0, Field::Int(1))]),
        };
        self.ring.write(&[mark])?;
        // The rows of a bulk load are not in its records.
        let is_known = self.cache.is_on() && !record.is_of_load();
        let touched = if is_known { Touched::by(&rows) } else { Touched::All };
        let mut followed = self.followed();
        if sequence > followed.state.sequence {
            followed.touched.insert(sequence, touched);
            followed.applied.insert(sequence);
        }
        followed.advance(self.writer, &self.cache)?;
        self.lease.found(followed.state.purge.horizon);
        Ok(())
    }
}
