//! `SemiApply`: the rows for which a subplan gives at least one row, or none.

use cypher::plan::Operator;
use model::Result;

use crate::chunk::Chunk;
use crate::lowering::liveness::{Slots, add_arguments};
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::nested::Nested;
use crate::operators::subquery::lower_existence;
use crate::rows::gather_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct SemiApply {
    input: Step,
    nested: Nested,
    /// True if a match keeps the row.
    keeps_matched: bool,
    keep: Vec<usize>,
}

/// Lowers `SemiApply`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    subplan: &Operator,
    anti: bool,
    demand: &Demand,
) -> Result<Lowered> {
    let mut below = demand.clone();
    let mut arguments = Slots::new();
    add_arguments(subplan, &mut arguments);
    below.slots.append(&mut arguments);
    let (input, outer) = lowering.lower(input, &below)?;
    let nested = lower_existence(lowering, subplan, &outer)?;
    let (keep, layout) = keep(&outer, demand);
    Ok((Box::new(SemiApply { input, nested, keeps_matched: !anti, keep }), layout))
}

impl Physical for SemiApply {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        self.input.run(scope, &mut |chunk| {
            let found = self.nested.exists(scope.runtime, &chunk)?;
            let kept = |row: &u32| found[*row as usize] == self.keeps_matched;
            let rows: Vec<u32> = (0..chunk.rows as u32).filter(kept).collect();
            if rows.is_empty() {
                return Ok(Flow::Continue);
            }
            let columns = gather_columns(&chunk, &self.keep, &rows);
            sink(Chunk { rows: rows.len(), columns })
        })
    }
}
