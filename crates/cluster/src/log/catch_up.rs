//! Reading on: new records of others, records whose writer has gone, and records for a comparison.

use std::sync::Arc;

use model::{Error, Result, error};

use super::{Log, OwnRows, Records};
use crate::record::Record;
use crate::state::State;
use crate::tables::LogPage;

impl Log {
    /// The state that includes all that was acknowledged before the call, by any process; or, if the settings allow, that of
    /// a while ago.
    pub(crate) fn follow(&self) -> Result<Arc<State>> {
        let now = self.settings.clock.now_ns();
        {
            let followed = self.followed();
            let is_fresh = |read: u64| now.saturating_sub(read) < self.settings.staleness_ns;
            if followed.read_ns.is_some_and(is_fresh) {
                return Ok(followed.state.clone());
            }
        }
        let state = self.catch_up()?;
        self.followed().read_ns = Some(now);
        Ok(state)
    }

    /// Reads all records that there are, and writes the rows of those whose writer has gone.
    pub(crate) fn catch_up(&self) -> Result<Arc<State>> {
        let began = self.settings.clock.now_ns();
        let state = self.catch_up_to_end()?;
        self.lease.looked(began);
        Ok(state)
    }

    fn catch_up_to_end(&self) -> Result<Arc<State>> {
        loop {
            let before = self.state().sequence;
            let state = self.read_page(before)?;
            let is_at_end_of_epoch = self.epoch(state.sequence + 1) != self.epoch(before + 1);
            if is_at_end_of_epoch {
                continue;
            }
            match self.overdue(state.sequence + 1) {
                Some(record) => self.apply(state.sequence + 1, &record, &OwnRows::default())?,
                None => return Ok(state),
            }
        }
    }

    /// Reads the records behind a sequence number, up to the end of their epoch.
    fn read_page(&self, after: u64) -> Result<Arc<State>> {
        let epoch = self.epoch(after + 1);
        let page = self.ring.follow(epoch, after as i64)?;
        if page.is_sealed && !self.is_whole(&page, after) {
            // The epoch was dropped, so that there is a checkpoint behind it.
            self.load_checkpoint()?;
            let state = self.state();
            return if self.epoch(state.sequence + 1) > epoch { Ok(state) } else { Err(self.missing(after + 1)) };
        }
        self.absorb(&page, after)
    }

    /// True if a page has all records from a sequence number on to the end of its epoch.
    fn is_whole(&self, page: &LogPage, after: u64) -> bool {
        let end = (after + 1) / self.settings.epoch_records * self.settings.epoch_records + self.settings.epoch_records;
        page.records.len() as u64 == end - after - 1
    }

    /// The record of that number, if its rows have been due for too long, and this process may write them.
    fn overdue(&self, sequence: u64) -> Option<Arc<Record>> {
        if self.settings.is_read_only {
            return None;
        }
        let now = self.settings.clock.now_ns();
        let mut followed = self.followed();
        let record = followed.ahead.get(&sequence).filter(|_| !followed.applied.contains(&sequence)).cloned()?;
        let since = match followed.stuck {
            Some((number, since)) if number == sequence => since,
            _ => now,
        };
        followed.stuck = Some((sequence, since));
        (now.saturating_sub(since) >= self.settings.patience_ns).then_some(record)
    }

    /// Waits until the state includes a record; writes the rows of those before it whose writers do not.
    pub(crate) fn include(&self, sequence: u64) -> Result<Arc<State>> {
        for attempt in 1.. {
            let state = self.state();
            if state.sequence >= sequence {
                return Ok(state);
            }
            if self.catch_up()?.sequence < sequence {
                self.ring.tables.pause(attempt);
            }
        }
        Err(error!(Internal, "nothing was waited for"))
    }

    /// All records behind a sequence number that this process knows of; fails with `CONFLICT` if some of them are gone.
    pub(crate) fn records_after(&self, after: u64) -> Result<Records> {
        let (mut records, last) = {
            let followed = self.followed();
            let (first, last) = (followed.first_recent(), followed.state.sequence);
            let recent = (first..).zip(followed.recent.iter().cloned());
            let ahead = followed.ahead.iter().map(|(number, record)| (*number, record.clone()));
            let known: Records = recent.chain(ahead).filter(|(number, _)| *number > after).collect();
            (known, if first <= after + 1 { after } else { first.min(last + 1) - 1 })
        };
        // Older ones than are kept in memory.
        let mut next = after + 1;
        while next <= last {
            let page = self.ring.follow(self.epoch(next), next as i64 - 1)?;
            let before = next;
            for (sequence, bytes) in page.records {
                if sequence as u64 == next && next <= last {
                    records.insert(next, self.decode(&bytes)?);
                    next += 1;
                }
            }
            if next == before {
                return Err(too_old());
            }
        }
        Ok(records)
    }

    /// The records behind a sequence number that are in the log by now, those whose rows are not written among them.
    pub(crate) fn records_ahead(&self, after: u64) -> Result<Records> {
        let page = self.ring.follow(self.epoch(after + 1), after as i64)?;
        let mut records = Records::new();
        for (sequence, bytes) in page.records {
            // Records behind a gap are found when the gap is filled.
            if sequence as u64 == after + 1 + records.len() as u64 {
                let record = self.decode(&bytes)?;
                self.note(sequence as u64, &record);
                records.insert(sequence as u64, record);
            }
        }
        Ok(records)
    }
}

/// The error of a transaction that began before the records that are left.
pub(crate) fn too_old() -> Error {
    error!(Conflict, "the transaction began before the oldest record that is left of the log")
}
