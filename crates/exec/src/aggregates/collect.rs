//! `collect`.

use std::any::Any;
use std::sync::Arc;

use model::{Column, ColumnData, Result, Value};

use super::{Aggregator, Groups, PieceSink, Spread, finished, for_each_value, give_values, grow, same_kind};
use crate::size::column_bytes;

/// The values of each group, in the order of rows.
#[derive(Default)]
pub(super) struct Collect {
    lists: Vec<Vec<Value>>,
    /// Approximate bytes that the values share.
    shared: usize,
}

/// Bytes that the values of a column share with the column, or will take once they stand alone.
pub(crate) fn shared_bytes(column: &Column) -> usize {
    match &column.data {
        ColumnData::String(text) => text.byte_count() + text.len() * 2 * size_of::<usize>(),
        ColumnData::Value(values) => column_bytes(column) - values.len() * size_of::<Value>(),
        _ => 0,
    }
}

impl Aggregator for Collect {
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.lists, group_count);
        let column = &arguments[0];
        self.shared += shared_bytes(column);
        for_each_value(groups, column, |row, group| self.lists[group].push(column.value(row)));
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()> {
        grow(&mut self.lists, group_count);
        let other: Collect = same_kind(other)?;
        self.shared += other.shared;
        for (&group, mut list) in groups.iter().zip(other.lists) {
            self.lists[group as usize].append(&mut list);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let lists: usize = self.lists.iter().map(|list| list.capacity() * size_of::<Value>()).sum();
        lists + self.lists.len() * size_of::<Vec<Value>>() + self.shared
    }

    fn give_away(self: Box<Self>, piece: &mut PieceSink<'_>) -> Result<()> {
        give_values(self.lists.into_iter().enumerate().map(|(group, list)| (group as u32, list)), piece)
    }

    fn absorb(&mut self, groups: &[u32], group_count: usize, columns: &[Arc<Column>]) -> Result<()> {
        self.update(Groups::Each(groups), group_count, columns)
    }

    fn spread(&self) -> Spread {
        Spread::Whole
    }

    fn finish(self: Box<Self>, group_count: usize) -> Result<Column> {
        let lists = finished(self.lists, group_count).into_iter().map(Value::list).collect();
        Ok(Column::new(ColumnData::Value(lists)))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
