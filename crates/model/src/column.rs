//! Columns: many values of one kind, the unit that all reads and writes move.
//!
//! A column has one kind; when a second kind arrives its builder widens to [`ColumnData::Value`], never fails.

#[cfg(test)]
mod bounds;

use std::sync::Arc;

use crate::error::Result;
pub use crate::value::StringColumn;
use crate::value::Value;
pub use crate::value::fixed::ColumnData;
use crate::value::fixed::Fixed;
use crate::{each_fixed, each_vector, each_vector_pair};

/// One bit per row; a set bit means "present".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    length: usize,
}

impl Bitmap {
    /// `length` bits, all of them `set` or clear.
    pub fn filled(length: usize, set: bool) -> Bitmap {
        let mut bitmap = Bitmap { words: vec![if set { u64::MAX } else { 0 }; length.div_ceil(64)], length };
        bitmap.clear_tail();
        bitmap
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True without bits.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The bit at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        debug_assert!(index < self.length);
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Sets or clears the bit at `index`.
    #[inline]
    pub fn set(&mut self, index: usize, bit: bool) {
        debug_assert!(index < self.length);
        let mask = 1 << (index % 64);
        if bit {
            self.words[index / 64] |= mask;
        } else {
            self.words[index / 64] &= !mask;
        }
    }

    /// Adds a bit at the end.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        if self.length.is_multiple_of(64) {
            self.words.push(0);
        }
        self.length += 1;
        if bit {
            self.set(self.length - 1, true);
        }
    }

    /// Number of bits that are set.
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The 64-bit words, lowest bit first; bits past the end are clear.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// A bitmap from words as [`Bitmap::words`] gives them.
    pub fn from_words(words: Vec<u64>, length: usize) -> Bitmap {
        assert_eq!(words.len(), length.div_ceil(64), "one word per 64 bits");
        let mut bitmap = Bitmap { words, length };
        bitmap.clear_tail();
        bitmap
    }

    fn clear_tail(&mut self) {
        if !self.length.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (self.length % 64)) - 1;
        }
    }
}

impl FromIterator<bool> for Bitmap {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Bitmap {
        let mut bitmap = Bitmap::default();
        bits.into_iter().for_each(|bit| bitmap.push(bit));
        bitmap
    }
}

/// Values of one kind with a presence bitmap.
#[derive(Clone, Debug)]
pub struct Column {
    /// The values.
    pub data: ColumnData,
    /// Set bits mark rows that are not null; `None` when no row is null (`Null` and `Value` columns need none).
    pub validity: Option<Bitmap>,
}

impl Column {
    /// A column without nulls.
    pub fn new(data: ColumnData) -> Column {
        Column { data, validity: None }
    }

    /// A column whose null rows are the clear bits of `validity`.
    pub fn with_validity(data: ColumnData, validity: Bitmap) -> Column {
        let column = Column { data, validity: None };
        assert_eq!(column.len(), validity.len(), "one validity bit per row");
        let all = validity.count_ones() == validity.len();
        Column { validity: if all { None } else { Some(validity) }, ..column }
    }

    /// A column of nulls.
    pub fn nulls(rows: usize) -> Column {
        Column::new(ColumnData::Null(rows))
    }

    /// The same value in every row.
    pub fn constant(value: &Value, rows: usize) -> Column {
        Column::new(each_fixed!(value, {
            Value::Null => ColumnData::Null(rows),
            Value::String(x) => ColumnData::String(std::iter::repeat_n(&**x, rows).collect()),
            Value::Node(x) => ColumnData::Node(vec![*x; rows]),
            Value::Edge(x) => ColumnData::Edge(vec![*x; rows]),
        }, x => Fixed::vector(vec![*x; rows]), _ => ColumnData::Value(vec![value.clone(); rows])))
    }

    /// A column of these values, in the narrowest kind that holds them all.
    pub fn from_values<'a>(values: impl IntoIterator<Item = &'a Value>) -> Column {
        let mut builder = ColumnBuilder::default();
        values.into_iter().for_each(|value| builder.push(value));
        builder.finish()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        each_vector!(&self.data, {
            ColumnData::Null(count) => *count,
            ColumnData::String(text) => text.len(),
            ColumnData::Value(rows) => rows.len(),
        }, rows => rows.len())
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the row is null.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match (&self.data, &self.validity) {
            (ColumnData::Null(_), _) => true,
            (ColumnData::Value(values), _) if values[row].is_null() => true,
            (_, Some(validity)) => !validity.get(row),
            (_, None) => false,
        }
    }

    /// One row as a value. For single values, not for loops over large columns.
    pub fn value(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        each_vector!(&self.data, {
            ColumnData::Null(_) => Value::Null,
            ColumnData::String(rows) => Value::String(Arc::from(rows.get(row))),
            ColumnData::Value(rows) => rows[row].clone(),
        }, rows => Value::from(rows[row]))
    }

    /// Fails with `LIMIT` if a row is nested deeper or larger than values may be.
    #[inline]
    pub fn check_extent(&self) -> Result<()> {
        match &self.data {
            ColumnData::Value(values) => values.iter().try_for_each(Value::check_extent),
            _ => Ok(()),
        }
    }

    /// The column, unless a row is nested deeper or larger than values may be.
    pub fn within_extent(self) -> Result<Column> {
        self.check_extent().map(|()| self)
    }

    /// All rows as values, in order.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        (0..self.len()).map(|row| self.value(row))
    }

    /// The rows at `rows`, in that order; a row may come often or never.
    pub fn gather(&self, rows: &[u32]) -> Column {
        fn pick<T: Clone>(from: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|&row| from[row as usize].clone()).collect()
        }
        let data = each_vector!(&self.data, {
            ColumnData::Null(_) => ColumnData::Null(rows.len()),
            ColumnData::String(from) => ColumnData::String(from.gather(rows)),
            ColumnData::Value(from) => ColumnData::Value(pick(from, rows)),
        }, from => Fixed::vector(pick(from, rows)));
        let validity = self.validity.as_ref().map(|bits| rows.iter().map(|&row| bits.get(row as usize)).collect());
        Column { data, validity }
    }

    /// Adds all rows of `other` at the end, widening if the kinds differ.
    pub fn append(&mut self, other: &Column) {
        self.append_range(other, 0, other.len());
    }

    /// Adds rows `start..end` of `other` at the end, widening if the kinds differ.
    pub fn append_range(&mut self, other: &Column, start: usize, end: usize) {
        if start == end {
            return;
        }
        if let ColumnData::Null(nulls) = self.data
            && !matches!(other.data, ColumnData::Null(_))
        {
            *self = other.data.nulls_alike(nulls);
        }
        let (before, count) = (self.len(), end - start);
        let is_same = each_vector_pair!((&mut self.data, &other.data), ColumnData, ColumnData, {
            (ColumnData::Null(a), ColumnData::Null(_)) => {
                *a += count;
                true
            }
            (ColumnData::String(a), ColumnData::String(b)) => {
                if count == b.len() { a.append(b) } else { (start..end).for_each(|row| a.push(b.get(row))) }
                true
            }
            (ColumnData::Value(a), ColumnData::Value(b)) => extend(a, &b[start..end]),
            (data, ColumnData::Null(_)) => {
                data.push_fillers(count);
                true
            }
        }, (a, b) => extend(a, &b[start..end]), _ => false);
        if !is_same {
            let mut builder = ColumnBuilder::from(std::mem::replace(self, Column::nulls(0)));
            (start..end).for_each(|row| builder.push(&other.value(row)));
            *self = builder.finish();
            return;
        }
        let has_nulls = matches!(other.data, ColumnData::Null(_)) || other.validity.is_some();
        if matches!(self.data, ColumnData::Null(_)) || (self.validity.is_none() && !has_nulls) {
            return;
        }
        let validity = self.validity.get_or_insert_with(|| Bitmap::filled(before, true));
        (start..end).for_each(|row| validity.push(!other.is_null(row)));
    }

    /// Rows `start..end` as a column of their own.
    pub fn slice(&self, start: usize, end: usize) -> Column {
        let rows: Vec<u32> = (start as u32..end as u32).collect();
        self.gather(&rows)
    }
}

fn extend<T: Clone>(to: &mut Vec<T>, from: &[T]) -> bool {
    to.extend_from_slice(from);
    true
}

/// Builds a column value by value; the kind is that of the first value that is not null, and widens on a second kind.
#[derive(Clone, Debug, Default)]
pub struct ColumnBuilder {
    column: Option<Column>,
}

impl From<Column> for ColumnBuilder {
    fn from(column: Column) -> ColumnBuilder {
        ColumnBuilder { column: Some(column) }
    }
}

impl ColumnBuilder {
    /// Rows so far.
    pub fn len(&self) -> usize {
        self.column.as_ref().map_or(0, Column::len)
    }

    /// True before the first row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a row.
    pub fn push(&mut self, value: &Value) {
        let column = self.column.get_or_insert_with(|| Column::nulls(0));
        let row = column.len();
        if value.is_null() {
            push_null(column);
            return;
        }
        if let ColumnData::Null(nulls) = column.data {
            *column = column_of_nulls_like(value, nulls);
        }
        if !push_same(&mut column.data, value) {
            *column = Column::new(ColumnData::Value(column.values().collect()));
            push_same(&mut column.data, value);
        }
        if let Some(validity) = &mut column.validity
            && validity.len() == row
        {
            validity.push(true);
        }
    }

    /// The column.
    pub fn finish(self) -> Column {
        self.column.unwrap_or_else(|| Column::nulls(0))
    }
}

fn push_null(column: &mut Column) {
    let row = column.len();
    column.data.push_fillers(1);
    match (&column.data, &mut column.validity) {
        (ColumnData::Null(_), _) | (ColumnData::Value(_), None) => {}
        (_, validity) => validity.get_or_insert_with(|| Bitmap::filled(row, true)).push(false),
    }
}

impl ColumnData {
    /// Adds rows whose values do not count, since they are null.
    pub fn push_fillers(&mut self, count: usize) {
        fn fill<T: Clone>(rows: &mut Vec<T>, count: usize, filler: T) {
            rows.resize(rows.len() + count, filler);
        }
        each_vector!(self, {
            ColumnData::Null(nulls) => *nulls += count,
            ColumnData::String(rows) => (0..count).for_each(|_| rows.push("")),
            ColumnData::Value(rows) => fill(rows, count, Value::Null),
        }, rows => fill(rows, count, Default::default()));
    }

    /// `nulls` null rows of the same kind.
    fn nulls_alike(&self, nulls: usize) -> Column {
        fn none_of<T: Fixed>(_: &[T]) -> ColumnData {
            T::vector(Vec::new())
        }
        let mut data = each_vector!(self, {
            ColumnData::Null(_) => ColumnData::Null(0),
            ColumnData::String(_) => ColumnData::String(StringColumn::default()),
            ColumnData::Value(_) => ColumnData::Value(Vec::new()),
        }, rows => none_of(rows));
        data.push_fillers(nulls);
        Column { data, validity: (nulls > 0).then(|| Bitmap::filled(nulls, false)) }
    }
}

/// `nulls` null rows in the kind that `value` has.
fn column_of_nulls_like(value: &Value, nulls: usize) -> Column {
    let mut column = Column::constant(value, nulls);
    match &mut column.data {
        ColumnData::Value(rows) => rows.fill(Value::Null),
        _ if nulls > 0 => column.validity = Some(Bitmap::filled(nulls, false)),
        _ => {}
    }
    column
}

fn push_same(data: &mut ColumnData, value: &Value) -> bool {
    each_vector_pair!((data, value), ColumnData, Value, {
        (ColumnData::String(rows), Value::String(x)) => rows.push(x),
        (ColumnData::Value(rows), x) => rows.push(x.clone()),
    }, (rows, x) => rows.push(*x), _ => return false);
    true
}

impl Column {
    /// Fails as [`Value::check_time`] does for a value that is not null.
    pub fn check_time(&self) -> Result<()> {
        let is_there = |row: usize| !self.is_null(row);
        let wrong = each_vector!(&self.data, {
            ColumnData::Value(values) => return values.iter().try_for_each(Value::check_time),
            ColumnData::Null(_) | ColumnData::String(_) => None,
        }, rows => first(rows, is_there));
        wrong.map_or(Ok(()), |row| self.value(row).check_time())
    }
}

/// The first row that is there and not valid.
fn first<T: Fixed>(rows: &[T], is_there: impl Fn(usize) -> bool) -> Option<usize> {
    rows.iter().enumerate().position(|(row, &x)| !x.is_valid() && is_there(row))
}

#[cfg(test)]
mod tests {
    use super::{Bitmap, Column, ColumnBuilder, ColumnData};
    use crate::value::Value;

    fn mixed() -> Vec<Value> {
        vec![Value::Null, Value::Int(1), Value::Null, Value::string("a"), Value::Float(2.5), Value::Null]
    }

    #[test]
    fn builder_keeps_every_value_through_widening() {
        let values = mixed();
        let column = Column::from_values(&values);
        assert!(matches!(column.data, ColumnData::Value(_)));
        assert_eq!(column.values().collect::<Vec<_>>(), values);
    }

    #[test]
    fn append_and_gather_keep_nulls() {
        let ints = vec![Value::Int(1), Value::Null, Value::Int(3)];
        let mut column = Column::from_values(&ints);
        column.append(&Column::from_values(&ints));
        assert!(matches!(column.data, ColumnData::Int(_)));
        column.append(&Column::nulls(2));
        column.append(&Column::from_values(&mixed()));
        let (mut a, b) = (Column::from_values(&mixed()), Column::from_values(&mixed()));
        let present = Bitmap::filled(b.len(), true);
        a.append(&Column { validity: Some(present), ..b });
        assert!((0..a.len()).all(|row| a.is_null(row) == a.value(row).is_null()));
        let expected: Vec<Value> =
            ints.iter().chain(&ints).cloned().chain([Value::Null, Value::Null]).chain(mixed()).collect();
        assert_eq!(column.values().collect::<Vec<_>>(), expected);
        assert_eq!(column.gather(&[1, 0, 0]).values().collect::<Vec<_>>(), [Value::Null, Value::Int(1), Value::Int(1)]);
    }

    #[test]
    fn a_column_of_leading_nulls_takes_the_first_kind() {
        let mut builder = ColumnBuilder::default();
        builder.push(&Value::Null);
        builder.push(&Value::Bool(true));
        let column = builder.finish();
        assert!(matches!(column.data, ColumnData::Bool(_)));
        assert!(column.is_null(0) && !column.is_null(1));
    }
}
