//! `Skip`: all but the first rows.

use cypher::plan::{Expression, Operator};
use model::Result;

use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering};
use crate::operators::limit::row_count;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Skip {
    input: Step,
    count: CompiledExpression,
}

/// Lowers `Skip`.
pub(crate) fn lower(lowering: &mut Lowering, input: &Operator, count: &Expression, demand: &Demand) -> Result<Lowered> {
    let (input, layout) = lowering.lower(input, &demand.clone().of_every_row())?;
    let count = lowering.compile(count, &Default::default())?;
    Ok((Box::new(Skip { input, count }), layout))
}

impl Physical for Skip {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut left = row_count(&self.count, scope, "SKIP")?;
        self.input.run(scope, &mut |chunk| {
            if left >= chunk.rows as u64 {
                left -= chunk.rows as u64;
                return Ok(Flow::Continue);
            }
            let start = std::mem::take(&mut left) as usize;
            sink(chunk.slice(start, chunk.rows))
        })
    }
}
