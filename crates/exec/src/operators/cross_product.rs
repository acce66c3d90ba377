//! `CrossProduct`: every row of the left with every row of the right, which is run once and kept in memory.

use cypher::plan::Operator;
use model::Result;

use crate::chunk::Chunk;
use crate::lowering::{Demand, Lowered, Lowering};
use crate::operators::hash_join::{Sides, lower_sides};
use crate::rows::{RowBuffer, gather_columns};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct CrossProduct {
    left: Step,
    right: Step,
    left_keep: Vec<usize>,
    right_keep: Vec<usize>,
    right_width: usize,
}

/// Lowers `CrossProduct`.
pub(crate) fn lower(lowering: &mut Lowering, left: &Operator, right: &Operator, demand: &Demand) -> Result<Lowered> {
    let sides = lower_sides(lowering, (left, demand), (right, demand), demand)?;
    let Sides { left, left_keep, right, right_layout, right_keep, layout, .. } = sides;
    Ok((Box::new(CrossProduct { left, right, left_keep, right_keep, right_width: right_layout.len() }), layout))
}

impl CrossProduct {
    fn cross(&self, scope: Scope<'_, '_>, chunk: &Chunk, right: &Chunk, sink: &mut Sink<'_>) -> Result<Flow> {
        let environment = &scope.runtime.environment;
        let batch_rows = environment.settings.batch_rows.max(1);
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
                    let mut columns = gather_columns(chunk, &self.left_keep, &left_rows);
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
}

impl Physical for CrossProduct {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut buffer = RowBuffer::default();
        self.right.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            buffer.push(chunk);
            Ok(Flow::Continue)
        })?;
        let right = buffer.finish(self.right_width);
        self.left.run(scope, &mut |chunk| self.cross(scope, &chunk, &right, sink))
    }
}
