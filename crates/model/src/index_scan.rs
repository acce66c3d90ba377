//! Requests of ordered indexes: equal values of their first keys, a range of the next, in order.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use crate::column::Column;
use crate::error::Result;
use crate::id::NodeId;
use crate::schema::Index;
use crate::value::{EdgeValue, Value};

/// Request for entries of an ordered index.
#[derive(Clone, Debug)]
pub struct IndexScan {
    /// The index: its contents, and the properties that it is ordered by.
    pub index: Index,
    /// Values that the first keys must equal, as `=` says: a column for each of them. Null and NaN equal nothing.
    pub equal: Vec<Column>,
    /// The rows of `equal`, each a question of its own; 1 if `equal` has no columns.
    pub rows: usize,
    /// Range in which the key after those must be.
    pub range: KeyRange,
    /// Direction in which the entries of each row are read.
    pub order: KeyOrder,
}

/// Values of one key to find.
#[derive(Clone, Debug)]
pub enum KeyRange {
    /// Any value that is there.
    All,
    /// Values that compare with the bounds as `>`, `>=`, `<`, `<=` say: of the same kind only, and never NaN.
    Between(Bound<Value>, Bound<Value>),
    /// Strings with that prefix.
    StartsWith(Arc<str>),
}

/// Ways through an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum KeyOrder {
    /// Smallest values first.
    #[default]
    Ascending,
    /// Largest values first.
    Descending,
}

impl KeyOrder {
    /// The order of two values that compare so.
    #[must_use]
    pub fn of(self, ascending: Ordering) -> Ordering {
        match self {
            KeyOrder::Ascending => ascending,
            KeyOrder::Descending => ascending.reverse(),
        }
    }
}

/// Rows that an index found: nodes or edges, as its subject is.
#[derive(Clone, Debug, Default)]
pub struct IndexBatch {
    /// For each, the row of [`IndexScan::equal`] that it answers.
    pub inputs: Vec<u32>,
    /// Nodes, if the index has nodes.
    pub nodes: Vec<NodeId>,
    /// Edges, if the index has edges.
    pub edges: Vec<EdgeValue>,
}

impl IndexBatch {
    /// Takes everything out.
    pub fn clear(&mut self) {
        self.inputs.clear();
        self.nodes.clear();
        self.edges.clear();
    }
}

/// A cursor over what an index found.
pub trait IndexCursor {
    /// Clears `out` and fills it with up to about `BATCH_ROWS` further rows; false, with `out` empty, at the end.
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool>;
}

impl KeyRange {
    /// True if a value that is not null is in the range.
    pub fn holds(&self, value: &Value) -> bool {
        match self {
            KeyRange::All => true,
            KeyRange::StartsWith(prefix) => matches!(value, Value::String(text) if text.starts_with(&**prefix)),
            KeyRange::Between(lower, upper) => value.is_between(lower, upper),
        }
    }
}
