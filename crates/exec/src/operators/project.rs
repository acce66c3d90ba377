//! `Project`: exactly these slots, computed from each row.

use std::sync::Arc;

use cypher::plan::{Expression, Operator, SlotId};
use model::{Column, Result};

use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpressions;
use crate::lowering::{Demand, Lowered, Lowering, columns_of};
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Project {
    input: Step,
    items: CompiledExpressions,
    /// Hidden columns that pass through.
    hidden: Vec<usize>,
}

/// Lowers `Project`. Items that nobody reads are not computed.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    items: &[(SlotId, Expression)],
    demand: &Demand,
) -> Result<Lowered> {
    let hidden = lowering.hidden_in(demand);
    let wanted: Vec<_> = items.iter().filter(|(slot, _)| demand.slots.contains(slot)).collect();
    let mut below =
        Demand { slots: hidden.iter().copied().collect(), multiplicity: demand.multiplicity, few: demand.few };
    for (_, expression) in &wanted {
        below = below.and_expression(expression);
    }
    let (input, layout) = lowering.lower(input, &below)?;
    let present: Vec<SlotId> = hidden.into_iter().filter(|&slot| layout.column(slot).is_some()).collect();
    let hidden = columns_of(&layout, &present)?;
    let mut output = Layout::default();
    let compiled = lowering.compile_all(wanted.iter().map(|(_, expression)| expression), &layout)?;
    wanted.iter().for_each(|(slot, _)| {
        output.push(*slot);
    });
    present.iter().for_each(|&slot| {
        output.push(slot);
    });
    Ok((Box::new(Project { input, items: compiled, hidden }), output))
}

impl Physical for Project {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.input.run(scope, &mut |chunk| {
            let mut columns = {
                let view = runtime.view();
                self.items.evaluate(&chunk, &runtime.evaluation(&view))?
            };
            columns.extend::<Vec<Arc<Column>>>(share_columns(&chunk, &self.hidden));
            sink(Chunk { rows: chunk.rows, columns })
        })
    }
}
