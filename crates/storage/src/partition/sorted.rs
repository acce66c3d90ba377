//! Searches in the runs of a section whose type has a sort key: ranges, and edges equal in the key.
//!
//! Cost: a binary search reads one value a step; in the in-direction a step also finds the position of its edge.

use std::ops::{Bound, Range};

use model::edge_range::EdgeRange;
use model::id::PropertyKeyId;
use model::temporal::{Date, DateTime, LocalDateTime, LocalTime, OFFSET_MAX, Time, Zone};
use model::{Result, Value};

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
    let (first, last) = match (kind(&range.lower)?, kind(&range.upper)?) {
        (Kind::Any, Kind::Any) => return Some((Bound::Unbounded, Bound::Excluded(Value::Null))),
        (kind, Kind::Any) | (Kind::Any, kind) => kind.ends(),
        (lower, upper) if lower == upper => lower.ends(),
        _ => return None,
    };
    let or = |bound: &Bound<Value>, end: Bound<Value>| if *bound == Bound::Unbounded { end } else { bound.clone() };
    Some((or(&range.lower, first), or(&range.upper, last)))
}

/// Kinds of values that can be compared among themselves and lie together in the total order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Any,
    Number,
    Text,
    Bool,
    Date,
    LocalDateTime,
    LocalTime,
    Time,
    DateTime,
}

fn kind(bound: &Bound<Value>) -> Option<Kind> {
    let (Bound::Included(value) | Bound::Excluded(value)) = bound else { return Some(Kind::Any) };
    match value {
        Value::Int(_) => Some(Kind::Number),
        Value::Float(number) if !number.is_nan() => Some(Kind::Number),
        Value::String(_) => Some(Kind::Text),
        Value::Bool(_) => Some(Kind::Bool),
        Value::Date(_) => Some(Kind::Date),
        Value::LocalDateTime(_) => Some(Kind::LocalDateTime),
        Value::LocalTime(_) => Some(Kind::LocalTime),
        Value::Time(_) => Some(Kind::Time),
        Value::DateTime(_) => Some(Kind::DateTime),
        _ => None,
    }
}

impl Kind {
    /// Between which bounds the values of the kind lie.
    fn ends(self) -> (Bound<Value>, Bound<Value>) {
        let closed = |first: Value, last: Value| (Bound::Included(first), Bound::Included(last));
        match self {
            Kind::Any => (Bound::Unbounded, Bound::Unbounded),
            // NaN is larger than all numbers and cannot be compared with any.
            Kind::Number => closed(Value::Float(f64::NEG_INFINITY), Value::Float(f64::INFINITY)),
            Kind::Text => (Bound::Included(Value::string("")), Bound::Excluded(Value::Bool(false))),
            Kind::Bool => closed(Value::Bool(false), Value::Bool(true)),
            Kind::Date => closed(Value::Date(Date::MIN), Value::Date(Date::MAX)),
            Kind::LocalDateTime => {
                closed(Value::LocalDateTime(LocalDateTime::MIN), Value::LocalDateTime(LocalDateTime::MAX))
            }
            Kind::LocalTime => closed(Value::LocalTime(LocalTime(0)), Value::LocalTime(LocalTime::MAX)),
            Kind::Time => {
                let at = |local, offset| Value::Time(Time { local, offset });
                closed(at(LocalTime(0), OFFSET_MAX), at(LocalTime::MAX, -OFFSET_MAX))
            }
            // Below a moment come the kinds of the greatest local date-time, above it only the kind that follows.
            Kind::DateTime => {
                let first = DateTime { seconds: i64::MIN, nanosecond: 0, zone: Zone::UTC };
                (Bound::Included(Value::DateTime(first)), Bound::Excluded(Value::LocalDateTime(LocalDateTime::MIN)))
            }
        }
    }
}
