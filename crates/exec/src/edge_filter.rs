//! The condition on each edge of a path: evaluated for a batch of edges, each with the row it belongs to.

use std::sync::Arc;

use cypher::plan::EdgeFilter as PlanFilter;
use model::{Column, ColumnData, EdgeValue, Result};

use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::lowering::liveness::{Slots, add_expression};
use crate::lowering::{Demand, Lowering};
use crate::rows::gather_columns;
use crate::runtime::Runtime;

/// See the module.
pub(crate) struct EdgeFilter {
    predicate: CompiledExpression,
    /// The columns of the row that the predicate reads.
    columns: Vec<usize>,
}

impl EdgeFilter {
    /// What the filter reads of the rows.
    pub(crate) fn demand(filter: Option<&PlanFilter>, demand: Demand) -> Demand {
        match filter {
            Some(filter) => {
                let mut slots = Slots::new();
                add_expression(&filter.predicate, &mut slots);
                slots.remove(&filter.slot);
                demand.and_slots(&slots)
            }
            None => demand,
        }
    }

    /// Compiles the filter over rows of that layout.
    pub(crate) fn compile(lowering: &mut Lowering, filter: &PlanFilter, layout: &Layout) -> Result<EdgeFilter> {
        let mut slots = Slots::new();
        add_expression(&filter.predicate, &mut slots);
        let mut own = Layout::default();
        let mut columns = Vec::new();
        for (column, &slot) in layout.slots().iter().enumerate() {
            if slots.contains(&slot) {
                columns.push(column);
                own.push(slot);
            }
        }
        own.push(filter.slot);
        Ok(EdgeFilter { predicate: lowering.compile(&filter.predicate, &own)?, columns })
    }

    /// Which of the edges pass, each of them belonging to a row of the chunk.
    pub(crate) fn passing(
        &self,
        runtime: &Runtime<'_>,
        chunk: &Chunk,
        rows: &[u32],
        edges: Vec<EdgeValue>,
    ) -> Result<Vec<u32>> {
        let mut columns = gather_columns(chunk, &self.columns, rows);
        columns.push(Arc::new(Column::new(ColumnData::Edge(edges))));
        let view = runtime.view();
        self.predicate.evaluate_predicate(&Chunk { rows: rows.len(), columns }, &runtime.evaluation(&view))
    }
}
