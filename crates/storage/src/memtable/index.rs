//! Unique values written since the files were: for one constraint, which node has which value.
//!
//! While a statement sets values one after the other, two nodes may have the same: the last one that got it is found, and the
//! others are kept behind it.
//!
//! Invariant: every entry is true now. The index of the files is asked only for values that are not here, and what it
//! answers is compared with the node as it is now; so nothing needs to be taken out of it.

use std::sync::Arc;

use model::{NodeId, Value};

use super::SharedMap;
use super::properties::value_bytes;
use crate::index::KeyIndex;

/// The values of one constraint.
#[derive(Clone, Debug, Default)]
pub(crate) struct UniqueIndex {
    /// Integers are by far the most frequent keys, and small.
    integers: SharedMap<i64, NodeId>,
    others: SharedMap<Value, NodeId>,
    /// Nodes that have a value which another got after them.
    behind: SharedMap<Value, Arc<[NodeId]>>,
    /// The run that was written when the constraint was made, of all values of that moment: asked for values that neither
    /// are here nor in the files, and what it answers is compared with the node as it is now.
    built: Option<Arc<KeyIndex>>,
}

/// Approximate bytes of an entry.
pub(crate) fn index_entry_bytes(value: &Value) -> usize {
    48 + value_bytes(value)
}

impl UniqueIndex {
    /// The index of a constraint that was just made, all its values written to a run.
    pub(crate) fn written(run: Arc<KeyIndex>) -> UniqueIndex {
        UniqueIndex { built: Some(run), ..UniqueIndex::default() }
    }

    /// The run that was written when the constraint was made.
    pub(crate) fn built(&self) -> Option<&KeyIndex> {
        self.built.as_deref()
    }

    /// Approximate bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let others: usize = self.others.keys().map(index_entry_bytes).sum();
        self.integers.len() * index_entry_bytes(&Value::Int(0)) + others
    }

    /// The node that has the value.
    pub(crate) fn get(&self, value: &Value) -> Option<NodeId> {
        match integer(value) {
            Some(integer) => self.integers.get(&integer).copied(),
            None => self.others.get(value).copied(),
        }
    }

    /// Notes that the node has the value. What does not equal itself, such as NaN, is never taken and never found.
    pub(crate) fn insert(&mut self, value: &Value, node: NodeId) {
        if !equals_itself(value) {
            return;
        }
        if let Some(before) = self.put(value, node).filter(|&before| before != node) {
            self.change_behind(value, |nodes| {
                nodes.retain(|&other| other != node);
                nodes.push(before);
            });
        }
    }

    /// Notes that the node no longer has the value.
    pub(crate) fn remove(&mut self, value: &Value, node: NodeId) {
        if self.get(value) != Some(node) {
            if !self.behind.is_empty() {
                self.change_behind(value, |nodes| nodes.retain(|&other| other != node));
            }
            return;
        }
        let mut next = None;
        if !self.behind.is_empty() {
            self.change_behind(value, |nodes| next = nodes.pop());
        }
        match (next, integer(value)) {
            (Some(next), _) => drop(self.put(value, next)),
            (None, Some(integer)) => drop(self.integers.remove(&integer)),
            (None, None) => drop(self.others.remove(value)),
        }
    }

    /// Makes the node the one that is found; gives the one before.
    fn put(&mut self, value: &Value, node: NodeId) -> Option<NodeId> {
        match integer(value) {
            Some(integer) => self.integers.insert(integer, node),
            None => self.others.insert(value.clone(), node),
        }
    }

    fn change_behind(&mut self, value: &Value, change: impl FnOnce(&mut Vec<NodeId>)) {
        let key = integer(value).map_or_else(|| value.clone(), Value::Int);
        let mut nodes = self.behind.get(&key).map_or_else(Vec::new, |nodes| nodes.to_vec());
        change(&mut nodes);
        match nodes.is_empty() {
            true => drop(self.behind.remove(&key)),
            false => drop(self.behind.insert(key, nodes.into())),
        }
    }
}

/// False for null and NaN, and lists that hold such: they are no conflict with anything.
pub(crate) fn equals_itself(value: &Value) -> bool {
    match value {
        Value::Float(_) | Value::List(_) | Value::Null => value.equals(value) == Some(true),
        _ => true,
    }
}

/// The integer that equals the value, so that `1` and `1.0` meet in one entry.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(integer) => Some(*integer),
        Value::Float(float) => {
            let whole = *float as i64;
            (Value::Int(whole) == *value).then_some(whole)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use model::{NodeId, Value};

    use super::UniqueIndex;

    #[test]
    fn who_had_a_value_first_is_found_again() {
        let mut index = UniqueIndex::default();
        let (one, also_one) = (Value::Int(1), Value::Float(1.0));
        index.insert(&one, NodeId(5));
        index.insert(&also_one, NodeId(6));
        index.insert(&one, NodeId(6));
        index.insert(&one, NodeId(7));
        assert_eq!(index.get(&one), Some(NodeId(7)));
        index.remove(&one, NodeId(6));
        index.remove(&also_one, NodeId(7));
        assert_eq!(index.get(&also_one), Some(NodeId(5)));
        // A node that is inserted again is held once.
        index.insert(&one, NodeId(8));
        index.insert(&one, NodeId(5));
        index.remove(&one, NodeId(5));
        assert_eq!(index.get(&one), Some(NodeId(8)));
        index.remove(&one, NodeId(8));
        assert!(index.get(&one).is_none() && index.behind.is_empty());
    }

    #[test]
    fn equal_numbers_meet() {
        let mut index = UniqueIndex::default();
        index.insert(&Value::Int(1), NodeId(5));
        index.insert(&Value::Float(9.5), NodeId(6));
        let large = 9_223_372_036_854_775_808.0;
        for (value, expected) in [
            (Value::Float(1.0), Some(NodeId(5))),
            (Value::Float(9.5), Some(NodeId(6))),
            (Value::Float(large), None),
            (Value::Float(f64::NAN), None),
            (Value::string("1"), None),
        ] {
            assert_eq!(index.get(&value), expected, "{value}");
        }
        index.insert(&Value::Float(f64::NAN), NodeId(8));
        index.insert(&Value::list(vec![Value::Float(f64::NAN)]), NodeId(8));
        assert_eq!(index.get(&Value::Float(f64::NAN)), None);
        assert_eq!(index.get(&Value::list(vec![Value::Float(f64::NAN)])), None);
        index.insert(&Value::Int(i64::MAX), NodeId(7));
        assert_eq!(index.get(&Value::Float(large)), None);
        index.remove(&Value::Float(1.0), NodeId(4));
        assert_eq!(index.get(&Value::Int(1)), Some(NodeId(5)));
        index.remove(&Value::Float(1.0), NodeId(5));
        assert_eq!(index.get(&Value::Int(1)), None);
    }
}
