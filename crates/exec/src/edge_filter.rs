//! The condition on each edge of a path, and on the nodes at its ends: evaluated for a batch of edges, each with the row
//! it belongs to and the node it is walked from.

use std::sync::Arc;

use cypher::plan::{EdgeFilter as PlanFilter, SlotId};
use model::{Column, ColumnData, EdgeValue, NodeId, Result};

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
    /// True if it reads the node that the edge is walked from.
    reads_from: bool,
    /// True if it reads the node that the edge leads to.
    reads_to: bool,
    /// True if it may differ each time that it is asked.
    is_random: bool,
}

impl EdgeFilter {
    /// Adds to a demand the columns of the rows that the filter reads.
    pub(crate) fn demand(filter: Option<&PlanFilter>, demand: Demand) -> Demand {
        match filter {
            Some(filter) => {
                let mut slots = Slots::new();
                add_expression(&filter.predicate, &mut slots);
                for own in filter.own_slots() {
                    slots.remove(&own);
                }
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
        let is_read = |slot: &SlotId| slots.contains(slot);
        let (from, to) = (filter.from.filter(is_read), filter.to.filter(is_read));
        for slot in from.into_iter().chain(to) {
            own.push(slot);
        }
        let predicate = lowering.compile(&filter.predicate, &own)?;
        let (reads_from, reads_to, is_random) = (from.is_some(), to.is_some(), filter.predicate.is_random());
        Ok(EdgeFilter { predicate, columns, reads_from, reads_to, is_random })
    }

    /// True if the same edges pass for all rows.
    pub(crate) fn is_same_for_all_rows(&self) -> bool {
        self.columns.is_empty() && !self.is_random
    }

    /// The edges that pass. Each belongs to a row of the chunk and is walked from a node.
    pub(crate) fn passing(
        &self,
        runtime: &Runtime<'_>,
        chunk: &Chunk,
        rows: &[u32],
        from: impl Fn(usize) -> NodeId,
        edges: Vec<EdgeValue>,
    ) -> Result<Vec<u32>> {
        let mut columns = gather_columns(chunk, &self.columns, rows);
        let nodes = |wanted: bool, node: &dyn Fn(usize, &EdgeValue) -> NodeId| {
            let nodes = || edges.iter().enumerate().map(|(index, edge)| node(index, edge)).collect();
            wanted.then(|| Arc::new(Column::new(ColumnData::Node(nodes()))))
        };
        let starts = nodes(self.reads_from, &|index, _| from(index));
        let ends =
            nodes(self.reads_to, &|index, edge| if edge.source == from(index) { edge.target } else { edge.source });
        columns.push(Arc::new(Column::new(ColumnData::Edge(edges))));
        columns.extend(starts.into_iter().chain(ends));
        let view = runtime.view();
        self.predicate.evaluate_predicate(&Chunk { rows: rows.len(), columns }, &runtime.evaluation(&view))
    }
}
