//! `Top`: the first rows in order, as `Sort` and `Limit` in one. It keeps a few times as many rows as it gives, or
//! sorts on disk if these do not fit.

use cypher::plan::{Expression, Operator, SortKey};
use model::Result;

use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::memory::Charge;
use crate::operators::gather;
use crate::operators::limit::row_count;
use crate::operators::sort::{SortKeys, demand_of_keys};
use crate::pushing::push_rows;
use crate::rows::RowBuffer;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::size::chunk_bytes;
use crate::sorting::first_rows;
use crate::spill::{Sorted, Sorter};

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

/// The rows that may still be among the first.
struct Candidates<'m> {
    charge: Charge<'m>,
    buffer: RowBuffer,
    /// Takes the rows once those of the limit do not fit.
    sorter: Option<Sorter<'m>>,
}

impl Top {
    /// The first rows of those kept, in order.
    fn first(&self, scope: Scope<'_, '_>, buffer: RowBuffer, limit: usize) -> Result<Chunk> {
        let chunk = buffer.finish(self.width);
        let keys = self.keys.evaluate(scope, &chunk)?;
        Ok(chunk.gather(&first_rows(&keys, chunk.rows, limit, scope.runtime.environment.interrupt)?))
    }

    fn take(&self, scope: Scope<'_, '_>, chunk: Chunk, limit: usize, candidates: &mut Candidates<'_>) -> Result<()> {
        let interrupt = scope.runtime.environment.interrupt;
        let keys = |chunk: &Chunk| self.keys.evaluate(scope, chunk);
        if let Some(sorter) = &mut candidates.sorter {
            return sorter.push(chunk, &keys, interrupt);
        }
        let room = limit.saturating_mul(2).max(scope.runtime.environment.settings.batch_rows.saturating_mul(4));
        let held = candidates.charge.bytes();
        let fits = candidates.charge.try_grow(chunk_bytes(&chunk)).is_ok();
        candidates.buffer.push(chunk);
        if fits && candidates.buffer.len() <= room {
            return Ok(());
        }
        let first = self.first(scope, std::mem::take(&mut candidates.buffer), limit)?;
        let bytes = chunk_bytes(&first);
        // If dropping the last rows wins little, it would have to be repeated for every batch.
        if (fits || bytes < held / 2) && candidates.charge.try_hold(bytes).is_ok() {
            candidates.buffer.push(first);
            return Ok(());
        }
        candidates.charge.count(0);
        let mut sorter = Sorter::new(candidates.charge.another(), self.width, limit);
        sorter.push(first, &keys, interrupt)?;
        candidates.sorter = Some(sorter);
        Ok(())
    }
}

impl Physical for Top {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let limit = usize::try_from(row_count(&self.limit, scope, "LIMIT")?).unwrap_or(usize::MAX);
        if limit == 0 && !scope.runtime.writes() {
            return Ok(Flow::Continue);
        }
        let interrupt = scope.runtime.environment.interrupt;
        let charge = scope.runtime.charge("Top");
        let mut candidates = Candidates { charge, buffer: RowBuffer::default(), sorter: None };
        self.input.run(scope, &mut |chunk| {
            interrupt.check()?;
            self.take(scope, chunk, limit, &mut candidates)?;
            Ok(Flow::Continue)
        })?;
        scope.runtime.announce(None);
        let (buffer, _charge) = match candidates.sorter {
            None => (candidates.buffer, candidates.charge),
            Some(sorter) => match sorter.finish(&|chunk| self.keys.evaluate(scope, chunk), interrupt)? {
                Sorted::Runs(runs) => return runs.push(&self.keep, interrupt, sink),
                Sorted::InMemory(chunk, charge) => {
                    let mut buffer = RowBuffer::default();
                    buffer.push(chunk);
                    (buffer, charge)
                }
            },
        };
        let chunk = self.first(scope, buffer, limit)?;
        let rows: Vec<u32> = (0..chunk.rows as u32).collect();
        scope.runtime.announce(Some(chunk.rows as u64));
        push_rows(scope, &chunk, &self.keep, &rows, sink)
    }
}
