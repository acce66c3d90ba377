//! Counting within little memory: what nodes stand for is remembered as far as there is room, and worked out anew where it
//! is not, for few nodes and edges at a time.
//!
//! Cost: in the worst case the walks of the pattern are followed one by one, as they would be if they were matched. Memory:
//! some thousand nodes and edges for each node of the tree, and the edges of one node where they are compared.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, NodeId, Result};

use super::evaluation::Evaluation;
use super::tables::Message;
use super::tree::{Branch, Group, Looked, Node};
use super::{edges_across, groups};
use crate::adjacency::expansion;

/// Nodes that are worked out at a time.
const NODES: usize = 1_024;

/// Edges that are compared at a time. The room for them is not refused, only that for more edges of one node.
const EDGES: usize = 128;

/// Nodes that were worked out last and are remembered in any case, for each node of the tree.
const RECENT: usize = 256;

/// Approximate bytes of a node in a memo.
const MEMO_BYTES: usize = 48;

/// Approximate bytes of an edge while it is compared.
const EDGE_BYTES: usize = 96;

/// Divisor of the query's memory limit: the share of it that a thread's memos may take.
const MEMO_SHARE: usize = 4;

impl Evaluation<'_, '_> {
    /// True if memory was refused.
    #[inline]
    pub(super) fn has_low_memory(&self) -> bool {
        self.tables.has_low_memory.load(Ordering::Relaxed)
    }

    /// From now on little is remembered. What is known stays known.
    pub(super) fn turn_to_low_memory(&self) {
        self.tables.has_low_memory.store(true, Ordering::Relaxed);
    }

    /// Takes room for more nodes in memos; false if there is none.
    pub(super) fn takes_memo(&mut self, nodes: usize) -> bool {
        let bytes = nodes * MEMO_BYTES;
        let is_fair = self.charge.bytes() + bytes <= self.charge.memory().limit() / MEMO_SHARE;
        is_fair && self.charge.try_grow(bytes).is_ok()
    }

    /// Takes room for the lists of all nodes; false if there is none.
    pub(super) fn takes_lists(&mut self, direction: Direction, types: &[Arc<str>]) -> bool {
        let (nodes, edges) = {
            let guard = self.runtime.view();
            let (view, estimates) = (guard.view(), guard.view().estimates());
            let of = |name: &Arc<str>| view.schema().edge_type(name).map_or(0, |id| estimates.edge_type(id));
            let edges = if types.is_empty() { estimates.edges } else { types.iter().map(of).sum() };
            (view.node_id_bound(), edges)
        };
        let ways = if direction == Direction::Both { 2 } else { 1 };
        self.charge.try_grow((nodes + ways * edges) as usize * size_of::<u64>()).is_ok()
    }

    /// The messages of nodes, one by one.
    pub(super) fn each(&mut self, node: &Node, nodes: &[NodeId]) -> Result<Vec<Message>> {
        let mut messages = vec![Message::default(); nodes.len()];
        for (nodes, messages) in nodes.chunks(NODES).zip(messages.chunks_mut(NODES)) {
            self.runtime.environment.interrupt.check()?;
            let (memo, recent) = (&self.memos[node.table], &self.recent[node.table]);
            let mut new = Vec::new();
            for (it, message) in nodes.iter().zip(&mut *messages) {
                match memo.get(it).or_else(|| recent.get(it)) {
                    Some(known) => *message = *known,
                    None => new.push(*it),
                }
            }
            if new.is_empty() {
                continue;
            }
            new.sort_unstable();
            new.dedup();
            let found = self.evaluate(node, &new)?;
            let known = new.iter().copied().zip(found.iter().copied());
            if self.takes_memo(new.len()) {
                self.memos[node.table].extend(known);
            } else {
                let recent = &mut self.recent[node.table];
                if recent.len() + new.len() > RECENT {
                    recent.clear();
                }
                recent.extend(known.take(RECENT));
            }
            for (it, message) in nodes.iter().zip(&mut *messages) {
                if let Ok(at) = new.binary_search(it) {
                    *message = found[at];
                }
            }
        }
        Ok(messages)
    }

    /// For each node, the sum over the edges of a branch of what they lead to, as the edges come.
    pub(super) fn sums_streamed(&mut self, branch: &Branch, nodes: &[NodeId]) -> Result<Vec<u64>> {
        let mut sums = vec![0_u64; nodes.len()];
        let runtime = self.runtime;
        let view = runtime.view();
        let Some(expand) = expansion(view.view(), branch.direction, &branch.types, EdgeIds::Omit) else {
            return Ok(sums);
        };
        let mut batch = EdgeBatch::default();
        let mut cursor = view.view().expand(nodes, &expand)?;
        while cursor.next(&mut batch)? {
            let known = self.know(&branch.node, &batch.neighbors)?;
            for (&input, message) in batch.inputs.iter().zip(self.messages(&known, &batch.neighbors)) {
                let sum = &mut sums[input as usize];
                *sum = sum.saturating_add(message.value);
            }
        }
        Ok(sums)
    }

    /// The factors of a group of branches that depend on each other, few edges at a time.
    pub(super) fn group_in_parts(&mut self, node: &Node, group: &Group, nodes: &[NodeId]) -> Result<Vec<u64>> {
        let members: Vec<usize> = match group {
            Group::Alone(at) => vec![*at],
            Group::Different(different) => different.members.clone(),
            Group::Apart { near, over, .. } | Group::Across { near, over, .. } => vec![*near, *over],
            Group::EdgesAcross(rule) => vec![rule.near, rule.over],
        };
        let branches: Vec<Looked<'_>> = members.iter().flat_map(|&member| node.branches[member].compared()).collect();
        self.in_parts(&branches, nodes, |it, nodes| match group {
            Group::Alone(at) => it.sums(&node.branches[*at], nodes),
            Group::Different(different) => groups::different(it, node, different, nodes),
            Group::Apart { .. } => groups::apart(it, node, group, nodes),
            Group::Across { near, over, far } => groups::across(it, node, (*near, *over, *far), nodes),
            Group::EdgesAcross(rule) => edges_across::count(it, node, rule, nodes),
        })
    }

    /// Works numbers out for parts of the nodes that have few edges of these branches together, or are one.
    pub(super) fn in_parts(
        &mut self,
        branches: &[Looked<'_>],
        nodes: &[NodeId],
        mut work: impl FnMut(&mut Self, &[NodeId]) -> Result<Vec<u64>>,
    ) -> Result<Vec<u64>> {
        let mut edges = vec![0_u64; nodes.len()];
        {
            let view = self.runtime.view();
            for &(direction, types) in branches {
                if let Some(expand) = expansion(view.view(), direction, types, EdgeIds::Omit) {
                    let degrees = view.view().degrees(nodes, direction, expand.types.as_deref())?;
                    edges.iter_mut().zip(degrees).for_each(|(sum, degree)| *sum += degree);
                }
            }
        }
        let mut numbers = Vec::with_capacity(nodes.len());
        while numbers.len() < nodes.len() {
            let start = numbers.len();
            let (mut end, mut count) = (start + 1, edges[start] as usize);
            while end < nodes.len() && count + edges[end] as usize <= EDGES {
                count += edges[end] as usize;
                end += 1;
            }
            let bytes = count * EDGE_BYTES;
            if count > EDGES {
                self.charge.grow(bytes)?;
            } else {
                self.charge.count(self.charge.bytes() + bytes);
            }
            numbers.extend(work(self, &nodes[start..end])?);
            // Entries of the memo made meanwhile stay.
            self.charge.count(self.charge.bytes() - bytes);
        }
        Ok(numbers)
    }
}
