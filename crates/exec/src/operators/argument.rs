//! `Argument`: the rows around a subplan, the start of a subplan.

use std::sync::Arc;

use cypher::plan::SlotId;
use model::{Column, ColumnData, Result};

use crate::chunk::{Chunk, Layout};
use crate::lowering::{Demand, Lowered, Lowering};
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct Argument {
    columns: Vec<usize>,
    /// True if a column with the number of each row is added.
    numbers_rows: bool,
}

/// Lowers `Argument`.
pub(crate) fn lower(lowering: &Lowering, slots: &[SlotId], demand: &Demand) -> Result<Lowered> {
    let (outer, row) = lowering.outer()?;
    let mut columns = Vec::new();
    let mut layout = Layout::default();
    for &slot in slots.iter().filter(|slot| demand.slots.contains(slot)) {
        columns.push(crate::lowering::column_of(outer, slot)?);
        layout.push(slot);
    }
    let row = row.filter(|row| demand.slots.contains(row));
    row.iter().for_each(|&slot| {
        layout.push(slot);
    });
    Ok((Box::new(Argument { columns, numbers_rows: row.is_some() }), layout))
}

impl Physical for Argument {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let outer = scope.argument;
        let mut columns = share_columns(outer, &self.columns);
        if self.numbers_rows {
            columns.push(Arc::new(Column::new(ColumnData::Int((0..outer.rows as i64).collect()))));
        }
        sink(Chunk { rows: outer.rows, columns })
    }
}
