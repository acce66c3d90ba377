//! A sweep of all tables of a graph, partition by partition: for what died in records that are no longer in the log.

use model::Result;

use super::dead::Batch;
use super::{PurgeStep, Purger, State, Sweep};
use crate::rows::{SEGMENT_BITS, SHARDS, bucket, int};
use crate::tables::{Field, Slice, Table};

/// Partitions that are read together.
pub(super) const PARTITIONS: usize = 16;
/// Partitions between two records of progress.
const PROGRESS_PARTITIONS: u64 = 4_096;
/// The tables in the order of the sweep.
const TABLES: [Table; 6] = [Table::Node, Table::Edge, Table::EdgeOut, Table::EdgeIn, Table::ByLabel, Table::ByValue];
/// Bits of a position for the partition of one label or index.
const PART_BITS: u32 = 32;

/// Number of partitions in which the ids below `ids` are.
fn buckets(ids: u64) -> u64 {
    if ids == 0 { 0 } else { bucket(ids - 1) + 1 }
}

/// The next partitions of a table from a position on, each with its position.
fn partitions(state: &State, table: Table, from: u64) -> Vec<(u64, Vec<Field>)> {
    let of_parts = |first: u64, part: u64| (first << PART_BITS | part, vec![int(first), int(part)]);
    let plain = |count: u64| -> Vec<(u64, Vec<Field>)> {
        (from..count).take(PARTITIONS).map(|position| (position, vec![int(position)])).collect()
    };
    let divided = |firsts: Vec<u64>, parts: u64| -> Vec<(u64, Vec<Field>)> {
        let (first, part) = (from >> PART_BITS, from & ((1 << PART_BITS) - 1));
        let firsts = firsts.into_iter().filter(|number| *number >= first);
        let all =
            firsts.flat_map(|number| (if number == first { part } else { 0 }..parts).map(move |part| (number, part)));
        all.take(PARTITIONS).map(|(number, part)| of_parts(number, part)).collect()
    };
    match table {
        Table::Edge => plain(buckets(state.next.edges)),
        Table::ByLabel => {
            let segments = if state.next.nodes == 0 { 0 } else { ((state.next.nodes - 1) >> SEGMENT_BITS) + 1 };
            divided((0..state.schema.labels.len() as u64).collect(), segments)
        }
        Table::ByValue => {
            let mut numbers: Vec<u64> = state.indexes.values().map(|number| u64::from(*number)).collect();
            numbers.sort_unstable();
            divided(numbers, SHARDS)
        }
        _ => plain(buckets(state.next.nodes)),
    }
}

impl Purger<'_> {
    /// Goes on with a sweep until its progress is to be recorded.
    pub(super) fn sweep(&mut self, begun: Sweep) -> Result<()> {
        let mut sweep = begun;
        let before = self.done.swept;
        let state = self.log().state();
        while let Some(&table) = TABLES.get(usize::from(sweep.table)) {
            let next = partitions(&state, table, sweep.position);
            let Some((last, _)) = next.last() else {
                sweep = Sweep { table: sweep.table + 1, position: 0, ..sweep };
                continue;
            };
            sweep.position = last + 1;
            let graph = Field::Int(self.log().ring.graph);
            let slice = |(_, partition): &(u64, Vec<Field>)| {
                let partition = std::iter::once(graph.clone()).chain(partition.iter().cloned()).collect();
                Slice::new(table, partition, Vec::new())
            };
            let slices: Vec<Slice> = next.iter().map(slice).collect();
            let began = self.now_ns();
            let found = self.log().ring.read(&slices)?;
            (self.pace)(self.now_ns().saturating_sub(began))?;
            for (slice, rows) in slices.iter().zip(found) {
                self.end(Batch::of_read(table, &slice.partition, &rows, sweep.upto)?)?;
            }
            self.done.swept += slices.len() as u64;
            if self.done.swept - before >= PROGRESS_PARTITIONS {
                return self.record_sweep(begun, Some(sweep), 0);
            }
        }
        self.record_sweep(begun, None, begun.dead)
    }

    /// Records how far a sweep has come, unless another process has meanwhile.
    fn record_sweep(&self, begun: Sweep, sweep: Option<Sweep>, gone: u64) -> Result<()> {
        self.record(|state| {
            let mut purge = state.purge.clone();
            purge.sweep = sweep;
            if sweep.is_none() {
                purge.purged = begun.upto;
            }
            let is_own = state.purge.sweep == Some(begun);
            Ok(is_own.then(|| PurgeStep { purge, gone, indexes: Vec::new() }))
        })
    }
}
