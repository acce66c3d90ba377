//! `HashJoin`: rows of left and right whose keys are equal; null equals nothing.
//!
//! The right side is kept in memory. If it does not fit, both sides are put away, parted by the hash of their keys, and
//! joined part by part ([`partitioned`]). A join of the rows around a subplan with something that does not depend on them
//! is run again and again, and keeps what is smaller ([`repeated`]).

mod partitioned;
mod repeated;

use std::sync::Arc;

use cypher::plan::{Operator, OperatorKind};
use model::{Column, ColumnData, Result};

use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::group_table::GroupTable;
use crate::lowering::{Demand, Lowered, Lowering, keep, misplaced, starts_from_argument};
use crate::memory::Charge;
use crate::operators::gather;
use crate::rows::{NO_ROW, RowBuffer, gather_columns};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::size::chunk_bytes;
use crate::spill::Partitions;

struct HashJoin {
    left: Step,
    right: Step,
    left_keys: Vec<CompiledExpression>,
    right_keys: Vec<CompiledExpression>,
    left_keep: Vec<usize>,
    right_keep: Vec<usize>,
    left_width: usize,
    right_width: usize,
}

/// The two sides of a product, lowered.
pub(crate) struct Sides {
    pub(crate) left: Step,
    pub(crate) left_layout: Layout,
    pub(crate) left_keep: Vec<usize>,
    pub(crate) right: Step,
    pub(crate) right_layout: Layout,
    pub(crate) right_keep: Vec<usize>,
    /// Left columns kept, then right ones.
    pub(crate) layout: Layout,
}

/// Lowers two sides, each with what is demanded of it besides the output. Slots of both come from the left.
pub(crate) fn lower_sides(
    lowering: &mut Lowering,
    (left, left_demand): (&Operator, &Demand),
    (right, right_demand): (&Operator, &Demand),
    demand: &Demand,
) -> Result<Sides> {
    let (left, left_layout) = gather::lower(lowering, left, left_demand)?;
    let hidden = lowering.hidden_in(right_demand);
    // The right side is read whole before the first row of both.
    let right_demand = Demand { few: false, ..right_demand.clone().without(&hidden) };
    let (right, right_layout) = gather::lower(lowering, right, &right_demand)?;
    let (left_keep, mut layout) = keep(&left_layout, demand);
    let mut right_keep = Vec::new();
    for (column, &slot) in right_layout.slots().iter().enumerate() {
        if demand.slots.contains(&slot) && layout.column(slot).is_none() {
            right_keep.push(column);
            layout.push(slot);
        }
    }
    Ok(Sides { left, left_layout, left_keep, right, right_layout, right_keep, layout })
}

/// Lowers `HashJoin`.
pub(crate) fn lower(lowering: &mut Lowering, plan: &Operator, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::HashJoin { left, right, on } = &plan.kind else { return Err(misplaced(&plan.kind)) };
    let is_repeated = starts_from_argument(left) && !starts_from_argument(right);
    let left_demand = on.iter().fold(demand.clone(), |demand, (key, _)| demand.and_expression(key));
    let right_demand = on.iter().fold(demand.clone(), |demand, (_, key)| demand.and_expression(key));
    let sides = lower_sides(lowering, (left, &left_demand), (right, &right_demand), demand)?;
    let left_keys = on.iter().map(|(key, _)| lowering.compile(key, &sides.left_layout)).collect::<Result<_>>()?;
    let right_keys = on.iter().map(|(_, key)| lowering.compile(key, &sides.right_layout)).collect::<Result<_>>()?;
    let Sides { left, left_layout, left_keep, right, right_layout, right_keep, layout } = sides;
    let (left_width, right_width) = (left_layout.len(), right_layout.len());
    let join = HashJoin { left, right, left_keys, right_keys, left_keep, right_keep, left_width, right_width };
    Ok((if is_repeated { Box::new(repeated::Repeated { id: plan.id, join }) } else { Box::new(join) }, layout))
}

/// One side: its rows, and a chain of rows for each key.
struct Table {
    rows: Chunk,
    groups: GroupTable,
    first: Vec<u32>,
    next: Vec<u32>,
}

/// The right side, read.
enum Right<'m> {
    InMemory(Table, Charge<'m>),
    Parted(Partitions<'m>),
}

/// Bytes that the table needs for each row besides the row.
const ROW_BYTES: usize = 40;

/// Matches found and not passed on yet: rows of the side that streams by, and of the one in the table.
#[derive(Default)]
struct Matches {
    streamed: Vec<u32>,
    kept: Vec<u32>,
    /// The left side is the one in the table.
    keeps_left: bool,
    /// A column of the left side that is passed on behind all others.
    numbers: Option<usize>,
}

/// True if a key equals nothing, not even itself: it is null, holds a null, or is NaN.
fn equals_nothing(column: &Column, row: usize) -> bool {
    match &column.data {
        ColumnData::Value(_) | ColumnData::Float(_) => {
            let value = column.value(row);
            !matches!(value.equals(&value), Some(true))
        }
        _ => column.is_null(row),
    }
}

impl Table {
    fn new(rows: Chunk, keys: &[Arc<Column>]) -> Table {
        let mut table = Table { groups: GroupTable::default(), first: Vec::new(), next: vec![NO_ROW; rows.rows], rows };
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        table.groups.insert(keys, table.rows.rows, &mut groups, &mut new);
        table.first = vec![NO_ROW; table.groups.len()];
        for row in (0..table.rows.rows).rev() {
            if !keys.iter().any(|key| equals_nothing(key, row)) {
                let first = &mut table.first[groups[row] as usize];
                table.next[row] = std::mem::replace(first, row as u32);
            }
        }
        table
    }
}

impl HashJoin {
    fn keys(&self, scope: Scope<'_, '_>, keys: &[CompiledExpression], chunk: &Chunk) -> Result<Vec<Arc<Column>>> {
        let view = scope.runtime.view();
        let context = scope.runtime.evaluation(&view);
        keys.iter().map(|key| key.evaluate(chunk, &context)).collect()
    }

    fn build<'r>(&self, scope: Scope<'_, 'r>) -> Result<Right<'r>> {
        let mut charge = scope.runtime.charge("HashJoin");
        let mut buffer = RowBuffer::default();
        let mut parted = None;
        self.right.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            if parted.is_none() && charge.try_grow(chunk_bytes(&chunk) + chunk.rows * ROW_BYTES).is_ok() {
                buffer.push(chunk);
                return Ok(Flow::Continue);
            }
            let parts = match &mut parted {
                Some(parts) => parts,
                None => {
                    let mut parts = Partitions::new(charge.another(), 0)?;
                    let kept = std::mem::take(&mut buffer).finish(self.right_width);
                    self.put_away(scope, &kept, &self.right_keys, &mut parts)?;
                    charge.count(0);
                    parted.insert(parts)
                }
            };
            self.put_away(scope, &chunk, &self.right_keys, parts)?;
            Ok(Flow::Continue)
        })?;
        if let Some(mut parts) = parted {
            parts.flush(0)?;
            return Ok(Right::Parted(parts));
        }
        let rows = buffer.finish(self.right_width);
        let keys = self.keys(scope, &self.right_keys, &rows)?;
        Ok(Right::InMemory(Table::new(rows, &keys), charge))
    }

    /// Finds the matches of the rows of a chunk.
    fn probe(
        &self,
        scope: Scope<'_, '_>,
        table: &Table,
        (chunk, keys): (&Chunk, &[Arc<Column>]),
        matches: &mut Matches,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let environment = &scope.runtime.environment;
        let groups = table.groups.find(keys, chunk.rows);
        for (row, &group) in groups.iter().enumerate() {
            let mut kept = if group == NO_ROW { NO_ROW } else { table.first[group as usize] };
            while kept != NO_ROW {
                matches.streamed.push(row as u32);
                matches.kept.push(kept);
                kept = table.next[kept as usize];
                if matches.kept.len() >= environment.settings.batch_rows {
                    environment.interrupt.check()?;
                    if self.push(chunk, table, matches, sink)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
            }
        }
        self.push(chunk, table, matches, sink)
    }

    fn push(&self, chunk: &Chunk, table: &Table, matches: &mut Matches, sink: &mut Sink<'_>) -> Result<Flow> {
        let rows = matches.kept.len();
        if rows == 0 {
            return Ok(Flow::Continue);
        }
        let (streamed, kept) = ((chunk, &matches.streamed), (&table.rows, &matches.kept));
        let (left, right) = if matches.keeps_left { (kept, streamed) } else { (streamed, kept) };
        let mut columns = gather_columns(left.0, &self.left_keep, left.1);
        columns.extend(gather_columns(right.0, &self.right_keep, right.1));
        columns.extend(matches.numbers.map(|numbers| Arc::new(chunk.columns[numbers].gather(&matches.streamed))));
        matches.streamed.clear();
        matches.kept.clear();
        sink(Chunk { rows, columns })
    }

    /// Joins the rows of the left side with the right side in a table.
    fn probe_left(&self, scope: Scope<'_, '_>, table: &Table, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut matches = Matches::default();
        self.left.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            let keys = self.keys(scope, &self.left_keys, &chunk)?;
            self.probe(scope, table, (&chunk, &keys), &mut matches, sink)
        })
    }
}

impl Physical for HashJoin {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        match self.build(scope)? {
            Right::InMemory(table, _charge) => self.probe_left(scope, &table, sink),
            Right::Parted(right) => self.join_partitioned(scope, right, sink),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Column, equals_nothing};
    use model::Value;

    #[test]
    fn nulls_and_what_holds_them_equal_nothing() {
        let values = [Value::Null, Value::list(vec![Value::Null]), Value::Float(f64::NAN), Value::Int(1)];
        let column = Column::from_values(&values);
        let found: Vec<bool> = (0..4).map(|row| equals_nothing(&column, row)).collect();
        assert_eq!(found, [true, true, true, false]);
    }
}
