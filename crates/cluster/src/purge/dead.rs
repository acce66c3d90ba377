//! Dead rows, and the writes that delete them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use model::Result;

use crate::packed::damage;
use crate::rows::{SHARDS, int, number};
use crate::settings::{PurgeFault, Settings};
use crate::tables::{Change, Field, Row, RowWrite, Slice, Table};

/// A node or edge, a label of a node, or a value of something: table, partition, and the clustering key up to the record of the
/// version or event.
pub(super) type Key = (Table, Vec<Field>, Vec<Field>);

/// Rows of which some are dead.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The last version of each thing that has died, with the record of its death. All before it are dead as well.
    versions: BTreeMap<Key, (Field, i64)>,
    /// Number of the versions.
    count: u64,
    /// Labels and values of which some events are not needed.
    pub(super) events: BTreeSet<Key>,
}

/// The record by which a version died; `None` if it has not, or is no version.
fn died(row: &RowWrite) -> Option<i64> {
    let Change::Put(cells) = &row.change else { return None };
    let is_version = matches!(row.table, Table::Node | Table::Edge | Table::EdgeOut | Table::EdgeIn);
    match cells.first() {
        Some((0, Field::Int(died))) if is_version => Some(*died),
        _ => None,
    }
}

/// The deletion of a row and of all that differ from it in a smaller last field.
fn delete_up_to(key: Key, last: Field, timestamp: i64) -> RowWrite {
    let (table, partition, mut clustering) = key;
    clustering.push(last);
    RowWrite { table, partition, clustering, timestamp, change: Change::DeleteUpTo }
}

/// Deletions of all entries of an index that was dropped by a record.
pub(super) fn entries_of_index(graph: i64, index: u32, dropped_by: u64) -> Vec<RowWrite> {
    let partition = |shard| vec![Field::Int(graph), int(u64::from(index)), int(shard)];
    let delete = |shard| RowWrite {
        table: Table::ByValue,
        partition: partition(shard),
        clustering: Vec::new(),
        timestamp: dropped_by as i64,
        change: Change::Delete,
    };
    (0..SHARDS).map(delete).collect()
}

impl Batch {
    /// Rows that those of a record of the log ended. Entries of dropped indexes are left out.
    pub(super) fn of_written(rows: &[RowWrite], dropped: &[(u32, u64)]) -> Batch {
        let mut batch = Batch::default();
        for row in rows {
            let is_dropped = |number: &Field| dropped.iter().any(|(index, _)| int(u64::from(*index)) == *number);
            match (died(row), row.table) {
                (Some(died), _) => batch.add_version(row.table, &row.partition, &row.clustering, died),
                (None, Table::ByValue) if row.partition.get(1).is_some_and(is_dropped) => {}
                (None, Table::ByLabel | Table::ByValue) => batch.add_event(row.table, &row.partition, &row.clustering),
                _ => {}
            }
        }
        batch
    }

    fn add_version(&mut self, table: Table, partition: &[Field], clustering: &[Field], died: i64) {
        let Some((born, key)) = clustering.split_last() else { return };
        self.count += 1;
        let last = self.versions.entry((table, partition.to_vec(), key.to_vec())).or_insert((born.clone(), died));
        if *last < (born.clone(), died) {
            *last = (born.clone(), died);
        }
    }

    fn add_event(&mut self, table: Table, partition: &[Field], clustering: &[Field]) {
        let key = clustering[..clustering.len().saturating_sub(1)].to_vec();
        self.events.insert((table, partition.to_vec(), key));
    }

    /// Rows of a partition that were dead as of a record.
    pub(super) fn of_read(table: Table, partition: &[Field], rows: &[Row], horizon: u64) -> Result<Batch> {
        let mut batch = Batch::default();
        if matches!(table, Table::ByLabel | Table::ByValue) {
            let keys = table.shape().clustering.len() - 1;
            for events in rows.chunk_by(|a, b| a.clustering[..keys] == b.clustering[..keys]) {
                let is_absent = events.iter().any(|event| event.cells[0] == Some(int(0)));
                if events.len() > 1 || is_absent {
                    batch.add_event(table, partition, &events[0].clustering);
                }
            }
            return Ok(batch);
        }
        for row in rows {
            let Some(cell) = &row.cells[0] else { continue };
            let died = number(Some(cell))?;
            if died <= horizon {
                batch.add_version(table, partition, &row.clustering, died as i64);
            }
        }
        Ok(batch)
    }

    /// Questions for the events by the horizon.
    pub(super) fn slices(&self, horizon: u64) -> Vec<Slice> {
        let slice = |(table, partition, key): &Key| {
            Slice::new(*table, partition.clone(), key.clone()).between(Bound::Unbounded, Bound::Included(int(horizon)))
        };
        self.events.iter().map(slice).collect()
    }

    /// The deletions, for the answers to the questions, and the number of the rows that they delete.
    pub(super) fn ends(self, answers: &[Vec<Row>], settings: &Settings) -> Result<(Vec<RowWrite>, u64)> {
        let mut count = self.count;
        let mut ends: Vec<RowWrite> =
            self.versions.into_iter().map(|(key, (born, died))| delete_up_to(key, born, died)).collect();
        for (key, events) in self.events.into_iter().zip(answers) {
            let is_needed = match events.last().map(|last| &last.cells[0]) {
                None => continue,
                Some(Some(Field::Int(is_present))) => *is_present != 0,
                Some(_) => return Err(damage("an event does not say whether something is there")),
            };
            let gone = if is_needed { &events[..events.len() - 1] } else { &events[..] };
            let Some(since) = gone.last().and_then(|event| event.clustering.last()) else { continue };
            count += gone.len() as u64;
            ends.push(delete_up_to(key, since.clone(), number(Some(since))? as i64));
            if settings.purge_fault == Some(PurgeFault::TakesLastEventAlone)
                && let Some(end) = ends.last_mut()
            {
                end.change = Change::Delete;
            }
        }
        if settings.purge_fault == Some(PurgeFault::DeletesTooEarly) {
            ends.iter_mut().for_each(|row| row.timestamp -= 1);
        }
        Ok((ends, count))
    }
}

#[cfg(test)]
mod tests {
    use super::{Batch, entries_of_index};
    use crate::rows::int;
    use crate::tables::{Change, Field, Row, RowWrite, Table};

    fn settings() -> crate::Settings {
        use model::platform::{Clock, Random};
        #[derive(Debug)]
        struct Still;
        impl Clock for Still {
            fn now_ns(&self) -> u64 {
                0
            }
            fn unix_us(&self) -> i64 {
                0
            }
        }
        impl Random for Still {
            fn next_u64(&self) -> u64 {
                0
            }
        }
        crate::Settings::new(1, std::sync::Arc::new(Still), std::sync::Arc::new(Still))
    }

    fn event(since: u64, is_present: u64) -> Row {
        Row { clustering: vec![int(9), int(since)], cells: vec![Some(int(is_present))] }
    }

    #[test]
    fn the_last_event_stays_if_it_says_that_something_is_there() {
        for (events, gone, upto) in [
            (vec![event(1, 1)], 0, None),
            (vec![event(1, 1), event(2, 0)], 2, Some(2)),
            (vec![event(1, 1), event(2, 0), event(3, 1)], 2, Some(2)),
            (vec![event(2, 0)], 1, Some(2)),
            (vec![], 0, None),
        ] {
            let write = RowWrite {
                table: Table::ByLabel,
                partition: vec![int(1), int(0), int(0)],
                clustering: vec![int(9), int(3)],
                timestamp: 3,
                change: Change::Put(vec![(0, int(1))]),
            };
            let batch = Batch::of_written(&[write.clone(), write], &[]);
            assert_eq!(batch.slices(7).len(), 1, "a label of a node is asked for once");
            let (ends, count) = batch.ends(std::slice::from_ref(&events), &settings()).unwrap();
            assert_eq!((count, ends.first().map(|end| end.timestamp)), (gone, upto), "{events:?}");
            assert!(ends.iter().all(|end| end.clustering == [int(9), int(end.timestamp as u64)]));
        }
    }

    #[test]
    fn versions_go_with_the_timestamp_of_their_death() {
        let row = |born: u64, died: Option<u64>| Row {
            clustering: vec![int(9), int(born)],
            cells: vec![died.map(int), Some(Field::Bytes([].into())), Some(Field::Bytes([].into()))],
        };
        let rows = [row(1, Some(3)), row(3, Some(5)), row(5, Some(8)), row(8, None)];
        let (ends, count) =
            Batch::of_read(Table::Node, &[int(1), int(0)], &rows, 7).unwrap().ends(&[], &settings()).unwrap();
        assert_eq!((ends.len(), count), (1, 2), "one deletion for both versions");
        assert_eq!((&ends[0].clustering, ends[0].timestamp), (&vec![int(9), int(3)], 5));
        assert_eq!(entries_of_index(1, 4, 7).len(), 32);
    }
}
