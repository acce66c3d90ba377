//! `stDev` and `stDevP`.
//!
//! After: Welford, 1962, for single numbers; Chan, Golub and LeVeque, 1979, for merging.

use std::any::Any;
use std::sync::Arc;

use model::{Column, ColumnData, Result, Value, error};

use super::{Aggregator, Groups, PieceSink, finished, float_at, give_columns, grow, same_kind, try_each_value};
use crate::rows::int_at;

/// Count, mean and sum of squared distances from the mean.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, x: f64) {
        self.count += 1.0;
        let distance = x - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (x - self.mean);
    }

    fn add_times(&mut self, x: f64, times: i64) {
        self.merge(&Moments { count: times as f64, mean: x, squares: 0.0 });
    }

    fn merge(&mut self, other: &Moments) {
        let count = self.count + other.count;
        if other.count > 0.0 {
            let distance = other.mean - self.mean;
            self.squares += other.squares + distance * distance * self.count * other.count / count;
            self.mean += distance * other.count / count;
            self.count = count;
        }
    }
}

/// The standard deviation of each group.
pub(super) struct Deviation {
    moments: Vec<Moments>,
    /// Number subtracted from the count before dividing: 1 for a sample.
    correction: f64,
    function: &'static str,
}

impl Deviation {
    pub(super) fn of_sample() -> Deviation {
        Deviation { moments: Vec::new(), correction: 1.0, function: "stDev" }
    }

    pub(super) fn of_population() -> Deviation {
        Deviation { moments: Vec::new(), correction: 0.0, function: "stDevP" }
    }
}

impl Aggregator for Deviation {
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.moments, group_count);
        let column = &arguments[0];
        try_each_value(groups, column, |row, group| {
            let number = match column.value(row) {
                Value::Int(x) => x as f64,
                Value::Float(x) => x,
                other => return Err(error!(Type, "{}() takes numbers, found {}", self.function, other.type_name())),
            };
            match arguments.get(1) {
                Some(weights) => self.moments[group].add_times(number, int_at(weights, row)),
                None => self.moments[group].add(number),
            }
            Ok(())
        })
    }

    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()> {
        grow(&mut self.moments, group_count);
        for (&group, other) in groups.iter().zip(&same_kind::<Deviation>(other)?.moments) {
            self.moments[group as usize].merge(other);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.moments.len() * size_of::<Moments>()
    }

    fn give_away(self: Box<Self>, piece: &mut PieceSink<'_>) -> Result<()> {
        let column =
            |part: fn(&Moments) -> f64| Column::new(ColumnData::Float(self.moments.iter().map(part).collect()));
        let columns = vec![column(|of| of.count), column(|of| of.mean), column(|of| of.squares)];
        give_columns(self.moments.len(), columns, piece)
    }

    fn absorb(&mut self, groups: &[u32], group_count: usize, columns: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.moments, group_count);
        for (row, &group) in groups.iter().enumerate() {
            let [count, mean, squares] = [0, 1, 2].map(|column| float_at(&columns[column], row));
            self.moments[group as usize].merge(&Moments { count, mean, squares });
        }
        Ok(())
    }

    fn finish(self: Box<Self>, group_count: usize) -> Result<Column> {
        let correction = self.correction;
        let deviation = |moments: Moments| {
            let divisor = moments.count - correction;
            if divisor > 0.0 { (moments.squares / divisor).sqrt() } else { 0.0 }
        };
        let deviations = finished(self.moments, group_count).into_iter().map(deviation).collect();
        Ok(Column::new(ColumnData::Float(deviations)))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
