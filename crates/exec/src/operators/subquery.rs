//! The subplans of expressions: for each row, whether there are rows, how many, or the list of what they hold.

use std::sync::Arc;

use cypher::plan::{Operator, OperatorKind, SlotId, SubqueryKind};
use model::{Column, ColumnData, Result, Value};

use crate::aggregates::shared_bytes;
use crate::chunk::{Chunk, Layout};
use crate::lowering::{Demand, Lowering, Slots, column_of, is_row_local};
use crate::nested::Nested;
use crate::operators::expand::degree_count;
use crate::rows::int_at;
use crate::runtime::{Flow, RowSubplan, Runtime, Step};

/// A subplan of an expression.
struct Subplan {
    nested: Nested,
    result: SubqueryResult,
}

enum SubqueryResult {
    Exists,
    /// The number of rows; or the sum of a column, if rows stand for several.
    Count(Option<usize>),
    Collect(usize),
}

/// Lowers the subplan of an expression over rows of that layout.
pub(crate) fn lower(
    lowering: &mut Lowering,
    kind: SubqueryKind,
    plan: &Operator,
    layout: &Layout,
) -> Result<Box<dyn RowSubplan>> {
    match kind {
        SubqueryKind::Exists => {
            Ok(Box::new(Subplan { nested: lower_existence(lowering, plan, layout)?, result: SubqueryResult::Exists }))
        }
        SubqueryKind::Count => {
            if let OperatorKind::CountMatches { count, .. } = &plan.kind {
                let (nested, inner) = Nested::lower(lowering, plan, layout, &Demand::all(Slots::from([*count])))?;
                let result = SubqueryResult::Count(Some(column_of(&inner, *count)?));
                return Ok(Box::new(Subplan { nested, result }));
            }
            if let Some((nested, count)) = lower_counted(lowering, plan, layout, true)? {
                return Ok(Box::new(Subplan { nested, result: SubqueryResult::Count(Some(count)) }));
            }
            let (nested, _) = Nested::lower(lowering, plan, layout, &Demand::all(Slots::new()))?;
            Ok(Box::new(Subplan { nested, result: SubqueryResult::Count(None) }))
        }
        SubqueryKind::Collect(slot) => {
            let (nested, inner) = Nested::lower(lowering, plan, layout, &Demand::all(Slots::from([slot])))?;
            Ok(Box::new(Subplan { nested, result: SubqueryResult::Collect(column_of(&inner, slot)?) }))
        }
    }
}

/// Lowers a subplan of which only matters whether it gives rows.
pub(crate) fn lower_existence(lowering: &mut Lowering, plan: &Operator, layout: &Layout) -> Result<Nested> {
    if let Some((nested, _)) = lower_counted(lowering, plan, layout, false)? {
        return Ok(nested);
    }
    let demand = Demand { slots: Slots::new(), multiplicity: false, few: true };
    Ok(Nested::lower(lowering, plan, layout, &demand)?.0)
}

/// Lowers a subplan whose last step can be counted instead of run, with the column of the counts.
fn lower_counted(
    lowering: &mut Lowering,
    plan: &Operator,
    layout: &Layout,
    multiplicity: bool,
) -> Result<Option<(Nested, usize)>> {
    if !is_row_local(plan) {
        return Ok(None);
    }
    let row: SlotId = lowering.hidden_slot();
    let demand = Demand { slots: Slots::from([row]), multiplicity, few: !multiplicity };
    lowering.enter_subplan(layout, Some(row));
    let lowered = degree_count::lower(lowering, plan, &demand);
    lowering.leave_subplan();
    let Some((step, inner, count)): Option<(Step, Layout, SlotId)> = lowered? else { return Ok(None) };
    let count = column_of(&inner, count)?;
    Ok(Some((Nested::of(plan, step, (layout, &inner), Some(row))?, count)))
}

/// Bytes of a list, on average, that are not accounted for: those of other values of a batch are not either.
const LIST_BYTES_FREE: usize = 512;

impl RowSubplan for Subplan {
    fn run(&self, runtime: &Runtime<'_>, chunk: &Chunk) -> Result<Arc<Column>> {
        if self.nested.is_constant && chunk.rows > 1 {
            let first = self.run(runtime, &chunk.slice(0, 1))?;
            return Ok(Arc::new(first.gather(&vec![0; chunk.rows])));
        }
        let data = match self.result {
            SubqueryResult::Exists => ColumnData::Bool(self.nested.exists(runtime, chunk)?),
            SubqueryResult::Count(weight) => ColumnData::Int(self.count(runtime, chunk, weight)?),
            SubqueryResult::Collect(column) => ColumnData::Value(self.collect(runtime, chunk, column)?),
        };
        Ok(Arc::new(Column::new(data)))
    }
}

impl Subplan {
    fn count(&self, runtime: &Runtime<'_>, chunk: &Chunk, weight: Option<usize>) -> Result<Vec<i64>> {
        self.nested.answers(runtime, chunk, &mut |chunk| {
            let mut counts = vec![0_i64; chunk.rows];
            self.nested.run(runtime, chunk, &mut |inner, rows| {
                for (index, &row) in rows.iter().enumerate() {
                    counts[row as usize] += weight.map_or(1, |weight| int_at(&inner.columns[weight], index));
                }
                Ok(Flow::Continue)
            })?;
            Ok(counts)
        })
    }

    fn collect(&self, runtime: &Runtime<'_>, chunk: &Chunk, column: usize) -> Result<Vec<Value>> {
        let mut lists: Vec<Vec<Value>> = vec![Vec::new(); chunk.rows];
        let (mut charge, mut bytes) = (runtime.charge("COLLECT { }"), 0);
        self.nested.run(runtime, chunk, &mut |inner, rows| {
            let values = &inner.columns[column];
            bytes += shared_bytes(values) + values.len() * size_of::<Value>();
            charge.hold(bytes.saturating_sub(chunk.rows * LIST_BYTES_FREE))?;
            rows.iter().enumerate().for_each(|(index, &row)| lists[row as usize].push(values.value(index)));
            Ok(Flow::Continue)
        })?;
        Ok(lists.into_iter().map(Value::list).collect())
    }
}
