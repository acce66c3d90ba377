//! Labels and numbers of all nodes, by id.

use std::sync::Arc;

use model::{Bitmap, Column, ColumnData, NodeId, PropertyKeyId, Result};

use crate::adjacency::label_ids;
use crate::aggregates::Total;
use crate::runtime::Runtime;

/// Ids of nodes that are read at a time.
const STEP: u64 = 4_096;

/// Numbers of no larger size can be added up for a batch of edges in 64 bits.
const SMALL_MAX: u64 = 1 << 40;

/// Labels and properties of the nodes that edges lead to.
pub(in super::super) struct Far {
    /// The nodes that carry the labels; `None` if all nodes do.
    labelled: Option<Bitmap>,
    /// By property.
    pub(super) numbers: Vec<Numbers>,
}

/// One property of all nodes.
pub(super) struct Numbers {
    values: Values,
    /// The nodes with a value, among those that carry the labels; `None` if each of them has one.
    present: Option<Bitmap>,
    /// No sum of a batch leaves 64 bits.
    are_small: bool,
}

/// The values by node; 0 where there is none.
enum Values {
    Int(Vec<i64>),
    Float(Vec<f64>),
}

impl Far {
    /// Approximate bytes that it takes for `bound` ids and `properties` properties.
    pub(super) fn bytes(bound: u64, properties: usize) -> usize {
        bound as usize * (8 * properties + 1)
    }

    /// Reads it; `None` if a property has values that are no numbers, or integers as well as floats.
    pub(super) fn of(runtime: &Runtime<'_>, labels: &[Arc<str>], properties: &[Arc<str>]) -> Result<Option<Far>> {
        let guard = runtime.view();
        let view = guard.view();
        let bound = view.node_id_bound();
        let labels = label_ids(view, labels);
        let keys: Vec<Option<PropertyKeyId>> =
            properties.iter().map(|property| view.schema().property_key(property)).collect();
        let known: Vec<PropertyKeyId> = keys.iter().copied().flatten().collect();
        let mut labelled = Bitmap::default();
        let mut found: Vec<Gathered> = known.iter().map(|_| Gathered::default()).collect();
        for start in (0..bound).step_by(STEP as usize) {
            runtime.environment.interrupt.check()?;
            let ids: Vec<NodeId> = (start..(start + STEP).min(bound)).map(NodeId).collect();
            let mut is_wanted = vec![labels.is_some(); ids.len()];
            for &label in labels.iter().flatten() {
                let carry = view.has_label(&ids, label)?;
                is_wanted.iter_mut().enumerate().for_each(|(row, wanted)| *wanted &= carry.get(row));
            }
            is_wanted.iter().for_each(|&wanted| labelled.push(wanted));
            if known.is_empty() {
                continue;
            }
            for (gathered, column) in found.iter_mut().zip(view.node_properties(&ids, &known)?) {
                if !gathered.add(&column, &is_wanted) {
                    return Ok(None);
                }
            }
        }
        let labelled = (labelled.count_ones() < labelled.len()).then_some(labelled);
        let mut found = found.into_iter();
        let nothing = || Gathered { before: bound as usize, ..Gathered::default() };
        let numbers = keys.iter().map(|key| {
            let gathered = key.and_then(|_| found.next()).unwrap_or_else(nothing);
            gathered.finish(labelled.as_ref())
        });
        let numbers = numbers.collect();
        Ok(Some(Far { labelled, numbers }))
    }

    /// Number of the nodes that are wanted.
    #[inline]
    pub(super) fn count(&self, nodes: &[NodeId]) -> usize {
        match &self.labelled {
            None => nodes.len(),
            Some(labelled) => nodes.iter().map(|node| usize::from(labelled.get(node.0 as usize))).sum(),
        }
    }
}

impl Numbers {
    /// Adds the values of the nodes, of which `wanted` are asked for.
    #[inline]
    pub(super) fn add(&self, nodes: &[NodeId], wanted: usize, total: &mut Total) {
        let count = || match &self.present {
            None => wanted,
            Some(present) => nodes.iter().map(|node| usize::from(present.get(node.0 as usize))).sum(),
        };
        match &self.values {
            Values::Int(values) if self.are_small => {
                let sum: i64 = nodes.iter().map(|node| values[node.0 as usize]).sum();
                total.add_integers(i128::from(sum), count() as i64);
            }
            Values::Int(values) => {
                let sum: i128 = nodes.iter().map(|node| i128::from(values[node.0 as usize])).sum();
                total.add_integers(sum, count() as i64);
            }
            Values::Float(values) => {
                let is_there = |node: &&NodeId| self.present.as_ref().is_none_or(|it| it.get(node.0 as usize));
                nodes.iter().filter(is_there).for_each(|node| total.add_float(values[node.0 as usize]));
            }
        }
    }
}

/// A property of the nodes so far.
#[derive(Default)]
struct Gathered {
    values: Option<Values>,
    present: Bitmap,
    /// Nodes that came before the first value.
    before: usize,
    are_large: bool,
}

impl Gathered {
    /// Adds the next nodes, some of which are wanted; false if there is something else than numbers of one kind.
    fn add(&mut self, column: &Column, is_wanted: &[bool]) -> bool {
        let is_there = |row: usize| is_wanted[row] && !column.is_null(row);
        (0..is_wanted.len()).for_each(|row| self.present.push(is_there(row)));
        if (0..is_wanted.len()).all(|row| !is_there(row)) {
            match &mut self.values {
                None => self.before += is_wanted.len(),
                Some(Values::Int(values)) => values.resize(values.len() + is_wanted.len(), 0),
                Some(Values::Float(values)) => values.resize(values.len() + is_wanted.len(), 0.0),
            }
            return true;
        }
        let before = self.before;
        match (&column.data, &mut self.values) {
            (ColumnData::Int(found), values @ (None | Some(Values::Int(_)))) => {
                let Values::Int(values) = values.get_or_insert_with(|| Values::Int(vec![0; before])) else {
                    return false;
                };
                let value = |(row, &value): (usize, &i64)| if is_there(row) { value } else { 0 };
                let start = values.len();
                values.extend(found.iter().enumerate().map(value));
                self.are_large |= values[start..].iter().any(|value| value.unsigned_abs() > SMALL_MAX);
                true
            }
            (ColumnData::Float(found), values @ (None | Some(Values::Float(_)))) => {
                let Values::Float(values) = values.get_or_insert_with(|| Values::Float(vec![0.0; before])) else {
                    return false;
                };
                values.extend(found);
                true
            }
            _ => false,
        }
    }

    /// Returns the numbers gathered; `labelled` says which nodes are wanted if those are not all.
    fn finish(self, labelled: Option<&Bitmap>) -> Numbers {
        let before = self.before;
        let values = self.values.unwrap_or_else(|| Values::Int(vec![0; before]));
        let count = self.present.count_ones();
        let is_everywhere = count == labelled.map_or(before.max(self.present.len()), Bitmap::count_ones);
        // An integer of a node that is not wanted is 0 and adds nothing; a float would be counted.
        let is_everywhere = is_everywhere && (labelled.is_none() || matches!(values, Values::Int(_)));
        let present = if self.present.is_empty() { Bitmap::filled(before, false) } else { self.present };
        Numbers { values, present: (!is_everywhere).then_some(present), are_small: !self.are_large }
    }
}
