//! Folding: a segment is written anew with what the runs over it say.
//!
//! Cost: reads the old segment and the rows of the runs once; holds the bitmaps of the segment and a block of a column.

use std::ops::Range;
use std::sync::Arc;

use model::Result;
use model::id::{LabelId, NodeId, PropertyKeyId};

use crate::build::BuildContext;
use crate::column::{BlockSource, ColumnReader, ColumnWriter};
use crate::format::{COLUMN_BLOCK_ROWS, SEGMENT_NODES, segment_range};
use crate::node_run::layers::Layers;
use crate::node_run::{NodeRun, State};
use crate::segment::Segment;
use crate::segment::write::SegmentWriter;

/// Approximate bytes of values read at a time.
const PIECE_BYTES: u64 = 8 << 20;
/// Rows of a run looked at together.
const PIECE_ROWS: u64 = 4_096;

impl SegmentWriter {
    /// Begins a segment with all that segments and runs say of its nodes.
    pub fn folded(context: &BuildContext, segment: u64, layers: &Layers) -> Result<SegmentWriter> {
        let mut writer = SegmentWriter::new(context, segment)?;
        let ids = segment_range(segment);
        let runs = layers.runs_over(segment);
        let mut rows = layers.segment(segment).map_or(0, Segment::rows);
        for run in runs {
            rows = rows.max(last_row(run, ids.start)?);
        }
        writer.rows = rows;
        writer.fold_bitmaps(layers, segment)?;
        let of_runs = rows_of_runs(runs, ids.start, rows)?;
        for key in layers.keys_in(segment) {
            context.interrupt.check()?;
            writer.fold_column(layers, segment, key, &of_runs)?;
        }
        Ok(writer)
    }

    fn fold_bitmaps(&mut self, layers: &Layers, segment: u64) -> Result<()> {
        let words = self.rows.div_ceil(64);
        if let Some(base) = layers.segment(segment) {
            let old = base.rows().div_ceil(64);
            self.alive = (0..old).map(|index| base.word(base.alive(), index)).collect::<Result<_>>()?;
            for label in base.labels() {
                let rows = self.labels.entry(label.label).or_default();
                base.each_word(label.rows, 0..old, |index, word| {
                    rows.add_word(index, word);
                    Ok(())
                })?;
            }
        }
        self.alive.resize(words, 0);
        // Rows whose labels a run says, and the labels of those.
        let mut said = vec![0u64; words];
        let mut new: Vec<(usize, &[LabelId])> = Vec::new();
        for run in layers.runs_over(segment).iter().rev() {
            each_state(run, segment, |row, state| {
                let (word, bit) = (row / 64, 1u64 << (row % 64));
                if said[word] & bit != 0 || state == State::Unsaid {
                    return;
                }
                said[word] |= bit;
                match state {
                    State::Labels { labels, .. } => {
                        self.alive[word] |= bit;
                        new.push((row, labels));
                    }
                    _ => self.alive[word] &= !bit,
                }
            })?;
        }
        self.labels.values_mut().for_each(|rows| rows.remove(&said));
        for (row, labels) in new {
            labels.iter().for_each(|&label| self.labels.entry(label).or_default().add(row));
        }
        Ok(())
    }

    /// `of_runs` are the rows of each run in each block.
    fn fold_column(
        &mut self,
        layers: &Layers,
        segment: u64,
        key: PropertyKeyId,
        of_runs: &[Vec<Range<u64>>],
    ) -> Result<()> {
        let mut writer = ColumnWriter::default();
        let first = segment_range(segment).start;
        let old = layers.segment(segment);
        let column = old.and_then(|old| old.column(key));
        let old_rows = if column.is_some() { old.map_or(0, Segment::rows) } else { 0 };
        let runs = layers.runs_over(segment);
        let bytes_of_runs = runs.iter().map(|run| run.entry().file.length / run.rows().max(1)).max();
        let values: Vec<Option<&ColumnReader>> =
            runs.iter().map(|run| run.key(key).and_then(|columns| columns.values.as_ref())).collect();
        let mut end = 0;
        while end < self.rows {
            let start = end;
            let block = start / COLUMN_BLOCK_ROWS;
            let is_absent = |(values, rows): (&Option<&ColumnReader>, &Range<u64>)| {
                values.is_none_or(|values| values.is_absent(rows))
            };
            // Of many keys most have no value in most blocks, and no row is looked at for these.
            if start % COLUMN_BLOCK_ROWS == 0
                && column.is_none_or(|column| column.headers().get(block).is_none_or(|header| header.present == 0))
                && values.iter().zip(&of_runs[block]).all(is_absent)
            {
                end = (start + COLUMN_BLOCK_ROWS).min(self.rows);
                writer.pad(end as u64, &mut self.file)?;
                continue;
            }
            // Not beyond a block, and less where values are large.
            let row_bytes = column.map_or(0, |column| column.row_bytes(start as u64)).max(bytes_of_runs.unwrap_or(0));
            let rows = (PIECE_BYTES / row_bytes.max(1)).clamp(1, COLUMN_BLOCK_ROWS as u64) as usize;
            end = (start + rows).min(block * COLUMN_BLOCK_ROWS + COLUMN_BLOCK_ROWS).min(self.rows);
            let ids = first + start as u64..first + end as u64;
            if of_runs[block].iter().any(|rows| !rows.is_empty()) {
                let nodes: Vec<NodeId> = ids.map(NodeId).collect();
                writer.push(&layers.property(&nodes, key)?, 0, end - start, &mut self.file)?;
                continue;
            }
            if let Some(column) = column.filter(|_| start < old_rows) {
                let column = column.range(start as u64..end.min(old_rows) as u64)?;
                writer.push(&column, 0, column.len(), &mut self.file)?;
            }
            writer.pad(end as u64, &mut self.file)?;
        }
        self.columns.insert(key, writer);
        Ok(())
    }
}

/// The rows that each run has of each block of a segment, which begins with that id.
fn rows_of_runs(runs: &[Arc<NodeRun>], first: u64, rows: usize) -> Result<Vec<Vec<Range<u64>>>> {
    let of_block = |start: usize| {
        let end = (start + COLUMN_BLOCK_ROWS).min(rows);
        let ids = first + start as u64..first + end as u64;
        runs.iter().map(|run| run.ids().rows_in(run.file(), ids.clone())).collect()
    };
    (0..rows).step_by(COLUMN_BLOCK_ROWS).map(of_block).collect()
}

/// One more than the last row of a segment that a run knows.
fn last_row(run: &NodeRun, first: u64) -> Result<usize> {
    let rows = run.ids().rows_in(run.file(), first..first + SEGMENT_NODES)?;
    if rows.is_empty() {
        return Ok(0);
    }
    let mut ids = Vec::new();
    run.ids().read(run.file(), rows.end - 1..rows.end, &mut ids)?;
    Ok((ids[0] - first) as usize + 1)
}

/// Calls `each` for every row of a segment that a run knows.
fn each_state<'a>(run: &'a NodeRun, segment: u64, mut each: impl FnMut(usize, State<'a>)) -> Result<()> {
    let ids = segment_range(segment);
    let first = ids.start;
    let rows = run.ids().rows_in(run.file(), ids)?;
    let mut piece = Vec::new();
    for start in rows.clone().step_by(PIECE_ROWS as usize) {
        let end = rows.end.min(start + PIECE_ROWS);
        run.ids().read(run.file(), start..end, &mut piece)?;
        for (row, &id) in (start..end).zip(&piece) {
            each((id - first) as usize, run.state(row)?);
        }
    }
    Ok(())
}
