//! The progress of a load, as a row of the ring from which another process goes on; and the rows of loads that were left.
//!
//! The row lies where bodies of transactions do, under the name of the load.

use std::collections::BTreeSet;
use std::path::Path;

use model::codec::bytes::{Get, Put};
use model::{Interrupt, Result};

use crate::record::TransactionId;
use crate::ring::Ring;
use crate::rows::{BUCKET_BITS, SEGMENT_BITS, SHARDS, blob, bytes, int};
use crate::state::Loading;
use crate::tables::{Change, Field, RowWrite, Slice, Table};

/// Partitions that are deleted at a time.
const DELETIONS: usize = 1_024;

/// Progress of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The number of the source.
    pub(super) source: u64,
    /// Bounds of ids, of numbers of edges, labels and indexes.
    pub(super) nodes: u64,
    pub(super) edges: u64,
    pub(super) labels: u64,
    pub(super) indexes: u64,
    pub(super) piece_nodes: u64,
    /// Pieces from the first on that are written.
    pub(super) done: u64,
    /// Loads whose rows are to be deleted first.
    pub(super) left: Vec<Left>,
    /// Pieces behind those that are written too.
    pub(super) ahead: BTreeSet<u64>,
    /// Pieces that the ring knows of.
    pub(super) saved: u64,
}

/// Rows of a load that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    id: TransactionId,
    since: u64,
    nodes: u64,
    edges: u64,
    labels: u64,
    indexes: u64,
}

fn partition(graph: i64, id: TransactionId) -> Vec<Field> {
    vec![Field::Int(graph), int(id.0), int(id.1)]
}

/// The deletion of the row of a load.
pub(super) fn forget(graph: i64, id: TransactionId) -> RowWrite {
    let (clustering, timestamp) = (Vec::new(), i64::MAX);
    RowWrite { table: Table::LogBody, partition: partition(graph, id), clustering, timestamp, change: Change::Delete }
}

/// The progress of a load, if the ring has it.
pub(super) fn read(ring: &Ring, id: TransactionId) -> Result<Option<Progress>> {
    let rows = ring.read_one(Slice::new(Table::LogBody, partition(ring.graph, id), Vec::new()))?;
    rows.first().map(|row| Progress::decode(blob(row.cells[0].as_ref())?)).transpose()
}

impl Progress {
    /// Notes a piece; true if enough more are done than the ring knows of for it to be told.
    pub(super) fn note(&mut self, piece: u64, stride: u64) -> bool {
        self.ahead.insert(piece);
        while self.ahead.remove(&self.done) {
            self.done += 1;
        }
        let is_due = self.done >= self.saved + stride;
        if is_due {
            self.saved = self.done;
        }
        is_due
    }

    /// Adds the rows of a load that was left, and of those that it should have deleted.
    pub(super) fn take_over(&mut self, left: &Loading, progress: Option<Progress>) {
        let Some(progress) = progress else { return };
        let Progress { nodes, edges, labels, indexes, .. } = progress;
        self.left = progress.left;
        self.left.push(Left { id: left.id, since: left.since, nodes, edges, labels, indexes });
    }

    /// The row of the ring. Of two rows the one that is further stays.
    pub(super) fn row(&self, graph: i64, id: TransactionId) -> RowWrite {
        let step = 2 + self.done as i64 + i64::from(self.left.is_empty());
        RowWrite {
            table: Table::LogBody,
            partition: partition(graph, id),
            clustering: vec![int(0)],
            timestamp: step,
            change: Change::Put(vec![(0, bytes(&self.encode()))]),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let numbers = [self.source, self.nodes, self.edges, self.labels, self.indexes, self.piece_nodes, self.done];
        numbers.into_iter().for_each(|number| out.put_u64(number));
        out.put_u32(self.left.len() as u32);
        for Left { id, since, nodes, edges, labels, indexes } in &self.left {
            [id.0, id.1, *since, *nodes, *edges, *labels, *indexes].into_iter().for_each(|number| out.put_u64(number));
        }
        out
    }

    fn decode(bytes: &[u8]) -> Result<Progress> {
        let mut get = Get::new(bytes, Path::new("progress of a load"), 0);
        let mut progress = Progress {
            source: get.u64()?,
            nodes: get.u64()?,
            edges: get.u64()?,
            labels: get.u64()?,
            indexes: get.u64()?,
            piece_nodes: get.u64()?,
            done: get.u64()?,
            ..Progress::default()
        };
        progress.saved = progress.done;
        for _ in 0..get.count(56)? {
            progress.left.push(Left {
                id: TransactionId(get.u64()?, get.u64()?),
                since: get.u64()?,
                nodes: get.u64()?,
                edges: get.u64()?,
                labels: get.u64()?,
                indexes: get.u64()?,
            });
        }
        Ok(progress)
    }
}

impl Left {
    /// Deletes the rows, those that the process of the load may still write among them: they are no newer than the deletion.
    pub(super) fn clear(&self, ring: &Ring, interrupt: &Interrupt) -> Result<()> {
        let (buckets, segments) = (self.nodes.div_ceil(1 << BUCKET_BITS), self.nodes.div_ceil(1 << SEGMENT_BITS));
        let of_nodes = [Table::Node, Table::EdgeOut, Table::EdgeIn];
        let nodes = of_nodes.into_iter().flat_map(|table| (0..buckets).map(move |bucket| (table, vec![bucket])));
        let edges = (0..self.edges.div_ceil(1 << BUCKET_BITS)).map(|bucket| (Table::Edge, vec![bucket]));
        let labels = (0..self.labels).flat_map(|label| (0..segments).map(move |of| (Table::ByLabel, vec![label, of])));
        let values = (0..self.indexes).flat_map(|index| (0..SHARDS).map(move |of| (Table::ByValue, vec![index, of])));
        let mut deletions = Vec::with_capacity(DELETIONS);
        for (table, key) in nodes.chain(edges).chain(labels).chain(values) {
            let mut partition = vec![Field::Int(ring.graph)];
            partition.extend(key.into_iter().map(int));
            let (clustering, timestamp) = (Vec::new(), self.since as i64);
            deletions.push(RowWrite { table, partition, clustering, timestamp, change: Change::Delete });
            if deletions.len() == DELETIONS {
                interrupt.check()?;
                ring.write(&deletions)?;
                deletions.clear();
            }
        }
        deletions.push(forget(ring.graph, self.id));
        ring.write(&deletions)
    }
}

#[cfg(test)]
mod tests {
    use super::{Left, Progress};
    use crate::record::TransactionId;

    #[test]
    fn progress_reads_back_and_counts_from_the_first_piece_on() {
        let left = Left { id: TransactionId(1, 2), since: 3, nodes: 4, edges: 5, labels: 6, indexes: 7 };
        let mut progress =
            Progress { source: 9, nodes: 10, edges: 20, piece_nodes: 2, left: vec![left], ..Progress::default() };
        assert!(!progress.note(1, 3) && !progress.note(0, 3));
        assert_eq!(progress.done, 2);
        assert!(!progress.note(3, 3) && progress.note(2, 3), "three more are done than the ring knows of");
        assert_eq!((progress.done, progress.saved), (4, 4));
        assert_eq!(Progress::decode(&progress.encode()).unwrap(), progress);
        assert!(Progress::decode(&progress.encode()[..30]).is_err());
    }
}
