//! `Import`: rows with slots of the row around the subplan added.

use std::sync::Arc;

use cypher::plan::{Operator, SlotId};
use model::Result;

use crate::chunk::Chunk;
use crate::lowering::{Demand, Lowered, Lowering, column_of, keep};
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Import {
    input: Step,
    keep: Vec<usize>,
    /// Columns of the outer row.
    outer: Vec<usize>,
}

/// Lowers `Import`.
pub(crate) fn lower(lowering: &mut Lowering, input: &Operator, slots: &[SlotId], demand: &Demand) -> Result<Lowered> {
    let (input, layout) = lowering.lower(input, &demand.clone().without(slots))?;
    let (keep, mut layout) = keep(&layout, demand);
    let wanted: Vec<SlotId> = slots.iter().filter(|slot| demand.slots.contains(slot)).copied().collect();
    let (around, _) = lowering.outer()?;
    let outer = wanted.iter().map(|&slot| column_of(around, slot)).collect::<Result<_>>()?;
    wanted.iter().for_each(|&slot| {
        layout.push(slot);
    });
    Ok((Box::new(Import { input, keep, outer }), layout))
}

impl Physical for Import {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        self.input.run(scope, &mut |chunk| {
            let mut columns = share_columns(&chunk, &self.keep);
            // The subplan runs row by row, so there is one outer row.
            let rows = vec![0; chunk.rows];
            columns.extend(self.outer.iter().map(|&column| Arc::new(scope.argument.columns[column].gather(&rows))));
            sink(Chunk { rows: chunk.rows, columns })
        })
    }
}
