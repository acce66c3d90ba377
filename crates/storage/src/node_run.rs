//! Node runs: what a flush says of changed and new nodes, sorted by id, over the segments and older runs.
//!
//! - [`ids`]: from a node to its row.
//! - [`write`]: making runs.
//! - [`layers`]: segments and runs read as one.
//! - [`merge`]: several runs into one, and runs into segments.
//!
//! A row says some of: that the node is gone; all its labels; values of properties, or that they were removed; and
//! whether anything older counts at all. The *state* of a row is one number in a column: none if the run says nothing of
//! existence and labels, else deleted, or which of the run's sets of labels the node has, and whether the row is whole.
//!
//! Invariant: a node that a run knows and does not call deleted exists.
//! Cost: opening reads the directory; a question is a look for the row and one access to each column that is asked.

use std::path::Path;
use std::sync::Arc;

use model::Result;
use model::id::{LabelId, NodeId, PropertyKeyId};
use model::platform::Disk;

use crate::codec::bytes::Get;
use crate::column::{BlockSource, ColumnReader};
use crate::file::{FileEntry, StoreFile};
use crate::format::{COLUMN_BLOCK_ROWS, FileKind};

pub mod ids;
pub mod layers;
pub mod merge;
pub mod write;

use ids::IdSet;

/// A node run as the manifest lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRunEntry {
    /// Of two runs that know a node the one of the larger age is newer. No two runs of a version have the same.
    pub age: u64,
    /// Its file.
    pub file: FileEntry,
}

/// The state of a node that is gone.
pub const DELETED: i64 = 0;

/// The state of a node that has the labels of a set.
pub fn code_of(set: usize, is_whole: bool) -> i64 {
    1 + 2 * set as i64 + i64::from(is_whole)
}

/// Existence and labels of a node, as a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State<'a> {
    /// Nothing but that the node exists.
    Unsaid,
    /// The node is gone.
    Deleted,
    /// It has these labels.
    Labels {
        /// In order of their ids.
        labels: &'a [LabelId],
        /// Nothing older counts.
        is_whole: bool,
    },
}

/// Entry of a row for one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing: older runs and the segment are right.
    Nothing,
    /// It has the value in the column.
    Value,
    /// It has none.
    Null,
}

/// The columns of one property.
#[derive(Debug)]
pub struct RunKey {
    /// The property.
    pub key: PropertyKeyId,
    /// Its values.
    pub values: Option<ColumnReader>,
    /// Rows in which it was removed.
    pub removed: Option<ColumnReader>,
}

/// One immutable node run.
#[derive(Debug)]
pub struct NodeRun {
    file: Arc<StoreFile>,
    entry: NodeRunEntry,
    ids: IdSet,
    sets: Vec<Box<[LabelId]>>,
    state: Option<ColumnReader>,
    keys: Vec<RunKey>,
}

impl NodeRun {
    /// Opens a run; reads header and directory only.
    pub fn open(disk: &Arc<dyn Disk>, directory: &Path, entry: NodeRunEntry) -> Result<NodeRun> {
        let file = StoreFile::open(disk, directory, FileKind::NodeRun, entry.file)?;
        let mut get = file.directory()?;
        let rows = get.u64()?;
        let ids = IdSet::open(&file, &mut get)?;
        if ids.rows() != rows {
            return Err(get.damage(format!("a run of {rows} rows has {} ids", ids.rows())));
        }
        let mut sets = Vec::new();
        for _ in 0..get.count(4)? {
            let count = get.count(4)?;
            let labels = (0..count).map(|_| Ok(LabelId(get.u32()?))).collect::<Result<Box<[LabelId]>>>()?;
            if !labels.is_sorted_by(|a, b| a < b) {
                return Err(get.damage("the labels of a set are not in order"));
            }
            sets.push(labels);
        }
        let state = take_column(&file, &mut get, rows)?;
        if state.as_ref().is_some_and(|state| !state.holds_ints()) {
            return Err(get.damage("the states of a run are no integers"));
        }
        let mut keys: Vec<RunKey> = Vec::new();
        for _ in 0..get.count(12)? {
            let key = PropertyKeyId(get.u32()?);
            if keys.last().is_some_and(|before| before.key >= key) {
                return Err(get.damage("the columns of a run are not in order"));
            }
            let (values, removed) = (take_column(&file, &mut get, rows)?, take_column(&file, &mut get, rows)?);
            keys.push(RunKey { key, values, removed });
        }
        Ok(NodeRun { file, entry, ids, sets, state, keys })
    }

    /// Entry in the manifest.
    pub fn entry(&self) -> NodeRunEntry {
        self.entry
    }

    /// Its file.
    pub fn file(&self) -> &Arc<StoreFile> {
        &self.file
    }

    /// Number of nodes that it knows.
    pub fn rows(&self) -> u64 {
        self.ids.rows()
    }

    /// The ids of its rows.
    pub fn ids(&self) -> &IdSet {
        &self.ids
    }

    /// The sets of labels that states name.
    pub fn sets(&self) -> &[Box<[LabelId]>] {
        &self.sets
    }

    /// The column of states; `None` if no row says anything of existence and labels.
    pub fn state_column(&self) -> Option<&ColumnReader> {
        self.state.as_ref()
    }

    /// The properties that some row says something of, in order of their keys.
    pub fn keys(&self) -> &[RunKey] {
        &self.keys
    }

    /// The columns of a property, if some row says something of it.
    #[inline]
    pub fn key(&self, key: PropertyKeyId) -> Option<&RunKey> {
        let index = self.keys.binary_search_by_key(&key, |columns| columns.key).ok()?;
        Some(&self.keys[index])
    }

    /// The row of a node, if the run knows it.
    #[inline]
    pub fn row_of(&self, node: NodeId) -> Result<Option<u64>> {
        self.ids.row_of(&self.file, node.0)
    }

    /// Existence and labels of a node, as a row says.
    pub fn state(&self, row: u64) -> Result<State<'_>> {
        let Some(code) = self.code(row)? else { return Ok(State::Unsaid) };
        self.state_of(code)
    }

    /// The code of a row's state; `None` if it says nothing.
    #[inline]
    pub fn code(&self, row: u64) -> Result<Option<i64>> {
        let Some(state) = &self.state else { return Ok(None) };
        let Some(mut cursor) = state.cursor(row) else { return Ok(None) };
        Ok(cursor.find(row as usize % COLUMN_BLOCK_ROWS)?.map(|found| found.int()))
    }

    /// The state that a code stands for.
    #[inline]
    pub fn state_of(&self, code: i64) -> Result<State<'_>> {
        if code == DELETED {
            return Ok(State::Deleted);
        }
        let above = code.wrapping_sub(1);
        match self.sets.get(above as usize / 2) {
            Some(labels) => Ok(State::Labels { labels, is_whole: above % 2 == 1 }),
            None => Err(self.file.damage(0, format!("no set of labels has the code {code}"))),
        }
    }

    /// Entry of a row for a property, whose columns are `key`.
    #[inline]
    pub fn says(&self, key: Option<&RunKey>, row: u64) -> Result<Said> {
        if let Some(key) = key {
            if is_present(key.values.as_ref(), row)? {
                return Ok(Said::Value);
            }
            if is_present(key.removed.as_ref(), row)? {
                return Ok(Said::Null);
            }
        }
        Ok(match self.code(row)? {
            None => Said::Nothing,
            Some(code) if code == DELETED || code.wrapping_sub(1) % 2 == 1 => Said::Null,
            Some(_) => Said::Nothing,
        })
    }
}

#[inline]
fn is_present(column: Option<&ColumnReader>, row: u64) -> Result<bool> {
    let Some(column) = column else { return Ok(false) };
    let index = row as usize / COLUMN_BLOCK_ROWS;
    let Some(header) = column.headers().get(index) else { return Ok(false) };
    if header.present == 0 || header.present == header.rows {
        return Ok(header.present > 0);
    }
    Ok(column.block(index)?.place(row as usize % COLUMN_BLOCK_ROWS)?.is_some())
}

fn take_column(file: &Arc<StoreFile>, get: &mut Get<'_>, rows: u64) -> Result<Option<ColumnReader>> {
    match get.u32()? {
        0 => Ok(None),
        1 => Ok(Some(ColumnReader::open(file, get, rows)?)),
        other => Err(get.damage(format!("{other} columns where one or none was expected"))),
    }
}
