//! Naive references that anyone can read: over a list of edges, without any cleverness.

/// A graph as a list of edges `(source, target, cost)` between nodes `0..node_count`.
#[derive(Clone, Debug)]
pub(crate) struct NaiveGraph {
    pub(crate) node_count: usize,
    pub(crate) edges: Vec<(usize, usize, f64)>,
}

impl NaiveGraph {
    /// The same with every edge turned round.
    pub(crate) fn reversed(&self) -> NaiveGraph {
        let edges = self.edges.iter().map(|&(source, target, cost)| (target, source, cost)).collect();
        NaiveGraph { node_count: self.node_count, edges }
    }

    /// The same with every edge in both directions, self-loops once.
    pub(crate) fn undirected(&self) -> NaiveGraph {
        let turned = self.edges.iter().filter(|(source, target, _)| source != target);
        let turned = turned.map(|&(source, target, cost)| (target, source, cost));
        NaiveGraph { node_count: self.node_count, edges: self.edges.iter().copied().chain(turned).collect() }
    }

    /// PageRank as LDBC Graphalytics defines it, with `iterations` iterations.
    pub(crate) fn pagerank(&self, damping_factor: f64, iterations: usize) -> Vec<f64> {
        let count = self.node_count as f64;
        let mut degrees = vec![0_usize; self.node_count];
        self.edges.iter().for_each(|edge| degrees[edge.0] += 1);
        let mut scores = vec![1.0 / count; self.node_count];
        for _ in 0..iterations {
            let dangling: f64 = (0..self.node_count).filter(|&node| degrees[node] == 0).map(|node| scores[node]).sum();
            let mut next = vec![(1.0 - damping_factor) / count + damping_factor * dangling / count; self.node_count];
            self.edges.iter().for_each(|&(source, target, _)| {
                next[target] += damping_factor * scores[source] / degrees[source] as f64;
            });
            scores = next;
        }
        scores
    }

    /// For each node the smallest node of its component, by passing the smaller on until nothing changes.
    pub(crate) fn components(&self) -> Vec<usize> {
        let mut names: Vec<usize> = (0..self.node_count).collect();
        loop {
            let before = names.clone();
            for &(source, target, _) in &self.edges {
                let least = names[source].min(names[target]);
                names[source] = least;
                names[target] = least;
            }
            if names == before {
                return names;
            }
        }
    }

    /// Costs of cheapest paths, by relaxing all edges until nothing changes (Bellman, Ford).
    pub(crate) fn distances(&self, source: usize) -> Vec<f64> {
        let mut distances = vec![f64::INFINITY; self.node_count];
        distances[source] = 0.0;
        loop {
            let before = distances.clone();
            for &(source, target, cost) in &self.edges {
                distances[target] = distances[target].min(distances[source] + cost);
            }
            if distances == before {
                return distances;
            }
        }
    }

    /// Numbers of edges on shortest paths.
    pub(crate) fn hops(&self, source: usize) -> Vec<f64> {
        let edges = self.edges.iter().map(|&(source, target, _)| (source, target, 1.0)).collect();
        NaiveGraph { node_count: self.node_count, edges }.distances(source)
    }
}
