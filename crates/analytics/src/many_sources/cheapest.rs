//! Cheapest paths from one node over rows with weights, the state kept for the next source.
//!
//! Cost: O(m + n log n) steps for the part that is reached; only that part is cleaned up afterwards.
//! After: Dijkstra, "A note on two problems in connexion with graphs", 1959.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph_view::Csr;

/// Nodes between two checks for cancellation.
const CHECK_NODES: usize = 1 << 10;
/// The place in the order of a node that has none.
const NOWHERE: u32 = u32::MAX;

/// A search, or what it found.
pub(crate) struct CheapestPaths<'a> {
    rows: &'a Csr,
    distances: Vec<f64>,
    positions: Vec<u32>,
    order: Vec<u32>,
    /// Distances as the bits of numbers of at least 0, which are in the same order, and nodes.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

/// Bytes of state for each node; an edge may have an entry of the heap besides.
pub(crate) const NODE_BYTES: usize = size_of::<f64>() + 2 * size_of::<u32>() + 2 * size_of::<(u64, u32)>();

impl<'a> CheapestPaths<'a> {
    /// A search over rows that have weights of at least 0.
    pub(crate) fn new(rows: &'a Csr) -> CheapestPaths<'a> {
        let count = rows.node_count();
        CheapestPaths {
            rows,
            distances: vec![f64::INFINITY; count],
            positions: vec![NOWHERE; count],
            order: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Forgets what was found, and searches from a node.
    pub(crate) fn run(&mut self, source: u32, interrupt: &Interrupt) -> Result<()> {
        for node in self.order.drain(..) {
            self.distances[node as usize] = f64::INFINITY;
            self.positions[node as usize] = NOWHERE;
        }
        self.distances[source as usize] = 0.0;
        self.heap.push(Reverse((0, source)));
        while let Some(Reverse((_, node))) = self.heap.pop() {
            if self.positions[node as usize] != NOWHERE {
                continue;
            }
            if self.order.len().is_multiple_of(CHECK_NODES) {
                interrupt.check()?;
            }
            self.positions[node as usize] = self.order.len() as u32;
            self.order.push(node);
            let distance = self.distances[node as usize];
            for (&neighbor, &weight) in self.rows.neighbors(node).iter().zip(self.rows.weights(node)) {
                let over_edge = distance + weight;
                if over_edge < self.distances[neighbor as usize] {
                    self.distances[neighbor as usize] = over_edge;
                    self.heap.push(Reverse((over_edge.to_bits(), neighbor)));
                }
            }
        }
        Ok(())
    }

    /// The nodes reached, nearest first; the source is the first.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// The cost of a cheapest path to a node; infinite if there is none.
    #[inline]
    pub(crate) fn distance(&self, node: u32) -> f64 {
        self.distances[node as usize]
    }

    /// The ends of a node's edges that are on cheapest paths over it, one for each such edge.
    #[inline]
    pub(crate) fn next_nodes(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let (distance, position) = (self.distances[node as usize], self.positions[node as usize]);
        let edges = self.rows.neighbors(node).iter().zip(self.rows.weights(node));
        edges.filter_map(move |(&neighbor, &weight)| {
            let at = neighbor as usize;
            (distance + weight == self.distances[at] && self.positions[at] > position).then_some(neighbor)
        })
    }
}
