//! The few properties of one node or edge of the memtable.

use std::sync::Arc;

use model::{PropertyKeyId, Value};

/// Entries up to which a key is looked for one by one.
const FEW: usize = 16;

/// Properties in order of their keys, shared by snapshots. A null stands for "removed" where the files may have a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties(Option<Arc<[(PropertyKeyId, Value)]>>);

impl Properties {
    /// Takes entries in any order; of two with the same key the later counts.
    pub(crate) fn new(mut entries: Vec<(PropertyKeyId, Value)>) -> Properties {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.reverse();
            entries.sort_by_key(|entry| entry.0);
            entries.dedup_by_key(|entry| entry.0);
        }
        Properties(if entries.is_empty() { None } else { Some(entries.into()) })
    }

    /// All entries.
    #[inline]
    pub(crate) fn entries(&self) -> &[(PropertyKeyId, Value)] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// The value of a key, which may be null.
    #[inline]
    pub(crate) fn get(&self, key: PropertyKeyId) -> Option<&Value> {
        let entries = self.entries();
        if entries.len() > FEW {
            return entries.binary_search_by_key(&key, |entry| entry.0).ok().map(|at| &entries[at].1);
        }
        entries.iter().find(|entry| entry.0 == key).map(|entry| &entry.1)
    }

    /// Sets a key, also to null.
    pub(crate) fn set(&mut self, key: PropertyKeyId, value: Value) {
        if let Some(entries) = self.0.as_mut().and_then(Arc::get_mut)
            && let Some(entry) = entries.iter_mut().find(|entry| entry.0 == key)
        {
            entry.1 = value;
            return;
        }
        let at = self.entries().partition_point(|entry| entry.0 < key);
        let (before, rest) = self.entries().split_at(at);
        let after = if rest.first().is_some_and(|entry| entry.0 == key) { &rest[1..] } else { rest };
        let new = std::iter::once((key, value));
        self.0 = Some(before.iter().cloned().chain(new).chain(after.iter().cloned()).collect());
    }

    /// Takes a key away.
    pub(crate) fn remove(&mut self, key: PropertyKeyId) {
        if self.get(key).is_some() {
            *self = Properties::new(self.entries().iter().filter(|entry| entry.0 != key).cloned().collect());
        }
    }

    /// Approximate bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let entries = self.entries();
        if entries.is_empty() { 0 } else { 16 + entries.iter().map(|entry| 8 + value_bytes(&entry.1)).sum::<usize>() }
    }
}

/// Approximate bytes that a value takes.
pub(crate) fn value_bytes(value: &Value) -> usize {
    let outside = match value {
        Value::String(text) => 16 + text.len(),
        Value::Bytes(bytes) => 16 + bytes.len(),
        Value::List(items) => 40 + items.iter().map(value_bytes).sum::<usize>(),
        _ => 0,
    };
    size_of::<Value>() + outside
}

#[cfg(test)]
mod tests {
    use model::{PropertyKeyId, Value};

    use super::Properties;

    fn check(steps: &[(u32, Option<i64>)], expected: &[(u32, i64)]) {
        let mut properties = Properties::default();
        let snapshots: Vec<Properties> = steps
            .iter()
            .map(|&(key, value)| {
                let before = properties.clone();
                match value {
                    Some(value) => properties.set(PropertyKeyId(key), Value::Int(value)),
                    None => properties.remove(PropertyKeyId(key)),
                }
                before
            })
            .collect();
        let found: Vec<_> = properties.entries().iter().map(|(key, value)| (key.0, value.clone())).collect();
        assert_eq!(found, expected.iter().map(|&(key, value)| (key, Value::Int(value))).collect::<Vec<_>>());
        assert!(snapshots[0].entries().is_empty());
    }

    #[test]
    fn keys_stay_in_order_and_once() {
        check(&[(3, Some(1)), (1, Some(2)), (3, Some(4)), (2, Some(5))], &[(1, 2), (2, 5), (3, 4)]);
        check(&[(1, Some(1)), (2, Some(2)), (1, None), (9, None)], &[(2, 2)]);
        check(&[(1, Some(1)), (1, None)], &[]);
    }

    #[test]
    fn of_two_entries_the_later_counts() {
        let entry = |key, value| (PropertyKeyId(key), Value::Int(value));
        let properties = Properties::new(vec![entry(2, 1), entry(1, 2), entry(2, 3)]);
        assert_eq!(properties.entries(), [entry(1, 2), entry(2, 3)]);
    }
    #[test]
    fn keys_are_found_among_few_and_among_many() {
        for count in [0, 1, 15, 16, 17, 1_000] {
            let entries = (0..count).rev().map(|key| (PropertyKeyId(key * 2), Value::Int(i64::from(key))));
            let properties = Properties::new(entries.collect());
            for key in 0..count * 2 + 1 {
                let expected = (key % 2 == 0 && key / 2 < count).then(|| Value::Int(i64::from(key / 2)));
                assert_eq!(properties.get(PropertyKeyId(key)), expected.as_ref(), "{key} of {count}");
            }
        }
    }
}
