//! The purge: the end of rows that no view sees any more.
//!
//! 1. A record of the log sets the horizon. Views that are older end, by [`Log::confirm`]; so do transactions whose bodies were
//!    named before it. Horizons only grow.
//! 2. Twice the lease of views is waited.
//! 3. Rows that were dead at the horizon are deleted: those that records of the log tell of, from the last purge on, or, where
//!    these are gone, all that a sweep of the tables finds. Records of the log tell how far it has come.
//!
//! Invariants:
//! - Rows are deleted with the timestamp of the last write that they ever get, or a later one: what arrives or is applied late
//!   stays deleted.
//! - Of events of a label or a value the last one by the horizon stays if it says that something is there. If not, it goes with
//!   all that came before it, by one deletion.
//! - Everything may be done twice, by any process: whoever finds a purge unfinished goes on with it.
//!
//! Cost: a deletion of each thing with dead rows, which is one tombstone, and a read for each batch of events. In memory are the rows of one record, or of
//! [`sweep::PARTITIONS`] partitions.

mod background;
mod bodies;
mod dead;
mod sweep;

use std::sync::{Arc, Mutex};

use model::{Error, ErrorCode, Result, error, interrupt};

pub(crate) use self::background::Background;
use self::dead::Batch;
use crate::commit::{Answer, Doubts, Pending};
use crate::items::Items;
use crate::log::{Log, OwnRows};
use crate::record::{Member, Record, Stored, TransactionId};
use crate::settings::PurgeFault;
use crate::shared::Shared;
use crate::state::{Delta, PurgeStep, State, Sweep};

/// Rows of a record that are looked at together.
const BATCH_ROWS: usize = 2_048;
/// Times that a record of progress is tried beside other purges.
const ATTEMPTS: usize = 16;
/// A pause while leases end, as the wide-column store counts them.
const PAUSE: u32 = 6;

/// Records of the log, each with its number.
type Records = Vec<(u64, Arc<Record>)>;

/// Counts of the rows that a purge has deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Versions and events.
    pub rows: u64,
    /// Dropped indexes whose entries are gone.
    pub indexes: u64,
    /// Transactions that were never appended, and whose bodies, if they had any, are gone.
    pub bodies: u64,
    /// Partitions that were read because the log no longer tells what died.
    pub swept: u64,
}

/// A purge under way. `pace` is called with the nanoseconds that it worked since it was called last.
pub(crate) struct Purger<'a> {
    shared: &'a Shared,
    pace: &'a dyn Fn(u64) -> Result<()>,
    horizon: u64,
    /// The time from which on rows may be deleted.
    free_ns: u64,
    done: Purged,
}

impl<'a> Purger<'a> {
    pub(crate) fn new(shared: &'a Shared, pace: &'a dyn Fn(u64) -> Result<()>) -> Purger<'a> {
        Purger { shared, pace, horizon: 0, free_ns: 0, done: Purged::default() }
    }

    fn log(&self) -> &Log {
        &self.shared.log
    }

    fn now_ns(&self) -> u64 {
        self.log().settings.clock.now_ns()
    }

    fn has_fault(&self, fault: PurgeFault) -> bool {
        self.log().settings.purge_fault == Some(fault)
    }

    /// Purges what was dead as of a record, and what an earlier purge has left.
    pub(crate) fn run(mut self, upto: u64) -> Result<Purged> {
        let lease_ns = self.log().settings.lease_ns;
        self.record(|state| {
            // While a graph is loaded, views stay where they were before.
            let upto = upto.min(state.seen());
            let mut purge = state.purge.clone();
            (purge.horizon, purge.lease_ns) = (upto, lease_ns);
            Ok((state.purge.horizon < upto).then(|| PurgeStep { purge, ..PurgeStep::default() }))
        })?;
        self.horizon = self.log().state().purge.horizon;
        self.free_ns = self.now_ns().saturating_add(lease_ns.saturating_mul(2));
        self.purge_bodies()?;
        self.purge_indexes()?;
        if self.has_fault(PurgeFault::AboveHorizon) {
            self.horizon = self.log().catch_up()?.sequence;
        }
        let last = self.horizon;
        while self.log().state().purge.purged < last {
            match self.log().state().purge.sweep {
                Some(sweep) => self.sweep(sweep)?,
                None => self.purge_by_log(last)?,
            }
        }
        Ok(self.done)
    }

    /// Puts a step into the log, made of the state before it; none if there is nothing to say.
    fn record(&self, step: impl Fn(&State) -> Result<Option<PurgeStep>>) -> Result<()> {
        let mut state = self.log().catch_up()?;
        for _ in 0..ATTEMPTS {
            let Some(step) = step(&state)? else { return Ok(()) };
            match self.append(&state, step) {
                Err(conflict) if conflict.code() == ErrorCode::Conflict => state = self.log().catch_up()?,
                outcome => return outcome,
            }
        }
        Err(error!(Conflict, "other processes purge the graph: no step was recorded in {ATTEMPTS} attempts"))
    }

    fn append(&self, state: &State, step: PurgeStep) -> Result<()> {
        let random = &self.log().settings.random;
        let delta = Delta { purge: Some(step), ..Delta::default() };
        let mut bytes = Vec::new();
        delta.encode(&mut bytes);
        let items = Arc::new(Items::default());
        let stored = Stored::Inline(Arc::from(items.encode()));
        let id = TransactionId(random.next_u64(), random.next_u64());
        let pending = Pending {
            base: state.sequence,
            named_at: u64::MAX,
            member: Arc::new(Member::new(id, delta, stored, Stored::Inline(Arc::from([])), items)),
            rows: Arc::from([]),
            bytes: bytes.len() + 128,
            doubts: Doubts::default(),
            answer: Mutex::new(Answer::Waiting),
        };
        self.shared.queue.commit(self.log(), Arc::new(pending)).map(drop)
    }

    /// Purges what the next records tell of; begins a sweep if they are gone.
    fn purge_by_log(&mut self, last: u64) -> Result<()> {
        let from = self.log().state().purge.purged;
        let Some(records) = self.records(from + 1, last)? else { return self.begin_sweep() };
        let (mut purged, mut gone) = (from, 0);
        for (sequence, record) in records {
            let rows = match self.log().rows_of_record(sequence, &record, &OwnRows::default()) {
                Ok(rows) => rows,
                // Bodies of an epoch that is being dropped go before its records.
                Err(_) if self.log().is_dropped(sequence)? => break,
                Err(error) => return Err(error),
            };
            for rows in rows.chunks(BATCH_ROWS) {
                let batch = Batch::of_written(rows, &self.log().state().dead.indexes);
                self.end(batch)?;
            }
            purged = sequence;
            gone += record.members.iter().map(|member| member.delta.dead).sum::<u64>();
            if gone >= self.log().settings.purge_rows {
                break;
            }
        }
        if purged == from {
            return self.begin_sweep();
        }
        self.record(|state| {
            let mut purge = state.purge.clone();
            purge.purged = purged;
            // Another that came further meanwhile has counted the rows.
            Ok((state.purge.purged == from).then(|| PurgeStep { purge, gone, ..PurgeStep::default() }))
        })
    }

    /// The records from one on to another, as far as one epoch goes; `None` if the first is gone.
    fn records(&self, first: u64, last: u64) -> Result<Option<Records>> {
        let page = self.log().ring.follow(self.log().epoch(first), first as i64 - 1)?;
        if page.is_sealed {
            return Ok(None);
        }
        let mut records = Vec::new();
        for (sequence, bytes) in page.records {
            let sequence = sequence as u64;
            while first + (records.len() as u64) < sequence.min(last + 1) {
                let missing = first + records.len() as u64;
                let Some(bytes) = self.log().ring.read_place(self.log().epoch(missing), missing as i64)? else {
                    return Ok(if records.is_empty() { None } else { Some(records) });
                };
                records.push((missing, self.log().decode(&bytes)?));
            }
            if sequence > last {
                break;
            }
            records.push((sequence, self.log().decode(&bytes)?));
        }
        Ok(if records.is_empty() { None } else { Some(records) })
    }

    /// Purges the entries of indexes that were dropped by the horizon.
    fn purge_indexes(&mut self) -> Result<()> {
        let state = self.log().state();
        let dropped = state.dead.indexes.iter().filter(|(_, sequence)| *sequence <= self.horizon);
        for (number, _) in dropped {
            self.wait_for_leases()?;
            self.log().ring.write(&dead::entries_of_index(self.log().ring.graph, *number, self.horizon))?;
            self.record(|state| {
                let is_left = state.dead.indexes.iter().any(|(left, _)| left == number);
                let step = PurgeStep { purge: state.purge.clone(), gone: 0, indexes: vec![*number] };
                Ok(is_left.then_some(step))
            })?;
            self.done.indexes += 1;
        }
        Ok(())
    }

    fn begin_sweep(&self) -> Result<()> {
        let upto = self.horizon;
        self.record(|state| {
            if state.purge.sweep.is_some() || state.purge.purged >= upto {
                return Ok(None);
            }
            let later = self.log().records_after(upto)?;
            let later = later.range(..=state.sequence).flat_map(|(_, record)| &record.members);
            let dead = state.dead.rows.saturating_sub(later.map(|member| member.delta.dead).sum());
            let mut purge = state.purge.clone();
            purge.sweep = Some(Sweep { upto, dead, ..Sweep::default() });
            Ok(Some(PurgeStep { purge, ..PurgeStep::default() }))
        })
    }

    /// Waits until views of other processes look for the horizon before they trust what they have read.
    fn wait_for_leases(&self) -> Result<()> {
        if self.has_fault(PurgeFault::WaitsForNobody) {
            return Ok(());
        }
        while self.now_ns() < self.free_ns {
            interrupt::check_this_thread()?;
            self.log().ring.tables.pause(PAUSE);
        }
        Ok(())
    }

    /// Deletes the rows of a batch.
    fn end(&mut self, batch: Batch) -> Result<()> {
        interrupt::check_this_thread()?;
        let began = self.now_ns();
        let events =
            if batch.events.is_empty() { Vec::new() } else { self.log().ring.read(&batch.slices(self.horizon))? };
        let (ends, count) = batch.ends(&events, &self.log().settings)?;
        if ends.is_empty() {
            return Ok(());
        }
        let reading = self.now_ns().saturating_sub(began);
        self.wait_for_leases()?;
        let began = self.now_ns();
        self.log().ring.write(&ends)?;
        self.done.rows += count;
        (self.pace)(reading + self.now_ns().saturating_sub(began))
    }
}

impl Log {
    /// True if the epoch of a record is being dropped, or was.
    fn is_dropped(&self, sequence: u64) -> Result<bool> {
        Ok(self.ring.follow(self.epoch(sequence), sequence as i64 - 1)?.is_sealed)
    }
}

/// True if a purge has to be tried again by whoever comes next, and nothing is wrong.
fn is_passing(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::Conflict | ErrorCode::Connection | ErrorCode::OutcomeUnknown)
}
