//! Rows kept in memory, and columns put together from others.

use std::borrow::Cow;
use std::sync::Arc;

use model::{Bitmap, Column, ColumnData, EdgeValue, NodeId, Result, Value};

use crate::chunk::Chunk;

/// Stands for "no row" among row numbers.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// Chunks put end to end.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    rows: usize,
    columns: Vec<Column>,
    is_started: bool,
}

impl RowBuffer {
    /// Adds the rows of a chunk.
    pub(crate) fn push(&mut self, chunk: Chunk) {
        if chunk.rows == 0 {
            return;
        }
        self.rows += chunk.rows;
        if self.is_started {
            self.columns.iter_mut().zip(&chunk.columns).for_each(|(column, more)| column.append(more));
        } else {
            self.is_started = true;
            self.columns = chunk.columns.into_iter().map(Arc::unwrap_or_clone).collect();
        }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// All rows as one chunk; `width` columns even without rows.
    pub(crate) fn finish(self, width: usize) -> Chunk {
        if !self.is_started {
            return Chunk { rows: 0, columns: (0..width).map(|_| Arc::new(Column::nulls(0))).collect() };
        }
        Chunk { rows: self.rows, columns: self.columns.into_iter().map(Arc::new).collect() }
    }
}

/// These columns of a chunk, at these rows.
pub(crate) fn gather_columns(chunk: &Chunk, columns: &[usize], rows: &[u32]) -> Vec<Arc<Column>> {
    columns.iter().map(|&column| Arc::new(chunk.columns[column].gather(rows))).collect()
}

/// These columns of a chunk, shared.
pub(crate) fn share_columns(chunk: &Chunk, columns: &[usize]) -> Vec<Arc<Column>> {
    columns.iter().map(|&column| chunk.columns[column].clone()).collect()
}

/// These columns of a chunk at these rows; shared if the rows are all rows in order, none given.
pub(crate) fn pick_columns(chunk: &Chunk, columns: &[usize], rows: Option<&[u32]>) -> Vec<Arc<Column>> {
    match rows {
        Some(rows) => gather_columns(chunk, columns, rows),
        None => share_columns(chunk, columns),
    }
}

/// Like `Column::gather`, with null for [`NO_ROW`].
pub(crate) fn gather_or_null(column: &Column, rows: &[u32]) -> Column {
    if column.is_empty() || rows.iter().all(|&row| row == NO_ROW) {
        return Column::nulls(rows.len());
    }
    let validity: Bitmap = rows.iter().map(|&row| row != NO_ROW && !column.is_null(row as usize)).collect();
    let present: Vec<u32> = rows.iter().map(|&row| if row == NO_ROW { 0 } else { row }).collect();
    let gathered = column.gather(&present);
    Column::with_validity(gathered.data, validity)
}

/// The nodes of a column, and the rows they stand in if those are not all rows.
pub(crate) type NodesIn<'c> = (Cow<'c, [NodeId]>, Option<Vec<u32>>);

/// The nodes of a column without its null rows, and which rows they stand in; `None` if they are all rows.
pub(crate) fn nodes_in<'c>(column: &'c Column, what: &str) -> Result<NodesIn<'c>> {
    match (&column.data, &column.validity) {
        (ColumnData::Node(nodes), None) => Ok((Cow::Borrowed(nodes), None)),
        (ColumnData::Node(nodes), Some(validity)) => {
            let rows: Vec<u32> = (0..nodes.len() as u32).filter(|&row| validity.get(row as usize)).collect();
            Ok((Cow::Owned(rows.iter().map(|&row| nodes[row as usize]).collect()), Some(rows)))
        }
        (ColumnData::Null(_), _) => Ok((Cow::Owned(Vec::new()), Some(Vec::new()))),
        _ => {
            let mut nodes = Vec::new();
            let mut rows = Vec::new();
            for (row, value) in column.values().enumerate() {
                match value {
                    Value::Node(node) => {
                        nodes.push(node);
                        rows.push(row as u32);
                    }
                    Value::Null => {}
                    other => {
                        return Err(model::error!(Type, "{what} needs a node, found {}", other.type_name()));
                    }
                }
            }
            Ok((Cow::Owned(nodes), Some(rows)))
        }
    }
}

/// The edges of a column; `None` in null rows and in those that hold no edge.
pub(crate) fn edge_at(column: &Column, row: usize) -> Option<EdgeValue> {
    if column.is_null(row) {
        return None;
    }
    match &column.data {
        ColumnData::Edge(edges) => Some(edges[row]),
        ColumnData::Value(values) => match &values[row] {
            Value::Edge(edge) => Some(*edge),
            _ => None,
        },
        _ => None,
    }
}

/// True if the row holds that edge, or a list with that edge in it.
pub(crate) fn holds_edge(column: &Column, row: usize, edge: model::EdgeId) -> bool {
    if let Some(held) = edge_at(column, row) {
        return held.id == edge;
    }
    match &column.data {
        ColumnData::Value(values) => match &values[row] {
            Value::List(items) => items.iter().any(|item| matches!(item, Value::Edge(held) if held.id == edge)),
            _ => false,
        },
        _ => false,
    }
}

/// The node in a row, if there is one.
pub(crate) fn node_at(column: &Column, row: usize) -> Option<NodeId> {
    if column.is_null(row) {
        return None;
    }
    match &column.data {
        ColumnData::Node(nodes) => Some(nodes[row]),
        ColumnData::Value(values) => match &values[row] {
            Value::Node(node) => Some(*node),
            _ => None,
        },
        _ => None,
    }
}

/// The integer in a row, of a column that is known to hold integers.
pub(crate) fn int_at(column: &Column, row: usize) -> i64 {
    match &column.data {
        ColumnData::Int(values) => values[row],
        _ => match column.value(row) {
            Value::Int(value) => value,
            other => unreachable!("a column of row numbers or counts holds {}", other.type_name()),
        },
    }
}
