//! `percentileCont` and `percentileDisc`.

use std::any::Any;
use std::sync::Arc;

use model::{Column, Result, Value, error};

use super::{Aggregator, Groups, PieceSink, finished, give_values, grow, same_kind, try_each_value};

/// The numbers of each group, and the percentile asked for.
pub(super) struct Percentile {
    numbers: Vec<Vec<Value>>,
    /// The percentile of each group: that of its first row.
    percentiles: Vec<Option<f64>>,
    is_continuous: bool,
}

impl Percentile {
    pub(super) fn continuous() -> Percentile {
        Percentile { numbers: Vec::new(), percentiles: Vec::new(), is_continuous: true }
    }

    pub(super) fn discrete() -> Percentile {
        Percentile { is_continuous: false, ..Percentile::continuous() }
    }

    fn function(&self) -> &'static str {
        if self.is_continuous { "percentileCont" } else { "percentileDisc" }
    }

    fn result(&self, mut numbers: Vec<Value>, percentile: Option<f64>) -> Value {
        let (Some(percentile), Some(last)) = (percentile, numbers.len().checked_sub(1)) else {
            return Value::Null;
        };
        numbers.sort_unstable();
        if self.is_continuous {
            let at = percentile * last as f64;
            let (below, above) = (as_float(&numbers[at.floor() as usize]), as_float(&numbers[at.ceil() as usize]));
            // Without this an infinity next to itself would give NaN.
            let between = if below == above { below } else { below + (above - below) * at.fract() };
            Value::Float(between)
        } else {
            let rank = (percentile * numbers.len() as f64).ceil() as usize;
            numbers[rank.saturating_sub(1).min(last)].clone()
        }
    }
}

fn as_float(value: &Value) -> f64 {
    match value {
        Value::Int(x) => *x as f64,
        Value::Float(x) => *x,
        _ => f64::NAN,
    }
}

impl Aggregator for Percentile {
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.numbers, group_count);
        grow(&mut self.percentiles, group_count);
        let (column, percentiles, function) = (&arguments[0], &arguments[1], self.function());
        try_each_value(groups, column, |row, group| {
            let number = column.value(row);
            if !matches!(number, Value::Int(_) | Value::Float(_)) {
                return Err(error!(Type, "{function}() takes numbers, found {}", number.type_name()));
            }
            self.numbers[group].push(number);
            if self.percentiles[group].is_none() {
                let percentile = percentiles.value(row);
                let given = as_float(&percentile);
                if !(0.0..=1.0).contains(&given) {
                    return Err(error!(
                        Argument::NumberOutOfRange,
                        "the percentile of {function}() is {percentile}: expected 0.0 to 1.0"
                    ));
                }
                self.percentiles[group] = Some(given);
            }
            Ok(())
        })
    }

    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()> {
        grow(&mut self.numbers, group_count);
        grow(&mut self.percentiles, group_count);
        let other: Percentile = same_kind(other)?;
        for ((&group, mut numbers), percentile) in groups.iter().zip(other.numbers).zip(other.percentiles) {
            let group = group as usize;
            self.numbers[group].append(&mut numbers);
            self.percentiles[group] = self.percentiles[group].or(percentile);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let numbers: usize = self.numbers.iter().map(|list| list.capacity() * size_of::<Value>()).sum();
        numbers + self.numbers.len() * (size_of::<Vec<Value>>() + size_of::<Option<f64>>())
    }

    fn give_away(self: Box<Self>, piece: &mut PieceSink<'_>) -> Result<()> {
        let percentiles: Vec<Value> =
            self.percentiles.iter().map(|percentile| percentile.map_or(Value::Null, Value::Float)).collect();
        let lists = self.numbers.into_iter().enumerate().map(|(group, list)| (group as u32, list));
        give_values(lists, &mut |groups, mut columns| {
            columns.push(Column::from_values(groups.iter().map(|&group| &percentiles[group as usize])));
            piece(groups, columns)
        })
    }

    fn absorb(&mut self, groups: &[u32], group_count: usize, columns: &[Arc<Column>]) -> Result<()> {
        self.update(Groups::Each(groups), group_count, columns)
    }

    fn finish(mut self: Box<Self>, group_count: usize) -> Result<Column> {
        let numbers = finished(std::mem::take(&mut self.numbers), group_count);
        let percentiles = finished(std::mem::take(&mut self.percentiles), group_count);
        let results: Vec<Value> = numbers
            .into_iter()
            .zip(percentiles)
            .map(|(numbers, percentile)| self.result(numbers, percentile))
            .collect();
        Ok(Column::from_values(&results))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
