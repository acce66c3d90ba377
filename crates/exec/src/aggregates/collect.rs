//! `collect`.

use std::any::Any;
use std::sync::Arc;

use model::{Column, ColumnData, Result, Value};

use super::{Aggregator, Groups, finished, for_each_value, grow, same_kind};

/// The values of each group, in the order of rows.
#[derive(Default)]
pub(super) struct Collect {
    lists: Vec<Vec<Value>>,
}

impl Aggregator for Collect {
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.lists, group_count);
        let column = &arguments[0];
        for_each_value(groups, column, |row, group| self.lists[group].push(column.value(row)));
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()> {
        grow(&mut self.lists, group_count);
        for (&group, mut list) in groups.iter().zip(same_kind::<Collect>(other)?.lists) {
            self.lists[group as usize].append(&mut list);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, group_count: usize) -> Result<Column> {
        let lists = finished(self.lists, group_count).into_iter().map(Value::list).collect();
        Ok(Column::new(ColumnData::Value(lists)))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
