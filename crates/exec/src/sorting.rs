//! The order of rows by keys: indices are sorted, not rows, and the keys are compared column by column.

use std::cmp::Ordering;
use std::sync::Arc;

use model::{Column, ColumnData};

/// A key of the rows to sort.
pub(crate) struct Key {
    /// What each row has.
    pub(crate) column: Arc<Column>,
    /// Whether the largest comes first.
    pub(crate) descending: bool,
}

/// The numbers of `rows` rows in order of the keys; equal rows stay in their order.
pub(crate) fn sorted_rows(keys: &[Key], rows: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    match keys {
        [Key { column, descending }] if column.validity.is_none() => match &column.data {
            ColumnData::Int(values) => sort_single(&mut order, values, *descending, i64::cmp),
            ColumnData::Node(values) => sort_single(&mut order, values, *descending, Ord::cmp),
            ColumnData::Date(values) => sort_single(&mut order, values, *descending, Ord::cmp),
            _ => sort_general(&mut order, keys),
        },
        _ => sort_general(&mut order, keys),
    }
    order
}

/// The numbers of the first of `rows` rows in order of the keys, as [`sorted_rows`] has them. Rows behind them are not
/// sorted.
pub(crate) fn first_rows(keys: &[Key], rows: usize, limit: usize) -> Vec<u32> {
    if limit == 0 || limit >= rows / 2 {
        let mut order = sorted_rows(keys, rows);
        order.truncate(limit);
        return order;
    }
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let compare = |i: &u32, j: &u32| compare_keys(keys, *i as usize, *j as usize).then(i.cmp(j));
    order.select_nth_unstable_by(limit - 1, compare);
    order.truncate(limit);
    order.sort_unstable_by(compare);
    order
}

fn sort_single<T: Copy>(order: &mut [u32], values: &[T], descending: bool, compare: fn(&T, &T) -> Ordering) {
    if descending {
        order.sort_by(|&i, &j| compare(&values[j as usize], &values[i as usize]));
    } else {
        order.sort_by(|&i, &j| compare(&values[i as usize], &values[j as usize]));
    }
}

fn sort_general(order: &mut [u32], keys: &[Key]) {
    order.sort_by(|&i, &j| compare_keys(keys, i as usize, j as usize));
}

/// The order of two rows by all keys.
pub(crate) fn compare_keys(keys: &[Key], i: usize, j: usize) -> Ordering {
    for key in keys {
        let order = compare_rows(&key.column, i, &key.column, j);
        if order != Ordering::Equal {
            return if key.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// The order of two rows of columns: that of `ORDER BY`, null last.
pub(crate) fn compare_rows(a: &Column, i: usize, b: &Column, j: usize) -> Ordering {
    match (a.is_null(i), b.is_null(j)) {
        (false, false) => {}
        (left, right) => return left.cmp(&right),
    }
    match (&a.data, &b.data) {
        (ColumnData::Int(a), ColumnData::Int(b)) => a[i].cmp(&b[j]),
        (ColumnData::String(a), ColumnData::String(b)) => a.get(i).cmp(b.get(j)),
        (ColumnData::Node(a), ColumnData::Node(b)) => a[i].cmp(&b[j]),
        (ColumnData::Date(a), ColumnData::Date(b)) => a[i].cmp(&b[j]),
        (ColumnData::LocalDateTime(a), ColumnData::LocalDateTime(b)) => a[i].cmp(&b[j]),
        (ColumnData::LocalTime(a), ColumnData::LocalTime(b)) => a[i].cmp(&b[j]),
        (ColumnData::Time(a), ColumnData::Time(b)) => a[i].cmp(&b[j]),
        (ColumnData::DateTime(a), ColumnData::DateTime(b)) => a[i].cmp(&b[j]),
        (ColumnData::Duration(a), ColumnData::Duration(b)) => a[i].cmp(&b[j]),
        (ColumnData::Bool(a), ColumnData::Bool(b)) => a[i].cmp(&b[j]),
        (ColumnData::Value(a), ColumnData::Value(b)) => a[i].order(&b[j]),
        _ => a.value(i).order(&b.value(j)),
    }
}
