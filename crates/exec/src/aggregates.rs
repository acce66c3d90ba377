//! The aggregate functions, over whole batches with a group number per row; states are columns, not boxes.
//!
//! Entry point: `create(function: &str, distinct: bool, argument_count: usize) -> Result<Box<dyn Aggregator>>`.

use std::sync::Arc;

use model::{Column, Result};

/// Which group each row of a batch belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Groups<'a> {
    /// All of so many rows belong to group 0. The number may exceed a batch when there are no arguments.
    One(usize),
    /// A group number for each row.
    Each(&'a [u32]),
}

/// The states of one aggregate function for all groups.
///
/// `group_count` is how many groups there are so far; it never shrinks, and new groups start empty.
pub trait Aggregator: Send {
    /// Takes a batch in: one column for each argument, a row for each of `groups`.
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()>;
    /// Takes in the states of another aggregator of the same function: its group `i` is group `groups[i]` here.
    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()>;
    /// The result of each group.
    fn finish(self: Box<Self>, group_count: usize) -> Result<Column>;
    /// For `merge`, which must see the other's states.
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any>;
}
