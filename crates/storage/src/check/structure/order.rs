//! Check that the edges of a node are in the order of their section.

use std::cmp::Ordering;

use model::edge_range::order_rows;
use model::{Column, NodeId, Result};

use crate::partition::Section;

/// True if edges of one node at these positions are sorted by the section's sort key, then by their other ends.
pub(super) fn is_in_order(section: &Section, positions: &[u64], others: &[NodeId]) -> Result<bool> {
    let mut columns: Vec<Column> = Vec::with_capacity(section.sort_keys().len());
    for &key in section.sort_keys() {
        columns.push(section.property(key, positions)?);
    }
    let order = |a: usize, b: usize| {
        let orders = columns.iter().map(|column| order_rows(column, a, column, b));
        orders.fold(Ordering::Equal, Ordering::then).then(others[a].cmp(&others[b]))
    };
    Ok((1..positions.len()).all(|row| order(row - 1, row) != Ordering::Greater))
}
