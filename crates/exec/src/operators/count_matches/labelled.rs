//! Edges to nodes of which nothing but labels is asked: those of types that lead only to labelled nodes are counted, those
//! of types that never do are passed over ([`ByType`]), and only the rest is followed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::store::EdgeIds;
use model::{Bitmap, EdgeBatch, LabelId, NodeId, ReadView, Result};

use super::evaluation::Evaluation;
use super::tree::{Branch, Node};
use crate::adjacency::expansion;
use crate::adjacency::label_ids;
use crate::edge_ends::{ByType, Led};

impl Evaluation<'_, '_> {
    /// For each node, how many edges of a branch lead to nodes with the labels that are all that is asked of them.
    pub(super) fn sums_of_labelled(&mut self, branch: &Branch, nodes: &[NodeId]) -> Result<Vec<u64>> {
        let mut sums = vec![0_u64; nodes.len()];
        let guard = self.runtime.view();
        let view = guard.view();
        let (Some(labels), Some(mut expand)) =
            (label_ids(view, &branch.node.labels), expansion(view, branch.direction, &branch.types, EdgeIds::Omit))
        else {
            return Ok(sums);
        };
        let known = match self.types_to(&branch.node)? {
            None => self.types_that_pay(branch, nodes)?,
            known => known,
        };
        if let Some(by_type) = known.as_deref().and_then(Option::as_ref) {
            if !by_type.always.is_empty() {
                sums = view.degrees(nodes, branch.direction, Some(&by_type.always))?;
            }
            if by_type.sometimes.is_empty() {
                return Ok(sums);
            }
            expand.types = Some(by_type.sometimes.clone());
        }
        let (mut batch, mut followed) = (EdgeBatch::default(), 0);
        let mut cursor = view.expand(nodes, &expand)?;
        while cursor.next(&mut batch)? {
            self.runtime.environment.interrupt.check()?;
            followed += batch.len();
            let carry = carry_all(view, &batch.neighbors, &labels)?;
            for (row, &input) in batch.inputs.iter().enumerate() {
                sums[input as usize] += u64::from(carry.get(row));
            }
        }
        self.tables.asked[branch.node.table].fetch_add(followed, Ordering::Relaxed);
        Ok(sums)
    }

    /// The types of the edges that lead to the node of a branch, if finding them out costs less than following those of
    /// the nodes.
    fn types_that_pay(&self, branch: &Branch, nodes: &[NodeId]) -> Result<Option<Arc<Option<ByType>>>> {
        let looks = self.looks(&branch.node);
        let edges: u64 = {
            let guard = self.runtime.view();
            let Some(expand) = expansion(guard.view(), branch.direction, &branch.types, EdgeIds::Omit) else {
                return Ok(None);
            };
            let estimates = guard.view().estimates();
            let all = expand
                .types
                .as_ref()
                .map_or(estimates.edges, |types| types.iter().map(|&edge_type| estimates.edge_type(edge_type)).sum());
            if all.saturating_mul(nodes.len() as u64) < looks.saturating_mul(estimates.nodes) {
                return Ok(None);
            }
            guard.view().degrees(nodes, branch.direction, expand.types.as_deref())?.iter().sum()
        };
        if edges < looks { Ok(None) } else { self.find_types(&branch.node) }
    }

    /// The types of the edges that lead to a node, as far as known. They are determined once the number of edges
    /// followed reaches the number of lookups which that takes.
    pub(super) fn types_to(&self, node: &Node) -> Result<Option<Arc<Option<ByType>>>> {
        let asked = self.tables.asked[node.table].load(Ordering::Relaxed) as u64;
        match self.tables.types[node.table].get() {
            None if !node.labels.is_empty() && asked >= self.looks(node) => self.find_types(node),
            known => Ok(known),
        }
    }

    fn looks(&self, node: &Node) -> u64 {
        led(node).map_or(0, |led| led.looks(self.runtime.view().view()))
    }

    /// The same, found out now.
    pub(super) fn find_types(&self, node: &Node) -> Result<Option<Arc<Option<ByType>>>> {
        self.tables.types[node.table].get_or_try(|| match led(node) {
            Some(led) => ByType::of(self.runtime, &led).map(Some),
            None => Ok(Some(None)),
        })
    }

    /// True if it was found that labels need not be tested.
    pub(super) fn are_labels_implied(&self, node: &Node) -> bool {
        let known = self.tables.types[node.table].get();
        known.as_deref().and_then(Option::as_ref).is_some_and(|by_type| by_type.is_implied)
    }

    /// The nodes that carry the labels of a node of which nothing else is asked.
    pub(super) fn labelled(&self, node: &Node, nodes: &[NodeId]) -> Result<Bitmap> {
        let guard = self.runtime.view();
        match label_ids(guard.view(), &node.labels) {
            Some(labels) => carry_all(guard.view(), nodes, &labels),
            None => Ok(Bitmap::filled(nodes.len(), false)),
        }
    }
}

/// The edges that lead to a node of a tree; none to its root.
fn led(node: &Node) -> Option<Led<'_>> {
    let (direction, types) = node.reached.as_ref()?;
    Some(Led { direction: *direction, types, labels: &node.labels })
}

fn carry_all(view: &dyn ReadView, nodes: &[NodeId], labels: &[LabelId]) -> Result<Bitmap> {
    let Some((first, others)) = labels.split_first() else { return Ok(Bitmap::filled(nodes.len(), true)) };
    let mut all = view.has_label(nodes, *first)?;
    for &label in others {
        let carry = view.has_label(nodes, label)?;
        let words = all.words().iter().zip(carry.words()).map(|(a, b)| a & b).collect();
        all = Bitmap::from_words(words, nodes.len());
    }
    Ok(all)
}
