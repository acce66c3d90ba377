//! `count(*)`, `count(value)`, `count(DISTINCT value)`.

use std::any::Any;
use std::sync::Arc;

use model::{Bitmap, Column, ColumnData, NodeId, Result, Set, Value};

use super::node_set::NodeSet;
use super::pair_set::PairSet;
use super::{
    Aggregator, Groups, PIECE_ROWS, PieceSink, Spread, finished, for_each_value, give_columns, give_values, grow,
    same_kind,
};
use crate::rows::int_at;
use crate::size::heap_bytes;

/// Counts rows, or values that are not null.
#[derive(Default)]
pub(crate) struct Count {
    counts: Vec<i64>,
}

impl Count {
    /// The rows of each group, counted already.
    pub(crate) fn of_rows(counts: Vec<i64>) -> Count {
        Count { counts }
    }
}

impl Aggregator for Count {
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.counts, group_count);
        let counts = &mut self.counts;
        match (groups, arguments.first()) {
            (Groups::One(rows), None) => counts[0] += rows as i64,
            (Groups::Each(groups), None) => groups.iter().for_each(|&group| counts[group as usize] += 1),
            (Groups::One(rows), Some(column)) => counts[0] += values_in(column, rows) as i64,
            (groups, Some(column)) => for_each_value(groups, column, |_, group| counts[group] += 1),
        }
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()> {
        grow(&mut self.counts, group_count);
        let other: Count = same_kind(other)?;
        for (&group, count) in groups.iter().zip(other.counts) {
            self.counts[group as usize] += count;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.counts.len() * size_of::<i64>()
    }

    fn give_away(self: Box<Self>, piece: &mut PieceSink<'_>) -> Result<()> {
        give_columns(self.counts.len(), vec![Column::new(ColumnData::Int(self.counts))], piece)
    }

    fn absorb(&mut self, groups: &[u32], group_count: usize, columns: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.counts, group_count);
        let counts = &mut self.counts;
        groups.iter().enumerate().for_each(|(row, &group)| counts[group as usize] += int_at(&columns[0], row));
        Ok(())
    }

    fn finish(self: Box<Self>, group_count: usize) -> Result<Column> {
        Ok(Column::new(ColumnData::Int(finished(self.counts, group_count))))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Number of rows of a column that are not null.
fn values_in(column: &Column, rows: usize) -> usize {
    match (&column.data, &column.validity) {
        (ColumnData::Null(_), _) => 0,
        (ColumnData::Value(values), None) => values.iter().filter(|value| !value.is_null()).count(),
        (_, Some(validity)) => Bitmap::count_ones(validity),
        (_, None) => rows,
    }
}

/// Integers below this may be told apart by a bit each. Their bits take half a MiB at most.
const SMALL_BELOW: i64 = 1 << 22;

/// Counts distinct values: nodes and integers in sets of their own, everything else by hash.
#[derive(Default)]
pub(super) struct CountDistinct {
    nodes: Vec<NodeSet>,
    integers: Integers,
    others: Set<(u32, Value)>,
    counts: Vec<i64>,
}

/// True if all may be told apart by bits.
fn are_small(integers: &[i64]) -> bool {
    integers.iter().fold(true, |all, integer| all & (0..SMALL_BELOW).contains(integer))
}

/// Pairs of a group and an integer. Small integers of the first group, which often is the only one, are a set of bits.
#[derive(Default)]
struct Integers {
    small: NodeSet,
    pairs: PairSet,
}

impl Integers {
    /// Adds a pair; true if it is new.
    #[inline]
    fn insert(&mut self, group: u32, integer: i64) -> bool {
        if group == 0 && (0..SMALL_BELOW).contains(&integer) {
            self.small.insert(NodeId(integer as u64))
        } else {
            self.pairs.insert(group, integer)
        }
    }

    /// Calls `each` with all pairs.
    fn for_each(&self, mut each: impl FnMut(u32, i64)) {
        self.small.for_each(|NodeId(integer)| each(0, integer as i64));
        self.pairs.for_each(each);
    }

    fn bytes(&self) -> usize {
        self.small.bytes() + self.pairs.bytes()
    }
}

fn give_integers(set: &Integers, piece: &mut PieceSink<'_>) -> Result<()> {
    let (mut groups, mut integers, mut outcome) = (Vec::new(), Vec::new(), Ok(()));
    let mut give = |groups: &mut Vec<u32>, integers: &mut Vec<i64>| {
        let column = Column::new(ColumnData::Int(std::mem::take(integers)));
        let given = piece(groups, vec![column]);
        groups.clear();
        given
    };
    set.for_each(|group, integer| {
        groups.push(group);
        integers.push(integer);
        if groups.len() == PIECE_ROWS && outcome.is_ok() {
            outcome = give(&mut groups, &mut integers);
        }
    });
    outcome?;
    if groups.is_empty() { Ok(()) } else { give(&mut groups, &mut integers) }
}

/// The integer that a float may equal.
fn whole(float: f64) -> Option<i64> {
    (float.fract() == 0.0).then_some(float as i64)
}

impl CountDistinct {
    fn insert(&mut self, group: usize, value: Value) {
        let is_new = match value {
            Value::Node(node) => {
                grow(&mut self.nodes, group + 1);
                self.nodes[group].insert(node)
            }
            Value::Int(integer) => self.integers.insert(group as u32, integer),
            // A float that equals an integer counts as that integer.
            Value::Float(float) if whole(float).is_some_and(|integer| Value::Int(integer) == value) => {
                self.integers.insert(group as u32, float as i64)
            }
            value => self.others.insert((group as u32, value)),
        };
        self.counts[group] += i64::from(is_new);
    }
}

impl Aggregator for CountDistinct {
    fn update(&mut self, groups: Groups<'_>, group_count: usize, arguments: &[Arc<Column>]) -> Result<()> {
        grow(&mut self.counts, group_count);
        let column = &arguments[0];
        if matches!(column.data, ColumnData::Node(_)) {
            grow(&mut self.nodes, group_count);
        }
        match (&column.data, groups) {
            (ColumnData::Node(nodes), Groups::One(_)) if column.validity.is_none() => {
                self.counts[0] += self.nodes[0].insert_all(nodes.iter().copied()) as i64;
            }
            (ColumnData::Node(nodes), groups) => for_each_value(groups, column, |row, group| {
                self.counts[group] += i64::from(self.nodes[group].insert(nodes[row]));
            }),
            (ColumnData::Int(integers), Groups::One(_)) if column.validity.is_none() && are_small(integers) => {
                let small = integers.iter().map(|&integer| NodeId(integer as u64));
                self.counts[0] += self.integers.small.insert_all(small) as i64;
            }
            (ColumnData::Int(integers), groups) => for_each_value(groups, column, |row, group| {
                self.counts[group] += i64::from(self.integers.insert(group as u32, integers[row]));
            }),
            (_, groups) => for_each_value(groups, column, |row, group| self.insert(group, column.value(row))),
        }
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregator>, groups: &[u32], group_count: usize) -> Result<()> {
        grow(&mut self.counts, group_count);
        let other: CountDistinct = same_kind(other)?;
        if !other.nodes.is_empty() {
            grow(&mut self.nodes, group_count);
        }
        for (&group, nodes) in groups.iter().zip(other.nodes) {
            self.counts[group as usize] += self.nodes[group as usize].insert_set(nodes) as i64;
        }
        self.integers.pairs.reserve_for(&other.integers.pairs);
        other.integers.for_each(|group, integer| {
            let group = groups[group as usize];
            self.counts[group as usize] += i64::from(self.integers.insert(group, integer));
        });
        for (group, value) in other.others {
            self.insert(groups[group as usize] as usize, value);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let nodes: usize = self.nodes.iter().map(NodeSet::bytes).sum();
        // Strings in the set are estimated to be as long as the first of them.
        let text = self.others.iter().next().map_or(0, |(_, value)| heap_bytes(value));
        let entry = size_of::<(u32, Value)>() + size_of::<u64>() + text;
        nodes + self.integers.bytes() + self.counts.len() * size_of::<i64>() + self.others.len() * entry
    }

    fn give_away(self: Box<Self>, piece: &mut PieceSink<'_>) -> Result<()> {
        for (group, set) in self.nodes.into_iter().enumerate() {
            let mut nodes = Vec::new();
            set.for_each(|node| nodes.push(node));
            for nodes in nodes.chunks(PIECE_ROWS) {
                let column = Column::new(ColumnData::Node(nodes.to_vec()));
                piece(&vec![group as u32; nodes.len()], vec![column])?;
            }
        }
        give_integers(&self.integers, piece)?;
        give_values(self.others.into_iter().map(|(group, value)| (group, vec![value])), piece)
    }

    fn absorb(&mut self, groups: &[u32], group_count: usize, columns: &[Arc<Column>]) -> Result<()> {
        self.update(Groups::Each(groups), group_count, columns)
    }

    fn spread(&self) -> Spread {
        Spread::ByHash
    }

    fn shed(&mut self, piece: &mut PieceSink<'_>) -> Result<()> {
        Box::new(std::mem::take(self)).give_away(piece)
    }

    fn settle(self: Box<Self>) -> Box<dyn Aggregator> {
        Box::new(Count { counts: self.counts })
    }

    fn finish(self: Box<Self>, group_count: usize) -> Result<Column> {
        Ok(Column::new(ColumnData::Int(finished(self.counts, group_count))))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
