//! `CrossProduct`: every row of the left with every row of the right, which is run once and kept, in memory if it fits.

use std::sync::Arc;

use cypher::plan::{Operator, PlanMode};
use model::{Column, ColumnData, Result};

use crate::chunk::Chunk;
use crate::lowering::{Demand, Lowered, Lowering};
use crate::operators::hash_join::{Sides, lower_sides};
use crate::rows::{RowBuffer, gather_columns};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::size::chunk_bytes;
use crate::spill::{RowStore, StoredRows, in_order};

struct CrossProduct {
    left: Step,
    right: Step,
    left_keep: Vec<usize>,
    right_keep: Vec<usize>,
    left_width: usize,
    right_width: usize,
}

/// Lowers `CrossProduct`.
pub(crate) fn lower(lowering: &mut Lowering, left: &Operator, right: &Operator, demand: &Demand) -> Result<Lowered> {
    let sides = lower_sides(lowering, (left, demand), (right, demand), demand)?;
    let Sides { left, left_layout, left_keep, right, right_layout, right_keep, layout } = sides;
    let (left_width, right_width) = (left_layout.len(), right_layout.len());
    Ok((Box::new(CrossProduct { left, right, left_keep, right_keep, left_width, right_width }), layout))
}

impl CrossProduct {
    fn cross(
        &self,
        scope: Scope<'_, '_>,
        (chunk, left_keep): (&Chunk, &[usize]),
        right: &Chunk,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let environment = &scope.runtime.environment;
        let batch_rows = environment.settings.batch_rows.max(1);
        if left_keep.is_empty() && self.right_keep.is_empty() {
            return push_count(scope, chunk.rows as u64 * right.rows as u64, sink);
        }
        let (mut left_rows, mut right_rows) = (Vec::new(), Vec::new());
        for left in 0..chunk.rows as u32 {
            let mut start = 0;
            while start < right.rows {
                let end = right.rows.min(start + batch_rows - left_rows.len());
                left_rows.extend(std::iter::repeat_n(left, end - start));
                right_rows.extend(start as u32..end as u32);
                start = end;
                let is_last = left as usize + 1 == chunk.rows && start == right.rows;
                if left_rows.len() == batch_rows || is_last {
                    environment.interrupt.check()?;
                    let mut columns = gather_columns(chunk, left_keep, &left_rows);
                    columns.extend(gather_columns(right, &self.right_keep, &right_rows));
                    if sink(Chunk { rows: left_rows.len(), columns })? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                    left_rows.clear();
                    right_rows.clear();
                }
            }
        }
        Ok(Flow::Continue)
    }

    /// Crosses with a right side that is on disk: it is read once for each of many rows of the left side. Where the order
    /// of rows can be seen in what is written, they are put back into order.
    fn cross_stored(&self, scope: Scope<'_, '_>, right: &StoredRows<'_>, sink: &mut Sink<'_>) -> Result<Flow> {
        if scope.runtime.prepared.mode == PlanMode::Read {
            return self.cross_blocks(scope, (&self.left_keep, right), sink);
        }
        let width = self.left_keep.len() + self.right_keep.len();
        in_order(scope, "CrossProduct", width, sink, &mut |sink| {
            // The number of the left row stands behind its columns, and is brought behind those of the right row.
            let keep: Vec<usize> = self.left_keep.iter().copied().chain([self.left_width]).collect();
            self.cross_blocks(scope, (&keep, right), &mut |mut chunk| {
                let numbers = chunk.columns.remove(self.left_keep.len());
                chunk.columns.push(numbers);
                sink(chunk)
            })
        })
    }

    fn cross_blocks(
        &self,
        scope: Scope<'_, '_>,
        (left_keep, right): (&[usize], &StoredRows<'_>),
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let room = scope.runtime.environment.settings.batch_rows.saturating_mul(LEFT_BATCHES);
        let mut charge = scope.runtime.charge("CrossProduct");
        let mut buffer = RowBuffer::default();
        let mut rows_before = 0;
        let mut pass = |left: Chunk| {
            right.for_each(&mut |right| {
                scope.runtime.environment.interrupt.check()?;
                self.cross(scope, (&left, left_keep), &right, sink)
            })
        };
        let flow = self.left.run(scope, &mut |mut chunk| {
            let numbers = (rows_before..rows_before + chunk.rows as i64).collect();
            rows_before += chunk.rows as i64;
            chunk.columns.push(Arc::new(Column::new(ColumnData::Int(numbers))));
            let fits = charge.try_grow(chunk_bytes(&chunk)).is_ok();
            buffer.push(chunk);
            if fits && buffer.len() < room {
                return Ok(Flow::Continue);
            }
            let left = std::mem::take(&mut buffer).finish(0);
            charge.count(0);
            pass(left)
        })?;
        match buffer.len() {
            0 => Ok(flow),
            _ if flow == Flow::Stop => Ok(flow),
            _ => pass(buffer.finish(0)),
        }
    }
}

/// Batches of the left side that are crossed at a time with a right side on disk.
const LEFT_BATCHES: usize = 16;
/// Most rows of a chunk without columns: expressions over it make columns of as many rows.
const COUNT_ROWS_MAX: u64 = 1 << 16;

/// Pushes `rows` rows without columns.
fn push_count(scope: Scope<'_, '_>, mut rows: u64, sink: &mut Sink<'_>) -> Result<Flow> {
    while rows > 0 {
        scope.runtime.environment.interrupt.check()?;
        let part = rows.min(COUNT_ROWS_MAX);
        rows -= part;
        if sink(Chunk { rows: part as usize, columns: Vec::new() })? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

impl Physical for CrossProduct {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut store = RowStore::new(scope.runtime.charge("CrossProduct"));
        self.right.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            store.push(chunk)?;
            Ok(Flow::Continue)
        })?;
        match store.finish(self.right_width).into_chunk() {
            Ok((right, _charge)) => {
                self.left.run(scope, &mut |chunk| self.cross(scope, (&chunk, &self.left_keep), &right, sink))
            }
            Err(stored) => self.cross_stored(scope, &stored, sink),
        }
    }
}
