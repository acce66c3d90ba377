//! Checkpoints: the state at a record, from which others begin to follow the log; and the end of epochs that nobody needs.
//!
//! Invariant: an epoch is sealed before its records are dropped, so that a process that has slept takes no number of it
//! again; and a checkpoint at its end, or later, is there before it is sealed.

use std::sync::Arc;

use model::{Result, error};

use super::Log;
use crate::rows::{blob, bytes, int, number};
use crate::state::State;
use crate::tables::{Change, Field, RowWrite, Slice, Table};

/// Bytes of one row of a checkpoint.
const PART_BYTES: usize = 256 << 10;
/// Checkpoints that are kept.
const KEPT: usize = 2;

impl Log {
    fn checkpoint_row(&self, sequence: u64, part: u64, change: Change) -> RowWrite {
        RowWrite {
            table: Table::Checkpoint,
            partition: vec![Field::Int(self.ring.graph)],
            clustering: vec![int(sequence), int(part)],
            timestamp: sequence as i64,
            change,
        }
    }

    /// Writes a checkpoint, and drops those that are older than the last few.
    pub(crate) fn write_checkpoint(&self, state: &State) -> Result<()> {
        let body = state.encode();
        let parts: Vec<&[u8]> = body.chunks(PART_BYTES).collect();
        let row = |(part, body): (u64, &&[u8])| {
            let cells = vec![(0, int(parts.len() as u64)), (1, bytes(body))];
            self.checkpoint_row(state.sequence, part, Change::Put(cells))
        };
        let rows: Vec<RowWrite> = (0..).zip(&parts).map(row).collect();
        self.ring.write(&rows)?;
        let mut found: Vec<(u64, u64)> = Vec::new();
        for row in self.checkpoint_rows()? {
            found.push((number(row.clustering.first())?, number(row.clustering.get(1))?));
        }
        let mut sequences: Vec<u64> = found.iter().map(|(sequence, _)| *sequence).collect();
        sequences.dedup();
        let Some(oldest) = sequences.len().checked_sub(KEPT).map(|at| sequences[at]) else { return Ok(()) };
        let old = found.into_iter().filter(|(sequence, _)| *sequence < oldest);
        let old: Vec<RowWrite> =
            old.map(|(sequence, part)| self.checkpoint_row(sequence, part, Change::Delete)).collect();
        self.ring.write(&old)
    }

    fn checkpoint_rows(&self) -> Result<Vec<crate::tables::Row>> {
        self.ring.read_one(Slice::new(Table::Checkpoint, vec![Field::Int(self.ring.graph)], Vec::new()))
    }

    /// Takes over the newest checkpoint whose rows are all there, if it is newer than the state.
    pub(crate) fn load_checkpoint(&self) -> Result<()> {
        let mut found: Vec<(u64, u64, Vec<u8>)> = Vec::new();
        for row in self.checkpoint_rows()? {
            let (sequence, part) = (number(row.clustering.first())?, number(row.clustering.get(1))?);
            let (parts, body) = (number(row.cells[0].as_ref())?, blob(row.cells[1].as_ref())?);
            match found.last_mut() {
                Some((last, left, bytes)) if *last == sequence => {
                    *left -= 1;
                    bytes.extend_from_slice(body);
                }
                _ if part == 0 => found.push((sequence, parts - 1, body.to_vec())),
                _ => {}
            }
        }
        let Some((sequence, _, body)) = found.into_iter().rev().find(|(_, left, _)| *left == 0) else { return Ok(()) };
        let state = State::decode(&body)?;
        if state.sequence != sequence {
            return Err(error!(Corrupt, "the checkpoint at {sequence} is that of {}", state.sequence));
        }
        self.check_lease(&state.purge)?;
        let mut followed = self.followed();
        if sequence > followed.state.sequence {
            // Dropped before a view can see the checkpoint: nobody tells what the records between touched.
            self.cache.pass_over(sequence);
            followed.state = Arc::new(state);
            followed.recent.clear();
            followed.touched.retain(|number, _| *number > sequence);
            followed.ahead.retain(|number, _| *number > sequence);
            followed.applied.retain(|number| *number > sequence);
            followed.advance(self.writer, &self.cache)?;
            self.lease.found(followed.state.purge.horizon);
        }
        Ok(())
    }

    /// Drops all epochs but the last two whose records are all included in a checkpoint. The number of epochs.
    pub(crate) fn trim(&self) -> Result<u64> {
        let state = self.catch_up()?;
        self.write_checkpoint(&state)?;
        let (last, mut dropped) = (self.epoch(state.sequence) - 2, 0);
        for epoch in (0..=last).rev() {
            let page = self.ring.follow(epoch, -1)?;
            if page.is_sealed && page.records.is_empty() {
                break;
            }
            self.ring.seal(epoch)?;
            self.drop_epoch(epoch, &page.records)?;
            dropped += 1;
        }
        Ok(dropped)
    }

    /// Deletes the records of an epoch, with their bodies and marks.
    fn drop_epoch(&self, epoch: i64, records: &[(i64, Arc<[u8]>)]) -> Result<()> {
        let delete = |table, partition| RowWrite {
            table,
            partition,
            clustering: Vec::new(),
            timestamp: i64::MAX,
            change: Change::Delete,
        };
        let graph = Field::Int(self.ring.graph);
        let mut rows = Vec::new();
        for (_, bytes) in records {
            for member in &self.decode(bytes)?.members {
                if member.items.parts() + member.rows.parts() > 0 {
                    let (high, low) = (int(member.transaction.0), int(member.transaction.1));
                    rows.push(delete(Table::LogBody, vec![graph.clone(), high, low]));
                }
            }
        }
        rows.push(delete(Table::Applied, vec![graph.clone(), Field::Int(epoch)]));
        // The records last: until they are gone, the epoch is found again.
        self.ring.write(&rows)?;
        self.ring.write(&[delete(Table::Log, vec![graph, Field::Int(epoch)])])
    }
}
