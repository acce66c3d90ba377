//! `sum` and `avg`; with a second argument, which only plans give, that is the number of times that each value counts.
//!
//! Integers are added exactly in 128 bits; floats with the compensation of Neumaier, so that the order of rows hardly
//! matters.

use std::any::Any;
use std::sync::Arc;

use model::{Column, ColumnData, Result, Value, error};

use super::{Aggregator, Groups, PieceSink, finished, float_at, give_columns, grow, same_kind, try_each_value};
use crate::rows::int_at;
use durations::Durations;

mod durations;

/// The sum of the numbers of one group.
#[derive(Clone, Copy, Default)]
pub(crate) struct Total {
    integers: i128,
    floats: f64,
    /// The part of `floats` that was lost to rounding.
    compensation: f64,
    count: i64,
    has_float: bool,
}

impl Total {
    #[inline]
    fn add_integer(&mut self, x: i64) {
        self.integers += i128::from(x);
        self.count += 1;
    }

    /// Adds the sum of `count` integers.
    #[inline]
    pub(crate) fn add_integers(&mut self, sum: i128, count: i64) {
        self.integers += sum;
        self.count += count;
    }

    /// Number of numbers added.
    pub(crate) fn count(&self) -> i64 {
        self.count
    }

    /// Adds a float.
    #[inline]
    pub(crate) fn add_float(&mut self, x: f64) {
        self.add_floats(x, 1);
    }

    /// Adds the sum of `count` floats.
    #[inline]
    fn add_floats(&mut self, sum: f64, count: i64) {
        self.has_float = true;
        self.count += count;
        self.add_part(sum);
    }

    #[inline]
    fn add_part(&mut self, x: f64) {
        let sum = self.floats + x;
        self.compensation +=
            if self.floats.abs() >= x.abs() { (self.floats - sum) + x } else { (x - sum) + self.floats };
        self.floats = sum;
    }

    fn add(&mut self, other: &Total) {
        self.integers += other.integers;
        self.count += other.count;
        if other.has_float {
            self.has_float = true;
            self.add_part(other.floats);
            self.compensation += other.compensation;
        }
    }

    /// The sum as a float. The compensation means nothing next to an infinity.
    fn as_float(&self) -> f64 {
        let floats = if self.floats.is_finite() { self.floats + self.compensation } else { self.floats };
        floats + self.integers as f64
    }

    fn sum(&self) -> Result<Value> {
        if self.has_float {
            return Ok(Value::Float(self.as_float()));
        }
        match i64::try_from(self.integers) {
            Ok(sum) => Ok(Value::Int(sum)),
            Err(_) => Err(error!(Arithmetic, "the sum {} does not fit a 64-bit integer", self.integers)),
        }
    }

    fn average(&self) -> Value {
        if self.count == 0 { Value::Null } else { Value::Float(self.as_float() / self.count as f64) }
    }
}

/// Adds the numbers of a batch to the totals of their groups.
fn update(
    totals: &mut [Total],
    durations: &mut Durations,
    function: &str,
    groups: Groups<'_>,
    column: &Column,
) -> Result<()> {
    match (&column.data, groups) {
        (ColumnData::Int(values), Groups::One(_)) if column.validity.is_none() => {
            totals[0].integers += values.iter().map(|&x| i128::from(x)).sum::<i128>();
            totals[0].count += values.len() as i64;
            Ok(())
        }
        (ColumnData::Int(values), groups) => try_each_value(groups, column, |row, group| {
            totals[group].add_integer(values[row]);
            Ok(())
        }),
        (ColumnData::Float(values), Groups::One(_)) if column.validity.is_none() => {
            totals[0].add(&total_of_floats(values));
            Ok(())
        }
        (ColumnData::Float(values), groups) => try_each_value(groups, column, |row, group| {
            totals[group].add_float(values[row]);
            Ok(())
        }),
        _ => try_each_value(groups, column, |row, group| {
            match column.value(row) {
                Value::Int(x) => totals[group].add_integer(x),
                Value::Float(x) => totals[group].add_float(x),
                Value::Duration(x) => durations.add(group, x, 1)?,
                other => {
                    return Err(error!(Type, "{function}() takes numbers or durations, found {}", other.type_name()));
                }
            }
            Ok(())
        }),
    }
}

/// Adds the numbers of a batch to the totals of their groups, each as often as its weight says.
fn update_weighted(
    (totals, durations): (&mut [Total], &mut Durations),
    function: &str,
    groups: Groups<'_>,
    [column, weights]: [&Column; 2],
) -> Result<()> {
    try_each_value(groups, column, |row, group| {
        let weight = int_at(weights, row);
        match column.value(row) {
            Value::Int(x) => totals[group].add_integers(i128::from(x) * i128::from(weight), weight),
            Value::Float(x) => totals[group].add_floats(x * weight as f64, weight),
            Value::Duration(x) => match x.times(weight) {
                Some(sum) => durations.add(group, sum, weight)?,
                None => return Err(error!(Arithmetic, "the sum of {weight} times {x} does not fit a duration")),
            },
            other => {
                return Err(error!(Type, "{function}() takes numbers or durations, found {}", other.type_name()));
            }
        }
        Ok(())
    })
}

/// The total of many floats, in lanes that do not wait for each other.
fn total_of_floats(values: &[f64]) -> Total {
    const LANES: usize = 4;
    let mut lanes = [Total::default(); LANES];
    let mut pieces = values.chunks_exact(LANES);
    for piece in &mut pieces {
        lanes.iter_mut().zip(piece).for_each(|(lane, &x)| lane.add_float(x));
    }
    let mut total = Total::default();
    pieces.remainder().iter().for_each(|&x| total.add_float(x));
    lanes.iter().for_each(|lane| total.add(lane));
    total
}

fn merge(totals: &mut [Total], others: &[Total], groups: &[u32]) {
    groups.iter().zip(others).for_each(|(&group, other)| totals[group as usize].add(other));
}

/// Totals as columns: the halves of the integers, the floats, their compensation, the count.
fn columns_of(totals: &[Total]) -> Vec<Column> {
    let ints = |part: fn(&Total) -> i64| Column::new(ColumnData::Int(totals.iter().map(part).collect()));
    let floats = |part: fn(&Total) -> f64| Column::new(ColumnData::Float(totals.iter().map(part).collect()));
    vec![
        ints(|total| (total.integers >> 64) as i64),
        ints(|total| total.integers as i64),
        floats(|total| total.floats),
        floats(|total| total.compensation),
        // The sign says whether there was a float.
        ints(|total| if total.has_float { !total.count } else { total.count }),
    ]
}

/// Adds totals that were columns.
fn absorb(totals: &mut [Total], groups: &[u32], columns: &[Arc<Column>]) {
    for (row, &group) in groups.iter().enumerate() {
        let (high, low) = (int_at(&columns[0], row), int_at(&columns[1], row));
        let count = int_at(&columns[4], row);
        totals[group as usize].add(&Total {
            integers: i128::from(high) << 64 | i128::from(low as u64),
            floats: float_at(&columns[2], row),
            compensation: float_at(&columns[3], row),
            count: if count < 0 { !count } else { count },
            has_float: count < 0,
        });
    }
}

/// The result computed from the total of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Sum,
    Average,
}

/// `sum` and `avg`.
pub(crate) struct Totals {
    wanted: Wanted,
    totals: Vec<Total>,
    durations: Durations,
}

impl Totals {
    /// `sum`.
    pub(super) fn sum() -> Totals {
        Totals { wanted: Wanted::Sum, totals: Vec::new(), durations: Durations::default() }
    }

    /// `avg`.
    pub(super) fn average() -> Totals {
        Totals { wanted: Wanted::Average, ..Totals::sum() }
    }

    /// `avg` or `sum` of numbers that were added up already.
    pub(crate) fn of(function: &str, totals: Vec<Total>) -> Totals {
        let wanted = if function == "avg" { Wanted::Average } else { Wanted::Sum };
        Totals { wanted, totals, durations: Durations::default() }
    }
}

impl Aggregator for Totals {
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.totals, group_count);
        let function = if self.wanted == Wanted::Sum { "sum" } else { "avg" };
        match arguments {
            [values, weights] => {
                update_weighted((&mut self.totals, &mut self.durations), function, groups, [values, weights])
            }
            _ => update(&mut self.totals, &mut self.durations, function, groups, &arguments[0]),
        }
    }

    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()> {
        grow(&mut self.totals, group_count);
        let other = same_kind::<Totals>(other)?;
        merge(&mut self.totals, &other.totals, groups);
        self.durations.merge(other.durations, groups)
    }

    fn bytes(&self) -> usize {
        self.totals.len() * size_of::<Total>() + self.durations.bytes()
    }

    fn give_away(self: Box<Self>, piece: &mut PieceSink<'_>) -> Result<()> {
        let groups = self.totals.len();
        let columns = [columns_of(&self.totals), self.durations.into_columns(groups)].concat();
        give_columns(groups, columns, piece)
    }

    fn absorb(&mut self, groups: &[u32], group_count: usize, columns: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.totals, group_count);
        absorb(&mut self.totals, groups, columns);
        self.durations.absorb(groups, &columns[5], &columns[6])
    }

    fn finish(self: Box<Self>, group_count: usize) -> Result<Column> {
        let totals = finished(self.totals, group_count);
        let result = |(group, total): (usize, &Total)| {
            Ok(match (self.durations.of(group, total.count)?, self.wanted) {
                (Some((sum, _)), Wanted::Sum) => Value::Duration(sum),
                (Some((sum, count)), Wanted::Average) => durations::mean(sum, count),
                (None, Wanted::Sum) => total.sum()?,
                (None, Wanted::Average) => total.average(),
            })
        };
        let results = totals.iter().enumerate().map(result).collect::<Result<Vec<_>>>()?;
        Ok(Column::from_values(&results))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
