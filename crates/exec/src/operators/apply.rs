//! `Apply`: for each row, that row with each row of a subplan.

use std::sync::Arc;

use cypher::plan::Operator;
use model::Result;

use crate::chunk::{Chunk, Layout};
use crate::lowering::liveness::add_arguments;
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::nested::Nested;
use crate::rows::gather_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Apply {
    input: Step,
    nested: Nested,
    keep: Vec<usize>,
    /// The columns of the subplan that join the row.
    added: Vec<usize>,
}

/// An outer input and a subplan, lowered: what `Apply` and `Optional` share.
pub(crate) struct Joined {
    pub(crate) input: Step,
    pub(crate) nested: Nested,
    pub(crate) keep: Vec<usize>,
    pub(crate) added: Vec<usize>,
    pub(crate) layout: Layout,
}

/// Lowers an input and a subplan whose rows join it.
pub(crate) fn lower_joined(
    lowering: &mut Lowering,
    input: &Operator,
    subplan: &Operator,
    demand: &Demand,
) -> Result<Joined> {
    let mut below = demand.clone();
    add_arguments(subplan, &mut below.slots);
    let (input, outer) = lowering.lower(input, &below)?;
    let inner_demand = demand.clone().without(outer.slots());
    let (nested, inner) = Nested::lower(lowering, subplan, &outer, &inner_demand)?;
    let (keep, mut layout) = keep(&outer, demand);
    let mut added = Vec::new();
    for (column, &slot) in inner.slots().iter().enumerate() {
        if inner_demand.slots.contains(&slot) {
            added.push(column);
            layout.push(slot);
        }
    }
    Ok(Joined { input, nested, keep, added, layout })
}

/// Lowers `Apply`.
pub(crate) fn lower(lowering: &mut Lowering, input: &Operator, subplan: &Operator, demand: &Demand) -> Result<Lowered> {
    let Joined { input, nested, keep, added, layout } = lower_joined(lowering, input, subplan, demand)?;
    Ok((Box::new(Apply { input, nested, keep, added }), layout))
}

impl Physical for Apply {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        self.input.run(scope, &mut |chunk| {
            self.nested.run(scope.runtime, &chunk, &mut |inner, rows| {
                let mut columns = gather_columns(&chunk, &self.keep, rows);
                columns.extend(self.added.iter().map(|&column| Arc::clone(&inner.columns[column])));
                sink(Chunk { rows: inner.rows, columns })
            })
        })
    }
}
