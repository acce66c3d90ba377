//! `Held`: the rows that an earlier part of the run came to, the start of the rest of a plan.

use cypher::plan::SlotId;
use model::{Result, error};

use crate::chunk::{Chunk, Layout};
use crate::lowering::{Demand, Lowered, Lowering, internal, keep};
use crate::pushing::push_in_batches;
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct Held {
    keep: Vec<usize>,
}

/// Lowers `Held`.
pub(crate) fn lower(lowering: &Lowering, slots: &[SlotId], demand: &Demand) -> Result<Lowered> {
    if demand.multiplicity && !lowering.held_multiplicity {
        return Err(internal("the rest of a plan counts rows that may have come too seldom"));
    }
    let (keep, layout) = keep(&Layout::new(slots.to_vec()), demand);
    Ok((Box::new(Held { keep }), layout))
}

impl Physical for Held {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let held = scope.runtime.held.as_ref();
        let held = held.ok_or_else(|| error!(Internal, "the rest of a plan runs without rows"))?;
        held.for_each(&mut |chunk| {
            let columns = share_columns(&chunk, &self.keep);
            push_in_batches(scope, Chunk { rows: chunk.rows, columns }, sink)
        })
    }
}
