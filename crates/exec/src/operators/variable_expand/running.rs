//! A value that runs along each path, by which paths are given up while they grow: `allReduce` over their edges.
//!
//! The filter above asks the same of whole paths. So it is enough to drop what is surely false; where the value cannot be
//! worked out, no path is dropped, and the filter fails where it must.

use std::sync::Arc;

use cypher::plan::{Expression, ExpressionKind};
use model::{Column, ColumnData, EdgeValue, Result, Value};

use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::lowering::Lowering;
use crate::lowering::liveness::{Slots, add_expression};
use crate::rows::gather_columns;
use crate::runtime::Runtime;

/// See the module.
pub(super) struct Running {
    /// Over rows of the input.
    initial: CompiledExpression,
    /// Over some columns of the row, the value so far and the edge.
    body: CompiledExpression,
    predicate: CompiledExpression,
    columns: Vec<usize>,
}

/// Paths that an edge was added to: their values, and the places of those that go on.
pub(super) struct Grown {
    pub(super) values: Arc<Column>,
    pub(super) going: Vec<u32>,
}

impl Running {
    /// Compiles what a plan says, over rows of that layout.
    pub(super) fn compile(lowering: &mut Lowering, running: &Expression, layout: &Layout) -> Result<Option<Running>> {
        let ExpressionKind::Reduce { accumulator, initial, slot, body, predicate: Some(predicate), .. } = &running.kind
        else {
            return Ok(None);
        };
        let mut read = Slots::new();
        add_expression(body, &mut read);
        add_expression(predicate, &mut read);
        let (mut own, mut columns) = (Layout::default(), Vec::new());
        for (column, &held) in layout.slots().iter().enumerate() {
            if read.contains(&held) {
                columns.push(column);
                own.push(held);
            }
        }
        own.push(*accumulator);
        own.push(*slot);
        let initial = lowering.compile(initial, layout)?;
        let (body, predicate) = (lowering.compile(body, &own)?, lowering.compile(predicate, &own)?);
        Ok(Some(Running { initial, body, predicate, columns }))
    }

    /// The value of each row before the first edge; `None` if it cannot be worked out.
    pub(super) fn start(&self, runtime: &Runtime<'_>, chunk: &Chunk, rows: &[u32]) -> Option<Vec<Value>> {
        let view = runtime.view();
        let values = self.initial.evaluate(chunk, &runtime.evaluation(&view)).ok()?;
        Some(rows.iter().map(|&row| values.value(row as usize)).collect())
    }

    /// Adds an edge to each of some paths of these rows, with these values; `None` if that cannot be worked out.
    pub(super) fn grow(
        &self,
        runtime: &Runtime<'_>,
        chunk: &Chunk,
        rows: &[u32],
        values: &[Value],
        edges: Vec<EdgeValue>,
    ) -> Option<Grown> {
        let mut columns = gather_columns(chunk, &self.columns, rows);
        columns.push(Arc::new(Column::from_values(values)));
        columns.push(Arc::new(Column::new(ColumnData::Edge(edges))));
        let mut paths = Chunk { rows: rows.len(), columns };
        let view = runtime.view();
        let context = runtime.evaluation(&view);
        let values = self.body.evaluate(&paths, &context).ok()?;
        paths.columns[self.columns.len()] = values.clone();
        let holds = self.predicate.evaluate(&paths, &context).ok()?;
        let goes_on = |&path: &u32| match &holds.data {
            ColumnData::Bool(truths) => truths[path as usize] || holds.is_null(path as usize),
            _ => holds.value(path as usize) != Value::Bool(false),
        };
        Some(Grown { values, going: (0..rows.len() as u32).filter(goes_on).collect() })
    }
}
