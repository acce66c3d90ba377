//! Nodes: scans, properties, labels, existence, lookups, indexes and counts.

use std::collections::BTreeMap;
use std::ops::Bound;

use model::index_scan::{IndexBatch, IndexScan, KeyOrder, KeyRange};
use model::schema::{Index, Subject};
use model::store::by_scan::index_by_scan;
use model::{Column, Count, LabelId, NodeId, PropertyKeyId, ReadView, Value};

use super::{Pair, assert_same, scan, text};

impl Pair<'_> {
    pub(super) fn check_scans(&mut self) {
        let mut sets: Vec<Vec<(LabelId, LabelId)>> = vec![Vec::new()];
        sets.extend(self.labels.iter().map(|&label| vec![label]));
        for _ in 0..3 {
            if !self.labels.is_empty() {
                sets.push(vec![*self.random.pick(&self.labels), *self.random.pick(&self.labels)]);
            }
        }
        for set in sets {
            let (ours, theirs) = set.iter().copied().unzip();
            let (our_keys, their_keys) = self.pick_keys();
            let lines = |side: usize, view, labels, keys| {
                let lines = scan(view, labels, keys).into_iter();
                let mut lines: Vec<String> =
                    lines.map(|(node, values)| format!("{}: {}", self.name(side, node), text(values))).collect();
                lines.sort_unstable();
                lines
            };
            let (a, b) = (lines(0, self.view, ours, our_keys), lines(1, self.reference, theirs, their_keys));
            assert_same(&a, &b, &|| format!("nodes with labels {set:?}"));
        }
    }

    /// Properties, labels and existence of random nodes.
    pub(super) fn check_nodes(&mut self) {
        let (ours, theirs) = self.pick_nodes();
        let (our_keys, their_keys) = self.pick_keys();
        let rows = |view: &dyn ReadView, nodes: &[NodeId], keys: &[PropertyKeyId]| -> Vec<String> {
            let columns = view.node_properties(nodes, keys).expect("properties can be read");
            assert_eq!(columns.len(), keys.len(), "a column for each property");
            assert!(columns.iter().all(|column| column.len() == nodes.len()), "a row for each node");
            (0..nodes.len()).map(|row| text(columns.iter().map(|column| column.value(row)))).collect()
        };
        let (a, b) = (rows(self.view, &ours, &our_keys), rows(self.reference, &theirs, &their_keys));
        assert_same(&a, &b, &|| format!("properties {our_keys:?}"));
        let labels = |view: &dyn ReadView, nodes: &[NodeId]| -> Vec<Vec<String>> {
            let name = |label: &LabelId| view.schema().label_name(*label).to_owned();
            let labels = view.node_labels(nodes).expect("labels can be read");
            assert!(labels.iter().all(|labels| labels.is_sorted()), "labels come in order");
            let sorted = |labels: &Vec<LabelId>| {
                let mut names: Vec<String> = labels.iter().map(name).collect();
                names.sort_unstable();
                names
            };
            labels.iter().map(sorted).collect()
        };
        assert_same(&labels(self.view, &ours), &labels(self.reference, &theirs), &|| "labels".to_owned());
        let exist = |view: &dyn ReadView, nodes: &[NodeId]| view.nodes_exist(nodes).expect("nodes can be looked for");
        assert_eq!(exist(self.view, &ours), exist(self.reference, &theirs), "which of {ours:?} exist");
        for &(our, their) in &self.labels {
            let ours = self.view.has_label(&ours, our).expect("labels can be read");
            let theirs = self.reference.has_label(&theirs, their).expect("labels can be read");
            assert_eq!(ours, theirs, "which nodes have the label {our:?}");
        }
        let all = |view: &dyn ReadView, nodes: &[NodeId]| -> Vec<BTreeMap<String, Value>> {
            let rows = view.all_node_properties(nodes).expect("properties can be read").into_iter();
            let named = |(key, value): (PropertyKeyId, Value)| (view.schema().property_key_name(key).to_owned(), value);
            rows.map(|row| row.into_iter().map(named).collect()).collect()
        };
        assert_same(&all(self.view, &ours), &all(self.reference, &theirs), &|| "all properties".to_owned());
    }

    /// Lookups under every unique constraint of ours.
    pub(super) fn check_lookups(&mut self) {
        for constraint in &self.view.schema().constraints {
            let Some((label, key)) = constraint.lookup_key() else { continue };
            let mut wanted = self.values_of(label, key);
            wanted.extend([Value::Null, Value::Float(f64::NAN), Value::string("no such value"), Value::Int(-77)]);
            wanted.extend(wanted.first().cloned());
            let column = Column::from_values(&wanted);
            let found = self.view.lookup(label, key, &column).expect("nodes can be looked up");
            let reference = (self.their_label(label), self.their_key(key));
            let expected = model::store::lookup_by_scan(self.reference, reference.0, reference.1, &column);
            let expected = expected.expect("the reference can be scanned");
            for (row, value) in wanted.iter().enumerate() {
                let name = |side: usize, value: Value| match value {
                    Value::Node(node) => self.name(side, node),
                    other => other,
                };
                let (a, b) = (name(0, found.value(row)), name(1, expected.value(row)));
                assert_eq!(a, b, "lookup of {value} by {}", constraint.name);
            }
        }
    }

    fn their_label(&self, label: LabelId) -> LabelId {
        self.labels.iter().find(|(ours, _)| *ours == label).map_or(LabelId(super::NO_ID), |&(_, theirs)| theirs)
    }

    pub(super) fn their_key(&self, key: PropertyKeyId) -> PropertyKeyId {
        self.keys.iter().find(|(ours, _)| *ours == key).map_or(PropertyKeyId(super::NO_ID), |&(_, theirs)| theirs)
    }

    fn values_of(&self, label: LabelId, key: PropertyKeyId) -> Vec<Value> {
        let nodes = scan(self.reference, vec![self.their_label(label)], vec![self.their_key(key)]);
        nodes.into_iter().map(|(_, mut values)| values.remove(0)).filter(|value| !value.is_null()).collect()
    }

    /// Every index of ours over nodes: all of it, values, ranges and beginnings of texts.
    pub(super) fn check_indexes(&mut self) {
        let schema = self.view.schema();
        for index in schema.indexes.iter().chain(&schema.searchable).cloned().collect::<Vec<_>>() {
            let (Subject::Label(label), [key]) = (index.subject, &index.keys[..]) else { continue };
            let mut values = self.values_of(label, *key);
            values.push(Value::Int(3));
            let some = |random: &mut crate::random::SeededRandom| random.pick(&values).clone();
            let (mut low, mut high) = (some(&mut self.random), some(&mut self.random));
            if low > high {
                std::mem::swap(&mut low, &mut high);
            }
            let mut ranges = vec![
                KeyRange::All,
                KeyRange::Between(Bound::Included(low.clone()), Bound::Excluded(high.clone())),
                KeyRange::Between(Bound::Excluded(low), Bound::Unbounded),
                KeyRange::Between(Bound::Unbounded, Bound::Included(high)),
                KeyRange::StartsWith("".into()),
            ];
            if let Value::String(text) = some(&mut self.random) {
                ranges.push(KeyRange::StartsWith(text.chars().take(1).collect::<String>().into()));
            }
            let mut equal: Vec<Value> = (0..5).map(|_| some(&mut self.random)).collect();
            equal.extend([Value::Null, Value::Float(f64::NAN), Value::string("no such value")]);
            for order in [KeyOrder::Ascending, KeyOrder::Descending] {
                for range in &ranges {
                    self.check_index(&index, Vec::new(), 1, range.clone(), order);
                }
                self.check_index(&index, vec![Column::from_values(&equal)], equal.len(), KeyRange::All, order);
            }
        }
    }

    fn check_index(&self, index: &Index, equal: Vec<Column>, rows: usize, range: KeyRange, order: KeyOrder) {
        let (Subject::Label(label), [key]) = (index.subject, &index.keys[..]) else { return };
        let scan = IndexScan { index: index.clone(), equal, rows, range, order };
        let (label, key) = (self.their_label(label), self.their_key(*key));
        let theirs = Index { name: index.name.clone(), subject: Subject::Label(label), keys: vec![key] };
        let their_scan = IndexScan { index: theirs, ..scan.clone() };
        let mut found = [Vec::new(), Vec::new()];
        let cursors = [
            self.view.index_scan(&scan).expect("an index can be read"),
            index_by_scan(self.reference, &their_scan).expect("the reference can be scanned"),
        ];
        for (side, mut cursor) in cursors.into_iter().enumerate() {
            let mut batch = IndexBatch::default();
            while cursor.next(&mut batch).expect("an index can be read") {
                found[side].extend(batch.inputs.iter().copied().zip(batch.nodes.iter().copied()));
            }
        }
        let is_ordered = scan.equal.is_empty();
        for (side, (view, key)) in [(self.view, scan.index.keys[0]), (self.reference, key)].into_iter().enumerate() {
            assert!(found[side].is_sorted_by_key(|(input, _)| *input), "inputs never decrease");
            let nodes: Vec<NodeId> = found[side].iter().map(|&(_, node)| node).collect();
            let values = view.node_properties(&nodes, &[key]).expect("properties can be read").remove(0);
            let values: Vec<Value> = values.values().collect();
            let is_in_order = match order {
                KeyOrder::Ascending => values.is_sorted(),
                KeyOrder::Descending => values.is_sorted_by(|a, b| a >= b),
            };
            assert!(!is_ordered || is_in_order, "{values:?} in order of {scan:?}");
        }
        let names = |side: usize| {
            let mut names: Vec<(u32, Value)> =
                found[side].iter().map(|&(input, node)| (input, self.name(side, node))).collect();
            names.sort();
            names
        };
        assert_same(&names(0), &names(1), &|| format!("{scan:?}"));
    }

    /// Counts, where the view can tell them.
    pub(super) fn check_counts(&mut self) {
        let all = self.view.count(&Count::Nodes(Vec::new())).expect("nodes can be counted");
        assert!(all.is_none_or(|count| count == self.nodes.len() as u64), "{all:?} of {} nodes", self.nodes.len());
        for &(ours, theirs) in &self.labels {
            let expected = scan(self.reference, vec![theirs], Vec::new()).len() as u64;
            let count = self.view.count(&Count::Nodes(vec![ours])).expect("nodes can be counted");
            assert!(count.is_none_or(|count| count == expected), "{count:?} of {expected} nodes with {ours:?}");
        }
        for (ours, theirs) in self.types.iter().copied().map(|(a, b)| (Some(a), Some(b))).chain([(None, None)]) {
            let expected = self.edge_lines(1, theirs.map(|edge_type| vec![edge_type])).len() as u64;
            let count = self.view.count(&Count::Edges(ours.map(|edge_type| vec![edge_type])));
            let count = count.expect("edges can be counted");
            assert!(count.is_none_or(|count| count == expected), "{count:?} of {expected} edges of {ours:?}");
        }
    }
}
