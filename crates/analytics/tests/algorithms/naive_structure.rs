//! Naive references for the structure of a graph: what reaches what, and what falls apart without a node or an edge.

use crate::naive::NaiveGraph;

impl NaiveGraph {
    /// For each node, whether the source reaches it; it reaches itself.
    fn reached(&self, source: usize) -> Vec<bool> {
        let mut rows = vec![Vec::new(); self.node_count];
        self.edges.iter().for_each(|&(source, target, _)| rows[source].push(target));
        let mut is_reached = vec![false; self.node_count];
        let mut stack = vec![source];
        is_reached[source] = true;
        while let Some(node) = stack.pop() {
            for &neighbor in &rows[node] {
                if !is_reached[neighbor] {
                    is_reached[neighbor] = true;
                    stack.push(neighbor);
                }
            }
        }
        is_reached
    }

    /// For each node the smallest node that it reaches and that reaches it.
    pub(crate) fn strong_components(&self) -> Vec<usize> {
        let reaches: Vec<Vec<bool>> = (0..self.node_count).map(|node| self.reached(node)).collect();
        let both = |a: usize, b: usize| reaches[a][b] && reaches[b][a];
        (0..self.node_count).map(|a| (0..=a).find(|&b| both(a, b)).expect("a node reaches itself")).collect()
    }

    /// Total weight of the edges of least weight that join what edges join: the lightest edge that joins two groups,
    /// again and again.
    pub(crate) fn spanning_weight(&self) -> f64 {
        let mut groups: Vec<usize> = (0..self.node_count).collect();
        let mut total = 0.0;
        loop {
            let between = self.edges.iter().filter(|edge| groups[edge.0] != groups[edge.1]);
            let Some(&(a, b, weight)) = between.min_by(|a, b| a.2.total_cmp(&b.2)) else { return total };
            total += weight;
            let (from, to) = (groups[a], groups[b]);
            groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
    }

    /// Weight of the longest path to each node, in a graph without cycles, by relaxing all edges until nothing changes.
    pub(crate) fn longest(&self) -> Vec<f64> {
        let mut costs = vec![0.0_f64; self.node_count];
        loop {
            let before = costs.clone();
            for &(source, target, weight) in &self.edges {
                costs[target] = costs[target].max(costs[source] + weight);
            }
            if costs == before {
                return costs;
            }
        }
    }
}
