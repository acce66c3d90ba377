//! `percentileCont` and `percentileDisc`.

use std::any::Any;
use std::sync::Arc;

use model::{Column, Result, Value, error};

use super::{Aggregator, Groups, PieceSink, Spread, finished, give_values, grow, same_kind, try_each_value};

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
        let place = Place::of(self.is_continuous, percentile, last);
        place.result(&numbers[place.below], &numbers[place.above])
    }
}

/// The place of the result among numbers in order.
struct Place {
    below: usize,
    above: usize,
    /// Fraction of the way from the one to the other; `None` if the result is the number itself.
    fraction: Option<f64>,
}

impl Place {
    fn of(is_continuous: bool, percentile: f64, last: usize) -> Place {
        if is_continuous {
            let at = percentile * last as f64;
            return Place { below: at.floor() as usize, above: at.ceil() as usize, fraction: Some(at.fract()) };
        }
        let rank = (percentile * (last + 1) as f64).ceil() as usize;
        let place = rank.saturating_sub(1).min(last);
        Place { below: place, above: place, fraction: None }
    }

    fn result(&self, below: &Value, above: &Value) -> Value {
        let Some(fraction) = self.fraction else { return below.clone() };
        let (below, above) = (as_float(below), as_float(above));
        // Without this an infinity next to itself would give NaN.
        Value::Float(if below == above { below } else { below + (above - below) * fraction })
    }
}

/// The percentiles of numbers that come in order, once all were counted.
pub(crate) struct Ranks {
    is_continuous: bool,
    groups: Vec<Rank>,
}

#[derive(Clone, Default)]
struct Rank {
    percentile: Option<f64>,
    count: usize,
    passed: usize,
    below: Option<Value>,
    result: Option<Value>,
}

impl Ranks {
    pub(crate) fn new(is_continuous: bool, group_count: usize) -> Ranks {
        Ranks { is_continuous, groups: vec![Rank::default(); group_count] }
    }

    /// Counts a number of a group; the first says the percentile.
    pub(crate) fn count(&mut self, group: usize, percentile: impl FnOnce() -> Value) {
        let rank = &mut self.groups[group];
        rank.count += 1;
        rank.percentile.get_or_insert_with(|| as_float(&percentile()));
    }

    /// Takes the next number of a group, in order.
    pub(crate) fn pass(&mut self, group: usize, number: impl FnOnce() -> Value) {
        let rank = &mut self.groups[group];
        let (Some(percentile), Some(last)) = (rank.percentile, rank.count.checked_sub(1)) else { return };
        let place = Place::of(self.is_continuous, percentile, last);
        let at = rank.passed;
        rank.passed += 1;
        if at != place.below && at != place.above {
            return;
        }
        let number = number();
        let below = rank.below.get_or_insert_with(|| number.clone());
        if at == place.above {
            rank.result = Some(place.result(below, &number));
        }
    }

    /// The result of each group.
    pub(crate) fn finish(self) -> Column {
        let results: Vec<Value> = self.groups.into_iter().map(|rank| rank.result.unwrap_or(Value::Null)).collect();
        Column::from_values(&results)
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

    fn spread(&self) -> Spread {
        Spread::ByRank { is_continuous: self.is_continuous }
    }

    fn shed(&mut self, piece: &mut PieceSink<'_>) -> Result<()> {
        let empty = Percentile { is_continuous: self.is_continuous, ..Percentile::continuous() };
        Box::new(std::mem::replace(self, empty)).give_away(piece)
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
