//! Faults of the ring, in percent of the operations, and the writes and reads that they strike.

use std::collections::{BTreeMap, BTreeSet};

use cluster::tables::{Change, Fault, Field, Row, RowWrite, Slice, Table};

use super::replica::{StoredRow, live};
use super::{COPIES, Canary, Inner, QUORUM};

/// Chances of faults, in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faults {
    /// A replica gets rows of a write late, or not at all.
    pub(crate) troubled: u64,
    /// An operation that was done is not answered.
    pub(crate) lost_answer: u64,
    /// A read is not answered.
    pub(crate) lost_read: u64,
    /// An append times out before it is decided.
    pub(crate) undecided: u64,
    /// A replica goes away, if all are there.
    pub(crate) outage: u64,
    /// It comes back.
    pub(crate) return_chance: u64,
}

impl Faults {
    /// No faults.
    pub(crate) const NONE: Faults =
        Faults { troubled: 0, lost_answer: 0, lost_read: 0, undecided: 0, outage: 0, return_chance: 10 };
    /// More faults than any ring should have.
    pub(crate) const MANY: Faults =
        Faults { troubled: 20, lost_answer: 6, lost_read: 4, undecided: 12, outage: 2, return_chance: 10 };
}

/// The way in which a process ends in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrashKind {
    /// Before the operation is done.
    Before,
    /// When half of its rows are written.
    Half,
    /// When it is done, and before its answer.
    After,
}

impl CrashKind {
    pub(crate) const ALL: [CrashKind; 3] = [CrashKind::Before, CrashKind::Half, CrashKind::After];
}

pub(super) fn timed_out(operation: &str) -> Fault {
    Fault::TimedOut(operation.to_owned())
}

impl Inner {
    /// Lets time pass: late writes arrive, replicas come and go, appends that nobody waits for are decided.
    pub(super) fn pass(&mut self) {
        for replica in &mut self.replicas {
            if replica.is_up && !replica.late.is_empty() && self.random.chance(30) {
                let at = self.random.index(replica.late.len());
                let write = replica.late.remove(at);
                replica.apply(&write);
            }
        }
        if self.random.chance(self.faults.outage) && self.replicas.iter().all(|replica| replica.is_up) {
            let at = self.random.index(self.replicas.len());
            self.replicas[at].is_up = false;
            self.counts.outages += 1;
        } else if self.random.chance(self.faults.return_chance) {
            self.replicas.iter_mut().for_each(|replica| replica.is_up = true);
        }
        self.decide_late();
    }

    /// The replicas of a partition.
    pub(super) fn replicas_of(&self, partition: &[Field]) -> Vec<usize> {
        let mut hash = 17_u64;
        for field in partition {
            let number = match field {
                Field::Int(number) => *number as u64,
                Field::Bytes(bytes) => bytes.len() as u64,
            };
            hash = model::mix::mix64(hash ^ number);
        }
        let first = (hash % self.replicas.len() as u64) as usize;
        (first..first + COPIES).map(|at| at % self.replicas.len()).collect()
    }

    /// The replicas of a partition that are there; fails if they are no majority.
    pub(super) fn up(&self, partition: &[Field]) -> Result<Vec<usize>, Fault> {
        let mut up = self.replicas_of(partition);
        up.retain(|&at| self.replicas[at].is_up);
        if up.len() < QUORUM { Err(Fault::Unavailable(format!("{} of {COPIES}", up.len()))) } else { Ok(up) }
    }

    /// Writes rows; each to a majority, if it succeeds.
    pub(super) fn write(&mut self, rows: &[RowWrite]) -> Result<(), Fault> {
        self.counts.writes += 1;
        for row in rows {
            self.up(&row.partition)?;
        }
        let troubled: Vec<bool> = self.replicas.iter().map(|_| self.random.chance(self.faults.troubled)).collect();
        let mut has_all = true;
        for row in rows {
            has_all &= self.write_row(row, &troubled);
            if let (Table::Log, [Field::Int(graph), Field::Int(epoch)]) = (row.table, &row.partition[..]) {
                self.consensus.forget(*graph, *epoch);
            }
        }
        if !has_all {
            return Err(timed_out("write"));
        }
        if self.random.chance(self.faults.lost_answer) {
            self.counts.lost_answers += 1;
            return Err(timed_out("write"));
        }
        Ok(())
    }

    /// Writes a row; true if so many replicas have it as were waited for. Those that are troubled may not get it, or late.
    fn write_row(&mut self, row: &RowWrite, troubled: &[bool]) -> bool {
        if self.canary == Some(Canary::ForgetsDeletions)
            && !matches!(row.change, Change::Put(_))
            && !row.clustering.is_empty()
        {
            self.replicas_of(&row.partition).into_iter().for_each(|at| self.replicas[at].forget(row));
            return true;
        }
        let is_data =
            !matches!(row.table, Table::Log | Table::LogBody | Table::Applied | Table::Checkpoint | Table::Bodies);
        if self.canary == Some(Canary::MarkBeforeRows) && is_data && self.random.chance(50) {
            for at in self.replicas_of(&row.partition) {
                self.replicas[at].late.push(row.clone());
            }
            return true;
        }
        let wanted = if self.canary == Some(Canary::WriteAtOne) { 1 } else { QUORUM };
        let mut reached = 0;
        for at in self.replicas_of(&row.partition) {
            let replica = &mut self.replicas[at];
            if !replica.is_up || troubled[at] && self.random.chance(40) {
                replica.late.push(row.clone());
                self.counts.late += 1;
            } else if troubled[at] && self.random.chance(50) {
                self.counts.lost += 1;
            } else {
                replica.apply(row);
                reached += 1;
            }
        }
        reached >= wanted
    }

    /// Reads slices, each of a majority, which is repaired.
    pub(super) fn read(&mut self, slices: &[Slice]) -> Result<Vec<Vec<Row>>, Fault> {
        self.counts.reads += 1;
        self.counts.slices += slices.len() as u64;
        let answers: Result<Vec<Vec<Row>>, Fault> = slices.iter().map(|slice| self.read_slice(slice)).collect();
        if self.random.chance(self.faults.lost_read) {
            return Err(timed_out("read"));
        }
        answers
    }

    pub(super) fn read_slice(&mut self, slice: &Slice) -> Result<Vec<Row>, Fault> {
        let mut asked = self.up(&slice.partition)?;
        self.random.shuffle(&mut asked);
        let is_at_one = self.canary == Some(Canary::ReadAtOne);
        asked.truncate(if is_at_one { 1 } else { QUORUM });
        let key = (slice.table, slice.partition.clone());
        let mut merged: BTreeMap<Vec<Field>, StoredRow> = BTreeMap::new();
        let mut deleted = i64::MIN;
        let mut ranges: BTreeSet<(Vec<Field>, Field, i64)> = BTreeSet::new();
        for &at in &asked {
            let Some(partition) = self.replicas[at].partitions.get(&key) else { continue };
            deleted = deleted.max(partition.deleted);
            let of_replica =
                partition.ranges.iter().flat_map(|(key, ranges)| ranges.iter().map(move |range| (key, range)));
            ranges.extend(of_replica.map(|(key, (last, timestamp))| (key.clone(), last.clone(), *timestamp)));
            for (clustering, row) in partition.slice(slice) {
                merged.entry(clustering.clone()).or_default().merge(row);
            }
        }
        for (of, last, timestamp) in &ranges {
            let upto: Vec<Field> = of.iter().chain([last]).cloned().collect();
            merged.range_mut(of.clone()..=upto).for_each(|(_, row)| row.shadow(*timestamp));
        }
        if !is_at_one {
            for &at in &asked {
                let partition = self.replicas[at].partitions.entry(key.clone()).or_default();
                partition.deleted = partition.deleted.max(deleted);
                for (of, last, timestamp) in &ranges {
                    let upto: Vec<Field> = of.iter().chain([last]).cloned().collect();
                    if partition.struck(&upto) < *timestamp {
                        partition.delete_up_to(&upto, *timestamp);
                    }
                }
                for (clustering, row) in &merged {
                    partition.rows.entry(clustering.clone()).or_default().merge(row);
                }
            }
        }
        let cells = slice.table.shape().cells.len();
        Ok(merged.into_iter().filter_map(|(clustering, row)| live(clustering, &row, deleted, cells)).collect())
    }
}
