//! Runs of rows that have the same key, as an expansion gives them: their keys are computed once for each run.

use std::sync::Arc;

use cypher::plan::{Expression, ExpressionKind, SlotId};
use model::{Column, ColumnData};

use crate::chunk::{Chunk, Layout};

/// Average rows of a run from which runs are used.
const RUN_ROWS_MIN: usize = 4;

/// The runs of a chunk.
pub(super) struct Runs {
    /// The first row of each run; columns that no key reads are empty of meaning.
    pub(super) chunk: Chunk,
    /// The end of each run.
    pub(super) ends: Vec<u32>,
    /// Rows in all.
    pub(super) rows: usize,
}

/// The columns that keys read, if they are slots and properties of slots: what gives the same for the same nodes.
pub(super) fn columns(keys: &[(SlotId, Expression)], layout: &Layout) -> Option<Vec<usize>> {
    let column = |(_, key): &(SlotId, Expression)| {
        let slot = match &key.kind {
            ExpressionKind::Slot(slot) => *slot,
            ExpressionKind::Property { object, .. } => match object.kind {
                ExpressionKind::Slot(slot) => slot,
                _ => return None,
            },
            _ => return None,
        };
        layout.column(slot)
    };
    let mut columns: Vec<usize> = keys.iter().map(column).collect::<Option<_>>()?;
    columns.sort_unstable();
    columns.dedup();
    (!columns.is_empty()).then_some(columns)
}

/// The runs of a chunk in these columns, if they are nodes and the runs are long.
pub(super) fn find(chunk: &Chunk, columns: &[usize]) -> Option<Runs> {
    let limit = chunk.rows / RUN_ROWS_MIN;
    let mut starts: Vec<u32> = Vec::new();
    for &column in columns {
        let column = &chunk.columns[column];
        let (ColumnData::Node(nodes), None) = (&column.data, &column.validity) else { return None };
        for (row, pair) in nodes.windows(2).enumerate() {
            if pair[0] != pair[1] {
                starts.push(row as u32 + 1);
                if starts.len() >= limit {
                    return None;
                }
            }
        }
    }
    if limit == 0 {
        return None;
    }
    if columns.len() > 1 {
        starts.sort_unstable();
        starts.dedup();
    }
    let mut ends = starts.clone();
    ends.push(chunk.rows as u32);
    starts.insert(0, 0);
    let unread = Arc::new(Column::nulls(starts.len()));
    let at_starts = |(index, column): (usize, &Arc<Column>)| match columns.contains(&index) {
        true => Arc::new(column.gather(&starts)),
        false => unread.clone(),
    };
    let first = Chunk { rows: starts.len(), columns: chunk.columns.iter().enumerate().map(at_starts).collect() };
    Some(Runs { chunk: first, ends, rows: chunk.rows })
}
