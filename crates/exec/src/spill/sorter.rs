//! The external merge sort: rows are sorted as far as they fit, written as runs, and the runs are merged.
//!
//! Invariant: equal rows come out in the order in which they came in, since a run holds later rows than the runs before
//! it, and of equal rows that of the earliest run is taken first.
//! Cost: without pressure one sort in memory; else each row is written once, and once more for each pass of merging but
//! the last.

mod merge;

use std::sync::Arc;

use model::{Interrupt, Result};

use super::store::rows_of_block;
use super::{block_bytes, encode};
use crate::chunk::Chunk;
use crate::memory::floor_bytes;
use crate::memory::{Charge, SpillFile};
use crate::pushing::push_rows;
use crate::rows::{RowBuffer, share_columns};
use crate::runtime::{Flow, Scope, Sink};
use crate::size::{Sizer, chunk_bytes};
use crate::sorting::{Key, sorted_rows};
use merge::{Run, merge};

/// Computes the keys of the rows of a chunk.
pub(crate) type KeysOf<'k> = dyn Fn(&Chunk) -> Result<Vec<Key>> + 'k;

/// Most runs that are merged at a time.
const FAN_IN_MAX: usize = 128;
/// Fewest runs that are merged at a time, whatever the limit; where a row is larger than a block, of which each run has one in memory.
const FAN_IN_MIN: usize = 8;
const FAN_IN_OF_LONG_ROWS: usize = 2;

/// See the module.
pub(crate) struct Sorter<'m> {
    charge: Charge<'m>,
    sizer: Sizer,
    width: usize,
    kept: RowBuffer,
    runs: Vec<Run>,
    file: Option<SpillFile>,
    /// For each key, whether the largest comes first.
    descending: Vec<bool>,
    /// Rows that are wanted: no run needs more.
    limit: usize,
}

/// The rows that a sorter holds at the end.
pub(crate) enum Sorted<'m> {
    /// All rows, in memory and not sorted yet, with the charge for them.
    InMemory(Chunk, Charge<'m>),
    /// Runs to be merged.
    Runs(Runs<'m>),
}

/// Sorted runs on disk.
pub(crate) struct Runs<'m> {
    charge: Charge<'m>,
    file: SpillFile,
    runs: Vec<Run>,
    descending: Vec<bool>,
    width: usize,
    limit: usize,
}

impl<'m> Sorter<'m> {
    /// An empty sorter of rows of `width` columns; the consumer will want the first `limit` of all rows.
    pub(crate) fn new(charge: Charge<'m>, width: usize, limit: usize) -> Sorter<'m> {
        let (kept, runs) = (RowBuffer::default(), Vec::new());
        Sorter { charge, sizer: Sizer::default(), width, kept, runs, file: None, descending: Vec::new(), limit }
    }

    /// Adds rows.
    pub(crate) fn push(&mut self, chunk: Chunk, keys: &KeysOf<'_>, interrupt: &Interrupt) -> Result<()> {
        // The numbers of the rows in order are held too.
        let bytes = self.sizer.chunk(&chunk) + chunk.rows * size_of::<u32>() * 2;
        if self.charge.try_grow(bytes).is_err() {
            self.spill(keys, interrupt)?;
            self.charge.count(bytes);
        }
        self.kept.push(chunk);
        Ok(())
    }

    /// True if rows were written to disk.
    pub(crate) fn is_spilled(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Ends the input.
    pub(crate) fn finish(mut self, keys: &KeysOf<'_>, interrupt: &Interrupt) -> Result<Sorted<'m>> {
        if !self.is_spilled() {
            return Ok(Sorted::InMemory(self.kept.finish(self.width), self.charge));
        }
        self.spill(keys, interrupt)?;
        let Sorter { charge, width, runs, file, descending, limit, .. } = self;
        let file = file.ok_or_else(|| model::error!(Internal, "runs without a file"))?;
        Ok(Sorted::Runs(Runs { charge, file, runs, descending, width, limit }))
    }

    /// Sorts what is kept and writes it as a run.
    fn spill(&mut self, keys: &KeysOf<'_>, interrupt: &Interrupt) -> Result<()> {
        let mut chunk = std::mem::take(&mut self.kept).finish(self.width);
        self.sizer = Sizer::default();
        if chunk.rows == 0 {
            return Ok(());
        }
        let keys = keys(&chunk)?;
        let mut order = sorted_rows(&keys, chunk.rows, interrupt)?;
        order.truncate(self.limit);
        self.descending = keys.iter().map(|key| key.descending).collect();
        chunk.columns.extend(keys.into_iter().map(|key| key.column));
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.charge.spill_file()?),
        };
        let rows = rows_of_block(&chunk, self.charge.bytes(), self.charge.memory().limit());
        let mut run = Run::default();
        let mut bytes = Vec::new();
        for rows in order.chunks(rows) {
            interrupt.check()?;
            bytes.clear();
            let block = chunk.gather(rows);
            encode(&block, &mut bytes);
            run.block_bytes = run.block_bytes.max(chunk_bytes(&block));
            run.blocks.push(self.charge.spill(file, &bytes)?);
        }
        self.runs.push(run);
        self.charge.count(0);
        Ok(())
    }
}

impl Runs<'_> {
    /// Pushes these columns of all rows in order.
    pub(crate) fn push(mut self, columns: &[usize], interrupt: &Interrupt, sink: &mut Sink<'_>) -> Result<Flow> {
        let limit = self.charge.memory().limit();
        let block = loop {
            let block = block_bytes(limit);
            let largest = self.runs.iter().map(|run| run.block_bytes).max().unwrap_or(0);
            let least = if largest > 2 * block { FAN_IN_OF_LONG_ROWS } else { FAN_IN_MIN };
            let fan_in = (limit / 2 / block.max(largest)).clamp(least, FAN_IN_MAX);
            if self.runs.len() <= fan_in {
                break block.max(largest);
            }
            self.merge_once(fan_in, interrupt)?;
        };
        self.charge.count((self.runs.len() * block).min(limit.max(floor_bytes(limit))));
        let mut left = self.limit;
        merge(&self.file, &self.runs, (self.width, &self.descending), &mut |chunk| {
            interrupt.check()?;
            let rows = left.min(chunk.rows);
            left -= rows;
            let chunk = Chunk { rows: chunk.rows, columns: share_columns(&chunk, columns) };
            let flow = if rows > 0 { sink(chunk.slice(0, rows))? } else { Flow::Stop };
            Ok(if left == 0 { Flow::Stop } else { flow })
        })
        .map(|flow| if left == 0 { Flow::Continue } else { flow })
    }

    /// Merges neighbouring runs, `fan_in` at a time, into longer ones.
    fn merge_once(&mut self, fan_in: usize, interrupt: &Interrupt) -> Result<()> {
        let mut file = self.charge.spill_file()?;
        let mut longer = Vec::with_capacity(self.runs.len().div_ceil(fan_in));
        for runs in self.runs.chunks(fan_in) {
            let mut run = Run::default();
            let mut bytes = Vec::new();
            merge(&self.file, runs, (self.width, &self.descending), &mut |chunk| {
                interrupt.check()?;
                bytes.clear();
                encode(&chunk, &mut bytes);
                run.block_bytes = run.block_bytes.max(chunk_bytes(&chunk));
                run.blocks.push(self.charge.spill(&mut file, &bytes)?);
                Ok(Flow::Continue)
            })?;
            longer.push(run);
        }
        self.runs = longer;
        self.file = file;
        Ok(())
    }
}

/// Puts rows that `work` gives out of order into the order of their last column, a number, and passes the first `width`
/// columns on.
pub(crate) fn in_order(
    scope: Scope<'_, '_>,
    operator: &'static str,
    width: usize,
    sink: &mut Sink<'_>,
    work: &mut dyn FnMut(&mut Sink<'_>) -> Result<Flow>,
) -> Result<Flow> {
    let interrupt = scope.runtime.environment.interrupt;
    let key = key_of_column(width);
    let mut sorter = Sorter::new(scope.runtime.charge(operator), width + 1, usize::MAX);
    work(&mut |chunk| {
        interrupt.check()?;
        sorter.push(chunk, &key, interrupt)?;
        Ok(Flow::Continue)
    })?;
    let columns: Vec<usize> = (0..width).collect();
    match sorter.finish(&key, interrupt)? {
        Sorted::Runs(runs) => runs.push(&columns, interrupt, sink),
        Sorted::InMemory(chunk, _charge) => {
            let order = sorted_rows(&key(&chunk)?, chunk.rows, interrupt)?;
            push_rows(scope, &chunk, &columns, &order, sink)
        }
    }
}

/// The key that a column of row numbers is, for [`Sorter`].
pub(super) fn key_of_column(column: usize) -> impl Fn(&Chunk) -> Result<Vec<Key>> {
    move |chunk| Ok(vec![Key { column: Arc::clone(&chunk.columns[column]), descending: false }])
}
