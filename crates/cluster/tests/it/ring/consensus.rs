//! Conditional appends: a register for each place of a log, which is decided once.
//!
//! An append that times out was decided and not told, or told to too few replicas, or is still to be decided: by whoever
//! asks next, or of itself. After that question it never will.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::tables::{Appended, Change, Fault, Field, Place, RowWrite, Table};

use super::faults::timed_out;
use super::{Canary, Inner};

/// A record, and the place that it is to have.
type Append = (Place, Arc<[u8]>);

/// Decisions about the places of all logs.
#[derive(Debug, Default)]
pub(super) struct Consensus {
    decided: BTreeMap<Place, Arc<[u8]>>,
    /// Appends that timed out and may yet be decided, by partition.
    under_way: BTreeMap<(i64, i64), Append>,
    sealed: BTreeSet<(i64, i64)>,
    /// Number of the last decision, the timestamp of its row.
    ballots: i64,
}

impl Consensus {
    /// Forgets what was decided in a partition whose rows were deleted.
    pub(super) fn forget(&mut self, graph: i64, epoch: i64) {
        self.decided.retain(|place, _| (place.graph, place.epoch) != (graph, epoch));
    }

    pub(super) fn is_sealed(&self, graph: i64, epoch: i64) -> bool {
        self.sealed.contains(&(graph, epoch))
    }
}

/// A record with the name of another and no transactions: what is left of it where nobody compares.
fn without_members(record: &[u8]) -> Arc<[u8]> {
    let mut emptied = record.to_vec();
    emptied.truncate(24);
    emptied.extend_from_slice(&0_u32.to_le_bytes());
    Arc::from(emptied)
}

impl Inner {
    /// Writes a decided record to the replicas: to a majority, or, if it is not told, to one at most.
    fn commit(&mut self, place: Place, record: &Arc<[u8]>, is_told: bool) -> Result<(), Fault> {
        let partition = vec![Field::Int(place.graph), Field::Int(place.epoch)];
        let mut up = self.up(&partition)?;
        self.random.shuffle(&mut up);
        up.truncate(if is_told { up.len() } else { self.random.index(2) });
        self.consensus.ballots += 1;
        let write = RowWrite {
            table: Table::Log,
            partition,
            clustering: vec![Field::Int(place.sequence)],
            timestamp: self.consensus.ballots,
            change: Change::Put(vec![(0, Field::Bytes(record.clone()))]),
        };
        up.into_iter().for_each(|at| self.replicas[at].apply(&write));
        Ok(())
    }

    /// Decides about an append that is under way in a partition of the log, one way or the other.
    fn settle(&mut self, graph: i64, epoch: i64, is_decided: bool) {
        let key = (graph, epoch);
        let Some((place, record)) = self.consensus.under_way.remove(&key) else { return };
        if is_decided && !self.consensus.sealed.contains(&key) && !self.consensus.decided.contains_key(&place) {
            self.consensus.decided.insert(place, record);
            self.counts.decided_late += 1;
        }
    }

    /// Decides about appends that nobody waits for, now and then.
    pub(super) fn decide_late(&mut self) {
        if self.random.chance(10)
            && let Some(&(graph, epoch)) = self.consensus.under_way.keys().next()
        {
            self.settle(graph, epoch, true);
        }
    }

    pub(super) fn append(&mut self, place: Place, record: &[u8]) -> Result<Appended, Fault> {
        self.counts.appends += 1;
        let Place { graph, epoch, .. } = place;
        self.up(&[Field::Int(graph), Field::Int(epoch)])?;
        let is_decided = self.random.chance(50);
        self.settle(graph, epoch, is_decided);
        let does_overwrite = self.canary == Some(Canary::AppendOverwrites);
        if let Some(found) = self.consensus.decided.get(&place).filter(|_| !does_overwrite).cloned() {
            self.commit(place, &found, true)?;
            let is_hidden = self.canary == Some(Canary::HidesWinner) && *found != *record;
            return Ok(Appended::Taken(if is_hidden { without_members(&found) } else { found }));
        }
        if self.consensus.is_sealed(graph, epoch) {
            return Ok(Appended::Sealed);
        }
        let record: Arc<[u8]> = Arc::from(record);
        if self.random.chance(self.faults.undecided) {
            self.counts.undecided += 1;
            // It never came, or it is still under way.
            if self.random.chance(70) {
                self.consensus.under_way.insert((graph, epoch), (place, record));
            }
            return Err(timed_out("append"));
        }
        self.consensus.decided.insert(place, record.clone());
        let is_told = !self.random.chance(self.faults.lost_answer);
        self.commit(place, &record, is_told)?;
        if !is_told || self.random.chance(self.faults.lost_answer) {
            self.counts.lost_answers += 1;
            return Err(timed_out("append"));
        }
        Ok(Appended::Added)
    }

    pub(super) fn read_place(&mut self, place: Place) -> Result<Option<Arc<[u8]>>, Fault> {
        let Place { graph, epoch, .. } = place;
        self.up(&[Field::Int(graph), Field::Int(epoch)])?;
        if self.random.chance(self.faults.lost_read) {
            return Err(timed_out("read"));
        }
        let is_decided = self.random.chance(50);
        self.settle(graph, epoch, is_decided);
        let Some(found) = self.consensus.decided.get(&place).cloned() else { return Ok(None) };
        self.commit(place, &found, true)?;
        Ok(Some(found))
    }

    pub(super) fn seal(&mut self, graph: i64, epoch: i64) -> Result<(), Fault> {
        self.up(&[Field::Int(graph), Field::Int(epoch)])?;
        let is_decided = self.random.chance(50);
        self.settle(graph, epoch, is_decided);
        if self.random.chance(self.faults.undecided) {
            return Err(timed_out("seal"));
        }
        if self.canary != Some(Canary::NeverSeals) {
            self.consensus.sealed.insert((graph, epoch));
        }
        if self.random.chance(self.faults.lost_answer) { Err(timed_out("seal")) } else { Ok(()) }
    }
}
