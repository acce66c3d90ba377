//! Entries of an ordered index written since the files were: which came, and which went.

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;
use model::KeyOrder;

use crate::ordered_index::OrderedRun;

/// Entries written of one ordered index.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderedEntries {
    /// Entries; true for those that went.
    entries: OrdMap<Arc<[u8]>, bool>,
    /// The run that was written when the index was made: it takes the place of whatever runs the files have.
    built: Option<Arc<OrderedRun>>,
    /// The index was made since the files were written: runs that they have of one like it do not count.
    is_new: bool,
}

/// Entries in order, and whether each went.
pub(crate) type OrderedRange<'a> = Box<dyn Iterator<Item = (&'a [u8], bool)> + 'a>;

/// Approximate bytes of an entry.
pub(crate) fn ordered_entry_bytes(entry: &[u8]) -> usize {
    56 + entry.len()
}

impl OrderedEntries {
    /// An index that was just made of these entries.
    pub(crate) fn made(entries: Vec<Vec<u8>>) -> OrderedEntries {
        let entries = entries.into_iter().map(|entry| (Arc::<[u8]>::from(entry), false)).collect();
        OrderedEntries { entries, built: None, is_new: true }
    }

    /// True if the index was just made and written to a run.
    pub(crate) fn is_built(&self) -> bool {
        self.built.is_some()
    }

    /// An index that was just made and written to a run.
    pub(crate) fn written(run: Option<Arc<OrderedRun>>) -> OrderedEntries {
        OrderedEntries { entries: OrdMap::new(), built: run, is_new: true }
    }

    /// Approximate bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.keys().map(|entry| ordered_entry_bytes(entry)).sum()
    }

    /// True if runs of the files do not count.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// The run that was written when the index was made.
    pub(crate) fn built(&self) -> Option<&Arc<OrderedRun>> {
        self.built.as_ref()
    }

    /// Notes that an entry came or went.
    pub(crate) fn set(&mut self, entry: Vec<u8>, is_removed: bool) {
        self.entries.insert(Arc::from(entry), is_removed);
    }

    /// All that was noted, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<[u8]>, bool)> {
        self.entries.iter().map(|(entry, &is_removed)| (entry, is_removed))
    }

    /// Entries noted in a range of keys.
    pub(crate) fn range<'a>(&'a self, start: &[u8], end: &[u8], order: KeyOrder) -> OrderedRange<'a> {
        if start >= end {
            return Box::new(std::iter::empty());
        }
        let bounds = (Bound::Included(start), Bound::Excluded(end));
        let found = self.entries.range::<_, [u8]>(bounds).map(|(entry, &is_removed)| (&**entry, is_removed));
        match order {
            KeyOrder::Ascending => Box::new(found),
            KeyOrder::Descending => Box::new(found.rev()),
        }
    }
}
