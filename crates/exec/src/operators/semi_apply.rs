//! `SemiApply`: the rows for which a subplan gives at least one row, or none.
//!
//! A subplan that does work for all rows of a run together is run for more and more rows at a time: searches of paths between known
//! nodes, of which pairs share some, and joins, whose other side is read for each run if it cannot be kept.

use cypher::plan::{Operator, OperatorKind};
use model::{Direction, Result};

use crate::chunk::Chunk;
use crate::lowering::liveness::{Slots, add_arguments};
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::nested::{Nested, shares_work};
use crate::operators::subquery::lower_existence;
use crate::rows::{RowBuffer, gather_columns};
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};
use crate::size::chunk_bytes;

struct SemiApply {
    input: Step,
    nested: Nested,
    /// True if a match keeps the row.
    keeps_matched: bool,
    keep: Vec<usize>,
    /// Most rows for which the subplan is run at a time.
    rows_max: usize,
    /// Rows that come again cost no more than to find out that they do.
    shares_searches: bool,
}

/// Most rows for which a subplan is run at a time that does work for all of them together.
const SHARED_ROWS_MAX: usize = 1 << 18;
/// Factor by which these rows become more from one run to the next: each begins its searches anew.
const GROWTH: usize = 8;

/// Lowers `SemiApply`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    subplan: &Operator,
    anti: bool,
    demand: &Demand,
) -> Result<Lowered> {
    let mut below = demand.clone();
    let mut arguments = Slots::new();
    add_arguments(subplan, &mut arguments);
    below.slots.append(&mut arguments);
    let (input, outer) = lowering.lower(input, &below)?;
    let nested = lower_existence(lowering, subplan, &outer)?;
    let (keep, layout) = keep(&outer, demand);
    let rows_max = if shares_work(subplan) { SHARED_ROWS_MAX } else { 1 };
    let shares_searches = shares_searches(subplan);
    Ok((Box::new(SemiApply { input, nested, keeps_matched: !anti, keep, rows_max, shares_searches }), layout))
}

/// True if a subplan searches paths between nodes in such a way that pairs with a node in common share a search. In any direction,
/// paths from a node to itself are searched one by one.
fn shares_searches(plan: &Operator) -> bool {
    match &plan.kind {
        OperatorKind::VariableExpand {
            input,
            direction,
            min,
            edges: None,
            into: true,
            filter: None,
            distinct_from,
            ..
        } => {
            let is_shared = *min <= 1 && distinct_from.is_empty() && *direction != Direction::Both;
            is_shared && matches!(input.kind, OperatorKind::Argument { .. })
        }
        _ => false,
    }
}

impl SemiApply {
    /// Gives the rows of a chunk that are kept.
    fn give(&self, runtime: &Runtime<'_>, chunk: &Chunk, sink: &mut Sink<'_>) -> Result<Flow> {
        let found = match self.shares_searches {
            true => self.nested.exists_for_each(runtime, chunk)?,
            false => self.nested.exists(runtime, chunk)?,
        };
        let kept = |row: &u32| found[*row as usize] == self.keeps_matched;
        let rows: Vec<u32> = (0..chunk.rows as u32).filter(kept).collect();
        for rows in rows.chunks(runtime.environment.settings.batch_rows.max(1)) {
            let columns = gather_columns(chunk, &self.keep, rows);
            if sink(Chunk { rows: rows.len(), columns })? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

impl Physical for SemiApply {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let mut charge = runtime.charge("SemiApply");
        // The first rows are answered at once: they may be all that is asked for.
        let (mut held, mut wanted) = (RowBuffer::default(), 1);
        let flow = self.input.run(scope, &mut |chunk| {
            if held.len() + chunk.rows >= wanted && held.len() == 0 {
                wanted = (GROWTH * chunk.rows).min(self.rows_max);
                return self.give(runtime, &chunk, sink);
            }
            let fits = charge.try_grow(chunk_bytes(&chunk)).is_ok();
            held.push(chunk);
            if held.len() < wanted && fits {
                return Ok(Flow::Continue);
            }
            wanted = (GROWTH * held.len()).min(self.rows_max);
            let chunk = std::mem::take(&mut held).finish(0);
            let flow = self.give(runtime, &chunk, sink)?;
            charge.hold(0)?;
            Ok(flow)
        })?;
        if flow == Flow::Stop || held.len() == 0 {
            return Ok(flow);
        }
        self.give(runtime, &held.finish(0), sink)
    }
}
