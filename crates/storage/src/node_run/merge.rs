//! Merging: several runs that follow each other in age become one.
//!
//! Cost: rows are merged by id and copied by columns, a block at a time; a merge holds a block of each column.

use std::ops::Range;
use std::sync::Arc;

use model::id::{NodeId, PropertyKeyId};
use model::{Column, ColumnBuilder, Result, Value};

use super::layers::Layers;
use super::write::{KeyBlock, NodeRunWriter};
use super::{DELETED, NodeRun, NodeRunEntry, State, code_of, is_present};
use crate::build::BuildContext;
use crate::column::grouped::grouped;
use crate::format::{COLUMN_BLOCK_ROWS, SEGMENT_BITS};

/// Ids read at a time.
const PIECE_ROWS: u64 = 4_096;
/// Approximate bytes of rows merged at a time.
const PIECE_BYTES: u64 = 8 << 20;
/// The number of a run in a place: there is no value.
const NOWHERE: u32 = u32::MAX;

/// Merges runs of a version, oldest first, that follow each other; `None` if no row is left. Rows that segments hold
/// already are left out, as are deleted nodes of which nothing older is left.
pub fn merge_runs(context: &BuildContext, layers: &Layers, inputs: &[Arc<NodeRun>]) -> Result<Option<NodeRunEntry>> {
    let (Some(oldest), Some(newest)) = (inputs.first(), inputs.last()) else { return Ok(None) };
    let is_last = layers.runs().first().is_some_and(|run| run.entry().age == oldest.entry().age);
    let mut merge = Merge { layers, inputs, is_last, cursors: inputs.iter().map(Cursor::new).collect() };
    let mut keys: Vec<PropertyKeyId> = inputs.iter().flat_map(|run| run.keys()).map(|columns| columns.key).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut writer = NodeRunWriter::new(context)?;
    let mut rows = Rows::default();
    let row_bytes = inputs.iter().map(|run| run.entry().file.length / run.rows().max(1)).max().unwrap_or(0);
    let rows_max = (PIECE_BYTES / row_bytes.max(1)).clamp(1, COLUMN_BLOCK_ROWS as u64) as usize;
    loop {
        context.interrupt.check()?;
        merge.next_rows(rows_max, &mut writer, &mut rows)?;
        if rows.ids.is_empty() {
            break;
        }
        writer.push_rows(&rows.ids, &std::mem::take(&mut rows.state).finish())?;
        for &key in &keys {
            if let Some(block) = merge.key_block(key, &rows)? {
                writer.push_key(&block)?;
            }
        }
    }
    writer.finish(context, newest.entry().age)
}

/// Runs on their way into one.
struct Merge<'a> {
    layers: &'a Layers,
    inputs: &'a [Arc<NodeRun>],
    /// No run is older than the first.
    is_last: bool,
    cursors: Vec<Cursor<'a>>,
}

/// Rows of the result, of one block.
#[derive(Default)]
struct Rows {
    ids: Vec<u64>,
    state: ColumnBuilder,
    /// The rows of the inputs that count, newest first, for one row of the result after the other.
    parts: Vec<(u32, u64)>,
    /// End of the parts of each row.
    ends: Vec<u32>,
    /// True for each row for which nothing older counts.
    is_whole: Vec<bool>,
}

impl Merge<'_> {
    /// Replaces `rows` by the next of the result, at most `rows_max`.
    fn next_rows(&mut self, rows_max: usize, writer: &mut NodeRunWriter, rows: &mut Rows) -> Result<()> {
        *rows = Rows::default();
        while rows.ids.len() < rows_max {
            let mut least = u64::MAX;
            for cursor in &mut self.cursors {
                least = least.min(cursor.peek(self.layers)?.unwrap_or(u64::MAX));
            }
            if least == u64::MAX {
                break;
            }
            let start = rows.parts.len();
            let (mut state, mut is_whole) = (State::Unsaid, false);
            for (number, cursor) in self.cursors.iter_mut().enumerate().rev() {
                if cursor.peek(self.layers)? != Some(least) {
                    continue;
                }
                let row = cursor.take();
                if is_whole {
                    continue;
                }
                let said = self.inputs[number].state(row)?;
                is_whole = matches!(said, State::Deleted | State::Labels { is_whole: true, .. });
                if said != State::Deleted {
                    rows.parts.push((number as u32, row));
                }
                if state == State::Unsaid {
                    state = said;
                }
            }
            if state == State::Deleted && self.is_last && !self.is_in_segment(least)? {
                continue;
            }
            let code = match state {
                State::Unsaid => Value::Null,
                State::Deleted => {
                    rows.parts.truncate(start);
                    Value::Int(DELETED)
                }
                State::Labels { labels, .. } => Value::Int(code_of(writer.set_number(labels), is_whole)),
            };
            rows.ids.push(least);
            rows.state.push(&code);
            rows.ends.push(rows.parts.len() as u32);
            rows.is_whole.push(is_whole);
        }
        Ok(())
    }

    /// True if the segment of a node says that it exists.
    fn is_in_segment(&self, id: u64) -> Result<bool> {
        let row = (id & (crate::format::SEGMENT_NODES - 1)) as usize;
        self.layers.segment(id >> SEGMENT_BITS).map_or(Ok(false), |segment| segment.bit(segment.alive(), row))
    }

    /// Columns of the result for a property in some rows; `None` if they say nothing of it.
    fn key_block(&self, key: PropertyKeyId, rows: &Rows) -> Result<Option<KeyBlock>> {
        let columns: Vec<_> = self.inputs.iter().map(|run| run.key(key)).collect();
        let mut places: Vec<(u32, u64)> = Vec::with_capacity(rows.ids.len());
        let mut removed: Option<ColumnBuilder> = None;
        let (mut start, mut has_values) = (0, false);
        for (row, &end) in rows.ends.iter().enumerate() {
            let mut place = (NOWHERE, 0);
            for &(number, at) in &rows.parts[start..end as usize] {
                let Some(columns) = columns[number as usize] else { continue };
                if is_present(columns.values.as_ref(), at)? {
                    place = (number, at);
                    has_values = true;
                    break;
                }
                if is_present(columns.removed.as_ref(), at)? {
                    if !rows.is_whole[row] {
                        let removed = removed.get_or_insert_default();
                        (removed.len()..row).for_each(|_| removed.push(&Value::Null));
                        removed.push(&Value::Bool(true));
                    }
                    break;
                }
            }
            places.push(place);
            start = end as usize;
        }
        if !has_values && removed.is_none() {
            return Ok(None);
        }
        let values = grouped(
            places.len(),
            |row| places[row],
            |number, positions| {
                let values = columns.get(number as usize).and_then(|columns| columns.and_then(|of| of.values.as_ref()));
                values.map_or_else(|| Ok(Column::nulls(positions.len())), |values| values.read(positions))
            },
        )?;
        let finish = |mut builder: ColumnBuilder| {
            (builder.len()..places.len()).for_each(|_| builder.push(&Value::Null));
            builder.finish()
        };
        Ok(Some(KeyBlock { key, values, removed: removed.map(finish) }))
    }
}

/// Goes through the ids of a run, except those whose segments are newer.
struct Cursor<'a> {
    run: &'a NodeRun,
    ids: Vec<u64>,
    at: usize,
    /// The rows that `ids` are of, and all after them.
    rows: Range<u64>,
}

impl<'a> Cursor<'a> {
    fn new(run: &'a Arc<NodeRun>) -> Cursor<'a> {
        Cursor { run, ids: Vec::new(), at: 0, rows: 0..run.rows() }
    }

    fn peek(&mut self, layers: &Layers) -> Result<Option<u64>> {
        loop {
            if self.at == self.ids.len() {
                self.rows.start += self.ids.len() as u64;
                self.at = 0;
                self.ids.clear();
                if self.rows.is_empty() {
                    return Ok(None);
                }
                let end = self.rows.end.min(self.rows.start + PIECE_ROWS);
                self.run.ids().read(self.run.file(), self.rows.start..end, &mut self.ids)?;
            }
            let id = self.ids[self.at];
            if self.run.entry().age > layers.age_of(NodeId(id).0 >> SEGMENT_BITS) {
                return Ok(Some(id));
            }
            self.at += 1;
        }
    }

    /// Steps behind the id that was peeked at; gives its row.
    fn take(&mut self) -> u64 {
        self.at += 1;
        self.rows.start + self.at as u64 - 1
    }
}
