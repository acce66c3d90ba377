//! One replica: partitions of rows, whose cells have timestamps.

use std::collections::BTreeMap;
use std::ops::Bound;

use cluster::tables::{Change, Field, Row, RowWrite, Slice, Table};

/// One replica.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) is_up: bool,
    pub(super) partitions: BTreeMap<(Table, Vec<Field>), Partition>,
    /// Writes that are still to arrive, in any order.
    pub(super) late: Vec<RowWrite>,
}

impl Default for Replica {
    fn default() -> Replica {
        Replica { is_up: true, partitions: BTreeMap::new(), late: Vec::new() }
    }
}

/// A partition.
#[derive(Debug)]
pub(super) struct Partition {
    /// The largest timestamp with which all rows were deleted.
    pub(super) deleted: i64,
    pub(super) rows: BTreeMap<Vec<Field>, StoredRow>,
    /// Deletions of rows up to one: by the key without its last field, the last fields with timestamps.
    pub(super) ranges: BTreeMap<Vec<Field>, Vec<(Field, i64)>>,
}

impl Default for Partition {
    fn default() -> Partition {
        Partition { deleted: i64::MIN, rows: BTreeMap::new(), ranges: BTreeMap::new() }
    }
}

/// A row with the timestamps of its cells.
#[derive(Clone, Debug)]
pub(super) struct StoredRow {
    deleted: i64,
    cells: BTreeMap<usize, (i64, Field)>,
}

impl Default for StoredRow {
    fn default() -> StoredRow {
        StoredRow { deleted: i64::MIN, cells: BTreeMap::new() }
    }
}

impl StoredRow {
    fn put(&mut self, at: usize, timestamp: i64, field: &Field) {
        let new = (timestamp, field.clone());
        match self.cells.get(&at) {
            Some(old) if *old >= new => {}
            _ => drop(self.cells.insert(at, new)),
        }
    }

    /// Drops cells that are no newer.
    pub(super) fn shadow(&mut self, timestamp: i64) {
        self.cells.retain(|_, (written, _)| *written > timestamp);
    }

    /// Takes over what is newer in a copy.
    pub(super) fn merge(&mut self, other: &StoredRow) {
        self.deleted = self.deleted.max(other.deleted);
        other.cells.iter().for_each(|(at, (timestamp, field))| self.put(*at, *timestamp, field));
    }
}

impl Partition {
    /// Deletes rows up to one.
    pub(super) fn delete_up_to(&mut self, clustering: &[Field], timestamp: i64) {
        let Some((last, key)) = clustering.split_last() else { return };
        let ranges = self.ranges.entry(key.to_vec()).or_default();
        ranges.retain(|(other, written)| !(other <= last && *written <= timestamp));
        ranges.push((last.clone(), timestamp));
        let covered = self.rows.range_mut(key.to_vec()..=clustering.to_vec());
        covered.for_each(|(_, row)| row.shadow(timestamp));
        self.rows.retain(|_, row| !row.cells.is_empty() || row.deleted > i64::MIN);
    }

    /// The timestamp with which deletions of rows up to one strike a row.
    pub(super) fn struck(&self, clustering: &[Field]) -> i64 {
        let Some((last, key)) = clustering.split_last() else { return i64::MIN };
        let ranges = self.ranges.get(key).into_iter().flatten();
        ranges.filter(|(upto, _)| last <= upto).map(|(_, timestamp)| *timestamp).max().unwrap_or(i64::MIN)
    }

    /// The rows of a slice, deleted ones too.
    pub(super) fn slice<'a>(&'a self, slice: &'a Slice) -> impl Iterator<Item = (&'a Vec<Field>, &'a StoredRow)> {
        let mut first = slice.prefix.clone();
        match &slice.from {
            Bound::Included(field) | Bound::Excluded(field) => first.push(field.clone()),
            Bound::Unbounded => {}
        }
        let rows = self.rows.range(first..);
        let is_within = |clustering: &&Vec<Field>| {
            let is_above = match (&slice.to, clustering.get(slice.prefix.len())) {
                (Bound::Included(end) | Bound::Excluded(end), Some(field)) => field > end,
                _ => false,
            };
            clustering.starts_with(&slice.prefix) && !is_above
        };
        rows.take_while(move |(clustering, _)| is_within(clustering)).filter(|(clustering, _)| slice.holds(clustering))
    }
}

/// A row as it is read; `None` if none of its cells is there.
pub(super) fn live(clustering: Vec<Field>, row: &StoredRow, deleted: i64, cells: usize) -> Option<Row> {
    let deleted = deleted.max(row.deleted);
    let cell = |at: usize| row.cells.get(&at).filter(|(timestamp, _)| *timestamp > deleted);
    let cells: Vec<Option<Field>> = (0..cells).map(|at| cell(at).map(|(_, field)| field.clone())).collect();
    cells.iter().any(Option::is_some).then_some(Row { clustering, cells })
}

impl Replica {
    /// Deletes a row, and keeps nothing by which later writes of older cells are told.
    pub(super) fn forget(&mut self, write: &RowWrite) {
        let Some(partition) = self.partitions.get_mut(&(write.table, write.partition.clone())) else { return };
        match (&write.change, write.clustering.split_last()) {
            (Change::DeleteUpTo, Some((last, key))) => {
                partition.rows.retain(|row, _| row.split_last().is_none_or(|(own, of)| of != key || own > last));
            }
            _ => drop(partition.rows.remove(&write.clustering)),
        }
    }

    /// Does a write.
    pub(super) fn apply(&mut self, write: &RowWrite) {
        let partition = self.partitions.entry((write.table, write.partition.clone())).or_default();
        if write.clustering.is_empty() {
            partition.deleted = partition.deleted.max(write.timestamp);
            return;
        }
        if write.change == Change::DeleteUpTo {
            partition.delete_up_to(&write.clustering, write.timestamp);
            return;
        }
        let struck = partition.struck(&write.clustering);
        if write.timestamp <= struck {
            return;
        }
        let row = partition.rows.entry(write.clustering.clone()).or_default();
        match &write.change {
            Change::DeleteUpTo => {}
            Change::Put(cells) => cells.iter().for_each(|(at, field)| row.put(*at, write.timestamp, field)),
            Change::Delete => row.deleted = row.deleted.max(write.timestamp),
        }
    }

    /// Gets all that is late.
    pub(super) fn receive_all(&mut self) {
        for write in std::mem::take(&mut self.late) {
            self.apply(&write);
        }
    }
}
