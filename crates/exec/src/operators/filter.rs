//! `Filter`: the rows for which a predicate is true.

use cypher::plan::{Expression, Operator};
use model::Result;

use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::rows::{gather_columns, share_columns};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Filter {
    input: Step,
    predicate: CompiledExpression,
    keep: Vec<usize>,
}

/// Lowers `Filter`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    predicate: &Expression,
    demand: &Demand,
) -> Result<Lowered> {
    let (input, layout) = lowering.lower(input, &demand.clone().and_expression(predicate))?;
    let predicate = lowering.compile(predicate, &layout)?;
    let (keep, layout) = keep(&layout, demand);
    Ok((Box::new(Filter { input, predicate, keep }), layout))
}

impl Physical for Filter {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.input.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let rows = {
                let view = runtime.view();
                self.predicate.evaluate_predicate(&chunk, &runtime.evaluation(&view))?
            };
            let columns = match rows.len() {
                0 => return Ok(Flow::Continue),
                all if all == chunk.rows => share_columns(&chunk, &self.keep),
                _ => gather_columns(&chunk, &self.keep, &rows),
            };
            sink(Chunk { rows: rows.len(), columns })
        })
    }
}
