//! `PartialAggregate`: rows that are equal merged, and the number of rows that each stands for.
//!
//! Rows go into a hash table, which is passed on when it holds [`ROWS_MAX`] of them and at the end. Where few rows are equal to
//! others, the next ones pass as they are, and then it is tried again: so the cost of looking for what is not there is bounded. It
//! holds the rows of the table, and none where memory is short.
//!
//! Exact counts (`whole_for`): nothing passes unmerged, and the table is passed on between two values of that column only. Rows beyond
//! memory are spilled, partitioned by hash.
//!
//! Source: Larson, "Data reduction by partial preaggregation", 2002.

mod table;

use std::sync::Arc;

use cypher::plan::OperatorKind;
use model::{Column, ColumnData, Result};

use crate::chunk::{Chunk, Layout};
use crate::lowering::{Demand, Lowered, Lowering, column_of, columns_of, misplaced};
use crate::pushing::push_in_batches;
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use table::{Table, Weighted};

/// Rows of a table from which on it is passed on.
const ROWS_MAX: usize = 1 << 16;
/// Rows after which it is judged whether merging pays, and the share of them, in percent, that must have been merged by then. Of rows
/// that are drawn from many, a share that is small at first grows with their number.
const JUDGED: [(usize, usize); 3] = [(2_048, 1), (8_192, 5), (32_768, 20)];
/// Number of rows that pass for each row that was looked at in vain.
const PASSED_FOR_EACH: usize = 16;
/// Number of rows that pass first where a few may be enough.
const FIRST_PASSED: usize = 256;

struct PartialAggregate {
    input: Step,
    columns: Vec<usize>,
    weight: Option<usize>,
    counts: bool,
    whole_for: Option<usize>,
    /// A few rows may be enough.
    few: bool,
}

/// Lowers `PartialAggregate`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::PartialAggregate { input, slots, weight, count, whole_for } = kind else {
        return Err(misplaced(kind));
    };
    let mut slots = slots.clone();
    slots.extend(lowering.hidden_in(demand));
    let read = slots.iter().chain(weight).chain(whole_for).copied().collect();
    let multiplicity = demand.multiplicity || count.is_some();
    let few = demand.few && whole_for.is_none();
    let below = Demand { slots: read, multiplicity, few };
    let (input, layout) = lowering.lower(input, &below)?;
    let columns = columns_of(&layout, &slots)?;
    let weight = weight.map(|weight| column_of(&layout, weight)).transpose()?;
    let whole_for = whole_for.map(|slot| column_of(&layout, slot)).transpose()?;
    let count = count.filter(|count| demand.slots.contains(count));
    slots.extend(count);
    let operator = PartialAggregate { input, columns, weight, counts: count.is_some(), whole_for, few };
    Ok((Box::new(operator), Layout::new(slots)))
}

impl PartialAggregate {
    /// The columns that are compared, and the number that each row stands for.
    fn weighted(&self, chunk: &Chunk) -> Weighted {
        let weights = self.weight.map(|weight| chunk.columns[weight].clone());
        Weighted { rows: chunk.rows, keys: share_columns(chunk, &self.columns), weights }
    }

    /// Rows as they are passed on.
    fn passed_on(&self, weighted: Weighted) -> Chunk {
        let Weighted { rows, keys: mut columns, weights } = weighted;
        if self.counts {
            let ones = || Arc::new(Column::new(ColumnData::Int(vec![1; rows])));
            columns.push(weights.unwrap_or_else(ones));
        }
        Chunk { rows, columns }
    }

    /// The row with which the last run of equal values of a column begins.
    fn last_run(chunk: &Chunk, column: usize) -> usize {
        let column = &chunk.columns[column];
        let is_last: Box<dyn Fn(usize) -> bool> = match &column.data {
            ColumnData::Node(nodes) => Box::new(|row| nodes[row] == nodes[chunk.rows - 1]),
            _ => {
                let last = column.value(chunk.rows - 1);
                Box::new(move |row| column.value(row) == last)
            }
        };
        (0..chunk.rows).rev().take_while(|&row| is_last(row)).last().unwrap_or(0)
    }

    /// Merges all rows that are equal, of one value of a column after the other.
    fn run_whole(&self, scope: Scope<'_, '_>, column: usize, sink: &mut Sink<'_>) -> Result<Flow> {
        let interrupt = scope.runtime.environment.interrupt;
        let charge = scope.runtime.charge("PartialAggregate");
        let fresh = || Table::new(charge.another(), self.columns.len(), self.counts);
        let mut table = fresh();
        let pass = |table: Table<'_>, sink: &mut Sink<'_>| {
            table.give(interrupt, &mut |merged| push_in_batches(scope, self.passed_on(merged), sink))
        };
        let flow = self.input.run(scope, &mut |chunk| {
            interrupt.check()?;
            if chunk.rows == 0 {
                return Ok(Flow::Continue);
            }
            let start = PartialAggregate::last_run(&chunk, column);
            if start > 0 {
                table.add_all(&self.weighted(&chunk.slice(0, start)))?;
                if table.has_put_away() || table.len() >= ROWS_MAX {
                    let full = std::mem::replace(&mut table, fresh());
                    if pass(full, sink)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
            }
            table.add_all(&self.weighted(&chunk.slice(start, chunk.rows)))?;
            Ok(Flow::Continue)
        })?;
        if flow == Flow::Stop { Ok(flow) } else { pass(table, sink) }
    }

    /// Merges rows that are equal as far as that pays.
    fn run_in_part(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let interrupt = scope.runtime.environment.interrupt;
        let charge = scope.runtime.charge("PartialAggregate");
        let fresh = || Table::new(charge.another(), self.columns.len(), self.counts);
        let mut table = fresh();
        let passing = if self.few { FIRST_PASSED } else { 0 };
        let mut progress = Progress { passing, ..Progress::default() };
        let flow = self.input.run(scope, &mut |chunk| {
            interrupt.check()?;
            let weighted = self.weighted(&chunk);
            if progress.passes(chunk.rows) {
                return sink(self.passed_on(weighted));
            }
            let has_room = table.add(&weighted).is_ok();
            if !progress.is_over(has_room, chunk.rows, table.len()) {
                return Ok(Flow::Continue);
            }
            let full = std::mem::replace(&mut table, fresh());
            push_in_batches(scope, self.passed_on(full.into_rows()), sink)
        })?;
        if flow == Flow::Stop {
            return Ok(flow);
        }
        push_in_batches(scope, self.passed_on(table.into_rows()), sink)
    }
}

impl Physical for PartialAggregate {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        match self.whole_for {
            Some(column) => self.run_whole(scope, column, sink),
            None => self.run_in_part(scope, sink),
        }
    }
}

/// Progress of one table, and of what passes it by.
#[derive(Default)]
struct Progress {
    /// Rows that went into the table.
    taken: usize,
    /// Number of times that they were judged.
    judged: usize,
    /// Rows still to be passed on as they come.
    passing: usize,
}

impl Progress {
    /// True if rows that come now are passed on as they are.
    fn passes(&mut self, rows: usize) -> bool {
        let passes = self.passing > 0;
        self.passing = self.passing.saturating_sub(rows);
        passes
    }

    /// True if the table, which has taken so many rows more and holds `merged` now, is to be passed on.
    fn is_over(&mut self, has_room: bool, rows: usize, merged: usize) -> bool {
        self.taken += rows;
        if !has_room {
            self.passing = usize::MAX;
        } else if !self.pays(merged) {
            self.passing = self.taken * PASSED_FOR_EACH;
        }
        let is_over = self.passing > 0 || merged >= ROWS_MAX;
        if is_over {
            (self.taken, self.judged) = (0, 0);
        }
        is_over
    }

    /// False if so few rows were merged that it is better to stop.
    fn pays(&mut self, merged: usize) -> bool {
        let share = match JUDGED.get(self.judged) {
            Some((rows, share)) if self.taken >= *rows => *share,
            None if merged >= ROWS_MAX => JUDGED[JUDGED.len() - 1].1,
            _ => return true,
        };
        self.judged += 1;
        (self.taken - merged) * 100 >= self.taken * share
    }
}
