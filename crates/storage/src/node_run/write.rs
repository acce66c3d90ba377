//! Making node runs: from rows one by one, as a flush has them, or from blocks of columns, as merging has them.

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Column, ColumnBuilder, Map, Result, Value};

use super::ids::IdWriter;
use super::{DELETED, NodeRunEntry, code_of};
use crate::build::BuildContext;
use crate::codec::bytes::Put;
use crate::column::ColumnWriter;
use crate::column::write::put_blocks;
use crate::file::FileWriter;
use crate::format::{COLUMN_BLOCK_ROWS, FileKind};

/// Entry of a run for one node.
#[derive(Clone, Copy, Debug)]
pub struct NodeRow<'a> {
    /// The node.
    pub node: NodeId,
    /// It is gone; the other fields do not count.
    pub is_deleted: bool,
    /// Nothing that was written before counts: what is not said here is not there.
    pub is_whole: bool,
    /// All labels of the node in order of their ids, each once; `None` if the run says nothing of them.
    pub labels: Option<&'a [LabelId]>,
    /// The properties that were set, each key once; null for those that were removed.
    pub properties: &'a [(PropertyKeyId, Value)],
}

/// The values of one key in some rows.
#[derive(Debug)]
pub struct KeyBlock {
    /// The property.
    pub key: PropertyKeyId,
    /// Null where the property was not set.
    pub values: Column,
    /// True where the property was removed, null elsewhere.
    pub removed: Option<Column>,
}

/// Values of one key in pending rows, only of those that have one.
#[derive(Default)]
struct PendingKey {
    places: Vec<u32>,
    values: ColumnBuilder,
    /// Rows where the property was removed.
    removed: Vec<u32>,
}

/// Columns of one key.
#[derive(Default)]
struct KeyWriter {
    values: ColumnWriter,
    removed: ColumnWriter,
}

/// Writes one node run. Columns leave memory block by block.
pub struct NodeRunWriter {
    file: FileWriter,
    ids: IdWriter,
    rows: u64,
    state: ColumnWriter,
    sets: Vec<Box<[LabelId]>>,
    set_numbers: Map<Box<[LabelId]>, usize>,
    keys: Vec<(PropertyKeyId, KeyWriter)>,
    key_places: Map<PropertyKeyId, usize>,
    pending: PendingRows,
}

/// Rows that do not make a block yet.
#[derive(Default)]
struct PendingRows {
    ids: Vec<u64>,
    state: ColumnBuilder,
    keys: Vec<(PropertyKeyId, PendingKey)>,
    places: Map<PropertyKeyId, usize>,
}

impl NodeRunWriter {
    /// Begins a run without rows.
    pub fn new(context: &BuildContext) -> Result<NodeRunWriter> {
        Ok(NodeRunWriter {
            file: context.create(FileKind::NodeRun)?,
            ids: IdWriter::default(),
            rows: 0,
            state: ColumnWriter::default(),
            sets: Vec::new(),
            set_numbers: Map::default(),
            keys: Vec::new(),
            key_places: Map::default(),
            pending: PendingRows::default(),
        })
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows + self.pending.ids.len() as u64
    }

    /// The number of a set of labels in this run. The labels are in order of their ids, each once.
    pub fn set_number(&mut self, labels: &[LabelId]) -> usize {
        if let Some(&number) = self.set_numbers.get(labels) {
            return number;
        }
        self.sets.push(labels.into());
        self.set_numbers.insert(labels.into(), self.sets.len() - 1);
        self.sets.len() - 1
    }

    /// Adds a row; nodes ascend.
    pub fn push(&mut self, row: &NodeRow<'_>) -> Result<()> {
        let state = match row.labels {
            _ if row.is_deleted => Value::Int(DELETED),
            Some(labels) => Value::Int(code_of(self.set_number(labels), row.is_whole)),
            None => Value::Null,
        };
        let pending = &mut self.pending;
        let at = pending.ids.len();
        pending.ids.push(row.node.0);
        pending.state.push(&state);
        if !row.is_deleted {
            row.properties.iter().for_each(|(key, value)| pending.set(at, *key, value));
        }
        if pending.ids.len() == COLUMN_BLOCK_ROWS { self.flush_pending() } else { Ok(()) }
    }

    fn flush_pending(&mut self) -> Result<()> {
        let PendingRows { ids, state, keys, .. } = std::mem::take(&mut self.pending);
        self.push_rows(&ids, &state.finish())?;
        for (key, PendingKey { places, values, removed }) in keys {
            let at = self.place_of(key);
            let (writer, before) = (&mut self.keys[at].1, self.rows - ids.len() as u64);
            if !places.is_empty() {
                writer.values.pad(before, &mut self.file)?;
                writer.values.push_at(&places, &values.finish(), ids.len(), &mut self.file)?;
            }
            if !removed.is_empty() {
                let yes = Column::constant(&Value::Bool(true), removed.len());
                writer.removed.pad(before, &mut self.file)?;
                writer.removed.push_at(&removed, &yes, ids.len(), &mut self.file)?;
            }
        }
        Ok(())
    }

    /// Adds rows; what they say of keys follows by [`NodeRunWriter::push_key`]. Codes of the state are those of [`code_of`]
    /// with numbers of [`NodeRunWriter::set_number`].
    pub fn push_rows(&mut self, ids: &[u64], state: &Column) -> Result<()> {
        debug_assert!(self.pending.ids.is_empty() && state.len() == ids.len());
        for &id in ids {
            self.ids.push(id, &mut self.file)?;
        }
        self.rows += ids.len() as u64;
        self.state.push(state, 0, ids.len(), &mut self.file)
    }

    /// Adds what the rows that were added last say of a key.
    pub fn push_key(&mut self, block: &KeyBlock) -> Result<()> {
        let (at, rows) = (self.place_of(block.key), block.values.len());
        let (writer, before) = (&mut self.keys[at].1, self.rows - rows as u64);
        writer.values.pad(before, &mut self.file)?;
        writer.values.push(&block.values, 0, rows, &mut self.file)?;
        if let Some(removed) = &block.removed {
            writer.removed.pad(before, &mut self.file)?;
            writer.removed.push(removed, 0, rows, &mut self.file)?;
        }
        Ok(())
    }

    fn place_of(&mut self, key: PropertyKeyId) -> usize {
        *self.key_places.entry(key).or_insert_with(|| {
            self.keys.push((key, KeyWriter::default()));
            self.keys.len() - 1
        })
    }

    /// Writes the directory; `None`, without a file, if there were no rows.
    pub fn finish(mut self, context: &BuildContext, age: u64) -> Result<Option<NodeRunEntry>> {
        self.flush_pending()?;
        if self.rows == 0 {
            let path = self.file.path().to_owned();
            drop(self.file);
            context.discard(&path);
            return Ok(None);
        }
        let mut directory = Vec::new();
        directory.put_u64(self.rows);
        self.ids.finish(&mut self.file, &mut directory)?;
        directory.put_u32(self.sets.len() as u32);
        for set in &self.sets {
            directory.put_u32(set.len() as u32);
            set.iter().for_each(|label| directory.put_u32(label.0));
        }
        put_column(self.state, self.rows, &mut self.file, &mut directory)?;
        self.keys.sort_by_key(|(key, _)| *key);
        directory.put_u32(self.keys.len() as u32);
        for (key, writer) in self.keys {
            directory.put_u32(key.0);
            put_column(writer.values, self.rows, &mut self.file, &mut directory)?;
            put_column(writer.removed, self.rows, &mut self.file, &mut directory)?;
        }
        let file = self.file.finish(&directory)?;
        Ok(Some(NodeRunEntry { age, file }))
    }
}

impl PendingRows {
    fn set(&mut self, row: usize, key: PropertyKeyId, value: &Value) {
        let at = *self.places.entry(key).or_insert_with(|| {
            self.keys.push((key, PendingKey::default()));
            self.keys.len() - 1
        });
        let pending = &mut self.keys[at].1;
        if value.is_null() {
            pending.removed.push(row as u32);
        } else {
            pending.places.push(row as u32);
            pending.values.push(value);
        }
    }
}

/// Adds a column to the directory: a number that says whether there is one, and the column.
fn put_column(mut writer: ColumnWriter, rows: u64, file: &mut FileWriter, directory: &mut Vec<u8>) -> Result<()> {
    writer.pad(rows, file)?;
    let blocks = writer.finish(file)?;
    directory.put_u32(u32::from(blocks.is_some()));
    if let Some(blocks) = blocks {
        put_blocks(&blocks, directory);
    }
    Ok(())
}
