//! `ForEach`: a subplan that writes runs for each row in turn, and sees what it wrote for rows before.

mod batches;

use std::sync::Arc;

use cypher::plan::{ForEachResult, OperatorKind};
use model::{Column, Result};

use crate::chunk::Chunk;
use crate::lowering::liveness::add_arguments;
use crate::lowering::{Demand, Lowered, Lowering, Slots, keep, misplaced};
use crate::pushing::push_in_batches;
use crate::rows::{NO_ROW, RowBuffer, gather_columns, gather_or_null, share_columns};
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};
use crate::spill::RowStore;
use crate::writing::change_all;

struct ForEach {
    input: Step,
    width: usize,
    subplan: Step,
    result: ForEachResult,
    keep: Vec<usize>,
    /// The columns of the subplan that join the row.
    added: Vec<usize>,
    /// Slots that the subplan does not give although it should: always null.
    missing: usize,
    batches: Option<batches::Batches>,
}

/// Lowers `ForEach`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::ForEach { input, subplan, slots, result, batches } = kind else { return Err(misplaced(kind)) };
    let status = batches.as_ref().and_then(|batches| batches.status);
    let mut below = demand.clone().of_every_row().without(slots).without(&status);
    add_arguments(subplan, &mut below.slots);
    let (input, outer) = lowering.lower(input, &below)?;
    let is_ignored = matches!(result, ForEachResult::Ignored | ForEachResult::IgnoredAtOnce);
    let wanted: Slots = slots.iter().filter(|slot| !is_ignored && demand.slots.contains(slot)).copied().collect();
    let (subplan, inner) = lowering.lower_subplan(subplan, &outer, None, &Demand::all(wanted.clone()))?;
    let width = outer.len();
    let (keep, mut layout) = keep(&outer, demand);
    let mut added = Vec::new();
    for (column, &slot) in inner.slots().iter().enumerate().filter(|(_, slot)| wanted.contains(slot)) {
        added.push(column);
        layout.push(slot);
    }
    let absent: Vec<_> = wanted.iter().filter(|slot| layout.column(**slot).is_none()).copied().collect();
    let missing = absent.len();
    absent.into_iter().for_each(|slot| {
        layout.push(slot);
    });
    let batches = match batches {
        None => None,
        Some(batches) => {
            let reports = status.is_some_and(|slot| demand.slots.contains(&slot));
            status.filter(|_| reports).into_iter().for_each(|slot| {
                layout.push(slot);
            });
            Some(batches::Batches::compile(lowering, batches, reports)?)
        }
    };
    Ok((Box::new(ForEach { input, width, subplan, result: *result, keep, added, missing, batches }), layout))
}

impl ForEach {
    /// Runs the subplan for the rows of a chunk and gives the rows that come out.
    fn run_rows(&self, runtime: &Runtime<'_>, chunk: &Chunk) -> Result<Chunk> {
        let ignore = &mut |_| Ok(Flow::Continue);
        match self.result {
            ForEachResult::IgnoredAtOnce if chunk.rows > 0 => {
                self.subplan.run(Scope { runtime, argument: chunk }, ignore)?;
            }
            ForEachResult::IgnoredAtOnce => {}
            ForEachResult::Ignored => {
                for row in 0..chunk.rows {
                    runtime.environment.interrupt.check()?;
                    let argument = chunk.slice(row, row + 1);
                    self.subplan.run(Scope { runtime, argument: &argument }, ignore)?;
                }
            }
            ForEachResult::Joined | ForEachResult::Optional => return self.join(runtime, chunk),
        }
        Ok(Chunk { rows: chunk.rows, columns: share_columns(chunk, &self.keep) })
    }

    fn join(&self, runtime: &Runtime<'_>, chunk: &Chunk) -> Result<Chunk> {
        let mut given = RowBuffer::default();
        let (mut outer_rows, mut inner_rows) = (Vec::new(), Vec::new());
        for row in 0..chunk.rows as u32 {
            runtime.environment.interrupt.check()?;
            let argument = chunk.slice(row as usize, row as usize + 1);
            let before = given.len();
            self.subplan.run(Scope { runtime, argument: &argument }, &mut |inner| {
                given.push(Chunk { rows: inner.rows, columns: share_columns(&inner, &self.added) });
                Ok(Flow::Continue)
            })?;
            inner_rows.extend(before as u32..given.len() as u32);
            if given.len() == before && self.result == ForEachResult::Optional {
                inner_rows.push(NO_ROW);
            }
            outer_rows.resize(inner_rows.len(), row);
        }
        let given = given.finish(self.added.len());
        let mut columns = gather_columns(chunk, &self.keep, &outer_rows);
        columns.extend(given.columns.iter().map(|column| Arc::new(gather_or_null(column, &inner_rows))));
        columns.extend((0..self.missing).map(|_| Arc::new(Column::nulls(outer_rows.len()))));
        Ok(Chunk { rows: outer_rows.len(), columns })
    }

    /// The rows of a chunk for which nothing was done.
    fn without_result(&self, chunk: &Chunk) -> Chunk {
        let mut columns = share_columns(chunk, &self.keep);
        columns.extend((0..self.added.len() + self.missing).map(|_| Arc::new(Column::nulls(chunk.rows))));
        Chunk { rows: chunk.rows, columns }
    }
}

impl Physical for ForEach {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let Some(batches) = &self.batches else {
            let mut work = |chunk: Chunk| self.run_rows(scope.runtime, &chunk);
            return change_all((&self.input, self.width, false), scope, "ForEach", &mut work, sink);
        };
        let mut input = RowStore::new(scope.runtime.charge("ForEach"));
        self.input.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            input.push(batches::numbered(scope, chunk)?)?;
            Ok(Flow::Continue)
        })?;
        let output = self.in_batches(scope, input.finish(self.width), batches)?;
        output.for_each(&mut |chunk| push_in_batches(scope, chunk, sink))
    }
}
