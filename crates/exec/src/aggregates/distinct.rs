//! `DISTINCT` before the argument of any function: passes each value of a group on once.

use std::any::Any;
use std::sync::Arc;

use model::{Column, Result, Set, Value};

use super::{Aggregator, Groups, PIECE_ROWS, PieceSink, Spread, for_each_value, same_kind};
use crate::size::heap_bytes;

/// An aggregator that sees each value of a group once. Equal is what grouping calls equal.
pub(super) struct Distinct {
    create: fn() -> Box<dyn Aggregator>,
    inner: Box<dyn Aggregator>,
    seen: Set<(u32, Value)>,
    /// Group and arguments of each value that was passed on, in order, so that it can be passed on to another
    /// aggregator.
    passed: Vec<(u32, Vec<Value>)>,
    /// Approximate bytes of the arguments that were passed on.
    heap: usize,
}

/// Approximate bytes of arguments that stand alone.
fn bytes_of(arguments: &[Value]) -> usize {
    size_of_val(arguments) + arguments.iter().map(heap_bytes).sum::<usize>()
}

impl Distinct {
    pub(super) fn new(create: fn() -> Box<dyn Aggregator>) -> Distinct {
        Distinct { create, inner: create(), seen: Set::default(), passed: Vec::new(), heap: 0 }
    }

    fn pass_on(&mut self, groups: &[u32], group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        if groups.is_empty() { Ok(()) } else { self.inner.update(Groups::Each(groups), group_count, arguments) }
    }
}

impl Aggregator for Distinct {
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        let (mut new_rows, mut new_groups) = (Vec::new(), Vec::new());
        for_each_value(groups, &arguments[0], |row, group| {
            let key = (group as u32, arguments[0].value(row));
            if !self.seen.contains(&key) {
                self.seen.insert(key);
                let arguments: Vec<Value> = arguments.iter().map(|argument| argument.value(row)).collect();
                self.heap += bytes_of(&arguments);
                self.passed.push((group as u32, arguments));
                new_rows.push(row as u32);
                new_groups.push(group as u32);
            }
        });
        let gathered: Vec<_> = arguments.iter().map(|argument| Arc::new(argument.gather(&new_rows))).collect();
        self.pass_on(&new_groups, group_count, &gathered)
    }

    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()> {
        let other: Distinct = same_kind(other)?;
        let Some(argument_count) = other.passed.first().map(|(_, arguments)| arguments.len()) else {
            return Ok(());
        };
        let mut new_groups = Vec::new();
        let mut columns = vec![Vec::new(); argument_count];
        for (group, arguments) in other.passed {
            let group = groups[group as usize];
            if self.seen.insert((group, arguments[0].clone())) {
                columns.iter_mut().zip(&arguments).for_each(|(column, value)| column.push(value.clone()));
                self.heap += bytes_of(&arguments);
                self.passed.push((group, arguments));
                new_groups.push(group);
            }
        }
        let columns: Vec<_> = columns.iter().map(|values| Arc::new(Column::from_values(values))).collect();
        self.pass_on(&new_groups, group_count, &columns)
    }

    fn bytes(&self) -> usize {
        let set = self.seen.capacity() * (size_of::<(u32, Value)>() + size_of::<u64>());
        self.inner.bytes() + set + self.passed.capacity() * size_of::<(u32, Vec<Value>)>() + self.heap
    }

    fn give_away(self: Box<Self>, piece: &mut PieceSink<'_>) -> Result<()> {
        for passed in self.passed.chunks(PIECE_ROWS) {
            let groups: Vec<u32> = passed.iter().map(|(group, _)| *group).collect();
            let column = |index: usize| Column::from_values(passed.iter().map(|(_, arguments)| &arguments[index]));
            piece(&groups, (0..passed[0].1.len()).map(column).collect())?;
        }
        Ok(())
    }

    fn absorb(&mut self, groups: &[u32], group_count: usize, columns: &[Arc<Column>]) -> Result<()> {
        self.update(Groups::Each(groups), group_count, columns)
    }

    fn spread(&self) -> Spread {
        // A list of all values is as long as what would be put aside, and in their order.
        if self.inner.spread() == Spread::Whole { Spread::Whole } else { Spread::ByHash }
    }

    fn shed(&mut self, piece: &mut PieceSink<'_>) -> Result<()> {
        let empty = Distinct::new(self.create);
        Box::new(std::mem::replace(self, empty)).give_away(piece)
    }

    fn settle(self: Box<Self>) -> Box<dyn Aggregator> {
        self.inner
    }

    fn finish(self: Box<Self>, group_count: usize) -> Result<Column> {
        self.inner.finish(group_count)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
