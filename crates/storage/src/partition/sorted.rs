//! Searches in the runs of a section whose type has a sort key: ranges, and edges equal in the key.
//!
//! Cost: a binary search reads one value a step; in the in-direction a step also finds the position of its edge.

use std::ops::{Bound, Range};

use model::edge_range::EdgeRange;
use model::id::PropertyKeyId;
use model::{Result, Scalar, Value, each_fixed};

use super::Section;

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrowed {
    /// Positions, or places of the in-direction, outside of which no edge lies in all the ranges.
    pub run: Range<u64>,
    /// Number of first properties of the sort key that are equal for all edges of the run.
    pub pinned: usize,
    /// Every edge of the run lies in all the ranges.
    pub is_exact: bool,
}

impl Section {
    /// The part of a run of one node that may lie in the ranges; `is_in` for a run of the in-direction. Only for a section
    /// none of whose edges has another value of a property of the sort key now.
    pub fn narrow(&self, mut run: Range<u64>, is_in: bool, ranges: &[EdgeRange]) -> Result<Narrowed> {
        let (mut pinned, mut used) = (0, 0);
        for &key in self.sort_keys() {
            let mut is_pinned = false;
            for range in ranges.iter().filter(|range| range.key == key) {
                let Some((lower, upper)) = ends(range) else { continue };
                let start =
                    self.partition_point(run.clone(), |place| Ok(is_before(&self.value(key, place, is_in)?, &lower)))?;
                let end = self
                    .partition_point(start..run.end, |place| Ok(!is_behind(&self.value(key, place, is_in)?, &upper)))?;
                run = start..end;
                used += 1;
                is_pinned |= is_one_value(&lower, &upper);
            }
            if !is_pinned {
                break;
            }
            pinned += 1;
        }
        Ok(Narrowed { run, pinned, is_exact: used == ranges.len() })
    }

    /// True if [`Section::narrow`] leaves only edges that lie in all the ranges.
    pub fn narrows_exactly(&self, ranges: &[EdgeRange]) -> bool {
        let mut used = 0;
        for &key in self.sort_keys() {
            let of_key = || ranges.iter().filter(|range| range.key == key).filter_map(ends);
            used += of_key().count();
            if !of_key().any(|(lower, upper)| is_one_value(&lower, &upper)) {
                break;
            }
        }
        used == ranges.len()
    }

    /// The places of an in-run whose edges have the same values of the sort key as the edge at a position.
    pub(super) fn equal_in_key(&self, mut run: Range<u64>, position: u64) -> Result<Range<u64>> {
        for &key in self.sort_keys() {
            let wanted = self.property_at(key, position)?;
            let start = self.partition_point(run.clone(), |place| Ok(self.value(key, place, true)? < wanted))?;
            let end = self.partition_point(start..run.end, |place| Ok(self.value(key, place, true)? <= wanted))?;
            run = start..end;
        }
        Ok(run)
    }

    fn value(&self, key: PropertyKeyId, place: u64, is_in: bool) -> Result<Value> {
        let position = if is_in { self.in_position(place)? } else { place };
        self.property_at(key, position)
    }
}

fn is_one_value(lower: &Bound<Value>, upper: &Bound<Value>) -> bool {
    matches!((lower, upper), (Bound::Included(a), Bound::Included(b)) if a == b)
}

fn is_before(value: &Value, lower: &Bound<Value>) -> bool {
    match lower {
        Bound::Unbounded => false,
        Bound::Included(bound) => value < bound,
        Bound::Excluded(bound) => value <= bound,
    }
}

fn is_behind(value: &Value, upper: &Bound<Value>) -> bool {
    match upper {
        Bound::Unbounded => false,
        Bound::Included(bound) => value > bound,
        Bound::Excluded(bound) => value >= bound,
    }
}

/// The range in the total order of values: a missing bound is where the values end that can be compared with the other.
/// `None` if the values in the range do not lie together in that order, or nothing can be in it.
fn ends(range: &EdgeRange) -> Option<(Bound<Value>, Bound<Value>)> {
    let (first, last) = match (value_of(&range.lower), value_of(&range.upper)) {
        (None, None) => return Some((Bound::Unbounded, Bound::Excluded(Value::Null))),
        (Some(value), None) | (None, Some(value)) => ends_of_kind(value)?,
        (Some(lower), Some(upper)) => {
            let ends = ends_of_kind(lower)?;
            if ends_of_kind(upper)? != ends {
                return None;
            }
            ends
        }
    };
    let or = |bound: &Bound<Value>, end: Bound<Value>| if *bound == Bound::Unbounded { end } else { bound.clone() };
    Some((or(&range.lower, first), or(&range.upper, last)))
}

fn value_of(bound: &Bound<Value>) -> Option<&Value> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
    }
}

/// Bounds of the values that can be compared with one, if these lie together in the total order.
fn ends_of_kind(value: &Value) -> Option<(Bound<Value>, Bound<Value>)> {
    fn of<T: Scalar>(_: &T) -> Option<(Bound<Value>, Bound<Value>)> {
        T::ends()
    }
    each_fixed!(value, {
        // It is larger than all numbers and cannot be compared with any.
        Value::Float(number) if number.is_nan() => None,
        Value::String(_) => Some((Bound::Included(Value::string("")), Bound::Excluded(Value::Bool(false)))),
    }, x => of(x), _ => None)
}
