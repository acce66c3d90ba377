//! Making node segments: from rows of new nodes, or (in [`super::fold`]) from a segment and the runs over it.

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Column, Map, Result};

use super::RowBitmap;
use super::label_rows::{LabelRows, count_ones, is_listed, set_bits};
use crate::build::BuildContext;
use crate::codec::bytes::Put;
use crate::column::ColumnWriter;
use crate::column::write::put_blocks;
use crate::file::FileWriter;
use crate::format::{FileKind, SEGMENT_NODES, segment_range};
use crate::manifest::SegmentEntry;

/// Writes one segment, row after row. Columns leave memory block by block.
pub struct SegmentWriter {
    pub(crate) file: FileWriter,
    pub(crate) segment: u64,
    pub(crate) rows: usize,
    pub(crate) alive: Vec<u64>,
    pub(crate) labels: Map<LabelId, LabelRows>,
    pub(crate) columns: Map<PropertyKeyId, ColumnWriter>,
}

impl SegmentWriter {
    /// Begins a segment without rows.
    pub fn new(context: &BuildContext, segment: u64) -> Result<SegmentWriter> {
        let file = context.create(FileKind::Nodes)?;
        let (labels, columns) = (Map::default(), Map::default());
        Ok(SegmentWriter { file, segment, rows: 0, alive: Vec::new(), labels, columns })
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
            self.labels.entry(label).or_default().add_range(before, self.rows);
        }
        for &(key, column) in columns {
            let writer = self.columns.entry(key).or_default();
            writer.pad(before as u64, &mut self.file)?;
            writer.push(column, start, start + count, &mut self.file)?;
        }
        Ok(())
    }

    /// Writes bitmaps and directory of a segment that holds what runs up to an age say; `None`, without a file, if no
    /// row was ever used.
    pub fn finish(mut self, context: &BuildContext, age: u64) -> Result<Option<SegmentEntry>> {
        if self.rows == 0 {
            let path = self.file.path().to_owned();
            drop(self.file);
            context.discard(&path);
            return Ok(None);
        }
        let mut writers: Vec<_> = std::mem::take(&mut self.columns).into_iter().collect();
        writers.sort_unstable_by_key(|(key, _)| *key);
        let mut columns = Vec::new();
        for (key, mut writer) in writers {
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
        let mut labels: Vec<_> = std::mem::take(&mut self.labels).into_iter().collect();
        labels.retain(|(_, rows)| rows.count() > 0);
        labels.sort_unstable_by_key(|(label, _)| *label);
        directory.put_u32(labels.len() as u32);
        for (label, rows) in labels {
            directory.put_u32(label.0);
            directory.put_u64(rows.count());
            self.write_label(rows)?.put(&mut directory);
        }
        directory.put_u32(columns.len() as u32);
        for (key, blocks) in &columns {
            directory.put_u32(key.0);
            put_blocks(blocks, &mut directory);
        }
        let file = self.file.finish(&directory)?;
        Ok(Some(SegmentEntry { segment: self.segment, age, file }))
    }

    fn write_label(&mut self, rows: LabelRows) -> Result<RowBitmap> {
        if !is_listed(rows.count(), self.rows) {
            return self.write_bitmap(&rows.into_words(self.rows));
        }
        let list = rows.into_list();
        self.file.align()?;
        let start = self.file.position() as usize;
        let bytes: Vec<u8> = list.iter().flat_map(|row| row.to_le_bytes()).collect();
        self.file.write(&bytes)?;
        Ok(RowBitmap::List { start, count: list.len() })
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
