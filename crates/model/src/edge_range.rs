//! Ranges of edge properties, and the first few edges of each node by their properties.

use std::cmp::Ordering;
use std::ops::{Bound, RangeInclusive};

use crate::column::{Bitmap, Column, ColumnData};
use crate::id::PropertyKeyId;
use crate::value::Value;
use crate::value::fixed::Fixed;
use crate::{each_vector, each_vector_pair};

/// Only edges whose property lies between two bounds, compared as by Cypher's `<` and `<=`: null never lies in a
/// range, nor does a value that cannot be compared with a bound.
#[derive(Clone, Debug)]
pub struct EdgeRange {
    /// The property.
    pub key: PropertyKeyId,
    /// Lower bound.
    pub lower: Bound<Value>,
    /// Upper bound.
    pub upper: Bound<Value>,
}

/// Of each input node only the first edges in the order of `ORDER BY`, where null is larger than all.
/// Among edges that are equal there, any may be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeTop {
    /// The properties compared, one after the other.
    pub keys: Vec<PropertyKeyId>,
    /// The largest come first, by every property.
    pub descending: bool,
    /// Maximum number of edges.
    pub limit: usize,
}

impl EdgeRange {
    /// The edges whose property equals a value.
    pub fn equal(key: PropertyKeyId, value: Value) -> EdgeRange {
        EdgeRange { key, lower: Bound::Included(value.clone()), upper: Bound::Included(value) }
    }

    /// True if a value lies in the range.
    pub fn contains(&self, value: &Value) -> bool {
        value.is_between(&self.lower, &self.upper)
    }

    /// The range as one of integers; `None` if its bounds are something else.
    fn integers(&self) -> Option<RangeInclusive<i64>> {
        let lower = match &self.lower {
            Bound::Unbounded => i64::MIN,
            Bound::Included(Value::Int(bound)) => *bound,
            Bound::Excluded(Value::Int(bound)) => bound.checked_add(1)?,
            _ => return None,
        };
        let upper = match &self.upper {
            Bound::Unbounded => i64::MAX,
            Bound::Included(Value::Int(bound)) => *bound,
            Bound::Excluded(Value::Int(bound)) => bound.checked_sub(1)?,
            _ => return None,
        };
        Some(lower..=upper)
    }

    /// Keeps those of `rows` whose value lies in the range.
    pub fn retain(&self, column: &Column, rows: &mut Vec<u32>) {
        if let (ColumnData::Int(values), None, Some(wanted)) = (&column.data, &column.validity, self.integers()) {
            return keep(rows, |row| wanted.contains(&values[row]));
        }
        let is_done = each_vector!(&column.data, {
            ColumnData::Null(_) => {
                rows.clear();
                true
            }
            ColumnData::String(_) | ColumnData::Value(_) | ColumnData::Node(_) | ColumnData::Edge(_) => false,
            ColumnData::Bool(_) => false,
        }, values => self.retain_typed(values, column.validity.as_ref(), rows));
        if is_done {
            return;
        }
        rows.retain(|&row| self.contains(&column.value(row as usize)));
    }
}

impl EdgeRange {
    /// Keeps the rows of values of one kind; false, with nothing done, if a bound is of another kind, or the kind is not compared.
    fn retain_typed<T: Fixed + PartialOrd>(
        &self,
        values: &[T],
        validity: Option<&Bitmap>,
        rows: &mut Vec<u32>,
    ) -> bool {
        let (Some(lower), Some(upper)) = (typed_bound(&self.lower, T::of), typed_bound(&self.upper, T::of)) else {
            return false;
        };
        if !T::KIND.is_compared() {
            return false;
        }
        let is_in = |row: usize| is_between(&values[row], &lower, &upper);
        match validity {
            None => keep(rows, is_in),
            Some(validity) => keep(rows, |row| validity.get(row) & is_in(row)),
        }
        true
    }
}

/// Keeps the rows of which something is true. The outcome is hard to predict, so that nothing branches on it.
#[inline]
fn keep(rows: &mut Vec<u32>, is_kept: impl Fn(usize) -> bool) {
    let mut kept = 0;
    for at in 0..rows.len() {
        let row = rows[at];
        rows[kept] = row;
        kept += usize::from(is_kept(row as usize));
    }
    rows.truncate(kept);
}

/// A bound in the kind of a column; `None` if it is of another kind.
fn typed_bound<T>(bound: &Bound<Value>, take: impl Fn(&Value) -> Option<T>) -> Option<Bound<T>> {
    Some(match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(value) => Bound::Included(take(value)?),
        Bound::Excluded(value) => Bound::Excluded(take(value)?),
    })
}

#[inline]
fn is_between<T: PartialOrd>(value: &T, lower: &Bound<T>, upper: &Bound<T>) -> bool {
    let is_above = match lower {
        Bound::Unbounded => true,
        Bound::Included(bound) => value >= bound,
        Bound::Excluded(bound) => value > bound,
    };
    is_above
        & match upper {
            Bound::Unbounded => true,
            Bound::Included(bound) => value <= bound,
            Bound::Excluded(bound) => value < bound,
        }
}

/// The order of `ORDER BY` of two rows of columns; null is the largest.
#[inline]
pub fn order_rows(a: &Column, row_of_a: usize, b: &Column, row_of_b: usize) -> Ordering {
    match (a.is_null(row_of_a), b.is_null(row_of_b)) {
        (false, false) => {}
        (is_null, other_is_null) => return is_null.cmp(&other_is_null),
    }
    each_vector_pair!((&a.data, &b.data), ColumnData, ColumnData, {
        (ColumnData::String(a), ColumnData::String(b)) => a.get(row_of_a).cmp(b.get(row_of_b)),
    }, (a, b) => a[row_of_a].order(&b[row_of_b]), _ => a.value(row_of_a).order(&b.value(row_of_b)))
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::EdgeRange;
    use crate::column::Column;
    use crate::id::PropertyKeyId;
    use crate::value::Value;

    /// Checks that exactly the rows `expected` of the values lie in the range, for the values alone and in a column.
    fn check(lower: Bound<Value>, upper: Bound<Value>, values: &[Value], expected: &[u32]) {
        let range = EdgeRange { key: PropertyKeyId(0), lower, upper };
        let singly: Vec<u32> = (0..values.len() as u32).filter(|&row| range.contains(&values[row as usize])).collect();
        assert_eq!(singly, expected, "{range:?}");
        let mut rows = (0..values.len() as u32).collect();
        range.retain(&Column::from_values(values), &mut rows);
        assert_eq!(rows, expected, "{range:?} of a column");
    }

    #[test]
    fn ranges_hold_what_can_be_compared() {
        use Bound::{Excluded, Included, Unbounded};
        let ints = [Value::Int(1), Value::Null, Value::Int(2), Value::Int(3)];
        check(Included(Value::Int(2)), Unbounded, &ints, &[2, 3]);
        check(Excluded(Value::Int(1)), Excluded(Value::Int(3)), &ints, &[2]);
        check(Unbounded, Included(Value::Float(2.5)), &ints, &[0, 2]);
        check(Unbounded, Unbounded, &ints, &[0, 2, 3]);
        check(Included(Value::Null), Unbounded, &ints, &[]);
        check(Included(Value::string("a")), Unbounded, &ints, &[]);
        let mixed = [Value::Float(f64::NAN), Value::Float(9.0), Value::string("b"), Value::Bool(true), Value::Null];
        check(Included(Value::Int(0)), Unbounded, &mixed, &[1]);
        check(Included(Value::string("")), Unbounded, &mixed, &[2]);
        let floats = [Value::Float(f64::NAN), Value::Float(-0.0), Value::Float(1.5)];
        check(Included(Value::Float(0.0)), Included(Value::Float(1.5)), &floats, &[1, 2]);
    }
}
