//! Nodes of a version: existence, labels, properties, and lookup by key.

use std::sync::Arc;

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Bitmap, Column, ColumnData, Result};

use super::{Version, grouped};
use crate::format::{SEGMENT_BITS, SEGMENT_NODES};
use crate::index::{KeyIndex, hash_row};
use crate::segment::{RowBitmap, Segment};

/// Words of a bitmap in one segment.
const SEGMENT_WORDS: u64 = SEGMENT_NODES / 64;

impl Version {
    /// One more than the largest node id ever given out.
    pub fn node_id_bound(&self) -> u64 {
        self.manifest.node_id_bound
    }

    /// The segments in order; `None` where no node ever was.
    pub fn segments(&self) -> &[Option<Arc<Segment>>] {
        &self.segments
    }

    /// The segment of a node and its row there.
    #[inline]
    fn row_of(&self, node: NodeId) -> Option<(&Segment, usize)> {
        let segment = self.segments.get((node.0 >> SEGMENT_BITS) as usize)?.as_deref()?;
        Some((segment, (node.0 & (SEGMENT_NODES - 1)) as usize))
    }

    fn bits(&self, nodes: &[NodeId], bitmap: impl Fn(&Segment) -> RowBitmap) -> Result<Bitmap> {
        let mut bits = Bitmap::filled(nodes.len(), false);
        for (row, &node) in nodes.iter().enumerate() {
            if let Some((segment, at)) = self.row_of(node)
                && segment.bit(bitmap(segment), at)?
            {
                bits.set(row, true);
            }
        }
        Ok(bits)
    }

    /// For each node, whether it exists.
    pub fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        self.bits(nodes, Segment::alive)
    }

    /// Whether one node exists.
    pub fn node_exists(&self, node: NodeId) -> Result<bool> {
        self.row_of(node).map_or(Ok(false), |(segment, row)| segment.bit(segment.alive(), row))
    }

    /// For each node, whether it exists and carries the label.
    pub fn has_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Bitmap> {
        self.bits(nodes, |segment| segment.label(label))
    }

    /// For each node, its labels in order of their ids.
    pub fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        nodes.iter().map(|&node| self.labels_of(node)).collect()
    }

    /// The labels of one node in order of their ids.
    pub fn labels_of(&self, node: NodeId) -> Result<Vec<LabelId>> {
        let mut labels = Vec::new();
        if let Some((segment, row)) = self.row_of(node) {
            for label in segment.labels() {
                if segment.bit(label.rows, row)? {
                    labels.push(label.label);
                }
            }
        }
        Ok(labels)
    }

    /// Replaces `words` by `count` bitmap words: bit `i` of word `w` says that node `(first_word + w) * 64 + i` exists
    /// and carries all of the labels.
    pub fn label_words(&self, labels: &[LabelId], first_word: u64, count: usize, words: &mut Vec<u64>) -> Result<()> {
        words.clear();
        for index in first_word..first_word + count as u64 {
            let mut word = 0;
            if let Some(Some(segment)) = self.segments.get((index / SEGMENT_WORDS) as usize) {
                let at = (index % SEGMENT_WORDS) as usize;
                word = segment.word(segment.alive(), at)?;
                for &label in labels {
                    if word != 0 {
                        word &= segment.word(segment.label(label), at)?;
                    }
                }
            }
            words.push(word);
        }
        Ok(())
    }

    /// One column for each key: the properties of each node, null where it has none.
    pub fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        keys.iter().map(|&key| self.node_property(nodes, key)).collect()
    }

    /// One property of each node.
    pub fn node_property(&self, nodes: &[NodeId], key: PropertyKeyId) -> Result<Column> {
        let place = |row: usize| (nodes[row].0 >> SEGMENT_BITS, nodes[row].0 & (SEGMENT_NODES - 1));
        grouped(nodes.len(), place, |segment, rows| {
            let column = self.segments.get(segment as usize).and_then(|segment| segment.as_ref()?.column(key));
            column.map_or_else(|| Ok(Column::nulls(rows.len())), |column| column.read(rows))
        })
    }

    /// The index of a constraint, if it has entries.
    pub fn index_of(&self, label: LabelId, key: PropertyKeyId) -> Option<&Arc<KeyIndex>> {
        self.indexes.iter().find(|index| (index.entry().label, index.entry().key) == (label, key))
    }

    /// For each value, the node with the label whose property equals it, by the index of that constraint, compared
    /// with the node's own value; `None` for the whole if there is no such constraint.
    pub fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Option<Vec<Option<NodeId>>>> {
        let mut found = vec![None; values.len()];
        let Some(index) = self.index_of(label, key) else {
            return Ok(self.manifest.schema.unique(label, key).map(|_| found));
        };
        let (mut rows, mut nodes) = (Vec::new(), Vec::new());
        for row in 0..values.len() {
            if let Some(hash) = hash_row(values, row) {
                index.candidates(hash, |node| {
                    rows.push(row);
                    nodes.push(node);
                    Ok(())
                })?;
            }
        }
        let stored = self.node_property(&nodes, key)?;
        for (at, (&row, &node)) in rows.iter().zip(&nodes).enumerate() {
            if are_equal(&stored, at, values, row) {
                found[row] = Some(node);
            }
        }
        Ok(Some(found))
    }

    /// Advice that properties of nodes will be read soon.
    pub fn will_read_nodes(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) {
        for &node in nodes {
            if let Some((segment, row)) = self.row_of(node) {
                keys.iter().filter_map(|&key| segment.column(key)).for_each(|column| column.will_need(row as u64));
            }
        }
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
