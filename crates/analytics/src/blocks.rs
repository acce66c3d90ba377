//! Blocks: which nodes two disjoint ways join, found by a depth-first search along edges taken both ways.
//!
//! Of a search there are kept, for each node, when it was entered, from where, and the earliest node that an edge from
//! it or from behind it leads back to. An edge that nothing leads back over is a bridge; a node that nothing behind a
//! child of it leads back over is an articulation point.
//! Where edges are streamed they are taken in batches. After each batch only the edges of the search and, of each node,
//! the one that leads back farthest are kept: at most two for each node, with the same blocks, and so with the same
//! blocks after any more edges too. Edges within a block that is already known are passed over.
//! Cost: in memory one look at each edge, by one thread, 28 bytes a node; streamed one pass over the edges and about 100
//! bytes a node.
//! After: Hopcroft, Tarjan, "Efficient algorithms for graph manipulation", 1973; Eppstein, Galil, Italiano, Nissenzweig,
//! "Sparsification: a technique for speeding up dynamic graph algorithms", 1997 (certificates).

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph::{Graph, Side};

/// No node.
pub(crate) const NONE: u32 = u32::MAX;
/// Edges between two checks for cancellation.
const CHECK_EDGES: u64 = 1 << 16;
/// Edges of a batch, for each node; and in any case.
const BATCH_EDGES_PER_NODE: usize = 2;
const BATCH_EDGES_MIN: usize = 1 << 16;
/// Bytes that a node needs at the most.
pub(crate) const NODE_BYTES: usize = 112;

/// The result of a depth-first search through all nodes.
pub(crate) struct Blocks {
    /// All nodes in the order in which they were entered, children after their parents.
    pub(crate) order: Vec<u32>,
    /// The place of each node in that order.
    pub(crate) entered: Vec<u32>,
    /// The node from which each was entered; [`NONE`] for the first of a component.
    pub(crate) parents: Vec<u32>,
    /// The earliest place that an edge from a node or from behind it leads to, its way in left out.
    pub(crate) low: Vec<u32>,
    /// The node that an edge of the node itself leads back to farthest, if any does.
    farthest: Vec<u32>,
}

/// A node whose edges are being followed.
struct Frame {
    node: u32,
    next_edge: u64,
    /// True if the edge by which it was entered was met, which is then not met as an edge that leads back.
    did_pass_parent: bool,
}

impl Blocks {
    /// The blocks of a graph that has rows of both sides.
    pub(crate) fn of(graph: &Graph<'_>, interrupt: &Interrupt) -> Result<Blocks> {
        let Some(view) = graph.view() else { return stream(graph, batch_edges(graph.node_count()), interrupt) };
        let (forward, backward) = (view.forward(), view.backward());
        let neighbor = |node: u32, edge: u64| {
            let out = forward.neighbors(node);
            let found = out.get(edge as usize).or_else(|| backward.neighbors(node).get(edge as usize - out.len()));
            found.copied()
        };
        Blocks::search(view.node_count(), neighbor, interrupt)
    }

    /// Searches from every node that was not entered yet, in order; `neighbor` gives the edges of a node by number.
    fn search(node_count: usize, neighbor: impl Fn(u32, u64) -> Option<u32>, interrupt: &Interrupt) -> Result<Blocks> {
        let none = || vec![NONE; node_count];
        let order = Vec::with_capacity(node_count);
        let mut blocks = Blocks { order, entered: none(), parents: none(), low: none(), farthest: none() };
        let mut frames: Vec<Frame> = Vec::new();
        let mut looks = 0_u64;
        for root in 0..node_count as u32 {
            if blocks.entered[root as usize] != NONE {
                continue;
            }
            blocks.enter(root, NONE);
            frames.push(Frame { node: root, next_edge: 0, did_pass_parent: false });
            while let Some(frame) = frames.last_mut() {
                looks += 1;
                if looks.is_multiple_of(CHECK_EDGES) {
                    interrupt.check()?;
                }
                let node = frame.node;
                let Some(other) = neighbor(node, frame.next_edge) else {
                    frames.pop();
                    let parent = blocks.parents[node as usize];
                    if parent != NONE {
                        let low = blocks.low[node as usize];
                        blocks.low[parent as usize] = blocks.low[parent as usize].min(low);
                    }
                    continue;
                };
                frame.next_edge += 1;
                if other == node {
                    continue;
                }
                if other == blocks.parents[node as usize] && !frame.did_pass_parent {
                    frame.did_pass_parent = true;
                } else if blocks.entered[other as usize] == NONE {
                    blocks.enter(other, node);
                    frames.push(Frame { node: other, next_edge: 0, did_pass_parent: false });
                } else {
                    blocks.lead_back(node, other);
                }
            }
        }
        Ok(blocks)
    }

    fn enter(&mut self, node: u32, parent: u32) {
        let place = self.order.len() as u32;
        self.order.push(node);
        self.parents[node as usize] = parent;
        self.entered[node as usize] = place;
        self.low[node as usize] = place;
    }

    fn lead_back(&mut self, node: u32, other: u32) {
        let place = self.entered[other as usize];
        self.low[node as usize] = self.low[node as usize].min(place);
        let farthest = &mut self.farthest[node as usize];
        if place < self.entered[node as usize] && (*farthest == NONE || place < self.entered[*farthest as usize]) {
            *farthest = other;
        }
    }

    /// True if the edge by which a node was entered is a bridge.
    pub(crate) fn is_under_bridge(&self, node: u32) -> bool {
        self.parents[node as usize] != NONE && self.low[node as usize] == self.entered[node as usize]
    }

    /// True if nothing behind a node leads back over the one from which it was entered.
    pub(crate) fn is_cut_off_by_parent(&self, node: u32) -> bool {
        let parent = self.parents[node as usize];
        parent != NONE && self.low[node as usize] >= self.entered[parent as usize]
    }

    /// The edges that are enough for the same blocks.
    fn certificate(&self) -> Vec<(u32, u32)> {
        let ends = (0..).zip(self.parents.iter().zip(&self.farthest));
        let edges = ends.flat_map(|(node, (&parent, &back))| [(parent, node), (back, node)]);
        edges.filter(|(other, _)| *other != NONE).collect()
    }

    /// For each node the topmost node of the block of the edge by which it was entered.
    fn tops(&self) -> Vec<u32> {
        let mut tops = vec![NONE; self.order.len()];
        for &node in self.order.iter().filter(|&&node| self.parents[node as usize] != NONE) {
            let is_new = self.is_cut_off_by_parent(node);
            tops[node as usize] = if is_new { node } else { tops[self.parents[node as usize] as usize] };
        }
        tops
    }

    /// True if two nodes lie in one block that is more than a single edge.
    fn is_within(&self, tops: &[u32], a: u32, b: u32) -> bool {
        let (top_a, top_b) = (tops[a as usize], tops[b as usize]);
        let is_block = |top: u32| top != NONE && self.low[top as usize] < self.entered[top as usize];
        let is_head = |node: u32, top: u32| top != NONE && self.parents[top as usize] == node;
        (top_a == top_b || is_head(b, top_a)) && is_block(top_a) || is_head(a, top_b) && is_block(top_b)
    }
}

fn batch_edges(node_count: usize) -> usize {
    (BATCH_EDGES_PER_NODE * node_count).max(BATCH_EDGES_MIN)
}

/// The same over rows that are not held, with batches of `batch_edges` edges.
fn stream(graph: &Graph<'_>, batch_edges: usize, interrupt: &Interrupt) -> Result<Blocks> {
    let node_count = graph.node_count();
    let mut blocks = Blocks::search(node_count, |_, _| None, interrupt)?;
    let mut tops = blocks.tops();
    let mut batch: Vec<(u32, u32)> = Vec::new();
    let rows = graph.rows();
    for part in 0..rows.part_count(Side::Forward) {
        rows.scan_part(Side::Forward, part, None, &mut |block| {
            interrupt.check()?;
            for (node, neighbors) in block.rows() {
                let news = neighbors.iter().filter(|&&other| other != node && !blocks.is_within(&tops, node, other));
                batch.extend(news.map(|&other| (node, other)));
                if batch.len() >= batch_edges {
                    blocks = merge(&blocks, &mut batch, interrupt)?;
                    tops = blocks.tops();
                }
            }
            Ok(())
        })?;
    }
    merge(&blocks, &mut batch, interrupt)
}

/// The blocks with the edges of a batch, which is emptied.
fn merge(blocks: &Blocks, batch: &mut Vec<(u32, u32)>, interrupt: &Interrupt) -> Result<Blocks> {
    let node_count = blocks.order.len();
    batch.extend(blocks.certificate());
    let mut offsets = vec![0_u64; node_count + 1];
    for &(a, b) in &*batch {
        offsets[a as usize + 1] += 1;
        offsets[b as usize + 1] += 1;
    }
    (0..node_count).for_each(|node| offsets[node + 1] += offsets[node]);
    let mut next = offsets.clone();
    let mut neighbors = vec![0; 2 * batch.len()];
    for (a, b) in batch.drain(..).flat_map(|(a, b)| [(a, b), (b, a)]) {
        neighbors[next[a as usize] as usize] = b;
        next[a as usize] += 1;
    }
    drop(next);
    let neighbor = |node: u32, edge: u64| {
        let at = offsets[node as usize] + edge;
        (at < offsets[node as usize + 1]).then(|| neighbors[at as usize])
    };
    Blocks::search(node_count, neighbor, interrupt)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::Interrupt;
    use model::store::Direction;
    use testing::graphs::erdos_renyi;
    use testing::random::seed_or;

    use super::{Blocks, NONE, stream};
    use crate::{EdgeList, Graph, GraphView, Sides};

    fn facts(blocks: &Blocks) -> (Vec<(u32, u32)>, Vec<usize>) {
        let count = blocks.order.len() as u32;
        let parent = |node: u32| blocks.parents[node as usize];
        let bridges = (0..count).filter(|&node| blocks.is_under_bridge(node));
        let mut bridges: Vec<_> = bridges.map(|node| (node.min(parent(node)), node.max(parent(node)))).collect();
        bridges.sort_unstable();
        let mut pieces = vec![0; count as usize];
        for node in (0..count).filter(|&node| blocks.is_cut_off_by_parent(node)) {
            pieces[parent(node) as usize] += 1;
        }
        for node in (0..count).filter(|&node| parent(node) == NONE) {
            pieces[node as usize] = (pieces[node as usize] as usize).saturating_sub(1);
        }
        (bridges, pieces)
    }

    /// However the edges are cut into batches, the blocks are those of all edges at once.
    #[test]
    fn batches_of_any_size_give_the_same_blocks() {
        let seed = seed_or(31);
        for round in 0..40 {
            for (nodes, edges) in [(1, 2), (3, 4), (12, 14), (40, 45), (100, 130)] {
                let graph = erdos_renyi(nodes, edges, seed + round);
                let (sources, targets): (Vec<u32>, Vec<u32>) =
                    graph.edge_pairs().map(|(source, target)| (source as u32, target as u32)).unzip();
                let list = EdgeList { sources: &sources, targets: &targets, weights: &[] };
                let count = graph.node_count() as u32;
                let view = GraphView::from_edges(count, &list, Direction::Out, Sides::ForwardAndBackward, 1);
                let graph = Graph::in_memory(Arc::new(view));
                let expected = facts(&Blocks::of(&graph, &Interrupt::new()).unwrap());
                for batch_edges in [1, 2, 7, 1000] {
                    let found = facts(&stream(&graph, batch_edges, &Interrupt::new()).unwrap());
                    assert_eq!(found, expected, "{nodes} nodes, batches of {batch_edges}, FUZZ_SEED={}", seed + round);
                }
            }
        }
    }
}
