//! `Set`: for each row, sets and removes properties and labels, item by item. All rows are read before the first write, and
//! values that must be unique are so after the last.

use cypher::plan::{Operator, SetItem};
use model::Result;

use crate::chunk::Chunk;
use crate::lowering::{Demand, Lowered, Lowering, keep, liveness};
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::writing::change_all;
use crate::writing::changes::Changes;

struct Set {
    input: Step,
    changes: Changes,
    width: usize,
    keep: Vec<usize>,
}

/// Lowers `Set`.
pub(crate) fn lower(lowering: &mut Lowering, input: &Operator, items: &[SetItem], demand: &Demand) -> Result<Lowered> {
    let mut below = demand.clone().of_every_row();
    liveness::add_set_items(items, &mut below.slots);
    let (input, layout) = lowering.lower(input, &below)?;
    let changes = Changes::compile(lowering, items, &layout)?;
    let width = layout.len();
    let (keep, layout) = keep(&layout, demand);
    Ok((Box::new(Set { input, changes, width, keep }), layout))
}

impl Physical for Set {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let defers = !self.changes.hazards().reads_everything();
        let mut work = |chunk: Chunk| {
            if defers {
                scope.runtime.write(|writer| {
                    writer.transaction.defer_unique();
                    Ok(())
                })?;
            }
            self.changes.run(scope, &chunk)?;
            Ok(Chunk { rows: chunk.rows, columns: share_columns(&chunk, &self.keep) })
        };
        change_all((&self.input, self.width, false), scope, "Set", &mut work, sink)
    }
}
