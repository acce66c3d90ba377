//! `Expand`: for each row, the edges of a node and the nodes they lead to.
//!
//! Three ways to run: to nodes that are new; into nodes that are bound ([`into`]); and counted ([`counted`]), when the
//! consumer only wants to know how many there are.

pub(crate) mod choice;
pub(crate) mod degree_count;
pub(crate) mod hop;
mod into;
mod used_edges;

use cypher::plan::{Operator, OperatorKind};
use model::Result;

use crate::lowering::{Demand, Lowered, Lowering, column_of, columns_of, keep, misplaced};
use crate::parallel::spread::Spread;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use choice::Choice;
use hop::Hop;

struct Expand {
    input: Step,
    hop: Hop,
}

/// Lowers `Expand`.
pub(crate) fn lower(lowering: &mut Lowering, plan: &Operator, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::Expand { input, from, direction, types, edge, to, into, distinct_from, choice } = &plan.kind
    else {
        return Err(misplaced(&plan.kind));
    };
    let mut below = demand.clone().without(edge).and_slots([from]).and_slots(distinct_from);
    below = if *into { below.and_slots([to]) } else { below.without([to]) };
    let is_spread = lowering.spread.take_if(|spread| spread.expand == plan.id).is_some();
    let (mut input, layout) = lowering.lower(input, &below)?;
    let from = column_of(&layout, *from)?;
    if is_spread {
        input = Spread::over(input, plan.id, from, *direction, types.clone());
    }
    let distinct_from = columns_of(&layout, distinct_from)?;
    let bound = if *into { Some(column_of(&layout, *to)?) } else { None };
    let (keep, mut layout) = keep(&layout, demand);
    let gives_edge = edge.is_some_and(|edge| demand.slots.contains(&edge));
    if let Some(edge) = edge.filter(|_| gives_edge) {
        layout.push(edge);
    }
    let gives_node = !into && demand.slots.contains(to);
    if gives_node {
        layout.push(*to);
    }
    let types = types.clone();
    let direction = *direction;
    let choice = choice.as_deref().map(|choice| Choice::compile(lowering, choice)).transpose()?;
    let hop = Hop { from, direction, types, gives_edge, gives_node, distinct_from, choice, few: demand.few, keep };
    match bound {
        Some(to) => Ok((Box::new(into::ExpandInto { input, hop, to }), layout)),
        None => Ok((Box::new(Expand { input, hop }), layout)),
    }
}

impl Physical for Expand {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        self.input.run(scope, &mut |chunk| self.hop.run(scope.runtime, &chunk, sink))
    }
}
