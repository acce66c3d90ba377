//! The aggregate functions, over whole batches with a group number per row; states are columns, not boxes.
//!
//! Entry point: `create(function: &str, distinct: bool, argument_count: usize) -> Result<Box<dyn Aggregator>>`.
//! Nulls are passed over; a group without values has the count 0, the sum 0, the list [] and otherwise null.

use std::any::Any;
use std::sync::Arc;

use cypher::catalog::{FunctionKind, FunctionSignature};
use model::{Column, ColumnData, Result, Value, error};

mod collect;
mod count;
mod deviation;
mod distinct;
mod extreme;
mod node_set;
mod pair_set;
mod percentile;
mod sum;

pub(crate) use collect::shared_bytes;
pub(crate) use count::Count;
pub(crate) use percentile::Ranks;
pub(crate) use sum::{Total, Totals};

#[cfg(test)]
mod tests;

/// The group of each row of a batch.
#[derive(Clone, Copy, Debug)]
pub enum Groups<'a> {
    /// All of this number of rows belong to group 0. The number may exceed a batch when there are no arguments.
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
    /// Approximate bytes that the states hold. May look at every group.
    fn bytes(&self) -> usize;
    /// Gives the states away in pieces, to be put aside: rows of a group number and further columns, in an order in which
    /// [`Aggregator::absorb`] makes the same states of them. Several rows may be of one group.
    fn give_away(self: Box<Self>, piece: &mut PieceSink<'_>) -> Result<()>;
    /// Takes in a piece of states: row `i` is of group `groups[i]` here.
    fn absorb(&mut self, groups: &[u32], group_count: usize, columns: &[Arc<Column>]) -> Result<()>;
    /// The way the values of a group can be put aside when they are too many; the first column of their pieces says
    /// which value it is.
    fn spread(&self) -> Spread {
        Spread::Small
    }
    /// Gives the values away as [`Aggregator::give_away`] does and begins anew; only where they can be put aside.
    fn shed(&mut self, _: &mut PieceSink<'_>) -> Result<()> {
        unreachable!("an aggregator whose values are not put aside sheds none")
    }
    /// Reduces the states to their results once no value that they hold can come again; only for [`Spread::ByHash`].
    fn settle(self: Box<Self>) -> Box<dyn Aggregator> {
        unreachable!("an aggregator that is not parted by hash does not settle")
    }
    /// The result of each group.
    fn finish(self: Box<Self>, group_count: usize) -> Result<Column>;
    /// For `merge`, which must see the other's states.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// The way an aggregator that holds many values of one group can put them aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// They need not be: the states are small.
    Small,
    /// They cannot be: the result holds them.
    Whole,
    /// Parted by the hash of group and value: the parts settle one by one, and are merged then.
    ByHash,
    /// Sorted by group and value: the result is at a rank.
    ByRank {
        /// True if the result may lie between two values.
        is_continuous: bool,
    },
}

/// Takes a piece of states: the group of each row, and the columns that [`Aggregator::absorb`] wants back.
pub type PieceSink<'a> = dyn FnMut(&[u32], Vec<Column>) -> Result<()> + 'a;

/// Approximate number of rows in a piece of states.
const PIECE_ROWS: usize = 8_192;

/// Gives away one row for each group.
fn give_columns(group_count: usize, columns: Vec<Column>, piece: &mut PieceSink<'_>) -> Result<()> {
    let mut start = 0;
    while start < group_count {
        let end = group_count.min(start + PIECE_ROWS);
        let groups: Vec<u32> = (start as u32..end as u32).collect();
        piece(&groups, columns.iter().map(|column| column.slice(start, end)).collect())?;
        start = end;
    }
    Ok(())
}

/// The float in a row of a column that was given away as floats.
fn float_at(column: &Column, row: usize) -> f64 {
    match &column.data {
        ColumnData::Float(values) => values[row],
        _ => unreachable!("the states of an aggregator come back as they were given away"),
    }
}

/// Gives away a row for each value of each group.
fn give_values(lists: impl Iterator<Item = (u32, Vec<Value>)>, piece: &mut PieceSink<'_>) -> Result<()> {
    let (mut groups, mut values) = (Vec::new(), Vec::new());
    for (group, list) in lists {
        for value in list {
            groups.push(group);
            values.push(value);
            if groups.len() == PIECE_ROWS {
                piece(&groups, vec![Column::from_values(&values)])?;
                groups.clear();
                values.clear();
            }
        }
    }
    if groups.is_empty() { Ok(()) } else { piece(&groups, vec![Column::from_values(&values)]) }
}

/// The documentation of an aggregate function.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    arguments_min: usize,
    arguments_max: usize,
    pub(crate) usage: &'static str,
    pub(crate) description: &'static str,
    /// True if it takes, besides its argument, the number of times that a row came.
    takes_weights: bool,
    create: fn() -> Box<dyn Aggregator>,
}

pub(crate) const LIST: &[Entry] = &[
    Entry {
        name: "count",
        arguments_min: 0,
        arguments_max: 1,
        usage: "count(value)",
        description: "The number of values; `count(*)` counts rows.",
        takes_weights: true,
        create: || Box::<count::Count>::default(),
    },
    Entry {
        name: "sum",
        arguments_min: 1,
        arguments_max: 1,
        usage: "sum(value)",
        description: "The sum of numbers (an integer if all are) or of durations; 0 without values.",
        takes_weights: true,
        create: || Box::new(sum::Totals::sum()),
    },
    Entry {
        name: "avg",
        arguments_min: 1,
        arguments_max: 1,
        usage: "avg(value)",
        description: "The mean of numbers, as a float, or of durations; null without values.",
        takes_weights: true,
        create: || Box::new(sum::Totals::average()),
    },
    Entry {
        name: "min",
        arguments_min: 1,
        arguments_max: 1,
        usage: "min(value)",
        description: "The first value in the order of `ORDER BY`; null without values.",
        takes_weights: false,
        create: || Box::new(extreme::Extreme::smallest()),
    },
    Entry {
        name: "max",
        arguments_min: 1,
        arguments_max: 1,
        usage: "max(value)",
        description: "The last value in the order of `ORDER BY`; null without values.",
        takes_weights: false,
        create: || Box::new(extreme::Extreme::largest()),
    },
    Entry {
        name: "collect",
        arguments_min: 1,
        arguments_max: 1,
        usage: "collect(value)",
        description: "The list of the values.",
        takes_weights: false,
        create: || Box::<collect::Collect>::default(),
    },
    Entry {
        name: "stDev",
        arguments_min: 1,
        arguments_max: 1,
        usage: "stDev(value)",
        description: "The standard deviation of a sample of numbers; 0.0 for fewer than two.",
        takes_weights: true,
        create: || Box::new(deviation::Deviation::of_sample()),
    },
    Entry {
        name: "stDevP",
        arguments_min: 1,
        arguments_max: 1,
        usage: "stDevP(value)",
        description: "The standard deviation of a whole population of numbers; 0.0 without values.",
        takes_weights: true,
        create: || Box::new(deviation::Deviation::of_population()),
    },
    Entry {
        name: "percentileCont",
        arguments_min: 2,
        arguments_max: 2,
        usage: "percentileCont(value, percentile)",
        description: "The number at a percentile (0.0 to 1.0), interpolated between neighbors.",
        takes_weights: false,
        create: || Box::new(percentile::Percentile::continuous()),
    },
    Entry {
        name: "percentileDisc",
        arguments_min: 2,
        arguments_max: 2,
        usage: "percentileDisc(value, percentile)",
        description: "The number nearest to a percentile (0.0 to 1.0).",
        takes_weights: false,
        create: || Box::new(percentile::Percentile::discrete()),
    },
];

/// Name, usage and description of all aggregate functions.
pub fn described() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    LIST.iter().map(|entry| (entry.name, entry.usage, entry.description))
}

/// The signatures of all aggregate functions.
pub fn signatures() -> impl Iterator<Item = FunctionSignature> {
    LIST.iter().map(|entry| FunctionSignature {
        name: entry.name,
        kind: FunctionKind::Aggregate,
        arguments_min: entry.arguments_min,
        arguments_max: Some(entry.arguments_max),
        takes_weights: entry.takes_weights,
    })
}

/// An aggregator without groups, of the function of that name in any case.
pub fn create(function: &str, distinct: bool, argument_count: usize) -> Result<Box<dyn Aggregator>> {
    let entry = LIST.iter().find(|entry| entry.name.eq_ignore_ascii_case(function));
    let entry = entry.ok_or_else(|| error!(UnknownFunction, "no aggregate function is called {function}"))?;
    let is_weighted = !distinct && argument_count == 2 && entry.takes_weights;
    if !is_weighted && !(entry.arguments_min..=entry.arguments_max).contains(&argument_count) {
        return Err(error!(Argument, "{}() takes other than {argument_count} arguments", entry.name));
    }
    if !distinct || argument_count == 0 {
        return Ok((entry.create)());
    }
    match entry.name {
        "count" => Ok(Box::<count::CountDistinct>::default()),
        // The smallest and largest of all are those of the distinct ones.
        "min" | "max" => Ok((entry.create)()),
        _ => Ok(Box::new(distinct::Distinct::new(entry.create))),
    }
}

/// Calls `each` with row and group of every row that is not null.
#[inline]
fn for_each_value(groups: Groups<'_>, column: &Column, mut each: impl FnMut(usize, usize)) {
    let may_be_null = column.validity.is_some() || matches!(column.data, ColumnData::Null(_) | ColumnData::Value(_));
    match groups {
        Groups::One(rows) if may_be_null => {
            (0..rows).filter(|&row| !column.is_null(row)).for_each(|row| each(row, 0));
        }
        Groups::One(rows) => (0..rows).for_each(|row| each(row, 0)),
        Groups::Each(groups) if may_be_null => {
            let rows = groups.iter().enumerate();
            rows.filter(|(row, _)| !column.is_null(*row)).for_each(|(row, &group)| each(row, group as usize));
        }
        Groups::Each(groups) => groups.iter().enumerate().for_each(|(row, &group)| each(row, group as usize)),
    }
}

/// As `for_each_value`, for what may fail.
fn try_each_value(groups: Groups<'_>, column: &Column, mut each: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    let mut outcome = Ok(());
    for_each_value(groups, column, |row, group| {
        if outcome.is_ok() {
            outcome = each(row, group);
        }
    });
    outcome
}

/// Makes room for groups that are new.
fn grow<T: Clone + Default>(states: &mut Vec<T>, group_count: usize) {
    if states.len() < group_count.max(1) {
        states.resize(group_count.max(1), T::default());
    }
}

/// The other aggregator of a merge as what it is.
fn same_kind<A: 'static>(other: Box<dyn Aggregator>) -> Result<A> {
    match other.into_any().downcast::<A>() {
        Ok(other) => Ok(*other),
        Err(_) => Err(error!(Internal, "aggregators of different functions were merged")),
    }
}

/// The first `group_count` states.
fn finished<T: Clone + Default>(mut states: Vec<T>, group_count: usize) -> Vec<T> {
    states.resize(group_count, T::default());
    states
}
