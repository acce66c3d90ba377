//! From plan to operators that run.

use cypher::plan::{OperatorId, Plan, SlotId};
use model::Result;

use crate::horizon;
use crate::lowering::{Demand, Lowering, Registry, columns_of};
use crate::operators;
use crate::runtime::Prepared;

/// Lowers a plan.
pub fn prepare(plan: &Plan) -> Result<Prepared> {
    let mut lowering = lowering_of(plan);
    lowering.horizons = horizon::of(plan);
    lower(plan, lowering)
}

/// Lowers the rest of a plan from a horizon on, over rows with these slots; `None` if it needs more of them than there is.
pub fn prepare_rest(plan: &Plan, at: OperatorId, slots: &[SlotId], multiplicity: bool) -> Option<Prepared> {
    let rest = plan.rest(at, slots)?;
    let mut lowering = lowering_of(&rest);
    lowering.horizons = horizon::of(&rest);
    lowering.horizons.remove(&at);
    lowering.held_multiplicity = multiplicity;
    lower(&rest, lowering).ok()
}

fn lowering_of(plan: &Plan) -> Lowering {
    Lowering::new(plan, Registry { operator: operators::lower, subplan: operators::subquery::lower })
}

fn lower(plan: &Plan, mut lowering: Lowering) -> Result<Prepared> {
    let columns: Vec<SlotId> = plan.columns.iter().map(|(_, slot)| *slot).collect();
    let demand = Demand::all(columns.iter().copied().collect());
    let (root, layout) = operators::gather::lower(&mut lowering, &plan.root, &demand)?;
    let output = columns_of(&layout, &columns)?;
    Ok(Prepared { root, output, subplans: lowering.into_subplans(), mode: plan.mode })
}
