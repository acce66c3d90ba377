//! `Optional`: as `Apply`, but a row for which the subplan gives none is passed on with the subplan's slots null.

use std::sync::Arc;

use cypher::plan::{Operator, SlotId};
use model::{Column, Result};

use crate::chunk::Chunk;
use crate::lowering::{Demand, Lowered, Lowering};
use crate::nested::Nested;
use crate::operators::apply::{Joined, lower_joined};
use crate::rows::{NO_ROW, gather_columns, gather_or_null};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Optional {
    input: Step,
    nested: Nested,
    keep: Vec<usize>,
    added: Vec<usize>,
    /// Slots that the subplan does not give although it should: always null.
    missing: usize,
}

/// Lowers `Optional`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    subplan: &Operator,
    slots: &[SlotId],
    demand: &Demand,
) -> Result<Lowered> {
    let Joined { input, nested, keep, added, mut layout } = lower_joined(lowering, input, subplan, demand)?;
    let mut missing = 0;
    for &slot in slots.iter().filter(|slot| demand.slots.contains(slot)) {
        if layout.column(slot).is_none() {
            layout.push(slot);
            missing += 1;
        }
    }
    Ok((Box::new(Optional { input, nested, keep, added, missing }), layout))
}

/// The rows of a chunk that have been passed on, with a match or without.
struct Progress {
    matched: Vec<bool>,
    /// Rows before this one are settled, if the subplan keeps their order.
    settled: usize,
}

impl Optional {
    /// Joins outer rows with inner rows, [`NO_ROW`] standing for none.
    fn join(&self, chunk: &Chunk, inner: Option<&Chunk>, outer_rows: &[u32], inner_rows: &[u32]) -> Chunk {
        let rows = outer_rows.len();
        let mut columns = gather_columns(chunk, &self.keep, outer_rows);
        columns.extend(self.added.iter().map(|&column| {
            Arc::new(match inner {
                Some(inner) => gather_or_null(&inner.columns[column], inner_rows),
                None => Column::nulls(rows),
            })
        }));
        columns.extend((0..self.missing).map(|_| Arc::new(Column::nulls(rows))));
        Chunk { rows, columns }
    }

    /// Passes on the rows of the subplan, and before them the outer rows that came without a match.
    fn pass(
        &self,
        chunk: &Chunk,
        inner: &Chunk,
        rows: &[u32],
        progress: &mut Progress,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let mut outer_rows = Vec::with_capacity(rows.len());
        let mut inner_rows = Vec::with_capacity(rows.len());
        for (index, &row) in rows.iter().enumerate() {
            if self.nested.is_ordered {
                progress.settle(row as usize, &mut outer_rows, &mut inner_rows);
            }
            progress.matched[row as usize] = true;
            outer_rows.push(row);
            inner_rows.push(index as u32);
        }
        sink(self.join(chunk, Some(inner), &outer_rows, &inner_rows))
    }
}

impl Progress {
    /// Adds the rows before `end` that had no match.
    fn settle(&mut self, end: usize, outer_rows: &mut Vec<u32>, inner_rows: &mut Vec<u32>) {
        while self.settled < end {
            if !self.matched[self.settled] {
                outer_rows.push(self.settled as u32);
                inner_rows.push(NO_ROW);
            }
            self.settled += 1;
        }
    }
}

impl Physical for Optional {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        self.input.run(scope, &mut |chunk| {
            let mut progress = Progress { matched: vec![false; chunk.rows], settled: 0 };
            let flow = self.nested.run(scope.runtime, &chunk, &mut |inner, rows| {
                if inner.rows == 0 { Ok(Flow::Continue) } else { self.pass(&chunk, inner, rows, &mut progress, sink) }
            })?;
            let (mut outer_rows, mut inner_rows) = (Vec::new(), Vec::new());
            progress.settle(chunk.rows, &mut outer_rows, &mut inner_rows);
            if flow == Flow::Stop || outer_rows.is_empty() {
                return Ok(flow);
            }
            sink(self.join(&chunk, None, &outer_rows, &inner_rows))
        })
    }
}
