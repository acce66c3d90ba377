//! A subplan that runs for the rows of a chunk: for all of them at once where that gives the same, else row by row.

use cypher::plan::{Operator, OperatorKind, PlanMode, SlotId};
use model::{ColumnData, Result};

use crate::chunk::{Chunk, Layout};
use crate::known::answers_within;
use crate::lowering::liveness::add_arguments;
use crate::lowering::{Demand, Lowering, Slots, column_of, is_row_local, keeps_row_order};
use crate::rows::{RowBuffer, gather_columns, int_at};
use crate::runtime::{Flow, Runtime, Scope, Step};
use crate::size::chunk_bytes;

/// Divisor of the query's memory limit: the share that the rows of a subplan may take that are the same for all outer rows.
const KEPT_SHARE: usize = 4;

/// Fewer rows than this are not looked through for arguments that come again.
const REPEATED_ROWS_MIN: usize = 16;

/// Rows that a subplan gives for each row of a run, above which rows run one by one where one is enough.
const FLOOD: usize = 64;

/// A subplan and how to run it.
pub(crate) struct Nested {
    step: Step,
    /// Column with the number of the outer row, if it runs for many rows at once.
    row: Option<usize>,
    /// True if its rows come in the order of the outer rows.
    pub(crate) is_ordered: bool,
    /// True if it gives the same for every outer row.
    pub(crate) is_constant: bool,
    /// The columns of the outer row that it reads, if they alone decide what it gives.
    arguments: Option<Vec<usize>>,
    /// All rows are answered in one run, since they share work.
    runs_at_once: bool,
}

/// Takes a chunk of a subplan with the outer row of each of its rows.
pub(crate) type NestedSink<'a> = dyn FnMut(&Chunk, &[u32]) -> Result<Flow> + 'a;

impl Nested {
    /// Lowers a subplan for rows of that layout.
    pub(crate) fn lower(
        lowering: &mut Lowering,
        subplan: &Operator,
        outer: &Layout,
        demand: &Demand,
    ) -> Result<(Nested, Layout)> {
        let row = is_row_local(subplan).then(|| lowering.hidden_slot());
        let demand = demand.clone().and_slots(&row);
        let (step, layout) = lowering.lower_subplan(subplan, outer, row, &demand)?;
        let nested = Nested::of(subplan, step, (outer, &layout), row)?;
        Ok((Nested { is_ordered: row.is_none() || keeps_row_order(subplan), ..nested }, layout))
    }

    /// A subplan that was lowered already.
    pub(crate) fn of(
        subplan: &Operator,
        step: Step,
        (outer, layout): (&Layout, &Layout),
        row: Option<SlotId>,
    ) -> Result<Nested> {
        let row = row.map(|row| column_of(layout, row)).transpose()?;
        // Counting remembers by itself what nodes stand for.
        let counts = match &subplan.kind {
            OperatorKind::CountMatches { input, .. } => matches!(input.kind, OperatorKind::Argument { .. }),
            _ => false,
        };
        let arguments = if counts { None } else { arguments(subplan, outer)? };
        let (is_constant, runs_at_once) = (is_constant(subplan), counts || shares_work(subplan));
        Ok(Nested { step, row, is_ordered: false, is_constant, arguments, runs_at_once })
    }

    /// The answers that `ask` gives to the rows of a chunk, if the subplan alone decides them: asked for once for rows that it cannot
    /// tell apart.
    pub(crate) fn answers(
        &self,
        runtime: &Runtime<'_>,
        chunk: &Chunk,
        ask: &mut dyn FnMut(&Chunk) -> Result<Vec<i64>>,
    ) -> Result<Vec<i64>> {
        let Some(arguments) = self.arguments.as_ref().filter(|_| chunk.rows >= REPEATED_ROWS_MIN) else {
            return ask(chunk);
        };
        let columns: Vec<_> = arguments.iter().map(|&column| chunk.columns[column].clone()).collect();
        if columns.is_empty() || !columns.iter().all(|column| is_told_apart(&column.data)) {
            return ask(chunk);
        }
        // A statement that writes may change answers between two batches.
        if runtime.writes() {
            return answers_within(chunk, &columns, ask);
        }
        let number = std::ptr::from_ref(self).addr();
        runtime.states.known.answers(number, runtime.charge("Subquery"), (chunk, &columns), ask)
    }

    /// Runs it for the rows of a chunk.
    pub(crate) fn run(&self, runtime: &Runtime<'_>, chunk: &Chunk, sink: &mut NestedSink<'_>) -> Result<Flow> {
        if self.is_constant && chunk.rows > 1 && runtime.prepared.mode == PlanMode::Read {
            let mut charge = runtime.charge("Apply");
            let (mut kept, most) = (RowBuffer::default(), charge.memory().limit() / KEPT_SHARE);
            let flow = self.run_each(runtime, &chunk.slice(0, 1), &mut |inner, _| {
                let bytes = charge.bytes() + chunk_bytes(inner);
                kept.push(inner.clone());
                let is_kept = bytes <= most && charge.try_hold(bytes).is_ok();
                Ok(if is_kept { Flow::Continue } else { Flow::Stop })
            })?;
            if flow == Flow::Continue {
                return repeat(runtime, chunk.rows, &kept.finish(0), sink);
            }
        }
        self.run_each(runtime, chunk, sink)
    }

    /// Runs it for each row of a chunk.
    fn run_each(&self, runtime: &Runtime<'_>, chunk: &Chunk, sink: &mut NestedSink<'_>) -> Result<Flow> {
        if let Some(row) = self.row {
            let mut rows = Vec::new();
            return self.step.run(Scope { runtime, argument: chunk }, &mut |inner| {
                rows.clear();
                let numbers = &inner.columns[row];
                rows.extend((0..inner.rows).map(|index| int_at(numbers, index) as u32));
                sink(&inner, &rows)
            });
        }
        let mut rows = Vec::new();
        for row in 0..chunk.rows {
            runtime.environment.interrupt.check()?;
            let argument = chunk.slice(row, row + 1);
            let flow = self.step.run(Scope { runtime, argument: &argument }, &mut |inner| {
                rows.clear();
                rows.resize(inner.rows, row as u32);
                sink(&inner, &rows)
            })?;
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// For each row of a chunk, whether the subplan gives any row.
    pub(crate) fn exists(&self, runtime: &Runtime<'_>, chunk: &Chunk) -> Result<Vec<bool>> {
        if self.is_constant && chunk.rows > 1 {
            let first = self.exists(runtime, &chunk.slice(0, 1))?;
            return Ok(vec![first[0]; chunk.rows]);
        }
        let found = self.answers(runtime, chunk, &mut |chunk| {
            Ok(self.exists_for_each(runtime, chunk)?.into_iter().map(i64::from).collect())
        })?;
        Ok(found.into_iter().map(|found| found != 0).collect())
    }

    /// The same, asked for rows that come again too.
    pub(crate) fn exists_for_each(&self, runtime: &Runtime<'_>, chunk: &Chunk) -> Result<Vec<bool>> {
        let mut found = vec![false; chunk.rows];
        if self.row.is_some() && self.runs_at_once {
            self.exists_among(runtime, chunk, &mut found)?;
            return Ok(found);
        }
        if self.row.is_some() {
            // Runs of few rows first, since all rows of one are worked on until the last of them is answered.
            let (mut start, mut rows, mut rows_max) = (0, 1, chunk.rows);
            while start < chunk.rows {
                let end = chunk.rows.min(start + rows);
                if self.exists_among(runtime, &chunk.slice(start, end), &mut found[start..end])? {
                    rows_max = (rows / 2).max(1);
                }
                rows = (2 * rows).min(rows_max);
                start = end;
            }
            return Ok(found);
        }
        for (row, found) in found.iter_mut().enumerate() {
            runtime.environment.interrupt.check()?;
            let argument = chunk.slice(row, row + 1);
            self.step.run(Scope { runtime, argument: &argument }, &mut |inner| {
                *found |= inner.rows > 0;
                Ok(if *found { Flow::Stop } else { Flow::Continue })
            })?;
        }
        Ok(found)
    }
}

impl Nested {
    /// For each row of a chunk, whether the subplan gives any row, where it runs for many rows at once.
    ///
    /// Once half of the rows are answered, or far more rows came than answer a question, the others are asked for anew: what is
    /// answered is worked on until the end of a run. True if far more rows came.
    fn exists_among(&self, runtime: &Runtime<'_>, chunk: &Chunk, found: &mut [bool]) -> Result<bool> {
        let mut wanted: Vec<u32> = (0..chunk.rows as u32).collect();
        loop {
            runtime.environment.interrupt.check()?;
            let all = wanted.len();
            let asked = if all == chunk.rows { chunk.clone() } else { chunk.gather(&wanted) };
            let (mut missing, mut given, mut is_flooded) = (all, 0, false);
            let flow = self.run(runtime, &asked, &mut |inner, rows| {
                for &row in rows {
                    missing -= usize::from(!std::mem::replace(&mut found[wanted[row as usize] as usize], true));
                }
                given += inner.rows;
                is_flooded = given > FLOOD * all && !self.runs_at_once;
                let is_half = missing * 2 <= all && !self.runs_at_once;
                Ok(if missing == 0 || is_half || is_flooded { Flow::Stop } else { Flow::Continue })
            })?;
            if flow == Flow::Continue || missing == 0 {
                return Ok(is_flooded && all > 1);
            }
            wanted.retain(|&row| !found[row as usize]);
            if is_flooded {
                for row in wanted {
                    let (at, mut is_found) = (row as usize, [false]);
                    self.exists_among(runtime, &chunk.slice(at, at + 1), &mut is_found)?;
                    found[at] = is_found[0];
                }
                return Ok(true);
            }
        }
    }
}

/// True if a subplan does work once for all rows of a run: searches of paths, or a join with rows that are the same for all of them, which
/// may be too many to be kept.
pub(crate) fn shares_work(plan: &Operator) -> bool {
    let joins_rows = match &plan.kind {
        OperatorKind::HashJoin { left, .. } => matches!(left.kind, OperatorKind::Argument { .. }),
        _ => false,
    };
    joins_rows || searches_paths(plan)
}

/// True if a subplan searches paths between known nodes: pairs of a run share searches, unless paths must differ from edges of theirs.
fn searches_paths(plan: &Operator) -> bool {
    let is_shared = matches!(&plan.kind, OperatorKind::VariableExpand { into: true, distinct_from, .. } if distinct_from.is_empty());
    is_shared || plan.inputs().into_iter().any(searches_paths)
}

/// Shows the rows of a subplan for each of `outer` rows.
fn repeat(runtime: &Runtime<'_>, outer: usize, inner: &Chunk, sink: &mut NestedSink<'_>) -> Result<Flow> {
    let batch_rows = runtime.environment.settings.batch_rows.max(1);
    let columns: Vec<usize> = (0..inner.columns.len()).collect();
    let mut pairs = (0..outer as u32).flat_map(|row| (0..inner.rows as u32).map(move |of| (row, of)));
    loop {
        runtime.environment.interrupt.check()?;
        let (rows, places): (Vec<u32>, Vec<u32>) = pairs.by_ref().take(batch_rows).unzip();
        if rows.is_empty() {
            return Ok(Flow::Continue);
        }
        let columns = gather_columns(inner, &columns, &places);
        if sink(&Chunk { rows: rows.len(), columns }, &rows)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
}

/// True of columns whose values are the same if they are equal as groups: `1` is no `1.0`, and `0.0` no `-0.0`.
fn is_told_apart(data: &ColumnData) -> bool {
    use ColumnData::{Bool, Edge, Int, Node, Null, String};
    matches!(data, Null(_) | Bool(_) | Int(_) | String(_) | Node(_) | Edge(_))
}

/// The columns with the slots that a subplan takes; `None` if it gives something else each time.
fn arguments(subplan: &Operator, outer: &Layout) -> Result<Option<Vec<usize>>> {
    if subplan.is_random() || subplan.writes() {
        return Ok(None);
    }
    let mut slots = Slots::new();
    add_arguments(subplan, &mut slots);
    slots.iter().map(|&slot| column_of(outer, slot)).collect::<Result<Vec<usize>>>().map(Some)
}

/// True if a subplan gives the same for every row around it.
fn is_constant(subplan: &Operator) -> bool {
    !subplan.is_correlated() && !subplan.is_random() && !subplan.writes()
}
