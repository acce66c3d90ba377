//! `Union`: the rows of all branches, one after the other.

use cypher::plan::{Operator, PlanMode, SlotId};
use model::Result;

use crate::chunk::{Chunk, Layout};
use crate::lowering::{Demand, Lowered, Lowering, columns_of};
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Union {
    branches: Vec<Branch>,
}

struct Branch {
    step: Step,
    columns: Vec<usize>,
}

/// Lowers `Union`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    branches: &[(Operator, Vec<SlotId>)],
    slots: &[SlotId],
    demand: &Demand,
) -> Result<Lowered> {
    let mut hidden = lowering.hidden_in(demand);
    let wanted: Vec<usize> = (0..slots.len()).filter(|&index| demand.slots.contains(&slots[index])).collect();
    let mut lowered = Vec::with_capacity(branches.len());
    for (branch, given) in branches {
        let mut given: Vec<SlotId> = wanted.iter().map(|&index| given[index]).collect();
        let slots = given.iter().chain(&hidden).copied().collect();
        let below = Demand { slots, multiplicity: demand.multiplicity, few: demand.few };
        let (step, layout) = lowering.lower(branch, &below)?;
        hidden.retain(|&slot| layout.column(slot).is_some());
        given.extend(&hidden);
        lowered.push(Branch { step, columns: columns_of(&layout, &given)? });
    }
    let layout = Layout::new(wanted.into_iter().map(|index| slots[index]).chain(hidden).collect());
    Ok((Box::new(Union { branches: lowered }), layout))
}

impl Physical for Union {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let must_finish = scope.runtime.prepared.mode != PlanMode::Read;
        let mut flow = Flow::Continue;
        for branch in &self.branches {
            if flow == Flow::Stop && !must_finish {
                return Ok(Flow::Stop);
            }
            branch.step.run(scope, &mut |chunk| {
                if flow == Flow::Continue {
                    flow = sink(Chunk { rows: chunk.rows, columns: share_columns(&chunk, &branch.columns) })?;
                }
                Ok(flow)
            })?;
        }
        Ok(flow)
    }
}
