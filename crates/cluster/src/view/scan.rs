//! Scans of nodes: by ranges of ids, or by the events of a label.

use std::ops::Range;
use std::sync::Arc;

use model::limits::BATCH_ROWS;
use model::store::NodeCursor;
use model::{LabelId, NodeBatch, NodeId, NodeScan, ReadView, Result};

use super::{View, columns};
use crate::cache::BLOCK_BITS;
use crate::rows::NodeData;

/// Ids that are asked for at a time where all nodes are scanned.
const IDS: u64 = BATCH_ROWS as u64;
/// Ids of one question for nodes of a label; a part of a segment, and a unit of the cache.
const LABEL_IDS: u64 = 1 << BLOCK_BITS;
/// Questions of a round trip for nodes of a label.
const LABEL_QUESTIONS: u64 = 8;

/// A cursor over nodes.
pub(super) struct ScanCursor<'a> {
    view: &'a View,
    scan: NodeScan,
    /// The label by which nodes are found: the rarest.
    label: Option<LabelId>,
    /// Ids that are left.
    left: Range<u64>,
    /// Nodes that were found, and the first that was not handed out.
    found: Vec<(NodeId, Option<Arc<NodeData>>)>,
    at: usize,
}

impl<'a> ScanCursor<'a> {
    pub(super) fn new(view: &'a View, scan: &NodeScan) -> ScanCursor<'a> {
        let bound = view.node_id_bound();
        let mut left = scan.range.clone().map_or(0..bound, |range| range.start.min(bound)..range.end.min(bound));
        if scan.labels.iter().any(|label| view.own.schema.labels.len() <= label.index()) {
            left = 0..0;
        }
        let label = scan.labels.iter().copied().min_by_key(|label| view.own.statistics.label(*label));
        ScanCursor { view, scan: scan.clone(), label, left, found: Vec::new(), at: 0 }
    }

    /// Takes the next ids, up to a multiple of `width`.
    fn next_ids(&mut self, width: u64) -> Range<u64> {
        let end = (self.left.start / width + 1).saturating_mul(width).min(self.left.end);
        let ids = self.left.start..end;
        self.left.start = end;
        ids
    }

    fn carries_all(&self, node: &NodeData) -> bool {
        self.scan.labels.iter().all(|label| node.labels.binary_search(label).is_ok())
    }

    /// Finds the nodes of the next ids.
    fn fill(&mut self) -> Result<()> {
        self.found.clear();
        self.at = 0;
        let own = &self.view.own.nodes;
        let first = self.left.start;
        let Some(label) = self.label else {
            let ids = self.next_ids(IDS);
            let nodes = self.view.reader.nodes_within(ids)?;
            let untouched = nodes.into_iter().filter(|(id, _)| !own.contains_key(id));
            self.found.extend(untouched.map(|(id, version)| (id, Some(version.data))));
            self.add_own(first);
            return Ok(());
        };
        let mut ranges = Vec::new();
        while !self.left.is_empty() && (ranges.len() as u64) < LABEL_QUESTIONS {
            ranges.push(self.next_ids(LABEL_IDS));
        }
        let mut ids = self.view.reader.labelled(label, &ranges)?;
        ids.retain(|id| !own.contains_key(id));
        if self.scan.labels.len() == 1 && self.scan.keys.is_empty() {
            self.found.extend(ids.into_iter().map(|id| (id, None)));
        } else {
            for ids in ids.chunks(BATCH_ROWS) {
                let nodes = self.view.reader.nodes(ids.iter().copied())?;
                let versions = ids.iter().filter_map(|id| Some((*id, nodes.get(id)?.data.clone())));
                let carrying: Vec<_> = versions.filter(|(_, node)| self.carries_all(node)).collect();
                self.found.extend(carrying.into_iter().map(|(id, node)| (id, Some(node))));
            }
        }
        self.add_own(first);
        Ok(())
    }

    /// Adds the nodes that the transaction touched, among the ids from the first on that were asked for.
    fn add_own(&mut self, first: u64) {
        let own = self.view.own.nodes.range(NodeId(first)..NodeId(self.left.start));
        let there = own.filter_map(|(id, touched)| Some((*id, touched.new.clone()?)));
        let carrying: Vec<_> = there.filter(|(_, node)| self.carries_all(node)).collect();
        self.found.extend(carrying.into_iter().map(|(id, node)| (id, Some(node))));
    }
}

impl NodeCursor for ScanCursor<'_> {
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool> {
        out.clear();
        while self.at == self.found.len() {
            if self.left.is_empty() {
                return Ok(false);
            }
            self.fill()?;
        }
        let end = self.found.len().min(self.at + BATCH_ROWS);
        let rows = &self.found[self.at..end];
        self.at = end;
        out.nodes.extend(rows.iter().map(|(id, _)| *id));
        let properties = rows.iter().map(|(_, node)| node.as_ref().map(|node| &node.properties[..]));
        out.properties = columns(&self.scan.keys, properties);
        Ok(true)
    }
}
