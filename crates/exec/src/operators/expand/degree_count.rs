//! `Expand` counted: one row for each row of the input, with the number of edges it would have been expanded to.
//!
//! Edges that must differ from others are counted too: of the edges bound in a row, those that the expansion would
//! meet again are taken off the degree.

use std::sync::Arc;

use cypher::plan::{Operator, OperatorKind, SlotId};
use model::store::EdgeIds;
use model::{Column, ColumnData, Direction, Result};

use crate::adjacency::{expansion, taken_count};
use crate::chunk::{Chunk, Layout};
use crate::lowering::{Demand, Lowering, column_of, columns_of, keep};
use crate::rows::{nodes_in, pick_columns};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct CountedExpand {
    input: Step,
    from: usize,
    direction: Direction,
    types: Vec<Arc<str>>,
    distinct_from: Vec<usize>,
    keep: Vec<usize>,
}

/// Lowers a plan counted, if it is an `Expand` whose edge and far node nobody reads: its rows, and the slot that says
/// for how many rows each stands.
pub(crate) fn lower(
    lowering: &mut Lowering,
    plan: &Operator,
    demand: &Demand,
) -> Result<Option<(Step, Layout, SlotId)>> {
    let OperatorKind::Expand { input, from, direction, types, edge, to, into: false, distinct_from, choice: None } =
        &plan.kind
    else {
        return Ok(None);
    };
    if demand.slots.contains(to) || edge.is_some_and(|edge| demand.slots.contains(&edge)) {
        return Ok(None);
    }
    let below = demand.clone().and_slots([from]).and_slots(distinct_from);
    let (input, layout) = lowering.lower(input, &below)?;
    let from = column_of(&layout, *from)?;
    let distinct_from = columns_of(&layout, distinct_from)?;
    let (keep, mut layout) = keep(&layout, demand);
    let count = lowering.hidden_slot();
    layout.push(count);
    let expand = CountedExpand { input, from, direction: *direction, types: types.clone(), distinct_from, keep };
    Ok(Some((Step { id: plan.id, operator: Box::new(expand), in_parts: false }, layout, count)))
}

impl Physical for CountedExpand {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.input.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let (from, rows) = nodes_in(&chunk.columns[self.from], "the start of a pattern")?;
            let mut counts: Vec<i64> = {
                let view = runtime.view();
                let Some(expand) = expansion(view.view(), self.direction, &self.types, EdgeIds::Omit) else {
                    return Ok(Flow::Continue);
                };
                let degrees = view.view().degrees(&from, self.direction, expand.types.as_deref())?;
                let count = |(index, degree): (usize, u64)| {
                    if self.distinct_from.is_empty() {
                        return degree as i64;
                    }
                    let row = rows.as_ref().map_or(index, |rows| rows[index] as usize);
                    degree as i64 - taken_count(&chunk, &self.distinct_from, row, from[index], &expand) as i64
                };
                degrees.into_iter().enumerate().map(count).collect()
            };
            let mut rows = rows;
            if counts.contains(&0) {
                let some: Vec<u32> = (0..counts.len() as u32).filter(|&index| counts[index as usize] != 0).collect();
                counts = some.iter().map(|&index| counts[index as usize]).collect();
                let kept = some.into_iter().map(|index| rows.as_ref().map_or(index, |rows| rows[index as usize]));
                rows = Some(kept.collect());
            }
            if counts.is_empty() {
                return Ok(Flow::Continue);
            }
            let mut columns = pick_columns(&chunk, &self.keep, rows.as_deref());
            let rows = counts.len();
            columns.push(Arc::new(Column::new(ColumnData::Int(counts))));
            sink(Chunk { rows, columns })
        })
    }
}
