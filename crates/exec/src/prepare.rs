//! From plan to operators that run.

use cypher::plan::Plan;
use model::Result;

use crate::lowering::{Demand, Lowering, Registry, column_of};
use crate::operators;
use crate::runtime::Prepared;

/// Lowers a plan.
pub fn prepare(plan: &Plan) -> Result<Prepared> {
    let registry = Registry { operator: operators::lower, subplan: operators::subquery::lower };
    let mut lowering = Lowering::new(plan, registry);
    let demand = Demand::all(plan.columns.iter().map(|(_, slot)| *slot).collect());
    let (root, layout) = operators::gather::lower(&mut lowering, &plan.root, &demand)?;
    let output = plan.columns.iter().map(|(_, slot)| column_of(&layout, *slot)).collect::<Result<_>>()?;
    Ok(Prepared { root, output, subplans: lowering.into_subplans(), mode: plan.mode })
}
