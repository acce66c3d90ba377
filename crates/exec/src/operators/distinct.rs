//! `Distinct`: one row for each distinct combination of slots.

use cypher::plan::{Operator, SlotId};
use model::Result;

use crate::chunk::{Chunk, Layout};
use crate::group_table::GroupTable;
use crate::lowering::{Demand, Lowered, Lowering, columns_of};
use crate::operators::gather;
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Distinct {
    input: Step,
    columns: Vec<usize>,
}

/// Lowers `Distinct`.
pub(crate) fn lower(lowering: &mut Lowering, input: &Operator, slots: &[SlotId], demand: &Demand) -> Result<Lowered> {
    let mut slots = slots.to_vec();
    slots.extend(lowering.hidden_in(demand));
    let (input, layout) =
        gather::lower(lowering, input, &Demand { slots: slots.iter().copied().collect(), multiplicity: false })?;
    slots.retain(|&slot| layout.column(slot).is_some());
    let columns = columns_of(&layout, &slots)?;
    Ok((Box::new(Distinct { input, columns }), Layout::new(slots)))
}

impl Physical for Distinct {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut table = GroupTable::default();
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        self.input.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            let columns = share_columns(&chunk, &self.columns);
            table.insert(&columns, chunk.rows, &mut groups, &mut new);
            if new.is_empty() {
                return Ok(Flow::Continue);
            }
            let chunk = Chunk { rows: chunk.rows, columns };
            sink(if new.len() == chunk.rows { chunk } else { chunk.gather(&new) })
        })
    }
}
