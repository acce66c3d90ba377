//! `PartialAggregate`: rows that are equal merged, and the number of rows that each stands for, as far as that pays.
//!
//! Rows go into a hash table of at most [`GROUPS_MAX`] of them, which is passed on when it is full and at the end. Where few rows
//! are equal to others, the next ones pass as they are, and then it is tried again: so the cost of looking for what is not there
//! is bounded. It holds the rows of the table, and none where memory is short.
//!
//! Source: Larson, "Data reduction by partial preaggregation", 2002.

use std::sync::Arc;

use cypher::plan::OperatorKind;
use model::{Column, ColumnData, Result};

use crate::chunk::{Chunk, Layout};
use crate::group_table::GroupTable;
use crate::lowering::{Demand, Lowered, Lowering, column_of, columns_of, misplaced};
use crate::memory::Charge;
use crate::pushing::push_in_batches;
use crate::rows::{int_at, share_columns};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

/// The most rows that a table holds.
const GROUPS_MAX: usize = 1 << 16;
/// Rows after which it is judged whether merging pays, and the share of them, in percent, that must have been merged by then. Of rows
/// that are drawn from many, a share that is small at first grows with their number.
const JUDGED: [(usize, usize); 3] = [(2_048, 1), (8_192, 5), (32_768, 20)];
/// Number of rows that pass for each row that was looked at in vain.
const PASSED_FOR_EACH: usize = 16;

struct PartialAggregate {
    input: Step,
    columns: Vec<usize>,
    weight: Option<usize>,
    counts: bool,
}

/// Lowers `PartialAggregate`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::PartialAggregate { input, slots, weight, count } = kind else { return Err(misplaced(kind)) };
    let mut slots = slots.clone();
    slots.extend(lowering.hidden_in(demand));
    let below = Demand { slots: slots.iter().chain(weight).copied().collect(), multiplicity: demand.multiplicity };
    let (input, layout) = lowering.lower(input, &below)?;
    let columns = columns_of(&layout, &slots)?;
    let weight = weight.map(|weight| column_of(&layout, weight)).transpose()?;
    let count = count.filter(|count| demand.slots.contains(count));
    slots.extend(count);
    Ok((Box::new(PartialAggregate { input, columns, weight, counts: count.is_some() }), Layout::new(slots)))
}

/// Rows being merged.
struct Merging<'a, 'm> {
    operator: &'a PartialAggregate,
    charge: Charge<'m>,
    table: GroupTable,
    /// For each row of the table, the number of rows that it stands for.
    counts: Vec<i64>,
    /// Rows that went into the table.
    taken: usize,
    /// Number of times that they were judged.
    judged: usize,
    /// Rows still to be passed on as they come.
    passing: usize,
    groups: Vec<u32>,
    new: Vec<u32>,
}

impl Merging<'_, '_> {
    /// Takes rows in; gives what is to be passed on.
    fn take(&mut self, chunk: &Chunk) -> Option<Chunk> {
        let columns = share_columns(chunk, &self.operator.columns);
        let weights = self.operator.weight.map(|weight| &chunk.columns[weight]);
        if self.passing > 0 {
            self.passing = self.passing.saturating_sub(chunk.rows);
            return Some(self.alone(chunk.rows, columns, weights));
        }
        self.table.insert(&columns, chunk.rows, &mut self.groups, &mut self.new);
        if self.operator.counts {
            self.counts.resize(self.table.len(), 0);
            for (row, &group) in self.groups.iter().enumerate() {
                self.counts[group as usize] += weights.map_or(1, |weights| int_at(weights, row));
            }
        }
        self.taken += chunk.rows;
        let is_refused = self.charge.try_hold(self.table.bytes() + self.counts.len() * size_of::<i64>()).is_err();
        if is_refused {
            self.passing = usize::MAX;
        } else if !self.pays() {
            self.passing = self.taken * PASSED_FOR_EACH;
        }
        (self.passing > 0 || self.table.len() >= GROUPS_MAX).then(|| self.give())
    }

    /// False if so few rows were merged that it is better to stop.
    fn pays(&mut self) -> bool {
        let share = match JUDGED.get(self.judged) {
            Some((rows, share)) if self.taken >= *rows => *share,
            None if self.table.len() >= GROUPS_MAX => JUDGED[JUDGED.len() - 1].1,
            _ => return true,
        };
        self.judged += 1;
        (self.taken - self.table.len()) * 100 >= self.taken * share
    }

    /// The rows with the number that each stands for, without a look at others.
    fn alone(&self, rows: usize, mut columns: Vec<Arc<Column>>, weights: Option<&Arc<Column>>) -> Chunk {
        if self.operator.counts {
            let ones = || Arc::new(Column::new(ColumnData::Int(vec![1; rows])));
            columns.push(weights.cloned().unwrap_or_else(ones));
        }
        Chunk { rows, columns }
    }

    /// The rows of the table, which begins anew.
    fn give(&mut self) -> Chunk {
        let table = std::mem::take(&mut self.table);
        let rows = table.len();
        let mut columns: Vec<Arc<Column>> =
            table.into_keys(self.operator.columns.len()).into_iter().map(Arc::new).collect();
        let counts = std::mem::take(&mut self.counts);
        if self.operator.counts {
            columns.push(Arc::new(Column::new(ColumnData::Int(counts))));
        }
        (self.taken, self.judged) = (0, 0);
        Chunk { rows, columns }
    }
}

impl Physical for PartialAggregate {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let interrupt = scope.runtime.environment.interrupt;
        let mut merging = Merging {
            operator: self,
            charge: scope.runtime.charge("PartialAggregate"),
            table: GroupTable::default(),
            counts: Vec::new(),
            taken: 0,
            judged: 0,
            passing: 0,
            groups: Vec::new(),
            new: Vec::new(),
        };
        let flow = self.input.run(scope, &mut |chunk| {
            interrupt.check()?;
            match merging.take(&chunk) {
                Some(rows) => push_in_batches(scope, rows, sink),
                None => Ok(Flow::Continue),
            }
        })?;
        if flow == Flow::Stop || merging.taken == 0 {
            return Ok(flow);
        }
        let rows = merging.give();
        merging.charge.count(0);
        push_in_batches(scope, rows, sink)
    }
}
