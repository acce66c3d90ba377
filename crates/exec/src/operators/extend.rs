//! `Extend`: the slots of the input and these, computed from each row in order; later ones may use earlier ones.

use cypher::plan::{Expression, Operator, SlotId};
use model::Result;

use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Extend {
    input: Step,
    items: Vec<CompiledExpression>,
    keep: Vec<usize>,
}

/// Lowers `Extend`. Items that nobody reads are not computed.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    items: &[(SlotId, Expression)],
    demand: &Demand,
) -> Result<Lowered> {
    let mut below = demand.clone();
    let mut wanted = Vec::new();
    for (slot, expression) in items.iter().rev() {
        if below.slots.remove(slot) {
            below = below.and_expression(expression);
            wanted.push((*slot, expression));
        }
    }
    wanted.reverse();
    let (input, mut layout) = lowering.lower(input, &below)?;
    let mut compiled = Vec::with_capacity(wanted.len());
    for (slot, expression) in wanted {
        compiled.push(lowering.compile(expression, &layout)?);
        layout.push(slot);
    }
    let (keep, layout) = keep(&layout, demand);
    Ok((Box::new(Extend { input, items: compiled, keep }), layout))
}

impl Physical for Extend {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.input.run(scope, &mut |mut chunk| {
            {
                let view = runtime.view();
                let context = runtime.evaluation(&view);
                for item in &self.items {
                    let column = item.evaluate(&chunk, &context)?;
                    chunk.columns.push(column);
                }
            }
            let columns = share_columns(&chunk, &self.keep);
            sink(Chunk { rows: chunk.rows, columns })
        })
    }
}
