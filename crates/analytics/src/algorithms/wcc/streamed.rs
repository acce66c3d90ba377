//! Weakly connected components in one pass over the edges, in any order: a union-find whose trees are flattened on the
//! way.
//!
//! Invariant: the parent of a node never has a larger number; a root is given a parent once, by the thread that is
//! first.
//! After: Tarjan, van Leeuwen, "Worst-case analysis of set union algorithms", 1984 (path halving); Jayanti, Tarjan, "A
//! randomized concurrent algorithm for disjoint set union", 2016 (many threads, no locks).

use std::sync::atomic::{AtomicU32, Ordering};

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph::{Rows, Side};
use crate::graph_view::Sides;
use crate::huge;
use crate::parallel::{even_ranges, map_tasks};
use crate::rows::pass::map_pass;

/// Nodes that one task names at the end.
const TASK_NODES: usize = 1 << 18;

/// For each node, the smallest number of a node in its component.
pub(super) fn run(rows: &dyn Rows, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let parents: Vec<AtomicU32> = huge::collect((0..rows.node_count() as u32).map(AtomicU32::new));
    // Either side names every edge once; rows by target are longer where partitions are intervals of targets.
    let parts = rows.part_count(Side::Backward);
    let linked = map_pass((rows, Sides::Backward), threads, (0..parts).collect(), |part| {
        interrupt.report(part as u64, parts as u64);
        rows.scan_part(Side::Backward, part, None, &mut |block| {
            interrupt.check()?;
            block.rows().for_each(|(node, neighbors)| link_all(node, neighbors, &parents));
            Ok(())
        })
    });
    linked.into_iter().collect::<Result<()>>()?;
    let nodes = even_ranges(parents.len(), parents.len().div_ceil(TASK_NODES), 1);
    map_tasks(threads, nodes, |nodes| {
        for node in nodes {
            let root = root_of(node as u32, &parents);
            parents[node].store(root, Ordering::Relaxed);
        }
    });
    Ok(parents.into_iter().map(AtomicU32::into_inner).collect())
}

/// Joins a node with its neighbors.
#[inline]
fn link_all(node: u32, neighbors: &[u32], parents: &[AtomicU32]) {
    if neighbors.is_empty() {
        return;
    }
    let mut root = root_of(node, parents);
    for &neighbor in neighbors {
        // Most edges lie within what is one component already, and near its root.
        if parents[neighbor as usize].load(Ordering::Relaxed) != root {
            root = link(root, neighbor, parents);
        }
    }
}

/// Joins the tree of a node with that of a node that was a root; gives the root of both.
fn link(mut root: u32, node: u32, parents: &[AtomicU32]) -> u32 {
    let mut other = root_of(node, parents);
    loop {
        root = root_of(root, parents);
        if root == other {
            return root;
        }
        let (low, high) = (root.min(other), root.max(other));
        if parents[high as usize].compare_exchange(high, low, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return low;
        }
        other = root_of(other, parents);
    }
}

/// The root of a node's tree; each node on the way gets its grandparent for its parent.
#[inline]
fn root_of(mut node: u32, parents: &[AtomicU32]) -> u32 {
    loop {
        let parent = parents[node as usize].load(Ordering::Relaxed);
        if parent == node {
            return node;
        }
        let above = parents[parent as usize].load(Ordering::Relaxed);
        if above == parent {
            return parent;
        }
        // The node is no root and never will be again, so that no link can be lost here.
        parents[node as usize].store(above, Ordering::Relaxed);
        node = above;
    }
}
