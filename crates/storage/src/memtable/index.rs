//! Unique values written since the files were: for one constraint, which node has which value.
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
    /// The run that was written when the constraint was made, of all values of that moment: asked for values that neither
    /// are here nor in the files, and what it answers is compared with the node as it is now.
    built: Option<Arc<KeyIndex>>,
}

/// Bytes of an entry, roughly.
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

    /// Bytes held, roughly.
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
        match integer(value) {
            Some(integer) => self.integers.insert(integer, node),
            None => self.others.insert(value.clone(), node),
        };
    }

    /// Notes that the node no longer has the value.
    pub(crate) fn remove(&mut self, value: &Value, node: NodeId) {
        if self.get(value) == Some(node) {
            match integer(value) {
                Some(integer) => self.integers.remove(&integer),
                None => self.others.remove(value),
            };
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
