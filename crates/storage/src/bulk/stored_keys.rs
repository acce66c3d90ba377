//! Nodes that the store had before a load, by their keys, for edges that name them.
//!
//! A lookup in the store costs three random reads, a table of all keys of the label an array access or one. So the table is
//! made once as many keys were asked for as pay for reading all of them, if it fits in its share of the memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Column, ColumnData, NodeBatch, NodeScan, ReadView, Result};

use super::resolve::{KeyTable, MISSING};
use crate::build::BuildContext;
use crate::snapshot::Snapshot;
use crate::version::Version;

/// Number of keys read in the time of one lookup; an estimate.
const READ_PER_LOOKUP: u64 = 8;
/// Bytes that a key may take in a table, while it grows.
const KEY_BYTES: u64 = 48;

/// See the module.
pub(super) struct StoredKeys {
    base: Arc<Version>,
    context: Arc<BuildContext>,
    label: LabelId,
    key: PropertyKeyId,
    bytes_max: usize,
    /// Keys that were asked for.
    asked: AtomicU64,
    making: Mutex<()>,
    /// `None` if it does not fit.
    table: OnceLock<Option<KeyTable>>,
}

impl StoredKeys {
    /// The nodes of a label by a property with a uniqueness constraint. A table of them takes `bytes_max` bytes at most.
    pub(super) fn new(
        base: &Arc<Version>,
        context: &Arc<BuildContext>,
        (label, key): (LabelId, PropertyKeyId),
        bytes_max: usize,
    ) -> StoredKeys {
        StoredKeys {
            base: base.clone(),
            context: context.clone(),
            label,
            key,
            bytes_max,
            asked: AtomicU64::new(0),
            making: Mutex::new(()),
            table: OnceLock::new(),
        }
    }

    /// Bytes that its table may come to.
    pub(super) fn bytes_reserved(&self) -> usize {
        self.bytes_max.min((self.count() * KEY_BYTES) as usize)
    }

    fn count(&self) -> u64 {
        self.base.manifest().statistics.label(self.label)
    }

    /// For each row the node with that key, if there is one.
    pub(super) fn find(&self, keys: &Column) -> Result<Vec<Option<NodeId>>> {
        // Numbers of two kinds may be equal: the store knows.
        let has_plain_keys = matches!(keys.data, ColumnData::Int(_) | ColumnData::String(_));
        let Some(table) = (if has_plain_keys { self.table(keys.len() as u64)? } else { None }) else {
            return self.look_up(keys);
        };
        let mut ids = Vec::new();
        table.find_all(keys, &mut ids)?;
        let mut found: Vec<Option<NodeId>> =
            ids.iter().map(|&id| (id != MISSING).then_some(NodeId(id.into()))).collect();
        // A key that is not in the table may equal one of another kind.
        let rows: Vec<u32> = (0..keys.len() as u32).filter(|&row| found[row as usize].is_none()).collect();
        if !rows.is_empty() {
            let others = self.look_up(&keys.gather(&rows))?;
            rows.iter().zip(others).for_each(|(&row, node)| found[row as usize] = node);
        }
        Ok(found)
    }

    fn look_up(&self, keys: &Column) -> Result<Vec<Option<NodeId>>> {
        let found = self.base.lookup(self.label, self.key, keys)?;
        Ok(found.unwrap_or_else(|| vec![None; keys.len()]))
    }

    /// The table, made now if with these keys it has come to pay.
    fn table(&self, keys: u64) -> Result<Option<&KeyTable>> {
        let asked = self.asked.fetch_add(keys, Ordering::Relaxed) + keys;
        if self.table.get().is_none() && asked >= self.count() / READ_PER_LOOKUP {
            let making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            if self.table.get().is_none() {
                let made = self.make()?;
                let _ = self.table.set(made);
            }
            drop(making);
        }
        Ok(self.table.get().and_then(Option::as_ref))
    }

    fn make(&self) -> Result<Option<KeyTable>> {
        let mut table = KeyTable::new(self.bytes_max);
        let view = Snapshot::new(self.base.clone());
        let scan = NodeScan { labels: vec![self.label], ..NodeScan::default() };
        let (mut cursor, mut batch) = (view.scan(&scan)?, NodeBatch::default());
        while cursor.next(&mut batch)? {
            self.context.interrupt.check()?;
            let columns = view.node_properties(&batch.nodes, &[self.key])?;
            let [keys] = columns.as_slice() else { return Ok(None) };
            table.prepare(&self.context, keys)?;
            if table.is_on_disk() {
                return Ok(None);
            }
            for (row, node) in batch.nodes.iter().enumerate().filter(|&(row, _)| !keys.is_null(row)) {
                table.insert(keys, row, node.0 as u32);
            }
        }
        Ok(Some(table))
    }
}
