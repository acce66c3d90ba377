//! Naive references for the structure of a graph: what reaches what, and what falls apart without a node or an edge.

use crate::naive::NaiveGraph;

impl NaiveGraph {
    /// For each node, the nodes that it reaches, itself among them; without a node, if one is named.
    fn reached(&self, source: usize, without: Option<usize>) -> Vec<bool> {
        let mut rows = vec![Vec::new(); self.node_count];
        self.edges.iter().for_each(|&(source, target, _)| rows[source].push(target));
        let mut is_reached = vec![false; self.node_count];
        let mut stack = vec![source];
        is_reached[source] = true;
        while let Some(node) = stack.pop() {
            for &neighbor in rows[node].iter().filter(|&&neighbor| Some(neighbor) != without) {
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
        let reaches: Vec<Vec<bool>> = (0..self.node_count).map(|node| self.reached(node, None)).collect();
        let both = |a: usize, b: usize| reaches[a][b] && reaches[b][a];
        (0..self.node_count).map(|a| (0..=a).find(|&b| both(a, b)).expect("a node reaches itself")).collect()
    }
}
