//! Sums of durations, kept apart from those of numbers: most queries have none, and then nothing is held.

use model::temporal::Duration;
use model::{Column, ColumnData, Result, Value, error};

use crate::rows::int_at;

/// The sum of the durations of each group that has some, and how many they are.
#[derive(Default)]
pub(super) struct Durations(Vec<Option<(Duration, i64)>>);

impl Durations {
    /// Adds `count` durations, whose sum is given, to those of a group.
    pub(super) fn add(&mut self, group: usize, sum: Duration, count: i64) -> Result<()> {
        if self.0.len() <= group {
            self.0.resize(group + 1, None);
        }
        let (before, number) = self.0[group].unwrap_or_default();
        match before.checked_add(sum) {
            Some(total) => self.0[group] = Some((total, number + count)),
            None => return Err(error!(Arithmetic, "the sum of {before} and {sum} does not fit a duration")),
        }
        Ok(())
    }

    /// Adds what another has summed up: its group `i` is group `groups[i]` here.
    pub(super) fn merge(&mut self, other: Durations, groups: &[u32]) -> Result<()> {
        for (found, &group) in other.0.into_iter().zip(groups) {
            if let Some((sum, count)) = found {
                self.add(group as usize, sum, count)?;
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.len() * size_of::<Option<(Duration, i64)>>()
    }

    /// Two columns of `groups` rows: the sums, null where there is none, and the numbers.
    pub(super) fn into_columns(self, groups: usize) -> Vec<Column> {
        let found = |group: usize| self.0.get(group).copied().flatten();
        let sums: Vec<Value> =
            (0..groups).map(|group| found(group).map_or(Value::Null, |(sum, _)| sum.into())).collect();
        let counts = (0..groups).map(|group| found(group).map_or(0, |(_, count)| count)).collect();
        vec![Column::from_values(&sums), Column::new(ColumnData::Int(counts))]
    }

    /// Adds what were columns: row `i` belongs to group `groups[i]`.
    pub(super) fn absorb(&mut self, groups: &[u32], sums: &Column, counts: &Column) -> Result<()> {
        for (row, &group) in groups.iter().enumerate() {
            if let Value::Duration(sum) = sums.value(row) {
                self.add(group as usize, sum, int_at(counts, row))?;
            }
        }
        Ok(())
    }

    /// The sum and number of the durations of a group that has `numbers` numbers too; `None` if it has no durations.
    pub(super) fn of(&self, group: usize, numbers: i64) -> Result<Option<(Duration, i64)>> {
        match self.0.get(group).copied().flatten() {
            Some(_) if numbers > 0 => Err(error!(Type, "numbers and durations have no common sum")),
            found => Ok(found),
        }
    }
}

/// The mean of durations.
pub(super) fn mean(sum: Duration, count: i64) -> Value {
    sum.divided_by(count).map_or(Value::Null, Value::Duration)
}
