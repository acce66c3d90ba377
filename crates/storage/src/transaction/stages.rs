//! A transaction that outgrows memory goes on in stages: what it wrote so far goes into files of its own, by the code that
//! flushes a memtable, and it reads and writes on over the version that these files make.
//!
//! From the first stage on it holds the writers' turn, so that nobody commits before it. At its commit one manifest names all
//! its files; rolled back or cut off by a crash, they are files that no manifest names. Its log is kept only as far as a
//! savepoint may go back into it, in a temporary file.
//!
//! Invariant: within a stage everything is as in a small transaction that begins on the version of the stage.
//! Cost: an edge is written once more than by a flush, where later merges take in the partitions of the stages; each stage
//! syncs its files.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use model::interrupt::{check_this_thread, of_this_thread};
use model::{Column, Error, ErrorCode, Result, error};

use super::NativeTransaction;
use super::spool::Spool;
use crate::bulk::Built;
use crate::engine::turn::Stages;
use crate::flush;
use crate::snapshot::Snapshot;

/// Rows of one call that are written before it is seen whether there is room for more.
pub(super) const PIECE_ROWS: usize = 8_192;
/// Approximate bytes that a row of a call takes: by these it is told which calls are cut into pieces at all.
const ROW_BYTES: usize = 512;
/// Bytes of writes that are not worth counting.
const UNCOUNTED_BYTES: usize = 64 << 10;

/// A stage that was written into files.
pub(super) struct Stage {
    /// Bytes of log before it.
    start: u64,
    /// The state that it began with.
    snapshot: Snapshot,
    first_own: u32,
    /// Its log, up to the last savepoint in it: where that begins in the spool, and its bytes.
    log: (u64, usize),
    changes: Vec<usize>,
    /// Its files.
    built: Built,
}

/// Some rows of a column.
pub(super) fn piece_of<'c>(column: &'c Column, rows: &Range<usize>, all: usize) -> Cow<'c, Column> {
    if rows.len() == all { Cow::Borrowed(column) } else { Cow::Owned(column.slice(rows.start, rows.end)) }
}

/// Some rows of columns.
pub(super) fn pieces_of<'c>(columns: &'c [Column], rows: &Range<usize>, all: usize) -> Cow<'c, [Column]> {
    if rows.len() == all {
        return Cow::Borrowed(columns);
    }
    Cow::Owned(columns.iter().map(|column| column.slice(rows.start, rows.end)).collect())
}

impl NativeTransaction {
    /// Does something for all rows of a call: at once if there is room for them, else in pieces. If it fails, the rows before
    /// are undone; where they are in files already the transaction must go back to a savepoint.
    pub(super) fn in_pieces(
        &mut self,
        rows: usize,
        work: impl FnMut(&mut NativeTransaction, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        self.in_pieces_of(rows, rows, work)
    }

    /// The same for rows that cost much: it is seen before every `PIECE_ROWS` rows whether to go on.
    pub(super) fn in_short_pieces(
        &mut self,
        rows: usize,
        work: impl FnMut(&mut NativeTransaction, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        self.in_pieces_of(PIECE_ROWS, rows, work)
    }

    fn in_pieces_of(
        &mut self,
        most: usize,
        rows: usize,
        mut work: impl FnMut(&mut NativeTransaction, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let _under_way = self.start.under_way_if_waited_for();
        let start = self.position();
        let has_room = self.own_bytes() + rows * ROW_BYTES <= self.start.engine().transaction_bytes_max();
        let piece = if has_room { most.max(1) } else { PIECE_ROWS };
        for first in (0..rows).step_by(piece) {
            let room = if first > 0 { check_this_thread().and_then(|()| self.make_room()) } else { Ok(()) };
            let done = room.and_then(|()| work(self, first..rows.min(first + piece)));
            if let Err(failure) = done {
                if self.position() > start {
                    self.undo_call(start, &failure)?;
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Goes back to the start of a call that failed. Not where that is in files already, nor if nobody wants the statement any
    /// more: that takes as long as all that was written before, and the statement is rolled back as a whole.
    pub(super) fn undo_call(&mut self, start: u64, failure: &Error) -> Result<()> {
        let is_unwanted = matches!(failure.code(), ErrorCode::Cancelled | ErrorCode::Timeout);
        if start >= self.log_start && !is_unwanted {
            return self.go_back(start);
        }
        self.is_broken = true;
        Ok(())
    }

    /// Bytes of what was written and is in no file.
    fn own_bytes(&self) -> usize {
        let before = self.stages.last().map_or(self.start.snapshot().memtable.bytes, |_| 0);
        self.snapshot.memtable.bytes.saturating_sub(before) + self.log.len()
    }

    /// Sees to it that there is room for more writes: counts those in memory, or puts them into files.
    pub(super) fn make_room(&mut self) -> Result<()> {
        let bytes = self.own_bytes();
        let most = self.start.engine().transaction_bytes_max();
        if bytes > most {
            return self.end_stage();
        }
        if bytes >= UNCOUNTED_BYTES && self.held.cover(bytes).is_err() {
            // A share that small is never refused: a transaction that stays below it never has to wait for a turn.
            self.held.need(bytes);
        }
        Ok(())
    }

    /// Puts what was written into files, and goes on over them.
    fn end_stage(&mut self) -> Result<()> {
        if self.is_broken {
            return Err(error!(TransactionState, "a change of the transaction failed half way; roll it back"));
        }
        self.start.take_turn_of_writers()?;
        let _under_way = self.start.under_way_if_waited_for();
        if self.snapshot.memtable.is_empty() {
            return Ok(());
        }
        let engine = self.start.engine().clone();
        let interrupt = of_this_thread().unwrap_or_default();
        let (config, mut memory) = engine.merge_memory();
        memory.need_more(self.snapshot.memtable.bytes);
        let memtable = &self.snapshot.memtable;
        let mut built = flush::build_placing(&self.snapshot.version, memtable, &config, &interrupt)?;
        // Values that rest on bytes that could not be read must not come into files.
        self.snapshot.sound(())?;
        let version = built.base.with_edit(&built.edit)?;
        let made = memtable.edges.len() as u64;
        let new = built.edit.added_partitions.first();
        let new = new.and_then(|entry| version.partition_with(entry.topology.number));
        let slot = new.map(|partition| usize::from(partition.slot()));
        let log = self.keep_log()?;
        self.snapshot.aliases.add(made, slot, std::mem::take(&mut built.placed))?;
        let position = self.position();
        let start = std::mem::replace(&mut self.log_start, position);
        let before = self.stages.last().is_none().then(|| self.start.snapshot().clone());
        let before = before.unwrap_or_else(|| Snapshot::new(built.base.clone()));
        let changes = std::mem::take(&mut self.changes);
        let first_own = std::mem::replace(&mut self.first_own, 0);
        self.stages.push(Stage { start, snapshot: before, first_own, log, changes, built });
        self.begin_stage(Snapshot::new(version), Vec::new());
        Ok(())
    }

    /// Goes on over a snapshot with nothing written since but what a log says.
    fn begin_stage(&mut self, snapshot: Snapshot, log: Vec<u8>) {
        self.roots = vec![(0, snapshot.memtable.clone())];
        self.snapshot.replace(snapshot);
        self.log = log;
        self.held.resize(0);
    }

    /// Puts the log aside as far as it may be asked for again.
    fn keep_log(&mut self) -> Result<(u64, usize)> {
        let version = &self.snapshot.version;
        let (disk, directory) = (version.platform().disk.clone(), version.directory().to_owned());
        let length = self.savepoint.saturating_sub(self.log_start).min(self.log.len() as u64) as usize;
        let spool = self.snapshot.aliases.spool(|| Spool::new(&disk, directory))?;
        Ok((spool.append(&self.log[..length])?, length))
    }

    /// Goes back to the stage in which `length` bytes of log were written.
    pub(super) fn return_to_stage_of(&mut self, length: u64) -> Result<()> {
        let at = self.stages.partition_point(|stage| stage.start <= length) - 1;
        let Stage { start, log: (place, bytes), .. } = self.stages[at];
        if length > start + bytes as u64 {
            return Err(error!(TransactionState, "savepoint {length} was undone or never made"));
        }
        let log = self.snapshot.aliases.spooled(place, bytes)?;
        self.snapshot.aliases.truncate(at);
        let stage = &mut self.stages[at];
        self.log_start = stage.start;
        self.first_own = stage.first_own;
        self.changes = std::mem::take(&mut stage.changes);
        let snapshot = stage.snapshot.clone();
        self.begin_stage(snapshot, log);
        // The files of the stages go after the last snapshot that reads them.
        self.stages.truncate(at);
        Ok(())
    }

    /// Commits what all stages wrote.
    pub(super) fn commit_stages(mut self: Box<Self>) -> Result<()> {
        let _under_way = self.start.under_way_if_waited_for();
        self.end_stage()?;
        let base = self.stages[0].built.base.clone();
        let last = Arc::clone(&self.snapshot.version);
        let renewed = self.stages.iter().flat_map(|stage| stage.built.edit.renewed_ordered.iter().cloned()).collect();
        let built = std::mem::take(&mut self.stages).into_iter().map(|stage| stage.built).collect();
        let published = self.start.publish(Stages { base, last, renewed, built });
        if published.is_ok() {
            self.reserved.clear();
        }
        published
    }
}
