//! Nodes that a branch leads anywhere: those that edges join to the few for which its own node stands for a match.
//!
//! Where no edge of a branch leads to such a node, the number is 0. If they are few, the edges that lead to them are followed
//! backwards, once for all rows, and nodes that none of these comes from are dropped before their own edges are read.
//!
//! Cost: the numbers of all nodes that the branch leads to, which would be worked out a moment later, and a bit for each id.
//! After: Bernstein, Chiu, "Using semi-joins to solve relational queries", 1981.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::store::EdgeIds;
use model::{Bitmap, EdgeBatch, NodeId, Result};

use super::evaluation::{Evaluation, Live};
use super::tables::Whole;
use super::tree::{Branch, Group, Node};
use crate::adjacency::expansion;

/// Nodes are few if they are at most one in this number of ids.
const FEW_SHARE: usize = 16;

/// Edges are followed backwards once this many times as many were asked for.
const ASKED_FACTOR: usize = 4;

impl Evaluation<'_, '_> {
    /// Drops nodes that a branch of a group leads nowhere.
    pub(super) fn reduce(&mut self, node: &Node, group: &Group, live: &mut Live) -> Result<()> {
        let members = match group {
            Group::Alone(branch) => std::slice::from_ref(branch),
            Group::Different(different) => &different.members,
            Group::Apart { .. } | Group::Across { .. } | Group::EdgesAcross(_) => return Ok(()),
        };
        for branch in members.iter().map(|&member| &node.branches[member]) {
            if branch.is_bare() || branch.node.is_only_labelled() || self.has_low_memory() || live.nodes.is_empty() {
                continue;
            }
            if let Some(reached) = self.reached(branch, &live.nodes)? {
                live.retain(|node| reached.get(node.index()));
            }
        }
        Ok(())
    }

    /// The nodes from which a branch leads anywhere, by id; `None` if it does not pay to know them.
    fn reached(&mut self, branch: &Branch, nodes: &[NodeId]) -> Result<Option<Arc<Bitmap>>> {
        let (tables, table) = (self.tables, branch.node.table);
        if let Some(reached) = tables.reached[table].get() {
            return Ok(Some(reached));
        }
        let Some(whole) = self.whole_if_it_pays(branch, nodes)? else { return Ok(None) };
        let asked = tables.asked[table].fetch_add(nodes.len(), Ordering::Relaxed);
        let few = whole.few.get_or_init(|| few_of(&whole));
        let Some(few) = few else { return Ok(None) };
        let view = self.runtime.view();
        let view = view.view();
        let backwards = branch.direction.reverse();
        let Some(expand) = expansion(view, backwards, &branch.types, EdgeIds::Omit) else {
            return Ok(None);
        };
        let edges: u64 = view.degrees(few, backwards, expand.types.as_deref())?.into_iter().sum();
        if edges as usize > asked / ASKED_FACTOR {
            return Ok(None);
        }
        tables.reached[table].get_or_try(|| {
            let bound = view.node_id_bound() as usize;
            if self.charge.try_grow(bound.div_ceil(8)).is_err() {
                return Ok(None);
            }
            let mut reached = Bitmap::filled(bound, false);
            let mut batch = EdgeBatch::default();
            let mut cursor = view.expand(few, &expand)?;
            while cursor.next(&mut batch)? {
                self.runtime.environment.interrupt.check()?;
                batch.neighbors.iter().for_each(|node| reached.set(node.index(), true));
            }
            Ok(Some(reached))
        })
    }

    /// The numbers of all nodes that a branch leads to, if the number of edges makes it certain that they are worked out anyway.
    fn whole_if_it_pays(&mut self, branch: &Branch, nodes: &[NodeId]) -> Result<Option<Arc<Whole>>> {
        let (tables, table) = (self.tables, branch.node.table);
        if let Some(whole) = tables.wholes[table].get() {
            return Ok(Some(whole));
        }
        let edges: u64 = {
            let view = self.runtime.view();
            let view = view.view();
            if view.capabilities().is_remote {
                return Ok(None);
            }
            let Some(expand) = expansion(view, branch.direction, &branch.types, EdgeIds::Omit) else {
                return Ok(None);
            };
            view.degrees(nodes, branch.direction, expand.types.as_deref())?.into_iter().sum()
        };
        if !self.pays_whole(tables.asked[table].load(Ordering::Relaxed) + edges as usize) {
            return Ok(None);
        }
        tables.asked[table].fetch_add(edges as usize, Ordering::Relaxed);
        self.find_types(&branch.node)?;
        self.whole(&branch.node)
    }
}

/// The nodes that stand for a match, if they are few.
fn few_of(whole: &Whole) -> Option<Vec<NodeId>> {
    let most = whole.values.len() / FEW_SHARE;
    let standing = whole.values.iter().enumerate().filter(|(_, value)| **value != 0);
    let few: Vec<NodeId> = standing.map(|(id, _)| NodeId(id as u64)).take(most + 1).collect();
    (few.len() <= most).then_some(few)
}
