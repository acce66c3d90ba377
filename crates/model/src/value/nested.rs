//! The contents of a list or a map: shared, with the number of levels that it is nested, and of the values in all of
//! them.
//!
//! Invariant: depth and extent are known wherever a list or map is made, so that limits on them cost no walk. Values
//! within [`VALUE_DEPTH_MAX`] can be printed, compared, hashed, converted and dropped by recursion on any thread; and
//! since one value may stand in a list twice, in that list's list four times, and so on, only a limit on the extent
//! bounds the work.
//!
//! Cost: a look at each immediate member when it is made; a clone shares.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{MapValue, Value};
use crate::error::Result;
use crate::limits::{LIST_ELEMENTS_MAX, VALUE_DEPTH_MAX};

/// Entries of a leaf of a map, and the sizes of a leaf and of a node above leaves, as they are allocated.
const LEAF_ENTRIES: usize = 11;
const LEAF_BYTES: usize = (LEAF_ENTRIES * (size_of::<Arc<str>>() + size_of::<Value>()) + 16).next_multiple_of(32);
const INNER_BYTES: usize = (LEAF_BYTES + (LEAF_ENTRIES + 1) * size_of::<usize>()).next_multiple_of(32);

/// Bytes of the nodes of a [`MapValue`] of that many entries: those of one entry have a whole leaf.
pub fn map_node_bytes(entries: usize) -> usize {
    let leaves = entries.div_ceil(LEAF_ENTRIES);
    let inner = if leaves > 1 { leaves.div_ceil(LEAF_ENTRIES / 2) } else { 0 };
    leaves * LEAF_BYTES + inner * INNER_BYTES
}

/// The members of a list or a map, shared between its clones.
#[derive(Clone)]
pub struct Nested<T> {
    members: Arc<T>,
    depth: u32,
    extent: u32,
}

impl<T> Nested<T> {
    fn over(members: T, (deepest, extent): (u32, u32)) -> Nested<T> {
        Nested { members: Arc::new(members), depth: deepest.saturating_add(1), extent }
    }

    /// Number of levels of lists and maps: 1 for a list of numbers.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Number of values in all levels, each counted as often as it stands there.
    pub fn extent(&self) -> u32 {
        self.extent
    }

    /// True if nobody else holds the members.
    pub fn is_sole(&self) -> bool {
        Arc::strong_count(&self.members) == 1
    }

    /// True if both are clones of one.
    pub fn is_same(&self, other: &Nested<T>) -> bool {
        Arc::ptr_eq(&self.members, &other.members)
    }

    /// Address of the members in memory.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.members) as usize
    }
}

impl<T: Clone> Nested<T> {
    /// The members, copied if others hold them too.
    pub fn into_members(self) -> T {
        Arc::unwrap_or_clone(self.members)
    }
}

impl<T> Deref for Nested<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.members
    }
}

impl<T: fmt::Debug> fmt::Debug for Nested<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.members.fmt(f)
    }
}

impl From<Vec<Value>> for Nested<Vec<Value>> {
    fn from(items: Vec<Value>) -> Nested<Vec<Value>> {
        let measures = measures(&items);
        Nested::over(items, measures)
    }
}

impl Nested<Vec<Value>> {
    /// A list of values that are neither lists nor maps, which are not looked at.
    pub fn flat(items: Vec<Value>) -> Nested<Vec<Value>> {
        debug_assert_eq!(measures(&items).0, 0, "a flat list holds no lists");
        let extent = u32::try_from(items.len()).unwrap_or(u32::MAX);
        Nested::over(items, (0, extent))
    }
}

impl From<MapValue> for Nested<MapValue> {
    fn from(entries: MapValue) -> Nested<MapValue> {
        let measures = measures(entries.values());
        Nested::over(entries, measures)
    }
}

/// The depth of the deepest of these values, and how many there are, those within them included.
fn measures<'v>(values: impl IntoIterator<Item = &'v Value>) -> (u32, u32) {
    values.into_iter().fold((0, 0), |(deepest, extent), value| match value {
        Value::List(items) => (deepest.max(items.depth), extent.saturating_add(items.extent).saturating_add(1)),
        Value::Map(map) => (deepest.max(map.depth), extent.saturating_add(map.extent).saturating_add(1)),
        _ => (deepest, extent.saturating_add(1)),
    })
}

impl Value {
    /// Number of levels of lists and maps of the value: 0 for all others.
    #[inline]
    pub fn depth(&self) -> u32 {
        match self {
            Value::List(items) => items.depth(),
            Value::Map(map) => map.depth(),
            _ => 0,
        }
    }

    /// Fails with `LIMIT` if the value is nested deeper than any may be, or holds more values in all.
    #[inline]
    pub fn check_extent(&self) -> Result<()> {
        let (depth, extent) = match self {
            Value::List(items) => (items.depth, items.extent),
            Value::Map(map) => (map.depth, map.extent),
            _ => return Ok(()),
        };
        match (depth <= VALUE_DEPTH_MAX, extent as usize <= LIST_ELEMENTS_MAX) {
            (true, true) => Ok(()),
            (false, _) => Err(too_deep()),
            (true, false) => Err(too_large()),
        }
    }
}

#[cold]
fn too_deep() -> crate::Error {
    crate::error!(Limit, "a list or map is nested more than {VALUE_DEPTH_MAX} levels deep")
        .with_remedy("keep it flat: join lists with +, or collect the parts as rows")
}

#[cold]
fn too_large() -> crate::Error {
    crate::error!(Limit, "a list or map holds more than {LIST_ELEMENTS_MAX} values in all its levels")
        .with_remedy("keep the parts as rows")
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use crate::limits::VALUE_DEPTH_MAX;

    #[test]
    fn the_depth_is_that_of_the_deepest_member() {
        assert_eq!(Value::Int(1).depth(), 0);
        assert_eq!(Value::list(Vec::new()).depth(), 1);
        let inner = Value::map([("a".into(), Value::list(vec![Value::Null]))]);
        assert_eq!(inner.depth(), 2);
        assert_eq!(Value::list(vec![Value::Int(1), inner.clone(), Value::Null]).depth(), 3);
        let mut value = inner;
        while value.depth() < VALUE_DEPTH_MAX {
            value = Value::list(vec![value]);
        }
        assert!(value.check_extent().is_ok());
        assert!(Value::map([("a".into(), value)]).check_extent().is_err());
    }

    #[test]
    fn what_stands_there_twice_counts_twice() {
        let mut value = Value::list(vec![Value::Int(1)]);
        let mut levels = 1;
        while value.check_extent().is_ok() {
            value = Value::list(vec![value.clone(), value]);
            levels += 1;
        }
        assert_eq!(levels, 26, "there are 3 * 2^25 - 2 values");
        let map = Value::map([("a".into(), Value::list(vec![Value::Null; 3])), ("b".into(), Value::Int(1))]);
        assert!(matches!(map, Value::Map(map) if map.extent() == 5));
    }

    #[test]
    fn a_value_of_the_greatest_depth_needs_little_stack() {
        let work = || {
            let make = |map: bool| {
                let mut value = Value::Float(1.5);
                while value.depth() < VALUE_DEPTH_MAX {
                    value = if map { Value::map([("k".into(), value)]) } else { Value::list(vec![value]) };
                }
                value
            };
            for map in [false, true] {
                let (a, b) = (make(map), make(map));
                assert_eq!(a.equals(&b), Some(true));
                assert!(a == b && a.to_string() == b.to_string() && format!("{a:?}") == format!("{b:?}"));
                assert_eq!(a.is_storable(), !map);
                let hash = |value: &Value| {
                    use std::hash::{DefaultHasher, Hash, Hasher};
                    let mut hasher = DefaultHasher::new();
                    value.hash(&mut hasher);
                    hasher.finish()
                };
                assert_eq!(hash(&a), hash(&b));
            }
        };
        // An eighth of what threads have.
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap();
        thread.join().unwrap();
    }
}
