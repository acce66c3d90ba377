//! The order of rows by keys: indices are sorted, not rows, and the keys are compared column by column.

use std::cmp::Ordering;
use std::sync::Arc;

use model::edge_range::order_rows;
use model::limits::CANCEL_CHECK_EDGES;
use model::{Column, ColumnData, Interrupt, Result};

/// A key of the rows to sort.
pub(crate) struct Key {
    /// Values of the key, one for each row.
    pub(crate) column: Arc<Column>,
    /// True if the largest comes first.
    pub(crate) descending: bool,
}

/// Rows that are sorted at a time by one column of numbers, between two looks at the interrupt.
const PIECE_ROWS: usize = 1 << 20;
/// The same by other keys, whose comparison may cost ten times as much.
const GENERAL_PIECE_ROWS: usize = 1 << 17;

/// The numbers of `rows` rows in order of the keys; equal rows stay in their order.
pub(crate) fn sorted_rows(keys: &[Key], rows: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let is_simple =
        matches!(keys, [Key { column, .. }] if !matches!(column.data, ColumnData::String(_) | ColumnData::Value(_)));
    let mut length = if is_simple { PIECE_ROWS } else { GENERAL_PIECE_ROWS };
    for piece in order.chunks_mut(length) {
        interrupt.check()?;
        sort_piece(keys, piece);
    }
    while length < rows {
        order = merged_pieces(keys, &order, length, interrupt)?;
        length *= 2;
    }
    Ok(order)
}

fn sort_piece(keys: &[Key], order: &mut [u32]) {
    match keys {
        [Key { column, descending }] if column.validity.is_none() => match &column.data {
            ColumnData::Int(values) => sort_single(order, values, *descending, i64::cmp),
            ColumnData::Node(values) => sort_single(order, values, *descending, Ord::cmp),
            ColumnData::Date(values) => sort_single(order, values, *descending, Ord::cmp),
            _ => sort_general(order, keys),
        },
        _ => sort_general(order, keys),
    }
}

/// Merges neighbouring sorted pieces of that length, two by two.
fn merged_pieces(keys: &[Key], order: &[u32], length: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let mut merged = Vec::with_capacity(order.len());
    for pair in order.chunks(2 * length) {
        let (mut left, mut right) = pair.split_at(length.min(pair.len()));
        while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
            if merged.len().is_multiple_of(CANCEL_CHECK_EDGES) {
                interrupt.check()?;
            }
            if compare_keys(keys, *second as usize, *first as usize).is_lt() {
                merged.push(*second);
                right = right_rest;
            } else {
                merged.push(*first);
                left = left_rest;
            }
        }
        merged.extend_from_slice(left);
        merged.extend_from_slice(right);
    }
    Ok(merged)
}

/// The numbers of the first of `rows` rows in order of the keys, as [`sorted_rows`] has them. Rows behind them are not
/// sorted.
pub(crate) fn first_rows(keys: &[Key], rows: usize, limit: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    if limit == 0 || limit >= rows / 2 {
        let mut order = sorted_rows(keys, rows, interrupt)?;
        order.truncate(limit);
        return Ok(order);
    }
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let compare = |i: &u32, j: &u32| compare_keys(keys, *i as usize, *j as usize).then(i.cmp(j));
    order.select_nth_unstable_by(limit - 1, compare);
    order.truncate(limit);
    order.sort_unstable_by(compare);
    Ok(order)
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
        let order = order_rows(&key.column, i, &key.column, j);
        if order != Ordering::Equal {
            return if key.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}
