//! Naive references for what a node's neighbors say: triangles, clustering, labels, cores.

use std::collections::{BTreeMap, BTreeSet};

use crate::naive::NaiveGraph;

impl NaiveGraph {
    /// For each node its distinct neighbors, whichever way edges lead, without itself.
    pub(crate) fn distinct_neighbors(&self) -> Vec<BTreeSet<usize>> {
        let mut neighbors = vec![BTreeSet::new(); self.node_count];
        for &(source, target, _) in self.edges.iter().filter(|edge| edge.0 != edge.1) {
            neighbors[source].insert(target);
            neighbors[target].insert(source);
        }
        neighbors
    }

    /// For each node the pairs of neighbors that are neighbors.
    pub(crate) fn triangles(&self) -> Vec<usize> {
        let neighbors = self.distinct_neighbors();
        let pairs = |own: &BTreeSet<usize>| {
            own.iter().map(|&a| own.iter().filter(|&&b| a < b && neighbors[a].contains(&b)).count()).sum()
        };
        neighbors.iter().map(pairs).collect()
    }

    /// For each node the part of the ordered pairs of its neighbors that an edge joins.
    pub(crate) fn clustering(&self) -> Vec<f64> {
        let edges: BTreeSet<(usize, usize)> = self.edges.iter().map(|edge| (edge.0, edge.1)).collect();
        let part = |own: &BTreeSet<usize>| {
            let joined: usize =
                own.iter().map(|&a| own.iter().filter(|&&b| a != b && edges.contains(&(a, b))).count()).sum();
            if joined == 0 { 0.0 } else { joined as f64 / (own.len() * (own.len() - 1)) as f64 }
        };
        self.distinct_neighbors().iter().map(part).collect()
    }

    /// Label propagation as LDBC Graphalytics defines it; with `is_directed` both ends of an edge see each other.
    pub(crate) fn labels(&self, iterations: usize, is_directed: bool) -> Vec<usize> {
        let mut labels: Vec<usize> = (0..self.node_count).collect();
        for _ in 0..iterations {
            let mut votes: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); self.node_count];
            for &(source, target, _) in &self.edges {
                *votes[source].entry(labels[target]).or_default() += 1;
                if is_directed {
                    *votes[target].entry(labels[source]).or_default() += 1;
                }
            }
            for (label, votes) in labels.iter_mut().zip(&votes) {
                let most = votes.values().max();
                let best = votes.iter().find(|(_, count)| Some(*count) == most);
                *label = best.map_or(*label, |(best, _)| *best);
            }
        }
        labels
    }

    /// Core numbers, by taking away a node of fewest neighbors again and again.
    pub(crate) fn cores(&self) -> Vec<usize> {
        let neighbors = self.distinct_neighbors();
        let mut left: BTreeSet<usize> = (0..self.node_count).collect();
        let mut cores = vec![0; self.node_count];
        let mut core = 0;
        let degree = |node: usize, left: &BTreeSet<usize>| neighbors[node].intersection(left).count();
        while let Some(node) = left.iter().copied().min_by_key(|&node| degree(node, &left)) {
            core = core.max(degree(node, &left));
            cores[node] = core;
            left.remove(&node);
        }
        cores
    }
}
