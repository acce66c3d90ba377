//! `min` and `max`, in the total order of values.

use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

use model::{Column, ColumnData, Result, Value};

use super::{Aggregator, Groups, PieceSink, finished, for_each_value, give_columns, grow, same_kind};
use crate::size::heap_bytes;

/// The best value of each group; null while there is none.
pub(super) struct Extreme {
    best: Vec<Value>,
    /// Order of a better value relative to the best so far.
    better: Ordering,
}

impl Extreme {
    pub(super) fn smallest() -> Extreme {
        Extreme { best: Vec::new(), better: Ordering::Less }
    }

    pub(super) fn largest() -> Extreme {
        Extreme { best: Vec::new(), better: Ordering::Greater }
    }

    fn offer(&mut self, group: usize, value: Value) {
        let best = &mut self.best[group];
        if best.is_null() || value.order(best) == self.better {
            *best = value;
        }
    }
}

/// The smallest float; NaN only if there is nothing else.
fn smallest(values: &[f64]) -> f64 {
    let least = values.iter().fold(f64::INFINITY, |least, &x| if x < least { x } else { least });
    if least == f64::INFINITY && values.iter().all(|x| x.is_nan()) { f64::NAN } else { least }
}

/// The largest float; NaN is the largest of all.
fn largest(values: &[f64]) -> f64 {
    if values.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    values.iter().fold(f64::NEG_INFINITY, |most, &x| if x > most { x } else { most })
}

impl Aggregator for Extreme {
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.best, group_count);
        let column = &*arguments[0];
        match (&column.data, groups) {
            (ColumnData::Int(values), Groups::One(_)) if column.validity.is_none() => {
                let found = if self.better.is_lt() { values.iter().min() } else { values.iter().max() };
                if let Some(&found) = found {
                    self.offer(0, Value::Int(found));
                }
            }
            (ColumnData::Float(values), Groups::One(_)) if column.validity.is_none() && !values.is_empty() => {
                let found = if self.better.is_lt() { smallest(values) } else { largest(values) };
                self.offer(0, Value::Float(found));
            }
            (ColumnData::Int(values), groups) => {
                for_each_value(groups, column, |row, group| match &mut self.best[group] {
                    Value::Int(best) if values[row].cmp(best) == self.better => *best = values[row],
                    Value::Int(_) => {}
                    _ => self.offer(group, Value::Int(values[row])),
                })
            }
            (ColumnData::String(texts), groups) => for_each_value(groups, column, |row, group| {
                let is_better = match &self.best[group] {
                    Value::String(best) => texts.get(row).cmp(best) == self.better,
                    _ => true,
                };
                if is_better {
                    self.offer(group, column.value(row));
                }
            }),
            (_, groups) => for_each_value(groups, column, |row, group| self.offer(group, column.value(row))),
        }
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()> {
        grow(&mut self.best, group_count);
        for (&group, value) in groups.iter().zip(same_kind::<Extreme>(other)?.best) {
            if !value.is_null() {
                self.offer(group as usize, value);
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let text = self.best.first().map_or(0, heap_bytes);
        self.best.len() * (size_of::<Value>() + text)
    }

    fn give_away(self: Box<Self>, piece: &mut PieceSink<'_>) -> Result<()> {
        give_columns(self.best.len(), vec![Column::from_values(&self.best)], piece)
    }

    fn absorb(&mut self, groups: &[u32], group_count: usize, columns: &[Arc<Column>]) -> Result<()> {
        self.update(Groups::Each(groups), group_count, columns)
    }

    fn finish(self: Box<Self>, group_count: usize) -> Result<Column> {
        Ok(Column::from_values(&finished(self.best, group_count)))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
