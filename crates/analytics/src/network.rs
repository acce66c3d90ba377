//! A network for finding communities: undirected, weighted, and made coarser by taking communities for nodes.
//!
//! An edge of the graph counts at both its ends, whichever way it leads; parallel edges add up; a self-loop counts twice
//! at its node, so that the strengths of all nodes sum to twice the weight of all edges.

mod coarsen;
mod moving;
mod start;

use std::borrow::Cow;

use model::error::Result;

use crate::graph_view::GraphView;

pub(crate) use coarsen::unfold;
pub(crate) use moving::{Neighborhood, Partition, move_nodes};
pub(crate) use start::{by_smallest_node, seeds};

/// The network of one level.
pub(crate) struct Network<'a> {
    /// Where the row of each node begins, and where the last one ends.
    offsets: Cow<'a, [u64]>,
    /// The other ends of each node's edges; of the first level also the node itself for a self-loop, to be passed over.
    neighbors: Cow<'a, [u32]>,
    /// What they weigh; empty for 1 each.
    weights: Cow<'a, [f64]>,
    /// Twice the weight of the edges within each node.
    loops: Vec<f64>,
    /// The weight of all edges of each node, those within it twice.
    strengths: Vec<f64>,
    /// All strengths together: twice the weight of all edges.
    total: f64,
}

impl<'a> Network<'a> {
    /// The network of an undirected view with forward rows; fails if its weights do not add up to a number.
    pub(crate) fn of_view(view: &'a GraphView) -> Result<Network<'a>> {
        let rows = view.forward();
        let weights = if rows.has_weights() { rows.all_weights() } else { &[] };
        let mut network = Network {
            offsets: Cow::Borrowed(rows.offsets()),
            neighbors: Cow::Borrowed(rows.all_neighbors()),
            weights: Cow::Borrowed(weights),
            loops: vec![0.0; view.node_count()],
            strengths: Vec::new(),
            total: 0.0,
        };
        for node in 0..view.node_count() as u32 {
            let own: f64 = network.row(node).filter(|(other, _)| *other == node).map(|(_, weight)| weight).sum();
            network.loops[node as usize] = 2.0 * own;
        }
        network.weigh();
        require_finite(network.total)?;
        Ok(network)
    }

    /// Adds up strengths and total.
    fn weigh(&mut self) {
        let strength = |node: u32| self.loops[node as usize] + self.others(node).map(|(_, weight)| weight).sum::<f64>();
        self.strengths = (0..self.node_count() as u32).map(strength).collect();
        self.total = self.strengths.iter().sum();
    }

    pub(crate) fn node_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Twice the weight of all edges.
    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// The weight of all edges of a node.
    #[inline]
    pub(crate) fn strength(&self, node: u32) -> f64 {
        self.strengths[node as usize]
    }

    #[inline]
    fn row(&self, node: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let entries = self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize;
        let weights = if self.weights.is_empty() { &[][..] } else { &self.weights[entries.clone()] };
        let neighbors = self.neighbors[entries].iter();
        neighbors.enumerate().map(move |(at, &neighbor)| (neighbor, weights.get(at).copied().unwrap_or(1.0)))
    }

    /// The other nodes that edges join a node with, and the weight of each edge.
    #[inline]
    pub(crate) fn others(&self, node: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.row(node).filter(move |(other, _)| *other != node)
    }

    /// The modularity of a partition: the share of weight within communities, less what would be expected of it by the
    /// strengths of the nodes, times `gamma`. 0 without edges.
    pub(crate) fn modularity(&self, communities: &[u32], gamma: f64) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        let count = communities.iter().max().map_or(0, |&most| most as usize + 1);
        let (mut inside, mut totals) = (vec![0.0; count], vec![0.0; count]);
        for (node, &community) in (0..).zip(communities) {
            let within = self.others(node).filter(|(other, _)| communities[*other as usize] == community);
            inside[community as usize] += self.loops[node as usize] + within.map(|(_, weight)| weight).sum::<f64>();
            totals[community as usize] += self.strength(node);
        }
        let expected = |total: f64| gamma * (total / self.total) * (total / self.total);
        inside.iter().zip(totals).map(|(inside, total): (&f64, f64)| inside / self.total - expected(total)).sum()
    }
}

/// Fails if weights were added up to infinity, so that no share of them means anything.
pub(crate) fn require_finite(total: f64) -> Result<()> {
    if total.is_finite() {
        return Ok(());
    }
    Err(model::error!(Argument, "the weights of all relationships add up to {total}, expected a finite number")
        .with_remedy("find the relationship whose weight is infinite, or scale the weights down"))
}
