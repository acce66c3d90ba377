//! The groups of an aggregation and the states of its functions.

use std::sync::Arc;

use model::{Column, ColumnData, Interrupt, Result};

use super::Aggregate;
use super::runs::Runs;
use super::values::{Room, Values};
use crate::aggregates::{Aggregator, Count, Groups};
use crate::chunk::Chunk;
use crate::group_table::{GroupTable, hash_rows};
use crate::memory::Charge;
use crate::rows::int_at;
use crate::spill::Partitions;

/// See the module.
pub(super) struct State<'m> {
    table: GroupTable,
    functions: Vec<FunctionState<'m>>,
    has_keys: bool,
    /// For each group, the number of its first row.
    firsts: Vec<i64>,
    rows_before: i64,
    /// The group of each row of the batch being taken in.
    groups: Vec<u32>,
    new: Vec<u32>,
}

enum FunctionState<'m> {
    /// `count(*)`: rows by group.
    Rows(Vec<i64>),
    Other(Values<'m>),
}

/// The tag of rows that are groups; those of functions follow it.
pub(super) const GROUPS: u32 = 0;

/// Puts a piece of the states of a function away: each row to the part of its group, with its place there.
fn put_piece(
    places: &[(u32, i64)],
    groups: &[u32],
    columns: Vec<Column>,
    tag: u32,
    parts: &mut Partitions<'_>,
) -> Result<()> {
    let mut rows = vec![Vec::new(); parts.count()];
    for (row, &group) in groups.iter().enumerate() {
        rows[places[group as usize].0 as usize].push(row as u32);
    }
    let numbers = groups.iter().map(|&group| places[group as usize].1).collect();
    let mut chunk = Chunk { rows: groups.len(), columns: vec![Arc::new(Column::new(ColumnData::Int(numbers)))] };
    chunk.columns.extend(columns.into_iter().map(Arc::new));
    for (part, rows) in rows.into_iter().enumerate() {
        if !rows.is_empty() {
            parts.push_to(part, tag, chunk.gather(&rows))?;
        }
    }
    Ok(())
}

impl<'m> State<'m> {
    /// No groups, except for the one group of an aggregation without keys.
    pub(super) fn new(aggregate: &Aggregate) -> Result<State<'m>> {
        let functions = aggregate.functions.iter().map(|function| {
            if function.counts_rows() {
                return Ok(FunctionState::Rows(Vec::new()));
            }
            Ok(FunctionState::Other(Values::new(function.state()?)))
        });
        Ok(State {
            table: GroupTable::default(),
            functions: functions.collect::<Result<_>>()?,
            has_keys: !aggregate.keys.is_empty(),
            firsts: Vec::new(),
            rows_before: 0,
            groups: Vec::new(),
            new: Vec::new(),
        })
    }

    pub(super) fn group_count(&self) -> usize {
        if self.has_keys { self.table.len() } else { 1 }
    }

    /// Finds the group of each row of a batch.
    pub(super) fn assign(&mut self, keys: Vec<Arc<Column>>, rows: usize) {
        if self.has_keys {
            self.table.insert(&keys, rows, &mut self.groups, &mut self.new);
            self.firsts.extend(self.new.iter().map(|&row| self.rows_before + i64::from(row)));
        }
        self.rows_before += rows as i64;
    }

    /// Approximate bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        let functions = self.functions.iter().map(|function| match function {
            FunctionState::Rows(counts) => counts.len() * size_of::<i64>(),
            FunctionState::Other(state) => state.bytes(),
        });
        self.table.bytes() + self.firsts.len() * size_of::<i64>() + functions.sum::<usize>()
    }

    /// True if there are keys, and so groups that can be put away.
    pub(super) fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// Puts all groups away. Of each part first its groups, as keys and the number of their first row, then for each
    /// function the states of these groups, which are named by their place.
    pub(super) fn put_away(
        &mut self,
        aggregate: &Aggregate,
        parts: &mut Partitions<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let empty = State { rows_before: self.rows_before, ..State::new(aggregate)? };
        let state = std::mem::replace(self, empty);
        let rows = state.group_count();
        let mut columns: Vec<Arc<Column>> =
            state.table.into_keys(aggregate.keys.len()).into_iter().map(Arc::new).collect();
        let hashes = hash_rows(&columns, rows);
        columns.push(Arc::new(Column::new(ColumnData::Int(state.firsts))));
        let chunk = Chunk { rows, columns };
        let mut places = vec![(0_u32, 0_i64); rows];
        for (part, groups) in parts.split(&hashes).into_iter().enumerate() {
            let numbered = groups.iter().zip(0..);
            numbered.for_each(|(&group, place)| places[group as usize] = (part as u32, place));
            if !groups.is_empty() {
                parts.push_to(part, GROUPS, chunk.gather(&groups))?;
            }
        }
        parts.flush(GROUPS)?;
        for (function, tag) in state.functions.into_iter().zip(GROUPS + 1..) {
            let mut piece = |groups: &[u32], columns| put_piece(&places, groups, columns, tag, parts);
            match function {
                FunctionState::Rows(counts) => Box::new(Count::of_rows(counts)).give_away(&mut piece)?,
                FunctionState::Other(values) => values.give_away(interrupt, &mut piece)?,
            }
            parts.flush(tag)?;
        }
        Ok(())
    }

    /// Takes in groups that were put away, whose first rows come `offset` later than they say. Gives for each its group.
    pub(super) fn absorb_groups(&mut self, mut chunk: Chunk, offset: i64) -> Vec<u32> {
        let firsts = chunk.columns.pop().unwrap_or_else(|| Arc::new(Column::nulls(0)));
        self.table.insert(&chunk.columns, chunk.rows, &mut self.groups, &mut self.new);
        self.firsts.extend(self.new.iter().map(|&row| offset + int_at(&firsts, row as usize)));
        self.groups.clone()
    }

    /// Takes in states of a function that were put away, of these groups.
    pub(super) fn absorb(&mut self, tag: u32, chunk: &Chunk, groups: &[u32]) -> Result<()> {
        let count = self.group_count();
        let places = &chunk.columns[0];
        let groups: Vec<u32> = (0..chunk.rows).map(|row| groups[int_at(places, row) as usize]).collect();
        match &mut self.functions[(tag - GROUPS - 1) as usize] {
            FunctionState::Rows(counts) => {
                counts.resize(count, 0);
                let added = groups.iter().enumerate();
                added.for_each(|(row, &group)| counts[group as usize] += int_at(&chunk.columns[1], row));
                Ok(())
            }
            FunctionState::Other(values) => values.state().absorb(&groups, count, &chunk.columns[1..]),
        }
    }

    /// The same, where keys hold a row for each run of rows with the same key.
    pub(super) fn assign_runs(&mut self, keys: Vec<Arc<Column>>, runs: &Runs) {
        if !self.has_keys {
            return;
        }
        let mut of_runs = std::mem::take(&mut self.groups);
        self.table.insert(&keys, runs.chunk.rows, &mut of_runs, &mut self.new);
        // A run begins where the one before it ends.
        let start = |run: u32| run.checked_sub(1).map_or(0, |before| runs.ends[before as usize]);
        self.firsts.extend(self.new.iter().map(|&run| self.rows_before + i64::from(start(run))));
        self.rows_before += runs.rows as i64;
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
        let FunctionState::Other(values) = &mut self.functions[function] else {
            unreachable!("the states were made from the same functions");
        };
        let groups = if self.has_keys { Groups::Each(&self.groups) } else { Groups::One(rows) };
        values.state().update(groups, count, arguments)
    }

    /// Takes states of a function in, one for each row of the batch.
    pub(super) fn take_in(&mut self, function: usize, rows: usize, states: Box<dyn Aggregator>) -> Result<()> {
        let count = self.group_count();
        let FunctionState::Other(values) = &mut self.functions[function] else {
            unreachable!("the states were made from the same functions");
        };
        match self.has_keys {
            true => values.state().merge(states, &self.groups, count),
            false => values.state().merge(states, &vec![0; rows], count),
        }
    }

    /// True if values of any function were put aside.
    pub(super) fn has_aside(&self) -> bool {
        self.functions.iter().any(|function| matches!(function, FunctionState::Other(values) if values.has_aside()))
    }

    /// Puts the values of groups aside, of all functions for which that can be done.
    pub(super) fn shed(&mut self, charge: &Charge<'m>) -> Result<()> {
        self.functions.iter_mut().try_for_each(|function| match function {
            FunctionState::Rows(_) => Ok(()),
            FunctionState::Other(values) => values.shed(charge),
        })
    }

    /// Takes the groups of another part in. Only if there are no keys may values have been put aside.
    pub(super) fn merge(&mut self, other: State<'m>, charge: &Charge<'m>) -> Result<()> {
        let groups = if self.has_keys {
            let rows = other.table.len();
            if rows == 0 {
                return Ok(());
            }
            let firsts = other.firsts;
            let keys: Vec<Arc<Column>> = other.table.into_keys(0).into_iter().map(Arc::new).collect();
            self.table.insert(&keys, rows, &mut self.groups, &mut self.new);
            self.firsts.extend(self.new.iter().map(|&row| self.rows_before + firsts[row as usize]));
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
                (FunctionState::Other(mine), FunctionState::Other(theirs)) => {
                    mine.merge(theirs, &groups, count, charge)?
                }
                _ => unreachable!("the states were made from the same functions"),
            }
        }
        self.rows_before += other.rows_before;
        Ok(())
    }

    /// As `finish`, with a last column: the numbers of the first rows of the groups.
    pub(super) fn finish_numbered(mut self, aggregate: &Aggregate, room: Room<'_, 'm>) -> Result<Chunk> {
        let firsts = Column::new(ColumnData::Int(std::mem::take(&mut self.firsts)));
        let mut chunk = self.finish(aggregate, room)?;
        chunk.columns.push(Arc::new(firsts));
        Ok(chunk)
    }

    /// Rows taken in so far.
    pub(super) fn rows_before(&self) -> i64 {
        self.rows_before
    }

    /// Keys and results, a row for each group.
    pub(super) fn finish(self, aggregate: &Aggregate, room: Room<'_, 'm>) -> Result<Chunk> {
        let rows = self.group_count();
        let mut columns: Vec<Arc<Column>> = Vec::with_capacity(aggregate.keys.len() + self.functions.len());
        columns.extend(self.table.into_keys(aggregate.keys.len()).into_iter().map(Arc::new));
        for (state, function) in self.functions.into_iter().zip(&aggregate.functions) {
            columns.push(Arc::new(match state {
                FunctionState::Rows(mut counts) => {
                    counts.resize(rows, 0);
                    Column::new(ColumnData::Int(counts))
                }
                FunctionState::Other(values) => {
                    let column = values.finish(function, rows, room);
                    column.and_then(Column::within_extent).map_err(|error| error.at(function.span))?
                }
            }));
        }
        Ok(Chunk { rows, columns })
    }
}
