//! Making node segments: from rows of new nodes, or from an old segment and what changed in it.

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Column, ColumnBuilder, Result, Value};

use super::{RowBitmap, Segment};
use crate::bulk::context::BuildContext;
use crate::bulk::rewrite::NodeChange;
use crate::codec::bytes::Put;
use crate::column::ColumnWriter;
use crate::column::write::put_blocks;
use crate::file::FileWriter;
use crate::format::{COLUMN_BLOCK_ROWS, FileKind, SEGMENT_NODES, segment_range};
use crate::manifest::SegmentEntry;

/// Writes one segment, row after row. Columns leave memory block by block.
pub struct SegmentWriter {
    file: FileWriter,
    segment: u64,
    rows: usize,
    alive: Vec<u64>,
    labels: Vec<(LabelId, Vec<u64>)>,
    columns: Vec<(PropertyKeyId, ColumnWriter)>,
}

impl SegmentWriter {
    /// Begins a segment without rows.
    pub fn new(context: &BuildContext, segment: u64) -> Result<SegmentWriter> {
        let file = context.create(FileKind::Nodes)?;
        Ok(SegmentWriter { file, segment, rows: 0, alive: Vec::new(), labels: Vec::new(), columns: Vec::new() })
    }

    /// Begins a segment with the rows of an old one, changed. `changes` ascend by node and lie in the segment.
    pub fn changed(
        context: &BuildContext,
        segment: u64,
        base: Option<&Segment>,
        changes: &[NodeChange],
    ) -> Result<SegmentWriter> {
        let mut writer = SegmentWriter::new(context, segment)?;
        let first = segment_range(segment).start;
        let base_rows = base.map_or(0, Segment::rows);
        let row_of = |node: NodeId| (node.0 - first) as usize;
        writer.rows = changes.last().map_or(base_rows, |change| base_rows.max(row_of(change.node) + 1));
        if let Some(base) = base {
            writer.copy_bitmaps(base)?;
        }
        writer.alive.resize(writer.rows.div_ceil(64), 0);
        for change in changes {
            writer.change_bitmaps(row_of(change.node), change);
        }
        let mut keys: Vec<PropertyKeyId> = base.map_or(Vec::new(), |base| base.columns().iter().map(|c| c.0).collect());
        keys.extend(changes.iter().flat_map(|change| change.properties.iter().map(|(key, _)| *key)));
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            context.interrupt.check()?;
            writer.change_column(key, base, changes, first)?;
        }
        Ok(writer)
    }

    fn copy_bitmaps(&mut self, base: &Segment) -> Result<()> {
        let words = base.rows().div_ceil(64);
        self.alive = (0..words).map(|index| base.word(base.alive(), index)).collect::<Result<_>>()?;
        for label in base.labels() {
            let words = (0..words).map(|index| base.word(label.rows, index)).collect::<Result<_>>()?;
            self.labels.push((label.label, words));
        }
        Ok(())
    }

    fn change_bitmaps(&mut self, row: usize, change: &NodeChange) {
        let (word, bit) = (row / 64, 1u64 << (row % 64));
        if change.is_deleted {
            self.alive[word] &= !bit;
        } else {
            self.alive[word] |= bit;
        }
        if change.is_deleted || change.labels.is_some() {
            for (_, words) in &mut self.labels {
                if let Some(word) = words.get_mut(word) {
                    *word &= !bit;
                }
            }
        }
        if !change.is_deleted {
            for &label in change.labels.iter().flatten() {
                self.label_words(label)[word] |= bit;
            }
        }
    }

    fn label_words(&mut self, label: LabelId) -> &mut Vec<u64> {
        let words = self.rows.div_ceil(64);
        let at = self.labels.iter().position(|(mine, _)| *mine == label).unwrap_or_else(|| {
            self.labels.push((label, Vec::new()));
            self.labels.len() - 1
        });
        let bits = &mut self.labels[at].1;
        if bits.len() < words {
            bits.resize(words, 0);
        }
        bits
    }

    fn change_column(
        &mut self,
        key: PropertyKeyId,
        base: Option<&Segment>,
        changes: &[NodeChange],
        first: u64,
    ) -> Result<()> {
        let mut writer = ColumnWriter::default();
        let old = base.and_then(|base| base.column(key));
        let old_rows = if old.is_some() { base.map_or(0, Segment::rows) } else { 0 };
        let mut changes = changes;
        for start in (0..self.rows).step_by(COLUMN_BLOCK_ROWS) {
            let end = (start + COLUMN_BLOCK_ROWS).min(self.rows);
            let count = changes.partition_point(|change| ((change.node.0 - first) as usize) < end);
            let (here, rest) = changes.split_at(count);
            changes = rest;
            let mut column = match old {
                Some(old) if start < old_rows => old.range(start as u64..end.min(old_rows) as u64)?,
                _ => Column::nulls(0),
            };
            let missing = end - start - column.len();
            crate::column::append_range(&mut column, &Column::nulls(missing), 0, missing);
            let column = patched(column, key, here, first + start as u64);
            writer.push(&column, 0, end - start, &mut self.file)?;
        }
        self.columns.push((key, writer));
        Ok(())
    }

    /// Room for further rows.
    pub fn room(&self) -> usize {
        SEGMENT_NODES as usize - self.rows
    }

    /// Adds rows that no node uses until the next row is that of `node`.
    pub fn pad_to(&mut self, node: NodeId) {
        let rows = (node.0 - segment_range(self.segment).start) as usize;
        self.rows = self.rows.max(rows);
        self.alive.resize(self.rows.div_ceil(64), 0);
    }

    /// The id that the next row gets.
    pub fn next_node(&self) -> NodeId {
        NodeId(segment_range(self.segment).start + self.rows as u64)
    }

    /// Adds rows of new nodes with the same labels: rows `start..start + count` of each column.
    pub fn push_rows(
        &mut self,
        count: usize,
        labels: &[LabelId],
        columns: &[(PropertyKeyId, &Column)],
        start: usize,
    ) -> Result<()> {
        assert!(count <= self.room(), "a segment has {SEGMENT_NODES} rows at most");
        let before = self.rows;
        self.rows += count;
        set_bits(&mut self.alive, before, self.rows);
        for &label in labels {
            let rows = self.rows;
            set_bits(self.label_words(label), before, rows);
        }
        for &(key, column) in columns {
            let at = self.columns.iter().position(|(mine, _)| *mine == key).unwrap_or_else(|| {
                self.columns.push((key, ColumnWriter::default()));
                self.columns.len() - 1
            });
            let writer = &mut self.columns[at].1;
            writer.pad(before as u64, &mut self.file)?;
            writer.push(column, start, start + count, &mut self.file)?;
        }
        Ok(())
    }

    /// Writes bitmaps and directory; `None`, without a file, if no row was ever used.
    pub fn finish(mut self, context: &BuildContext) -> Result<Option<SegmentEntry>> {
        if self.rows == 0 {
            let path = self.file.path().to_owned();
            drop(self.file);
            context.discard(&path);
            return Ok(None);
        }
        let mut columns = Vec::new();
        self.columns.sort_by_key(|(key, _)| *key);
        for (key, mut writer) in std::mem::take(&mut self.columns) {
            writer.pad(self.rows as u64, &mut self.file)?;
            if let Some(blocks) = writer.finish(&mut self.file)? {
                columns.push((key, blocks));
            }
        }
        let mut directory = Vec::new();
        directory.put_u64(self.segment);
        directory.put_u64(self.rows as u64);
        directory.put_u64(count_ones(&self.alive));
        let alive = std::mem::take(&mut self.alive);
        self.write_bitmap(&alive)?.put(&mut directory);
        let mut labels = std::mem::take(&mut self.labels);
        labels.retain(|(_, words)| count_ones(words) > 0);
        labels.sort_by_key(|(label, _)| *label);
        directory.put_u32(labels.len() as u32);
        for (label, words) in &mut labels {
            words.resize(self.rows.div_ceil(64), 0);
            directory.put_u32(label.0);
            directory.put_u64(count_ones(words));
            self.write_bitmap(words)?.put(&mut directory);
        }
        directory.put_u32(columns.len() as u32);
        for (key, blocks) in &columns {
            directory.put_u32(key.0);
            put_blocks(blocks, &mut directory);
        }
        let file = self.file.finish(&directory)?;
        Ok(Some(SegmentEntry { segment: self.segment, file }))
    }

    fn write_bitmap(&mut self, words: &[u64]) -> Result<RowBitmap> {
        let ones = count_ones(words);
        if ones == 0 || ones == self.rows as u64 {
            return Ok(if ones == 0 { RowBitmap::None } else { RowBitmap::All });
        }
        self.file.align()?;
        let start = self.file.position() as usize;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.file.write(&bytes)?;
        Ok(RowBitmap::Words { start })
    }
}

fn count_ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

fn set_bits(words: &mut Vec<u64>, start: usize, end: usize) {
    words.resize(end.div_ceil(64), 0);
    let mut at = start;
    while at < end {
        let count = (64 - at % 64).min(end - at);
        words[at / 64] |= (u64::MAX >> (64 - count)) << (at % 64);
        at += count;
    }
}

/// A block of old values with the changes that lie in it.
fn patched(column: Column, key: PropertyKeyId, changes: &[NodeChange], first: u64) -> Column {
    let mut overlay: Vec<(usize, &Value)> = Vec::new();
    for change in changes {
        let row = (change.node.0 - first) as usize;
        if change.is_deleted {
            overlay.push((row, &Value::Null));
        } else if let Some((_, value)) = change.properties.iter().rev().find(|(at, _)| *at == key) {
            overlay.push((row, value));
        }
    }
    if overlay.is_empty() {
        return column;
    }
    let mut overlay = overlay.into_iter().peekable();
    let mut builder = ColumnBuilder::default();
    for row in 0..column.len() {
        match overlay.next_if(|(at, _)| *at == row) {
            Some((_, value)) => builder.push(value),
            None => builder.push(&column.value(row)),
        }
    }
    builder.finish()
}
