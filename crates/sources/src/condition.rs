//! Conditions, order and limit applied to rows here, for sources that can not do it themselves.

use std::cmp::Ordering;
use std::ops::Bound;

use model::{Column, ColumnData, KeyOrder, Value};

use crate::connector::{Condition, Test};

/// The rows of a batch that meet all conditions; `columns` gives the column of a property by number.
pub(crate) fn rows_that_meet<'a>(
    conditions: &[Condition],
    rows: usize,
    column: impl Fn(usize) -> &'a Column,
) -> Vec<u32> {
    let mut kept: Vec<u32> = (0..rows as u32).collect();
    for condition in conditions {
        match condition {
            Condition::Is { property, test } => {
                let (column, test) = (column(*property), FastTest::of(test));
                kept.retain(|&row| test.holds(column, row as usize));
            }
            other => kept.retain(|&row| other.holds(&|&property| column(property).value(row as usize))),
        }
    }
    kept
}

/// A test with its bounds taken out of their values, for columns of one kind.
enum FastTest<'a> {
    Floats(Bound<f64>, Bound<f64>),
    Ints(Bound<i64>, Bound<i64>),
    StartsWith(&'a str),
    Other(&'a Test),
}

impl FastTest<'_> {
    fn of(test: &Test) -> FastTest<'_> {
        match test {
            Test::Between(low, high) => {
                let int = |bound: &Bound<Value>| match bound {
                    Bound::Unbounded => Some(Bound::Unbounded),
                    Bound::Included(Value::Int(x)) => Some(Bound::Included(*x)),
                    Bound::Excluded(Value::Int(x)) => Some(Bound::Excluded(*x)),
                    _ => None,
                };
                let float = |bound: &Bound<Value>| match bound {
                    Bound::Unbounded => Some(Bound::Unbounded),
                    Bound::Included(Value::Float(x)) => Some(Bound::Included(*x)),
                    Bound::Excluded(Value::Float(x)) => Some(Bound::Excluded(*x)),
                    _ => None,
                };
                match (int(low).zip(int(high)), float(low).zip(float(high))) {
                    (Some(_), Some(_)) | (None, None) => FastTest::Other(test),
                    (Some((low, high)), None) => FastTest::Ints(low, high),
                    (None, Some((low, high))) => FastTest::Floats(low, high),
                }
            }
            Test::StartsWith(start) => FastTest::StartsWith(start),
            other => FastTest::Other(other),
        }
    }

    fn holds(&self, column: &Column, row: usize) -> bool {
        use std::ops::RangeBounds;
        match (self, &column.data) {
            (FastTest::Other(test), _) => test.holds(&column.value(row)),
            _ if column.is_null(row) => false,
            (FastTest::Ints(low, high), ColumnData::Int(values)) => (*low, *high).contains(&values[row]),
            (FastTest::Floats(low, high), ColumnData::Float(values)) => (*low, *high).contains(&values[row]),
            (FastTest::StartsWith(start), ColumnData::String(texts)) => texts.get(row).starts_with(start),
            (FastTest::StartsWith(start), _) => {
                matches!(column.value(row), Value::String(text) if text.starts_with(start))
            }
            (FastTest::Ints(low, high), _) => {
                Test::Between(low.map(Value::Int), high.map(Value::Int)).holds(&column.value(row))
            }
            (FastTest::Floats(low, high), _) => {
                Test::Between(low.map(Value::Float), high.map(Value::Float)).holds(&column.value(row))
            }
        }
    }
}

/// The rows in the order of some columns, as `ORDER BY` has it; equal rows stay as they were.
pub(crate) fn in_order(columns: &[(&Column, KeyOrder)]) -> Vec<u32> {
    let rows = columns.first().map_or(0, |(column, _)| column.len());
    let mut rows: Vec<u32> = (0..rows as u32).collect();
    rows.sort_by(|&a, &b| {
        let by =
            |(column, way): &(&Column, KeyOrder)| way.of(column.value(a as usize).order(&column.value(b as usize)));
        columns.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    rows
}

/// The operations on rows between their source and the caller: conditions, order, limit, and the dropping of columns
/// that need not be shown.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    fetch: Vec<usize>,
    shown: usize,
    conditions: Vec<Condition>,
    order: Vec<(usize, KeyOrder)>,
    limit: Option<u64>,
    given: u64,
    held: Option<Vec<Column>>,
}

/// Rows held for an order with a limit before those beyond it are let go.
const HELD_ROWS_MIN: usize = 1 << 16;

impl Shape {
    /// Rows with these properties that meet conditions, in an order, up to a limit.
    pub(crate) fn new(
        properties: &[usize],
        conditions: &[Condition],
        order: &[(usize, KeyOrder)],
        limit: Option<u64>,
    ) -> Shape {
        let mut fetch = properties.to_vec();
        let mut need = |property: &usize| {
            if !fetch.contains(property) {
                fetch.push(*property);
            }
        };
        conditions.iter().for_each(|condition| condition.for_each_property(&mut need));
        order.iter().for_each(|(property, _)| need(property));
        let place = |property: &usize| fetch.iter().position(|other| other == property).unwrap_or(0);
        let order = order.iter().map(|(property, way)| (place(property), *way)).collect();
        let conditions =
            conditions.iter().map(|condition| condition.renamed(&mut |property| place(property))).collect();
        Shape { shown: properties.len(), conditions, order, limit, given: 0, held: None, fetch }
    }

    /// The properties that are needed, those that are shown first.
    pub(crate) fn fetch(&self) -> &[usize] {
        &self.fetch
    }

    /// The properties that conditions are about, by their place in [`Shape::fetch`].
    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Takes rows, with `keys` columns before their properties, and gives those that can be given already.
    pub(crate) fn push(&mut self, mut columns: Vec<Column>, keys: usize) -> Option<Vec<Column>> {
        if !self.conditions.is_empty() {
            let rows = columns[0].len();
            let kept = rows_that_meet(&self.conditions, rows, |property| &columns[keys + property]);
            if kept.len() < rows {
                columns = columns.iter().map(|column| column.gather(&kept)).collect();
            }
        }
        if self.order.is_empty() {
            columns.truncate(keys + self.shown);
            return self.cut(columns);
        }
        match &mut self.held {
            None => self.held = Some(columns),
            Some(held) => held.iter_mut().zip(&columns).for_each(|(held, column)| held.append(column)),
        }
        let held = self.held.as_ref().map_or(0, |held| held[0].len());
        if let Some(limit) = self.limit
            && held > HELD_ROWS_MIN.max(limit.saturating_mul(2).try_into().unwrap_or(usize::MAX))
        {
            self.held = self.sorted(keys);
        }
        None
    }

    /// The rows that are held, at the end.
    pub(crate) fn finish(&mut self, keys: usize) -> Option<Vec<Column>> {
        let mut columns = self.sorted(keys)?;
        columns.truncate(keys + self.shown);
        self.cut(columns)
    }

    /// True if nothing further is wanted.
    pub(crate) fn is_full(&self) -> bool {
        self.order.is_empty() && self.limit.is_some_and(|limit| self.given >= limit)
    }

    fn sorted(&mut self, keys: usize) -> Option<Vec<Column>> {
        let held = self.held.take()?;
        let by: Vec<(&Column, KeyOrder)> = self.order.iter().map(|&(place, way)| (&held[keys + place], way)).collect();
        let mut rows = in_order(&by);
        rows.truncate(self.limit.map_or(usize::MAX, |limit| limit.try_into().unwrap_or(usize::MAX)));
        Some(held.iter().map(|column| column.gather(&rows)).collect())
    }

    fn cut(&mut self, mut columns: Vec<Column>) -> Option<Vec<Column>> {
        let rows = columns[0].len();
        if let Some(limit) = self.limit {
            let left = usize::try_from(limit - self.given).unwrap_or(usize::MAX);
            if left < rows {
                columns = columns.iter().map(|column| column.slice(0, left)).collect();
            }
        }
        self.given += columns[0].len() as u64;
        (!columns[0].is_empty()).then_some(columns)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use model::{Column, KeyOrder, Value};

    use super::{Shape, in_order, rows_that_meet};
    use crate::connector::{Condition, Test};

    fn check(values: &[Value], test: Test, expected: &[u32]) {
        let column = Column::from_values(values);
        let conditions = [Condition::is(0, test.clone())];
        assert_eq!(rows_that_meet(&conditions, values.len(), |_| &column), expected, "{test:?}");
    }

    #[test]
    fn tests_hold_as_operators_say() {
        let ints = [Value::Int(1), Value::Null, Value::Int(3), Value::Int(2)];
        check(&ints, Test::Present, &[0, 2, 3]);
        check(&ints, Test::OneOf(vec![Value::Int(2), Value::Float(1.0)]), &[0, 3]);
        check(&ints, Test::Between(Bound::Excluded(Value::Int(1)), Bound::Unbounded), &[2, 3]);
        check(&ints, Test::Between(Bound::Included(Value::Float(1.5)), Bound::Included(Value::Float(2.0))), &[3]);
        let mixed = [Value::Float(f64::NAN), Value::string("abc"), Value::Int(7), Value::Float(0.5)];
        check(&mixed, Test::Between(Bound::Unbounded, Bound::Excluded(Value::Int(7))), &[3]);
        check(&mixed, Test::StartsWith("ab".into()), &[1]);
        let floats = [Value::Float(0.1), Value::Float(f64::NAN), Value::Float(2.0)];
        check(&floats, Test::Between(Bound::Included(Value::Float(0.1)), Bound::Unbounded), &[0, 2]);
    }

    #[test]
    fn rows_are_put_in_order() {
        let column = Column::from_values(&[Value::Int(2), Value::Null, Value::Float(1.5), Value::string("a")]);
        assert_eq!(in_order(&[(&column, KeyOrder::Ascending)]), [3, 2, 0, 1]);
        assert_eq!(in_order(&[(&column, KeyOrder::Descending)]), [1, 0, 2, 3]);
    }

    #[test]
    fn rows_are_shaped() {
        let rows = || {
            vec![Column::from_values(&[5, 6, 7, 8].map(Value::Int)), Column::from_values(&[3, 1, 2, 9].map(Value::Int))]
        };
        let conditions = [Condition::is(4, Test::Between(Bound::Unbounded, Bound::Included(Value::Int(3))))];
        let keys = |columns: Option<Vec<Column>>| {
            columns.map(|columns| (columns.len(), columns[0].values().collect::<Vec<_>>()))
        };
        let mut shape = Shape::new(&[], &conditions, &[(4, KeyOrder::Ascending)], Some(2));
        assert_eq!(shape.fetch(), [4]);
        assert!(shape.push(rows(), 1).is_none());
        assert_eq!(keys(shape.finish(1)), Some((1, vec![Value::Int(6), Value::Int(7)])));
        let mut shape = Shape::new(&[4], &conditions, &[], Some(2));
        assert_eq!(keys(shape.push(rows(), 1)), Some((2, vec![Value::Int(5), Value::Int(6)])));
        assert!(shape.is_full() && shape.push(rows(), 1).is_none() && shape.finish(1).is_none());
    }
}
