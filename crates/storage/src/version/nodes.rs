//! Nodes of a version: existence, labels, properties, and lookup by key.

use std::sync::Arc;

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Bitmap, Column, ColumnData, Result};

use super::Version;
use crate::index::{KeyIndex, hash_row};
use crate::node_run::layers::Layers;
use crate::segment::Segment;

impl Version {
    /// One more than the largest node id ever given out.
    pub fn node_id_bound(&self) -> u64 {
        self.manifest.node_id_bound
    }

    /// Segments and node runs.
    #[inline]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// The segments in order; `None` where there is none.
    pub fn segments(&self) -> &[Option<Arc<Segment>>] {
        self.layers.segments()
    }

    /// For each node, whether it exists.
    pub fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        self.layers.all_exist(nodes)
    }

    /// True if the node exists.
    pub fn node_exists(&self, node: NodeId) -> Result<bool> {
        self.layers.exists(node)
    }

    /// For each node, whether it exists and carries the label.
    pub fn has_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Bitmap> {
        self.layers.have_label(nodes, label)
    }

    /// For each node, its labels in order of their ids.
    pub fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        self.layers.labels_of_each(nodes)
    }

    /// The labels of one node in order of their ids.
    pub fn labels_of(&self, node: NodeId) -> Result<Vec<LabelId>> {
        self.layers.labels_of(node)
    }

    /// Replaces `words` by `count` bitmap words: bit `i` of word `w` says that node `(first_word + w) * 64 + i` exists
    /// and carries all of the labels.
    pub fn label_words(&self, labels: &[LabelId], first_word: u64, count: usize, words: &mut Vec<u64>) -> Result<()> {
        self.layers.label_words(labels, first_word, count, words)
    }

    /// One column for each key: the properties of each node, null where it has none.
    pub fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        keys.iter().map(|&key| self.node_property(nodes, key)).collect()
    }

    /// One property of each node.
    pub fn node_property(&self, nodes: &[NodeId], key: PropertyKeyId) -> Result<Column> {
        self.layers.property(nodes, key)
    }

    /// The runs of the index of a constraint, oldest first.
    pub fn index_runs(&self, label: LabelId, key: PropertyKeyId) -> &[Arc<KeyIndex>] {
        let of = |index: &Arc<KeyIndex>| (index.entry().label, index.entry().key);
        let start = self.indexes.partition_point(|index| of(index) < (label, key));
        let count = self.indexes[start..].partition_point(|index| of(index) == (label, key));
        &self.indexes[start..start + count]
    }

    /// For each value, the node with the label whose property equals it, by the index of that constraint, compared
    /// with the node's own value; `None` for the whole if there is no such constraint.
    pub fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Option<Vec<Option<NodeId>>>> {
        self.lookup_among(label, key, values, |_, _| true)
    }

    /// The same among the nodes that still have the value of their row, as `has_still` says.
    pub(crate) fn lookup_among(
        &self,
        label: LabelId,
        key: PropertyKeyId,
        values: &Column,
        has_still: impl Fn(usize, NodeId) -> bool,
    ) -> Result<Option<Vec<Option<NodeId>>>> {
        let mut found = vec![None; values.len()];
        let runs = self.index_runs(label, key);
        if runs.is_empty() {
            return Ok(self.manifest.schema.unique(label, key).map(|_| found));
        }
        let (mut rows, mut nodes, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..values.len() {
            let Some(hash) = hash_row(values, row) else { continue };
            removed.clear();
            for run in runs.iter().rev() {
                run.candidates(hash, |node, is_removed| {
                    if is_removed {
                        removed.push(node);
                    } else if removed.is_empty() || !removed.contains(&node) {
                        rows.push(row);
                        nodes.push(node);
                    }
                })?;
            }
        }
        let stored = self.node_property(&nodes, key)?;
        for (at, (&row, &node)) in rows.iter().zip(&nodes).enumerate() {
            if found[row].is_none() && are_equal(&stored, at, values, row) && has_still(row, node) {
                found[row] = Some(node);
            }
        }
        Ok(Some(found))
    }

    /// Advice that properties of nodes will be read soon.
    pub fn will_read_nodes(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) {
        self.layers.will_need(nodes, keys);
    }
}

/// True if two rows hold equal values; null equals nothing.
fn are_equal(a: &Column, row_of_a: usize, b: &Column, row_of_b: usize) -> bool {
    if a.is_null(row_of_a) || b.is_null(row_of_b) {
        return false;
    }
    match (&a.data, &b.data) {
        (ColumnData::Int(a), ColumnData::Int(b)) => a[row_of_a] == b[row_of_b],
        (ColumnData::String(a), ColumnData::String(b)) => a.get(row_of_a) == b.get(row_of_b),
        _ => a.value(row_of_a).equals(&b.value(row_of_b)) == Some(true),
    }
}
