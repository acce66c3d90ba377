//! From plan to operators that run.

use cypher::plan::{Plan, SlotId};
use model::Result;

use crate::lowering::{Demand, Lowering, Registry, columns_of};
use crate::operators;
use crate::runtime::Prepared;

/// Lowers a plan.
pub fn prepare(plan: &Plan) -> Result<Prepared> {
    let registry = Registry { operator: operators::lower, subplan: operators::subquery::lower };
    let mut lowering = Lowering::new(plan, registry);
    let columns: Vec<SlotId> = plan.columns.iter().map(|(_, slot)| *slot).collect();
    let demand = Demand::all(columns.iter().copied().collect());
    let (root, layout) = operators::gather::lower(&mut lowering, &plan.root, &demand)?;
    let output = columns_of(&layout, &columns)?;
    Ok(Prepared { root, output, subplans: lowering.into_subplans(), mode: plan.mode })
}
