//! The groups of an aggregation and the states of its functions.

use std::sync::Arc;

use model::{Column, ColumnData, Result};

use super::Aggregate;
use super::runs::Runs;
use crate::aggregates::{self, Aggregator, Groups};
use crate::chunk::Chunk;
use crate::group_table::GroupTable;
use crate::rows::int_at;

/// See the module.
pub(crate) struct State {
    table: GroupTable,
    functions: Vec<FunctionState>,
    has_keys: bool,
    /// The group of each row of the batch being taken in.
    groups: Vec<u32>,
    new: Vec<u32>,
}

enum FunctionState {
    /// `count(*)`: rows by group.
    Rows(Vec<i64>),
    Other(Box<dyn Aggregator>),
}

impl State {
    /// No groups, but for the one group of an aggregation without keys.
    pub(super) fn new(aggregate: &Aggregate) -> Result<State> {
        let functions = aggregate.functions.iter().map(|function| {
            if function.counts_rows() {
                return Ok(FunctionState::Rows(Vec::new()));
            }
            let state = aggregates::create(&function.name, function.distinct, function.arguments.len());
            Ok(FunctionState::Other(state.map_err(|error| error.at(function.span))?))
        });
        Ok(State {
            table: GroupTable::default(),
            functions: functions.collect::<Result<_>>()?,
            has_keys: !aggregate.keys.is_empty(),
            groups: Vec::new(),
            new: Vec::new(),
        })
    }

    fn group_count(&self) -> usize {
        if self.has_keys { self.table.len() } else { 1 }
    }

    /// Finds the group of each row of a batch.
    pub(super) fn assign(&mut self, keys: Vec<Arc<Column>>, rows: usize) {
        if self.has_keys {
            self.table.insert(&keys, rows, &mut self.groups, &mut self.new);
        }
    }

    /// The same, where keys hold a row for each run of rows with the same key.
    pub(super) fn assign_runs(&mut self, keys: Vec<Arc<Column>>, runs: &Runs) {
        if !self.has_keys {
            return;
        }
        let mut of_runs = std::mem::take(&mut self.groups);
        self.table.insert(&keys, runs.chunk.rows, &mut of_runs, &mut self.new);
        self.groups = Vec::with_capacity(runs.rows);
        for (&group, &end) in of_runs.iter().zip(&runs.ends) {
            self.groups.resize(end as usize, group);
        }
    }

    /// Counts the rows of the batch, each as often as its weight says.
    pub(super) fn count(&mut self, function: usize, rows: usize, weight: Option<&Column>) {
        let count = self.group_count();
        let FunctionState::Rows(counts) = &mut self.functions[function] else {
            unreachable!("the states were made from the same functions");
        };
        counts.resize(count, 0);
        match (self.has_keys, weight) {
            (false, None) => counts[0] += rows as i64,
            (false, Some(weight)) => counts[0] += (0..rows).map(|row| int_at(weight, row)).sum::<i64>(),
            (true, None) => self.groups.iter().for_each(|&group| counts[group as usize] += 1),
            (true, Some(weight)) => {
                let groups = self.groups.iter().enumerate();
                groups.for_each(|(row, &group)| counts[group as usize] += int_at(weight, row));
            }
        }
    }

    /// Takes the arguments of a function in.
    pub(super) fn update(&mut self, function: usize, rows: usize, arguments: &[Arc<Column>]) -> Result<()> {
        let count = self.group_count();
        let FunctionState::Other(state) = &mut self.functions[function] else {
            unreachable!("the states were made from the same functions");
        };
        let groups = if self.has_keys { Groups::Each(&self.groups) } else { Groups::One(rows) };
        state.update(groups, count, arguments)
    }

    /// Takes the groups of another part in.
    pub(super) fn merge(&mut self, other: State) -> Result<()> {
        let groups = if self.has_keys {
            let rows = other.table.len();
            if rows == 0 {
                return Ok(());
            }
            let keys: Vec<Arc<Column>> = other.table.into_keys(0).into_iter().map(Arc::new).collect();
            self.table.insert(&keys, rows, &mut self.groups, &mut self.new);
            std::mem::take(&mut self.groups)
        } else {
            vec![0]
        };
        let count = self.group_count();
        for (mine, theirs) in self.functions.iter_mut().zip(other.functions) {
            match (mine, theirs) {
                (FunctionState::Rows(mine), FunctionState::Rows(theirs)) => {
                    mine.resize(count, 0);
                    theirs.iter().zip(&groups).for_each(|(rows, &group)| mine[group as usize] += rows);
                }
                (FunctionState::Other(mine), FunctionState::Other(theirs)) => mine.merge(theirs, &groups, count)?,
                _ => unreachable!("the states were made from the same functions"),
            }
        }
        Ok(())
    }

    /// Keys and results, a row for each group.
    pub(super) fn finish(self, aggregate: &Aggregate) -> Result<Chunk> {
        let rows = self.group_count();
        let mut columns: Vec<Arc<Column>> = Vec::with_capacity(aggregate.keys.len() + self.functions.len());
        columns.extend(self.table.into_keys(aggregate.keys.len()).into_iter().map(Arc::new));
        for (state, function) in self.functions.into_iter().zip(&aggregate.functions) {
            columns.push(Arc::new(match state {
                FunctionState::Rows(mut counts) => {
                    counts.resize(rows, 0);
                    Column::new(ColumnData::Int(counts))
                }
                FunctionState::Other(state) => state.finish(rows).map_err(|error| error.at(function.span))?,
            }));
        }
        Ok(Chunk { rows, columns })
    }
}
