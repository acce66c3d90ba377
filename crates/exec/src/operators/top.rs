//! `Top`: the first rows in order, as `Sort` and `Limit` in one. It keeps a few times as many rows as it gives.

use cypher::plan::{Expression, Operator, SortKey};
use model::Result;

use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::operators::gather;
use crate::operators::limit::row_count;
use crate::operators::sort::{SortKeys, demand_of_keys, push_rows};
use crate::rows::RowBuffer;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::sorting::first_rows;

struct Top {
    input: Step,
    keys: SortKeys,
    limit: CompiledExpression,
    keep: Vec<usize>,
    width: usize,
}

/// Lowers `Top`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    keys: &[SortKey],
    limit: &Expression,
    demand: &Demand,
) -> Result<Lowered> {
    let (input, layout) = gather::lower(lowering, input, &demand_of_keys(demand, keys).of_every_row())?;
    let keys = SortKeys::compile(lowering, keys, &layout)?;
    let limit = lowering.compile(limit, &Default::default())?;
    let (keep, kept) = keep(&layout, demand);
    Ok((Box::new(Top { input, keys, limit, keep, width: layout.len() }), kept))
}

impl Top {
    /// The first rows of those kept, in order.
    fn first(&self, scope: Scope<'_, '_>, buffer: RowBuffer, limit: usize) -> Result<Chunk> {
        let chunk = buffer.finish(self.width);
        let keys = self.keys.evaluate(scope, &chunk)?;
        Ok(chunk.gather(&first_rows(&keys, chunk.rows, limit)))
    }
}

impl Physical for Top {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let limit = usize::try_from(row_count(&self.limit, scope, "LIMIT")?).unwrap_or(usize::MAX);
        if limit == 0 && !scope.runtime.writes() {
            return Ok(Flow::Continue);
        }
        let room = limit.saturating_mul(2).max(scope.runtime.environment.settings.batch_rows.saturating_mul(4));
        let mut buffer = RowBuffer::default();
        self.input.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            buffer.push(chunk);
            if buffer.len() > room {
                let first = self.first(scope, std::mem::take(&mut buffer), limit)?;
                buffer.push(first);
            }
            Ok(Flow::Continue)
        })?;
        let chunk = self.first(scope, buffer, limit)?;
        let rows: Vec<u32> = (0..chunk.rows as u32).collect();
        push_rows(scope, &chunk, &self.keep, &rows, sink)
    }
}
